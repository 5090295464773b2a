/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small models of every family, held against the reference: every stage in one pass, every stage token by token, and
 * greedy text. What is not in the tree is skipped by name.
 */
#include "session_support.h"

static const char *const fixtures[] = {
#define FIXTURE(name) name,
#include "tests/unit/family_fixtures.def"
#undef FIXTURE
    "llama-mha",     "llama-attention-bias", "llama-f16",      "llama-bf16",
    "llama-sharded", "llama-wide",           "gpt2-large-ish", "phi4-mini-like"};
/* Beyond the original length the cached keys of these have other frequencies than those of one pass. */
static const char *const by_length[] = {"phi3-longrope", "phi4-mini-like"};
/* What a device that is emulated runs, unless ACCEL_TEST_ALL is set: one of each kind of step, or those that
 * ACCEL_TEST_FIXTURES names. */
static const char *const for_devices[] = {"llama-gqa",      "llama-bf16",      "mistral-window", "qwen3-base",
                                          "gemma2-base",    "gpt2-base",       "bloom-base",     "falcon-new",
                                          "stablelm-qk",    "phi3-base",       "mixtral-tiny",   "gpt-oss-tiny",
                                          "qwen2-moe-tiny", "deepseek-v2-tiny"};
static const char *const cases[] = {"single", "one", "batch"};

struct fixture {
    const char *name;
    struct accel_context *context;
    struct accel_model *model;
    struct accel_model_file *inputs;
    struct accel_model_file *expected;
    json_t *facts;
    double tolerance;
};

static void open_fixture(struct fixture *fixture, const char *name)
{
    struct accel_error error = {0};
    char folder[PATH_BYTES];
    char path[PATH_BYTES + 32];

    fixture->name = name;
    if (!fixture_path(name, folder)) {
        print_message("skipped: fixture %s is not here\n", name);
        skip();
    }
    fixture->context = make_context();
    OK(accel_model_open(folder, NULL, &fixture->model, &error));
    snprintf(path, sizeof(path), "%s/inputs.safetensors", folder);
    OK(accel_model_file_open(path, NULL, &fixture->inputs, &error));
    snprintf(path, sizeof(path), "%s/expected.safetensors", folder);
    OK(accel_model_file_open(path, NULL, &fixture->expected, &error));
    snprintf(path, sizeof(path), "%s/fixture.json", folder);
    fixture->facts = json_load_file(path, 0, NULL);
    assert_non_null(fixture->facts);
    fixture->tolerance = json_real_value(json_object_get(json_object_get(fixture->facts, "tolerance"), "float32"));
    assert_true(fixture->tolerance > 0);
}

static void close_fixture(struct fixture *fixture)
{
    json_decref(fixture->facts);
    accel_model_file_close(fixture->inputs);
    accel_model_file_close(fixture->expected);
    close_all(NULL, fixture->model, fixture->context);
}

/* Row `row` of the ids of a case. */
static int32_t *read_ids(const struct fixture *fixture, const char *name, uint64_t row, uint64_t *out_rows,
                         uint64_t *out_length)
{
    char key[64];
    const struct accel_model_tensor *tensor;
    const int64_t *wide;
    int32_t *ids;

    snprintf(key, sizeof(key), "%s.input_ids", name);
    tensor = accel_model_file_find(fixture->inputs, key);
    assert_non_null(tensor);
    *out_rows = tensor->dims[0];
    *out_length = tensor->dims[1];
    ids = malloc(*out_length * sizeof(*ids));
    wide = malloc(tensor->bytes);
    assert_int_equal(accel_model_file_read(fixture->inputs, tensor, 0, tensor->bytes, (void *)(uintptr_t)wide, NULL),
                     0);
    for (uint64_t i = 0; i < *out_length; i++)
        ids[i] = (int32_t)wide[row * *out_length + i];
    free((void *)(uintptr_t)wide);
    return ids;
}

