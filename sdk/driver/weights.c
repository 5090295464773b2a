/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Container of weights for backends that pack them: one block of the host's memory, or a mapping of a saved block. Each
 * weight occupies exactly the bytes of its planes, so that a plan knows the sum. Packed weights have the layout of the
 * backend's `pack`; other weights of the same nodes, such as biases, are copies of their planes. load.c fills it.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/format.h>

#include "sdk/driver/program.h"

/* ---- which weights ---- */

static struct accel_weight weight_of(const struct accel_value *value)
{
    struct accel_weight weight = {.size = sizeof(weight), .type = value->type, .rank = value->rank, .key = value->key};

    for (uint32_t d = 0; d < value->rank; d++)
        weight.dims[d] = value->dims[d].add;
    return weight;
}

uint32_t sdk_node_packs(const struct sdk_device *device, const struct accel_graph *graph, uint32_t node,
                        const struct sdk_kernel *kernel)
{
    const struct sdk_node view = {graph, graph->nodes[node], device->own};
    uint32_t packed = 0;

    if (device->backend->packs == NULL || kernel == NULL || kernel->packed_inputs == 0)
        return 0;
    for (uint32_t i = 0; i < view.node->input_count; i++) {
        const struct accel_value *value = sdk_input(&view, i);
        struct accel_weight weight;

        if (value == NULL || value->role != ACCEL_ROLE_WEIGHT)
            continue;
        weight = weight_of(value);
        if (!device->backend->packs(device->own, &weight))
            continue;
        /* The container would pack a weight that this node reads unpacked. */
        if ((kernel->packed_inputs >> i & 1u) == 0)
            return 0;
        packed = 1;
    }
    return packed;
}

/* Returns whether weight v of a graph is read by a node that packs. */
static bool is_in_container(const struct sdk_module *module, const struct sdk_program *program, uint32_t v)
{
    for (uint32_t n = 0; n < program->graph->node_count; n++) {
        const struct accel_node *node = program->graph->nodes[n];

        for (uint32_t i = 0; i < node->input_count; i++)
            if (node->inputs[i] == v && sdk_node_packs(module->device, program->graph, n, program->kernels[n]))
                return true;
    }
    return false;
}

/* Returns whether an earlier program, or an earlier value of program p, has a container weight with this key. */
static bool is_known(const struct sdk_module *module, uint32_t p, uint32_t v, const char *key)
{
    for (uint32_t before = 0; before <= p; before++) {
        const struct sdk_program *program = &module->programs[before];
        const uint32_t end = before == p ? v : program->graph->value_count;

        for (uint32_t o = 0; o < end; o++)
            if (program->graph->values[o]->role == ACCEL_ROLE_WEIGHT &&
                strcmp(program->graph->values[o]->key, key) == 0 && is_in_container(module, program, o))
                return true;
    }
    return false;
}

uint64_t sdk_weights_bytes(const struct sdk_module *module)
{
    uint64_t bytes = 0;

    if (module->device->backend->packs == NULL)
        return 0;
    for (uint32_t p = 0; p < module->program_count; p++) {
        const struct sdk_program *program = &module->programs[p];

        for (uint32_t v = 0; v < program->graph->value_count; v++) {
            const struct accel_value *value = program->graph->values[v];

            if (value->role == ACCEL_ROLE_WEIGHT && is_in_container(module, program, v) &&
                !is_known(module, p, v, value->key))
                bytes += sizeof(struct sdk_weight_entry) + strlen(value->key) + 1;
        }
    }
    return bytes == 0 ? 0 : bytes + sizeof(struct sdk_weights);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct sdk_weight_entry *)a)->weight.key, ((const struct sdk_weight_entry *)b)->weight.key);
}

const struct sdk_weight_entry *sdk_weights_find(const struct sdk_weights *weights, const char *key)
{
    const struct sdk_weight_entry wanted = {.weight = {.key = key}};

    return bsearch(&wanted, weights->entries, weights->count, sizeof(wanted), compare_keys);
}

