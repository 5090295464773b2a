/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules of operators that scale, limit, join, cut, reorder, pad or reduce values. */
#include "config.h"

#include <math.h>

#include <accel/driver/sample.h>

#include "core/graph/dim.h"
#include "core/graph/infer.h"

const char *accel_check_scale(const struct accel_op_call *call)
{
    const struct accel_scale *at = call->attributes;
    if (!isfinite(at->scale) || !isfinite(at->add))
        return "attribute scale or add is not finite";
    return accel_op_zero_fault(at->zero);
}

const char *accel_check_clamp(const struct accel_op_call *call)
{
    const struct accel_clamp *at = call->attributes;
    if (!(at->low <= at->high))
        return "attribute low is above high, or one is no number";
    return accel_op_zero_fault(at->zero);
}

const char *accel_check_axis(const struct accel_op_call *call)
{
    const struct accel_axis *at = call->attributes;
    return accel_op_zero_fault(at->zero);
}

const char *accel_check_slice(const struct accel_op_call *call)
{
    const struct accel_slice *at = call->attributes;
    return at->step && at->extent ? NULL : "attribute step or extent is 0";
}

const char *accel_check_permute(const struct accel_op_call *call)
{
    const struct accel_permute *at = call->attributes;
    uint32_t rank = call->inputs[0]->rank, found = 0;
    for (uint32_t i = 0; i < ACCEL_RANK; i++) {
        if (at->order[i] >= (i < rank ? rank : 1))
            return "attribute order names a dimension that x does not have";
        found |= i < rank ? 1u << at->order[i] : 0;
    }
    if (found != (1u << rank) - 1)
        return "attribute order names a dimension twice";
    return accel_op_zero_fault(at->zero);
}

const char *accel_check_pad(const struct accel_op_call *call)
{
    const struct accel_pad *at = call->attributes;
    if (at->mode > ACCEL_PAD_EDGE)
        return "attribute mode is unknown";
    if (!isfinite(at->value) || (at->value != 0 && at->mode != ACCEL_PAD_VALUE))
        return "attribute value is not finite, or has no meaning in this mode";
    return NULL;
}

const char *accel_check_reduce(const struct accel_op_call *call)
{
    const struct accel_reduce *at = call->attributes;
    if (at->kind > ACCEL_REDUCE_MAX)
        return "attribute kind is unknown";
    if (call->inputs[1] && at->axis != 0)
        return "attribute axis is not 0 with segments";
    return accel_op_zero_fault(at->zero);
}

const char *accel_check_top_k(const struct accel_op_call *call)
{
    const struct accel_top_k *at = call->attributes;
    return at->k ? NULL : "attribute k is 0";
}

/* Returns the extent of an attribute's axis, NULL with the error set if x has no such dimension. */
static const struct accel_dim *find_axis(const struct accel_op_call *call, uint32_t axis, struct accel_error *error)
{
    if (axis < call->inputs[0]->rank)
        return &call->inputs[0]->dims[axis];
    accel_op_refuse(call, error, "attribute axis is not below the rank of x");
    return NULL;
}

int32_t accel_infer_concat(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_axis *at = call->attributes;
    const struct accel_value *first = call->inputs[0];
    if (find_axis(call, at->axis, error) == NULL)
        return ACCEL_E_INVALID;
    accel_op_output_like(call, first);
    for (uint32_t i = 1; i < call->op->input_count; i++) {
        const struct accel_value *value = call->inputs[i];
        struct accel_dim *sum = &call->made[0].dims[at->axis];
        if (value == NULL)
            continue;
        if (value->type != first->type || value->rank != first->rank)
            return accel_op_refuse_shapes(call, 0, i, "their types or ranks differ", error);
        for (uint32_t d = 0; d < first->rank; d++)
            if (d != at->axis && !accel_dim_equal(&first->dims[d], &value->dims[d]))
                return accel_op_refuse_shapes(call, 0, i, "extents beside the axis differ", error);
        if (!(accel_dim_is_fixed(sum)
                  ? accel_dim_plus(&value->dims[at->axis], sum->add, sum)
                  : accel_dim_is_fixed(&value->dims[at->axis]) && accel_dim_plus(sum, value->dims[at->axis].add, sum)))
            return accel_op_refuse_shapes(call, 0, i, "the extents of the axis cannot be added", error);
    }
    return ACCEL_OK;
}

