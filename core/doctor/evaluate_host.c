/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of every machine, whoever made its parts. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/doctor/evaluate.h"
#include "core/topology/topology.h"

#define GIB ((double)(1u << 30))
#define LITTLE_ROOM ((uint64_t)512 << 20) /* under this even small models with their caches do not fit */
#define LITTLE_DISK ((uint64_t)64 << 20)  /* compiled programs and repacked weights need more */

static const struct accel_machine *machine_of(const struct accel_doctor_case *doctor)
{
    return accel_topology_machine(accel_context_topology(doctor->context));
}

/* A row of this file is about no piece of hardware. */
static void say(struct accel_doctor_case *doctor, uint32_t state, const char *area, const char *check,
                const char *subject, const char *text, const char *remedy, const char *origin)
{
    const struct accel_doctor_row row = {.state = state,
                                         .hardware = -1,
                                         .area = area,
                                         .check = check,
                                         .subject = subject,
                                         .text = text,
                                         .remedy = remedy,
                                         .origin = origin};
    accel_doctor_say(doctor, &row);
}

/* ---- system ---- */

static void judge_system(struct accel_doctor_case *doctor)
{
    static const char pages[] = "/sys/kernel/mm/transparent_hugepage/enabled";
    const struct accel_evidence_item *item = accel_evidence_find(doctor->evidence, "system", "");
    const char *kernel = accel_evidence_value(item, "kernel");
    const char *os = accel_evidence_value(item, "os");
    const char *huge = accel_evidence_value(accel_evidence_find(doctor->evidence, "value", pages), "text");
    if (kernel)
        say(doctor, ACCEL_DOCTOR_NOTE, "system", "system.kernel", "kernel",
            accel_doctor_text(doctor, "%s%s%s", kernel, os ? ", " : "", os ? os : ""), "", "uname");
    for (item = doctor->evidence->first; item; item = item->next)
        if (strcmp(item->kind, "container") == 0)
            say(doctor, ACCEL_DOCTOR_NOTE, "system", "system.container", "container",
                accel_doctor_text(doctor,
                                  "runs inside of one (%s): limits, device nodes and libraries are those it was "
                                  "given",
                                  item->name),
                "", accel_evidence_value(item, "origin"));
    if (huge && strstr(huge, "[never]"))
        say(doctor, ACCEL_DOCTOR_NOTE, "system", "system.hugepages", "huge pages",
            "switched off: weights lie in small pages", "", pages);
}

/* ---- processors ---- */

static void judge_threads(struct accel_doctor_case *doctor)
{
    const struct accel_thread_policy policy = {0};
    struct accel_thread_plan plan = {0};
    struct accel_error error = {0};
    if (accel_topology_threads(accel_context_topology(doctor->context), &policy, &plan, &error) != ACCEL_OK)
        say(doctor, ACCEL_DOCTOR_BAD, "processors", "cpu.threads", "threads",
            accel_doctor_text(doctor, "%s", error.text), accel_doctor_text(doctor, "%s", error.remedy), "hwloc");
    else
        say(doctor, ACCEL_DOCTOR_GOOD, "processors", "cpu.threads", "threads",
            accel_doctor_text(doctor, "%u would compute: %s", plan.count, plan.reason), "",
            accel_doctor_text(doctor, "%s", plan.origin));
    accel_thread_plan_free(&plan);
}

