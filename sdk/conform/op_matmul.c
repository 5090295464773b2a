/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of matmul and embed with weights of every type of the format registry. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "sdk/conform/list.h"
#include "sdk/conform/reference.h"
#include "sdk/conform/trial_case.h"

/* Shape classes: rows of x, rows of the weight, blocks of a weight row. One row of x is decode; larger numbers are
 * prefill. */
static const struct shape {
    uint32_t m, n, blocks;
} shapes[] = {{1, 1, 1}, {1, 64, 2},  {1, 257, 3}, {2, 33, 1},  {4, 128, 4},
              {7, 5, 5}, {17, 48, 2}, {33, 65, 1}, {64, 64, 2}, {130, 31, 3}};

#define SHAPES (sizeof(shapes) / sizeof(*shapes))
#define LARGE 2048u /* elements of a large row */
#define LONG 8192u  /* elements of a long row, which ends some blocks past them */
#define TALL 65551u /* rows of a weight, more than 16 bits count */

/* ---- matmul ---- */

/* Fused inputs of a matmul. Few drivers support a bias in F16: no case with an F32 bias of a fixed shape depends
 * on it. */
#define BIAS 1u
#define RESIDUAL 2u
#define BIAS_F16 4u
#define OUTLIER 8u /* an element of each row of x is OUTLIER_SIZE: a scale for a whole row is too coarse then */
#define FUNCTION_SHIFT 4u
#define RANDOM_FUSED (BIAS | RESIDUAL | BIAS_F16)
#define OUTLIER_SIZE 16.0f

static void compute_matmul(const struct reference_call *call)
{
    const struct reference_value *w = call->inputs[1], *bias = call->inputs[2], *residual = call->inputs[3];
    const struct accel_matmul *at = call->attributes;
    const uint64_t n = w->extents[0], k = w->extents[1], count = reference_elements(call->outputs[0]);

    for (uint64_t i = 0; i < count; i++) {
        const double *x = call->inputs[0]->at + i / n * k, *row = w->at + i % n * k;
        double sum = 0;

        for (uint64_t l = 0; l < k; l++)
            sum += x[l] * row[l];
        sum = reference_function(at->function, sum + (bias == NULL ? 0 : bias->at[i % n]));
        call->outputs[0]->at[i] = sum + (residual == NULL ? 0 : residual->at[i]);
    }
}

static void fill_outliers(struct trial_inputs *inputs)
{
    const uint32_t k = (uint32_t)inputs->extents[0][inputs->rank[0] - 1];

    for (uint64_t at = 0; at < inputs->elements[0]; at += k)
        inputs->floats[0][at + conform_below(inputs->conform, k)] = OUTLIER_SIZE;
}

/* Runs one case. `fused`: bits of the fused inputs; the bits above them are the activation function. */
static void matmul_case(struct conform *conform, uint32_t m, uint32_t n, uint64_t k, uint32_t rounding, uint32_t fused)
{
    const struct accel_matmul at = {
        .size = sizeof(at), .function = fused >> FUNCTION_SHIFT, .rounding = trial_roundings[rounding].type};
    char rows[24], bias[16] = "-", residual[48] = "-", inputs[160], text[80];

    snprintf(rows, sizeof(rows), m % 3 == 0 && m > 3 ? "f:t%u,3" : "f:t%u", m % 3 == 0 && m > 3 ? m / 3 : m);
    if (fused & BIAS)
        snprintf(bias, sizeof(bias), "%c:%u", fused & BIAS_F16 ? 'H' : 'F', n);
    if (fused & RESIDUAL)
        snprintf(residual, sizeof(residual), "%s,%u", rows, n);
    snprintf(inputs, sizeof(inputs), "%s,%llu W:%u,%llu %s %s", rows, (unsigned long long)k, n, (unsigned long long)k,
             bias, residual);
    snprintf(text, sizeof(text), "function %s%s%s", reference_function_name(at.function),
             trial_roundings[rounding].text, fused & OUTLIER ? ", an element of each row of x is large" : "");
    trial_case_run(conform, &(struct trial_case){.op = ACCEL_OP_MATMUL,
                                                 .ceiling = trial_roundings[rounding].ceiling,
                                                 .inputs = inputs,
                                                 .attributes = &at,
                                                 .text = text,
                                                 .scale = trial_product_scale(k, rounding),
                                                 .fill = fused & OUTLIER ? fill_outliers : NULL});
}

