/* SPDX-License-Identifier: Apache-2.0 */
/* Which weights the driver packs: the options layout and layout_rows. */
#ifndef CPU_LAYOUT_H
#define CPU_LAYOUT_H

#include <accel/driver/sdk.h>

extern const struct accel_option cpu_layout_option, cpu_layout_rows_option;

/* Returns in *out_packed the types whose weights are packed on `isa`, as bits of enum cpu_weight. Fails with
 * ACCEL_E_INVALID if layout_rows names an ISA or a type that is unknown or never packed; ACCEL_E_UNSUPPORTED if layout
 * is panels, and no type is packed for the ISA that isa or simd sets. */
int32_t cpu_layout_choose(const struct accel_setting *settings, uint32_t setting_count, uint32_t isa,
                          uint64_t *out_packed, struct accel_error *error);

#endif
