/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/print_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns where the words of the head, and what is said of settings and memory, begin. */
enum { HEAD = 11, DETAIL = 34 };

static const char *origin_name(uint32_t origin)
{
    static const char *const names[] = {"?",       "measured", "estimated", "claimed",
                                        "profile", "file",     "given",     "built in"};

    return origin < 8 ? names[origin] : "?";
}

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

static void print_model(const struct accel_model *model)
{
    const struct accel_model_facts *f = accel_model_facts_of(model);
    char bytes[32], line[400];
    double millions = (double)f->parameters / 1e6;

    printf("model      %s\n", accel_model_file_path(accel_model_file_of(model)));
    snprintf(
        line, sizeof line, "%s: %u layers, hidden %u, ffn %u, %u heads (%u for keys) of %u, vocabulary %u, context %u",
        f->architecture, f->layers, f->hidden, f->ffn, f->heads, f->kv_heads, f->head_size, f->vocabulary, f->context);
    print_wrapped((uint32_t)printf("%*s", HEAD, ""), HEAD, line);
    printf("%*s%.*f million parameters, %s in %s\n", HEAD, "",
           millions < 10    ? 2
           : millions < 100 ? 1
                            : 0,
           millions, bytes_text(f->weight_bytes, bytes), f->types);
}

/* Values that a setting overruled: one per line in, one per line out. */
static void print_losers(const char *losers)
{
    char line[1200], copy[1200];

    while (*losers != '\0') {
        size_t length = strcspn(losers, "\n");

        snprintf(line, sizeof line, "%.*s", (int)length, losers);
        print_wrapped((uint32_t)printf("%*sover ", DETAIL, ""), DETAIL + 5, short_places(line, copy, sizeof copy));
        losers += length + (losers[length] == '\n');
    }
}