/* Tests one row of x with a weight of TALL rows, which repeat. */
static void tall_case(struct conform *conform, uint64_t k, uint32_t rounding)
{
    struct accel_matmul attributes = {.size = sizeof(attributes), .rounding = trial_roundings[rounding].type};
    uint32_t inputs[4] = {0, 0, ACCEL_NO_VALUE, ACCEL_NO_VALUE};
    struct accel_dim dims[2] = {trial_fixed(1), trial_fixed(k)};
    struct conform_tensor weight;
    struct trial trial;
    double *want;
    float *x;

    trial_begin(&trial, conform, trial_roundings[rounding].ceiling, "[1, %llu] x [%u, %llu]%s", (unsigned long long)k,
                TALL, (unsigned long long)k, trial_roundings[rounding].text);
    trial.is_symbolic = false;
    x = conform_floats(conform, k);
    want = conform_memory(conform, TALL, sizeof(*want));
    conform_tensor_make_tall(conform, conform->parameter, TALL, k, &weight);
    for (uint32_t j = 0; j < TALL; j++)
        for (uint64_t l = 0; l < k; l++)
            want[j] += (double)x[l] * weight.exact[j % CONFORM_DISTINCT * k + l];
    inputs[0] = trial_input(&trial, "x", ACCEL_F32, 2, dims, x);
    inputs[1] = trial_weight(&trial, "w", 2, &weight);
    trial_output(&trial, trial_node(&trial, ACCEL_OP_MATMUL, "matmul", inputs, 4, &attributes), want,
                 trial_product_scale(k, rounding));
    trial_run(&trial);
    conform_tensor_free(&weight);
    free(x), free(want);
}

static void matmul(struct conform *conform)
{
    uint64_t block = conform_block(conform->parameter);
    uint64_t unit = block == 1 ? 19 : block, row = (LONG / block + 9) * block;

    for (uint32_t i = 0; i < SHAPES; i++) {
        matmul_case(conform, shapes[i].m, shapes[i].n, shapes[i].blocks * unit, 0, i % 4 == 3 ? BIAS | RESIDUAL : 0);
        matmul_case(conform, shapes[i].m, shapes[i].n, shapes[i].blocks * unit, 1 + i % 3, 0);
        if (i % 3 != 0)
            matmul_case(conform, shapes[i].m, shapes[i].n, shapes[i].blocks * unit, 1,
                        i % 4 == 1 ? BIAS | RESIDUAL : 0);
    }
    matmul_case(conform, 1, 96, LARGE, 0, 0);
    matmul_case(conform, 1, 96, LARGE, 1, 0);
    matmul_case(conform, 1, 20, row, 0, 0);
    matmul_case(conform, 2, 20, row, 1, 0);
    matmul_case(conform, 4, 13, row, 1, 0);
    matmul_case(conform, 1, 7, 4 * row, 0, 0);
    matmul_case(conform, 1, 7, 4 * row, 1, 0);
    matmul_case(conform, 35, 20, row, 0, 0);
    matmul_case(conform, 35, 20, row, 1, 0);
    /* More rows than any kernel of this tree processes in one block. */
    matmul_case(conform, 521, 20, unit, 0, BIAS | RESIDUAL);
    matmul_case(conform, 521, 20, unit, 1, BIAS | RESIDUAL);
    matmul_case(conform, 35, 20, row, TRIAL_BY_ROW, 0);
    matmul_case(conform, 521, 49, unit, TRIAL_BY_ROW, BIAS | RESIDUAL);
    matmul_case(conform, 2, 20, row, 1, OUTLIER);
    matmul_case(conform, 35, 20, row, 1, OUTLIER);
    matmul_case(conform, 3, 40, unit, 0, BIAS | BIAS_F16);
    /* A function is applied between the bias and the residual. */
    matmul_case(conform, 1, 33, unit, 0, ACCEL_FN_SILU << FUNCTION_SHIFT | BIAS | RESIDUAL);
    matmul_case(conform, 5, 40, unit, 1, ACCEL_FN_GELU << FUNCTION_SHIFT | BIAS | RESIDUAL);
    matmul_case(conform, 70, 24, unit, 0, ACCEL_FN_RELU << FUNCTION_SHIFT | RESIDUAL);
    tall_case(conform, unit, 0);
    tall_case(conform, unit, 1);
    for (uint32_t i = 0; i < conform->rounds; i++)
        matmul_case(conform, 1 + conform_below(conform, 40), 1 + conform_below(conform, 150),
                    (1 + conform_below(conform, 4)) * (block == 1 ? 1 + conform_below(conform, 60) : block),
                    conform_below(conform, TRIAL_BY_ROW + 1),
                    conform_below(conform, RANDOM_FUSED + 1) | conform_below(conform, ACCEL_FN_END) << FUNCTION_SHIFT);
}

