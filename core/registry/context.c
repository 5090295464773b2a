/* SPDX-License-Identifier: Apache-2.0 */
/* The context: options, discovery, and its records. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/file.h"
#include "core/base/open.h"
#include "core/plugin/plugin.h"
#include "core/registry/machine.h"
#include "core/registry/rank.h"
#include "core/registry/registry.h"
#include "core/topology/topology.h"

#define KNOWN_FLAGS                                                                                                    \
    (ACCEL_CONTEXT_NO_CACHE | ACCEL_CONTEXT_NO_PROBE | ACCEL_CONTEXT_NO_PLUGINS | ACCEL_CONTEXT_ONLY_PATH)
#define LOG_LINE 1280u /* length of a log line with its component */

const char *accel_version(void) ACCEL_NOEXCEPT
{
    return PACKAGE_VERSION;
}

/* ---- life ---- */

/* Adds the component to the line, since the log callback of applications has no argument for it. */
static void forward_log(void *user, uint32_t level, const char *component, const char *text)
{
    const struct accel_context *context = user;
    char line[LOG_LINE];
    snprintf(line, sizeof(line), "component=%.64s %s", component, text);
    context->options.log(context->options.log_data, level, line);
}

static void release(struct accel_context *context)
{
    for (uint32_t i = 0; i < ACCEL_CONTEXT_TEXTS; i++)
        free(context->texts[i]);
    accel_fork_guard_close(&context->fork);
    free(context);
}

/* Replaces the caller's texts by copies. */
static int32_t copy_texts(struct accel_context *context, struct accel_error *error)
{
    struct accel_context_options *options = &context->options;
    const char **const texts[ACCEL_CONTEXT_TEXTS] = {&options->driver_path, &options->profile_path,
                                                     &options->cache_path, &options->host_path, &options->site_path};
    for (uint32_t i = 0; i < ACCEL_CONTEXT_TEXTS; i++) {
        if (*texts[i] == NULL)
            continue;
        *texts[i] = context->texts[i] = strdup(*texts[i]);
        if (context->texts[i] == NULL)
            return accel_error_no_memory(error, "for a context");
    }
    return ACCEL_OK;
}

static int32_t copy_options(struct accel_context *context, const struct accel_context_options *given,
                            struct accel_error *error)
{
    struct accel_context_options copy;
    int32_t code;
    if (given == NULL)
        return ACCEL_OK;
    code = accel_open_copy(given, ACCEL_END_OF(struct accel_context_options, log_data), sizeof(copy), "the caller",
                           "accel_context_options", &copy, error);
    if (code != ACCEL_OK)
        return code;
    if ((copy.flags & ~KNOWN_FLAGS) != 0)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "accel_context_options.flags 0x%x has unknown bits",
                               copy.flags);
    context->options = copy;
    return copy_texts(context, error);
}

