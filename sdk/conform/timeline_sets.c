/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of steps of one set whose symbols change within one submit, and of inputs larger than one step may
 * transfer.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <accel/builder.h>

#include "sdk/conform/conform.h"
#include "sdk/conform/list.h"

#define WIDTH 24u
#define ROWS 12u
#define STEPS 5u
#define FOREVER 60000000000u

/* Computes y = x + b, whose row count is a symbol. */
struct sum {
    struct conform *conform;
    struct accel_builder *builder;
    const struct accel_graph *graph;
    struct accel_module *module;
    struct accel_queue *queue;
    struct accel_set *set;
    struct accel_buffer *buffers[3]; /* x, b, y */
    struct accel_buffer *results[STEPS];
};

static int32_t build(struct sum *s)
{
    struct accel_dim dims[2] = {{.symbol = 1, .multiply = 1, .divide = 1}, {.add = WIDTH}};
    struct accel_error *error = &s->conform->error;
    uint32_t symbol, inputs[2], value;
    int32_t code = accel_builder_create("sum", &s->builder, error);

    if (code == ACCEL_OK)
        code = accel_builder_symbol(s->builder, "rows", 1, ROWS, &symbol, error);
    if (code == ACCEL_OK)
        code = accel_builder_value(s->builder, ACCEL_ROLE_INPUT, "x", ACCEL_F32, 2, dims, &inputs[0], error);
    if (code == ACCEL_OK)
        code = accel_builder_value(s->builder, ACCEL_ROLE_INPUT, "b", ACCEL_F32, 2, dims, &inputs[1], error);
    if (code == ACCEL_OK)
        code = accel_builder_node(s->builder, ACCEL_OP_ADD, "add", inputs, 2, NULL, &value, error);
    if (code == ACCEL_OK)
        code = accel_builder_output(s->builder, value, "y", error);
    return code == ACCEL_OK ? accel_builder_finish(s->builder, &s->graph, error) : code;
}

static bool make(struct sum *s, struct conform *conform)
{
    const uint64_t highest = ROWS, bytes = ROWS * WIDTH * sizeof(float);
    struct accel_bind binds[3];
    uint32_t count = 0;
    int32_t code;

    memset(s, 0, sizeof(*s));
    s->conform = conform;
    if (!conform_ok(conform, build(s), "the kit's own graph"))
        return false;
    code = accel_module_create(conform->device, &s->graph, 1, NULL, NULL, NULL, &s->module, &conform->error);
    if (code == ACCEL_E_REFUSED) {
        conform_skip(conform, "it does not take a sum");
        return false;
    }
    if (!conform_ok(conform, code, "compile") ||
        !conform_ok(conform, accel_queue_create(conform->device, NULL, &s->queue, &conform->error), "make a queue"))
        return false;
    for (uint32_t v = 0; v < s->graph->value_count; v++) {
        const uint32_t role = s->graph->values[v]->role;

        if ((role != ACCEL_ROLE_INPUT && role != ACCEL_ROLE_OUTPUT) || count == 3)
            continue;
        if (!conform_ok(conform, accel_buffer_create(conform->device, bytes, 0, &s->buffers[count], &conform->error),
                        "make a buffer"))
            return false;
        binds[count] = (struct accel_bind){.value = v, .buffer = s->buffers[count]};
        count++;
    }
    for (uint32_t i = 0; i < STEPS; i++)
        if (!conform_ok(conform, accel_buffer_create(conform->device, bytes, 0, &s->results[i], &conform->error),
                        "make a buffer"))
            return false;
    return conform_ok(conform,
                      accel_set_create(s->module, 0, s->queue, &highest, binds, count, NULL, &s->set, &conform->error),
                      "bind a set");
}

static void end(struct sum *s)
{
    accel_set_free(s->set);
    accel_queue_free(s->queue);
    for (uint32_t i = 0; i < 3; i++)
        accel_buffer_free(s->buffers[i]);
    for (uint32_t i = 0; i < STEPS; i++)
        accel_buffer_free(s->results[i]);
    accel_module_free(s->module);
    accel_builder_free(s->builder);
}

static struct accel_step update(struct accel_buffer *target, const void *data, uint64_t bytes)
{
    return (struct accel_step){
        .size = sizeof(struct accel_step), .kind = ACCEL_STEP_UPDATE, .target = target, .data = data, .bytes = bytes};
}

