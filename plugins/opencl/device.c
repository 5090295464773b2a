/* SPDX-License-Identifier: Apache-2.0 */
/* An open device: its context, the fingerprint of its compiled code, and the effect of its options. */
#include <string.h>

#include "plugins/opencl/opencl.h"

/* Hashes all inputs of compilation: device, driver, versions, features. */
static void make_fingerprint(struct gpu_device *device)
{
    static const cl_device_info what[] = {CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION, CL_DRIVER_VERSION,
                                          CL_DEVICE_OPENCL_C_VERSION};
    char text[512];

    memset(device->fingerprint, 0, sizeof(device->fingerprint));
    gpu_mix(device->fingerprint, OPENCL_VERSION, sizeof(OPENCL_VERSION));
    for (uint32_t i = 0; i < sizeof(what) / sizeof(*what); i++) {
        opencl_query_text(device->runtime, device->device, what[i], text, sizeof(text));
        gpu_mix(device->fingerprint, text, strlen(text) + 1);
    }
    gpu_mix(device->fingerprint, &device->limits.features, sizeof(device->limits.features));
}

static int32_t open_found(struct gpu_runtime *runtime, const struct opencl_found *found,
                          const struct accel_setting *settings, uint32_t setting_count, struct gpu_device **out_device,
                          struct accel_error *error)
{
    const struct accel_host *host = runtime->host;
    const struct accel_setting *cache;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)found->platform, 0};
    char version[256];
    struct gpu_device *device;
    void *block = NULL;
    cl_int result = CL_SUCCESS;
    int32_t code = host->allocate(host, ACCEL_MEMORY_HOST, sizeof(*device), 64, &block, error);

    if (code != ACCEL_OK)
        return code;
    device = block;
    device->runtime = runtime;
    device->host = host;
    device->cl = &runtime->cl;
    device->device = found->device;
    opencl_limits(runtime, found->device, &device->limits);
    cache = sdk_setting(settings, setting_count, "cache");
    device->stores_binaries = cache == NULL || cache->text == NULL || strcmp(cache->text, "off") != 0;
    code = gpu_limits_choose(&device->limits, settings, setting_count, error);
    if (code != ACCEL_OK) {
        host->release(host, block);
        return code;
    }
    opencl_query_text(runtime, found->device, CL_DEVICE_OPENCL_C_VERSION, version, sizeof(version));
    device->standard = opencl_major(version) >= 3   ? "-cl-std=CL3.0"
                       : opencl_major(version) == 2 ? "-cl-std=CL2.0"
                                                    : "-cl-std=CL1.2";
    make_fingerprint(device);
    device->context = runtime->cl.CreateContext(properties, 1, &found->device, NULL, NULL, &result);
    if (result != CL_SUCCESS) {
        host->release(host, block);
        return opencl_error(error, result, found->id);
    }
    pthread_mutex_init(&device->binaries_lock, NULL);
    pthread_mutex_init(&device->pipelines_lock, NULL);
    *out_device = device;
    return ACCEL_OK;
}

int32_t opencl_open(struct gpu_runtime *runtime, const char *id, const struct accel_setting *settings,
                    uint32_t setting_count, struct gpu_device **out_device, struct gpu_limits *out_limits,
                    struct accel_error *error)
{
    struct opencl_found found[OPENCL_DEVICES];
    uint32_t count = 0;

    *out_device = NULL;
    opencl_find(runtime, found, &count);
    for (uint32_t i = 0; i < count; i++) {
        int32_t code;

        if (strcmp(found[i].id, id) != 0)
            continue;
        code = open_found(runtime, &found[i], settings, setting_count, out_device, error);
        if (code == ACCEL_OK)
            *out_limits = (*out_device)->limits;
        return code;
    }
    return sdk_error(error, ACCEL_E_NOT_FOUND, "the opencl driver has no device %s", id);
}

void opencl_close(struct gpu_device *device)
{
    opencl_free_binaries(device);
    device->cl->ReleaseContext(device->context);
    pthread_mutex_destroy(&device->binaries_lock);
    pthread_mutex_destroy(&device->pipelines_lock);
    device->host->release(device->host, device);
}

void opencl_fingerprint(const struct gpu_device *device, uint8_t out_fingerprint[16])
{
    memcpy(out_fingerprint, device->fingerprint, sizeof(device->fingerprint));
}
