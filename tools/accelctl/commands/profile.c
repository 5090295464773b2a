/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "tools/accelctl/profile/profile.h"

static const struct option_row options[] = {
    {"model", 'm', OPTION_TEXT, offsetof(struct profile_options, model), "MODEL",
     "with show and diff: the model, a file or a name of the list", 0, 0},
    {"platform", 'p', OPTION_TEXT, offsetof(struct profile_options, platform), "NAME",
     "with show and diff: the platform, as one of the NAMEs", 0, 0},
    {"device", 'd', OPTION_TEXT, offsetof(struct profile_options, common.device), "NAME",
     "with show and diff: the device, a file of the folder devices or, as in plan, a device that is here", 0, 0},
    {"client", 0, OPTION_TEXT, offsetof(struct profile_options, common.client), "NAME",
     "with show and diff: the client, as one of the NAMEs", 0, 0},
    {"fact", 0, OPTION_LIST, offsetof(struct profile_options, facts), "FACT=VALUE",
     "with show and diff: a fact, which overrides those that profiles state; may be repeated", 0, 0},
    {"set", 's', OPTION_LIST, offsetof(struct profile_options, common.sets), "KEY=VALUE",
     "with show and diff: a setting, which overrides all profiles; may be repeated", 0, 0},
    {"all", 'a', OPTION_FLAG, offsetof(struct profile_options, all), NULL,
     "with list: print all attributes of the files; with show: also settings that no profile sets, and the facts; with "
     "env: also variables that are not set",
     0, 0},
    {"overruled", 'o', OPTION_FLAG, offsetof(struct profile_options, overridden), NULL,
     "with show: print the overridden values under each setting", 0, 0},
    {"names", 0, OPTION_FLAG, offsetof(struct profile_options, names), NULL,
     "with list, settings and facts: print the names alone, one per line", 0, 0},
    {"strict", 0, OPTION_FLAG, offsetof(struct profile_options, strict), NULL, "with lint: fail on warnings, too", 0,
     0},
    COMMON_OPTIONS(struct profile_options, common),
};

static const struct action_row actions[] = {
    {"list", "[LAYER]", "list the files: base, platforms, devices, clients, models, and those of the site", 0, 1,
     ACTION_WORDS},
    {"show", "[NAME...]",
     "show the settings that result for a platform, a device, a client and a model, each with its place and reason", 0,
     8, ACTION_NAMES},
    {"diff", "NAME NAME",
     "compare the settings that result, also for each kind of model unless --model names one; join the files of a side "
     "with +: cuda+t4 cuda+a100",
     2, 2, ACTION_NAMES},
    {"lint", "[FILE...]", "check files, folders of profiles, or all installed ones and the variables that are set", 0,
     1000, ACTION_FILES},
    {"env", "[VARIABLE...]", "list the environment variables that are set, and the setting of each", 0, 100,
     ACTION_NOTHING},
    {"settings", "[KEY...]", "list the settings and the options of drivers, or those whose names begin with KEY", 0,
     100, ACTION_SETTINGS},
    {"facts", "[FACT...]", "list the facts that conditions can use, or those whose names begin with FACT", 0, 100,
     ACTION_FACTS},
    {"schema", "", "print the JSON schema of the language, for editors", 0, 0, ACTION_NOTHING},
};

/* Actions in the order of the rows above. */
static int (*const functions[])(const struct profile_options *chosen, int count, char **arguments) = {
    profile_list, profile_show,     profile_diff,  profile_lint,
    profile_env,  profile_settings, profile_facts, profile_schema_print};
_Static_assert(sizeof(functions) / sizeof(*functions) == sizeof(actions) / sizeof(*actions),
               "a function for each action");

/* Finds an option that the action does not support, so that it is refused instead of ignored. */
static const char *foreign_option(const struct profile_options *chosen, const char *action)
{
    bool shows = strcmp(action, "show") == 0 || strcmp(action, "diff") == 0;
    uint32_t prints_names =
        strcmp(action, "list") == 0 || strcmp(action, "settings") == 0 || strcmp(action, "facts") == 0;

    if (!shows && chosen->model != NULL)
        return "model";
    if (!shows && chosen->platform != NULL)
        return "platform";
    if (!shows && chosen->common.device != NULL)
        return "device";
    if (!shows && chosen->common.client != NULL)
        return "client";
    if (!shows && chosen->facts.count > 0)
        return "fact";
    if (!shows && chosen->common.sets.count > 0)
        return "set";
    if (chosen->all && strcmp(action, "list") != 0 && strcmp(action, "show") != 0 && strcmp(action, "env") != 0)
        return "all";
    if (chosen->overridden && strcmp(action, "show") != 0)
        return "overruled";
    if (chosen->names && !prints_names)
        return "names";
    if (chosen->strict && strcmp(action, "lint") != 0)
        return "strict";
    return NULL;
}

static int run(int count, char **arguments, const struct command *command)
{
    struct profile_options chosen = {.model = NULL};
    const struct action_row *action;
    const char *foreign;
    int code = parse_options(command, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    action = find_action(command, count, arguments, chosen.common.json, &code);
    if (action == NULL)
        return code;
    foreign = foreign_option(&chosen, action->name);
    if (foreign != NULL)
        return report_error_format(chosen.common.json, EXIT_USAGE, "usage",
                                   "accelctl profile --help lists the options of each action",
                                   "profile %s: the action has no option --%s", action->name, foreign);
    return functions[action - actions](&chosen, count - 1, arguments + 1);
}

const struct command command_profile = {
    .name = "profile",
    .summary = "list profiles, show the settings that they give for a device and a model, and check profile files",
    .arguments = "ACTION [ARGUMENT...]",
    .detail =
        "A profile maps facts about device and model to settings, with a reason for each; accel-profile(5) "
        "describes the language, accel-settings(5) the settings.\n"
        "NAME is a file of the list: cuda, t4, chrome, llama-2-7b; if two layers have the name, write LAYER/NAME "
        "as devices/t4. Join several with '+', or name them by --platform, --device, --client and --model. Without a "
        "platform, the best device of this machine is used.",
    .example =
        "accelctl profile show cuda+t4 --model llama-2-7b\nthe settings for a 7B model on that card, though "
        "none is here\naccelctl profile diff cuda+t4 cuda+a100 --model llama-2-7b\nwhat another card changes\naccelctl "
        "profile settings kv\nall settings of keys and values\naccelctl profile lint accel.yaml\ncheck a profile "
        "of your own",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .least = 1,
    .most = 1001,
    .run = run,
    .actions = actions,
    .action_count = sizeof(actions) / sizeof(*actions),
};
