/* SPDX-License-Identifier: Apache-2.0 */
/* Layout "accel 1": the example of its page is read as the page says, in both containers, and what breaks the page's
 * rules is refused by name. */
#include "config.h"

#include <jansson.h>

#include <accel/quant/format.h>

#include "tests/unit/format_support.h"

#define PAGE "quant/LAYOUT.md"

/* The text of the block of the page that is called `name`; free(). */
static char *block_of_page(const char *name)
{
    char path[4096], fence[32], *page, *begin, *end, *copy;
    uint64_t length;
    unsigned char *bytes = read_bytes(source_path(path, PAGE), &length);
    page = calloc(1, length + 1);
    assert_non_null(page);
    memcpy(page, bytes, length);
    snprintf(fence, sizeof(fence), "```%s\n", name);
    begin = strstr(page, fence);
    assert_non_null(begin);
    begin += strlen(fence);
    end = strstr(begin, "```\n");
    assert_non_null(end);
    *end = 0;
    copy = strdup(begin);
    free(page);
    free(bytes);
    return copy;
}

/* A safetensors file of a header and the page's data; free(). */
static unsigned char *make_file(const char *header, uint64_t *out_length)
{
    char *hex = block_of_page("data");
    const uint64_t head = strlen(header);
    unsigned char *file = calloc(1, 8 + head + strlen(hex));
    uint64_t used = 8 + head;
    assert_non_null(file);
    memcpy(file, &head, 8);
    memcpy(file + 8, header, head);
    for (const char *at = hex; *at != 0;) {
        char *next;
        const unsigned long byte = strtoul(at, &next, 16);
        if (next == at)
            break;
        file[used++] = (unsigned char)byte;
        at = next;
    }
    free(hex);
    *out_length = used;
    return file;
}

/* Planes from where they lie, and again from what is read, have to give the values. */
static void check_tensor(const struct accel_model_file *file, const char *name, const json_t *rows)
{
    const struct accel_model_tensor *tensor = accel_model_file_find(file, name);
    struct accel_format format;
    unsigned char *copy;
    uint64_t begin = 0;
    float values[2][32];
    assert_non_null(tensor);
    assert_int_equal(accel_format_describe(tensor->type, &format), ACCEL_OK);
    assert_int_equal(tensor->rank, 2);
    assert_int_equal(tensor->dims[0], json_array_size(rows));
    assert_int_equal(tensor->dims[1], 32);
    copy = malloc(tensor->bytes);
    assert_int_equal(accel_model_file_read(file, tensor, 0, tensor->bytes, copy, NULL), ACCEL_OK);
    for (uint64_t r = 0; r < tensor->dims[0]; r++) {
        const void *planes[ACCEL_FORMAT_PLANES] = {NULL}, *copies[ACCEL_FORMAT_PLANES] = {NULL};
        begin = 0;
        for (uint32_t p = 0; p < format.planes; p++) {
            uint64_t bytes;
            size_t row;
            const unsigned char *plane = accel_model_file_plane(file, tensor, p, &bytes);
            assert_int_equal(accel_format_row_bytes(tensor->type, p, 32, &row), ACCEL_OK);
            assert_non_null(plane);
            assert_int_equal(bytes, row * tensor->dims[0]);
            planes[p] = plane + r * row;
            copies[p] = copy + begin + r * row;
            begin += bytes;
        }
        assert_int_equal(accel_format_decode(tensor->type, planes, 32, values[0]), ACCEL_OK);
        assert_int_equal(accel_format_decode(tensor->type, copies, 32, values[1]), ACCEL_OK);
        for (size_t i = 0; i < 32; i++) {
            const double wanted = json_number_value(json_array_get(json_array_get(rows, r), i));
            if ((double)values[0][i] != wanted || values[1][i] != values[0][i])
                fail_msg("%s, row %d, value %zu: %g and %g, not %g", name, (int)r, i, (double)values[0][i],
                         (double)values[1][i], wanted);
        }
    }
    assert_int_equal(begin, tensor->bytes);
    free(copy);
}

