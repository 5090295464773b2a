/* SPDX-License-Identifier: Apache-2.0 */
/* The cpu driver's own part of an open device: the kernels of the level in use, and the formats that they read. */
#ifndef CPU_DEVICE_H
#define CPU_DEVICE_H

#include "plugins/cpu/kernels/kernels.h"

#include <accel/driver/sdk.h>
#include <accel/quant/format.h>

struct cpu_device {
    struct cpu_kernels kernels;
    struct accel_format formats[CPU_PLANAR]; /* of the places that stand for one type */
    uint32_t in_panels;                      /* 1: matmul reads weights in panels */
    uint32_t zero;
};

/* All rows of all operators: what the backend offers. table.c checks that the number is right. */
#define CPU_OPERATORS 75u
extern const struct sdk_kernel cpu_operators[];

/* sdk_backend.packs and .pack: weights of matmul in panels. */
uint32_t cpu_matmul_packs(const void *device, const struct accel_weight *weight);
void cpu_matmul_pack(const void *device, const struct accel_weight *weight, const void *const *planes, uint64_t rows,
                     void *out);

#endif
