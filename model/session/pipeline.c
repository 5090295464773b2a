/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a model whose layers lie on several devices: each stage is a session on its device, with the weights and caches
 * of its layers. The io buffers of the whole session hold the inputs; hidden rows pass from stage to stage through host
 * memory.
 */
#include "model/session/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "model/session/step.h"

void session_pipeline_free(struct accel_session *session)
{
    for (uint32_t p = 0; p < session->pipeline_count; p++) {
        /* The whole session owns these. */
        session->pipeline[p]->parts = NULL;
        session->pipeline[p]->types = (struct weight_types){0};
        session->pipeline[p]->made = NULL;
        accel_session_free(session->pipeline[p]);
    }
    free(session->pipeline);
    session->pipeline = NULL;
    session->pipeline_count = 0;
}

/* Copies the step's inputs to a stage; the hidden rows come from the previous stage. */
static int32_t feed_stage(const struct accel_session *session, uint32_t index, const uint64_t symbols[SYMBOLS],
                          struct accel_error *error)
{
    struct accel_session *stage = session->pipeline[index];
    struct io_buffer *crossed = &stage->io[IO_CROSSED];
    uint64_t bytes = 0;
    int32_t code;

    for (uint32_t i = 0; i < IO_CROSSED; i++)
        if (stage->io[i].bytes != NULL)
            memcpy(stage->io[i].bytes, session->io[i].bytes, stage->io[i].size);
    if (crossed->bytes == NULL)
        return ACCEL_OK;
    code = accel_value_bytes(stage->step.graph, crossed->value, symbols, &bytes, error);
    if (code == ACCEL_OK)
        memcpy(crossed->bytes, session->pipeline[index - 1]->io[session->pipeline[index - 1]->logits_io].bytes, bytes);
    return code;
}

int32_t session_pipeline_run(struct accel_session *session, const uint64_t symbols[SYMBOLS], struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    for (uint32_t p = 0; code == ACCEL_OK && p < session->pipeline_count; p++) {
        code = feed_stage(session, p, symbols, error);
        if (code == ACCEL_OK)
            code = session_run_set(session->pipeline[p], symbols, error);
    }
    return code;
}
