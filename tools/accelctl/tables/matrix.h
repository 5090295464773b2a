/* SPDX-License-Identifier: Apache-2.0 */
/* Verdict of this host on each cell of the documents' tables: a plan of the model that stands for the row, for the
 * platform of the column. Nothing is simulated: without a device here the verdict states that, beside the result
 * of the plan for that platform. */
#ifndef ACCELCTL_MATRIX_H
#define ACCELCTL_MATRIX_H

#include <jansson.h>

#include "tools/tables/tables.h"

enum host_verdict {
    HOST_ABSENT,   /* no device of this platform is here */
    HOST_FITS,     /* there is, and the plan fits in its memory */
    HOST_SHORT,    /* it does not fit */
    HOST_REFUSED,  /* an operator, a type or a setting cannot be had */
    HOST_MEASURED, /* such a run was measured here */
    HOST_UNKNOWN   /* there is no description of the model to plan with */
};

enum { MATRIX_TEXT = 640 };

/** One cell: the statement of a document, and the verdict of this host. */
struct matrix_cell {
    const struct accel_compat *row;      /* the first cell of its row */
    const struct accel_compat *document; /* NULL: a platform of this host that no document names */
    const char *platform;
    enum host_verdict verdict;
    uint64_t needed;          /* bytes; 0: not known */
    uint64_t budget;          /* 0: not known */
    double speed;             /* tokens a second, measured; 0: none */
    char text[MATRIX_TEXT];   /* the verdict in words */
    char origin[MATRIX_TEXT]; /* where its numbers come from */
    char later[MATRIX_TEXT];  /* "KEY=VALUE later: WHAT, ..." of settings that nothing honors yet; or empty */
};

/** All cells in the order of the tables; each row of a table with platforms as columns is followed by a cell for
 * each platform of this host without a column. */
struct matrix {
    struct accel_context *context;
    const struct accel_tables *tables;
    struct matrix_cell *cells;
    uint32_t count;
    uint32_t is_recorded; /* 1: the context replays a machine, on which nothing can run now */
};

/* Fills the matrix for the table named `table`, or for all if it is NULL. False without memory. */
int matrix_make(struct matrix *matrix, const char *table);
void matrix_free(struct matrix *matrix);

/* Returns a verdict in words: "fits", "no device here" ...; and as a name: "fits", "absent". */
const char *matrix_words(enum host_verdict verdict);
const char *matrix_name(enum host_verdict verdict);

/* Returns whether the cell at `index` is the first of its table, and of its row. */
int matrix_begins_table(const struct matrix *matrix, uint32_t index);
int matrix_begins_row(const struct matrix *matrix, uint32_t index);
/* Returns the column: "CUDA", or the name of a platform that no document names. */
const char *matrix_column(const struct matrix_cell *cell);

json_t *matrix_json(const struct matrix *matrix);
int matrix_html(FILE *out, const struct matrix *matrix);

#endif
