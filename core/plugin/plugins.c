/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a file from candidate to driver: trust, gate, shadow, cache or probe, load. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/env.h"
#include "core/base/file.h"
#include "core/base/surroundings.h"
#include "core/plugin/cache.h"
#include "core/plugin/gate.h"
#include "core/plugin/load.h"
#include "core/plugin/mark.h"
#include "core/plugin/plugin.h"
#include "core/plugin/probe.h"
#include "core/plugin/search.h"
#include "core/plugin/trust.h"

#define ROOM "plugin"
#define CACHE_FILE "plugins.cache"

/* One file. The public record comes first. */
struct record {
    struct accel_plugin plugin;
    struct stat file; /* its identity, when it could be looked at */
    bool looked_at;
};

struct accel_plugins {
    struct accel_arena arena;
    struct record *records;
    uint32_t count;
    char *cache_folder; /* NULL: none is used */
    char *cache_file;   /* in it */
    struct accel_mark mark;
    const struct accel_log *log;
};

/* One discovery. */
struct discovery {
    const struct accel_plugins_options *options;
    struct accel_plugins *plugins;
    struct accel_trust trust;
    struct accel_cache *cache; /* NULL: none is used */
    char *program;             /* accel-probe */
    struct accel_mark_left *left;
    uint32_t left_count;
    uint32_t milliseconds;
    struct accel_error *error;
};

static int32_t no_memory(struct accel_error *error)
{
    return accel_error_set(error, ACCEL_E_MEMORY, "no memory for the records of plugins");
}

/* ---- records ---- */

/* "accel-cpu" of "/usr/lib/accel/drivers-0/accel-cpu.so". */
static const char *file_name(struct accel_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t bytes = strlen(name);
    if (bytes > 3 && strcmp(name + bytes - 3, ".so") == 0)
        bytes -= 3;
    return accel_arena_strndup(arena, name, bytes);
}

/* A string of a record; without memory it is empty, since a reader must never meet NULL. */
static const char *keep_text(struct accel_plugins *plugins, const char *text)
{
    const char *copy = *text ? accel_arena_strdup(&plugins->arena, text) : "";
    return copy ? copy : "";
}

static void refuse(struct accel_plugins *plugins, struct record *record, const struct accel_error *why)
{
    struct accel_plugin_info *info = &record->plugin.info;
    info->state = ACCEL_PLUGIN_REFUSED;
    info->code = why->code;
    info->text = keep_text(plugins, why->text);
    info->remedy = keep_text(plugins, why->remedy);
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
        no_memory(discovery->error);
        return NULL;
    }
    plugins->count++;
    return record;
}

/* ---- trust and gate ---- */

static bool is_known_file(const struct accel_plugins *plugins, const struct stat *file)
{
    for (uint32_t i = 0; i < plugins->count; i++) {
        const struct record *record = &plugins->records[i];
        if (record->looked_at && record->file.st_dev == file->st_dev && record->file.st_ino == file->st_ino)
            return true;
    }
    return false;
}

