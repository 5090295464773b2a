/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers evidence on Linux from /proc, /sys, /etc and the rights of device nodes. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/base/env.h"
#include "core/base/file.h"
#include "core/base/strbuf.h"
#include "core/base/utf8.h"
#include "tools/doctor/gather.h"

#define FILE_LIMIT ((size_t)1 << 16)
#define MOST_GROUPS 1024

/* Returns the first line of a small file, or NULL; the caller frees it. */
static char *first_line(const char *path)
{
    char *text = NULL;
    if (accel_file_read(path, FILE_LIMIT, &text, NULL, NULL) != ACCEL_OK)
        return NULL;
    text[strcspn(text, "\n")] = '\0';
    accel_utf8_one_line(text);
    return text;
}

static void put_file(struct accel_evidence *evidence, struct accel_evidence_item *item, const char *key,
                     const char *path)
{
    char *text = first_line(path);
    if (text)
        accel_evidence_put(evidence, item, key, text);
    free(text);
}

/* ---- the system ---- */

/* Parses PRETTY_NAME="Debian GNU/Linux 12 (bookworm)". */
static void put_distribution(struct accel_evidence *evidence, struct accel_evidence_item *item)
{
    static const char key[] = "\nPRETTY_NAME="; /* the key is on the first line or on a later one */
    char *text = NULL;
    char *found = NULL;
    if (accel_file_read("/etc/os-release", FILE_LIMIT, &text, NULL, NULL) == ACCEL_OK)
        found = strncmp(text, key + 1, sizeof(key) - 2) == 0 ? text : strstr(text, key);
    if (found) {
        found = strchr(found, '=') + 1;
        found += strspn(found, "\"'");
        found[strcspn(found, "\"'\n")] = '\0';
        accel_utf8_one_line(found);
        accel_evidence_put(evidence, item, "os", found);
    }
    free(text);
}

static void gather_limit(struct accel_evidence *evidence, const char *name, int resource)
{
    struct rlimit limit;
    struct accel_evidence_item *item;
    if (getrlimit(resource, &limit) != 0)
        return;
    item = accel_evidence_add(evidence, "limit", name);
    if (limit.rlim_cur == RLIM_INFINITY)
        accel_evidence_put(evidence, item, "soft", "unlimited");
    else
        accel_evidence_number(evidence, item, "soft", limit.rlim_cur);
}

void accel_doctor_gather_system(struct accel_evidence *evidence)
{
    struct accel_evidence_item *item = accel_evidence_add(evidence, "system", "");
    struct utsname names;
    if (uname(&names) == 0) {
        accel_evidence_put(evidence, item, "kernel", names.release);
        accel_evidence_put(evidence, item, "processor", names.machine);
    }
    put_distribution(evidence, item);
    gather_limit(evidence, "memlock", RLIMIT_MEMLOCK);
    gather_limit(evidence, "nofile", RLIMIT_NOFILE);
    if (access(DOCTOR_HUGE_PAGES, R_OK) == 0)
        put_file(evidence, accel_evidence_add(evidence, "value", DOCTOR_HUGE_PAGES), "text", DOCTOR_HUGE_PAGES);
}

/* An entry of the group database, its texts in `buffer`. A group with too many members for the buffer is not
 * looked up. */
struct group_entry {
    struct group group;
    bool found;
    char buffer[16384];
};

static void find_group(gid_t id, struct group_entry *entry)
{
    struct group *found = NULL;
    entry->found = getgrgid_r(id, &entry->group, entry->buffer, sizeof(entry->buffer), &found) == 0 && found != NULL;
}

/* The user of this process, its texts in `buffer`. */
struct user_entry {
    struct passwd user;
    bool found;
    char buffer[4096];
};

static void find_user(struct user_entry *entry)
{
    struct passwd *found = NULL;
    entry->found =
        getpwuid_r(geteuid(), &entry->user, entry->buffer, sizeof(entry->buffer), &found) == 0 && found != NULL;
}

/* Appends the name of a group, but not that of the user's own group, which equals the user's name: snapshots are
 * shared. */
static void add_group(struct accel_strbuf *text, gid_t id, const struct user_entry *user)
{
    struct group_entry entry;
    find_group(id, &entry);
    if (entry.found && !(user->found && strcmp(entry.group.gr_name, user->user.pw_name) == 0))
        accel_strbuf_printf(text, "%s%s", text->length == 0 ? "" : " ", entry.group.gr_name);
}

void accel_doctor_gather_process(struct accel_evidence *evidence)
{
    struct accel_evidence_item *item = accel_evidence_add(evidence, "process", "");
    struct accel_strbuf text = {0};
    struct user_entry user;
    gid_t groups[MOST_GROUPS];
    int count = getgroups(MOST_GROUPS, groups);
    accel_evidence_number(evidence, item, "user", geteuid());
    find_user(&user);
    add_group(&text, getegid(), &user);
    for (int i = 0; i < count; i++)
        if (groups[i] != getegid())
            add_group(&text, groups[i], &user);
    accel_evidence_put(evidence, item, "groups", accel_strbuf_get(&text));
    accel_evidence_flag(evidence, item, "elevated", accel_env_is_elevated());
    evidence->failed |= text.failed;
    accel_strbuf_free(&text);
}

/* ---- containers ---- */

