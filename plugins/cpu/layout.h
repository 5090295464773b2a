/* SPDX-License-Identifier: Apache-2.0 */
/* How the driver reads each type of weights: the options layout and layout_types. */
#ifndef CPU_LAYOUT_H
#define CPU_LAYOUT_H

#include <accel/driver/sdk.h>

#include "plugins/cpu/kernels/weights.h"

extern const struct accel_option cpu_layout_option, cpu_layout_types_option;

struct cpu_layout {
    uint64_t packed;                        /* types that matmul reads packed, as bits of enum cpu_weight */
    struct cpu_streams streams[CPU_PLANAR]; /* indexed by enum cpu_weight */
};

/* Chooses how weights are read on `isa` of a processor of `vendor` ("amd", "intel", or "" for others). Fails with
 * ACCEL_E_INVALID if layout_types has a word that names no ISA, vendor, type that is packed, or value;
 * ACCEL_E_UNSUPPORTED if layout is panels, and no type is packed for the ISA that isa or simd sets. */
int32_t cpu_layout_choose(const struct accel_setting *settings, uint32_t setting_count, uint32_t isa,
                          const char *vendor, struct cpu_layout *out, struct accel_error *error);

#endif
