/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Internal interface of the Vulkan driver: the library that is opened at run time, physical devices, the logical device
 * and its objects. Nothing is linked: every Vulkan function is resolved into one of two tables.
 *
 * Ownership: a struct gpu_runtime belongs to the driver's instance, a struct gpu_device to an open device; objects of a
 * device are freed before it is closed. Errors carry the VkResult in `native`.
 */
#ifndef ACCEL_PLUGINS_VULKAN_H
#define ACCEL_PLUGINS_VULKAN_H

#define VK_NO_PROTOTYPES
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <vulkan/vulkan.h>

#include <accel/driver/sdk.h>

#include "sdk/gpu/api.h"

/* Definitions that headers before 1.3.255 lack. */
#ifndef VK_KHR_cooperative_matrix
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR ((VkStructureType)1000506000)
#define VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR ((VkStructureType)1000506001)
#define VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME "VK_KHR_cooperative_matrix"
#define VK_COMPONENT_TYPE_FLOAT16_KHR 0
#define VK_COMPONENT_TYPE_FLOAT32_KHR 1
#define VK_SCOPE_SUBGROUP_KHR 3

typedef struct VkPhysicalDeviceCooperativeMatrixFeaturesKHR {
    VkStructureType sType;
    void *pNext;
    VkBool32 cooperativeMatrix;
    VkBool32 cooperativeMatrixRobustBufferAccess;
} VkPhysicalDeviceCooperativeMatrixFeaturesKHR;

typedef struct VkCooperativeMatrixPropertiesKHR {
    VkStructureType sType;
    void *pNext;
    uint32_t MSize;
    uint32_t NSize;
    uint32_t KSize;
    int32_t AType;
    int32_t BType;
    int32_t CType;
    int32_t ResultType;
    VkBool32 saturatingAccumulation;
    int32_t scope;
} VkCooperativeMatrixPropertiesKHR;

typedef VkResult(VKAPI_PTR *PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)(
    VkPhysicalDevice physicalDevice, uint32_t *pPropertyCount, VkCooperativeMatrixPropertiesKHR *pProperties);
#endif

#define VULKAN_DRIVER_VERSION "0.1.0"
/** Usage flags of every buffer. */
#define VULKAN_BUFFER_USAGE                                                                                            \
    (VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT)

/* ---- functions ---- */

/** Functions of an instance; the second list may be missing. */
#define VULKAN_INSTANCE_FUNCTIONS(X)                                                                                   \
    X(DestroyInstance)                                                                                                 \
    X(EnumeratePhysicalDevices)                                                                                        \
    X(GetPhysicalDeviceProperties)                                                                                     \
    X(GetPhysicalDeviceQueueFamilyProperties)                                                                          \
    X(GetPhysicalDeviceMemoryProperties)                                                                               \
    X(EnumerateDeviceExtensionProperties)                                                                              \
    X(CreateDevice)                                                                                                    \
    X(GetDeviceProcAddr)
#define VULKAN_INSTANCE_OPTIONAL(X)                                                                                    \
    X(GetPhysicalDeviceProperties2)                                                                                    \
    X(GetPhysicalDeviceFeatures2)                                                                                      \
    X(GetPhysicalDeviceMemoryProperties2)                                                                              \
    X(CreateDebugUtilsMessengerEXT)                                                                                    \
    X(DestroyDebugUtilsMessengerEXT)

