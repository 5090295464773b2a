/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/drivers/rig.h"

#include <math.h>
#include <stdio.h>

void rig_ok(int32_t code, const struct accel_error *error)
{
    if (code != ACCEL_OK)
        fail_msg("%s: %s", accel_error_name(code), error->text);
}

void rig_open(struct rig *rig, const char *driver, const char *device, const struct accel_named_value *settings,
              uint32_t setting_count)
{
    const char *build = getenv("ACCEL_TEST_BUILDDIR");
    char path[4096];
    struct accel_context_options options = {
        .size = sizeof(options), .flags = ACCEL_CONTEXT_NO_CACHE, .driver_path = path};

    snprintf(path, sizeof(path), "%s/%s", build == NULL ? "." : build, driver);
    memset(rig, 0, sizeof(*rig));
    rig_ok(accel_context_create(&options, &rig->context, &rig->error), &rig->error);
    rig_ok(accel_context_discover(rig->context, &rig->error), &rig->error);
    if (device != NULL)
        rig_ok(accel_device_open(rig->context, device, settings, setting_count, &rig->device, &rig->error),
               &rig->error);
}

void rig_close(struct rig *rig)
{
    accel_device_free(rig->device);
    rig_ok(accel_context_free(rig->context, &rig->error), &rig->error);
}

struct accel_dim rig_dim(uint64_t extent)
{
    return (struct accel_dim){.add = extent};
}

struct accel_dim rig_symbol(uint32_t symbol)
{
    return (struct accel_dim){.symbol = symbol, .multiply = 1, .divide = 1};
}

void net_begin(struct net *net, const char *name)
{
    memset(net, 0, sizeof(*net));
    rig_ok(accel_builder_create(name, &net->builder, &net->error), &net->error);
}

uint32_t net_value(struct net *net, uint32_t role, const char *name, uint32_t type, uint32_t rank,
                   const struct accel_dim *dims)
{
    uint32_t value = 0;

    rig_ok(accel_builder_value(net->builder, role, name, type, rank, dims, &value, &net->error), &net->error);
    return value;
}

uint32_t net_node(struct net *net, uint32_t op, const char *name, const uint32_t *inputs, uint32_t count,
                  const void *attributes)
{
    uint32_t value = 0;

    rig_ok(accel_builder_node(net->builder, op, name, inputs, count, attributes, &value, &net->error), &net->error);
    return value;
}

void net_output(struct net *net, uint32_t value, const char *name)
{
    rig_ok(accel_builder_output(net->builder, value, name, &net->error), &net->error);
}

void net_end(struct net *net)
{
    rig_ok(accel_builder_finish(net->builder, &net->graph, &net->error), &net->error);
    assert_true(net->graph->value_count <= RIG_VALUES);
}

void net_free(struct net *net)
{
    accel_builder_free(net->builder);
}

static const struct rig_data *find(const struct rig_step *step, const char *name)
{
    for (uint32_t i = 0; i < step->data_count; i++)
        if (strcmp(step->data[i].name, name) == 0)
            return &step->data[i];
    return NULL;
}

static int32_t source_map(const struct accel_source *source, const char *key, uint32_t plane, const void **out_address,
                          uint64_t *out_bytes, struct accel_error *error)
{
    const struct rig_data *data = find((const struct rig_step *)source, key);

    if (data == NULL || plane > 2 || data->planes[plane] == NULL)
        return accel_error_set(error, ACCEL_E_NOT_FOUND, "no plane %u of %s", plane, key);
    *out_address = data->planes[plane];
    *out_bytes = data->bytes[plane];
    return ACCEL_OK;
}

static int32_t source_read(const struct accel_source *source, const char *key, uint32_t plane, uint64_t offset,
                           void *memory, uint64_t bytes, struct accel_error *error)
{
    const void *address = NULL;
    uint64_t all = 0;
    int32_t code = source_map(source, key, plane, &address, &all, error);

    if (code == ACCEL_OK)
        memcpy(memory, (const char *)address + offset, bytes);
    return code;
}

/* Buffers and states, and the binds that name them. */
static uint32_t make_memory(struct rig *rig, struct rig_step *step, const uint64_t *highest, uint64_t slots,
                            struct accel_bind *binds)
{
    struct accel_error *error = &step->error;
    uint32_t count = 0;

