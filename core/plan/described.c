/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the devices of a platform that has none in this machine: their number, profiles, memory and bandwidth. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/checked.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/plan/settings.h"

/* Reads the facts that the file `name` of the folder devices states; ACCEL_E_NOT_FOUND: there is no such file. */
static int32_t read_profile(struct accel_plan *plan, const char *name, struct accel_profile_facts *out_facts,
                            struct accel_error *error)
{
    const struct accel_profile *profile = plan->context->profile;
    const struct accel_profile_pair named = {"device.profile", name, "the request names it"};
    return profile ? accel_profile_facts(profile, &named, 1, out_facts, error)
                   : accel_error_set(error, ACCEL_E_NOT_FOUND, "no profiles were found");
}

static const struct accel_profile_fact *find_fact(const struct accel_profile_facts *facts, const char *key)
{
    for (uint32_t i = 0; i < facts->count; i++)
        if (strcmp(facts->facts[i].key, key) == 0)
            return &facts->facts[i];
    return NULL;
}

static uint64_t stated_number(struct accel_plan *plan, const struct accel_profile_facts *facts, const char *key,
                              const char **out_origin)
{
    const struct accel_profile_fact *fact = find_fact(facts, key);
    uint64_t number = 0;
    if (out_origin)
        *out_origin = fact ? accel_plan_text(plan, "%s", fact->place) : "";
    return fact && accel_parse_u64(fact->value, &number) ? number : 0;
}

/* ---- the request ---- */

static int32_t bad_count(const char *name, struct accel_error *error)
{
    accel_error_by(error, ACCEL_FROM_DEVICE, ACCEL_E_NOT_FOUND,
                   "there is no device %.80s: a count is 1 to %u, and so is the sum of a list", name,
                   ACCEL_PLAN_DESCRIBED);
    return accel_error_advise(error, ACCEL_E_NOT_FOUND, "write the count before the profile, as in 4xa100");
}

static void read_row(struct accel_plan *plan, const struct accel_profile_facts *facts, struct accel_plan_described *row)
{
    const struct accel_profile_fact *name = find_fact(facts, "device.name");
    const struct accel_profile_fact *platforms = find_fact(facts, "device.platforms");
    row->name = accel_plan_text(plan, "%s", name ? name->value : row->profile);
    row->platforms = platforms ? accel_plan_text(plan, "%s", platforms->value) : NULL;
    row->memory = stated_number(plan, facts, "device.memory", &row->memory_origin);
    row->memory_origin = accel_plan_text(plan, "profile: %s", row->memory_origin);
    row->reserve = stated_number(plan, facts, "device.reserve", NULL);
    row->bandwidth = stated_number(plan, facts, "device.bandwidth", &row->bandwidth_origin);
    row->compute = stated_number(plan, facts, "device.compute", &row->compute_origin);
}

/* Parses one element of the list: "h100", "4xh100", or "2xt4" if a file has this very name. */
static int32_t parse_one(struct accel_plan *plan, const char *name, struct accel_error *error)
{
    struct accel_plan_described *row = &plan->described[plan->described_count], *same = plan->described;
    struct accel_profile_facts facts;
    struct accel_error whole = {0};
    char *end = NULL;
    uint64_t stated;
    unsigned long count = 1;
    const char *profile = name;
    int32_t code = read_profile(plan, name, &facts, &whole);
    if (code == ACCEL_E_NOT_FOUND && *name >= '0' && *name <= '9') {
        count = strtoul(name, &end, 10);
        if (*end == 'x' && end[1] != '\0') {
            profile = end + 1;
            accel_error_clear(&whole);
            code = read_profile(plan, profile, &facts, &whole);
        }
    }
    if (code != ACCEL_OK)
        return accel_error_copy(error, &whole);
    stated = stated_number(plan, &facts, "device.count", NULL);
    stated = stated == 0 || stated > ACCEL_PLAN_DESCRIBED ? 1 : stated;
    *row = (struct accel_plan_described){
        .profile = accel_plan_text(plan, "%s", profile),
        .has_count = profile != name,
        .count = count > ACCEL_PLAN_DESCRIBED ? ACCEL_PLAN_DESCRIBED + 1 : (uint32_t)(count * stated),
    };
    read_row(plan, &facts, row);
    accel_profile_facts_free(&facts);
    plan->described_devices += row->count;
    while (strcmp(same->profile, row->profile) != 0)
        same++;
    if (same == row) {
        plan->described_count++;
    } else {
        same->count += row->count;
        same->has_count = true;
    }
    if (row->count == 0 || plan->described_devices > ACCEL_PLAN_DESCRIBED)
        return bad_count(name, error);
    return ACCEL_OK;
}

/* Orders rows by bandwidth, highest first. Devices are filled in this order, whatever the order of the list, so that a
 * step takes the least time. */
static int compare_rows(const void *a, const void *b)
{
    const struct accel_plan_described *one = a, *other = b;
    if (one->bandwidth != other->bandwidth)
        return one->bandwidth > other->bandwidth ? -1 : 1;
    if (one->memory != other->memory)
        return one->memory > other->memory ? -1 : 1;
    return strcmp(one->profile, other->profile);
}

