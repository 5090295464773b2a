/* SPDX-License-Identifier: Apache-2.0 */
/* The processors of the machine as a device. */
#include <accel/driver/sdk.h>

static int32_t report(const struct accel_hardware *hardware, struct accel_facts *facts,
                      const struct accel_device_sink *sink, struct accel_error *error)
{
    struct accel_heap heap = {.bytes = hardware->memory, .flags = ACCEL_HEAP_HOST, .alignment = 64, .name = "DRAM"};
    struct accel_limits limits = {
        .buffer_bytes = hardware->memory,
        .binding_bytes = hardware->memory,
        .inline_bytes = hardware->memory,
        .threads = hardware->threads,
        .sets = UINT32_MAX,
        .in_flight = 1,
    };

    facts->name = hardware->name;
    facts->heap_count = 1;
    facts->heaps = &heap;
    facts->limits = &limits;
    return sink->device(sink, facts, error);
}

int32_t sdk_report_processors(const struct accel_hardware *const *hardware, uint32_t hardware_count,
                              const struct accel_device_sink *sink, const char *id, const char *detail,
                              const uint32_t *types, uint32_t type_count, struct accel_error *error)
{
    struct accel_facts facts = {
        .size = sizeof(facts),
        .kind = ACCEL_DEVICE_CPU,
        .flags = ACCEL_DEVICE_UNIFIED,
        .id = id,
        .detail = detail,
        .types = types,
        .type_count = type_count,
    };

    for (uint32_t i = 0; i < hardware_count; i++) {
        if (hardware[i]->kind != ACCEL_HARDWARE_CPU)
            continue;
        facts.hardware = (int32_t)i;
        return report(hardware[i], &facts, sink, error);
    }
    return sink->verdict(sink, -1, ACCEL_E_NOT_FOUND, "the list of hardware has no processors", NULL, error);
}
