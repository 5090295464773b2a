/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/print/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/print/brief.h"
#include "tools/accelctl/print/idle.h"
#include "tools/accelctl/print/more.h"
#include "tools/accelctl/print/where.h"

/* Columns where reasons, the places of settings and the origins of memory begin; most reasons of a plan. */
enum { REASON = 23, PLACE = 38, DETAIL = 36, REASONS = 256 };

static const char *answer_name(uint32_t answer)
{
    static const char *const names[] = {"?", "native", "emulated", "likely", "no"};

    return answer < 5 ? names[answer] : "?";
}

const char *value_text(const char *value, const char *unit, char *text, size_t size)
{
    if (strcmp(unit, "bytes") == 0)
        return bytes_text(strtoull(value, NULL, 10), text);
    return end_cut_list(text, size, snprintf(text, size, "%s%s%s", value, unit[0] == '\0' ? "" : " ", unit));
}

/* Origins with a reason, each once. */
struct reasons {
    const char *places[REASONS];
    const char *texts[REASONS];
    uint32_t count;
};

static void add_reason(struct reasons *reasons, const char *place, const char *reason)
{
    uint32_t i = 0;

    while (i < reasons->count && strcmp(reasons->places[i], place) != 0)
        i++;
    if (reason[0] == '\0' || i == REASONS || i < reasons->count)
        return;
    reasons->places[i] = place;
    reasons->texts[i] = reason;
    reasons->count++;
}

