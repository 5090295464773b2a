/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates the `needs` of hardware in doctor.yaml: kernel modules, device nodes and libraries that it requires of the
 * system. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/pci.h"
#include "tools/doctor/evaluate.h"
#include "tools/doctor/gather.h"

#define GROUP_READS_WRITES 060ul /* bits of a file mode */

/* Evaluation of one requirement of one piece of hardware. */
struct need_check {
    struct accel_doctor_evaluation *doctor;
    const struct accel_doctor_subject *subject;
    const struct accel_doctor_need *need;
    const char *name; /* check of its rows: "hardware.node" */
    bool failed;      /* the requirement is mandatory and not met */
};

/* Returns whether an equal row exists. Several pieces of hardware may require the same library or node, whose fault is
 * reported once. */
static bool has_row(const struct accel_doctor_evaluation *doctor, const struct accel_doctor_row *row)
{
    for (uint32_t i = 0; i < doctor->rows.count; i++) {
        const struct accel_doctor_row *other = doctor->rows.items[i];
        if (other->state == row->state && strcmp(other->check, row->check) == 0 &&
            strcmp(other->subject, row->subject) == 0 && strcmp(other->text, row->text) == 0)
            return true;
    }
    return false;
}

static void add_row(const struct need_check *check, struct accel_doctor_row row)
{
    row.hardware = (int32_t)check->subject->index;
    row.area = "hardware";
    row.check = check->name;
    row.origin = row.subject;
    row.place = check->need->place;
    row.remedy = row.remedy ? row.remedy : "";
    if (!has_row(check->doctor, &row))
        accel_doctor_add_row(check->doctor, &row);
}

/* Returns the reason for all rows but that of an old version. In an entry with a minimum version, the reason explains
 * that version, so other rows have none. */
static const char *reason_of(const struct accel_doctor_need *need)
{
    return need->least[0] == '\0' ? need->reason : "";
}

static void report(const struct need_check *check, uint32_t state, const char *subject, const char *text)
{
    add_row(check, (struct accel_doctor_row){
                       .state = state, .subject = subject, .text = text, .reason = reason_of(check->need)});
}

/* Adds a row for an unmet requirement. The state of the row is at most that of the hardware's worst fault. */
static void report_fault_with_reason(struct need_check *check, const char *subject, const char *text,
                                     const char *remedy, const char *reason)
{
    const uint32_t state = check->need->state < check->subject->worst ? check->need->state : check->subject->worst;
    check->failed = check->need->state == ACCEL_DOCTOR_BAD;
    add_row(check, (struct accel_doctor_row){
                       .state = state, .subject = subject, .text = text, .remedy = remedy, .reason = reason});
}

static void report_fault(struct need_check *check, const char *subject, const char *text, const char *remedy)
{
    report_fault_with_reason(check, subject, text, remedy, reason_of(check->need));
}

/* Returns the remedy of doctor.yaml, inside or outside of a container. */
static const char *remedy_of(const struct need_check *check)
{
    const struct accel_doctor_need *need = check->need;
    return check->doctor->in_container && need->container[0] != '\0' ? need->container : need->remedy;
}

/* Adds a row for a version below the required one. */
static void report_old_version(struct need_check *check, const char *subject, const char *text)
{
    report_fault_with_reason(check, subject, text, remedy_of(check), check->need->reason);
}

static bool is_old(const struct accel_doctor_need *need, const char *version)
{
    return need->least[0] != '\0' && version && version[0] != '\0' && strverscmp(version, need->least) < 0;
}

/* ---- kernel modules ---- */

/* Returns a required module that is loaded. For device-tree hardware, which has no PCI address, that is the only
 * check: its driver link is not read. */
static const char *loaded_module(const struct need_check *check)
{
    for (uint32_t i = 0; i < check->need->names.count; i++) {
        const char *name = check->need->names.items[i];
        if (accel_evidence_is(accel_evidence_find(check->doctor->evidence, "module", name), "loaded"))
            return name;
    }
    return NULL;
}

/* Returns the kernel module that drives the hardware; "" if none does, NULL if that was not recorded. */
static const char *bound_module(const struct need_check *check)
{
    const struct accel_hardware *hardware = check->subject->hardware;
    char address[ACCEL_PCI_TEXT];
    if (hardware->kind != ACCEL_HARDWARE_PCI)
        return loaded_module(check);
    accel_pci_write(hardware->domain, hardware->bus, hardware->slot, hardware->function, address);
    return accel_evidence_value(accel_evidence_find(check->doctor->evidence, "bound", address), "kernel");
}

