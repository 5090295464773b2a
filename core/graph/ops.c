/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/graph/ops.h"

#include <accel/builder.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/open.h"
#include "core/graph/infer.h"

#define FLOATS (ACCEL_CLASS_F32 | ACCEL_CLASS_HALF)
#define NUMBERS (FLOATS | ACCEL_CLASS_BLOCK)
#define ATTRIBUTES(type, last) (uint32_t)sizeof(struct type), (uint32_t)ACCEL_END_OF(struct type, last)

/* name, since, inputs, outputs, slots of the inputs, bytes of the attributes (now, in the first minor), inputs whose
 * memory the output may take as bits, check, infer, name of a second output. */
static const struct accel_op op_rows[ACCEL_OP_END] = {
    [ACCEL_OP_EMBED] = {"embed",
                        1,
                        2,
                        1,
                        {{"table", NUMBERS, 2, 2, false, false}, {"ids", ACCEL_CLASS_I32, 1, 1, false, false}},
                        0,
                        0,
                        0,
                        NULL,
                        accel_infer_embed,
                        NULL},
    [ACCEL_OP_MATMUL] = {"matmul",
                         1,
                         4,
                         1,
                         {{"x", ACCEL_CLASS_F32, 1, ACCEL_RANK, false, false},
                          {"W", NUMBERS, 2, 2, false, false},
                          {"bias", FLOATS, 1, 1, true, false},
                          {"residual", ACCEL_CLASS_F32, 1, ACCEL_RANK, true, false}},
                         ATTRIBUTES(accel_matmul, zero),
                         1u << 3,
                         accel_check_matmul,
                         accel_infer_matmul,
                         NULL},
    [ACCEL_OP_RMS_NORM] = {"rms_norm",
                           1,
                           2,
                           1,
                           {{"x", ACCEL_CLASS_F32, 1, ACCEL_RANK, false, false},
                            {"weight", FLOATS, 1, 1, false, false}},
                           ATTRIBUTES(accel_norm, epsilon),
                           1u,
                           accel_check_norm,
                           accel_infer_norm,
                           NULL},
    [ACCEL_OP_LAYER_NORM] = {"layer_norm",
                             1,
                             3,
                             1,
                             {{"x", ACCEL_CLASS_F32, 1, ACCEL_RANK, false, false},
                              {"weight", FLOATS, 1, 1, false, false},
                              {"bias", FLOATS, 1, 1, true, false}},
                             ATTRIBUTES(accel_norm, epsilon),
                             1u,
                             accel_check_norm,
                             accel_infer_norm,
                             NULL},
    [ACCEL_OP_ROTARY] = {"rotary",
                         1,
                         3,
                         1,
                         {{"x", ACCEL_CLASS_F32, 3, 3, false, false},
                          {"position", ACCEL_CLASS_I32, 1, 1, false, false},
                          {"frequency", ACCEL_CLASS_F32, 1, 1, false, false}},
                         ATTRIBUTES(accel_rotary, zero),
                         1u,
                         accel_check_rotary,
                         accel_infer_rotary,
                         NULL},
    [ACCEL_OP_CACHE_WRITE] = {"cache_write",
                              1,
                              3,
                              0,
                              {{"x", ACCEL_CLASS_F32, 2, ACCEL_RANK, false, false},
                               {"slot", ACCEL_CLASS_I32, 1, 1, false, false},
                               {"state", NUMBERS, 2, 2, false, true}},
                              0,
                              0,
                              0,
                              NULL,
                              accel_infer_cache_write,
                              NULL},
    [ACCEL_OP_ATTENTION] = {"attention",
                            1,
                            7,
                            1,
                            {{"q", ACCEL_CLASS_F32, 3, 3, false, false},
                             {"k", NUMBERS, 2, 2, false, true},
                             {"v", NUMBERS, 2, 2, false, true},
                             {"table", ACCEL_CLASS_I32, 2, 2, false, false},
                             {"first", ACCEL_CLASS_I32, 1, 1, false, false},
                             {"length", ACCEL_CLASS_I32, 1, 1, false, false},
                             {"mask", ACCEL_CLASS_I32, 3, 3, true, false}},
                            ATTRIBUTES(accel_attention, rounding),
                            0,
                            accel_check_attention,
                            accel_infer_attention,
                            "mass"},
    [ACCEL_OP_ADD] = {"add",
                      1,
                      2,
                      1,
                      {{"a", ACCEL_CLASS_F32, 1, ACCEL_RANK, false, false}, {"b", FLOATS, 1, ACCEL_RANK, false, false}},
                      0,
                      0,
                      3u,
                      NULL,
                      accel_infer_broadcast,
                      NULL},
    [ACCEL_OP_MUL] = {"mul",
                      1,
                      2,
                      1,
                      {{"a", ACCEL_CLASS_F32, 1, ACCEL_RANK, false, false}, {"b", FLOATS, 1, ACCEL_RANK, false, false}},
                      0,
                      0,
                      3u,
                      NULL,
                      accel_infer_broadcast,
                      NULL},
    [ACCEL_OP_ACTIVATION] = {"activation",
                             1,
                             1,
                             1,
                             {{"x", ACCEL_CLASS_F32, 1, ACCEL_RANK, false, false}},
                             ATTRIBUTES(accel_activation, function),
                             1u,
                             accel_check_activation,
                             accel_infer_same,
                             NULL},
    [ACCEL_OP_GATE] = {"gate",
                       1,
                       2,
                       1,
                       {{"gate", ACCEL_CLASS_F32, 1, ACCEL_RANK, false, false},
                        {"up", ACCEL_CLASS_F32, 1, ACCEL_RANK, false, false}},
                       ATTRIBUTES(accel_activation, function),
                       3u,
                       accel_check_activation,
                       accel_infer_gate,
                       NULL},
    [ACCEL_OP_SOFTMAX] = {"softmax",
                          1,
                          1,
                          1,
                          {{"x", ACCEL_CLASS_F32, 1, ACCEL_RANK, false, false}},
                          0,
                          0,
                          1u,
                          NULL,
                          accel_infer_same,
                          NULL},
    [ACCEL_OP_GATHER] = {"gather",
                         1,
                         2,
                         1,
                         {{"x", ACCEL_CLASS_F32 | ACCEL_CLASS_I32, 1, ACCEL_RANK, false, false},
                          {"index", ACCEL_CLASS_I32, 1, 1, false, false}},
                         0,
                         0,
                         0,
                         NULL,
                         accel_infer_gather,
                         NULL},
    [ACCEL_OP_RESHAPE] = {"reshape",
                          1,
                          1,
                          1,
                          {{"x", ACCEL_CLASS_F32 | ACCEL_CLASS_I32, 1, ACCEL_RANK, false, false}},
                          0,
                          0,
                          1u,
                          NULL,
                          accel_infer_reshape,
                          NULL},
    [ACCEL_OP_ARGMAX] = {"argmax",
                         1,
                         1,
                         1,
                         {{"x", ACCEL_CLASS_F32, 1, ACCEL_RANK, false, false}},
                         0,
                         0,
                         0,
                         NULL,
                         accel_infer_argmax,
                         NULL},
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
        return accel_error_set(
            error, ACCEL_E_INVALID,
            "node \"%.200s\" (%s): %" PRIu32 " inputs and %" PRIu32 " outputs, takes up to %" PRIu32 " and %" PRIu32,
            node->name, op->name, node->input_count, node->output_count, op->input_count, op->output_count);
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
        wrong = "has a type that the operator does not take";
    else if (value->rank < slot->rank_lowest || value->rank > slot->rank_highest)
        wrong = "has a rank that the operator does not take";
    if (wrong == NULL)
        return ACCEL_OK;
    return accel_error_set(error, ACCEL_E_INVALID,
                           "node \"%.120s\" (%s): input %s, \"%.120s\" (%s, rank %" PRIu32 "), %s", call->node->name,
                           call->op->name, slot->name, value->name, accel_type_text(value->type, type), value->rank,
                           wrong);
}

