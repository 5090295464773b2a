/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdio.h>

#include "sdk/conform/conform.h"

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

void conform_list_fill(struct conform_list *list)
{
    list->count = 0;
    conform_add_info(list);
    conform_add_life(list);
    conform_add_misuse(list);
    conform_add_short(list);
    conform_add_slots(list);
    conform_add_options(list);
    conform_add_memory(list);
    conform_add_leaks(list);
    conform_add_manners(list);
    conform_add_modules(list);
    conform_add_steps(list);
    conform_add_timeline(list);
    conform_add_sets(list);
    conform_add_pairs(list);
    for (uint32_t op = 0; op < ACCEL_OP_END; op++)
        if (operators[op] != NULL)
            operators[op]->add(list);
    conform_add_whole(list);
}
