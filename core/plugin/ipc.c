/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/plugin/ipc.h"

#include <string.h>

#include "core/base/utf8.h"
#include "core/plugin/ipc_record.h"

void accel_ipc_put(struct accel_strbuf *out, uint32_t tag, const void *data, size_t bytes)
{
    struct accel_ipc_head head = {tag, (uint32_t)bytes};
    accel_strbuf_append(out, &head, sizeof(head));
    accel_strbuf_append(out, data, bytes);
}

void accel_ipc_begin(struct accel_strbuf *record, const void *numbers, size_t bytes)
{
    accel_strbuf_init(record, ACCEL_IPC_BYTES);
    accel_strbuf_append(record, numbers, bytes);
}

void accel_ipc_add_text(struct accel_strbuf *record, const char *text)
{
    accel_strbuf_append(record, text, strlen(text) + 1);
}

void accel_ipc_end(struct accel_strbuf *record, uint32_t tag, struct accel_strbuf *out)
{
    if (!record->failed)
        accel_ipc_put(out, tag, record->text, record->length);
    accel_strbuf_free(record);
}

void accel_ipc_put_hardware(struct accel_strbuf *out, const struct accel_hardware *hardware)
{
    struct accel_ipc_hardware numbers = {hardware->kind,       hardware->domain,       hardware->bus,
                                         hardware->slot,       hardware->function,     hardware->vendor,
                                         hardware->device,     hardware->device_class, hardware->numa_node,
                                         hardware->file_count, hardware->threads,      0,
                                         hardware->memory};
    struct accel_strbuf record;
    accel_ipc_begin(&record, &numbers, sizeof(numbers));
    accel_ipc_add_text(&record, hardware->name);
    accel_ipc_add_text(&record, hardware->compatible);
    accel_ipc_add_text(&record, hardware->cpu_set);
    for (uint32_t i = 0; i < hardware->file_count; i++)
        accel_ipc_add_text(&record, hardware->files[i]);
    accel_ipc_end(&record, ACCEL_IPC_HARDWARE, out);
}

int32_t accel_ipc_next(struct accel_ipc_reader *all, uint32_t *out_tag, struct accel_ipc_reader *out_record,
                       struct accel_error *error)
{
    struct accel_ipc_head head;
    if (all->bytes - all->place < sizeof(head))
        return accel_error_set(error, ACCEL_E_CORRUPT, "a record without its head at byte %zu", all->place);
    memcpy(&head, all->data + all->place, sizeof(head));
    all->place += sizeof(head);
    if (head.bytes > ACCEL_IPC_BYTES || head.bytes > all->bytes - all->place)
        return accel_error_set(error, ACCEL_E_CORRUPT, "a record of %u bytes at byte %zu", head.bytes, all->place);
    *out_record = (struct accel_ipc_reader){all->data + all->place, head.bytes, 0};
    *out_tag = head.tag;
    all->place += head.bytes;
    return ACCEL_OK;
}

bool accel_ipc_read_numbers(struct accel_ipc_reader *record, void *out_numbers, size_t bytes)
{
    if (record->bytes - record->place < bytes)
        return false;
    memcpy(out_numbers, record->data + record->place, bytes);
    record->place += bytes;
    return true;
}

const char *accel_ipc_read_text(struct accel_ipc_reader *record, struct accel_arena *arena)
{
    const char *from = record->data + record->place;
    size_t rest = record->bytes - record->place;
    size_t bytes = strnlen(from, rest);
    char *text;
    if (bytes == rest)
        return NULL;
    record->place += bytes + 1;
    text = accel_arena_strndup(arena, from, bytes);
    if (text != NULL)
        accel_utf8_one_line(text);
    return text;
}

static bool read_failed(struct accel_ipc_reader *record, struct accel_arena *arena, struct accel_ipc_answer *answer)
{
    struct accel_ipc_failed numbers;
    const char *text, *remedy;
    if (!accel_ipc_read_numbers(record, &numbers, sizeof(numbers)))
        return false;
    text = accel_ipc_read_text(record, arena);
    remedy = text ? accel_ipc_read_text(record, arena) : NULL;
    if (remedy == NULL || numbers.code >= 0)
        return false;
    answer->failed = true;
    answer->code = numbers.code;
    answer->native = numbers.native;
    answer->text = text;
    answer->remedy = remedy;
    return true;
}

/* Appends a record unchanged to the list of the answer, which has capacity for all records. */
static bool append_record(uint32_t tag, const struct accel_ipc_reader *record, struct accel_ipc_answer *answer)
{
    struct accel_ipc_head head = {tag, (uint32_t)record->bytes};
    memcpy(answer->list + answer->list_bytes, &head, sizeof(head));
    memcpy(answer->list + answer->list_bytes + sizeof(head), record->data, record->bytes);
    answer->list_bytes += sizeof(head) + record->bytes;
    return true;
}

static bool read_record(uint32_t tag, struct accel_ipc_reader *record, struct accel_arena *arena,
                        struct accel_ipc_answer *answer)
{
    switch (tag) {
    case ACCEL_IPC_STAGE: {
        const char *stage = accel_ipc_read_text(record, arena);
        if (stage == NULL)
            return false;
        answer->stage = stage;
        return true;
    }
    case ACCEL_IPC_FAILED:
        return read_failed(record, arena, answer);
    case ACCEL_IPC_DONE:
        answer->done = accel_ipc_read_numbers(record, &answer->devices, sizeof(answer->devices));
        return answer->done;
    case ACCEL_IPC_DEVICE:
    case ACCEL_IPC_VERDICT:
        return append_record(tag, record, answer);
    default:
        return false;
    }
}

int32_t accel_ipc_read(const char *data, size_t bytes, struct accel_arena *arena, struct accel_ipc_answer *out_answer,
                       struct accel_error *error)
{
    struct accel_ipc_reader all = {data, bytes, 0};
    struct accel_ipc_version version;
    bool first = true;
    memset(out_answer, 0, sizeof(*out_answer));
    out_answer->stage = out_answer->text = out_answer->remedy = "";
    out_answer->list = accel_arena_alloc(arena, bytes + 1, 1);
    if (out_answer->list == NULL)
        return accel_error_no_memory(error, "for the answer of a probe");
    for (; all.place < bytes; first = false) {
        struct accel_ipc_reader record;
        uint32_t tag = 0;
        int32_t code = accel_ipc_next(&all, &tag, &record, error);
        if (code != ACCEL_OK)
            return code;
        if (!first) {
            if (!read_record(tag, &record, arena, out_answer))
                return accel_error_set(error, ACCEL_E_CORRUPT, "a malformed record (tag %u)", tag);
            continue;
        }
        if (tag != ACCEL_IPC_VERSION || !accel_ipc_read_numbers(&record, &version, sizeof(version)))
            return accel_error_set(error, ACCEL_E_CORRUPT, "no version at the beginning");
        if (version.protocol != ACCEL_IPC_PROTOCOL || version.abi_major != ACCEL_ABI_MAJOR ||
            version.abi_minor != ACCEL_ABI_MINOR)
            return accel_error_set(error, ACCEL_E_ABI, "protocol %u and ABI %u.%u instead of %u and %u.%u",
                                   version.protocol, version.abi_major, version.abi_minor, ACCEL_IPC_PROTOCOL,
                                   ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR);
    }
    return ACCEL_OK;
}
