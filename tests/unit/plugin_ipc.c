/* SPDX-License-Identifier: Apache-2.0 */
/* What a probe's child says, the child itself, and what is taken in from a driver. */
#include "config.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/plugin/cache.h"
#include "core/plugin/child.h"
#include "core/plugin/import_driver.h"
#include "core/plugin/ipc.h"
#include "tools/accel-probe/messages.h"

/* ---- records ---- */

static void an_answer_comes_back(void **state)
{
    struct accel_error failure = {.code = ACCEL_E_ABI, .native = 7, .text = "two\nlines", .remedy = "mend it"};
    struct accel_strbuf out = {0};
    struct accel_arena arena = {0};
    struct accel_ipc_answer answer;
    (void)state;
    put_version(&out);
    put_stage(&out, "load");
    put_stage(&out, "query");
    put_failure(&out, &failure);
    assert_int_equal(accel_ipc_read(out.text, out.length, &arena, &answer, NULL), ACCEL_OK);
    assert_string_equal(answer.stage, "query");
    assert_true(answer.failed && !answer.done);
    assert_int_equal(answer.code, ACCEL_E_ABI);
    assert_int_equal(answer.native, 7);
    assert_string_equal(answer.text, "two?lines");
    assert_string_equal(answer.remedy, "mend it");
    put_done(&out, 3);
    assert_int_equal(accel_ipc_read(out.text, out.length, &arena, &answer, NULL), ACCEL_OK);
    assert_true(answer.done);
    assert_int_equal(answer.devices, 3);
    accel_arena_free(&arena);
    accel_strbuf_free(&out);
}

static void a_malformed_answer_is_refused(void **state)
{
    struct accel_strbuf out = {0};
    struct accel_arena arena = {0};
    struct accel_ipc_answer answer;
    size_t first, second;
    uint32_t large[] = {ACCEL_IPC_STAGE, 0x7fffffff};
    (void)state;
    put_version(&out);
    first = out.length;
    put_stage(&out, "load");
    second = out.length;
    for (size_t length = 1; length < out.length; length++) {
        char *copy = malloc(length);
        memcpy(copy, out.text, length);
        assert_int_equal(accel_ipc_read(copy, length, &arena, &answer, NULL),
                         length == first ? ACCEL_OK : ACCEL_E_CORRUPT);
        free(copy);
    }
    /* Without a version, with an unknown tag, with a text without an end, with a length past the end. */
    assert_int_equal(accel_ipc_read(out.text + first, second - first, &arena, &answer, NULL), ACCEL_E_CORRUPT);
    accel_ipc_put(&out, 99, "", 0);
    assert_int_equal(accel_ipc_read(out.text, out.length, &arena, &answer, NULL), ACCEL_E_CORRUPT);
    assert_string_equal(answer.stage, "load");
    out.length = second;
    accel_ipc_put(&out, ACCEL_IPC_STAGE, "abc", 3);
    assert_int_equal(accel_ipc_read(out.text, out.length, &arena, &answer, NULL), ACCEL_E_CORRUPT);
    out.length = second;
    accel_strbuf_append(&out, (const char *)large, sizeof(large));
    assert_int_equal(accel_ipc_read(out.text, out.length, &arena, &answer, NULL), ACCEL_E_CORRUPT);
    out.text[sizeof(struct accel_ipc_head)] ^= 1;
    assert_int_equal(accel_ipc_read(out.text, out.length, &arena, &answer, NULL), ACCEL_E_ABI);
    accel_arena_free(&arena);
    accel_strbuf_free(&out);
}

static void hardware_crosses_whole(void **state)
{
    static const char *const files[] = {"renderD128", "card0"};
    const struct accel_hardware gpu = {.size = sizeof(gpu),
                                       .kind = ACCEL_HARDWARE_PCI,
                                       .bus = 0x65,
                                       .vendor = 0x1002,
                                       .numa_node = -1,
                                       .name = "a card",
                                       .compatible = "",
                                       .files = files,
                                       .file_count = 2,
                                       .cpu_set = ""};
    const struct accel_hardware cpu = {.size = sizeof(cpu),
                                       .kind = ACCEL_HARDWARE_CPU,
                                       .name = "a processor",
                                       .compatible = "",
                                       .threads = 8,
                                       .memory = 1ull << 40,
                                       .cpu_set = "0-7"};
    const struct accel_hardware *const *list = NULL;
    struct accel_strbuf out = {0};
    struct accel_arena arena = {0};
    uint32_t count = 0;
    (void)state;
    accel_ipc_put_hardware(&out, &gpu);
    accel_ipc_put_hardware(&out, &cpu);
    assert_int_equal(parse_hardware(out.text, out.length, &arena, &list, &count, NULL), ACCEL_OK);
    assert_int_equal(count, 2);
    assert_int_equal(list[0]->bus, 0x65);
    assert_int_equal(list[0]->numa_node, -1);
    assert_string_equal(list[0]->files[1], "card0");
    assert_string_equal(list[1]->name, "a processor");
    assert_string_equal(list[1]->cpu_set, "0-7");
    assert_int_equal(list[1]->memory, 1ull << 40);
    for (size_t length = 1; length < out.length; length++)
        if (parse_hardware(out.text, length, &arena, &list, &count, NULL) == ACCEL_OK)
            assert_int_equal(count, 1);
    accel_arena_free(&arena);
    accel_strbuf_free(&out);
}