static int32_t weights_free(struct accel_driver_weights *base)
{
    struct sdk_weights *weights = (struct sdk_weights *)base;
    struct sdk_device *device = weights->device;

    device->host->release(device->host, weights->block);
    device->host->release(device->host, weights);
    atomic_fetch_sub(&device->containers, 1);
    return ACCEL_OK;
}

/* ---- places ---- */

/* Places a block if `alignment` is the largest power of two up to 64 that divides its size. */
static void place(void **place, uint64_t bytes, uint64_t alignment, char *memory, uint64_t *at)
{
    const uint64_t own = bytes & (0 - bytes);

    if ((own < 64 ? own : 64) != alignment)
        return;
    *place = memory + *at;
    *at += bytes;
}

/*
 * Places every weight, or plane of one, at a multiple of the largest power of two up to 64 that divides its size. In
 * descending order of these alignments no padding is needed, so the memory is the sum of the weights.
 */
static void place_all(struct sdk_weights *weights, void *memory)
{
    uint64_t at = 0;

    for (uint64_t alignment = 64; alignment != 0; alignment /= 2)
        for (uint32_t w = 0; w < weights->count; w++) {
            struct sdk_weight_entry *entry = &weights->entries[w];

            if (weights->device->backend->packs(weights->device->own, &entry->weight))
                place(&entry->packed, entry->rows * sdk_entry_row_bytes(entry), alignment, memory, &at);
            else
                for (uint32_t p = 0; p < entry->plane_count; p++)
                    place(&entry->planes[p], entry->rows * entry->row_bytes[p], alignment, memory, &at);
        }
}

/* Allocates the block here and not with the container, which may adopt memory that is filled already. */
static int32_t weights_load(struct accel_driver_weights *base, const struct accel_source *source,
                            const struct accel_task *task, struct accel_error *error)
{
    struct sdk_weights *weights = (struct sdk_weights *)base;
    const struct accel_host *host = weights->device->host;
    int32_t code = ACCEL_OK;

    if (weights->block == NULL)
        code = host->allocate(host, ACCEL_MEMORY_WEIGHTS, weights->bytes, 64, &weights->block, error);
    if (code == ACCEL_OK) {
        place_all(weights, weights->block);
        code = sdk_load_weights(weights, source, task, error);
    }
    if (code != ACCEL_OK) {
        host->release(host, weights->block);
        weights->block = NULL;
    }
    return code;
}

/* ---- save and adopt ---- */

/* Writes the block as it is: the layout follows from the list and the device. */
static int32_t weights_save(struct accel_driver_weights *base, const struct accel_blob_writer *writer,
                            struct accel_error *error)
{
    const struct sdk_weights *weights = (const struct sdk_weights *)base;

    if (weights->block == NULL)
        return sdk_error(error, ACCEL_E_INVALID, "a container that is empty cannot be saved");
    return writer->write(writer, weights->block, weights->bytes, error);
}

static int32_t weights_adopt(struct accel_driver_weights *base, const void *packed, uint64_t bytes,
                             struct accel_error *error)
{
    struct sdk_weights *weights = (struct sdk_weights *)base;

    if (weights->block != NULL || (uintptr_t)packed % 64 != 0)
        return sdk_error(error, ACCEL_E_INVALID,
                         "packed weights for a container that is full, or at no multiple of 64");
    if (bytes != weights->bytes)
        return sdk_error(error, ACCEL_E_MISS, "packed weights have %llu bytes, the list has %llu",
                         (unsigned long long)bytes, (unsigned long long)weights->bytes);
    place_all(weights, (void *)(uintptr_t)packed);
    return ACCEL_OK;
}

/* ---- create ---- */

static const struct accel_weights_table weights_table = {.size = sizeof(weights_table),
                                                         .free = weights_free,
                                                         .pull = weights_load,
                                                         .save = weights_save,
                                                         .adopt = weights_adopt};

/* Fills the entry of one weight: its rows and bytes, and its key, which is copied to *text. */
static int32_t fill_entry(const struct accel_weight *given, struct sdk_weight_entry *entry, char **text,
                          struct accel_error *error)
{
    const size_t length = strlen(given->key) + 1;
    struct accel_format format;
    uint64_t bytes = 0;
    int32_t code = accel_format_describe(given->type, &format);

