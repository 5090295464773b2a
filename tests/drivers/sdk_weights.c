/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container of weights of the driver library, over a toy backend that packs: claims, results, sources that map and
 * that only read, bands and threads, cancelling, memory that runs out, wrong bytes, and what the estimate says. The
 * graph: t = table[ids], y = t table^T + bias; the table is read packed by the product and as it lies by the lookup. A
 * weight is packed where it has two extents and rows by fours; its groups of four rows are turned round.
 */
#include <stdatomic.h>

#include <accel/builder.h>

#include "sdk/driver/program.h"
#include "tests/drivers/stub.h"

#define WIDTH 32u
#define ROWS 64u
#define GROUP 4u
#define LARGE 9000u /* rows of a weight that several threads pack; no multiple of what they pack together */

/* ---- the toy backend ---- */

static uint32_t toy_packs(const void *device, const struct accel_weight *weight)
{
    return *(const uint32_t *)device && weight->rank == 2 && weight->dims[0] % GROUP == 0;
}

/* Rows of F32, or of a type with two planes, whose group of rows begins with the first plane. */
static void toy_pack(const void *device, const struct accel_weight *weight, const void *const *planes, uint64_t rows,
                     void *out)
{
    const uint64_t width = weight->dims[1];
    const uint64_t bytes[2] = {weight->type == ACCEL_F32 ? width * 4 : width / 2,
                               weight->type == ACCEL_F32 ? 0 : width / 32 * 2};
    char *to = out;

    (void)device;
    assert_true(rows % GROUP == 0);
    for (uint64_t r = 0; r < rows; r += GROUP)
        for (uint32_t p = 0; p < 2; p++)
            for (uint32_t i = 0; i < GROUP && bytes[p] != 0; to += bytes[p], i++)
                memcpy(to, (const char *)planes[p] + (r + GROUP - 1 - i) * bytes[p], bytes[p]);
}

static void toy_matmul(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const struct sdk_tensor *x = call->inputs[0], *w = call->inputs[1], *bias = call->inputs[2];
    float *y = call->outputs[0]->planes[0];
    uint64_t begin, end;

    sdk_split(w->rows, 1, thread, threads, &begin, &end);
    for (uint64_t i = 0; i < x->rows; i++)
        for (uint64_t j = begin; j < end; j++) {
            const float *a = (const float *)x->planes[0] + i * x->width;
            const uint64_t row = w->packed == NULL ? j : j / GROUP * GROUP + GROUP - 1 - j % GROUP;
            const float *b = (const float *)(w->packed == NULL ? w->planes[0] : w->packed) + row * w->width;
            float sum = bias == NULL ? 0 : ((const float *)bias->planes[0])[j];

            for (uint64_t k = 0; k < x->width; k++)
                sum += a[k] * b[k];
            y[i * w->rows + j] = sum;
        }
}

static const char *toy_embed_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    return sdk_input(node, 0)->type == ACCEL_F32 ? NULL : "only F32";
}

static void toy_embed(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const struct sdk_tensor *table = call->inputs[0];
    const int32_t *ids = call->inputs[1]->planes[0];
    uint64_t begin, end;

    sdk_split(call->outputs[0]->rows, 1, thread, threads, &begin, &end);
    for (uint64_t i = begin; i < end; i++)
        memcpy((float *)call->outputs[0]->planes[0] + i * table->width,
               (const float *)table->planes[0] + (uint64_t)ids[i] * table->width, table->width * sizeof(float));
}

static const struct sdk_kernel kernels[] = {
    {.op = ACCEL_OP_MATMUL, .name = "toy matmul", .precision = ACCEL_F32, .run = toy_matmul, .packed_inputs = 2},
    {.op = ACCEL_OP_EMBED, .name = "toy embed", .precision = ACCEL_F32, .check = toy_embed_check, .run = toy_embed},
};

static uint32_t do_pack = 1;

static int32_t toy_open(const struct accel_host *host, const char *id, const struct accel_setting *settings,
                        uint32_t setting_count, void *device, struct accel_error *error)
{
    (void)host, (void)id, (void)settings, (void)setting_count, (void)error;
    *(uint32_t *)device = do_pack;
    return ACCEL_OK;
}

