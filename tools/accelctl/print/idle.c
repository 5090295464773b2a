/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/print/idle.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/print/brief.h"
#include "tools/accelctl/print/plan.h"
#include "tools/accelctl/print/where.h"

/* Bytes on the fullest device, in percent of now, below which another placement is worth a line. */
enum { LESS = 95 };

/* Devices over which the layers of a plan can be spread. */
struct usable {
    uint32_t count;
    uint32_t idle;
    const char *name; /* that all of them have; empty: they differ */
};

/* Returns the bytes of weights and caches that a plan puts on a device. */
static uint64_t bytes_on(const struct accel_plan *plan, const char *device)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < accel_plan_layer_count(plan); i++) {
        const struct accel_plan_layer *row = accel_plan_layer_get(plan, i);

        bytes += strcmp(row->device, device) == 0 ? row->weight_bytes + row->state_bytes : 0;
    }
    return bytes;
}

static uint64_t most_bytes(const struct accel_plan *plan)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < accel_plan_layer_count(plan); i++) {
        const uint64_t bytes = bytes_on(plan, accel_plan_layer_get(plan, i)->device);

        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Returns whether placement=balanced can use a device beside that of the plan, as the core chooses them. */
static bool is_like(const struct accel_device_info *info, const struct accel_device_info *own)
{
    const uint32_t others = ACCEL_DEVICE_TARGET | ACCEL_DEVICE_REMOTE;

    return info->duplicate_of < 0 && strcmp(info->driver, own->driver) == 0 && info->facts->kind == own->facts->kind &&
           (info->facts->flags & others) == 0 &&
           ((info->facts->flags ^ own->facts->flags) & ACCEL_DEVICE_SOFTWARE) == 0;
}

static struct usable find_usable(const struct opened *opened)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const struct accel_device_info *own = accel_plan_device(plan);
    const char *count = plan_fact(plan, "device.count"), *name = plan_fact(plan, "device.name");
    struct usable usable = {.name = own == NULL ? name : own->facts->name};
    const uint32_t used = count_devices(plan) - count_processors(opened->context, plan);

    if (own == NULL) {
        usable.count = count == NULL ? 1 : (uint32_t)strtoul(count, NULL, 10);
        usable.idle = usable.count > used ? usable.count - used : 0;
    }
    for (uint32_t i = 0; own != NULL && i < accel_device_count(opened->context); i++) {
        const struct accel_device_info *info = accel_device_get(opened->context, i);

        if (!is_like(info, own))
            continue;
        usable.count++;
        usable.idle += bytes_on(plan, info->name) == 0;
        if (usable.name != NULL && strcmp(info->facts->name, usable.name) != 0)
            usable.name = "";
    }
    if (usable.name == NULL || plan_fact(plan, "device.list") != NULL)
        usable.name = "";
    return usable;
}

uint32_t count_idle_devices(const struct opened *opened)
{
    return find_usable(opened).idle;
}

/* Settings that spread a model; a trial uses some of them. */
static const struct accel_named_value spreading[] = {{"weights.type", "auto", "idle devices"},
                                                     {"placement", "balanced", "idle devices"},
                                                     {"gpu.layers", "auto", "idle devices"},
                                                     {"offload.layers", "0", "idle devices"},
                                                     {"placement", "auto", "idle devices"}};

/* A plan with `count` of the settings. */
struct trial {
    const struct accel_named_value *settings;
    uint32_t count;
    uint32_t devices; /* that hold layers; 0: it cannot be planned */
    uint64_t most;    /* bytes on the fullest device */
    struct accel_plan_fit fit;
};

static void plan_trial(const struct opened *opened, struct trial *trial)
{
    struct accel_model_plan *made = NULL;

    trial->devices = 0;
    trial->fit = (struct accel_plan_fit){.size = sizeof(trial->fit)};
    if (accel_model_plan_vary(opened->made, trial->settings, trial->count, &made, NULL) == ACCEL_OK &&
        accel_plan_fit(accel_model_plan_plan(made), &trial->fit, NULL) == ACCEL_OK) {
        trial->devices = count_devices(accel_model_plan_plan(made));
        trial->most = most_bytes(accel_model_plan_plan(made));
    }
    accel_model_plan_free(made);
}

/* Returns whether the model's own type, which a profile lowers, fits on more devices than the plan uses and on no
 * fewer; the settings for it are then those of the trial. */
static bool fits_own_type(const struct opened *opened, uint32_t used, struct trial *trial)
{
    if (!lowers_type(accel_model_plan_plan(opened->made)))
        return false;
    *trial = (struct trial){spreading, 1, 0, 0, {0}};
    plan_trial(opened, trial);
    if (!trial->fit.fits) {
        trial->count = 2;
        plan_trial(opened, trial);
    }
    return trial->fit.fits && trial->devices > used;
}

