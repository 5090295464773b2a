/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A type for each tensor, so that a file keeps to a number of bytes and loses as little as can be. Every tensor has a
 * menu of candidates with bytes and loss; losses add up. Of each menu only the corners of its lower convex hull count:
 * steps from corner to corner are taken in the order of what they save per byte, which is the best allocation for every
 * budget that it hits exactly; room that is left is filled by single steps, the best that fits first, and by swaps of
 * two tensors. The same menus and budget give the same choice on every machine.
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

/* Chooses in every menu, so that all chosen bytes together are at most `bytes`. ACCEL_E_LIMIT with the least that is
 * possible in *out_least where that is more. */
int32_t quantize_budget_solve(struct quantize_menu *menus, uint64_t count, uint64_t bytes, uint64_t *out_least,
                              struct accel_error *error);

void quantize_menus_free(struct quantize_menu *menus, uint64_t count);

#endif
