/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/kept.h"
#include "tools/accelctl/model.h"
#include "tools/accelctl/print_where.h"
#include "tools/accelctl/progress.h"
#include "tools/accelctl/working.h"

#include <accel/model/session.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct cache_options {
    struct common common;
};

static const struct option_row options[] = {
    PLAN_OPTIONS(struct cache_options, common),
    COMMON_OPTIONS(struct cache_options, common),
};

static const struct action_row actions[] = {
    {"list", "", "the files of compiled kernels and packed weights, with their sizes and ages", 0, 0, ACTION_NOTHING},
    {"clear", "[DRIVER...]", "takes them away, those of all drivers or of these; runs make them again", 0, 16,
     ACTION_NOTHING},
    {"warm", "MODEL", "compiles and packs what a run of the model needs, to be kept", 1, 1, ACTION_FILES},
};

/* "3 min" for people: a number and the largest unit of which there are two, or seconds. */
static const char *age_text(uint64_t seconds, char text[32])
{
    static const struct {
        uint64_t seconds;
        const char *name;
    } units[] = {{86400, "days"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    size_t u = 0;

    while (u < 3 && seconds < 2 * units[u].seconds)
        u++;
    snprintf(text, 32, "%" PRIu64 " %s", seconds / units[u].seconds, units[u].name);
    return text;
}

static int refuse_folder(uint32_t json, const struct kept_list *list, int native)
{
    char text[KEPT_PATH + 100];

    if (list->folder[0] == '\0')
        return say(json, EXIT_INPUT, accel_error_name(ACCEL_E_NOT_FOUND),
                   "cache: neither XDG_CACHE_HOME nor HOME names a folder in which kernels could be kept", NULL);
    if (native == ELOOP) {
        snprintf(text, sizeof text, "cache: %s is a link, which is left as it is", list->folder);
        return say(json, EXIT_INPUT, accel_error_name(ACCEL_E_INVALID), text, "put a folder in its place");
    }
    snprintf(text, sizeof text, "cache: %s: %s", list->folder, strerror(native));
    return say(json, EXIT_FAILED, accel_error_name(ACCEL_E_IO), text, NULL);
}

/* ---- list ---- */

static json_t *list_json(const struct kept_list *list)
{
    json_t *files = json_array();

    for (uint32_t i = 0; i < list->count; i++) {
        const struct kept_file *f = &list->files[i];

        json_array_append_new(files, json_pack("{s:o, s:o, s:s, s:I, s:I, s:b}", "name", json_text(f->name), "driver",
                                               json_text(f->driver), "kind", f->weights ? "weights" : "kernels",
                                               "bytes", (json_int_t)f->bytes, "seconds", (json_int_t)f->seconds,
                                               "unfinished", (int)f->unfinished));
    }
    return json_pack("{s:o, s:I, s:o}", "folder", json_text(list->folder), "bytes", (json_int_t)list->bytes, "files",
                     files);
}

static int list_kept(const struct cache_options *chosen, const char *const *drivers, uint32_t count)
{
    struct kept_list list;
    char bytes[32], age[32], name[KEPT_NAME];
    int native = kept_read(&list), code = EXIT_DONE;

    (void)drivers, (void)count;
    if (native != 0) {
        code = refuse_folder(chosen->common.json, &list, native);
    } else if (chosen->common.json) {
        code = print_json(list_json(&list), "accelctl/cache/1");
    } else {
        print("%s%s%s   %" PRIu32 " file%s, %s\n", paint(PAINT_HEADING), list.folder, paint(PAINT_PLAIN), list.count,
              list.count == 1 ? "" : "s", bytes_text(list.bytes, bytes));
        for (uint32_t i = 0; i < list.count; i++)
            print("  %-48s %10s  written %s ago%s\n", clean_text(list.files[i].name, name, sizeof name),
                  bytes_text(list.files[i].bytes, bytes), age_text(list.files[i].seconds, age),
                  list.files[i].unfinished ? "; being written, or left over" : "");
    }
    kept_free(&list);
    return code;
}

/* ---- clear ---- */

static uint32_t is_wanted(const char *driver, const char *const *drivers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(driver, drivers[i]) == 0)
            return 1;
    return count == 0;
}

/* A name that no file has is a mistake, unless there is nothing at all. */
static int check_drivers(uint32_t json, const struct kept_list *list, const char *const *drivers, uint32_t count)
{
    for (uint32_t d = 0; d < count && list->count != 0; d++) {
        uint32_t found = 0;
        char text[200];

        for (uint32_t i = 0; i < list->count; i++)
            found |= strcmp(list->files[i].driver, drivers[d]) == 0;
        if (found)
            continue;
        snprintf(text, sizeof text, "cache clear: nothing of a driver %.80s is kept", drivers[d]);
        return say(json, EXIT_USAGE, "usage", text, "accelctl cache list names the files of drivers");
    }
    return -1;
}

/* After all that could be taken away. */
static int say_left(uint32_t json, const struct kept_list *list, const struct kept_file *first, int why,
                    uint32_t failed, uint32_t removed)
{
    char text[KEPT_PATH + KEPT_NAME + 200];

    snprintf(text, sizeof text, "cache clear: %s/%s: %s; %" PRIu32 " file%s could not be removed, %" PRIu32 " removed",
             list->folder, first->name, strerror(why), failed, failed == 1 ? "" : "s", removed);
    return say(json, EXIT_FAILED, accel_error_name(ACCEL_E_IO), text, NULL);
}

static int clear_kept(const struct cache_options *chosen, const char *const *drivers, uint32_t count)
{
    const uint32_t json = chosen->common.json;
    struct kept_list list;
    uint64_t bytes = 0;
    uint32_t files = 0, busy = 0, failed = 0;
    const struct kept_file *first = NULL;
    char text[32];
    int native = kept_read(&list), code = -1, why = 0;

    if (native == 0)
        code = check_drivers(json, &list, drivers, count);
    for (uint32_t i = 0; native == 0 && code < 0 && i < list.count; i++) {
        int answer;

        if (!is_wanted(list.files[i].driver, drivers, count))
            continue;
        answer = kept_remove(&list, &list.files[i]);
        files += answer == 0;
        busy += answer == EBUSY;
        bytes += answer == 0 ? list.files[i].bytes : 0;
        if (answer == 0 || answer == EBUSY || answer == ENOENT)
            continue;
        failed++;
        why = first == NULL ? answer : why;
        first = first == NULL ? &list.files[i] : first;
    }
    if (native != 0)
        code = refuse_folder(json, &list, native);
    else if (first != NULL)
        code = say_left(json, &list, first, why, failed, files);
    else if (code < 0 && json)
        code = print_json(json_pack("{s:o, s:i, s:I, s:i}", "folder", json_text(list.folder), "removed", (int)files,
                                    "bytes", (json_int_t)bytes, "busy", (int)busy),
                          "accelctl/cache-clear/1");
    else if (code < 0)
        print("%s: %" PRIu32 " file%s removed, %s%s\n", list.folder, files, files == 1 ? "" : "s",
              bytes_text(bytes, text), busy != 0 ? "; what another process is writing was left" : "");
    kept_free(&list);
    return code < 0 ? EXIT_DONE : code;
}

/* ---- warm ---- */

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t kept_bytes(void)
{
    struct kept_list list;
    uint64_t bytes = kept_read(&list) == 0 ? list.bytes : 0;

    kept_free(&list);
    return bytes;
}

/* A step of many tokens and one of a single token, as prompts and texts make them: some compilers make a kernel anew
 * for the first of each. */
static int32_t take_steps(struct accel_session *session, struct accel_error *error)
{
    uint64_t batch = accel_session_batch(session), context = accel_session_context(session);
    uint64_t count = batch < context ? batch : context > 1 ? context - 1 : 1;
    int32_t *ids = calloc(count, sizeof *ids);
    const float *logits;
    int32_t code;

    if (ids == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for a prompt");
    code = accel_session_feed(session, ids, count, &logits, error);
    if (code == ACCEL_OK && count < context)
        code = accel_session_feed(session, ids, 1, &logits, error);
    free(ids);
    return code;
}

struct warmed {
    const char *device;
    double seconds;
    uint64_t before; /* bytes that were kept */
    uint32_t compiles;
    uint32_t kept; /* ACCEL_KEPT_... */
};

static int say_warm(uint32_t json, const struct warmed *warmed)
{
    static const char *const names[] = {"nothing", "before", "now", "not"};
    uint64_t after = kept_bytes();
    char was[32], is[32];

    if (json)
        return print_json(json_pack("{s:s, s:f, s:I, s:I, s:s}", "device", warmed->device, "seconds", warmed->seconds,
                                    "before", (json_int_t)warmed->before, "bytes", (json_int_t)after, "packed",
                                    names[warmed->kept]),
                          "accelctl/cache-warm/1");
    if (!warmed->compiles && warmed->kept == ACCEL_KEPT_NOTHING)
        print("%s: nothing to keep: its kernels are compiled already, and no weight is packed\n", warmed->device);
    else if (!warmed->compiles && warmed->kept == ACCEL_KEPT_BEFORE)
        print("%s: nothing to do: its kernels are compiled already, and packed weights are kept\n", warmed->device);
    else
        print("%s: loaded and tried in %.1f s; %s of kernels and packed weights are kept, %s before\n", warmed->device,
              warmed->seconds, bytes_text(after, is), bytes_text(warmed->before, was));
    return EXIT_DONE;
}

/* Where another process is writing the same, that one keeps it. */
static int32_t keep_patiently(struct accel_session *session, uint32_t *out_kept, struct accel_error *error)
{
    const struct timespec pause = {0, 100000000};
    int32_t code;

    while ((code = accel_session_keep(session, out_kept, error)) == ACCEL_E_BUSY) {
        accel_error_clear(error);
        nanosleep(&pause, NULL);
    }
    return code;
}

/* Answers -1, or the exit code of an error that it has said. */
static int make_all(const struct cache_options *chosen, struct opened *opened, struct warmed *warmed)
{
    const uint32_t json = chosen->common.json;
    struct accel_error error = {0};
    struct progress progress;
    struct working working;
    int32_t code;

    working_begin(&working, &opened->session, 1);
    progress_begin(&progress, warmed->compiles ? "compiling kernels" : "packing weights", !json);
    code = accel_session_load(opened->session, &error);
    if (code == ACCEL_OK && warmed->compiles)
        code = take_steps(opened->session, &error);
    if (code == ACCEL_OK)
        code = keep_patiently(opened->session, &warmed->kept, &error);
    progress_end(&progress);
    working_end(&working);
    if (code == ACCEL_OK && warmed->kept == ACCEL_KEPT_NOT)
        return say(
            json, EXIT_FAILED, accel_error_name(ACCEL_E_BUSY),
            "cache warm: packed weights are not kept: the model's file was changed less than two seconds ago, or "
            "there is no folder for them",
            "again in a moment; XDG_CACHE_HOME or HOME names the folder");
    return code == ACCEL_OK ? -1 : say_error(json, &error);
}

static int warm(const struct cache_options *chosen, const char *const *paths, uint32_t count)
{
    const struct wish wish = {.path = paths[0], .outputs = 1, .runs = 1};
    const double begun = seconds_now();
    struct opened opened = {0};
    struct warmed warmed = {0};
    char name[300] = "";
    int code;

    (void)count;
    if (chosen->common.no_cache)
        return say(chosen->common.json, EXIT_USAGE, "usage", "cache warm: with --no-cache nothing would be kept", NULL);
    warmed.before = kept_bytes();
    code = open_model(&chosen->common, &wish, &opened);
    if (code < 0) {
        warmed.compiles = plan_compiles(opened.context, accel_session_plan(opened.session));
        warmed.device = devices_text(accel_session_plan(opened.session), name, sizeof name);
        code = make_all(chosen, &opened, &warmed);
    }
    /* Libraries below drivers write what they keep by the end. */
    close_model(&opened);
    warmed.seconds = seconds_now() - begun;
    return code < 0 ? say_warm(chosen->common.json, &warmed) : code;
}

/* ---- the verb ---- */

/* In the order of the rows above. */
static int (*const functions[])(const struct cache_options *chosen, const char *const *arguments,
                                uint32_t count) = {list_kept, clear_kept, warm};
_Static_assert(sizeof functions / sizeof *functions == sizeof actions / sizeof *actions, "a function for each action");

static int run(int count, char **arguments, const struct verb *verb)
{
    struct cache_options chosen = {{0}};
    const struct action_row *action;
    int code = parse_options(verb, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    action = find_action(verb, count, arguments, chosen.common.json, &code);
    if (action == NULL)
        return code;
    if (strcmp(action->name, "warm") != 0 &&
        (chosen.common.device != NULL || chosen.common.client != NULL || chosen.common.sets.count != 0))
        return say(chosen.common.json, EXIT_USAGE, "usage", "cache: --device, --client and --set are for cache warm",
                   "accelctl cache clear DRIVER names drivers without an option");
    return functions[action - actions](&chosen, (const char *const *)(arguments + 1), (uint32_t)count - 1);
}

const struct verb verb_cache = {
    .name = "cache",
    .summary = "compiled kernels and packed weights that are kept: which there are, taking them away, making them "
               "before a run",
    .arguments = "ACTION [ARGUMENT...]",
    .detail =
        "Devices whose compiler makes the kernels, as those of OpenCL and Vulkan do, keep them in "
        "$XDG_CACHE_HOME/accel/kernels (~/.cache/accel/kernels), a file for each driver, device and version; those of "
        "devices and versions that are gone stay until they are taken away. A folder that the option cache of a driver "
        "names is not looked at. Libraries below drivers may keep files of their own.\n"
        "Drivers that pack weights, as cpu does where cpu.layout is panels, have the packed ones kept in the same "
        "folder when a run has ended, a file for each model, device and version of the driver, which later runs map "
        "instead of packing again; ACCEL_PACKED_BYTES limits them, and those that were used longest ago go first. "
        "--no-cache neither reads nor writes them.\n"
        "warm loads the model as accelctl run would, with the same options, keeps what is packed, and takes a step of "
        "many tokens and one of a single token where kernels are compiled. A device that compiles for each size of a "
        "step may still have some to compile in a run.",
    .example =
        "accelctl cache warm --device opencl model.gguf\ncompile the kernels of the model now, so that its first run "
        "begins at once\naccelctl cache clear opencl\ntake the kernels of one driver away",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .least = 1,
    .most = 17,
    .run = run,
    .actions = actions,
    .action_count = sizeof actions / sizeof *actions,
};
