/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accel-conform tests a driver file against the rules of accel/driver.h and against a scalar reference of every
 * operator. It needs only the file; see accel-conform(1).
 */
#include "config.h"

#include <fnmatch.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "sdk/conform/certificate.h"
#include "sdk/conform/known.h"
#include "sdk/conform/list.h"
#include "sdk/conform/options.h"

/* The run stops after this many tests that hang: a slot that hangs does so in most tests, each until its deadline. */
#define HUNG_MOST 3u

/* ---- a test in this process ---- */

static int run_child(const struct run_options *options)
{
    struct conform_list list;
    struct conform conform;
    struct rlimit none = {0, 0};

    conform_list_fill(&list);
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    conform = (struct conform){.path = options->path,
                               .id = options->device == NULL || options->device[0] == '\0' ? NULL : options->device,
                               .options = options->set,
                               .option_count = options->set_count,
                               .rounds = options->rounds,
                               .cases = options->cases,
                               .from = options->from};
    for (uint32_t i = 0; i < list.count; i++) {
        if (strcmp(list.tests[i].name, options->child) != 0)
            continue;
        conform_seed(&conform, options->seed, options->child);
        conform.parameter = list.tests[i].parameter;
        conform_begin(&conform, list.tests[i].needs);
        list.tests[i].run(&conform);
        conform_end(&conform);
    }
    return RUN_EXIT_USAGE;
}

/* ---- the run ---- */

static bool is_wanted(const struct run_options *options, const struct conform_test *test)
{
    return strcmp(test->name, "info") != 0 && (options->filter == NULL || fnmatch(options->filter, test->name, 0) == 0);
}

static int print_list(const struct run_options *options, const struct conform_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (is_wanted(options, &list->tests[i]))
            printf("%s\n", list->tests[i].name);
    return 0;
}

/* The first test lists the devices. If it fails, there is no device to run the other tests on. */
static int explain_info(struct run_report *report)
{
    const struct run_options *options = report->options;
    const struct run_result *result = &report->results[0];
    const struct run_facts *facts = report->facts;

    if (result->state == RUN_FAILED) {
        fprintf(stderr, "accel-conform: %s: %s\n%s", options->driver, result->text, result->rest);
        report->failed = report->count = 1;
        if (options->is_json)
            print_json(report);
        return RUN_EXIT_FAILED;
    }
    if (facts->found_count == 0)
        fprintf(stderr, "accel-conform: driver %s has no device here%s%s\n", facts->driver,
                facts->refused[0] == '\0' ? "" : ": ", facts->refused);
    return facts->found_count == 0 ? RUN_EXIT_USAGE : -1;
}

/* Returns -1 if the driver has the requested device; otherwise the exit status. */
static int look_for_device(struct run_options *options, const struct run_facts *facts)
{
    size_t length = strlen(facts->driver);

    /* accelctl prefixes the device with its driver. */
    if (options->device != NULL && strncmp(options->device, facts->driver, length) == 0 &&
        options->device[length] == ':')
        options->device += length + 1;
    if (options->device == NULL || facts->found_count == RUN_DEVICES)
        return -1;
    for (uint32_t i = 0; i < facts->found_count; i++)
        if (strcmp(options->device, facts->found[i]) == 0)
            return -1;
    fprintf(stderr, "accel-conform: driver %s has no device %s here; it has", facts->driver, options->device);
    for (uint32_t i = 0; i < facts->found_count; i++)
        fprintf(stderr, "%s %s", i == 0 ? "" : ",", facts->found[i]);
    fputc('\n', stderr);
    return RUN_EXIT_USAGE;
}

static void add_up(struct run_report *report, const struct run_result *result)
{
    report->passed += result->state == RUN_PASSED;
    report->failed += result->state == RUN_FAILED && !result->is_expected;
    report->expected += result->state == RUN_FAILED && result->is_expected;
    report->skipped += result->state == RUN_SKIPPED;
    report->unclaimed += result->state == RUN_UNCLAIMED;
    report->cases += result->cases - result->unclaimed;
    report->count++;
}

static int certify(const struct run_report *report)
{
    struct accel_error error = {0};
    char *path = NULL;
    int32_t code;

    if (options_are_partial(report->options) || report->is_cut) {
        if (!report->options->is_json)
            puts("no certificate: it takes all tests as they are");
        return 0;
    }
    code = certificate_write(report, &path, &error);
    if (code != ACCEL_OK)
        fprintf(stderr, "accel-conform: the certificate was not written: %s\n", error.text);
    else if (!report->options->is_json)
        printf("certificate %s\n", path);
    free(path);
    return code == ACCEL_OK ? 0 : RUN_EXIT_USAGE;
}

