/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs of other minors: an earlier one is shorter, a later one longer. A shorter one counts as zero past its end, a
 * longer one is taken while what it adds is zero, and refused by name when it is not. And what a driver may not say.
 */
#include <math.h>
#include <stdio.h>

#include "core/boundary/import.h"
#include "tests/mock/direct.h"
#include "tests/unit/device_support.h"

/* The same struct as a later minor might have it. */
struct later_facts {
    struct accel_facts facts;
    uint64_t sentinel;
};

struct later_device_table {
    struct accel_device_table table;
    int32_t (*sentinel)(void);
};

struct later_queue_options {
    struct accel_queue_options options;
    uint64_t sentinel;
};

static struct accel_error error;

static void expect(int32_t code, int32_t wanted, const char *words)
{
    expect_code(&error, code, wanted, words);
}

static int32_t take(const struct accel_facts *facts, struct accel_facts **out_facts)
{
    static struct accel_arena arena;
    accel_arena_free(&arena);
    return facts == NULL ? ACCEL_OK : accel_import_facts(&arena, facts, 1, "mock", out_facts, &error);
}

static void facts_of_other_minors(void **state)
{
    struct later_facts later = {.facts = *direct_facts()};
    struct accel_facts *facts = NULL;
    (void)state;
    later.facts.size = sizeof(later);
    expect(take(&later.facts, &facts), ACCEL_OK, NULL);
    assert_int_equal(facts->size, sizeof(*facts));
    later.sentinel = 1;
    expect(take(&later.facts, &facts), ACCEL_E_UNSUPPORTED, "byte 96 of accel_facts");
    assert_null(facts);
    later.facts.size = ACCEL_END_OF(struct accel_facts, limits);
    expect(take(&later.facts, &facts), ACCEL_OK, NULL);
    assert_int_equal(facts->type_count, 0);
    later.facts.size -= 8;
    expect(take(&later.facts, &facts), ACCEL_E_INVALID, "accel_facts.size is");
    later.facts.size = sizeof(later) - 4;
    expect(take(&later.facts, &facts), ACCEL_E_INVALID, "in multiples of 8");
    later.facts.size = 0x7ffffff8;
    expect(take(&later.facts, &facts), ACCEL_E_INVALID, "in multiples of 8");
    take(NULL, NULL);
}

/* Everything is a copy: the driver may change its own afterwards. */
static void facts_are_copied(void **state)
{
    struct accel_facts given = *direct_facts();
    struct accel_heap heap = given.heaps[0];
    struct accel_facts *facts = NULL;
    char name[] = "name\nof";
    (void)state;
    given.name = name;
    given.heaps = &heap;
    expect(take(&given, &facts), ACCEL_OK, NULL);
    name[0] = 'X';
    heap.bytes = 0;
    assert_string_equal(facts->name, "name?of");
    assert_int_equal(facts->heaps[0].bytes, 1u << 30);
    assert_int_equal(facts->types[0], ACCEL_F32);
    take(NULL, NULL);
}