static const struct sdk_backend backend = {.kernels = kernels,
                                           .kernel_count = 2,
                                           .open = toy_open,
                                           .device_bytes = 8,
                                           .weight_alignment = 4,
                                           .packs = toy_packs,
                                           .pack = toy_pack,
                                           .pack_rows = GROUP};
static const struct sdk_backend plain = {
    .kernels = kernels, .kernel_count = 2, .open = toy_open, .device_bytes = 8, .weight_alignment = 4};

/* ---- the source ---- */

struct bytes {
    const char *key;
    const void *planes[2];
    uint64_t bytes[2];
};

struct toy_source {
    struct accel_source base; /* first */
    const struct bytes *list;
    uint32_t count;
    uint32_t mapped;     /* bits: planes that are mapped */
    uint32_t shift;      /* bytes by which mapped sizes are wrong */
    int32_t map_fails;   /* code, or ACCEL_OK */
    uint32_t read_fails; /* the call that fails, counted from 1; 0: none */
    uint32_t reads;
    uint64_t read_bytes;
    uint64_t most; /* bytes of a read of plane 0 of "table" */
};

static const struct bytes *find_bytes(const struct toy_source *source, const char *key)
{
    for (uint32_t i = 0; i < source->count; i++)
        if (strcmp(source->list[i].key, key) == 0)
            return &source->list[i];
    fail_msg("the source is asked for %s", key);
    return NULL;
}

static int32_t toy_map(const struct accel_source *base, const char *key, uint32_t plane, const void **out_address,
                       uint64_t *out_bytes, struct accel_error *error)
{
    const struct toy_source *source = (const struct toy_source *)base;
    const struct bytes *found = find_bytes(source, key);

    *out_address = NULL;
    if (source->map_fails != ACCEL_OK)
        return sdk_error(error, source->map_fails, "%s was lost", key);
    if ((source->mapped >> plane & 1u) == 0)
        return sdk_error(error, ACCEL_E_UNSUPPORTED, "only read");
    *out_address = found->planes[plane];
    *out_bytes = found->bytes[plane] + source->shift;
    return ACCEL_OK;
}

static int32_t toy_read(const struct accel_source *base, const char *key, uint32_t plane, uint64_t offset, void *memory,
                        uint64_t bytes, struct accel_error *error)
{
    struct toy_source *source = (struct toy_source *)(uintptr_t)base;
    const struct bytes *found = find_bytes(source, key);

    if (++source->reads == source->read_fails)
        return sdk_error(error, ACCEL_E_IO, "the disk is gone");
    assert_true(offset <= found->bytes[plane] && bytes <= found->bytes[plane] - offset);
    memcpy(memory, (const char *)found->planes[plane] + offset, bytes);
    source->read_bytes += bytes;
    if (plane == 0 && strcmp(key, "table") == 0 && bytes > source->most)
        source->most = bytes;
    return ACCEL_OK;
}

static struct toy_source source_of(const struct bytes *list, uint32_t count, uint32_t mapped)
{
    return (struct toy_source){.base = {.size = sizeof(struct accel_source), .map = toy_map, .read = toy_read},
                               .list = list,
                               .count = count,
                               .mapped = mapped};
}

/* ---- a task that is cancelled ---- */

struct toy_task {
    struct accel_task task; /* first */
    uint32_t calls;
    uint32_t cancel_at; /* counted from 1; 0: never */
    uint64_t done, total;
};

static int32_t toy_progress(const struct accel_task *base, uint64_t done, uint64_t total)
{
    struct toy_task *task = (struct toy_task *)(uintptr_t)base;

    assert_true(done > task->done && done <= total);
    task->done = done;
    task->total = total;
    return ++task->calls == task->cancel_at ? ACCEL_E_CANCELLED : ACCEL_OK;
}

static struct toy_task task_of(const struct accel_team *team, uint32_t cancel_at)
{
    return (struct toy_task){.task = {.size = sizeof(struct accel_task), .progress = toy_progress, .team = team},
                             .cancel_at = cancel_at};
}

/* ---- the rig ---- */

struct rig {
    struct stub stub;
    struct accel_builder *builder;
    const struct accel_graph *graph;
    struct accel_driver_instance *instance;
    struct accel_driver_device *device;
    struct accel_driver_module *module;
    struct accel_driver_weights *weights;
    struct accel_error error;
    float table[ROWS * WIDTH], bias[ROWS];
    struct bytes list[2];
};

