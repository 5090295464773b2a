/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/conform/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/half.h>

#include "sdk/conform/late.h"
#include "sdk/conform/leak.h"

#define BORDER 64u    /* border bytes on both sides of a value */
#define MARK 0x5au    /* content of the border */
#define NOTHING 0xffu /* content of outputs before a step: NaN floats */
#define DEADLINE 60000000000u
#define MOST_THREADS 4u /* most threads of a queue; cases use 1 up to this number in turn */

/* ---- weights ---- */

static const struct conform_tensor *find(const struct conform_source *source, const char *key)
{
    const struct trial *trial = ((const struct step *)source)->trial;
    uint32_t value = accel_graph_find(trial->graph, key);

    return value == ACCEL_NO_VALUE ? NULL : trial->values[value].weight;
}

/* ---- bytes ---- */

static int32_t submit_one(struct accel_queue *queue, const struct accel_step *step, struct accel_error *error)
{
    uint64_t value = 0;
    int32_t code = accel_queue_submit(queue, &step, 1, NULL, 0, &value, error);

    return code == ACCEL_OK ? accel_queue_wait(queue, value, DEADLINE, error) : code;
}

int32_t step_put(struct step *step, struct accel_buffer *buffer, uint64_t offset, const void *data, uint64_t bytes,
                 struct accel_error *error)
{
    const uint64_t most = step->inline_bytes;
    struct accel_step update = {.size = sizeof(update), .kind = ACCEL_STEP_UPDATE, .target = buffer};
    char *address = step->uses_steps ? NULL : accel_buffer_address(buffer);
    int32_t code = ACCEL_OK;

    if (address != NULL) {
        memcpy(address + offset, data, bytes);
        return ACCEL_OK;
    }
    if (most == 0)
        return accel_error_set(error, ACCEL_E_LIMIT,
                               "the host does not see its buffers, and inline_bytes of its limits is 0");
    for (uint64_t done = 0; done < bytes && code == ACCEL_OK; done += update.bytes) {
        update.bytes = bytes - done < most ? bytes - done : most;
        update.target_offset = offset + done;
        update.data = (const char *)data + done;
        code = submit_one(step->queue, &update, error);
    }
    return code;
}

int32_t step_get(struct step *step, struct accel_buffer *buffer, uint64_t offset, void *data, uint64_t bytes,
                 struct accel_error *error)
{
    struct accel_step read = {.size = sizeof(read), .kind = ACCEL_STEP_READ, .source = buffer};
    const char *address = step->uses_steps ? NULL : accel_buffer_address(buffer);

    if (address != NULL) {
        memcpy(data, address + offset, bytes);
        return ACCEL_OK;
    }
    read.source_offset = offset;
    read.memory = data;
    read.bytes = bytes;
    return submit_one(step->queue, &read, error);
}

/* ---- construction ---- */

static bool make_buffer(struct step *step, uint32_t value)
{
    struct conform *conform = step->trial->conform;
    uint64_t bytes = 0;
    char *marks;
    bool is_good;
    int32_t code = accel_value_bytes(step->trial->graph, value, &step->trial->highest, &bytes, &conform->error);

    step->bytes[value] = bytes;
    if (code == ACCEL_OK)
        code = accel_buffer_create(conform->device, bytes + 2 * BORDER, 0, &step->buffers[value], &conform->error);
    if (!conform_ok(conform, code, "make a buffer"))
        return false;
    marks = conform_memory(conform, bytes + 2 * BORDER, 1);
    memset(marks, MARK, bytes + 2 * BORDER);
    code = step_put(step, step->buffers[value], 0, marks, bytes + 2 * BORDER, &conform->error);
    is_good = conform_ok(conform, code, "write a buffer");
    free(marks);
    return is_good;
}

static bool make_state(struct step *step, uint32_t value)
{
    struct conform *conform = step->trial->conform;
    const struct accel_value *made = step->trial->graph->values[value];
    struct accel_state_part part = {.type = made->type, .row = made->dims[1].add};
    int32_t code = accel_state_create(conform->device, &part, 1, step->trial->values[value].slots, &step->states[value],
                                      &conform->error);

    return conform_ok(conform, code, "make a state");
}

static bool bind(struct step *step)
{
    struct conform *conform = step->trial->conform;
    const struct accel_graph *graph = step->trial->graph;

    for (uint32_t v = 0; v < graph->value_count; v++) {
        uint32_t role = graph->values[v]->role;

        if (role == ACCEL_ROLE_STATE) {
            if (!make_state(step, v))
                return false;
            step->binds[step->bind_count++] = (struct accel_bind){.value = v, .state = step->states[v]};
        } else if (role == ACCEL_ROLE_INPUT || role == ACCEL_ROLE_OUTPUT) {
            if (!make_buffer(step, v))
                return false;
            step->binds[step->bind_count++] =
                (struct accel_bind){.value = v, .buffer = step->buffers[v], .offset = BORDER};
        }
    }
    return conform_ok(conform,
                      accel_set_create(step->module, 0, step->queue, &step->trial->highest, step->binds,
                                       step->bind_count, step->weights, &step->set, &conform->error),
                      "bind a set");
}

