/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/graph/ops.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <accel/builder.h>

#include "core/base/open.h"
#include "core/graph/infer.h"

#define FLOATS (ACCEL_CLASS_F32 | ACCEL_CLASS_HALF)
#define NUMBERS (FLOATS | ACCEL_CLASS_BLOCK)
#define F32 ACCEL_CLASS_F32
#define I32 ACCEL_CLASS_I32
#define ELEMENTS (FLOATS | ACCEL_CLASS_I32)
#define ANY ACCEL_RANK
#define NO_ATTRIBUTES 0, 0, NULL
#define ATTRIBUTES(tag, last)                                                                                          \
    (uint32_t)sizeof(struct accel_##tag), (uint32_t)ACCEL_END_OF(struct accel_##tag, last), accel_check_##tag
#define INPUT(name, classes, lowest, highest, is_optional, is_state)                                                   \
    {                                                                                                                  \
#name, classes, lowest, highest, is_optional, is_state                                                         \
    }
#define IN(name, classes, lowest, highest) INPUT(name, classes, lowest, highest, false, false)
#define MAYBE(name, classes, lowest, highest) INPUT(name, classes, lowest, highest, true, false)
#define STATE(name, classes, lowest, highest) INPUT(name, classes, lowest, highest, false, true)
#define INPUT_COUNT(...) (uint32_t)(sizeof((struct accel_op_slot[]){__VA_ARGS__}) / sizeof(struct accel_op_slot))
#define ROW(number, name, since, outputs, bytes, base, check, in_place, shape, second, ...)                            \
    [number] = {#name, since,    INPUT_COUNT(__VA_ARGS__), outputs, {__VA_ARGS__}, bytes, base,                        \
                check, in_place, accel_infer_##shape,      second},
#define ACCEL_OPERATOR(number, ID, ...) ROW(number, __VA_ARGS__)
static const struct accel_op op_rows[ACCEL_OP_END] = {
#include <accel/driver/ops.def>
};

const struct accel_op *accel_op_find(uint32_t op)
{
    return op < ACCEL_OP_END && op_rows[op].name ? &op_rows[op] : NULL;
}

const char *accel_op_name(uint32_t op)
{
    const struct accel_op *row = accel_op_find(op);
    return row ? row->name : "?";
}

int32_t accel_op_refuse(const struct accel_op_call *call, struct accel_error *error, const char *text)
{
    return accel_error_set(error, ACCEL_E_INVALID, "node \"%.200s\" (%s): %s", call->node->name, call->op->name, text);
}

static int32_t check_counts(const struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_node *node = call->node;
    const struct accel_op *op = call->op;
    if (node->minor < op->since || node->minor > ACCEL_ABI_MINOR)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED,
                               "node \"%.200s\" (%s): minor %" PRIu32 ", known are %" PRIu32 " to %u", node->name,
                               op->name, node->minor, op->since, ACCEL_ABI_MINOR);
    if (node->input_count > op->input_count || node->output_count < op->output_count ||
        node->output_count > op->output_count + (op->second != NULL))
        return accel_error_set(error, ACCEL_E_INVALID,
                               "node \"%.200s\" (%s): %" PRIu32 " inputs and %" PRIu32
                               " outputs, allowed are up to %" PRIu32 " and %" PRIu32,
                               node->name, op->name, node->input_count, node->output_count, op->input_count,
                               op->output_count);
    if ((node->input_count && node->inputs == NULL) || (node->output_count && node->outputs == NULL))
        return accel_op_refuse(call, error, "its list of inputs or outputs is NULL");
    return ACCEL_OK;
}

static int32_t check_input(const struct accel_op_call *call, const struct accel_op_slot *slot,
                           const struct accel_value *value, struct accel_error *error)
{
    struct accel_type_layout layout = {0};
    char type[ACCEL_TYPE_TEXT];
    const char *wrong = NULL;
    if (slot->state != (value->role == ACCEL_ROLE_STATE))
        wrong = slot->state ? "has to be a state" : "must not be a state";
    else if (!accel_type_describe(value->type, &layout) || (layout.type_class & slot->type_classes) == 0)
        wrong = "has a type that the operator does not support";
    else if (value->rank < slot->rank_lowest || value->rank > slot->rank_highest)
        wrong = "has a rank that the operator does not support";
    if (wrong == NULL)
        return ACCEL_OK;
    return accel_error_set(error, ACCEL_E_INVALID,
                           "node \"%.120s\" (%s): input %s, \"%.120s\" (%s, rank %" PRIu32 "), %s", call->node->name,
                           call->op->name, slot->name, value->name, accel_type_text(value->type, type), value->rank,
                           wrong);
}

/* Fills the inputs by slot; slots past the node's count are absent, which only optional ones may be. */
static int32_t check_inputs(struct accel_op_call *call, struct accel_error *error)
{
    for (uint32_t i = 0; i < call->op->input_count; i++) {
        const struct accel_op_slot *slot = &call->op->slots[i];
        uint32_t index = i < call->node->input_count ? call->node->inputs[i] : ACCEL_NO_VALUE;
        call->inputs[i] = NULL;
        if (index == ACCEL_NO_VALUE && slot->optional)
            continue;
        if (index >= call->graph->value_count)
            return accel_error_set(error, ACCEL_E_INVALID,
                                   "node \"%.200s\" (%s): input %s is %s, the graph has %" PRIu32 " values",
                                   call->node->name, call->op->name, slot->name,
                                   index == ACCEL_NO_VALUE ? "missing" : "out of range", call->graph->value_count);
        call->inputs[i] = call->graph->values[index];
        if (check_input(call, slot, call->inputs[i], error) != ACCEL_OK)
            return ACCEL_E_INVALID;
    }
    return ACCEL_OK;
}

/* Copies the attributes and fills those of later minors with zeros. */
static int32_t copy_attributes(struct accel_op_call *call, unsigned char *storage, struct accel_error *error)
{
    const struct accel_op *op = call->op;
    const char *fault;
    char who[300];
    int32_t code;
    call->attributes = storage;
    if (op->attribute_size == 0) {
        if (call->node->attributes)
            return accel_op_refuse(call, error, "it has attributes, but the operator has none");
        return ACCEL_OK;
    }
    if (call->node->attributes == NULL)
        return accel_op_refuse(call, error, "its attributes are missing");
    snprintf(who, sizeof(who), "node \"%.200s\" (%s)", call->node->name, op->name);
    code = accel_open_copy(call->node->attributes, op->attribute_base, op->attribute_size, who, "attributes", storage,
                           error);
    if (code != ACCEL_OK)
        return code;
    fault = op->check(call);
    return fault ? accel_op_refuse(call, error, fault) : ACCEL_OK;
}

int32_t accel_op_infer(const struct accel_graph *graph, const struct accel_node *node, struct accel_op_call *call,
                       struct accel_error *error)
{
    _Alignas(8) unsigned char storage[ACCEL_OP_ATTRIBUTES] = {0};
    int32_t code;
    call->graph = graph;
    call->node = node;
    call->op = accel_op_find(node->op);
    if (call->op == NULL)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "node \"%.200s\": operator %" PRIu32 " is unknown",
                               node->name, node->op);
    code = check_counts(call, error);
    if (code == ACCEL_OK)
        code = check_inputs(call, error);
    if (code == ACCEL_OK)
        code = copy_attributes(call, storage, error);
    if (code == ACCEL_OK)
        code = accel_op_check_extents(call, error);
    if (code == ACCEL_OK)
        code = call->op->infer(call, error);
    call->attributes = NULL;
    return code;
}
