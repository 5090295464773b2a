/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a GGUF file of a llama-type model with random weights (random_model.h).
 *
 *     make_model OUT [TYPE [LAYERS HIDDEN FFN HEADS KV_HEADS VOCABULARY [EXPERTS USED ZIPF]]]
 *
 * TYPE: f32 f16 bf16 q8_0 q4_0 q4_1. Without sizes: 22 2048 5632 32 4 32000, a 1.1B-class model. With EXPERTS: a
 * mixture that chooses USED of them for a token, equally often (ZIPF 0) or by Zipf's law with the exponent ZIPF.
 */
#include <stdio.h>
#include <stdlib.h>

#include <accel/quant/format.h>
#include <accel/types.h>

#include "tests/bench/random_model.h"

int main(int count, char **arguments)
{
    struct random_model s = {22, 2048, 5632, 32, 4, 32000, 0, 0, 0, 0};
    uint64_t *const fields[] = {&s.layers,   &s.hidden,     &s.ffn,     &s.heads,
                                &s.kv_heads, &s.vocabulary, &s.experts, &s.used};
    const int field_count = (int)(sizeof(fields) / sizeof(*fields));
    uint32_t type = accel_format_find(count > 2 ? arguments[2] : "q4_0");

    if (count != 2 && count != 3 && count != 9 && count != 12) {
        fprintf(stderr,
                "usage: make_model OUT [TYPE [LAYERS HIDDEN FFN HEADS KV_HEADS VOCABULARY [EXPERTS USED ZIPF]]]\n");
        return 2;
    }
    for (int i = 0; i + 3 < count && i < field_count; i++)
        *fields[i] = strtoull(arguments[i + 3], NULL, 10);
    if (count == 12)
        s.zipf = strtod(arguments[11], NULL);
    if (s.used > s.experts) {
        fprintf(stderr, "make_model: more experts used than there are\n");
        return 2;
    }
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
