/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdio.h>

#include "sdk/conform/list.h"

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
#define CONFORM_GROUP(name) conform_add_##name(list);
#include "sdk/conform/groups.def"
#undef CONFORM_GROUP
}