static void check_values(const struct accel_model_file *file)
{
    char *text = block_of_page("values");
    json_t *values = json_loads(text, 0, NULL), *rows;
    uint64_t bytes;
    const char *name;
    assert_int_equal(accel_model_file_tensor_count(file), json_object_size(values));
    json_object_foreach(values, name, rows)
    {
        check_tensor(file, name, rows);
    }
    assert_null(accel_model_file_find(file, "w.digits"));
    assert_null(accel_model_file_find(file, "b.codebook"));
    assert_string_equal(accel_model_file_find(file, "w")->type_name, "q4_g32a");
    assert_string_equal(accel_model_file_find(file, "b")->type_name, "c4_row");
    assert_string_equal(accel_model_file_find(file, "k")->type_name, "Q4_0");
    /* What lies in several places is nowhere as a whole. */
    assert_null(accel_model_file_data(file, accel_model_file_find(file, "w")));
    assert_non_null(accel_model_file_data(file, accel_model_file_find(file, "k")));
    assert_null(accel_model_file_plane(file, accel_model_file_find(file, "w"), 3, &bytes));
    assert_null(accel_model_file_plane(file, accel_model_file_find(file, "k"), 1, &bytes));
    json_decref(values);
    free(text);
}

static void test_page(void **state)
{
    char *header = block_of_page("header"), path[4096];
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    uint64_t length, fixture_length;
    unsigned char *bytes = make_file(header, &length), *fixture;
    (void)state;
    if (accel_model_file_open_memory(bytes, length, "page", &file, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    check_values(file);
    accel_model_file_close(file);
    /* The same bytes as a file of the tree, which searches for faults begin with. */
    fixture = read_bytes(source_path(path, "tests/fixtures/planes/example.safetensors"), &fixture_length);
    assert_int_equal(fixture_length, length);
    assert_memory_equal(fixture, bytes, length);
    free(fixture);
    free(header);
    free(bytes);
}

static void test_gguf(void **state)
{
    static const struct accel_model_open_options read = {sizeof(read), ACCEL_MODEL_OPEN_READ};
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    const struct accel_model_tensor *tensor;
    unsigned char byte = 0;
    uint64_t bytes;
    char path[4096];
    (void)state;
    source_path(path, "tests/fixtures/planes/example.gguf");
    if (accel_model_file_open(path, NULL, &file, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    check_values(file);
    accel_model_file_close(file);
    assert_int_equal(accel_model_file_open(path, &read, &file, &error), ACCEL_OK);
    tensor = accel_model_file_find(file, "w");
    assert_null(accel_model_file_plane(file, tensor, 0, &bytes));
    /* The last byte is the zero point of the second row. */
    assert_int_equal(accel_model_file_read(file, tensor, tensor->bytes - 1, 1, &byte, &error), ACCEL_OK);
    assert_int_equal(byte, 14);
    assert_int_equal(accel_model_file_read(file, tensor, tensor->bytes, 1, &byte, &error), ACCEL_E_INVALID);
    accel_model_file_close(file);
}

/* ---- what is refused ---- */

/* `text` with `from`, which has to be there, replaced once; free(). */
static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    char *out = malloc(strlen(text) + strlen(to) + 1);
    assert_non_null(at);
    sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

static void test_refused(void **state)
{
    static const struct {
        const char *from, *to;
        int32_t code;
        const char *text;
    } rows[] = {
        {"\"accel.layout\": \"1\"", "\"accel.layout\": \"2\"", ACCEL_E_UNSUPPORTED, "accel.layout"},
        {"q4_g32a", "q4_g33a", ACCEL_E_UNSUPPORTED, "accel.type.w"},
        {"q4_g32a", "f16", ACCEL_E_UNSUPPORTED, "accel.type.w"},
        {"q4_g32a", "q8_g32a", ACCEL_E_CORRUPT, "accel.type.w"}, /* rows of 16 */
        {"q4_g32a", "q3_g32a", ACCEL_E_CORRUPT, "accel.type.w"}, /* rows of 42 and two thirds */
        {"q4_g32a", "q2_g32a", ACCEL_E_CORRUPT, "accel.type.w"}, /* two groups, one scale */
        {"q4_g32a", "q4_g64a", ACCEL_E_CORRUPT, "accel.type.w"}, /* half a group */
        {"q4_g32a", "c4_g32", ACCEL_E_CORRUPT, "accel.type.w"},  /* no codebook */
        {"q4_g32a", "q4_k", ACCEL_E_CORRUPT, "accel.type.w"},    /* no blocks */
        {"accel.type.k", "accel.type.", ACCEL_E_CORRUPT, "accel.type."},
        {"accel.type.k", "accel.type.w.digits", ACCEL_E_CORRUPT, "with that name exists"},
        {"w.zeros", "w.zero", ACCEL_E_CORRUPT, "accel.type.w"},
        {"w.digits", "b.digit", ACCEL_E_CORRUPT, "accel.type.w"},
        {"\"w.scales\": {\"dtype\": \"F16\"", "\"w.scales\": {\"dtype\": \"BF16\"", ACCEL_E_CORRUPT, "accel.type.w"},
        {"\"w.zeros\": {\"dtype\": \"U8\"", "\"w.zeros\": {\"dtype\": \"BOOL\"", ACCEL_E_CORRUPT, "accel.type.w"},
        {"\"w.zeros\": {\"dtype\": \"U8\", \"shape\": [2, 1]", "\"w.zeros\": {\"dtype\": \"U8\", \"shape\": [1, 2]",
         ACCEL_E_CORRUPT, "accel.type.w"},
        {"\"w.zeros\": {\"dtype\": \"U8\", \"shape\": [2, 1]", "\"w.zeros\": {\"dtype\": \"U8\", \"shape\": [2]",
         ACCEL_E_CORRUPT, "accel.type.w"},
        {"\"w.scales\": {\"dtype\": \"F16\", \"shape\": [2, 1]", "\"w.scales\": {\"dtype\": \"F16\", \"shape\": [1, 2]",
         ACCEL_E_CORRUPT, "accel.type.w"},
        {"\"shape\": [1, 16], \"data_offsets\": [6, 38]", "\"shape\": [16], \"data_offsets\": [6, 38]", ACCEL_E_CORRUPT,
         "accel.type.b"},
        {"\"k.blocks\": {\"dtype\": \"U8\", \"shape\": [1, 18]", "\"k.blocks\": {\"dtype\": \"U8\", \"shape\": [2, 9]",
         ACCEL_E_CORRUPT, "accel.type.k"},
    };
    char *header = block_of_page("header");
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct accel_model_file *file = NULL;
        struct accel_error error = {0};
        char *other = replaced(header, rows[i].from, rows[i].to);
        uint64_t length;
        unsigned char *bytes = make_file(other, &length);
        const int32_t code = accel_model_file_open_memory(bytes, length, "page", &file, &error);
        if (code != rows[i].code || strstr(error.text, rows[i].text) == NULL)
            fail_msg("%s in place of %s: %d, %s", rows[i].to, rows[i].from, code, error.text);
        assert_null(file);
        check_error_text(&error, "page");
        free(other);
        free(bytes);
    }
    free(header);
}

/* Without the key of the layout all tensors are what they are. */
static void test_plain(void **state)
{
    char *header = block_of_page("header"), *other = replaced(header, "accel.layout", "other.layout");
    struct accel_model_file *file = NULL;
    uint64_t length;
    unsigned char *bytes = make_file(other, &length);
    (void)state;
    assert_int_equal(accel_model_file_open_memory(bytes, length, "page", &file, NULL), ACCEL_OK);
    assert_int_equal(accel_model_file_tensor_count(file), 7);
    assert_non_null(accel_model_file_find(file, "w.digits"));
    accel_model_file_close(file);
    free(bytes);
    free(other);
    free(header);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_gguf),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
