/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations of decoders: both key styles, defaults, contradictions, and the fixtures' own files. */
#include "config.h"

#include <math.h>

#include "model/family/decoder_config.h"
#include "tests/unit/format_support.h"

#define BASE                                                                                                           \
    "\"model_type\":\"some\",\"num_hidden_layers\":3,\"hidden_size\":64,\"intermediate_size\":96,"                     \
    "\"num_attention_heads\":4,\"vocab_size\":100,\"max_position_embeddings\":128,\"rms_norm_eps\":1e-5"

static int32_t parse(const char *more, struct accel_decoder_config *config, struct accel_error *error)
{
    char text[4096];
    snprintf(text, sizeof(text), "{%s%s%s}", BASE, more[0] == '\0' ? "" : ",", more);
    memset(error, 0, sizeof(*error));
    return accel_decoder_config_parse("config.json", text, strlen(text), NULL, config, error);
}

static void accept(const char *more, struct accel_decoder_config *config)
{
    struct accel_error error;
    if (parse(more, config, &error) != ACCEL_OK)
        fail_msg("%s: %s", more, error.text);
}

static void refuse(const char *more, int32_t code, const char *words)
{
    struct accel_decoder_config config;
    struct accel_error error;
    assert_int_equal(parse(more, &config, &error), code);
    if (strstr(error.text, words) == NULL)
        fail_msg("%s: '%s' is not in: %s", more, words, error.text);
    check_error_text(&error, "config.json: offset 0x");
    assert_null(config.architecture);
    accel_decoder_config_free(&config);
}

static void defaults_are_those_of_the_format(void **state)
{
    struct accel_decoder_config config;
    (void)state;
    accept("", &config);
    assert_string_equal(config.architecture, "some");
    assert_int_equal(config.layers, 3);
    assert_int_equal(config.kv_heads, 4);
    assert_int_equal(config.head_size, 16);
    assert_int_equal(config.value_size, 16);
    assert_int_equal(config.rope.dims, 16);
    assert_int_equal(config.rope.kind, ACCEL_ROPE_PLAIN);
    assert_int_equal(config.rope.original_context, 128);
    assert_true(config.rope.base == 10000 && config.rope.factor == 1 && config.rope.attention_factor == 1);
    assert_int_equal(config.pairing, ACCEL_ROPE_PAIRING_HALVES);
    assert_true(config.bos == -1 && config.unk == -1 && config.pad == -1 && config.eos_count == 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(config.windows[i], 0);
    assert_false(config.tied || config.q_bias || config.qk_norm);
    accel_decoder_config_free(&config);
    accel_decoder_config_free(&config);
}

/* The same rotary scaling as three generations of files write it. */
static void both_rope_styles_mean_the_same(void **state)
{
    static const char *const styles[] = {
        "\"rope_parameters\":{\"rope_type\":\"yarn\",\"rope_theta\":5e5,\"factor\":4.0,"
        "\"original_max_position_embeddings\":32,\"beta_fast\":2}",
        "\"rope_theta\":500000,\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4,\"beta_fast\":2.0,"
        "\"original_max_position_embeddings\":32}",
        "\"rope_parameters\":null,\"rope_theta\":500000.0,\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4.0,"
        "\"original_max_position_embeddings\":32,\"beta_fast\":2.0,\"beta_slow\":null}",
    };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct accel_decoder_config config;
        accept(styles[i], &config);
        assert_int_equal(config.rope.kind, ACCEL_ROPE_YARN);
        assert_int_equal(config.rope.original_context, 32);
        assert_true(config.rope.truncate);
        assert_true(config.rope.base == 500000 && config.rope.factor == 4);
        assert_true(config.rope.beta_fast == 2 && config.rope.beta_slow == 1);
        assert_true(fabs(config.rope.attention_factor - 1.1386294361119891) < 1e-15);
        assert_memory_equal(&config.rope, &config.rope_sliding, sizeof(config.rope));
        accel_decoder_config_free(&config);
    }
}