/* Opens the file, makes sure that it is the one that was trusted, and lets the gate read it. */
static int32_t pass_gate(struct discovery *discovery, struct record *record, struct accel_error *verdict)
{
    struct accel_plugin_info *info = &record->plugin.info;
    struct accel_elf_source source = {strrchr(info->path, '/') + 1, NULL, 0, -1};
    struct accel_gate gate = {NULL, ""};
    struct stat now;
    int32_t code;
    source.fd = open(info->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (source.fd < 0 || fstat(source.fd, &now) != 0) {
        code = accel_error_set(verdict, accel_file_code(errno), "%s: cannot be opened: error %d", info->path, errno);
    } else if (now.st_dev != record->file.st_dev || now.st_ino != record->file.st_ino) {
        code = accel_error_set(verdict, ACCEL_E_DENIED, "%s: not trusted: it was replaced meanwhile", info->path);
    } else {
        record->file = now;
        source.bytes = (uint64_t)now.st_size;
        code = accel_gate_check(&source, &discovery->plugins->arena, &gate, verdict);
    }
    if (source.fd >= 0)
        close(source.fd);
    if (code != ACCEL_OK)
        accel_error_remedy(verdict, "name or install a driver that was built for this machine and version of accel");
    info->build_id = gate.build_id;
    record->plugin.note = gate.note;
    if (gate.note != NULL) {
        info->name = gate.note->name;
        info->version = gate.note->version;
        info->licence = gate.note->licence;
        info->abi_major = gate.note->abi_major;
        info->abi_minor = gate.note->abi_minor;
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

/* The slot in which the driver ended an earlier process; NULL: in none that is known. */
static const char *slot_left(const struct discovery *discovery, const struct record *record)
{
    for (uint32_t i = 0; i < discovery->left_count; i++)
        if (discovery->left[i].early && strcmp(discovery->left[i].path, record->plugin.info.path) == 0)
            return discovery->left[i].slot;
    return NULL;
}

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
        const char *died = result.code == ACCEL_OK && record->plugin.died != NULL ? record->plugin.died : result.text;
        struct accel_cache_entry entry = {.code = result.code,
                                          .signal = result.signal,
                                          .path = info->path,
                                          .text = died,
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

static int32_t recall(struct record *record, const struct accel_cache_entry *entry, struct accel_error *verdict)
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
    } else if (*entry->text != '\0') {
        /* A good result has no text but this. */
        record->plugin.died = entry->text;
    }
    return entry->code;
}

/* Finds out, by an earlier probe or by one now, whether the file is safe to load. */
static int32_t ask_probe(struct discovery *discovery, struct record *record, struct accel_error *verdict)
{
    const struct accel_plugins_options *options = discovery->options;
    const struct accel_cache_entry *known = NULL;
    char key[ACCEL_HASH_TEXT] = "";
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
    record->plugin.died = slot_left(discovery, record);
    if (known != NULL && (record->plugin.died == NULL || (options->flags & ACCEL_CONTEXT_NO_PROBE) != 0))
        return recall(record, known, verdict);
    if (options->flags & ACCEL_CONTEXT_NO_PROBE)
        return ACCEL_OK;
    return probe(discovery, record, key, verdict);
}

/* ---- the way of one file ---- */

/* The file that is loaded is the one that was trusted, read and probed: same place, same bytes as far as the system
 * tells. */
static int32_t check_same(const struct record *record, struct accel_error *verdict)
{
    const char *path = record->plugin.info.path;
    const struct stat *before = &record->file;
    struct stat now;
    if (lstat(path, &now) != 0)
        return accel_error_set(verdict, accel_file_code(errno), "%s: cannot be looked at: error %d of the system", path,
                               errno);
    if (now.st_dev != before->st_dev || now.st_ino != before->st_ino || now.st_size != before->st_size ||
        now.st_mode != before->st_mode || now.st_uid != before->st_uid ||
        now.st_mtim.tv_sec != before->st_mtim.tv_sec || now.st_mtim.tv_nsec != before->st_mtim.tv_nsec)
        return accel_error_set(verdict, ACCEL_E_DENIED, "%s: not trusted: it was replaced while it was probed", path);
    return ACCEL_OK;
}

static int32_t load(struct discovery *discovery, struct record *record, struct accel_error *verdict)
{
    struct accel_plugin *plugin = &record->plugin;
    accel_driver_query_function query = NULL;
    struct accel_surroundings before;
    char words[ACCEL_CHANGED_TEXT];
    uint32_t changed;
    int32_t code;
    if (plugin->died != NULL && strcmp(plugin->died, ACCEL_MARK_LOADING) == 0)
        return accel_error_set(verdict, ACCEL_E_INTERNAL, "ended a process that loaded it, although its probe is good");
    accel_plugins_enter(discovery->plugins, (uint32_t)(record - discovery->plugins->records), ACCEL_MARK_LOADING);
    accel_surroundings_take(&before, plugin->note == NULL ? NULL : plugin->note->effects);
    code = accel_load_open(plugin->info.path, &query, verdict);
    if (code == ACCEL_OK)
        code = accel_load_query(plugin->info.path, query, plugin->note, &discovery->plugins->arena, &plugin->driver,
                                verdict);
    /* Constructors of vendors' libraries like to leave things changed behind them. */
    changed = accel_surroundings_restore(&before);
    accel_plugins_leave(discovery->plugins);
    if (changed != 0)
        accel_log_write(discovery->options->log, ACCEL_LOG_WARN, ROOM, "driver=%s slot=load changed=\"%s\" restored=%d",
                        plugin->info.name, accel_surroundings_text(changed, words),
                        (changed & ACCEL_CHANGED_FOR_GOOD) == 0);
    if (code == ACCEL_OK)
        plugin->info.state = ACCEL_PLUGIN_LOADED;
    return code;
}

static int32_t examine(struct discovery *discovery, struct record *record, struct accel_error *verdict)
{
    struct accel_plugin_info *info = &record->plugin.info;
    const struct record *earlier;
    int32_t code = pass_gate(discovery, record, verdict);
    if (code != ACCEL_OK)
        return code;
    earlier = find_loaded(discovery->plugins, info->name);
    if (earlier != NULL) {
        info->state = ACCEL_PLUGIN_SHADOWED;
        accel_error_set(verdict, ACCEL_E_BUSY, "the driver \"%s\" was found before in %s", info->name,
                        earlier->plugin.info.path);
        info->text = keep_text(discovery->plugins, verdict->text);
        return ACCEL_OK;
    }
    code = ask_probe(discovery, record, verdict);
    if (code == ACCEL_OK)
        code = check_same(record, verdict);
    return code == ACCEL_OK ? load(discovery, record, verdict) : code;
}

/* Makes the record of a candidate. Fails for lack of memory for the record alone: a driver that has none for itself, or
 * that says so of a device, is refused as any other. */
static int32_t take_candidate(struct discovery *discovery, const struct accel_candidate *candidate)
{
    struct accel_plugins *plugins = discovery->plugins;
    struct accel_error verdict = {0};
    struct record *record;
    struct stat file;
    char *path = NULL;
    int32_t code = accel_trust_check(&discovery->trust, candidate->path, &path, &file, &verdict);
    /* The same file on two ways is one plugin. */
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
        record->looked_at = true;
        code = examine(discovery, record, &verdict);
    }
    if (code != ACCEL_OK) {
        verdict.code = code;
        refuse(plugins, record, &verdict);
    }
    /* A refused plugin is a record that every list of plugins shows: no news for the log. */
    accel_log_write(discovery->options->log, ACCEL_LOG_INFO, ROOM,
                    "file=\"%s\" place=%s name=%s state=%u from_cache=%u text=\"%s\"", record->plugin.info.path,
                    candidate->place, record->plugin.info.name, record->plugin.info.state,
                    record->plugin.info.from_cache, record->plugin.info.text);
    return ACCEL_OK;
}

/* ---- the whole ---- */

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
        code = accel_file_user_cache(&folder, &why);
    if (code != ACCEL_OK && code != ACCEL_E_MEMORY) {
        accel_log_write(options->log, ACCEL_LOG_INFO, ROOM, "cache=none because=\"%s\"", why.text);
        return ACCEL_OK;
    }
    discovery->plugins->cache_file = folder ? accel_file_join(folder, CACHE_FILE) : NULL;
    discovery->plugins->cache_folder = folder;
    if (discovery->plugins->cache_file == NULL)
        return no_memory(discovery->error);
    discovery->left_count =
        accel_mark_collect(folder, discovery->milliseconds, &discovery->plugins->arena, &discovery->left);
    discovery->cache = calloc(1, sizeof(*discovery->cache));
    if (discovery->cache == NULL)
        return no_memory(discovery->error);
    return accel_cache_read(discovery->plugins->cache_file, options->log, &discovery->plugins->arena, discovery->cache,
                            discovery->error);
}

