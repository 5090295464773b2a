/* SPDX-License-Identifier: Apache-2.0 */
/* What there is to say about the command as a whole: its verbs, exit codes and environment. */
#include "config.h"

#include "tools/accelctl/verb.h"

#include <string.h>

const struct verb *const verbs[] = {
#define VERB(name) &verb_##name,
#include "tools/accelctl/verbs.def"
#undef VERB
    NULL,
};

const struct word_row exit_rows[] = {
    {"0", "done"},
    {"1", "a run, the machine or the output failed"},
    {"2", "wrong usage: options, values, settings of the command line and of the environment"},
    {"3", "a file is missing, malformed or not supported, or it shrank while it was in use"},
    {"4",
     "no such device or platform, or it does not run there, or only in another way than asked and policy denies that"},
    {"5", "it does not fit in memory, or a part of it is more than the device takes at once"},
    {"6", "doctor found something that cannot be used, and says what to do about it"},
    {"130", "interrupted; 143 where SIGTERM ended it in a driver that did not come back"},
    {"139", "a driver crashed in a step of the run, which the error names: 128 and the signal's number, here SIGSEGV; "
            "134 is SIGABRT"},
    {NULL, NULL},
};

const struct word_row environment_rows[] = {
    {"ACCEL_DRIVER_PATH", "folders or files of drivers, from / on, ':' between them, looked in before the installed "
                          "ones; files have to be there"},
    {"ACCEL_PROFILE_PATH", "folder of the profiles, in place of the installed one"},
    {"ACCEL_PROBE", "the program that probes drivers, in place of the installed one"},
    {"ACCEL_COMPILE_MILLISECONDS", "time that a worker may take to compile for a driver that asks for one; 600000"},
    {"ACCEL_COMPILE_BYTES", "memory that such a worker may take; what is free, where it is not set"},
    {"ACCEL_PACKED_BYTES", "what all kept files of packed weights may take of the disk; 16 GiB, 0: none is written"},
    {"ACCEL_KEY", "a setting by its name in capitals: kv.type.k is ACCEL_KV_TYPE_K; --set is stronger"},
    {"XDG_CACHE_HOME", "results of probes, compiled kernels and packed weights are kept in its folder accel; without "
                       "it in ~/.cache/accel"},
    {"XDG_STATE_HOME", "numbers of past runs are kept in its folder accel; without it in ~/.local/state/accel"},
    {"NO_COLOR", "if set and not empty: no colours on a terminal"},
    {NULL, NULL},
};

uint32_t word_distance(const char *a, const char *b)
{
    uint32_t row[WORD_MOST];
    size_t width = strlen(b);

    if (width >= WORD_MOST || strlen(a) >= WORD_MOST)
        return WORD_MOST;
    for (uint32_t j = 0; j <= width; j++)
        row[j] = j;
    for (uint32_t i = 1; a[i - 1] != '\0'; i++) {
        uint32_t corner = row[0];

        row[0] = i;
        for (uint32_t j = 1; j <= width; j++) {
            uint32_t above = row[j];
            uint32_t best = corner + (a[i - 1] != b[j - 1]);

            best = above + 1 < best ? above + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            corner = above;
        }
    }
    return row[width];
}

uint32_t is_nearer(const char *word, const char *other, uint32_t *least)
{
    uint32_t distance = word_distance(word, other);

    if (distance >= *least || distance * 2 > strlen(other))
        return 0;
    *least = distance;
    return 1;
}
