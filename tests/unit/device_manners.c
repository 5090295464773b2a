/* SPDX-License-Identifier: Apache-2.0 */
/* What a driver changes in its caller is put back and told, slot by slot; what it does not give back is told too. */
#include "config.h"

#include <fenv.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/float_mode.h"
#include "core/base/surroundings.h"
#include "core/device/memory.h"
#include "tests/mock/direct.h"
#include "tests/unit/device_support.h"

static const char *const slots[] = {"attach", "enumerate", "open", "compile", "close", "detach"};

#define SLOT_COUNT (sizeof(slots) / sizeof(slots[0]))
#define TOLD_SLOTS 2u /* the first ones are called while the context discovers: there is a verdict too */

/* One way to sin. */
struct sin {
    const char *word; /* by which it is told */
    void (*commit)(void);
    void (*undo)(void); /* NULL: the core puts it back */
};

static const struct sin *sin_now;
static const char *bad_slot;
static char log_text[65536];
static locale_t own_locale;

static void misbehave(const char *slot)
{
    if (bad_slot != NULL && strcmp(slot, bad_slot) == 0)
        sin_now->commit();
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

static void handle(int number)
{
    (void)number;
}

static void handle_a_signal(void)
{
    signal(SIGUSR1, handle);
}

static void change_flags(void)
{
    struct sigaction action;
    sigaction(SIGCHLD, NULL, &action);
    action.sa_flags ^= SA_NOCLDSTOP;
    sigaction(SIGCHLD, &action, NULL);
}

static void stay_here(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof(set), &set);
}

static void set_locale(void)
{
    setlocale(LC_ALL, "C.UTF-8");
}

static void use_locale(void)
{
    uselocale(own_locale);
}

static void leave(void)
{
    if (chdir("/") != 0)
        fail_msg("there is no /");
}

static void allow_everything(void)
{
    umask(0);
}

static void set_a_variable(void)
{
    setenv("ACCEL_TEST_MANNERS", "spoiled", 1);
}

static void unset_the_variable(void)
{
    unsetenv("ACCEL_TEST_MANNERS");
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

static void commit_in(const struct sin *sin, uint32_t slot)
{
    struct accel_surroundings before;
    struct accel_error error = {0};
    char wanted[160];
    struct accel_context *context = discover();
    accel_surroundings_take(&before, NULL);
    direct.on_slot = misbehave;
    sin_now = sin;
    bad_slot = slots[slot];
    use(context);
    accel_registry_forget(context);
    bad_slot = NULL;
    if (sin->undo != NULL)
        sin->undo();
    assert_int_equal(accel_surroundings_restore(&before), 0);
    snprintf(wanted, sizeof(wanted), "driver=direct slot=%s changed=\"%s\" restored=%d", slots[slot], sin->word,
             sin->undo == NULL);
    if (strstr(log_text, wanted) == NULL)
        fail_msg("the log has no %s: %s", wanted, log_text);
    assert_int_equal(accel_context_free(context, &error), ACCEL_OK);
    direct_reset();
}

static void in_every_slot(void **state)
{
    for (uint32_t slot = 0; slot < SLOT_COUNT; slot++)
        commit_in(*state, slot);
}

/* Forgotten with its driver, a verdict has to be looked at before. */
static void a_verdict_tells_it(void **state)
{
    for (uint32_t slot = 0; slot < 4; slot++) {
        struct accel_error error = {0};
        struct accel_context *context = discover();
        direct.on_slot = misbehave;
        sin_now = *state;
        bad_slot = slots[slot];
        use(context);
        bad_slot = NULL;
        assert_int_equal(told(context, slots[slot], sin_now->word), slot < TOLD_SLOTS);
        assert_int_equal(told(context, slots[slot], sin_now->undo == NULL ? "put back" : "stays so"),
                         slot < TOLD_SLOTS);
        if (sin_now->undo != NULL)
            sin_now->undo();
        assert_int_equal(accel_context_free(context, &error), ACCEL_OK);
        direct_reset();
    }
}

static void on_two_processors(void **state)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    if (CPU_COUNT(&set) < 2)
        skip();
    in_every_slot(state);
}