static void judge_processors(struct accel_doctor_case *doctor)
{
    const struct accel_machine *machine = machine_of(doctor);
    const struct accel_cpu_quota *quota = &machine->limits.cpu;
    double paid = quota->period == 0 ? 0 : (double)quota->quota / (double)quota->period;
    const char *name = machine->processor[0] != '\0' ? machine->processor : "processors";
    if (machine->allowed_cpu_count < machine->cpu_count)
        say(doctor, ACCEL_DOCTOR_WARN, "processors", "cpu.set", name,
            accel_doctor_text(doctor, "%u of %u hardware threads may be used: %s", machine->allowed_cpu_count,
                              machine->cpu_count, machine->allowed_cpus),
            "widen the set of processors (taskset, cpuset.cpus of the group, --cpuset-cpus) if more are meant for it",
            machine->allowed_origin);
    else
        say(doctor, ACCEL_DOCTOR_GOOD, "processors", "cpu.set", name,
            accel_doctor_text(doctor, "all %u hardware threads of %u cores may be used", machine->cpu_count,
                              machine->core_count),
            "", machine->allowed_origin);
    if (quota->origin && paid > 0 && paid < machine->allowed_cpu_count)
        say(doctor, ACCEL_DOCTOR_WARN, "processors", "cpu.quota", "quota",
            accel_doctor_text(doctor, "the group may use the time of %.3g processors, of %u that it may run on", paid,
                              machine->allowed_cpu_count),
            accel_doctor_text(doctor,
                              "raise cpu.max of the group (--cpus=%u for a container) if more time is meant for "
                              "it",
                              machine->allowed_cpu_count),
            quota->origin);
    else
        say(doctor, ACCEL_DOCTOR_GOOD, "processors", "cpu.quota", "quota",
            "no limit of processor time that is below the processors", "", quota->origin ? quota->origin : "");
    judge_threads(doctor);
}

/* ---- memory ---- */

static void judge_room(struct accel_doctor_case *doctor)
{
    const struct accel_machine *machine = machine_of(doctor);
    const struct accel_amount *limit = &machine->limits.memory_limit;
    const struct accel_amount *total = &machine->limits.memory_total;
    const struct accel_amount *room = &machine->limits.memory_room;
    if (limit->origin && (total->origin == NULL || limit->bytes < total->bytes))
        say(doctor, room->bytes < LITTLE_ROOM ? ACCEL_DOCTOR_WARN : ACCEL_DOCTOR_NOTE, "memory", "memory.limit",
            "limit",
            accel_doctor_text(doctor, "the group may hold %.2f GiB, of which %.2f GiB are left",
                              (double)limit->bytes / GIB, (double)room->bytes / GIB),
            room->bytes < LITTLE_ROOM ? "raise memory.max of the group (--memory for a container), or end what fills it"
                                      : "",
            limit->origin);
    else
        say(doctor, ACCEL_DOCTOR_GOOD, "memory", "memory.limit", "limit",
            "the groups set none below the machine's memory", "", limit->origin);
}

static void judge_memory(struct accel_doctor_case *doctor)
{
    const struct accel_machine *machine = machine_of(doctor);
    const struct accel_amount *total = &machine->limits.memory_total;
    const struct accel_amount *usable = &machine->memory_usable;
    /* What a group's limit leaves is the next row's. */
    bool little = usable->origin && usable->bytes < LITTLE_ROOM && usable->origin != machine->limits.memory_room.origin;
    if (usable->origin)
        say(doctor, little ? ACCEL_DOCTOR_WARN : ACCEL_DOCTOR_GOOD, "memory", "memory.usable", "memory",
            accel_doctor_text(doctor, "%.2f GiB can be taken now, of %.2f GiB", (double)usable->bytes / GIB,
                              (double)total->bytes / GIB),
            little ? "end programs that hold memory" : "", usable->origin);
    else
        say(doctor, ACCEL_DOCTOR_UNKNOWN, "memory", "memory.usable", "memory", "nothing tells how much there is", "",
            "");
    judge_room(doctor);
    if (machine->numa_count > 1)
        say(doctor, ACCEL_DOCTOR_NOTE, "memory", "memory.numa", "NUMA",
            accel_doctor_text(doctor, "%u nodes: memory of another node is slower to read", machine->numa_count), "",
            "hwloc");
}

/* ---- folders ---- */

static const char *folder_words(const char *name)
{
    return strcmp(name, "cache") == 0 ? "results of probes and compiled programs are not kept"
                                      : "measurements are not kept";
}

static void say_unwritable(struct accel_doctor_case *doctor, const struct accel_evidence_item *item, const char *check,
                           const char *name, const char *variable)
{
    const char *path = accel_evidence_value(item, "path");
    const char *reason = accel_evidence_value(item, "reason");
    const char *error = accel_evidence_value(item, "error");
    const char *remedy = "";
    if (reason && strcmp(reason, "full") == 0)
        remedy = "make room on its disk, or ";
    else if (reason && strcmp(reason, "denied") == 0)
        remedy = "give this user the right to write there, or ";
    say(doctor, ACCEL_DOCTOR_WARN, "folders", check, path ? path : name,
        accel_doctor_text(doctor, "cannot be written (%s): %s",
                          error    ? error
                          : reason ? reason
                                   : "no reason is known",
                          folder_words(name)),
        accel_doctor_text(doctor, "%sset %s to a folder that this user may write and that has room", remedy, variable),
        path);
}

