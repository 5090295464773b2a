/* SPDX-License-Identifier: Apache-2.0 */
/* What describes machines: snapshots, which come from other hosts, and the doctor's table. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/strbuf.h"
#include "core/snapshot/snapshot.h"
#include "tests/fuzz/fuzz.h"
#include "tools/doctor/snapshot.h"
#include "tools/doctor/table.h"

const char *const fuzz_corpus_folder = "tests/topologies";
const char *const fuzz_corpus_suffix = ".json";

static void check_error(int32_t code, const struct accel_error *error)
{
    if ((code != ACCEL_OK) != (error->code != ACCEL_OK) || strchr(error->text, '\n') != NULL)
        abort();
}

static int32_t write_snapshot(const struct accel_snapshot *snapshot, struct accel_arena *arena,
                              struct accel_strbuf *out, struct accel_error *error)
{
    struct accel_evidence evidence;
    accel_evidence_init(&evidence, arena);
    accel_evidence_read(&evidence, snapshot->evidence);
    return accel_snapshot_to_json(snapshot, &evidence, out, error);
}

/* What was read can be written, and what was written is read again as the same. */
static void give_back(const struct accel_snapshot *snapshot)
{
    struct accel_snapshot again;
    struct accel_arena arena = {0};
    struct accel_strbuf first = {0};
    struct accel_strbuf second = {0};
    struct accel_error error = {0};
    if (write_snapshot(snapshot, &arena, &first, &error) != ACCEL_OK)
        abort();
    /* Texts that are nearly too long may become so: escapes take more bytes. */
    if (accel_snapshot_parse("again", first.text, first.length, &arena, &again, &error) == ACCEL_OK) {
        if (write_snapshot(&again, &arena, &second, &error) != ACCEL_OK || strcmp(first.text, second.text) != 0)
            abort();
    } else if (error.code != ACCEL_E_LIMIT) {
        abort();
    }
    accel_arena_free(&arena);
    accel_strbuf_free(&first);
    accel_strbuf_free(&second);
}

static void give_as_snapshot(const char *data, size_t size)
{
    struct accel_snapshot snapshot;
    struct accel_arena arena = {0};
    struct accel_error error = {0};
    int32_t code = accel_snapshot_parse("fuzz.json", data, size, &arena, &snapshot, &error);
    size_t bytes;
    check_error(code, &error);
    if (code == ACCEL_OK) {
        const char *xml = accel_snapshot_xml(&snapshot, &arena, &bytes);
        if (xml == NULL || strlen(xml) + 1 != bytes)
            abort();
        give_back(&snapshot);
    }
    accel_arena_free(&arena);
}

static void give_as_table(const char *data, size_t size)
{
    static const struct accel_hardware hardware[] = {
        {.kind = ACCEL_HARDWARE_PCI, .vendor = 0x10de, .device = 0x1eb8, .device_class = 0x0302, .compatible = ""},
        {.kind = ACCEL_HARDWARE_NODE, .compatible = "arm,mali-t860"},
    };
    struct accel_doctor_table table;
    struct accel_arena arena = {0};
    struct accel_error error = {0};
    int32_t code = accel_doctor_table_parse("fuzz.yaml", data, size, &arena, &table, &error);
    check_error(code, &error);
    for (uint32_t i = 0; code == ACCEL_OK && i < table.count; i++)
        for (uint32_t n = 0; n < table.entries[i].need_count; n++)
            if (table.entries[i].needs[n].remedy == NULL || table.entries[i].needs[n].names.count == 0)
                abort();
    for (size_t i = 0; code == ACCEL_OK && i < sizeof(hardware) / sizeof(hardware[0]); i++)
        (void)accel_doctor_table_find(&table, &hardware[i]);
    accel_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    give_as_snapshot((const char *)data, size);
    give_as_table((const char *)data, size);
    return 0;
}
