/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a config.json. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/describe/internal.h"
#include "model/family/decoder_config.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_corpus_folder = "tests/fixtures/config";
const char *const fuzz_corpus_suffix = ".json";

/* The same text as that of any architecture. */
static void describe(const uint8_t *data, size_t size)
{
    struct accel_model_description *d = calloc(1, sizeof(*d));
    struct accel_error error = {0};
    int32_t code;
    if (d == NULL)
        abort();
    d->path = "fuzz.json";
    code = describe_config_text(d, d->path, (const char *)data, size, &error);
    if (d->family == NULL || (code != ACCEL_OK && strchr(error.text, '\n') != NULL))
        abort();
    describe_complete(d);
    model_pool_free(&d->pool);
    free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct accel_decoder_config config;
    struct accel_error error = {0};
    int32_t code = accel_decoder_config_parse("fuzz.json", (const char *)data, size, NULL, &config, &error);
    if (code != ACCEL_OK && (config.architecture != NULL || strchr(error.text, '\n') != NULL))
        abort();
    /* Whatever is accepted must be usable without another check. */
    if (code == ACCEL_OK &&
        (config.layers == 0 || config.heads % config.kv_heads != 0 || config.rope.dims % 2 != 0 ||
         config.rope.dims > config.head_size || !(config.norm_epsilon > 0) || !(config.rope.base > 0) ||
         !(config.rope.factor > 0) || !isfinite(config.rope.attention_factor) || config.windows == NULL))
        abort();
    accel_decoder_config_free(&config);
    describe(data, size);
    return 0;
}
