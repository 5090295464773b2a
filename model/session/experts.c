/* SPDX-License-Identifier: Apache-2.0 */
#include "model/session/experts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/file/derived.h"
#include "model/session/pages.h"

#define OPTION "expert_bytes"

/* ---- the option ---- */

const struct accel_plugin_info *plan_find_driver(const struct accel_context *context, const char *name)
{
    for (uint32_t i = 0; i < accel_plugin_count(context); i++) {
        const struct accel_plugin_info *plugin = accel_plugin_get(context, i);

        if (plugin->state == ACCEL_PLUGIN_LOADED && strcmp(plugin->name, name) == 0)
            return plugin;
    }
    return NULL;
}

bool plan_expert_key(const struct accel_context *context, const struct accel_plan *plan, char key[EXPERTS_KEY])
{
    const struct accel_device_info *device = accel_plan_device(plan);
    const struct accel_plugin_info *driver = device == NULL ? NULL : plan_find_driver(context, device->driver);

    for (uint32_t i = 0; driver != NULL && i < driver->option_count; i++)
        if (strcmp(driver->options[i]->name, OPTION) == 0)
            return snprintf(key, EXPERTS_KEY, "%s." OPTION, device->driver) < EXPERTS_KEY;
    return false;
}

static const struct accel_plan_setting *find_limit(const struct accel_plan *plan)
{
    const struct accel_device_info *device = accel_plan_device(plan);
    char key[EXPERTS_KEY];

    return device != NULL && snprintf(key, EXPERTS_KEY, "%s." OPTION, device->driver) < EXPERTS_KEY
               ? accel_plan_setting_find(plan, key)
               : NULL;
}

uint64_t plan_expert_limit(const struct accel_plan *plan)
{
    const struct accel_plan_setting *setting = find_limit(plan);

    return setting == NULL ? 0 : (uint64_t)setting->number;
}

/* ---- sizes ---- */

static const struct accel_expert_matmul *attributes_of(const struct accel_node *node)
{
    const struct accel_expert_matmul *attributes = node->op == ACCEL_OP_EXPERT_MATMUL ? node->attributes : NULL;

    return attributes != NULL && attributes->experts > 1 ? attributes : NULL;
}

uint32_t session_expert_matrix(const struct accel_node *node)
{
    return attributes_of(node) == NULL ? ACCEL_NO_VALUE : node->inputs[1];
}

/* Returns the tensor of the experts that a node reads, NULL if a step cannot read them one by one in the mapped file.
 */
static const struct accel_model_tensor *find_mapped(const struct pipeline_stage *stage, const struct accel_node *node)
{
    const struct accel_model_file *file = stage->session->model->file;
    const char *key = stage->step.graph->values[node->inputs[1]]->key;
    const struct accel_model_tensor *tensor = accel_model_file_find(file, key);
    uint64_t bytes;

    /* Without a limit, the types are those that the experts would not have with one. */
    if (tensor == NULL ||
        (plan_expert_limit(stage->plan) != 0 && weights_find_type(&stage->session->types, key) != NULL))
        return NULL;
    return accel_model_file_plane(file, tensor, 0, &bytes) != NULL || model_derived_part(file, tensor, 0, 0, 0) != NULL
               ? tensor
               : NULL;
}

/* Replaces the sizes in the file by those of copies, of which the driver's estimate has all or as many as the limit
 * holds, and at least those that a token is routed to in one layer. */
static void read_estimate(const struct pipeline_stage *stage, struct session_experts *experts)
{
    const uint64_t limit = plan_expert_limit(stage->plan), pages = limit == 0 ? 0 : stage_in_place_bytes(stage);

    for (uint32_t i = 0; limit != 0 && i < accel_plan_memory_count(stage->plan); i++) {
        const struct accel_plan_memory *row = accel_plan_memory_get(stage->plan, i);
        uint64_t held, all;
        double larger;

        if (row->memory_class != ACCEL_MEMORY_MAPPED || row->lower <= pages || experts->least == 0)
            continue;
        larger = (double)(row->lower - pages) / (double)experts->least;
        experts->least = row->lower - pages;
        experts->token = (uint64_t)((double)experts->token * larger);
        held = row->bytes - pages;
        all = (uint64_t)((double)experts->bytes * larger);
        experts->bytes = all < held || held + experts->least <= limit ? held : all;
    }
}

void stage_measure_experts(const struct pipeline_stage *stage, struct session_experts *out_experts)
{
    const struct accel_graph *graph = stage->step.graph;
    uint64_t layer = 0;
    uint32_t ids = ACCEL_NO_VALUE;

    *out_experts = (struct session_experts){0};
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const struct accel_node *node = graph->nodes[n];
        const struct accel_expert_matmul *attributes = attributes_of(node);
        const struct accel_model_tensor *tensor = attributes == NULL ? NULL : find_mapped(stage, node);
        uint32_t used;

        if (attributes == NULL)
            continue;
        if (tensor == NULL) {
            out_experts->reason = "the file stores no expert of a layer in one piece in a type of the plan, so that "
                                  "they cannot be used where it is mapped";
            continue;
        }
        if (node->inputs[2] != ids) {
            layer = 0;
            out_experts->layers++;
        }
        ids = node->inputs[2];
        used = (uint32_t)graph->values[ids]->dims[1].add;
        layer += tensor->bytes / attributes->experts * used;
        out_experts->least = layer > out_experts->least ? layer : out_experts->least;
        out_experts->bytes += tensor->bytes;
        out_experts->token += tensor->bytes / attributes->experts * used;
        out_experts->used = used > out_experts->used ? used : out_experts->used;
        out_experts->experts = attributes->experts > out_experts->experts ? attributes->experts : out_experts->experts;
    }
    read_estimate(stage, out_experts);
}

