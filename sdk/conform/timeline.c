/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue tests: byte transfers by steps, timeline values that rise, several submits in flight, two queues,
 * deadlines, values that are reported as reached, cancel and reset. A driver without queues must pass through the
 * core's queue, which calls its `run`.
 */
#include "config.h"

#include <string.h>

#include "sdk/conform/conform.h"
#include "sdk/conform/list.h"

#define BYTES 4096u
#define FOREVER 60000000000u
#define LONG_BYTES ((uint64_t)8 << 20) /* of the buffer of a long step */
#define LONG_FILLS 12u                 /* fills of that buffer before its end is read */
#define LONG_ROUNDS 6u

/* Two buffers and two queues. */
struct bench {
    struct conform *conform;
    struct accel_queue *queues[2];
    struct accel_buffer *buffers[2];
    uint64_t inline_bytes;
};

static void bench_end(struct bench *b)
{
    for (uint32_t i = 0; i < 2; i++) {
        accel_queue_free(b->queues[i]);
        accel_buffer_free(b->buffers[i]);
    }
}

static bool bench_begin(struct bench *b, struct conform *conform)
{
    const struct accel_limits *limits = conform->facts->limits;
    bool is_good = true;

    memset(b, 0, sizeof(*b));
    b->conform = conform;
    b->inline_bytes = limits->inline_bytes < BYTES ? limits->inline_bytes : BYTES;
    conform_case(conform, "two queues and two buffers");
    for (uint32_t i = 0; i < 2 && is_good; i++)
        is_good = conform_ok(conform, accel_buffer_create(conform->device, BYTES, 0, &b->buffers[i], &conform->error),
                             "make a buffer") &&
                  conform_ok(conform, accel_queue_create(conform->device, NULL, &b->queues[i], &conform->error),
                             "make a queue");
    if (is_good && b->inline_bytes < 16) {
        conform_skip(conform, "its limits have no inline_bytes: steps cannot bring bytes");
        is_good = false;
    }
    if (!is_good)
        bench_end(b);
    return is_good;
}

/* ---- steps ---- */

static struct accel_step update(struct accel_buffer *target, uint64_t offset, const void *data, uint64_t bytes)
{
    return (struct accel_step){.size = sizeof(struct accel_step),
                               .kind = ACCEL_STEP_UPDATE,
                               .target = target,
                               .target_offset = offset,
                               .data = data,
                               .bytes = bytes};
}

static struct accel_step fill(struct accel_buffer *target, uint64_t offset, uint64_t bytes, uint32_t byte)
{
    return (struct accel_step){.size = sizeof(struct accel_step),
                               .kind = ACCEL_STEP_FILL,
                               .target = target,
                               .target_offset = offset,
                               .bytes = bytes,
                               .fill = byte};
}

static struct accel_step copy(struct accel_buffer *source, uint64_t from, struct accel_buffer *target, uint64_t to,
                              uint64_t bytes)
{
    return (struct accel_step){.size = sizeof(struct accel_step),
                               .kind = ACCEL_STEP_COPY,
                               .source = source,
                               .source_offset = from,
                               .target = target,
                               .target_offset = to,
                               .bytes = bytes};
}

static struct accel_step read_back(struct accel_buffer *source, void *memory)
{
    return (struct accel_step){
        .size = sizeof(struct accel_step), .kind = ACCEL_STEP_READ, .source = source, .memory = memory, .bytes = BYTES};
}

