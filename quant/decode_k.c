/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders of super-blocks of 256 values: groups of 16 or 32 with small integer scales under one or two half scales. */
#include "blocks.h"

/* Block: 16 bytes of 4-bit scale and 4-bit minimum per group of 16, 64 bytes of 2-bit codes, d and dmin. */
void quant_decode_q2_k(const uint8_t *block, float *out)
{
    float d = quant_read_half(block + 80), dmin = quant_read_half(block + 82);
    for (int group = 0; group < 16; group++) {
        /* Half h of 128 values shares 32 bytes; shift s selects 32 values of it, two groups. */
        int half = group / 8, shift = group % 8 / 2, side = group % 2;
        const uint8_t *codes = block + 16 + 32 * half + 16 * side;
        float dl = d * (float)(block[group] & 15), ml = dmin * (float)(block[group] >> 4);
        for (int j = 0; j < 16; j++)
            out[16 * group + j] = dl * (float)(codes[j] >> (2 * shift) & 3) - ml;
    }
}

int quant_q3_scale(const uint8_t *packed, int group)
{
    int low = packed[group % 8] >> (group / 8 * 4) & 15;
    int high = packed[8 + group % 4] >> (group / 4 * 2) & 3;
    return low | high << 4;
}

/* Block: 32 bytes of third bits, 64 bytes of 2-bit codes, 12 bytes of scales, d. */
void quant_decode_q3_k(const uint8_t *block, float *out)
{
    float d = quant_read_half(block + 108);
    for (int group = 0; group < 16; group++) {
        int half = group / 8, shift = group % 8 / 2, side = group % 2;
        const uint8_t *codes = block + 32 + 32 * half + 16 * side, *third = block + 16 * side;
        float dl = d * (float)(quant_q3_scale(block + 96, group) - 32);
        for (int j = 0; j < 16; j++) {
            int low = codes[j] >> (2 * shift) & 3;
            int minus = third[j] >> (4 * half + shift) & 1 ? 0 : 4;
            out[16 * group + j] = dl * (float)(low - minus);
        }
    }
}

void quant_scale_min(const uint8_t *packed, int group, int *out_scale, int *out_min)
{
    if (group < 4) {
        *out_scale = packed[group] & 63;
        *out_min = packed[group + 4] & 63;
        return;
    }
    *out_scale = (packed[group + 4] & 15) | (packed[group - 4] >> 6) << 4;
    *out_min = (packed[group + 4] >> 4) | (packed[group] >> 6) << 4;
}

/* Block of q4_k and q5_k: d, dmin, 12 bytes of scales, then (q5_k) 32 bytes of fifth bits, then 128 bytes of codes. */
static void decode_45(const uint8_t *block, const uint8_t *fifth, const uint8_t *codes, float *out)
{
    float d = quant_read_half(block), dmin = quant_read_half(block + 2);
    for (int group = 0; group < 8; group++) {
        int scale, minimum;
        quant_scale_min(block + 4, group, &scale, &minimum);
        float dl = d * (float)scale, ml = dmin * (float)minimum;
        const uint8_t *run = codes + 32 * (group / 2);
        for (int j = 0; j < 32; j++) {
            int code = run[j] >> (group % 2 * 4) & 15;
            if (fifth)
                code |= (fifth[j] >> group & 1) << 4;
            out[32 * group + j] = dl * (float)code - ml;
        }
    }
}

void quant_decode_q4_k(const uint8_t *block, float *out)
{
    decode_45(block, NULL, block + 16, out);
}

void quant_decode_q5_k(const uint8_t *block, float *out)
{
    decode_45(block, block + 16, block + 48, out);
}

/* Block: 128 bytes of low nibbles, 64 bytes of upper two bits, 16 signed scales, d. */
void quant_decode_q6_k(const uint8_t *block, float *out)
{
    float d = quant_read_half(block + 208);
    for (int i = 0; i < 256; i++) {
        /* Half h has 64 + 32 bytes; quarter q of it takes bytes 32 (q % 2).. and nibble q / 2, and bits 2 q of the
         * upper byte. */
        int half = i / 128, quarter = i % 128 / 32, j = i % 32;
        int low = block[64 * half + 32 * (quarter % 2) + j] >> (quarter / 2 * 4) & 15;
        int high = block[128 + 32 * half + j] >> (2 * quarter) & 3;
        int scale = (int8_t)block[192 + i / 16];
        out[i] = d * (float)scale * (float)((low | high << 4) - 32);
    }
}
