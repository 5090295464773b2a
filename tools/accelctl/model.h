/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a model, and the session of it, as the verbs plan, run and trace want them. */
#ifndef ACCELCTL_MODEL_H
#define ACCELCTL_MODEL_H

#include "tools/accelctl/common.h"

#include <accel/model/plan.h>

/* Settings that a verb may add to those of the command line. */
enum { MORE_MOST = 8 };

/* What to open beside the options that verbs share. */
struct wish {
    const char *path; /* a model, or the record of a plan where `runs` is 1 */
    const char *platform;
    const char *mode;
    uint64_t length;
    const struct accel_given *more; /* settings behind those of the command line, at most MORE_MOST */
    uint32_t more_count;
    uint32_t flags; /* ACCEL_SESSION_... */
    uint32_t outputs;
    uint32_t runs; /* 1: a session is needed, a sketch will not do */
};

struct opened {
    struct accel_context *context; /* set before: it belongs to another model, which is closed after this one */
    struct accel_model_plan *made;
    const struct accel_model *model; /* NULL: a sketch */
    struct accel_session *session;   /* NULL: a sketch */
    char *texts;                     /* of the settings */
    uint32_t borrowed;               /* 1: the context is another's */
};

/* Opens context and plan. Answers -1 to go on, or an exit code after the error has been said; close_model in any case.
 */
int open_model(const struct common *common, const struct wish *wish, struct opened *opened);
void close_model(struct opened *opened);

/* Puts another plan, as --fit finds it, in the place of the one that is open. */
void replace_plan(struct opened *opened, struct accel_model_plan *plan);

#endif
