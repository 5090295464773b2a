/* SPDX-License-Identifier: Apache-2.0 */
/* Fills a container of weights from the cache, or stores its packed weights for later starts. */
#include "config.h"

#include "core/runtime/check.h"
#include "core/runtime/device.h"
#include "core/runtime/object.h"
#include "core/runtime/packed.h"
#include "core/runtime/task.h"

static bool is_cacheable(const struct accel_weights *weights)
{
    const struct accel_weights_table *table = weights->handle->table;
    return ACCEL_CAN(table, save) && ACCEL_CAN(table, adopt);
}

/* Passes the mapped file to the container. Its bytes are counted as if they had been packed now. */
static int32_t adopt(struct accel_weights *weights, struct accel_packed *packed, struct accel_error *error)
{
    struct accel_device *device = weights->module->device;
    struct accel_memory *memory = &weights->object.context->memory;
    const uint64_t bytes = accel_packed_weights(packed);
    int32_t code = accel_memory_count(memory, ACCEL_MEMORY_WEIGHTS, (int64_t)bytes, error);
    if (code != ACCEL_OK)
        return code;
    ACCEL_GUARDED(code, device->object.context, device->driver, "adopt",
                  weights->handle->table->adopt(weights->handle, (const char *)packed->memory + ACCEL_PACKED_HEADER,
                                                bytes, error));
    code = accel_device_import_code(device, code, "adopt", error);
    if (code != ACCEL_OK) {
        accel_memory_count(memory, ACCEL_MEMORY_WEIGHTS, -(int64_t)bytes, NULL);
        return code;
    }
    weights->packed = *packed;
    return ACCEL_OK;
}

/* Uses a cached file. The cache is best effort: if it cannot be used, the driver packs again and the log states why. */
static int32_t use_cached(struct accel_weights *weights, struct accel_packed_place *place,
                          const struct accel_task *task, bool *out_done, struct accel_error *error)
{
    const struct accel_log *log = &weights->object.context->log;
    struct accel_packed packed = {0};
    struct accel_error why = {0};
    int32_t code = accel_packed_map(place, task, &packed, &why);
    if (code == ACCEL_OK)
        code = adopt(weights, &packed, &why);
    *out_done = code == ACCEL_OK;
    if (code == ACCEL_OK) {
        accel_log_write(log, ACCEL_LOG_INFO, "packed", "used=%s/%s bytes=%llu", place->folder, place->name,
                        (unsigned long long)accel_packed_weights(&weights->packed));
        return ACCEL_OK;
    }
    accel_packed_unmap(&packed);
    if (code == ACCEL_E_CANCELLED) {
        if (error != NULL)
            *error = why;
        return code;
    }
    /* A lack of memory does not mean that the file is invalid. */
    place->replaces = code != ACCEL_E_NOT_FOUND && code != ACCEL_E_MEMORY;
    if (code != ACCEL_E_NOT_FOUND)
        accel_log_write(log, ACCEL_LOG_WARN, "packed", "ignored=\"%s\"", why.text);
    return ACCEL_OK;
}

int32_t accel_packed_use(struct accel_weights *weights, const struct accel_weight *const *list, uint32_t count,
                         const struct accel_source *source, const struct accel_task *task, bool *out_done,
                         struct accel_error *error)
{
    struct accel_packed_place *place = &weights->place;
    int32_t code;
    *out_done = false;
    if (!is_cacheable(weights))
        return ACCEL_OK;
    code = accel_packed_find(weights->module->device, list, count, source, place, error);
    if (code == ACCEL_OK && place->folder != NULL)
        code = use_cached(weights, place, task, out_done, error);
    return code;
}

/* Returns the cache state before anything is written. */
static uint32_t cache_state(const struct accel_weights *weights)
{
    if (weights->handle == NULL || !is_cacheable(weights))
        return ACCEL_STORE_UNPACKED;
    return weights->packed.memory != NULL || weights->stored ? ACCEL_STORE_CACHED : ACCEL_STORE_DISABLED;
}

int32_t accel_weights_store(struct accel_weights *weights, const struct accel_task *task, const char *label,
                            uint32_t *out_stored, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct accel_packed_place *place;
    struct accel_task_bridge bridge;
    const struct accel_log *log;
    struct accel_error why = {0};
    int32_t code = accel_check_object((struct accel_object *)weights, "weights", error);
    if (out_stored != NULL)
        *out_stored = ACCEL_STORE_UNPACKED;
    if (code == ACCEL_OK)
        code = accel_check_alive(weights->module->device, error);
    if (code == ACCEL_OK && out_stored != NULL)
        *out_stored = cache_state(weights);
    if (code != ACCEL_OK || weights->place.folder == NULL)
        return code;
    place = &weights->place;
    log = &weights->object.context->log;
    code = accel_packed_store(weights, accel_task_bridge_init(&bridge, weights->object.context, task), label, &why);
    accel_task_bridge_end(&bridge);
    if (code == ACCEL_OK) {
        accel_log_write(log, ACCEL_LOG_INFO, "packed", "stored=%s/%s", place->folder, place->name);
        accel_packed_place_free(place);
        weights->stored = true;
        if (out_stored != NULL)
            *out_stored = ACCEL_STORE_WRITTEN;
        return ACCEL_OK;
    }
    accel_log_write(log, code == ACCEL_E_BUSY || code == ACCEL_E_CANCELLED ? ACCEL_LOG_INFO : ACCEL_LOG_WARN, "packed",
                    "unwritten=\"%s\"", why.text);
    if (error != NULL)
        *error = why;
    return code;
}
