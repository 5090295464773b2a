/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/doctor/gather.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/pci.h"
#include "core/base/strbuf.h"
#include "core/registry/context.h"

bool accel_doctor_is_pattern(const char *name)
{
    return strpbrk(name, "*?[") != NULL;
}

bool accel_doctor_nodes(const char *name, const struct accel_hardware *hardware, struct accel_arena *arena,
                        const char *out_paths[DOCTOR_NODES], uint32_t *out_count)
{
    const char *open = strchr(name, '{');
    const char *close = open ? strchr(open, '}') : NULL;
    size_t length = close ? (size_t)(close - open) - 1 : 0;
    *out_count = 0;
    for (uint32_t i = 0; close && i < hardware->file_count && *out_count < DOCTOR_NODES; i++) {
        char path[256];
        if (strncmp(hardware->files[i], open + 1, length) != 0)
            continue;
        snprintf(path, sizeof(path), "%.*s%s%s", (int)(open - name), name, hardware->files[i], close + 1);
        out_paths[*out_count] = accel_arena_strdup(arena, path);
        if (out_paths[(*out_count)++] == NULL)
            return false;
    }
    if (close == NULL)
        out_paths[(*out_count)++] = name;
    return true;
}

/* ---- folders ---- */

/* Writes and deletes a small file, which detects missing rights, read-only file systems, full disks and quotas.
 * Returns 0 or errno. */
static int try_to_write(const char *folder)
{
    static const char bytes[4096];
    char *path = accel_file_join(folder, "doctor.XXXXXX");
    int failure = path ? 0 : ENOMEM;
    int fd = path ? mkostemp(path, O_CLOEXEC) : -1;
    if (path && fd < 0)
        failure = errno;
    if (fd >= 0) {
        ssize_t written = write(fd, bytes, sizeof(bytes));
        if (written != (ssize_t)sizeof(bytes))
            failure = written < 0 ? errno : ENOSPC;
        if (close(fd) != 0 && failure == 0)
            failure = errno;
        unlink(path);
    }
    free(path);
    return failure;
}

/* Returns the nearest existing parent of a folder that does not exist yet: the folder will be created there. */
static char *nearest(const char *folder)
{
    char *path = strdup(folder);
    char *slash;
    while (path && access(path, F_OK) != 0 && (slash = strrchr(path, '/')) != NULL && slash != path)
        *slash = '\0';
    if (path && access(path, F_OK) != 0) {
        free(path);
        path = strdup(folder[0] == '/' ? "/" : ".");
    }
    return path;
}

/* Makes a folder in another one and removes it, since a file system such as /proc has none of users, whatever the
 * rights. Returns 0 or errno. */
static int try_to_make(const char *folder)
{
    char *path = accel_file_join(folder, "doctor.XXXXXX");
    int failure = path == NULL ? ENOMEM : mkdtemp(path) == NULL ? errno : 0;
    if (failure == 0)
        rmdir(path);
    free(path);
    return failure;
}

static const char *reason_of(int failure)
{
    if (failure == ENOSPC || failure == EDQUOT)
        return "full";
    return failure == EROFS ? "read-only" : failure == EACCES || failure == EPERM ? "denied" : "other";
}

static void gather_folder(struct accel_evidence *evidence, const char *name, const char *variable, const char *folder)
{
    const char *value = secure_getenv(variable);
    struct accel_evidence_item *item = accel_evidence_add(evidence, "folder", name);
    char *there = nearest(folder);
    bool exists = there && strcmp(there, folder) == 0;
    struct statvfs facts;
    int failure = ENOMEM;
    if (there)
        failure = exists ? try_to_write(there) : try_to_make(there);
    accel_evidence_put(evidence, item, "path", folder);
    if (value && *value && *value != '/')
        accel_evidence_put(evidence, item, "ignored", value);
    accel_evidence_flag(evidence, item, "exists", exists);
    accel_evidence_flag(evidence, item, "writable", failure == 0);
    if (failure != 0)
        accel_evidence_put(evidence, item, "reason", reason_of(failure));
    if (failure != 0 && strcmp(reason_of(failure), "other") == 0)
        accel_evidence_put(evidence, item, "error", strerror(failure));
    if (there && !exists)
        accel_evidence_put(evidence, item, "nearest", there);
    if (there && statvfs(there, &facts) == 0 && facts.f_blocks != 0)
        accel_evidence_number(evidence, item, "free", (uint64_t)facts.f_bavail * facts.f_frsize);
    free(there);
}

