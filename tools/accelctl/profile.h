/* SPDX-License-Identifier: Apache-2.0 */
/* The actions of the verb profile. Each takes the arguments after its name and answers an exit code. */
#ifndef ACCELCTL_PROFILE_H
#define ACCELCTL_PROFILE_H

#include <accel/profile.h>

#include "tools/accelctl/common.h"

struct profile_options {
    struct common common;
    struct text_list facts;
    const char *model;
    uint32_t all;
    uint32_t losers;
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

/* Gives every variable that is set to a value that it cannot have to `take`, with its name and why. */
void profile_env_errors(const struct accel_context *context,
                        void (*take)(void *data, const char *name, const char *why), void *data);

/* What a layer's files are called: "platform", and in the plural "platforms". */
const char *profile_layer(uint32_t layer, uint32_t plural);

/* "devices/t4" of a file of the folder, else the path. */
const char *profile_title(const struct accel_profile_info *info, char *text, size_t size);

/* The first sentence of what a file says about itself. */
const char *first_sentence(const char *about, char *text, size_t size);

/* What NAME+NAME stands for: at most one file of each of these layers; NULL where none is named. */
struct selection {
    const struct accel_profile_info *platform;
    const struct accel_profile_info *device;
    const struct accel_profile_info *client;
    const struct accel_profile_info *model;
};

/* Finds the files of `names`, separated by '+'. Answers -1, or an exit code after an error has been said. */
int select_profiles(const struct accel_context *context, const char *names, uint32_t json, struct selection *selection);

#endif
