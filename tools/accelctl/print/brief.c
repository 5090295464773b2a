/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/print/brief.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/print/idle.h"
#include "tools/accelctl/print/more.h"
#include "tools/accelctl/print/plan.h"
#include "tools/accelctl/print/where.h"

/* Column where the texts of memory rows begin; devices with a row of their own. */
enum { DETAIL = HEAD + 28, DEVICE_ROWS = 3 };

/* ---- model, device, context ---- */

static const char *fact_of(const struct opened *opened, const char *key)
{
    return accel_model_description_fact(accel_model_plan_description(opened->made), key);
}

static uint64_t fact_number(const struct opened *opened, const char *key)
{
    const char *value = fact_of(opened, key);

    return value == NULL ? 0 : strtoull(value, NULL, 10);
}

/* Returns the largest part whose type a recommended weights.type lowered from the file's, or from the 16 bits of a
 * model without a file; NULL: none. */
static const struct accel_plan_part *find_lowered(const struct accel_plan *plan)
{
    const struct accel_plan_part *largest = NULL;
    const char *place = accel_plan_setting_find(plan, "weights.type")->place;

    if (!accel_plan_is_recommended(plan, "weights.type"))
        return NULL;
    for (uint32_t i = 0; i < accel_plan_part_count(plan); i++) {
        const struct accel_plan_part *part = accel_plan_part_get(plan, i);
        bool is_own =
            part->file_type[0] == '\0' ? part->bits_per_weight >= 16 : strcmp(part->file_type, part->type_name) == 0;

        if (!is_own && strcmp(part->place, place) == 0 && (largest == NULL || part->bytes > largest->bytes))
            largest = part;
    }
    return largest;
}

bool lowers_type(const struct accel_plan *plan)
{
    return find_lowered(plan) != NULL;
}

void print_lowered_type(const struct opened *opened)
{
    const struct accel_plan_part *part = find_lowered(accel_model_plan_plan(opened->made));
    char line[600], place[300];

    if (part == NULL)
        return;
    snprintf(line, sizeof(line), "%s by %s; --set weights.type=auto keeps the model's own type", part->type_name,
             short_places(part->place, place, sizeof(place)));
    print_wrapped((uint32_t)print("%-*s", HEAD, "weights"), HEAD, line);
}

static void print_model_line(const struct opened *opened)
{
    const char *family = fact_of(opened, "model.family"), *layers = fact_of(opened, "model.layers");
    const char *bytes = fact_of(opened, "model.weight_bytes"), *types = model_types(opened);
    char line[400], count[32], size[32];
    int used = snprintf(line, sizeof(line), "%s", family == NULL ? "unknown family" : family);

    if (layers != NULL)
        used += snprintf(line + used, sizeof(line) - (size_t)used, ", %.12s layers", layers);
    used += snprintf(line + used, sizeof(line) - (size_t)used, ", %s parameters",
                     count_text(fact_of(opened, "model.parameters"), count));
    if (bytes != NULL)
        snprintf(line + used, sizeof(line) - (size_t)used, ", %s%s%.100s", bytes_text(strtoull(bytes, NULL, 10), size),
                 types == NULL ? "" : " in ", types == NULL ? "" : types);
    print("model      %s\n", accel_model_description_path(accel_model_plan_description(opened->made)));
    print_wrapped((uint32_t)print("%*s", HEAD, ""), HEAD, line);
}

/* Prints a sliding window that is shorter than the context, and that it leaves the KV cache as it is. */
static void print_window(const struct opened *opened)
{
    const struct accel_model_facts *facts = opened->model == NULL ? NULL : accel_model_facts_of(opened->model);
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const char *given = plan_setting_text(plan, "kv.window");
    const uint64_t window = facts == NULL ? fact_number(opened, "model.window") : facts->window;
    const uint64_t windowed = facts == NULL ? fact_number(opened, "model.window_layers") : facts->window_layers;
    const uint64_t trained = fact_number(opened, "model.context");
    const uint64_t layers = facts == NULL ? fact_number(opened, "model.layers") : facts->layers;
    char line[400], cache[120] = "the KV cache keeps older ones";

    if (window == 0 || (trained != 0 && window >= trained))
        return;
    if (accel_plan_setting_find(plan, "kv.window")->word != ACCEL_WORD_OFF)
        snprintf(cache, sizeof(cache), "the KV cache drops what kv.window=%.20s leaves out", given);
    else if (windowed == layers)
        snprintf(cache, sizeof(cache), "the KV cache keeps older ones, which --set kv.window=%" PRIu64 "tok drops",
                 window);
    snprintf(line, sizeof(line),
             "sliding window of %" PRIu64 " tokens in %" PRIu64 " of %" PRIu64
             " layers: a token attends to these alone; %s",
             window, windowed, layers, cache);
    print_wrapped((uint32_t)print("%*s", HEAD, ""), HEAD, line);
}

