/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory as planned against memory as measured, on the cpu driver: what the core counts to the byte, class by class,
 * and resident pages of mapped weights within 5 %. Models: the small trained one of the repository, and one of random
 * weights written for the test.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <time.h>

#include <accel/quant/format.h>

#include "session_support.h"
#include "tests/bench/random_model.h"

/* 4 layers, 23 M parameters: 13 MB in Q4_0, 46 MB in F16. The output matrix is not tied to the embedding. */
static const struct random_model sizes = {4, 512, 1536, 8, 2, 8000, 0, 0, 0, 0};

struct row {
    const char *model; /* in samples/stories260K, or a type of the random model */
    const char *caches;
    const char *context;
    const char *threads;
    uint32_t random;
    const char *load; /* NULL: mapped */
    const char *window;
};

static const struct row rows[] = {
    {"stories260K-f32.gguf", "f16", "512tok", "1", 0, NULL, "off"},
    {"stories260K-f32.gguf", "f32", "128tok", "2", 0, NULL, "off"},
    {"stories260K-q8_0.gguf", "f16", "128tok", "2", 0, NULL, "off"},
    {"stories260K-q8_0.gguf", "f32", "512tok", "1", 0, NULL, "off"},
    {"q4_0", "f16", "2048tok", "2", 1, NULL, "off"},
    {"q4_0", "f32", "256tok", "1", 1, NULL, "off"},
    {"f16", "f32", "2048tok", "1", 1, NULL, "off"},
    {"f16", "f16", "256tok", "2", 1, NULL, "off"},
    {"q8_0", "f16", "2048tok", "1", 1, NULL, "off"},
    {"q8_0", "f32", "256tok", "2", 1, NULL, "off"},
    {"stories260K-q8_0.gguf", "f16", "128tok", "1", 0, "read", "off"},
    {"q4_0", "f16", "256tok", "1", 1, "read", "off"},
    {"f16", "f16", "256tok", "2", 1, "read", "off"},
    {"stories260K-q8_0.gguf", "f16", "128tok", "1", 0, "auto", "off"},
    {"stories260K-q8_0.gguf", "f16", "512tok", "1", 0, NULL, "100tok"},
    {"q4_0", "f16", "2048tok", "2", 1, NULL, "200tok"},
};

/* Empties the page cache of a file, as far as its file system has one: sessions begin cold. */
static void forget(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);

    assert_true(file >= 0);
    assert_int_equal(fsync(file), 0);
    assert_int_equal(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED), 0);
    close(file);
}

static void path_of(const struct row *row, char path[PATH_BYTES])
{
    const char *source = getenv("ACCEL_TEST_SRCDIR");

    if (!row->random) {
        snprintf(path, PATH_BYTES, "%s/samples/stories260K/%s", source == NULL ? "." : source, row->model);
        return;
    }
    snprintf(path, PATH_BYTES, "session_memory-%s-%ld.gguf", row->model, (long)getpid());
    assert_true(random_model_write(path, &sizes, accel_format_find(row->model)));
    forget(path);
}

static void feed_much(struct accel_session *session, uint32_t vocabulary)
{
    struct accel_error error = {0};
    int32_t ids[100];
    const float *logits;

    for (uint32_t i = 0; i < 100; i++)
        ids[i] = (int32_t)((i * 7919 + 13) % vocabulary);
    OK(accel_session_feed(session, ids, 100, &logits, &error));
    for (uint32_t i = 0; i < 8; i++)
        OK(accel_session_feed(session, ids + i, 1, &logits, &error));
}

/* A class as the plan has it beside what the core counted at most. While weights that are read (`reads`) are packed, a
 * chunk of them is the host's, when what steps need is not there yet: the whole is not more for it. */
static void compare_class(const struct accel_context *context, const struct accel_plan_memory *row, uint64_t resident,
                          uint32_t reads)
{
    uint64_t now = 0, peak = 0;

    assert_int_equal(accel_memory_usage(context, row->memory_class, &now, &peak), ACCEL_OK);
    if (row->memory_class == ACCEL_MEMORY_MAPPED)
        peak = resident;
    print_message("  %-16s planned %10" PRIu64 ", measured %10" PRIu64 "\n", row->name, row->bytes, peak);
    /* Pages may be taken away again by what else the machine does. */
    if (row->memory_class == ACCEL_MEMORY_MAPPED)
        assert_true(peak <= row->bytes && (double)peak >= 0.95 * (double)row->bytes);
    else if (row->memory_class == ACCEL_MEMORY_HOST && reads)
        assert_true(now <= row->bytes && row->bytes <= peak);
    else
        assert_int_equal(row->bytes, peak);
}

