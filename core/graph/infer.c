/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/graph/infer.h"

#include <math.h>
#include <string.h>

#include "core/base/checked.h"
#include "core/graph/dim.h"

/* ---- attributes ---- */

int32_t accel_op_check_product(const struct accel_op_call *call, uint32_t function, uint32_t rounding,
                               struct accel_error *error)
{
    if (function >= ACCEL_FN_END)
        return accel_op_refuse(call, error, "attribute function is unknown");
    if (rounding != ACCEL_F32 && rounding != ACCEL_F16 && rounding != ACCEL_BF16 && rounding != ACCEL_Q8_0)
        return accel_op_refuse(call, error, "attribute rounding is none of f32, f16, bf16, q8_0");
    return ACCEL_OK;
}

int32_t accel_op_check_zero(const struct accel_op_call *call, uint64_t zero, struct accel_error *error)
{
    return zero == 0 ? ACCEL_OK : accel_op_refuse(call, error, "attribute zero is not 0");
}

int32_t accel_check_matmul(const struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_matmul *at = call->attributes;
    int32_t code = accel_op_check_product(call, at->function, at->rounding, error);
    return code == ACCEL_OK ? accel_op_check_zero(call, at->zero, error) : code;
}

int32_t accel_check_norm(const struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_norm *at = call->attributes;
    if (!isfinite(at->epsilon) || at->epsilon < 0.0f)
        return accel_op_refuse(call, error, "attribute epsilon is negative or not finite");
    return ACCEL_OK;
}

int32_t accel_check_rotary(const struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_rotary *at = call->attributes;
    if (at->pairing > ACCEL_PAIR_NEIGHBOURS)
        return accel_op_refuse(call, error, "attribute pairing is unknown");
    if (!isfinite(at->scale))
        return accel_op_refuse(call, error, "attribute scale is not finite");
    return accel_op_check_zero(call, at->zero, error);
}

int32_t accel_check_expert_matmul(const struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_expert_matmul *at = call->attributes;
    if (at->experts == 0)
        return accel_op_refuse(call, error, "attribute experts is 0");
    return accel_op_check_product(call, at->function, at->rounding, error);
}

/* Checks the attributes that both attention operators have. */
static int32_t check_scores(const struct accel_op_call *call, uint32_t causal, float scale, float softcap,
                            struct accel_error *error)
{
    if (causal > 1)
        return accel_op_refuse(call, error, "attribute causal is neither 0 nor 1");
    if (!isfinite(scale) || !isfinite(softcap) || softcap < 0.0f)
        return accel_op_refuse(call, error, "attribute scale or softcap is negative or not finite");
    return ACCEL_OK;
}

int32_t accel_check_dense_attention(const struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_dense_attention *at = call->attributes;
    int32_t code = check_scores(call, at->causal, at->scale, at->softcap, error);
    if (code == ACCEL_OK && at->center != 0 && call->inputs[6] == NULL)
        return accel_op_refuse(call, error, "attribute center has no meaning without input relative");
    return code == ACCEL_OK ? accel_op_check_zero(call, at->zero, error) : code;
}

int32_t accel_check_attention(const struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_attention *at = call->attributes;
    if (at->kv_heads == 0 || at->page == 0)
        return accel_op_refuse(call, error, "attribute kv_heads or page is 0");
    if (check_scores(call, at->causal, at->scale, at->softcap, error) != ACCEL_OK)
        return ACCEL_E_INVALID;
    if (at->rounding != 0 && at->rounding != ACCEL_F32 && at->rounding != ACCEL_Q8_0)
        return accel_op_refuse(call, error, "attribute rounding is neither F32 nor Q8_0");
    if (at->sinks != 0 && at->window == 0)
        return accel_op_refuse(call, error, "attribute sinks has no meaning without a window");
    if ((at->block != 0) != (call->inputs[6] != NULL))
        return accel_op_refuse(call, error, "attribute block and input mask have no meaning without each other");
    return ACCEL_OK;
}

