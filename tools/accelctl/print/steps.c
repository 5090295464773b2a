/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/print/steps.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { INDENT = 14 };

static const char *state_name(uint32_t state)
{
    static const char *const names[] = {"?", "offered", "applied", "no use", "refused"};

    return state < 5 ? names[state] : "?";
}

static void print_row(const char *name, const char *text)
{
    char copy[900];

    if (text[0] != '\0')
        print_wrapped((uint32_t)print("    %-9s ", name), INDENT, short_places(text, copy, sizeof(copy)));
}

/* Prints the memory before and after a step. A step without settings is one that the user must do, so its saving is
 * unknown; other steps may change something else than memory. */
static void print_bytes(const struct plan_step *step)
{
    char before[32], after[32], left[32], change[120], line[200];

    if (step->state != ACCEL_PLAN_STEP_OFFERED && step->state != ACCEL_PLAN_STEP_APPLIED)
        return;
    bytes_text(step->before, before);
    bytes_text(step->after, after);
    if (step->settings[0] == '\0' && step->before == step->after)
        snprintf(change, sizeof(change), "its saving is unknown; without it %s", before);
    else if (strcmp(before, after) == 0)
        snprintf(change, sizeof(change), "stays %s", before);
    else
        snprintf(change, sizeof(change), "%s -> %s", before, after);
    snprintf(line, sizeof(line), "%s%s%s", change, step->short_by == 0 ? ", fits" : ", does not fit: short by ",
             step->short_by == 0 ? "" : bytes_text(step->short_by, left));
    print_row("memory", line);
}

/* Returns whether the reason cites a document, as in "S3:31-58". */
static bool print_step(const struct plan_step *step, uint32_t number)
{
    uint32_t column = (uint32_t)print("%2u  %-9s ", number, state_name(step->state));
    char line[900], copy[700];

    if (step->state == ACCEL_PLAN_STEP_SAME || step->state == ACCEL_PLAN_STEP_REFUSED) {
        snprintf(line, sizeof(line), "%s: %s", step->words, short_places(step->text, copy, sizeof(copy)));
        print_wrapped(column, INDENT, line);
        return false;
    }
    print_wrapped(column, INDENT, step->words);
    print_bytes(step);
    print_row("note", short_places(step->text, copy, sizeof(copy)));
    print_row("settings", step->settings);
    print_row("weights", step->weights);
    print_row("cost", step->cost);
    print_row("needs", step->needs);
    print_row("because", step->source);
    print_row("from", step->place);
    return step->source[0] == 'S' && step->source[1] >= '0' && step->source[1] <= '4' && step->source[2] == ':';
}

/* Prints what the short names of documents in the reasons of steps mean. */
static void print_documents(bool are_cited)
{
    if (are_cited)
        print("    S0 to S4 are guides to optimization, with their lines: doc/plan.md names them\n");
}

void print_steps(const struct plan_steps *steps)
{
    bool are_cited = false;

    for (uint32_t i = 0; i < plan_step_count(steps); i++)
        are_cited |= print_step(plan_step_get(steps, i), i + 1);
    print_documents(are_cited);
}

void print_applied_steps(const struct plan_steps *steps)
{
    uint32_t others = 0, applied = 0;
    bool are_cited = false;

    for (uint32_t i = 0; i < plan_step_count(steps); i++) {
        const struct plan_step *step = plan_step_get(steps, i);

        if (step->state == ACCEL_PLAN_STEP_APPLIED)
            are_cited |= print_step(step, ++applied);
        else
            others++;
    }
    print_documents(are_cited);
    if (applied == 0)
        print("applied    nothing%s\n", others == 0 ? ": the plan fits without a change" : "");
    if (others != 0)
        print("    %u other step%s not needed or of no use here: --fit --all lists all\n", others,
              others == 1 ? " is" : "s are");
}

/* Returns whether a later applied step sets the same key: `set` begins with "--set KEY=", of `length` bytes. */
static bool is_set_later(const struct plan_steps *steps, uint32_t index, const char *set, size_t length)
{
    for (uint32_t i = index + 1; i < plan_step_count(steps); i++) {
        const struct plan_step *step = plan_step_get(steps, i);

        for (const char *at = step->settings; step->state == ACCEL_PLAN_STEP_APPLIED && at != NULL;
             at = strstr(at + 1, "--set "))
            if (strncmp(at, set, length) == 0)
                return true;
    }
    return false;
}

void print_applied(const struct plan_steps *steps)
{
    uint32_t first = 1;

    for (uint32_t i = 0; i < plan_step_count(steps); i++) {
        const struct plan_step *step = plan_step_get(steps, i);
        const char *at = step->settings;

        while (step->state == ACCEL_PLAN_STEP_APPLIED && at != NULL && *at != '\0') {
            const char *next = strstr(at + 1, " --set ");
            size_t length = next == NULL ? strlen(at) : (size_t)(next - at);

            if (!is_set_later(steps, i, at, strcspn(at, "=") + 1))
                print("%s%.*s", first ? "settings   " : " ", (int)length, at);
            first &= is_set_later(steps, i, at, strcspn(at, "=") + 1);
            at = next == NULL ? NULL : next + 1;
        }
    }
    if (!first)
        print("\n");
}

json_t *steps_json(const struct plan_steps *steps)
{
    json_t *rows = json_array();

    for (uint32_t i = 0; i < plan_step_count(steps); i++) {
        const struct plan_step *step = plan_step_get(steps, i);

        json_add(rows, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I}", "origin",
                                 "estimated: plans without and with the step", "state", state_name(step->state), "name",
                                 step->name, "words", step->words, "settings", step->settings, "weights", step->weights,
                                 "cost", step->cost, "needs", step->needs, "because", step->source, "place",
                                 step->place, "text", step->text, "before", (json_int_t)step->before, "after",
                                 (json_int_t)step->after, "short_by", (json_int_t)step->short_by));
    }
    return rows;
}
