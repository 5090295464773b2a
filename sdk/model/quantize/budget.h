/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A type for each tensor, so that a file keeps to a number of bytes and loses as little as can be. Every tensor has a
 * menu of candidates with bytes and loss; losses add up: a knapsack with one choice of each menu.
 *
 * Two ways are gone and the better result is taken. Of each menu the corners of its lower convex hull, in steps from
 * corner to corner in the order of what they save per byte: that is the best there is for every budget that a step hits
 * exactly. And, where there are few enough menus, a table over all bytes in units of the greatest common divisor of
 * what candidates differ by, which is exact, or of a 65536th of the budget, which is exact but for its rounding up.
 * Room that is left goes to the single changes that save most per byte. The same menus and budget give the same choice
 * on every machine.
 */
#ifndef ACCEL_SDK_MODEL_QUANTIZE_BUDGET_H
#define ACCEL_SDK_MODEL_QUANTIZE_BUDGET_H

#include "sdk/model/quantize/internal.h"

/* What a tensor may become: candidates by rising bytes; none where it is not for the budget to decide. */
struct quantize_menu {
    uint32_t count;
    uint32_t chosen; /* of them */
    struct accel_quantize_candidate *candidates;
};

/* Chooses in every menu, so that all chosen bytes together are at most `bytes`. Losses are finite. ACCEL_E_LIMIT with
 * nothing chosen where not even the smallest candidates fit; ACCEL_E_MEMORY. `error` may be NULL. */
int32_t quantize_budget_solve(struct quantize_menu *menus, uint64_t count, uint64_t bytes, struct accel_error *error);

/* Bytes of the smallest candidates of all menus, and bytes and loss of those that are chosen. */
uint64_t quantize_menus_least(const struct quantize_menu *menus, uint64_t count);
uint64_t quantize_menus_bytes(const struct quantize_menu *menus, uint64_t count);
double quantize_menus_loss(const struct quantize_menu *menus, uint64_t count);

void quantize_menus_free(struct quantize_menu *menus, uint64_t count);

#endif
