/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdio.h>
#include <string.h>

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

static const char *case_of(const struct conform_test *test)
{
    return test->name + strcspn(test->name, "/");
}

void conform_order_by_case(struct conform_list *list, uint32_t first)
{
    for (uint32_t i = first, end; i < list->count; i = end) {
        end = i + 1;
        for (uint32_t j = end; j < list->count; j++) {
            const struct conform_test test = list->tests[j];

            if (strcmp(case_of(&test), case_of(&list->tests[i])) != 0)
                continue;
            memmove(&list->tests[end + 1], &list->tests[end], (j - end) * sizeof(test));
            list->tests[end++] = test;
        }
    }
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
