/* SPDX-License-Identifier: Apache-2.0 */
/* For every type that can be encoded: a digit that is put in place decodes to the level that was promised for it, bit
 * for bit, and leaves its neighbours alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <accel/quant/format.h>
#include <accel/quant/half.h>

#define WIDTH 1024
#define BYTES (WIDTH * 4)

static const char *const names[] = {
    "q4_0",    "q4_1",    "q5_0",    "q5_1",    "q8_0",     "q2_k",    "q3_k",    "q4_k",
    "q5_k",    "q6_k",    "iq4_nl",  "iq4_xs",  "mxfp4",    "q2_g32",  "q2_g64a", "q3_g32",
    "q3_g128", "q3_g64a", "q4_g32",  "q4_g128", "q4_g128a", "q4_g512", "q8_g32",  "q4_row",
    "q3_rowa", "nf4_g64", "nf4_row", "c4_g128", "c4_row",   "q8_g64a", "q8_g128",
};

struct row {
    uint8_t bytes[ACCEL_FORMAT_PLANES][BYTES];
    void *planes[ACCEL_FORMAT_PLANES];
    float values[WIDTH];
};

static const void *const *readable(const struct row *row)
{
    return (const void *const *)row->planes;
}

static float noise(uint32_t *state)
{
    float sum = 0;
    for (int i = 0; i < 4; i++) {
        *state = *state * 1664525u + 1013904223u;
        sum += (float)(*state >> 8) * 0x1p-24f - 0.5f;
    }
    return sum;
}

/* A row of noise around a middle, with a group of zeros and one of equal values; false for a type that cannot be
 * encoded. */
static int encode(struct row *row, uint32_t type)
{
    uint32_t state = type;
    int32_t code;
    memset(row->bytes, 0, sizeof(row->bytes));
    for (uint32_t p = 0; p < ACCEL_FORMAT_PLANES; p++)
        row->planes[p] = row->bytes[p];
    for (int i = 0; i < WIDTH; i++)
        row->values[i] = i / 32 == 3 ? 0 : i / 32 == 5 ? 0.25f : 0.1f + noise(&state);
    code = accel_format_fit(type, row->values, NULL, WIDTH, row->planes);
    assert_true(code == ACCEL_OK || code == ACCEL_E_UNSUPPORTED);
    return code == ACCEL_OK;
}

static float level_of(const struct accel_format_run *run, int32_t digit)
{
    volatile float product = run->scale * (run->levels ? run->level[digit] : (float)digit);
    return run->levels ? product : product + run->offset;
}

/* Puts one digit everywhere in the row (cut to what each value may take) and decodes. */
static void check_digit(struct row *row, uint32_t type, int32_t wanted)
{
    float decoded[WIDTH];
    int32_t digits[WIDTH];
    struct accel_format_run run;
    for (size_t i = 0; i < WIDTH; i += run.count) {
        assert_int_equal(accel_format_levels(type, readable(row), WIDTH, i, &run), ACCEL_OK);
        assert_true(run.count > 0 && run.count <= WIDTH - i);
        for (size_t j = 0; j < run.count; j++) {
            int32_t digit = wanted + (int32_t)(j % 3);
            digits[i + j] = digit < run.lowest ? run.lowest : digit > run.highest ? run.highest : digit;
        }
        assert_int_equal(accel_format_put(type, row->planes, WIDTH, i, run.count, digits + i), ACCEL_OK);
    }
    assert_int_equal(accel_format_decode(type, readable(row), WIDTH, decoded), ACCEL_OK);
    for (size_t i = 0; i < WIDTH; i++) {
        assert_int_equal(accel_format_levels(type, readable(row), WIDTH, i, &run), ACCEL_OK);
        assert_int_equal(accel_f32_bits(decoded[i]), accel_f32_bits(level_of(&run, digits[i])));
    }
}

static void every_digit_decodes_to_its_level(void **state)
{
    static struct row row;
    (void)state;
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
        uint32_t type = accel_format_find(names[n]);
        if (!encode(&row, type))
            continue;
        for (int32_t digit = -256; digit < 256; digit++)
            check_digit(&row, type, digit);
    }
}

/* Every value that the encoder stored is one of the levels, and to put it back changes no byte. */
static void what_is_stored_is_a_level(void **state)
{
    static struct row row, again;
    float decoded[WIDTH];
    (void)state;
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
        uint32_t type = accel_format_find(names[n]);
        if (!encode(&row, type))
            continue;
        encode(&again, type);
        assert_int_equal(accel_format_decode(type, readable(&row), WIDTH, decoded), ACCEL_OK);
        for (size_t i = 0; i < WIDTH; i++) {
            struct accel_format_run run;
            int32_t found = INT32_MAX;
            assert_int_equal(accel_format_levels(type, readable(&row), WIDTH, i, &run), ACCEL_OK);
            for (int32_t q = run.lowest; q <= run.highest && found == INT32_MAX; q++)
                if (accel_f32_bits(level_of(&run, q)) == accel_f32_bits(decoded[i]))
                    found = q;
            assert_int_not_equal(found, INT32_MAX);
            assert_int_equal(accel_format_put(type, again.planes, WIDTH, i, 1, &found), ACCEL_OK);
        }
        assert_int_equal(accel_format_decode(type, readable(&again), WIDTH, row.values), ACCEL_OK);
        assert_memory_equal(row.values, decoded, sizeof(decoded));
    }
}

static void others_are_refused(void **state)
{
    static struct row row;
    struct accel_format_run run;
    int32_t digit = 0;
    (void)state;
    encode(&row, ACCEL_Q4_0);
    assert_int_equal(accel_format_levels(ACCEL_Q4_0, readable(&row), WIDTH, WIDTH, &run), ACCEL_E_INVALID);
    assert_int_equal(accel_format_levels(ACCEL_Q4_0, readable(&row), 33, 0, &run), ACCEL_E_INVALID);
    assert_int_equal(accel_format_levels(ACCEL_F16, readable(&row), WIDTH, 0, &run), ACCEL_E_UNSUPPORTED);
    assert_int_equal(accel_format_levels(0xffffffu, readable(&row), WIDTH, 0, &run), ACCEL_E_UNSUPPORTED);
    assert_int_equal(accel_format_put(ACCEL_Q4_0, row.planes, WIDTH, WIDTH, 1, &digit), ACCEL_E_INVALID);
    assert_int_equal(accel_format_put(ACCEL_Q4_0, row.planes, WIDTH, WIDTH, 0, &digit), ACCEL_OK);
    assert_int_equal(accel_format_put(ACCEL_Q4_0, row.planes, 48, 0, 1, &digit), ACCEL_E_INVALID);
    assert_int_equal(accel_format_put(ACCEL_F32, row.planes, WIDTH, 0, 1, &digit), ACCEL_E_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_digit_decodes_to_its_level),
        cmocka_unit_test(what_is_stored_is_a_level),
        cmocka_unit_test(others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
