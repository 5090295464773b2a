/* SPDX-License-Identifier: Apache-2.0 */
/* Actions of the command profile. Each receives the arguments after its name and answers an exit code. */
#ifndef ACCELCTL_PROFILE_H
#define ACCELCTL_PROFILE_H

#include <accel/profile.h>

#include "tools/accelctl/common.h"
#include "tools/profiles/files.h"

struct profile_options {
    struct common common;
    struct text_list facts;
    const char *model;
    const char *platform;
    uint32_t all;
    uint32_t overridden;
    uint32_t names;
    uint32_t strict;
};

int profile_list(const struct profile_options *chosen, int count, char **arguments);
int profile_show(const struct profile_options *chosen, int count, char **arguments);
int profile_diff(const struct profile_options *chosen, int count, char **arguments);
int profile_lint(const struct profile_options *chosen, int count, char **arguments);
int profile_env(const struct profile_options *chosen, int count, char **arguments);
int profile_settings(const struct profile_options *chosen, int count, char **arguments);
int profile_facts(const struct profile_options *chosen, int count, char **arguments);
int profile_schema_print(const struct profile_options *chosen, int count, char **arguments);

/* Reads the files of profiles, without devices. Answers -1 and files that the caller frees, or an exit code after an
 * error has been printed. */
int open_profiles(const struct common *common, struct profile_files *files);

/* Warns of variables of the environment that nothing knows, in commands that make no plan, which would note them. */
void warn_unknown_variables(const struct profile_files *files);

/* As warn_unknown_variables, without the files. */
void warn_variables(const struct accel_context *context);

/* Receives a variable that is set to an invalid value, the reason, and the action of accelctl profile that lists the
 * values: "env ACCEL_BATCH". */
typedef void (*env_error)(void *data, const char *name, const char *why, const char *listing);

/* Calls `take` for every variable that is set to an invalid value; options of drivers are checked by
 * `files->check_option`. */
void profile_env_errors(const struct profile_files *files, env_error take, void *data);

/* Names a layer of files: "platform", and in the plural "platforms". */
const char *profile_layer(uint32_t layer, uint32_t plural);

/* Returns the title of a profile: "devices/t4" for a file of the folder, else the path. */
const char *profile_title(const struct profile_info *info, char *text, size_t size);

/* Returns the first sentence of a file's `about`. */
const char *first_sentence(const char *about, char *text, size_t size);

/* Prints the other versions of a device, whose files are called NAME-...: "--device 2xa100-80gb: An A100 with
 * 80 GB" for two of them. */
void print_versions(const struct profile_files *files, const char *name, uint64_t count);

/* Files that NAME+NAME selects: at most one of each of these layers; NULL if none is named. */
struct selection {
    const struct profile_info *platform;
    const struct profile_info *device;
    const struct profile_info *client;
    const struct profile_info *model;
};

/* Finds the files of `names`, separated by '+'. Answers -1, or an exit code after an error has been printed. */
int select_profiles(const struct profile_files *files, const char *names, uint32_t json, struct selection *selection);

#endif
