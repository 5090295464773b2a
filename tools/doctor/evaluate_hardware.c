/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates hardware: which driver claims it, or why none does. Adds rows of drivers that concern no piece of
 * hardware. */
#include "config.h"

#include <string.h>

#include "tools/doctor/evaluate.h"

static void say(struct accel_doctor_case *doctor, const struct accel_doctor_subject *subject,
                struct accel_doctor_row row)
{
    row.hardware = (int32_t)subject->index;
    row.area = "hardware";
    row.check = row.check ? row.check : "hardware.claim";
    row.subject = row.origin = subject->name;
    accel_doctor_say(doctor, &row);
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

/* Adds the verdicts of drivers on a piece of hardware. */
static bool say_verdicts(struct accel_doctor_case *doctor, const struct accel_doctor_subject *subject)
{
    bool said = false;
    for (uint32_t i = 0; i < accel_verdict_count(doctor->context); i++) {
        const struct accel_verdict *verdict = accel_verdict_get(doctor->context, i);
        if (verdict->hardware != (int32_t)subject->index || verdict->driver[0] == '\0')
            continue;
        say(doctor, subject,
            (struct accel_doctor_row){
                .state = subject->worst,
                .check = "hardware.driver",
                .text = accel_doctor_text(doctor, "driver %s refuses it: %s", verdict->driver, verdict->text),
                .remedy = verdict->remedy});
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

/* Adds a row for hardware that doctor.yaml knows and no driver claims. `met`: all its system requirements are met. */
static void say_unclaimed(struct accel_doctor_case *doctor, const struct accel_doctor_subject *subject,
                          const struct accel_doctor_entry *entry, bool met)
{
    struct accel_doctor_row row = {.state = ACCEL_DOCTOR_BAD};
    bool loaded = false;
    for (uint32_t i = 0; i < entry->drivers.count; i++)
        loaded |= is_loaded(doctor->context, entry->drivers.items[i]);
    if (entry->drivers.count == 0) {
        row.state = ACCEL_DOCTOR_WARN;
        row.text = accel_doctor_text(doctor, "%s: accel has no driver for it", entry->name);
        row.remedy = "a driver plugin of its maker would do";
    } else if (!loaded) {
        row.text = accel_doctor_text(doctor, "%s: no driver of accel that could use it is loaded", entry->name);
        row.remedy = accel_doctor_text(doctor, "install the driver plugin %s of accel",
                                       accel_doctor_join(doctor, &entry->drivers));
    } else if (!met) {
        row.text = accel_doctor_text(doctor, "%s: no driver claims it", entry->name);
        row.remedy = "mend the rows about it, then look again";
    } else {
        row.text = accel_doctor_text(doctor, "%s: no driver claims it, and none says why", entry->name);
        row.remedy = "accelctl devices --all --verbose shows what the drivers say";
    }
    say(doctor, subject, row);
}

static void say_claimed(struct accel_doctor_case *doctor, const struct accel_doctor_subject *subject,
                        const struct accel_device_info *device)
{
    say(doctor, subject,
        (struct accel_doctor_row){.state = ACCEL_DOCTOR_GOOD,
                                  .text = accel_doctor_text(doctor, "is device %s", device->name)});
}

static void judge_known(struct accel_doctor_case *doctor, const struct accel_doctor_subject *subject,
                        const struct accel_doctor_entry *entry, const struct accel_device_info *device)
{
    bool met;
    if (!entry->computes) {
        say(doctor, subject,
            (struct accel_doctor_row){.state = ACCEL_DOCTOR_NOTE,
                                      .text = entry->about[0] != '\0' ? entry->about : "computes nothing"});
        return;
    }
    if (device)
        say_claimed(doctor, subject, device);
    met = accel_doctor_judge_needs(doctor, subject, entry);
    if (device == NULL && !say_verdicts(doctor, subject))
        say_unclaimed(doctor, subject, entry, met);
}

/* Adds a row for hardware that doctor.yaml does not know, and for the processors, which require nothing. */
static void judge_unknown(struct accel_doctor_case *doctor, const struct accel_doctor_subject *subject,
                          const struct accel_device_info *device)
{
    const struct accel_hardware *hardware = subject->hardware;
    if (device)
        say_claimed(doctor, subject, device);
    else if (hardware->kind == ACCEL_HARDWARE_CPU)
        say(doctor, subject,
            (struct accel_doctor_row){
                .state = ACCEL_DOCTOR_BAD,
                .text = "no driver claims the processors",
                .remedy = "install the driver plugin for processors; the rows of plugins tell which were refused"});
    else if (!say_verdicts(doctor, subject))
        say(doctor, subject,
            (struct accel_doctor_row){
                .state = ACCEL_DOCTOR_WARN,
                .text = accel_doctor_text(doctor,
                                          "no driver claims it, and doctor.yaml does not know it (vendor 0x%04x, "
                                          "device 0x%04x, class 0x%04x)",
                                          hardware->vendor, hardware->device, hardware->device_class),
                .remedy = "if it computes, a driver plugin of its maker would do"});
}

/* Adds the verdicts without hardware. Most come from a driver that found no device: they are the only explanation
 * why it is not used. */
static void judge_rest(struct accel_doctor_case *doctor)
{
    for (uint32_t i = 0; i < accel_verdict_count(doctor->context); i++) {
        const struct accel_verdict *verdict = accel_verdict_get(doctor->context, i);
        const struct accel_doctor_row row = {
            .state = verdict->code == ACCEL_E_NOT_FOUND ? ACCEL_DOCTOR_NOTE : ACCEL_DOCTOR_WARN,
            .area = "drivers",
            .check = "driver.says",
            .subject = verdict->driver,
            .origin = verdict->driver,
            .hardware = -1,
            .text = accel_doctor_text(doctor, "%s (%s)", verdict->text, accel_error_name(verdict->code)),
            .remedy = verdict->remedy};
        if (verdict->hardware < 0)
            accel_doctor_say(doctor, &row);
    }
}

void accel_doctor_judge_hardware(struct accel_doctor_case *doctor)
{
    for (uint32_t i = 0; i < doctor->context->hardware.count; i++) {
        const struct accel_hardware *hardware = doctor->context->hardware.items[i];
        const struct accel_doctor_entry *entry = accel_doctor_table_find(doctor->table, hardware);
        const struct accel_device_info *device = claimed_by(doctor->context, i);
        char name[256];
        const struct accel_doctor_subject subject = {
            .hardware = hardware,
            .index = i,
            /* An unmet requirement of another driver is no fault if one driver already claims the hardware. */
            .worst = device ? ACCEL_DOCTOR_WARN : ACCEL_DOCTOR_BAD,
            .name = accel_doctor_text(doctor, "%s", accel_machine_text(hardware, name, sizeof(name)))};
        if (entry)
            judge_known(doctor, &subject, entry, device);
        else
            judge_unknown(doctor, &subject, device);
    }
    judge_rest(doctor);
}
