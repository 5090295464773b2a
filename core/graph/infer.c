/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/graph/infer.h"

#include <math.h>
#include <string.h>

#include "core/base/checked.h"
#include "core/graph/dim.h"

/* ---- attributes ---- */

const char *accel_op_product_fault(uint32_t function, uint32_t rounding)
{
    if (function >= ACCEL_FN_END)
        return "attribute function is unknown";
    if (rounding != ACCEL_F32 && rounding != ACCEL_F16 && rounding != ACCEL_BF16 && !ACCEL_ALLOWS_Q8(rounding))
        return "attribute rounding is none of f32, f16, bf16, q8_0, q8_row";
    return NULL;
}

const char *accel_op_zero_fault(uint64_t zero)
{
    return zero == 0 ? NULL : "attribute zero is not 0";
}

const char *accel_check_matmul(const struct accel_op_call *call)
{
    const struct accel_matmul *at = call->attributes;
    const char *fault = accel_op_product_fault(at->function, at->rounding);
    return fault ? fault : accel_op_zero_fault(at->zero);
}

const char *accel_check_norm(const struct accel_op_call *call)
{
    const struct accel_norm *at = call->attributes;
    return isfinite(at->epsilon) && at->epsilon >= 0.0f ? NULL : "attribute epsilon is negative or not finite";
}

const char *accel_check_rotary(const struct accel_op_call *call)
{
    const struct accel_rotary *at = call->attributes;
    if (at->pairing > ACCEL_PAIR_NEIGHBOURS)
        return "attribute pairing is unknown";
    return isfinite(at->scale) ? accel_op_zero_fault(at->zero) : "attribute scale is not finite";
}

const char *accel_check_expert_matmul(const struct accel_op_call *call)
{
    const struct accel_expert_matmul *at = call->attributes;
    return at->experts ? accel_op_product_fault(at->function, at->rounding) : "attribute experts is 0";
}

/* Returns the fault of the attributes that both attention operators have. */
static const char *scores_fault(uint32_t causal, float scale, float softcap)
{
    if (causal > 1)
        return "attribute causal is neither 0 nor 1";
    if (!isfinite(scale) || !isfinite(softcap) || softcap < 0.0f)
        return "attribute scale or softcap is negative or not finite";
    return NULL;
}

const char *accel_check_dense_attention(const struct accel_op_call *call)
{
    const struct accel_dense_attention *at = call->attributes;
    const char *fault = scores_fault(at->causal, at->scale, at->softcap);
    if (fault == NULL && at->center != 0 && call->inputs[6] == NULL)
        return "attribute center has no meaning without input relative";
    return fault ? fault : accel_op_zero_fault(at->zero);
}

const char *accel_check_attention(const struct accel_op_call *call)
{
    const struct accel_attention *at = call->attributes;
    if (at->kv_heads == 0 || at->page == 0)
        return "attribute kv_heads or page is 0";
    if (at->rounding != 0 && at->rounding != ACCEL_F32 && at->rounding != ACCEL_Q8_0)
        return "attribute rounding is neither F32 nor Q8_0";
    if (at->sinks != 0 && at->window == 0)
        return "attribute sinks has no meaning without a window";
    if ((at->block != 0) != (call->inputs[6] != NULL))
        return "attribute block and input mask have no meaning without each other";
    return scores_fault(at->causal, at->scale, at->softcap);
}

const char *accel_check_activation(const struct accel_op_call *call)
{
    const struct accel_activation *at = call->attributes;
    return at->function < ACCEL_FN_END ? NULL : "attribute function is unknown";
}

/* ---- shapes ---- */

/* Reports the shapes of two inputs: a shape mismatch is the most common mistake. */
int32_t accel_op_refuse_shapes(const struct accel_op_call *call, uint32_t a, uint32_t b, const char *rule,
                               struct accel_error *error)
{
    const struct accel_value *x = call->inputs[a], *y = call->inputs[b];
    char x_text[100], y_text[100];
    return accel_error_set(error, ACCEL_E_INVALID, "node \"%.100s\" (%s): %s \"%.60s\" is %s, %s \"%.60s\" is %s; %s",
                           call->node->name, call->op->name, call->op->slots[a].name, x->name,
                           accel_dims_text(call->graph, x->rank, x->dims, x_text, sizeof(x_text)),
                           call->op->slots[b].name, y->name,
                           accel_dims_text(call->graph, y->rank, y->dims, y_text, sizeof(y_text)), rule);
}

#define INNERMOST ACCEL_RANK