static bool submit(struct sum *s, const struct accel_step *steps, uint32_t count)
{
    const struct accel_step *list[1 + 4 * STEPS];
    struct conform *conform = s->conform;
    uint64_t value = 0;

    for (uint32_t i = 0; i < count; i++)
        list[i] = &steps[i];
    return conform_ok(conform, accel_queue_submit(s->queue, list, count, NULL, 0, &value, &conform->error), "submit") &&
           conform_ok(conform, accel_queue_wait(s->queue, value, FOREVER, &conform->error), "wait");
}

/* ---- symbols that change between steps ---- */

/* Inputs and results of the steps of one submit. */
struct passage {
    float x[STEPS][ROWS * WIDTH];
    float b[ROWS * WIDTH];
    float got[STEPS][ROWS * WIDTH];
};

static bool compare(struct conform *conform, const struct passage *passage, const uint64_t *rows, uint32_t steps)
{
    for (uint32_t i = 0; i < steps; i++)
        for (uint32_t e = 0; e < rows[i] * WIDTH; e++) {
            const float wanted = passage->x[i][e] + passage->b[e], got = passage->got[i][e];

            if (got == wanted)
                continue;
            conform_fail(conform, "step %u, element %u is %.9g, expected %.9g", i, e, (double)got, (double)wanted);
            return false;
        }
    return true;
}

/* Submits steps with an x and a row count each; each result is copied out before the next step runs. */
static bool pass(struct sum *s, struct passage *passage, const uint64_t *rows, uint32_t steps)
{
    struct accel_step submitted[1 + 4 * STEPS];
    uint32_t count = 0;

    submitted[count++] = update(s->buffers[1], passage->b, sizeof(passage->b));
    for (uint32_t i = 0; i < steps; i++) {
        const uint64_t bytes = rows[i] * WIDTH * sizeof(float);

        for (uint32_t e = 0; e < ROWS * WIDTH; e++)
            passage->x[i][e] = conform_float(s->conform);
        submitted[count++] = update(s->buffers[0], passage->x[i], bytes);
        submitted[count++] =
            (struct accel_step){.size = sizeof(*submitted), .kind = ACCEL_STEP_RUN, .set = s->set, .symbols = &rows[i]};
        submitted[count++] = (struct accel_step){.size = sizeof(*submitted),
                                                 .kind = ACCEL_STEP_COPY,
                                                 .source = s->buffers[2],
                                                 .target = s->results[i],
                                                 .bytes = bytes};
        submitted[count++] = (struct accel_step){.size = sizeof(*submitted),
                                                 .kind = ACCEL_STEP_READ,
                                                 .source = s->results[i],
                                                 .memory = passage->got[i],
                                                 .bytes = bytes};
    }
    return submit(s, submitted, count);
}

static void symbols(struct conform *conform)
{
    static const uint64_t rows[][STEPS] = {
        {ROWS, 1, 5, 1, ROWS}, {1, 2, 3, 4, 5}, {7, 7, 1, 7, ROWS}, {2, ROWS, 2, 1, 3}};
    const struct accel_limits *limits = conform->facts->limits;
    const uint32_t limit = limits->in_flight;
    const uint32_t steps = limit == 0 || limit > 4 * STEPS ? STEPS : (limit - 1) / 4;
    struct passage passage;
    struct sum s;
    bool is_good;

    conform_case(conform, "compile");
    is_good = make(&s, conform);
    if (is_good && limits->inline_bytes < sizeof(passage.b)) {
        conform_skip(conform, "its steps bring too few bytes: inline_bytes of its limits");
        is_good = false;
    }
    for (uint32_t i = 0; i < ROWS * WIDTH; i++)
        passage.b[i] = conform_float(conform);
    for (uint32_t round = 0; round < sizeof(rows) / sizeof(*rows) && is_good; round++) {
        const uint64_t *r = rows[round];

        conform_case(conform, "the first %u steps of %u, %u, %u, %u and %u rows in one submit", steps, (uint32_t)r[0],
                     (uint32_t)r[1], (uint32_t)r[2], (uint32_t)r[3], (uint32_t)r[4]);
        is_good = pass(&s, &passage, r, steps) && compare(conform, &passage, r, steps);
    }
    end(&s);
}