/** Functions of a device. */
#define VULKAN_DEVICE_FUNCTIONS(X)                                                                                     \
    X(DestroyDevice)                                                                                                   \
    X(GetDeviceQueue)                                                                                                  \
    X(QueueSubmit)                                                                                                     \
    X(CreateBuffer)                                                                                                    \
    X(DestroyBuffer)                                                                                                   \
    X(GetBufferMemoryRequirements)                                                                                     \
    X(AllocateMemory)                                                                                                  \
    X(FreeMemory)                                                                                                      \
    X(BindBufferMemory)                                                                                                \
    X(MapMemory)                                                                                                       \
    X(CreateShaderModule)                                                                                              \
    X(DestroyShaderModule)                                                                                             \
    X(CreateDescriptorSetLayout)                                                                                       \
    X(DestroyDescriptorSetLayout)                                                                                      \
    X(CreateDescriptorPool)                                                                                            \
    X(DestroyDescriptorPool)                                                                                           \
    X(AllocateDescriptorSets)                                                                                          \
    X(UpdateDescriptorSets)                                                                                            \
    X(CreatePipelineLayout)                                                                                            \
    X(DestroyPipelineLayout)                                                                                           \
    X(CreatePipelineCache)                                                                                             \
    X(DestroyPipelineCache)                                                                                            \
    X(GetPipelineCacheData)                                                                                            \
    X(MergePipelineCaches)                                                                                             \
    X(CreateComputePipelines)                                                                                          \
    X(DestroyPipeline)                                                                                                 \
    X(CreateCommandPool)                                                                                               \
    X(DestroyCommandPool)                                                                                              \
    X(ResetCommandPool)                                                                                                \
    X(AllocateCommandBuffers)                                                                                          \
    X(BeginCommandBuffer)                                                                                              \
    X(EndCommandBuffer)                                                                                                \
    X(CmdBindPipeline)                                                                                                 \
    X(CmdBindDescriptorSets)                                                                                           \
    X(CmdPushConstants)                                                                                                \
    X(CmdDispatch)                                                                                                     \
    X(CmdPipelineBarrier)                                                                                              \
    X(CmdCopyBuffer)                                                                                                   \
    X(CmdFillBuffer)                                                                                                   \
    X(CreateSemaphore)                                                                                                 \
    X(DestroySemaphore)

#define VULKAN_SLOT(name) PFN_vk##name name;

struct vulkan_instance_functions {
    VULKAN_INSTANCE_FUNCTIONS(VULKAN_SLOT)
    VULKAN_INSTANCE_OPTIONAL(VULKAN_SLOT)
};

struct vulkan_device_functions {
    VULKAN_DEVICE_FUNCTIONS(VULKAN_SLOT)
    PFN_vkWaitSemaphores WaitSemaphores;                     /**< of the core of 1.2, or of the extension */
    PFN_vkGetSemaphoreCounterValue GetSemaphoreCounterValue; /**< the same */
};

/* ---- the library ---- */

/** Messages of the validation layer. Written by any thread that calls Vulkan. */
struct vulkan_findings {
    const struct accel_host *host;
    atomic_uint errors;
    atomic_flag writing;
    char first[384]; /**< text of the first error; complete once `errors` is above 0 */
};

/** libvulkan and one VkInstance of it. Immutable after it was made, but for the findings. */
struct gpu_runtime {
    const struct accel_host *host;
    void *library;
    PFN_vkGetInstanceProcAddr lookup;
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger; /**< of an instance with validation, else VK_NULL_HANDLE */
    struct vulkan_instance_functions call;
    struct vulkan_findings findings;
};

/** Opens libvulkan and makes an instance; `validate` loads the validation layer with its synchronization checks.
 *  ACCEL_E_NOT_FOUND with a remedy where library, drivers or the layer are not installed. */
int32_t vulkan_runtime_open(const struct accel_host *host, bool validate, struct gpu_runtime *runtime,
                            struct accel_error *error);
/** Closes a runtime; accepts a zeroed one. */
void vulkan_runtime_close(struct gpu_runtime *runtime);

/** Sets an error whose `native` is the VkResult: "what: VK_ERROR_... (-4)". Returns accel's code for the result. */
int32_t vulkan_error(struct accel_error *error, VkResult result, const char *what);

/* ---- physical devices ---- */

