/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of a module. The driver loads the weights that it requires in its own container; all others are used
 * where the source maps them, or copied once if the source does not map them or maps them at the wrong alignment. */
#include "config.h"

#include <string.h>

#include "core/base/checked.h"
#include "core/base/open.h"
#include "core/boundary/import.h"
#include "core/graph/types.h"
#include "core/runtime/check.h"
#include "core/runtime/device.h"
#include "core/runtime/module.h"
#include "core/runtime/packed.h"
#include "core/runtime/task.h"

static void weights_destroy(struct accel_object *object)
{
    struct accel_weights *weights = (struct accel_weights *)object;
    struct accel_memory *memory = &object->context->memory;
    if (weights->handle != NULL)
        ACCEL_FREE_HANDLE(weights->module->device, weights->handle, "free of weights");
    if (weights->packed.memory != NULL)
        accel_memory_count(memory, ACCEL_MEMORY_WEIGHTS, -(int64_t)accel_packed_weights(&weights->packed), NULL);
    accel_packed_unmap(&weights->packed);
    accel_packed_place_free(&weights->place);
    accel_memory_free(memory, weights->copies);
    accel_memory_free(memory, weights->planes);
    accel_object_release(&weights->module->object);
}

/* Computes the bytes of each plane; planes that the type does not have are 0. */
static int32_t plane_bytes(const struct accel_weight *weight, uint64_t bytes[ACCEL_PLANES], uint32_t *out_planes,
                           struct accel_error *error)
{
    struct accel_type_layout layout;
    uint64_t rows = 1, width = weight->rank > 0 ? weight->dims[weight->rank - 1] : 1;
    bool fits = accel_type_describe(weight->type, &layout);
    for (uint32_t d = 0; fits && d + 1 < weight->rank; d++)
        fits = accel_mul_u64(rows, weight->dims[d], &rows);
    memset(bytes, 0, ACCEL_PLANES * sizeof(*bytes));
    for (uint32_t p = 0; fits && p < layout.planes; p++)
        fits = accel_type_plane_bytes(&layout, p, rows, width, &bytes[p]);
    if (!fits)
        return accel_error_set(error, ACCEL_E_INVALID, "weight %s: its type 0x%x and shape have no size", weight->key,
                               weight->type);
    *out_planes = layout.planes;
    return ACCEL_OK;
}

/* Sets the address of a plane that the source maps whole; another plane keeps a NULL address. */
static int32_t map_plane(const struct accel_module_weight *weight, uint32_t plane, const struct accel_source *source,
                         struct accel_plane *out, struct accel_error *error)
{
    const void *mapped = NULL;
    uint64_t bytes = 0;
    int32_t code = ACCEL_E_UNSUPPORTED;
    uint64_t alignment = weight->alignment == 0 ? 1 : weight->alignment;
    if (ACCEL_CAN(source, map))
        code = source->map(source, weight->value->key, plane, &mapped, &bytes, error);
    if (code == ACCEL_OK && bytes != out->bytes)
        return accel_error_set(error, ACCEL_E_CORRUPT,
                               "weight %s: plane %u has %llu bytes, its type and shape require %llu",
                               weight->value->key, plane, (unsigned long long)bytes, (unsigned long long)out->bytes);
    if (code != ACCEL_OK && code != ACCEL_E_UNSUPPORTED)
        return accel_error_set(error, code, "weight %s: its source fails with %s", weight->value->key,
                               accel_error_name(code));
    accel_error_clear(error);
    if (code == ACCEL_OK && mapped != NULL && ((uintptr_t)mapped & (alignment - 1)) == 0)
        out->address = (void *)(uintptr_t)mapped;
    return ACCEL_OK;
}

/* Returns whether the core holds the weight, in place or copied: a resident one of a driver without a container. */
static bool is_held_by_core(const struct accel_module *module, const struct accel_module_weight *weight)
{
    uint32_t held = 1u << ACCEL_MAPPED;
    if (!ACCEL_CAN(module->device->handle->table, weights_create))
        held |= 1u << ACCEL_RESIDENT;
    return (weight->placements & held) != 0;
}

static int32_t map_planes(struct accel_weights *weights, const struct accel_source *source, struct accel_error *error)
{
    const struct accel_module *module = weights->module;
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; code == ACCEL_OK && i < module->weight_count; i++) {
        const struct accel_module_weight *weight = &module->weights[i];
        uint64_t bytes[ACCEL_PLANES];
        struct accel_plane *plane = &weights->planes[i * ACCEL_PLANES];
        uint32_t planes = 0, whole = 0;
        const void *part;
        if (!is_held_by_core(module, weight))
            continue;
        code = plane_bytes(&weight->weight, bytes, &planes, error);
        for (uint32_t p = 0; code == ACCEL_OK && p < planes; p++) {
            plane[p] = (struct accel_plane){NULL, ACCEL_BIND_WEIGHTS, bytes[p], 0};
            code = map_plane(weight, p, source, &plane[p], error);
            whole += plane[p].address != NULL;
        }
        if (code == ACCEL_OK && whole < planes && weight->alignment <= 1 && ACCEL_CAN(source, map_part) &&
            source->map_part(source, weight->value->key, 0, 0, 0, &part, NULL) == ACCEL_OK)
            for (uint32_t p = 0; p < planes; p++)
                plane[p] = (struct accel_plane){(void *)(uintptr_t)source, ACCEL_BIND_SOURCE, bytes[p], 0};
    }
    return code;
}

