/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/profile/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"

#define COUNT(list) ((uint32_t)(sizeof(list) / sizeof((list)[0])))

static const struct accel_setting_row keys[] = {
#define ACCEL_KEY(name, member, type, unit, lowest, highest, words, preset, honored, by, help)                         \
    {sizeof(struct accel_setting_row),                                                                                 \
     ACCEL_SETTING_##type,                                                                                             \
     ACCEL_HONORED_##honored,                                                                                          \
     0,                                                                                                                \
     name,                                                                                                             \
     unit,                                                                                                             \
     words,                                                                                                            \
     preset,                                                                                                           \
     by,                                                                                                               \
     help,                                                                                                             \
     lowest,                                                                                                           \
     highest},
#include <accel/keys.def>
#undef ACCEL_KEY
};

static const struct accel_key_group groups[] = {
    {"kv.type", {"kv.type.k", "kv.type.v"}},
};

static const struct accel_fact_row facts[] = {
#define ACCEL_PROFILE_FACT(name, unit, words, help) {sizeof(struct accel_fact_row), 0, name, unit, help},
#include "core/profile/known_facts.def"
#undef ACCEL_PROFILE_FACT
};

static const char *const fact_words[] = {
#define ACCEL_PROFILE_FACT(name, unit, words, help) words,
#include "core/profile/known_facts.def"
#undef ACCEL_PROFILE_FACT
};

/** Units that may follow a number, and their factors to the base unit. */
static const struct unit {
    const char *text;
    const char *base;
    int64_t factor;
} units[] = {
    {"", "", 1},
    {"B", "bytes", 1},
    {"KiB", "bytes", INT64_C(1) << 10},
    {"MiB", "bytes", INT64_C(1) << 20},
    {"GiB", "bytes", INT64_C(1) << 30},
    {"TiB", "bytes", INT64_C(1) << 40},
    {"MB", "bytes", INT64_C(1000000)},
    {"GB", "bytes", INT64_C(1000000000)},
    {"tok", "tok", 1},
    {"K", "tok", 1024},
    {"k", "tok", 1024},
    {"M", "tok", 1048576},
    {"ms", "ms", 1},
    {"s", "ms", 1000},
    {"min", "ms", 60000},
};

uint32_t accel_setting_row_count(void) ACCEL_NOEXCEPT
{
    return COUNT(keys);
}

const struct accel_setting_row *accel_setting_row_get(uint32_t index) ACCEL_NOEXCEPT
{
    return index < COUNT(keys) ? &keys[index] : NULL;
}

