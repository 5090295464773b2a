/* SPDX-License-Identifier: Apache-2.0 */
/* Prints parts of a plan: the model, facts, types of weights, layers, notes, speed. */
#ifndef ACCELCTL_PRINT_MORE_H
#define ACCELCTL_PRINT_MORE_H

#include <accel/model/describe.h>

#include "tools/accelctl/model.h"

void print_model(const struct opened *opened);
/* Prints the facts that profile rules used, and the origin of each. */
void print_facts(const struct accel_plan *plan);
/* Prints the types of all weights in one line, then each component and role with its type and the reason. */
void print_types(const struct accel_plan *plan);
/* Writes the types that print_types prints into `line`, which is returned. */
const char *types_text(const struct accel_plan *plan, char *line, size_t size);
/* Returns 1 if a run converts weights on loading. */
uint32_t converts_weights(const struct accel_plan *plan);

/* Counts the weights that a run converts and that are quantized in the file. */
uint32_t count_rounded_again(const struct accel_plan *plan);
void print_parts(const struct accel_plan *plan);
/* Prints the device of each range of layers. */
void print_layers(const struct accel_plan *plan);
/* Prints notes, and values that a run does not honor. */
void print_notes(const struct accel_plan *plan);
/* Prints the expected speed; `all`: with the bytes of a step, and how accurate memory predictions of past plans
 * were. */
void print_speed(const struct accel_plan *plan, uint32_t all);
/* Returns the types of the weights in the model's file, NULL if they are not known. */
const char *model_types(const struct opened *opened);
/* Formats a number of parameters for people: "6.74 billion". The decimal number may be NULL. */
const char *count_text(const char *number, char text[32]);
/* Prints on the error output a line for each value that a profile or a variable of the documents recommends and
 * that a run does not honor: "not honored: KEY=VALUE, REASON (PLACE)". */
void print_unhonored(const struct accel_plan *plan);
/* Prints the values that a run does not honor, each with why, its place and the reason of the profile for it. */
void print_unhonored_reasons(const struct accel_plan *plan);
/** Prints the values that profiles hold for later versions, with the profile's reasons if `reasons` is 1. */
void print_later(const struct accel_plan *plan, uint32_t reasons);
/* Returns the list "not_honored" of a plan's JSON. */
json_t *unhonored_json(const struct opened *opened);

#endif