static void judge_folder(struct accel_doctor_case *doctor, const char *name, const char *variable)
{
    const struct accel_evidence_item *item = accel_evidence_find(doctor->evidence, "folder", name);
    const char *path = accel_evidence_value(item, "path");
    const char *free_text = accel_evidence_value(item, "free");
    const char *check = accel_doctor_text(doctor, "folder.%s", name);
    uint64_t left = free_text ? strtoull(free_text, NULL, 10) : UINT64_MAX;
    if (item == NULL)
        say(doctor, ACCEL_DOCTOR_UNKNOWN, "folders", check, name, "was not looked at", "", "");
    else if (!accel_evidence_is(item, "writable"))
        say_unwritable(doctor, item, check, name, variable);
    else if (left < LITTLE_DISK)
        say(doctor, ACCEL_DOCTOR_WARN, "folders", check, path ? path : name,
            accel_doctor_text(doctor, "%" PRIu64 " MiB are left on its disk", left >> 20),
            accel_doctor_text(doctor, "make room there, or set %s to a folder on another disk", variable), path);
    else
        say(doctor, ACCEL_DOCTOR_GOOD, "folders", check, path ? path : name,
            accel_evidence_is(item, "exists") ? "can be written" : "will be made when it is needed", "", path);
}

/* ---- profiles and plugins ---- */

static void judge_profiles(struct accel_doctor_case *doctor)
{
    const struct accel_error *why = &doctor->context->profile_error;
    if (doctor->context->profile)
        say(doctor, ACCEL_DOCTOR_GOOD, "folders", "profiles", "profiles", "could be read", "", "");
    else
        say(doctor, ACCEL_DOCTOR_BAD, "folders", "profiles", "profiles",
            accel_doctor_text(doctor, "%s", why->text[0] != '\0' ? why->text : "there are none"),
            why->remedy[0] != '\0' ? accel_doctor_text(doctor, "%s", why->remedy)
                                   : "install them, or set ACCEL_PROFILE_PATH to the folder that holds base.yaml",
            "");
}

static void judge_plugin(struct accel_doctor_case *doctor, const struct accel_plugin_info *info)
{
    const char *check = info->code == ACCEL_E_DENIED ? "plugin.trust" : "plugin.load";
    if (info->state == ACCEL_PLUGIN_LOADED)
        say(doctor, ACCEL_DOCTOR_GOOD, "plugins", check, info->name,
            accel_doctor_text(doctor, "version %s, trusted and loaded, %u device%s", info->version, info->device_count,
                              info->device_count == 1 ? "" : "s"),
            "", info->path);
    else if (info->state == ACCEL_PLUGIN_SHADOWED)
        say(doctor, ACCEL_DOCTOR_NOTE, "plugins", "plugin.shadowed", info->name,
            "not loaded: a driver of the same name was found earlier", "", info->path);
    else
        say(doctor, ACCEL_DOCTOR_BAD, "plugins", check, info->name,
            accel_doctor_text(doctor, "refused: %s (%s)", info->text, accel_error_name(info->code)), info->remedy,
            info->path);
}

static void judge_plugins(struct accel_doctor_case *doctor)
{
    uint32_t count = accel_plugin_count(doctor->context);
    for (uint32_t i = 0; i < count; i++)
        judge_plugin(doctor, accel_plugin_get(doctor->context, i));
    if (count == 0)
        say(doctor, ACCEL_DOCTOR_BAD, "plugins", "plugin.found", "drivers", "no driver plugin was found",
            "install the drivers of accel, or set ACCEL_DRIVER_PATH to the folder that holds them", "");
}

void accel_doctor_judge_host(struct accel_doctor_case *doctor)
{
    judge_system(doctor);
    judge_processors(doctor);
    judge_memory(doctor);
    judge_folder(doctor, "cache", "XDG_CACHE_HOME");
    judge_folder(doctor, "state", "XDG_STATE_HOME");
    judge_profiles(doctor);
    judge_plugins(doctor);
}
