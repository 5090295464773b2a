/* SPDX-License-Identifier: Apache-2.0 */
/* What accelctl quantize was asked for, and what it made, as text and JSON. */
#ifndef ACCELCTL_QUANTIZE_H
#define ACCELCTL_QUANTIZE_H

#include "tools/accelctl/calibration.h"
#include "tools/accelctl/common.h"

#include <accel/model/quantize.h>

struct quantize_options {
    struct common common;
    const char *type;
    const char *group;
    const char *scheme;
    struct text_list keep;
    uint64_t threads;
    uint32_t dry;
    uint32_t tensors;
    const char *method;
    const char *critical;
    struct text_list roles;
    uint32_t sensitivity;
    const char *calib;
    uint64_t calib_tokens;
    const char *budget;
    struct text_list candidates;
};

/* What a run came to, beside its job. */
struct outcome {
    uint64_t budget;      /* bytes; 0: none */
    uint64_t calibration; /* tokens */
    uint64_t widest;      /* values of the longest row of a matrix */
    const char *path;     /* where OUT may be left out: "OUT" */
    uint32_t limited;     /* 1: the budget is one that was asked for */
    uint64_t before;      /* bytes of the file that is read, all its parts */
    uint64_t resumed;
    double seconds;
    uint32_t replaced; /* there was, or would be, a file of that name before */
};

void quantize_print(const struct accel_quantize_job *job, const struct quantize_options *chosen,
                    const struct outcome *outcome);
/* Prints the document; answers an exit code. */
int quantize_document(const struct accel_quantize_job *job, const struct outcome *outcome);

/* What each tensor would lose in each type that it may get, as a table and in a document. */
void sensitivity_print(const struct accel_quantize_job *job, const struct outcome *outcome);
/* Of the tensor at `index`; null where it has no candidates. */
json_t *sensitivity_json(const struct accel_quantize_job *job, uint64_t index);

/* ---- what accelctl eval --bits makes, too ---- */

enum { TYPE_NAME = 32, THREADS_MAX = 1024 };

/* The whole name of a type: "q4" with a group of "128" or "row" and "asymmetric" is "q4_g128a"; a name that says its
 * group has none beside it, unless `others` is 1: they may be for other types. Answers -1 to go on, or an exit code
 * after the error has been said for `verb`. */
int type_name(uint32_t json, const char *verb, const char *type, const char *group, const char *scheme, uint32_t others,
              char out_name[TYPE_NAME]);

/* Bytes of "60MB" or "1.2GiB". Answers -1 to go on, or an exit code after the error has been said for `verb`. */
int parse_bytes(uint32_t json, const char *verb, const char *option, const char *text, uint64_t *out_bytes);

/* The method that a word names, ACCEL_QUANTIZE_METHOD_DEFAULT where it is NULL; one that wants a text is refused where
 * there is none. Answers -1 to go on, or an exit code after the error has been said for `verb`. */
int parse_method(uint32_t json, const char *verb, const char *word, const char *calib, uint32_t *out_method);

/* The group that `word` says, as the library's options want it; 0 where it is NULL. The word is one that type_name
 * took.
 */
uint32_t parse_group(const char *word);

/* 1 where a group may stand beside the name: "q4". */
uint32_t type_has_groups(const char *type);

/* One thread for each processor, as many as the library takes. */
uint32_t default_threads(void);

/* Says an error of planning, or of writing `out`; answers an exit code. */
int quantize_refuse(uint32_t json, struct accel_error *error, const char *out);

#endif