/* Fills the inputs by their slots; those past the node's count are absent, which only optional ones may be. */
static int32_t take_inputs(struct accel_op_call *call, struct accel_error *error)
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

/* Copies the attributes, so that ones of an earlier minor read as zeros where they are shorter. */
static int32_t take_attributes(struct accel_op_call *call, unsigned char *room, struct accel_error *error)
{
    const struct accel_op *op = call->op;
    char who[300];
    int32_t code;
    call->attributes = room;
    if (op->attribute_size == 0) {
        if (call->node->attributes)
            return accel_op_refuse(call, error, "it has attributes, and the operator takes none");
        return ACCEL_OK;
    }
    if (call->node->attributes == NULL)
        return accel_op_refuse(call, error, "its attributes are missing");
    snprintf(who, sizeof(who), "node \"%.200s\" (%s)", call->node->name, op->name);
    code =
        accel_open_copy(call->node->attributes, op->attribute_base, op->attribute_size, who, "attributes", room, error);
    if (code != ACCEL_OK)
        return code;
    return op->check ? op->check(call, error) : ACCEL_OK;
}

int32_t accel_op_infer(const struct accel_graph *graph, const struct accel_node *node, struct accel_op_call *call,
                       struct accel_error *error)
{
    _Alignas(8) unsigned char room[ACCEL_OP_ATTRIBUTES] = {0};
    int32_t code;
    call->graph = graph;
    call->node = node;
    call->op = accel_op_find(node->op);
    if (call->op == NULL)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "node \"%.200s\": operator %" PRIu32 " is unknown",
                               node->name, node->op);
    code = check_counts(call, error);
    if (code == ACCEL_OK)
        code = take_inputs(call, error);
    if (code == ACCEL_OK)
        code = take_attributes(call, room, error);
    if (code == ACCEL_OK)
        code = call->op->infer(call, error);
    call->attributes = NULL;
    return code;
}