bool step_make(struct step *step, const struct trial *trial)
{
    struct conform *conform = trial->conform;
    struct accel_queue_options options = {.size = sizeof(options), .threads = 1 + conform->begun % MOST_THREADS};
    int32_t code;

    memset(step, 0, sizeof(*step));
    conform_source_init(&step->source, find);
    step->trial = trial;
    step->threads = options.threads;
    step->inline_bytes = conform->facts->limits->inline_bytes;
    step->uses_steps = conform_below(conform, 2) == 0;
    code = accel_module_create(conform->device, &trial->graph, 1, NULL, &step->source.table, NULL, &step->module,
                               &conform->error);
    if (code == ACCEL_E_REFUSED && trial->is_likely) {
        conform_unclaimed(conform, conform->error.text);
        accel_error_clear(&conform->error);
        return false;
    }
    return conform_ok(conform, code, "compile") &&
           conform_ok(conform,
                      accel_weights_create(step->module, &step->source.table, NULL, &step->weights, &conform->error),
                      "load weights") &&
           conform_ok(conform, accel_queue_create(conform->device, &options, &step->queue, &conform->error),
                      "make a queue") &&
           bind(step);
}

struct accel_module *step_free(struct step *step)
{
    accel_set_free(step->set);
    accel_queue_free(step->queue);
    accel_weights_free(step->weights);
    for (uint32_t v = 0; v < TRIAL_VALUES; v++) {
        accel_buffer_free(step->buffers[v]);
        accel_state_free(step->states[v]);
    }
    return step->module;
}

/* ---- execution ---- */

static bool put_inputs(struct step *step, const struct trial *trial, uint64_t rows)
{
    struct conform *conform = trial->conform;

    for (uint32_t v = 0; v < trial->graph->value_count; v++) {
        uint64_t bytes = 0;
        void *nothing;
        int32_t code;

        if (step->buffers[v] == NULL)
            continue;
        accel_value_bytes(trial->graph, v, &rows, &bytes, NULL);
        nothing = conform_memory(conform, step->bytes[v], 1);
        memset(nothing, NOTHING, step->bytes[v]);
        if (trial->graph->values[v]->role == ACCEL_ROLE_INPUT)
            code = step_put(step, step->buffers[v], BORDER, trial->values[v].bytes, bytes, &conform->error);
        else
            code = step_put(step, step->buffers[v], BORDER, nothing, step->bytes[v], &conform->error);
        free(nothing);
        if (!conform_ok(conform, code, "write an input"))
            return false;
    }
    return true;
}

double conform_element(uint32_t type, const void *bytes, uint64_t i)
{
    switch (type) {
    case ACCEL_I32:
        return ((const int32_t *)bytes)[i];
    case ACCEL_F16:
        return (double)accel_f16_to_f32(((const uint16_t *)bytes)[i]);
    case ACCEL_BF16:
        return (double)accel_bf16_to_f32(((const uint16_t *)bytes)[i]);
    default:
        return (double)((const float *)bytes)[i];
    }
}

static bool compare_floats(const struct trial *trial, uint32_t v, const void *bytes, uint64_t count, double tolerance)
{
    const uint32_t type = trial->graph->values[v]->type;
    const double *want = trial->values[v].want;
    double largest = trial->values[v].scale;

    for (uint64_t i = 0; i < count; i++)
        largest = isfinite(want[i]) && fabs(want[i]) > largest ? fabs(want[i]) : largest;
    for (uint64_t i = 0; i < count; i++) {
        double got = conform_element(type, bytes, i);
        bool is_right = isnan(want[i])                     ? (trial->has_nans ? isnan(got) : isfinite(got))
                        : tolerance == 0 || isinf(want[i]) ? got == (double)(float)want[i]
                                                           : fabs(got - want[i]) <= tolerance * largest;

        if (is_right)
            continue;
        conform_fail(
            trial->conform,
            "element %llu of %llu is %.9g and should be %.9g; it may be %.3g off, %g of the largest element (%.3g)",
            (unsigned long long)i, (unsigned long long)count, got, want[i], tolerance * largest, tolerance, largest);
        return false;
    }
    return true;
}

static bool compare_i32(const struct trial *trial, uint32_t v, const int32_t *got, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        if (got[i] != (int32_t)trial->values[v].want[i]) {
            conform_fail(trial->conform, "element %llu of %llu is %d and should be %d", (unsigned long long)i,
                         (unsigned long long)count, got[i], (int32_t)trial->values[v].want[i]);
            return false;
        }
    return true;
}

/* Checks that an input is unchanged. */
static bool check_input(const struct trial *trial, uint32_t v, const uint8_t *got, uint64_t bytes)
{
    const uint8_t *given = trial->values[v].bytes;

    for (uint64_t i = 0; i < bytes; i++)
        if (got[i] != given[i]) {
            conform_fail(trial->conform, "%s: an input was changed, first in byte %llu of %llu",
                         trial->graph->values[v]->name, (unsigned long long)i, (unsigned long long)bytes);
            return false;
        }
    return true;
}