#define VULKAN_MOST_DEVICES 16u
#define VULKAN_CACHE_BYTES (4u << 20) /**< largest pipeline cache that is stored */
/* A block for each of three kinds of memory may be nearly empty, and any full one may end in a gap of one part. */
#define VULKAN_BLOCK_BYTES (UINT64_C(16) << 20) /**< that memories of up to LARGE_BYTES share */
#define VULKAN_SLACK                                                                                                   \
    "the rest of blocks of 16 MiB that memories of up to 2 MiB share: at most 48 MiB, and a seventh of these memories"
#define VULKAN_IN_FLIGHT 16u /**< submits of one queue */

/** Features of a device; each is set only if it can be enabled. */
struct vulkan_features {
    bool timeline_core; /**< timeline semaphores of 1.2, else of the extension */
    bool timeline;
    bool f16;
    bool int8;
    bool int16;
    bool storage8;
    bool storage16;
    bool int_dot;
    bool int_dot_fast; /**< signed 4 x 8 packed is accelerated */
    bool subgroup_arithmetic;
    bool subgroup_ballot;
    bool subgroup_shuffle;
    bool subgroup_control; /**< a pipeline may choose its subgroup size */
    bool full_subgroups;
    bool cooperative_matrix;
    bool memory_budget;
    bool pci_bus;
    bool driver_properties;
};

/** One physical device and the results of all queries. */
struct vulkan_physical {
    VkPhysicalDevice handle;
    struct vulkan_features features;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory;
    VkPhysicalDeviceIDProperties identity;
    VkPhysicalDeviceSubgroupProperties subgroup;
    VkPhysicalDeviceSubgroupSizeControlProperties subgroup_sizes;
    VkPhysicalDeviceMaintenance3Properties maintenance;
    VkPhysicalDeviceDriverProperties driver;
    VkPhysicalDevicePCIBusInfoPropertiesEXT pci;
    uint64_t largest_buffer;
    uint32_t family;    /**< queue family for compute; UINT32_MAX: there is none */
    uint32_t matrix[3]; /**< M, N and K of the product of halves that kernels support, 0: none */
    char id[40];
    char refusal[160]; /**< why it is not used, or empty */
    char remedy[160];
};

/** Asks for all physical devices; more than VULKAN_MOST_DEVICES are left out. */
int32_t vulkan_physical_list(const struct gpu_runtime *runtime, struct vulkan_physical *devices, uint32_t *out_count,
                             struct accel_error *error);
/** True if the build has kernels with cooperative matrices; some compilers lack them. */
extern const bool vulkan_matrix_kernels;
/** Queries the matrix sizes of a device with the extension, and stores the largest that kernels support. */
VkResult vulkan_query_matrix(const struct gpu_runtime *runtime, struct vulkan_physical *physical);

/** Feature structs that cooperative matrices require. */
struct vulkan_matrix_features {
    VkPhysicalDeviceVulkanMemoryModelFeatures model;
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix;
};

/** Fills both, not chained, with all features of them that kernels need set to a value. */
void vulkan_matrix_features(struct vulkan_matrix_features *out_features, VkBool32 value);
/** Returns whether kernels use matrices on a device. */
bool vulkan_has_matrix(const struct vulkan_physical *physical);

/** True when the device is emulated by the processors. */
bool vulkan_is_software(const struct vulkan_physical *physical);
/** True when all memory of the device is the host's and can be mapped. */
bool vulkan_is_unified(const struct vulkan_physical *physical);

/* ---- device ---- */

struct vulkan_block;

/** The layouts of a pipeline with some number of storage buffers and a whole block of words. */
struct vulkan_layout {
    VkDescriptorSetLayout bindings;
    VkPipelineLayout pipeline;
};

/** A logical device. Slots of different threads: memory and submits are locked, the rest is constant while it is open.
 */
