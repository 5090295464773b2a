/* SPDX-License-Identifier: Apache-2.0 */
/* The floating-point mode and the signal mask of the calling thread are restored after each slot, and the log reports
 * the change; what a driver does not give back is reported, too. */
#include "config.h"

#include <fenv.h>
#include <signal.h>
#include <stdio.h>

#include "core/base/caller_state.h"
#include "core/boundary/memory.h"
#include "core/registry/registry.h"
#include "tests/mock/direct.h"
#include "tests/unit/device_support.h"

static const char *const slots[] = {"attach", "enumerate", "open", "compile", "close", "detach"};

#define SLOT_COUNT (sizeof(slots) / sizeof(slots[0]))

/* A change of the calling thread, and the word of the log for it. */
struct change {
    const char *word;
    void (*make)(void);
};

static const struct change *change_now;
static const char *bad_slot;
static char log_text[65536];

static void misbehave(const char *slot)
{
    if (bad_slot != NULL && strcmp(slot, bad_slot) == 0)
        change_now->make();
}

static void change_mask(int how, int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(how, &set, NULL);
}

static void flush_to_zero(void)
{
    accel_float_mode_set(accel_float_mode_get() ^ 0x8000u);
}

static void round_upwards(void)
{
    fesetround(FE_UPWARD);
}

static void block_a_signal(void)
{
    change_mask(SIG_BLOCK, SIGUSR2);
}

static void unblock_a_signal(void)
{
    change_mask(SIG_UNBLOCK, SIGWINCH); /* which main blocks */
}

static void take_log(void *user, uint32_t level, const char *text)
{
    (void)user;
    if (level <= ACCEL_LOG_WARN && strlen(log_text) + strlen(text) + 2 < sizeof(log_text))
        strcat(strcat(log_text, text), "\n");
}

static struct accel_context *discover(void)
{
    struct accel_context_options options = {.size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS};
    struct accel_context *context = NULL;
    struct accel_error error = {0};
    options.log = take_log;
    options.log_level = ACCEL_LOG_WARN;
    log_text[0] = '\0';
    assert_int_equal(accel_context_create(&options, &context, &error), ACCEL_OK);
    assert_int_equal(accel_context_discover(context, &error), ACCEL_OK);
    return context;
}

