/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/conform/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sdk/conform/list.h"
#include "sdk/conform/process.h"
#include "sdk/conform/text.h"

#define PROGRAM 4096u
#define TAIL 400 /* bytes of the error output that are reported */

void run_group(const char *name, char out_group[CONFORM_NAME])
{
    snprintf(out_group, CONFORM_NAME, "%.*s", (int)strcspn(name, "/"), name);
}

/* ---- the answer of a child ---- */

/* The state of parsing the lines of one answer. */
struct reading {
    struct run_result *result;
    struct run_facts *facts;
    char current[RUN_TEXT]; /* case, or driver slot before the first case */
    char slot[64];          /* driver slot called in the case; empty: unknown */
    bool has_ended;
};

static void parse_fact(struct run_facts *facts, const char *text)
{
    static const struct {
        const char *key;
        size_t offset, bytes;
    } places[] = {{"driver", offsetof(struct run_facts, driver), sizeof(facts->driver)},
                  {"driver.build", offsetof(struct run_facts, build_id), sizeof(facts->build_id)},
                  {"driver.version", offsetof(struct run_facts, version), sizeof(facts->version)},
                  {"device", offsetof(struct run_facts, device), sizeof(facts->device)},
                  {"device.name", offsetof(struct run_facts, name), sizeof(facts->name)},
                  {"device.detail", offsetof(struct run_facts, detail), sizeof(facts->detail)},
                  {"device.fingerprint", offsetof(struct run_facts, fingerprint), sizeof(facts->fingerprint)},
                  {"refused", offsetof(struct run_facts, refused), sizeof(facts->refused)}};
    size_t length = strcspn(text, "=");

    if (facts == NULL || text[length] == '\0')
        return;
    if (strncmp(text, "found=", 6) == 0 && facts->found_count < RUN_DEVICES)
        snprintf(facts->found[facts->found_count++], sizeof(facts->found[0]), "%s", text + 6);
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
        if (strlen(places[i].key) == length && strncmp(places[i].key, text, length) == 0)
            snprintf((char *)facts + places[i].offset, places[i].bytes, "%s", text + length + 1);
}

static void parse_line(struct reading *reading, char letter, const char *text)
{
    struct run_result *result = reading->result;

    switch (letter) {
    case 'c':
        result->cases++;
        snprintf(reading->current, sizeof(reading->current), "%s", text);
        reading->slot[0] = '\0';
        break;
    case 'g':
        if (result->cases == 0)
            snprintf(reading->current, sizeof(reading->current), "in %s", text);
        else
            snprintf(reading->slot, sizeof(reading->slot), "%s", text);
        break;
    case 'f':
        if (result->failures++ == 0)
            snprintf(result->text, sizeof(result->text), "%.380s%s%.600s", reading->current,
                     reading->current[0] == '\0' ? "" : ": ", text);
        break;
    case 'n':
        if (result->unclaimed++ == 0 && result->failures == 0)
            snprintf(result->text, sizeof(result->text), "%s", text);
        break;
    case 's':
        result->state = RUN_SKIPPED;
        snprintf(result->text, sizeof(result->text), "%s", text);
        break;
    case 'i':
        parse_fact(reading->facts, text);
        break;
    case 'e':
        reading->has_ended = true;
        break;
    default:
        break;
    }
}

static void read_answer(struct reading *reading, char *answer, size_t bytes)
{
    char *end = answer + bytes;

    while (answer < end) {
        char *line = answer;
        char *stop = memchr(answer, '\n', (size_t)(end - answer));

        if (stop == NULL)
            break;
        *stop = '\0';
        answer = stop + 1;
        if (line[0] != '\0')
            parse_line(reading, line[0], line + 1);
    }
}

/* ---- the end of a child ---- */

