/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of the inputs and outputs of a graph. */
#ifndef ACCEL_MODEL_SESSION_IO_H
#define ACCEL_MODEL_SESSION_IO_H

#include "model/session/state.h"

/* Creates the io buffers of the graph and finds the indices of its outputs. */
int32_t stage_io_create(struct pipeline_stage *stage, struct accel_error *error);
void stage_io_free(struct pipeline_stage *stage);

/* Binds io buffers and state to the values of the graph, for steps of up to these symbols. */
int32_t stage_set_create(struct pipeline_stage *stage, const uint64_t *symbols, struct accel_set **out_set,
                         struct accel_error *error);

#endif