    memcpy(&entry->weight, given, given->size < sizeof(entry->weight) ? given->size : sizeof(entry->weight));
    entry->weight.size = sizeof(entry->weight);
    entry->weight.key = memcpy(*text, given->key, length);
    *text += length;
    entry->rows = 1;
    if (code != ACCEL_OK || format.planes > SDK_PLANES || given->rank > ACCEL_RANK)
        return sdk_error(error, ACCEL_E_UNSUPPORTED, "weight %s has the type 0x%x", entry->weight.key, given->type);
    entry->plane_count = format.planes;
    for (uint32_t d = 0; d + 1 < given->rank && code == ACCEL_OK; d++)
        if (__builtin_mul_overflow(entry->rows, given->dims[d], &entry->rows))
            code = ACCEL_E_LIMIT;
    for (uint32_t p = 0; p < format.planes && code == ACCEL_OK; p++) {
        size_t row = 0;
        uint64_t plane;

        code = accel_format_row_bytes(given->type, p, given->rank == 0 ? 1 : given->dims[given->rank - 1], &row);
        entry->row_bytes[p] = row;
        if (code == ACCEL_OK &&
            (__builtin_mul_overflow(entry->rows, row, &plane) || __builtin_add_overflow(bytes, plane, &bytes)))
            code = ACCEL_E_LIMIT;
    }
    if (code == ACCEL_OK && bytes == 0)
        code = ACCEL_E_INVALID;
    return code == ACCEL_OK ? code
                            : sdk_error(error, code, "weight %s: its type 0x%x and shape have no size",
                                        entry->weight.key, given->type);
}

static int32_t fill(struct sdk_weights *weights, const struct accel_weight *const *list, struct accel_error *error)
{
    char *text = (char *)(weights->entries + weights->count);
    int32_t code = ACCEL_OK;

    for (uint32_t w = 0; w < weights->count && code == ACCEL_OK; w++) {
        code = fill_entry(list[w], &weights->entries[w], &text, error);
        if (code == ACCEL_OK &&
            __builtin_add_overflow(weights->bytes, weights->entries[w].rows * sdk_entry_row_bytes(&weights->entries[w]),
                                   &weights->bytes))
            code = sdk_error(error, ACCEL_E_LIMIT, "the weights do not fit 64 bits");
    }
    if (code != ACCEL_OK)
        return code;
    qsort(weights->entries, weights->count, sizeof(*weights->entries), compare_keys);
    return ACCEL_OK;
}

int32_t sdk_weights_create(struct accel_driver_device *base, const struct accel_weight *const *list, uint32_t count,
                           struct accel_driver_weights **out_weights, struct accel_error *error)
{
    struct sdk_device *device = (struct sdk_device *)base;
    uint64_t bytes = sizeof(struct sdk_weights) + (uint64_t)count * sizeof(struct sdk_weight_entry);
    struct sdk_weights *weights;
    void *memory = NULL;
    int32_t code = count == 0 ? sdk_error(error, ACCEL_E_INVALID, "a container of no weights") : ACCEL_OK;

    *out_weights = NULL;
    for (uint32_t w = 0; w < count && code == ACCEL_OK; w++) {
        code = sdk_check_weight(list[w], error);
        bytes += code == ACCEL_OK ? strlen(list[w]->key) + 1 : 0;
    }
    if (code == ACCEL_OK)
        code = device->host->allocate(device->host, ACCEL_MEMORY_HOST, bytes, 64, &memory, error);
    if (code != ACCEL_OK)
        return code;
    weights = memory;
    weights->base.table = &weights_table;
    weights->device = device;
    weights->entries = (struct sdk_weight_entry *)(weights + 1);
    weights->count = count;
    atomic_fetch_add(&device->containers, 1);
    code = fill(weights, list, error);
    if (code != ACCEL_OK) {
        weights_free(&weights->base);
        return code;
    }
    *out_weights = &weights->base;
    return ACCEL_OK;
}
