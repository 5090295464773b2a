/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs share: the options about finding devices, and settings from the command line. */
#ifndef ACCELCTL_COMMON_H
#define ACCELCTL_COMMON_H

#include "tools/accelctl/say.h"
#include "tools/accelctl/verb.h"

#include <accel/accel.h>

struct common {
    uint32_t json;
    uint32_t verbose;
    uint32_t no_cache;
    const char *drivers;
    const char *profiles;
    const char *host;
    const char *device;
    const char *client;
    struct text_list sets;
};

/* Rows of options over a `struct common` that is the member `member` of the verb's struct. */
#define COMMON_OPTIONS(type, member)                                                                                   \
    {"json",      0,                                                                                                   \
     OPTION_FLAG, offsetof(type, member.json),                                                                         \
     NULL,        "print one JSON document, errors too, with the name of its schema",                                  \
     0,           0},                                                                                                  \
        {"drivers",   0,                                                                                               \
         OPTION_TEXT, offsetof(type, member.drivers),                                                                  \
         "PATH",      "folders or files of drivers, with : between them, to look in first",                            \
         0,           0},                                                                                              \
        {"profiles", 0, OPTION_TEXT, offsetof(type, member.profiles), "FOLDER", "folder of the profiles", 0, 0},       \
        {"host",      0,                                                                                               \
         OPTION_TEXT, offsetof(type, member.host),                                                                     \
         "FILE",      "replay a machine that accelctl snapshot recorded",                                              \
         0,           0},                                                                                              \
        {"no-cache",  0,                                                                                               \
         OPTION_FLAG, offsetof(type, member.no_cache),                                                                 \
         NULL,        "probe drivers anew, keep no result, nor packed weights",                                        \
         0,           0},                                                                                              \
    {                                                                                                                  \
        "verbose", 'v', OPTION_FLAG, offsetof(type, member.verbose), NULL, "log to the error output", 0, 0             \
    }
#define PLAN_OPTIONS(type, member)                                                                                     \
    {"device",                                                                                                         \
     'd',                                                                                                              \
     OPTION_TEXT,                                                                                                      \
     offsetof(type, member.device),                                                                                    \
     "NAME",                                                                                                           \
     "device to use, and no other: DRIVER:ID, DRIVER, ID, a kind (cpu, gpu, npu, other: none that is "                 \
     "software), or a list of these with commas between, of which the first that is here counts",                      \
     0,                                                                                                                \
     0},                                                                                                               \
        {"client",    0,                                                                                               \
         OPTION_TEXT, offsetof(type, member.client),                                                                   \
         "NAME",      "program in which the device is used, a file of the folder clients: --set client=NAME",          \
         0,           0},                                                                                              \
    {                                                                                                                  \
        "set", 's', OPTION_LIST, offsetof(type, member.sets), "KEY=VALUE",                                             \
            "a setting, stronger than all profiles; may be repeated", 0, 0                                             \
    }

/* A context that has discovered; NULL after the error has been said and *out_exit set. */
struct accel_context *open_context(const struct common *common, int *out_exit);
/* One that has read the profiles and looked at nothing else. */
struct accel_context *open_profiles(const struct common *common, int *out_exit);
void close_context(struct accel_context *context);

/* Prints whose machine it is where one is replayed, and nothing for this one. */
void print_recording(const struct accel_context *context);

enum { GIVEN_MOST = LIST_MOST + 1 };

/* The options --client and --set as *out_count settings, in this order. Their texts live in `texts`, freed by the
 * caller. Answers -1, or an exit code. */
int given_settings(const struct common *common, struct accel_given given[GIVEN_MOST], uint32_t *out_count,
                   char **out_texts);

#endif
