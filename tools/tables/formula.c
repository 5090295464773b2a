/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "tools/tables/tables.h"

#define DEEPEST_BRACKETS 32u

/** State of reading one expression. */
struct expression {
    const char *at;
    uint32_t depth;
    bool failed;
};

static double read_sum(struct expression *e);

static void pass_blanks(struct expression *e)
{
    e->at += strspn(e->at, " ");
}

static bool take(struct expression *e, char wanted)
{
    pass_blanks(e);
    if (*e->at != wanted)
        return false;
    e->at++;
    return true;
}

/* Reads numerals with at most one decimal point; strtod would accept "inf", "0x1p3" and the locale's decimal
 * point. */
static double read_number(struct expression *e)
{
    double value = 0, place = 1;
    size_t length = strspn(e->at, "0123456789");
    if (length == 0)
        e->failed = true;
    for (; length > 0; length--)
        value = value * 10 + (*e->at++ - '0');
    if (e->failed || *e->at != '.')
        return value;
    e->at++;
    length = strspn(e->at, "0123456789");
    if (length == 0)
        e->failed = true;
    for (; length > 0; length--) {
        place /= 10;
        value += (*e->at++ - '0') * place;
    }
    return value;
}

static double read_factor(struct expression *e)
{
    double value;
    pass_blanks(e);
    if (!take(e, '('))
        return read_number(e);
    if (++e->depth > DEEPEST_BRACKETS) {
        e->failed = true;
        return 0;
    }
    value = read_sum(e);
    e->depth--;
    if (!take(e, ')'))
        e->failed = true;
    return value;
}

static double read_product(struct expression *e)
{
    double value = read_factor(e);
    while (!e->failed) {
        if (take(e, '*')) {
            value *= read_factor(e);
        } else if (take(e, '/')) {
            double by = read_factor(e);
            e->failed = e->failed || by == 0;
            value = e->failed ? 0 : value / by;
        } else {
            break;
        }
    }
    return value;
}

static double read_sum(struct expression *e)
{
    double value = take(e, '-') ? -read_product(e) : read_product(e);
    while (!e->failed) {
        if (take(e, '+'))
            value += read_product(e);
        else if (take(e, '-'))
            value -= read_product(e);
        else
            break;
    }
    return value;
}

bool accel_formula_value(const char *text, double *out_value)
{
    struct expression e = {text, 0, false};
    *out_value = read_sum(&e);
    pass_blanks(&e);
    return !e.failed && *e.at == 0 && isfinite(*out_value);
}

bool accel_formula_agrees(const char *number, double value)
{
    const char *point = strchr(number, '.');
    double printed, unit = 1;
    if (!accel_formula_value(number, &printed))
        return false;
    for (size_t i = point ? strlen(point + 1) : 0; i > 0; i--)
        unit /= 10;
    /* The tolerance is half a unit of the last place, plus the rounding error of binary fractions. */
    return fabs(printed - value) <= unit * 0.5 * (1 + 1e-6);
}
