/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the sections of a plan that come from formulas, profiles and earlier runs. */
#include "config.h"

#include "tools/accelctl/print/more.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/format.h>

#include "tools/accelctl/output.h"
#include "tools/accelctl/print/brief.h"
#include "tools/accelctl/print/plan.h"
#include "tools/accelctl/print/where.h"

/* Columns where the origins of facts, and the reasons of rows, begin. */
enum { ORIGIN = 42, REASON = 54 };

/* ---- the model ---- */

static const char *fact_of(const struct accel_model_description *model, const char *key)
{
    return accel_model_description_fact(model, key);
}

/* Appends a fact such as "32 layers, " if it is known. */
static void add_fact(char *line, size_t bytes, const struct accel_model_description *model, const char *key,
                     const char *format)
{
    const char *value = fact_of(model, key);
    size_t used = strlen(line);

    if (value == NULL)
        return;
    snprintf(line + used, bytes - used, "%s", used == 0 ? "" : ", ");
    used = strlen(line);
    snprintf(line + used, bytes - used, format, value);
}

const char *count_text(const char *number, char text[32])
{
    double value = number == NULL ? 0 : strtod(number, NULL) / 1e6;

    if (value < 999.5)
        snprintf(text, 32, "%.*f million", value < 10 ? 2 : value < 100 ? 1 : 0, value);
    else
        snprintf(text, 32, "%.*f billion", value < 10000 ? 2 : 1, value / 1000);
    return text;
}

const char *model_types(const struct opened *opened)
{
    return opened->model == NULL ? fact_of(accel_model_plan_description(opened->made), "model.weights")
                                 : accel_model_facts_of(opened->model)->types;
}

void print_model(const struct opened *opened)
{
    const struct accel_model_description *model = accel_model_plan_description(opened->made);
    const char *family = fact_of(model, "model.family"), *name = fact_of(model, "model.name");
    const char *weight_bytes = fact_of(model, "model.weight_bytes");
    const char *types = model_types(opened);
    const char *path = accel_model_description_path(model);
    bool described = name != NULL && strcmp(name, path) != 0;
    char line[500] = "", text[32];

    print("model      %s%s%s\n", path, described ? ", described as " : "", described ? name : "");
    add_fact(line, sizeof(line), model, "model.layers", "%.12s layers");
    add_fact(line, sizeof(line), model, "model.hidden", "hidden %.12s");
    add_fact(line, sizeof(line), model, "model.ffn", "ffn %.12s");
    add_fact(line, sizeof(line), model, "model.heads", "%.12s heads");
    add_fact(line, sizeof(line), model, "model.kv_heads", "%.12s KV heads");
    add_fact(line, sizeof(line), model, "model.head_size", "head size %.12s");
    add_fact(line, sizeof(line), model, "model.vocabulary", "vocabulary %.12s");
    add_fact(line, sizeof(line), model, "model.context", "context %.12s");
    print_wrapped((uint32_t)print("%*s%s: ", HEAD, "", family == NULL ? "unknown family" : family), HEAD, line);
    print("%*s%s parameters", HEAD, "", count_text(fact_of(model, "model.parameters"), text));
    if (weight_bytes != NULL)
        print(", %s", bytes_text(strtoull(weight_bytes, NULL, 10), text));
    print("%s%s\n", types == NULL ? "" : " in ", types == NULL ? "" : types);
}

/* ---- facts ---- */