/* Extents of two inputs that are equal wherever both inputs are there. */
static const struct {
    uint32_t op;
    uint32_t a, a_dim, b, b_dim; /* inputs, and dimensions of theirs */
    const char *rule;
} equal_extents[] = {
    {ACCEL_OP_MATMUL, 0, INNERMOST, 1, 1, "the innermost extents differ"},
    {ACCEL_OP_MATMUL, 2, 0, 1, 0, "bias needs one element per row of W"},
    {ACCEL_OP_RMS_NORM, 0, INNERMOST, 1, 0, "the innermost extents differ"},
    {ACCEL_OP_LAYER_NORM, 0, INNERMOST, 1, 0, "the innermost extents differ"},
    {ACCEL_OP_LAYER_NORM, 0, INNERMOST, 2, 0, "the innermost extents differ"},
    {ACCEL_OP_ROTARY, 0, 0, 1, 0, "there is a position for each token"},
    {ACCEL_OP_CACHE_WRITE, 0, 0, 1, 0, "there is a slot for each token"},
    {ACCEL_OP_ATTENTION, 1, 0, 2, 0, "v has the slots of k"},
    {ACCEL_OP_ATTENTION, 3, 0, 5, 0, "both have a row for each sequence"},
    {ACCEL_OP_ATTENTION, 6, 0, 5, 0, "both have a row for each sequence"},
    {ACCEL_OP_ATTENTION, 7, 0, 0, 1, "it has one element or row for each head of q"},
    {ACCEL_OP_ATTENTION, 8, 0, 0, 1, "it has one element or row for each head of q"},
    {ACCEL_OP_GROUP_NORM, 0, INNERMOST, 1, 0, "the innermost extents differ"},
    {ACCEL_OP_GROUP_NORM, 0, INNERMOST, 2, 0, "the innermost extents differ"},
    {ACCEL_OP_CONV, 2, 0, 1, 0, "bias needs one element per row of W"},
    {ACCEL_OP_EXPERT_MATMUL, 0, INNERMOST, 1, 1, "the innermost extents differ"},
    {ACCEL_OP_EXPERT_MATMUL, 3, 0, 1, 0, "bias needs one element per row of W"},
    {ACCEL_OP_EXPERT_MATMUL, 4, 0, 2, 0, "factor has the shape of ids"},
    {ACCEL_OP_EXPERT_MATMUL, 4, 1, 2, 1, "factor has the shape of ids"},
    {ACCEL_OP_DENSE_ATTENTION, 0, 2, 1, 2, "heads of q have the size of those of k"},
    {ACCEL_OP_DENSE_ATTENTION, 1, 0, 2, 0, "v has the keys and heads of k"},
    {ACCEL_OP_DENSE_ATTENTION, 1, 1, 2, 1, "v has the keys and heads of k"},
    {ACCEL_OP_DENSE_ATTENTION, 3, 0, 4, 0, "both have one more element than there are sequences"},
    {ACCEL_OP_DENSE_ATTENTION, 5, 1, 0, 1, "bias has a table for each head of q"},
    {ACCEL_OP_DENSE_ATTENTION, 6, 0, 0, 1, "it has one element or row for each head of q"},
    {ACCEL_OP_DENSE_ATTENTION, 7, 0, 0, 1, "it has one element or row for each head of q"},
};

int32_t accel_op_check_extents(const struct accel_op_call *call, struct accel_error *error)
{
    for (size_t i = 0; i < sizeof(equal_extents) / sizeof(equal_extents[0]); i++) {
        uint32_t a = equal_extents[i].a, a_dim = equal_extents[i].a_dim, b = equal_extents[i].b;
        const struct accel_value *x = call->inputs[a], *y = call->inputs[b];
        if (equal_extents[i].op == call->node->op && x && y &&
            !accel_dim_equal(&x->dims[a_dim == INNERMOST ? x->rank - 1 : a_dim], &y->dims[equal_extents[i].b_dim]))
            return accel_op_refuse_shapes(call, a, b, equal_extents[i].rule, error);
    }
    return ACCEL_OK;
}

void accel_op_output_like(struct accel_op_call *call, const struct accel_value *value)
{
    call->made[0] = (struct accel_op_made){.type = value->type, .rank = value->rank};
    memcpy(call->made[0].dims, value->dims, value->rank * sizeof(value->dims[0]));
}

void accel_op_remove_dim(struct accel_op_made *made, uint32_t dim)
{
    if (--made->rank == 0) {
        *made = (struct accel_op_made){made->type, 1, {accel_dim_fixed(1)}};
        return;
    }
    memmove(&made->dims[dim], &made->dims[dim + 1], (made->rank - dim) * sizeof(made->dims[0]));
    memset(&made->dims[made->rank], 0, sizeof(made->dims[0]));
}

