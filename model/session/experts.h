/* SPDX-License-Identifier: Apache-2.0 */
/* Experts with a limit: the driver option expert_bytes, such as cpu.expert_bytes. The driver holds copies of so many
 * bytes of experts, and reads others from the mapped file as tokens are routed to them. */
#ifndef ACCEL_MODEL_SESSION_EXPERTS_H
#define ACCEL_MODEL_SESSION_EXPERTS_H

#include "model/session/state.h"

enum { EXPERTS_KEY = 80 };

/* Sizes of a graph's experts in bytes: of copies if the stage is planned with a limit, else in the file. */
struct session_experts {
    uint64_t bytes;     /* all; 0: the graph has none */
    uint64_t least;     /* least limit: the experts that one token is routed to in a layer */
    uint64_t token;     /* the experts that one token is routed to in all layers */
    uint32_t layers;    /* mixtures */
    uint32_t experts;   /* of each mixture, at most */
    uint32_t used;      /* of them for each token, at most */
    const char *reason; /* why they cannot have a limit, or NULL */
};

void stage_measure_experts(const struct pipeline_stage *stage, struct session_experts *out_experts);

/* Returns the loaded driver of that name, or NULL. */
const struct accel_plugin_info *plan_find_driver(const struct accel_context *context, const char *name);

/* Writes the key of the option of the plan's driver: "cpu.expert_bytes". Returns false if the driver has none. */
bool plan_expert_key(const struct accel_context *context, const struct accel_plan *plan, char key[EXPERTS_KEY]);

/* Returns the limit that is set, 0: none. */
uint64_t plan_expert_limit(const struct accel_plan *plan);

/* Returns the value that is the matrix of several experts which a node reads, ACCEL_NO_VALUE if it reads none. */
uint32_t session_expert_matrix(const struct accel_node *node);

/* Returns the bytes that a token reads from the file on average if all experts are equally likely. */
uint64_t session_expert_reads(const struct session_experts *experts, uint64_t limit);

/* Checks whether the model can have the limit, beside weights.load, and notes that a run does not allocate its experts.
 * The graph exists. */
int32_t stage_check_experts(const struct pipeline_stage *stage, struct accel_error *error);

/* Checks that the limit holds the experts of a token, when the driver has estimated their copies. */
int32_t stage_check_expert_limit(const struct pipeline_stage *stage, struct accel_error *error);

#endif