/* Assigns an offset in one block, which suits huge pages, to each plane that is copied. */
static int32_t allocate_copies(struct accel_weights *weights, struct accel_error *error)
{
    const struct accel_module *module = weights->module;
    uint64_t padded_bytes = 0, bytes = 0, most = 64;
    for (uint32_t i = 0; i < module->weight_count * ACCEL_PLANES; i++) {
        struct accel_plane *plane = &weights->planes[i];
        const uint64_t required = module->weights[i / ACCEL_PLANES].alignment;
        const uint64_t alignment = required < 64 ? 64 : required;
        if (plane->bytes == 0 || plane->address != NULL)
            continue;
        if (!accel_align_size(padded_bytes, alignment, &plane->offset) ||
            !accel_add_u64(plane->offset, plane->bytes, &padded_bytes))
            return accel_error_set(error, ACCEL_E_LIMIT, "the weights do not fit 64 bits");
        bytes += plane->bytes;
        most = alignment > most ? alignment : most;
    }
    return bytes == 0 ? ACCEL_OK
                      : accel_memory_allocate_padded(&weights->object.context->memory, ACCEL_MEMORY_WEIGHTS, bytes,
                                                     padded_bytes, most, &weights->copies, error);
}

static int32_t copy_planes(struct accel_weights *weights, const struct accel_source *source,
                           const struct accel_task *task, struct accel_error *error)
{
    const struct accel_module *module = weights->module;
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < module->weight_count; i++) {
        const char *key = module->weights[i].value->key;
        for (uint32_t p = 0; p < ACCEL_PLANES; p++) {
            struct accel_plane *plane = &weights->planes[i * ACCEL_PLANES + p];
            if (plane->bytes == 0 || plane->address != NULL)
                continue;
            plane->address = (char *)weights->copies + plane->offset;
            code = source->read(source, key, p, 0, plane->address, plane->bytes, error);
            if (code != ACCEL_OK)
                return accel_error_set(error, code, "weight %s: its source cannot be read", key);
        }
        if (is_held_by_core(module, &module->weights[i]) &&
            task->progress(task, i + 1, module->weight_count) != ACCEL_OK)
            return accel_error_set(error, ACCEL_E_CANCELLED, "loading weights was cancelled");
    }
    return code;
}

static int32_t load_planes(struct accel_weights *weights, const struct accel_source *source,
                           const struct accel_task *task, struct accel_error *error)
{
    const uint64_t planes = (uint64_t)weights->module->weight_count * ACCEL_PLANES;
    int32_t code;
    weights->planes = accel_object_array(&weights->object, planes, sizeof(*weights->planes), error);
    if (weights->planes == NULL)
        return ACCEL_E_MEMORY;
    code = map_planes(weights, source, error);
    if (code == ACCEL_OK)
        code = allocate_copies(weights, error);
    if (code == ACCEL_OK)
        code = copy_planes(weights, source, task, error);
    return code;
}

/* ---- the driver's container ---- */

static int32_t create_container(struct accel_weights *weights, const struct accel_weight *const *list, uint32_t count,
                                struct accel_error *error)
{
    struct accel_device *device = weights->module->device;
    struct accel_driver_weights *handle = NULL;
    int32_t code;
    ACCEL_GUARDED(code, device->object.context, device->driver, "weights_create",
                  device->handle->table->weights_create(device->handle, list, count, &handle, error));
    code = accel_device_import_handle(device, code, handle, "weights_create", error);
    if (code != ACCEL_OK)
        return code;
    ACCEL_OWN_HANDLE(weights->handle, handle);
    return accel_import_table(handle, ACCEL_TABLE_WEIGHTS, device->driver, error);
}

static int32_t pull(struct accel_weights *weights, const struct accel_source *source, const struct accel_task *task,
                    struct accel_error *error)
{
    struct accel_device *device = weights->module->device;
    int32_t code;
    ACCEL_GUARDED(code, device->object.context, device->driver, "pull",
                  weights->handle->table->pull(weights->handle, source, task, error));
    return accel_task_import_code(device, task, code, "pull", error);
}