/* Infers [tokens, row of the table], in F32 for every type of the table. */
int32_t accel_infer_embed(struct accel_op_call *call, struct accel_error *error)
{
    (void)error;
    call->made[0] = (struct accel_op_made){ACCEL_F32, 2, {call->inputs[1]->dims[0], call->inputs[0]->dims[1]}};
    return ACCEL_OK;
}

int32_t accel_infer_matmul(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_value *residual = call->inputs[3];
    struct accel_op_made *y = &call->made[0];
    accel_op_output_like(call, call->inputs[0]);
    y->dims[y->rank - 1] = call->inputs[1]->dims[0];
    if (residual && !accel_dims_equal(residual->rank, residual->dims, y->rank, y->dims))
        return accel_op_refuse_shapes(call, 3, 0, "residual must have the shape of the output", error);
    return ACCEL_OK;
}

/* A head may be wider than the rotated part: the remaining elements are copied. */
int32_t accel_infer_rotary(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_dim *size = &call->inputs[0]->dims[2], *pairs = &call->inputs[2]->dims[0];
    if (!accel_dim_is_fixed(size) || !accel_dim_is_fixed(pairs) || pairs->add > size->add / 2)
        return accel_op_refuse_shapes(call, 0, 2, "heads hold two fixed elements for each frequency", error);
    accel_op_output_like(call, call->inputs[0]);
    return ACCEL_OK;
}

int32_t accel_infer_cache_write(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_value *x = call->inputs[0], *state = call->inputs[2];
    if (!accel_dims_same_product(x->rank - 1, x->dims + 1, 1, &state->dims[1]))
        return accel_op_refuse_shapes(call, 0, 2, "a row of the state holds one token", error);
    return ACCEL_OK;
}

/* Checks the mask: a bit for each block of positions of a sequence, as query and as key. */
static int32_t check_mask(const struct accel_op_call *call, uint64_t places, struct accel_error *error)
{
    const struct accel_attention *at = call->attributes;
    const struct accel_value *mask = call->inputs[6];
    uint64_t blocks = places / at->block + (places % at->block != 0);
    struct accel_dim rows = accel_dim_fixed(blocks), words = accel_dim_fixed(blocks / 32 + (blocks % 32 != 0));
    if (!accel_dim_equal(&mask->dims[1], &rows) || !accel_dim_equal(&mask->dims[2], &words))
        return accel_op_refuse_shapes(
            call, 6, 3, "the mask has a row of bits, 32 to a word, for each block of pages * page", error);
    return ACCEL_OK;
}

/* Infers outputs that are counted per position, which needs a fixed number of positions. */
static int32_t infer_places(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_attention *at = call->attributes;
    const struct accel_value *table = call->inputs[3];
    uint64_t places;
    if (call->inputs[6] == NULL && call->node->output_count == 1)
        return ACCEL_OK;
    if (!accel_dim_is_fixed(&table->dims[1]) || !accel_mul_u64(table->dims[1].add, at->page, &places))
        return accel_op_refuse(call, error, "with a mask or score sums the pages of a sequence have to be fixed");
    call->made[1] = (struct accel_op_made){ACCEL_F32, 2, {table->dims[0], accel_dim_fixed(places)}};
    return call->inputs[6] == NULL ? ACCEL_OK : check_mask(call, places, error);
}

/* Infers attention. Heads of q share heads of k and v in groups of equal size. Values may have another size than
 * keys: the output has the size of the values. */
int32_t accel_infer_attention(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_attention *at = call->attributes;
    const struct accel_value *q = call->inputs[0], *k = call->inputs[1], *v = call->inputs[2];
    struct accel_dim ends;
    uint64_t row;
    if (!accel_dim_is_fixed(&q->dims[1]) || !accel_dim_is_fixed(&q->dims[2]) || !accel_dim_is_fixed(&k->dims[1]) ||
        !accel_dim_is_fixed(&v->dims[1]))
        return accel_op_refuse(call, error, "heads and sizes have to be fixed");
    if (q->dims[1].add % at->kv_heads != 0)
        return accel_op_refuse(call, error, "the heads of q are no multiple of kv_heads");
    if (!accel_mul_u64(q->dims[2].add, at->kv_heads, &row) || row != k->dims[1].add)
        return accel_op_refuse_shapes(call, 0, 1, "a row of k holds kv_heads times the size of a head", error);
    if (v->dims[1].add % at->kv_heads != 0)
        return accel_op_refuse(call, error, "a row of v is no multiple of kv_heads");
    if (!accel_dim_plus(&call->inputs[5]->dims[0], 1, &ends) || !accel_dim_equal(&ends, &call->inputs[4]->dims[0]))
        return accel_op_refuse_shapes(call, 4, 5, "first has one more than there are sequences", error);
    accel_op_output_like(call, q);
    call->made[0].dims[2] = accel_dim_fixed(v->dims[1].add / at->kv_heads);
    return infer_places(call, error);
}