/* Checks that the bytes before the value, and those after the extent of the step, are unchanged. */
static bool check_border(const struct trial *trial, uint32_t v, const uint8_t *whole, uint64_t bytes)
{
    for (uint64_t i = 0; i < BORDER; i++)
        if (whole[i] != MARK || whole[BORDER + bytes + i] != MARK) {
            conform_fail(trial->conform, "%s: bytes outside of the value were changed", trial->graph->values[v]->name);
            return false;
        }
    return true;
}

/* Checks that a step left the rows of the set's capacity beyond its own rows unchanged. */
static bool check_rest(const struct trial *trial, uint32_t v, const uint8_t *rest, uint64_t bytes, uint64_t rows)
{
    for (uint64_t i = 0; i < bytes; i++)
        if (rest[i] != NOTHING) {
            conform_fail(trial->conform, "%s: a step of %llu rows has written past them", trial->graph->values[v]->name,
                         (unsigned long long)rows);
            return false;
        }
    return true;
}

static bool check_value(struct step *step, const struct trial *trial, uint32_t v, uint64_t rows, double tolerance)
{
    const struct accel_value *value = trial->graph->values[v];
    struct conform *conform = trial->conform;
    uint64_t bytes = 0;
    uint8_t *whole = conform_memory(conform, step->bytes[v] + 2 * BORDER, 1);
    int32_t code = step_get(step, step->buffers[v], 0, whole, step->bytes[v] + 2 * BORDER, &conform->error);
    bool is_right = conform_ok(conform, code, "read an output") && check_border(trial, v, whole, step->bytes[v]);

    accel_value_bytes(trial->graph, v, &rows, &bytes, NULL);
    if (is_right && value->role == ACCEL_ROLE_INPUT)
        is_right = check_input(trial, v, whole + BORDER, bytes);
    if (is_right && value->role == ACCEL_ROLE_OUTPUT && !trial->is_masked)
        is_right = check_rest(trial, v, whole + BORDER + bytes, step->bytes[v] - bytes, rows);
    if (is_right && value->role == ACCEL_ROLE_OUTPUT) {
        uint64_t size = value->type == ACCEL_F16 || value->type == ACCEL_BF16 ? 2 : 4;
        void *got = conform_memory(conform, bytes, 1);

        memcpy(got, whole + BORDER, bytes);
        is_right = value->type == ACCEL_I32 ? compare_i32(trial, v, got, bytes / size)
                                            : compare_floats(trial, v, got, bytes / size, tolerance);
        free(got);
    }
    free(whole);
    return is_right;
}

static bool run_on(struct step *step, const struct trial *trial, struct accel_set *set, uint64_t rows, double tolerance,
                   const char *what)
{
    struct conform *conform = trial->conform;

    if (!put_inputs(step, trial, rows) || !conform_ok(conform, accel_set_run(set, &rows, &conform->error), what))
        return false;
    for (uint32_t v = 0; v < trial->graph->value_count; v++)
        if (step->buffers[v] != NULL && !check_value(step, trial, v, rows, tolerance))
            return false;
    return true;
}

bool step_run(struct step *step, const struct trial *trial, uint64_t rows, double tolerance)
{
    return run_on(step, trial, step->set, rows, tolerance, "run");
}

bool step_run_late(struct step *step, const struct trial *trial, uint64_t rows, double tolerance)
{
    const struct accel_team team = late_team(step->threads);
    const struct accel_queue_options options = {.size = sizeof(options), .team = &team};
    struct conform *conform = trial->conform;
    struct accel_queue *queue = NULL;
    struct accel_set *set = NULL;
    bool is_good = conform_ok(conform, accel_queue_create(conform->device, &options, &queue, &conform->error),
                              "make a queue of threads that start late") &&
                   conform_ok(conform,
                              accel_set_create(step->module, 0, queue, &trial->highest, step->binds, step->bind_count,
                                               step->weights, &set, &conform->error),
                              "bind a set for threads that start late") &&
                   run_on(step, trial, set, rows, tolerance, "run on threads that start late");

    accel_set_free(set);
    accel_queue_free(queue);
    return is_good;
}

void step_repeat(struct step *step, const struct trial *trial, uint64_t rows)
{
    struct conform *conform = trial->conform;
    struct leak leak = {.count = 0};
    char doubt[LEAK_TEXT];
    uint64_t now = 0, peak;

    for (uint32_t i = 0; i < LEAK_ROUNDS && leak_is_told(); i++) {
        if (!conform_ok(conform, accel_set_run(step->set, &rows, &conform->error), "run again"))
            return;
        accel_memory_usage(conform->context, 0, &now, &peak);
        leak_look(&leak, now);
    }
    leak_judge(&leak, conform, "step", "bytes", doubt);
}
