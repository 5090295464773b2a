/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses a type for each tensor so that the file fits a number of bytes with the least loss. Every tensor has a menu
 * of candidates with bytes and loss; losses add up: a multiple-choice knapsack. Two methods run and the better result
 * is used. First, steps from corner to corner of each menu's lower convex hull, in the order of loss saved per byte:
 * optimal for every budget that a step hits exactly. Second, if there are few enough menus, dynamic programming over
 * bytes in units of the greatest common divisor of the candidates' differences, which is exact, or of a 65536th of the
 * budget, which is exact except for rounding up. Remaining bytes go to the single changes that save most per byte. The
 * same menus and budget give the same choice on every machine.
 */
#ifndef ACCEL_CONVERT_QUANTIZE_BUDGET_H
#define ACCEL_CONVERT_QUANTIZE_BUDGET_H

#include "convert/quantize/internal.h"

/* Candidates of a tensor, by increasing bytes; none if the budget does not decide its type. */
struct quantize_menu {
    uint32_t count;
    uint32_t chosen; /* of them */
    struct accel_quantize_candidate *candidates;
};

/* Chooses a candidate in every menu so that all chosen bytes together are at most `bytes`. Losses are finite.
 * ACCEL_E_LIMIT with nothing chosen if even the smallest candidates do not fit; ACCEL_E_MEMORY. `error` may be NULL. */
int32_t quantize_budget_solve(struct quantize_menu *menus, uint64_t count, uint64_t bytes, struct accel_error *error);

/* Return the bytes of the smallest candidates of all menus, and the bytes and loss of the chosen ones. */
uint64_t quantize_menus_least(const struct quantize_menu *menus, uint64_t count);
uint64_t quantize_menus_bytes(const struct quantize_menu *menus, uint64_t count);
double quantize_menus_loss(const struct quantize_menu *menus, uint64_t count);

void quantize_menus_free(struct quantize_menu *menus, uint64_t count);

#endif
