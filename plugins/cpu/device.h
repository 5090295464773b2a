/* SPDX-License-Identifier: Apache-2.0 */
/* State of an open cpu device: the kernels of its instruction set and the formats that they read. */
#ifndef CPU_DEVICE_H
#define CPU_DEVICE_H

#include <accel/driver/sdk.h>
#include <accel/quant/format.h>

#include "plugins/cpu/kernels/kernels.h"
#include "plugins/cpu/layout.h"

struct cpu_device {
    struct cpu_kernels kernels;
    struct accel_format formats[CPU_PLANAR]; /* indexed by enum cpu_weight, up to CPU_PLANAR */
    struct cpu_layout layout;
    struct cpu_experts *experts; /* NULL: mapped experts have no limit */
};

/* Operator kernels for weight types: matmul in F32, embed, and of most types matmul with x rounded to 8 bits or BF16.
 */
#define CPU_TWO() +2u
#define CPU_THREE() +3u
enum {
    CPU_WEIGHT_KERNELS = (CPU_PLANAR_F8 - CPU_PLANAR_FIRST) * 3u + 2u
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, group, code, ...)                                              \
    CPU_CODE_##code(CPU_TWO, CPU_THREE, CPU_TWO, CPU_THREE, CPU_THREE, )
#include <accel/quant/formats.def>
};

/* Every operator kernel that the backend offers, of which CPU_LISTED are in operators.def. table.c asserts the count.
 */
#define CPU_OPERATORS (CPU_WEIGHT_KERNELS + 22u + CPU_LISTED)
enum {
    CPU_LISTED = 0
#define CPU_OPERATOR(op, name, flags, text, check, parts, work) +1
#define CPU_VECTOR_OPERATOR(op, name, flags, text, check, parts, work) +1
#include "plugins/cpu/kernels/operators.def"
};
extern const struct sdk_kernel cpu_operators[];
/* sdk_backend.allow: of the kernels of experts, those that read packed weights or those that read mapped ones. */
uint32_t cpu_allow(const void *device, const struct sdk_kernel *kernel);

/* sdk_backend.packs and .pack: packing of matmul weights. */
uint32_t cpu_matmul_packs(const void *device, const struct accel_weight *weight);
void cpu_matmul_pack(const void *device, const struct accel_weight *weight, const void *const *planes, uint64_t rows,
                     void *out);

#endif
