/* SPDX-License-Identifier: Apache-2.0 */
/* What a driver changes in its caller is put back and told, slot by slot; what it does not give back is told too. */
#include "config.h"

#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>

#include "core/base/float_mode.h"
#include "core/base/surroundings.h"
#include "tests/mock/direct.h"
#include "tests/unit/device_support.h"

static const char *const slots[] = {"attach", "enumerate", "open", "compile"};

#define SLOT_COUNT (sizeof(slots) / sizeof(slots[0]))

/* Which slot sins, and how: a bit of ACCEL_CHANGED_... */
static const char *bad_slot;
static uint32_t bad_way;
static char log_text[65536];

static void misbehave(const char *slot)
{
    if (bad_slot == NULL || strcmp(slot, bad_slot) != 0)
        return;
    if (bad_way == ACCEL_CHANGED_FLOAT) {
        accel_float_mode_set(accel_float_mode_get() ^ 0x8000u); /* flush to zero */
    } else if (bad_way == ACCEL_CHANGED_SIGNALS) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR2);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    } else if (bad_way == ACCEL_CHANGED_PROCESSORS) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(sched_getcpu(), &set);
        sched_setaffinity(0, sizeof(set), &set);
    } else if (bad_way == ACCEL_CHANGED_LOCALE) {
        setlocale(LC_ALL, "C.UTF-8");
    }
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

/* Number of verdicts of the driver that say that it changed something in `slot`. */
static uint32_t told(const struct accel_context *context, const char *slot, const char *word)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < accel_verdict_count(context); i++) {
        const struct accel_verdict *verdict = accel_verdict_get(context, i);
        if (strcmp(verdict->driver, "direct") == 0 && strstr(verdict->text, slot) != NULL &&
            strstr(verdict->text, word) != NULL && verdict->code == ACCEL_E_INVALID)
            found++;
    }
    return found;
}

static void one_way(uint32_t way, const char *word)
{
    struct accel_error error = {0};
    for (size_t i = 0; i < SLOT_COUNT; i++) {
        struct accel_surroundings before;
        char wanted[160];
        struct accel_context *context = discover();
        accel_surroundings_take(&before);
        direct.on_slot = misbehave;
        bad_slot = slots[i];
        bad_way = way;
        use(context);
        bad_slot = NULL;
        assert_int_equal(accel_surroundings_restore(&before), 0);
        snprintf(wanted, sizeof(wanted), "driver=direct slot=%s changed=\"%s\" restored=1", slots[i], word);
        if (strstr(log_text, wanted) == NULL)
            fail_msg("the log has no %s: %s", wanted, log_text);
        assert_int_equal(told(context, slots[i], word), i < 2);
        assert_int_equal(accel_context_free(context, &error), ACCEL_OK);
        direct_reset();
    }
}

static void a_floating_point_mode(void **state)
{
    (void)state;
    one_way(ACCEL_CHANGED_FLOAT, "floating-point mode");
}

static void blocked_signals(void **state)
{
    (void)state;
    one_way(ACCEL_CHANGED_SIGNALS, "blocked signals");
}

static void processors(void **state)
{
    cpu_set_t set;
    (void)state;
    CPU_ZERO(&set);
    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    if (CPU_COUNT(&set) < 2)
        skip();
    one_way(ACCEL_CHANGED_PROCESSORS, "processors");
}

static void a_locale(void **state)
{
    (void)state;
    setlocale(LC_ALL, "C");
    if (setlocale(LC_ALL, "C.UTF-8") == NULL)
        skip();
    setlocale(LC_ALL, "C");
    one_way(ACCEL_CHANGED_LOCALE, "locale");
}

static void nothing_is_told_of_a_good_driver(void **state)
{
    struct accel_context *context = discover();
    struct accel_error error = {0};
    (void)state;
    use(context);
    assert_null(strstr(log_text, "changed="));
    assert_int_equal(told(context, "", "changed"), 0);
    assert_int_equal(accel_context_free(context, &error), ACCEL_OK);
    assert_null(strstr(log_text, "leaked"));
}

/* ---- memory that stays behind ---- */

static const struct accel_host *seen_host;
static void *kept;

static int32_t ACCEL_CALL attach_and_keep(const struct accel_host *host, uint32_t minor,
                                          struct accel_driver_instance **out_instance, struct accel_error *error)
{
    seen_host = host;
    assert_int_equal(host->allocate(host, ACCEL_MEMORY_HOST, 100, 64, &kept, error), ACCEL_OK);
    return direct_driver.attach(host, minor, out_instance, error);
}

static void what_detach_leaves_is_told(void **state)
{
    struct accel_driver leaking = direct_driver;
    struct accel_context *context = discover();
    struct accel_error error = {0};
    (void)state;
    leaking.attach = attach_and_keep;
    assert_int_equal(accel_context_attach_driver(context, &leaking, &error), ACCEL_OK);
    accel_registry_forget(context);
    assert_non_null(strstr(log_text, "driver=direct leaked_blocks=1 leaked_bytes=100"));
    seen_host->release(seen_host, kept);
    assert_int_equal(accel_context_free(context, &error), ACCEL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_floating_point_mode),
        cmocka_unit_test(blocked_signals),
        cmocka_unit_test(processors),
        cmocka_unit_test(a_locale),
        cmocka_unit_test(nothing_is_told_of_a_good_driver),
        cmocka_unit_test(what_detach_leaves_is_told),
    };
    return cmocka_run_group_tests_name("device_manners", tests, NULL, NULL);
}
