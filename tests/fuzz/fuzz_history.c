/* SPDX-License-Identifier: Apache-2.0 */
/* The history of runs. A line of another version is passed over, so that every line is given as one of this version
 * too. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/strbuf.h"
#include "core/plan/history.h"
#include "core/registry/context.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_corpus_folder = "tests/fixtures/history";
const char *const fuzz_corpus_suffix = ".jsonl";

static struct accel_context *context;
static char folder[64], inner[80], path[96];

static void leave(void)
{
    unlink(path);
    rmdir(inner);
    rmdir(folder);
    free(context);
}

static void enter(void)
{
    struct stat facts;
    if (context != NULL)
        return;
    context = calloc(1, sizeof(*context));
    strcpy(folder, stat("/dev/shm", &facts) == 0 ? "/dev/shm/accel-fuzz-XXXXXX" : "/tmp/accel-fuzz-XXXXXX");
    if (context == NULL || mkdtemp(folder) == NULL)
        exit(99);
    snprintf(inner, sizeof(inner), "%s/accel", folder);
    snprintf(path, sizeof(path), "%s/history.jsonl", inner);
    if (mkdir(inner, 0700) != 0 || setenv("XDG_STATE_HOME", folder, 1) != 0)
        exit(99);
    atexit(leave);
}

static void put_file(const char *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, bytes, file) != bytes)
        exit(99);
    fclose(file);
    chmod(path, 0600);
}

static void check_record(const struct accel_history_record *record, uint32_t kind)
{
    if (record->device == NULL || record->model == NULL || record->settings == NULL ||
        (kind != 0 && record->kind != kind))
        abort();
    if (!isfinite(record->speed) || !isfinite(record->bandwidth))
        abort();
}

/* Every record that a search gives; what the first one says is what the second search is for. */
static void read_all(uint32_t kind, const char *model, const char *device, uint32_t most)
{
    struct accel_history *history = NULL;
    struct accel_error error = {0};
    if (accel_history_find(context, kind, model, device, most, &history, &error) != ACCEL_OK)
        abort();
    for (uint32_t i = 0; i < history->count; i++)
        check_record(&history->records[i], kind);
    if (model == NULL && history->count != 0) {
        const struct accel_history_record *record = &history->records[0];
        read_all(record->kind, record->model, record->device, 1);
    }
    accel_history_free(history);
}

static void give(const char *data, size_t bytes)
{
    put_file(data, bytes);
    read_all(0, NULL, NULL, 0);
    read_all(ACCEL_HISTORY_BANDWIDTH, NULL, NULL, 2);
}

/* Each line between the words that begin and end one. */
static void give_as_lines(const char *data, size_t bytes)
{
    struct accel_strbuf text = {0};
    for (size_t from = 0; from < bytes;) {
        const char *end = memchr(data + from, '\n', bytes - from);
        size_t length = end == NULL ? bytes - from : (size_t)(end - data) - from;
        accel_strbuf_printf(&text, "%s", ACCEL_HISTORY_BEGIN);
        accel_strbuf_append(&text, data + from, length);
        accel_strbuf_printf(&text, "}\n");
        from += length + 1;
    }
    give(accel_strbuf_get(&text), text.length);
    accel_strbuf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enter();
    give((const char *)data, size);
    give_as_lines((const char *)data, size);
    return 0;
}
