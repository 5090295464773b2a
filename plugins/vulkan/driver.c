/* SPDX-License-Identifier: Apache-2.0 */
/* The vulkan driver: devices that run SPIR-V, through the GPU library (sdk/gpu). */
#include "plugins/vulkan/vulkan.h"
#include "sdk/gpu/cache.h"
#include "sdk/gpu/host.h"

/* gpu_spirv_sources: made by the build of sdk/gpu/kernels. */
#include "plugins/vulkan/kernels.h"

static const struct accel_option validation_option = {
    .size = sizeof(validation_option),
    .type = ACCEL_OPTION_FLAG,
    .name = "validation",
    .help = "load the validation layer with its synchronization checks; what it finds is an error",
    .highest = 1,
};

static const struct accel_option *const options[] = {
    &gpu_cache_option,     &gpu_arrangement_option, &gpu_precompile_option, &gpu_features_option,
    &gpu_subgroups_option, &gpu_subgroup_option,    &gpu_tuning_option,     &validation_option,
};

int32_t vulkan_load(const struct accel_host *host, struct gpu_runtime **out_runtime, struct accel_error *error)
{
    void *memory = NULL;
    int32_t code;

    *out_runtime = NULL;
    code = host->allocate(host, ACCEL_MEMORY_HOST, sizeof(struct gpu_runtime), 64, &memory, error);
    if (code != ACCEL_OK)
        return code;
    code = vulkan_runtime_open(host, false, memory, error);
    if (code != ACCEL_OK) {
        host->release(host, memory);
        return code;
    }
    *out_runtime = memory;
    return ACCEL_OK;
}

void vulkan_unload(struct gpu_runtime *runtime)
{
    const struct accel_host *host = runtime->host;

    vulkan_runtime_close(runtime);
    host->release(host, runtime);
}

static const struct gpu_api api = {
    .name = "vulkan",
    .sources = gpu_spirv_sources,
    .source_count = sizeof(gpu_spirv_sources) / sizeof(*gpu_spirv_sources),
    .cache_bytes = VULKAN_CACHE_BYTES,
    .queue_bytes = sizeof(struct gpu_queue),
    .cache_header = sizeof(VkPipelineCacheHeaderVersionOne),
    .slack = VULKAN_SLACK,
    .memory_now = vulkan_memory_now,
#define GPU_SLOT(name) .name = vulkan_##name,
#include "sdk/gpu/slots.def"
};

GPU_DRIVER(api, options, sizeof(options) / sizeof(*options), "vulkan", VULKAN_DRIVER_VERSION, "Apache-2.0",
           "libraries=libvulkan.so.1\n"
           "depends=/usr/share/vulkan/icd.d /etc/vulkan/icd.d /dev/dri $VK_ICD_FILENAMES $VK_DRIVER_FILES\n"
           "effects=prints threads\n");
