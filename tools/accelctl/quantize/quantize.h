/* SPDX-License-Identifier: Apache-2.0 */
/* Options and results of accelctl quantize, and their output as text and JSON. */
#ifndef ACCELCTL_QUANTIZE_H
#define ACCELCTL_QUANTIZE_H

#include <stdbool.h>

#include <accel/model/quantize.h>

#include "tools/accelctl/common.h"
#include "tools/accelctl/quantize/calibration.h"

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
    uint32_t pure;
    uint32_t requantize;
};

/* Results of a run, beside its job. */
struct outcome {
    uint64_t budget;      /* bytes; 0: none */
    uint64_t calibration; /* tokens */
    uint64_t widest;      /* values of the longest row of a matrix */
    const char *path;     /* where OUT may be left out: "OUT" */
    uint32_t limited;     /* 1: the budget was given on the command line */
    uint64_t before;      /* bytes of the file that is read, all its parts */
    uint64_t resumed;
    double seconds;
    uint32_t replaced; /* there was, or would be, a file of that name before */
};

void quantize_print(const struct accel_quantize_job *job, const struct quantize_options *chosen,
                    const struct outcome *outcome);
/* Prints the document; answers an exit code. `is_written` is 0 if no file was to be written. */
int quantize_document(const struct accel_quantize_job *job, const struct outcome *outcome, uint32_t is_written);

/* Counts the tensors that were quantized and are quantized again, so that they lose twice, and stores the type of the
 * first, which the model file owns. */
uint64_t requantized_count(const struct accel_quantize_job *job, const char **out_from);

/* Prints the error that each tensor would have in each type that it may get, as a table and in a document. */
void sensitivity_print(const struct accel_quantize_job *job, const struct outcome *outcome);
/* Returns the errors of the tensor at `index` as JSON; null if it has no candidates. */
json_t *sensitivity_json(const struct accel_quantize_job *job, uint64_t index);

/* ---- shared with accelctl eval --bits ---- */

enum { TYPE_NAME = 32, THREADS_MAX = 1024 };

/* Composes the whole name of a type: "q4" with a group of "128" or "row" and "asymmetric" is "q4_g128a". A name
 * that includes its group accepts no group beside it, unless `others` is 1: group and scheme may be for other
 * types. Answers -1 to go on, or an exit code after an error has been printed for `command`. */
int type_name(uint32_t json, const char *command, const char *type, const char *group, const char *scheme,
              uint32_t others, char out_name[TYPE_NAME]);

/* Parses bytes: "60MB" or "1.2GiB". Answers -1 to go on, or an exit code after an error has been printed for
 * `command`. */
int parse_bytes(uint32_t json, const char *command, const char *option, const char *text, uint64_t *out_bytes);

/* Parses the name of a method, ACCEL_QUANTIZE_METHOD_DEFAULT if it is NULL; a method that needs a calibration text
 * is refused without one. Answers -1 to go on, or an exit code after an error has been printed for `command`. */
int parse_method(uint32_t json, const char *command, const char *word, const char *calib, uint32_t *out_method);

/* Parses a group into the form of the library's options; 0 if `word` is NULL. type_name has accepted the word. */
uint32_t parse_group(const char *word);

/* Returns 1 if the type accepts a group: "q4". */
bool type_has_groups(const char *type);

/* Returns the number of processors, limited to the library's most threads. */
uint32_t default_threads(void);

#endif
