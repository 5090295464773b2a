/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a plan to JSON: one document for other programs, for files, and for runs that repeat the plan. */
#include "model/plan/json.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/file/fault.h"
#include "model/plan/identity.h"
#include "model/plan/run.h"

static const char *origin_name(uint32_t origin)
{
    static const char *const names[] = {"?", "measured", "estimated", "claimed", "profile", "file", "given", "builtin"};

    return origin < 8 ? names[origin] : "?";
}

static const char *answer_name(uint32_t answer)
{
    static const char *const names[] = {"?", "native", "emulated", "likely", "no"};

    return answer < 5 ? names[answer] : "?";
}

json_t *plan_text_json(const char *text)
{
    json_t *value = json_string(text == NULL ? "" : text);
    char *copy;

    if (value != NULL)
        return value;
    copy = strdup(text);
    for (char *at = copy; at != NULL && *at != '\0'; at++)
        *at = (unsigned char)*at < 128 ? *at : '?';
    value = copy == NULL ? NULL : json_string(copy);
    free(copy);
    return value;
}

/* Adds the place of a setting, and file and line if the place is FILE:LINE. */
static void add_place(json_t *object, const char *place)
{
    const char *colon = strrchr(place, ':');

    json_object_set_new(object, "place", plan_text_json(place));
    if (colon == NULL || colon == place || colon[1] == '\0' || colon[1 + strspn(colon + 1, "0123456789")] != '\0')
        return;
    json_object_set_new(object, "file", json_stringn(place, (size_t)(colon - place)));
    json_object_set_new(object, "line", json_integer(strtoll(colon + 1, NULL, 10)));
}

static json_t *overridden_json(const struct accel_plan_overridden *overridden)
{
    json_t *object = json_pack("{s:s, s:s}", "value", overridden->value, "unit", overridden->unit);

    add_place(object, overridden->place);
    json_object_set_new(object, "because", plan_text_json(overridden->reason));
    return object;
}

static json_t *setting_json(const struct accel_plan_setting *setting)
{
    json_t *origin = json_pack("{s:s}", "kind", origin_name(setting->origin));
    json_t *list = json_array();

    add_place(origin, setting->place);
    json_object_set_new(origin, "because", plan_text_json(setting->reason));
    for (uint32_t i = 0; i < setting->overridden_count; i++)
        json_array_append_new(list, overridden_json(&setting->overridden[i]));
    json_object_set_new(origin, "losers", list);
    return json_pack("{s:o, s:s, s:o}", "value", plan_text_json(setting->value), "unit", setting->unit, "origin",
                     origin);
}

static json_t *settings_json(const struct accel_plan *plan)
{
    json_t *settings = json_object();

    for (uint32_t i = 0; i < accel_plan_setting_count(plan); i++) {
        const struct accel_plan_setting *setting = accel_plan_setting_get(plan, i);

        json_object_set_new(settings, setting->key, setting_json(setting));
    }
    return settings;
}

/* Converts the verdict on memory; returns null if the amount of memory is unknown. */
static json_t *fits_json(const struct accel_plan_fit *fit)
{
    return fit->budget == 0 ? json_null() : json_boolean(fit->fits != 0);
}

static json_t *memory_json(const struct accel_plan *plan, const struct accel_plan_fit *fit)
{
    json_t *rows = json_array();

    for (uint32_t i = 0; i < accel_plan_memory_count(plan); i++) {
        const struct accel_plan_memory *row = accel_plan_memory_get(plan, i);

        json_array_append_new(rows,
                              json_pack("{s:s, s:I, s:I, s:o}", "class", row->name, "bytes", (json_int_t)row->bytes,
                                        "lower", (json_int_t)row->lower, "origin", plan_text_json(row->origin)));
    }
    return json_pack("{s:o, s:o, s:I, s:I, s:I, s:o}", "classes", rows, "fits", fits_json(fit), "needed",
                     (json_int_t)fit->needed, "budget", (json_int_t)fit->budget, "short_by", (json_int_t)fit->short_by,
                     "budget_origin", plan_text_json(fit->budget_origin));
}