static void every_rope_kind_is_read(void **state)
{
    struct accel_decoder_config config;
    (void)state;
    accept("\"rope_scaling\":{\"type\":\"linear\",\"factor\":2.5}", &config);
    assert_true(config.rope.kind == ACCEL_ROPE_LINEAR && config.rope.factor == 2.5);
    accel_decoder_config_free(&config);
    accept("\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":2}", &config);
    assert_true(config.rope.kind == ACCEL_ROPE_DYNAMIC && config.rope.original_context == 128);
    accel_decoder_config_free(&config);
    accept("\"rope_parameters\":{\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4,"
           "\"original_max_position_embeddings\":32}",
           &config);
    assert_true(config.rope.kind == ACCEL_ROPE_LLAMA3 && config.rope.low_frequency_factor == 1);
    assert_true(config.rope.high_frequency_factor == 4 && config.rope.attention_factor == 1);
    accel_decoder_config_free(&config);
    accept("\"rope_parameters\":{\"rope_type\":\"yarn\",\"factor\":4,\"attention_factor\":1.5,\"truncate\":false}",
           &config);
    assert_true(config.rope.attention_factor == 1.5 && !config.rope.truncate);
    accel_decoder_config_free(&config);
    accept("\"rope_scaling\":{\"type\":\"yarn\",\"factor\":40,\"mscale\":0.707,\"mscale_all_dim\":1}", &config);
    assert_true(fabs(config.rope.attention_factor - (0.0707 * log(40) + 1) / (0.1 * log(40) + 1)) < 1e-15);
    accel_decoder_config_free(&config);
    accept("\"partial_rotary_factor\":0.5", &config);
    assert_int_equal(config.rope.dims, 8);
    accel_decoder_config_free(&config);
    accept("\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"linear\",\"factor\":2,\"rope_theta\":1000},"
           "\"sliding_attention\":{\"rope_type\":\"default\",\"rope_theta\":100}}",
           &config);
    assert_true(config.rope.factor == 2 && config.rope.base == 1000);
    assert_true(config.rope_sliding.factor == 1 && config.rope_sliding.base == 100);
    accel_decoder_config_free(&config);
    accept("\"rope_theta\":1000,\"rope_local_base_freq\":100,\"rope_scaling\":{\"type\":\"linear\",\"factor\":2}",
           &config);
    assert_true(config.rope.factor == 2 && config.rope_sliding.factor == 1 && config.rope_sliding.base == 100);
    accel_decoder_config_free(&config);
}

static void unsound_rope_is_refused(void **state)
{
    (void)state;
    refuse("\"rope_theta\":0", ACCEL_E_CORRUPT, "rope_theta is 0");
    refuse("\"rope_theta\":\"10000\"", ACCEL_E_CORRUPT, "rope_theta is not a number");
    refuse("\"rope_scaling\":{\"type\":\"linear\"}", ACCEL_E_CORRUPT, "factor");
    refuse("\"rope_scaling\":{\"type\":\"linear\",\"factor\":-2}", ACCEL_E_CORRUPT, "factor is -2");
    refuse("\"rope_scaling\":{\"type\":\"mrope\",\"factor\":2}", ACCEL_E_UNSUPPORTED, "'mrope'");
    refuse("\"rope_scaling\":{\"type\":7}", ACCEL_E_CORRUPT, "type is not a string");
    refuse("\"rope_scaling\":[1]", ACCEL_E_CORRUPT, "is a list, not an object");
    refuse("\"rope_scaling\":{\"type\":\"llama3\",\"factor\":8,\"original_max_position_embeddings\":32}",
           ACCEL_E_CORRUPT, "low_freq_factor");
    refuse("\"rope_scaling\":{\"type\":\"llama3\",\"factor\":8,\"low_freq_factor\":4,\"high_freq_factor\":4}",
           ACCEL_E_CORRUPT, "low_freq_factor");
    refuse("\"rope_scaling\":{\"type\":\"llama3\",\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4}",
           ACCEL_E_CORRUPT, "original_max_position_embeddings");
    refuse("\"rope_scaling\":{\"type\":\"yarn\",\"factor\":2,\"beta_fast\":1,\"beta_slow\":2}", ACCEL_E_CORRUPT,
           "beta");
    refuse("\"partial_rotary_factor\":0.2", ACCEL_E_CORRUPT, "partial_rotary_factor");
    refuse("\"head_dim\":15", ACCEL_E_CORRUPT, "15 rotary dimensions");
}