static void facts_are_checked(void **state)
{
    struct accel_facts good = *direct_facts();
    struct accel_facts bad = good;
    struct accel_limits limits = *good.limits;
    struct accel_heap heap = good.heaps[0];
    struct accel_facts *facts = NULL;
    (void)state;
    bad.kind = 5;
    expect(take(&bad, &facts), ACCEL_E_INVALID, "kind 5");
    bad = good;
    bad.flags = 0x20;
    expect(take(&bad, &facts), ACCEL_E_UNSUPPORTED, "0x20");
    bad = good;
    bad.zero = 1;
    expect(take(&bad, &facts), ACCEL_E_INVALID, "zero is 1");
    bad = good;
    bad.hardware = 1;
    expect(take(&bad, &facts), ACCEL_E_INVALID, "hardware 1");
    bad = good;
    bad.id = "a b";
    expect(take(&bad, &facts), ACCEL_E_INVALID, "no name");
    bad.id = "\xff";
    expect(take(&bad, &facts), ACCEL_E_INVALID, "not UTF-8");
    bad.id = NULL;
    expect(take(&bad, &facts), ACCEL_E_INVALID, "accel_facts.id");
    bad = good;
    bad.heap_count = 65;
    expect(take(&bad, &facts), ACCEL_E_LIMIT, "heap_count 65");
    bad = good;
    bad.type_count = 1u << 30;
    expect(take(&bad, &facts), ACCEL_E_LIMIT, "type_count");
    bad = good;
    bad.limits = NULL;
    expect(take(&bad, &facts), ACCEL_E_INVALID, "limits is NULL");
    limits.queues = 1;
    bad.limits = &limits;
    expect(take(&bad, &facts), ACCEL_E_LIMIT, "in_flight 0");
    bad = good;
    bad.heaps = &heap;
    heap.alignment = 48;
    expect(take(&bad, &facts), ACCEL_E_INVALID, "alignment 48");
    heap.alignment = 64;
    heap.flags = 8;
    expect(take(&bad, &facts), ACCEL_E_UNSUPPORTED, "0x8");
    take(NULL, NULL);
}

static void claims_are_checked(void **state)
{
    const struct accel_claim good = {
        .answer = ACCEL_CLAIM_NATIVE, .weights = ACCEL_MAPPED, .kernel = "k", .reason = "", .alignment = 64};
    struct accel_claim bad = good;
    struct accel_claim copy;
    struct sum_graph sum;
    (void)state;
    sum_graph_make(&sum);
    expect(accel_import_claim(&good, &sum.graph, 1, "mock", &copy, &error), ACCEL_OK, NULL);
    bad.node = 1;
    expect(accel_import_claim(&bad, &sum.graph, 1, "mock", &copy, &error), ACCEL_E_INVALID, "node 1");
    bad = good;
    bad.graph = 1;
    expect(accel_import_claim(&bad, &sum.graph, 1, "mock", &copy, &error), ACCEL_E_INVALID, "graph 1");
    bad = good;
    bad.answer = 0;
    expect(accel_import_claim(&bad, &sum.graph, 1, "mock", &copy, &error), ACCEL_E_INVALID, "answer 0");
    bad = good;
    bad.weights = 4;
    expect(accel_import_claim(&bad, &sum.graph, 1, "mock", &copy, &error), ACCEL_E_INVALID, "placement 4");
    bad = good;
    bad.tolerance = (double)NAN;
    expect(accel_import_claim(&bad, &sum.graph, 1, "mock", &copy, &error), ACCEL_E_INVALID, "finite");
    bad = good;
    bad.alignment = 3;
    expect(accel_import_claim(&bad, &sum.graph, 1, "mock", &copy, &error), ACCEL_E_INVALID, "alignment 3");
    bad = good;
    bad.variant = ACCEL_VARIANT_EAGER + 1;
    expect(accel_import_claim(&bad, &sum.graph, 1, "mock", &copy, &error), ACCEL_E_INVALID, "variant 3");
    bad.variant = ACCEL_VARIANT_OWN;
    expect(accel_import_claim(&bad, &sum.graph, 1, "mock", &copy, &error), ACCEL_OK, NULL);
    bad.precision = ACCEL_Q8_ROW;
    expect(accel_import_claim(&bad, &sum.graph, 1, "mock", &copy, &error), ACCEL_OK, NULL);
    assert_int_equal(copy.precision, ACCEL_Q8_ROW);
    bad = good;
    bad.kernel = NULL;
    expect(accel_import_claim(&bad, &sum.graph, 1, "mock", &copy, &error), ACCEL_E_INVALID, "kernel");
    accel_builder_free(sum.builder);
}

static int32_t nothing(void)
{
    return ACCEL_OK;
}

static int32_t open_with(struct accel_context *context, const struct accel_device_table *table)
{
    struct accel_device *device = NULL;
    uint32_t alive = direct.alive;
    int32_t code;
    direct.device_table = table;
    code = accel_device_open(context, "direct", NULL, 0, &device, &error);
    accel_device_free(device);
    assert_int_equal(direct.alive, alive);
    return code;
}

