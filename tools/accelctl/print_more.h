/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a plan's text: the model, facts, types of weights, layers, notes, speed. */
#ifndef ACCELCTL_PRINT_MORE_H
#define ACCELCTL_PRINT_MORE_H

#include "tools/accelctl/model.h"

#include <accel/model/describe.h>

void print_model(const struct opened *opened);
/* Facts that rules were asked with, and where each is known from; `all`: those of the model's components, too. */
void print_facts(const struct accel_plan *plan, uint32_t all);
/* One line of the types of all weights; each component and role with its type and the reason. */
void print_types(const struct accel_plan *plan);
/* The same line in `line`, which is returned. */
const char *types_text(const struct accel_plan *plan, char *line, size_t size);
/* 1 where a run converts weights when it loads them. */
uint32_t converts_weights(const struct accel_plan *plan);
void print_parts(const struct accel_plan *plan);
/* Which layers lie on which device. */
void print_layers(const struct accel_plan *plan);
void print_notes(const struct accel_plan *plan);
/* How fast it will be, and how well past plans foretold memory. */
void print_speed(const struct accel_plan *plan);

#endif
