/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a summary of a plan: at most some 20 lines. */
#ifndef ACCELCTL_PRINT_BRIEF_H
#define ACCELCTL_PRINT_BRIEF_H

#include <stdbool.h>

#include "tools/accelctl/model.h"

/* Prints the verdict, the model, the device, the context, memory in five rows, the speed, warnings, and which settings
 * a run does not honor. */
void print_brief(const struct opened *opened);

/* Returns whether a recommended weights.type lowers the type of weights from the model's own. */
bool lowers_type(const struct accel_plan *plan);

/* Prints the type that most weights have instead of the model's own, and the profile line that recommends it. */
void print_lowered_type(const struct opened *opened);

/* Prints the context, the sequences and the prefill batch; nothing if the model has no context. */
void print_context(const struct opened *opened);

/* Prints the limit of experts that a plan has, or the budget from which it would have one. */
void print_experts(const struct opened *opened);

/* Names the weights of a row without layers: the output of a model without a head has a copy of the embedding where
 * that is on another device. */
const char *tables_text(const struct accel_plan *plan, uint32_t index);

/* Returns whether the driver has a limit of experts, the option expert_bytes: it reads others from the disk. */
bool limits_experts(const struct accel_plan *plan);

/** Sums the bytes of two classes of memory, ACCEL_MEMORY_.... */
uint64_t sum_classes(const struct accel_plan *plan, uint32_t one, uint32_t other);

#endif
