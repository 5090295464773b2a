/* SPDX-License-Identifier: Apache-2.0 */
/* Encoder: dispatch by type. */
#include <accel/quant/format.h>

#include "blocks.h"
#include "blocks_write.h"

#define SCALAR(type, name, group) {type, quant_narrow_##name, NULL},
#define BLOCK(type, name, group) {type, NULL, quant_encode_##name},

static const struct encoder {
    uint32_t type;
    quant_narrow *narrow;       /* scalars */
    quant_encode_block *encode; /* blocks */
} encoders[] = {
#define ACCEL_FORMAT QUANT_ENCODERS
#include <accel/quant/formats.def>
};

static const struct encoder *find(uint32_t type)
{
    for (size_t i = 0; i < sizeof(encoders) / sizeof(encoders[0]); i++)
        if (encoders[i].type == type)
            return &encoders[i];
    return NULL;
}

static int32_t encode(uint32_t type, const float *values, const float *weight, int search, size_t count,
                      void *const *planes)
{
    struct accel_format format;
    uint8_t *block = planes[0];
    int32_t code = accel_format_describe(type, &format);
    if (code != ACCEL_OK)
        return code;
    if (count % format.block_values != 0)
        return ACCEL_E_INVALID;
    if (format.kind == ACCEL_FORMAT_PLANAR) {
        quant_encode_planar(&format, values, weight, search, count, planes);
        return ACCEL_OK;
    }
    const struct encoder *encoder = find(type);
    if (encoder == NULL)
        return ACCEL_E_UNSUPPORTED;
    if (encoder->narrow)
        encoder->narrow(values, count, block);
    else
        for (size_t at = 0; at < count; at += format.block_values, block += format.plane_bytes[0])
            encoder->encode(values + at, quant_weight_at(weight, at), search, block);
    return ACCEL_OK;
}

int32_t accel_format_encode(uint32_t type, const float *values, size_t count, void *const *planes)
{
    return encode(type, values, NULL, 0, count, planes);
}

int32_t accel_format_fit(uint32_t type, const float *values, const float *weight, size_t count, void *const *planes)
{
    return encode(type, values, weight, 1, count, planes);
}