void print_facts(const struct accel_plan *plan)
{
    print("%sfacts%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN));
    for (uint32_t i = 0; i < accel_plan_fact_count(plan); i++) {
        const struct accel_named_value *fact = accel_plan_fact_get(plan, i);
        char copy[400];

        print_wrapped((uint32_t)print("  %-20s %-18s ", fact->key, fact->value), ORIGIN,
                      short_places(fact->origin, copy, sizeof(copy)));
    }
}

/* ---- weights and layers ---- */

void print_parts(const struct accel_plan *plan)
{
    print("%sparts%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN));
    for (uint32_t i = 0; i < accel_plan_part_count(plan); i++) {
        const struct accel_plan_part *part = accel_plan_part_get(plan, i);
        char bytes[32], copy[400], text[1000];

        snprintf(text, sizeof(text), "%s%s%s", short_places(part->place, copy, sizeof(copy)),
                 part->reason[0] == '\0' ? "" : ": ", part->reason);
        print_wrapped((uint32_t)print("  %-9s %-12s %4u %-9s %10s %6.3f b ", part->component, part->role, part->count,
                                      part->type_name, bytes_text(part->bytes, bytes), part->bits_per_weight),
                      REASON + 5, text);
    }
}

uint32_t converts_weights(const struct accel_plan *plan)
{
    for (uint32_t i = 0; i < accel_plan_weight_count(plan); i++)
        if (accel_plan_weight_get(plan, i)->converted)
            return 1;
    return 0;
}

uint32_t count_rounded_again(const struct accel_plan *plan)
{
    struct accel_format format;
    uint32_t count = 0;

    for (uint32_t i = 0; i < accel_plan_weight_count(plan); i++) {
        const struct accel_plan_weight *weight = accel_plan_weight_get(plan, i);

        count += weight->converted && accel_format_describe(weight->file_type, &format) == ACCEL_OK &&
                 format.kind != ACCEL_FORMAT_SCALAR;
    }
    return count;
}

const char *types_text(const struct accel_plan *plan, char *line, size_t size)
{
    uint32_t count = accel_plan_part_count(plan);

    line[0] = '\0';

    for (uint32_t i = 0; i < count; i++) {
        const struct accel_plan_part *part = accel_plan_part_get(plan, i);
        uint64_t bytes = 0;
        uint32_t weights = 0, seen = 0;
        size_t used = strlen(line);
        char text[32];

        for (uint32_t j = 0; j < count; j++) {
            const struct accel_plan_part *other = accel_plan_part_get(plan, j);
            bool equal = strcmp(part->type_name, other->type_name) == 0;

            seen |= equal && j < i;
            bytes += equal ? other->bytes : 0;
            weights += equal ? other->count : 0;
        }
        if (!seen)
            snprintf(line + used, size - used, "%s%s %s (%u)", used == 0 ? "" : ", ", part->type_name,
                     bytes_text(bytes, text), weights);
    }
    return line;
}

void print_types(const struct accel_plan *plan)
{
    char line[600];

    if (accel_plan_part_count(plan) != 0)
        print_wrapped((uint32_t)print("weights    "), HEAD, types_text(plan, line, sizeof(line)));
}

void print_layers(const struct accel_plan *plan)
{
    print("%slayers%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN));
    for (uint32_t i = 0; i < accel_plan_layer_count(plan); i++) {
        const struct accel_plan_layer *layer = accel_plan_layer_get(plan, i);
        char range[40], weights[32], state[32];

        if (layer->first == ACCEL_NO_LAYER)
            snprintf(range, sizeof(range), "%s", tables_text(plan, i));
        else
            snprintf(range, sizeof(range), "%u-%u", layer->first, layer->last);
        print("  %-10s %-9s %-16s weights %10s, state %10s\n", layer->component, range, layer->device,
              bytes_text(layer->weight_bytes, weights), bytes_text(layer->state_bytes, state));
    }
}

/* ---- what else there is to know ---- */

/* Formats a value that is not honored: "not honored: KEY=VALUE, REASON (PLACE)". */
static const char *unhonored_text(const struct accel_plan_unhonored *row, char *text, size_t size)
{
    char value[64], reason[600], copy[400];

    snprintf(text, size, "%s: %s=%s, %s (%s)",
             row->outcome == ACCEL_UNHONORED_REFUSED ? "refused by a run" : "not honored", row->key,
             value_text(row->value, row->unit, value, sizeof(value)), short_places(row->reason, reason, sizeof(reason)),
             short_places(row->place, copy, sizeof(copy)));
    return text;
}

void print_unhonored_reasons(const struct accel_plan *plan)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < accel_plan_unhonored_count(plan); i++) {
        const struct accel_plan_unhonored *row = accel_plan_unhonored_get(plan, i);
        char value[64], place[400], reason[600], text[1600];

        if (row->outcome == ACCEL_UNHONORED_LATER)
            continue;
        if (count++ == 0)
            print("%snot honored%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN));
        snprintf(text, sizeof(text), "%s%s (%s%s%s)",
                 row->outcome == ACCEL_UNHONORED_REFUSED ? "refused by a run: " : "",
                 short_places(row->reason, reason, sizeof(reason)), short_places(row->place, place, sizeof(place)),
                 row->value_reason[0] == '\0' ? "" : ": ", row->value_reason);
        print_wrapped((uint32_t)print("  %s=%s  ", row->key, value_text(row->value, row->unit, value, sizeof(value))),
                      23, text);
    }
}

void print_later(const struct accel_plan *plan, uint32_t reasons)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < accel_plan_unhonored_count(plan); i++) {
        const struct accel_plan_unhonored *row = accel_plan_unhonored_get(plan, i);
        char value[64], copy[400], text[1600];

        if (row->outcome != ACCEL_UNHONORED_LATER)
            continue;
        if (count++ == 0)
            print("%slater%s      profiles keep these values; they are not in force\n", paint(PAINT_HEADING),
                  paint(PAINT_PLAIN));
        snprintf(text, sizeof(text), "later: %s (%s%s%s)", row->reason, short_places(row->place, copy, sizeof(copy)),
                 reasons && row->value_reason[0] != '\0' ? ": " : "", reasons ? row->value_reason : "");
        print_wrapped(
            (uint32_t)print("  %-25s %-9s ", row->key, value_text(row->value, row->unit, value, sizeof(value))), 38,
            text);
    }
}

