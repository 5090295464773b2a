/* SPDX-License-Identifier: Apache-2.0 */
/* Products with chosen experts: reference, and cases for weights of every type of the format registry. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "sdk/conform/list.h"
#include "sdk/conform/reference.h"
#include "sdk/conform/trial_case.h"

static void compute_expert_matmul(const struct reference_call *call)
{
    const struct accel_expert_matmul *at = call->attributes;
    const struct reference_value *x = call->inputs[0], *w = call->inputs[1], *ids = call->inputs[2];
    const struct reference_value *bias = call->inputs[3], *factor = call->inputs[4];
    uint64_t tokens = ids->extents[0], choices = ids->extents[1], n = w->extents[0] / at->experts, k = w->extents[1];
    double *y = call->outputs[0]->at;

    for (uint64_t i = 0; i < tokens * (factor != NULL ? 1 : choices) * n; i++)
        y[i] = 0;
    for (uint64_t c = 0; c < tokens * choices; c++) {
        const double *row = x->at + (x->rank == 3 ? c : c / choices) * k;

        for (uint64_t j = 0; j < n && ids->at[c] >= 0 && ids->at[c] < at->experts; j++) {
            uint64_t at_w = (uint64_t)ids->at[c] * n + j;
            double sum = bias != NULL ? bias->at[at_w] : 0;

            for (uint64_t e = 0; e < k; e++)
                sum += row[e] * w->at[at_w * k + e];
            sum = reference_function(at->function, sum);
            if (factor != NULL)
                y[c / choices * n + j] += sum * factor->at[c];
            else
                y[c * n + j] = sum;
        }
    }
}

/* ---- cases ---- */

#define BIAS 1u   /* with a bias */
#define FACTOR 2u /* the choices of a token are summed */
#define CHOSEN 4u /* x has a row for each choice */

/* How ids are chosen. */
enum routing {
    ANY_EXPERTS,     /* at random; some of a token's may be equal */
    OUTSIDE_EXPERTS, /* a third lies outside of the experts */
    ONE_EXPERT,      /* all are the last expert */
};

/* Sets the ids of experts. */
static void fill_ids(struct trial_inputs *inputs)
{
    static const int32_t outside[] = {-1, INT32_MIN, INT32_MAX};
    const struct accel_expert_matmul *at = inputs->row->attributes;

    for (uint64_t i = 0; i < inputs->elements[2]; i++) {
        int32_t *id = &inputs->numbers[2][i];
        uint32_t wild = conform_below(inputs->conform, 12);

        *id = (int32_t)conform_below(inputs->conform, at->experts);
        if (inputs->row->parameter == ONE_EXPERT)
            *id = (int32_t)at->experts - 1;
        else if (inputs->row->parameter == OUTSIDE_EXPERTS && wild < 4)
            *id = wild == 3 ? (int32_t)at->experts : outside[wild];
    }
}

struct form {
    uint32_t tokens, choices, experts, n;
    uint64_t k;
    uint32_t rounding; /* index of trial_roundings */
    uint32_t with;     /* BIAS, FACTOR, CHOSEN */
    uint32_t function;
    enum routing routing;
};

static void expert_case(struct conform *conform, const struct form *form)
{
    const struct accel_expert_matmul at = {.size = sizeof(at),
                                           .function = form->function,
                                           .rounding = trial_roundings[form->rounding].type,
                                           .experts = form->experts};
    static const char *const routings[] = {"", ", some of no expert", ", all of one expert"};
    char text[200], name[120], bias[24] = "-", chosen[16] = "";

    snprintf(bias, sizeof(bias), form->with & BIAS ? "F:%u" : "-", form->experts * form->n);
    if (form->with & CHOSEN)
        snprintf(chosen, sizeof(chosen), "%u,", form->choices);
    snprintf(text, sizeof(text), "f:t%u,%s%llu W:%u,%llu i:t%u,%u %s", form->tokens, chosen,
             (unsigned long long)form->k, form->experts * form->n, (unsigned long long)form->k, form->tokens,
             form->choices, bias);
    if (form->with & FACTOR)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), " f:t%u,%u", form->tokens, form->choices);
    snprintf(name, sizeof(name), "%u of %u experts%s%s%s", form->choices, form->experts, routings[form->routing],
             trial_roundings[form->rounding].text, form->function != ACCEL_FN_NONE ? ", with a function" : "");
    trial_case_run(conform, &(struct trial_case){.op = ACCEL_OP_EXPERT_MATMUL,
                                                 .ceiling = trial_roundings[form->rounding].ceiling,
                                                 .inputs = text,
                                                 .attributes = &at,
                                                 .text = name,
                                                 .scale = trial_product_scale(form->k, form->rounding),
                                                 .fill = fill_ids,
                                                 .parameter = form->routing});
}