struct gpu_device {
    const struct accel_host *host;
    struct gpu_runtime *runtime; /**< the driver's, or `own` */
    struct gpu_runtime own;      /**< an instance with validation, if the option is set */
    struct vulkan_physical physical;
    struct gpu_limits limits;
    VkDevice handle;
    VkQueue queue;
    struct vulkan_device_functions call;
    pthread_mutex_t submit_lock; /**< of the queue of Vulkan */
    pthread_mutex_t memory_lock; /**< of the blocks */
    struct vulkan_block *blocks;
    _Atomic uint64_t used; /**< bytes of allocated device memory */
    struct vulkan_layout layouts[GPU_BINDINGS + 1];
    uint32_t memory_type[GPU_MEMORY_DOWNLOAD + 1]; /**< by kind: index of Vulkan */
    bool locks;                                    /**< the three locks were made */
    bool validate;
    atomic_bool lost;
    pthread_rwlock_t cache_lock; /**< locked for writing while bytes are merged into the cache */
    VkPipelineCache cache;
};

/** Fills the limits of a physical device. */
void vulkan_limits(const struct vulkan_physical *physical, struct gpu_limits *out_limits);

/** As vulkan_error; a device that is lost stays so. */
int32_t vulkan_failed(struct gpu_device *device, VkResult result, const char *what, struct accel_error *error);
/** ACCEL_OK, or ACCEL_E_INTERNAL with the layer's words where validation has found an error. */
int32_t vulkan_validated(struct gpu_device *device, struct accel_error *error);

/** Makes all earlier writes visible to later commands of the queue, and to the host once a submit is done. */
void vulkan_barrier_all(const struct gpu_device *device, VkCommandBuffer buffer);

/** Host memory of a handle, zeroed and counted under `memory_class`. */
int32_t vulkan_allocate(const struct gpu_device *device, uint32_t memory_class, uint64_t bytes, void **out_memory,
                        struct accel_error *error);

/* Functions of the slots of struct gpu_api, vulkan_open and so on; their contracts are in sdk/gpu/api.h. */
#define GPU_SLOT(name) __typeof__(*((struct gpu_api *)NULL)->name) vulkan_##name;
#include "sdk/gpu/slots.def"
int32_t vulkan_memory_now(struct gpu_device *device, struct accel_memory_now *out_memory, struct accel_error *error);

/* ---- handles ---- */

/** A buffer of Vulkan with its memory: a part of a block, or memory of its own where it is large. */
struct gpu_memory {
    VkBuffer buffer;
    char *host; /**< where it is mapped, or NULL */
    struct vulkan_block *block;
    uint64_t place;          /**< in the block */
    uint64_t size;           /**< bytes that it occupies in the block */
    struct gpu_memory *next; /**< of the block, by place */
};

struct gpu_pipeline {
    VkPipeline handle;
    const struct vulkan_layout *layout; /**< of the device */
};

#define VULKAN_MOST_BUFFERS (GPU_OPERATIONS + 1u)

/* One submit in flight. */
struct vulkan_slot {
    VkCommandPool pool;
    uint64_t value; /**< of the submit that used it last; 0: none did */
    uint32_t made;  /**< command buffers of the pool */
    uint32_t used;  /**< of them, by the submit */
    VkCommandBuffer buffers[GPU_OPERATIONS / 2 + 1];
};

struct gpu_queue {
    struct gpu_device *device;
    VkSemaphore timeline;
    uint32_t next; /**< slot */
    struct vulkan_slot slots[VULKAN_IN_FLIGHT];
    VkCommandBuffer list[VULKAN_MOST_BUFFERS]; /**< of the submit that is being put together */
};

struct gpu_list {
    struct gpu_device *device;
    const struct gpu_dispatch *dispatches; /**< the library's */
    uint32_t count;
    uint32_t zero;
    VkDescriptorPool descriptors;
    VkDescriptorSet *sets; /**< [count] */
    VkCommandPool commands;
    VkCommandBuffer buffer;
};

#endif