/* ---- inputs larger than one step may transfer ---- */

static void refuse_whole(struct conform *conform, struct accel_queue *queue, struct accel_buffer *buffer,
                         const char *data, uint64_t most)
{
    const struct accel_step step = update(buffer, data, most + 4);
    const struct accel_step *list = &step;
    uint64_t value = 0;

    conform_case(conform, "an update of more than inline_bytes");
    if (accel_queue_submit(queue, &list, 1, NULL, 0, &value, &conform->error) == ACCEL_OK)
        conform_fail(conform, "it was taken");
    accel_error_clear(&conform->error);
}

/* Waits while the queue is full, and submits again. */
static bool send_pieces(struct conform *conform, struct accel_queue *queue, struct accel_buffer *buffer,
                        const char *data, uint64_t bytes, uint64_t most)
{
    struct accel_step step;
    const struct accel_step *list = &step;
    uint64_t value = 0;
    bool is_good = true;

    for (uint64_t done = 0; done < bytes && is_good;) {
        int32_t code;

        step = update(buffer, data + done, bytes - done < most ? bytes - done : most);
        step.target_offset = done;
        code = accel_queue_submit(queue, &list, 1, NULL, 0, &value, &conform->error);
        if (code == ACCEL_E_AGAIN && done != 0) {
            accel_error_clear(&conform->error);
            is_good = conform_ok(conform, accel_queue_wait(queue, value, FOREVER, &conform->error), "wait");
            continue;
        }
        is_good = conform_ok(conform, code, "submit");
        done += step.bytes;
    }
    return is_good;
}

static bool read_whole(struct conform *conform, struct accel_queue *queue, struct accel_buffer *buffer, char *got,
                       uint64_t bytes)
{
    const struct accel_step step = {
        .size = sizeof(step), .kind = ACCEL_STEP_READ, .source = buffer, .memory = got, .bytes = bytes};
    const struct accel_step *list = &step;
    uint64_t value = 0;

    return conform_ok(conform, accel_queue_submit(queue, &list, 1, NULL, 0, &value, &conform->error),
                      "submit a read") &&
           conform_ok(conform, accel_queue_wait(queue, value, FOREVER, &conform->error), "wait");
}

/* A transfer that is too large is refused without changing the queue; in pieces it succeeds. */
static void pieces(struct conform *conform)
{
    const uint64_t most = conform->facts->limits->inline_bytes;
    const uint64_t bytes = 3 * most + 20;
    struct accel_buffer *buffer = NULL;
    struct accel_queue *queue = NULL;
    char *data, *got;

    if (most < 16 || most > (uint64_t)64 << 20) {
        conform_skip(conform,
                     most < 16 ? "its steps bring no bytes: inline_bytes of its limits is below 16"
                               : "it takes any number of bytes in one step: inline_bytes of its limits is over 64 MiB");
        return;
    }
    conform_case(conform, "a buffer and a queue");
    data = conform_memory(conform, bytes, 1);
    got = conform_memory(conform, bytes, 1);
    for (uint64_t i = 0; i < bytes; i++)
        data[i] = (char)conform_below(conform, 256);
    if (conform_ok(conform, accel_buffer_create(conform->device, bytes, 0, &buffer, &conform->error),
                   "make a buffer") &&
        conform_ok(conform, accel_queue_create(conform->device, NULL, &queue, &conform->error), "make a queue")) {
        refuse_whole(conform, queue, buffer, data, most);
        conform_case(conform, "%llu bytes in pieces of %llu, without a wait", (unsigned long long)bytes,
                     (unsigned long long)most);
        if (send_pieces(conform, queue, buffer, data, bytes, most) && read_whole(conform, queue, buffer, got, bytes) &&
            memcmp(data, got, bytes) != 0)
            conform_fail(conform, "what was read is not what was written");
    }
    accel_queue_free(queue);
    accel_buffer_free(buffer);
    free(data), free(got);
}

void conform_add_sets(struct conform_list *list)
{
    conform_add(list, CONFORM_DEVICE, 0, symbols, "timeline/symbols");
    conform_add(list, CONFORM_DEVICE, 0, pieces, "timeline/pieces");
}