static json_t *nodes_json(const struct accel_plan *plan, uint32_t *out_fallbacks)
{
    json_t *nodes = json_array();

    *out_fallbacks = 0;
    for (uint32_t i = 0; i < accel_plan_node_count(plan); i++) {
        const struct accel_plan_node *node = accel_plan_node_get(plan, i);

        *out_fallbacks += node->answer != ACCEL_CLAIM_NATIVE;
        json_array_append_new(nodes,
                              json_pack("{s:o, s:s, s:s, s:s, s:i, s:s, s:s, s:f}", "name", plan_text_json(node->name),
                                        "op", node->op, "device", node->device, "kernel", node->kernel, "variant",
                                        (int)node->variant, "answer", answer_name(node->answer), "reason", node->reason,
                                        "tolerance", node->tolerance));
    }
    for (uint32_t i = 0; i < accel_plan_note_count(plan); i++)
        *out_fallbacks += strncmp(accel_plan_note_get(plan, i)->key, "fallback.", 9) == 0;
    return nodes;
}

static json_t *processors_json(const struct accel_plan *plan)
{
    json_t *processors = json_array();
    uint32_t threads = 1;

    for (uint32_t thread = 0; thread < threads; thread++)
        json_array_append_new(processors, json_integer(accel_plan_processor(plan, thread, &threads)));
    return processors;
}

static json_t *cores_json(const struct accel_plan *plan)
{
    json_t *groups = json_array();

    for (uint32_t i = 0; i < accel_plan_cores_count(plan); i++) {
        const struct accel_plan_cores *g = accel_plan_cores_get(plan, i);

        json_array_append_new(groups,
                              json_pack("{s:i, s:i, s:s, s:i, s:i, s:s, s:s}", "package", (int)g->package, "node",
                                        (int)g->node, "kind", g->kind, "cores", (int)g->cores, "threads",
                                        (int)g->threads, "processors", g->processors, "idle", g->idle));
    }
    return groups;
}

static json_t *request_json(const struct accel_model_plan_options *options)
{
    json_t *given = json_array();

    for (uint32_t i = 0; i < options->override_count; i++)
        json_array_append_new(given, json_pack("{s:s, s:s, s:o}", "key", options->overrides[i].key, "value",
                                               options->overrides[i].value, "origin",
                                               plan_text_json(options->overrides[i].origin)));
    return json_pack("{s:o, s:s, s:s, s:s, s:I, s:o}", "path", plan_text_json(options->path), "platform",
                     options->platform == NULL ? "" : options->platform, "device",
                     options->device == NULL ? "" : options->device, "mode", options->mode == NULL ? "" : options->mode,
                     "length", (json_int_t)options->request_length, "given", given);
}

static json_t *device_json(const struct accel_model_plan *plan)
{
    const struct accel_device_info *device = accel_plan_device(accel_model_plan_plan(plan));
    const struct accel_plugin_info *plugin;

    if (device == NULL)
        return json_null();
    plugin = accel_plugin_get(plan->context, device->plugin);
    return json_pack("{s:s, s:o, s:s, s:s}", "name", device->name, "description", plan_text_json(device->facts->name),
                     "driver", device->driver, "driver_version", plugin == NULL ? "" : plugin->version);
}

/* Converts the model's description and the identity of its files. Shapes are facts of the plan. */
static json_t *model_json(const struct accel_model_plan *plan)
{
    const struct accel_model *model = plan->subject->model;
    const struct accel_model_facts *facts = model == NULL ? NULL : accel_model_facts_of(model);
    const uint64_t window = facts == NULL ? plan_described(plan->subject->description, "model.window") : facts->window;
    const uint64_t layers =
        facts == NULL ? plan_described(plan->subject->description, "model.window_layers") : facts->window_layers;
    char *real = realpath(plan->options.path, NULL);
    json_t *object = json_pack("{s:o}", "path", plan_text_json(real == NULL ? plan->options.path : real));

    free(real);
    if (window != 0)
        json_object_set_new(object, "sliding_window",
                            json_pack("{s:I, s:I}", "tokens", (json_int_t)window, "layers", (json_int_t)layers));
    if (model == NULL)
        return object;
    json_object_set_new(object, "types", plan_text_json(facts->types));
    json_object_set_new(object, "files", plan_identity(model));
    return object;
}

