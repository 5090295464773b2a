/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accel-conform/print.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/strbuf.h"

static const char *state_name(const struct run_result *result)
{
    static const char *const names[] = {"passed", "failed", "skipped", "not claimed"};

    if (result->is_expected)
        return result->state == RUN_FAILED ? "failed as expected" : "passed, and a failure was expected";
    return names[result->state];
}

enum { WIDTH = 100 }; /* columns of a line */

/* Words from column `column` on, further lines indented by as much. A word is never cut. */
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

/* What the child said on its error output, its lines as they were. */
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

/* The command that runs the test alone with the same numbers. */
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

/* True where a test before this one is of the same group: its files may add tests in several places. */
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

/* True where both are of one group and were not run for the same reason. */
static bool is_alike(const struct run_result *one, const struct run_result *other)
{
    char group[CONFORM_NAME], second[CONFORM_NAME];

    run_group(one->test->name, group);
    run_group(other->test->name, second);
    return one->state == other->state && strcmp(group, second) == 0 && strcmp(one->text, other->text) == 0;
}

/* The tests of a reason, from the first one on: their names without the group. */
static void print_names(const struct run_report *report, uint32_t first)
{
    struct accel_strbuf names;
    char group[CONFORM_NAME];

    accel_strbuf_init(&names, CONFORM_TESTS * CONFORM_NAME);
    run_group(report->results[first].test->name, group);
    for (uint32_t j = first; j < report->count; j++) {
        const char *name = report->results[j].test->name + strlen(group);

        if (is_alike(&report->results[first], &report->results[j]))
            accel_strbuf_printf(&names, "%s ", name + (name[0] == '/'));
    }
    print_wrapped((uint32_t)printf("    "), accel_strbuf_get(&names));
    accel_strbuf_free(&names);
}

/* Tests of a group that say the same reason stand together. */
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
    printf("%s, seed %llu\n", report->failed == 0 ? "no failures" : "FAILED",
           (unsigned long long)report->options->seed);
}

/* ---- JSON ---- */

static void json_result(struct accel_json *json, const struct run_result *result)
{
    accel_json_object_begin(json);
    accel_json_member_text(json, "test", result->test->name);
    accel_json_member_text(json, "state", state_name(result));
    accel_json_member_u64(json, "cases", result->cases);
    accel_json_member_u64(json, "unclaimed", result->unclaimed);
    accel_json_member_u64(json, "failures", result->failures);
    accel_json_member_double(json, "seconds", (double)result->nanoseconds / 1e9);
    accel_json_member_text(json, "text", result->text);
    if (result->rest[0] != '\0')
        accel_json_member_text(json, "complaints", result->rest);
    accel_json_object_end(json);
}

void print_json(const struct run_report *report)
{
    struct accel_strbuf text = {0};
    struct accel_json json;

    accel_json_init(&json, &text, 2);
    accel_json_object_begin(&json);
    accel_json_member_text(&json, "driver", report->facts->driver);
    accel_json_member_text(&json, "version", report->facts->version);
    accel_json_member_text(&json, "device", report->facts->device);
    accel_json_member_text(&json, "name", report->facts->name);
    accel_json_member_text(&json, "detail", report->facts->detail);
    accel_json_member_u64(&json, "seed", report->options->seed);
    accel_json_member_u64(&json, "rounds", report->options->rounds);
    accel_json_member_u64(&json, "passed", report->passed);
    accel_json_member_u64(&json, "failed", report->failed);
    accel_json_member_u64(&json, "skipped", report->skipped);
    accel_json_member_u64(&json, "unclaimed", report->unclaimed);
    accel_json_member_u64(&json, "expected", report->expected);
    accel_json_member_u64(&json, "cases", report->cases);
    accel_json_member_array(&json, "tests");
    for (uint32_t i = 0; i < report->count; i++)
        json_result(&json, &report->results[i]);
    accel_json_array_end(&json);
    accel_json_object_end(&json);
    printf("%s\n", accel_strbuf_get(&text));
    accel_strbuf_free(&text);
}
