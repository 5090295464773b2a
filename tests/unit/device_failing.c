/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation n fails, for n = 1, 2, 3, ... until a whole run succeeds: discover, attach, open, compile, load, bind,
 * run. Each time there is one clean error and nothing is left behind. The linker puts the functions below in front of
 * the C library's for the core and this program (not for hwloc and libyaml).
 */
#include <errno.h>

#include "core/registry/registry.h"
#include "tests/mock/async.h"
#include "tests/mock/direct.h"
#include "tests/unit/device_support.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
char *__wrap_strdup(const char *text);

static uint64_t calls;   /* allocations so far */
static uint64_t fail_at; /* the one that fails, 0: none */
static uint64_t looked;  /* allocations when the machine had been looked at */

/* The driver of this run: one without queues, buffers, states and weights of its own, or one with all of them. */
static const struct accel_driver *driver;
static const uint32_t *alive;

static int fails(void)
{
    calls++;
    if (calls != fail_at)
        return 0;
    errno = ENOMEM;
    return 1;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *block, size_t bytes)
{
    return fails() ? NULL : __real_realloc(block, bytes);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

struct objects {
    struct accel_context *context;
    struct accel_device *device;
    struct accel_module *module;
    struct accel_weights *weights;
    struct accel_queue *queue;
    struct accel_buffer *x;
    struct accel_buffer *y;
    struct accel_state *state;
    struct accel_set *set;
};

static int32_t open_all(struct objects *o, struct accel_error *error)
{
    struct accel_context_options options = {
        .size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS, .driver_path = "/none", .cache_path = "/none"};
    int32_t code = accel_context_create(&options, &o->context, error);
    if (code == ACCEL_OK)
        code = accel_context_discover(o->context, error);
    looked = calls;
    if (code == ACCEL_OK)
        code = accel_context_attach_driver(o->context, driver, error);
    if (code == ACCEL_OK)
        code = accel_device_open(o->context, driver->name, NULL, 0, &o->device, error);
    return code;
}

static int32_t make_all(struct objects *o, const struct sum_graph *sum, const struct sum_source *source,
                        struct accel_error *error)
{
    static const struct accel_state_part part = {.type = ACCEL_F16, .row = 4};
    static const uint64_t most[1] = {8};
    const struct accel_graph *graphs[1] = {sum->graph};
    struct accel_bind binds[2];
    int32_t code = accel_module_create(o->device, graphs, 1, NULL, NULL, NULL, &o->module, error);
    if (code == ACCEL_OK)
        code = accel_weights_create(o->module, &source->source, NULL, &o->weights, error);
    if (code == ACCEL_OK)
        code = accel_queue_create(o->device, NULL, &o->queue, error);
    if (code == ACCEL_OK)
        code = accel_buffer_create(o->device, 128, 0, &o->x, error);
    if (code == ACCEL_OK)
        code = accel_buffer_create(o->device, 128, 0, &o->y, error);
    if (code == ACCEL_OK)
        code = accel_state_create(o->device, &part, 1, 16, &o->state, error);
    binds[0] = (struct accel_bind){.value = sum->x, .buffer = o->x};
    binds[1] = (struct accel_bind){.value = sum->y, .buffer = o->y};
    if (code == ACCEL_OK)
        code = accel_set_create(o->module, 0, o->queue, most, binds, 2, o->weights, &o->set, error);
    return code;
}

static void close_all(struct objects *o)
{
    uint64_t now = 1;
    accel_set_free(o->set);
    accel_state_free(o->state);
    accel_buffer_free(o->x);
    accel_buffer_free(o->y);
    accel_queue_free(o->queue);
    accel_weights_free(o->weights);
    accel_module_free(o->module);
    accel_device_free(o->device);
    if (o->context != NULL) {
        assert_int_equal(atomic_load(&o->context->children), 0);
        accel_registry_forget(o->context);
        assert_int_equal(accel_memory_usage(o->context, 0, &now, NULL), ACCEL_OK);
        assert_int_equal(now, 0);
        assert_int_equal(atomic_load(&o->context->memory.blocks), 0);
    }
    assert_int_equal(accel_context_free(o->context, NULL), ACCEL_OK);
    assert_int_equal(*alive, 0);
    assert_int_equal(async.sins, 0);
}

/* One run in which allocation `n` fails; false when it got by without it. */
static bool run_with(uint64_t n, const struct sum_graph *sum, const struct sum_source *source)
{
    static const uint64_t tokens = 1;
    struct objects o = {0};
    struct accel_error error = {0};
    int32_t code;
    uint64_t made;
    calls = 0;
    fail_at = n;
    code = open_all(&o, &error);
    if (code == ACCEL_OK)
        code = make_all(&o, sum, source, &error);
    made = calls;
    if (code == ACCEL_OK)
        code = accel_set_run(o.set, &tokens, &error);
    assert_int_equal(calls, made); /* a step allocates nothing */
    fail_at = 0;
    close_all(&o);
    if (made < n) {
        assert_int_equal(code, ACCEL_OK);
        return false;
    }
    /* A file of the machine that cannot be read leaves a fact unknown. */
    if (code == ACCEL_OK && n <= looked)
        return true;
    if (code != ACCEL_E_MEMORY)
        fail_msg("allocation %llu of %llu failed, and the answer was %s: %s", (unsigned long long)n,
                 (unsigned long long)made, accel_error_name(code), error.text);
    assert_int_equal(error.code, ACCEL_E_MEMORY);
    assert_true(error.text[0] != '\0');
    return true;
}

static void every_allocation_may_fail(void **state)
{
    struct sum_graph sum;
    struct sum_source source;
    uint64_t n = 1;
    driver = *state;
    alive = driver == &async_driver ? &async.alive : &direct.alive;
    async_reset();
    direct_reset();
    direct.scratch_bytes = 256;
    sum_graph_make(&sum);
    sum_source_make(&source, 1);
    direct.alignment = 64;
    while (run_with(n, &sum, &source))
        n++;
    assert_true(n > 20);
    accel_builder_free(sum.builder);
}

/* The same through the counter of the context: the budget says no. */
static void a_budget_is_real(void **state)
{
    struct accel_context *context = context_with(&direct_driver);
    struct accel_device *device = NULL;
    struct accel_buffer *buffer = NULL;
    struct accel_error error = {0};
    uint64_t now = 0;
    uint64_t peak = 0;
    (void)state;
    assert_int_equal(accel_device_open(context, "direct", NULL, 0, &device, &error), ACCEL_OK);
    context->memory.budget = 100000;
    assert_int_equal(accel_buffer_create(device, 200000, 0, &buffer, &error), ACCEL_E_MEMORY);
    assert_null(buffer);
    assert_int_equal(error.asked, 200000);
    assert_true(error.free > 0 && error.free < 100000);
    assert_non_null(strstr(error.text, "budget"));
    assert_true(error.remedy[0] != '\0');
    assert_int_equal(accel_buffer_create(device, 50000, 0, &buffer, NULL), ACCEL_OK);
    assert_int_equal(accel_memory_usage(context, ACCEL_MEMORY_ACTIVATION, &now, &peak), ACCEL_OK);
    assert_int_equal(now, 50000);
    accel_buffer_free(buffer);
    assert_int_equal(accel_memory_usage(context, ACCEL_MEMORY_ACTIVATION, &now, &peak), ACCEL_OK);
    assert_int_equal(now, 0);
    assert_int_equal(peak, 50000);
    assert_int_equal(accel_memory_usage(context, ACCEL_MEMORY_END, &now, &peak), ACCEL_E_INVALID);
    accel_device_free(device);
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"in the caller's thread", every_allocation_may_fail, NULL, NULL, (void *)(uintptr_t)&direct_driver},
        {"on a queue", every_allocation_may_fail, NULL, NULL, (void *)(uintptr_t)&async_driver},
        cmocka_unit_test(a_budget_is_real),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