static void print_reasons(const struct reasons *reasons)
{
    if (reasons->count != 0)
        print("%sreasons%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN));
    for (uint32_t i = 0; i < reasons->count; i++) {
        char copy[4400];
        int width = print("  %s", short_places(reasons->places[i], copy, sizeof(copy)));

        if (width < REASON)
            print("%*s", REASON - width, "");
        else
            print("\n%*s", REASON, "");
        print_wrapped(REASON, REASON, short_places(reasons->texts[i], copy, sizeof(copy)));
    }
}

static void print_overridden(const struct accel_plan_setting *setting, struct reasons *reasons)
{
    for (uint32_t i = 0; i < setting->overridden_count; i++) {
        const struct accel_plan_overridden *row = &setting->overridden[i];
        char value[64], copy[400];

        print_wrapped(
            (uint32_t)print("%*sover %-9s ", PLACE - 10, "", value_text(row->value, row->unit, value, sizeof(value))),
            PLACE + 5, short_places(row->place, copy, sizeof(copy)));
        add_reason(reasons, row->place, row->reason);
    }
}

static bool is_shown(const struct accel_plan_setting *setting, const struct shown *shown)
{
    return shown->all || setting->origin != ACCEL_ORIGIN_BUILTIN || setting->overridden_count != 0;
}

static void print_settings(const struct accel_plan *plan, const struct shown *shown)
{
    struct reasons reasons = {.count = 0};
    uint32_t count = accel_plan_setting_count(plan);
    uint32_t listed = 0;

    for (uint32_t i = 0; i < count; i++)
        listed += is_shown(accel_plan_setting_get(plan, i), shown);
    print("%ssettings%s   ", paint(PAINT_HEADING), paint(PAINT_PLAIN));
    if (listed == count)
        print("%u\n", count);
    else
        print("%u of %u; the others are as built in (--all lists them, --explain KEY prints the reason)\n", listed,
              count);
    for (uint32_t i = 0; i < count; i++) {
        const struct accel_plan_setting *s = accel_plan_setting_get(plan, i);
        char value[64], copy[400];

        if (!is_shown(s, shown))
            continue;
        print_wrapped((uint32_t)print("  %-25s %-9s ", s->key, value_text(s->value, s->unit, value, sizeof(value))),
                      PLACE, short_places(s->place, copy, sizeof(copy)));
        /* "built in" is the place of many settings. */
        add_reason(&reasons, s->origin == ACCEL_ORIGIN_BUILTIN ? s->key : s->place, s->reason);
        if (shown->overridden)
            print_overridden(s, &reasons);
    }
    print_reasons(&reasons);
}

static void print_memory(const struct accel_plan *plan)
{
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    char bytes[32], origin[300];

    print("%smemory%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN));
    for (uint32_t i = 0; i < accel_plan_memory_count(plan); i++) {
        const struct accel_plan_memory *m = accel_plan_memory_get(plan, i);

        print_wrapped((uint32_t)print("  %-20s %10s  ", m->name, bytes_text(m->bytes, bytes)), DETAIL, m->origin);
    }
    if (accel_plan_fit(plan, &fit, NULL) != ACCEL_OK)
        return;
    print("  %-20s %10s\n", "in all", bytes_text(fit.needed, bytes));
    print_wrapped((uint32_t)print("  %-20s %10s  ", "budget", fit.budget == 0 ? "none" : bytes_text(fit.budget, bytes)),
                  DETAIL, short_places(fit.budget_origin, origin, sizeof(origin)));
}

/* Returns the first value of the user that a run refuses, or NULL. */
static const struct accel_plan_unhonored *find_refused(const struct accel_plan *plan)
{
    for (uint32_t i = 0; i < accel_plan_unhonored_count(plan); i++)
        if (accel_plan_unhonored_get(plan, i)->outcome == ACCEL_UNHONORED_REFUSED)
            return accel_plan_unhonored_get(plan, i);
    return NULL;
}

uint32_t does_not_run(const struct opened *opened, struct accel_error *why)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const struct accel_plan_unhonored *row = find_refused(plan);
    struct accel_error reason = {0};
    struct accel_session *session;

    /* A model that no driver runs is planned for any platform, and runs on none. */
    if (accel_model_description_runs(accel_model_plan_description(opened->made), &reason) == ACCEL_E_UNSUPPORTED ||
        (accel_model_plan_session(opened->made, &session, &reason) == ACCEL_E_UNSUPPORTED &&
         accel_plan_device(plan) != NULL && accel_context_recording(opened->context) == NULL)) {
        if (why != NULL)
            *why = reason;
        return 1;
    }
    if (row == NULL)
        return 0;
    if (why != NULL) {
        *why = (struct accel_error){.code = ACCEL_E_UNSUPPORTED, .origin = ACCEL_FROM_SETTING};
        snprintf(why->text, sizeof(why->text), "a run refuses %s=%s: %s", row->key, row->value, row->reason);
        snprintf(why->remedy, sizeof(why->remedy), "leave %s out", row->key);
    }
    return 1;
}

/* Explains why the plan is an estimate by formula. */
static void print_reason(const char *heading, const struct accel_error *error)
{
    char copy[600];

    print_wrapped((uint32_t)print("%-*s", HEAD, heading), HEAD, short_places(error->text, copy, sizeof(copy)));
    if (error->remedy[0] != '\0')
        print_wrapped((uint32_t)print("%*sremedy: ", HEAD, ""), HEAD, error->remedy);
}

/* Prints the verdict in a word and returns its width. A memory budget that is not known has a word of its own. */
static uint32_t print_word(const struct accel_plan_fit *fit, uint32_t refused)
{
    const char *word = refused            ? "DOES NOT RUN"
                       : !fit->fits       ? "DOES NOT FIT"
                       : fit->budget == 0 ? "NO LIMIT KNOWN"
                                          : "FITS";

    return (uint32_t)print("verdict    %s%s%s ", paint(fit->fits && !refused ? PAINT_GOOD : PAINT_BAD), word,
                           paint(PAINT_PLAIN)) -
           (uint32_t)(strlen(paint(PAINT_GOOD)) + strlen(paint(PAINT_PLAIN)));
}

/* Prints the remedy of a plan that no change makes fit: its budget, if a setting is that, or hardware. */
static void print_larger(const struct accel_plan *plan, const struct accel_plan_fit *fit)
{
    static const char *const keys[] = {"memory.budget", "memory.device"};
    char line[300] = "no change below is enough: a smaller model, or a device with more memory";

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const struct accel_plan_setting *setting = accel_plan_setting_find(plan, keys[i]);

        if (strtoull(setting->value, NULL, 10) == fit->budget)
            snprintf(line, sizeof(line),
                     "no change below is enough: --set %s=%" PRIu64 "MiB with the settings below, if there is as much "
                     "memory, or a smaller model",
                     keys[i], (fit->needed + 1048575) / 1048576);
        else if (setting->word != ACCEL_WORD_AUTO)
            snprintf(line, sizeof(line),
                     "no change below is enough: a larger %s, a smaller model, or a device with more memory", keys[i]);
    }
    print_wrapped((uint32_t)print("%*sremedy: ", HEAD, ""), HEAD, line);
}