/* Pages that load asked for come in their own time, rows of the embedding that no step touched among them. */
static uint64_t wait_for_pages(const struct accel_session *session)
{
    const struct accel_plan *plan = accel_session_plan(session);
    const struct timespec pause = {0, 10000000};
    uint64_t planned = 0, resident = accel_session_resident(session);

    for (uint32_t i = 0; i < accel_plan_memory_count(plan); i++)
        if (accel_plan_memory_get(plan, i)->memory_class == ACCEL_MEMORY_MAPPED)
            planned = accel_plan_memory_get(plan, i)->bytes;
    for (uint32_t round = 0; round < 1000 && resident < planned; round++) {
        nanosleep(&pause, NULL);
        resident = accel_session_resident(session);
    }
    return resident;
}

static void compare_all(const struct accel_context *context, const struct accel_session *session)
{
    const struct accel_plan *plan = accel_session_plan(session);
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    uint64_t now = 0, peak = 0, measured, resident = wait_for_pages(session);
    const uint32_t reads = strcmp(accel_plan_setting_find(plan, "weights.load")->value, "read") == 0;
    struct accel_error error = {0};

    OK(accel_plan_fit(plan, &fit, &error));
    assert_int_equal(accel_memory_usage(context, 0, &now, &peak), ACCEL_OK);
    measured = peak + resident;
    print_message("  %-16s planned %10" PRIu64 ", measured %10" PRIu64 " (%+.3f %%)\n", "whole", fit.needed, measured,
                  100.0 * ((double)measured / (double)fit.needed - 1.0));
    for (uint32_t i = 0; i < accel_plan_memory_count(plan); i++)
        compare_class(context, accel_plan_memory_get(plan, i), resident, reads);
    assert_true(measured <= fit.needed && (double)measured >= 0.95 * (double)fit.needed);
}

static void test_row(void **state)
{
    const struct row *row = *state;
    const struct accel_named_value given[] = {{"kv.type.k", row->caches, "test"},
                                              {"kv.type.v", row->caches, "test"},
                                              {"context", row->context, "test"},
                                              {"cpu.threads", row->threads, "test"},
                                              {"weights.load", row->load == NULL ? "map" : row->load, "test"},
                                              {"kv.window", row->window, "test"},
                                              {"batch", "64tok", "test"}};
    struct accel_session_options options = {
        .size = sizeof(options), .device = "cpu", .overrides = given, .override_count = sizeof(given) / sizeof(*given)};
    struct accel_error error = {0};
    struct accel_context *context = make_context();
    struct accel_model *model = NULL;
    struct accel_session *session = NULL;
    char path[PATH_BYTES];

    path_of(row, path);
    OK(accel_model_open(path, NULL, &model, &error));
    if (row->random)
        assert_int_equal(unlink(path), 0);
    OK(accel_session_create(context, model, &options, &session, &error));
    OK(accel_session_load(session, &error));
    feed_much(session, accel_model_facts_of(model)->vocabulary);
    compare_all(context, session);
    close_all(session, model, context);
}

/* Logits of a few tokens, weights loaded as `load` says by two threads. */
static void logits_of(const struct accel_model *model, const char *load, float *out_logits)
{
    const struct accel_named_value given[] = {
        {"weights.load", load, "test"}, {"context", "64tok", "test"}, {"cpu.threads", "2", "test"}};
    struct accel_session_options options = {
        .size = sizeof(options), .device = "cpu", .overrides = given, .override_count = sizeof(given) / sizeof(*given)};
    struct accel_error error = {0};
    struct accel_context *context = make_context();
    struct accel_session *session = NULL;
    const int32_t ids[] = {1, 77, 4099};
    const float *logits;

    OK(accel_session_create(context, model, &options, &session, &error));
    OK(accel_session_load(session, &error));
    OK(accel_session_feed(session, ids, 3, &logits, &error));
    memcpy(out_logits, logits, accel_model_facts_of(model)->vocabulary * sizeof(*logits));
    accel_session_free(session);
    OK(accel_context_free(context, &error));
}