/* ---- children ---- */

/* For what ends by itself, on the busiest machine too. */
enum { PATIENCE_MS = 300000 };

static struct accel_child_end *run_shell(const char *script, const char *input, uint32_t milliseconds)
{
    char *arguments[] = {(char *)"/bin/sh", (char *)"-c", (char *)script, NULL};
    struct accel_child_job job = {.program = "/bin/sh",
                                  .arguments = arguments,
                                  .input = input,
                                  .input_bytes = strlen(input),
                                  .milliseconds = milliseconds};
    struct accel_child_end *end = malloc(sizeof(*end));
    struct accel_error error = {0};
    assert_non_null(end);
    assert_int_equal(accel_child_run(&job, end, &error), ACCEL_OK);
    return end;
}

static void a_list_of_devices_crosses_whole(void **state)
{
    static const struct accel_heap heaps[] = {{7, ACCEL_HEAP_DEVICE, 0, 64, "VRAM"}, {0, ACCEL_HEAP_HOST, 0, 1, ""}};
    static const struct accel_limits limits = {1, 2, 3, 4, 5, 6, 7};
    static const uint32_t types[] = {ACCEL_F32, ACCEL_F16};
    const struct accel_facts facts = {.size = sizeof(facts),
                                      .kind = ACCEL_DEVICE_GPU,
                                      .flags = ACCEL_DEVICE_UNIFIED,
                                      .hardware = -1,
                                      .id = "0000:65:00.0",
                                      .name = "a card",
                                      .detail = "cores=3",
                                      .uuid = {1, 2, 3},
                                      .generation = 9,
                                      .heap_count = 2,
                                      .heaps = heaps,
                                      .limits = &limits,
                                      .types = types,
                                      .type_count = 2};
    const struct accel_verdict verdict = {.code = ACCEL_E_DENIED, .hardware = 4, .text = "no", .remedy = NULL};
    struct accel_strbuf out = {0}, again = {0};
    struct accel_arena arena = {0};
    struct accel_ipc_list list;
    size_t first;
    (void)state;
    accel_ipc_put_device(&out, &facts);
    first = out.length;
    put_verdict(&out, &verdict);
    assert_int_equal(accel_ipc_read_list(out.text, out.length, &arena, &list, NULL), ACCEL_OK);
    assert_true(list.fact_count == 1 && list.verdict_count == 1);
    accel_ipc_put_device(&again, list.facts[0]);
    put_verdict(&again, &list.verdicts[0]);
    assert_int_equal(again.length, out.length);
    assert_memory_equal(again.text, out.text, out.length);
    assert_string_equal(list.facts[0]->heaps[0].name, "VRAM");
    assert_int_equal(list.facts[0]->limits->in_flight, 7);
    assert_int_equal(list.verdicts[0].code, ACCEL_E_DENIED);
    for (size_t length = 1; length < out.length; length++)
        assert_int_equal(accel_ipc_read_list(out.text, length, &arena, &list, NULL),
                         length == first ? ACCEL_OK : ACCEL_E_CORRUPT);
    /* Counts past the record: its heaps, its types. */
    for (size_t at = 12; at < 20; at += 4) {
        out.text[sizeof(struct accel_ipc_head) + at + 3] = 0x7f;
        assert_int_equal(accel_ipc_read_list(out.text, first, &arena, &list, NULL), ACCEL_E_CORRUPT);
        out.text[sizeof(struct accel_ipc_head) + at + 3] = 0;
    }
    accel_arena_free(&arena);
    accel_strbuf_free(&out);
    accel_strbuf_free(&again);
}