/* The process that left a mark may have had no time for a word. Who ended it is not known. */
static void tell_left(const struct discovery *discovery, const struct accel_candidates *candidates)
{
    for (uint32_t i = 0; i < discovery->left_count; i++)
        for (uint32_t k = 0; k < candidates->count; k++)
            if (strcmp(discovery->left[i].path, candidates->list[k].path) == 0)
                accel_log_write(discovery->options->log, ACCEL_LOG_ERROR, ROOM, "file=\"%s\" slot=\"%s\" text=\"%s\"",
                                discovery->left[i].path, discovery->left[i].slot,
                                "an earlier process ended, was killed, or hangs, while this driver was in it; where "
                                "nobody killed it: a device of another driver does without it");
}

static int32_t take_all(struct discovery *discovery)
{
    struct accel_plugins *plugins = discovery->plugins;
    struct accel_candidates candidates;
    struct accel_search_places places;
    int32_t code =
        accel_search_places(discovery->options->driver_path, discovery->options->log, &places, discovery->error);
    if (code == ACCEL_OK)
        code = accel_search_run(&places, discovery->options->log, &plugins->arena, &candidates, discovery->error);
    accel_search_places_free(&places);
    if (code != ACCEL_OK)
        return code;
    plugins->records = accel_arena_array(&plugins->arena, candidates.count + 1u, sizeof(*plugins->records));
    if (plugins->records == NULL)
        return no_memory(discovery->error);
    tell_left(discovery, &candidates);
    for (uint32_t i = 0; i < candidates.count && code == ACCEL_OK; i++)
        code = take_candidate(discovery, &candidates.list[i]);
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
        return no_memory(error);
    /* From the first call on: a handler of a signal may want to unmark it. */
    *out_plugins = discovery.plugins;
    discovery.plugins->log = options->log;
    code = accel_probe_program(options->probe_path, &discovery.program, error);
    if (code == ACCEL_OK)
        code = open_cache(&discovery);
    if (code == ACCEL_OK)
        code = take_all(&discovery);
    if (code == ACCEL_OK && discovery.cache != NULL)
        accel_cache_write(discovery.cache, discovery.plugins->cache_file, options->log);
    if (code != ACCEL_OK) {
        *out_plugins = NULL;
        accel_plugins_free(discovery.plugins);
    }
    free(discovery.cache);
    free(discovery.program);
    return code;
}

void accel_plugins_free(struct accel_plugins *plugins)
{
    if (plugins == NULL)
        return;
    accel_mark_close(&plugins->mark);
    accel_arena_free(&plugins->arena);
    free(plugins->cache_file);
    free(plugins->cache_folder);
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

void accel_plugins_enter(struct accel_plugins *plugins, uint32_t index, const char *slot)
{
    if (index < plugins->count)
        accel_mark_set(&plugins->mark, plugins->cache_folder, plugins->records[index].plugin.info.path, slot);
}

void accel_plugins_leave(struct accel_plugins *plugins)
{
    accel_mark_clear(&plugins->mark);
}

void accel_plugins_unmark(struct accel_plugins *plugins)
{
    accel_mark_forget(&plugins->mark);
}

void accel_plugins_rest(struct accel_plugins *plugins)
{
    accel_mark_rest(&plugins->mark);
}

/* Without memory for it the result stays, and is found stale again. */
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