/* Writes what a plan needs, and of which budget; with more decimals if two sizes that differ have the same text
 * otherwise. */
static void write_sizes(const struct accel_plan_fit *fit, char text[80])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    char needed[32], budget[32];
    uint32_t unit = 0;

    bytes_text(fit->needed, needed);
    bytes_text(fit->budget, budget);
    while (unit < 4 && fit->budget >> 10 * (unit + 1) != 0)
        unit++;
    for (int digits = 3; digits < 16 && fit->needed != fit->budget && strcmp(needed, budget) == 0; digits++) {
        snprintf(needed, sizeof(needed), "%.*f %s", digits, ldexp((double)fit->needed, -10 * (int)unit), units[unit]);
        snprintf(budget, sizeof(budget), "%.*f %s", digits, ldexp((double)fit->budget, -10 * (int)unit), units[unit]);
    }
    snprintf(text, 80, "%s%s%s", needed, fit->budget == 0 ? "" : " of ", fit->budget == 0 ? "" : budget);
}

/* Names the device of this machine that a plan for another one counts with. */
static void print_local_share(const struct opened *opened)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const char *name = accel_plan_device(plan) == NULL ? local_device(opened->context, plan) : NULL;
    char line[400];

    if (name == NULL)
        return;
    snprintf(line, sizeof(line), "%s and its memory are those of this machine, not of the one that is planned for",
             name);
    print_wrapped((uint32_t)print("%*s", HEAD, ""), HEAD, line);
}

void print_verdict(const struct opened *opened, uint32_t is_tried)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    struct accel_error why = {0};
    struct accel_session *session;
    char sizes[80], lack[32], short_by[48] = "", origin[300], all[1200], devices[300], line[1000];
    uint32_t refused = does_not_run(opened, &why);

    shorten_devices(devices_text(plan, all, sizeof(all)), devices, sizeof(devices));
    if (accel_plan_fit(plan, &fit, NULL) != ACCEL_OK) {
        /* The driver refused the device, its options or the graph before it stated any memory. */
        print_word(&fit, 1);
        print("on %s\n", devices);
        if (why.code == ACCEL_OK)
            accel_model_plan_session(opened->made, &session, &why);
        print_reason("because", &why);
        return;
    }
    write_sizes(&fit, sizes);
    if (!fit.fits)
        snprintf(short_by, sizeof(short_by), ", short by %s%s", bytes_text(fit.short_by, lack),
                 accel_plan_fit_is_of_one(&fit) ? " on one device" : "");
    snprintf(line, sizeof(line), "on %s: %s %s (%s)%s", devices, refused ? "it would need" : "needs", sizes,
             short_places(fit.budget_origin, origin, sizeof(origin)), short_by);
    print_wrapped(print_word(&fit, refused), HEAD, line);
    print_local_share(opened);
    if (!fit.fits && is_tried)
        print_larger(plan, &fit);
    else if (!fit.fits && opened->command != NULL)
        print("%*sremedy: %s --fit\n", HEAD, "", clean_text(opened->command, all, sizeof(all)));
    if (refused)
        print_reason("because", &why);
    else if (accel_model_plan_session(opened->made, &session, &why) != ACCEL_OK) {
        /* The remedy is left out if the plan is for a platform that was named although it has no device here. */
        if (accel_plan_device(plan) == NULL)
            why.remedy[0] = '\0';
        print_reason("by formula", &why);
        if (accel_context_recording(opened->context) != NULL)
            print_wrapped((uint32_t)print("%*s", HEAD, ""), HEAD,
                          "its driver is not asked: weights that it packs are not counted, and intermediates share no "
                          "memory, so a plan on that machine has other numbers");
    }
}

