/* SPDX-License-Identifier: Apache-2.0 */
/* The registry, half floats, planar rows and the refusals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <accel/quant/format.h>
#include <accel/quant/half.h>

#define COUNT 512

/* The value of a half by its definition. */
static double half_value(uint16_t half)
{
    int exponent = half >> 10 & 31, mantissa = half & 1023;
    double magnitude = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return half & 0x8000 ? -magnitude : magnitude;
}

static void widens_every_half(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        uint16_t half = (uint16_t)h;
        float wide = accel_f16_to_f32(half);
        if ((h & 0x7c00) == 0x7c00) {
            assert_true((h & 0x3ff) ? isnan(wide) : isinf(wide));
            assert_int_equal(accel_f16_from_f32(wide), (h & 0x3ff) ? (h | 0x200) : h);
            continue;
        }
        assert_true((double)wide == half_value(half));
        assert_int_equal(accel_f16_from_f32(wide), half);
    }
}

/* Between two neighbours the nearer wins, and in the middle the even one. */
static void narrows_to_nearest_even(void **state)
{
    (void)state;
    for (uint16_t h = 0; h < 0x7bff; h++) {
        float low = accel_f16_to_f32(h), high = accel_f16_to_f32((uint16_t)(h + 1)), middle = (low + high) / 2;
        assert_int_equal(accel_f16_from_f32(middle), h & 1 ? h + 1 : h);
        assert_int_equal(accel_f16_from_f32(nextafterf(middle, 0)), h);
        assert_int_equal(accel_f16_from_f32(-nextafterf(middle, INFINITY)), 0x8000 | (h + 1));
    }
    assert_int_equal(accel_f16_from_f32(65519.996f), 0x7bff);
    assert_int_equal(accel_f16_from_f32(65520.0f), 0x7c00);
    assert_int_equal(accel_f16_from_f32(0x1p-25f), 0);
    assert_int_equal(accel_f16_from_f32(-0x1.8p-149f), 0x8000);
}

static void narrows_to_bfloat(void **state)
{
    (void)state;
    assert_int_equal(accel_bf16_from_f32(1.0f), 0x3f80);
    assert_int_equal(accel_bf16_from_f32(0x1.01p0f), 0x3f80);
    assert_int_equal(accel_bf16_from_f32(0x1.03p0f), 0x3f82);
    assert_int_equal(accel_bf16_from_f32(0x1.010002p0f), 0x3f81);
    assert_int_equal(accel_bf16_from_f32(INFINITY), 0x7f80);
    assert_true(isnan(accel_bf16_to_f32(accel_bf16_from_f32(accel_f32_from_bits(0x7f800001u)))));
    assert_int_equal(accel_bf16_from_f32(accel_f32_from_bits(0x00018001u)), 0x0002);
}

/* Every code of the floats of 8 bits by its definition, and back. */
static void widens_every_float8(void **state)
{
    (void)state;
    for (uint32_t b = 0; b < 256; b++) {
        const uint8_t byte = (uint8_t)b;
        const void *from = &byte;
        uint8_t again;
        void *to = &again;
        float wide;
        const int negative = byte >> 7, magnitude = byte & 127;
        double want = magnitude >> 3 ? ldexp(8 + (magnitude & 7), (magnitude >> 3) - 10) : ldexp(magnitude, -9);
        assert_int_equal(accel_format_decode(ACCEL_F8_E4M3, &from, 1, &wide), ACCEL_OK);
        assert_true(magnitude == 127 ? isnan(wide) : (double)wide == (negative ? -want : want));
        assert_int_equal(signbit(wide) != 0, negative);
        assert_int_equal(accel_format_encode(ACCEL_F8_E4M3, &wide, 1, &to), ACCEL_OK);
        assert_int_equal(again, byte);

        assert_int_equal(accel_format_decode(ACCEL_F8_E5M2, &from, 1, &wide), ACCEL_OK);
        want = half_value((uint16_t)(magnitude << 8));
        if (magnitude > 0x7c)
            assert_true(isnan(wide));
        else
            assert_true(magnitude == 0x7c ? isinf(wide) : fabs((double)wide) == want);
        assert_int_equal(signbit(wide) != 0, negative);
        assert_int_equal(accel_format_encode(ACCEL_F8_E5M2, &wide, 1, &to), ACCEL_OK);
        assert_int_equal(again, magnitude > 0x7c ? (byte & 0x80) | 0x7e : byte);
    }
}

