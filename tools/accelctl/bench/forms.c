/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of operators that are measured in one form: a row each, which graph.c makes a graph of. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/bench/operator.h"

#define FORM(tag, ...) (&(const struct accel_##tag){.size = sizeof(struct accel_##tag), __VA_ARGS__})

/* Activations of a prompt of 512 tokens, heads of a language model, images of 64 x 64 and 24 x 24 places, a mixture of
 * 32 experts, and the encoder of 24 x 24 patches. */
static const struct bench_form forms[] = {
    {ACCEL_OP_LAYER_NORM, "512x2048", "f:512,2048 F:2048", FORM(norm, .epsilon = 1e-5f)},
    {ACCEL_OP_CACHE_WRITE, "f16 512x256", "f:512,4,64 i:512 s:4096,256", NULL},
    {ACCEL_OP_MUL, "512x2048", "f:512,2048 f:512,2048", NULL},
    {ACCEL_OP_ACTIVATION, "512x5632", "f:512,5632", FORM(activation, .function = ACCEL_FN_GELU)},
    {ACCEL_OP_GATHER, "512 of 4096x2048", "f:4096,2048 i:512%4096", NULL},
    {ACCEL_OP_RESHAPE, "512x2048", "f:512,2048", NULL},
    {ACCEL_OP_SCALE, "512x2048", "f:512,2048", FORM(scale, .scale = 2, .add = 1)},
    {ACCEL_OP_CLAMP, "512x2048", "f:512,2048", FORM(clamp, .low = -0.25f, .high = 0.25f)},
    {ACCEL_OP_CONCAT, "512x2048+1024", "f:512,2048 f:512,1024", FORM(axis, .axis = 1)},
    {ACCEL_OP_SLICE, "1024 of 512x4096", "f:512,4096",
     FORM(slice, .axis = 1, .begin = 1024, .step = 1, .extent = 1024)},
    {ACCEL_OP_PERMUTE, "512x32x64", "f:512,32,64", FORM(permute, .order = {1, 0, 2})},
    {ACCEL_OP_PAD, "64x64x256", "f:1,64,64,256", FORM(pad, .axis = 2, .before = 1, .after = 1)},
    {ACCEL_OP_REDUCE, "512x2048", "f:512,2048", FORM(reduce, .kind = ACCEL_REDUCE_MEAN, .axis = 0)},
    {ACCEL_OP_GROUP_NORM, "64x64x256", "f:1,64,64,256 F:256", FORM(group_norm, .groups = 32, .epsilon = 1e-5f)},
    {ACCEL_OP_CONV, "3x3 64x64x64", "f:1,64,64,64 F:64,576",
     FORM(conv, .groups = 1, .kernel = {3, 3}, .stride = {1, 1}, .dilation = {1, 1}, .before = {1, 1}, .after = {1, 1},
          .rounding = ACCEL_BF16)},
    {ACCEL_OP_POOL, "2x2 64x64x256", "f:1,64,64,256",
     FORM(pool, .kind = ACCEL_POOL_AVERAGE, .kernel = {2, 2}, .stride = {2, 2})},
    {ACCEL_OP_RESIZE, "24x24 to 37x37x256", "f:1,24,24,256",
     FORM(resize, .mode = ACCEL_RESIZE_LINEAR, .extent = {37, 37})},
    {ACCEL_OP_TOP_K, "8 of 512x128", "f:512,128", FORM(top_k, .k = 8)},
    {ACCEL_OP_EXPERT_MATMUL, "64x4 512x1024", "f:64,1024 W:16384,1024 i:64,4%32", FORM(expert_matmul, .experts = 32)},
    {ACCEL_OP_DENSE_ATTENTION, "577 of 577, 16x64", "f:577,16,64 f:577,16,64 f:577,16,64 i:2/577 i:2/577",
     FORM(dense_attention, .scale = 0.125f)},
};

const struct bench_form *bench_form_find(uint32_t op)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
        if (forms[i].op == op)
            return &forms[i];
    return NULL;
}

bool bench_form_has_type(const struct bench_form *form)
{
    return strchr(form->inputs, 'W') != NULL;
}

uint32_t bench_form_inputs(const struct bench_form *form, struct bench_input *inputs)
{
    uint32_t count = 0;
    char *end;

    for (const char *at = form->inputs; *at != '\0' && count < BENCH_INPUTS; count++) {
        struct bench_input *input = &inputs[count];

        *input = (struct bench_input){.kind = *at++};
        while (*at == ':' || *at == ',') {
            input->dims[input->rank++].add = strtoull(at + 1, &end, 10);
            at = end;
        }
        if (*at == '%' || *at == '/') {
            input->fill = *at;
            input->limit = strtoull(at + 1, &end, 10);
            at = end;
        }
        at += *at == ' ';
    }
    return count;
}
