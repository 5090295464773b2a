/* SPDX-License-Identifier: Apache-2.0 */
/*
 * [TEST]: a mixture that does not fit into memory.budget, in GGUF and in safetensors. The plan limits its resident
 * experts, logits are the same as without a limit, and the memory of the run is what was planned.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <sys/stat.h>

#include <accel/model/plan.h>
#include <accel/types.h>

#include "session_support.h"
#include "tests/bench/random_model.h"

/* 4 layers of 8 experts: 40 MB in Q4_0, of which experts are 39 MB. */
static const struct random_model sizes = {4, 256, 2720, 8, 2, 600, 8, 2, 1.5, 0};
static const struct random_model dense = {1, 256, 768, 8, 2, 600, 0, 0, 0, 0};

enum { PROMPT = 40, STEPS = 12, VOCABULARY = 600 };

static void write_model(const struct random_model *model, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "session_experts-%ld.gguf", (long)getpid());
    assert_true(random_model_write(path, model, ACCEL_Q4_0));
}

/* Feeds a prompt and then token by token, and stores the logits of each step. */
static void feed(struct accel_session *session, float *out_logits)
{
    struct accel_error error = {0};
    int32_t ids[PROMPT];
    const float *logits;

    for (uint32_t i = 0; i < PROMPT; i++)
        ids[i] = (int32_t)(300 + i * 7919 % 300);
    OK(accel_session_feed(session, ids, PROMPT, &logits, &error));
    memcpy(out_logits, logits, VOCABULARY * sizeof(*logits));
    for (uint32_t i = 1; i <= STEPS; i++) {
        OK(accel_session_feed(session, ids + i * 3, 1, &logits, &error));
        memcpy(out_logits + i * VOCABULARY, logits, VOCABULARY * sizeof(*logits));
    }
}

static struct accel_model_plan *make_plan(struct accel_context *context, const char *path,
                                          const struct accel_named_value *settings, uint32_t count)
{
    struct accel_model_plan_options options = {
        .size = sizeof(options), .path = path, .device = "cpu", .overrides = settings, .override_count = count};
    struct accel_model_plan *plan = NULL;
    struct accel_error error = {0};

    OK(accel_model_plan_create(context, &options, &plan, &error));
    return plan;
}

/* The speed of a plan with a limit is that of the disk, or unknown where it has no direct I/O. */
static void check_speed(const struct accel_plan *plan)
{
    const struct accel_plan_speed *speed = accel_plan_speed_get(plan, 0);

    assert_non_null(speed);
    assert_true(speed->lower == speed->upper);
    assert_int_equal(strncmp(speed->origin, "estimated: ", 11) == 0, speed->upper > 0);
    assert_non_null(strstr(speed->origin, "of the disk"));
    assert_non_null(strstr(speed->origin, " MiB of experts"));
}

/* Compares a run with memory.budget with one without. `copy`: bytes of the copy of an expert of a matrix; `in_place`:
 * of pages of other weights. */
static void compare_limited(const char *path, const char *budget, uint64_t copy, uint64_t in_place)
{
    static const struct accel_named_value whole[] = {{"context", "256tok", "test"},
                                                     {"cpu.layout", "rows", "test"},
                                                     {"batch", "32tok", "test"},
                                                     {"weights.load", "map", "test"}};
    const struct accel_named_value limited[] = {whole[0], whole[1], whole[2], {"memory.budget", budget, "test"}};
    const struct accel_named_value *settings[] = {whole, limited};
    float *logits[2];

    for (uint32_t i = 0; i < 2; i++) {
        struct accel_context *context = make_context();
        struct accel_model_plan *plan = make_plan(context, path, settings[i], 4);
        const struct accel_plan_setting *limit =
            accel_plan_setting_find(accel_model_plan_plan(plan), "cpu.expert_bytes");
        struct accel_plan_fit fit = {.size = sizeof(fit)};
        struct accel_session *session = NULL;
        struct accel_error error = {0};
        uint64_t now = 0, peak = 0, planned = 0;

        logits[i] = calloc((STEPS + 1) * VOCABULARY, sizeof(*logits[i]));
        assert_non_null(logits[i]);
        assert_int_equal(limit != NULL, i == 1);
        OK(accel_plan_fit(accel_model_plan_plan(plan), &fit, &error));
        assert_int_equal(fit.fits, 1);
        OK(accel_model_plan_session(plan, &session, &error));
        OK(accel_session_load(session, &error));
        feed(session, logits[i]);
        assert_int_equal(accel_memory_usage(context, ACCEL_MEMORY_MAPPED, &now, &peak), ACCEL_OK);
        if (i == 1) {
            const uint64_t bytes = strtoull(limit->value, NULL, 10);

            check_speed(accel_model_plan_plan(plan));
            assert_true(peak <= bytes && peak + copy > bytes);
            /* All copies have one size here, so that the plan has the bytes of whole ones, and pages in place. */
            for (uint32_t r = 0; r < accel_plan_memory_count(accel_model_plan_plan(plan)); r++)
                if (accel_plan_memory_get(accel_model_plan_plan(plan), r)->memory_class == ACCEL_MEMORY_MAPPED)
                    planned = accel_plan_memory_get(accel_model_plan_plan(plan), r)->bytes;
            print_message("limit %" PRIu64 ", planned %" PRIu64 ", copies %" PRIu64 "\n", bytes, planned, peak);
            assert_int_equal(planned, peak + in_place);
            OK(accel_memory_usage(context, 0, &now, &peak));
            assert_true(peak <= fit.needed && fit.needed <= fit.budget);
        }
        accel_model_plan_free(plan);
        OK(accel_context_free(context, &error));
    }
    assert_memory_equal(logits[0], logits[1], (STEPS + 1) * VOCABULARY * sizeof(*logits[0]));
    free(logits[0]);
    free(logits[1]);
}

