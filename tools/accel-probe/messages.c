/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accel-probe/messages.h"

#include <string.h>
#include <unistd.h>

#include "core/plugin/ipc_record.h"

void put_version(struct accel_strbuf *out)
{
    struct accel_ipc_version numbers = {ACCEL_IPC_PROTOCOL, ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR};
    accel_ipc_put(out, ACCEL_IPC_VERSION, &numbers, sizeof(numbers));
}

void put_stage(struct accel_strbuf *out, const char *stage)
{
    accel_ipc_put(out, ACCEL_IPC_STAGE, stage, strlen(stage) + 1);
}

void send_records(struct accel_strbuf *records)
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

void send_stage(const char *stage)
{
    struct accel_strbuf record = {0};
    put_stage(&record, stage);
    send_records(&record);
}

void put_failure(struct accel_strbuf *out, const struct accel_error *error)
{
    struct accel_ipc_failed numbers = {error->code, error->native};
    struct accel_strbuf body = {0};
    /* The driver wrote these arrays, possibly without a terminating zero byte. */
    size_t text = strnlen(error->text, sizeof(error->text) - 1);
    size_t remedy = strnlen(error->remedy, sizeof(error->remedy) - 1);
    accel_strbuf_append(&body, &numbers, sizeof(numbers));
    accel_strbuf_append(&body, error->text, text);
    accel_strbuf_char(&body, '\0');
    accel_strbuf_append(&body, error->remedy, remedy);
    accel_strbuf_char(&body, '\0');
    accel_ipc_put(out, ACCEL_IPC_FAILED, accel_strbuf_get(&body), body.length);
    accel_strbuf_free(&body);
}

void put_done(struct accel_strbuf *out, uint32_t devices)
{
    accel_ipc_put(out, ACCEL_IPC_DONE, &devices, sizeof(devices));
}

void put_verdict(struct accel_strbuf *out, const struct accel_verdict *verdict)
{
    struct accel_ipc_verdict numbers = {verdict->code, verdict->hardware};
    struct accel_strbuf record;
    accel_ipc_begin(&record, &numbers, sizeof(numbers));
    accel_ipc_add_text(&record, verdict->text);
    accel_ipc_add_text(&record, verdict->remedy ? verdict->remedy : "");
    accel_ipc_end(&record, ACCEL_IPC_VERDICT, out);
}

static struct accel_hardware *read_hardware(struct accel_ipc_reader *record, struct accel_arena *arena)
{
    struct accel_ipc_hardware numbers;
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

int32_t parse_hardware(const char *data, size_t bytes, struct accel_arena *arena,
                       const struct accel_hardware *const **out_list, uint32_t *out_count, struct accel_error *error)
{
    struct accel_ipc_reader all = {data, bytes, 0};
    /* No record is shorter than its head and numbers. */
    size_t most = bytes / (sizeof(struct accel_ipc_head) + sizeof(struct accel_ipc_hardware)) + 1;
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
