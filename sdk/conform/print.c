/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/conform/print.h"

#include <stdio.h>
#include <string.h>

#include "sdk/conform/list.h"
#include "sdk/conform/text.h"

static const char *state_name(const struct run_result *result)
{
    static const char *const names[] = {"passed", "failed", "skipped", "not claimed"};

    return result->is_expected ? "failed as expected" : names[result->state];
}

enum { WIDTH = 100 }; /* columns of an output line */

/* Prints words from column `column` on and indents further lines by as much. A word is never split. */
static void print_wrapped(uint32_t column, const char *text)
{
    uint32_t at = column;

    for (text += strspn(text, " \n"); *text != '\0'; text += strspn(text, " \n")) {
        size_t length = strcspn(text, " \n");

        if (at > column && at + 1 + length > WIDTH)
            at = (uint32_t)printf("\n%*s", (int)column, "") - 1;
        else if (at > column)
            at += (uint32_t)printf(" ");
        at += (uint32_t)printf("%.*s", (int)length, text);
        text += length;
    }
    printf("\n");
}

/* Prints the child's error output line by line. */
static void print_rest(const char *rest)
{
    const char *heading = "error output:";

    for (rest += strspn(rest, "\n"); *rest != '\0'; rest += strspn(rest, "\n")) {
        size_t length = strcspn(rest, "\n");

        printf("       %s %.*s\n", heading, (int)length, rest);
        heading = "             ";
        rest += length;
    }
}

/* Prints the command that reruns only this test with identical random numbers. */
static void print_again(const struct run_options *options, const struct run_result *result)
{
    printf("       again: accel-conform %s --device %s --filter %s --seed %llu --rounds %u", options->driver,
           options->device, result->test->name, (unsigned long long)options->seed, options->rounds);
    if (options->deadline != RUN_DEADLINE)
        printf(" --deadline %u", options->deadline);
    if (options->cases != 0)
        printf(" --cases %u", options->cases);
    if (options->from != 0)
        printf(" --from %u", options->from);
    for (uint32_t i = 0; i < options->set_count; i++)
        printf(" --set %s", options->set[i]);
    printf("\n");
}

void print_result(const struct run_options *options, const struct run_result *result)
{
    if (options->is_json || result->state != RUN_FAILED || result->is_expected)
        return;
    printf("FAILED %s: ", result->test->name);
    print_wrapped(7, result->text);
    if (result->failures > 1)
        printf("       and %u more failure%s in %u cases\n", result->failures - 1, result->failures == 2 ? "" : "s",
               result->cases);
    print_rest(result->rest);
    print_again(options, result);
    fflush(stdout);
}

/* ---- the table ---- */

struct group {
    char name[CONFORM_NAME];
    uint32_t passed, failed, skipped, unclaimed, expected;
    uint64_t cases, nanoseconds;
};

static void count(struct group *group, const struct run_result *result)
{
    group->passed += result->state == RUN_PASSED;
    group->failed += result->state == RUN_FAILED && !result->is_expected;
    group->expected += result->state == RUN_FAILED && result->is_expected;
    group->skipped += result->state == RUN_SKIPPED;
    group->unclaimed += result->state == RUN_UNCLAIMED;
    group->cases += result->cases - result->unclaimed;
    group->nanoseconds += result->nanoseconds;
}

static void print_group(const struct group *group)
{
    printf("%-14s %7u %7u %7u %9u %12u %7llu %8.1f\n", group->name, group->passed, group->failed, group->skipped,
           group->expected, group->unclaimed, (unsigned long long)group->cases, (double)group->nanoseconds / 1e9);
}

/* Returns whether an earlier test belongs to the group already: several files may add tests of one group. */
static bool is_counted(const struct run_report *report, uint32_t index, const char *group)
{
    char other[CONFORM_NAME];

    for (uint32_t i = 0; i < index; i++) {
        run_group(report->results[i].test->name, other);
        if (strcmp(other, group) == 0)
            return true;
    }
    return false;
}