/* Returns whether the model fits with the context that it was trained for. */
static bool fits_trained(const struct opened *opened)
{
    char value[32];
    const struct accel_named_value context = {"context", value, "trained"};
    struct accel_model_plan *made = NULL;
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    bool fits;

    snprintf(value, sizeof(value), "%" PRIu64 "tok", fact_number(opened, "model.context"));
    fits = accel_model_plan_vary(opened->made, &context, 1, &made, NULL) == ACCEL_OK &&
           accel_plan_fit(accel_model_plan_plan(made), &fit, NULL) == ACCEL_OK && fit.fits;
    accel_model_plan_free(made);
    return fits;
}

/* Prints that a profile plans a context below the trained one although most of the memory stays free, or the trained
 * one fits. */
static void print_start(const struct opened *opened, bool is_below)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const struct accel_plan_setting *context = accel_plan_setting_find(plan, "context");
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    char place[300], line[400];

    if (!is_below || !accel_plan_is_recommended(plan, "context") || accel_plan_fit(plan, &fit, NULL) != ACCEL_OK ||
        !fit.fits || (fit.needed > fit.budget / 2 && !fits_trained(opened)))
        return;
    snprintf(line, sizeof(line), "less than fits (%s): see --max-context, and --explain context",
             short_places(context->place, place, sizeof(place)));
    print_wrapped((uint32_t)print("%*s", HEAD, ""), HEAD, line);
}

void print_context(const struct opened *opened)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const char *trained = fact_of(opened, "model.context"), *sequences = plan_setting_text(plan, "sequences");
    const char *context = plan_setting_text(plan, "context");
    char line[300];

    if (trained == NULL)
        return;
    snprintf(line, sizeof(line), "%s token%s (trained for %s), %s sequence%s, prefill batch %s", context,
             strcmp(context, "1") == 0 ? "" : "s", strcmp(context, trained) == 0 ? "as many" : trained, sequences,
             strcmp(sequences, "1") == 0 ? "" : "s", plan_setting_text(plan, "batch"));
    print_wrapped((uint32_t)print("context    "), HEAD, line);
    print_start(opened, strtoull(context, NULL, 10) < strtoull(trained, NULL, 10));
    print_window(opened);
}

/* ---- memory ---- */

/* Bytes of two classes of memory. */
uint64_t sum_classes(const struct accel_plan *plan, uint32_t one, uint32_t other)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < accel_plan_memory_count(plan); i++) {
        const struct accel_plan_memory *row = accel_plan_memory_get(plan, i);

        if (row->memory_class == one || row->memory_class == other)
            bytes += row->bytes;
    }
    return bytes;
}

static void print_row(const char *name, uint64_t bytes, const char *text)
{
    const char *head = strcmp(name, "weights") == 0 ? "memory" : "";
    char size[32];

    print_wrapped((uint32_t)print("%-*s%-14s %10s  ", HEAD, head, name, bytes_text(bytes, size)), DETAIL, text);
}

/* Returns the note on the limit of experts, the driver option expert_bytes, or NULL. */
static const struct accel_plan_note *find_expert_note(const struct accel_plan *plan)
{
    for (uint32_t i = 0; i < accel_plan_note_count(plan); i++) {
        const struct accel_plan_note *note = accel_plan_note_get(plan, i);
        const char *dot = strchr(note->key, '.');

        if (dot != NULL && strcmp(dot, ".expert_bytes") == 0)
            return note;
    }
    return NULL;
}

bool limits_experts(const struct accel_plan *plan)
{
    for (uint32_t i = 0; i < accel_plan_setting_count(plan); i++) {
        const struct accel_plan_setting *setting = accel_plan_setting_get(plan, i);
        const char *dot = strchr(setting->key, '.');

        if (dot != NULL && strcmp(dot, ".expert_bytes") == 0)
            return strcmp(setting->value, "0") != 0;
    }
    return false;
}

