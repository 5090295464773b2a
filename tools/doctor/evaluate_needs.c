/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates the system requirements of hardware in doctor.yaml: kernel modules, device nodes and libraries. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/pci.h"
#include "tools/doctor/evaluate.h"
#include "tools/doctor/gather.h"

#define GROUP_READS_WRITES 060ul /* bits of a file mode */

/* Evaluation of one requirement of one piece of hardware. */
struct trial {
    struct accel_doctor_case *doctor;
    const struct accel_doctor_subject *subject;
    const struct accel_doctor_need *need;
    const char *check; /* check of its rows */
    bool failed;       /* the requirement is mandatory and not met */
};

/* Returns whether an equal row exists: several pieces of hardware share libraries and nodes, and each fault is
 * reported once. */
static bool is_said(const struct accel_doctor_case *doctor, const struct accel_doctor_row *row)
{
    for (uint32_t i = 0; i < doctor->rows.count; i++) {
        const struct accel_doctor_row *other = doctor->rows.items[i];
        if (other->state == row->state && strcmp(other->check, row->check) == 0 &&
            strcmp(other->subject, row->subject) == 0 && strcmp(other->text, row->text) == 0)
            return true;
    }
    return false;
}

static void add_row(const struct trial *trial, struct accel_doctor_row row)
{
    row.hardware = (int32_t)trial->subject->index;
    row.area = "hardware";
    row.check = trial->check;
    row.origin = row.subject;
    row.place = trial->need->place;
    row.remedy = row.remedy ? row.remedy : "";
    if (!is_said(trial->doctor, &row))
        accel_doctor_say(trial->doctor, &row);
}

/* Returns the reason of a row. If the requirement has a minimum version, the reason explains that version, and
 * other rows omit it. */
static const char *reason_of(const struct accel_doctor_need *need)
{
    return need->least[0] == '\0' ? need->reason : "";
}

static void say(const struct trial *trial, uint32_t state, const char *subject, const char *text)
{
    add_row(trial, (struct accel_doctor_row){
                       .state = state, .subject = subject, .text = text, .reason = reason_of(trial->need)});
}

static void fail_with_reason(struct trial *trial, const char *subject, const char *text, const char *remedy,
                             const char *reason)
{
    const uint32_t state = trial->need->state < trial->subject->worst ? trial->need->state : trial->subject->worst;
    trial->failed = trial->need->state == ACCEL_DOCTOR_BAD;
    add_row(trial, (struct accel_doctor_row){
                       .state = state, .subject = subject, .text = text, .remedy = remedy, .reason = reason});
}

static void fail(struct trial *trial, const char *subject, const char *text, const char *remedy)
{
    fail_with_reason(trial, subject, text, remedy, reason_of(trial->need));
}

/* Returns the remedy of doctor.yaml, inside or outside of a container. */
static const char *remedy_of(const struct trial *trial)
{
    const struct accel_doctor_need *need = trial->need;
    return trial->doctor->contained && need->container[0] != '\0' ? need->container : need->remedy;
}

/* Adds a row for a version below the required one. */
static void fail_version(struct trial *trial, const char *subject, const char *text)
{
    fail_with_reason(trial, subject, text, remedy_of(trial), trial->need->reason);
}

static bool is_old(const struct accel_doctor_need *need, const char *version)
{
    return need->least[0] != '\0' && version && version[0] != '\0' && strverscmp(version, need->least) < 0;
}

/* ---- modules of the kernel ---- */

static bool has_word(const struct accel_doctor_words *words, const char *word)
{
    for (uint32_t i = 0; i < words->count; i++)
        if (strcmp(words->items[i], word) == 0)
            return true;
    return false;
}

/* Returns a loaded module for a device-tree device. Such a device has no address, so the binding of module and
 * device cannot be checked. */
static const char *loaded_module(const struct trial *trial)
{
    for (uint32_t i = 0; i < trial->need->names.count; i++) {
        const char *name = trial->need->names.items[i];
        if (accel_evidence_is(accel_evidence_find(trial->doctor->evidence, "module", name), "loaded"))
            return name;
    }
    return NULL;
}

static const char *bound_module(const struct trial *trial)
{
    const struct accel_hardware *hardware = trial->subject->hardware;
    char address[ACCEL_PCI_TEXT];
    if (hardware->kind != ACCEL_HARDWARE_PCI)
        return loaded_module(trial);
    accel_pci_write(hardware->domain, hardware->bus, hardware->slot, hardware->function, address);
    return accel_evidence_value(accel_evidence_find(trial->doctor->evidence, "bound", address), "kernel");
}

/* Adds a row for a device bound to another kernel module than the required ones, or to none. */
static void fail_kernel(struct trial *trial, const char *bound, const char *wanted)
{
    fail(trial, trial->subject->name,
         bound[0] == '\0' ? accel_doctor_text(trial->doctor, "no module of the kernel drives it; %s would", wanted)
                          : accel_doctor_text(trial->doctor, "the kernel's module %s drives it, not %s", bound, wanted),
         remedy_of(trial));
}

