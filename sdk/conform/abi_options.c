/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the options of the driver's table. The device is opened with each value of each option, and everything
 * observable is recorded: claims, reports and packed weights. Values that behave differently need different
 * fingerprints, since caches are keyed by fingerprints; an option whose values never differ has no effect and
 * fails.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdk/conform/abi.h"
#include "sdk/conform/hash.h"
#include "sdk/conform/list.h"

#define VALUES 16u /* most values of an option */
#define VALUE 64u  /* bytes of a value */
#define SEEN 4000u /* bytes of recorded behavior */
#define ROWS 4u
#define WIDTH 256u
#define OUTPUTS 32u

static const uint32_t types[] = {ACCEL_F32, ACCEL_Q4_0};

/* The behavior of a device that was opened with one value. */
struct observation {
    struct conform_source source; /* must be the first member */
    char value[VALUE];
    struct accel_setting setting;
    bool is_open, has_fingerprint;
    uint8_t fingerprint[16];
    uint64_t requested, logged; /* memory of the host and log lines, which say nothing of the results */
    char seen[SEEN];
    uint32_t placement; /* weight placement of the last claim */
    bool is_claimed;
    struct conform_tensor weight;
};

static void record(struct observation *observed, const char *format, ...) ACCEL_PRINTF(2, 3);
static void record(struct observation *observed, const char *format, ...)
{
    const size_t length = strlen(observed->seen);
    va_list values;

    va_start(values, format);
    vsnprintf(observed->seen + length, sizeof(observed->seen) - length, format, values);
    va_end(values);
}

/* ---- recorded behavior ---- */

static const struct conform_tensor *find(const struct conform_source *source, const char *key)
{
    return strcmp(key, "w") == 0 ? &((const struct observation *)source)->weight : NULL;
}

struct claims {
    struct accel_claim_sink sink; /* first member: callbacks receive its address */
    struct observation *observed;
};

static int32_t record_claim(const struct accel_claim_sink *sink, const struct accel_claim *claim,
                            struct accel_error *error) ACCEL_NOEXCEPT
{
    struct observation *observed = ((const struct claims *)sink)->observed;

    (void)error;
    observed->is_claimed = claim->answer != ACCEL_CLAIM_NO;
    observed->placement = claim->weights;
    record(observed, "claim %u, kernel %s, weights %u, tolerance %g\n", claim->answer, claim->kernel, claim->weights,
           claim->tolerance);
    return ACCEL_OK;
}

struct reports {
    struct accel_report_sink sink; /* first member: callbacks receive its address */
    struct observation *observed;
};

static int32_t record_report(const struct accel_report_sink *sink, const struct accel_node_report *report,
                             struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)error;
    record(((const struct reports *)sink)->observed, "report: %s on %s\n", report->kernel, report->unit);
    return ACCEL_OK;
}

struct packed {
    struct accel_blob_writer writer; /* first member: callbacks receive its address */
    uint64_t hash, bytes;
};

static int32_t hash_packed(const struct accel_blob_writer *writer, const void *bytes, uint64_t count,
                           struct accel_error *error) ACCEL_NOEXCEPT
{
    struct packed *packed = (struct packed *)(uintptr_t)writer;

    (void)error;
    packed->hash = XXH3_64bits_withSeed(bytes, count, packed->hash);
    packed->bytes += count;
    return ACCEL_OK;
}

/* Records the claimed weight as the driver packs it, if the driver can report that. */
static void record_weight(struct direct *direct, struct observation *observed)
{
    const struct accel_task task = direct_task();
    const struct accel_weight weight = {
        .size = sizeof(weight), .type = observed->weight.format.type, .rank = 2, .dims = {OUTPUTS, WIDTH}, .key = "w"};
    const struct accel_weight *list = &weight;
    struct packed packed = {.writer = {.size = sizeof(packed.writer), .write = hash_packed}};
    struct conform *conform = direct->conform;
    struct accel_driver_weights *weights = NULL;
    int32_t code;

    if (observed->placement != ACCEL_RESIDENT || !ACCEL_CAN(direct->device->table, weights_create))
        return;
    code = direct->device->table->weights_create(direct->device, &list, 1, &weights, &conform->error);
    if (code == ACCEL_OK)
        code = weights->table->pull(weights, &observed->source.table, &task, &conform->error);
    if (conform_ok(conform, code, "load a weight") && ACCEL_CAN(weights->table, save) &&
        conform_ok(conform, weights->table->save(weights, &packed.writer, &conform->error), "save a container"))
        record(observed, "packed %" PRIu64 " bytes, %016" PRIx64 "\n", packed.bytes, packed.hash);
    if (weights != NULL)
        weights->table->free(weights);
}

