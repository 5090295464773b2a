/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/plugin/ipc.h"

#include <string.h>
#include <unistd.h>

#include "core/base/utf8.h"
#include "core/plugin/ipc_record.h"

/* Numbers of one HARDWARE record, followed by its texts: name, compatible, cpu_set, files. */
struct hardware_numbers {
    uint32_t kind, domain, bus, slot, function, vendor, device, device_class;
    int32_t numa_node;
    uint32_t file_count, threads, zero;
    uint64_t memory;
};

struct version_numbers {
    uint32_t protocol, abi_major, abi_minor;
};

struct failed_numbers {
    int32_t code, native;
};

void accel_ipc_put(struct accel_strbuf *out, uint32_t tag, const void *data, size_t bytes)
{
    struct accel_ipc_head head = {tag, (uint32_t)bytes};
    accel_strbuf_append(out, (const char *)&head, sizeof(head));
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

void accel_ipc_put_version(struct accel_strbuf *out)
{
    struct version_numbers numbers = {ACCEL_IPC_PROTOCOL, ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR};
    accel_ipc_put(out, ACCEL_IPC_VERSION, &numbers, sizeof(numbers));
}

void accel_ipc_put_stage(struct accel_strbuf *out, const char *stage)
{
    accel_ipc_put(out, ACCEL_IPC_STAGE, stage, strlen(stage) + 1);
}

void accel_ipc_send(struct accel_strbuf *records)
{
    const char *data = accel_strbuf_get(records);
    size_t done = 0;
    while (done < records->length) {
        ssize_t wrote = write(ACCEL_IPC_DESCRIPTOR, data + done, records->length - done);
        if (wrote <= 0)
            break;
        done += (size_t)wrote;
    }
    accel_strbuf_free(records);
}

void accel_ipc_send_stage(const char *stage)
{
    struct accel_strbuf record = {0};
    accel_ipc_put_stage(&record, stage);
    accel_ipc_send(&record);
}

void accel_ipc_put_failed(struct accel_strbuf *out, const struct accel_error *error)
{
    struct failed_numbers numbers = {error->code, error->native};
    struct accel_strbuf body = {0};
    /* The driver wrote these arrays, possibly without a terminating zero byte. */
    size_t text = strnlen(error->text, sizeof(error->text) - 1);
    size_t remedy = strnlen(error->remedy, sizeof(error->remedy) - 1);
    accel_strbuf_append(&body, (const char *)&numbers, sizeof(numbers));
    accel_strbuf_append(&body, error->text, text);
    accel_strbuf_char(&body, '\0');
    accel_strbuf_append(&body, error->remedy, remedy);
    accel_strbuf_char(&body, '\0');
    accel_ipc_put(out, ACCEL_IPC_FAILED, accel_strbuf_get(&body), body.length);
    accel_strbuf_free(&body);
}

void accel_ipc_put_done(struct accel_strbuf *out, uint32_t devices)
{
    accel_ipc_put(out, ACCEL_IPC_DONE, &devices, sizeof(devices));
}

void accel_ipc_put_hardware(struct accel_strbuf *out, const struct accel_hardware *hardware)
{
    struct hardware_numbers numbers = {hardware->kind,       hardware->domain,       hardware->bus,
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
    struct failed_numbers numbers;
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
    struct version_numbers version;
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

static struct accel_hardware *read_hardware(struct accel_ipc_reader *record, struct accel_arena *arena)
{
    struct hardware_numbers numbers;
    struct accel_hardware *hardware = accel_arena_array(arena, 1, sizeof(*hardware));
    const char **files;
    /* Each file takes at least one byte, which bounds the array before it is allocated. */
    if (hardware == NULL || !accel_ipc_read_numbers(record, &numbers, sizeof(numbers)) ||
        numbers.file_count > record->bytes)
        return NULL;
    files = accel_arena_array(arena, numbers.file_count + 1u, sizeof(*files));
    if (files == NULL)
        return NULL;
    *hardware = (struct accel_hardware){.size = sizeof(*hardware),
                                        .kind = numbers.kind,
                                        .domain = numbers.domain,
                                        .bus = numbers.bus,
                                        .slot = numbers.slot,
                                        .function = numbers.function,
                                        .vendor = numbers.vendor,
                                        .device = numbers.device,
                                        .device_class = numbers.device_class,
                                        .numa_node = numbers.numa_node,
                                        .files = files,
                                        .file_count = numbers.file_count,
                                        .threads = numbers.threads,
                                        .memory = numbers.memory};
    hardware->name = accel_ipc_read_text(record, arena);
    hardware->compatible = hardware->name ? accel_ipc_read_text(record, arena) : NULL;
    hardware->cpu_set = hardware->compatible ? accel_ipc_read_text(record, arena) : NULL;
    if (hardware->cpu_set == NULL)
        return NULL;
    for (uint32_t i = 0; i < numbers.file_count; i++) {
        files[i] = accel_ipc_read_text(record, arena);
        if (files[i] == NULL)
            return NULL;
    }
    return hardware;
}

int32_t accel_ipc_read_hardware(const char *data, size_t bytes, struct accel_arena *arena,
                                const struct accel_hardware *const **out_list, uint32_t *out_count,
                                struct accel_error *error)
{
    struct accel_ipc_reader all = {data, bytes, 0};
    /* No record is shorter than its head and numbers. */
    size_t most = bytes / (sizeof(struct accel_ipc_head) + sizeof(struct hardware_numbers)) + 1;
    const struct accel_hardware **list = accel_arena_array(arena, most, sizeof(*list));
    uint32_t count = 0;
    *out_list = list;
    *out_count = 0;
    if (list == NULL)
        return accel_error_no_memory(error, "for the hardware");
    while (all.place < bytes) {
        struct accel_ipc_reader record;
        uint32_t tag = 0;
        int32_t code = accel_ipc_next(&all, &tag, &record, error);
        if (code != ACCEL_OK)
            return code;
        list[count] = tag == ACCEL_IPC_HARDWARE ? read_hardware(&record, arena) : NULL;
        if (list[count] == NULL)
            return accel_error_set(error, ACCEL_E_CORRUPT, "a malformed piece of hardware (%u)", count);
        count++;
    }
    *out_count = count;
    return ACCEL_OK;
}