int32_t accel_plan_parse_described(struct accel_plan *plan, const char *names, struct accel_error *error)
{
    char *at = accel_arena_strdup(&plan->arena, names);
    int32_t code = ACCEL_OK;
    /* One more than allowed, which its count then refuses. */
    plan->described = accel_arena_array(&plan->arena, ACCEL_PLAN_DESCRIBED + 1, sizeof(*plan->described));
    if (plan->described == NULL || at == NULL)
        return accel_error_no_memory(error, "for a plan");
    while (at && code == ACCEL_OK) {
        char *comma = strchr(at, ',');
        if (comma)
            *comma = '\0';
        code = parse_one(plan, at, error);
        at = comma ? comma + 1 : NULL;
    }
    if (code != ACCEL_OK)
        return code;
    qsort(plan->described, plan->described_count, sizeof(*plan->described), compare_rows);
    plan->device_profile = plan->described[0].profile;
    if (plan->described_count == 1 && !plan->described[0].has_count)
        return ACCEL_OK;
    plan->described_origin = accel_plan_text(plan, "the request names %s", names);
    for (uint32_t i = 0; i < plan->described_count && plan->described_count > 1; i++)
        plan->described_name = accel_plan_text(plan, "%s%s%" PRIu32 " x %s", i ? plan->described_name : "",
                                               i ? " + " : "", plan->described[i].count, plan->described[i].name);
    return ACCEL_OK;
}

int32_t accel_plan_check_platforms(const struct accel_plan *plan, struct accel_error *error)
{
    for (uint32_t i = 0; i < plan->described_count; i++) {
        const struct accel_plan_described *row = &plan->described[i];
        if (row->platforms == NULL || accel_word_is_among(row->platforms, plan->platform))
            continue;
        accel_error_set(error, ACCEL_E_NOT_FOUND, "the platform %s does not drive the device %.80s (%.120s)",
                        plan->platform, row->profile, row->name);
        return accel_error_advise(error, ACCEL_E_NOT_FOUND,
                                  "name a platform of that device (%.120s): --platform %.*s --device %.120s",
                                  row->platforms, (int)strcspn(row->platforms, ","), row->platforms, row->profile);
    }
    return ACCEL_OK;
}

/* ---- memory and speed ---- */

/* Overrides the file's numbers with the plan's facts, which may be stronger. They apply to the first kind alone. */
static void use_plan_facts(struct accel_plan *plan, struct accel_plan_described *row)
{
    const char *unified = accel_plan_fact(plan, "device.unified", NULL), *origin = "";
    uint64_t memory, large, stated = row->reserve;
    bool is_users = accel_plan_fact_number(plan, "device.reserve", &row->reserve, NULL) && row->reserve != stated;
    if (accel_plan_fact_number(plan, "device.memory", &memory, &origin) && memory != row->memory) {
        /* Of memory shared with the host, the reserve is a share, which may be another one from a size on. */
        if (accel_plan_fact_number(plan, "device.memory.large", &large, NULL) && memory >= large && !is_users &&
            accel_plan_fact_number(plan, "device.reserve.large", &row->reserve, NULL))
            row->memory = large;
        if (row->memory && unified && !is_users && strcmp(unified, "true") == 0)
            row->reserve = (uint64_t)((double)row->reserve * ((double)memory / (double)row->memory));
        row->memory = memory;
        row->memory_origin = origin;
    }
    if (accel_plan_fact_number(plan, "device.bandwidth", &row->bandwidth, &origin))
        row->bandwidth_origin = origin;
    if (accel_plan_fact_number(plan, "device.compute", &row->compute, &origin))
        row->compute_origin = origin;
}

static int32_t subtract_reserve(struct accel_plan *plan, struct accel_plan_described *row, struct accel_error *error)
{
    if (row->reserve == 0 || row->memory == 0)
        return ACCEL_OK;
    if (row->memory <= row->reserve) {
        accel_error_by(error, ACCEL_FROM_SETTING, ACCEL_E_INVALID,
                       "%.160s: no memory is left for a plan, since the device's driver, kernels and allocator take "
                       "%" PRIu64 " MiB (device.reserve)",
                       row->memory_origin, row->reserve >> 20);
        return accel_error_advise(
            error, ACCEL_E_INVALID,
            "describe a device with more memory: --set device.memory=%" PRIu64 "MiB, for instance", row->reserve >> 18);
    }
    row->memory -= row->reserve;
    row->memory_origin =
        accel_plan_text(plan, "%s, less %" PRIu64 " MiB device.reserve", row->memory_origin, row->reserve >> 20);
    return ACCEL_OK;
}

int32_t accel_plan_describe_devices(struct accel_plan *plan, struct accel_error *error)
{
    uint64_t count = 1;
    int32_t code = ACCEL_OK;
    if (plan->device)
        return ACCEL_OK;
    if (plan->described_count == 0) {
        plan->described = accel_arena_array(&plan->arena, 1, sizeof(*plan->described));
        if (plan->described == NULL)
            return accel_error_no_memory(error, "for a plan");
        plan->described_count = 1;
        plan->described->memory_origin = plan->described->bandwidth_origin = plan->described->compute_origin = "";
    }
    if (plan->described_count == 1) {
        if (!accel_plan_fact_number(plan, "device.count", &count, NULL) || count == 0)
            count = 1;
        if (count > ACCEL_PLAN_DESCRIBED)
            return accel_error_set(error, ACCEL_E_LIMIT, "device.count is %" PRIu64 ", at most %u are planned", count,
                                   ACCEL_PLAN_DESCRIBED);
        plan->described[0].count = (uint32_t)count;
    }
    use_plan_facts(plan, &plan->described[0]);
    for (uint32_t i = 0; i < plan->described_count && code == ACCEL_OK; i++)
        code = subtract_reserve(plan, &plan->described[i], error);
    return code;
}
