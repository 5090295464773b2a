/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware: who claims it, and what doctor.yaml says that it needs. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/strbuf.h"
#include "core/doctor/evaluate.h"
#include "core/doctor/gather.h"

/* One need of one piece of hardware. */
struct trial {
    struct accel_doctor_case *doctor;
    const struct accel_doctor_need *need;
    const struct accel_hardware *hardware;
    uint32_t index;      /* of the hardware */
    const char *subject; /* of the hardware */
    uint32_t worst;      /* state of a failure here */
    bool failed;         /* some need is not met */
    bool old;            /* what is said now is about a version */
};

/* Several pieces of hardware need the same libraries and nodes: what was said of one is not said again of the next. */
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

static void say(const struct trial *trial, uint32_t state, const char *check, const char *subject, const char *text,
                const char *remedy)
{
    const struct accel_doctor_need *need = trial->need;
    const struct accel_doctor_row row = {.state = state,
                                         .hardware = (int32_t)trial->index,
                                         .area = "hardware",
                                         .check = check,
                                         .subject = subject,
                                         .text = text,
                                         .remedy = remedy,
                                         .origin = subject,
                                         .place = need ? need->place : "",
                                         /* Where a version is wanted, that is what the reason is about. */
                                         .because =
                                             need && (need->least[0] == '\0' || trial->old) ? need->because : ""};
    if (need == NULL || !is_said(trial->doctor, &row))
        accel_doctor_say(trial->doctor, &row);
}

static void fail(struct trial *trial, const char *check, const char *subject, const char *text, const char *remedy)
{
    uint32_t state = trial->need->state < trial->worst ? trial->need->state : trial->worst;
    trial->failed |= trial->need->state == ACCEL_DOCTOR_BAD;
    say(trial, state, check, subject, text, remedy);
}

/* What doctor.yaml says to do about a need, inside of a container or not. */
static const char *remedy_of(const struct trial *trial)
{
    const struct accel_doctor_need *need = trial->need;
    return trial->doctor->contained && need->container[0] != '\0' ? need->container : need->remedy;
}

static const char *join(struct accel_doctor_case *doctor, const struct accel_doctor_words *words, const char *between)
{
    struct accel_strbuf text = {0};
    const char *joined;
    for (uint32_t i = 0; i < words->count; i++)
        accel_strbuf_printf(&text, "%s%s", i == 0 ? "" : between, words->items[i]);
    joined = accel_doctor_text(doctor, "%s", accel_strbuf_get(&text));
    doctor->failed |= text.failed;
    accel_strbuf_free(&text);
    return joined;
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

/* Devices of the firmware's tree have no address: a module that is loaded is as much as can be said. */
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
    char address[32];
    if (trial->hardware->kind != ACCEL_HARDWARE_PCI)
        return loaded_module(trial);
    accel_doctor_address(trial->hardware, address);
    return accel_evidence_value(accel_evidence_find(trial->doctor->evidence, "bound", address), "kernel");
}

/* A module of the kernel that is not a wanted one, or none. */
static void fail_kernel(struct trial *trial, const char *bound, const char *wanted)
{
    fail(trial, "hardware.kernel", trial->subject,
         bound[0] == '\0' ? accel_doctor_text(trial->doctor, "no module of the kernel drives it; %s would", wanted)
                          : accel_doctor_text(trial->doctor, "the kernel's module %s drives it, not %s", bound, wanted),
         remedy_of(trial));
}

