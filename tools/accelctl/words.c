/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/words.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/profile/keys.h"
#include "tools/accelctl/command.h"
#include "tools/accelctl/errors.h"

/* Names of the operators, a blank before each. */
static const char operator_names[] =
#define ACCEL_OPERATOR(number, ID, name, ...) " " #name
#include <accel/driver/ops.def>
    ;

static const char quantize_types[] = "q4_k_m q4_k_s q5_k_m q5_k_s q3_k_s q3_k_m q3_k_l q2_k_s mxfp4_moe"
#define WORD_READ(name)
#define WORD_ENCODED(name)
#define WORD_WRITTEN(name) " " #name
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, group, code, number, file_type, narrow, use, cache)            \
    WORD_##use(name)
#include <accel/quant/formats.def>
    ;

static const struct {
    const char *command;
    const char *option; /* "": an argument */
    const char *words;
} known[] = {
    {"quantize", "", quantize_types},
    {"quantize", "type", quantize_types},
    {"quantize", "group", "32 64 128 256 512 row"},
    {"quantize", "scheme", "symmetric asymmetric"},
    {"quantize", "method", "nearest search importance gptq"},
    {"eval", "group", "32 64 128 256 512 row"},
    {"eval", "scheme", "symmetric asymmetric"},
    {"eval", "method", "nearest search importance gptq"},
    {"bench", "", "prefill decode attention batch load operators machine"},
    {"bench", "operator", operator_names + 1},
    {"profile", "list", "base platforms clients devices models system user folder"},
    {"plan", "emit", "llama-server vllm"},
    {"plan", "advise",
     "oom slow accuracy quantization-memory quantization-accuracy attention progressive-loading tuned-kernels "
     "parallel-loading precompile limits"},
    {"claims", "verdict", "claimed estimated measured rejected"},
    {"claims", "format", "text json html"},
    {"claims", "subject",
     "accuracy attention audio batch cache fit kv load memory placement power quality serving speed status weights"},
    {"matrix", "table", "D1 D2 D3 D4"},
    {"matrix", "format", "text json html"},
};

const char *option_words(const char *command, const char *option)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(known[i].command, command) == 0 && strcmp(known[i].option, option) == 0)
            return known[i].words;
    return NULL;
}

bool is_one_of(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (; *words != '\0'; words += strspn(words, " ")) {
        size_t here = strcspn(words, " ");

        if (here == length && strncasecmp(words, word, length) == 0)
            return 1;
        words += here;
    }
    return 0;
}

/* Suggests a word: the first with that beginning, else the nearest; NULL if none is near. The text lives in
 * `near`, whose size is WORD_MOST. */
static const char *nearest_word(const char *words, const char *word, char *near)
{
    size_t length = strlen(word);
    uint32_t least = unrelated_distance(word);

    near[0] = '\0';
    for (; *words != '\0'; words += strspn(words, " ")) {
        char other[WORD_MOST];
        size_t here = strcspn(words, " ");

        snprintf(other, sizeof(other), "%.*s", (int)here, words);
        words += here;
        if (length > 0 && least > 0 && strncasecmp(other, word, length) == 0) {
            least = 0;
            snprintf(near, WORD_MOST, "%s", other);
        } else if (is_nearer(word, other, &least)) {
            snprintf(near, WORD_MOST, "%s", other);
        }
    }
    return near[0] == '\0' ? NULL : near;
}

const char *guess_text(const char *words, const char *word, char text[GUESS_BYTES])
{
    char near[WORD_MOST];
    const char *meant = word[0] == '\0' ? NULL : nearest_word(words, word, near);

    snprintf(text, GUESS_BYTES, "%s%s%s", meant == NULL ? "" : "; did you mean ", meant == NULL ? "" : meant,
             meant == NULL ? "" : "?");
    return text;
}

int refuse_option_word(uint32_t json, const char *command, const char *option, const char *words, const char *word)
{
    char text[460], list[240], guess[GUESS_BYTES], remedy[100];
    size_t used = 0;

    for (const char *at = words; *at != '\0' && used < sizeof(list); at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        const char *before = at == words ? "" : at[length] == '\0' ? " or " : ", ";

        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%.*s", before, (int)length, at);
        at += length;
    }
    snprintf(text, sizeof(text), "%s: --%s requires %s, not '%.40s'%s", command, option, list, word,
             guess_text(words, word, guess));
    snprintf(remedy, sizeof(remedy), "accelctl %s --help lists arguments and options", command);
    return report_error_text(json, EXIT_USAGE, "usage", text, remedy);
}

const char *setting_group(uint32_t index)
{
    const struct accel_key_group *group = accel_key_group_get(index);

    return group == NULL ? NULL : group->name;
}

const char *const *setting_members(const char *name)
{
    const struct accel_key_group *group = accel_key_group_find(name);

    return group == NULL ? NULL : group->members;
}

const char *fact_words(const char *name)
{
    return accel_known_fact_words(name);
}

uint32_t unrelated_distance(const char *word)
{
    return accel_farthest(word);
}

bool is_nearer(const char *word, const char *other, uint32_t *least)
{
    return accel_is_nearer(word, other, least);
}