static void record_module(struct direct *direct, struct observation *observed, const struct accel_graph *graph,
                          const struct accel_compile_options *options)
{
    const struct accel_task task = direct_task();
    struct reports reports = {.sink = {.size = sizeof(reports.sink), .node = record_report}, .observed = observed};
    struct accel_driver_module *module = NULL;
    int32_t code = direct->device->table->compile(direct->device, &graph, 1, options, &observed->source.table, NULL,
                                                  &task, &module, &direct->error);

    if (code == ACCEL_OK && ACCEL_CAN(module->table, report))
        code = module->table->report(module, &reports.sink, &direct->error);
    direct->conform->error = direct->error;
    conform_ok(direct->conform, code, "compile and report");
    accel_error_clear(&direct->error);
    if (module != NULL)
        module->table->free(module);
}

/* Builds a matmul with a weight of one type. */
static int32_t build(struct accel_builder *builder, uint32_t type, const struct accel_graph **out_graph,
                     struct accel_error *error)
{
    const struct accel_matmul matmul = {.size = sizeof(matmul), .rounding = ACCEL_Q8_0};
    const struct accel_dim dims[2] = {{.add = ROWS}, {.add = WIDTH}}, shape[2] = {{.add = OUTPUTS}, {.add = WIDTH}};
    uint32_t inputs[4] = {0, 0, ACCEL_NO_VALUE, ACCEL_NO_VALUE}, value = 0;
    int32_t code = accel_builder_value(builder, ACCEL_ROLE_INPUT, "x", ACCEL_F32, 2, dims, &inputs[0], error);

    if (code == ACCEL_OK)
        code = accel_builder_value(builder, ACCEL_ROLE_WEIGHT, "w", type, 2, shape, &inputs[1], error);
    if (code == ACCEL_OK)
        code = accel_builder_node(builder, ACCEL_OP_MATMUL, "node", inputs, 4, &matmul, &value, error);
    if (code == ACCEL_OK)
        code = accel_builder_output(builder, value, "y", error);
    return code == ACCEL_OK ? accel_builder_finish(builder, out_graph, error) : code;
}

static void record_type(struct direct *direct, struct observation *observed, uint32_t type)
{
    const uint64_t rows = ROWS;
    const uint32_t one = 1;
    const struct accel_compile_options options = {
        .size = sizeof(options), .buckets = &rows, .bucket_counts = &one, .threads = 1};
    struct claims claims = {.sink = {.size = sizeof(claims.sink), .claim = record_claim}, .observed = observed};
    struct conform *conform = direct->conform;
    struct accel_builder *builder = NULL;
    const struct accel_graph *graph = NULL;
    int32_t code = accel_builder_create("option", &builder, &conform->error);

    if (code == ACCEL_OK)
        code = build(builder, type, &graph, &conform->error);
    if (conform_ok(conform, code, "the kit's own graph")) {
        /* Every value gets the same random weight. */
        const struct conform_random random = conform->random;

        conform_tensor_make(conform, type, OUTPUTS, WIDTH, &observed->weight);
        conform->random = random;
        code = direct->device->table->claim(direct->device, &graph, 1, &options, &claims.sink, &conform->error);
        if (conform_ok(conform, code, "claim") && observed->is_claimed) {
            record_weight(direct, observed);
            record_module(direct, observed, graph, &options);
        }
        conform_tensor_free(&observed->weight);
    }
    accel_builder_free(builder);
}

static void open_and_record(struct direct *direct, struct observation *observed)
{
    const struct accel_driver_instance *instance = direct->instance;
    struct conform *conform = direct->conform;
    const uint64_t before = atomic_load(&direct->host.alive), requested = atomic_load(&direct->host.requested);
    const uint64_t logged = atomic_load(&direct->host.logged);
    int32_t code =
        instance->table->open(direct->instance, direct->id, &observed->setting, 1, &direct->device, &direct->error);

    if (code != ACCEL_OK) {
        conform->error = direct->error;
        abi_refused(conform, code, ACCEL_OK, direct->device);
        accel_error_clear(&direct->error);
        direct->device = NULL;
        if (atomic_load(&direct->host.alive) > before)
            conform_fail(conform, "an open that was refused lost %llu blocks of the host",
                         (unsigned long long)(atomic_load(&direct->host.alive) - before));
        return;
    }
    observed->is_open = true;
    if (ACCEL_CAN(direct->device->table, fingerprint)) {
        code = direct->device->table->fingerprint(direct->device, observed->fingerprint, &direct->error);
        observed->has_fingerprint = code == ACCEL_OK;
        accel_error_clear(&direct->error);
    }
    for (uint32_t t = 0; t < sizeof(types) / sizeof(*types); t++)
        record_type(direct, observed, types[t]);
    direct_undo(direct, DIRECT_OPEN);
    observed->requested = atomic_load(&direct->host.requested) - requested;
    observed->logged = atomic_load(&direct->host.logged) - logged;
}

/* ---- values ---- */

static uint32_t add_text(struct observation *observations, uint32_t count, const char *text, size_t length)
{
    if (count == VALUES || length >= VALUE)
        return count;
    snprintf(observations[count].value, VALUE, "%.*s", (int)length, text);
    observations[count].setting.text = observations[count].value;
    return count + 1;
}