/* Holds the rows of one stage against those of the reference from (row, first) on, relative to the tensor's maximum. */
static void compare(const struct fixture *fixture, const char *name, const struct accel_stage *stage, uint64_t row,
                    uint64_t first, uint64_t length, const char *way)
{
    char key[128];
    const struct accel_model_tensor *tensor;
    float *values;
    uint64_t count, from;
    double largest = 0, worst = 0;

    snprintf(key, sizeof(key), "%s.%s", name, stage->name);
    tensor = accel_model_file_find(fixture->expected, key);
    if (tensor == NULL)
        fail_msg("%s: the reference has no stage %s", fixture->name, key);
    assert_int_equal(tensor->dims[tensor->rank - 1], stage->width);
    values = malloc(tensor->bytes);
    assert_int_equal(accel_model_file_read(fixture->expected, tensor, 0, tensor->bytes, values, NULL), 0);
    count = tensor->bytes / sizeof(*values);
    for (uint64_t i = 0; i < count; i++)
        largest = fmax(largest, fabs((double)values[i]));
    from = (row * length + first) * stage->width;
    for (uint64_t i = 0; i < stage->rows * stage->width; i++) {
        double difference = fabs((double)stage->values[i] - (double)values[from + i]);

        worst = difference > worst || isnan(difference) ? difference : worst;
    }
    free(values);
    if (!(worst <= fixture->tolerance * largest))
        fail_msg("%s, %s, row %llu, token %llu: %s differs by %g of %g, tolerance %g", fixture->name, way,
                 (unsigned long long)row, (unsigned long long)first, key, worst, largest, fixture->tolerance);
}

static void compare_stages(const struct fixture *fixture, struct accel_session *session, const char *name, uint64_t row,
                           uint64_t first, uint64_t length, const char *way)
{
    struct accel_error error = {0};
    uint32_t count = accel_session_stage_count(session), expected = 0;
    const size_t prefix = strlen(name);

    for (uint64_t i = 0; i < accel_model_file_tensor_count(fixture->expected); i++) {
        const char *key = accel_model_file_tensor(fixture->expected, i)->name;

        expected += strncmp(key, name, prefix) == 0 && key[prefix] == '.';
    }
    assert_int_equal(count, expected);
    for (uint32_t s = 0; s < count; s++) {
        struct accel_stage stage = {.size = sizeof(stage)};

        OK(accel_session_stage(session, s, &stage, &error));
        compare(fixture, name, &stage, row, first, length, way);
    }
}

static int32_t ignore_logits(void *data, uint64_t index, const float *logits)
{
    (void)data;
    (void)index;
    (void)logits;
    return ACCEL_OK;
}

static int depends_on_length(const char *name)
{
    for (size_t i = 0; i < sizeof(by_length) / sizeof(by_length[0]); i++)
        if (strcmp(by_length[i], name) == 0)
            return 1;
    return 0;
}

static void stages_of_case(struct fixture *fixture, struct accel_session *session, const char *name)
{
    struct accel_error error = {0};
    uint64_t rows = 1, length = 0;

    for (uint64_t row = 0; row < rows; row++) {
        int32_t *ids = read_ids(fixture, name, row, &rows, &length);

        /* One of llama-rope-dynamic is longer than what the model was trained for. */
        if (length > accel_session_context(session)) {
            free(ids);
            continue;
        }
        OK(accel_session_truncate(session, 0, &error));
        OK(accel_session_score(session, ids, length, ignore_logits, NULL, &error));
        compare_stages(fixture, session, name, row, 0, length, "one pass");
        OK(accel_session_truncate(session, 0, &error));
        for (uint64_t t = 0; t < length && !depends_on_length(fixture->name); t++) {
            OK(accel_session_score(session, ids + t, 1, ignore_logits, NULL, &error));
            compare_stages(fixture, session, name, row, t, length, "token by token");
        }
        free(ids);
    }
}

