/* SPDX-License-Identifier: Apache-2.0 */
/* Measures claims with this command's own subcommands, each in a process and with caches of its own. */
#ifndef ACCELCTL_CLAIMS_MEASURE_H
#define ACCELCTL_CLAIMS_MEASURE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/accelctl/progress.h"
#include "tools/accelctl/scratch.h"

/* Inputs of measurements. All but `model` may be NULL. */
struct measure_wish {
    const char *model;  /* GGUF file or folder */
    const char *text;   /* file that models read, for claims on accuracy */
    const char *scores; /* table for accelctl scores, for claims on AUC and F1 */
    const char *device;
    uint32_t json;
};

enum { MEASURE_TEXT = 700, MEASURE_NAME = 16 };

struct measuring {
    const struct measure_wish *wish;
    struct scratch scratch;
    char model[SCRATCH_PATH * 4]; /* absolute */
    const char *suffix;           /* of versions of the model: ".gguf", or "" of folders */
    json_t *documents;            /* what commands printed, by command line */
    json_t *speeds;               /* tokens/s by version */
    char *command;                /* the command line of the last command, or NULL */
    char **environment;           /* of commands */
    char cache_home[SCRATCH_PATH + 16], state_home[SCRATCH_PATH + 16];
    struct progress progress;
    uint64_t done, all; /* claims, for the line on the terminal */
    uint32_t has_begun; /* 1: `progress` has */
    /* Of the claim that is measured: "q4" and "f16" of "size.q4.f16", and "%" or "x". */
    char type[MEASURE_NAME], against[MEASURE_NAME];
    const char *unit;
};

/* One number. */
struct measured {
    double value;           /* in the claim's unit; NAN: not measured */
    char how[MEASURE_TEXT]; /* the commands, or why it was not measured */
};

/* Makes the folder of the versions. Answers -1 to go on, or an exit code after an error has been printed; end in
 * both cases. */
int measure_begin(struct measuring *measuring, const struct measure_wish *wish);
/* Returns whether a measurement of claims.yaml has a valid name: "size.q4.f16". */
bool has_measurement(const char *name);

/* Runs the measurement that claims.yaml calls `name`, in the unit "%" or "x". */
void measure_claim(struct measuring *measuring, const char *name, const char *unit, struct measured *out_measured);
/* Returns 1 after an interrupt of the user: measurements requested from then on are skipped. */
uint32_t measure_interrupted(struct measuring *measuring);
/* Returns the bytes of the model in f16; 0 if that could not be made. */
uint64_t measure_bytes(struct measuring *measuring);
void measure_end(struct measuring *measuring);

#endif
