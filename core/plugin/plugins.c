/* SPDX-License-Identifier: Apache-2.0 */
/* Processes files from candidate to driver: trust, ELF check, duplicate, cache or probe, load. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/caller_state.h"
#include "core/base/env.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/plugin/cache.h"
#include "core/plugin/elf_check.h"
#include "core/plugin/load.h"
#include "core/plugin/plugin.h"
#include "core/plugin/probe.h"
#include "core/plugin/search.h"
#include "core/plugin/trust.h"

#define COMPONENT "plugin"
#define CACHE_FILE "plugins.cache"

/* One file. The public record comes first. */
struct record {
    struct accel_plugin plugin;
    struct stat file; /* identity of the file, if it could be read */
    bool has_identity;
};

struct accel_plugins {
    struct accel_arena arena;
    struct record *records;
    uint32_t count;
    char *cache_file; /* NULL: no cache */
    const struct accel_log *log;
};

/* State of one discovery. */
struct discovery {
    const struct accel_plugins_options *options;
    struct accel_plugins *plugins;
    struct accel_trust trust;
    struct accel_cache *cache; /* NULL: no cache */
    char *program;             /* accel-probe */
    uint32_t milliseconds;
    struct accel_error *error;
};

/* ---- records ---- */

/* Returns "accel-cpu" for "/usr/lib/accel/drivers-0/accel-cpu.so". */
static const char *file_name(struct accel_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t bytes = strlen(name);
    if (bytes > 3 && strcmp(name + bytes - 3, ".so") == 0)
        bytes -= 3;
    return accel_arena_strndup(arena, name, bytes);
}

/* Copies a string of a record; without memory it becomes empty, since readers rely on a string that is not NULL. */
static const char *copy_text(struct accel_plugins *plugins, const char *text)
{
    const char *copy = *text ? accel_arena_strdup(&plugins->arena, text) : "";
    return copy ? copy : "";
}

static void refuse(struct accel_plugins *plugins, struct record *record, const struct accel_error *why)
{
    struct accel_plugin_info *info = &record->plugin.info;
    info->state = ACCEL_PLUGIN_REFUSED;
    info->code = why->code;
    info->text = copy_text(plugins, why->text);
    info->remedy = copy_text(plugins, why->remedy);
    record->plugin.driver = NULL;
}

static struct record *add_record(struct discovery *discovery, const char *path)
{
    struct accel_plugins *plugins = discovery->plugins;
    struct record *record = &plugins->records[plugins->count];
    struct accel_plugin_info *info = &record->plugin.info;
    memset(record, 0, sizeof(*record));
    info->size = sizeof(*info);
    info->state = ACCEL_PLUGIN_REFUSED;
    info->path = accel_arena_strdup(&plugins->arena, path);
    info->name = file_name(&plugins->arena, path);
    info->version = info->licence = info->text = info->remedy = info->detail = info->build_id = "";
    if (info->path == NULL || info->name == NULL) {
        accel_error_no_memory(discovery->error, "for the records of plugins");
        return NULL;
    }
    plugins->count++;
    return record;
}

/* ---- trust and ELF check ---- */

static bool is_known_file(const struct accel_plugins *plugins, const struct stat *file)
{
    for (uint32_t i = 0; i < plugins->count; i++) {
        const struct record *record = &plugins->records[i];
        if (record->has_identity && record->file.st_dev == file->st_dev && record->file.st_ino == file->st_ino)
            return true;
    }
    return false;
}

