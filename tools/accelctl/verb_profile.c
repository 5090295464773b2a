/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/profile.h"

#include <string.h>

static const struct option_row options[] = {
    {"model", 'm', OPTION_TEXT, offsetof(struct profile_options, model), "MODEL",
     "of show and diff: the model, a file of it or a name of the list", 0, 0},
    {"fact", 0, OPTION_LIST, offsetof(struct profile_options, facts), "FACT=VALUE",
     "of show and diff: something known, stronger than what profiles state; may be repeated", 0, 0},
    {"set", 's', OPTION_LIST, offsetof(struct profile_options, common.sets), "KEY=VALUE",
     "of show and diff: a setting, stronger than all profiles; may be repeated", 0, 0},
    {"all", 'a', OPTION_FLAG, offsetof(struct profile_options, all), NULL,
     "of list: all that files say about themselves; of show: settings that no profile touches, and the facts; of env: "
     "variables that are not set, too",
     0, 0},
    {"overruled", 'o', OPTION_FLAG, offsetof(struct profile_options, losers), NULL,
     "of show: under each setting the values that it overruled", 0, 0},
    {"names", 0, OPTION_FLAG, offsetof(struct profile_options, names), NULL,
     "of list, settings and facts: names alone, a line each", 0, 0},
    {"strict", 0, OPTION_FLAG, offsetof(struct profile_options, strict), NULL, "of lint: warnings fail, too", 0, 0},
    COMMON_OPTIONS(struct profile_options, common),
};

static const struct action_row actions[] = {
    {"list", "[LAYER]", "the files that there are: base, platforms, devices, clients, models, and those of the site", 0,
     1, ACTION_NOTHING},
    {"show", "[NAME...]",
     "the settings that come out for a platform, a device, a client and a model, each with its place and reason", 0, 8,
     ACTION_NAMES},
    {"diff", "NAME NAME", "what differs between two of them; more of one side are joined: cuda+t4 cuda+a100", 2, 2,
     ACTION_NAMES},
    {"lint", "[FILE...]", "checks files, folders of profiles, or all that there are and the variables that are set", 0,
     1000, ACTION_FILES},
    {"env", "[VARIABLE...]", "the variables of the environment that are set, and what each comes to", 0, 100,
     ACTION_NOTHING},
    {"settings", "[KEY...]", "the table of settings, or those whose names begin so", 0, 100, ACTION_SETTINGS},
    {"facts", "[FACT...]", "what conditions may ask for, or those whose names begin so", 0, 100, ACTION_FACTS},
    {"schema", "", "the JSON schema of the language, for editors", 0, 0, ACTION_NOTHING},
};

/* In the order of the rows above. */
static int (*const functions[])(const struct profile_options *chosen, int count, char **arguments) = {
    profile_list, profile_show,     profile_diff,  profile_lint,
    profile_env,  profile_settings, profile_facts, profile_schema_print};
_Static_assert(sizeof functions / sizeof *functions == sizeof actions / sizeof *actions, "a function for each action");

/* An option that an action does not know would be passed over in silence. */
static const char *foreign_option(const struct profile_options *chosen, const char *action)
{
    uint32_t shows = strcmp(action, "show") == 0 || strcmp(action, "diff") == 0;
    uint32_t tells = strcmp(action, "list") == 0 || strcmp(action, "settings") == 0 || strcmp(action, "facts") == 0;

    if (!shows && chosen->model != NULL)
        return "model";
    if (!shows && chosen->facts.count > 0)
        return "fact";
    if (!shows && chosen->common.sets.count > 0)
        return "set";
    if (chosen->all && strcmp(action, "list") != 0 && strcmp(action, "show") != 0 && strcmp(action, "env") != 0)
        return "all";
    if (chosen->losers && strcmp(action, "show") != 0)
        return "overruled";
    if (chosen->names && !tells)
        return "names";
    if (chosen->strict && strcmp(action, "lint") != 0)
        return "strict";
    return NULL;
}

static int run(int count, char **arguments, const struct verb *verb)
{
    struct profile_options chosen = {.model = NULL};
    const struct action_row *action;
    const char *foreign;
    int code = parse_options(verb, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    action = find_action(verb, count, arguments, chosen.common.json, &code);
    if (action == NULL)
        return code;
    foreign = foreign_option(&chosen, action->name);
    if (foreign != NULL) {
        char text[128];

        snprintf(text, sizeof text, "profile %s: --%s is no option of it", action->name, foreign);
        return say(chosen.common.json, EXIT_USAGE, "usage", text,
                   "accelctl profile --help tells which options belong to which action");
    }
    return functions[action - actions](&chosen, count - 1, arguments + 1);
}

const struct verb verb_profile = {
    .name = "profile",
    .summary = "profiles: which there are, what they come to for a device and a model, and whether they are sound",
    .arguments = "ACTION [ARGUMENT...]",
    .detail =
        "A profile turns facts about device and model into settings, with a reason for each; accel-profile(5) "
        "describes the language, accel-settings(5) the settings.\n"
        "NAME is a file of the list: cuda, t4, chrome, llama-2-7b; where two layers have the name, devices/t4 tells "
        "which is meant. Several are joined with '+'. Without a platform the best device of this machine is taken.",
    .example =
        "accelctl profile show cuda+t4 --model llama-2-7b\nthe settings for a 7B model on that card, though "
        "none is here\naccelctl profile diff cuda+t4 cuda+a100 --model llama-2-7b\nwhat another card changes\naccelctl "
        "profile settings kv\nall settings of keys and values\naccelctl profile lint accel.yaml\nis a profile "
        "of my own sound?",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .least = 1,
    .most = 1001,
    .run = run,
    .actions = actions,
    .action_count = sizeof actions / sizeof *actions,
};
