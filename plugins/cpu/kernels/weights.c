/* SPDX-License-Identifier: Apache-2.0 */
/* Maps weight types to slots of the kernel tables, and enumerates the types that kernels read. */
#include "config.h"

#include "weights.h"

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

#define PLANAR_TYPES (CPU_PLANAR_FORMATS * CPU_PLANAR_GROUPS)

/* Returns planar type `index`, 0 .. PLANAR_TYPES - 1: the groups of the first format, then those of the next. */
static uint32_t planar_type(uint32_t index)
{
    static const struct {
        uint32_t scheme;
        const char *start, *end;
        uint32_t bits, planes, zero_bytes, codebook_bytes;
    } formats[] = {
#define ACCEL_PLANAR_FORMAT(...) {__VA_ARGS__},
#include <accel/quant/formats.def>
    };
    static const uint32_t groups[] = {
#define ACCEL_PLANAR_GROUP(log2_group) log2_group,
#include <accel/quant/formats.def>
    };
    const uint32_t format = index / CPU_PLANAR_GROUPS;

    return ACCEL_PLANAR(formats[format].bits, groups[index % CPU_PLANAR_GROUPS], formats[format].scheme);
}

int cpu_weight_of(uint32_t type)
{
    static const int shared[] = {
        [ACCEL_SCHEME_SYMMETRIC] = CPU_PLANAR, [ACCEL_SCHEME_ASYMMETRIC] = CPU_PLANAR_A,
        [ACCEL_SCHEME_NF4] = CPU_CODEBOOK,     [ACCEL_SCHEME_CODEBOOK] = CPU_CODEBOOK,
        [ACCEL_SCHEME_FLOAT8] = CPU_PLANAR_F8,
    };
    int slot = own_slot(type);

    for (uint32_t i = 0; slot < 0 && i < PLANAR_TYPES; i++)
        slot = planar_type(i) == type ? shared[ACCEL_PLANAR_SCHEME(type)] : -1;
    return slot;
}

uint32_t cpu_type_at(uint32_t index)
{
    if (index < CPU_PLANAR)
        return weight_types[index];
    index -= CPU_PLANAR;
    for (uint32_t i = 0; i < PLANAR_TYPES; i++) {
        if (own_slot(planar_type(i)) < 0 && index-- == 0)
            return planar_type(i);
    }
    return ACCEL_TYPE_NONE;
}
