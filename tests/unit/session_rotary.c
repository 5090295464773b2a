/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dynamic rotary scaling in a whole model, against a decoder in double precision written here: a step uses the base of
 * the length that it reaches, and keys keep the rotation of the step that wrote them; so one pass and token by token
 * differ past the original context, each from the other and each as stated. The model is a fixture with another
 * config.json.
 */
#include <sys/stat.h>

#include "session_support.h"

enum { LAYERS = 2, HIDDEN = 72, HEADS = 4, KV_HEADS = 2, HEAD = 24, FFN = 136, VOCABULARY = 283, MOST = 33 };
enum { ORIGINAL = 12 };

#define FACTOR 4.0
#define BASE 10000.0
#define EPSILON 0.002

struct decoder {
    const struct accel_model_file *file;
    double keys[LAYERS][MOST][KV_HEADS][HEAD];
    double values[LAYERS][MOST][KV_HEADS][HEAD];
    double frequency[HEAD / 2];
    double logits[VOCABULARY];
};

static float *read_weight(const struct decoder *d, int layer, const char *name)
{
    const struct accel_model_tensor *tensor;
    char key[128];
    float *values;

    snprintf(key, sizeof(key), "model.layers.%d.%s.weight", layer, name);
    tensor = accel_model_file_find(d->file, layer < 0 ? name : key);
    assert_non_null(tensor);
    values = malloc(tensor->bytes);
    assert_int_equal(accel_model_file_read(d->file, tensor, 0, tensor->bytes, values, NULL), 0);
    return values;
}

static void multiply(const struct decoder *d, int layer, const char *name, const double *x, int width, double *y,
                     int rows)
{
    float *w = read_weight(d, layer, name);

    for (int r = 0; r < rows; r++) {
        y[r] = 0;
        for (int i = 0; i < width; i++)
            y[r] += (double)w[r * width + i] * x[i];
    }
    free(w);
}

static void normalise(const struct decoder *d, int layer, const char *name, const double *x, double *y)
{
    float *w = read_weight(d, layer, name);
    double sum = 0;

    for (int i = 0; i < HIDDEN; i++)
        sum += x[i] * x[i];
    for (int i = 0; i < HIDDEN; i++)
        y[i] = x[i] / sqrt(sum / HIDDEN + EPSILON) * (double)w[i];
    free(w);
}

static void turn(const struct decoder *d, double *head, int position)
{
    for (int i = 0; i < HEAD / 2; i++) {
        double c = cos(position * d->frequency[i]), s = sin(position * d->frequency[i]);
        double a = head[i], b = head[i + HEAD / 2];

        head[i] = a * c - b * s;
        head[i + HEAD / 2] = b * c + a * s;
    }
}

static void attend(const struct decoder *d, int layer, int position, int head, const double *q, double *out)
{
    int group = head / (HEADS / KV_HEADS);
    double scores[MOST], total = 0;

    for (int t = 0; t <= position; t++) {
        scores[t] = 0;
        for (int i = 0; i < HEAD; i++)
            scores[t] += q[i] * d->keys[layer][t][group][i];
        scores[t] = exp(scores[t] / sqrt((double)HEAD));
        total += scores[t];
    }
    for (int i = 0; i < HEAD; i++) {
        out[i] = 0;
        for (int t = 0; t <= position; t++)
            out[i] += scores[t] / total * d->values[layer][t][group][i];
    }
}

static void run_layer(struct decoder *d, int layer, int position, double *x)
{
    double h[HIDDEN], q[HEADS][HEAD], mixed[HEADS * HEAD], gate[FFN], up[FFN];

    normalise(d, layer, "input_layernorm", x, h);
    multiply(d, layer, "self_attn.q_proj", h, HIDDEN, q[0], HEADS * HEAD);
    multiply(d, layer, "self_attn.k_proj", h, HIDDEN, d->keys[layer][position][0], KV_HEADS * HEAD);
    multiply(d, layer, "self_attn.v_proj", h, HIDDEN, d->values[layer][position][0], KV_HEADS * HEAD);
    for (int k = 0; k < KV_HEADS; k++)
        turn(d, d->keys[layer][position][k], position);
    for (int head = 0; head < HEADS; head++) {
        turn(d, q[head], position);
        attend(d, layer, position, head, q[head], mixed + head * HEAD);
    }
    multiply(d, layer, "self_attn.o_proj", mixed, HEADS * HEAD, h, HIDDEN);
    for (int i = 0; i < HIDDEN; i++)
        x[i] += h[i];
    normalise(d, layer, "post_attention_layernorm", x, h);
    multiply(d, layer, "mlp.gate_proj", h, HIDDEN, gate, FFN);
    multiply(d, layer, "mlp.up_proj", h, HIDDEN, up, FFN);
    for (int i = 0; i < FFN; i++)
        gate[i] = gate[i] / (1 + exp(-gate[i])) * up[i];
    multiply(d, layer, "mlp.down_proj", gate, FFN, h, HIDDEN);
    for (int i = 0; i < HIDDEN; i++)
        x[i] += h[i];
}

