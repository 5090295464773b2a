/* SPDX-License-Identifier: Apache-2.0 */
/* Services for plugins (host.h): facts of devices, lookup of hardware, fingerprints. */
#include <string.h>

#include "sdk/gpu/internal.h"

void gpu_facts_limits(const struct gpu_limits *limits, struct accel_limits *out_limits)
{
    *out_limits = (struct accel_limits){
        .buffer_bytes = limits->memory_bytes,
        .binding_bytes = limits->binding_bytes,
        .inline_bytes = GPU_INLINE_BYTES,
        .sets = UINT32_MAX,
        .queues = UINT32_MAX,
        .in_flight = limits->in_flight < GPU_IN_FLIGHT ? limits->in_flight : GPU_IN_FLIGHT,
    };
}

const uint32_t *gpu_facts_types(uint32_t *out_count)
{
    *out_count = gpu_type_count;
    return gpu_types;
}

int32_t gpu_find_pci(const struct accel_hardware *const *hardware, uint32_t hardware_count, uint32_t domain,
                     uint32_t bus, uint32_t slot, uint32_t function)
{
    for (uint32_t i = 0; i < hardware_count; i++) {
        const struct accel_hardware *one = hardware[i];

        if (one->kind == ACCEL_HARDWARE_PCI && one->domain == domain && one->bus == bus && one->slot == slot &&
            one->function == function)
            return (int32_t)i;
    }
    return -1;
}

int32_t gpu_find_cpu(const struct accel_hardware *const *hardware, uint32_t hardware_count)
{
    for (uint32_t i = 0; i < hardware_count; i++)
        if (hardware[i]->kind == ACCEL_HARDWARE_CPU)
            return (int32_t)i;
    return -1;
}

/* Mixes bytes into two FNV-1a hashes with different seeds: detects changes, resists no attacker. */
void gpu_mix(uint8_t fingerprint[16], const void *bytes, uint64_t count)
{
    const uint8_t *at = bytes;
    uint64_t lanes[2];

    memcpy(lanes, fingerprint, sizeof(lanes));
    for (uint64_t i = 0; i < count; i++) {
        lanes[0] = (lanes[0] ^ at[i]) * UINT64_C(0x100000001b3);
        lanes[1] = (lanes[1] ^ (uint8_t)(at[i] + 0x5bu)) * UINT64_C(0x10000000233);
    }
    memcpy(fingerprint, lanes, sizeof(lanes));
}