static uint32_t add_number(struct observation *observations, uint32_t count, int64_t number)
{
    snprintf(observations[count].value, VALUE, "%" PRId64, number);
    observations[count].setting.integer = number;
    return count + 1;
}

/* Lists the values to test: all choices, or both ends of a range. A free text option has none. */
static uint32_t list_values(const struct accel_option *option, struct observation *observations)
{
    uint32_t count = 0;

    if (option->type == ACCEL_OPTION_FLAG || option->type == ACCEL_OPTION_INTEGER) {
        count = add_number(observations, count, option->type == ACCEL_OPTION_FLAG ? 0 : option->lowest);
        count = add_number(observations, count, option->type == ACCEL_OPTION_FLAG ? 1 : option->highest);
    }
    for (const char *at = option->choices; option->type == ACCEL_OPTION_TEXT && at != NULL && *at != '\0';) {
        const size_t length = strcspn(at, " ");

        count = add_text(observations, count, at, length);
        at += length + strspn(at + length, " ");
    }
    return count;
}

/* Returns the first line in which the recorded behaviors differ. */
static const char *difference(const char *a, const char *b)
{
    size_t line = 0;

    for (size_t i = 0; a[i] == b[i]; i++)
        line = a[i] == '\n' ? i + 1 : line;
    return a + line;
}

static void compare(struct conform *conform, const struct accel_option *option, const struct observation *a,
                    const struct observation *b)
{
    const char *first = difference(a->seen, b->seen), *other = difference(b->seen, a->seen);

    if (a->has_fingerprint && b->has_fingerprint && memcmp(a->fingerprint, b->fingerprint, sizeof(a->fingerprint)) == 0)
        conform_fail(conform, "%s=%s and %s=%s have one fingerprint, and differ: \"%.*s\", \"%.*s\"", option->name,
                     a->value, option->name, b->value, (int)strcspn(first, "\n"), first, (int)strcspn(other, "\n"),
                     other);
}

/* A choice among names changes results or caches; a flag or a number may change what is stored or logged alone. */
static bool is_alike(const struct accel_option *option, const struct observation *a, const struct observation *b)
{
    if (option->type != ACCEL_OPTION_TEXT && (a->requested != b->requested || a->logged != b->logged))
        return false;
    return a->has_fingerprint == b->has_fingerprint &&
           memcmp(a->fingerprint, b->fingerprint, sizeof(a->fingerprint)) == 0 && strcmp(a->seen, b->seen) == 0;
}

/* Fails if at least two values other than `auto` are accepted and behave alike. */
static void check_option(struct conform *conform, const struct accel_option *option,
                         const struct observation *observations, uint32_t count)
{
    uint32_t named = 0, different = 0;

    for (uint32_t i = 0; i < count; i++) {
        named += observations[i].is_open && strcmp(observations[i].value, "auto") != 0;
        for (uint32_t j = 0; j < i && observations[i].is_open; j++) {
            if (!observations[j].is_open)
                continue;
            different += !is_alike(option, &observations[j], &observations[i]);
            if (strcmp(observations[i].seen, observations[j].seen) != 0)
                compare(conform, option, &observations[j], &observations[i]);
        }
    }
    if (named > 1 && different == 0)
        conform_fail(conform,
                     "%s: claims, kernels, packed weights and fingerprint are the same with %u of its values (%s): it "
                     "does nothing that can be seen",
                     option->name, named, option->choices == NULL ? "the lowest and the highest" : option->choices);
}

static void try_option(struct direct *direct, const struct accel_option *option)
{
    struct conform *conform = direct->conform;
    struct observation *observations = conform_memory(conform, VALUES, sizeof(*observations));
    const uint32_t count = list_values(option, observations);

    for (uint32_t i = 0; i < count; i++) {
        conform_case(conform, "%s=%s", option->name, observations[i].value);
        observations[i].setting.name = option->name;
        conform_source_init(&observations[i].source, find);
        open_and_record(direct, &observations[i]);
    }
    check_option(conform, option, observations, count);
    free(observations);
}

static void options(struct conform *conform)
{
    const struct accel_driver *driver = conform->driver;
    struct direct direct;
    uint32_t tried = 0;

    if (!direct_begin(&direct, conform))
        return;
    if (!direct_do_stages(&direct, DIRECT_ATTACH, DIRECT_OPEN)) {
        direct_end(&direct);
        return;
    }
    for (uint32_t i = 0; i < driver->option_count; i++) {
        const struct accel_option *option = driver->options[i];

        if (option->type != ACCEL_OPTION_TEXT || option->choices != NULL) {
            try_option(&direct, option);
            tried++;
        }
    }
    if (tried == 0)
        conform_skip(conform, "the driver has no options with a list or range of values");
    direct_end(&direct);
}

void conform_add_options(struct conform_list *list)
{
    conform_add(list, CONFORM_DRIVER, 0, options, "options/values");
}