static void build(struct rig *rig, uint32_t x_is_weight)
{
    const struct accel_dim ids_dims[1] = {{.add = 3}}, table_dims[2] = {{.add = ROWS}, {.add = WIDTH}};
    const struct accel_matmul attributes = {.size = sizeof(attributes), .rounding = ACCEL_F32};
    uint32_t inputs[4] = {0, 0, ACCEL_NO_VALUE, ACCEL_NO_VALUE}, pair[2], y;

    assert_int_equal(accel_builder_create("toy", &rig->builder, NULL), ACCEL_OK);
    assert_int_equal(
        accel_builder_value(rig->builder, ACCEL_ROLE_WEIGHT, "table", ACCEL_F32, 2, table_dims, &pair[0], NULL), 0);
    assert_int_equal(accel_builder_value(rig->builder, ACCEL_ROLE_INPUT, "ids", ACCEL_I32, 1, ids_dims, &pair[1], NULL),
                     0);
    if (x_is_weight)
        assert_int_equal(
            accel_builder_value(rig->builder, ACCEL_ROLE_WEIGHT, "x", ACCEL_F32, 2, table_dims, &inputs[0], NULL), 0);
    else
        assert_int_equal(accel_builder_node(rig->builder, ACCEL_OP_EMBED, "t", pair, 2, NULL, &inputs[0], &rig->error),
                         0);
    inputs[1] = pair[0];
    assert_int_equal(
        accel_builder_value(rig->builder, ACCEL_ROLE_WEIGHT, "bias", ACCEL_F32, 1, table_dims, &inputs[2], NULL), 0);
    assert_int_equal(
        accel_builder_node(rig->builder, ACCEL_OP_MATMUL, "product", inputs, 4, &attributes, &y, &rig->error), 0);
    assert_int_equal(accel_builder_output(rig->builder, y, "y", NULL), ACCEL_OK);
    assert_int_equal(accel_builder_finish(rig->builder, &rig->graph, &rig->error), ACCEL_OK);
}

static void rig_open_with(struct rig *rig, const struct sdk_backend *with, uint32_t x_is_weight)
{
    memset(rig, 0, sizeof(*rig));
    stub_init(&rig->stub);
    build(rig, x_is_weight);
    for (uint32_t i = 0; i < ROWS * WIDTH; i++)
        rig->table[i] = (float)(i * 37u % 101u) - 50;
    for (uint32_t i = 0; i < ROWS; i++)
        rig->bias[i] = (float)i;
    rig->list[0] = (struct bytes){"table", {rig->table}, {sizeof(rig->table)}};
    rig->list[1] = (struct bytes){"bias", {rig->bias}, {sizeof(rig->bias)}};
    assert_int_equal(sdk_attach(with, &rig->stub.host, ACCEL_ABI_MINOR, &rig->instance, NULL), ACCEL_OK);
    assert_int_equal(rig->instance->table->open(rig->instance, "toy", NULL, 0, &rig->device, NULL), ACCEL_OK);
}

static void rig_open(struct rig *rig)
{
    rig_open_with(rig, &backend, 0);
}

static void free_weights(struct rig *rig)
{
    if (rig->weights != NULL)
        rig->weights->table->free(rig->weights);
    rig->weights = NULL;
}

static void rig_close(struct rig *rig)
{
    free_weights(rig);
    if (rig->module != NULL)
        rig->module->table->free(rig->module);
    assert_int_equal(rig->device->table->close(rig->device, &rig->error), ACCEL_OK);
    assert_int_equal(rig->instance->table->detach(rig->instance, NULL), ACCEL_OK);
    accel_builder_free(rig->builder);
    assert_int_equal(rig->stub.blocks, 0);
}

static const struct accel_weight table_weight = {
    .size = sizeof(table_weight), .type = ACCEL_F32, .rank = 2, .dims = {ROWS, WIDTH}, .key = "table"};
static const struct accel_weight bias_weight = {
    .size = sizeof(bias_weight), .type = ACCEL_F32, .rank = 1, .dims = {ROWS}, .key = "bias"};

static int32_t create(struct rig *rig, const struct accel_weight *a, const struct accel_weight *b)
{
    const struct accel_weight *list[2] = {a, b};

    accel_error_clear(&rig->error);
    return rig->device->table->weights_create(rig->device, list, b == NULL ? 1 : 2, &rig->weights, &rig->error);
}

