/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/print/where.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/accelctl/errors.h"
#include "tools/accelctl/output.h"

/* Returns whether an earlier row of layers lies on the same device. */
static bool is_named_before(const struct accel_plan *plan, uint32_t index)
{
    const char *name = accel_plan_layer_get(plan, index)->device;

    for (uint32_t i = 0; i < index; i++)
        if (strcmp(accel_plan_layer_get(plan, i)->device, name) == 0)
            return true;
    return false;
}

const char *plan_fact(const struct accel_plan *plan, const char *key)
{
    for (uint32_t i = 0; i < accel_plan_fact_count(plan); i++)
        if (strcmp(accel_plan_fact_get(plan, i)->key, key) == 0)
            return accel_plan_fact_get(plan, i)->value;
    return NULL;
}

uint32_t count_devices(const struct accel_plan *plan)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < accel_plan_layer_count(plan); i++)
        count += !is_named_before(plan, i);
    return count;
}

bool is_processor(const struct accel_context *context, const char *name)
{
    for (uint32_t i = 0; i < accel_device_count(context); i++)
        if (strcmp(accel_device_get(context, i)->name, name) == 0)
            return accel_device_get(context, i)->facts->kind == ACCEL_DEVICE_CPU;
    return false;
}

uint32_t count_processors(const struct accel_context *context, const struct accel_plan *plan)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < accel_plan_layer_count(plan); i++)
        count += !is_named_before(plan, i) && is_processor(context, accel_plan_layer_get(plan, i)->device);
    return count;
}

const char *devices_text(const struct accel_plan *plan, char *text, size_t bytes)
{
    const struct accel_device_info *device = accel_plan_device(plan);
    uint32_t count = accel_plan_layer_count(plan);

    text[0] = '\0';
    if (count == 0)
        snprintf(text, bytes, "%s", device == NULL ? accel_plan_platform(plan) : device->name);
    for (uint32_t i = 0; i < count; i++) {
        size_t used = strlen(text);

        if (!is_named_before(plan, i))
            snprintf(text + used, bytes - used, "%s%s", used == 0 ? "" : ", ", accel_plan_layer_get(plan, i)->device);
    }
    return text;
}

const char *shorten_devices(const char *names, char *text, size_t bytes)
{
    uint32_t count = 1;
    const char *last = names;

    for (const char *at = names; *at != '\0'; at++)
        if (strncmp(at, " + ", 3) == 0 || strncmp(at, ", ", 2) == 0) {
            last = at + (*at == ',' ? 2 : 3);
            count++;
        }
    if (count <= 3)
        snprintf(text, bytes, "%s", names);
    else
        snprintf(text, bytes, "%u devices, %.*s to %s", count, (int)strcspn(names, " ,"), names, last);
    return text;
}

static bool has_compiler(const struct accel_device_info *device)
{
    return device != NULL && device->facts->limits->queues != 0;
}

static const struct accel_device_info *find_device(const struct accel_context *context, const char *name)
{
    for (uint32_t i = 0; i < accel_device_count(context); i++)
        if (strcmp(accel_device_get(context, i)->name, name) == 0)
            return accel_device_get(context, i);
    return NULL;
}

const char *local_device(const struct accel_context *context, const struct accel_plan *plan)
{
    for (uint32_t i = 0; i < accel_plan_layer_count(plan); i++)
        if (find_device(context, accel_plan_layer_get(plan, i)->device) != NULL)
            return accel_plan_layer_get(plan, i)->device;
    return NULL;
}

uint32_t plan_compiles(const struct accel_context *context, const struct accel_plan *plan)
{
    uint32_t compiles = has_compiler(accel_plan_device(plan));

    for (uint32_t i = 0; i < accel_plan_layer_count(plan); i++)
        compiles |= has_compiler(find_device(context, accel_plan_layer_get(plan, i)->device));
    return compiles;
}

const char *loading_text(uint32_t compiles)
{
    return compiles ? "loading the model, and compiling those of its kernels that are not cached" : "loading the model";
}

/* Counts the nodes on the device of node `index`; 0 if an earlier node lies there. */
static uint32_t nodes_beside(const struct accel_plan *plan, uint32_t index)
{
    const char *device = accel_plan_node_get(plan, index)->device;
    uint32_t same = 0;

    for (uint32_t i = 0; i < accel_plan_node_count(plan); i++) {
        if (strcmp(accel_plan_node_get(plan, i)->device, device) != 0)
            continue;
        if (i < index)
            return 0;
        same++;
    }
    return same;
}

static bool is_of_fallback(const struct accel_plan_note *note)
{
    return strncmp(note->key, "fallback.", 9) == 0;
}

uint32_t count_fallbacks(const struct accel_plan *plan)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < accel_plan_node_count(plan); i++)
        count += accel_plan_node_get(plan, i)->answer != ACCEL_CLAIM_NATIVE;
    for (uint32_t i = 0; i < accel_plan_note_count(plan); i++)
        count += is_of_fallback(accel_plan_note_get(plan, i));
    return count;
}

void print_placement(const struct accel_plan *plan)
{
    uint32_t count = count_fallbacks(plan);
    const char *words = "placement ";

    for (uint32_t i = 0; i < accel_plan_node_count(plan); i++) {
        uint32_t nodes = nodes_beside(plan, i);

        if (nodes == 0)
            continue;
        fprintf(error_output(), "%s %u%s on %s,", words, nodes, i == 0 ? " nodes" : "",
                accel_plan_node_get(plan, i)->device);
        words = "";
    }
    fprintf(error_output(), " %u fallback%s\n", count, count == 1 ? "" : "s");
    for (uint32_t i = 0; i < accel_plan_note_count(plan); i++)
        if (is_of_fallback(accel_plan_note_get(plan, i)))
            fprintf(error_output(), "fallback   %s\n", accel_plan_note_get(plan, i)->text);
}

json_t *placement_json(const struct accel_plan *plan)
{
    json_t *devices = json_array(), *reason = json_array();
    char names[300];

    for (uint32_t i = 0; i < accel_plan_node_count(plan); i++) {
        uint32_t nodes = nodes_beside(plan, i);

        if (nodes != 0)
            json_add(devices,
                     json_pack("{s:s, s:i}", "device", accel_plan_node_get(plan, i)->device, "nodes", (int)nodes));
    }
    for (uint32_t i = 0; i < accel_plan_note_count(plan); i++)
        if (is_of_fallback(accel_plan_note_get(plan, i)))
            json_add(reason, json_text(accel_plan_note_get(plan, i)->text));
    return json_pack("{s:i, s:s, s:i, s:o, s:o, s:s}", "nodes", (int)accel_plan_node_count(plan), "device",
                     devices_text(plan, names, sizeof(names)), "fallbacks", (int)count_fallbacks(plan), "because",
                     reason, "devices", devices, "origin", "measured: nodes of the plan that this run followed");
}
