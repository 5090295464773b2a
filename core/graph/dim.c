/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/graph/dim.h"

#include <inttypes.h>
#include <stdio.h>

#include <accel/builder.h>

#include "core/base/checked.h"

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

struct accel_dim accel_dim_fixed(uint64_t extent)
{
    return (struct accel_dim){0, 0, 0, 0, extent};
}

bool accel_dim_is_fixed(const struct accel_dim *dim)
{
    return dim->symbol == 0;
}

/* Reduces m / d: s * m / d without a remainder keeps its value and its condition on s. */
static struct accel_dim reduce(const struct accel_dim *dim)
{
    struct accel_dim reduced = *dim;
    uint32_t common;
    if (dim->symbol == 0)
        return reduced;
    common = (uint32_t)greatest_common_divisor(dim->multiply, dim->divide);
    if (common > 1) {
        reduced.multiply /= common;
        reduced.divide /= common;
    }
    return reduced;
}

bool accel_dim_equal(const struct accel_dim *a, const struct accel_dim *b)
{
    struct accel_dim x = reduce(a), y = reduce(b);
    return x.symbol == y.symbol && x.multiply == y.multiply && x.divide == y.divide && x.add == y.add;
}

bool accel_dims_equal(uint32_t a_rank, const struct accel_dim *a, uint32_t b_rank, const struct accel_dim *b)
{
    if (a_rank != b_rank)
        return false;
    for (uint32_t i = 0; i < a_rank; i++)
        if (!accel_dim_equal(&a[i], &b[i]))
            return false;
    return true;
}

bool accel_dim_plus(const struct accel_dim *dim, uint64_t more, struct accel_dim *out_sum)
{
    struct accel_dim sum = *dim;
    if (!accel_add_u64(dim->add, more, &sum.add))
        return false;
    *out_sum = sum;
    return true;
}

/** A product: numerator / denominator in lowest terms, times linear terms of symbols. */
struct product {
    uint64_t numerator;
    uint64_t denominator;
    uint32_t term_count;
    struct accel_dim terms[ACCEL_RANK];
};

static bool multiply_ratio(struct product *product, uint64_t numerator, uint64_t denominator)
{
    uint64_t a = greatest_common_divisor(product->numerator, denominator);
    uint64_t b = greatest_common_divisor(numerator, product->denominator);
    if (a == 0 || b == 0)
        return false;
    return accel_mul_u64(product->numerator / a, numerator / b, &product->numerator) &&
           accel_mul_u64(product->denominator / b, denominator / a, &product->denominator);
}

/* Multiplies by an extent. A term without an addend moves its ratio into the fraction, so that [4 * t] and [t, 4]
 * compare equal; a term with an addend stays whole. */
static bool multiply_dim(struct product *product, const struct accel_dim *dim)
{
    struct accel_dim term = reduce(dim);
    if (term.symbol == 0)
        return multiply_ratio(product, term.add, 1);
    if (term.add == 0) {
        if (!multiply_ratio(product, term.multiply, term.divide))
            return false;
        term.multiply = term.divide = 1;
    }
    product->terms[product->term_count++] = term;
    return true;
}

static bool product_of(uint32_t rank, const struct accel_dim *dims, struct product *out)
{
    *out = (struct product){.numerator = 1, .denominator = 1};
    for (uint32_t i = 0; i < rank; i++)
        if (!multiply_dim(out, &dims[i]))
            return false;
    return true;
}

/* Returns whether the lists are equal as multisets: every term of `a` removes one of `b`. */
static bool same_terms(const struct product *a, const struct product *b)
{
    bool taken[ACCEL_RANK] = {false};
    if (a->term_count != b->term_count)
        return false;
    for (uint32_t i = 0; i < a->term_count; i++) {
        uint32_t j = 0;
        while (j < b->term_count && (taken[j] || !accel_dim_equal(&a->terms[i], &b->terms[j])))
            j++;
        if (j == b->term_count)
            return false;
        taken[j] = true;
    }
    return true;
}

bool accel_dims_same_product(uint32_t a_rank, const struct accel_dim *a, uint32_t b_rank, const struct accel_dim *b)
{
    struct product x, y;
    if (!product_of(a_rank, a, &x) || !product_of(b_rank, b, &y))
        return false;
    return x.numerator == y.numerator && x.denominator == y.denominator && same_terms(&x, &y);
}

bool accel_dims_product(uint32_t rank, const struct accel_dim *dims, uint64_t *out_product)
{
    uint64_t product = 1;
    for (uint32_t i = 0; i < rank; i++)
        if (dims[i].symbol != 0 || !accel_mul_u64(product, dims[i].add, &product))
            return false;
    *out_product = product;
    return true;
}

