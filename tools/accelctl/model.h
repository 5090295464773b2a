/* SPDX-License-Identifier: Apache-2.0 */
/* A model and a session of it, as the verbs plan, run and trace want them. */
#ifndef ACCELCTL_MODEL_H
#define ACCELCTL_MODEL_H

#include "tools/accelctl/common.h"

#include <accel/model/session.h>

struct opened {
    struct accel_context *context;
    struct accel_model *model;
    struct accel_session *session;
    char *texts; /* of the settings */
};

/* Opens context, model and (planned) session. `more` are settings behind those of --set. Answers -1 to go on, or an
 * exit code after the error has been said; close_model in any case. */
int open_model(const struct common *common, const char *path, const struct accel_given *more, uint32_t more_count,
               uint32_t flags, uint32_t outputs, struct opened *opened);
void close_model(struct opened *opened);

#endif
