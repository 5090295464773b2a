/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests share that change one key or one tensor of a fixture of a family: the run of a model in a folder, which is
 * refused by the name of what was changed, or whose logits are compared with those of the fixture.
 */
#ifndef TESTS_CHANGES_SUPPORT_H
#define TESTS_CHANGES_SUPPORT_H

#include <stdbool.h>

#include "session_support.h"

enum { TOKENS_MOST = 72, NAMES_MOST = 9, SHORT = 16 };

static const char *const fixtures[] = {
#define FIXTURE(name) name,
#include "tests/unit/family_fixtures.def"
#undef FIXTURE
};

static char folder[] = "/tmp/accel-changes-XXXXXX";
static struct accel_context *context;
static uint32_t draws = 20261127;
static uint32_t failures;

static inline bool is_drawn(uint32_t of)
{
    draws = draws * 1664525 + 1013904223;
    return getenv("ACCEL_TEST_ALL") != NULL || (draws >> 16) % of == 0;
}

struct subject {
    const char *name;
    char path[PATH_BYTES];
    json_t *config;
    unsigned char *file; /* model.safetensors */
    size_t file_bytes;
    int32_t ids[TOKENS_MOST];
    uint64_t tokens;
    bool all_matter; /* keys that are listed as without effect, too */
    bool is_longer;  /* than max_position_embeddings, from which its positions are scaled */
    float *logits;   /* of the fixture as it is */
    uint64_t logit_count;
};

/* The logits of all tokens of a short run and a long one. */
struct run {
    float *logits;
    uint64_t first; /* row of the present run */
    uint64_t used, vocabulary;
};

static inline int32_t add_logits(void *data, uint64_t index, const float *logits)
{
    struct run *run = data;

    memcpy(run->logits + (run->first + index) * run->vocabulary, logits, run->vocabulary * sizeof(*logits));
    run->used = (run->first + index + 1) * run->vocabulary;
    return ACCEL_OK;
}

static inline void file_path(char path[PATH_BYTES + 32], const char *name)
{
    snprintf(path, PATH_BYTES + 32, "%s/%s", folder, name);
}

