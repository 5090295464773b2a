/* SPDX-License-Identifier: Apache-2.0 */
/* Shared parts of the commands: options for device discovery, and settings from the command line. */
#ifndef ACCELCTL_COMMON_H
#define ACCELCTL_COMMON_H

#include <stdbool.h>

#include <accel/accel.h>

#include "tools/accelctl/command.h"
#include "tools/accelctl/errors.h"

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
    const struct text_list *reference_sets; /* eval: settings of the reference alone, behind `sets`; or NULL */
};

/* Rows of options over a `struct common` that is the member `member` of the command's struct. */
#define COMMON_OPTIONS(type, member)                                                                                   \
    {"json",      0,                                                                                                   \
     OPTION_FLAG, offsetof(type, member.json),                                                                         \
     NULL,        "print one JSON document, errors included, with the name of its schema",                             \
     0,           0},                                                                                                  \
        {"drivers",   0,                                                                                               \
         OPTION_TEXT, offsetof(type, member.drivers),                                                                  \
         "PATH",      "driver files or folders, separated by ':', to search first",                                    \
         0,           0},                                                                                              \
        {"profiles", 0, OPTION_TEXT, offsetof(type, member.profiles), "FOLDER", "folder of the profiles", 0, 0},       \
        {"host",      0,                                                                                               \
         OPTION_TEXT, offsetof(type, member.host),                                                                     \
         "FILE",      "replay a machine that accelctl snapshot recorded",                                              \
         0,           0},                                                                                              \
        {"no-cache",  0,                                                                                               \
         OPTION_FLAG, offsetof(type, member.no_cache),                                                                 \
         NULL,        "probe drivers again; neither read nor write cached results and packed weights",                 \
         0,           0},                                                                                              \
    {                                                                                                                  \
        "verbose", 'v', OPTION_FLAG, offsetof(type, member.verbose), NULL, "log to the error output", 0, 0             \
    }
#define PLAN_OPTIONS(type, member)                                                                                     \
    {"device",                                                                                                         \
     0,                                                                                                                \
     OPTION_TEXT,                                                                                                      \
     offsetof(type, member.device),                                                                                    \
     "NAME",                                                                                                           \
     "use this device alone: DRIVER:ID, DRIVER, ID, a kind of hardware (cpu, gpu, npu, other), or a list of these "    \
     "separated by commas, of which the first available one is used; others that the list names by their id, of the "  \
     "same driver, take the layers that it has no memory for",                                                         \
     0,                                                                                                                \
     0},                                                                                                               \
        {"client",    0,                                                                                               \
         OPTION_TEXT, offsetof(type, member.client),                                                                   \
         "NAME",      "program that uses the device, a file of the folder clients: --set client=NAME",                 \
         0,           0},                                                                                              \
        {"batch-size",                                                                                                 \
         'b',                                                                                                          \
         OPTION_SETTING,                                                                                               \
         offsetof(type, member.sets),                                                                                  \
         "N",                                                                                                          \
         "maximum tokens of one step, the chunk size of prefill: --set batch=N; --ubatch-size overrides it",           \
         0,                                                                                                            \
         0},                                                                                                           \
        {"ubatch-size", 0, OPTION_SETTING, offsetof(type, member.sets), "N", "alias: --set batch=N", 0, 0},            \
        {"gpu-layers",                                                                                                 \
         0,                                                                                                            \
         OPTION_SETTING,                                                                                               \
         offsetof(type, member.sets),                                                                                  \
         "N",                                                                                                          \
         "number of the last layers that run on the GPU, with the output as the very last; 0: none; all: every one: "  \
         "--set gpu.layers=N",                                                                                         \
         0,                                                                                                            \
         0},                                                                                                           \
        {"cache-type-k",                                                                                               \
         0,                                                                                                            \
         OPTION_SETTING,                                                                                               \
         offsetof(type, member.sets),                                                                                  \
         "TYPE",                                                                                                       \
         "type of cached keys: f16, f32, q8_0 or q4_0: --set kv.type.k=TYPE",                                          \
         0,                                                                                                            \
         0},                                                                                                           \
        {"cache-type-v",                                                                                               \
         0,                                                                                                            \
         OPTION_SETTING,                                                                                               \
         offsetof(type, member.sets),                                                                                  \
         "TYPE",                                                                                                       \
         "type of cached values: --set kv.type.v=TYPE",                                                                \
         0,                                                                                                            \
         0},                                                                                                           \
        {"flash-attn",                                                                                                 \
         0,                                                                                                            \
         OPTION_SETTING,                                                                                               \
         offsetof(type, member.sets),                                                                                  \
         "[on|off|auto]",                                                                                              \
         "on, also without a word: tiled attention; off: the whole score matrix, which cpu, opencl and vulkan "        \
         "refuse: "                                                                                                    \
         "--set attention.kernel=KERNEL",                                                                              \
         0,                                                                                                            \
         0},                                                                                                           \
        {"no-mmap",                                                                                                    \
         0,                                                                                                            \
         OPTION_SETTING,                                                                                               \
         offsetof(type, member.sets),                                                                                  \
         NULL,                                                                                                         \
         "copy weights into memory instead of mapping the file: --set weights.load=read",                              \
         0,                                                                                                            \
         0},                                                                                                           \
        {"mmap", 0, OPTION_SETTING, offsetof(type, member.sets), NULL, "map the file: --set weights.load=map", 0, 0},  \
    {                                                                                                                  \
        "set", 0, OPTION_LIST, offsetof(type, member.sets), "KEY=VALUE",                                               \
            "a setting, which overrides all profiles; may be repeated", 0, 0                                           \
    }