static json_t *verdict_json(const struct accel_model_plan *plan, const struct accel_plan_fit *fit)
{
    const bool is_exact = plan->session != NULL;

    return json_pack("{s:o, s:b, s:o, s:o, s:I, s:I, s:I}", "fits", fits_json(fit), "exact", is_exact, "reason",
                     plan_text_json(is_exact ? "" : plan->reason.text), "remedy",
                     plan_text_json(is_exact ? "" : plan->reason.remedy), "needed", (json_int_t)fit->needed, "budget",
                     (json_int_t)fit->budget, "short_by", (json_int_t)fit->short_by);
}

/* Lists values that a run does not honor: "noted" if they are recommendations, "refused" if the user set them; or,
 * with `is_later`, values that profiles reserve for future features. */
static json_t *unhonored_json(const struct accel_plan *plan, bool is_later)
{
    json_t *rows = json_array();

    for (uint32_t i = 0; i < accel_plan_unhonored_count(plan); i++) {
        const struct accel_plan_unhonored *row = accel_plan_unhonored_get(plan, i);
        json_t *object;

        if ((row->outcome == ACCEL_UNHONORED_LATER) != is_later)
            continue;
        object = json_pack("{s:s, s:o, s:s}", "key", row->key, "value", plan_text_json(row->value), "unit", row->unit);
        if (is_later)
            json_object_update_new(object, json_pack("{s:s, s:s}", "later", row->reason, "because", row->value_reason));
        else
            json_object_update_new(object, json_pack("{s:s, s:s}", "outcome",
                                                     row->outcome == ACCEL_UNHONORED_REFUSED ? "refused" : "noted",
                                                     "reason", row->reason));
        add_place(object, row->place);
        json_array_append_new(rows, object);
    }
    return rows;
}

/* Names the origin of the numbers of each part; rows that have a more exact one state it themselves. */
static json_t *origin_json(void)
{
    static const char *const rows[][2] = {
        {"verdict", "estimated: memory.classes and memory.budget_origin"},
        {"request", "given"},
        {"model", "file: metadata, or the description of the name"},
        {"processors", "measured: topology of the host"},
        {"cores", "measured: topology of the host"},
        {"memory", "estimated: origin of each class; budget_origin"},
        {"parts", "file: shapes, or the description of the name; place of each type"},
        {"layers", "estimated: sums of the memory of each layer"},
        {"speed", "estimated: origin of each speed"},
        {"past", "measured: history of runs"},
        {"nodes", "claimed: the driver"},
        {"fallbacks", "claimed: nodes that the driver does not run natively, and notes of fallbacks"},
    };
    json_t *object = json_object();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        json_object_set_new(object, rows[i][0], json_string(rows[i][1]));
    return object;
}

json_t *plan_document(const struct accel_model_plan *plan)
{
    const struct accel_plan *inner = accel_model_plan_plan(plan);
    struct accel_plan_fit fit = model_plan_verdict(plan);
    uint32_t fallbacks;
    json_t *nodes = nodes_json(inner, &fallbacks);
    json_t *document = json_pack("{s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "schema", PLAN_SCHEMA, "verdict",
                                 verdict_json(plan, &fit), "request", request_json(&plan->options), "model",
                                 model_json(plan), "platform", accel_plan_platform(inner), "device", device_json(plan),
                                 "processors", processors_json(inner), "cores", cores_json(inner), "settings",
                                 settings_json(inner), "memory", memory_json(inner, &fit));

    json_object_set_new(document, "origin", origin_json());
    json_object_update_missing_new(document, plan_estimates(inner));
    json_object_set_new(document, "not_honored", unhonored_json(inner, false));
    json_object_set_new(document, "later", unhonored_json(inner, true));
    json_object_set_new(document, "nodes", nodes);
    json_object_set_new(document, "fallbacks", json_integer(fallbacks));
    return document;
}

int32_t accel_model_plan_json(const struct accel_model_plan *plan, char **out_text, struct accel_error *error)
{
    json_t *document;

    if (plan == NULL || out_text == NULL)
        return model_refuse_null(__func__, error);
    document = plan_document(plan);
    *out_text = document == NULL ? NULL : json_dumps(document, JSON_INDENT(2));
    json_decref(document);
    return *out_text == NULL ? accel_error_no_memory(error, "for a plan as JSON") : ACCEL_OK;
}

void accel_model_plan_json_free(char *text)
{
    free(text);
}