static int32_t create_both(struct rig *rig)
{
    return create(rig, &table_weight, &bias_weight);
}

static int32_t pull(struct rig *rig, struct toy_source *source, struct toy_task *task)
{
    accel_error_clear(&rig->error);
    return rig->weights->table->pull(rig->weights, &source->base, task == NULL ? NULL : &task->task, &rig->error);
}

/* ---- claims and the estimate ---- */

struct claims {
    struct accel_claim_sink sink; /* first */
    uint32_t weights[4];
};

static int32_t take_claim(const struct accel_claim_sink *sink, const struct accel_claim *claim,
                          struct accel_error *error)
{
    (void)error;
    ((struct claims *)(uintptr_t)sink)->weights[claim->node] = claim->weights;
    return ACCEL_OK;
}

static void assert_claims(struct rig *rig, uint32_t first, uint32_t second)
{
    struct claims claims = {.sink = {.size = sizeof(claims.sink), .claim = take_claim}};

    assert_int_equal(rig->device->table->claim(rig->device, &rig->graph, 1, NULL, &claims.sink, &rig->error), ACCEL_OK);
    assert_int_equal(claims.weights[0], first);
    assert_int_equal(claims.weights[1], second);
}

/* A node whose weight is packed has all of its weights in the container. A device that does not pack, and a backend
 * that does not know how, use them in place; so does a node that would find a weight packed which it reads as it is. */
static void test_claims(void **state)
{
    struct rig rig;

    (void)state;
    rig_open(&rig);
    assert_claims(&rig, ACCEL_MAPPED, ACCEL_RESIDENT);
    rig_close(&rig);
    do_pack = 0;
    rig_open(&rig);
    assert_claims(&rig, ACCEL_MAPPED, ACCEL_MAPPED);
    rig_close(&rig);
    do_pack = 1;
    rig_open_with(&rig, &plain, 0);
    assert_claims(&rig, ACCEL_MAPPED, ACCEL_MAPPED);
    assert_null(rig.device->table->weights_create);
    rig_close(&rig);
    rig_open_with(&rig, &backend, 1);
    assert_claims(&rig, ACCEL_MAPPED, 0);
    rig_close(&rig);
}

struct estimate {
    struct accel_estimate_sink sink; /* first */
    uint64_t bytes[ACCEL_MEMORY_END];
};

static int32_t take_bytes(const struct accel_estimate_sink *sink, uint32_t heap, uint32_t memory_class, uint64_t lower,
                          uint64_t upper, const char *formula, struct accel_error *error)
{
    (void)heap, (void)error;
    assert_true(lower == upper && formula[0] != '\0');
    ((struct estimate *)(uintptr_t)sink)->bytes[memory_class] += upper;
    return ACCEL_OK;
}

/* The estimate is what is taken from the host, to the byte; the weights themselves are the core's to add up. */
static void test_estimate(void **state)
{
    struct estimate estimate = {.sink = {.size = sizeof(estimate.sink), .bytes = take_bytes}};
    struct toy_source source;
    struct rig rig;

    (void)state;
    rig_open(&rig);
    assert_int_equal(rig.device->table->estimate(rig.device, &rig.graph, 1, NULL, &estimate.sink, &rig.error),
                     ACCEL_OK);
    assert_int_equal(estimate.bytes[ACCEL_MEMORY_WEIGHTS], 0);
    source = source_of(rig.list, 2, 1);
    assert_int_equal(create_both(&rig), ACCEL_OK);
    assert_int_equal(pull(&rig, &source, NULL), ACCEL_OK);
    assert_int_equal(rig.stub.taken[ACCEL_MEMORY_WEIGHTS], sizeof(rig.table) + sizeof(rig.bias));
    assert_int_equal(rig.stub.taken[ACCEL_MEMORY_HOST], estimate.bytes[ACCEL_MEMORY_HOST]);
    rig_close(&rig);
}

/* ---- running ---- */

struct place {
    int32_t ids[3];
    float y[3 * ROWS];
    char scratch[4096];
    struct accel_binding bindings[5];
    struct accel_set_description description;
};

static const uint64_t no_symbols = 0;

