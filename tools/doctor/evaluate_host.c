/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates the checks that every machine has: system, processors, memory, folders, profiles and plugins. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/profile/profile.h"
#include "core/topology/topology.h"
#include "tools/doctor/evaluate.h"
#include "tools/doctor/gather.h"

#define GIB ((double)(1u << 30))
#define LOW_MEMORY ((uint64_t)512 << 20) /* with less memory even small models and their caches do not fit */
#define LOW_DISK ((uint64_t)64 << 20)    /* compiled programs and repacked weights need more disk space */

static const struct accel_machine *machine_of(const struct accel_doctor_evaluation *doctor)
{
    return accel_topology_machine(doctor->context->topology);
}

/* A row that concerns no piece of hardware. */
#define ROW(state_of, area_of, check_of, subject_of, ...)                                                              \
    (struct accel_doctor_row)                                                                                          \
    {                                                                                                                  \
        .state = ACCEL_DOCTOR_##state_of, .area = area_of, .check = check_of, .subject = subject_of, .hardware = -1,   \
        __VA_ARGS__                                                                                                    \
    }

/* ---- system ---- */

static void check_containers(struct accel_doctor_evaluation *doctor)
{
    for (const struct accel_evidence_item *item = doctor->evidence->first; item; item = item->next) {
        if (strcmp(item->kind, "container") != 0)
            continue;
        accel_doctor_add_row(
            doctor,
            &ROW(NOTE, "system", "system.container", "container",
                 .text = accel_doctor_text(
                     doctor,
                     "runs inside a container (%s): limits, device nodes and libraries are those of the container",
                     item->name),
                 .origin = accel_evidence_value(item, "origin")));
    }
}

static void check_system(struct accel_doctor_evaluation *doctor)
{
    const struct accel_evidence_item *item = accel_evidence_find(doctor->evidence, "system", "");
    const struct accel_evidence_item *pages = accel_evidence_find(doctor->evidence, "value", DOCTOR_HUGE_PAGES);
    const char *kernel = accel_evidence_value(item, "kernel");
    const char *os = accel_evidence_value(item, "os");
    const char *huge = accel_evidence_value(pages, "text");
    if (kernel)
        accel_doctor_add_row(doctor,
                             &ROW(NOTE, "system", "system.kernel", "kernel",
                                  .text = accel_doctor_text(doctor, "%s%s%s", kernel, os ? ", " : "", os ? os : ""),
                                  .origin = "uname"));
    check_containers(doctor);
    if (huge && strstr(huge, "[never]"))
        accel_doctor_add_row(doctor,
                             &ROW(NOTE, "system", "system.hugepages", "huge pages",
                                  .text = "switched off: weights are in small pages", .origin = DOCTOR_HUGE_PAGES));
}

/* ---- processors ---- */

static void check_cpu_set(struct accel_doctor_evaluation *doctor)
{
    const struct accel_machine *machine = machine_of(doctor);
    struct accel_doctor_row row =
        ROW(GOOD, "processors", "cpu.set", machine->processor[0] != '\0' ? machine->processor : "processors",
            .origin = machine->allowed_origin);
    if (machine->allowed_cpu_count < machine->cpu_count) {
        row.state = ACCEL_DOCTOR_WARN;
        row.text = accel_doctor_text(doctor, "%u of %u hardware threads may be used: %s", machine->allowed_cpu_count,
                                     machine->cpu_count, machine->allowed_cpus);
        row.remedy =
            "widen the set of processors (taskset, cpuset.cpus of the group, --cpuset-cpus) if more are meant for it";
    } else {
        row.text = accel_doctor_text(doctor, "all %u hardware threads of %u cores may be used", machine->cpu_count,
                                     machine->core_count);
    }
    accel_doctor_add_row(doctor, &row);
}