static void try_kernel(struct trial *trial)
{
    struct accel_doctor_case *doctor = trial->doctor;
    const char *wanted = join(doctor, &trial->need->names, " or ");
    const char *bound = bound_module(trial);
    const char *version =
        bound ? accel_evidence_value(accel_evidence_find(doctor->evidence, "module", bound), "version") : NULL;
    trial->old = is_old(trial->need, version);
    if (bound == NULL)
        say(trial, ACCEL_DOCTOR_UNKNOWN, "hardware.kernel", trial->subject,
            accel_doctor_text(doctor, "nothing tells which module of the kernel drives it; %s would", wanted), "");
    else if (!has_word(&trial->need->names, bound))
        fail_kernel(trial, bound, wanted);
    else if (trial->old)
        fail(trial, "hardware.kernel", trial->subject,
             accel_doctor_text(doctor, "version %s of the kernel's module %s is older than %s", version, bound,
                               trial->need->least),
             remedy_of(trial));
    else
        say(trial, ACCEL_DOCTOR_GOOD, "hardware.kernel", trial->subject,
            accel_doctor_text(doctor, "the kernel's module %s drives it%s%s", bound, version ? ", version " : "",
                              version ? version : ""),
            "");
    trial->old = false;
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

/* Of the nodes that would do, the one that does best. */
struct node_choice {
    const struct accel_evidence_item *item;
    enum node_state state;
    bool seen;
};

static void offer_node(const struct trial *trial, const char *path, struct node_choice *choice)
{
    const struct accel_evidence_item *item = accel_evidence_find(trial->doctor->evidence, "node", path);
    enum node_state state = node_state(item);
    choice->seen |= item != NULL;
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
    choice->seen |= item != NULL;
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
    if (!accel_doctor_nodes(name, trial->hardware, trial->doctor->arena, paths, &count))
        trial->doctor->failed = true;
    /* A placeholder that no file of the hardware fills is a node that is not there. */
    if (count == 0 && choice->state == NODE_UNKNOWN)
        choice->state = NODE_MISSING;
    for (uint32_t i = 0; i < count && !trial->doctor->failed; i++) {
        if (accel_doctor_is_pattern(paths[i]))
            offer_pattern(trial, paths[i], choice);
        else
            offer_node(trial, paths[i], choice);
    }
}

/* What keeps this process from a node that is there. A group with the right to read and write is the way in that the
 * system means. */
static const char *rights_remedy(struct accel_doctor_case *doctor, const struct accel_evidence_item *item)
{
    const char *mode_text = accel_evidence_value(item, "mode");
    const char *group = accel_evidence_value(item, "group");
    const char *id = accel_evidence_value(item, "gid");
    unsigned long mode = mode_text ? strtoul(mode_text, NULL, 8) : 0;
    bool by_group = (mode & 060) == 060 && id && strcmp(id, "0") != 0;
    if (by_group && accel_evidence_is(item, "member"))
        return "the group has the right and this process is in it: something else forbids it (a container that was not "
               "given the device, or a security module)";
    if (by_group && doctor->contained)
        return accel_doctor_text(doctor, "start the container with --group-add %s (%s%s), or as a user of that group",
                                 id, group && group[0] != '\0' ? "group " : "the node's group",
                                 group && group[0] != '\0' ? group : "");
    if (by_group && accel_evidence_is(item, "listed"))
        return accel_doctor_text(doctor, "log in again: the user is in group %s, this session is not yet", group);
    if (by_group && group && group[0] != '\0')
        return accel_doctor_text(doctor, "add the user to group %s: sudo usermod -aG %s \"$USER\", and log in again",
                                 group, group);
    if (by_group)
        return accel_doctor_text(doctor, "group %s, which has no name here, may use it: run as a user of that group",
                                 id);
    return accel_doctor_text(doctor,
                             "a rule of udev gives the node to a group that may read and write it; its mode is %s",
                             mode_text ? mode_text : "unknown");
}

static const char *rights_text(struct accel_doctor_case *doctor, const struct accel_evidence_item *item)
{
    bool reads = accel_evidence_is(item, "readable");
    const char *group = accel_evidence_value(item, "group");
    const char *id = accel_evidence_value(item, "gid");
    const char *mode = accel_evidence_value(item, "mode");
    return accel_doctor_text(doctor, "is not %s by this user (mode %s, group %s)", reads ? "writable" : "readable",
                             mode ? mode : "?",
                             group && group[0] != '\0' ? group
                             : id                      ? id
                                                       : "?");
}

static void try_node(struct trial *trial)
{
    struct accel_doctor_case *doctor = trial->doctor;
    struct node_choice choice = {0};
    const char *subject;
    for (uint32_t i = 0; i < trial->need->names.count; i++)
        choose_node(trial, trial->need->names.items[i], &choice);
    subject =
        choice.item && choice.state > NODE_MISSING ? choice.item->name : join(doctor, &trial->need->names, " or ");
    switch (choice.state) {
    case NODE_UNKNOWN:
        say(trial, ACCEL_DOCTOR_UNKNOWN, "hardware.node", subject, "was not looked at", "");
        break;
    case NODE_MISSING:
        fail(trial, "hardware.node", subject, "is not there", remedy_of(trial));
        break;
    case NODE_CLOSED:
        fail(trial, "hardware.node", subject, rights_text(doctor, choice.item), rights_remedy(doctor, choice.item));
        break;
    default:
        say(trial, ACCEL_DOCTOR_GOOD, "hardware.node", subject, "can be read and written", "");
    }
}

/* ---- libraries ---- */

static const char *folder_of(struct accel_doctor_case *doctor, const char *path)
{
    const char *slash = strrchr(path, '/');
    return accel_doctor_text(doctor, "%.*s", slash ? (int)(slash - path) : 0, path);
}

/* Of the libraries that would do, the first that is found. */
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
    const char *wanted = join(doctor, &trial->need->names, " or ");
    const char *path = accel_evidence_value(item, "path");
    const char *version = accel_evidence_value(item, "version");
    if (!seen)
        say(trial, ACCEL_DOCTOR_UNKNOWN, "hardware.library", wanted, "was not looked for", "");
    else if (path == NULL)
        fail(trial, "hardware.library", wanted, "is not where the loader looks", remedy_of(trial));
    else if (!accel_evidence_is(item, "loader"))
        fail(trial, "hardware.library", path, "lies where the loader does not look",
             accel_doctor_text(doctor,
                               "write %s into a file of /etc/ld.so.conf.d and run ldconfig, or add it to "
                               "LD_LIBRARY_PATH",
                               folder_of(doctor, path)));
    else if ((trial->old = is_old(trial->need, version)))
        fail(trial, "hardware.library", path,
             accel_doctor_text(doctor, "version %s is older than %s", version, trial->need->least), remedy_of(trial));
    else
        say(trial, ACCEL_DOCTOR_GOOD, "hardware.library", path,
            version && version[0] != '\0' ? accel_doctor_text(doctor, "found, version %s", version) : "found", "");
    trial->old = false;
}