static void place_init(struct rig *rig, struct place *place)
{
    uint32_t table = accel_graph_find(rig->graph, "table"), bias = accel_graph_find(rig->graph, "bias");

    *place = (struct place){.ids = {5, 0, 63}};
    place->bindings[0] = (struct accel_binding){
        .value = accel_graph_find(rig->graph, "ids"), .kind = ACCEL_BIND_BUFFER, .host = place->ids};
    place->bindings[1] =
        (struct accel_binding){.value = accel_graph_find(rig->graph, "y"), .kind = ACCEL_BIND_BUFFER, .host = place->y};
    place->bindings[2] = (struct accel_binding){.value = table, .kind = ACCEL_BIND_WEIGHTS, .host = rig->table};
    place->bindings[3] = (struct accel_binding){.value = table, .kind = ACCEL_BIND_WEIGHTS, .object = rig->weights};
    place->bindings[4] = (struct accel_binding){.value = bias, .kind = ACCEL_BIND_WEIGHTS, .object = rig->weights};
    place->description = (struct accel_set_description){.size = sizeof(place->description),
                                                        .symbols = &no_symbols,
                                                        .binding_count = 5,
                                                        .bindings = place->bindings,
                                                        .scratch = place->scratch,
                                                        .scratch_bytes = sizeof(place->scratch),
                                                        .threads = 2};
}

static void compile(struct rig *rig)
{
    assert_int_equal(
        rig->device->table->compile(rig->device, &rig->graph, 1, NULL, NULL, NULL, NULL, &rig->module, &rig->error),
        ACCEL_OK);
}

static void assert_runs(struct rig *rig)
{
    struct accel_driver_set *set = NULL;
    struct place place;

    place_init(rig, &place);
    assert_int_equal(rig->module->table->set_create(rig->module, &place.description, &set, &rig->error), ACCEL_OK);
    assert_int_equal(set->table->run(set, &no_symbols, &stub_team2, &rig->error), ACCEL_OK);
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t j = 0; j < ROWS; j++) {
            float sum = rig->bias[j];

            for (uint32_t k = 0; k < WIDTH; k++)
                sum += rig->table[(uint32_t)place.ids[i] * WIDTH + k] * rig->table[j * WIDTH + k];
            assert_true(place.y[i * ROWS + j] == sum);
        }
    set->table->free(set);
}

/* Where the source maps, at no alignment that the backend takes, and where it only reads; in bands of a share of the
 * weight then, each byte once. */
static void test_sources(void **state)
{
    struct bytes shifted[2];
    char *copy = malloc(sizeof((struct rig *)0)->table + 1);
    struct toy_source source;
    struct rig rig;

    (void)state;
    assert_non_null(copy);
    rig_open(&rig);
    compile(&rig);
    memcpy(copy + 1, rig.table, sizeof(rig.table));
    shifted[0] = (struct bytes){"table", {copy + 1}, {sizeof(rig.table)}};
    shifted[1] = rig.list[1];
    for (uint32_t way = 0; way < 3; way++) {
        struct toy_task task = task_of(&stub_team2, 0);

        source = source_of(way == 2 ? shifted : rig.list, 2, way == 1 ? 0 : 1);
        assert_int_equal(create_both(&rig), ACCEL_OK);
        assert_int_equal(pull(&rig, &source, &task), ACCEL_OK);
        assert_int_equal(task.done, task.total);
        assert_int_equal(task.total, sizeof(rig.table) + sizeof(rig.bias));
        assert_int_equal(source.read_bytes, way == 0 ? 0 : sizeof(rig.table) + (way == 1 ? sizeof(rig.bias) : 0));
        assert_int_equal(source.most, way == 0 ? 0 : sizeof(rig.table) / 8);
        assert_runs(&rig);
        free_weights(&rig);
    }
    source = source_of(rig.list, 2, 0);
    source.base.map = NULL;
    assert_int_equal(create_both(&rig), ACCEL_OK);
    assert_int_equal(pull(&rig, &source, NULL), ACCEL_OK);
    assert_runs(&rig);
    rig_close(&rig);
    free(copy);
}