/* Copies that several threads make are the file's bytes. */
static void test_copies(void **state)
{
    const struct row row = {"f16", "f16", "64tok", "2", 1, NULL, "off"};
    float *logits = malloc(2 * 8000 * sizeof(*logits));
    struct accel_model *model = NULL;
    struct accel_error error = {0};
    char path[PATH_BYTES];

    (void)state;
    assert_non_null(logits);
    path_of(&row, path);
    OK(accel_model_open(path, NULL, &model, &error));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(accel_model_facts_of(model)->vocabulary, 8000);
    logits_of(model, "map", logits);
    logits_of(model, "read", logits + 8000);
    assert_memory_equal(logits, logits + 8000, 8000 * sizeof(*logits));
    free(logits);
    accel_model_close(model);
}

/* The random model says that it was made for 2,048 tokens: writes another number. */
static void set_context(const char *path, uint32_t tokens)
{
    static const char key[] = "llama.context_length";
    char head[4096];
    FILE *file = fopen(path, "r+b");
    size_t at = 0, bytes;

    assert_non_null(file);
    bytes = fread(head, 1, sizeof(head), file);
    while (at + sizeof(key) + 8 < bytes && memcmp(head + at, key, sizeof(key) - 1) != 0)
        at++;
    assert_true(at + sizeof(key) + 8 < bytes);
    assert_int_equal(fseek(file, (long)(at + sizeof(key) - 1 + 4), SEEK_SET), 0);
    assert_int_equal(fwrite(&tokens, sizeof(tokens), 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

static uint64_t scratch_of(struct accel_context *context, const struct accel_model *model, const char *length,
                           const char *type, const char *batch)
{
    const struct accel_named_value given[] = {{"kv.type.k", type, "test"},
                                              {"kv.type.v", type, "test"},
                                              {"context", length, "test"},
                                              {"cpu.threads", "2", "test"},
                                              {"batch", batch, "test"}};
    struct accel_session_options options = {
        .size = sizeof(options), .device = "cpu", .overrides = given, .override_count = sizeof(given) / sizeof(*given)};
    struct accel_session *session = NULL;
    struct accel_error error = {0};
    uint64_t bytes = 0;

    OK(accel_session_create(context, model, &options, &session, &error));
    for (uint32_t i = 0; i < accel_plan_memory_count(accel_session_plan(session)); i++)
        if (accel_plan_memory_get(accel_session_plan(session), i)->memory_class == ACCEL_MEMORY_SCRATCH)
            bytes = accel_plan_memory_get(accel_session_plan(session), i)->bytes;
    assert_int_not_equal(bytes, 0);
    accel_session_free(session);
    return bytes;
}

/* Attention over 8,192 tokens takes less than 1 MiB for each thread: all scratch of a step of one token does, and of a
 * step of 512, whose intermediates are larger, what comes with the length. */
static void test_attention_scratch(void **state)
{
    static const char *const types[] = {"f16", "q8", "q4"};
    const struct row row = {"q8_0", "f16", "8192tok", "2", 1, NULL, "off"};
    struct accel_context *context = make_context();
    struct accel_model *model = NULL;
    struct accel_error error = {0};
    char path[PATH_BYTES];

    (void)state;
    path_of(&row, path);
    set_context(path, 8192);
    OK(accel_model_open(path, NULL, &model, &error));
    assert_int_equal(unlink(path), 0);
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t one = scratch_of(context, model, "8192tok", types[i], "1tok");
        uint64_t many = scratch_of(context, model, "8192tok", types[i], "512tok");
        uint64_t few = scratch_of(context, model, "512tok", types[i], "512tok");

        print_message("  %s: %" PRIu64 " bytes for 1 token, %" PRIu64 " more for 512 at 8192 than at 512\n", types[i],
                      one, many - few);
        assert_true(one < UINT64_C(2) << 20);
        assert_true(many >= few && many - few < UINT64_C(2) << 20);
    }
    close_all(NULL, model, context);
}

int main(void)
{
    enum { COUNT = sizeof(rows) / sizeof(*rows) };
    struct CMUnitTest tests[COUNT + 2];
    char names[COUNT][112];

    for (size_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof(names[0]), "memory of %s, caches %s, context %s, threads %s, window %s",
                 rows[i].model, rows[i].caches, rows[i].context, rows[i].threads, rows[i].window);
        tests[i] = (struct CMUnitTest){names[i], test_row, NULL, NULL, (void *)(uintptr_t)&rows[i]};
    }
    tests[COUNT] = (struct CMUnitTest){"scratch of attention", test_attention_scratch, NULL, NULL, NULL};
    tests[COUNT + 1] = (struct CMUnitTest){"copies of weights", test_copies, NULL, NULL, NULL};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