/* Submits up to four steps; waits while the queue is full. */
static bool submit(struct bench *b, uint32_t queue, const struct accel_step *steps, uint32_t count,
                   const struct accel_fence *wait, uint64_t *value)
{
    const struct accel_step *list[4];
    struct conform *conform = b->conform;
    uint64_t before = *value;
    int32_t code;

    for (uint32_t i = 0; i < count; i++)
        list[i] = &steps[i];
    code = accel_queue_submit(b->queues[queue], list, count, wait, wait != NULL, value, &conform->error);
    if (code == ACCEL_E_AGAIN && before != 0) {
        accel_error_clear(&conform->error);
        if (!conform_ok(conform, accel_queue_wait(b->queues[queue], before, FOREVER, &conform->error), "wait"))
            return false;
        code = accel_queue_submit(b->queues[queue], list, count, wait, wait != NULL, value, &conform->error);
    }
    if (!conform_ok(conform, code, "submit"))
        return false;
    if (*value <= before) {
        conform_fail(conform, "submit answered value %llu after %llu", (unsigned long long)*value,
                     (unsigned long long)before);
        return false;
    }
    return true;
}

static bool wait(struct bench *b, uint32_t queue, uint64_t value)
{
    return conform_ok(b->conform, accel_queue_wait(b->queues[queue], value, FOREVER, &b->conform->error), "wait");
}

static bool is_same(struct bench *b, const uint8_t *got, const uint8_t *want)
{
    for (uint32_t i = 0; i < BYTES; i++)
        if (got[i] != want[i]) {
            conform_fail(b->conform, "byte %u is 0x%02x, expected 0x%02x", i, got[i], want[i]);
            return false;
        }
    return true;
}

/* ---- tests ---- */

/* Tests random offsets and lengths; each operation is also applied to plain memory for comparison. */
static void bytes(struct conform *conform)
{
    uint8_t want[2][BYTES], got[BYTES], data[BYTES];
    struct accel_step steps[4];
    struct bench b;
    uint64_t value = 0;
    bool is_good;

    if (!bench_begin(&b, conform))
        return;
    memset(want, 0, sizeof(want));
    steps[0] = read_back(b.buffers[0], got);
    conform_case(conform, "a new buffer is zero");
    is_good = submit(&b, 0, steps, 1, NULL, &value) && wait(&b, 0, value) && is_same(&b, got, want[0]);
    for (uint32_t round = 0; round < 40 && is_good; round++) {
        uint32_t unit = round % 2 == 0 ? 4 : 1;
        uint32_t length = unit * (1 + conform_below(conform, (uint32_t)b.inline_bytes / unit));
        uint32_t at = unit * conform_below(conform, (BYTES - length) / unit + 1);
        uint32_t to = unit * conform_below(conform, (BYTES - length) / unit + 1), which = round % 3 % 2;
        uint32_t byte = conform_below(conform, 256);

        conform_case(conform, "update, copy and fill of %u bytes at %u and %u", length, at, to);
        for (uint32_t i = 0; i < length; i++)
            data[i] = (uint8_t)conform_below(conform, 256);
        steps[0] = update(b.buffers[which], at, data, length);
        steps[1] = copy(b.buffers[which], at, b.buffers[!which], to, length);
        steps[2] = fill(b.buffers[which], at, length / 2 + 1, byte);
        steps[3] = read_back(b.buffers[round / 2 % 2], got);
        is_good = submit(&b, 0, steps, 4, NULL, &value);
        memcpy(want[which] + at, data, length);
        memcpy(want[!which] + to, data, length);
        memset(want[which] + at, (int)byte, length / 2 + 1);
        memset(data, 0xee, sizeof(data)); /* submit copied it before it returned */
        is_good = is_good && wait(&b, 0, value) && is_same(&b, got, want[round / 2 % 2]);
    }
    bench_end(&b);
}