/* Two planes, one of them mapped, more than one thread and one band: what one thread packs alone. */
static void test_ranks(void **state)
{
    const struct accel_weight weight = {
        .size = sizeof(weight), .type = ACCEL_Q4_G32, .rank = 2, .dims = {LARGE - LARGE % GROUP, 2048}, .key = "table"};
    const uint64_t rows = weight.dims[0], bytes[2] = {rows * 1024, rows * 128};
    struct bytes list = {"table", {malloc(bytes[0]), malloc(bytes[1])}, {bytes[0], bytes[1]}};
    unsigned char *want = malloc(bytes[0] + bytes[1]);
    struct toy_source source;
    struct rig rig;

    (void)state;
    assert_true(want != NULL && list.planes[0] != NULL && list.planes[1] != NULL);
    for (uint64_t i = 0; i < bytes[0]; i++)
        ((unsigned char *)(uintptr_t)list.planes[0])[i] = (unsigned char)(i * 2654435761u >> 13);
    for (uint64_t i = 0; i < bytes[1]; i++)
        ((unsigned char *)(uintptr_t)list.planes[1])[i] = (unsigned char)(i * 40503u >> 7);
    rig_open(&rig);
    toy_pack(NULL, &weight, list.planes, rows, want);
    for (uint32_t mapped = 0; mapped < 4; mapped++) {
        struct toy_task task = task_of(&stub_team4, 0);
        const struct sdk_weight_entry *entry;

        source = source_of(&list, 1, mapped);
        assert_int_equal(create(&rig, &weight, NULL), ACCEL_OK);
        assert_int_equal(pull(&rig, &source, &task), ACCEL_OK);
        assert_true(task.calls > 1);
        entry = sdk_weights_find((struct sdk_weights *)rig.weights, "table");
        assert_memory_equal(entry->packed, want, bytes[0] + bytes[1]);
        free_weights(&rig);
    }
    rig_close(&rig);
    free(want), free((void *)(uintptr_t)list.planes[0]), free((void *)(uintptr_t)list.planes[1]);
}

/* ---- what is kept ---- */

struct toy_writer {
    struct accel_blob_writer base; /* first */
    _Alignas(64) char bytes[sizeof((struct rig *)0)->table + sizeof((struct rig *)0)->bias];
    uint64_t count;
    int32_t code;
};

static int32_t toy_write(const struct accel_blob_writer *base, const void *bytes, uint64_t count,
                         struct accel_error *error)
{
    struct toy_writer *writer = (struct toy_writer *)(uintptr_t)base;

    if (writer->code != ACCEL_OK)
        return sdk_error(error, writer->code, "the disk is full");
    assert_true(count <= sizeof(writer->bytes) - writer->count);
    memcpy(writer->bytes + writer->count, bytes, count);
    writer->count += count;
    return ACCEL_OK;
}

static int32_t save(struct rig *rig, struct toy_writer *writer)
{
    accel_error_clear(&rig->error);
    writer->base = (struct accel_blob_writer){.size = sizeof(writer->base), .write = toy_write};
    writer->count = 0;
    return rig->weights->table->save(rig->weights, &writer->base, &rig->error);
}

/* What one container saves another one uses where it lies, without the source and without a block of its own. */
static void test_adopt(void **state)
{
    static struct toy_writer writer;
    struct toy_source source;
    struct rig rig;

    (void)state;
    rig_open(&rig);
    compile(&rig);
    source = source_of(rig.list, 2, 1);
    assert_int_equal(create_both(&rig), ACCEL_OK);
    assert_int_equal(save(&rig, &writer), ACCEL_E_INVALID); /* empty */
    assert_int_equal(pull(&rig, &source, NULL), ACCEL_OK);
    writer.code = ACCEL_E_IO;
    assert_int_equal(save(&rig, &writer), ACCEL_E_IO);
    writer.code = ACCEL_OK;
    assert_int_equal(save(&rig, &writer), ACCEL_OK);
    assert_int_equal(writer.count, sizeof(writer.bytes));
    assert_int_equal(rig.weights->table->adopt(rig.weights, writer.bytes, writer.count, &rig.error), ACCEL_E_INVALID);
    free_weights(&rig);
    rig.stub.taken[ACCEL_MEMORY_WEIGHTS] = 0;
    assert_int_equal(create_both(&rig), ACCEL_OK);
    accel_error_clear(&rig.error);
    assert_int_equal(rig.weights->table->adopt(rig.weights, writer.bytes, writer.count - 4, &rig.error), ACCEL_E_MISS);
    assert_int_equal(rig.weights->table->adopt(rig.weights, writer.bytes + 4, writer.count, &rig.error),
                     ACCEL_E_INVALID);
    assert_int_equal(rig.weights->table->adopt(rig.weights, writer.bytes, writer.count, &rig.error), ACCEL_OK);
    assert_runs(&rig);
    assert_int_equal(rig.stub.taken[ACCEL_MEMORY_WEIGHTS], 0);
    free_weights(&rig);
    assert_int_equal(create_both(&rig), ACCEL_OK); /* after a miss it is pulled */
    accel_error_clear(&rig.error);
    assert_int_equal(rig.weights->table->adopt(rig.weights, writer.bytes, 4, &rig.error), ACCEL_E_MISS);
    assert_int_equal(pull(&rig, &source, NULL), ACCEL_OK);
    assert_runs(&rig);
    rig_close(&rig);
}

