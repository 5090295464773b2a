/* SPDX-License-Identifier: Apache-2.0 */
/* accelctl: discovers accelerators, plans, runs. One verb, one file. */
#include "config.h"

#include "tools/accelctl/verb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct verb *const verbs[] = {&verb_devices, &verb_plugins, &verb_plan,
                                           &verb_run,     &verb_trace,   &verb_version};

enum { VERBS = sizeof verbs / sizeof *verbs };

static void print_help(FILE *to)
{
    fprintf(to,
            "accelctl: discovers every accelerator of a machine, decides and explains how a model should run on it,\n"
            "and runs it.\n\nUsage: accelctl VERB [OPTION...] [ARGUMENT...]\n\nVerbs:\n");
    for (uint32_t i = 0; i < VERBS; i++)
        fprintf(to, "  %-10s %s\n", verbs[i]->name, verbs[i]->summary);
    fprintf(to,
            "\naccelctl VERB --help tells the options of a verb.\n\n"
            "Exit status: 0 done; 1 a run or the machine failed; 2 wrong usage; 3 a file is missing, malformed or not\n"
            "supported; 4 no such device, or a fallback is denied; 5 it does not fit in memory; 130 interrupted.\n");
}

/* How many letters have to change, for suggestions; words are short. */
static uint32_t distance(const char *a, const char *b)
{
    uint32_t row[32];
    size_t width = strlen(b);

    if (width >= 32 || strlen(a) >= 32)
        return 32;
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

static int refuse_verb(const char *name)
{
    const struct verb *nearest = NULL;
    uint32_t least = 3;

    for (uint32_t i = 0; i < VERBS; i++) {
        uint32_t d = distance(name, verbs[i]->name);

        if (d < least) {
            least = d;
            nearest = verbs[i];
        }
    }
    fprintf(stderr, "accelctl: no verb '%s'%s%s%s\naccelctl --help lists them\n", name,
            nearest == NULL ? "" : "; did you mean '", nearest == NULL ? "" : nearest->name,
            nearest == NULL ? "" : "'?");
    return EXIT_USAGE;
}

int main(int count, char **arguments)
{
    /* Else hwloc loads its own plugins, which open the libraries of vendors in this process: what drivers are for. */
    setenv("HWLOC_PLUGINS_PATH", "", 1);
    if (count < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(arguments[1], "--help") == 0 || strcmp(arguments[1], "-h") == 0 || strcmp(arguments[1], "help") == 0) {
        print_help(stdout);
        return EXIT_DONE;
    }
    if (strcmp(arguments[1], "--version") == 0)
        return verb_version.run(0, arguments + 2, &verb_version);
    for (uint32_t i = 0; i < VERBS; i++)
        if (strcmp(arguments[1], verbs[i]->name) == 0)
            return verbs[i]->run(count - 2, arguments + 2, verbs[i]);
    return refuse_verb(arguments[1]);
}