static inline void write_file(const char *name, const void *data, size_t bytes)
{
    char path[PATH_BYTES + 32];
    FILE *file;

    file_path(path, name);
    unlink(path);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* Reads the file of a subject, which has more than `least` bytes. */
static inline void read_file(struct subject *subject, const char *path, long least)
{
    FILE *file = fopen(path, "rb");
    long bytes;

    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    bytes = ftell(file);
    assert_true(bytes > least);
    rewind(file);
    subject->file_bytes = (size_t)bytes;
    subject->file = malloc(subject->file_bytes);
    assert_non_null(subject->file);
    assert_int_equal(fread(subject->file, 1, subject->file_bytes, file), subject->file_bytes);
    fclose(file);
}

/* Runs the model in the folder. Returns its code and, if it runs, its logits, which the caller frees. */
static inline int32_t run_model(const struct subject *subject, struct run *run, struct accel_error *error)
{
    const struct accel_named_value settings[] = {exact_settings[0],
                                                 exact_settings[1],
                                                 exact_settings[2],
                                                 {"cpu.threads", "1", "test"},
                                                 {"context", "64", "test"}};
    struct accel_model *model = NULL;
    struct accel_session *session = NULL;
    struct accel_session_options options = {.size = sizeof(options),
                                            .device = "cpu",
                                            .overrides = settings,
                                            .override_count = subject->is_longer ? 5 : 4,
                                            .outputs = TOKENS_MOST};
    int32_t code = accel_model_open(folder, NULL, &model, error);

    memset(run, 0, sizeof(*run));
    if (code == ACCEL_OK) {
        run->vocabulary = accel_model_facts_of(model)->vocabulary;
        run->logits = calloc((SHORT + TOKENS_MOST) * run->vocabulary, sizeof(*run->logits));
        assert_non_null(run->logits);
        code = accel_session_create(context, model, &options, &session, error);
    }
    if (code == ACCEL_OK)
        code = accel_session_load(session, error);
    if (code == ACCEL_OK)
        code = accel_session_score(session, subject->ids, SHORT, add_logits, run, error);
    if (code == ACCEL_OK)
        code = accel_session_truncate(session, 0, error);
    run->first = SHORT;
    if (code == ACCEL_OK)
        code = accel_session_score(session, subject->ids, subject->tokens, add_logits, run, error);
    accel_session_free(session);
    accel_model_close(model);
    return code;
}

static inline bool same_logits(const struct subject *subject, const struct run *run)
{
    double largest = 0, worst = 0;

    if (run->used != subject->logit_count)
        return false;
    for (uint64_t i = 0; i < run->used; i++) {
        const double difference = fabs((double)run->logits[i] - (double)subject->logits[i]);

        largest = fmax(largest, fabs((double)subject->logits[i]));
        worst = !(difference <= worst) ? difference : worst;
    }
    return worst <= 1e-6 * largest;
}

enum outcome { REFUSED, CHANGED, SAME };

/* Runs the changed model. A refusal has one of the names in its text. */
static inline enum outcome run_changed(const struct subject *subject, const char *const *names, const char *change)
{
    struct accel_error error = {0};
    struct run run;
    const int32_t code = run_model(subject, &run, &error);
    const bool is_same = code == ACCEL_OK && same_logits(subject, &run);

    free(run.logits);
    if (code == ACCEL_OK)
        return is_same ? SAME : CHANGED;
    for (size_t i = 0; i < NAMES_MOST && names[i] != NULL; i++)
        if (strstr(error.text, names[i]) != NULL || strcmp(names[i], "model_type") == 0)
            return REFUSED;
    print_message("%s: %s %s: the error has another name: %s: %s\n", subject->name, names[0], change,
                  accel_error_name(code), error.text);
    failures++;
    return REFUSED;
}

/* Reads the configuration of a fixture, and draws tokens. */
static inline void load_subject(struct subject *subject, const char *name)
{
    char path[PATH_BYTES + 32];
    json_t *value;
    uint64_t context_length = TOKENS_MOST;

    memset(subject, 0, sizeof(*subject));
    subject->name = name;
    if (!fixture_path(name, subject->path)) {
        print_message("skipped: fixture %s is not here\n", name);
        skip();
    }
    snprintf(path, sizeof(path), "%s/config.json", subject->path);
    subject->config = json_load_file(path, 0, NULL);
    assert_non_null(subject->config);
    for (const char *const *key = (const char *const[]){"max_position_embeddings", "n_positions", NULL}; *key != NULL;
         key++) {
        value = json_object_get(subject->config, *key);
        if (json_is_integer(value) && (uint64_t)json_integer_value(value) < context_length)
            context_length = (uint64_t)json_integer_value(value);
    }
    subject->is_longer = strcmp(name, "llama-rope-dynamic") == 0;
    subject->tokens = subject->is_longer ? 2 * context_length : context_length;
    value = json_object_get(subject->config, "vocab_size");
    for (uint64_t i = 0; i < subject->tokens; i++) {
        draws = draws * 1664525 + 1013904223;
        subject->ids[i] = (int32_t)((draws >> 8) % (uint32_t)json_integer_value(value));
    }
}

/* Runs the fixture as it is. */
static inline void run_subject(struct subject *subject)
{
    struct accel_error error = {0};
    struct run run;

    if (run_model(subject, &run, &error) != ACCEL_OK)
        fail_msg("%s: %s", subject->name, error.text);
    subject->logits = run.logits;
    subject->logit_count = run.used;
    assert_int_equal(run.used, (SHORT + subject->tokens) * run.vocabulary);
}

static inline void close_subject(struct subject *subject)
{
    json_decref(subject->config);
    free(subject->logits);
    free(subject->file);
}

static inline int set_up(void **state)
{
    (void)state;
    context = make_context();
    return mkdtemp(folder) == NULL;
}

/* Removes the files of the folder, behind which a NULL is, and the folder. */
static inline int remove_folder(const char *const *files)
{
    struct accel_error error = {0};
    char path[PATH_BYTES + 32];

    for (; *files != NULL; files++) {
        file_path(path, *files);
        remove(path);
    }
    OK(accel_context_free(context, &error));
    return rmdir(folder);
}

#endif
