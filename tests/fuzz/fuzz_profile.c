/* SPDX-License-Identifier: Apache-2.0 */
/* The text of every kind of file of profiles: of a platform, a device, a model, the site, and the table of variables.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/profile/environment.h"
#include "core/profile/language.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_corpus_folder = "tests/fixtures/profiles";
const char *const fuzz_corpus_suffix = ".yaml";

static void check_error(int32_t code, const struct accel_error *error)
{
    if ((code != ACCEL_OK) != (error->code != ACCEL_OK) || strchr(error->text, '\n') != NULL)
        abort();
}

static void check_value(const struct accel_setting_row *key, const struct accel_key_value *value)
{
    if (value->is_number && (value->number < key->lowest || value->number > key->highest))
        abort();
}

/* Whatever is accepted holds only values that fit their rows, and can be asked with facts of all kinds. */
static void check_file(const struct accel_profile_file *file)
{
    static const struct accel_profile_pair facts[] = {
        {"device.name", "Tesla T4", "fuzz"},
        {"device.kind", "gpu", "fuzz"},
        {"device.memory", "16000000000", "fuzz"},
        {"model.layers", "", "fuzz"},
        {"request.length", "99999999999999999999", "fuzz"},
    };
    (void)accel_condition_holds(file->match, facts, 5);
    for (const struct accel_statement *s = file->first; s; s = s->next) {
        check_value(s->key, &s->value);
        (void)accel_condition_holds(s->conditions, facts, 5);
        if (s->place == NULL || s->reason == NULL)
            abort();
    }
    for (const struct accel_fact_statement *s = file->facts; s; s = s->next)
        if (*s->value == 0 || (*s->fact->unit && strspn(s->value, "0123456789") != strlen(s->value)))
            abort();
}

static void give_as_file(uint32_t layer, const char *data, size_t size)
{
    const struct accel_profile_source source = {NULL, layer, "test", "fuzz.yaml", NULL};
    struct accel_profile_file file;
    struct accel_error error = {0};
    int32_t code = accel_profile_file_parse(&file, &source, data, size, &error);
    check_error(code, &error);
    if (code == ACCEL_OK)
        check_file(&file);
    accel_profile_file_free(&file);
}

static void give_as_table(const char *data, size_t size)
{
    struct accel_aliases aliases;
    struct accel_error error = {0};
    int32_t code = accel_aliases_parse(&aliases, "fuzz.yaml", data, size, NULL, &error);
    check_error(code, &error);
    for (const struct accel_alias *alias = aliases.first; alias && code == ACCEL_OK; alias = alias->next)
        for (const struct accel_alias_value *value = alias->values; value; value = value->next)
            for (const struct accel_alias_setting *s = value->settings; s; s = s->next) {
                struct accel_key_value parsed;
                char why[200];
                if (!accel_key_parse(s->key, s->text, &parsed, why, sizeof(why)))
                    abort();
                check_value(s->key, &parsed);
            }
    accel_aliases_free(&aliases);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t layers[] = {ACCEL_LAYER_PLATFORM, ACCEL_LAYER_DEVICE, ACCEL_LAYER_MODEL, ACCEL_LAYER_FOLDER};
    for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++)
        give_as_file(layers[i], (const char *)data, size);
    give_as_table((const char *)data, size);
    return 0;
}
