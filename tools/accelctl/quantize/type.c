/* SPDX-License-Identifier: Apache-2.0 */
/* Composes names of types from the words of several options. */
#include "config.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/accelctl/errors.h"
#include "tools/accelctl/quantize/quantize.h"
#include "tools/accelctl/words.h"

/* Planar types, for which a group is chosen; `group` is the default. */
static const struct {
    const char *name;
    const char *group;
    uint32_t schemes; /* 1: symmetric or asymmetric */
} planar[] = {
    {"q2", "64", 1},  {"q3", "128", 1}, {"q4", "128", 1},       {"q8", "128", 1},
    {"nf4", "64", 0}, {"c4", "row", 0}, {"cluster4", "row", 0}, {"f8", "128", 0},
};

static int usage(uint32_t json, const char *command, const char *text, const char *remedy)
{
    return report_error_format(json, EXIT_USAGE, "usage", remedy, "%s: %.250s", command, text);
}

static int find(const char *type)
{
    for (size_t i = 0; i < sizeof(planar) / sizeof(*planar); i++)
        if (is_one_of(planar[i].name, type))
            return (int)i;
    return -1;
}

bool type_has_groups(const char *type)
{
    return find(type) >= 0;
}

int type_name(uint32_t json, const char *command, const char *type, const char *group, const char *scheme,
              uint32_t others, char out_name[TYPE_NAME])
{
    static const char groups[] = "32 64 128 256 512 row", schemes[] = "symmetric asymmetric";
    int at = find(type);
    char text[200];

    if (group != NULL && !is_one_of(groups, group))
        return refuse_option_word(json, command, "group", groups, group);
    if (scheme != NULL && !is_one_of(schemes, scheme))
        return refuse_option_word(json, command, "scheme", schemes, scheme);
    if (at < 0 && !others && (group != NULL || scheme != NULL)) {
        snprintf(text, sizeof(text), "the name '%.40s' already defines the groups: --%s contradicts it", type,
                 group != NULL ? "group" : "scheme");
        return usage(json, command, text,
                     "--group and --scheme are for --type q2, q3, q4 or q8, --group for nf4, c4 and f8");
    }
    if (at >= 0 && !planar[at].schemes && scheme != NULL) {
        snprintf(text, sizeof(text), "%s has levels of its own: --scheme contradicts it", planar[at].name);
        return usage(json, command, text, NULL);
    }
    if (at < 0) {
        snprintf(out_name, TYPE_NAME, "%s", type);
        return -1;
    }
    group = group == NULL ? planar[at].group : group;
    snprintf(out_name, TYPE_NAME, "%s_%s%s%s", planar[at].name[0] == 'c' ? "c4" : planar[at].name,
             isdigit((unsigned char)group[0]) ? "g" : "", isdigit((unsigned char)group[0]) ? group : "row",
             scheme != NULL && tolower((unsigned char)scheme[0]) == 'a' ? "a" : "");
    return -1;
}

int parse_bytes(uint32_t json, const char *command, const char *option, const char *text, uint64_t *out_bytes)
{
    static const struct {
        const char *name;
        double bytes;
    } units[] = {{"B", 1},
                 {"kB", 1e3},
                 {"MB", 1e6},
                 {"GB", 1e9},
                 {"KiB", 1024},
                 {"MiB", 1024.0 * 1024},
                 {"GiB", 1024.0 * 1024 * 1024}};
    char *end, said[200];
    double number = strtod(text, &end), unit = 0;

    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (strcasecmp(units[i].name, end + strspn(end, " ")) == 0)
            unit = units[i].bytes;
    if (end != text && isdigit((unsigned char)text[0]) && number * unit >= 1 && number * unit < 1e18) {
        *out_bytes = (uint64_t)(number * unit);
        return -1;
    }
    snprintf(said, sizeof(said), "--%s requires a size, not '%.40s'", option, text);
    return usage(json, command, said, "a number and one of B, kB, MB, GB, KiB, MiB and GiB, as 60MB or 1.2GiB");
}

int parse_method(uint32_t json, const char *command, const char *word, const char *calib, uint32_t *out_method)
{
    static const char *const names[] = {
        [ACCEL_QUANTIZE_METHOD_NEAREST] = "nearest",
        [ACCEL_QUANTIZE_METHOD_SEARCH] = "search",
        [ACCEL_QUANTIZE_METHOD_IMPORTANCE] = "importance",
        [ACCEL_QUANTIZE_METHOD_GPTQ] = "gptq",
    };
    char text[200];

    *out_method = ACCEL_QUANTIZE_METHOD_DEFAULT;
    for (uint32_t i = 1; word != NULL && i < sizeof(names) / sizeof(*names); i++)
        if (is_one_of(names[i], word))
            *out_method = i;
    if (word != NULL && *out_method == ACCEL_QUANTIZE_METHOD_DEFAULT)
        return refuse_option_word(json, command, "method", "nearest search importance gptq", word);
    if (*out_method < ACCEL_QUANTIZE_METHOD_IMPORTANCE || calib != NULL)
        return -1;
    snprintf(text, sizeof(text), "--method %s requires a --calib", names[*out_method]);
    return usage(json, command, text, "a text of a few thousand words, as the model will be used for");
}

uint32_t parse_group(const char *word)
{
    return word == NULL                      ? 0
           : isdigit((unsigned char)word[0]) ? (uint32_t)strtoul(word, NULL, 10)
                                             : ACCEL_QUANTIZE_GROUP_ROW;
}
