/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "doc/reference.h"

#include <accel/profile.h>
#include <string.h>

#include "doc/roff.h"
#include "tools/accelctl/profile/schema.h"
#include "tools/accelctl/setting_words.h"

static void put_setting(FILE *out, const struct accel_setting_row *row)
{
    char values[400], preset[64], variable[96], honored[120];

    fputs(".TP\n\\fB", out);
    roff_put(out, row->name);
    fputs("\\fR\n", out);
    roff_put(out, row->help);
    fputs(".\n.br\n", out);
    roff_put(out, setting_values(row, values, sizeof values));
    fputs("; built in \\fB", out);
    roff_put(out, setting_preset(row, preset, sizeof preset));
    fprintf(out, "\\fR; %s; \\fB\\%%%s\\fR\n", setting_honored_words(row, honored, sizeof honored),
            setting_variable(row, variable, sizeof variable));
}

static void put_settings(FILE *out)
{
    fputs(".SH SETTINGS\nBelow each setting: its values, its built-in value, which profiles replace, what honors it, "
          "and its variable of the "
          "environment. A number with a unit is written with it. Nothing honors the settings marked \\fBlater\\fR yet, "
          "and the name states what will: profiles keep values of them, which are shown and never in force, and one "
          "that you give, other than the built-in one, is refused by name. Options of drivers are settings too; "
          "\\fBaccelctl "
          "profile settings\\fR lists those of the drivers that are installed.\n",
          out);
    for (uint32_t i = 0; i < accel_setting_row_count(); i++)
        put_setting(out, accel_setting_row_get(i));
}

static void put_facts(FILE *out)
{
    fputs(".SH FACTS\nConditions of profiles may ask for these.\n", out);
    for (uint32_t i = 0; i < accel_fact_row_count(); i++) {
        const struct accel_fact_row *row = accel_fact_row_get(i);

        fputs(".TP\n\\fB", out);
        roff_put(out, row->name);
        fputs("\\fR\n", out);
        roff_put(out, row->help);
        fprintf(out, row->unit[0] == '\0' ? "%s\n" : " (a number with its unit: %s)\n", row->unit);
    }
}

/* The names that the documents give to settings. */
static void put_variables(FILE *out, const struct profile_files *profiles)
{
    fputs(".SH ENVIRONMENT\nEvery setting has a variable: \\fBACCEL_\\fR and its name in capitals, with '_' for '.', "
          "which takes words in any case. An option of a driver has one, too: \\fBACCEL_CPU_ISA\\fR is the option "
          "\\fBisa\\fR of the driver "
          "\\fBcpu\\fR. An empty variable counts as none; \\fB\\-\\-set cpu.isa=\\fR leaves an option to its driver, "
          "whatever files and variables set. The names below, from the file \\fIenvironment.yaml\\fR of the folder of profiles, set "
          "settings as well, and are weaker.\n",
          out);
    for (uint32_t i = 0; i < profiles->variable_count; i++) {
        const struct profile_variable *variable = &profiles->variables[i];

        fputs(".TP\n\\fB", out);
        roff_put(out, variable->name);
        fputs("\\fR\n", out);
        roff_put(out, variable->keys);
        if (variable->values[0] != '\0')
            fputs(": ", out);
        roff_line(out, variable->values);
    }
}

int write_settings(FILE *out, const struct profile_files *profiles)
{
    roff_head(out, "accel-settings", 5, "settings, facts and variables of profiles");
    fputs(".SH DESCRIPTION\nA setting gets its value from profiles, from the environment or from the caller;\n"
          ".BR accel\\-profile (5)\ndefines the order. \\fBaccelctl profile settings\\fR prints this list, "
          "\\fBaccelctl profile show\\fR the values for a platform, a device and a model, each with the place that "
          "it comes from.\n",
          out);
    put_settings(out);
    put_facts(out);
    put_variables(out, profiles);
    fputs(".SH SEE ALSO\n.BR accel\\-profile (5),\n.BR accelctl\\-profile (1)\n", out);
    return 0;
}

int write_language(FILE *out, const struct profile_files *profiles)
{
    static const struct word_row files[] = {
        {"/usr/share/accel/profiles", "the folder of profiles, below the prefix of the installation; "
                                      "ACCEL_PROFILE_PATH and --profiles name another one"},
        {"/etc/accel/accel.yaml", "of the machine"},
        {"$XDG_CONFIG_HOME/accel/accel.yaml", "of the user; without the variable in ~/.config"},
        {"./accel.yaml", "of the folder in which a program runs"},
        {"accel-profile.schema.json", "JSON schema of the language, for editors; lies in the documentation's folder"},
        {NULL, NULL},
    };
    char path[1024];
    FILE *in;

    roff_head(out, "accel-profile", 5, "profiles turn facts about device and model into settings");
    snprintf(path, sizeof path, "%s/README.md", profiles->root);
    in = fopen(path, "r");
    if (in == NULL) {
        perror(path);
        return 1;
    }
    roff_markdown(out, in);
    fclose(in);
    roff_rows(out, "FILES", files, "I");
    fputs(".SH SEE ALSO\n.BR accel\\-settings (5),\n.BR accelctl\\-profile (1)\n", out);
    return 0;
}

int write_schema(FILE *out, const struct profile_files *profiles)
{
    json_t *schema = profile_schema(profiles);
    int failed = json_dumpf(schema, out, JSON_INDENT(2)) != 0;

    if (failed)
        fputs("the schema of profiles cannot be written\n", stderr);
    fputc('\n', out);
    json_decref(schema);
    return failed;
}