static void print_weights(const struct opened *opened)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    uint64_t mapped = sum_classes(plan, ACCEL_MEMORY_MAPPED, ACCEL_MEMORY_MAPPED);
    uint64_t bytes = sum_classes(plan, ACCEL_MEMORY_WEIGHTS, ACCEL_MEMORY_MAPPED), parts = 0;
    char text[700] = "", size[32];

    for (uint32_t i = 0; i < accel_plan_part_count(plan); i++)
        parts += accel_plan_part_get(plan, i)->bytes;
    if (!accel_model_plan_exact(opened->made) || converts_weights(plan)) {
        types_text(plan, text, sizeof(text));
        if (bytes > parts && text[0] != '\0')
            snprintf(text + strlen(text), sizeof(text) - strlen(text), ", copies and padding %s",
                     bytes_text(bytes - parts, size));
    } else if (limits_experts(plan)) {
        snprintf(text, sizeof(text), "%s copies of experts and weights in the mapped file", bytes_text(mapped, size));
        if (mapped != bytes)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), ", rest packed or converted");
    } else if (mapped != 0 && mapped != bytes) {
        snprintf(text, sizeof(text), "%s mapped from the file, the rest packed or converted", bytes_text(mapped, size));
    } else {
        snprintf(text, sizeof(text), "%s", mapped != 0 ? "used where the file is mapped" : "copied from the file");
    }
    print_row("weights", bytes, text);
}

static void print_cache(const struct accel_plan *plan)
{
    uint64_t bytes = sum_classes(plan, ACCEL_MEMORY_STATE, ACCEL_MEMORY_STATE);
    uint64_t tokens = strtoull(plan_setting_text(plan, "context"), NULL, 10) *
                      strtoull(plan_setting_text(plan, "sequences"), NULL, 10);
    char text[200], size[32];

    snprintf(text, sizeof(text), "keys %s, values %s", plan_setting_text(plan, "kv.type.k"),
             plan_setting_text(plan, "kv.type.v"));
    if (bytes != 0 && tokens != 0) {
        size_t used = strlen(text);

        snprintf(text + used, sizeof(text) - used, ", %s per token", bytes_text(bytes / tokens, size));
    }
    print_row("KV cache", bytes, bytes == 0 ? "none" : text);
}

/* Prints the bytes of activations, with what their formula omits. */
static void print_activations(const struct accel_plan *plan)
{
    char text[400] = "inputs, outputs and scratch of a step";

    for (uint32_t i = 0; i < accel_plan_note_count(plan); i++) {
        const struct accel_plan_note *note = accel_plan_note_get(plan, i);
        const size_t used = strlen(text);

        if (strcmp(note->key, "activations") == 0)
            snprintf(text + used, sizeof(text) - used, "; %s", note->text);
    }
    print_row("activations", sum_classes(plan, ACCEL_MEMORY_ACTIVATION, ACCEL_MEMORY_SCRATCH), text);
}

void print_experts(const struct opened *opened)
{
    const struct accel_plan_note *note = find_expert_note(accel_model_plan_plan(opened->made));

    if (note != NULL)
        print_wrapped((uint32_t)print("%-*s", HEAD, "experts"), HEAD, note->text);
}

/* Prints the row of a class, with its lower end if the plan's bytes are a driver's bound. */
static void print_bounded(const struct accel_plan *plan, const char *name, uint32_t memory_class, const char *text)
{
    uint64_t bytes = 0, lower = 0;
    char line[200], size[32];

    for (uint32_t i = 0; i < accel_plan_memory_count(plan); i++)
        if (accel_plan_memory_get(plan, i)->memory_class == memory_class) {
            bytes += accel_plan_memory_get(plan, i)->bytes;
            lower += accel_plan_memory_get(plan, i)->lower;
        }
    snprintf(line, sizeof(line), "%s: a bound, at least %s", text, bytes_text(lower, size));
    print_row(name, bytes, lower != 0 && lower < bytes ? line : text);
}

static void print_memory_rows(const struct opened *opened)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);

    if (accel_plan_memory_count(plan) == 0)
        return;
    print_weights(opened);
    print_cache(plan);
    print_activations(plan);
    print_bounded(plan, "compiled graph", ACCEL_MEMORY_PROGRAM, "kernels and command lists of the driver");
    print_bounded(plan, "host", ACCEL_MEMORY_HOST, "records of the library and the driver");
    print_experts(opened);
}

/* ---- several devices ---- */