/* A driver built with an earlier minor ends its table after the slots it knows; one of a later minor has more. */
static void tables_of_other_minors(void **state)
{
    struct accel_context *context = context_with(&direct_driver);
    struct later_device_table later = {.table = direct_device_table, .sentinel = nothing};
    struct accel_device_table table = direct_device_table;
    (void)state;
    later.table.size = sizeof(later);
    expect(open_with(context, &later.table), ACCEL_OK, NULL);
    table.size = ACCEL_END_OF(struct accel_device_table, compile);
    /* Slots past the size are not read, whatever lies there. */
    memset((char *)&table + table.size, 0xff, sizeof(table) - table.size);
    expect(open_with(context, &table), ACCEL_OK, NULL);
    table.size -= 8;
    expect(open_with(context, &table), ACCEL_E_INVALID, "accel_device_table has");
    table = direct_device_table;
    table.claim = NULL;
    expect(open_with(context, &table), ACCEL_E_INVALID, "required slot claim");
    expect(accel_context_free(context, &error), ACCEL_OK, NULL);
    assert_int_equal(direct.alive, 0);
    direct_reset();
}

static void callers_of_other_minors(void **state)
{
    struct accel_context *context = context_with(&direct_driver);
    struct accel_context_options options = {.size = 4};
    struct later_queue_options later = {.options = {.threads = 1}};
    struct accel_device *device = NULL;
    struct accel_queue *queue = NULL;
    struct accel_context *other = NULL;
    (void)state;
    expect(accel_device_open(context, "direct", NULL, 0, &device, &error), ACCEL_OK, NULL);
    later.options.size = sizeof(later);
    expect(accel_queue_create(device, &later.options, &queue, &error), ACCEL_OK, NULL);
    accel_queue_free(queue);
    later.sentinel = 7;
    expect(accel_queue_create(device, &later.options, &queue, &error), ACCEL_E_UNSUPPORTED, "accel_queue_options");
    assert_null(queue);
    later.options.size = ACCEL_END_OF(struct accel_queue_options, threads);
    later.options.pin_caller = 99; /* past the size */
    expect(accel_queue_create(device, &later.options, &queue, &error), ACCEL_OK, NULL);
    accel_queue_free(queue);
    accel_device_free(device);
    expect(accel_context_free(context, &error), ACCEL_OK, NULL);
    expect(accel_context_create(&options, &other, &error), ACCEL_E_INVALID, "accel_context_options");
    options = (struct accel_context_options){.size = sizeof(options), .flags = 0x100};
    expect(accel_context_create(&options, &other, &error), ACCEL_E_UNSUPPORTED, "0x100");
    assert_null(other);
}

static void codes_are_checked(void **state)
{
    (void)state;
    expect(accel_import_code(ACCEL_OK, "mock", "slot", &error), ACCEL_OK, NULL);
    expect(accel_import_code(1, "mock", "slot", &error), ACCEL_E_INTERNAL, "returned 1");
    expect(accel_import_code(-1000, "mock", "slot", &error), ACCEL_E_INTERNAL, "returned -1000");
    expect(accel_import_code(ACCEL_E_IO, "mock", "slot", &error), ACCEL_E_IO, "without an error text");
    accel_error_set(&error, ACCEL_E_IO, "what the driver says");
    expect(accel_import_code(ACCEL_E_IO, "mock", "slot", &error), ACCEL_E_IO,
           "driver mock, slot: what the driver says");
    memset(error.text, 'x', sizeof(error.text));
    memset(error.remedy, 'y', sizeof(error.remedy));
    error.code = ACCEL_E_TIMEOUT;
    assert_int_equal(accel_import_code(ACCEL_E_IO, "mock", "slot", &error), ACCEL_E_IO);
    assert_int_equal(error.code, ACCEL_E_IO);
    assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
    assert_int_equal(strlen(error.remedy), sizeof(error.remedy) - 1);
    error.code = 5;
    assert_int_equal(accel_import_code(-500, "mock", "slot", &error), ACCEL_E_INTERNAL);
    assert_int_equal(error.code, ACCEL_E_INTERNAL);
}

