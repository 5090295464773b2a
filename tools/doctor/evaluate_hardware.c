/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates each piece of hardware: names the device that a driver offers for it, or the reason why no driver does.
 * Adds the drivers' verdicts that concern no piece of hardware. */
#include "config.h"

#include <string.h>

#include "core/registry/machine.h"
#include "tools/doctor/evaluate.h"

static void add_row(struct accel_doctor_evaluation *doctor, const struct accel_doctor_subject *subject,
                    struct accel_doctor_row row)
{
    row.hardware = (int32_t)subject->index;
    row.area = "hardware";
    row.check = row.check ? row.check : "hardware.claim";
    row.subject = row.origin = subject->name;
    accel_doctor_add_row(doctor, &row);
}

static const struct accel_device_info *claimed_by(const struct accel_context *context, uint32_t hardware)
{
    for (uint32_t i = 0; i < accel_device_count(context); i++) {
        const struct accel_device_info *info = accel_device_get(context, i);
        if (info->hardware == (int32_t)hardware)
            return info;
    }
    return NULL;
}

/* Adds a row for each driver that refuses a piece of hardware. Returns whether there is one. */
static bool add_verdicts(struct accel_doctor_evaluation *doctor, const struct accel_doctor_subject *subject)
{
    bool has_verdict = false;
    for (uint32_t i = 0; i < accel_verdict_count(doctor->context); i++) {
        const struct accel_verdict *verdict = accel_verdict_get(doctor->context, i);
        if (verdict->hardware != (int32_t)subject->index || verdict->driver[0] == '\0')
            continue;
        add_row(doctor, subject,
                (struct accel_doctor_row){
                    .state = subject->worst,
                    .check = "hardware.driver",
                    .text = accel_doctor_text(doctor, "driver %s refuses it: %s", verdict->driver, verdict->text),
                    .remedy = verdict->remedy});
        has_verdict = true;
    }
    return has_verdict;
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

/* Lists the drivers of an entry that a release has, or with `later` those that none has yet: "vulkan or opencl". */
static const char *list_drivers(struct accel_doctor_evaluation *doctor, const struct accel_doctor_entry *entry,
                                bool later)
{
    const char *text = "";
    for (uint32_t i = 0; i < entry->drivers.count; i++)
        if (accel_doctor_has_word(&doctor->table->later, entry->drivers.items[i]) == later)
            text = accel_doctor_text(doctor, "%s%s%s", text, *text ? " or " : "", entry->drivers.items[i]);
    return text;
}

/* Adds a row for hardware with an entry in doctor.yaml that no driver claims or refuses. `met`: the system fulfills the
 * requirements of the entry. */
static void add_unclaimed_row(struct accel_doctor_evaluation *doctor, const struct accel_doctor_subject *subject,
                              const struct accel_doctor_entry *entry, bool met)
{
    struct accel_doctor_row row = {.state = ACCEL_DOCTOR_BAD};
    bool loaded = false;
    for (uint32_t i = 0; i < entry->drivers.count; i++)
        loaded |= is_loaded(doctor->context, entry->drivers.items[i]);
    if (entry->drivers.count == 0) {
        row.state = ACCEL_DOCTOR_WARN;
        row.text = accel_doctor_text(doctor, "%s: accel has no driver for it", entry->name);
        row.remedy = "install a driver plugin of its vendor";
    } else if (!loaded) {
        const char *plugins = list_drivers(doctor, entry, false), *later = list_drivers(doctor, entry, true);
        row.text = accel_doctor_text(doctor, "%s: no driver of accel that could use it is loaded", entry->name);
        if (*plugins == '\0')
            row.remedy =
                accel_doctor_text(doctor, "run models on the CPU: no release of accel has the driver %s yet", later);
        else
            row.remedy = accel_doctor_text(doctor, "install the driver plugin %s of accel%s%s%s", plugins,
                                           *later ? "; no release has the driver " : "", later, *later ? " yet" : "");
    } else if (!met) {
        row.text = accel_doctor_text(doctor, "%s: no driver claims it", entry->name);
        row.remedy = "follow the remedies of the rows about it, then run accelctl doctor again";
    } else {
        row.text = accel_doctor_text(doctor, "%s: no driver claims it, and none reports why", entry->name);
        row.remedy = "accelctl devices --all --verbose shows what the drivers report";
    }
    add_row(doctor, subject, row);
}

static void add_claimed_row(struct accel_doctor_evaluation *doctor, const struct accel_doctor_subject *subject,
                            const struct accel_device_info *device)
{
    add_row(doctor, subject,
            (struct accel_doctor_row){.state = ACCEL_DOCTOR_GOOD,
                                      .text = accel_doctor_text(doctor, "is device %s", device->name)});
}

/* Evaluates hardware with an entry in doctor.yaml. */
static void check_known(struct accel_doctor_evaluation *doctor, const struct accel_doctor_subject *subject,
                        const struct accel_doctor_entry *entry, const struct accel_device_info *device)
{
    bool met;
    if (!entry->computes) {
        add_row(doctor, subject,
                (struct accel_doctor_row){.state = ACCEL_DOCTOR_NOTE,
                                          .text = entry->about[0] != '\0' ? entry->about : "computes nothing"});
        return;
    }
    if (device)
        add_claimed_row(doctor, subject, device);
    met = accel_doctor_check_needs(doctor, subject, entry);
    if (device == NULL && !add_verdicts(doctor, subject))
        add_unclaimed_row(doctor, subject, entry, met);
}

/* Evaluates hardware without an entry in doctor.yaml, such as the processors, which have no requirements. */
static void check_unknown(struct accel_doctor_evaluation *doctor, const struct accel_doctor_subject *subject,
                          const struct accel_device_info *device)
{
    const struct accel_hardware *hardware = subject->hardware;
    if (device)
        add_claimed_row(doctor, subject, device);
    else if (hardware->kind == ACCEL_HARDWARE_CPU)
        add_row(doctor, subject,
                (struct accel_doctor_row){
                    .state = ACCEL_DOCTOR_BAD,
                    .text = "no driver claims the processors",
                    .remedy = "install the driver plugin for processors; the rows of plugins show which were refused"});
    else if (!add_verdicts(doctor, subject))
        add_row(doctor, subject,
                (struct accel_doctor_row){
                    .state = ACCEL_DOCTOR_WARN,
                    .text = accel_doctor_text(doctor,
                                              "no driver claims it, and doctor.yaml does not know it (vendor 0x%04x, "
                                              "device 0x%04x, class 0x%04x)",
                                              hardware->vendor, hardware->device, hardware->device_class),
                    .remedy = "if it computes, install a driver plugin of its vendor"});
}

/* Adds a row for each verdict that concerns a driver as a whole and no piece of hardware: usually the reason why it
 * found no device. */
static void check_drivers(struct accel_doctor_evaluation *doctor)
{
    for (uint32_t i = 0; i < accel_verdict_count(doctor->context); i++) {
        const struct accel_verdict *verdict = accel_verdict_get(doctor->context, i);
        const struct accel_doctor_row row = {
            .state = verdict->code == ACCEL_E_NOT_FOUND ? ACCEL_DOCTOR_NOTE : ACCEL_DOCTOR_WARN,
            .area = "drivers",
            .check = "driver.report",
            .subject = verdict->driver,
            .origin = verdict->driver,
            .hardware = -1,
            .text = accel_doctor_text(doctor, "%s (%s)", verdict->text, accel_error_name(verdict->code)),
            .remedy = verdict->remedy};
        if (verdict->hardware < 0)
            accel_doctor_add_row(doctor, &row);
    }
}

void accel_doctor_check_hardware(struct accel_doctor_evaluation *doctor)
{
    for (uint32_t i = 0; i < doctor->context->hardware.count; i++) {
        const struct accel_hardware *hardware = doctor->context->hardware.items[i];
        const struct accel_doctor_entry *entry = accel_doctor_table_find(doctor->table, hardware);
        const struct accel_device_info *device = claimed_by(doctor->context, i);
        char name[256];
        const struct accel_doctor_subject subject = {
            .hardware = hardware,
            .index = i,
            /* If one driver claims the hardware, an unmet requirement of another driver is a warning only. */
            .worst = device ? ACCEL_DOCTOR_WARN : ACCEL_DOCTOR_BAD,
            .name = accel_doctor_text(doctor, "%s", accel_machine_text(hardware, name, sizeof(name)))};
        if (entry)
            check_known(doctor, &subject, entry, device);
        else
            check_unknown(doctor, &subject, device);
    }
    check_drivers(doctor);
}