static void a_child_is_heard(void **state)
{
    struct accel_child_end *end = run_shell("cat; echo bad >&2; echo good >&3; exit 3", "in and out", PATIENCE_MS);
    (void)state;
    assert_false(end->timed_out);
    assert_int_equal(end->status, 3);
    assert_int_equal(end->signal, 0);
    assert_string_equal(end->output.data, "in and out");
    assert_string_equal(end->complaints.data, "bad\n");
    assert_int_equal(end->answer_bytes, 5);
    assert_memory_equal(end->answer, "good\n", 5);
    free(end);
    end = run_shell("kill -ABRT $$", "", PATIENCE_MS);
    assert_int_equal(end->signal, SIGABRT);
    free(end);
}

static void what_a_child_says_is_bounded(void **state)
{
    struct accel_child_end *end =
        run_shell("i=0; while [ $i -lt 3000 ]; do echo line $i >&2; echo 0123456789012345678901234567890 >&3; "
                  "i=$((i+1)); done; echo the end >&2",
                  "", PATIENCE_MS);
    (void)state;
    assert_int_equal(end->complaints.bytes, ACCEL_CHILD_TAIL);
    assert_true(end->complaints.total > 20000);
    assert_string_equal(end->complaints.data + ACCEL_CHILD_TAIL - 18, "line 2999\nthe end\n");
    assert_true(end->too_much);
    free(end);
}

/* What the child started dies with its group, though it holds the pipes open: else the test itself would be ended. */
static void a_deadline_holds(void **state)
{
    struct accel_child_end *end = run_shell("sleep 1000 & sleep 1000", "", 100);
    (void)state;
    assert_true(end->timed_out);
    assert_true(end->nanoseconds >= 100000000u);
    free(end);
    end = run_shell("sleep 1000 & exit 0", "", PATIENCE_MS);
    assert_false(end->timed_out);
    assert_int_equal(end->status, 0);
    free(end);
}

/* A deadline does not count the time in which other programs have the child's only processor. */
static void a_deadline_counts_no_time_without_a_processor(void **state)
{
    enum { OTHERS = 3, DEADLINE_MS = 200 };
    struct accel_child_end *end;
    cpu_set_t before, one;
    pid_t others[OTHERS];
    int32_t first = 0;
    (void)state;
    if (access("/proc/self/schedstat", R_OK) != 0)
        skip();
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    while (!CPU_ISSET(first, &before))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    for (int i = 0; i < OTHERS; i++) {
        others[i] = fork();
        if (others[i] == 0)
            for (;;)
                ;
    }
    end = run_shell("while :; do :; done", "", DEADLINE_MS);
    for (int i = 0; i < OTHERS; i++) {
        kill(others[i], SIGKILL);
        waitpid(others[i], NULL, 0);
    }
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
    assert_true(end->timed_out);
    assert_true(end->nanoseconds >= 2 * DEADLINE_MS * UINT64_C(1000000));
    free(end);
}

static void a_program_that_is_not_there_is_an_error(void **state)
{
    char *arguments[] = {(char *)"/nowhere/x", NULL};
    struct accel_child_job job = {.program = "/nowhere/x", .arguments = arguments, .input = "", .milliseconds = 100};
    struct accel_child_end *end = malloc(sizeof(*end));
    struct accel_error error = {0};
    (void)state;
    assert_int_equal(accel_child_run(&job, end, &error), ACCEL_E_NOT_FOUND);
    assert_non_null(strstr(error.text, "/nowhere/x"));
    free(end);
}

/* ---- the const part of a driver ---- */

static int32_t ACCEL_CALL attach(const struct accel_host *host, uint32_t minor,
                                 struct accel_driver_instance **out_instance, struct accel_error *error)
{
    (void)host;
    (void)minor;
    (void)out_instance;
    return accel_error_set(error, ACCEL_E_UNSUPPORTED, "never called");
}

static struct accel_driver good_driver(const struct accel_option *const *options, uint32_t count)
{
    return (struct accel_driver){.size = sizeof(struct accel_driver),
                                 .abi_major = ACCEL_ABI_MAJOR,
                                 .abi_minor = ACCEL_ABI_MINOR,
                                 .abi_lowest = ACCEL_ABI_MINOR,
                                 .option_count = count,
                                 .name = "a",
                                 .version = "1",
                                 .options = options,
                                 .attach = attach};
}

