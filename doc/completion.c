/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "doc/completion.h"

#include <accel/profile.h>
#include <string.h>

#include "tools/accelctl/command.h"
#include "tools/accelctl/words.h"

/* Facts of absent devices that --set takes beside settings. */
#define DEVICE_FACTS "device.count device.memory device.reserve device.bandwidth device.compute"

/* Completion candidates for the value of an option, looked up by the value name of its row or by the option's own
 * name. Other options get no candidates. */
static const struct offer {
    const char *word;
    const char *bash; /* words of a command that prints them for $word */
    const char *zsh;  /* an action of _arguments */
} offers[] = {
    {"FILE", "_accelctl_files", "_files"},
    {"FOLDER", "_accelctl_files", "_files -/"},
    {"PATH", "_accelctl_files", "_files"},
    {"KEY", "_accelctl_settings ''", "_accelctl_settings"},
    {"KEY=VALUE", "_accelctl_settings =; compgen -S = -W '" DEVICE_FACTS "' -- \"$word\"", "_accelctl_values"},
    {"FACT=VALUE", "_accelctl_facts =", "_accelctl_facts -S ="},
    {"MODEL", "_accelctl_models", "_accelctl_models"},
    {"platform", "_accelctl_names platforms", "_accelctl_names platforms"},
    {"client", "_accelctl_names clients", "_accelctl_names clients"},
};

/* Overrides of `offer` for options that mean something different in one command. */
static const struct {
    const char *command;
    const char *option;
    struct offer offer;
} special[] = {
    {"plan", "device", {"NAME", "_accelctl_devices; _accelctl_names devices", "_accelctl_devices"}},
    {"run", "device", {"NAME", "_accelctl_devices", "_accelctl_devices"}},
    {"eval", "device", {"NAME", "_accelctl_devices", "_accelctl_devices"}},
    {"bench", "device", {"NAME", "_accelctl_devices", "_accelctl_devices"}},
    {"trace", "device", {"NAME", "_accelctl_devices", "_accelctl_devices"}},
};

static const struct offer *find_special(const struct command *command, const struct option_row *row)
{
    for (uint32_t i = 0; i < sizeof special / sizeof *special; i++)
        if (strcmp(command->name, special[i].command) == 0 && strcmp(row->name, special[i].option) == 0)
            return &special[i].offer;
    return NULL;
}

static const struct offer *find_offer(const struct option_row *row)
{
    for (uint32_t i = 0; i < sizeof offers / sizeof *offers; i++)
        if (strcmp(row->argument, offers[i].word) == 0 || strcmp(row->name, offers[i].word) == 0)
            return &offers[i];
    return NULL;
}

/* 1 when a command before `command` has the same option. */
static uint32_t seen_before(uint32_t command, const char *name)
{
    for (uint32_t v = 0; v < command; v++)
        for (uint32_t i = 0; i < commands[v]->option_count; i++)
            if (strcmp(commands[v]->options[i].name, name) == 0)
                return 1;
    return 0;
}

static void put_settings(FILE *out)
{
    for (uint32_t i = 0; i < accel_setting_row_count(); i++)
        fprintf(out, "%s%s", i == 0 ? "" : " ", accel_setting_row_get(i)->name);
}

static void put_facts(FILE *out)
{
    for (uint32_t i = 0; i < accel_fact_row_count(); i++)
        fprintf(out, "%s%s", i == 0 ? "" : " ", accel_fact_row_get(i)->name);
}

static const char *words_of(const struct accel_setting_row *row)
{
    return row->type == ACCEL_SETTING_FLAG ? "true false" : row->words;
}

/* Writes the branches of a case, one for each set of settings with the same values: their names after `before`, up
 * to `after`. */
static void put_values(FILE *out, const char *before, const char *after)
{
    for (uint32_t i = 0; i < accel_setting_row_count(); i++) {
        const char *words = words_of(accel_setting_row_get(i));
        uint32_t first = i;

        for (uint32_t j = 0; j < i && first == i; j++)
            if (strcmp(words_of(accel_setting_row_get(j)), words) == 0)
                first = j;
        if (first != i || words[0] == '\0')
            continue;
        fprintf(out, "    %s", accel_setting_row_get(i)->name);
        for (uint32_t j = i + 1; j < accel_setting_row_count(); j++)
            if (strcmp(words_of(accel_setting_row_get(j)), words) == 0)
                fprintf(out, " | \\\n        %s", accel_setting_row_get(j)->name);
        fprintf(out, ") %s%s%s ;;\n", before, words, after);
    }
}

/* ---- bash ---- */

