/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a plan as text, the verdict first, or as a document. */
#ifndef ACCELCTL_PRINT_PLAN_H
#define ACCELCTL_PRINT_PLAN_H

#include "tools/accelctl/model.h"

/* Column of the text behind the name of a line. */
enum { HEAD = 11 };

/* Optional sections of a plan. */
struct shown {
    uint32_t nodes;      /* every node */
    uint32_t overridden; /* values that settings overrode */
    uint32_t reasons;    /* settings that profiles or the user set, and why */
    uint32_t all;        /* every section, and settings with their built-in value */
    uint32_t layers;     /* which layer lies where */
    uint32_t parts;      /* types of weights by component and role */
};

/* Returns 1 if the device is present, but has no implementation of the model or of a setting; *why names it. */
uint32_t does_not_run(const struct opened *opened, struct accel_error *why);

/* Prints the verdict: whether the plan fits, where, by how much; then why a plan by formula is an estimate.
 * `is_tried`: 1 if all possible changes have been tried, and follow. */
void print_verdict(const struct opened *opened, uint32_t is_tried);
/* Prints the device or the platform, in one line. */
void print_device_line(const struct opened *opened);
/* Prints the short plan and the requested sections, or the whole. */
void print_plan(const struct opened *opened, const struct shown *shown);

/* Formats a value with its unit; sizes are rounded, the document has the bytes; a long list is cut. */
const char *value_text(const char *value, const char *unit, char *text, size_t size);

/* Returns the plan as a document that the caller owns, without its schema; NULL after an error has been printed. */
json_t *plan_json(const struct opened *opened, struct accel_error *error);

#endif