/* Opens the file, verifies that it is the trusted one, and runs the ELF check. */
static int32_t check_elf(struct discovery *discovery, struct record *record, struct accel_error *verdict)
{
    struct accel_plugin_info *info = &record->plugin.info;
    struct accel_elf_source source = {strrchr(info->path, '/') + 1, NULL, 0, -1};
    struct accel_elf_facts facts = {NULL, ""};
    struct stat now;
    int32_t code;
    source.fd = open(info->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (source.fd < 0 || fstat(source.fd, &now) != 0) {
        code = accel_file_fail(verdict, "open", info->path, errno);
    } else if (now.st_dev != record->file.st_dev || now.st_ino != record->file.st_ino) {
        code = accel_error_by(verdict, ACCEL_FROM_FILE, ACCEL_E_DENIED, "%s: not trusted: it was replaced meanwhile",
                              info->path);
    } else {
        record->file = now;
        source.bytes = (uint64_t)now.st_size;
        code = accel_elf_check(&source, &discovery->plugins->arena, &facts, verdict);
    }
    if (source.fd >= 0)
        close(source.fd);
    if (code != ACCEL_OK)
        accel_error_remedy(verdict, "name or install a driver that was built for this machine and version of accel");
    info->build_id = facts.build_id;
    record->plugin.note = facts.note;
    if (facts.note != NULL) {
        info->name = facts.note->name;
        info->version = facts.note->version;
        info->licence = facts.note->licence;
        info->abi_major = facts.note->abi_major;
        info->abi_minor = facts.note->abi_minor;
    }
    return code;
}

static const struct record *find_loaded(const struct accel_plugins *plugins, const char *name)
{
    for (uint32_t i = 0; i < plugins->count; i++) {
        const struct record *record = &plugins->records[i];
        if (record->plugin.info.state == ACCEL_PLUGIN_LOADED && strcmp(record->plugin.info.name, name) == 0)
            return record;
    }
    return NULL;
}

/* ---- cache and probe ---- */

static int32_t probe(struct discovery *discovery, struct record *record, const char *key, struct accel_error *verdict)
{
    struct accel_plugin_info *info = &record->plugin.info;
    struct accel_probe_job job = {.program = discovery->program,
                                  .path = info->path,
                                  .effects = record->plugin.note->effects,
                                  .milliseconds = discovery->milliseconds,
                                  .hardware = discovery->options->hardware,
                                  .hardware_count = discovery->options->hardware_count};
    struct accel_probe_result result;
    int32_t code = accel_probe_run(&job, &discovery->plugins->arena, &result, discovery->error);
    if (code != ACCEL_OK)
        return accel_error_set(verdict, code, "%s: no memory to probe it", info->path);
    info->signal = result.signal;
    info->detail = result.detail;
    info->probe_nanoseconds = result.nanoseconds;
    record->plugin.list = result.list;
    record->plugin.list_bytes = result.list_bytes;
    if (discovery->cache != NULL && result.lasting) {
        struct accel_cache_entry entry = {.code = result.code,
                                          .signal = result.signal,
                                          .path = info->path,
                                          .text = result.text,
                                          .remedy = result.remedy,
                                          .detail = result.detail,
                                          .list = result.list,
                                          .list_bytes = result.list_bytes};
        memcpy(entry.key, key, sizeof(entry.key));
        accel_cache_put(discovery->cache, &entry);
    }
    if (result.code != ACCEL_OK) {
        accel_error_set(verdict, result.code, "%s", result.text);
        accel_error_remedy(verdict, "%s", result.remedy);
    }
    return result.code;
}

static int32_t apply_cached(struct record *record, const struct accel_cache_entry *entry, struct accel_error *verdict)
{
    struct accel_plugin_info *info = &record->plugin.info;
    info->from_cache = 1;
    info->signal = entry->signal;
    info->detail = entry->detail;
    record->plugin.list = entry->list;
    record->plugin.list_bytes = entry->list_bytes;
    if (entry->code != ACCEL_OK) {
        accel_error_set(verdict, entry->code, "%s", entry->text);
        accel_error_remedy(verdict, "%s", entry->remedy);
    }
    return entry->code;
}

/* Determines from the cache or by a probe whether the file is safe to load. */
static int32_t find_probe_result(struct discovery *discovery, struct record *record, struct accel_error *verdict)
{
    const struct accel_plugins_options *options = discovery->options;
    const struct accel_cache_entry *known = NULL;
    char key[ACCEL_HASH128_HEX_BYTES] = "";
    if (discovery->cache != NULL) {
        struct accel_cache_subject subject = {.path = record->plugin.info.path,
                                              .file = &record->file,
                                              .build_id = record->plugin.info.build_id,
                                              .depends = record->plugin.note->depends,
                                              .hardware = options->hardware,
                                              .hardware_count = options->hardware_count,
                                              .milliseconds = discovery->milliseconds};
        int32_t code = accel_cache_key(&subject, key, verdict);
        if (code != ACCEL_OK)
            return code;
        known = accel_cache_find(discovery->cache, key);
    }
    if (known != NULL)
        return apply_cached(record, known, verdict);
    if (options->flags & ACCEL_CONTEXT_NO_PROBE)
        return ACCEL_OK;
    return probe(discovery, record, key, verdict);
}

/* ---- one file ---- */

/* Verifies that the file to load is the one that was trusted, read and probed: same path, same identity. */
static int32_t check_same(const struct record *record, struct accel_error *verdict)
{
    const char *path = record->plugin.info.path;
    const struct stat *before = &record->file;
    struct stat now;
    if (lstat(path, &now) != 0)
        return accel_file_fail(verdict, "inspect", path, errno);
    if (now.st_dev != before->st_dev || now.st_ino != before->st_ino || now.st_size != before->st_size ||
        now.st_mode != before->st_mode || now.st_uid != before->st_uid ||
        now.st_mtim.tv_sec != before->st_mtim.tv_sec || now.st_mtim.tv_nsec != before->st_mtim.tv_nsec ||
        now.st_ctim.tv_sec != before->st_ctim.tv_sec || now.st_ctim.tv_nsec != before->st_ctim.tv_nsec)
        return accel_error_by(verdict, ACCEL_FROM_FILE, ACCEL_E_DENIED,
                              "%s: not trusted: it was replaced while it was probed", path);
    return ACCEL_OK;
}

static int32_t load(struct discovery *discovery, struct record *record, struct accel_error *verdict)
{
    const struct accel_plugins_options *options = discovery->options;
    struct accel_plugin *plugin = &record->plugin;
    accel_driver_query_function query = NULL;
    struct accel_caller_state before;
    const char *changed;
    int32_t code;
    accel_caller_state_save(&before);
    if (options->calling != NULL)
        options->calling(options->calling_data, plugin->info.name, "load");
    code = accel_load_open(plugin->info.path, &query, verdict);
    if (code == ACCEL_OK)
        code = accel_load_query(plugin->info.path, query, plugin->note, &discovery->plugins->arena, &plugin->driver,
                                verdict);
    if (options->calling != NULL)
        options->calling(options->calling_data, NULL, NULL);
    /* Constructors of vendor libraries change the floating-point mode. */
    changed = accel_caller_state_restore(&before);
    if (changed != NULL)
        accel_log_write(options->log, ACCEL_LOG_WARN, COMPONENT, "driver=%s slot=load changed=\"%s\" restored=1",
                        plugin->info.name, changed);
    if (code != ACCEL_OK)
        return code;
    plugin->info.state = ACCEL_PLUGIN_LOADED;
    plugin->info.option_count = plugin->driver->option_count;
    plugin->info.options = plugin->driver->options;
    return ACCEL_OK;
}

static int32_t examine(struct discovery *discovery, struct record *record, struct accel_error *verdict)
{
    struct accel_plugin_info *info = &record->plugin.info;
    const struct record *earlier;
    int32_t code = check_elf(discovery, record, verdict);
    if (code != ACCEL_OK)
        return code;
    earlier = find_loaded(discovery->plugins, info->name);
    if (earlier != NULL) {
        info->state = ACCEL_PLUGIN_SHADOWED;
        accel_error_by(verdict, ACCEL_FROM_DRIVER, ACCEL_E_BUSY, "the driver \"%s\" was found before in %s", info->name,
                       earlier->plugin.info.path);
        info->text = copy_text(discovery->plugins, verdict->text);
        return ACCEL_OK;
    }
    code = find_probe_result(discovery, record, verdict);
    if (code == ACCEL_OK)
        code = check_same(record, verdict);
    return code == ACCEL_OK ? load(discovery, record, verdict) : code;
}

/* Creates the record of a candidate. Fails only if there is no memory for the record: a driver that itself runs
 * out of memory, or reports that for a device, is refused like any other. */
static int32_t add_candidate(struct discovery *discovery, const struct accel_candidate *candidate)
{
    struct accel_plugins *plugins = discovery->plugins;
    struct accel_error verdict = {0};
    struct record *record;
    struct stat file;
    char *path = NULL;
    int32_t code = accel_trust_check(&discovery->trust, candidate->path, &path, &file, &verdict);
    /* A file found in two folders is one plugin. */
    if (code == ACCEL_OK && is_known_file(plugins, &file)) {
        free(path);
        return ACCEL_OK;
    }
    record = add_record(discovery, path ? path : candidate->path);
    free(path);
    if (record == NULL)
        return ACCEL_E_MEMORY;
    if (code == ACCEL_OK) {
        record->file = file;
        record->has_identity = true;
        code = examine(discovery, record, &verdict);
    }
    if (code != ACCEL_OK) {
        verdict.code = code;
        refuse(plugins, record, &verdict);
    }
    /* Logged as information and not as a warning: every list of plugins shows a refused plugin. */
    accel_log_write(discovery->options->log, ACCEL_LOG_INFO, COMPONENT,
                    "file=\"%s\" place=%s name=%s state=%u from_cache=%u text=\"%s\"", record->plugin.info.path,
                    candidate->place, record->plugin.info.name, record->plugin.info.state,
                    record->plugin.info.from_cache, record->plugin.info.text);
    return ACCEL_OK;
}

/* ---- discovery ---- */

static int32_t open_cache(struct discovery *discovery)
{
    const struct accel_plugins_options *options = discovery->options;
    struct accel_error why = {0};
    char *folder = NULL;
    int32_t code = ACCEL_OK;
    if (options->flags & ACCEL_CONTEXT_NO_CACHE)
        return ACCEL_OK;
    if (options->cache_path != NULL)
        folder = strdup(options->cache_path);
    else
        code = accel_file_user_folder(ACCEL_USER_CACHE, &folder, &why);
    if (code != ACCEL_OK && code != ACCEL_E_MEMORY) {
        accel_log_write(options->log, ACCEL_LOG_INFO, COMPONENT, "cache=none reason=\"%s\"", why.text);
        return ACCEL_OK;
    }
    discovery->plugins->cache_file = folder ? accel_file_join(folder, CACHE_FILE) : NULL;
    free(folder);
    if (discovery->plugins->cache_file == NULL)
        return accel_error_no_memory(discovery->error, "for the records of plugins");
    discovery->cache = calloc(1, sizeof(*discovery->cache));
    if (discovery->cache == NULL)
        return accel_error_no_memory(discovery->error, "for the records of plugins");
    return accel_cache_read(discovery->plugins->cache_file, options->log, &discovery->plugins->arena, discovery->cache,
                            discovery->error);
}

static int32_t add_candidates(struct discovery *discovery)
{
    struct accel_plugins *plugins = discovery->plugins;
    struct accel_candidates candidates;
    struct accel_search_places places;
    int32_t code =
        accel_search_places(discovery->options->driver_path, discovery->options->log, &places, discovery->error);
    if (code == ACCEL_OK && (discovery->options->flags & ACCEL_CONTEXT_ONLY_PATH) != 0) {
        const char *path = places.driver_path;
        accel_search_places_free(&places);
        places.driver_path = path;
    }
    if (code == ACCEL_OK)
        code = accel_search_run(&places, discovery->options->log, &plugins->arena, &candidates, discovery->error);
    accel_search_places_free(&places);
    if (code != ACCEL_OK)
        return code;
    plugins->records = accel_arena_array(&plugins->arena, candidates.count + 1u, sizeof(*plugins->records));
    if (plugins->records == NULL)
        return accel_error_no_memory(discovery->error, "for the records of plugins");
    for (uint32_t i = 0; i < candidates.count && code == ACCEL_OK; i++)
        code = add_candidate(discovery, &candidates.list[i]);
    return code;
}

int32_t accel_plugins_discover(const struct accel_plugins_options *options, struct accel_plugins **out_plugins,
                               struct accel_error *error)
{
    struct discovery discovery = {.options = options,
                                  .trust = {(uint32_t)geteuid(), accel_env_is_elevated()},
                                  .milliseconds = options->probe_milliseconds,
                                  .error = error};
    int32_t code;
    *out_plugins = NULL;
    if (discovery.milliseconds == 0)
        discovery.milliseconds = ACCEL_PLUGIN_PROBE_MILLISECONDS;
    discovery.plugins = calloc(1, sizeof(*discovery.plugins));
    if (discovery.plugins == NULL)
        return accel_error_no_memory(error, "for the records of plugins");
    discovery.plugins->log = options->log;
    code = accel_probe_program(options->probe_path, &discovery.program, error);
    if (code == ACCEL_OK)
        code = open_cache(&discovery);
    if (code == ACCEL_OK)
        code = add_candidates(&discovery);
    if (code == ACCEL_OK && discovery.cache != NULL)
        accel_cache_write(discovery.cache, discovery.plugins->cache_file, options->log);
    if (code == ACCEL_OK)
        *out_plugins = discovery.plugins;
    else
        accel_plugins_free(discovery.plugins);
    free(discovery.cache);
    free(discovery.program);
    return code;
}

void accel_plugins_free(struct accel_plugins *plugins)
{
    if (plugins == NULL)
        return;
    accel_arena_free(&plugins->arena);
    free(plugins->cache_file);
    free(plugins);
}

uint32_t accel_plugins_count(const struct accel_plugins *plugins)
{
    return plugins->count;
}

struct accel_plugin *accel_plugins_get(const struct accel_plugins *plugins, uint32_t index)
{
    return index < plugins->count ? &plugins->records[index].plugin : NULL;
}

void accel_plugins_refuse(struct accel_plugins *plugins, uint32_t index, const struct accel_error *why)
{
    if (index < plugins->count)
        refuse(plugins, &plugins->records[index], why);
}

/* Without memory the cached result stays, and the next discovery finds it stale again. */
void accel_plugins_stale(struct accel_plugins *plugins, uint32_t index)
{
    struct accel_cache *cache;
    struct accel_arena arena = {0};
    if (index >= plugins->count || plugins->cache_file == NULL)
        return;
    cache = calloc(1, sizeof(*cache));
    if (cache == NULL)
        return;
    if (accel_cache_read(plugins->cache_file, plugins->log, &arena, cache, NULL) == ACCEL_OK &&
        accel_cache_remove(cache, plugins->records[index].plugin.info.path))
        accel_cache_write(cache, plugins->cache_file, plugins->log);
    accel_arena_free(&arena);
    free(cache);
}
