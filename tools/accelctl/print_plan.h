/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as text, the verdict first. */
#ifndef ACCELCTL_PRINT_PLAN_H
#define ACCELCTL_PRINT_PLAN_H

#include "tools/accelctl/model.h"

/* Column where the words behind the name of a line begin. */
enum { HEAD = 11 };

/* What is shown beside what always is. */
struct shown {
    uint32_t nodes;  /* every node */
    uint32_t losers; /* what settings overruled */
    uint32_t all;    /* settings that nobody set, too */
    uint32_t layers; /* which layer lies where */
    uint32_t parts;  /* types of weights by component and role */
};

/* 1 where the device is here, and the model or a setting has no implementation on it; *why says which. */
uint32_t does_not_run(const struct opened *opened, struct accel_error *why);

/* The first line: whether it fits, where, by how much; then why a plan by formula is no more than that. `is_tried`: 1
 * where all that can be changed has been tried, and follows. */
void print_verdict(const struct opened *opened, uint32_t is_tried);
void print_plan(const struct opened *opened, const struct shown *shown);

/* A value with its unit; sizes are for people here, the document has the bytes. */
const char *value_text(const char *value, const char *unit, char text[64]);

/* The plan as a document that the caller owns, without its schema; NULL after the error has been said. */
json_t *plan_json(const struct opened *opened, struct accel_error *error);

#endif