/* Prints the idle devices, and the settings that use them. */
static void print_idle(const struct opened *opened, const struct usable *usable, bool fits)
{
    const char *name = usable->name[0] != '\0' ? usable->name : usable->idle == 1 ? "device" : "devices";
    const uint32_t used = usable->count - usable->idle;
    struct trial trial;
    const bool own_type = fits && fits_own_type(opened, used, &trial);
    char line[400], bytes[32];
    int length = snprintf(line, sizeof(line), "%" PRIu32 " more %.120s", usable->idle, name);
    char *rest = line + length;
    const size_t size = sizeof(line) - (size_t)length;

    if (!own_type && !fits) {
        trial = (struct trial){spreading + 4, 1, 0, 0, {0}};
        plan_trial(opened, &trial);
    }
    /* With placement=auto the fewest devices hold the model, and processors what those have no memory for. */
    if (!own_type && (fits || !trial.fit.fits || trial.devices > usable->count)) {
        trial = (struct trial){spreading + 1, 1, 0, 0, {0}};
        plan_trial(opened, &trial);
    }
    /* A note states that a list of several kinds is used as far as needed. */
    if (trial.devices <= used || (fits && usable->name[0] == '\0'))
        return;
    if (own_type)
        snprintf(rest, size, ": the model's own type fits on %" PRIu32 " with --set weights.type=auto%s", trial.devices,
                 trial.count == 2 ? " --set placement=balanced" : "");
    else if (!fits && trial.fit.fits)
        snprintf(rest, size, ": the model fits on %" PRIu32 " with --set placement=%s", trial.devices,
                 trial.settings->value);
    else if (!fits)
        snprintf(rest, size, ": --set placement=balanced uses %" PRIu32 ", still short by %s", trial.devices,
                 bytes_text(trial.fit.short_by, bytes));
    else
        snprintf(rest, size, ", as fewer suffice: --set placement=balanced uses %" PRIu32, trial.devices);
    print_wrapped((uint32_t)print("%-*s", HEAD, "idle"), HEAD, line);
}

/* Prints the devices that are idle as gpu.layers or offload.layers puts layers on the processors. */
static void print_left_out(const struct opened *opened, const struct usable *usable, const char *key)
{
    const struct accel_plan_setting *setting = accel_plan_setting_find(accel_model_plan_plan(opened->made), key);
    struct trial trial = {spreading + 1, 3, 0, 0, {0}};
    char line[400], more[120] = "";

    plan_trial(opened, &trial);
    if (trial.fit.fits)
        snprintf(more, sizeof(more), ": without it, --set placement=balanced uses %" PRIu32, trial.devices);
    snprintf(line, sizeof(line), "%" PRIu32 " more %.120s beside %s=%.20s%s", usable->idle,
             usable->name[0] != '\0' ? usable->name
             : usable->idle == 1     ? "device"
                                     : "devices",
             key, setting->value, more);
    print_wrapped((uint32_t)print("%-*s", HEAD, "idle"), HEAD, line);
}

/* Prints that alike devices, which the plan fills one after the other, can hold equal parts. */
static void print_balance(const struct opened *opened, bool fits)
{
    const uint64_t now = most_bytes(accel_model_plan_plan(opened->made));
    struct trial trial = {spreading + 1, 1, 0, 0, {0}};
    char line[300], from[32], to[32];

    plan_trial(opened, &trial);
    if (trial.devices == 0 || !trial.fit.fits || trial.most > now / 100 * LESS)
        return;
    snprintf(line, sizeof(line), "--set placement=balanced %shas at most %s of the model on a device, not %s",
             fits ? "" : "fits: it ", bytes_text(trial.most, to), bytes_text(now, from));
    print_wrapped((uint32_t)print("%-*s", HEAD, "balance"), HEAD, line);
}

void print_idle_devices(const struct opened *opened)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const struct accel_plan_setting *placement = accel_plan_setting_find(plan, "placement");
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    const struct accel_plan_setting *gpu = accel_plan_setting_find(plan, "gpu.layers");
    const bool is_cut = gpu->word != ACCEL_WORD_AUTO;
    const bool is_offloaded = accel_plan_setting_find(plan, "offload.layers")->number > 0;
    struct usable usable;

    if (placement->origin == ACCEL_ORIGIN_GIVEN || accel_plan_layer_count(plan) == 0 || does_not_run(opened, NULL) ||
        accel_plan_fit(plan, &fit, NULL) != ACCEL_OK)
        return;
    usable = find_usable(opened);
    if (is_cut || is_offloaded) {
        if (usable.idle != 0 && strcmp(gpu->value, "0") != 0)
            print_left_out(opened, &usable, is_cut ? "gpu.layers" : "offload.layers");
    } else if (usable.idle != 0) {
        print_idle(opened, &usable, fit.fits);
    } else if (usable.count > 1 && usable.name[0] != '\0') {
        print_balance(opened, fit.fits);
    }
}