/* Adds a row for a device bound to another kernel module than the required ones, or to none. */
static void report_wrong_module(struct need_check *check, const char *bound, const char *required)
{
    report_fault(check, check->subject->name,
                 bound[0] == '\0'
                     ? accel_doctor_text(check->doctor, "no kernel module drives it; %s would", required)
                     : accel_doctor_text(check->doctor, "kernel module %s drives it, not %s", bound, required),
                 remedy_of(check));
}

static void check_kernel_module(struct need_check *check)
{
    struct accel_doctor_evaluation *doctor = check->doctor;
    const char *name = check->subject->name;
    const char *required = accel_doctor_join(doctor, &check->need->names);
    const char *bound = bound_module(check);
    const char *version =
        bound ? accel_evidence_value(accel_evidence_find(doctor->evidence, "module", bound), "version") : NULL;
    if (bound == NULL)
        report(check, ACCEL_DOCTOR_UNKNOWN, name,
               accel_doctor_text(doctor, "the kernel module that drives it is unknown; %s would drive it", required));
    else if (!accel_doctor_has_word(&check->need->names, bound))
        report_wrong_module(check, bound, required);
    else if (is_old(check->need, version))
        report_old_version(check, name,
                           accel_doctor_text(doctor, "version %s of kernel module %s is older than %s", version, bound,
                                             check->need->least));
    else
        report(check, ACCEL_DOCTOR_GOOD, name,
               accel_doctor_text(doctor, "kernel module %s drives it%s%s", bound, version ? ", version " : "",
                                 version ? version : ""));
}

/* ---- device nodes ---- */

enum node_state { NODE_UNKNOWN, NODE_MISSING, NODE_CLOSED, NODE_OPEN };

static enum node_state node_state(const struct accel_evidence_item *item)
{
    if (item == NULL)
        return NODE_UNKNOWN;
    if (!accel_evidence_is(item, "exists"))
        return NODE_MISSING;
    return accel_evidence_is(item, "readable") && accel_evidence_is(item, "writable") ? NODE_OPEN : NODE_CLOSED;
}

/* The most accessible of the alternative nodes of a requirement; one suffices. */
struct best_node {
    const struct accel_evidence_item *item;
    enum node_state state;
};

static void prefer_node(const struct need_check *check, const char *path, struct best_node *choice)
{
    const struct accel_evidence_item *item = accel_evidence_find(check->doctor->evidence, "node", path);
    enum node_state state = node_state(item);
    if (state > choice->state) {
        choice->item = item;
        choice->state = state;
    }
}

static void prefer_matches(const struct need_check *check, const char *pattern, struct best_node *choice)
{
    const struct accel_evidence_item *item = accel_evidence_find(check->doctor->evidence, "pattern", pattern);
    const char *matches = accel_evidence_value(item, "matches");
    char *list = matches ? strdup(matches) : NULL;
    char *rest = list;
    if (item && choice->state == NODE_UNKNOWN)
        choice->state = NODE_MISSING;
    for (char *path = strsep(&rest, " "); path; path = strsep(&rest, " "))
        if (path[0] != '\0')
            prefer_node(check, path, choice);
    free(list);
}

