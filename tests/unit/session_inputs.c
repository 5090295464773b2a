/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each weight was multiplied with: all weights of the model are there, those that read the same have one number,
 * the first values are the norm of the embeddings made here, each product of input and weight is the stage that the
 * session shows, and the logits are those of a session that shows nothing.
 */
#include <accel/quant/format.h>

#include "session_support.h"

enum { TOKENS = 7, LAYER_WEIGHTS = 7 };

static const int32_t ids[TOKENS] = {1, 5, 9, 2, 17, 30, 3};

struct subject {
    struct accel_context *context;
    struct accel_model *model;
    struct accel_session *session;
};

static int set_up(void **state)
{
    struct subject *subject = calloc(1, sizeof(*subject));
    struct accel_error error = {0};
    char path[PATH_BYTES];

    stories_path(path);
    subject->context = make_context();
    OK(accel_model_open(path, NULL, &subject->model, &error));
    subject->session =
        make_session(subject->context, subject->model, ACCEL_SESSION_INPUTS | ACCEL_SESSION_STAGES, TOKENS);
    *state = subject;
    return 0;
}

static int tear_down(void **state)
{
    struct subject *subject = *state;

    close_all(subject->session, subject->model, subject->context);
    free(subject);
    return 0;
}

static int32_t ignore_logits(void *data, uint64_t index, const float *logits)
{
    if (data != NULL)
        ((float *)data)[index] = logits[0];
    return ACCEL_OK;
}

static void feed(struct accel_session *session)
{
    struct accel_error error = {0};

    OK(accel_session_truncate(session, 0, &error));
    OK(accel_session_score(session, ids, TOKENS, ignore_logits, NULL, &error));
}

/* A tensor of F32. */
static const float *values_of(const struct accel_model *model, const char *name)
{
    const struct accel_model_file *file = accel_model_file_of(model);
    const struct accel_model_tensor *tensor = accel_model_file_find(file, name);

    assert_non_null(tensor);
    assert_int_equal(tensor->type, ACCEL_F32);
    return (const float *)(const void *)accel_model_file_data(file, tensor);
}

static void check_input(const struct accel_session_input *input, uint32_t number, const char *weight, uint64_t width)
{
    assert_int_equal(input->number, number);
    assert_string_equal(input->weight, weight);
    assert_int_equal(input->rows, TOKENS);
    assert_int_equal(input->width, width);
}

static void test_all_weights(void **state)
{
    /* In the order of the graph, with the input's number within the layer. */
    static const struct {
        const char *name;
        uint32_t number;
        uint32_t wide;
    } parts[LAYER_WEIGHTS] = {{"attn_q", 0, 0},   {"attn_k", 0, 0}, {"attn_v", 0, 0},  {"attn_output", 1, 0},
                              {"ffn_gate", 2, 0}, {"ffn_up", 2, 0}, {"ffn_down", 3, 1}};
    struct subject *subject = *state;
    const struct accel_model_facts *facts = accel_model_facts_of(subject->model);
    struct accel_session_input input = {.size = sizeof(input)};
    struct accel_error error = {0};
    char name[64];

    feed(subject->session);
    assert_int_equal(accel_session_input_count(subject->session), facts->layers * LAYER_WEIGHTS + 1);
    for (uint32_t i = 0; i < facts->layers * LAYER_WEIGHTS; i++) {
        OK(accel_session_input(subject->session, i, &input, &error));
        snprintf(name, sizeof(name), "blk.%u.%s.weight", i / LAYER_WEIGHTS, parts[i % LAYER_WEIGHTS].name);
        check_input(&input, i / LAYER_WEIGHTS * 4 + parts[i % LAYER_WEIGHTS].number, name,
                    parts[i % LAYER_WEIGHTS].wide ? facts->ffn : facts->hidden);
    }
    OK(accel_session_input(subject->session, facts->layers * LAYER_WEIGHTS, &input, &error));
    check_input(&input, facts->layers * 4, facts->tied ? "token_embd.weight" : "output.weight", facts->hidden);
}