static void add_container(struct accel_evidence *evidence, const char *kind, const char *origin)
{
    accel_evidence_put(evidence, accel_evidence_add(evidence, "container", kind), "origin", origin);
}

/* Reads container=KIND in the environment of process 1, which only its owner may read. */
static bool gather_first_process(struct accel_evidence *evidence)
{
    static const char key[] = "container=";
    char *text = NULL;
    size_t bytes = 0;
    bool found = false;
    if (accel_file_read("/proc/1/environ", FILE_LIMIT, &text, &bytes, NULL) != ACCEL_OK)
        return false;
    for (size_t at = 0; at < bytes && !found; at += strlen(text + at) + 1) {
        found = strncmp(text + at, key, sizeof(key) - 1) == 0 && text[at + sizeof(key) - 1] != '\0';
        if (found)
            add_container(evidence, text + at + sizeof(key) - 1, "/proc/1/environ");
    }
    free(text);
    return found;
}

static bool gather_control_group(struct accel_evidence *evidence)
{
    static const struct {
        const char *words;
        const char *kind;
    } signs[] = {{"kubepods", "kubernetes"}, {"/docker", "docker"}, {"libpod", "podman"}, {"/lxc", "lxc"}};
    char *text = NULL;
    bool found = false;
    if (accel_file_read("/proc/self/cgroup", FILE_LIMIT, &text, NULL, NULL) != ACCEL_OK)
        return false;
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]) && !found; i++) {
        found = strstr(text, signs[i].words) != NULL;
        if (found)
            add_container(evidence, signs[i].kind, "/proc/self/cgroup");
    }
    free(text);
    return found;
}

void accel_doctor_gather_container(struct accel_evidence *evidence)
{
    char *kind = first_line("/run/systemd/container");
    if (kind && kind[0] != '\0')
        add_container(evidence, kind, "/run/systemd/container");
    else if (access("/.dockerenv", F_OK) == 0)
        add_container(evidence, "docker", "/.dockerenv");
    else if (access("/run/.containerenv", F_OK) == 0)
        add_container(evidence, "podman", "/run/.containerenv");
    else if (!gather_first_process(evidence))
        gather_control_group(evidence);
    free(kind);
}

/* ---- modules ---- */

void accel_doctor_gather_bound(struct accel_evidence *evidence, const char *address)
{
    struct accel_evidence_item *item = accel_evidence_add(evidence, "bound", address);
    char path[128], target[256];
    const char *name;
    ssize_t length;
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", address);
    length = readlink(path, target, sizeof(target) - 1);
    target[length > 0 ? length : 0] = '\0';
    name = strrchr(target, '/');
    accel_evidence_put(evidence, item, "kernel", name ? name + 1 : "");
}

void accel_doctor_gather_module(struct accel_evidence *evidence, const char *name)
{
    struct accel_evidence_item *item = accel_evidence_add(evidence, "module", name);
    char path[256];
    snprintf(path, sizeof(path), "/sys/module/%s", name);
    accel_evidence_flag(evidence, item, "loaded", access(path, F_OK) == 0);
    snprintf(path, sizeof(path), "/sys/module/%s/version", name);
    put_file(evidence, item, "version", path);
}

/* ---- nodes ---- */

/* Returns whether the group database lists the user. A user who was added to the group during this session needs
 * only a new login. */
static bool is_listed(const struct group *group)
{
    struct user_entry user;
    find_user(&user);
    for (char **name = group->gr_mem; user.found && *name; name++)
        if (strcmp(*name, user.user.pw_name) == 0)
            return true;
    return false;
}

static void put_group(struct accel_evidence *evidence, struct accel_evidence_item *item, gid_t id)
{
    struct group_entry entry;
    find_group(id, &entry);
    accel_evidence_number(evidence, item, "gid", id);
    accel_evidence_put(evidence, item, "group", entry.found ? entry.group.gr_name : "");
    accel_evidence_flag(evidence, item, "listed", entry.found && is_listed(&entry.group));
    accel_evidence_flag(evidence, item, "member", group_member(id) != 0);
}

static const char *type_name(mode_t mode)
{
    return S_ISCHR(mode) ? "device" : S_ISDIR(mode) ? "folder" : S_ISREG(mode) ? "file" : "other";
}

void accel_doctor_gather_node(struct accel_evidence *evidence, const char *path)
{
    struct accel_evidence_item *item = accel_evidence_add(evidence, "node", path);
    struct stat facts;
    char mode[8];
    if (stat(path, &facts) != 0) {
        accel_evidence_flag(evidence, item, "exists", false);
        if (errno != ENOENT && errno != ENOTDIR)
            accel_evidence_put(evidence, item, "error", strerror(errno));
        return;
    }
    snprintf(mode, sizeof(mode), "%04o", (unsigned)facts.st_mode & 07777u);
    accel_evidence_flag(evidence, item, "exists", true);
    accel_evidence_put(evidence, item, "type", type_name(facts.st_mode));
    accel_evidence_flag(evidence, item, "readable", faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0);
    accel_evidence_flag(evidence, item, "writable", faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0);
    accel_evidence_put(evidence, item, "mode", mode);
    accel_evidence_number(evidence, item, "owner", facts.st_uid);
    put_group(evidence, item, facts.st_gid);
}
