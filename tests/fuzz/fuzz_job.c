/* SPDX-License-Identifier: Apache-2.0 */
/* The job of a worker, graphs included: what one process hands another. What was read is written as the same bytes. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/device/worker.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_corpus_folder = "tests/fixtures/jobs";
const char *const fuzz_corpus_suffix = ".job";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct accel_worker_job job;
    struct accel_worker_job again;
    struct accel_strbuf first = {0};
    struct accel_strbuf second = {0};
    struct accel_arena arena;
    struct accel_error error = {0};
    accel_arena_init(&arena, 64u << 20);
    if (accel_worker_unpack((const char *)data, size, &arena, &job, &error) == ACCEL_OK) {
        accel_worker_pack(&job, &first);
        if (accel_worker_unpack(first.text, first.length, &arena, &again, &error) != ACCEL_OK)
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
    return 0;
}
