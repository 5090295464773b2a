/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders of blocks of 32 values: one scale, perhaps a minimum, codes in nibbles (value j low, value j + 16 high); and
 * of some larger ones. */
#include "blocks.h"
#include "blocks_write.h"

void quant_decode_q4_0(const uint8_t *block, float *out)
{
    float d = quant_read_half(block);
    for (int j = 0; j < 16; j++) {
        out[j] = d * (float)((block[2 + j] & 15) - 8);
        out[j + 16] = d * (float)((block[2 + j] >> 4) - 8);
    }
}

void quant_decode_q4_1(const uint8_t *block, float *out)
{
    float d = quant_read_half(block), m = quant_read_half(block + 2);
    for (int j = 0; j < 16; j++) {
        out[j] = d * (float)(block[4 + j] & 15) + m;
        out[j + 16] = d * (float)(block[4 + j] >> 4) + m;
    }
}

void quant_decode_q5_0(const uint8_t *block, float *out)
{
    float d = quant_read_half(block);
    uint32_t fifth = quant_read32(block + 2);
    for (int j = 0; j < 16; j++) {
        int low = (block[6 + j] & 15) | (int)(fifth >> j & 1u) << 4;
        int high = (block[6 + j] >> 4) | (int)(fifth >> (j + 16) & 1u) << 4;
        out[j] = d * (float)(low - 16);
        out[j + 16] = d * (float)(high - 16);
    }
}

void quant_decode_q5_1(const uint8_t *block, float *out)
{
    float d = quant_read_half(block), m = quant_read_half(block + 2);
    uint32_t fifth = quant_read32(block + 4);
    for (int j = 0; j < 16; j++) {
        int low = (block[8 + j] & 15) | (int)(fifth >> j & 1u) << 4;
        int high = (block[8 + j] >> 4) | (int)(fifth >> (j + 16) & 1u) << 4;
        out[j] = d * (float)low + m;
        out[j + 16] = d * (float)high + m;
    }
}

void quant_decode_q8_0(const uint8_t *block, float *out)
{
    float d = quant_read_half(block);
    for (int j = 0; j < 32; j++)
        out[j] = d * (float)(int8_t)block[2 + j];
}

void quant_decode_iq4_nl(const uint8_t *block, float *out)
{
    float d = quant_read_half(block);
    for (int j = 0; j < 16; j++) {
        out[j] = d * (float)quant_iq4_codebook[block[2 + j] & 15];
        out[j + 16] = d * (float)quant_iq4_codebook[block[2 + j] >> 4];
    }
}

/* Block: the exponent, then codes of one sign, two exponent and one fraction bit; minus zero is zero. */
void quant_decode_mxfp4(const uint8_t *block, float *out)
{
    float d = quant_read_exponent(block[0]);
    for (int j = 0; j < 16; j++) {
        out[j] = d * (float)quant_mxfp4_codebook[block[1 + j] & 15];
        out[j + 16] = d * (float)quant_mxfp4_codebook[block[1 + j] >> 4];
    }
}

/* Decodes a scale of nvfp4: four bits of exponent (bias 7) and three of fraction, without a sign, halved as the
 * codebook is stored doubled. All ones are zero, as other tools read it. */
static float nvfp4_scale(uint8_t byte)
{
    const uint32_t magnitude = byte & 0x7fu;
    if (byte == 0x7f)
        return 0;
    return magnitude < 8 ? (float)magnitude * 0x1p-10f : accel_f32_from_bits((magnitude << 20) + (119u << 23));
}

/* Block: four scales, then for each the 16 codes of mxfp4: code j low, code j + 8 high. */
void quant_decode_nvfp4(const uint8_t *block, float *out)
{
    for (int g = 0; g < 4; g++) {
        const float d = nvfp4_scale(block[g]);
        const uint8_t *codes = block + 4 + 8 * g;
        for (int j = 0; j < 8; j++) {
            out[16 * g + j] = d * (float)quant_mxfp4_codebook[codes[j] & 15];
            out[16 * g + j + 8] = d * (float)quant_mxfp4_codebook[codes[j] >> 4];
        }
    }
}

/* Block: d f16, codes -1 .. 2 of 64 values, four to a byte. */
void quant_decode_q2_0(const uint8_t *block, float *out)
{
    float d = quant_read_half(block);
    for (int j = 0; j < 64; j++)
        out[j] = d * (float)((block[2 + j / 4] >> j % 4 * 2 & 3) - 1);
}

/* Block: d f16, signs of 128 values: a bit that is set means d. */
void quant_decode_q1_0(const uint8_t *block, float *out)
{
    float d = quant_read_half(block);
    for (int j = 0; j < 128; j++)
        out[j] = d * (float)((block[2 + j / 8] >> j % 8 & 1) * 2 - 1);
}

/* Block: d f16, high bits of 8 scales u16, low nibbles of 8 scales, 8 groups of 16 bytes. */
void quant_decode_iq4_xs(const uint8_t *block, float *out)
{
    float d = quant_read_half(block);
    uint32_t scales_high = quant_read16(block + 2);
    for (int run = 0; run < 8; run++) {
        int low = block[4 + run / 2] >> (run % 2 * 4) & 15;
        int scale = low | (int)(scales_high >> (2 * run) & 3u) << 4;
        float dl = d * (float)(scale - 32);
        const uint8_t *codes = block + 8 + 16 * run;
        for (int j = 0; j < 16; j++) {
            out[32 * run + j] = dl * (float)quant_iq4_codebook[codes[j] & 15];
            out[32 * run + j + 16] = dl * (float)quant_iq4_codebook[codes[j] >> 4];
        }
    }
}
