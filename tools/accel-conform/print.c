/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accel-conform/print.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"

static const char *state_name(const struct run_result *result)
{
    static const char *const names[] = {"passed", "failed", "skipped", "not claimed"};

    if (result->is_expected)
        return result->state == RUN_FAILED ? "failed as expected" : "passed, and a failure was expected";
    return names[result->state];
}

void print_result(const struct run_options *options, const struct run_result *result)
{
    if (options->is_json || result->state != RUN_FAILED || result->is_expected)
        return;
    printf("FAILED %s: %s\n", result->test->name, result->text);
    if (result->failures > 1)
        printf("       and %u more failures in %u cases\n", result->failures - 1, result->cases);
    if (result->rest[0] != '\0')
        printf("       error output: %s\n", result->rest);
    printf("       again: accel-conform %s --device %s --filter %s --seed %llu --rounds %u\n", options->driver,
           options->device, result->test->name, (unsigned long long)options->seed, options->rounds);
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

static void print_groups(const struct run_report *report)
{
    struct group all = {.name = "in all"}, group = {.name = ""};

    printf("%-14s %7s %7s %7s %9s %12s %7s %8s\n", "group", "passed", "failed", "skipped", "expected", "not claimed",
           "cases", "seconds");
    for (uint32_t i = 0; i < report->count; i++) {
        char name[CONFORM_NAME];

        run_group(report->results[i].test->name, name);
        if (strcmp(name, group.name) != 0) {
            if (group.name[0] != '\0')
                print_group(&group);
            group = (struct group){.name = ""};
            memcpy(group.name, name, sizeof(name));
        }
        count(&group, &report->results[i]);
        count(&all, &report->results[i]);
    }
    if (group.name[0] != '\0')
        print_group(&group);
    print_group(&all);
}

/* Tests that say the same reason one after the other are one line. */
static void print_reasons(const struct run_report *report)
{
    const struct run_result *results = report->results;
    bool has_title = false;

    for (uint32_t i = 0; i < report->count; i++) {
        char group[CONFORM_NAME], other[CONFORM_NAME];
        bool is_first = true;

        if (results[i].state != RUN_UNCLAIMED && results[i].state != RUN_SKIPPED)
            continue;
        run_group(results[i].test->name, group);
        for (uint32_t j = 0; j < i && is_first; j++) {
            run_group(results[j].test->name, other);
            is_first = results[j].state != results[i].state || strcmp(group, other) != 0 ||
                       strcmp(results[j].text, results[i].text) != 0;
        }
        if (!is_first)
            continue;
        if (!has_title)
            printf("not run\n");
        has_title = true;
        printf("  %s: %s\n   ", group, results[i].text);
        for (uint32_t j = i; j < report->count; j++) {
            run_group(results[j].test->name, other);
            if (results[j].state == results[i].state && strcmp(group, other) == 0 &&
                strcmp(results[j].text, results[i].text) == 0)
                printf(" %s", results[j].test->name + strlen(group) + (results[j].test->name[strlen(group)] == '/'));
        }
        printf("\n");
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
