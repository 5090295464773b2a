/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Services of the GPU library for plugins, and GPU_DRIVER, which makes a driver of a struct gpu_api.
 */
#ifndef SDK_GPU_HOST_H
#define SDK_GPU_HOST_H

#include <accel/driver/note.h>
#include <accel/driver/sdk.h>

#include "sdk/gpu/api.h"

/** Creates an instance of an API. GPU_DRIVER's attach calls it. */
int32_t gpu_attach(const struct gpu_api *api, const struct accel_host *host, uint32_t minor,
                   struct accel_driver_instance **out_instance, struct accel_error *error);

/** Converts limits to the facts of `enumerate`. */
void gpu_facts_limits(const struct gpu_limits *limits, struct accel_limits *out_limits);

/** The option `arrangement` of a driver: a row of its option table, read by the library. */
extern const struct accel_option gpu_arrangement_option;

/** The option `precompile` of a driver: whether kernels are compiled with the module or with the sets that use them. */
extern const struct accel_option gpu_precompile_option;

/** A feature of devices by its names: a row of features.def. */
struct gpu_feature {
    uint32_t bit;       /**< GPU_FEATURE_... */
    uint32_t with;      /**< bits that go with it when it is left out */
    const char *name;   /**< of the macro HAS_... */
    const char *option; /**< word of the option `features`, or "" */
};

extern const struct gpu_feature gpu_features[];
extern const uint32_t gpu_feature_count;

/** The words of a device's features with commas between, or "none", for its detail. */
void gpu_features_text(uint32_t features, char *text, size_t bytes);

/** The options `features`, `subgroups`, `subgroup` and `tuning` of a driver: rows of its option table. */
extern const struct accel_option gpu_features_option;
extern const struct accel_option gpu_tuning_option;
extern const struct accel_option gpu_subgroups_option;
extern const struct accel_option gpu_subgroup_option;

/** Applies these options to the limits: removes features and sets tuning. `open` of an API calls it before it uses any
 * feature of the limits. */
int32_t gpu_limits_choose(struct gpu_limits *limits, const struct accel_setting *settings, uint32_t setting_count,
                          struct accel_error *error);

/** Types of weights for the facts of `enumerate`. */
const uint32_t *gpu_facts_types(uint32_t *out_count);

/** The index of the hardware at a PCI address, or -1. */
int32_t gpu_find_pci(const struct accel_hardware *const *hardware, uint32_t hardware_count, uint32_t domain,
                     uint32_t bus, uint32_t slot, uint32_t function);

/** The index of the processors in the list, or -1. */
int32_t gpu_find_cpu(const struct accel_hardware *const *hardware, uint32_t hardware_count);

/** Adds bytes to a fingerprint, which begins as 16 bytes of any value. */
void gpu_mix(uint8_t fingerprint[16], const void *bytes, uint64_t count);

/**
 * Defines a driver from a struct gpu_api and its option table. Used once in a driver, at file level:
 *
 *     GPU_DRIVER(opencl_api, options, 1, "opencl", "0.1.0", "Apache-2.0", "libraries=libOpenCL.so.1\n");
 */
#define GPU_DRIVER(api_, options_, option_count_, name_, version_, licence_, more_)                                    \
    SDK_DRIVER(gpu_attach, api_, options_, option_count_, name_, version_, licence_, more_)

#endif