static bool evaluate(const struct accel_dim *dim, uint64_t symbol, uint64_t *out_extent)
{
    uint64_t product;
    if (!accel_mul_u64(symbol, dim->multiply, &product) || dim->divide == 0 || product % dim->divide != 0)
        return false;
    return accel_add_u64(product / dim->divide, dim->add, out_extent);
}

int32_t accel_dim_value(const struct accel_dim *dim, const uint64_t *symbols, uint32_t symbol_count,
                        uint64_t *out_extent, struct accel_error *error)
{
    if (dim == NULL || out_extent == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_dim_value: an argument is NULL");
    if (dim->symbol == 0) {
        *out_extent = dim->add;
        return ACCEL_OK;
    }
    if (symbols == NULL || dim->symbol > symbol_count)
        return accel_error_set(error, ACCEL_E_INVALID, "extent names symbol %" PRIu32 " of %" PRIu32, dim->symbol,
                               symbols ? symbol_count : 0);
    if (!evaluate(dim, symbols[dim->symbol - 1], out_extent))
        return accel_error_set(error, ACCEL_E_INVALID,
                               "extent %" PRIu64 " * %" PRIu32 " / %" PRIu32 " + %" PRIu64
                               " overflows or leaves a remainder",
                               symbols[dim->symbol - 1], dim->multiply, dim->divide, dim->add);
    return ACCEL_OK;
}

/* Checks the remainder for all values: each value of a symbol is a multiple of `multiple`, so one test suffices. */
static bool fits_all(const struct accel_dim *dim, const struct accel_symbol *symbol)
{
    uint64_t extent;
    return evaluate(dim, symbol->multiple, &extent) && evaluate(dim, symbol->lowest, &extent) && extent != 0 &&
           evaluate(dim, symbol->highest, &extent);
}

int32_t accel_dim_check(const struct accel_graph *graph, const struct accel_dim *dim, const char *what,
                        struct accel_error *error)
{
    if (dim->zero != 0)
        return accel_error_set(error, ACCEL_E_INVALID, "%s: member zero of an extent is %" PRIu32, what, dim->zero);
    if (dim->symbol == 0) {
        if (dim->multiply != 0 || dim->divide != 0)
            return accel_error_set(error, ACCEL_E_INVALID, "%s: a fixed extent has a factor", what);
        if (dim->add == 0)
            return accel_error_set(error, ACCEL_E_INVALID, "%s: an extent is 0", what);
        return ACCEL_OK;
    }
    if (dim->symbol > graph->symbol_count)
        return accel_error_set(error, ACCEL_E_INVALID, "%s: an extent names symbol %" PRIu32 " of %" PRIu32, what,
                               dim->symbol, graph->symbol_count);
    if (dim->multiply == 0 || dim->divide == 0)
        return accel_error_set(error, ACCEL_E_INVALID, "%s: a symbolic extent has a factor of 0", what);
    if (!fits_all(dim, graph->symbols[dim->symbol - 1]))
        return accel_error_set(error, ACCEL_E_INVALID,
                               "%s: extent %s * %" PRIu32 " / %" PRIu32 " + %" PRIu64
                               " overflows, is 0, or leaves a remainder for values of the symbol",
                               what, graph->symbols[dim->symbol - 1]->name, dim->multiply, dim->divide, dim->add);
    return ACCEL_OK;
}

static void dim_text(const struct accel_graph *graph, const struct accel_dim *dim, char *text, size_t bytes)
{
    struct accel_dim shown = reduce(dim);
    char factor[16] = "", divisor[16] = "", addend[24] = "";
    if (shown.symbol == 0 || shown.symbol > graph->symbol_count) {
        snprintf(text, bytes, "%" PRIu64, shown.add);
        return;
    }
    if (shown.multiply != 1)
        snprintf(factor, sizeof(factor), "%" PRIu32 " * ", shown.multiply);
    if (shown.divide != 1)
        snprintf(divisor, sizeof(divisor), " / %" PRIu32, shown.divide);
    if (shown.add != 0)
        snprintf(addend, sizeof(addend), " + %" PRIu64, shown.add);
    snprintf(text, bytes, "%s%.40s%s%s", factor, graph->symbols[shown.symbol - 1]->name, divisor, addend);
}

const char *accel_dims_text(const struct accel_graph *graph, uint32_t rank, const struct accel_dim *dims, char *text,
                            size_t bytes)
{
    size_t used = 0;
    for (uint32_t i = 0; i < rank && i < ACCEL_RANK; i++) {
        char one[96];
        int written;
        dim_text(graph, &dims[i], one, sizeof(one));
        written = snprintf(text + used, bytes - used, "%s%s", i ? ", " : "[", one);
        if (written < 0 || (size_t)written >= bytes - used)
            return text;
        used += (size_t)written;
    }
    snprintf(text + used, bytes - used, "]");
    return text;
}