static void logits_are_the_same(void **state)
{
    char path[PATH_BYTES];

    (void)state;
    write_model(&sizes, path);
    compare_limited(path, "24MiB", 2720 * 256 / 32 * 18 + 8192, 148 * 4096);
    unlink(path);
}

/* Writes a history with one run that has the settings of the plan. */
static void write_history(const struct accel_plan *plan, const char *path, uint64_t read_bytes)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fprintf(file,
            "{\"accel-history\":1,\"kind\":\"run\",\"device\":\"%s\",\"model\":\"%s\",\"settings\":\"%s\","
            "\"read_bytes\":%" PRIu64 ",\"tokens\":100}\n",
            accel_plan_device(plan)->name, accel_plan_model(plan), accel_plan_variant(plan), read_bytes);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

/* A plan is the same again, limit and all, and states what runs of it have read. */
static void reads_of_past_runs(void **state)
{
    static const struct accel_named_value settings[] = {
        {"context", "256tok", "test"}, {"batch", "32tok", "test"}, {"memory.budget", "24MiB", "test"}};
    char path[PATH_BYTES], folder[] = "/tmp/accel-experts-XXXXXX", file[64];

    (void)state;
    write_model(&sizes, path);
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("XDG_STATE_HOME", folder, 1), 0);
    snprintf(file, sizeof(file), "%s/accel", folder);
    assert_int_equal(mkdir(file, 0700), 0);
    snprintf(file, sizeof(file), "%s/accel/history.jsonl", folder);
    for (uint32_t i = 0; i < 2; i++) {
        struct accel_context *context = make_context();
        struct accel_model_plan *plan = make_plan(context, path, settings, 3);
        const struct accel_plan *made = accel_model_plan_plan(plan);
        uint32_t found = 0;

        for (uint32_t n = 0; n < accel_plan_note_count(made); n++)
            found += strstr(accel_plan_note_get(made, n)->text, "; runs with these settings read 3.0 MiB. ") != NULL;
        assert_int_equal(found, i);
        write_history(made, file, 3 << 20);
        accel_model_plan_free(plan);
        assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
    }
    unlink(file);
    snprintf(file, sizeof(file), "%s/accel", folder);
    rmdir(file);
    rmdir(folder);
    unlink(path);
}

/* ---- a folder in which each expert is a tensor ---- */

enum { FOLDER_LAYERS = 2, HIDDEN = 256, FFN = 600, EXPERTS = 8 };

struct folder {
    FILE *header, *data;
    char *header_text, *data_text;
    size_t header_bytes, data_bytes;
    uint32_t state; /* of the random numbers */
};

/* Adds a BF16 matrix of random values, or a vector of ones (`rows` 0). */
static void add_tensor(struct folder *f, uint64_t rows, uint64_t width, const char *format, ...)
{
    const uint64_t count = (rows == 0 ? 1 : rows) * width;
    const long begin = ftell(f->data);
    char name[100], shape[48];
    uint16_t *values;
    va_list list;

    va_start(list, format);
    vsnprintf(name, sizeof(name), format, list);
    va_end(list);
    values = malloc(count * sizeof(*values));
    assert_non_null(values);
    for (uint64_t i = 0; i < count; i++) {
        float value = 1;
        uint32_t bits;

        f->state = f->state * 1664525 + 1013904223;
        if (rows != 0)
            value = ((float)(f->state >> 8) / 16777216 - 0.5f) * 0.25f;
        memcpy(&bits, &value, sizeof(bits));
        values[i] = (uint16_t)(bits >> 16);
    }
    assert_int_equal(fwrite(values, sizeof(*values), count, f->data), count);
    free(values);
    if (rows == 0)
        snprintf(shape, sizeof(shape), "%" PRIu64, width);
    else
        snprintf(shape, sizeof(shape), "%" PRIu64 ",%" PRIu64, rows, width);
    fprintf(f->header, "%s\"%s\":{\"dtype\":\"BF16\",\"shape\":[%s],\"data_offsets\":[%ld,%ld]}",
            begin == 0 ? "{" : ",", name, shape, begin, begin + (long)count * 2);
}