static void windows_follow_the_layer_types(void **state)
{
    struct accel_decoder_config config;
    (void)state;
    accept("\"sliding_window\":8", &config);
    assert_true(config.windows[0] == 8 && config.windows[1] == 8 && config.windows[2] == 8);
    accel_decoder_config_free(&config);
    accept("\"sliding_window\":8,\"use_sliding_window\":false,\"max_window_layers\":1", &config);
    assert_true(config.windows[0] == 0 && config.windows[1] == 0 && config.windows[2] == 0);
    accel_decoder_config_free(&config);
    accept("\"sliding_window\":8,\"use_sliding_window\":true,\"max_window_layers\":1", &config);
    assert_true(config.windows[0] == 0 && config.windows[1] == 8 && config.windows[2] == 8);
    accel_decoder_config_free(&config);
    accept("\"sliding_window\":8,\"layer_types\":[\"sliding_attention\",\"full_attention\",\"sliding_attention\"]",
           &config);
    assert_true(config.windows[0] == 8 && config.windows[1] == 0 && config.windows[2] == 8);
    accel_decoder_config_free(&config);
    accept("\"sliding_window\":null,\"layer_types\":null", &config);
    assert_int_equal(config.windows[2], 0);
    accel_decoder_config_free(&config);
    refuse("\"sliding_window\":8,\"use_sliding_window\":true", ACCEL_E_CORRUPT, "max_window_layers");
    refuse("\"sliding_window\":0", ACCEL_E_CORRUPT, "sliding_window is 0");
    refuse("\"sliding_window\":-1", ACCEL_E_CORRUPT, "sliding_window is not a positive integer");
    refuse("\"layer_types\":[\"full_attention\"]", ACCEL_E_CORRUPT, "layer_types");
    refuse("\"layer_types\":[\"sliding_attention\",\"full_attention\",\"full_attention\"]", ACCEL_E_CORRUPT,
           "no sliding_window");
    refuse("\"layer_types\":[\"full_attention\",\"linear_attention\",\"full_attention\"]", ACCEL_E_UNSUPPORTED,
           "layer_types[1] is 'linear_attention'");
}

static void flags_types_and_tokens_are_read(void **state)
{
    struct accel_decoder_config config;
    (void)state;
    accept("\"attention_bias\":true,\"mlp_bias\":true,\"tie_word_embeddings\":true,\"torch_dtype\":\"bfloat16\","
           "\"hidden_act\":\"silu\",\"head_dim\":24,\"num_key_value_heads\":2,\"bos_token_id\":1,"
           "\"eos_token_id\":[2,3],\"pad_token_id\":100,\"unk_token_id\":null",
           &config);
    assert_true(config.q_bias && config.k_bias && config.v_bias && config.o_bias && config.mlp_bias && config.tied);
    assert_int_equal(config.type, ACCEL_BF16);
    assert_string_equal(config.activation, "silu");
    assert_int_equal(config.head_size, 24);
    assert_int_equal(config.kv_heads, 2);
    assert_int_equal(config.bos, 1);
    assert_int_equal(config.pad, -1);
    assert_int_equal(config.eos_count, 2);
    assert_true(config.eos[0] == 2 && config.eos[1] == 3);
    accel_decoder_config_free(&config);
    accept("\"dtype\":\"float16\",\"eos_token_id\":-1", &config);
    assert_int_equal(config.type, ACCEL_F16);
    assert_int_equal(config.eos_count, 0);
    accel_decoder_config_free(&config);
    refuse("\"bos_token_id\":100", ACCEL_E_CORRUPT, "bos_token_id is 100");
    refuse("\"eos_token_id\":[2,\"3\"]", ACCEL_E_CORRUPT, "eos_token_id");
    refuse("\"attention_bias\":1", ACCEL_E_CORRUPT, "attention_bias is not true or false");
}