static void print_groups(const struct run_report *report)
{
    struct group all = {.name = "in all"};

    printf("%-14s %7s %7s %7s %9s %12s %7s %8s\n", "group", "passed", "failed", "skipped", "expected", "not claimed",
           "cases", "seconds");
    for (uint32_t i = 0; i < report->count; i++) {
        struct group group = {.name = ""};
        char name[CONFORM_NAME];

        count(&all, &report->results[i]);
        run_group(report->results[i].test->name, group.name);
        if (is_counted(report, i, group.name))
            continue;
        for (uint32_t j = i; j < report->count; j++) {
            run_group(report->results[j].test->name, name);
            if (strcmp(name, group.name) == 0)
                count(&group, &report->results[j]);
        }
        print_group(&group);
    }
    print_group(&all);
}

/* Returns whether two tests of one group were not run for one reason. */
static bool is_alike(const struct run_result *one, const struct run_result *other)
{
    char group[CONFORM_NAME], second[CONFORM_NAME];

    run_group(one->test->name, group);
    run_group(other->test->name, second);
    return one->state == other->state && strcmp(group, second) == 0 && strcmp(one->text, other->text) == 0;
}

/* Prints the names, without the group, of all tests with the reason of test `first`. */
static void print_names(const struct run_report *report, uint32_t first)
{
    static char names[CONFORM_TESTS * CONFORM_NAME];
    size_t used = 0;
    char group[CONFORM_NAME];

    run_group(report->results[first].test->name, group);
    for (uint32_t j = first; j < report->count; j++) {
        const char *name = report->results[j].test->name + strlen(group);

        if (is_alike(&report->results[first], &report->results[j]))
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s ", name + (name[0] == '/'));
    }
    print_wrapped((uint32_t)printf("    "), names);
}

/* Prints the reasons of tests that did not run, with the tests of a group that share a reason on one line. */
static void print_reasons(const struct run_report *report)
{
    const struct run_result *results = report->results;
    bool has_title = false;

    for (uint32_t i = 0; i < report->count; i++) {
        char group[CONFORM_NAME];
        bool is_first = true;

        if (results[i].state != RUN_UNCLAIMED && results[i].state != RUN_SKIPPED)
            continue;
        for (uint32_t j = 0; j < i && is_first; j++)
            is_first = !is_alike(&results[j], &results[i]);
        if (!is_first)
            continue;
        if (!has_title)
            printf("not run\n");
        has_title = true;
        run_group(results[i].test->name, group);
        printf("  %s: ", group);
        print_wrapped(4, results[i].text);
        print_names(report, i);
    }
}

void print_report(const struct run_report *report)
{
    const struct run_facts *facts = report->facts;

    print_reasons(report);
    printf("driver %s %s, device %s: %s\n", facts->driver, facts->version, facts->device, facts->name);
    print_groups(report);
    printf("%s, seed %llu\n", report->failed == 0 && !report->is_cut ? "no failures" : "FAILED",
           (unsigned long long)report->options->seed);
}

/* ---- JSON ---- */

json_t *text_json(const char *text)
{
    char plain[RUN_TEXT];

    snprintf(plain, sizeof(plain), "%s", text);
    text_make_plain(plain);
    return json_string(plain);
}

static json_t *result_json(const struct run_result *result)
{
    json_t *object = json_pack("{s:s, s:s, s:I, s:I, s:I, s:f, s:o}", "test", result->test->name, "state",
                               state_name(result), "cases", (json_int_t)result->cases, "unclaimed",
                               (json_int_t)result->unclaimed, "failures", (json_int_t)result->failures, "seconds",
                               (double)result->nanoseconds / 1e9, "text", text_json(result->text));

    if (result->rest[0] != '\0')
        json_object_set_new(object, "complaints", text_json(result->rest));
    return object;
}

void print_json(const struct run_report *report)
{
    const struct run_facts *facts = report->facts;
    json_t *tests = json_array(), *document;

    for (uint32_t i = 0; i < report->count; i++)
        json_array_append_new(tests, result_json(&report->results[i]));
    document = json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "driver",
                         text_json(facts->driver), "version", text_json(facts->version), "device",
                         text_json(facts->device), "name", text_json(facts->name), "detail", text_json(facts->detail),
                         "seed", (json_int_t)report->options->seed, "rounds", (json_int_t)report->options->rounds,
                         "passed", (json_int_t)report->passed, "failed", (json_int_t)report->failed, "skipped",
                         (json_int_t)report->skipped, "unclaimed", (json_int_t)report->unclaimed, "expected",
                         (json_int_t)report->expected, "cases", (json_int_t)report->cases, "tests", tests);
    json_dumpf(document, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    json_decref(document);
    printf("\n");
}