/* Returns whether the component has a matrix of its own for the output; else the output reads the embedding. */
static bool has_head(const struct accel_plan *plan, const char *component)
{
    for (uint32_t i = 0; i < accel_plan_part_count(plan); i++) {
        const struct accel_plan_part *part = accel_plan_part_get(plan, i);

        if (strcmp(part->role, "head") == 0 && strcmp(part->component, component) == 0)
            return true;
    }
    return false;
}

/* Returns the row beside row `index` if it belongs to the same component and device, else NULL. */
static const struct accel_plan_layer *neighbour(const struct accel_plan *plan, uint32_t index, uint32_t beside)
{
    const struct accel_plan_layer *row = accel_plan_layer_get(plan, index), *other = accel_plan_layer_get(plan, beside);

    return other != NULL && strcmp(other->device, row->device) == 0 && strcmp(other->component, row->component) == 0
               ? other
               : NULL;
}

/* Returns whether the row has no layers and lies behind those of its component. */
static bool is_output(const struct accel_plan *plan, uint32_t index)
{
    const struct accel_plan_layer *before = index == 0 ? NULL : accel_plan_layer_get(plan, index - 1);
    const struct accel_plan_layer *row = accel_plan_layer_get(plan, index);

    return row->first == ACCEL_NO_LAYER && before != NULL && before->first != ACCEL_NO_LAYER &&
           strcmp(before->component, row->component) == 0;
}

/* Returns whether the line of a row beside this one has its weights. */
static bool is_joined(const struct accel_plan *plan, uint32_t index)
{
    const struct accel_plan_layer *other =
        is_output(plan, index) ? neighbour(plan, index, index - 1) : neighbour(plan, index, index + 1);

    return accel_plan_layer_get(plan, index)->first == ACCEL_NO_LAYER && other != NULL &&
           other->first != ACCEL_NO_LAYER;
}

const char *tables_text(const struct accel_plan *plan, uint32_t index)
{
    const struct accel_plan_layer *row = accel_plan_layer_get(plan, index);

    if (!is_output(plan, index))
        return "embedding";
    if (has_head(plan, row->component))
        return "output";
    for (uint32_t i = 0; i < index; i++) {
        const struct accel_plan_layer *table = accel_plan_layer_get(plan, i);

        if (table->first == ACCEL_NO_LAYER && strcmp(table->component, row->component) == 0 &&
            strcmp(table->device, row->device) != 0)
            return "output with a copy of the embedding";
    }
    return "output";
}

/* Prints the line of a row, with the weights of no layer that lie beside its layers. Returns the bytes of weights. */
static uint64_t print_split_row(const struct accel_plan *plan, uint32_t index, bool is_first)
{
    const struct accel_plan_layer *row = accel_plan_layer_get(plan, index);
    const struct accel_plan_layer *before = index == 0 ? NULL : neighbour(plan, index, index - 1);
    const struct accel_plan_layer *after = neighbour(plan, index, index + 1);
    uint64_t bytes = row->weight_bytes;
    char weights[32], state[32], devices[300], line[800];
    size_t used = 0;

    if (row->first == ACCEL_NO_LAYER) {
        used = (size_t)snprintf(line, sizeof(line), "%s", tables_text(plan, index));
    } else {
        used = (size_t)snprintf(line, sizeof(line), "layers %" PRIu32 "-%" PRIu32, row->first, row->last);
        if (before != NULL && is_joined(plan, index - 1) && !is_output(plan, index - 1)) {
            bytes += before->weight_bytes;
            used += (size_t)snprintf(line + used, sizeof(line) - used, ", %s", tables_text(plan, index - 1));
        }
        if (after != NULL && is_output(plan, index + 1)) {
            bytes += after->weight_bytes;
            used += (size_t)snprintf(line + used, sizeof(line) - used, ", %s", tables_text(plan, index + 1));
        }
    }
    used += (size_t)snprintf(line + used, sizeof(line) - used, " on %s: weights %s",
                             shorten_devices(row->device, devices, sizeof(devices)), bytes_text(bytes, weights));
    if (row->first != ACCEL_NO_LAYER)
        snprintf(line + used, sizeof(line) - used, ", KV cache %s", bytes_text(row->state_bytes, state));
    print_wrapped((uint32_t)print("%-*s", HEAD, is_first ? "split" : ""), HEAD, line);
    return bytes;
}

