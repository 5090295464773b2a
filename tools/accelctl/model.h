/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the plan of a model, and its session, for the commands plan, run and trace. */
#ifndef ACCELCTL_MODEL_H
#define ACCELCTL_MODEL_H

#include <stdbool.h>

#include <accel/model/file.h>
#include <accel/model/plan.h>

#include "tools/accelctl/common.h"

/* Settings that a command may add to those of the command line. */
enum { MORE_MOST = 8 };

/* Request for open_model, beside the options that commands share. */
struct wish {
    const char *path; /* a model, or the record of a plan where `runs` is 1 */
    const char *plan; /* the record, of a model that was moved to `path`; NULL: none */
    const char *platform;
    const char *mode;
    uint64_t length;
    const struct accel_named_value *more; /* settings behind those of the command line, at most MORE_MOST */
    uint32_t more_count;
    uint32_t flags; /* ACCEL_SESSION_... */
    uint32_t outputs;
    uint32_t runs;        /* 1: a session is needed, shapes alone are not enough */
    uint32_t reports;     /* REPORT_...: what settings of a run the command prints; it refuses the others */
    const char *command;  /* name of the command, with `runs` */
    const char *smaller;  /* what needs less memory, as a remedy; NULL: accelctl plan --fit finds it */
    uint32_t is_repeated; /* 1: another run of the same command prints the notes of its start */
    uint32_t quiet;       /* 1: notes on the device are printed only if the run is refused */
};

struct opened {
    struct accel_context *context; /* set before: it belongs to another model, which is closed after this one */
    struct accel_model_plan *made;
    const struct accel_model *model; /* NULL: the plan was made from shapes alone */
    struct accel_session *session;   /* NULL: the plan was made from shapes alone */
    char *texts;                     /* of the settings */
    const char *smaller;             /* of the wish */
    char *command;                   /* "accelctl plan MODEL --set ...", as a shell reads it; NULL: a repeated plan */
    uint32_t borrowed;               /* 1: the context is another's */
    uint32_t quiet;                  /* of the wish, where the notes were not printed yet */
};

/* Returns whether the file is a recorded plan, or may have been one: a regular file of JSON that names a schema early.
 */
bool is_plan_file(const char *path);

/* Opens context and plan. Answers -1 to go on, or an exit code after an error has been printed; close_model in any
 * case. */
int open_model(const struct common *common, const struct wish *wish, struct opened *opened);
void close_model(struct opened *opened);

/* Prints the plan's notes of a key to the error output: "device", that it is another than expected, and "environment",
 * variables without effect. A plan that is printed has them among its notes. */
void print_start_notes(const struct accel_plan *plan, const char *key);

/* Prints the notes on variables without effect, once in a command, which may make many plans. */
void print_variable_notes(const struct accel_plan *plan);

/* Loads the session. If the plan exceeds its budget, the remedy is the call of accelctl plan that finds what fits, or
 * `smaller` of the wish. */
int32_t load_session(const struct opened *opened, struct accel_error *error);

/* Replaces the open plan, by the one that --fit finds. */
void replace_plan(struct opened *opened, struct accel_model_plan *plan);

/* Returns the value of a setting of a plan; "?" if it has none of that name. */
const char *plan_setting_text(const struct accel_plan *plan, const char *key);

/* Returns the length of the longest row of the matrices of a file. */
uint64_t widest_row(const struct accel_model_file *file);

#endif