static void bash_helpers(FILE *out)
{
    fputs("_accelctl_files() { compgen -f -- \"$word\"; }\n"
          "_accelctl_names() { compgen -W \"$(\"${COMP_WORDS[0]}\" profile list --names \"$@\" 2>/dev/null)\" -- "
          "\"$word\"; }\n"
          "_accelctl_models() { _accelctl_names models; _accelctl_files; }\n"
          "_accelctl_words() { compgen -W \"$1\" -- \"$word\"; }\n"
          "# Types may be in capitals, as llama.cpp writes them.\n"
          "_accelctl_types()\n{\n    local list\n    list=$(compgen -W \"$1\" -- \"${word,,}\") || return\n"
          "    case $word in *[A-Z]*) echo \"${list^^}\" ;; *) echo \"$list\" ;; esac\n}\n"
          "# Devices may be a list with commas between.\n"
          "_accelctl_devices()\n{\n    local before=${word%\"${word##*,}\"} word=${word##*,} name\n"
          "    for name in $(compgen -W \"$(\"${COMP_WORDS[0]}\" devices --names 2>/dev/null)\" -- \"$word\"); do\n"
          "        echo \"$before$name\"\n    done\n}\n"
          "# Profiles may be joined with +.\n"
          "_accelctl_profiles()\n{\n    local before=${word%\"${word##*+}\"} word=${word##*+} name\n"
          "    for name in $(_accelctl_names); do echo \"$before$name\"; done\n}\n"
          "_accelctl_settings()\n{\n    compgen -S \"$1\" -W '",
          out);
    put_settings(out);
    fputs("' -- \"$word\"\n}\n_accelctl_facts()\n{\n    compgen -S \"$1\" -W '", out);
    put_facts(out);
    fputs("' -- \"$word\"\n}\n# The words that the setting $1 may be.\n_accelctl_values()\n{\n    case $1 in\n", out);
    put_values(out, "compgen -W '", "' -- \"$word\"");
    fputs("    esac\n}\n", out);
}

/* Returns the function that offers words of an option or argument. */
static const char *words_function(const struct command *command, const char *words)
{
    return words == option_words(command->name, "type") ? "_accelctl_types" : "_accelctl_words";
}

static void bash_options(FILE *out, const struct command *command)
{
    const char *words = option_words(command->name, "");

    fprintf(out, "    %s) options='", command->name);
    for (uint32_t i = 0; i < command->option_count; i++) {
        if (command->options[i].letter != 0)
            fprintf(out, "-%c ", command->options[i].letter);
        fprintf(out, "--%s ", command->options[i].name);
    }
    fputs("-h --help'", out);
    if (strncmp(command->arguments, "MODEL", 5) == 0)
        fputs(" arguments=_accelctl_models", out);
    else if (words != NULL)
        fprintf(out, " arguments=\"%s '%s'; _accelctl_files\"", words_function(command, words), words);
    fputs(" ;;\n", out);
}

/* Writes a case pattern of the options whose values `offer` completes. */
static void bash_values(FILE *out, const struct offer *offer)
{
    uint32_t count = 0;

    for (uint32_t v = 0; commands[v] != NULL; v++)
        for (uint32_t i = 0; i < commands[v]->option_count; i++) {
            const struct option_row *row = &commands[v]->options[i];

            if (row->argument == NULL || find_offer(row) != offer || seen_before(v, row->name))
                continue;
            fprintf(out, "%s--%s", count++ == 0 ? "    " : " | ", row->name);
            if (row->letter != 0)
                fprintf(out, " | -%c", row->letter);
        }
    if (count > 0 && offer != NULL)
        fprintf(out, ") mapfile -t COMPREPLY < <(%s); return ;;\n", offer->bash);
    else if (count > 0)
        fputs(") return ;;\n", out);
}

/* Writes the options whose values the command itself completes. */
static void bash_words(FILE *out)
{
    fputs("    case \"${COMP_WORDS[1]} $before\" in\n", out);
    for (uint32_t v = 0; commands[v] != NULL; v++)
        for (uint32_t i = 0; i < commands[v]->option_count; i++) {
            const struct option_row *row = &commands[v]->options[i];
            const struct offer *offer = find_special(commands[v], row);
            const char *words = option_words(commands[v]->name, row->name);

            if (words == NULL && offer == NULL)
                continue;
            fprintf(out, "    '%s --%s'", commands[v]->name, row->name);
            if (row->letter != 0)
                fprintf(out, " | '%s -%c'", commands[v]->name, row->letter);
            if (words != NULL)
                fprintf(out, ") mapfile -t COMPREPLY < <(%s '%s'); return ;;\n", words_function(commands[v], words),
                        words);
            else
                fprintf(out, ") mapfile -t COMPREPLY < <(%s); return ;;\n", offer->bash);
        }
    fputs("    esac\n", out);
}