/* ---- what goes wrong ---- */

static void test_cancel(void **state)
{
    struct rig rig;
    uint32_t at = 0;
    int32_t code;

    (void)state;
    rig_open(&rig);
    compile(&rig);
    assert_int_equal(create_both(&rig), ACCEL_OK);
    do {
        struct toy_source source = source_of(rig.list, 2, 0);
        struct toy_task task = task_of(&stub_team1, ++at);

        code = pull(&rig, &source, &task);
        assert_int_equal(code, task.calls == at ? ACCEL_E_CANCELLED : ACCEL_OK);
    } while (code != ACCEL_OK);
    assert_true(at > 9); /* eight bands of the table, the bias, and the end */
    assert_runs(&rig);   /* what was cancelled may be begun again */
    rig_close(&rig);
}

static void test_memory(void **state)
{
    struct rig rig;
    uint32_t fails = 0;
    int32_t code;

    (void)state;
    rig_open(&rig);
    do {
        struct toy_source source = source_of(rig.list, 2, 0);
        uint32_t blocks = rig.stub.blocks;

        rig.stub.fail_at = rig.stub.calls + ++fails;
        code = create_both(&rig);
        assert_true((code == ACCEL_OK) == (rig.weights != NULL));
        if (code == ACCEL_OK)
            code = pull(&rig, &source, NULL);
        rig.stub.fail_at = 0;
        free_weights(&rig);
        assert_int_equal(rig.stub.blocks, blocks);
        assert_true(code == ACCEL_OK || code == ACCEL_E_MEMORY);
    } while (code != ACCEL_OK);
    assert_int_equal(fails, 4); /* lists, block, chunk; then none */
    rig_close(&rig);
}

static void assert_failed(struct rig *rig, struct toy_source *source, int32_t code, const char *words)
{
    uint32_t blocks;

    assert_int_equal(create_both(rig), ACCEL_OK);
    blocks = rig->stub.blocks;
    assert_int_equal(pull(rig, source, NULL), code);
    assert_int_equal(rig->stub.blocks, blocks);
    if (strstr(rig->error.text, words) == NULL)
        fail_msg("%s", rig->error.text);
    free_weights(rig);
}

static void test_bad_sources(void **state)
{
    struct toy_source source;
    struct rig rig;

    (void)state;
    rig_open(&rig);
    source = source_of(rig.list, 2, 1);
    source.shift = 4;
    assert_failed(&rig, &source, ACCEL_E_CORRUPT, "weight bias: plane 0 has 260 bytes, its type and shape say 256");
    source = source_of(rig.list, 2, 1);
    source.map_fails = ACCEL_E_NOT_FOUND;
    assert_failed(&rig, &source, ACCEL_E_NOT_FOUND, "bias was lost");
    for (uint32_t call = 1; call < 10; call++) {
        source = source_of(rig.list, 2, 0);
        source.read_fails = call;
        assert_failed(&rig, &source, ACCEL_E_IO, "the disk is gone");
    }
    rig_close(&rig);
}

static void assert_refused(struct rig *rig, const struct accel_weight *weight, int32_t code, const char *words)
{
    uint32_t blocks = rig->stub.blocks;

    assert_int_equal(create(rig, weight, &bias_weight), code);
    assert_null(rig->weights);
    assert_int_equal(rig->stub.blocks, blocks);
    if (strstr(rig->error.text, words) == NULL)
        fail_msg("%s", rig->error.text);
}

