/* SPDX-License-Identifier: Apache-2.0 */
/* Model files through the public header: tensors and values, folders and shards, what is no file, what is written. */
#include "config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <accel/model/safetensors.h>

#include "tests/unit/format_support.h"

#define FOLDER "tests/fixtures/malformed/"

/* A folder of its own for each test, emptied by it. */
static int make_folder(void **state)
{
    static char name[64];
    snprintf(name, sizeof(name), "format-file-XXXXXX");
    *state = mkdtemp(name);
    return *state == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    return rmdir(*state);
}

static const char *inside(char out[4096], void **state, const char *name)
{
    snprintf(out, 4096, "%s/%s", (const char *)*state, name);
    return out;
}

static struct accel_model_file *open_file(const char *path, uint32_t flags)
{
    struct accel_model_open_options options = {sizeof(options), flags};
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    if (accel_model_file_open(path, &options, &file, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    return file;
}

static void refuse_file(const char *path, int32_t code, const char *words)
{
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    assert_int_equal(accel_model_file_open(path, NULL, &file, &error), code);
    assert_null(file);
    if (strstr(error.text, words) == NULL || strstr(error.text, path) == NULL || strchr(error.text, '\n') != NULL)
        fail_msg("'%s' is not in: %s", words, error.text);
}

static void tensors_of_gguf_are_where_they_are_said_to_be(void **state)
{
    const float values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const struct accel_model_tensor *tensor;
    char path[4096];
    (void)state;
    for (uint32_t flags = 0; flags < 2; flags++) {
        struct accel_model_file *file = open_file(source_path(path, FOLDER "gguf-valid.gguf"), flags);
        float read[8] = {0};
        assert_int_equal(accel_model_file_format(file), ACCEL_MODEL_GGUF);
        assert_int_equal(accel_model_file_tensor_count(file), 3);
        tensor = accel_model_file_find(file, "a");
        assert_ptr_equal(tensor, accel_model_file_tensor(file, 0));
        assert_true(tensor->type == ACCEL_F32 && tensor->rank == 2 && tensor->bytes == 32 && tensor->part == 0);
        assert_true(tensor->dims[0] == 2 && tensor->dims[1] == 4 && tensor->dims[2] == 0);
        assert_int_equal(accel_model_file_read(file, tensor, 0, 32, read, NULL), ACCEL_OK);
        assert_memory_equal(read, values, sizeof(values));
        assert_int_equal(accel_model_file_read(file, tensor, 28, 4, read, NULL), ACCEL_OK);
        assert_true(read[0] == 7);
        assert_int_equal(accel_model_file_read(file, tensor, 28, 8, read, NULL), ACCEL_E_INVALID);
        assert_int_equal(accel_model_file_read(file, tensor, UINT64_MAX, 8, read, NULL), ACCEL_E_INVALID);
        if (flags == 0)
            assert_memory_equal(accel_model_file_data(file, tensor), values, sizeof(values));
        else
            assert_null(accel_model_file_data(file, tensor));
        tensor = accel_model_file_find(file, "b");
        assert_true(tensor->type == ACCEL_Q8_0 && tensor->bytes == 34);
        assert_string_equal(tensor->type_name, "Q8_0");
        assert_null(accel_model_file_find(file, "d"));
        assert_null(accel_model_file_tensor(file, 3));
        assert_true(accel_model_file_has_prefix(file, "") && accel_model_file_has_prefix(file, "c"));
        assert_false(accel_model_file_has_prefix(file, "ab"));
        accel_model_file_close(file);
    }
}

static void values_have_their_types(void **state)
{
    char path[4096];
    struct accel_model_file *file;
    const struct accel_model_value *list;
    struct accel_model_text text;
    struct accel_error error = {0};
    uint64_t number = 0;
    int64_t signed_number = 0;
    int32_t truth;
    double real = 0;
    (void)state;
    file = open_file(source_path(path, FOLDER "gguf-valid.gguf"), 0);
    assert_int_equal(accel_model_file_get_u64(file, "test.count", &number, NULL), ACCEL_OK);
    assert_int_equal(number, 7);
    assert_int_equal(accel_model_file_get_f64(file, "test.count", &real, NULL), ACCEL_OK);
    assert_true(real == 7);
    assert_int_equal(accel_model_file_get_i64(file, "test.count", &signed_number, NULL), ACCEL_OK);
    assert_int_equal(signed_number, 7);
    assert_int_equal(accel_model_file_get_text(file, "general.architecture", &text, NULL), ACCEL_OK);
    assert_string_equal(text.text, "test");
    assert_int_equal(text.length, 4);
    assert_int_equal(accel_model_file_get_list(file, "test.list", ACCEL_MODEL_SIGNED, &list, NULL), ACCEL_OK);
    assert_int_equal(list->count, 3);
    assert_int_equal(((const int32_t *)list->data)[1], -2);
    assert_int_equal(accel_model_value_i64(list, 1, &signed_number, NULL), ACCEL_OK);
    assert_int_equal(signed_number, -2);
    assert_int_equal(accel_model_value_u64(list, 1, &number, NULL), ACCEL_E_CORRUPT);
    assert_int_equal(accel_model_value_u64(list, 3, &number, NULL), ACCEL_E_INVALID);
    assert_null(accel_model_value_text(list, 0));
    assert_int_equal(accel_model_file_get_bool(file, "test.count", &truth, &error), ACCEL_E_CORRUPT);
    assert_non_null(strstr(error.text, "test.count is an unsigned integer, not a truth value"));
    accel_error_clear(&error);
    assert_int_equal(accel_model_file_get_u64(file, "test.list", &number, &error), ACCEL_E_CORRUPT);
    assert_non_null(strstr(error.text, "test.list is a list of signed integers, not a single value"));
    accel_error_clear(&error);
    assert_int_equal(accel_model_file_get_u64(file, "general.architecture", &number, &error), ACCEL_E_CORRUPT);
    assert_non_null(strstr(error.text, "offset 0x"));
    accel_error_clear(&error);
    assert_int_equal(accel_model_file_get_list(file, "test.list", ACCEL_MODEL_TEXT, &list, &error), ACCEL_E_CORRUPT);
    assert_int_equal(accel_model_file_get_f64(file, "no.such", &real, NULL), ACCEL_E_NOT_FOUND);
    assert_null(accel_model_file_find_value(file, "no.such"));
    assert_null(accel_model_file_value(file, accel_model_file_value_count(file)));
    accel_model_file_close(file);
}

static void safetensors_have_texts_and_escaped_names(void **state)
{
    char path[4096];
    struct accel_model_text text;
    struct accel_model_file *file = open_file(source_path(path, FOLDER "st-valid.safetensors"), 0);
    (void)state;
    assert_int_equal(accel_model_file_format(file), ACCEL_MODEL_SAFETENSORS);
    assert_int_equal(accel_model_file_get_text(file, "format", &text, NULL), ACCEL_OK);
    assert_string_equal(text.text, "pt");
    assert_int_equal(accel_model_file_find(file, "c")->rank, 0);
    assert_int_equal(*(const int64_t *)accel_model_file_data(file, accel_model_file_find(file, "c")), -5);
    accel_model_file_close(file);
    file = open_file(source_path(path, FOLDER "st-valid-escapes.safetensors"), 0);
    assert_non_null(accel_model_file_find(file, "\t\xc3\xa9\xf0\x9f\x98\x80/"));
    accel_model_file_close(file);
}

static void what_is_no_file_is_refused_by_kind(void **state)
{
    char path[4096], folder[4096], name[1024];
    refuse_file(inside(path, state, "none"), ACCEL_E_NOT_FOUND, "cannot open");
    assert_int_equal(mkfifo(inside(path, state, "fifo"), 0600), 0);
    refuse_file(path, ACCEL_E_INVALID, "a FIFO");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("loop", inside(path, state, "loop")), 0);
    refuse_file(path, ACCEL_E_IO, "symbolic links");
    assert_int_equal(unlink(path), 0);
    refuse_file("/dev/null", ACCEL_E_INVALID, "a device");
    snprintf(folder, sizeof(folder), "%s", (const char *)*state);
    refuse_file(folder, ACCEL_E_NOT_FOUND, "neither model.safetensors nor");
    write_bytes(inside(path, state, "empty"), "", 0);
    refuse_file(path, ACCEL_E_CORRUPT, "offset 0x0: the file is empty");
    write_bytes(path, "PK\3\4 something else", 19);
    refuse_file(path, ACCEL_E_UNSUPPORTED, "neither GGUF nor safetensors, it begins with 50 4b 03 04");
    assert_int_equal(unlink(path), 0);
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(accel_model_file_open(name, NULL, &(struct accel_model_file *){NULL}, NULL), ACCEL_E_IO);
}

static void arguments_are_checked(void **state)
{
    struct accel_model_open_options options = {sizeof(options), 8};
    struct accel_model_file *file = NULL;
    char path[4096];
    (void)state;
    source_path(path, FOLDER "gguf-valid.gguf");
    assert_int_equal(accel_model_file_open(path, &options, &file, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_model_file_open(NULL, NULL, &file, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_model_file_open_memory(NULL, 8, "name", &file, NULL), ACCEL_E_INVALID);
    assert_null(file);
    accel_model_file_close(NULL);
}

static void mappings_name_their_file(void **state)
{
    struct accel_model_mapping mapping;
    struct accel_model_file *file;
    char path[4096];
    (void)state;
    source_path(path, FOLDER "gguf-valid.gguf");
    file = open_file(path, 0);
    assert_int_equal(accel_model_file_mapping(file, 0, &mapping, NULL), ACCEL_OK);
    assert_string_equal(mapping.path, path);
    assert_int_equal(mapping.bytes, 360);
    assert_memory_equal(mapping.address, "GGUF", 4);
    assert_int_equal(accel_model_file_mapping(file, 1, &mapping, NULL), ACCEL_E_NOT_FOUND);
    accel_model_file_close(file);
    file = open_file(path, ACCEL_MODEL_OPEN_READ);
    assert_int_equal(accel_model_file_mapping(file, 0, &mapping, NULL), ACCEL_E_NOT_FOUND);
    assert_true(accel_model_file_part_fd(file, 0) >= 0 && accel_model_file_part_fd(file, 1) == -1);
    accel_model_file_close(file);
}

static void a_file_that_shrinks_is_an_error_when_it_is_read(void **state)
{
    struct accel_model_file *file;
    struct accel_error error = {0};
    char path[4096], copy[4096];
    uint64_t length;
    unsigned char *bytes = read_bytes(source_path(path, FOLDER "gguf-valid.gguf"), &length);
    float values[8];
    write_bytes(inside(copy, state, "shrinks.gguf"), bytes, (size_t)length);
    file = open_file(copy, ACCEL_MODEL_OPEN_READ);
    assert_int_equal(truncate(copy, 270), 0);
    assert_int_equal(accel_model_file_read(file, accel_model_file_find(file, "a"), 0, 32, values, &error),
                     ACCEL_E_CORRUPT);
    assert_non_null(strstr(error.text, "it shrank"));
    check_error_text(&error, copy);
    accel_model_file_close(file);
    assert_int_equal(unlink(copy), 0);
    free(bytes);
}

static void texts_beside_a_model_are_read(void **state)
{
    struct accel_model_file *file;
    struct accel_error error = {0};
    char path[4096];
    char *text = NULL;
    uint64_t length = 0;
    (void)state;
    file = open_file(source_path(path, "samples/stories260K/hf"), 0);
    assert_int_equal(accel_model_file_sibling(file, "config.json", 65536, &text, &length, NULL), ACCEL_OK);
    assert_int_equal(strlen(text), length);
    accel_model_text_free(text);
    assert_int_equal(accel_model_file_sibling(file, "config.json", 10, &text, &length, &error), ACCEL_E_LIMIT);
    assert_null(text);
    assert_int_equal(accel_model_file_sibling(file, "none.json", 10, &text, &length, NULL), ACCEL_E_NOT_FOUND);
    assert_int_equal(accel_model_file_sibling(file, "../x", 10, &text, &length, NULL), ACCEL_E_INVALID);
    accel_model_file_close(file);
    file = open_file(source_path(path, "samples/stories260K/hf/model.safetensors"), 0);
    assert_int_equal(accel_model_file_sibling(file, "config.json", 65536, &text, &length, NULL), ACCEL_OK);
    accel_model_text_free(text);
    accel_model_file_close(file);
}

/* ---- what is written can be read ---- */

static void write_pair(const char *path, const char *first, const char *second)
{
    static const uint64_t dims[2] = {2, 3};
    static const float values[6] = {1, 2, 3, 4, 5, 6};
    static const int64_t number = -7;
    const struct accel_safetensors_entry one = {sizeof(one), ACCEL_F32, first, dims, values, 2, 0};
    const struct accel_safetensors_entry two = {sizeof(two), ACCEL_I64, second, NULL, &number, 0, 0};
    const struct accel_safetensors_entry *const entries[2] = {&one, &two};
    struct accel_error error = {0};
    if (accel_safetensors_write(path, entries, second == NULL ? 1 : 2, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
}

static void written_tensors_are_read_back(void **state)
{
    const struct accel_model_tensor *tensor;
    struct accel_model_file *file;
    char path[4096];
    inside(path, state, "stages.safetensors");
    write_bytes(path, "an older file", 13);
    write_pair(path, "layers.0 \"q\"\n\xc3\xa9", "n");
    file = open_file(path, 0);
    assert_int_equal(accel_model_file_tensor_count(file), 2);
    tensor = accel_model_file_find(file, "layers.0 \"q\"\n\xc3\xa9");
    assert_true(tensor->type == ACCEL_F32 && tensor->rank == 2 && tensor->dims[0] == 2 && tensor->dims[1] == 3);
    assert_true(((const float *)accel_model_file_data(file, tensor))[5] == 6);
    tensor = accel_model_file_find(file, "n");
    assert_int_equal(*(const int64_t *)accel_model_file_data(file, tensor), -7);
    assert_int_equal(tensor->offset % 8, 0);
    accel_model_file_close(file);
    assert_int_equal(accel_safetensors_write(path, NULL, 0, NULL), ACCEL_OK);
    file = open_file(path, 0);
    assert_int_equal(accel_model_file_tensor_count(file), 0);
    accel_model_file_close(file);
    assert_int_equal(unlink(path), 0);
}

static void refuse_entry(const char *path, struct accel_safetensors_entry entry, const char *words)
{
    const struct accel_safetensors_entry *const entries[1] = {&entry};
    struct accel_error error = {0};
    assert_int_equal(accel_safetensors_write(path, entries, 1, &error), ACCEL_E_INVALID);
    if (strstr(error.text, words) == NULL)
        fail_msg("'%s' is not in: %s", words, error.text);
}

static void what_cannot_be_written_leaves_no_file(void **state)
{
    const uint64_t huge[2] = {UINT64_MAX, 2}, large = 1;
    const float value = 1;
    struct accel_safetensors_entry good = {sizeof(good), ACCEL_F32, "a", &large, &value, 1, 0};
    const struct accel_safetensors_entry *const twice[2] = {&good, &good};
    struct accel_safetensors_entry bad;
    struct accel_error error = {0};
    char path[4096];
    inside(path, state, "none.safetensors");
    bad = good;
    bad.type = ACCEL_Q4_0;
    refuse_entry(path, bad, "tensor 'a': safetensors has no such type");
    bad = good;
    bad.name = "";
    refuse_entry(path, bad, "is empty");
    bad.name = "__metadata__";
    refuse_entry(path, bad, "reserved by the format");
    bad = good;
    bad.data = NULL;
    refuse_entry(path, bad, "no data");
    bad = good;
    bad.dims = huge;
    bad.rank = 2;
    refuse_entry(path, bad, "product");
    assert_int_equal(accel_safetensors_write(path, twice, 2, &error), ACCEL_E_INVALID);
    assert_non_null(strstr(error.text, "duplicated"));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(accel_safetensors_write("no/such/folder/file", twice, 1, NULL), ACCEL_E_NOT_FOUND);
    /* A folder cannot be replaced by a file; the temporary file must be gone, or the folder would not be empty. */
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_not_equal(accel_safetensors_write(path, twice, 1, NULL), ACCEL_OK);
    assert_int_equal(rmdir(path), 0);
}

/* ---- shards ---- */

static void shards_are_held_against_their_index(void **state)
{
    static const struct {
        const char *index, *words;
    } cases[] = {
        {"{\"weight_map\":{\"a\":\"1.safetensors\",\"b\":\"2.safetensors\",\"n\":\"2.safetensors\"}}", NULL},
        {"{\"weight_map\":{\"a\":\"2.safetensors\",\"b\":\"2.safetensors\",\"n\":\"1.safetensors\"}}",
         "tensor 'a' is not"},
        {"{\"weight_map\":{\"a\":\"1.safetensors\",\"x\":\"2.safetensors\"}}", "tensor 'x' is not in the file"},
        {"{\"weight_map\":{\"a\":\"../1.safetensors\"}}", "not the name of a file in this folder"},
        {"{\"weight_map\":{\"a\":3}}", "not the name of a file in this folder"},
        {"{\"weight_map\":{}}", "names 0 files"},
        {"{\"weight_map\":[]}", "weight_map is a list"},
        {"{}", "weight_map is missing"},
        {"{\"weight_map\":", "JSON"},
        {"{\"weight_map\":{\"a\":\"1.safetensors\",\"b\":\"3.safetensors\"}}", "3.safetensors: cannot open"},
        {"{\"weight_map\":{\"a\":\"1.safetensors\",\"b\":\"same.safetensors\"}}", "two tensors have the name 'a'"},
    };
    char index[4096], first[4096], second[4096], same[4096], folder[4096];
    snprintf(folder, sizeof(folder), "%s", (const char *)*state);
    inside(index, state, "model.safetensors.index.json");
    write_pair(inside(first, state, "1.safetensors"), "a", NULL);
    write_pair(inside(second, state, "2.safetensors"), "b", "n");
    write_pair(inside(same, state, "same.safetensors"), "a", NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_bytes(index, cases[i].index, strlen(cases[i].index));
        if (cases[i].words == NULL) {
            struct accel_model_file *file = open_file(folder, 0);
            assert_int_equal(accel_model_file_part_count(file), 2);
            assert_int_equal(accel_model_file_tensor_count(file), 3);
            assert_int_equal(accel_model_file_find(file, "n")->part, 1);
            assert_string_equal(accel_model_file_part_path(file, 1), second);
            assert_null(accel_model_file_part_path(file, 2));
            accel_model_file_close(file);
        } else {
            struct accel_model_file *file = NULL;
            struct accel_error error = {0};
            assert_int_not_equal(accel_model_file_open(folder, NULL, &file, &error), ACCEL_OK);
            if (strstr(error.text, cases[i].words) == NULL)
                fail_msg("'%s' is not in: %s", cases[i].words, error.text);
            check_error_text(&error, folder);
        }
    }
    assert_int_equal(unlink(index) | unlink(first) | unlink(second) | unlink(same), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_of_gguf_are_where_they_are_said_to_be),
        cmocka_unit_test(values_have_their_types),
        cmocka_unit_test(safetensors_have_texts_and_escaped_names),
        cmocka_unit_test_setup_teardown(what_is_no_file_is_refused_by_kind, make_folder, remove_folder),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(mappings_name_their_file),
        cmocka_unit_test_setup_teardown(a_file_that_shrinks_is_an_error_when_it_is_read, make_folder, remove_folder),
        cmocka_unit_test(texts_beside_a_model_are_read),
        cmocka_unit_test_setup_teardown(written_tensors_are_read_back, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_leaves_no_file, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(shards_are_held_against_their_index, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