static void try_kernel(struct trial *trial)
{
    struct accel_doctor_case *doctor = trial->doctor;
    const char *name = trial->subject->name;
    const char *wanted = accel_doctor_join(doctor, &trial->need->names);
    const char *bound = bound_module(trial);
    const char *version =
        bound ? accel_evidence_value(accel_evidence_find(doctor->evidence, "module", bound), "version") : NULL;
    if (bound == NULL)
        say(trial, ACCEL_DOCTOR_UNKNOWN, name,
            accel_doctor_text(doctor, "nothing tells which module of the kernel drives it; %s would", wanted));
    else if (!has_word(&trial->need->names, bound))
        fail_kernel(trial, bound, wanted);
    else if (is_old(trial->need, version))
        fail_version(trial, name,
                     accel_doctor_text(doctor, "version %s of the kernel's module %s is older than %s", version, bound,
                                       trial->need->least));
    else
        say(trial, ACCEL_DOCTOR_GOOD, name,
            accel_doctor_text(doctor, "the kernel's module %s drives it%s%s", bound, version ? ", version " : "",
                              version ? version : ""));
}

/* ---- nodes ---- */

enum node_state { NODE_UNKNOWN, NODE_MISSING, NODE_CLOSED, NODE_OPEN };

static enum node_state node_state(const struct accel_evidence_item *item)
{
    if (item == NULL)
        return NODE_UNKNOWN;
    if (!accel_evidence_is(item, "exists"))
        return NODE_MISSING;
    return accel_evidence_is(item, "readable") && accel_evidence_is(item, "writable") ? NODE_OPEN : NODE_CLOSED;
}

/* The best of the alternative nodes. */
struct node_choice {
    const struct accel_evidence_item *item;
    enum node_state state;
};

static void offer_node(const struct trial *trial, const char *path, struct node_choice *choice)
{
    const struct accel_evidence_item *item = accel_evidence_find(trial->doctor->evidence, "node", path);
    enum node_state state = node_state(item);
    if (state > choice->state) {
        choice->item = item;
        choice->state = state;
    }
}

static void offer_pattern(const struct trial *trial, const char *pattern, struct node_choice *choice)
{
    const struct accel_evidence_item *item = accel_evidence_find(trial->doctor->evidence, "pattern", pattern);
    const char *matches = accel_evidence_value(item, "matches");
    char *list = matches ? strdup(matches) : NULL;
    char *rest = list;
    if (item && choice->state == NODE_UNKNOWN)
        choice->state = NODE_MISSING;
    for (char *path = strsep(&rest, " "); path; path = strsep(&rest, " "))
        if (path[0] != '\0')
            offer_node(trial, path, choice);
    free(list);
}

static void choose_node(const struct trial *trial, const char *name, struct node_choice *choice)
{
    const char *paths[DOCTOR_NODES];
    uint32_t count;
    if (!accel_doctor_nodes(name, trial->subject->hardware, trial->doctor->arena, paths, &count))
        trial->doctor->failed = true;
    /* If no file of the hardware matches a placeholder, the node is missing. */
    if (count == 0 && choice->state == NODE_UNKNOWN)
        choice->state = NODE_MISSING;
    for (uint32_t i = 0; i < count && !trial->doctor->failed; i++) {
        if (accel_doctor_is_pattern(paths[i]))
            offer_pattern(trial, paths[i], choice);
        else
            offer_node(trial, paths[i], choice);
    }
}

/* Access rights of a node that this process cannot open. */
struct rights {
    const char *mode;  /* octal; NULL: not known */
    const char *group; /* NULL: the group has no name here */
    const char *id;    /* id of the group; NULL: not known */
    bool by_group;     /* a group other than root's may read and write: the access that the system intends */
};

static struct rights rights_of(const struct accel_evidence_item *item)
{
    struct rights rights = {.mode = accel_evidence_value(item, "mode"),
                            .group = accel_evidence_value(item, "group"),
                            .id = accel_evidence_value(item, "gid")};
    unsigned long mode = rights.mode ? strtoul(rights.mode, NULL, 8) : 0;
    if (rights.group && rights.group[0] == '\0')
        rights.group = NULL;
    rights.by_group = (mode & GROUP_READS_WRITES) == GROUP_READS_WRITES && rights.id && strcmp(rights.id, "0") != 0;
    return rights;
}

static const char *rights_remedy(struct accel_doctor_case *doctor, const struct accel_evidence_item *item)
{
    const struct rights rights = rights_of(item);
    if (!rights.by_group)
        return accel_doctor_text(doctor,
                                 "a rule of udev gives the node to a group that may read and write it; its mode is %s",
                                 rights.mode ? rights.mode : "unknown");
    if (accel_evidence_is(item, "member"))
        return "the group has the right and this process is in it: something else forbids it (a container that was not "
               "given the device, or a security module)";
    if (doctor->contained)
        return accel_doctor_text(doctor, "start the container with --group-add %s (%s%s), or as a user of that group",
                                 rights.id, rights.group ? "group " : "the node's group",
                                 rights.group ? rights.group : "");
    if (rights.group == NULL)
        return accel_doctor_text(doctor, "group %s, which has no name here, may use it: run as a user of that group",
                                 rights.id);
    if (accel_evidence_is(item, "listed"))
        return accel_doctor_text(doctor, "log in again: the user is in group %s, this session is not yet",
                                 rights.group);
    return accel_doctor_text(doctor, "add the user to group %s: sudo usermod -aG %s \"$USER\", and log in again",
                             rights.group, rights.group);
}

