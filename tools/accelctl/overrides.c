/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the settings of the command line. */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/common.h"
#include "tools/accelctl/habits.h"

/* Bytes of a command-line setting that are shown as the origin of its value. */
enum { SHOWN = 120 };

/* Appends `before` and `length` bytes of `text` at *at, which has space for them and moves behind their zero byte. */
static const char *keep(char **at, const char *before, const char *text, size_t length)
{
    char *begin = *at;

    *at += sprintf(begin, "%s%.*s", before, (int)length, text) + 1;
    return begin;
}

/* Returns true for -b if -ub is given, too: llama.cpp's -b limits a call and -ub a step, as batch does. */
static bool is_weaker(const struct text_list *sets, uint32_t index)
{
    const char *word = sets->words[index];

    if (word == NULL || (strncmp(word, "-b", 2) != 0 && strncmp(word, "--batch-size", 12) != 0))
        return false;
    for (uint32_t i = 0; i < sets->count; i++)
        if (sets->words[i] != NULL &&
            (strncmp(sets->words[i], "-ub", 3) == 0 || strncmp(sets->words[i], "--ubatch", 8) == 0))
            return true;
    return false;
}

/* Refuses KEY=VALUE if KEY is an option of run and chat. */
static bool refuses_option(const struct common *common, const char *set, const char *item, int *out_exit)
{
    const char *equals = strchr(item, '=');
    char key[40], text[200], remedy[200];
    const char *option;

    snprintf(key, sizeof(key), "%.*s", (int)(equals - item < 39 ? equals - item : 39), item);
    option = option_of_setting(&command_run, key);
    if (option == NULL)
        return false;
    snprintf(text, sizeof(text), "%s %.100s: %s is no setting of a plan, but an option of run and chat", set, item,
             key);
    snprintf(remedy, sizeof(remedy), "--%s %.100s", option, equals + 1);
    *out_exit = report_error_text(common->json, EXIT_USAGE, "usage", text, remedy);
    return true;
}

/* Refuses a type of weights that llama.cpp has, and names the nearest here: the nearest word is one of other bits. */
static bool refuses_type(const struct common *common, const char *option, const char *item, int *out_exit)
{
    static const char key[] = "weights.type=";
    const char *instead =
        strncmp(item, key, strlen(key)) == 0 ? instead_of_setting("", "weights.type", item + strlen(key)) : NULL;

    if (instead == NULL)
        return false;
    *out_exit = report_error_format(common->json, EXIT_USAGE, "usage", instead,
                                    "command line %s %.100s: weights.type has no value '%.40s'", option, item,
                                    item + strlen(key));
    return true;
}

/* Appends the settings of one option to `overrides`; each of its texts is KEY=VALUE. */
static int add_settings(const struct common *common, const char *option, const struct text_list *sets,
                        struct accel_named_value *overrides, uint32_t *count, char **at)
{
    char before[64];
    int code = -1;

    snprintf(before, sizeof(before), "command line %s ", option);
    for (uint32_t i = 0; i < sets->count; i++) {
        const char *item = sets->items[i];
        const char *equals = strchr(item, '=');
        const char *word;

        if (equals == NULL || equals == item)
            return report_error_format(common->json, EXIT_USAGE, "usage",
                                       "accelctl plan --all MODEL lists the settings",
                                       "%s requires KEY=VALUE, not '%.200s'", option, item);
        if (is_weaker(sets, i))
            continue;
        if (sets->words[i] == NULL &&
            (refuses_option(common, option, item, &code) || refuses_type(common, option, item, &code)))
            return code;
        overrides[*count].key = keep(at, "", item, (size_t)(equals - item));
        word = setting_word(overrides[*count].key, equals + 1);
        overrides[*count].value = keep(at, "", word, strlen(word));
        if (sets->words[i] != NULL) {
            overrides[(*count)++].origin = keep(at, "command line ", sets->words[i], strlen(sets->words[i]));
            continue;
        }
        /* Shortens the value, since errors begin with the origin. */
        overrides[(*count)++].origin =
            keep(at, before, item, strlen(item) <= SHOWN ? strlen(item) : (size_t)(equals - item));
    }
    return -1;
}

static size_t settings_bytes(const struct text_list *sets)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < sets->count; i++)
        bytes += 2 * strlen(sets->items[i]) + SETTING_WORD_LONGER +
                 (sets->words[i] == NULL ? 0 : strlen(sets->words[i])) + sizeof("command line --reference-set ");
    return bytes;
}

const char *overridden_value(const struct common *common, const char *key)
{
    const size_t length = strlen(key);

    for (uint32_t i = common->sets.count; i-- > 0;)
        if (strncmp(common->sets.items[i], key, length) == 0 && common->sets.items[i][length] == '=')
            return common->sets.items[i] + length + 1;
    return NULL;
}

const char *first_plan_option(const struct common *common, char *text, size_t size)
{
    if (common->device != NULL)
        snprintf(text, size, "--device %.100s", common->device);
    else if (common->client != NULL)
        snprintf(text, size, "--client %.100s", common->client);
    else if (common->sets.count > 0 && common->sets.words[0] != NULL)
        snprintf(text, size, "%.100s", common->sets.words[0]);
    else if (common->sets.count > 0)
        snprintf(text, size, "--set %.100s", common->sets.items[0]);
    else
        return NULL;
    return text;
}

bool is_set(const struct common *common, const char *key)
{
    return overridden_value(common, key) != NULL;
}

int collect_overrides(const struct common *common, struct accel_named_value overrides[OVERRIDES_MOST],
                      uint32_t *out_count, char **out_texts)
{
    static const struct text_list none;
    const struct text_list *reference = common->reference_sets == NULL ? &none : common->reference_sets;
    size_t bytes = 64 + (common->client == NULL ? 0 : strlen(common->client)) + settings_bytes(&common->sets) +
                   settings_bytes(reference);
    uint32_t count = 0;
    char *at;
    int code;

    *out_count = 0;
    at = *out_texts = malloc(bytes);
    if (at == NULL)
        return report_error_text(common->json, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for the settings", NULL);
    if (common->client != NULL)
        overrides[count++] = (struct accel_named_value){
            "client", common->client, keep(&at, "command line --client ", common->client, strlen(common->client))};
    code = add_settings(common, "--set", &common->sets, overrides, &count, &at);
    if (code < 0)
        code = add_settings(common, "--reference-set", reference, overrides, &count, &at);
    *out_count = count;
    return code;
}