/* Returns the mean number of copies that pass from layer to layer: the experts that a layer reads replace those that
 * the layer before it read, which were used least. The number rises to j if a layer misses j of the experts that it
 * uses, and falls below j if one of j experts that lost their copies is read again. Both are equally frequent, which
 * gives the share of time with j copies or more; the mean is the sum of these shares. */
static double passing_copies(const struct session_experts *experts, double count, double held)
{
    const double missing = 1 - held / count, used = experts->used;
    double exact = pow(1 - missing, used), fewer = 0, passing = 0;

    for (double j = 1; j <= used; j++) {
        fewer += exact; /* the chance that a layer misses fewer than j experts */
        exact *= missing / (1 - missing) * (used - j + 1) / j;
        passing += (1 - fewer) / (1 - fewer + used * j / count);
    }
    return passing;
}

uint64_t session_expert_reads(const struct session_experts *experts, uint64_t limit)
{
    const uint64_t count = (uint64_t)experts->layers * experts->experts;
    double held;

    if (limit >= experts->bytes)
        return 0;
    if (limit <= experts->least)
        return experts->token;
    held = floor((double)limit / (double)experts->bytes * (double)count);
    held -= passing_copies(experts, (double)count, held);
    return (uint64_t)((double)experts->token * (1 - held / (double)count));
}

/* ---- checks ---- */

static int32_t refuse(const struct accel_plan_setting *setting, int32_t code, const char *why, const char *remedy,
                      struct accel_error *error)
{
    accel_error_set(error, code, "%.160s: %s=%s: %s", setting->place, setting->key, setting->value, why);
    accel_error_remedy(error, "%s", remedy);
    return accel_error_origin(error, setting_origin(setting), code);
}

static int compare_key(const void *key, const void *item)
{
    return strcmp(key, *(const char *const *)item);
}

/* Removes the experts from the list of tensors that a run allocates: the driver copies those that steps read. */
static void leave_mapped(const struct pipeline_stage *stage)
{
    const struct accel_graph *graph = stage->step.graph;
    struct accel_session *session = stage->session;

    for (uint32_t n = 0; n < graph->node_count; n++) {
        const char *key =
            attributes_of(graph->nodes[n]) == NULL ? NULL : graph->values[graph->nodes[n]->inputs[1]]->key;
        const char **row =
            key == NULL ? NULL : bsearch(key, session->made, session->made_count, sizeof(*session->made), compare_key);

        if (row != NULL)
            memmove(row, row + 1, (size_t)(session->made + --session->made_count - row) * sizeof(*row));
    }
}

int32_t stage_check_experts(const struct pipeline_stage *stage, struct accel_error *error)
{
    const struct accel_plan_setting *setting = find_limit(stage->plan);
    struct session_experts experts;

    if (plan_expert_limit(stage->plan) == 0)
        return ACCEL_OK;

    stage_measure_experts(stage, &experts);
    if (experts.reason != NULL)
        return refuse(setting, ACCEL_E_UNSUPPORTED, experts.reason,
                      "use a GGUF file, which stores them so (convert_hf_to_gguf.py of llama.cpp makes one), or leave "
                      "the setting out",
                      error);
    if (stage->source.copy)
        return refuse(setting, ACCEL_E_INVALID, "weights.load=read copies all experts into memory",
                      "set weights.load=map, or leave the setting out", error);
    if (experts.bytes == 0 && stage->plan == stage->session->plan)
        return refuse(setting, ACCEL_E_INVALID, "the model has no experts", "leave the setting out", error);
    leave_mapped(stage);
    return ACCEL_OK;
}

int32_t stage_check_expert_limit(const struct pipeline_stage *stage, struct accel_error *error)
{
    const struct accel_plan_setting *setting = find_limit(stage->plan);
    struct session_experts experts = {0};
    char why[200], remedy[200];

    if (setting != NULL)
        stage_measure_experts(stage, &experts);
    if (plan_expert_limit(stage->plan) == 0 || plan_expert_limit(stage->plan) >= experts.least)
        return ACCEL_OK;
    snprintf(why, sizeof(why), "the experts of one token in one layer take %" PRIu64 " bytes", experts.least);
    snprintf(remedy, sizeof(remedy), "set %s=%" PRIu64 " or more", setting->key, experts.least);
    return refuse(setting, ACCEL_E_INVALID, why, remedy, error);
}