/* The base object with one key replaced. */
static void absurd_numbers_are_refused_by_name(void **state)
{
    static const struct {
        const char *from, *to, *words;
    } changes[] = {
        {"\"num_hidden_layers\":3", "\"num_hidden_layers\":0", "num_hidden_layers is 0"},
        {"\"num_hidden_layers\":3", "\"num_hidden_layers\":2147483648", "num_hidden_layers is 2147483648"},
        {"\"num_hidden_layers\":3", "\"num_hidden_layers\":3.0", "num_hidden_layers is not an integer"},
        {"\"num_hidden_layers\":3", "\"num_hidden_layers\":null", "the key num_hidden_layers is null"},
        {"\"hidden_size\":64", "\"hidden_size\":-64", "hidden_size is -64"},
        {"\"num_attention_heads\":4", "\"num_attention_heads\":3", "not divisible by 3 heads"},
        {"\"num_attention_heads\":4", "\"num_attention_heads\":4,\"num_key_value_heads\":8", "8 key heads"},
        {"\"num_attention_heads\":4", "\"num_attention_heads\":4,\"num_key_value_heads\":3", "3 key heads"},
        {"\"vocab_size\":100", "\"vocab_size\":0", "vocab_size is 0"},
        {"\"vocab_size\":100", "\"vocab_size\":null", "the size of the vocabulary is missing"},
        {"\"rms_norm_eps\":1e-5", "\"rms_norm_eps\":0", "rms_norm_eps is 0"},
        {"\"rms_norm_eps\":1e-5", "\"rms_norm_eps\":7", "rms_norm_eps is 7"},
        {"\"rms_norm_eps\":1e-5", "\"rms_norm_eps\":NaN", "JSON"},
        {"\"model_type\":\"some\"", "\"model_type\":3", "model_type is an integer"},
        {"\"model_type\":\"some\"", "\"model_type\":\"so me\"", "model_type has a character"},
        {"\"hidden_size\":64", "\"hidden_size\":64,\"hidden_size\":64", "duplicate"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        static const char base[] = "{" BASE "}";
        const char *at = strstr(base, changes[i].from);
        struct accel_decoder_config config;
        struct accel_error error = {0};
        char text[4096];
        assert_non_null(at);
        snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - base), base, changes[i].to, at + strlen(changes[i].from));
        assert_int_equal(accel_decoder_config_parse("config.json", text, strlen(text), NULL, &config, &error),
                         ACCEL_E_CORRUPT);
        if (strstr(error.text, changes[i].words) == NULL)
            fail_msg("'%s' is not in: %s", changes[i].words, error.text);
        check_error_text(&error, "config.json: offset 0x");
    }
}

/* Latent attention and groups of experts: sizes of the cache, scores under YaRN, and values that nothing here honors.
 */
