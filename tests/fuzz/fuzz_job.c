/* SPDX-License-Identifier: Apache-2.0 */
/* What one process hands another: the job of a worker, graphs included, of which what was read is written as the same
 * bytes; and what a probe's child and its parent say. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/plugin/ipc.h"
#include "core/runtime/worker.h"
#include "tests/fuzz/fuzz.h"
#include "tools/accel-probe/job.h"
#include "tools/accel-probe/messages.h"

const char *const fuzz_corpus_folder = "tests/fixtures/jobs";
const char *const fuzz_corpus_suffix = ".job";

static void check_error(int32_t code, const struct accel_error *error)
{
    if ((code != ACCEL_OK) != (error->code != ACCEL_OK) || strchr(error->text, '\n') != NULL)
        abort();
}

/* What a child answers: texts are there, and a failure has a code. */
static void give_as_answer(const char *data, size_t size)
{
    struct accel_ipc_answer answer;
    struct accel_arena arena = {0};
    struct accel_error error = {0};
    check_error(accel_ipc_read(data, size, &arena, &answer, &error), &error);
    if (answer.stage == NULL || answer.text == NULL || answer.remedy == NULL || (answer.failed && answer.code >= 0))
        abort();
    accel_arena_free(&arena);
}

/* What a child is told of the machine is written as it was read. */
static void give_as_hardware(const char *data, size_t size)
{
    const struct accel_hardware *const *list = NULL;
    struct accel_arena arena = {0};
    struct accel_error error = {0};
    struct accel_strbuf text = {0};
    uint32_t count = 0;
    int32_t code = parse_hardware(data, size, &arena, &list, &count, &error);
    check_error(code, &error);
    for (uint32_t i = 0; code == ACCEL_OK && i < count; i++)
        accel_ipc_put_hardware(&text, list[i]);
    if (code == ACCEL_OK &&
        parse_hardware(accel_strbuf_get(&text), text.length, &arena, &list, &count, &error) != ACCEL_OK)
        abort();
    accel_strbuf_free(&text);
    accel_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct accel_worker_job job;
    struct accel_worker_job again;
    struct accel_strbuf first = {0};
    struct accel_strbuf second = {0};
    struct accel_arena arena;
    struct accel_error error = {0};
    accel_arena_init(&arena, 64u << 20);
    if (parse_job((const char *)data, size, &arena, &job, &error) == ACCEL_OK) {
        accel_worker_pack(&job, &first);
        if (parse_job(first.text, first.length, &arena, &again, &error) != ACCEL_OK)
            abort();
        accel_worker_pack(&again, &second);
        if (first.length != second.length || memcmp(first.text, second.text, first.length) != 0)
            abort();
    } else if (error.code == ACCEL_OK || strchr(error.text, '\n') != NULL) {
        abort();
    }
    accel_strbuf_free(&first);
    accel_strbuf_free(&second);
    accel_arena_free(&arena);
    give_as_answer((const char *)data, size);
    give_as_hardware((const char *)data, size);
    return 0;
}