/* Prints the rows of layers; their weights sum to those of the memory. */
static void print_split(const struct accel_plan *plan)
{
    uint32_t count = accel_plan_layer_count(plan), shown = 0, lines = 0;
    uint64_t rest = 0;
    char weights[32];

    if (count_devices(plan) <= 1)
        return;
    for (uint32_t i = 0; i < count; i++) {
        lines += !is_joined(plan, i);
        rest += accel_plan_layer_get(plan, i)->weight_bytes;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (is_joined(plan, i))
            continue;
        /* The last line counts the rows that have none. */
        if (shown == DEVICE_ROWS - 1 && lines > DEVICE_ROWS) {
            print("%*sand %" PRIu32 " more: weights %s; --layers lists all\n", HEAD, "", lines - DEVICE_ROWS + 1,
                  bytes_text(rest, weights));
            return;
        }
        rest -= print_split_row(plan, i, shown++ == 0);
    }
}

/* ---- what does not go as the settings say ---- */

/* Prints the values with an outcome, ACCEL_UNHONORED_NOTED or ACCEL_UNHONORED_REFUSED, and their reasons. */
static void print_unhonored_line(const struct accel_plan *plan, uint32_t outcome)
{
    char line[4000] = "";

    for (uint32_t i = 0; i < accel_plan_unhonored_count(plan); i++) {
        const struct accel_plan_unhonored *row = accel_plan_unhonored_get(plan, i);
        size_t used = strlen(line);
        char value[64], reason[600];

        if (row->outcome == outcome)
            snprintf(line + used, sizeof(line) - used, "%s%s=%s, %s", used == 0 ? "" : "; ", row->key,
                     value_text(row->value, row->unit, value, sizeof(value)),
                     short_places(row->reason, reason, sizeof(reason)));
    }
    if (line[0] != '\0')
        print_wrapped((uint32_t)print(outcome == ACCEL_UNHONORED_REFUSED ? "refused by a run: " : "not honored: "),
                      HEAD, line);
}

/* Returns whether the note reports a device that lacks memory. */
static uint32_t is_lack(const struct accel_plan_note *note)
{
    return note->level == ACCEL_NOTE_WARN && strcmp(note->key, "placement") == 0;
}

/* Prints the warnings; of several devices that lack memory the first one, with the number of the others. */
static void print_warnings(const struct accel_plan *plan)
{
    uint32_t lacks = 0, seen = 0;

    for (uint32_t i = 0; i < accel_plan_note_count(plan); i++)
        lacks += is_lack(accel_plan_note_get(plan, i));
    for (uint32_t i = 0; i < accel_plan_note_count(plan); i++) {
        const struct accel_plan_note *note = accel_plan_note_get(plan, i);
        char copy[700], line[760], limited[DEVICE_REMEDY_BYTES], more[40] = "";
        const char *remedy = note_remedy(note, limited);

        bool is_short =
            note->level == ACCEL_NOTE_WARN || strcmp(note->key, "device") == 0 || strcmp(note->key, "kv") == 0;

        if (!is_short || (is_lack(note) && seen++ > 0))
            continue;
        if (is_lack(note) && lacks > 1)
            snprintf(more, sizeof(more), ", as on %" PRIu32 " more", lacks - 1);
        snprintf(line, sizeof(line), "%s%s", short_places(note->text, copy, sizeof(copy)), more);
        print_wrapped((uint32_t)print(note->level == ACCEL_NOTE_WARN ? "! " : "- "), HEAD, line);
        if (remedy[0] != '\0')
            print_wrapped((uint32_t)print("%*sremedy: ", HEAD, ""), HEAD, remedy);
    }
}

/* ---- the whole ---- */

void print_brief(const struct opened *opened)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    struct accel_plan_fit fit = {.size = sizeof(fit)};

    print_verdict(opened, 0);
    print_lowered_type(opened);
    print_model_line(opened);
    print_device_line(opened);
    print_idle_devices(opened);
    print_context(opened);
    print_memory_rows(opened);
    print_split(plan);
    /* Neither has what does not run a speed, nor a split that does not fit: what makes it fit moves its layers. */
    if (!does_not_run(opened, NULL) &&
        (count_devices(plan) <= 1 || accel_plan_fit(plan, &fit, NULL) != ACCEL_OK || fit.fits))
        print_speed(plan, 0);
    print_warnings(plan);
    print_unhonored_line(plan, ACCEL_UNHONORED_REFUSED);
    print_unhonored_line(plan, ACCEL_UNHONORED_NOTED);
}
