/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <accel/model/session.h>

#include "tools/accelctl/cache_folder.h"
#include "tools/accelctl/elapsed.h"
#include "tools/accelctl/model.h"
#include "tools/accelctl/print/where.h"
#include "tools/accelctl/profile/profile.h"
#include "tools/accelctl/progress.h"
#include "tools/accelctl/words.h"
#include "tools/measure/team.h"

struct cache_options {
    struct common common;
};

static const struct option_row options[] = {
    MODEL_OPTION,
    CONTEXT_OPTIONS(struct cache_options, common),
    PLAN_OPTIONS(struct cache_options, common),
    COMMON_OPTIONS(struct cache_options, common),
};

static const struct action_row actions[] = {
    {"list", "", "list the files of compiled kernels and packed weights, with their sizes, ages and models", 0, 0,
     ACTION_NOTHING},
    {"clear", "[DRIVER...]", "remove the files of all drivers or of the named ones; runs create them again", 0, 16,
     ACTION_NOTHING},
    {"warm", "MODEL", "compile the kernels and pack the weights that a run of the model needs, and cache them", 1, 1,
     ACTION_FILES},
};

/* Formats an age: "3 min", a number and the largest unit of which there are two, or seconds. */
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

static int refuse_folder(uint32_t json, const struct cache_folder *list, int native)
{
    if (list->folder[0] == '\0')
        return report_error_text(json, EXIT_INPUT, accel_error_name(ACCEL_E_NOT_FOUND),
                                 "cache: neither XDG_CACHE_HOME nor HOME names a folder for the cache",
                                 "set HOME, or XDG_CACHE_HOME to a folder that you may write to");
    if (native == ELOOP)
        return report_error_format(json, EXIT_INPUT, accel_error_name(ACCEL_E_INVALID), "put a folder in its place",
                                   "cache: %s is a link, which is left as it is", list->folder);
    return report_error_format(json, EXIT_FAILED, accel_error_name(ACCEL_E_IO),
                               "make it a folder that you may read and write to, or set XDG_CACHE_HOME to another one",
                               "cache: %s: %s", list->folder, strerror(native));
}

/* ---- list ---- */

static json_t *list_json(const struct cache_folder *list)
{
    json_t *files = json_array();

    for (uint32_t i = 0; i < list->count; i++) {
        const struct cached_file *f = &list->files[i];

        json_add(files,
                 json_pack("{s:o, s:o, s:s, s:o, s:I, s:I, s:b}", "name", json_text(f->name), "driver",
                           json_text(f->driver), "kind", f->weights ? "weights" : "kernels", "model",
                           f->model[0] == '\0' ? json_null() : json_text(f->model), "bytes", (json_int_t)f->bytes,
                           "seconds", (json_int_t)f->seconds, "unfinished", (int)f->unfinished));
    }
    return json_pack("{s:s, s:o, s:I, s:o}", "origin", "measured: the files of the folder", "folder",
                     json_text(list->folder), "bytes", (json_int_t)list->bytes, "files", files);
}

static int list_cache(const struct cache_options *chosen, const char *const *drivers, uint32_t count)
{
    struct cache_folder list;
    char bytes[32], age[32], name[CACHED_NAME_BYTES], model[ACCEL_WEIGHTS_LABEL];
    int native, code;
    struct accel_context *context = open_undiscovered(&chosen->common, &code);

    (void)drivers, (void)count;
    if (context == NULL)
        return code;
    warn_variables(context);
    close_context(context);
    native = cache_folder_read(&list);
    code = EXIT_DONE;
    if (native != 0) {
        code = refuse_folder(chosen->common.json, &list, native);
    } else if (chosen->common.json) {
        code = print_json(list_json(&list), "accelctl/cache/1");
    } else {
        print("%s%s%s   %" PRIu32 " file%s, %s\n", paint(PAINT_HEADING), list.folder, paint(PAINT_PLAIN), list.count,
              list.count == 1 ? "" : "s", bytes_text(list.bytes, bytes));
        for (uint32_t i = 0; i < list.count; i++)
            print("  %-48s %10s  written %s ago%s%s%s\n", clean_text(list.files[i].name, name, sizeof(name)),
                  bytes_text(list.files[i].bytes, bytes), age_text(list.files[i].seconds, age),
                  list.files[i].unfinished ? "; being written, or left over" : "",
                  list.files[i].model[0] == '\0' ? "" : ", of ", clean_text(list.files[i].model, model, sizeof(model)));
    }
    cache_folder_free(&list);
    return code;
}