/* Cases of every type: one token and several; a row of x for each token, as the gate and up projections have, or for
 * each choice, as the down projection has, whose choices are summed. */
static void expert_matmul(struct conform *conform)
{
    const uint64_t block = conform_block(conform->parameter), unit = block == 1 ? 19 : block;
    const struct form forms[] = {
        {1, 1, 1, 3, unit, 0, 0, 0, ANY_EXPERTS},
        {1, 2, 8, 33, 2 * unit, 0, 0, 0, ANY_EXPERTS},
        {1, 4, 8, 64, 2 * unit, 1, FACTOR | CHOSEN, 0, ANY_EXPERTS},
        {5, 3, 6, 17, unit, 0, BIAS, ACCEL_FN_SILU, ANY_EXPERTS},
        {7, 2, 4, 40, 2 * unit, 0, FACTOR | CHOSEN, 0, OUTSIDE_EXPERTS},
        {4, 3, 5, 20, unit, 1, BIAS | FACTOR, 0, OUTSIDE_EXPERTS},
        {33, 4, 16, 31, unit, 1, 0, 0, ANY_EXPERTS},
        {70, 2, 3, 65, unit, 2, BIAS | CHOSEN, 0, ANY_EXPERTS},
        {40, 2, 5, 48, unit, 3, FACTOR, 0, ONE_EXPERT},
        {130, 1, 4, 16, unit, 1, CHOSEN, ACCEL_FN_RELU, OUTSIDE_EXPERTS},
        {13, 1, 2, 40, 4 * unit, 0, 0, 0, ONE_EXPERT}, /* one more than a tile of twelve rows */
    };

    for (uint32_t i = 0; i < COUNT(forms); i++)
        expert_case(conform, &forms[i]);
    for (uint32_t i = 0; i < conform->rounds; i++) {
        struct form form = {.tokens = 1 + conform_below(conform, 40), .choices = 1 + conform_below(conform, 5)};

        form.experts = 1 + conform_below(conform, 20);
        form.n = 1 + conform_below(conform, 70);
        form.k = block == 1 ? 1 + conform_below(conform, 120) : block * (1 + conform_below(conform, 2));
        form.rounding = conform_below(conform, TRIAL_BY_ROW);
        form.with = conform_below(conform, 8);
        form.function = conform_below(conform, 3) == 0 ? conform_below(conform, ACCEL_FN_END) : ACCEL_FN_NONE;
        form.routing = conform_below(conform, 3);
        expert_case(conform, &form);
    }
}

/* Numbers of experts, choices and rows that are large or odd. */
static void routing(struct conform *conform)
{
    static const struct form forms[] = {
        {1, 8, 256, 8, 64, 0, FACTOR, 0, ANY_EXPERTS},     {3, 6, 64, 40, 33, 0, 0, 0, ANY_EXPERTS},
        {521, 2, 8, 5, 32, 0, FACTOR, 0, OUTSIDE_EXPERTS}, {2, 16, 16, 7, 5, 0, CHOSEN, 0, ANY_EXPERTS},
        {65551, 1, 2, 2, 3, 0, 0, 0, ANY_EXPERTS},         {2, 1, 3, 22001, 4, 0, BIAS, 0, ONE_EXPERT},
        {1, 3, 9, 40, 8209, 0, FACTOR, 0, ANY_EXPERTS},    {64, 1, 7, 64, 64, 0, BIAS | FACTOR, 0, ONE_EXPERT},
        {1, 1, 1, 1, 1, 0, 0, 0, OUTSIDE_EXPERTS},         {6, 40, 3, 9, 16, 0, FACTOR | CHOSEN, 0, OUTSIDE_EXPERTS},
    };

    for (uint32_t i = 0; i < COUNT(forms); i++)
        expert_case(conform, &forms[i]);
    for (uint32_t f = 0; f < ACCEL_FN_END; f++)
        expert_case(conform, &(struct form){9, 2, 4, 19, 48, 0, f % 2 == 0 ? BIAS : FACTOR, f, OUTSIDE_EXPERTS});
}

static void add_expert_matmul(struct conform_list *list)
{
    conform_add_types(list, "expert_matmul", expert_matmul);
    conform_add(list, CONFORM_DEVICE, ACCEL_F32, routing, "expert_matmul/routing");
}

const struct conform_operator conform_op_expert_matmul = {.add = add_expert_matmul, .compute = compute_expert_matmul};
