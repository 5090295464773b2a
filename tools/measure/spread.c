/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/measure/spread.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Returns the quantile `part` of sorted values. */
static double quantile(const double *values, uint32_t count, double part)
{
    double place = part * (count - 1);
    uint32_t below = (uint32_t)place;

    if (below + 1 >= count)
        return values[count - 1];
    return values[below] + (place - below) * (values[below + 1] - values[below]);
}

void measure_spread(double *values, uint32_t count, struct measure_spread *out_spread)
{
    *out_spread = (struct measure_spread){.count = count};
    if (count == 0)
        return;
    qsort(values, count, sizeof(*values), ascending);
    out_spread->least = values[0];
    out_spread->lower = quantile(values, count, 0.25);
    out_spread->median = quantile(values, count, 0.5);
    out_spread->upper = quantile(values, count, 0.75);
    out_spread->most = values[count - 1];
    for (uint32_t i = 0; i < count; i++)
        out_spread->outliers += values[i] > out_spread->upper + 1.5 * (out_spread->upper - out_spread->lower);
}
