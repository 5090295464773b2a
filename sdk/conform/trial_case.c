/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/conform/trial_case.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/half.h>

/* One input, parsed from its text. */
struct described {
    char kind;
    uint32_t rank;
    uint64_t base[ACCEL_RANK], more[ACCEL_RANK]; /* extent: base + more */
    bool is_row[ACCEL_RANK];                     /* base is the symbolic extent */
};

/* Reads one input and returns the text behind it. */
static const char *describe(const char *text, struct described *input)
{
    *input = (struct described){.kind = *text++};
    while (*text == ':' || *text == ',') {
        uint32_t d = input->rank++;
        char *end;

        text++;
        input->is_row[d] = *text == 't';
        input->base[d] = strtoull(text + input->is_row[d], &end, 10);
        if (*end == '+')
            input->more[d] = strtoull(end + 1, &end, 10);
        text = end;
    }
    return *text == ' ' ? text + 1 : text;
}

/* ---- the name of a case ---- */

/* Prints "[17, 64] [18] w [64, 64]". */
static void print_inputs(const char *text, char *out_name, size_t bytes)
{
    struct described input;
    size_t length = 0;

    while (*text != '\0' && length < bytes) {
        text = describe(text, &input);
        length += (size_t)snprintf(out_name + length, bytes - length, "%s%s",
                                   isupper(input.kind) ? "weight "
                                   : input.kind == 'h' ? "f16 "
                                   : input.kind == 'b' ? "bf16 "
                                                       : "",
                                   input.kind == '-' ? "none" : "[");
        for (uint32_t d = 0; d < input.rank && length < bytes; d++)
            length += (size_t)snprintf(out_name + length, bytes - length, "%s%llu", d > 0 ? ", " : "",
                                       (unsigned long long)(input.base[d] + input.more[d]));
        if (length < bytes)
            length += (size_t)snprintf(out_name + length, bytes - length, "%s%s", input.kind == '-' ? "" : "]",
                                       *text != '\0' ? " " : "");
    }
}

/* ---- inputs ---- */

static bool has_rows(const char *text)
{
    return strchr(text, 't') != NULL;
}

/* Returns whether a symbolic extent is not the leading one of each input that has it. */
static bool has_inner_rows(const char *text)
{
    struct described input;

    while (*text != '\0') {
        text = describe(text, &input);
        for (uint32_t d = 1; d < input.rank; d++)
            if (input.is_row[d])
                return true;
    }
    return false;
}

static void make_elements(struct trial_inputs *inputs, uint32_t i, const struct described *input)
{
    struct conform *conform = inputs->conform;

    inputs->elements[i] = 1;
    inputs->rank[i] = input->rank;
    for (uint32_t d = 0; d < input->rank; d++) {
        inputs->extents[i][d] = input->base[d] + input->more[d];
        inputs->elements[i] *= inputs->extents[i][d];
    }
    if (input->kind == 'f' || input->kind == 'h' || input->kind == 'b') {
        inputs->floats[i] = conform_floats(conform, inputs->elements[i]);
        if (input->kind != 'f')
            inputs->halves[i] = conform_memory(conform, inputs->elements[i], sizeof(uint16_t));
    } else if (input->kind == 'i') {
        inputs->numbers[i] = conform_memory(conform, inputs->elements[i], sizeof(int32_t));
        for (uint64_t e = 0; e < inputs->elements[i]; e++)
            inputs->numbers[i][e] = (int32_t)conform_below(conform, 1u << 30) - (1 << 29);
    } else if (input->kind != '-') {
        uint32_t type = input->kind == 'F'   ? ACCEL_F32
                        : input->kind == 'H' ? ACCEL_F16
                        : input->kind == 'B' ? ACCEL_BF16
                                             : conform->parameter;

        conform_tensor_make(conform, type, input->rank == 1 ? 1 : input->base[0], input->base[input->rank - 1],
                            &inputs->weights[i]);
    }
}

/* Declares an input or weight of the graph. `rows` is the symbolic extent. */
static void add_input(struct trial *trial, struct trial_inputs *inputs, uint32_t i, const struct described *input,
                      const struct accel_dim *rows)
{
    struct accel_dim dims[ACCEL_RANK];
    char name[] = "input 00";

    name[6] = (char)('0' + i / 10);
    name[7] = (char)('0' + i % 10);
    for (uint32_t d = 0; d < input->rank; d++) {
        dims[d] = input->is_row[d] ? *rows : trial_fixed(input->base[d]);
        dims[d].add += input->more[d];
    }
    inputs->values[i] = ACCEL_NO_VALUE;
    if (input->kind == 'f')
        inputs->values[i] = trial_input(trial, name, ACCEL_F32, input->rank, dims, inputs->floats[i]);
    else if (input->kind == 'h' || input->kind == 'b')
        inputs->values[i] =
            trial_input(trial, name, input->kind == 'h' ? ACCEL_F16 : ACCEL_BF16, input->rank, dims, inputs->halves[i]);
    else if (input->kind == 'i')
        inputs->values[i] = trial_input(trial, name, ACCEL_I32, input->rank, dims, inputs->numbers[i]);
    else if (input->kind != '-')
        inputs->values[i] = trial_weight(trial, name, input->rank, &inputs->weights[i]);
}