int32_t accel_context_create(const struct accel_context_options *options, struct accel_context **out_context,
                             struct accel_error *error) ACCEL_NOEXCEPT
{
    struct accel_context *context;
    int32_t code;
    if (out_context == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_context_create: out_context is NULL");
    *out_context = NULL;
    context = calloc(1, sizeof(*context));
    if (context == NULL)
        return accel_error_no_memory(error, "for a context");
    code = copy_options(context, options, error);
    if (code != ACCEL_OK) {
        release(context);
        return code;
    }
    if (context->options.log != NULL) {
        context->log.sink = forward_log;
        context->log.user = context;
        context->log.level = context->options.log_level == 0 ? ACCEL_LOG_WARN : context->options.log_level;
    }
    accel_memory_init(&context->memory, context->options.memory_budget);
    accel_fork_guard_open(&context->fork);
    pthread_mutex_init(&context->attaching, NULL);
    *out_context = context;
    return ACCEL_OK;
}

/* Frees everything that discover created. */
static void forget(struct accel_context *context)
{
    accel_registry_forget(context);
    accel_plugins_free(context->plugins);
    context->plugins = NULL;
    accel_context_profile_close(context);
    if (context->topology != NULL) {
        accel_plugins_lock();
        accel_topology_free(context->topology);
        accel_plugins_unlock();
        context->topology = NULL;
    }
    context->facts.count = 0;
    context->hardware.count = 0;
    context->recorded_plugins.count = 0;
    context->snapshot = NULL;
    context->recording = NULL;
    accel_arena_free(&context->records);
}

static int32_t check_idle(const struct accel_context *context, struct accel_error *error)
{
    uint32_t children;
    if (context == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "the context is NULL");
    if (accel_fork_guard_is_child(&context->fork))
        return accel_error_set(error, ACCEL_E_FORKED, "the context belongs to the parent process");
    children = atomic_load_explicit(&context->children, memory_order_acquire);
    if (children != 0)
        return accel_error_set(error, ACCEL_E_BUSY, "%u objects that were made from the context are alive", children);
    return ACCEL_OK;
}

int32_t accel_context_free(struct accel_context *context, struct accel_error *error) ACCEL_NOEXCEPT
{
    int32_t code;
    if (context == NULL)
        return ACCEL_OK;
    code = check_idle(context, error);
    if (code != ACCEL_OK)
        return code;
    forget(context);
    accel_rows_free(&context->facts);
    accel_rows_free(&context->hardware);
    accel_rows_free(&context->attached);
    accel_rows_free(&context->devices);
    accel_rows_free(&context->verdicts);
    accel_rows_free(&context->own_verdicts);
    accel_rows_free(&context->recorded_plugins);
    pthread_mutex_destroy(&context->attaching);
    release(context);
    return ACCEL_OK;
}

/* ---- discovery ---- */

/* Attaches all drivers. A failure refuses the driver; devices of other drivers stay available. */
static void attach_all(struct accel_context *context)
{
    for (uint32_t i = 0; i < accel_plugins_count(context->plugins); i++) {
        struct accel_plugin *plugin = accel_plugins_get(context->plugins, i);
        struct accel_error why = {0};
        uint32_t before = context->devices.count;
        int32_t code;
        if (plugin->driver == NULL)
            continue;
        if (accel_registry_list(context, plugin, i))
            code = ACCEL_OK;
        else
            code = accel_registry_attach(context, plugin->driver, i, &why);
        plugin->absent = plugin->list == NULL && (code == ACCEL_E_NOT_FOUND || code == ACCEL_E_UNSUPPORTED);
        if (code != ACCEL_OK)
            accel_plugins_refuse(context->plugins, i, &why);
        else
            plugin->info.device_count = context->devices.count - before;
    }
}

int32_t accel_context_cache_folder(const struct accel_context *context, const char *name, char **out_folder,
                                   struct accel_error *error)
{
    const struct accel_context_options *options = &context->options;
    char *cache = NULL;
    *out_folder = NULL;
    if ((options->flags & ACCEL_CONTEXT_NO_CACHE) != 0)
        return ACCEL_OK;
    if (options->cache_path != NULL)
        cache = strdup(options->cache_path);
    else if (accel_file_user_folder(ACCEL_USER_CACHE, &cache, NULL) != ACCEL_OK)
        return ACCEL_OK;
    if (cache != NULL)
        *out_folder = accel_file_join(cache, name);
    free(cache);
    return *out_folder != NULL ? ACCEL_OK : accel_error_no_memory(error, "for the name of a folder");
}

static int32_t find_plugins(struct accel_context *context, struct accel_error *error)
{
    const struct accel_plugins_options options = {.flags = context->options.flags & ~ACCEL_CONTEXT_NO_PLUGINS,
                                                  .probe_milliseconds = context->options.probe_milliseconds,
                                                  .driver_path = context->options.driver_path,
                                                  .cache_path = context->options.cache_path,
                                                  .hardware =
                                                      (const struct accel_hardware *const *)context->hardware.items,
                                                  .hardware_count = context->hardware.count,
                                                  .calling = context->options.calling,
                                                  .calling_data = context->options.calling_data,
                                                  .log = &context->log};
    int32_t code;
    if ((context->options.flags & ACCEL_CONTEXT_NO_PLUGINS) != 0)
        return ACCEL_OK;
    code = accel_plugins_discover(&options, &context->plugins, error);
    if (code == ACCEL_OK)
        attach_all(context);
    return code;
}

int32_t accel_context_discover(struct accel_context *context, struct accel_error *error) ACCEL_NOEXCEPT
{
    int32_t code = check_idle(context, error);
    if (code != ACCEL_OK)
        return code;
    forget(context);
    code = accel_context_profile_open(context, error);
    if (code == ACCEL_OK && context->options.host_path != NULL)
        code = accel_replay_begin(context, error);
    if (code == ACCEL_OK)
        code = accel_machine_discover(context, error);
    if (code == ACCEL_OK)
        code = context->snapshot ? accel_replay_devices(context, error) : find_plugins(context, error);
    if (code == ACCEL_OK)
        code = accel_registry_finish(context, error);
    if (code != ACCEL_OK)
        forget(context);
    return code;
}

const struct accel_listed *accel_context_find(const struct accel_context *context, const char *name)
{
    const struct accel_listed *other_case = NULL;
    for (uint32_t i = 0; i < context->devices.count; i++) {
        const struct accel_listed *listed = context->devices.items[i];
        if (strcmp(listed->info.name, name) == 0 || strcmp(listed->info.driver, name) == 0)
            return listed;
        if (other_case == NULL &&
            (strcasecmp(listed->info.name, name) == 0 || strcasecmp(listed->info.driver, name) == 0))
            other_case = listed;
    }
    return other_case;
}

/* ---- records ---- */

uint32_t accel_fact_count(const struct accel_context *context) ACCEL_NOEXCEPT
{
    return context->facts.count;
}

const struct accel_fact *accel_fact_get(const struct accel_context *context, uint32_t index) ACCEL_NOEXCEPT
{
    return accel_rows_get(&context->facts, index);
}

uint32_t accel_hardware_count(const struct accel_context *context) ACCEL_NOEXCEPT
{
    return context->hardware.count;
}

const struct accel_hardware *accel_hardware_get(const struct accel_context *context, uint32_t index) ACCEL_NOEXCEPT
{
    return accel_rows_get(&context->hardware, index);
}

uint32_t accel_plugin_count(const struct accel_context *context) ACCEL_NOEXCEPT
{
    return context->plugins == NULL ? context->recorded_plugins.count : accel_plugins_count(context->plugins);
}

const struct accel_plugin_info *accel_plugin_get(const struct accel_context *context, uint32_t index) ACCEL_NOEXCEPT
{
    const struct accel_plugin *plugin = context->plugins == NULL ? NULL : accel_plugins_get(context->plugins, index);
    return plugin == NULL ? accel_rows_get(&context->recorded_plugins, index) : &plugin->info;
}

uint32_t accel_device_count(const struct accel_context *context) ACCEL_NOEXCEPT
{
    return context->devices.count;
}

const struct accel_device_info *accel_device_get(const struct accel_context *context, uint32_t index) ACCEL_NOEXCEPT
{
    const struct accel_listed *listed = accel_rows_get(&context->devices, index);
    return listed == NULL ? NULL : &listed->info;
}

uint32_t accel_verdict_count(const struct accel_context *context) ACCEL_NOEXCEPT
{
    return context->verdicts.count + context->own_verdicts.count;
}

const struct accel_verdict *accel_verdict_get(const struct accel_context *context, uint32_t index) ACCEL_NOEXCEPT
{
    if (index < context->verdicts.count)
        return accel_rows_get(&context->verdicts, index);
    return accel_rows_get(&context->own_verdicts, index - context->verdicts.count);
}

int32_t accel_memory_usage(const struct accel_context *context, uint32_t memory_class, uint64_t *out_now,
                           uint64_t *out_peak) ACCEL_NOEXCEPT
{
    uint64_t now = 0;
    uint64_t peak = 0;
    if (context == NULL || !accel_memory_read(&context->memory, memory_class, &now, &peak))
        return ACCEL_E_INVALID;
    if (out_now != NULL)
        *out_now = now;
    if (out_peak != NULL)
        *out_peak = peak;
    return ACCEL_OK;
}
