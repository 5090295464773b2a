/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs share: the options about finding devices, settings from the command line, errors, numbers for people. */
#ifndef ACCELCTL_COMMON_H
#define ACCELCTL_COMMON_H

#include "tools/accelctl/verb.h"

#include <accel/accel.h>
#include <jansson.h>

struct common {
    uint32_t json;
    uint32_t verbose;
    uint32_t no_cache;
    uint32_t zero;
    const char *drivers;
    const char *profiles;
    const char *device;
    struct text_list sets;
};

/* Rows of options over a `struct common` that is the member `member` of the verb's struct. */
#define COMMON_OPTIONS(type, member)                                                                                   \
    {"json", 0, OPTION_FLAG, offsetof(type, member.json), NULL, "print JSON, with the name of its schema"},            \
        {"drivers",   0,                                                                                               \
         OPTION_TEXT, offsetof(type, member.drivers),                                                                  \
         "PATH",      "folders or files of drivers to look in first"},                                                 \
        {"profiles", 0, OPTION_TEXT, offsetof(type, member.profiles), "FOLDER", "folder of the profiles"},             \
        {"no-cache", 0, OPTION_FLAG, offsetof(type, member.no_cache), NULL, "probe drivers anew and keep no result"},  \
    {                                                                                                                  \
        "verbose", 'v', OPTION_FLAG, offsetof(type, member.verbose), NULL, "log to the error output"                   \
    }
#define PLAN_OPTIONS(type, member)                                                                                     \
    {"device", 'd', OPTION_TEXT, offsetof(type, member.device), "NAME", "device or driver to use, and no other"},      \
    {                                                                                                                  \
        "set", 's', OPTION_LIST, offsetof(type, member.sets), "KEY=VALUE", "a setting, stronger than all profiles"     \
    }

/* A context that has discovered; NULL after the error has been said and *out_exit set. */
struct accel_context *open_context(const struct common *common, int *out_exit);
void close_context(struct accel_context *context);

/* The --set options as settings. Their texts live in `texts`, freed by the caller. Answers -1, or an exit code. */
int given_settings(const struct common *common, struct accel_given given[LIST_MOST], char **texts);

/* Says an error, with its remedy, and answers the exit code that fits it. */
int say_error(const struct accel_error *error);

/* Bytes for people: "1.03 MiB". */
const char *bytes_text(uint64_t bytes, char text[32]);

/* True when the standard output is a terminal that may be given colours (NO_COLOR is not set). */
uint32_t wants_colour(void);

/* Prints a document with its schema name and frees it; answers an exit code. */
int print_json(json_t *document, const char *schema);

#endif