/* ---- clear ---- */

static bool is_wanted(const char *driver, const char *const *drivers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(driver, drivers[i]) == 0)
            return true;
    return count == 0;
}

/* Refuses the name of a driver that has no file in the cache, unless the cache is empty. */
static int check_drivers(uint32_t json, const struct cache_folder *list, const char *const *drivers, uint32_t count)
{
    for (uint32_t d = 0; d < count && list->count != 0; d++) {
        const char *nearest = "";
        uint32_t found = 0, least = unrelated_distance(drivers[d]);
        char guess[GUESS_BYTES];

        for (uint32_t i = 0; i < list->count; i++) {
            found |= strcmp(list->files[i].driver, drivers[d]) == 0;
            if (is_nearer(drivers[d], list->files[i].driver, &least))
                nearest = list->files[i].driver;
        }
        if (found)
            continue;
        return report_error_format(json, EXIT_USAGE, "usage", "accelctl cache list names the files of drivers",
                                   "cache clear: the driver %.80s has no cached files%s", drivers[d],
                                   guess_text(nearest, drivers[d], guess));
    }
    return -1;
}

/* Reports files that could not be removed, after all others have been. */
static int print_clear_failure(uint32_t json, const struct cache_folder *list, const struct cached_file *first, int why,
                               uint32_t failed, uint32_t removed)
{
    return report_error_format(json, EXIT_FAILED, accel_error_name(ACCEL_E_IO), "remove them as the user who owns them",
                               "cache clear: %s/%s: %s; %" PRIu32 " file%s could not be removed, %" PRIu32 " removed",
                               list->folder, first->name, strerror(why), failed, failed == 1 ? "" : "s", removed);
}