/* Checks one of the user's folders. Takes ownership of `path`; if it is NULL, `why` has the reason. */
static void gather_user_folder(struct accel_evidence *evidence, const char *name, const char *variable, char *path,
                               const struct accel_error *why)
{
    if (path)
        gather_folder(evidence, name, variable, path);
    else
        accel_evidence_put(evidence, accel_evidence_add(evidence, "folder", name), "error", why->text);
    free(path);
}

static void gather_folders(const struct accel_context *context, struct accel_evidence *evidence)
{
    struct accel_error error = {0};
    char *path = NULL;
    if (context->options.cache_path)
        path = strdup(context->options.cache_path);
    else
        accel_file_user_folder(ACCEL_USER_CACHE, &path, &error);
    gather_user_folder(evidence, "cache", "XDG_CACHE_HOME", path, &error);
    accel_error_clear(&error);
    path = NULL;
    accel_file_user_folder(ACCEL_USER_STATE, &path, &error);
    gather_user_folder(evidence, "state", "XDG_STATE_HOME", path, &error);
}

/* ---- requirements of hardware ---- */

/* Returns whether an item is not recorded yet: each is checked once, however many pieces of hardware need it. */
static bool is_new(const struct accel_evidence *evidence, const char *kind, const char *name)
{
    return accel_evidence_find(evidence, kind, name) == NULL;
}

static void gather_path(struct accel_evidence *evidence, const char *path)
{
    if (is_new(evidence, "node", path))
        accel_doctor_gather_node(evidence, path);
}

static void gather_pattern(struct accel_evidence *evidence, const char *pattern)
{
    struct accel_evidence_item *item;
    struct accel_strbuf matches = {0};
    glob_t found = {0};
    if (!is_new(evidence, "pattern", pattern))
        return;
    item = accel_evidence_add(evidence, "pattern", pattern);
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && i < DOCTOR_NODES; i++) {
            accel_strbuf_printf(&matches, "%s%s", i == 0 ? "" : " ", found.gl_pathv[i]);
            gather_path(evidence, found.gl_pathv[i]);
        }
    }
    globfree(&found);
    accel_evidence_put(evidence, item, "matches", accel_strbuf_get(&matches));
    evidence->failed |= matches.failed;
    accel_strbuf_free(&matches);
}

static void gather_nodes(struct accel_evidence *evidence, const char *name, const struct accel_hardware *hardware)
{
    const char *paths[DOCTOR_NODES];
    uint32_t count;
    if (!accel_doctor_nodes(name, hardware, evidence->arena, paths, &count))
        evidence->failed = true;
    for (uint32_t i = 0; i < count && !evidence->failed; i++) {
        if (accel_doctor_is_pattern(paths[i]))
            gather_pattern(evidence, paths[i]);
        else
            gather_path(evidence, paths[i]);
    }
}

static void gather_need(struct accel_evidence *evidence, const struct accel_doctor_need *need,
                        const struct accel_hardware *hardware)
{
    for (uint32_t i = 0; i < need->names.count; i++) {
        const char *name = need->names.items[i];
        if (need->kind == DOCTOR_NODE)
            gather_nodes(evidence, name, hardware);
        else if (need->kind == DOCTOR_LIBRARY && is_new(evidence, "library", name))
            accel_doctor_gather_library(evidence, name, &need->folders);
        else if (need->kind == DOCTOR_KERNEL && is_new(evidence, "module", name))
            accel_doctor_gather_module(evidence, name);
    }
}

static void gather_hardware(const struct accel_context *context, const struct accel_doctor_table *table,
                            struct accel_evidence *evidence)
{
    for (uint32_t i = 0; i < context->hardware.count; i++) {
        const struct accel_hardware *hardware = context->hardware.items[i];
        const struct accel_doctor_entry *entry = accel_doctor_table_find(table, hardware);
        char address[ACCEL_PCI_TEXT];
        if (hardware->kind == ACCEL_HARDWARE_PCI)
            accel_doctor_gather_bound(evidence, accel_pci_write(hardware->domain, hardware->bus, hardware->slot,
                                                                hardware->function, address));
        for (uint32_t n = 0; entry && n < entry->need_count; n++)
            gather_need(evidence, &entry->needs[n], hardware);
    }
}

int32_t accel_doctor_gather(const struct accel_context *context, const struct accel_doctor_table *table,
                            struct accel_evidence *evidence, struct accel_error *error)
{
    accel_doctor_gather_system(evidence);
    accel_doctor_gather_process(evidence);
    accel_doctor_gather_container(evidence);
    gather_folders(context, evidence);
    gather_hardware(context, table, evidence);
    return evidence->failed ? accel_error_no_memory(error, "for the doctor's evidence") : ACCEL_OK;
}
