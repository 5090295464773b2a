/* SPDX-License-Identifier: Apache-2.0 */
/* The table of products: which kernel runs for a type of weights, their layout, a number of rows of x and an ISA. */
#include "config.h"

#include "kernels.h"

#define ALL UINT16_MAX

/* Classes of types, bits. */
#define OF_256 1u  /* blocks of 256 weights */
#define FINE 2u    /* a scale per 16 weights */
#define NIBBLES 4u /* codes of 4 bits */
#define HALVES 8u  /* F16 and BF16 */
#define LOOKUP 16u /* codes are indices of a codebook */
#define SHARED 32u /* a slot of several planar types */
#define BYTES 64u  /* codes of 8 bits */
#define G128 128u  /* a scale per 128 weights */

#define CLASS_HALF HALVES
#define CLASS_FLOAT 0u
#define CLASS_FLOAT8 0u
#define CLASS_PLAIN 0u
#define CLASS_PLAIN_MINIMUM 0u
#define CLASS_SCALED 0u
#define CLASS_MINIMUM 0u
#define CLASS_CODEBOOK LOOKUP
#define CLASS_GRID 0u
static const uint32_t classes[CPU_WEIGHTS] = {
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, group, code, ...)                                              \
    [CPU_##ID] = ((values) == 256 ? OF_256 : 0u) | ((group) == 16 ? FINE : 0u) | ((bits) == 4 ? NIBBLES : 0u) |        \
                 ((bits) == 8 ? BYTES : 0u) | CLASS_##code,
#include <accel/quant/formats.def>
    [CPU_Q4_G32] = NIBBLES,           [CPU_Q4_G128] = NIBBLES | G128, [CPU_Q8_G32] = BYTES,
    [CPU_Q8_G128] = BYTES | G128,     [CPU_PLANAR] = SHARED,          [CPU_PLANAR_A] = SHARED,
    [CPU_CODEBOOK] = SHARED | LOOKUP, [CPU_PLANAR_F8] = SHARED,
};

/* Layouts of W. */
#define ROWS 1u
#define PANELS 2u
#define EITHER (ROWS | PANELS)

/* From `from` rows of x to those of the ISA's column, a family multiplies weights of the classes of which all bits are
 * given, if the ISA has its kernel for the type; 0: none. `bounded`: up to CPU_GEMV_VALUES values of x. */
struct rule {
    uint8_t family, classes, layouts, bounded;
    uint16_t from, avx2, avx512, aarch64; /* avx2: AVX-VNNI too; avx512: BF16 and AMX too */
};

/* The first rule that fits decides; of neighbours of one family the first whose classes fit is the only one. Limits are
 * measured, but for those of aarch64. */
static const struct rule rules[] = {
    {CPU_SCALAR8, 0, ROWS, 0, 1, ALL, ALL, ALL},
    {CPU_GEMM8_ROW, 0, EITHER, 0, CPU_ACT_Q8_ROW_FROM, ALL, ALL, ALL},
    {CPU_GEMM16, HALVES, EITHER, 0, CPU_ACT_BF16_FROM_HALF, ALL, ALL, ALL},
    {CPU_GEMM16, 0, EITHER, 0, CPU_ACT_BF16_FROM, ALL, ALL, ALL},
    {CPU_GEMV_K, 0, ROWS, 1, 1, 2, 2, 2},
    {CPU_GEMV_PLANAR, SHARED, ROWS, 1, 1, 4, 4, 4},
    {CPU_GEMV_PLANAR, G128, ROWS, 1, 1, 1, 1, 2},
    {CPU_GEMV_ROW4, LOOKUP, ROWS, 0, 1, 2, 2, 2},
    {CPU_GEMV_ROW4, NIBBLES, ROWS, 0, 1, 2, 4, 4},
    {CPU_GEMV_ROW4, BYTES, ROWS, 0, 1, 6, 4, 4},
    {CPU_GEMV_ROW4, 0, ROWS, 0, 1, 2, 2, 2},
    {CPU_GEMV_PACKED, OF_256 | FINE, PANELS, 0, 1, CPU_GEMV_PACKED_256_ROWS, 4, 0},
    {CPU_GEMV_PACKED, OF_256, PANELS, 0, 1, CPU_GEMV_PACKED_256_ROWS, 16, 0},
    {CPU_GEMV_PACKED, 0, PANELS, 0, 1, 8, 16, 0},
    {CPU_GEMV_UNPACKED, SHARED | LOOKUP, ROWS, 0, 1, CPU_ACT_F32_FROM - 1, CPU_ACT_F32_FROM - 1, CPU_ACT_F32_FROM - 1},
    {CPU_GEMV_UNPACKED, OF_256, ROWS, 0, 1, 1, 1, 1},
    {CPU_GEMV_UNPACKED, 0, ROWS, 0, 1, 2, 2, 2},
    {CPU_GEMM8, 0, EITHER, 0, 1, ALL, ALL, ALL},
    {CPU_GEMM32, SHARED | LOOKUP, ROWS, 0, CPU_ACT_F32_FROM, ALL, ALL, ALL},
    {CPU_GEMV_UNPACKED, 0, ROWS, 0, 1, ALL, ALL, ALL},
    {CPU_GEMV32, HALVES, ROWS, 0, 1, 16, CPU_PRODUCT_ROWS - 1, 9},
    {CPU_GEMV32, 0, ROWS, 0, 1, CPU_ACT_F32_FROM - 1, CPU_ACT_F32_FROM - 1, CPU_ACT_F32_FROM - 1},
    {CPU_GEMM32, 0, ROWS, 0, 1, ALL, ALL, ALL},
    {CPU_SCALAR32, 0, ROWS, 0, 1, ALL, ALL, ALL},
};

static const struct {
    const char *name;
    uint32_t act;
} families[CPU_PRODUCTS] = {
#define FAMILY(ID, name, activations) {#name, activations},
    CPU_PRODUCT_FAMILIES(FAMILY)};

const char *cpu_product_name(uint32_t family)
{
    return families[family].name;
}

static bool fits(const struct rule *rule, uint32_t isa, uint32_t rounding, bool packed, size_t m, size_t k)
{
    const uint32_t act = families[rule->family].act;
    const uint32_t rounds = act == CPU_ACT_NONE || act == CPU_ACT_F32 ? CPU_ROUND_NONE
                            : act == CPU_ACT_Q8_ROW                   ? CPU_ROUND_ROWS
                                                                      : CPU_ROUND_BLOCKS;
    const size_t most = isa >= CPU_ISA_NEON ? rule->aarch64 : isa >= CPU_ISA_AVX512 ? rule->avx512 : rule->avx2;

    return (rule->layouts & (packed ? PANELS : ROWS)) != 0 && m >= rule->from && (m <= most || most == ALL) &&
           rounding >= rounds && (!rule->bounded || m * k <= CPU_GEMV_VALUES);
}

struct cpu_product cpu_product_of(const struct cpu_kernels *kernels, uint32_t type, uint32_t rounding, bool packed,
                                  size_t m, size_t k)
{
    const int weight = cpu_weight_of(type);
    bool tried = false; /* a rule of the same family */

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        const struct rule *rule = &rules[i];
        cpu_matmul_fn *run = kernels->product[rule->family][weight];

        tried = tried && rule->family == rules[i - 1].family;
        if (run == NULL || (classes[weight] & rule->classes) != rule->classes || tried)
            continue;
        tried = true;
        if (!fits(rule, kernels->isa, rounding, packed, m, k))
            continue;
        return (struct cpu_product){run, rule->family, families[rule->family].act};
    }
    return (struct cpu_product){0};
}
