/* SPDX-License-Identifier: Apache-2.0 */
/* Which form every type of weights takes. */
#include "sdk/gpu/kernels/form.h"

#include <accel/types.h>
#include <stddef.h>

static const struct {
    uint32_t type;
    struct gpu_form form;
} forms[] = {
    {ACCEL_F32, {32, FORM_SYMMETRIC, 1, FORM_NO_LEVELS, 1}}, {ACCEL_F16, {16, FORM_SYMMETRIC, 1, FORM_NO_LEVELS, 1}},
    {ACCEL_BF16, {16, FORM_BFLOAT, 1, FORM_NO_LEVELS, 1}},   {ACCEL_Q8_0, {8, FORM_SYMMETRIC, 1, FORM_NO_LEVELS, 2}},
    {ACCEL_Q4_0, {4, FORM_SYMMETRIC, 1, FORM_NO_LEVELS, 2}}, {ACCEL_Q5_0, {5, FORM_SYMMETRIC, 1, FORM_NO_LEVELS, 2}},
    {ACCEL_Q4_1, {4, FORM_MINIMUM, 1, FORM_NO_LEVELS, 2}},   {ACCEL_Q5_1, {5, FORM_MINIMUM, 1, FORM_NO_LEVELS, 2}},
    {ACCEL_IQ4_NL, {4, FORM_LEVELLED, 1, FORM_IQ4, 2}},      {ACCEL_MXFP4, {4, FORM_POWERS, 1, FORM_MXFP4, 2}},
    {ACCEL_Q4_K, {4, FORM_SUPER, 1, FORM_NO_LEVELS, 3}},     {ACCEL_Q5_K, {5, FORM_SUPER, 1, FORM_NO_LEVELS, 3}},
    {ACCEL_Q3_K, {3, FORM_SUPER16, 1, FORM_NO_LEVELS, 3}},   {ACCEL_Q6_K, {6, FORM_SUPER16, 1, FORM_NO_LEVELS, 3}},
    {ACCEL_Q2_K, {2, FORM_SUPER16M, 1, FORM_NO_LEVELS, 3}},  {ACCEL_IQ4_XS, {4, FORM_SUPERL, 1, FORM_IQ4, 3}},
};

static const uint32_t planar_planes[] = {2, 3, 2, 3};
static const uint32_t planar_scales[] = {FORM_SYMMETRIC, FORM_ASYMMETRIC, FORM_LEVELLED, FORM_LEVELLED};
static const uint32_t planar_levels[] = {FORM_NO_LEVELS, FORM_NO_LEVELS, FORM_NF4, FORM_BOOK};

int32_t gpu_form_of(uint32_t type, struct gpu_form *out_form)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (forms[i].type == type) {
            *out_form = forms[i].form;
            return 1;
        }
    }
    if (!ACCEL_IS_PLANAR(type))
        return 0;
    const uint32_t bits = ACCEL_PLANAR_BITS(type), group = ACCEL_PLANAR_LOG2_GROUP(type),
                   scheme = ACCEL_PLANAR_SCHEME(type);
    if ((bits != 2 && bits != 3 && bits != 4 && bits != 8) || (group != 0 && (group < 5 || group > 9)) || scheme > 3 ||
        (scheme > 1 && bits != 4))
        return 0;
    *out_form = (struct gpu_form){bits, planar_scales[scheme], group == 0 ? 0 : 1u << (group - 5),
                                  planar_levels[scheme], planar_planes[scheme]};
    return 1;
}

uint64_t gpu_form_words(const struct gpu_form *form, uint32_t plane, uint64_t width)
{
    const uint64_t blocks = (width + FORM_BLOCK - 1) / FORM_BLOCK;
    const uint64_t groups = form->span == 0 ? 1 : (blocks + form->span - 1) / form->span;

    if (plane >= form->planes)
        return 0;
    if (plane == 0)
        return blocks * form->bits; /* 32 digits take as many words as a digit has bits */
    if (plane == 1)
        return form->scales == FORM_MINIMUM ? blocks : ((form->scales >= FORM_POWERS ? blocks : groups) + 1) / 2;
    if (form->levels == FORM_BOOK)
        return 8;
    return form->scales == FORM_ASYMMETRIC ? (groups + 3) / 4 : (blocks + 7) / 8;
}
