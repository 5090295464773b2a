/* SPDX-License-Identifier: Apache-2.0 */
/* Makes quantized versions of a model for accelctl eval, in a temporary folder. */
#ifndef ACCELCTL_VERSIONS_H
#define ACCELCTL_VERSIONS_H

#include "tools/accelctl/progress.h"
#include "tools/accelctl/quantize/quantize.h"
#include "tools/accelctl/scratch.h"

enum { VERSIONS_MOST = 16, VERSION_NAME = 80 };

struct version_options {
    const char *bits;
    struct text_list types;
    const char *group;
    const char *scheme;
    struct text_list methods;
    struct text_list budgets;
    struct text_list candidates; /* of types that a budget may choose */
    const char *calib;
    uint64_t calib_tokens;
    struct named_number threads;
};

/* One version. */
struct version {
    char name[VERSION_NAME]; /* for people: "q4_g128a gptq" */
    char type[TYPE_NAME];
    uint32_t method;
    uint64_t budget; /* bytes; 0: none */
    char path[SCRATCH_PATH + VERSION_NAME];
    double seconds; /* that it took */
};

struct versions {
    const char *path; /* of the model that they are made of */
    struct version items[VERSIONS_MOST];
    uint32_t count;
    uint32_t grouped; /* 1: the type of one has groups, for --group and --scheme */
    struct scratch scratch;
};

/* Lists the versions that the options request, none without --bits, --type and --budget; makes the folder if there
 * are some. Answers -1 to go on, or an exit code after an error has been printed. */
int versions_begin(uint32_t json, const struct version_options *options, const char *path, struct versions *versions);
/* Writes all versions. */
int32_t versions_make(struct versions *versions, const struct version_options *options,
                      const struct calibration *calibration, struct progress *progress, struct accel_error *error);
/* Removes them. */
void versions_end(struct versions *versions);

#endif
