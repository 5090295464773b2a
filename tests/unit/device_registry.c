/* SPDX-License-Identifier: Apache-2.0 */
/* The list of devices: order, duplicates, refusals, and hardware that nobody claims. Hardware is made up. */
#include "core/registry/machine.h"
#include "core/registry/registry.h"
#include "tests/mock/direct.h"
#include "tests/unit/device_support.h"

#define FACTS 3u

struct bench {
    struct accel_context *context;
    struct accel_facts facts[FACTS];
    const struct accel_facts *list[FACTS];
    struct accel_error error;
};

/* A second driver of another name over the same mock. */
static const struct accel_driver *twin(void)
{
    static struct accel_driver driver;
    driver = direct_driver;
    driver.name = "twin";
    driver.option_count = 0;
    return &driver;
}

static int setup(void **state)
{
    static struct bench bench;
    struct accel_hardware gpu = {.kind = ACCEL_HARDWARE_PCI,
                                 .bus = 0x65,
                                 .vendor = 0xabcd,
                                 .device = 1,
                                 .device_class = 0x0302,
                                 .numa_node = -1,
                                 .name = "Example GPU"};
    struct bench *b = &bench;
    memset(b, 0, sizeof(*b));
    direct_reset();
    b->context = context_with(NULL);
    assert_int_equal(accel_machine_add(b->context, &gpu, &b->error), ACCEL_OK);
    for (uint32_t i = 0; i < FACTS; i++) {
        static const char *const ids[FACTS] = {"first", "second", "third"};
        b->facts[i] = *direct_facts();
        b->facts[i].id = ids[i];
        b->list[i] = &b->facts[i];
    }
    direct.facts = b->list;
    direct.fact_count = 1;
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    assert_int_equal(accel_context_free(b->context, NULL), ACCEL_OK);
    assert_int_equal(direct.alive, 0);
    return 0;
}

static uint32_t last_hardware(const struct bench *b)
{
    return accel_hardware_count(b->context) - 1;
}

static const struct accel_device_info *find(const struct bench *b, const char *name)
{
    for (uint32_t i = 0; i < accel_device_count(b->context); i++)
        if (strcmp(accel_device_get(b->context, i)->name, name) == 0)
            return accel_device_get(b->context, i);
    fail_msg("no device %s", name);
    return NULL;
}

static void duplicates_have_one_uuid(void **state)
{
    struct bench *b = *state;
    memset(b->facts[0].uuid, 7, 16);
    b->facts[0].hardware = -1;
    assert_int_equal(accel_context_attach_driver(b->context, &direct_driver, &b->error), ACCEL_OK);
    assert_int_equal(accel_context_attach_driver(b->context, twin(), &b->error), ACCEL_OK);
    assert_int_equal(accel_device_count(b->context), 2);
    assert_int_equal(find(b, "direct:first")->duplicate_of, -1);
    assert_int_equal(find(b, "twin:first")->duplicate_of, 0);
}

static void duplicates_have_one_address(void **state)
{
    struct bench *b = *state;
    b->facts[0].hardware = (int32_t)last_hardware(b);
    assert_int_equal(accel_context_attach_driver(b->context, &direct_driver, &b->error), ACCEL_OK);
    assert_int_equal(accel_context_attach_driver(b->context, twin(), &b->error), ACCEL_OK);
    assert_int_equal(find(b, "twin:first")->duplicate_of, 0);
}