/* x of the first layer's q is the norm of the embeddings. */
static void test_first_norm(void **state)
{
    struct subject *subject = *state;
    uint32_t hidden = accel_model_facts_of(subject->model)->hidden;
    const float *table = values_of(subject->model, "token_embd.weight");
    const float *scale = values_of(subject->model, "blk.0.attn_norm.weight");
    struct accel_session_input input = {.size = sizeof(input)};
    struct accel_error error = {0};

    feed(subject->session);
    OK(accel_session_input(subject->session, 0, &input, &error));
    for (uint32_t t = 0; t < TOKENS; t++) {
        const float *row = table + (uint64_t)(uint32_t)ids[t] * hidden;
        double squares = 0;

        for (uint32_t i = 0; i < hidden; i++)
            squares += (double)row[i] * (double)row[i];
        for (uint32_t i = 0; i < hidden; i++) {
            double wanted = (double)row[i] / sqrt(squares / hidden + 1e-5) * (double)scale[i];

            assert_true(fabs((double)input.values[t * hidden + i] - wanted) < 1e-5);
        }
    }
}

/* The stage of that name of the last step. */
static struct accel_stage stage_of(struct accel_session *session, const char *name)
{
    struct accel_stage stage = {.size = sizeof(stage)};
    struct accel_error error = {0};

    for (uint32_t s = 0; s < accel_session_stage_count(session); s++) {
        OK(accel_session_stage(session, s, &stage, &error));
        if (strcmp(stage.name, name) == 0)
            return stage;
    }
    fail_msg("no stage %s", name);
    return stage;
}

/* Holds what a weight gives for its input against a stage. */
static void check_product(struct subject *subject, uint32_t index, const char *name)
{
    struct accel_session_input input = {.size = sizeof(input)};
    struct accel_stage stage = stage_of(subject->session, name);
    struct accel_error error = {0};
    const float *weight;

    OK(accel_session_input(subject->session, index, &input, &error));
    weight = values_of(subject->model, input.weight);
    assert_int_equal(stage.rows, input.rows);
    for (uint64_t t = 0; t < stage.rows; t++)
        for (uint64_t r = 0; r < stage.width; r++) {
            double sum = 0;

            for (uint64_t i = 0; i < input.width; i++)
                sum += (double)input.values[t * input.width + i] * (double)weight[r * input.width + i];
            assert_true(fabs(sum - (double)stage.values[t * stage.width + r]) < 1e-3 * fmax(1, fabs(sum)));
        }
}

static void test_products(void **state)
{
    struct subject *subject = *state;
    uint32_t layers = accel_model_facts_of(subject->model)->layers;

    feed(subject->session);
    check_product(subject, 3, "layers.0.attention");
    check_product(subject, (layers - 1) * LAYER_WEIGHTS + 3, "layers.4.attention");
    check_product(subject, layers * LAYER_WEIGHTS, "logits");
}

/* Showing changes nothing, and only what was asked for is there. */
static void test_same_logits(void **state)
{
    struct subject *subject = *state;
    struct accel_session_input input = {.size = sizeof(input)};
    struct accel_error error = {0};
    float first[3][TOKENS];

    for (uint32_t i = 0; i < 3; i++) {
        uint32_t flags = i == 0 ? 0 : i == 1 ? ACCEL_SESSION_INPUTS : ACCEL_SESSION_STAGES;
        struct accel_session *session = make_session(subject->context, subject->model, flags, TOKENS);

        OK(accel_session_score(session, ids, TOKENS, ignore_logits, first[i], &error));
        assert_int_equal(accel_session_input_count(session) != 0, flags == ACCEL_SESSION_INPUTS);
        assert_int_equal(accel_session_stage_count(session) != 0, flags == ACCEL_SESSION_STAGES);
        if (flags != ACCEL_SESSION_INPUTS)
            assert_int_equal(accel_session_input(session, 0, &input, NULL), ACCEL_E_INVALID);
        accel_session_free(session);
    }
    for (uint32_t t = 0; t < TOKENS; t++) {
        assert_true(fabsf(first[0][t] - first[1][t]) < 1e-4f);
        assert_true(fabsf(first[0][t] - first[2][t]) < 1e-4f);
    }
}

static void test_misuse(void **state)
{
    struct subject *subject = *state;
    struct accel_session_input input = {.size = 8};
    struct accel_session *session = make_session(subject->context, subject->model, ACCEL_SESSION_INPUTS, 1);

    assert_int_equal(accel_session_input(session, 0, &input, NULL), ACCEL_E_INVALID);
    input.size = sizeof(input);
    assert_int_equal(accel_session_input(session, 0, &input, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_session_input(session, accel_session_input_count(session), &input, NULL), ACCEL_E_INVALID);
    accel_session_free(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_weights, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_first_norm, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_products, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_same_logits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_misuse, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
