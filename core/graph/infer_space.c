/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules of operators over places of images and sound, channels innermost. */
#include "config.h"

#include <math.h>

#include "core/base/checked.h"
#include "core/graph/dim.h"
#include "core/graph/infer.h"

const char *accel_check_group_norm(const struct accel_op_call *call)
{
    const struct accel_group_norm *at = call->attributes;
    if (at->groups == 0 || !isfinite(at->epsilon) || at->epsilon < 0.0f)
        return "attribute groups is 0, or epsilon is negative or not finite";
    return accel_op_zero_fault(at->zero);
}

const char *accel_check_conv(const struct accel_op_call *call)
{
    const struct accel_conv *at = call->attributes;
    const char *fault = accel_op_product_fault(at->function, at->rounding);
    for (uint32_t i = 0; i < 2; i++)
        if (at->kernel[i] == 0 || at->stride[i] == 0 || at->dilation[i] == 0)
            return "attribute kernel, stride or dilation is 0";
    if (at->groups == 0 || at->transposed > 1)
        return "attribute groups is 0, or transposed neither 0 nor 1";
    return fault ? fault : accel_op_zero_fault(at->zero);
}

const char *accel_check_pool(const struct accel_op_call *call)
{
    const struct accel_pool *at = call->attributes;
    for (uint32_t i = 0; i < 2; i++)
        if (at->stride[i] == 0 || at->before[i] >= at->kernel[i] || at->after[i] >= at->kernel[i])
            return "attribute stride is 0, or before or after is not below kernel";
    if (at->kind > ACCEL_POOL_AVERAGE || at->count_outside > (at->kind == ACCEL_POOL_AVERAGE))
        return "attribute kind or count_outside is unknown, or they do not fit";
    return accel_op_zero_fault(at->zero);
}

const char *accel_check_resize(const struct accel_op_call *call)
{
    const struct accel_resize *at = call->attributes;
    if (at->mode > ACCEL_RESIZE_CUBIC || at->align_corners > (at->mode != ACCEL_RESIZE_NEAREST))
        return "attribute mode or align_corners is unknown, or they do not fit";
    if (at->extent[0] == 0 || at->extent[1] == 0)
        return "attribute extent is 0";
    return accel_op_zero_fault(at->zero);
}

int32_t accel_infer_group_norm(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_group_norm *at = call->attributes;
    const struct accel_value *x = call->inputs[0];
    const struct accel_dim *channels = &x->dims[x->rank - 1];
    if (!accel_dim_is_fixed(channels) || channels->add % at->groups != 0)
        return accel_op_refuse(call, error, "the channels of x are not fixed, or no multiple of groups");
    return accel_infer_same(call, error);
}

/* Windows over one axis of places; `transposed` ones spread over more places than they read. */
struct axis {
    uint64_t kernel, stride, dilation, before, after;
    bool transposed;
};

/* Returns the extent of the output, 0 if no window fits. Extents and attributes below 2^32 cannot overflow. */
static uint64_t window_count(const struct axis *axis, uint64_t in)
{
    uint64_t span = axis->dilation * (axis->kernel - 1) + 1, padding = axis->before + axis->after;
    uint64_t spread = (in - 1) * axis->stride + span;
    if (axis->transposed)
        return spread > padding ? spread - padding : 0;
    return in + padding >= span ? (in + padding - span) / axis->stride + 1 : 0;
}

/* Returns whether windows are single places, each of which is read once. */
static bool is_single(const struct axis *axis)
{
    return axis->kernel == 1 && axis->stride == 1 && axis->dilation == 1 && axis->before + axis->after == 0;
}

/* Infers the places of the output; a value of rank 3 has one axis of places, that of index 1. */
static int32_t infer_places(struct accel_op_call *call, const struct axis axes[2], struct accel_error *error)
{
    const struct accel_value *x = call->inputs[0];
    accel_op_output_like(call, x);
    for (uint32_t i = x->rank == 3; i < 2; i++) {
        const struct accel_dim *places = &x->dims[x->rank - 3 + i];
        uint64_t count = 0;
        if (accel_dim_is_fixed(places) && places->add <= UINT32_MAX)
            count = window_count(&axes[i], places->add);
        if (count == 0)
            return accel_op_refuse(call, error, "the places of x are not fixed, or no window fits in them");
        call->made[0].dims[x->rank - 3 + i] = accel_dim_fixed(count);
    }
    if (x->rank == 3 && !is_single(&axes[0]))
        return accel_op_refuse(call, error, "attributes of the height have no meaning for one axis of places");
    return ACCEL_OK;
}

int32_t accel_infer_conv(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_conv *at = call->attributes;
    const struct accel_value *x = call->inputs[0], *weight = call->inputs[1];
    const struct accel_dim *channels = &x->dims[x->rank - 1], *outputs = &weight->dims[0];
    uint64_t per_group, row;
    struct axis axes[2];
    if (!accel_dim_is_fixed(channels) || !accel_dim_is_fixed(outputs) || channels->add % at->groups != 0 ||
        outputs->add % at->groups != 0)
        return accel_op_refuse(call, error, "channels or outputs are not fixed, or no multiple of groups");
    per_group = channels->add / at->groups;
    if (!accel_mul_u64((uint64_t)at->kernel[0] * at->kernel[1], per_group, &row) || weight->dims[1].symbol != 0 ||
        weight->dims[1].add != row)
        return accel_op_refuse_shapes(
            call, 0, 1, "a row of W has a weight for each place of the kernel and channel of a group", error);
    for (uint32_t i = 0; i < 2; i++)
        axes[i] =
            (struct axis){at->kernel[i], at->stride[i], at->dilation[i], at->before[i], at->after[i], at->transposed};
    if (infer_places(call, axes, error) != ACCEL_OK)
        return ACCEL_E_INVALID;
    call->made[0].dims[x->rank - 1] = *outputs;
    return ACCEL_OK;
}

int32_t accel_infer_pool(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_pool *at = call->attributes;
    struct axis axes[2];
    for (uint32_t i = 0; i < 2; i++)
        axes[i] = (struct axis){at->kernel[i], at->stride[i], 1, at->before[i], at->after[i], false};
    return infer_places(call, axes, error);
}

int32_t accel_infer_resize(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_resize *at = call->attributes;
    const struct accel_value *x = call->inputs[0];
    accel_op_output_like(call, x);
    for (uint32_t i = x->rank == 3; i < 2; i++) {
        if (!accel_dim_is_fixed(&x->dims[x->rank - 3 + i]))
            return accel_op_refuse(call, error, "the places of x are not fixed");
        call->made[0].dims[x->rank - 3 + i] = accel_dim_fixed(at->extent[i]);
    }
    if (x->rank == 3 && at->extent[0] != 1)
        return accel_op_refuse(call, error, "attribute extent of the height is not 1 for one axis of places");
    return ACCEL_OK;
}