/* Submits repeatedly before the first wait: the steps of a queue run in order. */
static void flight(struct conform *conform)
{
    uint8_t got[BYTES], want[BYTES] = {0};
    struct accel_step steps[2];
    uint64_t value = 0, done = 0, first = 0;
    struct bench b;
    bool is_good = true;

    if (!bench_begin(&b, conform))
        return;
    conform_case(conform, "200 submits");
    for (uint32_t i = 0; i < 200 && is_good; i++) {
        steps[0] = fill(b.buffers[0], i % 64 * 16, 64, i);
        memset(want + i % 64 * 16, (int)i, 64);
        is_good = submit(&b, 0, steps, 1, NULL, &value);
        first = first == 0 ? value : first;
    }
    steps[0] = read_back(b.buffers[0], got);
    is_good = is_good && submit(&b, 0, steps, 1, NULL, &value) && wait(&b, 0, value) && is_same(&b, got, want);
    conform_case(conform, "values that are reached");
    if (is_good && wait(&b, 0, first) &&
        conform_ok(conform, accel_queue_completed(b.queues[0], &done, &conform->error), "completed") && done < value)
        conform_fail(conform, "waited for value %llu, but completed returns %llu", (unsigned long long)value,
                     (unsigned long long)done);
    bench_end(&b);
}

/* ---- long steps ---- */

/* A step that reads the bytes which a long step fills last. */
static struct accel_step read_end(struct accel_buffer *buffer, void *memory)
{
    struct accel_step step = read_back(buffer, memory);

    step.source_offset = LONG_BYTES - BYTES;
    return step;
}

/* Makes a buffer that takes milliseconds to fill a few times. Skips the test and returns false if the device has none.
 */
static bool make_long(struct bench *b, struct accel_buffer **out_buffer)
{
    struct conform *conform = b->conform;
    const uint64_t largest = conform->facts->limits->buffer_bytes;

    if (largest != 0 && largest < LONG_BYTES) {
        conform_skip(conform, "its buffers are too small for a step that takes long");
        return false;
    }
    return conform_ok(conform, accel_buffer_create(conform->device, LONG_BYTES, 0, out_buffer, &conform->error),
                      "make a buffer");
}

/* Submits steps that take milliseconds: fills of `buffer` in front of `last`. */
static bool submit_long(struct bench *b, uint32_t queue, struct accel_buffer *buffer, uint32_t byte,
                        const struct accel_step *last, uint64_t *value)
{
    struct accel_step steps[LONG_FILLS];
    const struct accel_step *list[LONG_FILLS + 1];
    struct conform *conform = b->conform;
    const struct accel_limits *limits = conform->facts->limits;
    const uint32_t fills = limits->queues != 0 && limits->in_flight <= LONG_FILLS ? limits->in_flight - 1 : LONG_FILLS;

    for (uint32_t i = 0; i < fills; i++) {
        steps[i] = fill(buffer, 0, LONG_BYTES, byte + fills - 1 - i);
        list[i] = &steps[i];
    }
    list[fills] = last;
    return conform_ok(conform, accel_queue_submit(b->queues[queue], list, fills + 1, NULL, 0, value, &conform->error),
                      "submit");
}

/* A queue that waits for a timeline value reads the bytes that another queue stored before it,
 * however long that takes. */
static void across(struct conform *conform)
{
    uint8_t got[BYTES], want[BYTES];
    struct accel_step steps[2];
    struct accel_buffer *buffer = NULL;
    uint64_t values[2] = {0, 0};
    struct bench b;
    bool is_good;

    if (!bench_begin(&b, conform))
        return;
    is_good = make_long(&b, &buffer);
    for (uint32_t i = 0; i < 20 && is_good; i++) {
        uint32_t here = i % 2, there = !here;
        struct accel_fence point = {.queue = b.queues[here]};

        conform_case(conform, "queue %u waits for queue %u, %u", there, here, i);
        memset(want, (int)i + 1, sizeof(want));
        steps[0] = fill(b.buffers[0], 0, BYTES, i + 1);
        is_good = submit_long(&b, here, buffer, i, &steps[0], &values[here]);
        point.value = values[here];
        steps[0] = copy(b.buffers[0], 0, b.buffers[1], 0, BYTES);
        steps[1] = read_back(b.buffers[1], got);
        is_good = is_good && submit(&b, there, steps, 2, &point, &values[there]) && wait(&b, there, values[there]) &&
                  is_same(&b, got, want);
    }
    accel_buffer_free(buffer);
    bench_end(&b);
}