int32_t accel_infer_slice(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_slice *at = call->attributes;
    const struct accel_dim *axis = find_axis(call, at->axis, error);
    if (axis == NULL)
        return ACCEL_E_INVALID;
    if (!accel_dim_is_fixed(axis) || at->begin >= axis->add || at->extent - 1 > (axis->add - 1 - at->begin) / at->step)
        return accel_op_refuse(call, error, "the elements do not lie within a fixed extent of x");
    accel_op_output_like(call, call->inputs[0]);
    call->made[0].dims[at->axis] = accel_dim_fixed(at->extent);
    return ACCEL_OK;
}

int32_t accel_infer_permute(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_permute *at = call->attributes;
    (void)error;
    accel_op_output_like(call, call->inputs[0]);
    for (uint32_t i = 0; i < call->made[0].rank; i++)
        call->made[0].dims[i] = call->inputs[0]->dims[at->order[i]];
    return ACCEL_OK;
}

int32_t accel_infer_pad(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_pad *at = call->attributes;
    const struct accel_dim *axis = find_axis(call, at->axis, error);
    struct accel_dim sum;
    if (axis == NULL)
        return ACCEL_E_INVALID;
    if (at->mode == ACCEL_PAD_MIRROR &&
        (!accel_dim_is_fixed(axis) || at->before >= axis->add || at->after >= axis->add))
        return accel_op_refuse(call, error, "more elements are mirrored than a fixed extent of x has");
    if (!accel_dim_plus(axis, at->before, &sum) || !accel_dim_plus(&sum, at->after, &sum))
        return accel_op_refuse(call, error, "the extent does not fit 64 bits");
    accel_op_output_like(call, call->inputs[0]);
    call->made[0].dims[at->axis] = sum;
    return ACCEL_OK;
}

int32_t accel_infer_reduce(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_reduce *at = call->attributes;
    const struct accel_value *x = call->inputs[0], *first = call->inputs[1];
    if (find_axis(call, at->axis, error) == NULL)
        return ACCEL_E_INVALID;
    accel_op_output_like(call, x);
    if (first) {
        call->made[0].dims[0] = first->dims[0];
        if (call->made[0].dims[0].add-- == 0)
            return accel_op_refuse(call, error, "first has one more element than there are segments");
    } else {
        accel_op_remove_dim(&call->made[0], at->axis);
    }
    return ACCEL_OK;
}

int32_t accel_infer_top_k(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_top_k *at = call->attributes;
    const struct accel_dim *row = &call->inputs[0]->dims[call->inputs[0]->rank - 1];
    if (!accel_dim_is_fixed(row) || at->k > row->add)
        return accel_op_refuse(call, error, "a row of x is not fixed, or has fewer elements than attribute k");
    accel_op_output_like(call, call->inputs[0]);
    call->made[0].dims[call->made[0].rank - 1] = accel_dim_fixed(at->k);
    call->made[1] = call->made[0];
    call->made[0].type = ACCEL_I32;
    return ACCEL_OK;
}

/* Infers the tokens of a row of logits each; settings, draw and recent have a row for each. */
int32_t accel_infer_sample(struct accel_op_call *call, struct accel_error *error)
{
    static const uint64_t widths[] = {0, ACCEL_SAMPLE_SETTINGS, ACCEL_SAMPLE_DRAW};
    const struct accel_value *logits = call->inputs[0];
    if (!accel_dim_is_fixed(&logits->dims[1]) || logits->dims[1].add >= 1u << 24)
        return accel_op_refuse(call, error, "a row of logits is not fixed, or has 2^24 elements or more");
    for (uint32_t i = 1; i < 4; i++) {
        const struct accel_value *value = call->inputs[i];
        if (value && !accel_dim_equal(&value->dims[0], &logits->dims[0]))
            return accel_op_refuse_shapes(call, i, 0, "there is a row for each row of logits", error);
        if (value && (!accel_dim_is_fixed(&value->dims[1]) || (i < 3 && value->dims[1].add != widths[i])))
            return accel_op_refuse(call, error,
                                   "a row of settings has 4 elements, one of draw 7, one of recent a fixed number");
    }
    call->made[0] = (struct accel_op_made){ACCEL_I32, 1, {logits->dims[0]}};
    return ACCEL_OK;
}

const char *accel_check_cast(const struct accel_op_call *call)
{
    const struct accel_cast *at = call->attributes;
    return at->type == ACCEL_F32 || at->type == ACCEL_F16 || at->type == ACCEL_BF16 || at->type == ACCEL_I32
               ? NULL
               : "attribute type is none of f32, f16, bf16, i32";
}

int32_t accel_infer_cast(struct accel_op_call *call, struct accel_error *error)
{
    (void)error;
    accel_op_output_like(call, call->inputs[0]);
    call->made[0].type = ((const struct accel_cast *)call->attributes)->type;
    return ACCEL_OK;
}
