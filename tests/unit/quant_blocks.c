/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders and encoders against blocks that the formats' own tools wrote: bit for bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <accel/quant/format.h>
#include <accel/quant/half.h>

struct fixture {
    char *bytes;
    const char *data;
    size_t size;
};

/* Finds `"name":{...,"data_offsets":[a,b]}` in the header; the fixtures are ours, so this is no parser. */
static const void *tensor(const struct fixture *file, const char *name, size_t *out_bytes)
{
    char key[32];
    snprintf(key, sizeof(key), "\"%s\":{", name);
    const char *at = strstr(file->bytes + 8, key);
    assert_non_null(at);
    at = strstr(at, "data_offsets\":[");
    assert_non_null(at);
    char *end;
    size_t first = strtoul(at + 15, &end, 10), last = strtoul(end + 1, NULL, 10);
    *out_bytes = last - first;
    return file->data + first;
}

static int load(const char *folder, const char *type, struct fixture *out)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/gguf-types/%s.safetensors", folder, type);
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    out->size = (size_t)ftell(file);
    rewind(file);
    out->bytes = calloc(1, out->size + 1);
    assert_non_null(out->bytes);
    assert_int_equal(fread(out->bytes, 1, out->size, file), out->size);
    fclose(file);
    uint64_t header;
    memcpy(&header, out->bytes, 8);
    out->data = out->bytes + 8 + header;
    out->bytes[7 + header] = 0;
    return 1;
}

static int find(const char *type, struct fixture *out)
{
    char own[2048];
    const char *source = getenv("ACCEL_TEST_SRCDIR"), *shared = getenv("ACCEL_SHARED_FIXTURES");
    snprintf(own, sizeof(own), "%s/tests/fixtures", source ? source : ".");
    return load(own, type, out) || (shared && load(shared, type, out));
}

/* Minus zero occurs in the blocks and counts as zero. */
static int same(float a, float b)
{
    return (a == 0 && b == 0) || accel_f32_bits(a) == accel_f32_bits(b) || (a != a && b != b);
}

static void check_decode(const char *name, const struct fixture *file)
{
    uint32_t type = accel_format_find(name);
    size_t block_bytes, value_bytes, row;
    const void *blocks = tensor(file, "blocks", &block_bytes);
    const float *values = tensor(file, "values", &value_bytes);
    size_t count = value_bytes / sizeof(float);
    assert_int_equal(accel_format_row_bytes(type, 0, count, &row), ACCEL_OK);
    assert_int_equal(row, block_bytes);
    float *decoded = malloc(value_bytes);
    assert_non_null(decoded);
    assert_int_equal(accel_format_decode(type, &blocks, count, decoded), ACCEL_OK);
    for (size_t i = 0; i < count; i++) {
        float want;
        memcpy(&want, values + i, sizeof(want));
        if (!same(decoded[i], want))
            fail_msg("%s value %zu: %a, expected %a", name, i, (double)decoded[i], (double)want);
    }
    free(decoded);
}

/* Root of the mean square error of `decoded` beside the source, past the special rows at its beginning. */
static double error_of(const float *source, const float *decoded, size_t count)
{
    double sum = 0;
    for (size_t i = 4 * 32; i < count; i++)
        sum += ((double)source[i] - decoded[i]) * ((double)source[i] - decoded[i]);
    return sqrt(sum / (double)(count - 4 * 32));
}

/*
 * Q8_0 and the halves have one right encoding. The fixtures' Q4 blocks come from an encoder that searches for the best
 * scale: plain rounding loses a little more than it, never much.
 */
static void check_encode(const char *name, const struct fixture *file)
{
    size_t source_bytes, block_bytes, row;
    const void *source = tensor(file, "source", &source_bytes);
    const void *blocks = tensor(file, "blocks", &block_bytes);
    uint32_t type = accel_format_find(name);
    size_t count = source_bytes / sizeof(float);
    float *values = malloc(source_bytes), *back = malloc(source_bytes), *theirs = malloc(source_bytes);
    assert_true(values && back && theirs);
    memcpy(values, source, source_bytes);
    assert_int_equal(accel_format_row_bytes(type, 0, count, &row), ACCEL_OK);
    void *encoded = malloc(row);
    assert_non_null(encoded);
    assert_int_equal(accel_format_encode(type, values, count, &encoded), ACCEL_OK);
    if (type == ACCEL_Q4_0 || type == ACCEL_Q4_1) {
        const void *planes = encoded;
        assert_int_equal(accel_format_decode(type, &planes, count, back), ACCEL_OK);
        assert_int_equal(accel_format_decode(type, &blocks, count, theirs), ACCEL_OK);
        double ours = error_of(values, back, count), best = error_of(values, theirs, count);
        if (!(ours <= 1.2 * best))
            fail_msg("%s: error %g, the fixture's encoder %g", name, ours, best);
    } else {
        assert_memory_equal(encoded, blocks, row);
    }
    free(encoded);
    free(values);
    free(back);
    free(theirs);
}

static void decode_fixture(void **state)
{
    const char *name = *state;
    struct fixture file = {0};
    if (!find(name, &file)) {
        print_message("%s: no fixture, skipped\n", name);
        skip();
    }
    check_decode(name, &file);
    free(file.bytes);
}

static void encode_fixture(void **state)
{
    const char *name = *state;
    struct fixture file = {0};
    if (!find(name, &file)) {
        print_message("%s: no fixture, skipped\n", name);
        skip();
    }
    check_encode(name, &file);
    free(file.bytes);
}

#define DECODE(type)                                                                                                   \
    {                                                                                                                  \
        "decode " type, decode_fixture, NULL, NULL, (void *)type                                                       \
    }
#define ENCODE(type)                                                                                                   \
    {                                                                                                                  \
        "encode " type, encode_fixture, NULL, NULL, (void *)type                                                       \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        DECODE("F16"),     DECODE("BF16"),  DECODE("F8_E4M3"), DECODE("F8_E5M2"), DECODE("Q8_0"),  DECODE("Q4_0"),
        DECODE("Q4_1"),    DECODE("Q5_0"),  DECODE("Q5_1"),    DECODE("Q2_K"),    DECODE("Q3_K"),  DECODE("Q4_K"),
        DECODE("Q5_K"),    DECODE("Q6_K"),  DECODE("IQ4_NL"),  DECODE("IQ4_XS"),  DECODE("MXFP4"), DECODE("NVFP4"),
        DECODE("IQ1_S"),   DECODE("IQ1_M"), DECODE("IQ2_XXS"), DECODE("IQ2_XS"),  DECODE("IQ2_S"), DECODE("IQ3_XXS"),
        DECODE("IQ3_S"),   DECODE("TQ1_0"), DECODE("TQ2_0"),   ENCODE("F16"),     ENCODE("BF16"),  ENCODE("F8_E4M3"),
        ENCODE("F8_E5M2"), ENCODE("Q8_0"),  ENCODE("Q4_0"),    ENCODE("Q4_1"),    ENCODE("MXFP4"),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