/* Returns whether input number `number` is a b. */
static bool is_bf16(const char *text, uint32_t number)
{
    struct described input = {0};

    for (uint32_t i = 0; i <= number; i++)
        text = describe(text, &input);
    return input.kind == 'b';
}

static void add_inputs(struct trial *trial, struct trial_inputs *inputs)
{
    struct accel_dim rows = trial_fixed(0);
    struct described input;
    bool is_first = true;

    for (const char *text = inputs->row->inputs; *text != '\0'; inputs->count++) {
        text = describe(text, &input);
        for (uint32_t d = 0; d < input.rank; d++)
            if (input.is_row[d] && is_first) {
                rows = trial_rows(trial, input.base[d]);
                is_first = false;
            }
        make_elements(inputs, inputs->count, &input);
        add_input(trial, inputs, inputs->count, &input, &rows);
    }
    if (inputs->row->fill != NULL)
        inputs->row->fill(inputs);
    for (uint32_t i = 0; i < inputs->count; i++)
        for (uint64_t e = 0; inputs->halves[i] != NULL && e < inputs->elements[i]; e++)
            inputs->halves[i][e] = is_bf16(inputs->row->inputs, i) ? accel_bf16_from_f32(inputs->floats[i][e])
                                                                   : accel_f16_from_f32(inputs->floats[i][e]);
}

/* ---- the case ---- */

void trial_case_run(struct conform *conform, const struct trial_case *row)
{
    struct trial_inputs inputs = {.row = row, .conform = conform};
    uint32_t made[2] = {0, ACCEL_NO_VALUE};
    struct trial trial;
    char name[200];

    print_inputs(row->inputs, name, sizeof(name));
    trial_begin(&trial, conform, row->ceiling, "%s%s%s", name, row->text[0] != '\0' ? ", " : "", row->text);
    if (!has_rows(row->inputs))
        trial.is_symbolic = false;
    trial.has_nans = row->has_nans;
    trial.by_row = !row->mixes_rows && !has_inner_rows(row->inputs);
    add_inputs(&trial, &inputs);
    if (row->has_second)
        trial_node_pair(&trial, row->op, accel_op_name(row->op), inputs.values, inputs.count, row->attributes, made);
    else
        made[0] = trial_node(&trial, row->op, accel_op_name(row->op), inputs.values, inputs.count, row->attributes);
    trial_expect(&trial, made[0], row->scale);
    if (row->has_second)
        trial_expect(&trial, made[1], row->scale);
    trial_run(&trial);
    for (uint32_t i = 0; i < inputs.count; i++) {
        conform_tensor_free(&inputs.weights[i]);
        free(inputs.floats[i]), free(inputs.numbers[i]), free(inputs.halves[i]);
    }
}

/* ---- tests made of cases ---- */

static void run_operator_test(struct conform *conform)
{
    const struct conform_operator_test *test = &conform_operator_find(conform->parameter / CONFORM_OPERATOR_TESTS)
                                                    ->tests[conform->parameter % CONFORM_OPERATOR_TESTS];

    conform->parameter = test->parameter;
    for (uint32_t i = 0; i < test->case_count; i++)
        trial_case_run(conform, &test->cases[i]);
    if (test->run != NULL)
        test->run(conform);
}

void conform_add_operator(struct conform_list *list, uint32_t op)
{
    const struct conform_operator *row = conform_operator_find(op);

    for (uint32_t i = 0; i < CONFORM_OPERATOR_TESTS && row->tests[i].name != NULL; i++)
        conform_add(list, CONFORM_DEVICE, op * CONFORM_OPERATOR_TESTS + i, run_operator_test, "%s/%s",
                    accel_op_name(op), row->tests[i].name);
    if (row->add != NULL)
        row->add(list);
}

void conform_add_operators(struct conform_list *list)
{
    const uint32_t first = list->count;

    for (uint32_t op = 0; op < ACCEL_OP_END; op++)
        if (conform_operator_find(op) != NULL)
            conform_add_operator(list, op);
    conform_order_by_case(list, first);
}
