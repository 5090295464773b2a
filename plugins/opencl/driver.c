/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl driver: all devices that the OpenCL loader finds, through version 1.2 and optional later features. */
#include "plugins/opencl/kernels.h"
#include "plugins/opencl/opencl.h"
#include "sdk/gpu/cache.h"
#include "sdk/gpu/host.h"

static const struct gpu_api api = {
    .name = "opencl",
    .sources = gpu_opencl_sources,
    .source_count = sizeof(gpu_opencl_sources) / sizeof(*gpu_opencl_sources),
    .cache_bytes = OPENCL_BINARY_BYTES,
    .queue_bytes = sizeof(struct gpu_queue),
    .pipeline_cached = opencl_pipeline_cached,
#define GPU_SLOT(name) .name = opencl_##name,
#include "sdk/gpu/slots.def"
};

static const struct accel_option *const options[] = {
    &gpu_cache_option,     &gpu_arrangement_option, &gpu_precompile_option, &gpu_features_option,
    &gpu_subgroups_option, &gpu_subgroup_option,    &gpu_tuning_option,
};

GPU_DRIVER(api, options, sizeof(options) / sizeof(*options), "opencl", OPENCL_VERSION, "Apache-2.0",
           "isa=x86-64\nlibraries=libOpenCL.so.1\ndepends=/etc/OpenCL/vendors $OCL_ICD_VENDORS $OCL_ICD_FILENAMES\n"
           "effects=prints threads\n");