static void check_cpu_quota(struct accel_doctor_evaluation *doctor)
{
    const struct accel_machine *machine = machine_of(doctor);
    const struct accel_cpu_quota *quota = &machine->limits.cpu;
    double processors = quota->period == 0 ? 0 : (double)quota->quota / (double)quota->period;
    struct accel_doctor_row row =
        ROW(GOOD, "processors", "cpu.quota", "quota", .text = "no CPU quota is below the number of processors",
            .origin = quota->origin);
    if (quota->origin && processors > 0 && processors < machine->allowed_cpu_count) {
        row.state = ACCEL_DOCTOR_WARN;
        row.text = accel_doctor_text(doctor, "the group may use the time of %.3g processors, of %u that it may run on",
                                     processors, machine->allowed_cpu_count);
        row.remedy = accel_doctor_text(
            doctor, "raise cpu.max of the group (--cpus=%u for a container) if more time is meant for it",
            machine->allowed_cpu_count);
    }
    accel_doctor_add_row(doctor, &row);
}

static void check_thread_plan(struct accel_doctor_evaluation *doctor)
{
    const struct accel_thread_policy policy = {0};
    struct accel_thread_plan plan = {0};
    struct accel_error error = {0};
    struct accel_doctor_row row = ROW(GOOD, "processors", "cpu.threads", "threads", .text = "");
    if (accel_topology_threads(doctor->context->topology, &policy, &plan, &error) != ACCEL_OK) {
        row.state = ACCEL_DOCTOR_BAD;
        row.text = accel_doctor_text(doctor, "%s", error.text);
        row.remedy = accel_doctor_text(doctor, "%s", error.remedy);
        row.origin = "hwloc";
    } else {
        row.text = accel_doctor_text(doctor, "a run would use %u: %s", plan.count, plan.reason);
        row.origin = accel_doctor_text(doctor, "%s", plan.origin);
    }
    accel_doctor_add_row(doctor, &row);
    accel_thread_plan_free(&plan);
}

/* ---- memory ---- */

static void check_usable_memory(struct accel_doctor_evaluation *doctor)
{
    const struct accel_machine *machine = machine_of(doctor);
    const struct accel_amount *usable = &machine->memory_usable;
    /* If the limit of a control group is the cause, check_memory_limit reports it. */
    bool is_low = usable->bytes < LOW_MEMORY && usable->origin != machine->limits.memory_headroom.origin;
    struct accel_doctor_row row = ROW(UNKNOWN, "memory", "memory.usable", "memory",
                                      .text = "the amount of memory is unknown", .origin = usable->origin);
    if (usable->origin) {
        row.state = is_low ? ACCEL_DOCTOR_WARN : ACCEL_DOCTOR_GOOD;
        row.text = accel_doctor_text(doctor, "%.2f GiB of %.2f GiB are available", (double)usable->bytes / GIB,
                                     (double)machine->limits.memory_total.bytes / GIB);
        row.remedy = is_low ? "end programs that hold memory" : "";
    }
    accel_doctor_add_row(doctor, &row);
}

static void check_memory_limit(struct accel_doctor_evaluation *doctor)
{
    const struct accel_host_limits *limits = &machine_of(doctor)->limits;
    const struct accel_amount *limit = &limits->memory_limit;
    const struct accel_amount *total = &limits->memory_total;
    bool is_low = limits->memory_headroom.bytes < LOW_MEMORY;
    struct accel_doctor_row row =
        ROW(GOOD, "memory", "memory.limit", "limit", .text = "no control group limits memory below that of the machine",
            .origin = limit->origin);
    if (limit->origin && (total->origin == NULL || limit->bytes < total->bytes)) {
        row.state = is_low ? ACCEL_DOCTOR_WARN : ACCEL_DOCTOR_NOTE;
        row.text = accel_doctor_text(doctor, "the group may hold %.2f GiB, of which %.2f GiB are left",
                                     (double)limit->bytes / GIB, (double)limits->memory_headroom.bytes / GIB);
        row.remedy =
            is_low ? "raise memory.max of the group (--memory for a container), or end the processes that use it" : "";
    }
    accel_doctor_add_row(doctor, &row);
}

static void check_numa_nodes(struct accel_doctor_evaluation *doctor)
{
    uint32_t count = machine_of(doctor)->numa_count;
    if (count > 1)
        accel_doctor_add_row(
            doctor, &ROW(NOTE, "memory", "memory.numa", "NUMA",
                         .text = accel_doctor_text(doctor, "%u nodes: memory of another node is slower to read", count),
                         .origin = "hwloc"));
}

/* ---- folders ---- */