static void bash_actions(FILE *out, const struct command *command)
{
    static const char *const offered[] = {
        [ACTION_FILES] = "_accelctl_files",          [ACTION_NAMES] = "_accelctl_profiles",
        [ACTION_SETTINGS] = "_accelctl_settings ''", [ACTION_FACTS] = "_accelctl_facts ''",
        [ACTION_WORDS] = "_accelctl_words",          [ACTION_NOTHING] = ":"};

    if (command->action_count == 0)
        return;
    fprintf(out, "    %s)\n        arguments=:\n        case ${COMP_WORDS[2]} in\n", command->name);
    for (uint32_t i = 0; i < command->action_count; i++) {
        const struct action_row *action = &command->actions[i];

        fprintf(out, "        %s) arguments=\"%s", action->name, offered[action->completes]);
        if (action->completes == ACTION_WORDS)
            fprintf(out, " '%s'", option_words(command->name, action->name));
        fputs("\" ;;\n", out);
    }
    fputs("        esac\n        [ \"$COMP_CWORD\" != 2 ] || arguments=\"compgen -W '", out);
    for (uint32_t i = 0; i < command->action_count; i++)
        fprintf(out, "%s%s", i == 0 ? "" : " ", command->actions[i].name);
    fputs("' -- \\$word\" ;;\n", out);
}

static void bash_commands(FILE *out, const char *before, const char *after)
{
    fputs(before, out);
    for (uint32_t i = 0; commands[i] != NULL; i++)
        fprintf(out, "%s ", commands[i]->name);
    fputs(after, out);
}

void write_bash(FILE *out)
{
    fputs("# SPDX-License-Identifier: Apache-2.0\n# Made by doc/pages.c from the tables of the command.\n"
          "# make install puts it where bash-completion finds it; from a source tree: . doc/completion/accelctl\n",
          out);
    bash_helpers(out);
    fputs("_accelctl()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options= "
          "arguments=_accelctl_files\n"
          "    COMPREPLY=()\n",
          out);
    bash_commands(out, "    if [ \"$COMP_CWORD\" = 1 ]; then\n        mapfile -t COMPREPLY < <(compgen -W '",
                  "help --help --version' -- \"$word\")\n        return\n    fi\n");
    fputs("    # bash takes KEY=VALUE for three words.\n"
          "    if [ \"$before\" = = ]; then\n"
          "        mapfile -t COMPREPLY < <(_accelctl_values \"${COMP_WORDS[COMP_CWORD-2]}\")\n        return\n"
          "    elif [ \"$word\" = = ]; then\n        word=\n"
          "        mapfile -t COMPREPLY < <(_accelctl_values \"$before\")\n        return\n    fi\n"
          "    case $before in\n    --set | -s | --fact) compopt -o nospace 2>/dev/null ;;\n    esac\n",
          out);
    bash_words(out);
    fputs("    case $before in\n", out);
    for (uint32_t i = 0; i < sizeof offers / sizeof *offers; i++)
        bash_values(out, &offers[i]);
    bash_values(out, NULL);
    fputs("    esac\n    case ${COMP_WORDS[1]} in\n", out);
    for (uint32_t i = 0; commands[i] != NULL; i++)
        bash_options(out, commands[i]);
    bash_commands(out, "    help) arguments=\"compgen -W '", "' -- \\$word\" ;;\n    esac\n");
    fputs("    case ${COMP_WORDS[1]} in\n", out);
    for (uint32_t i = 0; commands[i] != NULL; i++)
        bash_actions(out, commands[i]);
    fputs("    esac\n    case $word in\n    -*) mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\") ;;\n"
          "    *) mapfile -t COMPREPLY < <(eval \"$arguments\") ;;\n    esac\n}\n"
          "complete -o filenames -F _accelctl accelctl\n",
          out);
}

/* ---- zsh ---- */

/* Writes text inside of single quotes, with brackets and colons escaped, which _arguments interprets. */
static void zsh_put(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr("[]:\\", *text) != NULL)
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

static void zsh_helpers(FILE *out)
{
    fputs("_accelctl_names()\n{\n    local -a names\n    compset -P '*+'\n"
          "    names=(${(f)\"$(_call_program names accelctl profile list --names $1)\"})\n    compadd -a names\n}\n"
          "_accelctl_models()\n{\n    _accelctl_names models\n    _files\n}\n"
          "_accelctl_devices()\n{\n    local -a names\n    compset -P '*,'\n"
          "    names=(${(f)\"$(_call_program names accelctl devices --names)\"})\n    compadd -a names\n}\n"
          "_accelctl_settings()\n{\n    compadd \"$@\" -- ",
          out);
    put_settings(out);
    fputs("\n}\n_accelctl_facts()\n{\n    compadd \"$@\" -- ", out);
    put_facts(out);
    fputs("\n}\n_accelctl_values()\n{\n    local key=${PREFIX%%=*}\n    if ! compset -P '*='; then\n"
          "        _accelctl_settings -S =\n        compadd -S = -- " DEVICE_FACTS
          "\n        return\n    fi\n    case $key in\n",
          out);
    put_values(out, "compadd -- ", "");
    fputs("    esac\n}\n", out);
}