enum early { EARLY_WAIT, EARLY_COMPLETED, EARLY_RESET, EARLY_END };

/* Returns whether the driver reports `value` as reached, by the way that is tested. */
static bool is_reported(struct bench *b, enum early way, uint64_t value)
{
    struct conform *conform = b->conform;
    uint64_t done = 0;
    int32_t code = ACCEL_OK;

    if (way == EARLY_COMPLETED)
        return conform_ok(conform, accel_queue_completed(b->queues[0], &done, &conform->error), "completed") &&
               done >= value;
    if (way == EARLY_RESET && !conform_ok(conform, accel_queue_reset(b->queues[0], &conform->error), "reset"))
        return false;
    code = accel_queue_wait(b->queues[0], value, 0, &conform->error);
    if (code == ACCEL_E_TIMEOUT && way == EARLY_RESET)
        conform_fail(conform, "value %llu is still in flight after the reset, which has to wait for it",
                     (unsigned long long)value);
    else if (code != ACCEL_E_TIMEOUT)
        conform_ok(conform, code, "wait");
    accel_error_clear(&conform->error);
    return code == ACCEL_OK;
}

/* A value that wait or completed reports as reached has moved its bytes, however long its steps take; a reset waits for
 * the steps in flight. */
static void early(struct conform *conform)
{
    static const char *const ways[EARLY_END] = {"a wait whose deadline has passed", "completed", "a reset"};
    struct accel_buffer *buffer = NULL;
    struct accel_step read;
    uint8_t got[BYTES], want[BYTES];
    struct bench b;
    bool is_good;

    if (!bench_begin(&b, conform))
        return;
    is_good = make_long(&b, &buffer);
    read = read_end(buffer, got);
    for (uint32_t i = 0; i < LONG_ROUNDS * EARLY_END && is_good; i++) {
        uint64_t value = 0;

        conform_case(conform, "%s behind long steps, %u", ways[i % EARLY_END], i / EARLY_END);
        memset(got, 0, sizeof(got));
        memset(want, (int)i + 1, sizeof(want));
        is_good = submit_long(&b, 0, buffer, i + 1, &read, &value);
        if (is_good && is_reported(&b, i % EARLY_END, value))
            is_good = is_same(&b, got, want);
        is_good = is_good && wait(&b, 0, value) && is_same(&b, got, want);
    }
    accel_buffer_free(buffer);
    bench_end(&b);
}

/* A cancelled queue fails the steps that have not begun, fails dependent submits with DEPENDS, and works again
 * after a reset. */
static void cancel(struct conform *conform)
{
    uint8_t got[BYTES], want[BYTES];
    struct accel_step steps[1];
    uint64_t value = 0, after = 0;
    struct bench b;
    int32_t code;

    if (!bench_begin(&b, conform))
        return;
    conform_case(conform, "a deadline that has passed");
    steps[0] = fill(b.buffers[0], 0, BYTES, 1);
    if (submit(&b, 0, steps, 1, NULL, &value)) {
        code = accel_queue_wait(b.queues[0], value, 0, &conform->error);
        if (code != ACCEL_OK && code != ACCEL_E_TIMEOUT)
            conform_fail(conform, "%s", accel_error_name(code));
        accel_error_clear(&conform->error);
        wait(&b, 0, value);
    }
    conform_case(conform, "cancel");
    conform_ok(conform, accel_queue_cancel(b.queues[0], &conform->error), "cancel");
    code =
        accel_queue_submit(b.queues[0], (const struct accel_step *const[]){steps}, 1, NULL, 0, &after, &conform->error);
    accel_error_clear(&conform->error);
    if (code == ACCEL_OK)
        code = accel_queue_wait(b.queues[0], after, FOREVER, &conform->error);
    if (code != ACCEL_OK && code != ACCEL_E_CANCELLED && code != ACCEL_E_DEPENDS)
        conform_fail(conform, "a submit after it ended with %s", accel_error_name(code));
    accel_error_clear(&conform->error);
    conform_case(conform, "reset");
    memset(want, 7, sizeof(want));
    if (conform_ok(conform, accel_queue_reset(b.queues[0], &conform->error), "reset")) {
        steps[0] = fill(b.buffers[0], 0, BYTES, 7);
        value = 0;
        if (submit(&b, 0, steps, 1, NULL, &value) && wait(&b, 0, value)) {
            steps[0] = read_back(b.buffers[0], got);
            if (submit(&b, 0, steps, 1, NULL, &value) && wait(&b, 0, value))
                is_same(&b, got, want);
        }
    }
    bench_end(&b);
}