/* Context and threads of a run, which bench and eval choose in their own way. */
#define CONTEXT_OPTIONS(type, member)                                                                                  \
    {"ctx-size",                                                                                                       \
     'c',                                                                                                              \
     OPTION_SETTING,                                                                                                   \
     offsetof(type, member.sets),                                                                                      \
     "N",                                                                                                              \
     "context size in tokens, 0: what the model was trained for: --set context=N",                                     \
     0,                                                                                                                \
     0},                                                                                                               \
    {                                                                                                                  \
        "threads", 't', OPTION_SETTING, offsetof(type, member.sets), "N",                                              \
            "threads of a CPU device: --set cpu.threads=N", 0, 0                                                       \
    }
/* Option for the model under llama.cpp's name, as an alternative to the argument. */
#define MODEL_OPTION                                                                                                   \
    {                                                                                                                  \
        "model", 'm', OPTION_ARGUMENT, 0, "MODEL", "the model, instead of the argument MODEL", 0, 0                    \
    }

/* Option for a recorded plan, of a model that was moved. */
#define RECORD_OPTION(type, member)                                                                                    \
    {                                                                                                                  \
        "plan", 0, OPTION_TEXT, offsetof(type, member), "FILE",                                                        \
            "follow this plan file, whose model was moved or copied to MODEL: sizes and headers must be as recorded",  \
            0, 0                                                                                                       \
    }

/* Opens a context and discovers devices; NULL after an error has been printed and *out_exit set. */
struct accel_context *open_context(const struct common *common, int *out_exit);
/* Opens a context as open_context does, also if a named folder of profiles has none, which is diagnosed then. */
struct accel_context *open_to_diagnose(const struct common *common, int *out_exit);
/* Opens a context without drivers and devices; NULL as open_context. */
struct accel_context *open_undiscovered(const struct common *common, int *out_exit);
void close_context(struct accel_context *context);

/* Prints the machine that a replayed recording is of; nothing without one. */
void print_recording(const struct accel_context *context);

enum { OVERRIDES_MOST = 2 * LIST_MOST + 1 };

/* Formats the first of --device, --client, --set and their aliases that is given into `text`; NULL if none is. */
const char *first_plan_option(const struct common *common, char *text, size_t size);

/* The last value that the command line gives `key`; NULL if it gives none. */
const char *overridden_value(const struct common *common, const char *key);
/* Returns 1 if the command line sets `key`. */
bool is_set(const struct common *common, const char *key);

/* Collects --client, --set and --reference-set as *out_count settings, in this order. Their texts live in `texts`,
 * freed by the caller. Answers -1, or an exit code. */
int collect_overrides(const struct common *common, struct accel_named_value overrides[OVERRIDES_MOST],
                      uint32_t *out_count, char **out_texts);

#endif