const struct accel_setting_row *accel_key_find(const char *name)
{
    for (uint32_t i = 0; i < COUNT(keys); i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

const struct accel_setting_row *accel_key_of_option(const char *name, struct accel_arena *arena)
{
    struct accel_setting_row *row = accel_arena_array(arena, 1, sizeof(*row));
    const char *end = strrchr(name, '_');
    const bool is_size = end != NULL && strcmp(end, "_bytes") == 0;
    if (row == NULL)
        return NULL;
    *row = (struct accel_setting_row){.size = sizeof(*row),
                                      .type = is_size ? ACCEL_SETTING_INTEGER : ACCEL_SETTING_TEXT,
                                      .honored = ACCEL_HONORED_DRIVER,
                                      .name = name,
                                      .unit = is_size ? "bytes" : "",
                                      .highest = INT64_MAX,
                                      .words = "",
                                      .preset = "",
                                      .by = "",
                                      .help = ""};
    return row;
}

const struct accel_key_group *accel_key_group_get(uint32_t index)
{
    return index < COUNT(groups) ? &groups[index] : NULL;
}

const struct accel_key_group *accel_key_group_find(const char *name)
{
    for (uint32_t i = 0; i < COUNT(groups); i++)
        if (strcmp(groups[i].name, name) == 0)
            return &groups[i];
    return NULL;
}

uint32_t accel_fact_row_count(void) ACCEL_NOEXCEPT
{
    return COUNT(facts);
}

const struct accel_fact_row *accel_fact_row_get(uint32_t index) ACCEL_NOEXCEPT
{
    return index < COUNT(facts) ? &facts[index] : NULL;
}

const struct accel_fact_row *accel_known_fact_find(const char *name)
{
    for (uint32_t i = 0; i < COUNT(facts); i++)
        if (strcmp(facts[i].name, name) == 0)
            return &facts[i];
    return NULL;
}

const char *accel_known_fact_words(const char *name)
{
    const struct accel_fact_row *row = accel_known_fact_find(name);
    return row && *fact_words[row - facts] ? fact_words[row - facts] : NULL;
}

const char *accel_key_spelling(const struct accel_setting_row *key, const char *text, char lower[ACCEL_KEY_LOWER])
{
    size_t i = 0;
    for (; text[i] != '\0' && i < ACCEL_KEY_LOWER - 1; i++)
        lower[i] = accel_lower(text[i]);
    lower[i] = '\0';
    if (key->type == ACCEL_SETTING_FLAG && accel_word_is_among("true on yes 1", lower))
        return "true";
    if (key->type == ACCEL_SETTING_FLAG && accel_word_is_among("false off no 0", lower))
        return "false";
    /* The type of a cache is q8, which weights in blocks call q8_0. */
    if (i > 2 && !accel_word_is_among(key->words, lower) && strcmp(lower + i - 2, "_0") == 0)
        lower[i - 2] = '\0';
    return text[i] == '\0' && accel_word_is_among(key->words, lower) ? lower : text;
}

uint32_t accel_key_word(const char *value)
{
    static const char *const words[] = {
        "",
#define ACCEL_WORD(name, text) text,
#include <accel/words.def>
#undef ACCEL_WORD
    };
    uint32_t word = COUNT(words) - 1;
    while (word > 0 && strcmp(words[word], value) != 0)
        word--;
    return word;
}

bool accel_number_parse(const char *text, int64_t *out_number, const char **out_unit)
{
    const char *at = text;
    int64_t number = 0;
    if (*at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (number > (INT64_MAX - (*at - '0')) / 10)
            return false;
        number = number * 10 + (*at - '0');
    }
    if (*at == ' ' && at[1] != 0)
        at++;
    for (uint32_t i = 0; i < COUNT(units); i++) {
        if (strcmp(at, units[i].text) != 0)
            continue;
        if (number > INT64_MAX / units[i].factor)
            return false;
        *out_number = number * units[i].factor;
        *out_unit = units[i].base;
        return true;
    }
    return false;
}

/* Bytes of a word of a row, and its end. */
enum { NEAREST_WORD = 40 };

/* Finds the word of a list that is nearest to a text. */
static bool find_nearest(const char *words, const char *text, char near[NEAREST_WORD])
{
    uint32_t distance = accel_farthest(text);
    near[0] = '\0';
    for (; *words != '\0'; words += strspn(words, " ")) {
        char word[NEAREST_WORD];
        size_t length = strcspn(words, " ");
        snprintf(word, sizeof(word), "%.*s", (int)length, words);
        words += length;
        if (accel_is_nearer(text, word, &distance) || (strncmp(text, word, length) == 0 && text[length] == '_'))
            memcpy(near, word, sizeof(word));
    }
    return near[0] != '\0';
}

/* Reports an unknown word with the words of the row, and the one that was probably meant. */
static bool refuse_word(const struct accel_setting_row *key, const char *text, char *why, size_t bytes)
{
    const char *words = key->type == ACCEL_SETTING_FLAG ? "true false" : key->words;
    char near[NEAREST_WORD], hint[ACCEL_DID_YOU_MEAN], lower[ACCEL_KEY_LOWER];
    const int shown = strlen(words) < 120 ? 120 : (int)(strchr(words + 80, ' ') - words);
    snprintf(why, bytes, "\"%.60s\" is none of: %.*s%s%s", text, shown, words, strlen(words) < 120 ? "" : " ...",
             accel_did_you_mean(find_nearest(words, accel_key_spelling(key, text, lower), near) ? near : NULL, hint));
    return false;
}

static const char *example_of(const struct accel_setting_row *key)
{
    return strcmp(key->unit, "bytes") == 0 ? "MiB or GiB" : key->type == ACCEL_SETTING_DURATION ? "ms or s" : key->unit;
}

/* Reports a number without a unit, or with a unit of another quantity. */
static void refuse_unit(const struct accel_setting_row *key, const char *text, const char *unit, char *why,
                        size_t bytes)
{
    const char *wanted = example_of(key), *written = text + strspn(text, "0123456789 ");
    const char *things = strcmp(key->unit, "bytes") == 0       ? "of a size"
                         : key->type == ACCEL_SETTING_DURATION ? "of a time"
                         : strcmp(key->unit, "tok") == 0       ? "of tokens"
                                                               : "here";
    if (*wanted == '\0')
        snprintf(why, bytes, "\"%.60s\" has a unit, and the setting has none", text);
    else if (*unit != '\0')
        snprintf(why, bytes, "\"%.60s\": %s is no unit %s; use %s", text, written, things, wanted);
    else
        snprintf(why, bytes, "\"%.60s\" lacks its unit, %s", text, wanted);
}

static bool parse_number(const struct accel_setting_row *key, const char *text, struct accel_key_value *out, char *why,
                         size_t bytes)
{
    const char *unit, *wanted = key->type == ACCEL_SETTING_DURATION ? "ms" : key->unit;
    int64_t number;
    if (!accel_number_parse(text, &number, &unit)) {
        if (*wanted == '\0' && *key->words == '\0')
            snprintf(why, bytes, "\"%.60s\" is not a whole number; allowed are %" PRId64 " to %" PRId64, text,
                     key->lowest, key->highest);
        else
            snprintf(why, bytes, "\"%.60s\" is not a whole number%s%s%s%s", text, *wanted ? " with its unit, " : "",
                     *wanted ? example_of(key) : "", *key->words ? ", and none of: " : "", key->words);
        return false;
    }
    /* Sizes and times have several units; tokens, and numbers of a driver's option, have one. */
    if (strcmp(unit, wanted) != 0 && !(*unit == '\0' && key->type == ACCEL_SETTING_INTEGER)) {
        refuse_unit(key, text, unit, why, bytes);
        return false;
    }
    if (number < key->lowest || number > key->highest) {
        snprintf(why, bytes, "\"%.60s\" is out of range, %" PRId64 " to %" PRId64 "%s%s%s%s", text, key->lowest,
                 key->highest, *wanted ? " " : "", wanted, *key->words ? ", and none of: " : "", key->words);
        return false;
    }
    *out = (struct accel_key_value){NULL, number, true};
    return true;
}

/* Parses "8x16" or "256x1x1": one to three sizes. */
static bool parse_extent(const struct accel_setting_row *key, const char *text, struct accel_key_value *out, char *why,
                         size_t bytes)
{
    const char *at = text;
    uint32_t sizes = 0;
    do {
        int64_t size = 0;
        const char *begin = at += sizes != 0;
        for (; *at >= '0' && *at <= '9' && size <= key->highest; at++)
            size = size * 10 + (*at - '0');
        if (at == begin || size < key->lowest || size > key->highest) {
            sizes = 0;
            break;
        }
        sizes++;
    } while (*at == 'x' && sizes < 3);
    if (*at != '\0' || sizes == 0) {
        snprintf(why, bytes, "\"%.60s\" is not one to three sizes of %" PRId64 " to %" PRId64 ", as 8x16", text,
                 key->lowest, key->highest);
        return false;
    }
    *out = (struct accel_key_value){text, 0, false};
    return true;
}

bool accel_key_parse(const struct accel_setting_row *key, const char *text, struct accel_key_value *out_value,
                     char *why, size_t why_bytes)
{
    switch (key->type) {
    case ACCEL_SETTING_TEXT:
        *out_value = (struct accel_key_value){text, 0, false};
        return true;
    case ACCEL_SETTING_FLAG:
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
            return refuse_word(key, text, why, why_bytes);
        *out_value = (struct accel_key_value){text, text[0] == 't', true};
        return true;
    default:
        if (accel_word_is_among(key->words, text)) {
            *out_value = (struct accel_key_value){text, strtoll(text, NULL, 10), false};
            return true;
        }
        if (key->type == ACCEL_SETTING_CHOICE)
            return refuse_word(key, text, why, why_bytes);
        if (key->type == ACCEL_SETTING_EXTENT)
            return parse_extent(key, text, out_value, why, why_bytes);
        return parse_number(key, text, out_value, why, why_bytes);
    }
}

void accel_key_variable(const char *name, char *text, size_t bytes)
{
    snprintf(text, bytes, "ACCEL_%s", name);
    for (char *at = text; *at; at++)
        *at = *at == '.' ? '_' : *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
}