/* Steps that a cancel finds in flight have moved their bytes or fail as cancelled; after a reset the queue works. */
static void cancel_in_flight(struct conform *conform)
{
    struct accel_buffer *buffer = NULL;
    struct accel_step read, write;
    uint8_t got[BYTES], want[BYTES];
    struct bench b;
    bool is_good;

    if (!bench_begin(&b, conform))
        return;
    is_good = make_long(&b, &buffer);
    read = read_end(buffer, got);
    for (uint32_t i = 0; i < LONG_ROUNDS && is_good; i++) {
        uint64_t value = 0;
        int32_t code;

        conform_case(conform, "cancel behind long steps, %u", i);
        memset(got, 0, sizeof(got));
        memset(want, (int)i + 1, sizeof(want));
        if (!submit_long(&b, 0, buffer, i + 1, &read, &value) ||
            !conform_ok(conform, accel_queue_cancel(b.queues[0], &conform->error), "cancel"))
            break;
        code = accel_queue_wait(b.queues[0], value, FOREVER, &conform->error);
        if (code != ACCEL_E_CANCELLED)
            is_good = conform_ok(conform, code, "wait") && is_same(&b, got, want);
        accel_error_clear(&conform->error);
        conform_case(conform, "a step after the reset, %u", i);
        is_good = is_good && conform_ok(conform, accel_queue_reset(b.queues[0], &conform->error), "reset");
        write = fill(buffer, LONG_BYTES - BYTES, BYTES, i + 101);
        memset(want, (int)i + 101, sizeof(want));
        is_good = is_good && submit(&b, 0, &write, 1, NULL, &value) && submit(&b, 0, &read, 1, NULL, &value) &&
                  wait(&b, 0, value) && is_same(&b, got, want);
    }
    accel_buffer_free(buffer);
    bench_end(&b);
}

/* Tests frees of buffers and queues with steps in flight, which the core must defer. */
static void ends(struct conform *conform)
{
    struct accel_step steps[1];
    uint64_t value = 0;
    struct bench b;

    if (!bench_begin(&b, conform))
        return;
    conform_case(conform, "buffers and queues that are dropped with steps in flight");
    for (uint32_t i = 0; i < 10; i++) {
        steps[0] = fill(b.buffers[0], 0, BYTES, i);
        if (!submit(&b, 0, steps, 1, NULL, &value))
            break;
    }
    accel_buffer_free(b.buffers[0]);
    b.buffers[0] = NULL;
    bench_end(&b);
}

void conform_add_timeline(struct conform_list *list)
{
    conform_add(list, CONFORM_DEVICE, 0, bytes, "timeline/bytes");
    conform_add(list, CONFORM_DEVICE, 0, flight, "timeline/flight");
    conform_add(list, CONFORM_DEVICE, 0, across, "timeline/queues");
    conform_add(list, CONFORM_DEVICE, 0, early, "timeline/early");
    conform_add(list, CONFORM_DEVICE, 0, cancel, "timeline/cancel");
    conform_add(list, CONFORM_DEVICE, 0, cancel_in_flight, "timeline/cancel-flight");
    conform_add(list, CONFORM_DEVICE, 0, ends, "timeline/ends");
}