/* ---- hardware ---- */

static const struct accel_device_info *claimed_by(const struct accel_context *context, uint32_t hardware)
{
    for (uint32_t i = 0; i < accel_device_count(context); i++) {
        const struct accel_device_info *info = accel_device_get(context, i);
        if (info->hardware == (int32_t)hardware)
            return info;
    }
    return NULL;
}

/* What drivers themselves said of it. */
static bool say_verdicts(const struct trial *trial)
{
    const struct accel_context *context = trial->doctor->context;
    bool said = false;
    for (uint32_t i = 0; i < accel_verdict_count(context); i++) {
        const struct accel_verdict *verdict = accel_verdict_get(context, i);
        if (verdict->hardware != (int32_t)trial->index || verdict->driver[0] == '\0')
            continue;
        say(trial, trial->worst, "hardware.driver", trial->subject,
            accel_doctor_text(trial->doctor, "driver %s refuses it: %s", verdict->driver, verdict->text),
            verdict->remedy);
        said = true;
    }
    return said;
}

static bool is_loaded(const struct accel_context *context, const char *driver)
{
    for (uint32_t i = 0; i < accel_plugin_count(context); i++) {
        const struct accel_plugin_info *info = accel_plugin_get(context, i);
        if (info->state == ACCEL_PLUGIN_LOADED && strcmp(info->name, driver) == 0)
            return true;
    }
    return false;
}

