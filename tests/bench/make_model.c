/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a GGUF file of a llama-type model with random weights (random_model.h).
 *
 *     make_model OUT [TYPE [LAYERS HIDDEN FFN HEADS KV_HEADS VOCABULARY]]
 *
 * TYPE: f32 f16 bf16 q8_0 q4_0 q4_1. Without sizes: 22 2048 5632 32 4 32000, a 1.1B-class model.
 */
#include <stdio.h>
#include <stdlib.h>

#include <accel/quant/format.h>
#include <accel/types.h>

#include "tests/bench/random_model.h"

int main(int count, char **arguments)
{
    struct random_model s = {22, 2048, 5632, 32, 4, 32000};
    uint64_t *const fields[] = {&s.layers, &s.hidden, &s.ffn, &s.heads, &s.kv_heads, &s.vocabulary};
    uint32_t type = accel_format_find(count > 2 ? arguments[2] : "q4_0");

    if (count != 2 && count != 3 && count != 9) {
        fprintf(stderr, "usage: make_model OUT [TYPE [LAYERS HIDDEN FFN HEADS KV_HEADS VOCABULARY]]\n");
        return 2;
    }
    for (int i = 0; i + 3 < count; i++)
        *fields[i] = strtoull(arguments[i + 3], NULL, 10);
    if (type == ACCEL_TYPE_NONE || s.heads == 0 || s.vocabulary < 300) {
        fprintf(stderr, "make_model: no such type, no heads, or a vocabulary under 300\n");
        return 2;
    }
    if (!random_model_write(arguments[1], &s, type)) {
        perror(arguments[1]);
        return 1;
    }
    return 0;
}