static void test_bad_weights(void **state)
{
    struct {
        struct accel_weight weight;
        uint64_t later;
    } longer = {.weight = table_weight, .later = 1};
    struct accel_weight weight;
    struct rig rig;

    (void)state;
    rig_open(&rig);
    longer.weight.size = sizeof(longer);
    assert_refused(&rig, &longer.weight, ACCEL_E_UNSUPPORTED, "accel_weight sets a member");
    weight = table_weight, weight.size = 8;
    assert_refused(&rig, &weight, ACCEL_E_INVALID, "accel_weight has 8 bytes");
    weight = table_weight, weight.type = 0x7fffffff;
    assert_refused(&rig, &weight, ACCEL_E_UNSUPPORTED, "weight table has the type");
    weight = table_weight, weight.type = ACCEL_Q8_0, weight.dims[1] = 33;
    assert_refused(&rig, &weight, ACCEL_E_INVALID, "no size");
    weight = table_weight, weight.dims[0] = 0;
    assert_refused(&rig, &weight, ACCEL_E_INVALID, "no size");
    weight = table_weight, weight.dims[0] = UINT64_MAX / 4;
    assert_refused(&rig, &weight, ACCEL_E_LIMIT, "no size");
    assert_int_equal(rig.device->table->weights_create(rig.device, NULL, 0, &rig.weights, &rig.error), ACCEL_E_INVALID);
    rig_close(&rig);
}

static void assert_unbound(struct rig *rig, const struct place *place, const char *words)
{
    struct accel_driver_set *set = NULL;
    uint32_t blocks = rig->stub.blocks;

    accel_error_clear(&rig->error);
    assert_int_equal(rig->module->table->set_create(rig->module, &place->description, &set, &rig->error),
                     ACCEL_E_INVALID);
    assert_null(set);
    assert_int_equal(rig->stub.blocks, blocks);
    if (strstr(rig->error.text, words) == NULL)
        fail_msg("%s", rig->error.text);
}

/* Sets of a container that lacks a weight, has another one by its name, or has it for other kernels alone. */
static void test_bad_sets(void **state)
{
    struct accel_weight other = table_weight;
    struct toy_source source;
    struct place place;
    struct rig rig;

    (void)state;
    rig_open(&rig);
    compile(&rig);
    source = source_of(rig.list, 2, 1);
    assert_int_equal(create(&rig, &table_weight, NULL), ACCEL_OK);
    place_init(&rig, &place);
    assert_unbound(&rig, &place, "the container of weights lacks bias");
    free_weights(&rig);
    other.dims[0] = ROWS / 2, other.dims[1] = WIDTH * 2;
    assert_int_equal(create(&rig, &other, &bias_weight), ACCEL_OK);
    place_init(&rig, &place);
    assert_unbound(&rig, &place, "weight table has another type or shape");
    free_weights(&rig);
    assert_int_equal(create_both(&rig), ACCEL_OK);
    assert_int_equal(pull(&rig, &source, NULL), ACCEL_OK);
    place_init(&rig, &place);
    place.bindings[2] = place.bindings[3]; /* no address of the rows that the lookup reads */
    assert_unbound(&rig, &place, "toy embed reads a weight that exists only packed");
    place_init(&rig, &place);
    place.bindings[2].kind = ACCEL_BIND_SOURCE; /* nor one that maps parts */
    place.bindings[2].host = &source;
    assert_unbound(&rig, &place, "toy embed reads a weight that exists only in parts");
    place_init(&rig, &place);
    place.bindings[3].kind = ACCEL_BIND_SOURCE; /* nor where a plane has an address beside it */
    place.bindings[3].host = &source;
    place.bindings[3].object = NULL;
    place.bindings[3].value = place.bindings[2].value;
    assert_unbound(&rig, &place, "toy embed reads a weight that exists only in parts");
    place_init(&rig, &place);
    place.bindings[2].kind = ACCEL_BIND_SOURCE + 1;
    assert_unbound(&rig, &place, "binding 2 has kind 5, which is unknown here");
    assert_int_equal(rig.device->table->close(rig.device, &rig.error), ACCEL_E_BUSY);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claims),   cmocka_unit_test(test_estimate),    cmocka_unit_test(test_sources),
        cmocka_unit_test(test_ranks),    cmocka_unit_test(test_adopt),       cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_bad_sources), cmocka_unit_test(test_bad_weights),
        cmocka_unit_test(test_bad_sets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
