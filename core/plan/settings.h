/* SPDX-License-Identifier: Apache-2.0 */
/** @file The facts (facts.c), described devices (described.c), settings (settings.c) and cores (cores.c) of a plan. */
#ifndef ACCEL_CORE_PLAN_SETTINGS_H
#define ACCEL_CORE_PLAN_SETTINGS_H

#include "core/plan/plan.h"

/** Collects the facts of device, host, request and model. */
int32_t accel_plan_make_facts(struct accel_plan *plan, const struct accel_plan_request *request,
                              struct accel_error *error);

/** Returns whether the key of an override is a fact of absent devices, which a caller may give among the settings. */
bool accel_plan_is_device_fact(const char *key);

/** Parses a list of profile devices, "4xa100,h200", from a request. ACCEL_E_NOT_FOUND: no file has one of the
 * names, or a count is 0 or too large. */
int32_t accel_plan_parse_described(struct accel_plan *plan, const char *names, struct accel_error *error);

/** Refuses a described device whose platforms do not include the plan's: ACCEL_E_NOT_FOUND. */
int32_t accel_plan_check_platforms(const struct accel_plan *plan, struct accel_error *error);

/** Reads memory, bandwidth and compute of the devices of a plan without a present one, after settings are resolved. */
int32_t accel_plan_describe_devices(struct accel_plan *plan, struct accel_error *error);

/** Imports the facts in force from the settings, which include those of files. Call it after resolving these. */
int32_t accel_plan_import_facts(struct accel_plan *plan, struct accel_error *error);

/** Returns the value of a fact, or NULL if it is not known. `out_origin` may be NULL. */
const char *accel_plan_fact(const struct accel_plan *plan, const char *key, const char **out_origin);

/** Returns a fact as a number; false if it is not known or no number. */
bool accel_plan_fact_number(const struct accel_plan *plan, const char *key, uint64_t *out_number,
                            const char **out_origin);

/** Makes the public records of the resolved settings. */
int32_t accel_plan_make_records(struct accel_plan *plan, struct accel_error *error);

/** Chooses threads, and stores the choice in the record of cpu.threads. */
int32_t accel_plan_choose_threads(struct accel_plan *plan, struct accel_error *error);

/** Groups the cores that the chosen threads run on. */
int32_t accel_plan_group_cores(struct accel_plan *plan, struct accel_error *error);

/** Replaces the value in the record of `setting` with a decided one; the replaced value becomes the first overridden
 * one. Strings are borrowed. Deciding the present value again changes nothing. */
void accel_plan_decide(struct accel_plan *plan, const struct accel_profile_setting *setting, const char *value,
                       uint32_t origin, const char *place, const char *reason);

#endif
