/* SPDX-License-Identifier: Apache-2.0 */
/* accelctl: discovers accelerators, plans, runs. One verb, one file. */
#include "config.h"

#include "tools/accelctl/blame.h"
#include "tools/accelctl/external.h"
#include "tools/accelctl/say.h"
#include "tools/accelctl/space.h"
#include "tools/accelctl/verb.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void print_rows(const char *heading, const struct word_row *row)
{
    print("\n%s:\n", heading);
    for (; row->left != NULL; row++)
        print_wrapped((uint32_t)print("  %-19s ", row->left), 22, row->right);
}

static void print_help(void)
{
    print_wrapped(0, 0,
                  "accelctl: discovers every accelerator of a machine, decides and explains how a model should run on "
                  "it, and runs it.");
    print("\nUsage: accelctl VERB [OPTION...] [ARGUMENT...]\n\nVerbs:\n");
    for (uint32_t i = 0; verbs[i] != NULL; i++)
        print_wrapped((uint32_t)print("  %-20s", verbs[i]->name), 22, verbs[i]->summary);
    print("\naccelctl VERB --help, or accelctl help VERB, tells the options of a verb.\n");
    print_rows("Exit status", exit_rows);
    print_rows("Environment", environment_rows);
}

static const struct verb *find_verb(const char *name)
{
    for (uint32_t i = 0; verbs[i] != NULL; i++)
        if (strcmp(name, verbs[i]->name) == 0)
            return verbs[i];
    return NULL;
}

static int refuse_verb(const char *name, char **arguments)
{
    const struct verb *nearest = NULL;
    uint32_t least = 3;
    uint32_t json = 0;
    char text[200];

    for (uint32_t i = 0; verbs[i] != NULL; i++)
        if (is_nearer(name, verbs[i]->name, &least))
            nearest = verbs[i];
    for (; *arguments != NULL; arguments++)
        json |= strcmp(*arguments, "--json") == 0;
    if (nearest == NULL)
        snprintf(text, sizeof text, "there is no verb '%.60s'", name);
    else
        snprintf(text, sizeof text, "there is no verb '%.60s'; did you mean '%s'?", name, nearest->name);
    return say(json, EXIT_USAGE, "usage", text, "accelctl --help lists the verbs");
}

static int help(const char *name, char **arguments)
{
    const struct verb *verb = name == NULL ? NULL : find_verb(name);

    if (verb != NULL)
        print_verb_help(verb);
    else if (name == NULL)
        print_help();
    else
        return refuse_verb(name, arguments);
    return EXIT_DONE;
}

static int act(int count, char **arguments)
{
    const struct verb *verb;

    if (count < 2)
        return say(0, EXIT_USAGE, "usage", "wants a verb", "accelctl --help lists the verbs");
    if (strcmp(arguments[1], "--help") == 0 || strcmp(arguments[1], "-h") == 0)
        return help(NULL, arguments);
    if (strcmp(arguments[1], "help") == 0)
        return help(arguments[2], arguments);
    if (strcmp(arguments[1], "--version") == 0)
        return verb_version.run(0, arguments + 2, &verb_version);
    verb = find_verb(arguments[1]);
    if (verb != NULL)
        return verb->run(count - 2, arguments + 2, verb);
    run_external(arguments[1], arguments + 1);
    return refuse_verb(arguments[1], arguments);
}

int main(int count, char **arguments)
{
    int code;

    output_begin();
    /* Else hwloc loads its own plugins, which open the libraries of vendors in this process: what drivers are for. */
    setenv("HWLOC_PLUGINS_PATH", "", 1);
    space_spare_mesa();
    blame_begin();
    /* A file that may not grow (ulimit -f) is an error of whoever writes it, with a name, and not a silent end. */
    signal(SIGXFSZ, SIG_IGN);
    code = act(count, arguments);
    if (fflush(output()) != 0 || ferror(output())) {
        say(0, EXIT_FAILED, "ACCEL_E_IO", "cannot write to the standard output", NULL);
        code = code == EXIT_DONE ? EXIT_FAILED : code;
    }
    blame_done();
    return code;
}