/* Reports why a child did not complete. */
static void report_incomplete_child(const struct process_end *end, const struct run_options *options,
                                    const struct reading *reading, struct run_result *result)
{
    const char *current = reading->current;
    char how[160];

    result->has_hung = end->timed_out;
    if (end->timed_out)
        snprintf(how, sizeof(how), "it did not end within %u s", options->deadline);
    else if (end->signal != 0)
        snprintf(how, sizeof(how), "ended by signal %d (%s)", end->signal, strsignal(end->signal));
    else if (end->too_much)
        snprintf(how, sizeof(how), "it wrote too many result lines");
    else
        snprintf(how, sizeof(how), "the driver ended the process with status %d", end->status);
    result->failures++;
    snprintf(result->text, sizeof(result->text), "%.600s%s%s: %s",
             current[0] == '\0' ? "before the first case" : current, reading->slot[0] == '\0' ? "" : ", in ",
             reading->slot, how);
}

static void set_result(const struct process_end *end, const struct run_options *options, const struct reading *reading,
                       struct run_result *result)
{
    if (!reading->has_ended || end->signal != 0 || end->timed_out || end->status != 0)
        report_incomplete_child(end, options, reading, result);
    if (end->output.total != 0) {
        if (result->failures++ == 0)
            snprintf(result->text, sizeof(result->text), "it wrote %llu bytes to the standard output: \"%.*s\"%s",
                     (unsigned long long)end->output.total, (int)strcspn(end->output.data, "\n"), end->output.data,
                     strchr(end->output.data, '\n') == NULL ? "" : " and more lines");
        text_make_plain(result->text);
    }
    if (result->failures != 0) {
        const char *tail = end->complaints.data;

        result->state = RUN_FAILED;
        if (end->complaints.bytes > TAIL)
            tail += end->complaints.bytes - TAIL;
        snprintf(result->rest, sizeof(result->rest), "%.*s", TAIL, tail);
        text_make_plain(result->rest);
    } else if (result->cases == 0 && options->from > 1) {
        result->state = RUN_SKIPPED;
        snprintf(result->text, sizeof(result->text), "it has fewer than %u cases", options->from);
    } else if (result->state != RUN_SKIPPED) {
        result->state = result->cases != 0 && result->unclaimed == result->cases ? RUN_UNCLAIMED : RUN_PASSED;
    }
}

bool run_test(const struct run_options *options, const struct conform_test *test, struct run_facts *facts,
              struct run_result *out_result, struct accel_error *error)
{
    char name[CONFORM_NAME], path[PROGRAM], program[PROGRAM] = "", seed[32], rounds[16], cases[16], from[16],
                                            device[160], set[CONFORM_SETTINGS][160];
    char kit[] = "accel-conform", child[] = "--child";
    char *arguments[9 + CONFORM_SETTINGS + 1] = {kit, child, name, seed, rounds, cases, from, device, path};
    struct process_end *end = calloc(1, sizeof(*end));
    struct reading reading = {.result = out_result, .facts = facts};
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    bool is_started = false;

    memset(out_result, 0, sizeof(*out_result));
    out_result->test = test;
    snprintf(seed, sizeof(seed), "--seed=%llu", (unsigned long long)options->seed);
    snprintf(rounds, sizeof(rounds), "--rounds=%u", options->rounds);
    snprintf(cases, sizeof(cases), "--cases=%u", options->cases);
    snprintf(from, sizeof(from), "--from=%u", options->from);
    snprintf(device, sizeof(device), "--device=%s", options->device == NULL ? "" : options->device);
    for (uint32_t i = 0; i < options->set_count; i++) {
        snprintf(set[i], sizeof(set[i]), "--set=%s", options->set[i]);
        arguments[9 + i] = set[i];
    }
    snprintf(name, sizeof(name), "%s", test->name);
    snprintf(path, sizeof(path), "%s", options->path);
    if (end == NULL || length <= 0)
        accel_error_set(error, ACCEL_E_MEMORY, "no memory, or no /proc");
    else
        is_started = process_run(program, arguments, options->deadline * 1000, end, error) == ACCEL_OK;
    if (is_started) {
        read_answer(&reading, end->answer, end->answer_bytes);
        set_result(end, options, &reading, out_result);
        out_result->nanoseconds = end->nanoseconds;
    }
    free(end);
    return is_started;
}
