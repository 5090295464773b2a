/* SPDX-License-Identifier: Apache-2.0 */
/* Fills a snapshot from a context and writes it. */
#include "config.h"

#include "tools/doctor/snapshot.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/env.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/strbuf.h"
#include "core/plugin/plugin.h"
#include "core/profile/profile.h"
#include "core/profile/yaml.h"
#include "core/registry/context.h"
#include "core/snapshot/snapshot.h"
#include "core/topology/topology.h"
#include "tools/doctor/gather.h"

#define MOST_FILES 1024u /* also the limit of files read from one folder */

/* State of one recording. The arena holds the arrays; the context owns the strings. */
struct recorder {
    struct accel_context *context;
    struct accel_arena arena;
    struct accel_snapshot snapshot;
    struct accel_evidence evidence;
    struct accel_error *error;
    char *xml;
    char time[32];
};

/* ---- records of the context ---- */

static int32_t record_machine(struct recorder *recorder)
{
    const struct accel_topology *topology = recorder->context->topology;
    const struct accel_machine *machine = accel_topology_machine(topology);
    struct accel_snapshot_topology *out = &recorder->snapshot.topology;
    int32_t code;
    accel_plugins_lock();
    code = accel_topology_export(topology, &recorder->xml, recorder->error);
    accel_plugins_unlock();
    if (code != ACCEL_OK)
        return code;
    out->board = machine->board;
    out->limits = machine->limits;
    return accel_snapshot_set_xml(&recorder->snapshot, recorder->xml, &recorder->arena, recorder->error);
}

/* Copies the structs of a list into one array in the arena; NULL if memory runs out. */
static void *copy_rows(struct recorder *recorder, const struct accel_rows *rows, size_t bytes)
{
    char *list = accel_arena_array(&recorder->arena, rows->count, bytes);
    for (uint32_t i = 0; list && i < rows->count; i++)
        memcpy(list + i * bytes, rows->items[i], bytes);
    return list;
}

static int32_t record_lists(struct recorder *recorder)
{
    const struct accel_context *context = recorder->context;
    struct accel_snapshot *snapshot = &recorder->snapshot;
    snapshot->hardware = copy_rows(recorder, &context->hardware, sizeof(*snapshot->hardware));
    snapshot->hardware_count = context->hardware.count;
    snapshot->facts = copy_rows(recorder, &context->facts, sizeof(*snapshot->facts));
    snapshot->fact_count = context->facts.count;
    snapshot->verdicts = copy_rows(recorder, &context->verdicts, sizeof(*snapshot->verdicts));
    snapshot->verdict_count = context->verdicts.count;
    return snapshot->hardware && snapshot->facts && snapshot->verdicts
               ? ACCEL_OK
               : accel_error_no_memory(recorder->error, "for a snapshot");
}

static int32_t record_plugins(struct recorder *recorder)
{
    uint32_t count = accel_plugin_count(recorder->context);
    struct accel_plugin_info *list = accel_arena_array(&recorder->arena, count, sizeof(*list));
    for (uint32_t i = 0; list && i < count; i++)
        list[i] = *accel_plugin_get(recorder->context, i);
    recorder->snapshot.plugins = list;
    recorder->snapshot.plugin_count = count;
    return list ? ACCEL_OK : accel_error_no_memory(recorder->error, "for a snapshot");
}

static int32_t record_devices(struct recorder *recorder)
{
    const struct accel_rows *rows = &recorder->context->devices;
    struct accel_snapshot_device *list = accel_arena_array(&recorder->arena, rows->count, sizeof(*list));
    /* The order of discovery breaks ties of ranks when the devices are listed again. */
    for (uint32_t i = 0; list && i < rows->count; i++) {
        const struct accel_listed *listed = rows->items[i];
        uint32_t place = 0;
        for (uint32_t j = 0; j < rows->count; j++)
            place += ((const struct accel_listed *)rows->items[j])->order < listed->order;
        list[place] = (struct accel_snapshot_device){.driver = listed->info.driver,
                                                     .version = listed->owner->driver->version,
                                                     .plugin = listed->info.plugin,
                                                     .facts = *listed->info.facts};
    }
    recorder->snapshot.devices = list;
    recorder->snapshot.device_count = rows->count;
    return list ? ACCEL_OK : accel_error_no_memory(recorder->error, "for a snapshot");
}

/* ---- files and settings in force ---- */

