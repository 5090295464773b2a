/* SPDX-License-Identifier: Apache-2.0 */
/* accelctl run with several prompts: written at the same time, printed one after the other. */
#ifndef ACCELCTL_RUN_TEXTS_H
#define ACCELCTL_RUN_TEXTS_H

#include "tools/accelctl/model.h"
#include "tools/accelctl/prompt.h"

#include <accel/model/generate.h>

/* Sequences of a run where the caller does not say how many. */
enum { SEQUENCES_USUAL = 8 };

struct texts_job {
    struct prompt prompt; /* how each is made: chat and system */
    const char *const *prompts;
    uint32_t count;
    uint32_t json;
    uint32_t quiet; /* the texts alone */
    uint32_t flags; /* ACCEL_GENERATE_... */
    uint64_t tokens;
    const struct accel_sampling *sampling;
};

/* Writes and prints all texts with a loaded session. Answers an exit code. */
int run_texts(const struct texts_job *job, struct opened *opened, const struct accel_tokenizer *tokenizer);

#endif