static void add_layer(struct folder *f, uint32_t layer)
{
    static const char *const parts[] = {"w1", "w3", "w2"};
#define LAYER "model.layers.%u."
    add_tensor(f, 0, HIDDEN, LAYER "input_layernorm.weight", layer);
    add_tensor(f, 0, HIDDEN, LAYER "post_attention_layernorm.weight", layer);
    add_tensor(f, HIDDEN, HIDDEN, LAYER "self_attn.q_proj.weight", layer);
    add_tensor(f, HIDDEN / 4, HIDDEN, LAYER "self_attn.k_proj.weight", layer);
    add_tensor(f, HIDDEN / 4, HIDDEN, LAYER "self_attn.v_proj.weight", layer);
    add_tensor(f, HIDDEN, HIDDEN, LAYER "self_attn.o_proj.weight", layer);
    add_tensor(f, EXPERTS, HIDDEN, LAYER "block_sparse_moe.gate.weight", layer);
    for (uint32_t e = 0; e < EXPERTS; e++)
        for (uint32_t p = 0; p < 3; p++)
            add_tensor(f, p == 2 ? HIDDEN : FFN, p == 2 ? FFN : HIDDEN, LAYER "block_sparse_moe.experts.%u.%s.weight",
                       layer, e, parts[p]);
}

