/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what settings request about a run: log.load, log.kernels, log.memory, log.attention, log.quantization and
 * metrics.*, of which the session has notes, and the plan those of weights that change their type. */
#ifndef ACCELCTL_REPORTS_H
#define ACCELCTL_REPORTS_H

#include "tools/accelctl/model.h"

/* Kinds of reports, by the settings that request them. */
enum report {
    REPORT_LOG = 1,     /* log.load, log.kernels, log.memory, log.attention */
    REPORT_WEIGHTS = 2, /* log.quantization, metrics.quantization, precision.*: weights that a run converts */
    REPORT_METRICS = 4, /* metrics.performance, metrics.memory, metrics.attention: of generated texts */
};

/* Refuses settings of the user that request a report outside of wish->reports; notes one that is recommended. Answers
 * -1, or an exit code after the error has been printed. */
int refuse_reports(const struct common *common, const struct wish *wish, const struct accel_plan *plan);

/* Prints the reports among the notes of a plan and its session from `first` on, on the error output, and returns the
 * number of notes. `quiet`: 1 prints only those whose setting the user gave. `model` stands before each text, or is
 * NULL. */
uint32_t print_reports(const struct accel_session *session, uint32_t first, uint32_t quiet, const char *model);

/* Returns the list of reports of a kind among the notes from `first` on. */
json_t *reports_json(const struct accel_session *session, uint32_t first, enum report kind);

#endif