static void deepseek_is_read(void **state)
{
    static const char base[] =
        "{\"model_type\":\"deepseek_v2\",\"num_hidden_layers\":3,\"hidden_size\":64,\"intermediate_size\":128,"
        "\"num_attention_heads\":4,\"num_key_value_heads\":4,\"vocab_size\":100,\"rms_norm_eps\":1e-6,"
        "\"max_position_embeddings\":128,\"kv_lora_rank\":24,\"q_lora_rank\":null,\"qk_nope_head_dim\":16,\"qk_rope_"
        "head_dim\":8,"
        "\"v_head_dim\":12,\"n_routed_experts\":8,\"num_experts_per_tok\":3,\"moe_intermediate_size\":16,"
        "\"n_shared_experts\":2,\"first_k_dense_replace\":1,\"n_group\":4,\"topk_group\":2,"
        "\"topk_method\":\"group_limited_greedy\",\"routed_scaling_factor\":1.5,\"rope_scaling\":{\"type\":\"yarn\","
        "\"factor\":40,\"mscale\":0.707,\"mscale_all_dim\":0.707,\"original_max_position_embeddings\":32}%s}";
    static const struct {
        const char *more;
        int32_t code;
        const char *words;
    } refused[] = {
        {",\"norm_topk_prob\":true", ACCEL_E_UNSUPPORTED, "norm_topk_prob is true"},
        {",\"scoring_func\":\"sigmoid\"", ACCEL_E_UNSUPPORTED, "scoring_func is 'sigmoid', supported: softmax"},
        {",\"moe_layer_freq\":2", ACCEL_E_UNSUPPORTED, "moe_layer_freq is 2"},
        {",\"n_group\":null", ACCEL_E_CORRUPT, "n_group is missing or null"},
        {",\"n_group\":1", ACCEL_E_CORRUPT, "2 of 1 groups (topk_group of n_group)"},
        {",\"topk_group\":7", ACCEL_E_CORRUPT, "7 of 4 groups (topk_group of n_group)"},
        {",\"topk_group\":null", ACCEL_E_CORRUPT, "topk_group is missing or null"},
        {",\"intermediate_size\":null", ACCEL_E_CORRUPT, "the key intermediate_size is null"},
        {",\"attention_bias\":true", ACCEL_E_UNSUPPORTED, "attention_bias is true"},
        {",\"mlp_bias\":true", ACCEL_E_UNSUPPORTED, "mlp_bias is true"},
        {",\"rope_theta\":1e-300", ACCEL_E_CORRUPT, "rope_theta is 1e-300"},
        {",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":1e-300}", ACCEL_E_CORRUPT, "factor is 1e-300"},
        {",\"qk_layernorm\":true", ACCEL_E_UNSUPPORTED, "qk_layernorm has no meaning"},
    };
    struct accel_decoder_config config;
    struct accel_error error = {0};
    const double scores = 0.1 * 0.707 * log(40) + 1;
    char text[2048];

    (void)state;
    snprintf(text, sizeof(text), base, "");
    if (accel_decoder_config_parse("config.json", text, strlen(text), NULL, &config, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    assert_true(config.head_size == 24 && config.value_size == 12 && config.kv_heads == 4 && config.rope.dims == 8);
    assert_true(config.latent.key == 16 && config.latent.query == 0 && !config.latent.absorbed);
    assert_true(config.form.shared_ffn == 32 && config.form.expert_groups == 4 && config.form.groups_used == 2);
    assert_true(config.form.expert_scale == 1.5 && !config.mixture[0] && config.mixture[1]);
    assert_true(config.rope.attention_factor == 1 && fabs(config.rope.score_factor - scores * scores) < 1e-12);
    accel_decoder_config_free(&config);
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        const char *more = refused[i].more;
        char key[64], *before;

        snprintf(key, sizeof(key), "%.*s", (int)(strchr(more, ':') - more), more + 1);
        snprintf(text, sizeof(text), base, more);
        before = strstr(text, key);
        if (before + strlen(more) + 1 < text + strlen(text)) /* the base has the key: it gets another name */
            before[1] = '_';
        memset(&error, 0, sizeof(error));
        assert_int_equal(accel_decoder_config_parse("config.json", text, strlen(text), NULL, &config, &error),
                         refused[i].code);
        if (strstr(error.text, refused[i].words) == NULL)
            fail_msg("'%s' is not in: %s", refused[i].words, error.text);
    }
}

static void read_model(const char *path, struct accel_decoder_config *config)
{
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    if (accel_model_file_open(path, NULL, &file, &error) != ACCEL_OK ||
        accel_decoder_config_read(file, config, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    accel_model_file_close(file);
}

/* The model of the source tree says the same in both of its forms. */
static void both_forms_of_a_model_agree(void **state)
{
    char path[4096];
    struct accel_decoder_config folder, gguf;
    (void)state;
    read_model(source_path(path, "samples/stories260K/hf"), &folder);
    read_model(source_path(path, "samples/stories260K/stories260K-f32.gguf"), &gguf);
    assert_string_equal(folder.architecture, gguf.architecture);
    assert_true(folder.layers == 5 && gguf.layers == 5);
    assert_true(folder.hidden == 64 && gguf.hidden == 64);
    assert_true(folder.ffn == 172 && gguf.ffn == 172);
    assert_true(folder.heads == 8 && gguf.heads == 8);
    assert_true(folder.kv_heads == 4 && gguf.kv_heads == 4);
    assert_true(folder.head_size == 8 && gguf.head_size == 8);
    assert_true(folder.vocabulary == 512 && gguf.vocabulary == 512);
    assert_int_equal(folder.context, 512);
    assert_true(folder.rope.dims == 8 && gguf.rope.dims == 8);
    assert_true(folder.rope.base == gguf.rope.base);
    assert_true(fabs(folder.norm_epsilon - gguf.norm_epsilon) < 1e-9);
    assert_true(folder.tied && gguf.tied);
    assert_true(folder.bos == 1 && gguf.bos == 1);
    assert_true(folder.eos_count == 1 && folder.eos[0] == 2 && gguf.eos_count == 1 && gguf.eos[0] == 2);
    assert_int_equal(folder.pairing, ACCEL_ROPE_PAIRING_HALVES);
    assert_int_equal(gguf.pairing, ACCEL_ROPE_PAIRING_FAMILY);
    assert_int_equal(folder.type, ACCEL_F32);
    accel_decoder_config_free(&folder);
    accel_decoder_config_free(&gguf);
}

static void fixtures_are_read(void **state)
{
    static const struct {
        const char *name;
        uint32_t kind, window;
        bool tied, q_bias, o_bias, qk_norm;
    } cases[] = {
        {"llama-gqa", ACCEL_ROPE_PLAIN, 0, true, false, false, false},
        {"llama-mha", ACCEL_ROPE_PLAIN, 0, false, false, false, false},
        {"llama-bias", ACCEL_ROPE_PLAIN, 0, false, true, true, false},
        {"llama-sharded", ACCEL_ROPE_PLAIN, 0, false, false, false, false},
        {"llama-rope-linear", ACCEL_ROPE_LINEAR, 0, false, false, false, false},
        {"llama-rope-yarn", ACCEL_ROPE_YARN, 0, false, false, false, false},
        {"llama-rope-llama3", ACCEL_ROPE_LLAMA3, 0, false, false, false, false},
        {"mistral-window", ACCEL_ROPE_PLAIN, 8, false, false, false, false},
        {"qwen2-base", ACCEL_ROPE_PLAIN, 0, false, true, false, false},
        {"qwen2-tied", ACCEL_ROPE_PLAIN, 0, true, true, false, false},
        {"qwen3-base", ACCEL_ROPE_PLAIN, 0, true, false, false, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct accel_decoder_config config;
        char path[4096];
        read_model(shared_path(path, cases[i].name), &config);
        print_message("%s\n", cases[i].name);
        assert_int_equal(config.rope.kind, cases[i].kind);
        assert_int_equal(config.windows[config.layers - 1], cases[i].window);
        assert_int_equal(config.tied, cases[i].tied);
        assert_int_equal(config.q_bias, cases[i].q_bias);
        assert_int_equal(config.o_bias, cases[i].o_bias);
        assert_int_equal(config.qk_norm, cases[i].qk_norm);
        accel_decoder_config_free(&config);
    }
}

/* Every type of the quantized fixtures, with the configuration that they share. */
static void quantized_fixtures_are_read(void **state)
{
    static const struct {
        const char *name, *type;
        uint32_t id;
    } cases[] = {
        {"bf16", "BF16", ACCEL_BF16},       {"f16", "F16", ACCEL_F16},    {"iq4_nl", "IQ4_NL", ACCEL_IQ4_NL},
        {"iq4_xs", "IQ4_XS", ACCEL_IQ4_XS}, {"q2_k", "Q2_K", ACCEL_Q2_K}, {"q3_k_m", "Q3_K", ACCEL_Q3_K},
        {"q4_0", "Q4_0", ACCEL_Q4_0},       {"q4_1", "Q4_1", ACCEL_Q4_1}, {"q4_k_m", "Q4_K", ACCEL_Q4_K},
        {"q5_0", "Q5_0", ACCEL_Q5_0},       {"q5_1", "Q5_1", ACCEL_Q5_1}, {"q5_k_m", "Q5_K", ACCEL_Q5_K},
        {"q6_k", "Q6_K", ACCEL_Q6_K},       {"q8_0", "Q8_0", ACCEL_Q8_0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct accel_model_tensor *tensor;
        struct accel_decoder_config config;
        struct accel_model_file *file = NULL;
        char name[128], path[4096];
        snprintf(name, sizeof(name), "gguf-wide/wide-%s.gguf", cases[i].name);
        assert_int_equal(accel_model_file_open(shared_path(path, name), NULL, &file, NULL), ACCEL_OK);
        tensor = accel_model_file_find(file, "blk.0.attn_q.weight");
        assert_non_null(tensor);
        assert_int_equal(tensor->type, cases[i].id);
        assert_string_equal(tensor->type_name, cases[i].type);
        assert_true(tensor->dims[0] == 256 && tensor->dims[1] == 256);
        assert_int_equal(accel_decoder_config_read(file, &config, NULL), ACCEL_OK);
        assert_true(config.heads == 8 && config.kv_heads == 2 && config.ffn == 512 && config.tied);
        accel_decoder_config_free(&config);
        accel_model_file_close(file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_format),
        cmocka_unit_test(both_rope_styles_mean_the_same),
        cmocka_unit_test(every_rope_kind_is_read),
        cmocka_unit_test(unsound_rope_is_refused),
        cmocka_unit_test(windows_follow_the_layer_types),
        cmocka_unit_test(flags_types_and_tokens_are_read),
        cmocka_unit_test(absurd_numbers_are_refused_by_name),
        cmocka_unit_test(deepseek_is_read),
        cmocka_unit_test(both_forms_of_a_model_agree),
        cmocka_unit_test(fixtures_are_read),
        cmocka_unit_test(quantized_fixtures_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