/* Prints kernels with the number of nodes that each runs on a device, in the order in which they first occur. */
static void print_kernels(const struct accel_plan *plan)
{
    uint32_t count = accel_plan_node_count(plan);

    print("%skernels%s    %u nodes, %u fallback%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN), count,
          count_fallbacks(plan), count_fallbacks(plan) == 1 ? "" : "s");
    for (uint32_t i = 0; i < count; i++) {
        const struct accel_plan_node *node = accel_plan_node_get(plan, i);
        uint32_t same = 0;
        uint32_t seen = 0;

        for (uint32_t j = 0; j < count; j++) {
            const struct accel_plan_node *other = accel_plan_node_get(plan, j);
            bool equal = strcmp(other->kernel, node->kernel) == 0 && strcmp(other->device, node->device) == 0;

            seen |= equal && j < i;
            same += equal;
        }
        if (!seen)
            print("  %-24s %4u %s  %s, %s\n", node->kernel, same, same == 1 ? "node " : "nodes", node->device,
                  answer_name(node->answer));
    }
}

static void print_nodes(const struct accel_plan *plan)
{
    print("%snodes%s%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN),
          accel_plan_node_count(plan) == 0 ? "      none: a plan by formula builds no graph" : "");
    for (uint32_t i = 0; i < accel_plan_node_count(plan); i++) {
        const struct accel_plan_node *n = accel_plan_node_get(plan, i);

        print("  %-28s %-12s %-12s %-22s %s%s%s\n", n->name, n->op, n->device, n->kernel, answer_name(n->answer),
              n->reason[0] == '\0' ? "" : ": ", n->reason);
    }
}

/* Prints groups of cores, unless the list of processors is enough. */
static void print_cores(const struct accel_plan *plan)
{
    const struct accel_plan_cores *first = accel_plan_cores_get(plan, 0);
    uint32_t count = accel_plan_cores_count(plan), nodes = 0, kinds = 0;

    if (count == 0 || (count == 1 && first->idle[0] == '\0'))
        return;
    for (uint32_t i = 0; i < count; i++) {
        const struct accel_plan_cores *g = accel_plan_cores_get(plan, i);

        nodes |= g->threads != 0 && g->node != first->node;
        kinds |= g->threads != 0 && strcmp(g->kind, first->kind) != 0;
        print("  package %" PRIu32, g->package);
        if (g->node >= 0)
            print(", memory node %" PRId32, g->node);
        print("%s%s: %" PRIu32 " thread%s on %" PRIu32 " core%s", g->kind[0] == '\0' ? "" : ", ", g->kind, g->threads,
              g->threads == 1 ? "" : "s", g->cores, g->cores == 1 ? "" : "s");
        print("%s%s%s%s\n", g->threads == 0 ? "" : ", processors ", g->processors,
              g->idle[0] == '\0' ? "" : "; left free: ", g->idle);
    }
    if (kinds)
        print("  threads fetch parts of an operator as they come: those on slower cores do fewer\n");
    if (nodes)
        print("  pages of weights lie on the memory node whose thread touches them first\n");
}

static void print_threads(const struct accel_plan *plan)
{
    uint32_t threads = 0;
    uint32_t pinned = accel_plan_processor(plan, 0, &threads) >= 0;
    const struct accel_device_info *device = accel_plan_device(plan);

    if (device != NULL && device->facts->limits->threads == 0) {
        print("threads    none of this process: %s has queues of its own\n", device->name);
        return;
    }
    print("threads    %u, %s", threads, pinned ? "pinned to processors" : "not pinned");
    for (uint32_t r = 0; pinned && r < threads; r++)
        print("%s%" PRId32, r == 0 ? " " : ", ", accel_plan_processor(plan, r, &threads));
    print("\n");
    print_cores(plan);
}