static void write_text(const char *folder, const char *name, const void *text, size_t bytes)
{
    char path[PATH_BYTES + 40];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void write_folder(char path[PATH_BYTES])
{
    static const char config[] =
        "{\"architectures\":[\"MixtralForCausalLM\"],\"model_type\":\"mixtral\",\"hidden_act\":\"silu\","
        "\"hidden_size\":256,\"intermediate_size\":600,\"max_position_embeddings\":2048,\"num_attention_heads\":8,"
        "\"num_experts_per_tok\":2,\"num_hidden_layers\":2,\"num_key_value_heads\":2,\"num_local_experts\":8,"
        "\"rms_norm_eps\":1e-5,\"rope_theta\":10000.0,\"tie_word_embeddings\":false,\"torch_dtype\":\"bfloat16\","
        "\"sliding_window\":null,\"vocab_size\":600}";
    struct folder f = {.state = 7};
    uint64_t length;
    char *file;

    snprintf(path, PATH_BYTES, "session_experts-%ld", (long)getpid());
    assert_int_equal(mkdir(path, 0700), 0);
    f.header = open_memstream(&f.header_text, &f.header_bytes);
    f.data = open_memstream(&f.data_text, &f.data_bytes);
    add_tensor(&f, VOCABULARY, HIDDEN, "model.embed_tokens.weight");
    for (uint32_t layer = 0; layer < FOLDER_LAYERS; layer++)
        add_layer(&f, layer);
    add_tensor(&f, 0, HIDDEN, "model.norm.weight");
    add_tensor(&f, VOCABULARY, HIDDEN, "lm_head.weight");
    fprintf(f.header, "}");
    assert_int_equal(fclose(f.header), 0);
    assert_int_equal(fclose(f.data), 0);
    length = f.header_bytes;
    file = malloc(8 + length + f.data_bytes);
    assert_non_null(file);
    memcpy(file, &length, 8);
    memcpy(file + 8, f.header_text, length);
    memcpy(file + 8 + length, f.data_text, f.data_bytes);
    write_text(path, "model.safetensors", file, 8 + length + f.data_bytes);
    write_text(path, "config.json", config, sizeof(config) - 1);
    free(file);
    free(f.header_text);
    free(f.data_text);
}

static void remove_folder(const char *path)
{
    static const char *const names[] = {"model.safetensors", "config.json"};
    char file[PATH_BYTES + 40];

    for (uint32_t i = 0; i < 2; i++) {
        snprintf(file, sizeof(file), "%s/%s", path, names[i]);
        unlink(file);
    }
    rmdir(path);
}

/* Its experts lie in many places of the file, and are read from them as those of a GGUF file. */
static void experts_that_are_tensors(void **state)
{
    char path[PATH_BYTES];

    (void)state;
    write_folder(path);
    compare_limited(path, "10MiB", (600 * 256 * 2 + 4095) / 4096 * 4096 + 4096, 316 * 4096);
    remove_folder(path);
}

/* ---- precision ---- */

/* Experts step down as matrices do, those of a layer together, and the run has the memory of the plan. */
static void check_steps(const char *path, const char *budget)
{
    const struct accel_named_value settings[] = {
        {"context", "256tok", "test"},         {"batch", "32tok", "test"},
        {"memory.budget", budget, "test"},     {"weights.load", "map", "test"},
        {"precision.dynamic", "true", "test"}, {"precision.measure", "true", "test"}};
    struct accel_context *context = make_context();
    struct accel_model_plan *plan = make_plan(context, path, settings, 6);
    const struct accel_plan *made = accel_model_plan_plan(plan);
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    struct accel_session *session = NULL;
    struct accel_error error = {0};
    uint64_t now = 0, peak = 0;
    uint32_t converted = 0, stepped = 0;
    char measured[64];

    OK(accel_plan_fit(made, &fit, &error));
    assert_int_equal(fit.fits, 1);
    assert_null(accel_plan_setting_find(made, "cpu.expert_bytes"));
    for (uint32_t i = 0; i < accel_plan_weight_count(made); i++)
        converted += accel_plan_weight_get(made, i)->converted;
    snprintf(measured, sizeof(measured), "%" PRIu32 " matrices are converted", converted);
    for (uint32_t i = 0; i < accel_plan_note_count(made); i++) {
        const struct accel_plan_note *note = accel_plan_note_get(made, i);

        stepped += strcmp(note->key, "precision.dynamic") == 0 && strncmp(note->text, "ffn.", 4) == 0;
        if (strcmp(note->key, "precision.measure") == 0)
            assert_non_null(strstr(note->text, measured));
    }
    assert_true(stepped > 0);
    OK(accel_model_plan_session(plan, &session, &error));
    OK(accel_session_load(session, &error));
    OK(accel_memory_usage(context, ACCEL_MEMORY_WEIGHTS, &now, &peak));
    for (uint32_t i = 0; i < accel_plan_memory_count(made); i++)
        if (accel_plan_memory_get(made, i)->memory_class == ACCEL_MEMORY_WEIGHTS)
            assert_int_equal(accel_plan_memory_get(made, i)->bytes, now);
    accel_model_plan_free(plan);
    OK(accel_context_free(context, &error));
}

static void experts_step_down(void **state)
{
    char path[PATH_BYTES];

    (void)state;
    write_model(&sizes, path);
    check_steps(path, "34MiB");
    unlink(path);
    write_folder(path);
    check_steps(path, "10MiB");
    remove_folder(path);
}

/* Returns the logits of a model with random F32 weights. */
static float *logits_of(const struct random_model *model)
{
    struct accel_context *context = make_context();
    struct accel_session *session;
    struct accel_model *opened = NULL;
    struct accel_error error = {0};
    float *logits = calloc((STEPS + 1) * VOCABULARY, sizeof(*logits));
    char path[PATH_BYTES];

    assert_non_null(logits);
    snprintf(path, PATH_BYTES, "session_factors-%ld.gguf", (long)getpid());
    assert_true(random_model_write(path, model, ACCEL_F32));
    OK(accel_model_open(path, NULL, &opened, &error));
    session = make_session(context, opened, 0, 1);
    feed(session, logits);
    close_all(session, opened, context);
    unlink(path);
    return logits;
}

/* GGUF files have a factor of the products with a matrix, or with each expert, in a tensor beside it. */
static void factors_beside_matrices(void **state)
{
    static const struct random_model models[] = {{2, 64, 96, 4, 2, 600, 0, 0, 0, 0},
                                                 {2, 64, 96, 4, 2, 600, 5, 2, 1, 0}};

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct random_model scaled = models[i];
        float *plain = logits_of(&models[i]), *other;

        scaled.factor = 0.125f;
        other = logits_of(&scaled);
        assert_memory_equal(plain, other, (STEPS + 1) * VOCABULARY * sizeof(*plain));
        free(plain);
        free(other);
    }
}

static void factors_that_are_refused(void **state)
{
    static const struct random_model infinite = {1, 64, 96, 4, 2, 600, 0, 0, 0, INFINITY};
    struct accel_model *opened = NULL;
    struct accel_error error = {0};
    char path[PATH_BYTES];

    (void)state;
    write_model(&infinite, path);
    assert_int_equal(accel_model_open(path, NULL, &opened, &error), ACCEL_E_CORRUPT);
    assert_non_null(strstr(error.text, "'blk.0.attn_q.scale' holds inf"));
    unlink(path);
}