static void test_stages(void **state)
{
    struct fixture fixture = {0};
    struct accel_session *session;

    open_fixture(&fixture, *state);
    session = make_session(fixture.context, fixture.model, ACCEL_SESSION_STAGES, 256);
    for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++)
        stages_of_case(&fixture, session, cases[c]);
    accel_session_free(session);
    close_fixture(&fixture);
}

/* No constant of the graph is made of a tensor: graphs are built without a byte of a weight. */
static void check_constants(const struct accel_session *session, const struct accel_model *model)
{
    const struct accel_graph *graph = accel_session_graph(session);

    for (uint32_t v = 0; v < graph->value_count; v++)
        if (graph->values[v]->role == ACCEL_ROLE_CONSTANT &&
            accel_model_file_find(accel_model_file_of(model), graph->values[v]->name) != NULL)
            fail_msg("%s is a constant", graph->values[v]->name);
}

/* Greedy text by the fast graph, which fuses residuals. */
static void test_greedy(void **state)
{
    struct accel_error error = {0};
    struct fixture fixture = {0};
    struct accel_session *session;
    const float *logits;
    json_t *generate, *prompt, *greedy;
    uint32_t vocabulary;

    open_fixture(&fixture, *state);
    session = make_session(fixture.context, fixture.model, 0, 1);
    check_constants(session, fixture.model);
    vocabulary = accel_model_facts_of(fixture.model)->vocabulary;
    generate = json_object_get(fixture.facts, "generate");
    prompt = json_object_get(generate, "prompt_ids");
    greedy = json_object_get(generate, "greedy_ids");
    assert_true(json_array_size(greedy) > 0);
    for (size_t i = 0; i < json_array_size(prompt) + json_array_size(greedy); i++) {
        size_t made = i - json_array_size(prompt);
        int32_t id = (int32_t)json_integer_value(i < json_array_size(prompt) ? json_array_get(prompt, i)
                                                                             : json_array_get(greedy, made));

        if (i >= json_array_size(prompt))
            assert_int_equal(best_of(logits, vocabulary), id);
        OK(accel_session_feed(session, &id, 1, &logits, &error));
    }
    accel_session_free(session);
    close_fixture(&fixture);
}

/* Returns whether a list of words has the name. */
static int has_word(const char *words, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = strstr(words, name); at != NULL; at = strstr(at + 1, name))
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0))
            return 1;
    return 0;
}

static int is_for_device(const char *name)
{
    const char *chosen = getenv("ACCEL_TEST_FIXTURES");

    if (chosen != NULL && getenv("ACCEL_TEST_ALL") == NULL)
        return has_word(chosen, name);
    for (size_t i = 0; i < sizeof(for_devices) / sizeof(for_devices[0]); i++)
        if (strcmp(for_devices[i], name) == 0)
            return 1;
    return getenv("ACCEL_TEST_DEVICE") == NULL || getenv("ACCEL_TEST_ALL") != NULL;
}

int main(void)
{
    enum { COUNT = sizeof(fixtures) / sizeof(*fixtures) };
    struct CMUnitTest tests[2 * COUNT];
    char names[2 * COUNT][64];

    for (size_t i = 0; i < COUNT; i++) {
        /* cmocka has no list of a length that varies: what a device does not run is filtered by its name. */
        const char *way = is_for_device(fixtures[i]) ? "greedy text" : "text";

        snprintf(names[2 * i], sizeof(names[0]), "stages of %s", fixtures[i]);
        snprintf(names[2 * i + 1], sizeof(names[0]), "%s of %s", way, fixtures[i]);
        tests[2 * i] = (struct CMUnitTest){names[2 * i], test_stages, NULL, NULL, (void *)(uintptr_t)fixtures[i]};
        tests[2 * i + 1] =
            (struct CMUnitTest){names[2 * i + 1], test_greedy, NULL, NULL, (void *)(uintptr_t)fixtures[i]};
    }
    /* Stages token by token are much for a device that is emulated. */
    if (getenv("ACCEL_TEST_DEVICE") != NULL)
        cmocka_set_test_filter("greedy*");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