static void choose_node(const struct need_check *check, const char *name, struct best_node *choice)
{
    const char *paths[DOCTOR_NODES];
    uint32_t count;
    if (!accel_doctor_nodes(name, check->subject->hardware, check->doctor->arena, paths, &count))
        check->doctor->failed = true;
    /* If no file of the hardware matches a placeholder, the node is missing. */
    if (count == 0 && choice->state == NODE_UNKNOWN)
        choice->state = NODE_MISSING;
    for (uint32_t i = 0; i < count && !check->doctor->failed; i++) {
        if (accel_doctor_is_pattern(paths[i]))
            prefer_matches(check, paths[i], choice);
        else
            prefer_node(check, paths[i], choice);
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

static const char *rights_remedy(struct accel_doctor_evaluation *doctor, const struct accel_evidence_item *item)
{
    const struct rights rights = rights_of(item);
    if (!rights.by_group)
        return accel_doctor_text(doctor,
                                 "a rule of udev gives the node to a group that may read and write it; its mode is %s",
                                 rights.mode ? rights.mode : "unknown");
    if (accel_evidence_is(item, "member"))
        return "the group has the right and this process is in it: something else forbids it (a container that was not "
               "given the device, or a security module)";
    if (doctor->in_container)
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

static const char *rights_text(struct accel_doctor_evaluation *doctor, const struct accel_evidence_item *item)
{
    const struct rights rights = rights_of(item);
    const char *group = rights.group ? rights.group : rights.id;
    return accel_doctor_text(doctor, "is not %s by this user (mode %s, group %s)",
                             accel_evidence_is(item, "readable") ? "writable" : "readable",
                             rights.mode ? rights.mode : "?", group ? group : "?");
}

static void check_device_node(struct need_check *check)
{
    struct accel_doctor_evaluation *doctor = check->doctor;
    struct best_node choice = {0};
    const char *subject;
    for (uint32_t i = 0; i < check->need->names.count; i++)
        choose_node(check, check->need->names.items[i], &choice);
    subject =
        choice.item && choice.state > NODE_MISSING ? choice.item->name : accel_doctor_join(doctor, &check->need->names);
    switch (choice.state) {
    case NODE_UNKNOWN:
        report(check, ACCEL_DOCTOR_UNKNOWN, subject, "was not checked");
        break;
    case NODE_MISSING:
        report_fault(check, subject, "is not there", remedy_of(check));
        break;
    case NODE_CLOSED:
        report_fault(check, subject, rights_text(doctor, choice.item), rights_remedy(doctor, choice.item));
        break;
    default:
        report(check, ACCEL_DOCTOR_GOOD, subject, "can be read and written");
    }
}

/* ---- libraries ---- */

static const char *folder_of(struct accel_doctor_evaluation *doctor, const char *path)
{
    const char *slash = strrchr(path, '/');
    return accel_doctor_text(doctor, "%.*s", slash ? (int)(slash - path) : 0, path);
}

/* Returns the first of the alternative libraries that the loader finds, else one in a folder that the loader does not
 * search, else NULL. *out_seen: at least one was searched for. */
static const struct accel_evidence_item *choose_library(const struct need_check *check, bool *out_seen)
{
    const struct accel_evidence_item *chosen = NULL;
    *out_seen = false;
    for (uint32_t i = 0; i < check->need->names.count; i++) {
        const struct accel_evidence_item *item =
            accel_evidence_find(check->doctor->evidence, "library", check->need->names.items[i]);
        *out_seen |= item != NULL;
        if (item && accel_evidence_is(item, "found") &&
            (chosen == NULL || (!accel_evidence_is(chosen, "loader") && accel_evidence_is(item, "loader"))))
            chosen = item;
    }
    return chosen;
}

static void check_library(struct need_check *check)
{
    struct accel_doctor_evaluation *doctor = check->doctor;
    bool seen;
    const struct accel_evidence_item *item = choose_library(check, &seen);
    const char *required = accel_doctor_join(doctor, &check->need->names);
    const char *path = accel_evidence_value(item, "path");
    const char *version = accel_evidence_value(item, "version");
    if (!seen)
        report(check, ACCEL_DOCTOR_UNKNOWN, required, "was not searched for");
    else if (path == NULL)
        report_fault(check, required, "is not where the loader looks", remedy_of(check));
    else if (!accel_evidence_is(item, "loader"))
        report_fault(check, path, "lies where the loader does not look",
                     accel_doctor_text(doctor,
                                       "write %s into a file of /etc/ld.so.conf.d and run ldconfig, or add it to "
                                       "LD_LIBRARY_PATH",
                                       folder_of(doctor, path)));
    else if (is_old(check->need, version))
        report_old_version(check, path,
                           accel_doctor_text(doctor, "version %s is older than %s", version, check->need->least));
    else
        report(check, ACCEL_DOCTOR_GOOD, path,
               version && version[0] != '\0' ? accel_doctor_text(doctor, "found, version %s", version) : "found");
}

/* ---- all requirements ---- */

bool accel_doctor_check_needs(struct accel_doctor_evaluation *doctor, const struct accel_doctor_subject *subject,
                              const struct accel_doctor_entry *entry)
{
    static const struct {
        void (*run)(struct need_check *check);
        const char *check;
    } kinds[] = {[DOCTOR_KERNEL] = {check_kernel_module, "hardware.kernel"},
                 [DOCTOR_NODE] = {check_device_node, "hardware.node"},
                 [DOCTOR_LIBRARY] = {check_library, "hardware.library"}};
    bool met = true;
    for (uint32_t i = 0; i < entry->need_count; i++) {
        const struct accel_doctor_need *need = &entry->needs[i];
        struct need_check check = {.doctor = doctor, .subject = subject, .need = need, .name = kinds[need->kind].check};
        kinds[need->kind].run(&check);
        met &= !check.failed;
    }
    return met;
}