void print_notes(const struct accel_plan *plan)
{
    uint32_t count = accel_plan_note_count(plan), unhonored = accel_plan_unhonored_count(plan), listed = 0;
    char copy[800], limited[DEVICE_REMEDY_BYTES];

    for (uint32_t i = 0; i < unhonored; i++)
        listed += accel_plan_unhonored_get(plan, i)->outcome != ACCEL_UNHONORED_LATER;
    if (count + listed != 0)
        print("%snotes%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN));
    for (uint32_t i = 0; i < count; i++) {
        const struct accel_plan_note *note = accel_plan_note_get(plan, i);
        const char *remedy = note_remedy(note, limited);

        print_wrapped((uint32_t)print("  %s", note->level == ACCEL_NOTE_WARN ? "! " : "- "), 4,
                      short_places(note->text, copy, sizeof(copy)));
        if (remedy[0] != '\0')
            print_wrapped((uint32_t)print("    remedy: "), 4, remedy);
    }
    for (uint32_t i = 0; i < unhonored; i++) {
        const struct accel_plan_unhonored *row = accel_plan_unhonored_get(plan, i);

        if (row->outcome == ACCEL_UNHONORED_LATER)
            continue;
        print_wrapped((uint32_t)print("  %s", row->outcome == ACCEL_UNHONORED_REFUSED ? "! " : "- "), 4,
                      unhonored_text(row, copy, sizeof(copy)));
    }
}

/* Prints how many bytes of the weights are mapped if the user requested all and a device packs or converts others. */
static void print_mapped(const struct accel_plan *plan)
{
    const struct accel_plan_setting *load = accel_plan_setting_find(plan, "weights.load");
    const uint64_t mapped = sum_classes(plan, ACCEL_MEMORY_MAPPED, ACCEL_MEMORY_MAPPED);
    const uint64_t bytes = sum_classes(plan, ACCEL_MEMORY_WEIGHTS, ACCEL_MEMORY_MAPPED);
    char part[32], whole[32], place[400];

    if (load != NULL && strcmp(load->value, "map") == 0 && load->origin == ACCEL_ORIGIN_GIVEN && mapped < bytes)
        fprintf(error_output(),
                "note       weights.load=map: %s of %s are used where the file is mapped, the rest is packed or "
                "converted (%s)\n",
                bytes_text(mapped, part), bytes_text(bytes, whole), short_places(load->place, place, sizeof(place)));
}

void print_unhonored(const struct accel_plan *plan)
{
    char text[800];

    for (uint32_t i = 0; i < accel_plan_unhonored_count(plan); i++)
        if (accel_plan_unhonored_get(plan, i)->outcome != ACCEL_UNHONORED_LATER)
            fprintf(error_output(), "note       %s\n",
                    unhonored_text(accel_plan_unhonored_get(plan, i), text, sizeof(text)));
    print_mapped(plan);
}

json_t *unhonored_json(const struct opened *opened)
{
    json_t *document = plan_json(opened, NULL);
    json_t *rows = json_incref(json_object_get(document, "not_honored"));

    json_decref(document);
    return rows == NULL ? json_array() : rows;
}

/* Formats a number with three significant figures. */
static const char *number_text(double value, char text[32])
{
    if (value < 0.0995)
        snprintf(text, 32, "%.2g", value);
    else
        snprintf(text, 32, "%.*f", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
    return text;
}

/* Translates the name of a rate: "written" is decode. */
static const char *speed_name(const char *name)
{
    return strcmp(name, "written") == 0 ? "decode" : name;
}

static void print_past(const struct accel_plan *plan)
{
    struct accel_plan_past past = {.size = sizeof(past)};
    char planned[32], allocated[32];

    if (accel_plan_past(plan, &past, NULL) == ACCEL_OK && past.runs != 0)
        print("past       planned %s, allocated %s (%+.1f %%); the worst of %u %+.1f %%\n",
              bytes_text(past.planned, planned), bytes_text(past.measured, allocated), 100 * past.last, past.runs,
              100 * past.worst);
}

/* Returns whether a fact is from the command line. */
static bool is_given(const struct accel_plan *plan, const char *key)
{
    for (uint32_t i = 0; i < accel_plan_fact_count(plan); i++)
        if (strcmp(accel_plan_fact_get(plan, i)->key, key) == 0)
            return strncmp(accel_plan_fact_get(plan, i)->origin, "command line", strlen("command line")) == 0;
    return false;
}

/* Prints that the bandwidth of a described device is that of one with other memory. */
static void print_bandwidth(const struct accel_plan *plan)
{
    if (accel_plan_device(plan) == NULL && plan_fact(plan, "device.bandwidth") != NULL &&
        is_given(plan, "device.memory") && !is_given(plan, "device.bandwidth"))
        print_wrapped((uint32_t)print("%*s", HEAD, ""), HEAD,
                      "device.bandwidth is that of the profile, whose device has other memory, and may be a slower "
                      "one: --set device.bandwidth=SIZE");
}

void print_speed(const struct accel_plan *plan, uint32_t all)
{
    const int64_t sequences = accel_plan_setting_find(plan, "sequences")->number;

    for (uint32_t i = 0; i < accel_plan_speed_count(plan); i++) {
        const struct accel_plan_speed *speed = accel_plan_speed_get(plan, i);
        char bytes[32], range[120] = "not known", origin[500], line[700], low[32], high[32];

        if (speed->lower > 0 && strcmp(number_text(speed->lower, low), number_text(speed->upper, high)) != 0)
            snprintf(range, sizeof(range), "%s to %s tokens/s", number_text(speed->lower, low),
                     number_text(speed->upper, high));
        else if (speed->upper > 0)
            snprintf(range, sizeof(range), "%s%s tokens/s", speed->lower > 0 ? "" : "at most ",
                     number_text(speed->upper, high));
        /* The step of a decode speed reads the cache of one sequence. */
        if (sequences > 1 && speed->upper > 0 && strcmp(speed->name, "written") == 0)
            strcat(range, " for one sequence");
        short_places(speed->origin, origin, sizeof(origin));
        if (accel_plan_device(plan) == NULL && plan_fact(plan, "device.bandwidth") == NULL && speed->upper <= 0)
            snprintf(origin, sizeof(origin), "no bandwidth is stated: --set device.bandwidth=SIZE");
        if (all)
            snprintf(line, sizeof(line), "%s, %s a step (%s)", range, bytes_text(speed->step_bytes, bytes), origin);
        else
            snprintf(line, sizeof(line), "%s (%s)", range, origin);
        print_wrapped((uint32_t)print("%-*s%s ", HEAD, i == 0 ? "speed" : "", speed_name(speed->name)), HEAD, line);
    }
    print_bandwidth(plan);
    if (all)
        print_past(plan);
}