/* Attaches, opens and compiles, so that each slot has been called. */
static void use(struct accel_context *context)
{
    struct accel_device *device = NULL;
    struct accel_module *module = NULL;
    struct accel_error error = {0};
    struct sum_graph sum;
    if (accel_context_attach_driver(context, &direct_driver, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    assert_int_equal(accel_device_open(context, "direct", NULL, 0, &device, &error), ACCEL_OK);
    sum_graph_make(&sum);
    assert_int_equal(accel_module_create(device, &sum.graph, 1, NULL, NULL, NULL, &module, &error), ACCEL_OK);
    accel_module_free(module);
    accel_device_free(device);
    accel_builder_free(sum.builder);
}

static void make_in(const struct change *change, uint32_t slot)
{
    struct accel_caller_state before;
    struct accel_error error = {0};
    char wanted[160];
    struct accel_context *context = discover();
    accel_caller_state_save(&before);
    direct.on_slot = misbehave;
    change_now = change;
    bad_slot = slots[slot];
    use(context);
    accel_registry_forget(context);
    bad_slot = NULL;
    assert_null(accel_caller_state_restore(&before));
    snprintf(wanted, sizeof(wanted), "driver=direct slot=%s changed=\"%s\" restored=1", slots[slot], change->word);
    if (strstr(log_text, wanted) == NULL)
        fail_msg("the log has no %s: %s", wanted, log_text);
    assert_int_equal(accel_context_free(context, &error), ACCEL_OK);
    direct_reset();
}

static void in_every_slot(void **state)
{
    for (uint32_t slot = 0; slot < SLOT_COUNT; slot++)
        make_in(*state, slot);
}

static void nothing_is_told_of_a_good_driver(void **state)
{
    struct accel_context *context = discover();
    struct accel_error error = {0};
    (void)state;
    use(context);
    assert_null(strstr(log_text, "changed="));
    assert_int_equal(accel_context_free(context, &error), ACCEL_OK);
    assert_null(strstr(log_text, "leaked"));
}

/* ---- which call is in progress ---- */

static char calls[4096];

static void ACCEL_CALL note_call(void *data, const char *driver, const char *slot)
{
    size_t length = strlen(calls);
    assert_ptr_equal(data, calls);
    snprintf(calls + length, sizeof(calls) - length, "%s %s;", driver == NULL ? "-" : driver,
             slot == NULL ? "-" : slot);
}

/* The application learns of each call before it is made, and of its end. */
static void calls_are_reported(void **state)
{
    static const char *const wanted[] = {"direct attach;- -;direct enumerate;- -;direct open;- -;",
                                         "direct compile;- -;direct free of a module;- -;direct close;- -;",
                                         "direct detach;- -;"};
    struct accel_context_options options = {.size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS};
    struct accel_context *context = NULL;
    struct accel_error error = {0};
    (void)state;
    options.calling = note_call;
    options.calling_data = calls;
    assert_int_equal(accel_context_create(&options, &context, &error), ACCEL_OK);
    assert_int_equal(accel_context_discover(context, &error), ACCEL_OK);
    use(context);
    assert_int_equal(accel_context_free(context, &error), ACCEL_OK);
    for (uint32_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (strstr(calls, wanted[i]) == NULL)
            fail_msg("no %s in %s", wanted[i], calls);
}

/* ---- memory that stays behind ---- */

static const struct accel_host *seen_host;
static void *kept;

static int32_t ACCEL_CALL attach_and_keep(const struct accel_host *host, uint32_t minor,
                                          struct accel_driver_instance **out_instance, struct accel_error *error)
{
    seen_host = host;
    assert_int_equal(host->allocate(host, ACCEL_MEMORY_HOST, 100, 64, &kept, error), ACCEL_OK);
    assert_int_equal(host->account(host, ACCEL_MEMORY_STATE, 70, error), ACCEL_OK);
    assert_int_equal(host->account(host, ACCEL_MEMORY_STATE, -71, NULL), ACCEL_E_INVALID);
    assert_int_equal(host->account(host, ACCEL_MEMORY_END, 1, NULL), ACCEL_E_INVALID);
    assert_int_equal(host->account(host, ACCEL_MEMORY_STATE, 0, NULL), ACCEL_E_INVALID);
    return direct_driver.attach(host, minor, out_instance, error);
}

static void what_detach_leaves_is_told(void **state)
{
    struct accel_driver leaking = direct_driver;
    uint64_t now = 0, peak = 0;
    struct accel_context *context = discover();
    struct accel_error error = {0};
    (void)state;
    leaking.attach = attach_and_keep;
    assert_int_equal(accel_context_attach_driver(context, &leaking, &error), ACCEL_OK);
    accel_registry_forget(context);
    assert_non_null(strstr(log_text, "driver=direct leaked_blocks=1 leaked_bytes=100"));
    assert_non_null(strstr(log_text, "driver=direct leaked_class=3 leaked_bytes=70"));
    assert_int_equal(accel_memory_usage(context, ACCEL_MEMORY_STATE, &now, &peak), ACCEL_OK);
    assert_int_equal(now, 70);
    assert_int_equal(seen_host->account(seen_host, ACCEL_MEMORY_STATE, -70, NULL), ACCEL_OK);
    assert_int_equal(accel_memory_usage(context, ACCEL_MEMORY_STATE, &now, &peak), ACCEL_OK);
    assert_int_equal(now, 0);
    assert_int_equal(peak, 70);
    seen_host->release(seen_host, kept);
    assert_int_equal(accel_context_free(context, &error), ACCEL_OK);
}

/* Memory that is told of and memory that is taken stand under one budget. */
static void told_bytes_stand_under_the_budget(void **state)
{
    struct accel_memory memory;
    struct accel_error error = {0};
    void *block = NULL;
    (void)state;
    accel_memory_init(&memory, 1000);
    assert_int_equal(accel_memory_count(&memory, ACCEL_MEMORY_WEIGHTS, 600, &error), ACCEL_OK);
    assert_int_equal(accel_memory_count(&memory, ACCEL_MEMORY_SCRATCH, 401, &error), ACCEL_E_MEMORY);
    assert_string_equal(error.text, "no memory for 401 bytes: 600 of the memory budget of 1000 are held");
    assert_int_equal(error.asked, 401);
    assert_int_equal(error.free, 400);
    assert_int_equal(accel_memory_allocate(&memory, ACCEL_MEMORY_HOST, 400, 64, &block, NULL), ACCEL_OK);
    assert_int_equal(accel_memory_count(&memory, ACCEL_MEMORY_WEIGHTS, -600, NULL), ACCEL_OK);
    assert_int_equal(accel_memory_count(&memory, ACCEL_MEMORY_WEIGHTS, 601, NULL), ACCEL_E_MEMORY);
    assert_int_equal(accel_memory_free(&memory, block), 400);
    assert_int_equal(memory.now[0], 0);
}

#define ROW(text, function) (&(struct change){.word = (text), .make = (function)})

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"flush to zero", in_every_slot, NULL, NULL, ROW("floating-point mode", flush_to_zero)},
        {"rounding", in_every_slot, NULL, NULL, ROW("floating-point mode", round_upwards)},
        {"a signal blocked", in_every_slot, NULL, NULL, ROW("blocked signals", block_a_signal)},
        {"a signal unblocked", in_every_slot, NULL, NULL, ROW("blocked signals", unblock_a_signal)},
        cmocka_unit_test(nothing_is_told_of_a_good_driver),
        cmocka_unit_test(calls_are_reported),
        cmocka_unit_test(what_detach_leaves_is_told),
        cmocka_unit_test(told_bytes_stand_under_the_budget),
    };
    change_mask(SIG_BLOCK, SIGWINCH);
    return cmocka_run_group_tests_name("device_manners", tests, NULL, NULL);
}