/* Two drivers for the processors are two ways to use them, and parts of one device are devices. */
static void others_are_no_duplicates(void **state)
{
    struct bench *b = *state;
    direct.fact_count = 2;
    b->facts[0].hardware = (int32_t)last_hardware(b);
    b->facts[1].hardware = (int32_t)last_hardware(b);
    assert_int_equal(accel_context_attach_driver(b->context, &direct_driver, &b->error), ACCEL_OK);
    direct.fact_count = 1;
    b->facts[0].hardware = 0;
    assert_int_equal(accel_context_attach_driver(b->context, twin(), &b->error), ACCEL_OK);
    assert_int_equal(accel_device_count(b->context), 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(accel_device_get(b->context, i)->duplicate_of, -1);
}

/* More memory does not make a device better; its kind does, as the profile says. */
static void the_profile_ranks(void **state)
{
    struct bench *b = *state;
    struct accel_heap huge = direct_facts()->heaps[0];
    const char *folder = getenv("ACCEL_PROFILE_PATH");
    direct.fact_count = 3;
    huge.bytes = UINT64_C(1) << 50;
    b->facts[0].heaps = &huge;
    b->facts[1].kind = ACCEL_DEVICE_GPU;
    b->facts[2].kind = ACCEL_DEVICE_GPU;
    b->facts[2].flags = ACCEL_DEVICE_SOFTWARE;
    if (folder == NULL)
        skip();
    assert_int_equal(accel_context_attach_driver(b->context, &direct_driver, &b->error), ACCEL_OK);
    assert_string_equal(accel_device_get(b->context, 0)->name, "direct:second");
    assert_string_equal(accel_device_get(b->context, 1)->name, "direct:first");
    assert_non_null(strstr(accel_device_get(b->context, 0)->rank_reason, "base.yaml:"));
    assert_ptr_equal(accel_context_find(b->context, "direct")->info.name, accel_device_get(b->context, 0)->name);
}

static void unclaimed_hardware_has_a_verdict(void **state)
{
    struct bench *b = *state;
    const struct accel_verdict *verdict = NULL;
    assert_int_equal(accel_context_attach_driver(b->context, &direct_driver, &b->error), ACCEL_OK);
    for (uint32_t i = 0; i < accel_verdict_count(b->context); i++)
        if (accel_verdict_get(b->context, i)->hardware == (int32_t)last_hardware(b))
            verdict = accel_verdict_get(b->context, i);
    assert_non_null(verdict);
    assert_string_equal(verdict->driver, "");
    assert_string_equal(verdict->subject, "Example GPU (0000:65:00.0)");
    assert_true(verdict->remedy[0] != '\0');
    b->facts[0].hardware = (int32_t)last_hardware(b);
    assert_int_equal(accel_context_attach_driver(b->context, twin(), &b->error), ACCEL_OK);
    for (uint32_t i = 0; i < accel_verdict_count(b->context); i++)
        assert_int_not_equal(accel_verdict_get(b->context, i)->hardware, (int32_t)last_hardware(b));
    assert_null(accel_verdict_get(b->context, accel_verdict_count(b->context)));
}

/* A driver that breaks a rule in the middle leaves nothing behind, and the others stay. */
static void a_bad_driver_leaves_nothing(void **state)
{
    struct bench *b = *state;
    struct accel_error error = {0};
    assert_int_equal(accel_context_attach_driver(b->context, &direct_driver, &b->error), ACCEL_OK);
    direct.fact_count = 2;
    b->facts[1].kind = 99;
    assert_int_equal(accel_context_attach_driver(b->context, twin(), &error), ACCEL_E_INVALID);
    assert_non_null(strstr(error.text, "kind 99"));
    b->facts[1] = b->facts[0];
    memset(&error, 0, sizeof(error));
    assert_int_equal(accel_context_attach_driver(b->context, twin(), &error), ACCEL_E_INVALID);
    assert_non_null(strstr(error.text, "two devices"));
    direct.attach_code = ACCEL_E_NOT_FOUND;
    memset(&error, 0, sizeof(error));
    assert_int_equal(accel_context_attach_driver(b->context, twin(), &error), ACCEL_E_NOT_FOUND);
    assert_int_equal(accel_device_count(b->context), 1);
    assert_int_equal(direct.alive, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(duplicates_have_one_uuid, setup, teardown),
        cmocka_unit_test_setup_teardown(duplicates_have_one_address, setup, teardown),
        cmocka_unit_test_setup_teardown(others_are_no_duplicates, setup, teardown),
        cmocka_unit_test_setup_teardown(the_profile_ranks, setup, teardown),
        cmocka_unit_test_setup_teardown(unclaimed_hardware_has_a_verdict, setup, teardown),
        cmocka_unit_test_setup_teardown(a_bad_driver_leaves_nothing, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
