/* SPDX-License-Identifier: Apache-2.0 */
/* Maps weight types to slots of the kernel tables, and enumerates the types that kernels read. */
#include "config.h"

#include "weights.h"

#include <accel/quant/format.h>

static const uint32_t weight_types[CPU_PLANAR] = {
#define ACCEL_FORMAT(ID, ...) ACCEL_##ID,
#include <accel/quant/formats.def>
#define OWN_TYPE(ID, name) ACCEL_##ID,
    CPU_PLANAR_OWN(OWN_TYPE)};

/* Returns the slot of a type that does not share CPU_PLANAR, or -1. */
static int own_slot(uint32_t type)
{
    for (int i = 0; i < CPU_PLANAR; i++) {
        if (weight_types[i] == type)
            return i;
    }
    return -1;
}

int cpu_weight_of(uint32_t type)
{
    static const int shared[] = {
        [ACCEL_SCHEME_SYMMETRIC] = CPU_PLANAR, [ACCEL_SCHEME_ASYMMETRIC] = CPU_PLANAR_A,
        [ACCEL_SCHEME_NF4] = CPU_CODEBOOK,     [ACCEL_SCHEME_CODEBOOK] = CPU_CODEBOOK,
        [ACCEL_SCHEME_FLOAT8] = CPU_PLANAR_F8,
    };
    struct accel_format format;
    const int slot = own_slot(type);

    return slot < 0 && ACCEL_IS_PLANAR(type) && accel_format_describe(type, &format) == ACCEL_OK
               ? shared[ACCEL_PLANAR_SCHEME(type)]
               : slot;
}

uint32_t cpu_type_at(uint32_t index)
{
    uint32_t type;

    if (index < CPU_PLANAR)
        return weight_types[index];
    index -= CPU_PLANAR;
    for (uint32_t i = 0; (type = accel_format_type(i)) != ACCEL_TYPE_NONE; i++)
        if (own_slot(type) < 0 && index-- == 0)
            return type;
    return ACCEL_TYPE_NONE;
}
