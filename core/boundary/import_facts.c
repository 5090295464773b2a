/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/open.h"
#include "core/boundary/import.h"

#define KNOWN_FLAGS                                                                                                    \
    (ACCEL_DEVICE_SOFTWARE | ACCEL_DEVICE_UNIFIED | ACCEL_DEVICE_REMOTE | ACCEL_DEVICE_DISPLAY | ACCEL_DEVICE_TARGET)

/* Refuses facts of a driver; `error` and `driver` are those of the function. */
#define WRONG(code, ...) accel_error_driver(error, code, driver, __VA_ARGS__)

/* Checks the members that are not pointers, and the counts, which limit the copies below. */
static int32_t check_scalars(const struct accel_facts *facts, uint32_t hardware_count, const char *driver,
                             struct accel_error *error)
{
    if (facts->kind < ACCEL_DEVICE_CPU || facts->kind > ACCEL_DEVICE_OTHER)
        return WRONG(ACCEL_E_INVALID, "accel_facts.kind %u is not known", facts->kind);
    if ((facts->flags & ~KNOWN_FLAGS) != 0)
        return WRONG(ACCEL_E_UNSUPPORTED, "accel_facts.flags 0x%x has unknown bits", facts->flags);
    if (facts->zero != 0)
        return WRONG(ACCEL_E_INVALID, "accel_facts.zero is %u", facts->zero);
    if (facts->hardware < -1 || (facts->hardware >= 0 && (uint32_t)facts->hardware >= hardware_count))
        return WRONG(ACCEL_E_INVALID, "accel_facts.hardware %d is outside of the list of %u", facts->hardware,
                     hardware_count);
    if (facts->heap_count == 0 || facts->heap_count > ACCEL_IMPORT_HEAPS || facts->heaps == NULL)
        return WRONG(ACCEL_E_LIMIT, "accel_facts.heap_count %u, must be 1 to %u", facts->heap_count,
                     ACCEL_IMPORT_HEAPS);
    if (facts->type_count > ACCEL_IMPORT_TYPES || (facts->type_count != 0 && facts->types == NULL))
        return WRONG(ACCEL_E_LIMIT, "accel_facts.type_count %u, must be at most %u", facts->type_count,
                     ACCEL_IMPORT_TYPES);
    return ACCEL_OK;
}

/* Checks the id, which becomes part of the device name that users type. */
static int32_t check_id(const char *id, const char *driver, struct accel_error *error)
{
    if (id[0] == '\0' || strlen(id) > 127 || strpbrk(id, " \t'\"\\") != NULL)
        return WRONG(ACCEL_E_INVALID, "accel_facts.id \"%.40s\" is no name", id);
    return ACCEL_OK;
}

static int32_t copy_texts(struct accel_arena *arena, struct accel_facts *facts, const char *driver,
                          struct accel_error *error)
{
    int32_t code = accel_import_text(arena, &facts->id, driver, "accel_facts.id", error);
    if (code == ACCEL_OK)
        code = check_id(facts->id, driver, error);
    if (code == ACCEL_OK)
        code = accel_import_text(arena, &facts->name, driver, "accel_facts.name", error);
    return code == ACCEL_OK ? accel_import_text(arena, &facts->detail, driver, "accel_facts.detail", error) : code;
}

static int32_t copy_heaps(struct accel_arena *arena, struct accel_facts *facts, const char *driver,
                          struct accel_error *error)
{
    struct accel_heap *heaps = accel_arena_array(arena, facts->heap_count, sizeof(*heaps));
    if (heaps == NULL)
        return accel_error_no_memory(error, "for the heaps of driver %s", driver);
    memcpy(heaps, facts->heaps, facts->heap_count * sizeof(*heaps));
    for (uint32_t i = 0; i < facts->heap_count; i++) {
        uint64_t alignment = heaps[i].alignment;
        int32_t code;
        if (heaps[i].zero != 0 || (heaps[i].flags & ~(ACCEL_HEAP_HOST | ACCEL_HEAP_DEVICE)) != 0)
            return WRONG(ACCEL_E_UNSUPPORTED, "accel_heap.flags 0x%x has unknown bits", heaps[i].flags);
        if (heaps[i].bytes > ACCEL_IMPORT_BYTES)
            return WRONG(ACCEL_E_LIMIT, "accel_heap.bytes %llu, must be at most %llu",
                         (unsigned long long)heaps[i].bytes, (unsigned long long)ACCEL_IMPORT_BYTES);
        if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > (UINT64_C(1) << 21))
            return WRONG(ACCEL_E_INVALID, "accel_heap.alignment %llu", (unsigned long long)alignment);
        code = accel_import_text(arena, &heaps[i].name, driver, "accel_heap.name", error);
        if (code != ACCEL_OK)
            return code;
    }
    facts->heaps = heaps;
    return ACCEL_OK;
}

/* Copies the limits, a closed struct. A device with queues needs a step in flight, or every submit would fail. */
static int32_t copy_limits(struct accel_arena *arena, struct accel_facts *facts, const char *driver,
                           struct accel_error *error)
{
    struct accel_limits *limits = accel_arena_array(arena, 1, sizeof(*limits));
    uint32_t *types = accel_arena_array(arena, facts->type_count, sizeof(*types));
    if (limits == NULL || types == NULL)
        return accel_error_no_memory(error, "for the limits of driver %s", driver);
    if (facts->limits == NULL)
        return WRONG(ACCEL_E_INVALID, "accel_facts.limits is NULL");
    *limits = *facts->limits;
    if (limits->in_flight > ACCEL_IMPORT_IN_FLIGHT || (limits->queues != 0 && limits->in_flight == 0))
        return WRONG(ACCEL_E_LIMIT, "accel_limits.in_flight %u, must be 1 to %u", limits->in_flight,
                     ACCEL_IMPORT_IN_FLIGHT);
    if (facts->type_count != 0)
        memcpy(types, facts->types, facts->type_count * sizeof(*types));
    facts->limits = limits;
    facts->types = types;
    return ACCEL_OK;
}

int32_t accel_import_facts(struct accel_arena *arena, const struct accel_facts *given, uint32_t hardware_count,
                           const char *driver, struct accel_facts **out_facts, struct accel_error *error)
{
    struct accel_facts *facts = accel_arena_array(arena, 1, sizeof(*facts));
    char who[80];
    int32_t code;
    *out_facts = NULL;
    if (facts == NULL)
        return accel_error_no_memory(error, "for the facts of driver %s", driver);
    snprintf(who, sizeof(who), "driver %s", driver);
    code = accel_open_copy(given, ACCEL_END_OF(struct accel_facts, limits), sizeof(*facts), who, "accel_facts", facts,
                           error);
    if (code == ACCEL_OK)
        code = check_scalars(facts, hardware_count, driver, error);
    if (code == ACCEL_OK)
        code = copy_texts(arena, facts, driver, error);
    if (code == ACCEL_OK)
        code = copy_heaps(arena, facts, driver, error);
    if (code == ACCEL_OK)
        code = copy_limits(arena, facts, driver, error);
    if (code != ACCEL_OK)
        return code;
    facts->size = sizeof(*facts);
    *out_facts = facts;
    return ACCEL_OK;
}