static const char *rights_text(struct accel_doctor_case *doctor, const struct accel_evidence_item *item)
{
    const struct rights rights = rights_of(item);
    const char *group = rights.group ? rights.group : rights.id;
    return accel_doctor_text(doctor, "is not %s by this user (mode %s, group %s)",
                             accel_evidence_is(item, "readable") ? "writable" : "readable",
                             rights.mode ? rights.mode : "?", group ? group : "?");
}

static void try_node(struct trial *trial)
{
    struct accel_doctor_case *doctor = trial->doctor;
    struct node_choice choice = {0};
    const char *subject;
    for (uint32_t i = 0; i < trial->need->names.count; i++)
        choose_node(trial, trial->need->names.items[i], &choice);
    subject =
        choice.item && choice.state > NODE_MISSING ? choice.item->name : accel_doctor_join(doctor, &trial->need->names);
    switch (choice.state) {
    case NODE_UNKNOWN:
        say(trial, ACCEL_DOCTOR_UNKNOWN, subject, "was not looked at");
        break;
    case NODE_MISSING:
        fail(trial, subject, "is not there", remedy_of(trial));
        break;
    case NODE_CLOSED:
        fail(trial, subject, rights_text(doctor, choice.item), rights_remedy(doctor, choice.item));
        break;
    default:
        say(trial, ACCEL_DOCTOR_GOOD, subject, "can be read and written");
    }
}

/* ---- libraries ---- */

static const char *folder_of(struct accel_doctor_case *doctor, const char *path)
{
    const char *slash = strrchr(path, '/');
    return accel_doctor_text(doctor, "%.*s", slash ? (int)(slash - path) : 0, path);
}

/* Chooses the first of the alternative libraries that the loader finds. */
static const struct accel_evidence_item *choose_library(const struct trial *trial, bool *out_seen)
{
    const struct accel_evidence_item *chosen = NULL;
    *out_seen = false;
    for (uint32_t i = 0; i < trial->need->names.count; i++) {
        const struct accel_evidence_item *item =
            accel_evidence_find(trial->doctor->evidence, "library", trial->need->names.items[i]);
        *out_seen |= item != NULL;
        if (item && accel_evidence_is(item, "found") &&
            (chosen == NULL || (!accel_evidence_is(chosen, "loader") && accel_evidence_is(item, "loader"))))
            chosen = item;
    }
    return chosen;
}

static void try_library(struct trial *trial)
{
    struct accel_doctor_case *doctor = trial->doctor;
    bool seen;
    const struct accel_evidence_item *item = choose_library(trial, &seen);
    const char *wanted = accel_doctor_join(doctor, &trial->need->names);
    const char *path = accel_evidence_value(item, "path");
    const char *version = accel_evidence_value(item, "version");
    if (!seen)
        say(trial, ACCEL_DOCTOR_UNKNOWN, wanted, "was not looked for");
    else if (path == NULL)
        fail(trial, wanted, "is not where the loader looks", remedy_of(trial));
    else if (!accel_evidence_is(item, "loader"))
        fail(trial, path, "lies where the loader does not look",
             accel_doctor_text(doctor,
                               "write %s into a file of /etc/ld.so.conf.d and run ldconfig, or add it to "
                               "LD_LIBRARY_PATH",
                               folder_of(doctor, path)));
    else if (is_old(trial->need, version))
        fail_version(trial, path,
                     accel_doctor_text(doctor, "version %s is older than %s", version, trial->need->least));
    else
        say(trial, ACCEL_DOCTOR_GOOD, path,
            version && version[0] != '\0' ? accel_doctor_text(doctor, "found, version %s", version) : "found");
}

/* ---- all of them ---- */

bool accel_doctor_judge_needs(struct accel_doctor_case *doctor, const struct accel_doctor_subject *subject,
                              const struct accel_doctor_entry *entry)
{
    static const struct {
        void (*run)(struct trial *trial);
        const char *check;
    } trials[] = {[DOCTOR_KERNEL] = {try_kernel, "hardware.kernel"},
                  [DOCTOR_NODE] = {try_node, "hardware.node"},
                  [DOCTOR_LIBRARY] = {try_library, "hardware.library"}};
    bool met = true;
    for (uint32_t i = 0; i < entry->need_count; i++) {
        const struct accel_doctor_need *need = &entry->needs[i];
        struct trial trial = {.doctor = doctor, .subject = subject, .need = need, .check = trials[need->kind].check};
        trials[need->kind].run(&trial);
        met &= !trial.failed;
    }
    return met;
}
