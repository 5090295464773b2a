/* SPDX-License-Identifier: Apache-2.0 */
/* Maps weight types to slots of the kernel tables, and enumerates the types that kernels read. */
#include "config.h"

#include "weights.h"

static const uint32_t weight_types[CPU_PLANAR] = {
    [CPU_F32] = ACCEL_F32,         [CPU_F16] = ACCEL_F16,         [CPU_BF16] = ACCEL_BF16,
    [CPU_Q8_0] = ACCEL_Q8_0,       [CPU_Q4_0] = ACCEL_Q4_0,       [CPU_Q4_1] = ACCEL_Q4_1,
    [CPU_Q8_G32] = ACCEL_Q8_G32,   [CPU_Q8_G128] = ACCEL_Q8_G128, [CPU_Q4_G32] = ACCEL_Q4_G32,
    [CPU_Q4_G128] = ACCEL_Q4_G128, [CPU_Q5_0] = ACCEL_Q5_0,       [CPU_Q5_1] = ACCEL_Q5_1,
    [CPU_Q2_K] = ACCEL_Q2_K,       [CPU_Q3_K] = ACCEL_Q3_K,       [CPU_Q4_K] = ACCEL_Q4_K,
    [CPU_Q5_K] = ACCEL_Q5_K,       [CPU_Q6_K] = ACCEL_Q6_K,       [CPU_IQ4_NL] = ACCEL_IQ4_NL,
    [CPU_IQ4_XS] = ACCEL_IQ4_XS,   [CPU_MXFP4] = ACCEL_MXFP4,
};

/* Returns the slot of a type that does not share CPU_PLANAR, or -1. */
static int own_slot(uint32_t type)
{
    for (int i = 0; i < CPU_PLANAR; i++) {
        if (weight_types[i] == type)
            return i;
    }
    return -1;
}

#define PLANAR_TYPES 60u
#define PLANAR_SLOTS 4u /* planar types with a slot of their own */
_Static_assert(CPU_TYPES == CPU_PLANAR + PLANAR_TYPES - PLANAR_SLOTS, "weights.h counts the planar types");

/* Returns planar type `index`, 0 .. 59: ordered by bits, then group, then scheme; the 4-bit codebook types come last.
 */
static uint32_t planar_type(uint32_t index)
{
    static const uint32_t bits[4] = {2, 3, 4, 8}, groups[6] = {5, 6, 7, 8, 9, 0};
    return index < 48 ? ACCEL_PLANAR(bits[index / 12], groups[index / 2 % 6], index % 2)
                      : ACCEL_PLANAR(4u, groups[index / 2 % 6], ACCEL_SCHEME_NF4 + index % 2);
}

int cpu_weight_of(uint32_t type)
{
    int slot = own_slot(type);
    for (uint32_t i = 0; slot < 0 && i < PLANAR_TYPES; i++)
        slot = planar_type(i) == type ? CPU_PLANAR : -1;
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
