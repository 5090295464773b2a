/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdio.h>

#include "sdk/conform/list.h"
#include "sdk/conform/trial_case.h"

void conform_add(struct conform_list *list, enum conform_needs needs, uint32_t parameter,
                 void (*run)(struct conform *conform), const char *name, ...)
{
    struct conform_test *test = &list->tests[list->count];
    va_list values;

    if (list->count == CONFORM_TESTS)
        return;
    *test = (struct conform_test){.run = run, .parameter = parameter, .needs = needs};
    va_start(values, name);
    vsnprintf(test->name, sizeof(test->name), name, values);
    va_end(values);
    list->count++;
}

static const struct conform_operator *const operators[ACCEL_OP_END] = {
#define ACCEL_OPERATOR(number, ID, name, ...) [number] = &conform_op_##name,
#include <accel/driver/ops.def>
};

const struct conform_operator *conform_operator_find(uint32_t op)
{
    return op < ACCEL_OP_END ? operators[op] : NULL;
}

static void run_operator_test(struct conform *conform)
{
    const struct conform_operator_test *test =
        &operators[conform->parameter / CONFORM_OPERATOR_TESTS]->tests[conform->parameter % CONFORM_OPERATOR_TESTS];

    conform->parameter = test->parameter;
    for (uint32_t i = 0; i < test->case_count; i++)
        trial_case_run(conform, &test->cases[i]);
    if (test->run != NULL)
        test->run(conform);
}

void conform_add_operator(struct conform_list *list, uint32_t op)
{
    const struct conform_operator *row = operators[op];

    for (uint32_t i = 0; i < CONFORM_OPERATOR_TESTS && row->tests[i].name != NULL; i++)
        conform_add(list, CONFORM_DEVICE, op * CONFORM_OPERATOR_TESTS + i, run_operator_test, "%s/%s",
                    accel_op_name(op), row->tests[i].name);
    if (row->add != NULL)
        row->add(list);
}

void conform_add_operators(struct conform_list *list)
{
    for (uint32_t op = 0; op < ACCEL_OP_END; op++)
        if (operators[op] != NULL)
            conform_add_operator(list, op);
}

void conform_list_fill(struct conform_list *list)
{
    list->count = 0;
#define CONFORM_GROUP(name) conform_add_##name(list);
#include "sdk/conform/groups.def"
#undef CONFORM_GROUP
}
