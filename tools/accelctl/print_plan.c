/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/print_more.h"
#include "tools/accelctl/print_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns where the words of the head, and what is said of settings and memory, begin. */
enum { HEAD = 11, DETAIL = 34 };

static const char *answer_name(uint32_t answer)
{
    static const char *const names[] = {"?", "native", "emulated", "likely", "no"};

    return answer < 5 ? names[answer] : "?";
}

uint32_t count_fallbacks(const struct accel_plan *plan)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < accel_plan_node_count(plan); i++)
        count += accel_plan_node_get(plan, i)->answer != ACCEL_CLAIM_NATIVE;
    return count;
}

const char *value_text(const char *value, const char *unit, char text[64])
{
    if (strcmp(unit, "bytes") == 0)
        return bytes_text(strtoull(value, NULL, 10), text);
    snprintf(text, 64, "%s%s%s", value, unit[0] == '\0' ? "" : " ", unit);
    return text;
}

/* A place and a reason in one line. */
static const char *reason_text(const char *place, const char *because, char *text, size_t bytes)
{
    char copy[400];

    snprintf(text, bytes, "%s%s%s", short_places(place, copy, sizeof copy), because[0] == '\0' ? "" : ": ", because);
    return text;
}

static void print_losers(const struct accel_plan_setting *setting)
{
    for (uint32_t i = 0; i < setting->overruled_count; i++) {
        const struct accel_plan_loser *loser = &setting->overruled[i];
        char value[64], text[1200];

        print_wrapped((uint32_t)printf("%*sover %-8s ", DETAIL, "", value_text(loser->value, loser->unit, value)),
                      DETAIL + 14, reason_text(loser->place, loser->because, text, sizeof text));
    }
}

static uint32_t is_shown(const struct accel_plan_setting *setting, const struct shown *shown)
{
    return shown->all || setting->origin != ACCEL_ORIGIN_BUILTIN;
}

static void print_settings(const struct accel_plan *plan, const struct shown *shown)
{
    uint32_t count = accel_plan_setting_count(plan);
    uint32_t listed = 0;

    for (uint32_t i = 0; i < count; i++)
        listed += is_shown(accel_plan_setting_get(plan, i), shown);
    printf("%ssettings%s   ", paint(PAINT_HEADING), paint(PAINT_PLAIN));
    if (listed == count)
        printf("%u\n", count);
    else
        printf("%u of %u; the others are as built in (--all lists them, --explain KEY tells why)\n", listed, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct accel_plan_setting *s = accel_plan_setting_get(plan, i);
        char value[64], text[1200];

        if (!is_shown(s, shown))
            continue;
        print_wrapped((uint32_t)printf("  %-20s %-10s ", s->key, value_text(s->value, s->unit, value)), DETAIL,
                      reason_text(s->place, s->because, text, sizeof text));
        if (shown->losers)
            print_losers(s);
    }
}

static void print_memory(const struct accel_plan *plan)
{
    struct accel_plan_fit fit = {.size = sizeof fit};
    char bytes[32], origin[300];

    printf("%smemory%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN));
    for (uint32_t i = 0; i < accel_plan_memory_count(plan); i++) {
        const struct accel_plan_memory *m = accel_plan_memory_get(plan, i);

        print_wrapped((uint32_t)printf("  %-20s %10s  ", m->name, bytes_text(m->bytes, bytes)), DETAIL + 2, m->origin);
    }
    if (accel_plan_fit(plan, &fit, NULL) != ACCEL_OK)
        return;
    printf("  %-20s %10s\n", "in all", bytes_text(fit.needed, bytes));
    print_wrapped(
        (uint32_t)printf("  %-20s %10s  ", "budget", fit.budget == 0 ? "none" : bytes_text(fit.budget, bytes)),
        DETAIL + 2, short_places(fit.budget_origin, origin, sizeof origin));
}

/* Why a plan by formula is no more than that. */
static void print_runs(const struct opened *opened)
{
    struct accel_session *session;
    struct accel_error error = {0};
    char copy[600];

    if (accel_model_plan_session(opened->made, &session, &error) == ACCEL_OK)
        return;
    print_wrapped((uint32_t)printf("by formula "), HEAD, short_places(error.text, copy, sizeof copy));
    if (error.remedy[0] != '\0')
        print_wrapped((uint32_t)printf("%*sremedy: ", HEAD, ""), HEAD, error.remedy);
}

/* The verdict in a word. Where nobody says how much memory there is, that is it. */
static void print_word(const struct accel_plan_fit *fit)
{
    const char *word = fit->budget == 0 ? "NO LIMIT KNOWN" : fit->fits ? "FITS" : "DOES NOT FIT";

    printf("verdict    %s%s%s ", paint(fit->fits ? PAINT_GOOD : PAINT_BAD), word, paint(PAINT_PLAIN));
}

void print_verdict(const struct opened *opened)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const struct accel_device_info *device = accel_plan_device(plan);
    struct accel_plan_fit fit = {.size = sizeof fit};
    char needed[32], budget[48] = "", short_by[48] = "", origin[300], line[600];

    if (accel_plan_fit(plan, &fit, NULL) != ACCEL_OK)
        return;
    if (fit.budget != 0)
        snprintf(budget, sizeof budget, " of %s", bytes_text(fit.budget, needed));
    if (!fit.fits)
        snprintf(short_by, sizeof short_by, ", short by %s", bytes_text(fit.short_by, needed));
    snprintf(line, sizeof line, "on %s: needs %s%s (%s)%s", device == NULL ? accel_plan_platform(plan) : device->name,
             bytes_text(fit.needed, needed), budget, short_places(fit.budget_origin, origin, sizeof origin), short_by);
    print_word(&fit);
    print_wrapped(HEAD + (fit.fits ? 5 : 13), HEAD, line);
    if (!fit.fits)
        printf("%*sremedy: accelctl plan --fit tries what can be changed, and at what price\n", HEAD, "");
    print_runs(opened);
}