/* What is beyond the largest value becomes it, or an infinity where there is one. */
static void narrows_to_float8(void **state)
{
    (void)state;
    static const struct {
        float value;
        uint8_t e4m3, e5m2;
    } rows[] = {
        {448.0f, 0x7e, 0x5f},       {464.0f, 0x7e, 0x5f},   {1e30f, 0x7e, 0x7c},     {-INFINITY, 0xfe, 0xfc},
        {57344.0f, 0x7e, 0x7b},     {61439.0f, 0x7e, 0x7b}, {-61440.0f, 0xfe, 0xfc}, {0x1p-10f, 0x00, 0x14},
        {0x1.000002p-10f, 1, 0x14}, {-0x1p-9f, 0x81, 0x98}, {0x1p-17f, 0x00, 0x00},  {0x1.8p-17f, 0x00, 0x01},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t byte;
        void *to = &byte;
        assert_int_equal(accel_format_encode(ACCEL_F8_E4M3, &rows[i].value, 1, &to), ACCEL_OK);
        assert_int_equal(byte, rows[i].e4m3);
        assert_int_equal(accel_format_encode(ACCEL_F8_E5M2, &rows[i].value, 1, &to), ACCEL_OK);
        assert_int_equal(byte, rows[i].e5m2);
    }
}

static void describes_formats(void **state)
{
    (void)state;
    static const struct {
        uint32_t type;
        const char *name;
        double bits;
    } known[] = {
        {ACCEL_F32, "f32", 32},
        {ACCEL_BF16, "bf16", 16},
        {ACCEL_Q8_0, "Q8_0", 8.5},
        {ACCEL_Q4_0, "q4_0", 4.5},
        {ACCEL_Q4_1, "q4_1", 5},
        {ACCEL_Q3_K, "q3_k", 3.4375},
        {ACCEL_Q6_K, "q6_k", 6.5625},
        {ACCEL_Q4_G128, "q4_g128", 4.125},
        {ACCEL_Q8_G32, "q8_g32", 8.5},
        {ACCEL_PLANAR(3u, 6u, 1u), "q3_g64a", 3.375},
        {ACCEL_PLANAR(2u, 0u, 0u), "q2_row", 2},
        {ACCEL_PLANAR(8u, 0u, 1u), "q8_rowa", 8},
        {ACCEL_PLANAR(4u, 6u, 2u), "nf4_g64", 4.25},
        {ACCEL_PLANAR(8u, 6u, 4u), "f8_g64", 8.25},
        {ACCEL_PLANAR(4u, 0u, 2u), "nf4_row", 4},
        {ACCEL_PLANAR(4u, 7u, 3u), "c4_g128", 4.125},
        {ACCEL_PLANAR(4u, 0u, 3u), "c4_row", 4},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        struct accel_format format;
        assert_int_equal(accel_format_describe(known[i].type, &format), ACCEL_OK);
        assert_true(format.bits_per_value == known[i].bits);
        assert_int_equal(accel_format_find(known[i].name), known[i].type);
        assert_int_equal(accel_format_find(format.name), known[i].type);
    }
    assert_int_equal(accel_format_find("q4_g33"), ACCEL_TYPE_NONE);
    assert_int_equal(accel_format_find("q4_g1"), ACCEL_TYPE_NONE);
    assert_int_equal(accel_format_find("nf3_g64"), ACCEL_TYPE_NONE);
}

/* What rows have beside their groups counts too. */
static void counts_rows(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t width;
        size_t bytes[3];
    } rows[] = {
        {"q4_row", 96, {48, 2, 0}},     {"q3_rowa", 64, {24, 2, 1}},    {"q2_g64a", 128, {32, 4, 2}},
        {"nf4_g32", 96, {48, 6, 0}},    {"c4_g128", 256, {128, 4, 32}}, {"c4_row", 32, {16, 2, 32}},
        {"q8_row", 4096, {4096, 2, 0}}, {"q4_1", 64, {40, 0, 0}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t type = accel_format_find(rows[i].name);
        size_t all = 0;
        for (uint32_t p = 0; p < 3; p++) {
            size_t bytes;
            int32_t code = accel_format_row_bytes(type, p, rows[i].width, &bytes);
            assert_int_equal(code, rows[i].bytes[p] ? ACCEL_OK : ACCEL_E_INVALID);
            all += code == ACCEL_OK ? bytes : 0;
            if (code == ACCEL_OK)
                assert_int_equal(bytes, rows[i].bytes[p]);
        }
        assert_true(accel_format_bits(type, rows[i].width) == 8.0 * (double)all / (double)rows[i].width);
    }
    assert_true(accel_format_bits(ACCEL_Q4_0, 33) == 0);
    assert_true(accel_format_bits(ACCEL_Q4_0, 0) == 0);
    assert_true(accel_format_bits(0, 32) == 0);
}