/* One token at `position`, in a step that makes the sequence `length` tokens long. */
static void run_token(struct decoder *d, int32_t id, int position, int length)
{
    double ratio = FACTOR * length / ORIGINAL - (FACTOR - 1);
    double base = length <= ORIGINAL ? BASE : BASE * pow(ratio, HEAD / (HEAD - 2.0));
    float *table = read_weight(d, -1, "model.embed_tokens.weight");
    double x[HIDDEN], h[HIDDEN];

    for (int i = 0; i < HEAD / 2; i++)
        d->frequency[i] = 1 / pow(base, 2.0 * i / HEAD);
    for (int i = 0; i < HIDDEN; i++)
        x[i] = (double)table[id * HIDDEN + i];
    free(table);
    for (int layer = 0; layer < LAYERS; layer++)
        run_layer(d, layer, position, x);
    normalise(d, -1, "model.norm.weight", x, h);
    multiply(d, -1, "model.embed_tokens.weight", h, HIDDEN, d->logits, VOCABULARY);
}

/* ---- the model ---- */

static void make_folder(char folder[PATH_BYTES])
{
    char source[PATH_BYTES], from[PATH_BYTES + 32], to[PATH_BYTES + 32];
    json_t *config;

    assert_true(fixture_path("llama-gqa", source));
    snprintf(folder, PATH_BYTES, "session_rotary-%ld", (long)getpid());
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(from, sizeof(from), "%s/config.json", source);
    config = json_load_file(from, 0, NULL);
    assert_non_null(config);
    json_object_set_new(config, "rope_parameters",
                        json_pack("{s:s, s:f, s:f}", "rope_type", "dynamic", "factor", FACTOR, "rope_theta", BASE));
    json_object_set_new(config, "max_position_embeddings", json_integer(ORIGINAL));
    snprintf(to, sizeof(to), "%s/config.json", folder);
    assert_int_equal(json_dump_file(config, to, 0), 0);
    json_decref(config);
    snprintf(from, sizeof(from), "%s/model.safetensors", source);
    snprintf(to, sizeof(to), "%s/model.safetensors", folder);
    assert_int_equal(symlink(from, to), 0);
}

static void remove_folder(const char *folder)
{
    char path[PATH_BYTES + 32];

    snprintf(path, sizeof(path), "%s/config.json", folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/model.safetensors", folder);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

static double worst_of(const struct decoder *d, const float *logits)
{
    double worst = 0, largest = 0;

    for (int i = 0; i < VOCABULARY; i++) {
        worst = fmax(worst, fabs(d->logits[i] - (double)logits[i]));
        largest = fmax(largest, fabs(d->logits[i]));
    }
    return worst / largest;
}

/* Feeds `count` ids in steps of at most `step` to the session and to the decoder, and holds their logits together. */
static double compare(struct accel_session *session, struct decoder *d, const int32_t *ids, int count, int step)
{
    struct accel_error error = {0};
    const float *logits = NULL;
    double worst = 0;

    OK(accel_session_truncate(session, 0, &error));
    for (int at = 0; at < count; at += step) {
        int tokens = count - at < step ? count - at : step;

        OK(accel_session_feed(session, ids + at, (uint64_t)tokens, &logits, &error));
        for (int t = 0; t < tokens; t++)
            run_token(d, ids[at + t], at + t, at + tokens);
        worst = fmax(worst, worst_of(d, logits));
    }
    return worst;
}

static void test_dynamic(void **state)
{
    const struct accel_named_value given[] = {{"kv.type.k", "f32", "test"},
                                              {"kv.type.v", "f32", "test"},
                                              {"compute.activations", "f32", "test"},
                                              {"batch", "64tok", "test"},
                                              {"context", "40tok", "test"}};
    struct accel_session_options options = {
        .size = sizeof(options), .device = "cpu", .overrides = given, .override_count = 5};
    struct accel_context *context = make_context();
    struct accel_session *session = NULL;
    struct accel_model *model = NULL;
    struct accel_error error = {0};
    struct decoder *d = calloc(1, sizeof(*d));
    char folder[PATH_BYTES];
    double one_pass[VOCABULARY], apart = 0, largest = 0;
    int32_t ids[MOST];

    (void)state;
    assert_non_null(d);
    make_folder(folder);
    OK(accel_model_open(folder, NULL, &model, &error));
    remove_folder(folder);
    d->file = accel_model_file_of(model);
    OK(accel_session_create(context, model, &options, &session, &error));
    OK(accel_session_load(session, &error));
    assert_int_equal(accel_session_context(session), 40);
    for (int i = 0; i < MOST; i++)
        ids[i] = 3 + i * 41 % 270;
    assert_true(compare(session, d, ids, ORIGINAL, ORIGINAL) < 2e-5);
    assert_true(compare(session, d, ids, MOST, MOST) < 2e-5);
    memcpy(one_pass, d->logits, sizeof(one_pass));
    assert_true(compare(session, d, ids, MOST, 7) < 2e-5);
    assert_true(compare(session, d, ids, MOST, 1) < 2e-5);
    for (int i = 0; i < VOCABULARY; i++) {
        apart = fmax(apart, fabs(one_pass[i] - d->logits[i]));
        largest = fmax(largest, fabs(one_pass[i]));
    }
    print_message("one pass and token by token differ by %.3g of %.3g\n", apart, largest);
    assert_true(apart > 1e-3 * largest);
    free(d);
    close_all(session, model, context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_dynamic)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
