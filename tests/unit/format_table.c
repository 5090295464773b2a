/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of formats.def: what the registry, the containers, the encoders and the documents say of them. */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/format.h>
#include <cmocka.h>

#include "model/file/element.h"

enum { READ, ENCODED, WRITTEN };
enum { FLOAT, HALF, FLOAT8, INTEGER, PLAIN, PLAIN_MINIMUM, SCALED, MINIMUM, CODEBOOK, GRID };

static const struct row {
    const char *id, *name;
    uint32_t type, values, bytes, bits, group, code, number, file_type, narrow, use, cache, is_weight;
} rows[] = {
#define ACCEL_FORMAT(ID, name, id, ...) {#ID, #name, ACCEL_##ID, __VA_ARGS__, 1},
#define ACCEL_ELEMENT(ID, name, id, ...) {#ID, #name, ACCEL_##ID, __VA_ARGS__, 0},
#include <accel/quant/formats.def>
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void names_are_distinct(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(rows[i].type, rows[j].type);
            assert_string_not_equal(rows[i].name, rows[j].name);
            assert_true(rows[i].number == ACCEL_NOT_IN_GGUF || rows[i].number != rows[j].number);
        }
        assert_int_equal(accel_format_find(rows[i].name), rows[i].type);
        assert_int_equal(accel_format_find(rows[i].id), rows[i].type);
    }
}

/* A block holds its codes and at least the scales that its groups need; a float or an integer is nothing else. */
static void sizes_fit(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        struct accel_format format;
        assert_int_equal(accel_format_describe(row->type, &format), ACCEL_OK);
        assert_int_equal(format.kind, row->values == 1 ? ACCEL_FORMAT_SCALAR : ACCEL_FORMAT_INTERLEAVED);
        assert_int_equal(format.block_values, row->values);
        assert_int_equal(format.plane_bytes[0], row->bytes);
        assert_int_equal(format.digit_bits, row->bits);
        assert_int_equal(row->values == 1, row->group == 0);
        if (row->values == 1)
            assert_int_equal(row->bytes * 8, row->bits);
        else
            assert_int_equal(row->values % row->group, 0);
        if (row->code == PLAIN || row->code == PLAIN_MINIMUM) {
            assert_int_equal(row->values, 32);
            assert_int_equal(row->bytes, 4 * row->bits + (row->code == PLAIN ? 2 : 4));
        }
        if (row->use == WRITTEN && row->values > 32) { /* what it becomes where its blocks do not divide a row */
            assert_int_equal(accel_format_describe(row->narrow, &format), ACCEL_OK);
            assert_true(format.block_values < row->values);
        }
    }
}

static void containers_agree(void **state)
{
    (void)state;
    assert_null(model_element_gguf(ACCEL_NOT_IN_GGUF));
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        const struct model_element *element = model_element_gguf_type(row->type);
        assert_int_equal(element != NULL, row->number != ACCEL_NOT_IN_GGUF);
        if (element) {
            assert_ptr_equal(element, model_element_gguf(row->number));
            assert_string_equal(element->name, row->id);
            assert_int_equal(element->block_bytes, row->bytes);
            assert_int_equal(element->block, row->values);
            assert_true(row->values == 1 || row->type == ACCEL_GGML(row->number));
        }
        element = model_element_safetensors(row->id);
        assert_int_equal(element != NULL, row->values == 1);
        assert_ptr_equal(element, model_element_writable(row->type));
        assert_true(element == NULL || element->type == row->type);
    }
}

static void coders_exist(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        float values[256] = {0}, decoded[256];
        uint8_t bytes[256 * 8] = {0};
        void *to = bytes;
        const void *from = bytes;
        struct accel_format_run run;
        int8_t codes[256];
        float scales[16];
        const int32_t encoded = row->use == READ ? ACCEL_E_UNSUPPORTED : ACCEL_OK;
        assert_int_equal(accel_format_encode(row->type, values, row->values, &to), encoded);
        assert_int_equal(accel_format_levels(row->type, &from, row->values, 0, &run),
                         row->values == 1 ? ACCEL_E_UNSUPPORTED : encoded);
        assert_int_equal(accel_format_decode(row->type, &from, row->values, decoded),
                         row->code == INTEGER ? ACCEL_E_UNSUPPORTED : ACCEL_OK);
        assert_int_equal(accel_format_unpack(row->type, bytes, codes, scales),
                         row->code == GRID ? ACCEL_OK : ACCEL_E_UNSUPPORTED);
        if (encoded == ACCEL_OK && row->values > 1) {
            assert_int_equal(run.count, row->group);
            assert_int_equal(run.levels != 0, row->code == CODEBOOK);
        }
    }
}

/* ---- documents ---- */

static char *document(const char *name)
{
    char path[4096];
    const char *source = getenv("ACCEL_TEST_SRCDIR");
    snprintf(path, sizeof(path), "%s/doc/%s", source ? source : ".", name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *text = calloc(1, size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, size, file), size);
    fclose(file);
    return text;
}

/* Finds the bits of a format in a table whose lines have names in backticks and as many numbers: "| `a` `b` | 1, 2 |".
 */
static double bits_in(const char *table, const char *name)
{
    char word[32];
    snprintf(word, sizeof(word), "`%s`", name);
    for (const char *line = table; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "| `", 3) != 0)
            continue;
        const char *second = strchr(line + 1, '|'), *at = strstr(line, word);
        if (!second || !at || at > second)
            continue;
        for (const char *before = strchr(line, '`'); before < at; before = strchr(strchr(before + 1, '`') + 1, '`'))
            if (!(second = strchr(second + 1, ',')))
                fail_msg("%s: fewer numbers than names in its line", name);
        return strtod(second + 1, NULL);
    }
    fail_msg("doc/quantization.md: %s is not in the table of formats", name);
    return 0;
}

static void quantization_has_each(void **state)
{
    (void)state;
    char *text = document("quantization.md");
    const char *table = strstr(text, "\n## Formats\n");
    assert_non_null(table);
    for (size_t i = 0; i < ROWS; i++) {
        if (!rows[i].is_weight)
            continue;
        double bits = bits_in(table, rows[i].name);
        if (fabs(bits - 8.0 * rows[i].bytes / rows[i].values) > 1e-9)
            fail_msg("doc/quantization.md: %s has %g bits, not %g", rows[i].name, 8.0 * rows[i].bytes / rows[i].values,
                     bits);
    }
    free(text);
}

static void run_has_each(void **state)
{
    (void)state;
    char *text = document("run.md");
    const char *models = strstr(text, "\n## Models\n");
    assert_non_null(models);
    char *end = strstr(models + 1, "\n## ");
    assert_non_null(end);
    *end = 0;
    for (size_t i = 0; i < ROWS; i++) {
        const size_t length = strlen(rows[i].id);
        const char *at = models;
        int found = 0;
        while ((at = strstr(at, rows[i].id)) != NULL) {
            found |= strchr(" ,.\n", at[-1]) != NULL && strchr(" ,.\n", at[length]) != NULL;
            at += length;
        }
        if (found != (int)rows[i].is_weight)
            fail_msg("doc/run.md, Models: %s %s", rows[i].id, found ? "is no weight" : "is missing");
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_distinct),    cmocka_unit_test(sizes_fit),
        cmocka_unit_test(containers_agree),      cmocka_unit_test(coders_exist),
        cmocka_unit_test(quantization_has_each), cmocka_unit_test(run_has_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
