/* SPDX-License-Identifier: Apache-2.0 */
/* Output of accelctl eval: its findings as text, as JSON and as a page with charts. */
#ifndef ACCELCTL_EVAL_H
#define ACCELCTL_EVAL_H

#include <jansson.h>
#include <stdio.h>

#include <accel/model/eval.h>

#include "tools/accelctl/command.h"

enum { EVAL_MOST = 16 };

/* One model. */
struct eval_row {
    const char *path;
    const char *name;                       /* for people: without its folders */
    struct accel_eval_tensors *tensors;     /* errors where there is a reference, else sums alone */
    const struct accel_eval_result *result; /* NULL without a text */
    const struct accel_session *session;    /* of its run; NULL without a text */
    uint32_t index;                         /* of the evaluation */
    uint32_t made;                          /* 1: a version of the reference that goes with the command */
};

struct eval_report {
    struct eval_row rows[EVAL_MOST];
    uint32_t count;
    struct eval_row reference; /* path NULL: none */
    struct accel_eval *eval;   /* NULL without a text */
    const char *text;          /* path of the text */
    const char *device;        /* where it ran */
    uint64_t tokens;           /* of the text */
    const char *bos;           /* token before each window, or NULL */
    const char *chunk_origin;  /* "given: ..." or "builtin: ..." */
    const char *stride_origin;
    uint64_t worst;                         /* tensors to list */
    const struct text_list *sets;           /* settings of all models, as KEY=VALUE */
    const struct text_list *reference_sets; /* settings of the reference alone, behind `sets` */
};

/* Totals of all tensors of one type. */
struct eval_kind {
    const char *type;
    uint64_t tensors;
    uint64_t elements;
    uint64_t bytes;
};

enum { KINDS_MOST = 24 };

/* Collects the types that a file really has, the one with the most bytes first; counts only tensors that the
 * reference has too. */
uint32_t eval_kinds(const struct eval_row *row, struct eval_kind kinds[KINDS_MOST]);

void eval_print(const struct eval_report *report);
json_t *eval_json(const struct eval_report *report);
/* Writes the page; `data` is the report. Answers an exit code. */
int eval_html(FILE *out, void *data);
/* Describes how the text was evaluated. */
void eval_method(const struct eval_report *report, char text[400]);

#endif