int32_t accel_check_activation(const struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_activation *at = call->attributes;
    if (at->function >= ACCEL_FN_END)
        return accel_op_refuse(call, error, "attribute function is unknown");
    return ACCEL_OK;
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

void accel_op_output_like(struct accel_op_call *call, const struct accel_value *value)
{
    call->type = value->type;
    call->rank = value->rank;
    memset(call->dims, 0, sizeof(call->dims));
    memcpy(call->dims, value->dims, value->rank * sizeof(call->dims[0]));
}

static const struct accel_dim *innermost(const struct accel_value *value)
{
    return &value->dims[value->rank - 1];
}

/* Infers [tokens, row of the table], in F32 for every type of the table. */
int32_t accel_infer_embed(struct accel_op_call *call, struct accel_error *error)
{
    (void)error;
    call->type = ACCEL_F32;
    call->rank = 2;
    memset(call->dims, 0, sizeof(call->dims));
    call->dims[0] = call->inputs[1]->dims[0];
    call->dims[1] = call->inputs[0]->dims[1];
    return ACCEL_OK;
}

int32_t accel_infer_matmul(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_value *x = call->inputs[0], *weight = call->inputs[1];
    const struct accel_value *bias = call->inputs[2], *residual = call->inputs[3];
    if (!accel_dim_equal(innermost(x), &weight->dims[1]))
        return accel_op_refuse_shapes(call, 0, 1, "the innermost extents differ", error);
    if (bias && !accel_dim_equal(&bias->dims[0], &weight->dims[0]))
        return accel_op_refuse_shapes(call, 2, 1, "bias needs one element per row of W", error);
    accel_op_output_like(call, x);
    call->dims[call->rank - 1] = weight->dims[0];
    if (residual && !accel_dims_equal(residual->rank, residual->dims, call->rank, call->dims))
        return accel_op_refuse_shapes(call, 3, 0, "residual must have the shape of the output", error);
    return ACCEL_OK;
}

int32_t accel_infer_norm(struct accel_op_call *call, struct accel_error *error)
{
    for (uint32_t i = 1; i < call->op->input_count; i++)
        if (call->inputs[i] && !accel_dim_equal(innermost(call->inputs[0]), &call->inputs[i]->dims[0]))
            return accel_op_refuse_shapes(call, 0, i, "the innermost extents differ", error);
    accel_op_output_like(call, call->inputs[0]);
    return ACCEL_OK;
}

/* A head may be wider than the rotated part: the remaining elements are copied. */
int32_t accel_infer_rotary(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_dim *size = &call->inputs[0]->dims[2], *pairs = &call->inputs[2]->dims[0];
    if (!accel_dim_equal(&call->inputs[0]->dims[0], &call->inputs[1]->dims[0]))
        return accel_op_refuse_shapes(call, 0, 1, "there is a position for each token", error);
    if (!accel_dim_is_fixed(size) || !accel_dim_is_fixed(pairs) || pairs->add > size->add / 2)
        return accel_op_refuse_shapes(call, 0, 2, "heads hold two fixed elements for each frequency", error);
    accel_op_output_like(call, call->inputs[0]);
    return ACCEL_OK;
}

int32_t accel_infer_cache_write(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_value *x = call->inputs[0], *state = call->inputs[2];
    if (!accel_dim_equal(&x->dims[0], &call->inputs[1]->dims[0]))
        return accel_op_refuse_shapes(call, 0, 1, "there is a slot for each token", error);
    if (!accel_dims_same_product(x->rank - 1, x->dims + 1, 1, &state->dims[1]))
        return accel_op_refuse_shapes(call, 0, 2, "a row of the state holds one token", error);
    return ACCEL_OK;
}

/* Checks that the three inputs that describe sequences have the same number of sequences. */
static int32_t check_sequences(const struct accel_op_call *call, struct accel_error *error)
{
    struct accel_dim ends;
    if (!accel_dim_equal(&call->inputs[3]->dims[0], &call->inputs[5]->dims[0]))
        return accel_op_refuse_shapes(call, 3, 5, "both have a row for each sequence", error);
    if (!accel_dim_plus(&call->inputs[5]->dims[0], 1, &ends) || !accel_dim_equal(&ends, &call->inputs[4]->dims[0]))
        return accel_op_refuse_shapes(call, 4, 5, "first has one more than there are sequences", error);
    return ACCEL_OK;
}

/* Checks the mask: a bit for each block of positions of a sequence, as query and as key. */
static int32_t check_mask(const struct accel_op_call *call, uint64_t places, struct accel_error *error)
{
    const struct accel_attention *at = call->attributes;
    const struct accel_value *mask = call->inputs[6];
    uint64_t blocks = places / at->block + (places % at->block != 0);
    struct accel_dim rows = accel_dim_fixed(blocks), words = accel_dim_fixed(blocks / 32 + (blocks % 32 != 0));
    if (!accel_dim_equal(&mask->dims[0], &call->inputs[5]->dims[0]))
        return accel_op_refuse_shapes(call, 6, 5, "both have a row for each sequence", error);
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
    call->second = (struct accel_op_made){ACCEL_F32, 2, {table->dims[0], accel_dim_fixed(places)}};
    return call->inputs[6] == NULL ? ACCEL_OK : check_mask(call, places, error);
}

/* Checks an optional input with an element or a row for each head of q. */
static int32_t check_heads(const struct accel_op_call *call, uint32_t input, struct accel_error *error)
{
    if (call->inputs[input] && !accel_dim_equal(&call->inputs[input]->dims[0], &call->inputs[0]->dims[1]))
        return accel_op_refuse_shapes(call, input, 0, "it has one element or row for each head of q", error);
    return ACCEL_OK;
}

/* Infers attention. Heads of q share heads of k and v in groups of equal size. Values may have another size than
 * keys: the output has the size of the values. */
int32_t accel_infer_attention(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_attention *at = call->attributes;
    const struct accel_value *q = call->inputs[0], *k = call->inputs[1], *v = call->inputs[2];
    uint64_t heads = q->dims[1].add, row;
    if (!accel_dim_is_fixed(&q->dims[1]) || !accel_dim_is_fixed(&q->dims[2]) || !accel_dim_is_fixed(&k->dims[1]) ||
        !accel_dim_is_fixed(&v->dims[1]))
        return accel_op_refuse(call, error, "heads and sizes have to be fixed");
    if (heads % at->kv_heads != 0)
        return accel_op_refuse(call, error, "the heads of q are no multiple of kv_heads");
    if (!accel_mul_u64(q->dims[2].add, at->kv_heads, &row) || row != k->dims[1].add)
        return accel_op_refuse_shapes(call, 0, 1, "a row of k holds kv_heads times the size of a head", error);
    if (v->dims[1].add % at->kv_heads != 0 || !accel_dim_equal(&k->dims[0], &v->dims[0]))
        return accel_op_refuse_shapes(call, 1, 2, "v has the slots of k and a multiple of kv_heads in a row", error);
    if (check_sequences(call, error) != ACCEL_OK)
        return ACCEL_E_INVALID;
    accel_op_output_like(call, q);
    call->dims[2] = accel_dim_fixed(v->dims[1].add / at->kv_heads);
    if (check_heads(call, 7, error) != ACCEL_OK || check_heads(call, 8, error) != ACCEL_OK)
        return ACCEL_E_INVALID;
    return infer_places(call, error);
}

/* Infers attention over tensors. Heads and sizes as in attention; the heads of k and v are a dimension of theirs. */
int32_t accel_infer_dense_attention(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_value *q = call->inputs[0], *k = call->inputs[1], *v = call->inputs[2];
    if (!accel_dim_is_fixed(&q->dims[1]) || !accel_dim_is_fixed(&q->dims[2]) || !accel_dim_is_fixed(&k->dims[1]) ||
        !accel_dim_is_fixed(&v->dims[2]))
        return accel_op_refuse(call, error, "heads and sizes have to be fixed");
    if (q->dims[1].add % k->dims[1].add != 0 || !accel_dim_equal(&q->dims[2], &k->dims[2]))
        return accel_op_refuse_shapes(call, 0, 1, "q has heads of the size of those of k, and a multiple of them",
                                      error);
    if (!accel_dims_equal(2, k->dims, 2, v->dims))
        return accel_op_refuse_shapes(call, 1, 2, "v has the keys and heads of k", error);
    if (!accel_dim_equal(&call->inputs[3]->dims[0], &call->inputs[4]->dims[0]))
        return accel_op_refuse_shapes(call, 3, 4, "both have one more element than there are sequences", error);
    if (call->inputs[5] && !accel_dim_equal(&call->inputs[5]->dims[1], &q->dims[1]))
        return accel_op_refuse_shapes(call, 5, 0, "bias has a table for each head of q", error);
    if (check_heads(call, 6, error) != ACCEL_OK || check_heads(call, 7, error) != ACCEL_OK)
        return ACCEL_E_INVALID;
    accel_op_output_like(call, q);
    call->dims[2] = v->dims[2];
    return ACCEL_OK;
}

/* Infers the outputs of experts: a row for each choice, or the sum of the choices of a token. */
int32_t accel_infer_expert_matmul(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_expert_matmul *at = call->attributes;
    const struct accel_value *x = call->inputs[0], *weight = call->inputs[1], *ids = call->inputs[2];
    if (!accel_dim_equal(innermost(x), &weight->dims[1]))
        return accel_op_refuse_shapes(call, 0, 1, "the innermost extents differ", error);
    if (!accel_dims_equal(x->rank - 1, x->dims, x->rank - 1, ids->dims))
        return accel_op_refuse_shapes(call, 0, 2, "x has a row for each token, or for each choice", error);
    if (!accel_dim_is_fixed(&weight->dims[0]) || !accel_dim_is_fixed(&ids->dims[1]) ||
        weight->dims[0].add % at->experts != 0)
        return accel_op_refuse(call, error, "the rows of W are no multiple of experts, or the choices are not fixed");
    if (call->inputs[3] && !accel_dim_equal(&call->inputs[3]->dims[0], &weight->dims[0]))
        return accel_op_refuse_shapes(call, 3, 1, "bias needs one element per row of W", error);
    if (call->inputs[4] && !accel_dims_equal(2, call->inputs[4]->dims, 2, ids->dims))
        return accel_op_refuse_shapes(call, 4, 2, "factor has the shape of ids", error);
    accel_op_output_like(call, ids);
    call->type = ACCEL_F32;
    call->rank = call->inputs[4] ? 2 : 3;
    call->dims[call->rank - 1] = accel_dim_fixed(weight->dims[0].add / at->experts);
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
    call->dims[0] = call->inputs[1]->dims[0];
    return ACCEL_OK;
}

int32_t accel_infer_reshape(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_value *x = call->inputs[0];
    char from[120], to[120];
    if (call->rank < 1 || call->rank > ACCEL_RANK)
        return accel_op_refuse(call, error, "the new shape has no extents or too many");
    call->type = x->type;
    if (accel_dims_same_product(x->rank, x->dims, call->rank, call->dims))
        return ACCEL_OK;
    return accel_error_set(
        error, ACCEL_E_INVALID,
        "node \"%.100s\" (%s): \"%.60s\" is %s, which cannot be shown to hold as many elements as %s", call->node->name,
        call->op->name, x->name, accel_dims_text(call->graph, x->rank, x->dims, from, sizeof(from)),
        accel_dims_text(call->graph, call->rank, call->dims, to, sizeof(to)));
}

/* Removes the innermost extent; a shape keeps at least one. */
int32_t accel_infer_argmax(struct accel_op_call *call, struct accel_error *error)
{
    const struct accel_value *x = call->inputs[0];
    (void)error;
    accel_op_output_like(call, x);
    call->type = ACCEL_I32;
    if (call->rank == 1)
        call->dims[0] = accel_dim_fixed(1);
    else
        memset(&call->dims[--call->rank], 0, sizeof(call->dims[0]));
    return ACCEL_OK;
}
