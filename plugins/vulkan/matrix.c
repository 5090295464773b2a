/* SPDX-License-Identifier: Apache-2.0 */
/* Cooperative matrices: selects a matrix size that kernels support, and the features to enable. */
#include "config.h"

#include <stdlib.h>

#include "plugins/vulkan/vulkan.h"

#ifdef HAVE_GLSL_COOPMAT
const bool vulkan_matrix_kernels = true;
#else
const bool vulkan_matrix_kernels = false;
#endif

/* Matrices are defined in the memory model of 1.2. */
static bool has_features(const struct gpu_runtime *runtime, const struct vulkan_physical *physical)
{
    struct vulkan_matrix_features asked;
    VkPhysicalDeviceFeatures2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};

    vulkan_matrix_features(&asked, 0);
    asked.matrix.pNext = &asked.model;
    all.pNext = &asked.matrix;
    runtime->call.GetPhysicalDeviceFeatures2(physical->handle, &all);
    return asked.matrix.cooperativeMatrix == VK_TRUE && asked.model.vulkanMemoryModel == VK_TRUE;
}

/* Returns whether matmul_matrix.k supports a size: halves in, floats out, extents that divide its tiles. */
static bool fits(const VkCooperativeMatrixPropertiesKHR *offer)
{
    return offer->AType == VK_COMPONENT_TYPE_FLOAT16_KHR && offer->BType == VK_COMPONENT_TYPE_FLOAT16_KHR &&
           offer->CType == VK_COMPONENT_TYPE_FLOAT32_KHR && offer->ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR &&
           offer->scope == VK_SCOPE_SUBGROUP_KHR && !offer->saturatingAccumulation && offer->MSize != 0 &&
           offer->NSize != 0 && offer->KSize >= 8 && 32 % offer->MSize == 0 && 32 % offer->NSize == 0 &&
           32 % offer->KSize == 0 && offer->MSize * offer->NSize <= GPU_MATRIX_MOST;
}

static VkResult list(PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR query, VkPhysicalDevice handle,
                     VkCooperativeMatrixPropertiesKHR **out_offers, uint32_t *out_count)
{
    VkResult result = query(handle, out_count, NULL);

    if (result != VK_SUCCESS || *out_count == 0)
        return result;
    *out_offers = calloc(*out_count, sizeof(**out_offers));
    if (*out_offers == NULL)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < *out_count; i++)
        (*out_offers)[i].sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
    result = query(handle, out_count, *out_offers);
    return result == VK_INCOMPLETE ? VK_SUCCESS : result;
}

VkResult vulkan_query_matrix(const struct gpu_runtime *runtime, struct vulkan_physical *physical)
{
    PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR query =
        (PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)runtime->lookup(
            runtime->instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    VkCooperativeMatrixPropertiesKHR *offers = NULL;
    uint32_t count = 0, best = 0;
    VkResult result;

    if (!physical->features.cooperative_matrix || query == NULL ||
        physical->properties.apiVersion < VK_API_VERSION_1_2 || !has_features(runtime, physical))
        return VK_SUCCESS;
    result = list(query, physical->handle, &offers, &count);
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++) {
        uint32_t volume = offers[i].MSize * offers[i].NSize * offers[i].KSize;

        if (!fits(&offers[i]) || volume <= best)
            continue;
        best = volume;
        physical->matrix[0] = offers[i].MSize;
        physical->matrix[1] = offers[i].NSize;
        physical->matrix[2] = offers[i].KSize;
    }
    free(offers);
    return result;
}

void vulkan_matrix_features(struct vulkan_matrix_features *out_features, VkBool32 value)
{
    *out_features = (struct vulkan_matrix_features){
        .model = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES, .vulkanMemoryModel = value},
        .matrix = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
                   .cooperativeMatrix = value}};
}

bool vulkan_has_matrix(const struct vulkan_physical *physical)
{
    return vulkan_matrix_kernels && physical->matrix[0] != 0;
}