static void with_a_locale(void **state)
{
    setlocale(LC_ALL, "C");
    if (own_locale == (locale_t)0)
        skip();
    in_every_slot(state);
}

/* A note may say that the vendor's code sets handlers: these are left alone then, and nothing else is. */
static void handlers_may_be_announced(void **state)
{
    struct accel_surroundings before;
    struct sigaction action;
    (void)state;
    accel_surroundings_take(&before, "prints signals");
    handle_a_signal();
    block_a_signal();
    assert_int_equal(accel_surroundings_restore(&before), ACCEL_CHANGED_SIGNALS);
    sigaction(SIGUSR1, NULL, &action);
    assert_true(action.sa_handler == handle);
    accel_surroundings_take(&before, "prints threads");
    signal(SIGUSR1, SIG_DFL);
    assert_int_equal(accel_surroundings_restore(&before), ACCEL_CHANGED_ACTIONS);
    sigaction(SIGUSR1, NULL, &action);
    assert_true(action.sa_handler == handle);
    signal(SIGUSR1, SIG_DFL);
}

/* All at once: each is told. */
static void everything_is_told(void **state)
{
    char text[ACCEL_CHANGED_TEXT];
    uint32_t all = 2 * ACCEL_CHANGED_ENVIRONMENT - 1;
    (void)state;
    accel_surroundings_text(all, text);
    assert_string_equal(text, "floating-point mode, blocked signals, processors, locale, signal actions, "
                              "working directory, file mode mask, environment");
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
    assert_int_equal(accel_memory_take(&memory, ACCEL_MEMORY_HOST, 400, 64, &block, NULL), ACCEL_OK);
    assert_int_equal(accel_memory_count(&memory, ACCEL_MEMORY_WEIGHTS, -600, NULL), ACCEL_OK);
    assert_int_equal(accel_memory_count(&memory, ACCEL_MEMORY_WEIGHTS, 601, NULL), ACCEL_E_MEMORY);
    assert_int_equal(accel_memory_give(&memory, block), 400);
    assert_int_equal(memory.now[0], 0);
}

#define ROW(text, function) (&(struct sin){.word = (text), .commit = (function)})

int main(void)
{
    struct sin variable = {"environment", set_a_variable, unset_the_variable};
    const struct CMUnitTest tests[] = {
        {"flush to zero", in_every_slot, NULL, NULL, ROW("floating-point mode", flush_to_zero)},
        {"rounding", in_every_slot, NULL, NULL, ROW("floating-point mode", round_upwards)},
        {"a signal blocked", in_every_slot, NULL, NULL, ROW("blocked signals", block_a_signal)},
        {"a signal unblocked", in_every_slot, NULL, NULL, ROW("blocked signals", unblock_a_signal)},
        {"a handler", in_every_slot, NULL, NULL, ROW("signal actions", handle_a_signal)},
        {"flags of a signal", in_every_slot, NULL, NULL, ROW("signal actions", change_flags)},
        {"processors", on_two_processors, NULL, NULL, ROW("processors", stay_here)},
        {"the locale", with_a_locale, NULL, NULL, ROW("locale", set_locale)},
        {"the locale of the thread", with_a_locale, NULL, NULL, ROW("locale", use_locale)},
        {"the working directory", in_every_slot, NULL, NULL, ROW("working directory", leave)},
        {"the file mode mask", in_every_slot, NULL, NULL, ROW("file mode mask", allow_everything)},
        {"a variable", in_every_slot, NULL, NULL, &variable},
        {"a verdict", a_verdict_tells_it, NULL, NULL, ROW("file mode mask", allow_everything)},
        {"a verdict of what stays", a_verdict_tells_it, NULL, NULL, &variable},
        cmocka_unit_test(handlers_may_be_announced),
        cmocka_unit_test(everything_is_told),
        cmocka_unit_test(nothing_is_told_of_a_good_driver),
        cmocka_unit_test(what_detach_leaves_is_told),
        cmocka_unit_test(told_bytes_stand_under_the_budget),
    };
    int failed;
    own_locale = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
    change_mask(SIG_BLOCK, SIGWINCH);
    failed = cmocka_run_group_tests_name("device_manners", tests, NULL, NULL);
    if (own_locale != (locale_t)0)
        freelocale(own_locale);
    return failed;
}