/* ---- embed ---- */

/* Tests embed. Ids outside the table read row 0. The last id is that of the last row. */
static void embed_case(struct conform *conform, uint32_t rows, uint32_t count, uint64_t width)
{
    struct conform_tensor table;
    struct accel_dim dim;
    struct trial trial;
    uint32_t inputs[2];
    int32_t *ids;
    double *want;

    trial_begin(&trial, conform, TRIAL_F32, "%u of [%u, %llu]", count, rows, (unsigned long long)width);
    dim = trial_rows(&trial, count);
    conform_tensor_make_tall(conform, conform->parameter, rows, width, &table);
    ids = conform_memory(conform, count, sizeof(*ids));
    want = conform_memory(conform, count * width, sizeof(*want));
    for (uint32_t i = 0; i < count; i++) {
        bool is_wild = i > 1 && conform_below(conform, 8) == 0;
        uint64_t from;

        ids[i] = is_wild ? (i % 2 ? -1 : (int32_t)rows) : (int32_t)conform_below(conform, rows);
        if (i + 1 == count)
            ids[i] = (int32_t)rows - 1;
        from = ids[i] < 0 || ids[i] >= (int32_t)rows ? 0 : (uint64_t)ids[i] % CONFORM_DISTINCT;
        for (uint64_t e = 0; e < width; e++)
            want[i * width + e] = table.exact[from * width + e];
    }
    inputs[0] = trial_weight(&trial, "table", 2, &table);
    inputs[1] = trial_input(&trial, "ids", ACCEL_I32, 1, &dim, ids);
    trial_output(&trial, trial_node(&trial, ACCEL_OP_EMBED, "embed", inputs, 2, NULL), want, 1);
    trial_run(&trial);
    conform_tensor_free(&table);
    free(ids), free(want);
}

static void embed(struct conform *conform)
{
    uint64_t block = conform_block(conform->parameter);
    uint64_t unit = block == 1 ? 19 : block;

    embed_case(conform, 1, 1, unit);
    embed_case(conform, 70, 5, 3 * unit);
    embed_case(conform, 9, 130, 2 * unit);
    embed_case(conform, 12, 3, LARGE);
    embed_case(conform, TALL, 7, unit);
    for (uint32_t i = 0; i < conform->rounds; i++)
        embed_case(conform, 1 + conform_below(conform, 90), 1 + conform_below(conform, 40),
                   (1 + conform_below(conform, 4)) * (block == 1 ? 1 + conform_below(conform, 60) : block));
}

/* ---- the operators ---- */

static void add_matmul(struct conform_list *list)
{
    conform_add_types(list, "matmul", matmul);
}

static void add_embed(struct conform_list *list)
{
    conform_add_types(list, "embed", embed);
}

const struct conform_operator conform_op_matmul = {.compute = compute_matmul, .add = add_matmul};
const struct conform_operator conform_op_embed = {.add = add_embed};
