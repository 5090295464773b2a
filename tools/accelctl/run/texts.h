/* SPDX-License-Identifier: Apache-2.0 */
/* accelctl run with several prompts: batched decode, and output in the order of the prompts as it is generated. */
#ifndef ACCELCTL_RUN_TEXTS_H
#define ACCELCTL_RUN_TEXTS_H

#include <accel/model/generate.h>

#include "tools/accelctl/model.h"
#include "tools/accelctl/run/prompt.h"
#include "tools/accelctl/run/sampling.h"

/* Default number of sequences of a run. */
enum { SEQUENCES_USUAL = 8 };

struct texts_job {
    struct prompt prompt; /* how each is made: chat and system */
    const char *const *prompts;
    uint32_t count;
    uint32_t json;
    uint32_t lines; /* with json: a line for each piece of a text and for its end, and one with the numbers */
    uint32_t quiet; /* the texts alone */
    uint32_t flags; /* ACCEL_GENERATE_... */
    uint64_t tokens;
    const struct text_list *stops;
    const struct sampling_choice *chosen;
};

/* Generates and prints all texts with a loaded session. Answers an exit code. */
int run_texts(const struct texts_job *job, struct opened *opened, const struct accel_tokenizer *tokenizer);

#endif