/* One of the user's folders. */
struct folder {
    const char *name;     /* of its evidence item */
    const char *check;    /* of its row */
    const char *variable; /* environment variable that overrides the folder */
    const char *lost;     /* consequence if the folder cannot be written */
};

static void describe_unwritable(struct accel_doctor_evaluation *doctor, const struct folder *folder,
                                const struct accel_evidence_item *item, struct accel_doctor_row *row)
{
    const char *reason = accel_evidence_value(item, "reason");
    const char *error = accel_evidence_value(item, "error");
    const char *why = error ? error : reason;
    const char *remedy = "";
    if (reason && strcmp(reason, "full") == 0)
        remedy = "free space on its disk, or ";
    else if (reason && strcmp(reason, "denied") == 0)
        remedy = "give this user the right to write there, or ";
    row->state = ACCEL_DOCTOR_WARN;
    row->text = accel_doctor_text(doctor, "cannot be written (%s): %s", why ? why : "no reason is known", folder->lost);
    row->remedy = accel_doctor_text(doctor, "%sset %s to a folder that this user may write and whose disk has space",
                                    remedy, folder->variable);
}

static void check_folder(struct accel_doctor_evaluation *doctor, const struct folder *folder)
{
    const struct accel_evidence_item *item = accel_evidence_find(doctor->evidence, "folder", folder->name);
    const char *path = accel_evidence_value(item, "path");
    const char *free_bytes = accel_evidence_value(item, "free");
    const char *ignored = accel_evidence_value(item, "ignored");
    uint64_t free_space = free_bytes ? strtoull(free_bytes, NULL, 10) : UINT64_MAX;
    struct accel_doctor_row row = ROW(GOOD, "folders", folder->check, path ? path : folder->name, .origin = path);
    if (item == NULL) {
        row.state = ACCEL_DOCTOR_UNKNOWN;
        row.text = "was not checked";
    } else if (!accel_evidence_is(item, "writable")) {
        describe_unwritable(doctor, folder, item, &row);
    } else if (free_space < LOW_DISK) {
        row.state = ACCEL_DOCTOR_WARN;
        row.text = accel_doctor_text(doctor, "%" PRIu64 " MiB are left on its disk", free_space >> 20);
        row.remedy =
            accel_doctor_text(doctor, "free space there, or set %s to a folder on another disk", folder->variable);
    } else if (ignored) {
        row.state = ACCEL_DOCTOR_WARN;
        row.text = accel_doctor_text(doctor, "is used, since %s=%s is no absolute path", folder->variable, ignored);
        row.remedy = accel_doctor_text(doctor, "set %s to an absolute path, or unset it", folder->variable);
    } else {
        row.text = accel_evidence_is(item, "exists") ? "can be written" : "will be created on first use";
    }
    accel_doctor_add_row(doctor, &row);
}

static void check_folders(struct accel_doctor_evaluation *doctor)
{
    static const struct folder folders[] = {
        {"cache", "folder.cache", "XDG_CACHE_HOME", "results of probes and compiled programs are not stored"},
        {"state", "folder.state", "XDG_STATE_HOME", "measurements are not stored"},
    };
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        check_folder(doctor, &folders[i]);
}

/* ---- profiles and plugins ---- */

/* Adds one row for each distinct error that leaves devices without a rank, with which plans refuse to choose a device.
 * Returns the number of rows. */
static uint32_t check_device_ranks(struct accel_doctor_evaluation *doctor)
{
    const struct accel_rows *devices = &doctor->context->devices;
    uint32_t count = 0;
    for (uint32_t i = 0; i < devices->count; i++) {
        const struct accel_listed *listed = devices->items[i];
        bool is_reported = listed->unranked == NULL;
        for (uint32_t j = 0; j < i && !is_reported; j++) {
            const struct accel_listed *other = devices->items[j];
            is_reported = other->unranked && strcmp(other->unranked->text, listed->unranked->text) == 0;
        }
        if (is_reported)
            continue;
        count++;
        accel_doctor_add_row(
            doctor,
            &ROW(BAD, "folders", "profiles.rank", listed->info.name,
                 .text = accel_doctor_text(doctor, "cannot be ranked or planned for: %s", listed->unranked->text),
                 .remedy = *listed->unranked->remedy
                               ? accel_doctor_text(doctor, "%s", listed->unranked->remedy)
                               : "correct the profile; accelctl profile lint shows all that is wrong"));
    }
    return count;
}

