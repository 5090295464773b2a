/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a profile. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/profile/language.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_corpus_folder = "tests/fixtures/profiles";
const char *const fuzz_corpus_suffix = ".yaml";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct accel_profile_file file;
    struct accel_error error = {0};
    const struct accel_profile_source source = {NULL, ACCEL_PROFILE_DEVICE, "test", "fuzz.yaml"};
    int32_t code = accel_profile_file_parse(&file, &source, (const char *)data, size, &error);
    if ((code != ACCEL_OK) != (error.code != ACCEL_OK) || strchr(error.text, '\n') != NULL)
        abort();
    /* Whatever is accepted holds only values that fit their rows. */
    for (const struct accel_statement *s = file.first; code == ACCEL_OK && s; s = s->next)
        if (s->value.is_number && (s->value.number < s->key->lowest || s->value.number > s->key->highest))
            abort();
    accel_profile_file_free(&file);
    return 0;
}