static int finish(const struct run_report *report)
{
    int status;

    if (report->count == 0) {
        fprintf(stderr, "accel-conform: no test is called %s; --list prints the names\n", report->options->filter);
        return RUN_EXIT_USAGE;
    }
    if (report->options->is_json)
        print_json(report);
    else
        print_report(report);
    status = certify(report);
    return report->failed != 0 || report->is_cut ? RUN_EXIT_FAILED : status;
}

/* The tests of a run, which `jobs` threads take one after another. The lock guards all but the constants. */
struct queue {
    const struct conform_list *list;
    const struct known *known;
    struct run_report *report;
    struct run_result *results;
    pthread_mutex_t lock;
    uint32_t next;  /* test in the list */
    uint32_t taken; /* results that are being made or complete */
    uint32_t hung;
    struct accel_error error; /* a child could not be started */
};

/* Returns the place for the result of the next test, or NULL at the end. */
static struct run_result *dequeue_test(struct queue *queue, const struct conform_test **out_test)
{
    struct run_result *result = NULL;

    pthread_mutex_lock(&queue->lock);
    while (queue->next < queue->list->count && !is_wanted(queue->report->options, &queue->list->tests[queue->next]))
        queue->next++;
    if (queue->next < queue->list->count && queue->hung >= HUNG_MOST) {
        queue->report->is_cut = true;
    } else if (queue->next < queue->list->count && queue->error.code == ACCEL_OK) {
        *out_test = &queue->list->tests[queue->next++];
        result = &queue->results[queue->taken++];
    }
    pthread_mutex_unlock(&queue->lock);
    return result;
}

static void *run_tests(void *data)
{
    struct queue *queue = data;
    const struct run_options *options = queue->report->options;
    const struct conform_test *test;
    struct run_result *result;

    while ((result = dequeue_test(queue, &test)) != NULL) {
        struct accel_error error = {0};
        const bool is_run = run_test(options, test, NULL, result, &error);

        pthread_mutex_lock(&queue->lock);
        if (is_run) {
            known_apply(queue->known, result);
            print_result(options, result);
            add_up(queue->report, result);
            queue->hung += result->has_hung;
        } else {
            queue->error = error;
        }
        pthread_mutex_unlock(&queue->lock);
    }
    return NULL;
}

/* Runs all tests, `jobs` at a time. If no further thread can be started, fewer. */
static void run_queue(struct queue *queue)
{
    pthread_t threads[CONFORM_TESTS];
    uint32_t started = 0;

    pthread_mutex_init(&queue->lock, NULL);
    while (started + 1 < queue->report->options->jobs && started < CONFORM_TESTS &&
           pthread_create(&threads[started], NULL, run_tests, queue) == 0)
        started++;
    run_tests(queue);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&queue->lock);
}

static int run_all(struct run_options *options, const struct conform_list *list, struct run_result *results)
{
    struct run_report report = {.options = options, .results = results};
    struct accel_error error = {0};
    struct run_facts facts = {0};
    struct known known;
    struct queue queue = {.list = list, .known = &known, .report = &report, .results = results};
    int status;

    report.facts = &facts;
    if (known_read(options, list, &known, &error) != ACCEL_OK ||
        !run_test(options, &list->tests[0], &facts, &results[0], &error))
        return options_complain(error.text, "");
    status = explain_info(&report);
    if (status < 0)
        status = look_for_device(options, &facts);
    if (status >= 0)
        return status;
    if (options->device == NULL)
        options->device = facts.device;
    run_queue(&queue);
    if (queue.error.code != ACCEL_OK)
        return options_complain(queue.error.text, "");
    if (report.is_cut)
        fprintf(stderr, "accel-conform: %u tests did not end, the others are not run\n", queue.hung);
    return finish(&report);
}

/* Disables the per-thread caches of malloc, whose blocks count as allocated, so that the child's allocations are
 * counted exactly. */
static void tune_children(void)
{
    const char *others = getenv("GLIBC_TUNABLES");
    char text[1024];

    snprintf(text, sizeof(text), "%.900s%sglibc.malloc.tcache_count=0", others == NULL ? "" : others,
             others == NULL || others[0] == '\0' ? "" : ":");
    setenv("GLIBC_TUNABLES", text, 1);
}

int main(int count, char **arguments)
{
    struct run_options options = {.driver = NULL};
    struct conform_list *list = calloc(1, sizeof(*list));
    struct run_result *results = calloc(CONFORM_TESTS + 1, sizeof(*results));
    int status = options_read(&options, count, arguments);

    if (status < 0 && options.child != NULL)
        return run_child(&options);
    if (list == NULL || results == NULL)
        return options_complain("no memory", "");
    if (status < 0) {
        conform_list_fill(list);
        tune_children();
        status = options.is_list ? print_list(&options, list) : run_all(&options, list, results);
    }
    if (fflush(stdout) != 0 || ferror(stdout))
        status = options_complain("cannot write to the standard output", "");
    free(list);
    free(results);
    return status;
}