/* Without room for the experts of a token the verdict stays, and a note has the budget that is enough. */
static void a_budget_that_is_too_small(void **state)
{
    static const struct accel_named_value settings[] = {{"context", "256tok", "test"},
                                                        {"memory.budget", "2MiB", "test"}};
    struct accel_context *context = make_context();
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    struct accel_error error = {0};
    struct accel_model_plan *plan;
    const struct accel_plan *made;
    char path[PATH_BYTES];
    uint32_t notes = 0;

    (void)state;
    write_model(&sizes, path);
    plan = make_plan(context, path, settings, 2);
    made = accel_model_plan_plan(plan);
    OK(accel_plan_fit(made, &fit, &error));
    assert_int_equal(fit.fits, 0);
    assert_null(accel_plan_setting_find(made, "cpu.expert_bytes"));
    for (uint32_t i = 0; i < accel_plan_note_count(made); i++)
        notes += strcmp(accel_plan_note_get(made, i)->key, "cpu.expert_bytes") == 0;
    assert_int_equal(notes, 1);
    accel_model_plan_free(plan);
    OK(accel_context_free(context, &error));
    unlink(path);
}

static void refuse(const struct random_model *model, const struct accel_named_value *settings, uint32_t count,
                   int32_t code)
{
    struct accel_session_options options = {
        .size = sizeof(options), .device = "cpu", .overrides = settings, .override_count = count};
    struct accel_context *context = make_context();
    struct accel_session *session = NULL;
    struct accel_model *opened = NULL;
    struct accel_error error = {0};
    char path[PATH_BYTES];

    write_model(model, path);
    OK(accel_model_open(path, NULL, &opened, &error));
    assert_int_equal(accel_session_create(context, opened, &options, &session, &error), code);
    assert_non_null(strstr(error.text, "cpu.expert_bytes="));
    assert_int_not_equal(error.remedy[0], '\0');
    assert_int_equal(error.origin, ACCEL_FROM_SETTING);
    close_all(session, opened, context);
    unlink(path);
}

static void limits_that_are_refused(void **state)
{
    static const struct accel_named_value less[] = {{"cpu.expert_bytes", "100000", "test"}};
    static const struct accel_named_value copied[] = {{"cpu.expert_bytes", "20000000", "test"},
                                                      {"weights.load", "read", "test"}};
    static const struct accel_named_value small[] = {{"cpu.expert_bytes", "100KiB", "test"}};
    static const struct accel_named_value none[] = {{"cpu.expert_bytes", "0", "test"}};
    static const struct accel_named_value large[] = {{"cpu.expert_bytes", "1TiB", "test"}};
    struct accel_session_options options = {
        .size = sizeof(options), .device = "cpu", .overrides = large, .override_count = 1};
    struct accel_context *context = make_context();
    const struct accel_plan_setting *limit;
    struct accel_session *session = NULL;
    struct accel_model *model = NULL;
    struct accel_error error = {0};
    char path[PATH_BYTES];

    (void)state;
    refuse(&sizes, less, 1, ACCEL_E_INVALID);
    refuse(&sizes, copied, 2, ACCEL_E_INVALID);
    refuse(&dense, less, 1, ACCEL_E_INVALID);
    refuse(&sizes, small, 1, ACCEL_E_INVALID);
    /* Of a size the number is used, and not its digits. */
    write_model(&sizes, path);
    OK(accel_model_open(path, NULL, &model, &error));
    OK(accel_session_create(context, model, &options, &session, &error));
    limit = accel_plan_setting_find(accel_session_plan(session), "cpu.expert_bytes");
    assert_string_equal(limit->value, "1099511627776");
    assert_string_equal(limit->unit, "bytes");
    accel_session_free(session);
    /* 0 is no limit, and refuses none. */
    options.overrides = none;
    OK(accel_session_create(context, model, &options, &session, &error));
    assert_int_equal(accel_plan_setting_find(accel_session_plan(session), "cpu.expert_bytes")->number, 0);
    OK(accel_session_load(session, &error));
    close_all(session, model, context);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_the_same),      cmocka_unit_test(factors_beside_matrices),
        cmocka_unit_test(factors_that_are_refused), cmocka_unit_test(a_budget_that_is_too_small),
        cmocka_unit_test(limits_that_are_refused),  cmocka_unit_test(experts_that_are_tensors),
        cmocka_unit_test(experts_step_down),        cmocka_unit_test(reads_of_past_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