static void refuse_driver(const struct accel_driver *driver, int32_t code, const char *text)
{
    const struct accel_plugin_note note = {
        ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR, ACCEL_ABI_MINOR, 0, "a", "1", "", "", "", "", "", "none"};
    const struct accel_driver *copy = driver;
    struct accel_arena arena = {0};
    struct accel_error error = {0};
    assert_int_equal(accel_import_driver(driver, &note, &arena, &copy, &error), code);
    if (strstr(error.text, text) == NULL)
        print_message("%s: %s\n", text, error.text);
    assert_non_null(strstr(error.text, text));
    assert_int_equal(copy == NULL, code != ACCEL_OK);
    accel_arena_free(&arena);
}

static void drivers_are_checked(void **state)
{
    struct accel_option text = {.size = sizeof(text),
                                .type = ACCEL_OPTION_TEXT,
                                .name = "a.mode",
                                .help = "how",
                                .text = "fast",
                                .choices = "slow fast"};
    struct accel_option number = {
        .size = sizeof(number), .type = ACCEL_OPTION_INTEGER, .name = "a.n", .help = "", .integer = 5, .highest = 9};
    const struct accel_option *const options[] = {&text, &number};
    struct accel_driver driver = good_driver(options, 2);
    (void)state;
    refuse_driver(&driver, ACCEL_OK, "");
    refuse_driver(NULL, ACCEL_E_INVALID, "is NULL");
    text.text = "fas";
    refuse_driver(&driver, ACCEL_E_INVALID, "none of its choices");
    text.text = "fast";
    number.highest = 4;
    refuse_driver(&driver, ACCEL_E_INVALID, "outside of its range (5)");
    number.highest = 9;
    number.name = "a.mode";
    refuse_driver(&driver, ACCEL_E_INVALID, "a.mode is an option twice");
    number.name = "A";
    refuse_driver(&driver, ACCEL_E_INVALID, "not a lower-case word");
    number.name = "a.n";
    number.type = 77;
    refuse_driver(&driver, ACCEL_E_INVALID, "unknown type (77)");
    driver = good_driver(NULL, 1);
    refuse_driver(&driver, ACCEL_E_INVALID, "no table");
    driver = good_driver(NULL, 0);
    driver.attach = NULL;
    refuse_driver(&driver, ACCEL_E_INVALID, "no attach");
    driver = good_driver(NULL, 0);
    driver.name = "b";
    refuse_driver(&driver, ACCEL_E_INVALID, "its note has the name \"a\"");
    driver = good_driver(NULL, 0);
    driver.abi_major = 1;
    refuse_driver(&driver, ACCEL_E_ABI, "for the ABI 1.2");
    driver = good_driver(NULL, 0);
    driver.flags = 2;
    refuse_driver(&driver, ACCEL_E_INVALID, "unknown flags (2)");
}

/* ---- the cache in memory ---- */

static void the_oldest_result_goes_first(void **state)
{
    struct accel_cache *cache = calloc(1, sizeof(*cache));
    char paths[ACCEL_CACHE_ENTRIES + 1][8];
    (void)state;
    for (uint32_t i = 0; i <= ACCEL_CACHE_ENTRIES; i++) {
        struct accel_cache_entry entry = {.path = paths[i], .text = "", .remedy = "", .detail = ""};
        snprintf(paths[i], sizeof(paths[i]), "/%u", i);
        snprintf(entry.key, sizeof(entry.key), "%032u", i);
        accel_cache_put(cache, &entry);
    }
    assert_int_equal(cache->count, ACCEL_CACHE_ENTRIES);
    assert_null(accel_cache_find(cache, "00000000000000000000000000000000"));
    assert_non_null(accel_cache_find(cache, "00000000000000000000000000000001"));
    assert_non_null(accel_cache_find(cache, "00000000000000000000000000000256"));
    free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_comes_back),
        cmocka_unit_test(a_malformed_answer_is_refused),
        cmocka_unit_test(hardware_crosses_whole),
        cmocka_unit_test(a_list_of_devices_crosses_whole),
        cmocka_unit_test(a_child_is_heard),
        cmocka_unit_test(what_a_child_says_is_bounded),
        cmocka_unit_test(a_deadline_holds),
        cmocka_unit_test(a_program_that_is_not_there_is_an_error),
        cmocka_unit_test(a_deadline_counts_no_time_without_a_processor),
        cmocka_unit_test(drivers_are_checked),
        cmocka_unit_test(the_oldest_result_goes_first),
    };
    return cmocka_run_group_tests_name("plugin_ipc", tests, NULL, NULL);
}
