/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/doctor/gpu.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/accelctl/errors.h"

static bool is_accelerator(const struct accel_device_info *info)
{
    return info->facts->kind != ACCEL_DEVICE_CPU;
}

static bool is_software(const struct accel_device_info *info)
{
    return (info->facts->flags & ACCEL_DEVICE_SOFTWARE) != 0;
}

/* Finds the best GPU or NPU that is hardware, or with `software` the best one that a CPU emulates. */
static const struct accel_device_info *find_device(const struct accel_context *context, bool software)
{
    for (uint32_t i = 0; i < accel_device_count(context); i++) {
        const struct accel_device_info *info = accel_device_get(context, i);

        if (is_accelerator(info) && is_software(info) == software)
            return info;
    }
    return NULL;
}

/* Describes a device and why it is used or not. Devices are sorted by rank; the first one runs models unless the user
 * names another. */
static void describe_device(const struct accel_context *context, const struct accel_doctor *doctor,
                            const struct accel_device_info *device, struct gpu_answer *answer)
{
    const struct accel_device_info *first = accel_device_get(context, 0);
    char reason[1200], own[1200];

    answer->device = device->name;
    short_places(first->rank_reason, reason, sizeof(reason));
    if (device == first && accel_doctor_lacks_driver(doctor, device)) {
        answer->state = "used";
        snprintf(answer->text, sizeof(answer->text),
                 "%s, %s, was used by the driver %s, which no release of accel has yet", device->name,
                 device->facts->name, device->driver);
        snprintf(answer->remedy, sizeof(answer->remedy),
                 "a run on that machine needs another driver: accelctl plugins lists those that are installed");
        return;
    }
    if (device == first) {
        answer->state = "used";
        snprintf(answer->text, sizeof(answer->text), "%s, %s, is used: it ranks first (%.500s)", device->name,
                 device->facts->name, reason);
        return;
    }
    answer->state = "behind";
    short_places(device->rank_reason, own, sizeof(own));
    snprintf(answer->text, sizeof(answer->text),
             "%s, %s, works but is not chosen automatically: %s ranks higher (%.250s; the GPU: %.250s)", device->name,
             device->facts->name, first->name, reason, own);
    snprintf(answer->remedy, sizeof(answer->remedy), "--device %s runs a model on it", device->name);
}

static bool is_claimed(const struct accel_context *context, int32_t hardware)
{
    for (uint32_t i = 0; i < accel_device_count(context); i++)
        if (accel_device_get(context, i)->hardware == hardware)
            return true;
    return false;
}

/* Finds the first row of `state` about a GPU or NPU that no driver claims. Rows are ordered by dependency (kernel
 * module, device node, library, driver), so the first one is the cause of the others. */
static const struct accel_doctor_row *find_fault(const struct accel_context *context, const struct accel_doctor *doctor,
                                                 uint32_t state)
{
    for (uint32_t i = 0; i < accel_doctor_count(doctor); i++) {
        const struct accel_doctor_row *row = accel_doctor_get(doctor, i);
        const struct accel_hardware *hardware =
            row->hardware < 0 ? NULL : accel_hardware_get(context, (uint32_t)row->hardware);

        if (row->state == state && hardware != NULL && hardware->kind != ACCEL_HARDWARE_CPU &&
            !is_claimed(context, row->hardware))
            return row;
    }
    return NULL;
}

static void describe_fault(const struct accel_context *context, const struct accel_doctor_row *row,
                           struct gpu_answer *answer)
{
    const char *name = accel_hardware_get(context, (uint32_t)row->hardware)->name;
    bool is_named = strncmp(row->subject, name, strlen(name)) == 0;

    answer->state = "refused";
    snprintf(answer->text, sizeof(answer->text), "%s is not used: %s%s%s", is_named ? row->subject : name,
             is_named ? "" : row->subject, is_named ? "" : " ", row->text);
    snprintf(answer->remedy, sizeof(answer->remedy), "%s",
             row->remedy[0] != '\0' ? row->remedy : "accelctl doctor --all shows all checks");
}

static const struct accel_doctor_row *find_check(const struct accel_doctor *doctor, const char *check)
{
    for (uint32_t i = 0; i < accel_doctor_count(doctor); i++) {
        const struct accel_doctor_row *row = accel_doctor_get(doctor, i);

        if (strcmp(row->check, check) == 0)
            return row;
    }
    return NULL;
}

/* Explains that devices cannot be ranked because a profile is invalid. */
static void describe_unranked(const struct accel_device_info *device, const struct accel_doctor_row *row,
                              struct gpu_answer *answer)
{
    answer->state = "refused";
    answer->device = device->name;
    snprintf(answer->text, sizeof(answer->text),
             "%s, %s, is not chosen automatically: no device is, since a profile is invalid: %s %s", device->name,
             device->facts->name, row->subject, row->text);
    snprintf(answer->remedy, sizeof(answer->remedy), "%s", row->remedy);
}

/* Explains that the system has no GPU or NPU. */
static void describe_absence(const struct accel_context *context, const struct accel_doctor *doctor,
                             struct gpu_answer *answer)
{
    const struct accel_device_info *software = find_device(context, true);
    /* The report of a driver without devices is used if no other row explains the fault. */
    const struct accel_doctor_row *report = find_check(doctor, "driver.report");

    answer->state = software != NULL ? "software" : "none";
    answer->device = software != NULL ? software->name : "";
    if (software != NULL)
        snprintf(answer->text, sizeof(answer->text),
                 "no GPU found; %s, %s, is a software device that runs on the CPU, more slowly than the cpu driver",
                 software->name, software->facts->name);
    else if (report != NULL)
        snprintf(answer->text, sizeof(answer->text), "no GPU found; driver %s: %.500s", report->subject, report->text);
    else
        snprintf(answer->text, sizeof(answer->text), "no GPU found");
    snprintf(answer->remedy, sizeof(answer->remedy),
             "if the machine has a GPU, pass it to the container or virtual machine (docker run --gpus all, "
             "or --device /dev/dri and /dev/kfd)");
}

void find_gpu_answer(const struct accel_context *context, const struct accel_doctor *doctor, struct gpu_answer *answer)
{
    const struct accel_device_info *device = find_device(context, false);
    const struct accel_doctor_row *unranked = find_check(doctor, "profiles.rank");
    const struct accel_doctor_row *fault = NULL;

    *answer = (struct gpu_answer){.device = ""};
    if (device == NULL)
        fault = find_fault(context, doctor, ACCEL_DOCTOR_BAD);
    if (device == NULL && fault == NULL)
        fault = find_fault(context, doctor, ACCEL_DOCTOR_WARN);
    if (device != NULL && unranked != NULL)
        describe_unranked(device, unranked, answer);
    else if (device != NULL)
        describe_device(context, doctor, device, answer);
    else if (fault != NULL)
        describe_fault(context, fault, answer);
    else
        describe_absence(context, doctor, answer);
}
