/* SPDX-License-Identifier: Apache-2.0 */
/* libvulkan, opened at run time, and one instance of it, with or without the validation layer. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plugins/vulkan/vulkan.h"

#define LAYER "VK_LAYER_KHRONOS_validation"

static const struct {
    VkResult result;
    int32_t code;
    const char *name;
} results[] = {
    {VK_ERROR_OUT_OF_HOST_MEMORY, ACCEL_E_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY"},
    {VK_ERROR_OUT_OF_DEVICE_MEMORY, ACCEL_E_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY"},
    {VK_ERROR_INITIALIZATION_FAILED, ACCEL_E_UNSUPPORTED, "VK_ERROR_INITIALIZATION_FAILED"},
    {VK_ERROR_DEVICE_LOST, ACCEL_E_DEVICE_LOST, "VK_ERROR_DEVICE_LOST"},
    {VK_ERROR_MEMORY_MAP_FAILED, ACCEL_E_MEMORY, "VK_ERROR_MEMORY_MAP_FAILED"},
    {VK_ERROR_LAYER_NOT_PRESENT, ACCEL_E_NOT_FOUND, "VK_ERROR_LAYER_NOT_PRESENT"},
    {VK_ERROR_EXTENSION_NOT_PRESENT, ACCEL_E_UNSUPPORTED, "VK_ERROR_EXTENSION_NOT_PRESENT"},
    {VK_ERROR_FEATURE_NOT_PRESENT, ACCEL_E_UNSUPPORTED, "VK_ERROR_FEATURE_NOT_PRESENT"},
    {VK_ERROR_INCOMPATIBLE_DRIVER, ACCEL_E_NOT_FOUND, "VK_ERROR_INCOMPATIBLE_DRIVER"},
    {VK_ERROR_TOO_MANY_OBJECTS, ACCEL_E_LIMIT, "VK_ERROR_TOO_MANY_OBJECTS"},
    {VK_ERROR_FRAGMENTED_POOL, ACCEL_E_MEMORY, "VK_ERROR_FRAGMENTED_POOL"},
    {VK_ERROR_OUT_OF_POOL_MEMORY, ACCEL_E_MEMORY, "VK_ERROR_OUT_OF_POOL_MEMORY"},
    {VK_ERROR_INVALID_SHADER_NV, ACCEL_E_UNSUPPORTED, "VK_ERROR_INVALID_SHADER_NV"},
};

int32_t vulkan_error(struct accel_error *error, VkResult result, const char *what)
{
    const char *name = "VkResult";
    int32_t code = ACCEL_E_INTERNAL;

    for (size_t i = 0; i < sizeof(results) / sizeof(*results); i++)
        if (results[i].result == result) {
            name = results[i].name;
            code = results[i].code;
        }
    if (error != NULL && error->code == ACCEL_OK)
        error->native = result;
    return sdk_error(error, code, "%s: %s (%d)", what, name, result);
}

/* ---- validation ---- */

static VKAPI_ATTR VkBool32 VKAPI_CALL record_finding(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                     VkDebugUtilsMessageTypeFlagsEXT kinds,
                                                     const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    struct vulkan_findings *findings = user;
    /* Texts of older layers begin with the identifier, those of newer ones lack it. */
    const char *id = data->pMessageIdName != NULL ? data->pMessageIdName : "unnamed";

    (void)kinds;
    if (severity < VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) {
        sdk_log(findings->host, ACCEL_LOG_WARN, "driver=vulkan validation=warning id=%s text=\"%.400s\"", id,
                data->pMessage);
        return VK_FALSE;
    }
    sdk_log(findings->host, ACCEL_LOG_ERROR, "driver=vulkan validation=error id=%s text=\"%.400s\"", id,
            data->pMessage);
    if (!atomic_flag_test_and_set(&findings->writing))
        snprintf(findings->first, sizeof(findings->first), "%s: %s", id, data->pMessage);
    atomic_fetch_add(&findings->errors, 1);
    return VK_FALSE;
}

/* Newer layers (1.4.309) find a missing barrier between shaders only if the caller sets the variable
 * VK_KHRONOS_VALIDATION_SYNCVAL_SHADER_ACCESSES_HEURISTIC=1. */
static const VkValidationFeatureEnableEXT checks[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};

static int32_t begin_messenger(struct gpu_runtime *runtime, struct accel_error *error)
{
    VkDebugUtilsMessengerCreateInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = record_finding,
        .pUserData = &runtime->findings,
    };
    VkResult result = VK_ERROR_EXTENSION_NOT_PRESENT;

    if (runtime->call.CreateDebugUtilsMessengerEXT != NULL)
        result = runtime->call.CreateDebugUtilsMessengerEXT(runtime->instance, &info, NULL, &runtime->messenger);
    return result == VK_SUCCESS ? ACCEL_OK : vulkan_error(error, result, "vkCreateDebugUtilsMessengerEXT");
}

/* ---- library and instance ---- */

static int32_t open_library(struct gpu_runtime *runtime, struct accel_error *error)
{
    errno = 0;
    runtime->library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    if (runtime->library == NULL && errno == ENOMEM)
        return sdk_error(error, ACCEL_E_MEMORY, "no memory to load the Vulkan loader");
    if (runtime->library == NULL) {
        sdk_error(error, ACCEL_E_NOT_FOUND, "the Vulkan loader is not there: %s", dlerror());
        sdk_remedy(error, "install the Vulkan loader and the driver of the device; on Debian and Ubuntu: apt install "
                          "libvulkan1 mesa-vulkan-drivers");
        return ACCEL_E_NOT_FOUND;
    }
    *(void **)&runtime->lookup = dlsym(runtime->library, "vkGetInstanceProcAddr");
    if (runtime->lookup == NULL)
        return sdk_error(error, ACCEL_E_ABI, "libvulkan.so.1 has no vkGetInstanceProcAddr");
    return ACCEL_OK;
}