static void print_settings(const struct accel_plan *plan, uint32_t losers)
{
    printf("%ssettings%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN));
    for (uint32_t i = 0; i < accel_plan_setting_count(plan); i++) {
        const struct accel_plan_setting *s = accel_plan_setting_get(plan, i);
        char value[64], place[400], text[1200];

        snprintf(value, sizeof value, "%s%s%s", s->value, s->unit[0] == '\0' ? "" : " ", s->unit);
        snprintf(text, sizeof text, "%s%s%s", short_places(s->place, place, sizeof place),
                 s->because[0] == '\0' ? "" : ": ", s->because);
        print_wrapped((uint32_t)printf("  %-20s %-10s ", s->key, value), DETAIL, text);
        if (losers)
            print_losers(s->losers);
    }
}

static void print_memory(const struct accel_plan *plan)
{
    struct accel_plan_fit fit = {.size = sizeof fit};
    char bytes[32];

    printf("%smemory%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN));
    for (uint32_t i = 0; i < accel_plan_memory_count(plan); i++) {
        const struct accel_plan_memory *m = accel_plan_memory_get(plan, i);

        print_wrapped((uint32_t)printf("  %-20s %10s  ", m->name, bytes_text(m->bytes, bytes)), DETAIL + 2, m->origin);
    }
    if (accel_plan_fit(plan, &fit, NULL) != ACCEL_OK)
        return;
    printf("  %-20s %10s\n", "in all", bytes_text(fit.needed, bytes));
    if (fit.budget == 0)
        printf("  %-20s %10s  %s\n", "budget", "none", fit.budget_origin);
    else
        print_wrapped((uint32_t)printf("  %-20s %10s  ", "budget", bytes_text(fit.budget, bytes)), DETAIL + 2,
                      fit.budget_origin);
    if (fit.fits)
        printf("verdict    %sFITS%s\n", paint(PAINT_GOOD), paint(PAINT_PLAIN));
    else
        printf("verdict    %sDOES NOT FIT%s: short by %s\n", paint(PAINT_BAD), paint(PAINT_PLAIN),
               bytes_text(fit.short_by, bytes));
}

/* Kernels with the number of nodes that each runs, in the order in which they first occur. */
static void print_kernels(const struct accel_plan *plan)
{
    uint32_t count = accel_plan_node_count(plan);

    printf("%splacement%s  %u nodes, %u fallbacks\n", paint(PAINT_HEADING), paint(PAINT_PLAIN), count,
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

void print_plan(const struct opened *opened, uint32_t nodes, uint32_t losers)
{
    const struct accel_plan *plan = accel_session_plan(opened->session);
    const struct accel_device_info *device = accel_plan_device(plan);

    print_model(opened->model);
    if (device != NULL)
        printf("device     %s, %s\n", device->name, device->facts->name);
    print_threads(plan);
    print_folder(plan);
    print_settings(plan, losers);
    print_kernels(plan);
    if (nodes)
        print_nodes(plan);
    print_memory(plan);
}

static json_t *settings_json(const struct accel_plan *plan)
{
    json_t *settings = json_object();

    for (uint32_t i = 0; i < accel_plan_setting_count(plan); i++) {
        const struct accel_plan_setting *s = accel_plan_setting_get(plan, i);

        json_object_set_new(settings, s->key,
                            json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:s}}", "value", s->value, "unit", s->unit,
                                      "origin", "kind", origin_name(s->origin), "place", s->place, "because",
                                      s->because, "losers", s->losers));
    }
    return settings;
}

static json_t *memory_json(const struct accel_plan *plan)
{
    json_t *rows = json_array();
    struct accel_plan_fit fit = {.size = sizeof fit};

    for (uint32_t i = 0; i < accel_plan_memory_count(plan); i++) {
        const struct accel_plan_memory *m = accel_plan_memory_get(plan, i);

        json_array_append_new(rows, json_pack("{s:s, s:I, s:I, s:s}", "class", m->name, "bytes", (json_int_t)m->bytes,
                                              "lower", (json_int_t)m->lower, "origin", m->origin));
    }
    if (accel_plan_fit(plan, &fit, NULL) != ACCEL_OK)
        return json_pack("{s:o}", "classes", rows);
    return json_pack("{s:o, s:b, s:I, s:I, s:I, s:s}", "classes", rows, "fits", fit.fits != 0, "needed",
                     (json_int_t)fit.needed, "budget", (json_int_t)fit.budget, "short_by", (json_int_t)fit.short_by,
                     "budget_origin", fit.budget_origin);
}

static json_t *nodes_json(const struct accel_plan *plan)
{
    json_t *nodes = json_array();

    for (uint32_t i = 0; i < accel_plan_node_count(plan); i++) {
        const struct accel_plan_node *n = accel_plan_node_get(plan, i);

        json_array_append_new(nodes, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:f}", "name", n->name, "op", n->op,
                                               "device", n->device, "kernel", n->kernel, "answer",
                                               answer_name(n->answer), "reason", n->reason, "tolerance", n->tolerance));
    }
    return nodes;
}

static json_t *model_json(const struct accel_model *model)
{
    const struct accel_model_facts *f = accel_model_facts_of(model);

    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:I}", "path",
                     accel_model_file_path(accel_model_file_of(model)), "architecture", f->architecture, "types",
                     f->types, "layers", (int)f->layers, "hidden", (int)f->hidden, "ffn", (int)f->ffn, "heads",
                     (int)f->heads, "kv_heads", (int)f->kv_heads, "head_size", (int)f->head_size, "vocabulary",
                     (int)f->vocabulary, "context", (int)f->context, "parameters", (json_int_t)f->parameters,
                     "weight_bytes", (json_int_t)f->weight_bytes);
}

json_t *plan_json(const struct opened *opened)
{
    const struct accel_plan *plan = accel_session_plan(opened->session);
    const struct accel_device_info *device = accel_plan_device(plan);
    json_t *processors = json_array();
    uint32_t ranks = 1;

    for (uint32_t r = 0; r < ranks; r++)
        json_array_append_new(processors, json_integer(accel_plan_processor(plan, r, &ranks)));
    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:i}", "model", model_json(opened->model), "device",
                     device == NULL ? "" : device->name, "processors", processors, "settings", settings_json(plan),
                     "memory", memory_json(plan), "nodes", nodes_json(plan), "fallbacks", (int)count_fallbacks(plan));
}