/* Adds a row for an unknown variable. */
static void check_variable(void *data, const char *name, const char *near)
{
    struct accel_doctor_evaluation *doctor = data;
    /* A variable is set in the environment, an option is typed on the command line. */
    const char *action = near && *near == '-' ? "type " : "set ";
    accel_doctor_add_row(
        doctor, &ROW(WARN, "folders", "profiles.variable", accel_doctor_text(doctor, "environment %s", name),
                     .text = accel_doctor_text(doctor, "unknown variable without effect%s%s%s",
                                               near ? "; did you mean " : "", near ? near : "", near ? "?" : ""),
                     .remedy = accel_doctor_text(doctor, "%s%s%sunset %s", near ? action : "", near ? near : "",
                                                 near ? " instead, or " : "", name)));
}

static void check_profiles(struct accel_doctor_evaluation *doctor)
{
    const struct accel_error *why = &doctor->context->profile_error;
    struct accel_doctor_row row =
        ROW(GOOD, "folders", "profiles", "profiles", .text = "all profiles for this machine can be read");
    /* A faulty table of variables blocks every plan; the rows of the devices report it. */
    if (doctor->context->profile)
        accel_profile_unknown_each(doctor->context->profile, check_variable, doctor, NULL);
    if (check_device_ranks(doctor) != 0)
        return;
    if (doctor->context->profile == NULL) {
        row.state = ACCEL_DOCTOR_BAD;
        row.text = accel_doctor_text(doctor, "%s", why->text[0] != '\0' ? why->text : "there are none");
        row.remedy = why->remedy[0] != '\0'
                         ? accel_doctor_text(doctor, "%s", why->remedy)
                         : "install them, or set ACCEL_PROFILE_PATH to the folder that holds base.yaml";
    }
    accel_doctor_add_row(doctor, &row);
}

static void check_plugin(struct accel_doctor_evaluation *doctor, const struct accel_plugin_info *info)
{
    struct accel_doctor_row row = {.area = "plugins",
                                   .check = info->code == ACCEL_E_DENIED ? "plugin.trust" : "plugin.load",
                                   .subject = info->name,
                                   .origin = info->path,
                                   .hardware = -1};
    if (info->state == ACCEL_PLUGIN_LOADED) {
        row.state = ACCEL_DOCTOR_GOOD;
        row.text = accel_doctor_text(doctor, "version %s, trusted and loaded, %u device%s", info->version,
                                     info->device_count, info->device_count == 1 ? "" : "s");
    } else if (info->state == ACCEL_PLUGIN_SHADOWED) {
        row.state = ACCEL_DOCTOR_NOTE;
        row.check = "plugin.shadowed";
        row.text = "not loaded: a driver of the same name was found earlier";
    } else {
        /* A library that the driver requires is not installed: normal on most machines, and no fault. */
        row.state = info->code == ACCEL_E_NOT_FOUND ? ACCEL_DOCTOR_NOTE : ACCEL_DOCTOR_BAD;
        row.text = accel_doctor_text(doctor, "refused: %s (%s)", info->text, accel_error_name(info->code));
        row.remedy = info->remedy;
    }
    accel_doctor_add_row(doctor, &row);
}

static void check_plugins(struct accel_doctor_evaluation *doctor)
{
    uint32_t count = accel_plugin_count(doctor->context);
    for (uint32_t i = 0; i < count; i++)
        check_plugin(doctor, accel_plugin_get(doctor->context, i));
    if (count == 0)
        accel_doctor_add_row(
            doctor, &ROW(BAD, "plugins", "plugin.found", "drivers", .text = "no driver plugin was found",
                         .remedy = "install the drivers of accel, or set ACCEL_DRIVER_PATH to the folder that holds "
                                   "them"));
}

void accel_doctor_check_host(struct accel_doctor_evaluation *doctor)
{
    static void (*const checks[])(struct accel_doctor_evaluation *) = {
        check_system,       check_cpu_set,    check_cpu_quota, check_thread_plan, check_usable_memory,
        check_memory_limit, check_numa_nodes, check_folders,   check_profiles,    check_plugins};
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
        checks[i](doctor);
}
