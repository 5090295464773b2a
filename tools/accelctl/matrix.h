/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict of this host on each cell of the documents' tables: a plan of the model that stands for the row, for the
 * platform of the column. Nothing is simulated: without a device here it says so, beside what the plan for that
 * platform comes to.
 */
#ifndef ACCELCTL_MATRIX_H
#define ACCELCTL_MATRIX_H

#include <accel/accel.h>
#include <jansson.h>

enum host_verdict {
    HOST_ABSENT,   /* no device of this platform is here */
    HOST_FITS,     /* there is, and the plan fits in its memory */
    HOST_SHORT,    /* it does not fit */
    HOST_REFUSED,  /* an operator, a type or a setting cannot be had */
    HOST_MEASURED, /* such a run was measured here */
    HOST_UNKNOWN   /* there is no description of the model to plan with */
};

enum { MATRIX_TEXT = 640 };

/** One cell: what a document says, and what this host says. */
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
};

/** All cells in the order of the tables; after each row of a table whose columns are platforms, one for each platform
 *  that is here and stands in no column. */
struct matrix {
    struct accel_context *context;
    const struct accel_tables *tables;
    struct matrix_cell *cells;
    uint32_t count;
    uint32_t is_recorded; /* 1: the context replays a machine, on which nothing can run now */
};

/* Fills the matrix for the table called `table`, or for all where it is NULL. False without memory. */
int matrix_make(struct matrix *matrix, const char *table);
void matrix_free(struct matrix *matrix);

/* "fits", "no device here" ...; and as a name: "fits", "absent". */
const char *matrix_words(enum host_verdict verdict);
const char *matrix_name(enum host_verdict verdict);

/* Whether the cell at `index` is the first of its table, and of its row. */
int matrix_begins_table(const struct matrix *matrix, uint32_t index);
int matrix_begins_row(const struct matrix *matrix, uint32_t index);
/* "CUDA", or the name of a platform that no document names. */
const char *matrix_column(const struct matrix_cell *cell);

json_t *matrix_json(const struct matrix *matrix);
int matrix_html(FILE *out, const struct matrix *matrix);

#endif