static int clear_cache(const struct cache_options *chosen, const char *const *drivers, uint32_t count)
{
    const uint32_t json = chosen->common.json;
    struct cache_folder list;
    uint64_t bytes = 0;
    uint32_t files = 0, busy = 0, failed = 0;
    const struct cached_file *first = NULL;
    char text[32];
    int native = cache_folder_read(&list), code = -1, why = 0;

    if (native == 0)
        code = check_drivers(json, &list, drivers, count);
    for (uint32_t i = 0; native == 0 && code < 0 && i < list.count; i++) {
        int answer;

        if (!is_wanted(list.files[i].driver, drivers, count))
            continue;
        answer = cache_folder_remove(&list, &list.files[i]);
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
        code = print_clear_failure(json, &list, first, why, failed, files);
    else if (code < 0 && json)
        code = print_json(json_pack("{s:s, s:o, s:i, s:I, s:i}", "origin", "measured: the files of the folder",
                                    "folder", json_text(list.folder), "removed", (int)files, "bytes", (json_int_t)bytes,
                                    "busy", (int)busy),
                          "accelctl/cache-clear/1");
    else if (code < 0)
        print("%s: %" PRIu32 " file%s removed, %s%s\n", list.folder, files, files == 1 ? "" : "s",
              bytes_text(bytes, text), busy != 0 ? "; what another process is writing was left" : "");
    cache_folder_free(&list);
    return code < 0 ? EXIT_DONE : code;
}

/* ---- warm ---- */

static uint64_t cache_bytes(void)
{
    struct cache_folder list;
    uint64_t bytes = cache_folder_read(&list) == 0 ? list.bytes : 0;

    cache_folder_free(&list);
    return bytes;
}

/* Runs a step of many tokens and one of a single token, as prefill and decode have them: some compilers build a
 * kernel anew for the first of each. */
static int32_t run_trial_steps(struct accel_session *session, struct accel_error *error)
{
    uint64_t batch = accel_session_batch(session), context = accel_session_context(session);
    uint64_t count = batch < context ? batch : context > 1 ? context - 1 : 1;
    int32_t *ids = calloc(count, sizeof(*ids));
    const float *logits;
    int32_t code;

    if (ids == NULL)
        return accel_error_no_memory(error, "for a prompt");
    code = accel_session_feed(session, ids, count, &logits, error);
    if (code == ACCEL_OK && count < context)
        code = accel_session_feed(session, ids, 1, &logits, error);
    free(ids);
    return code;
}

struct warmed {
    const char *device;
    double seconds;
    uint64_t before; /* bytes of the cache before the warm-up */
    uint32_t compiles;
    uint32_t stored; /* ACCEL_STORE_... */
};

static int print_warm_result(uint32_t json, const struct warmed *warmed)
{
    static const char *const names[] = {"nothing", "before", "now", "not"};
    uint64_t after = cache_bytes();
    char was[32], is[32], time[32];

    if (json)
        return print_json(json_pack("{s:s, s:s, s:f, s:I, s:I, s:s}", "origin",
                                    "measured: this command, and the files of the folder", "device", warmed->device,
                                    "seconds", warmed->seconds, "before", (json_int_t)warmed->before, "bytes",
                                    (json_int_t)after, "packed", names[warmed->stored]),
                          "accelctl/cache-warm/1");
    if (!warmed->compiles && warmed->stored == ACCEL_STORE_UNPACKED)
        print("%s: nothing to cache: its kernels are compiled already, and no weight is packed\n", warmed->device);
    else if (!warmed->compiles && warmed->stored == ACCEL_STORE_CACHED)
        print("%s: nothing to do: its kernels and packed weights are cached already\n", warmed->device);
    else
        print("%s: loaded and run in %s; the cache holds %s of kernels and packed weights, %s before\n", warmed->device,
              seconds_text(warmed->seconds, time), bytes_text(after, is), bytes_text(warmed->before, was));
    return EXIT_DONE;
}

/* Writes the caches of a session; waits if another process is writing the same file, which then serves both. */
static int32_t store_session_caches(struct accel_session *session, uint32_t *out_stored, struct accel_error *error)
{
    const struct timespec pause = {0, 100000000};
    int32_t code;

    while ((code = accel_session_store(session, out_stored, error)) == ACCEL_E_BUSY) {
        accel_error_clear(error);
        nanosleep(&pause, NULL);
    }
    return code;
}

/* Prints an error from writing the caches. A disk or a folder that takes no file is no fault of the model. */
static int report_store_error(uint32_t json, const struct accel_error *error)
{
    struct accel_error known = *error;
    char remedy[SPACE_REMEDY_BYTES];

    if (error->origin == ACCEL_FROM_SETTING)
        return report_error_as(json, EXIT_USAGE, error);
    if (error->origin == ACCEL_FROM_DRIVER || error->origin == ACCEL_FROM_MODEL ||
        (error->code != ACCEL_E_IO && error->code != ACCEL_E_LIMIT && error->code != ACCEL_E_DENIED &&
         error->code != ACCEL_E_NOT_FOUND))
        return report_error(json, error);
    space_remedy(error->native, "", remedy);
    if (error->remedy[0] == '\0')
        accel_error_remedy(&known, "%s",
                           error->native == EFBIG
                               ? remedy
                               : "free disk space there, or set XDG_CACHE_HOME to a folder that may be written");
    return report_error_as(json, EXIT_FAILED, &known);
}

/* Answers -1, or the exit code of an error that has been printed. */
static int warm_session(const struct cache_options *chosen, struct opened *opened, struct warmed *warmed)
{
    const uint32_t json = chosen->common.json;
    struct accel_error error = {0};
    struct elapsed elapsed;
    struct progress progress;
    bool stores;
    int32_t code;

    progress_begin(&progress, &opened->session, 1);
    elapsed_begin(&elapsed, warmed->compiles ? "compiling kernels" : "packing weights", !json);
    code = load_session(opened, &error);
    if (code == ACCEL_OK && warmed->compiles)
        code = run_trial_steps(opened->session, &error);
    stores = code == ACCEL_OK;
    if (stores)
        code = store_session_caches(opened->session, &warmed->stored, &error);
    elapsed_end(&elapsed);
    progress_end(&progress);
    if (code == ACCEL_OK && warmed->stored == ACCEL_STORE_DISABLED)
        return report_error_text(json, EXIT_FAILED, accel_error_name(ACCEL_E_BUSY),
                                 "cache warm: packed weights were not cached: the model's file was changed less than "
                                 "two seconds ago, or there is no cache folder",
                                 "run the command again; XDG_CACHE_HOME or HOME names the folder");
    if (code != ACCEL_OK && stores)
        return report_store_error(json, &error);
    return code == ACCEL_OK ? -1 : report_error(json, &error);
}

static int warm(const struct cache_options *chosen, const char *const *paths, uint32_t count)
{
    const struct wish wish = {
        .path = paths[0], .flags = ACCEL_SESSION_UNTRACED, .outputs = 1, .runs = 1, .command = "cache warm"};
    const double begun = measure_seconds();
    struct opened opened = {0};
    struct warmed warmed = {0};
    char name[300] = "";
    int code;

    (void)count;
    if (chosen->common.no_cache)
        return report_error_text(chosen->common.json, EXIT_USAGE, "usage",
                                 "cache warm: --no-cache leaves nothing to store", NULL);
    warmed.before = cache_bytes();
    code = open_model(&chosen->common, &wish, &opened);
    if (code < 0) {
        warmed.compiles = plan_compiles(opened.context, accel_session_plan(opened.session));
        warmed.device = devices_text(accel_session_plan(opened.session), name, sizeof(name));
        code = warm_session(chosen, &opened, &warmed);
    }
    /* Closes the model first, since libraries below drivers write their caches at the end. */
    close_model(&opened);
    warmed.seconds = measure_seconds() - begun;
    return code < 0 ? print_warm_result(chosen->common.json, &warmed) : code;
}

/* ---- the command ---- */

/* Actions in the order of the rows above. */
static int (*const functions[])(const struct cache_options *chosen, const char *const *arguments,
                                uint32_t count) = {list_cache, clear_cache, warm};
_Static_assert(sizeof(functions) / sizeof(*functions) == sizeof(actions) / sizeof(*actions),
               "a function for each action");

static int run(int count, char **arguments, const struct command *command)
{
    static char warm_name[] = "warm";
    struct cache_options chosen = {{0}};
    const struct action_row *action;
    int code = parse_options(command, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    /* accelctl cache -m MODEL warm */
    if (count == 2 && strcmp(arguments[1], warm_name) == 0) {
        arguments[1] = arguments[0];
        arguments[0] = warm_name;
    }
    action = find_action(command, count, arguments, chosen.common.json, &code);
    if (action == NULL)
        return code;
    if (strcmp(action->name, "warm") != 0 &&
        (chosen.common.device != NULL || chosen.common.client != NULL || chosen.common.sets.count != 0))
        return report_error_text(
            chosen.common.json, EXIT_USAGE, "usage",
            "cache: options of a model's plan, as --device, --client and --set, are for cache warm",
            "accelctl cache clear DRIVER names drivers without an option");
    return functions[action - actions](&chosen, (const char *const *)(arguments + 1), (uint32_t)count - 1);
}

const struct command command_cache = {
    .name = "cache",
    .summary = "list, remove or create cached kernels and packed weights",
    .arguments = "ACTION [ARGUMENT...]",
    .detail = "Devices that compile their kernels, as those of OpenCL and Vulkan do, cache them in "
              "$XDG_CACHE_HOME/accel/kernels (~/.cache/accel/kernels), one file per driver, device and version. Files "
              "of devices and versions that no longer exist stay until they are removed. A folder that the option "
              "cache of a driver names is not listed. Libraries that drivers use may have caches of their own.\n"
              "Drivers that pack weights, as cpu does unless cpu.layout=rows, cache them in the same folder at the end "
              "of a run, one file per model, device and version of the driver; later runs map the file instead of "
              "packing again. ACCEL_PACKED_BYTES limits their size, and the least recently used ones are evicted "
              "first. --no-cache neither reads nor writes them.\n"
              "warm loads the model as accelctl run does, with the same options, and caches its packed weights. If "
              "kernels are compiled, it also runs a step of many tokens and a step of one token. A device that "
              "compiles a kernel for each step size may still compile some during a run.",
    .example = "accelctl cache warm --device opencl model.gguf\n"
               "compile the kernels of the model now, so that its first run starts at once\n"
               "accelctl cache clear opencl\n"
               "remove the kernels of one driver",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .least = 1,
    .most = 17,
    .run = run,
    .actions = actions,
    .action_count = sizeof(actions) / sizeof(*actions),
};