/* Infers attention over tensors. Heads and sizes as in attention; the heads of k and v are a dimension of theirs. */
int32_t accel_infer_dense_attention(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_value *q = call->inputs[0], *k = call->inputs[1], *v = call->inputs[2];
    if (!accel_dim_is_fixed(&q->dims[1]) || !accel_dim_is_fixed(&q->dims[2]) || !accel_dim_is_fixed(&k->dims[1]) ||
        !accel_dim_is_fixed(&v->dims[2]))
        return accel_op_refuse(call, error, "heads and sizes have to be fixed");
    if (q->dims[1].add % k->dims[1].add != 0)
        return accel_op_refuse_shapes(call, 0, 1, "the heads of q are a multiple of those of k", error);
    accel_op_output_like(call, q);
    call->made[0].dims[2] = v->dims[2];
    return ACCEL_OK;
}

/* Infers the outputs of experts: a row for each choice, or the sum of the choices of a token. */
int32_t accel_infer_expert_matmul(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_expert_matmul *at = call->attributes;
    const struct accel_value *x = call->inputs[0], *weight = call->inputs[1], *ids = call->inputs[2];
    if (!accel_dims_equal(x->rank - 1, x->dims, x->rank - 1, ids->dims))
        return accel_op_refuse_shapes(call, 0, 2, "x has a row for each token, or for each choice", error);
    if (!accel_dim_is_fixed(&weight->dims[0]) || !accel_dim_is_fixed(&ids->dims[1]) ||
        weight->dims[0].add % at->experts != 0)
        return accel_op_refuse(call, error, "the rows of W are no multiple of experts, or the choices are not fixed");
    call->made[0] = (struct accel_op_made){ACCEL_F32, call->inputs[4] ? 2 : 3, {ids->dims[0], ids->dims[1]}};
    call->made[0].dims[call->made[0].rank - 1] = accel_dim_fixed(weight->dims[0].add / at->experts);
    return ACCEL_OK;
}

/* Only b is broadcast, over leading extents, so that the output is always as large as a and may reuse its memory. */
int32_t accel_infer_broadcast(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_value *a = call->inputs[0], *b = call->inputs[1];
    if (b->rank > a->rank || !accel_dims_equal(b->rank, b->dims, b->rank, a->dims + (a->rank - b->rank)))
        return accel_op_refuse_shapes(call, 0, 1, "b must have the shape or the trailing extents of a", error);
    accel_op_output_like(call, a);
    return ACCEL_OK;
}

int32_t accel_infer_same(struct accel_op_call *call, struct accel_error *error)
{
    (void)error;
    accel_op_output_like(call, call->inputs[0]);
    return ACCEL_OK;
}

int32_t accel_infer_gate(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_value *gate = call->inputs[0], *up = call->inputs[1];
    if (!accel_dims_equal(gate->rank, gate->dims, up->rank, up->dims))
        return accel_op_refuse_shapes(call, 0, 1, "both must have the same shape", error);
    accel_op_output_like(call, gate);
    return ACCEL_OK;
}

int32_t accel_infer_gather(struct accel_op_call *call, struct accel_error *error)
{
    (void)error;
    accel_op_output_like(call, call->inputs[0]);
    call->made[0].dims[0] = call->inputs[1]->dims[0];
    return ACCEL_OK;
}

int32_t accel_infer_reshape(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_value *x = call->inputs[0];
    struct accel_op_made *y = &call->made[0];
    char from[120], to[120];
    if (y->rank < 1 || y->rank > ACCEL_RANK)
        return accel_op_refuse(call, error, "the new shape has no extents or too many");
    y->type = x->type;
    if (accel_dims_same_product(x->rank, x->dims, y->rank, y->dims))
        return ACCEL_OK;
    return accel_error_set(
        error, ACCEL_E_INVALID,
        "node \"%.100s\" (%s): \"%.60s\" is %s, which cannot be shown to hold as many elements as %s", call->node->name,
        call->op->name, x->name, accel_dims_text(call->graph, x->rank, x->dims, from, sizeof(from)),
        accel_dims_text(call->graph, y->rank, y->dims, to, sizeof(to)));
}

/* Removes the innermost extent; a shape keeps at least one. */
int32_t accel_infer_argmax(struct accel_op_call *call, struct accel_error *error)
{
    (void)error;
    accel_op_output_like(call, call->inputs[0]);
    call->made[0].type = ACCEL_I32;
    accel_op_remove_dim(&call->made[0], call->made[0].rank - 1);
    return ACCEL_OK;
}