/* Kernels with the number of nodes that each runs, in the order in which they first occur. */
static void print_kernels(const struct accel_plan *plan)
{
    uint32_t count = accel_plan_node_count(plan);

    printf("%skernels%s    %u nodes, %u fallbacks\n", paint(PAINT_HEADING), paint(PAINT_PLAIN), count,
           count_fallbacks(plan));
    for (uint32_t i = 0; i < count; i++) {
        const struct accel_plan_node *node = accel_plan_node_get(plan, i);
        uint32_t same = 0;
        uint32_t seen = 0;

        for (uint32_t j = 0; j < count; j++) {
            uint32_t equal = strcmp(accel_plan_node_get(plan, j)->kernel, node->kernel) == 0;

            seen |= equal && j < i;
            same += equal;
        }
        if (!seen)
            printf("  %-24s %4u %s  %s, %s\n", node->kernel, same, same == 1 ? "node " : "nodes", node->device,
                   answer_name(node->answer));
    }
}

static void print_nodes(const struct accel_plan *plan)
{
    printf("%snodes%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN));
    for (uint32_t i = 0; i < accel_plan_node_count(plan); i++) {
        const struct accel_plan_node *n = accel_plan_node_get(plan, i);

        printf("  %-28s %-12s %-12s %-22s %s%s%s\n", n->name, n->op, n->device, n->kernel, answer_name(n->answer),
               n->reason[0] == '\0' ? "" : ": ", n->reason);
    }
}

static void print_threads(const struct accel_plan *plan)
{
    uint32_t ranks = 0;
    uint32_t pinned = accel_plan_processor(plan, 0, &ranks) >= 0;

    printf("threads    %u, %s", ranks, pinned ? "pinned to processors" : "not pinned");
    for (uint32_t r = 0; pinned && r < ranks; r++)
        printf("%s%" PRId32, r == 0 ? " " : ", ", accel_plan_processor(plan, r, &ranks));
    printf("\n");
}

/* The folder of the profiles, which the places of settings leave out. */
static void print_folder(const struct accel_plan *plan)
{
    for (uint32_t i = 0; i < accel_plan_setting_count(plan); i++) {
        const struct accel_plan_setting *s = accel_plan_setting_get(plan, i);
        const char *slash = strrchr(s->place, '/');
        char folder[1024];
        char *real;

        if (s->origin != ACCEL_ORIGIN_PROFILE || slash == NULL)
            continue;
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - s->place), s->place);
        real = realpath(folder, NULL);
        printf("profiles   %s\n", real == NULL ? folder : real);
        free(real);
        return;
    }
}

static void print_device(const struct opened *opened)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const struct accel_device_info *device = accel_plan_device(plan);
    const struct accel_plugin_info *plugin;

    if (device == NULL) {
        printf("platform   %s, of which no device is here\n", accel_plan_platform(plan));
        return;
    }
    plugin = accel_plugin_get(opened->context, device->plugin);
    printf("device     %s, %s, driver %s %s\n", device->name, device->facts->name, device->driver,
           plugin == NULL ? "" : plugin->version);
    print_threads(plan);
}

void print_plan(const struct opened *opened, const struct shown *shown)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    uint32_t exact = accel_model_plan_exact(opened->made);

    print_verdict(opened);
    print_model(opened);
    print_device(opened);
    print_folder(plan);
    print_speed(plan);
    if (!exact)
        print_types(plan);
    if (accel_plan_device(plan) == NULL || shown->all)
        print_facts(plan, shown->all);
    print_settings(plan, shown);
    if (shown->parts)
        print_parts(plan);
    if (shown->layers)
        print_layers(plan);
    print_memory(plan);
    if (exact)
        print_kernels(plan);
    if (shown->nodes)
        print_nodes(plan);
    print_notes(plan);
}

json_t *plan_json(const struct opened *opened, struct accel_error *error)
{
    char *text = NULL;
    json_t *document = NULL;

    if (accel_model_plan_json(opened->made, &text, error) == ACCEL_OK)
        document = json_loads(text, 0, NULL);
    accel_model_plan_json_free(text);
    return document;
}