static int32_t instance_failed(VkResult result, struct accel_error *error)
{
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
        if (error != NULL && error->code == ACCEL_OK)
            error->native = result;
        sdk_error(error, ACCEL_E_NOT_FOUND,
                  "no Vulkan driver can be loaded: vkCreateInstance answers VK_ERROR_INCOMPATIBLE_DRIVER (%d)", result);
        sdk_remedy(error,
                   "install the Vulkan driver of the device (a file in /usr/share/vulkan/icd.d names it; on Debian "
                   "and Ubuntu: apt install mesa-vulkan-drivers), and check that VK_ICD_FILENAMES, if "
                   "set, names files that exist");
        return ACCEL_E_NOT_FOUND;
    }
    vulkan_error(error, result, "vkCreateInstance");
    if (result == VK_ERROR_OUT_OF_HOST_MEMORY) {
        sdk_remedy(error,
                   "the loader reports this for damaged files too: check that those in /usr/share/vulkan/icd.d, and "
                   "those that VK_ICD_FILENAMES names, are JSON");
    }
    if (result == VK_ERROR_LAYER_NOT_PRESENT) {
        sdk_remedy(error, "install the layer " LAYER " (on Debian and Ubuntu: apt install vulkan-validationlayers), or "
                          "leave the option validation off");
    }
    return error != NULL ? error->code : ACCEL_E_INTERNAL;
}

static int32_t create_instance(struct gpu_runtime *runtime, bool validate, struct accel_error *error)
{
    static const char *const layers[] = {LAYER};
    static const char *const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = "accel",
        .pEngineName = "accel",
        .apiVersion = VK_API_VERSION_1_3,
    };
    VkValidationFeaturesEXT features = {
        .sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
        .enabledValidationFeatureCount = sizeof(checks) / sizeof(*checks),
        .pEnabledValidationFeatures = checks,
    };
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    PFN_vkEnumerateInstanceVersion version =
        (PFN_vkEnumerateInstanceVersion)runtime->lookup(NULL, "vkEnumerateInstanceVersion");
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)runtime->lookup(NULL, "vkCreateInstance");
    uint32_t loader = VK_API_VERSION_1_0;
    VkResult result;

    if (version == NULL || create == NULL || version(&loader) != VK_SUCCESS || loader < VK_API_VERSION_1_1) {
        sdk_error(error, ACCEL_E_UNSUPPORTED, "the Vulkan loader is of version 1.0; 1.1 is needed");
        sdk_remedy(error, "install a newer libvulkan.so.1");
        return ACCEL_E_UNSUPPORTED;
    }
    if (validate) {
        info.pNext = &features;
        info.enabledLayerCount = 1;
        info.ppEnabledLayerNames = layers;
        info.enabledExtensionCount = 1;
        info.ppEnabledExtensionNames = extensions;
    }
    result = create(&info, NULL, &runtime->instance);
    return result == VK_SUCCESS ? ACCEL_OK : instance_failed(result, error);
}

struct name {
    const char *text;
    size_t place;
    bool needed;
};

#define NEEDED(function) {"vk" #function, offsetof(struct vulkan_instance_functions, function), true},
#define OPTIONAL(function) {"vk" #function, offsetof(struct vulkan_instance_functions, function), false},
static const struct name names[] = {VULKAN_INSTANCE_FUNCTIONS(NEEDED) VULKAN_INSTANCE_OPTIONAL(OPTIONAL)};

static int32_t resolve_functions(struct gpu_runtime *runtime, struct accel_error *error)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        PFN_vkVoidFunction found = runtime->lookup(runtime->instance, names[i].text);

        if (found == NULL && names[i].needed)
            return sdk_error(error, ACCEL_E_ABI, "libvulkan.so.1 has no %s", names[i].text);
        memcpy((char *)&runtime->call + names[i].place, &found, sizeof(found));
    }
    if (runtime->call.GetPhysicalDeviceProperties2 == NULL || runtime->call.GetPhysicalDeviceFeatures2 == NULL ||
        runtime->call.GetPhysicalDeviceMemoryProperties2 == NULL)
        return sdk_error(error, ACCEL_E_ABI, "libvulkan.so.1 reports 1.1 but lacks its functions");
    return ACCEL_OK;
}

int32_t vulkan_runtime_open(const struct accel_host *host, bool validate, struct gpu_runtime *runtime,
                            struct accel_error *error)
{
    int32_t code;

    memset(runtime, 0, sizeof(*runtime));
    runtime->host = host;
    runtime->findings.host = host;
    atomic_flag_clear(&runtime->findings.writing);
    code = open_library(runtime, error);
    if (code == ACCEL_OK)
        code = create_instance(runtime, validate, error);
    if (code == ACCEL_OK)
        code = resolve_functions(runtime, error);
    if (code == ACCEL_OK && validate)
        code = begin_messenger(runtime, error);
    if (code != ACCEL_OK)
        vulkan_runtime_close(runtime);
    return code;
}

void vulkan_runtime_close(struct gpu_runtime *runtime)
{
    if (runtime->messenger != VK_NULL_HANDLE && runtime->call.DestroyDebugUtilsMessengerEXT != NULL)
        runtime->call.DestroyDebugUtilsMessengerEXT(runtime->instance, runtime->messenger, NULL);
    if (runtime->instance != NULL && runtime->call.DestroyInstance != NULL)
        runtime->call.DestroyInstance(runtime->instance, NULL);
    if (runtime->library != NULL)
        dlclose(runtime->library);
    memset(runtime, 0, sizeof(*runtime));
}