/* Prints the folder of the profiles, which the origins of settings leave out. */
static void print_folder(const struct accel_plan *plan)
{
    for (uint32_t i = 0; i < accel_plan_setting_count(plan); i++) {
        const struct accel_plan_setting *s = accel_plan_setting_get(plan, i);
        const char *slash = strrchr(s->place, '/');
        char folder[1024];
        char *real;

        if (s->origin != ACCEL_ORIGIN_PROFILE || slash == NULL)
            continue;
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - s->place), s->place);
        real = realpath(folder, NULL);
        print("profiles   %s\n", real == NULL ? folder : real);
        free(real);
        return;
    }
}

static void print_platform(const struct accel_plan *plan)
{
    const char *name = plan_fact(plan, "device.name"), *count = plan_fact(plan, "device.count"),
               *list = plan_fact(plan, "device.list");
    char line[400] = "";

    if (list != NULL)
        snprintf(line, sizeof(line), ", %.300s", list);
    else if (name != NULL)
        snprintf(line, sizeof(line), ", %.8s x %.200s", count == NULL ? "1" : count, name);
    print("platform   %s%s, of which no device is here\n", accel_plan_platform(plan), line);
}

void print_device_line(const struct opened *opened)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const struct accel_device_info *device = accel_plan_device(plan);
    const struct accel_plugin_info *plugin;
    uint32_t threads = 0;

    if (device == NULL) {
        print_platform(plan);
        return;
    }
    plugin = accel_plugin_get(opened->context, device->plugin);
    print("device     %s, %s, driver %s %s", device->name, device->facts->name, device->driver,
          plugin == NULL ? "" : plugin->version);
    accel_plan_processor(plan, 0, &threads);
    if (device->facts->limits->threads != 0)
        print(", %u thread%s", threads, threads == 1 ? "" : "s");
    print("\n");
}

static void print_device(const struct opened *opened)
{
    print_device_line(opened);
    if (accel_plan_device(accel_model_plan_plan(opened->made)) != NULL)
        print_threads(accel_model_plan_plan(opened->made));
}

static void print_sections(const struct accel_plan *plan, const struct shown *shown)
{
    if (shown->reasons || shown->overridden)
        print_settings(plan, shown);
    if (shown->reasons)
        print_unhonored_reasons(plan);
    if (shown->parts)
        print_parts(plan);
    if (shown->layers)
        print_layers(plan);
    if (shown->nodes)
        print_nodes(plan);
}

static void print_whole_plan(const struct opened *opened, const struct shown *shown)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    uint32_t exact = accel_model_plan_exact(opened->made);

    print_verdict(opened, 0);
    print_lowered_type(opened);
    print_model(opened);
    print_device(opened);
    print_idle_devices(opened);
    print_folder(plan);
    if (!does_not_run(opened, NULL))
        print_speed(plan, 1);
    if (!exact || converts_weights(plan))
        print_types(plan);
    print_facts(plan);
    print_settings(plan, shown);
    print_later(plan, 0);
    print_parts(plan);
    if (shown->layers || count_devices(plan) > 1)
        print_layers(plan);
    print_memory(plan);
    if (exact)
        print_kernels(plan);
    if (shown->nodes)
        print_nodes(plan);
    print_notes(plan);
}

void print_plan(const struct opened *opened, const struct shown *shown)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);

    if (shown->all) {
        print_whole_plan(opened, shown);
        return;
    }
    print_brief(opened);
    print_sections(plan, shown);
    if (!shown->reasons && !shown->overridden && !shown->parts && !shown->layers && !shown->nodes)
        print("more       --reasons: settings and why; --all: everything\n");
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