static int32_t record_file(struct recorder *recorder, const char *folder, const char *name,
                           struct accel_snapshot_file *file)
{
    char *path = accel_file_join(folder, name);
    char *data = NULL;
    char hash[24];
    size_t bytes = 0;
    int32_t code = path ? accel_file_read(path, ACCEL_YAML_BYTES, &data, &bytes, NULL) : ACCEL_E_MEMORY;
    if (code == ACCEL_OK) {
        snprintf(hash, sizeof(hash), "%016" PRIx64, accel_hash64(data, bytes, 0));
        file->bytes = bytes;
        file->hash = accel_arena_strdup(&recorder->arena, hash);
        file->path = accel_arena_strdup(&recorder->arena, path);
        code = file->hash && file->path ? ACCEL_OK : ACCEL_E_MEMORY;
    }
    free(data);
    free(path);
    return code;
}

static int is_yaml(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > 5 && strcmp(entry->d_name + length - 5, ".yaml") == 0;
}

/* Records the files of the profile folder itself, or of a layer's folder in it. */
static int32_t record_folder(struct recorder *recorder, const char *folder, struct accel_snapshot_file *files)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_yaml, alphasort);
    int32_t code = ACCEL_OK;
    for (int i = 0; i < count; i++) {
        uint32_t *at = &recorder->snapshot.profile_count;
        if (code != ACCEL_E_MEMORY && *at < MOST_FILES) {
            code = record_file(recorder, folder, entries[i]->d_name, &files[*at]);
            *at += code == ACCEL_OK;
        }
        free(entries[i]);
    }
    free(entries);
    return code == ACCEL_E_MEMORY ? accel_error_no_memory(recorder->error, "for a snapshot") : ACCEL_OK;
}

static int32_t record_profiles(struct recorder *recorder)
{
    static const char *const folders[] = {"", "clients", "devices", "models"};
    struct accel_snapshot_file *files = accel_arena_array(&recorder->arena, MOST_FILES, sizeof(*files));
    char *root = NULL;
    int32_t code = accel_profile_folder(recorder->context, &root, NULL);
    if (files == NULL || code == ACCEL_E_MEMORY) {
        free(root);
        return accel_error_no_memory(recorder->error, "for a snapshot");
    }
    recorder->snapshot.profiles = files;
    /* A machine without profiles is recorded all the same. */
    for (size_t i = 0; root && i < sizeof(folders) / sizeof(folders[0]) && code == ACCEL_OK; i++) {
        char *folder = accel_file_join(root, folders[i]);
        code =
            folder ? record_folder(recorder, folder, files) : accel_error_no_memory(recorder->error, "for a snapshot");
        free(folder);
    }
    free(root);
    return code == ACCEL_E_MEMORY ? code : ACCEL_OK;
}

static int32_t record_environment(struct recorder *recorder)
{
    static const char prefix[] = "ACCEL_";
    extern char **environ;
    uint32_t count = 0;
    const char **list;
    for (char **at = environ; at && *at; at++)
        count += strncmp(*at, prefix, sizeof(prefix) - 1) == 0;
    list = accel_arena_array(&recorder->arena, count, sizeof(*list));
    if (list == NULL)
        return accel_error_no_memory(recorder->error, "for a snapshot");
    for (char **at = environ; at && *at && recorder->snapshot.environment_count < count; at++) {
        if (strncmp(*at, prefix, sizeof(prefix) - 1) != 0)
            continue;
        list[recorder->snapshot.environment_count] = accel_arena_strdup(&recorder->arena, *at);
        if (list[recorder->snapshot.environment_count++] == NULL)
            return accel_error_no_memory(recorder->error, "for a snapshot");
    }
    recorder->snapshot.environment = list;
    return ACCEL_OK;
}

static int32_t record_evidence(struct recorder *recorder)
{
    struct accel_doctor_table table = {0};
    struct accel_error why = {0};
    int32_t code = accel_doctor_open_table(recorder->context, &recorder->arena, &table, &why);
    /* A snapshot without the table has less evidence, but is still useful. */
    if (code == ACCEL_E_MEMORY)
        return accel_error_no_memory(recorder->error, "for a snapshot");
    if (code != ACCEL_OK)
        accel_log_write(&recorder->context->log, ACCEL_LOG_WARN, "doctor", "text=\"%s\"", why.text);
    return accel_doctor_gather(recorder->context, &table, &recorder->evidence, recorder->error);
}

static void record_time(struct recorder *recorder)
{
    time_t now = time(NULL);
    struct tm parts;
    recorder->time[0] = '\0';
    if (gmtime_r(&now, &parts))
        strftime(recorder->time, sizeof(recorder->time), "%Y-%m-%dT%H:%M:%SZ", &parts);
    recorder->snapshot.time = recorder->time;
}

static int32_t fill(struct recorder *recorder)
{
    static int32_t (*const steps[])(struct recorder *) = {record_machine, record_lists,    record_plugins,
                                                          record_devices, record_profiles, record_environment,
                                                          record_evidence};
    int32_t code = ACCEL_OK;
    recorder->snapshot.path = recorder->snapshot.about = "";
    recorder->snapshot.schema = ACCEL_SNAPSHOT_SCHEMA;
    recorder->snapshot.version = PACKAGE_VERSION;
    record_time(recorder);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && code == ACCEL_OK; i++)
        code = steps[i](recorder);
    return code;
}