    for (uint32_t v = 0; v < step->graph->value_count; v++) {
        const struct accel_value *value = step->graph->values[v];
        uint64_t bytes = 0;

        if (value->role == ACCEL_ROLE_STATE) {
            struct accel_state_part part = {.type = value->type, .row = value->dims[1].add};

            rig_ok(accel_state_create(rig->device, &part, 1, slots, &step->states[v], error), error);
            binds[count++] = (struct accel_bind){.value = v, .state = step->states[v]};
        } else if (value->role == ACCEL_ROLE_INPUT || value->role == ACCEL_ROLE_OUTPUT) {
            rig_ok(accel_value_bytes(step->graph, v, highest, &bytes, error), error);
            rig_ok(accel_buffer_create(rig->device, bytes, 0, &step->buffers[v], error), error);
            binds[count++] = (struct accel_bind){.value = v, .buffer = step->buffers[v]};
        }
    }
    return count;
}

void rig_step_make(struct rig *rig, struct rig_step *step, const struct accel_graph *graph, const struct rig_data *data,
                   uint32_t data_count, const uint64_t *highest, uint32_t threads, uint64_t slots)
{
    struct accel_queue_options queue = {.size = sizeof(queue), .threads = threads};
    struct accel_error *error = &step->error;
    struct accel_bind binds[RIG_VALUES];
    uint32_t count;

    memset(step, 0, sizeof(*step));
    step->source = (struct accel_source){.size = sizeof(step->source), .map = source_map, .read = source_read};
    step->data = data;
    step->data_count = data_count;
    step->graph = graph;
    rig_ok(accel_module_create(rig->device, &graph, 1, NULL, NULL, NULL, &step->module, error), error);
    rig_ok(accel_weights_create(step->module, &step->source, NULL, &step->weights, error), error);
    rig_ok(accel_queue_create(rig->device, &queue, &step->queue, error), error);
    count = make_memory(rig, step, highest, slots, binds);
    rig_ok(accel_set_create(step->module, 0, step->queue, highest, binds, count, step->weights, &step->set, error),
           error);
}

void rig_step_run(struct rig_step *step, const uint64_t *symbols)
{
    for (uint32_t v = 0; v < step->graph->value_count; v++) {
        const struct rig_data *data = find(step, step->graph->values[v]->name);

        if (step->graph->values[v]->role == ACCEL_ROLE_INPUT && data != NULL)
            memcpy(accel_buffer_address(step->buffers[v]), data->planes[0], data->bytes[0]);
    }
    rig_ok(accel_set_run(step->set, symbols, &step->error), &step->error);
}

void *rig_step_value(struct rig_step *step, const char *name)
{
    uint32_t v = accel_graph_find(step->graph, name);

    assert_true(v != ACCEL_NO_VALUE && step->buffers[v] != NULL);
    return accel_buffer_address(step->buffers[v]);
}

void rig_step_free(struct rig_step *step)
{
    accel_set_free(step->set);
    accel_queue_free(step->queue);
    accel_weights_free(step->weights);
    accel_module_free(step->module);
    for (uint32_t v = 0; v < RIG_VALUES; v++) {
        accel_buffer_free(step->buffers[v]);
        accel_state_free(step->states[v]);
    }
}

uint32_t rig_below(struct rig_random *random, uint32_t limit)
{
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random->state >> 33) % limit;
}

float rig_float(struct rig_random *random)
{
    return (float)rig_below(random, 20001) / 10000.0f - 1.0f;
}

void rig_fill(struct rig_random *random, float *values, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        values[i] = rig_float(random);
}

void rig_close_enough(const char *what, const float *got, const double *want, uint64_t count, double tolerance,
                      double scale)
{
    double largest = scale;

    for (uint64_t i = 0; i < count; i++)
        largest = fabs(want[i]) > largest ? fabs(want[i]) : largest;
    for (uint64_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - want[i]) <= tolerance * largest))
            fail_msg("%s, element %llu of %llu: %.9g, expected %.9g within %.2g of %.3g", what, (unsigned long long)i,
                     (unsigned long long)count, (double)got[i], want[i], tolerance, largest);
}