/* Sums the bytes of all planes of the list. */
static int32_t list_bytes(const struct accel_weight *const *list, uint32_t count, uint64_t *out_bytes,
                          struct accel_error *error)
{
    uint64_t bytes[ACCEL_PLANES];
    uint32_t planes;
    *out_bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        int32_t code = plane_bytes(list[i], bytes, &planes, error);
        for (uint32_t p = 0; p < ACCEL_PLANES && code == ACCEL_OK; p++)
            if (!accel_add_u64(*out_bytes, bytes[p], out_bytes))
                code = accel_error_set(error, ACCEL_E_LIMIT, "the weights do not fit 64 bits");
        if (code != ACCEL_OK)
            return code;
    }
    return ACCEL_OK;
}

static int32_t fill_container(struct accel_weights *weights, const struct accel_weight *const *list, uint32_t count,
                              const struct accel_source *source, const struct accel_task *task,
                              struct accel_error *error)
{
    bool done = false;
    int32_t code = create_container(weights, list, count, error);
    if (code == ACCEL_OK)
        code = accel_packed_use(weights, list, count, source, task, &done, error);
    if (code == ACCEL_OK && !done)
        code = pull(weights, source, task, error);
    if (code == ACCEL_OK && !done && weights->place.folder != NULL)
        return list_bytes(list, count, &weights->packed_bytes, error);
    accel_packed_place_free(&weights->place);
    return code;
}

static int32_t pull_resident(struct accel_weights *weights, const struct accel_source *source,
                             const struct accel_task *task, struct accel_error *error)
{
    const struct accel_module *module = weights->module;
    const struct accel_weight **list;
    uint32_t count = 0;
    int32_t code = ACCEL_OK;
    if (!ACCEL_CAN(module->device->handle->table, weights_create))
        return ACCEL_OK;
    list = accel_object_array(&weights->object, module->weight_count, sizeof(*list), error);
    if (list == NULL)
        return ACCEL_E_MEMORY;
    for (uint32_t i = 0; i < module->weight_count; i++)
        if ((module->weights[i].placements & 1u << ACCEL_RESIDENT) != 0)
            list[count++] = &module->weights[i].weight;
    if (count != 0)
        code = fill_container(weights, list, count, source, task, error);
    accel_memory_free(&weights->object.context->memory, list);
    return code;
}

int32_t accel_weights_create(struct accel_module *module, const struct accel_source *source,
                             const struct accel_task *task, struct accel_weights **out_weights,
                             struct accel_error *error) ACCEL_NOEXCEPT
{
    struct accel_task_bridge bridge;
    const struct accel_task *inner;
    struct accel_object *object;
    struct accel_weights *weights;
    int32_t code;
    if (out_weights == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_weights_create: out_weights is NULL");
    *out_weights = NULL;
    code = accel_check_object((struct accel_object *)module, "module", error);
    if (code == ACCEL_OK)
        code = accel_check_alive(module->device, error);
    if (code == ACCEL_OK)
        code = accel_open_check(source, ACCEL_END_OF(struct accel_source, read), sizeof(*source), "the caller",
                                "accel_source", error);
    if (code == ACCEL_OK && source->read == NULL)
        code = accel_error_set(error, ACCEL_E_INVALID, "struct accel_source lacks the required slot read");
    if (code == ACCEL_OK)
        code = accel_object_create(module->object.context, sizeof(*weights), weights_destroy, &object, error);
    if (code != ACCEL_OK)
        return code;
    weights = (struct accel_weights *)object;
    weights->module = module;
    accel_object_retain(&module->object);
    if (module->weight_count != 0) {
        inner = accel_task_bridge_init(&bridge, module->object.context, task);
        code = load_planes(weights, source, inner, error);
        if (code == ACCEL_OK)
            code = pull_resident(weights, source, inner, error);
        accel_task_bridge_end(&bridge);
    }
    *out_weights = (struct accel_weights *)accel_object_finish(object, code);
    return code;
}

void accel_weights_free(struct accel_weights *weights) ACCEL_NOEXCEPT
{
    accel_object_drop((struct accel_object *)weights);
}

uint32_t accel_weights_bind(const struct accel_weights *weights, uint32_t weight, uint32_t value,
                            struct accel_binding *bindings)
{
    const struct accel_plane *planes = &weights->planes[weight * ACCEL_PLANES];
    uint32_t count = 0;
    for (uint32_t p = 0; p < ACCEL_PLANES && planes[p].address != NULL; p++)
        bindings[count++] = (struct accel_binding){
            .value = value, .kind = planes[p].kind, .part = p, .host = planes[p].address, .bytes = planes[p].bytes};
    if (weights->handle != NULL && (weights->module->weights[weight].placements & 1u << ACCEL_RESIDENT) != 0)
        bindings[count++] =
            (struct accel_binding){.value = value, .kind = ACCEL_BIND_WEIGHTS, .object = weights->handle};
    return count;
}