static void says(int32_t code, uint32_t origin, const char *text)
{
    error = (struct accel_error){.code = code, .origin = origin};
    snprintf(error.text, sizeof(error.text), "%s", text);
}

/* Every error of a driver says whose it is and where, once, and may be shown. */
static void errors_name_their_driver(void **state)
{
    static const char escapes[] = "\x1b[31m\xc2\x9b\xff\n\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8x";
    static const struct {
        int32_t code;
        uint32_t said, origin;
        const char *text, *answer;
    } cases[] = {
        {ACCEL_E_IO, ACCEL_FROM_CALLER, ACCEL_FROM_DRIVER, "mocked at slot", "driver mock, slot: mocked at slot"},
        {ACCEL_E_IO, ACCEL_FROM_DRIVER, ACCEL_FROM_DRIVER, "driver mock: no slot", "driver mock: no slot"},
        {ACCEL_E_IO, ACCEL_FROM_SYSTEM, ACCEL_FROM_SYSTEM, "no library", "driver mock, slot: no library"},
        {ACCEL_E_IO, ACCEL_FROM_SYSTEM + 1, ACCEL_FROM_DRIVER, "x", "driver mock, slot: x"},
        {ACCEL_E_DEVICE_LOST, ACCEL_FROM_CALLER, ACCEL_FROM_DEVICE, "gone", "driver mock, slot: gone"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        says(cases[i].code, cases[i].said, cases[i].text);
        assert_int_equal(accel_import_code(cases[i].code, "mock", "slot", &error), cases[i].code);
        assert_int_equal(error.origin, cases[i].origin);
        assert_string_equal(error.text, cases[i].answer);
    }
    says(ACCEL_E_REFUSED, ACCEL_FROM_CALLER, "");
    expect(accel_import_code(ACCEL_E_REFUSED, "mock", "slot", &error), ACCEL_E_REFUSED,
           "driver mock: slot failed with ACCEL_E_REFUSED and without an error text");
    says(5, ACCEL_FROM_CALLER, "");
    expect(accel_import_code(5, "mock", "slot", &error), ACCEL_E_INTERNAL, "driver mock: slot returned 5");
    says(ACCEL_E_IO, ACCEL_FROM_CALLER, escapes);
    memcpy(error.remedy, escapes, sizeof(escapes));
    assert_int_equal(accel_import_code(ACCEL_E_IO, "mock", "slot", &error), ACCEL_E_IO);
    assert_string_equal(error.text, "driver mock, slot: ?[31m??????x");
    assert_string_equal(error.remedy, "?[31m??????x");
}

/* To cancel is the caller's. */
static void nobody_else_cancels(void **state)
{
    (void)state;
    says(ACCEL_E_CANCELLED, ACCEL_FROM_CALLER, "the user does not want it");
    expect(accel_import_code(ACCEL_E_CANCELLED, "mock", "slot", &error), ACCEL_E_INTERNAL,
           "driver mock, slot: the user does not want it");
    says(ACCEL_E_CANCELLED, ACCEL_FROM_CALLER, "");
    expect(accel_import_cancellable_code(ACCEL_E_CANCELLED, false, "mock", "slot", &error), ACCEL_E_INTERNAL,
           "no cancellation was requested");
    says(ACCEL_E_CANCELLED, ACCEL_FROM_CALLER, "stopped");
    expect(accel_import_cancellable_code(ACCEL_E_CANCELLED, true, "mock", "slot", &error), ACCEL_E_CANCELLED,
           "stopped");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_of_other_minors),  cmocka_unit_test(facts_are_copied),
        cmocka_unit_test(facts_are_checked),      cmocka_unit_test(claims_are_checked),
        cmocka_unit_test(tables_of_other_minors), cmocka_unit_test(callers_of_other_minors),
        cmocka_unit_test(codes_are_checked),      cmocka_unit_test(errors_name_their_driver),
        cmocka_unit_test(nobody_else_cancels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