/* Returns whether a file name cannot continue with this character: the path before it is complete. */
static bool ends_name(char character)
{
    return !isalnum((unsigned char)character) && strchr("._-", character) == NULL && (unsigned char)character < 0x80;
}

/* Replaces the home folder, which names the user, with "~" in all paths of the file. JSON writes such a path
 * without escapes. */
static char *without_home(char *text, uint64_t *bytes)
{
    const char *home = accel_env_get("HOME", NULL);
    size_t length = home ? strlen(home) : 0;
    struct accel_strbuf out = {0};
    while (length > 0 && home[length - 1] == '/')
        length--;
    if (text == NULL || length == 0 || home[0] != '/' || strpbrk(home, "\"\\"))
        return text;
    for (const char *at = text; at && !out.failed;) {
        const char *found = memmem(at, strlen(at), home, length);
        bool whole = found && (found[length] == '\0' || ends_name(found[length]));
        accel_strbuf_append(&out, at, found ? (size_t)(found - at) : strlen(at));
        if (found)
            accel_strbuf_append(&out, whole ? "~" : found, whole ? 1 : length);
        at = found ? found + length : NULL;
    }
    free(text);
    *bytes = out.length;
    text = accel_strbuf_detach(&out);
    accel_strbuf_free(&out);
    return text;
}

/* ---- public functions ---- */

static int32_t print(const struct accel_snapshot *snapshot, const struct accel_evidence *evidence, char **out_text,
                     uint64_t *out_bytes, struct accel_error *error)
{
    struct accel_strbuf text = {0};
    int32_t code;
    accel_strbuf_init(&text, ACCEL_SNAPSHOT_BYTES);
    code = accel_snapshot_to_json(snapshot, evidence, &text, error);
    if (code == ACCEL_OK) {
        *out_bytes = text.length;
        *out_text = without_home(accel_strbuf_detach(&text), out_bytes);
        if (*out_text == NULL)
            code = accel_error_no_memory(error, "for a snapshot");
    }
    accel_strbuf_free(&text);
    return code;
}

static int32_t print_recorded(const struct accel_snapshot *snapshot, char **out_text, uint64_t *out_bytes,
                              struct accel_error *error)
{
    struct accel_arena arena = {0};
    struct accel_evidence evidence;
    int32_t code;
    accel_evidence_init(&evidence, &arena);
    accel_evidence_read(&evidence, snapshot->evidence);
    code = evidence.failed ? accel_error_no_memory(error, "for a snapshot")
                           : print(snapshot, &evidence, out_text, out_bytes, error);
    accel_arena_free(&arena);
    return code;
}

static int32_t print_live(struct accel_context *context, char **out_text, uint64_t *out_bytes,
                          struct accel_error *error)
{
    struct recorder recorder = {.context = context, .error = error};
    int32_t code;
    accel_arena_init(&recorder.arena, 0);
    accel_evidence_init(&recorder.evidence, &recorder.arena);
    code = fill(&recorder);
    if (code == ACCEL_OK)
        code = print(&recorder.snapshot, &recorder.evidence, out_text, out_bytes, error);
    free(recorder.xml);
    accel_arena_free(&recorder.arena);
    return code;
}

int32_t accel_snapshot_text(struct accel_context *context, char **out_text, uint64_t *out_bytes,
                            struct accel_error *error)
{
    uint64_t bytes = 0;
    int32_t code;
    if (out_text)
        *out_text = NULL;
    if (context == NULL || out_text == NULL || context->topology == NULL)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "accel_snapshot_text needs a context that has discovered, and a place for the text");
    code = context->snapshot ? print_recorded(context->snapshot, out_text, &bytes, error)
                             : print_live(context, out_text, &bytes, error);
    if (out_bytes)
        *out_bytes = bytes;
    return code;
}

int32_t accel_snapshot_write(struct accel_context *context, const char *path, struct accel_error *error)
{
    char *text = NULL;
    uint64_t bytes = 0;
    int32_t code;
    if (path == NULL || path[0] == '\0')
        return accel_error_set(error, ACCEL_E_INVALID, "accel_snapshot_write needs the name of a file");
    if (strcmp(path, "-") == 0)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "accel_snapshot_write writes files alone: accel_snapshot_text gives the text");
    code = accel_snapshot_text(context, &text, &bytes, error);
    if (code == ACCEL_OK)
        code = accel_file_write(path, text, bytes, 0666, error);
    free(text);
    return code;
}
