/* SPDX-License-Identifier: Apache-2.0 */
/* Serializes enumerated devices and verdicts as records of a probe. */
#include "config.h"

#include <string.h>

#include "core/plugin/ipc_record.h"

/* Numbers of one device, followed by those of its heaps, its types, and its texts: id, name, detail, names of heaps. */
struct device_numbers {
    uint32_t kind, flags, generation, heap_count, type_count;
    int32_t hardware;
    uint8_t uuid[16];
    struct accel_limits limits;
};

struct heap_numbers {
    uint64_t bytes, alignment;
    uint32_t flags, zero;
};

void accel_ipc_put_device(struct accel_strbuf *out, const struct accel_facts *facts)
{
    struct device_numbers numbers = {.kind = facts->kind,
                                     .flags = facts->flags,
                                     .generation = facts->generation,
                                     .heap_count = facts->heap_count,
                                     .type_count = facts->type_count,
                                     .hardware = facts->hardware,
                                     .limits = *facts->limits};
    struct accel_strbuf record;
    memcpy(numbers.uuid, facts->uuid, sizeof(numbers.uuid));
    accel_ipc_begin(&record, &numbers, sizeof(numbers));
    for (uint32_t i = 0; i < facts->heap_count; i++) {
        const struct accel_heap *heap = &facts->heaps[i];
        struct heap_numbers one = {heap->bytes, heap->alignment, heap->flags, 0};
        accel_strbuf_append(&record, &one, sizeof(one));
    }
    accel_strbuf_append(&record, facts->types, facts->type_count * sizeof(*facts->types));
    accel_ipc_add_text(&record, facts->id);
    accel_ipc_add_text(&record, facts->name);
    accel_ipc_add_text(&record, facts->detail);
    for (uint32_t i = 0; i < facts->heap_count; i++)
        accel_ipc_add_text(&record, facts->heaps[i].name);
    accel_ipc_end(&record, ACCEL_IPC_DEVICE, out);
}

static struct accel_heap *read_heaps(struct accel_ipc_reader *record, uint32_t count, struct accel_arena *arena)
{
    struct accel_heap *heaps = accel_arena_array(arena, count + 1u, sizeof(*heaps));
    for (uint32_t i = 0; heaps && i < count; i++) {
        struct heap_numbers one;
        if (!accel_ipc_read_numbers(record, &one, sizeof(one)))
            return NULL;
        heaps[i] = (struct accel_heap){.bytes = one.bytes, .flags = one.flags, .alignment = one.alignment};
    }
    return heaps;
}

/* Heaps and types take bytes of the record, which bounds their arrays before they are allocated. */
static const struct accel_facts *read_device(struct accel_ipc_reader *record, struct accel_arena *arena)
{
    struct device_numbers numbers;
    struct accel_facts *facts = accel_arena_array(arena, 1, sizeof(*facts));
    struct accel_limits *limits = accel_arena_array(arena, 1, sizeof(*limits));
    struct accel_heap *heaps;
    uint32_t *types;
    if (!facts || !limits || !accel_ipc_read_numbers(record, &numbers, sizeof(numbers)) ||
        numbers.heap_count > record->bytes || numbers.type_count > record->bytes)
        return NULL;
    heaps = read_heaps(record, numbers.heap_count, arena);
    types = accel_arena_array(arena, numbers.type_count + 1u, sizeof(*types));
    if (!heaps || !types || !accel_ipc_read_numbers(record, types, numbers.type_count * sizeof(*types)))
        return NULL;
    *limits = numbers.limits;
    *facts = (struct accel_facts){.size = sizeof(*facts),
                                  .kind = numbers.kind,
                                  .flags = numbers.flags,
                                  .hardware = numbers.hardware,
                                  .generation = numbers.generation,
                                  .heap_count = numbers.heap_count,
                                  .heaps = heaps,
                                  .limits = limits,
                                  .types = types,
                                  .type_count = numbers.type_count};
    memcpy(facts->uuid, numbers.uuid, sizeof(facts->uuid));
    facts->id = accel_ipc_read_text(record, arena);
    facts->name = facts->id ? accel_ipc_read_text(record, arena) : NULL;
    facts->detail = facts->name ? accel_ipc_read_text(record, arena) : NULL;
    for (uint32_t i = 0; facts->detail && i < numbers.heap_count; i++) {
        heaps[i].name = accel_ipc_read_text(record, arena);
        if (heaps[i].name == NULL)
            return NULL;
    }
    return facts->detail ? facts : NULL;
}

static bool read_verdict(struct accel_ipc_reader *record, struct accel_arena *arena, struct accel_verdict *verdict)
{
    struct accel_ipc_verdict numbers;
    if (!accel_ipc_read_numbers(record, &numbers, sizeof(numbers)))
        return false;
    *verdict = (struct accel_verdict){.size = sizeof(*verdict), .code = numbers.code, .hardware = numbers.hardware};
    verdict->text = accel_ipc_read_text(record, arena);
    verdict->remedy = verdict->text ? accel_ipc_read_text(record, arena) : NULL;
    return verdict->remedy != NULL;
}

static bool read_record(uint32_t tag, struct accel_ipc_reader *record, struct accel_arena *arena,
                        struct accel_ipc_list *list)
{
    if (tag == ACCEL_IPC_VERDICT)
        return read_verdict(record, arena, &list->verdicts[list->verdict_count++]);
    if (tag != ACCEL_IPC_DEVICE)
        return false;
    list->facts[list->fact_count] = read_device(record, arena);
    return list->facts[list->fact_count++] != NULL;
}

int32_t accel_ipc_read_list(const char *data, size_t bytes, struct accel_arena *arena, struct accel_ipc_list *out_list,
                            struct accel_error *error)
{
    struct accel_ipc_reader all = {data, bytes, 0};
    /* No record is shorter than its head and the numbers of a verdict. */
    size_t most = bytes / (sizeof(struct accel_ipc_head) + sizeof(struct accel_ipc_verdict)) + 1;
    *out_list = (struct accel_ipc_list){.facts = accel_arena_array(arena, most, sizeof(*out_list->facts)),
                                        .verdicts = accel_arena_array(arena, most, sizeof(*out_list->verdicts))};
    if (out_list->facts == NULL || out_list->verdicts == NULL)
        return accel_error_no_memory(error, "for a list of devices");
    while (all.place < bytes) {
        struct accel_ipc_reader record;
        uint32_t tag = 0;
        int32_t code = accel_ipc_next(&all, &tag, &record, error);
        if (code != ACCEL_OK)
            return code;
        /* A record that is too short for its numbers may not count past the arrays. */
        if (out_list->fact_count + out_list->verdict_count == most || !read_record(tag, &record, arena, out_list))
            return accel_error_set(error, ACCEL_E_CORRUPT, "a malformed record of a device (tag %u)", tag);
    }
    return ACCEL_OK;
}
