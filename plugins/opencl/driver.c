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
    .load = opencl_load,
    .unload = opencl_unload,
    .enumerate = opencl_enumerate,
    .open = opencl_open,
    .close = opencl_close,
    .fingerprint = opencl_fingerprint,
    .memory_create = opencl_memory_create,
    .memory_free = opencl_memory_free,
    .memory_address = opencl_memory_address,
    .pipeline_create = opencl_pipeline_create,
    .pipeline_free = opencl_pipeline_free,
    .pipeline_cached = opencl_pipeline_cached,
    .cache_write = opencl_cache_write,
    .cache_read = opencl_cache_read,
    .list_create = opencl_list_create,
    .list_record = opencl_list_record,
    .list_free = opencl_list_free,
    .queue_create = opencl_queue_create,
    .queue_free = opencl_queue_free,
    .submit = opencl_submit,
    .completed = opencl_completed,
    .wait = opencl_wait,
    .reset = opencl_reset,
};

static const struct accel_option *const options[] = {
    &gpu_cache_option,     &gpu_arrangement_option, &gpu_precompile_option, &gpu_features_option,
    &gpu_subgroups_option, &gpu_subgroup_option,    &gpu_tuning_option,
};

GPU_DRIVER(api, options, sizeof(options) / sizeof(*options), "opencl", OPENCL_VERSION, "Apache-2.0",
           "isa=x86-64\nlibraries=libOpenCL.so.1\ndepends=/etc/OpenCL/vendors $OCL_ICD_VENDORS $OCL_ICD_FILENAMES\n"
           "effects=prints threads\n");