static void narrows_groups(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t width;
        const char *becomes;
    } rows[] = {
        {"q4_g128", 4096, "q4_g128"}, {"q4_g128", 576, "q4_g64"}, {"q3_g512a", 1280, "q3_g256a"},
        {"nf4_g64", 96, "nf4_g32"},   {"c4_g256", 100, "f16"},    {"q2_g32", 100, "f16"},
        {"q4_row", 96, "q4_row"},     {"q4_row", 100, "f16"},     {"q4_k", 512, "q4_k"},
        {"q4_k", 288, "f16"},         {"bf16", 7, "bf16"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(accel_format_narrow(accel_format_find(rows[i].name), rows[i].width),
                         accel_format_find(rows[i].becomes));
    assert_int_equal(accel_format_narrow(ACCEL_TYPE_NONE, 32), ACCEL_F16);
}

static void refuses_by_code(void **state)
{
    (void)state;
    struct accel_format format;
    size_t bytes;
    float values[33] = {0};
    uint8_t room[64];
    void *planes[3] = {room, room, room};
    const void *input[3] = {room, room, room};
    assert_int_equal(accel_format_describe(0, &format), ACCEL_E_UNSUPPORTED);
    assert_int_equal(accel_format_describe(ACCEL_GGML(99u), &format), ACCEL_E_UNSUPPORTED);
    assert_int_equal(accel_format_describe(ACCEL_PLANAR(5u, 5u, 0u), &format), ACCEL_E_UNSUPPORTED);
    assert_int_equal(accel_format_describe(ACCEL_PLANAR(4u, 10u, 0u), &format), ACCEL_E_UNSUPPORTED);
    assert_int_equal(accel_format_describe(ACCEL_PLANAR(4u, 1u, 0u), &format), ACCEL_E_UNSUPPORTED);
    assert_int_equal(accel_format_describe(ACCEL_PLANAR(3u, 6u, 2u), &format), ACCEL_E_UNSUPPORTED);
    assert_int_equal(accel_format_describe(ACCEL_PLANAR(4u, 6u, 4u), &format), ACCEL_E_UNSUPPORTED);
    assert_int_equal(accel_format_describe(ACCEL_Q4_G32 | 0x20000u, &format), ACCEL_E_UNSUPPORTED);
    assert_int_equal(accel_format_row_bytes(ACCEL_Q4_0, 0, 33, &bytes), ACCEL_E_INVALID);
    assert_int_equal(accel_format_row_bytes(ACCEL_Q4_0, 1, 32, &bytes), ACCEL_E_INVALID);
    assert_int_equal(accel_format_row_bytes(ACCEL_F32, 0, SIZE_MAX / 2, &bytes), ACCEL_E_LIMIT);
    assert_int_equal(accel_format_decode(ACCEL_Q8_0, input, 33, values), ACCEL_E_INVALID);
    assert_int_equal(accel_format_decode(ACCEL_I32, input, 1, values), ACCEL_E_UNSUPPORTED);
    assert_int_equal(accel_format_encode(ACCEL_Q6_K, values, 0, planes), ACCEL_OK);
    assert_int_equal(accel_format_encode(ACCEL_I8, values, 32, planes), ACCEL_E_UNSUPPORTED);
    assert_int_equal(accel_format_fit(ACCEL_GGML(16u), values, NULL, 256, planes), ACCEL_E_UNSUPPORTED);
}

/* Decoded values lie within half a step of the source. */
static void planar_round_trip(void **state)
{
    (void)state;
    static const uint32_t types[] = {ACCEL_Q8_G32, ACCEL_Q8_G128, ACCEL_Q4_G32, ACCEL_Q4_G128};
    float values[COUNT], back[COUNT];
    uint32_t seed = 7;
    for (int i = 0; i < COUNT; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = i < 128 ? 0 : (float)(seed >> 8) * 0x1p-23f - 1;
    }
    for (size_t t = 0; t < 4; t++) {
        uint8_t digits[COUNT], scales[COUNT];
        struct accel_format format;
        assert_int_equal(accel_format_describe(types[t], &format), ACCEL_OK);
        assert_int_equal(accel_format_encode(types[t], values, COUNT, (void *[]){digits, scales}), ACCEL_OK);
        assert_int_equal(accel_format_decode(types[t], (const void *[]){digits, scales}, COUNT, back), ACCEL_OK);
        for (int i = 0; i < COUNT; i++) {
            float most = 0;
            for (uint32_t j = 0; j < format.block_values; j++)
                most = fmaxf(most, fabsf(values[(size_t)i / format.block_values * format.block_values + j]));
            float step = format.digit_bits == 8 ? most / 127 : most / 8;
            /* In 4 bits the far end of the asymmetric range (-8 .. 7) is cut by one step at most. */
            float limit = format.digit_bits == 8        ? 0.51f * step
                          : fabsf(values[i]) > 7 * step ? 1.01f * step
                                                        : 0.51f * step;
            assert_true(fabsf(back[i] - values[i]) <= limit);
        }
    }
}

/* Every planar digit is found where the header says it lies. */
static void planar_digits(void **state)
{
    (void)state;
    uint8_t digits[32] = {0}, scale[2] = {0x00, 0x3c}, zero[1] = {2};
    float out[32];
    digits[3] = 3u << 4;  /* 2- and 3-bit: value 3 + 16, low bits 3 */
    digits[10] = 1u << 3; /* 3-bit: bit 19 of the word after 8 bytes */
    const void *planes[3] = {digits, scale, zero};
    assert_int_equal(accel_format_decode(ACCEL_PLANAR(3u, 5u, 1u), planes, 32, out), ACCEL_OK);
    assert_true(out[19] == 5 && out[18] == -2 && out[3] == -2);
    assert_int_equal(accel_format_decode(ACCEL_PLANAR(2u, 5u, 0u), planes, 32, out), ACCEL_OK);
    assert_true(out[19] == 1 && out[0] == -2);
    assert_int_equal(accel_format_decode(ACCEL_Q4_G32, planes, 32, out), ACCEL_OK);
    assert_true(out[19] == -5 && out[10] == 0 && out[26] == -8);
    assert_int_equal(accel_format_decode(ACCEL_Q8_G32, planes, 32, out), ACCEL_OK);
    assert_true(out[3] == 48 - 128 && out[0] == -128);
}

/* Extremes end in finite values: the scale saturates, subnormal groups become zero. */
static void encoders_stay_finite(void **state)
{
    (void)state;
    static const uint32_t types[] = {ACCEL_Q8_0, ACCEL_Q4_0, ACCEL_Q4_1, ACCEL_Q8_G32, ACCEL_Q4_G32};
    static const float scales[] = {1e-45f, 1e-39f, 1e-30f, 1e30f};
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]) * 4; t++) {
        float values[32], back[32];
        uint8_t a[64], b[64];
        for (int i = 0; i < 32; i++)
            values[i] = (float)(i - 11) * scales[t % 4];
        assert_int_equal(accel_format_encode(types[t / 4], values, 32, (void *[]){a, b}), ACCEL_OK);
        assert_int_equal(accel_format_decode(types[t / 4], (const void *[]){a, b}, 32, back), ACCEL_OK);
        for (int i = 0; i < 32; i++)
            assert_true(isfinite(back[i]) && (t % 4 == 3 || fabsf(back[i]) < 1e-6f));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widens_every_half), cmocka_unit_test(narrows_to_nearest_even),
        cmocka_unit_test(narrows_to_bfloat), cmocka_unit_test(widens_every_float8),
        cmocka_unit_test(narrows_to_float8), cmocka_unit_test(describes_formats),
        cmocka_unit_test(counts_rows),       cmocka_unit_test(narrows_groups),
        cmocka_unit_test(refuses_by_code),   cmocka_unit_test(planar_round_trip),
        cmocka_unit_test(planar_digits),     cmocka_unit_test(encoders_stay_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
