/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of matmul and embed with weights of every type of the format registry. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "sdk/conform/list.h"
#include "sdk/conform/reference.h"
#include "sdk/conform/trial.h"

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

static const uint32_t roundings[] = {ACCEL_F32, ACCEL_Q8_0, ACCEL_F16, ACCEL_BF16, ACCEL_Q8_ROW};
static const double ceilings[] = {TRIAL_F32, TRIAL_ROUNDED_Q8, TRIAL_ROUNDED_F16, TRIAL_ROUNDED_Q8, TRIAL_ROUNDED_Q8};
#define BY_ROW 4u /* index of ACCEL_Q8_ROW */

/* Returns the scale of the largest output: the maximum of a large number of sums of k products is about three
 * standard deviations. If x is rounded, errors have a standard deviation too, and a small output is not compared
 * with its own maximum. */
static double scale_of(uint64_t k, uint32_t rounding)
{
    return sqrt((double)k) / (rounding == 0 ? 2 : 1);
}

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

struct product {
    struct accel_matmul attributes;
    uint32_t fused;
    uint64_t m, n, k;
    float *x, *residual;
    struct conform_tensor weight, bias;
    double *want;
};

static void product_make(struct conform *conform, struct product *p, uint32_t type)
{
    const uint32_t bias = p->fused & BIAS_F16 ? ACCEL_F16 : ACCEL_F32;

    p->x = conform_floats(conform, p->m * p->k);
    p->residual = conform_floats(conform, p->m * p->n);
    p->want = conform_memory(conform, p->m * p->n, sizeof(*p->want));
    conform_tensor_make(conform, type, p->n, p->k, &p->weight);
    conform_tensor_make(conform, bias, 1, p->n, &p->bias);
}

static void product_compute(void *data)
{
    struct product *p = data;

    reference_matmul(p->x, p->weight.exact, p->fused & BIAS ? p->bias.exact : NULL,
                     p->fused & RESIDUAL ? p->residual : NULL, p->attributes.function, p->m, p->n, p->k, p->want);
}

static void product_free(struct product *p)
{
    conform_tensor_free(&p->weight);
    conform_tensor_free(&p->bias);
    free(p->x), free(p->residual), free(p->want);
}

/* Runs one case. `fused`: bits of the fused inputs; the bits above them are the activation function. */
static void matmul_case(struct conform *conform, uint32_t m, uint32_t n, uint64_t k, uint32_t rounding, uint32_t fused)
{
    uint32_t inputs[4] = {0, 0, ACCEL_NO_VALUE, ACCEL_NO_VALUE};
    uint32_t split = m % 3 == 0 && m > 3 ? 3 : 1, rank = split > 1 ? 3 : 2;
    struct product p = {.fused = fused, .m = m, .n = n, .k = k};
    struct accel_dim dims[3];
    struct trial trial;

    p.attributes = (struct accel_matmul){
        .size = sizeof(p.attributes), .function = fused >> FUNCTION_SHIFT, .rounding = roundings[rounding]};
    trial_begin(&trial, conform, ceilings[rounding], "[%u, %llu] x [%u, %llu], x %s%s%s%s%s", m, (unsigned long long)k,
                n, (unsigned long long)k,
                rounding == 0   ? "as it is"
                : rounding == 1 ? "may be rounded to q8"
                : rounding == 2 ? "may be rounded to f16"
                : rounding == 3 ? "may be rounded to bf16"
                                : "may be rounded to q8_row",
                fused >> FUNCTION_SHIFT == ACCEL_FN_NONE ? "" : ", then ",
                fused >> FUNCTION_SHIFT == ACCEL_FN_NONE ? "" : reference_function_name(fused >> FUNCTION_SHIFT),
                fused & BIAS ? fused & BIAS_F16 ? ", bias in f16" : ", bias" : "",
                fused & OUTLIER    ? ", an element of each row of x is large"
                : fused & RESIDUAL ? ", residual"
                                   : "");
    product_make(conform, &p, conform->parameter);
    for (uint32_t i = 0; fused & OUTLIER && i < m; i++)
        p.x[i * k + conform_below(conform, (uint32_t)k)] = OUTLIER_SIZE;
    trial.compute = product_compute;
    trial.data = &p;
    dims[0] = trial_rows(&trial, m / split);
    dims[1] = trial_fixed(split);
    dims[rank - 1] = trial_fixed(k);
    inputs[0] = trial_input(&trial, "x", ACCEL_F32, rank, dims, p.x);
    inputs[1] = trial_weight(&trial, "w", 2, &p.weight);
    if (fused & BIAS)
        inputs[2] = trial_weight(&trial, "b", 1, &p.bias);
    dims[rank - 1] = trial_fixed(n);
    if (fused & RESIDUAL)
        inputs[3] = trial_input(&trial, "r", ACCEL_F32, rank, dims, p.residual);
    trial_output(&trial, trial_node(&trial, ACCEL_OP_MATMUL, "matmul", inputs, 4, &p.attributes), p.want,
                 scale_of(k, rounding));
    trial_run(&trial);
    product_free(&p);
}

/* Tests one row of x with a weight of TALL rows, which repeat. */
static void tall_case(struct conform *conform, uint64_t k, uint32_t rounding)
{
    struct accel_matmul attributes = {.size = sizeof(attributes), .rounding = roundings[rounding]};
    uint32_t inputs[4] = {0, 0, ACCEL_NO_VALUE, ACCEL_NO_VALUE};
    struct accel_dim dims[2] = {trial_fixed(1), trial_fixed(k)};
    struct conform_tensor weight;
    struct trial trial;
    double *want;
    float *x;

    trial_begin(&trial, conform, ceilings[rounding], "[1, %llu] x [%u, %llu]%s", (unsigned long long)k, TALL,
                (unsigned long long)k, rounding == 0 ? "" : ", x may be rounded");
    trial.is_symbolic = false;
    x = conform_floats(conform, k);
    want = conform_memory(conform, TALL, sizeof(*want));
    conform_tensor_make_tall(conform, conform->parameter, TALL, k, &weight);
    reference_matmul(x, weight.exact, NULL, NULL, ACCEL_FN_NONE, 1, CONFORM_DISTINCT, k, want);
    for (uint32_t j = CONFORM_DISTINCT; j < TALL; j++)
        want[j] = want[j % CONFORM_DISTINCT];
    inputs[0] = trial_input(&trial, "x", ACCEL_F32, 2, dims, x);
    inputs[1] = trial_weight(&trial, "w", 2, &weight);
    trial_output(&trial, trial_node(&trial, ACCEL_OP_MATMUL, "matmul", inputs, 4, &attributes), want,
                 scale_of(k, rounding));
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
    matmul_case(conform, 35, 20, row, BY_ROW, 0);
    matmul_case(conform, 521, 49, unit, BY_ROW, BIAS | RESIDUAL);
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
                    conform_below(conform, BY_ROW + 1),
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

const struct conform_operator conform_op_matmul = {.add = add_matmul};
const struct conform_operator conform_op_embed = {.add = add_embed};