static void say_unclaimed(struct trial *trial, const struct accel_doctor_entry *entry)
{
    struct accel_doctor_case *doctor = trial->doctor;
    bool loaded = false;
    for (uint32_t i = 0; i < entry->drivers.count; i++)
        loaded |= is_loaded(doctor->context, entry->drivers.items[i]);
    if (entry->drivers.count == 0)
        say(trial, ACCEL_DOCTOR_WARN, "hardware.claim", trial->subject,
            accel_doctor_text(doctor, "%s: accel has no driver for it", entry->name),
            "a driver plugin of its maker would do");
    else if (loaded && trial->failed)
        say(trial, ACCEL_DOCTOR_BAD, "hardware.claim", trial->subject,
            accel_doctor_text(doctor, "%s: no driver claims it", entry->name),
            "mend the rows about it, then look again");
    else if (loaded)
        say(trial, ACCEL_DOCTOR_BAD, "hardware.claim", trial->subject,
            accel_doctor_text(doctor, "%s: no driver claims it, and none says why", entry->name),
            "accelctl devices --all --verbose shows what the drivers say");
    else
        say(trial, ACCEL_DOCTOR_BAD, "hardware.claim", trial->subject,
            accel_doctor_text(doctor, "%s: no driver of accel that could use it is loaded", entry->name),
            accel_doctor_text(doctor, "install the driver plugin %s of accel", join(doctor, &entry->drivers, " or ")));
}

static void try_needs(struct trial *trial, const struct accel_doctor_entry *entry)
{
    for (uint32_t i = 0; i < entry->need_count; i++) {
        trial->need = &entry->needs[i];
        if (trial->need->kind == DOCTOR_KERNEL)
            try_kernel(trial);
        else if (trial->need->kind == DOCTOR_NODE)
            try_node(trial);
        else
            try_library(trial);
    }
    trial->need = NULL;
}

static void judge_known(struct trial *trial, const struct accel_doctor_entry *entry,
                        const struct accel_device_info *device)
{
    if (!entry->computes) {
        say(trial, ACCEL_DOCTOR_NOTE, "hardware.claim", trial->subject,
            entry->about[0] != '\0' ? entry->about : "computes nothing", "");
        return;
    }
    if (device)
        say(trial, ACCEL_DOCTOR_GOOD, "hardware.claim", trial->subject,
            accel_doctor_text(trial->doctor, "is device %s", device->name), "");
    try_needs(trial, entry);
    if (device == NULL && !say_verdicts(trial))
        say_unclaimed(trial, entry);
}

static void judge_one(struct accel_doctor_case *doctor, uint32_t index)
{
    const struct accel_hardware *hardware = doctor->context->hardware.items[index];
    const struct accel_doctor_entry *entry = accel_doctor_table_find(doctor->table, hardware);
    const struct accel_device_info *device = claimed_by(doctor->context, index);
    char text[256];
    struct trial trial = {.doctor = doctor,
                          .hardware = hardware,
                          .index = index,
                          .subject = accel_doctor_text(doctor, "%s", accel_machine_text(hardware, text, sizeof(text))),
                          /* What another driver would need is no fault where one claims it already. */
                          .worst = device ? ACCEL_DOCTOR_WARN : ACCEL_DOCTOR_BAD};
    if (entry)
        judge_known(&trial, entry, device);
    else if (device)
        say(&trial, ACCEL_DOCTOR_GOOD, "hardware.claim", trial.subject,
            accel_doctor_text(doctor, "is device %s", device->name), "");
    else if (hardware->kind == ACCEL_HARDWARE_CPU)
        say(&trial, ACCEL_DOCTOR_BAD, "hardware.claim", trial.subject, "no driver claims the processors",
            "install the driver plugin for processors; the rows of plugins tell which were refused");
    else if (!say_verdicts(&trial))
        say(&trial, ACCEL_DOCTOR_WARN, "hardware.claim", trial.subject,
            accel_doctor_text(doctor,
                              "no driver claims it, and doctor.yaml does not know it (vendor 0x%04x, device "
                              "0x%04x, class 0x%04x)",
                              hardware->vendor, hardware->device, hardware->device_class),
            "if it computes, a driver plugin of its maker would do");
}

void accel_doctor_judge_hardware(struct accel_doctor_case *doctor)
{
    for (uint32_t i = 0; i < doctor->context->hardware.count; i++)
        judge_one(doctor, i);
}
