/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accel-conform tests a driver file against the rules of accel/driver.h and against a scalar reference of every
 * operator. It needs only the file; see accel-conform(1).
 */
#include "config.h"

#include <fnmatch.h>
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

static int run_all(struct run_options *options, const struct conform_list *list, struct run_result *results)
{
    struct run_report report = {.options = options, .results = results};
    struct accel_error error = {0};
    struct run_facts facts = {0};
    struct known known;
    uint32_t hung = 0;
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
    for (uint32_t i = 0; i < list->count; i++) {
        struct run_result *result = &results[report.count];

        if (!is_wanted(options, &list->tests[i]))
            continue;
        if (!run_test(options, &list->tests[i], NULL, result, &error))
            return options_complain(error.text, "");
        known_apply(&known, result);
        print_result(options, result);
        add_up(&report, result);
        hung += result->has_hung;
        if (hung == HUNG_MOST && i + 1 < list->count) {
            fprintf(stderr, "accel-conform: %u tests did not end, the others are not run\n", hung);
            report.is_cut = true;
            break;
        }
    }
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
    free(list);
    free(results);
    return status;
}