static void zsh_option(FILE *out, const struct command *command, const struct option_row *row)
{
    const struct offer *offer = row->argument == NULL ? NULL : find_special(command, row);
    const char *words = option_words(command->name, row->name);

    if (row->argument != NULL && offer == NULL)
        offer = find_offer(row);

    for (uint32_t way = 0; way < 2; way++) {
        if (way == 0 && row->letter == 0)
            continue;
        fprintf(out, "            '%s", row->type == OPTION_LIST ? "*" : "");
        if (way == 0)
            fprintf(out, "-%c", row->letter);
        else
            fprintf(out, "--%s%s", row->name, row->argument == NULL ? "" : "=");
        fputc('[', out);
        zsh_put(out, row->help);
        fputc(']', out);
        if (row->argument != NULL && words != NULL)
            fprintf(out, ":%s:(%s)", row->argument, words);
        else if (row->argument != NULL)
            fprintf(out, ":%s:%s", row->argument, offer == NULL ? " " : offer->zsh);
        fputs("' \\\n", out);
    }
}

/* Writes the zsh completion of a command's positional arguments: an action and its arguments, a model or files. */
static void zsh_arguments(FILE *out, const struct command *command)
{
    static const char *const offered[] = {[ACTION_FILES] = "_files",
                                          [ACTION_NAMES] = "_accelctl_names",
                                          [ACTION_SETTINGS] = "_accelctl_settings",
                                          [ACTION_FACTS] = "_accelctl_facts",
                                          [ACTION_WORDS] = "compadd --",
                                          [ACTION_NOTHING] = "_message argument"};
    const char *words = option_words(command->name, "");

    if (command->action_count == 0) {
        if (strncmp(command->arguments, "MODEL", 5) == 0)
            fputs(" \\\n            '1:model:_accelctl_models'", out);
        else if (words != NULL)
            fprintf(out, " \\\n            '*:argument:{ compadd -M \"m:{A-Z}={a-z}\" -- %s; _files }'", words);
        else if (command->arguments[0] != '\0')
            fputs(" \\\n            '*:file:_files'", out);
        fputs(" ;;\n", out);
        return;
    }
    fputs(" \\\n            '1:action:((", out);
    for (uint32_t i = 0; i < command->action_count; i++) {
        fprintf(out, "%s%s\\:\"", i == 0 ? "" : " ", command->actions[i].name);
        zsh_put(out, command->actions[i].summary);
        fputc('"', out);
    }
    fputs("))' \\\n            '*:argument:->argument'\n        [[ $state = argument ]] && case $words[2] in\n", out);
    for (uint32_t i = 0; i < command->action_count; i++) {
        const struct action_row *action = &command->actions[i];

        fprintf(out, "        %s) %s %s ;;\n", action->name, offered[action->completes],
                action->completes == ACTION_WORDS ? option_words(command->name, action->name) : "");
    }
    fputs("        esac ;;\n", out);
}

void write_zsh(FILE *out)
{
    fputs("#compdef accelctl\n# SPDX-License-Identifier: Apache-2.0\n# Made by doc/pages.c from the tables of the "
          "command.\n# make install puts it into zsh/site-functions; from a source tree: fpath+=($PWD/doc/completion); "
          "autoload -U compinit; compinit\n",
          out);
    zsh_helpers(out);
    fputs("_accelctl()\n{\n    local state\n    local -a commands=(\n", out);
    for (uint32_t i = 0; commands[i] != NULL; i++) {
        fprintf(out, "        '%s:", commands[i]->name);
        zsh_put(out, commands[i]->summary);
        fputs("'\n", out);
    }
    fputs("        'help:the options of a command'\n    )\n    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n        return\n    fi\n    local command=$words[2]\n"
          "    shift words\n    (( CURRENT-- ))\n    case $command in\n    help) _describe command commands ;;\n",
          out);
    for (uint32_t v = 0; commands[v] != NULL; v++) {
        fprintf(out, "    %s)\n        _arguments \\\n", commands[v]->name);
        for (uint32_t i = 0; i < commands[v]->option_count; i++)
            zsh_option(out, commands[v], &commands[v]->options[i]);
        fputs("            '(-h --help)'{-h,--help}'[print the options]'", out);
        zsh_arguments(out, commands[v]);
    }
    fputs("    esac\n}\n_accelctl \"$@\"\n", out);
}
