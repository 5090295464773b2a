/* SPDX-License-Identifier: Apache-2.0 */
/* Positions of a decoder: rotary frequencies, slopes of ALiBi, tables of learned positions. */
#include <math.h>
#include <stdlib.h>

#include "model/family/decoder_walk.h"
#include "model/family/rope.h"

static uint32_t frequency_constant(struct decoder *d, const char *name, const struct accel_rope_config *rope)
{
    const uint64_t count = rope->dims / 2;
    float *values = malloc(count * sizeof(*values));
    uint32_t value;

    if (values == NULL) {
        d->net.code = accel_error_set(d->net.error, ACCEL_E_MEMORY, "%llu frequencies", (unsigned long long)count);
        return ACCEL_NO_VALUE;
    }
    rope_frequencies(rope, 0, d->config->rope_divisors, values);
    value = net_constant(&d->net, name, count, values);
    free(values);
    return value;
}

/* Adds the rotary frequencies: an input computed for each step where the length changes them, else constants. */
void decoder_frequencies(struct decoder *d)
{
    const struct accel_decoder_config *c = d->config;
    const uint64_t count = c->rope.dims / 2;

    if (c->rope.kind == ACCEL_ROPE_LONG && c->format == ACCEL_MODEL_GGUF && d->net.mode == NET_CHECK) {
        net_vector(&d->net, ROPE_SHORT_TENSOR, count, 0);
        net_vector(&d->net, ROPE_LONG_TENSOR, count, 0);
    }
    if (rope_changes(&c->rope)) {
        d->frequency = net_input(&d->net, "frequency", ACCEL_F32, 1, net_fixed(count), net_fixed(0));
        d->frequency_sliding = d->frequency;
        d->step->frequency = d->frequency;
        return;
    }
    if (c->rope_divisors != NULL && d->net.mode == NET_CHECK)
        net_vector(&d->net, ROPE_DIVISORS_TENSOR, count, 0);
    d->frequency = frequency_constant(d, "frequency", &c->rope);
    d->frequency_sliding = frequency_constant(d, "frequency_sliding", &c->rope_sliding);
}

/* Adds the slopes of ALiBi (arXiv 2108.12409): 2^(-8 i / n) for n heads, a power of two, with another bias than 8 where
 * the form has one. For other numbers those of the next lower power come first, then every other one of twice as many.
 */
void decoder_slopes(struct decoder *d)
{
    const uint32_t heads = d->config->heads;
    const double bias = d->form->alibi_bias == 0 ? 8 : d->form->alibi_bias;
    float *slopes = malloc(heads * sizeof(*slopes));
    uint32_t power = 1;

    if (slopes == NULL) {
        d->net.code = accel_error_set(d->net.error, ACCEL_E_MEMORY, "%u slopes", heads);
        return;
    }
    while (power * 2 <= heads)
        power *= 2;
    for (uint32_t h = 0; h < heads; h++)
        slopes[h] = (float)((h < power ? exp2(-bias * (h + 1) / power) : exp2(-bias * (h - power + 0.5) / power)) *
                            (d->form->alibi_by_head ? 1 / sqrt(d->config->head_size) : 1));
    d->slope = net_constant(&d->net, "slope", heads, slopes);
    free(slopes);
}

/* Rows of a table of learned positions, added to the embeddings. */
uint32_t decoder_positions(struct decoder *d, uint32_t hidden)
{
    struct accel_cast to_float = {sizeof(to_float), ACCEL_F32}, to_integer = {sizeof(to_integer), ACCEL_I32};
    uint32_t first = d->form->position_first;
    uint32_t inputs[2] = {
        decoder_matrix(d, DECODER_POSITIONS, 0, 1, (uint64_t)d->config->context + first, d->config->hidden),
        d->step->position};

    if (first != 0) {
        inputs[1] = net_node(&d->net, ACCEL_OP_CAST, NET_NO_LAYER, "position_float", &inputs[1], 1, &to_float);
        inputs[1] = net_scale(&d->net, NET_NO_LAYER, "position_moved", inputs[1], 1, first);
        inputs[1] = net_node(&d->net, ACCEL_OP_CAST, NET_NO_LAYER, "position_row", &inputs[1], 1, &to_integer);
    }
    inputs[0] = net_node(&d->net, ACCEL_OP_EMBED, NET_NO_LAYER, "positions", inputs, 2, NULL);
    return net_add(&d->net, NET_NO_LAYER, "placed", hidden, inputs[0]);
}
