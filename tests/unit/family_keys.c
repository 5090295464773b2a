/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of config.json by family: absent ones have the defaults of transformers, and each key of the fixtures is read,
 * refused, or in the list of keys without effect, which nothing reads.
 */
#include <jansson.h>
#include <stdlib.h>

#include "model/family/decoder_config_reader.h"
#include "model/family/family.h"
#include "tests/unit/format_support.h"

static const struct {
    const char *type, *key, *value;
} defaults[] = {
#define DEFAULT(type, key, value) {type, key, value},
#define ACTIVATION(type, value)
#include "tests/unit/config_defaults.def"
#undef DEFAULT
#undef ACTIVATION
};

static const struct {
    const char *type, *value;
} activations[] = {
#define DEFAULT(type, key, value)
#define ACTIVATION(type, value) {type, value},
#include "tests/unit/config_defaults.def"
#undef DEFAULT
#undef ACTIVATION
};

static const struct {
    const char *key, *reason;
} without_effect[] = {
#define WITHOUT_EFFECT(key, reason) {key, reason},
#include "tests/unit/config_without_effect.def"
#undef WITHOUT_EFFECT
};

/* Sizes that all defaults divide. */
#define SIZES                                                                                                          \
    "\"num_hidden_layers\":30,\"hidden_size\":2048,\"intermediate_size\":4096,\"num_attention_heads\":32,"             \
    "\"vocab_size\":300"

static int32_t parse(const char *type, const char *more, struct accel_decoder_config *config, struct accel_error *error)
{
    char text[2048];

    snprintf(text, sizeof(text), "{\"model_type\":\"%s\"," SIZES "%s}", type, more);
    memset(error, 0, sizeof(*error));
    return accel_decoder_config_parse("config.json", text, strlen(text), NULL, config, error);
}

static bool same_list(const void *a, const void *b, size_t bytes)
{
    return (a == NULL) == (b == NULL) && (a == NULL || memcmp(a, b, bytes) == 0);
}

static bool same_rotary(const struct accel_rope_config *a, const struct accel_rope_config *b)
{
    return a->kind == b->kind && a->dims == b->dims && a->original_context == b->original_context &&
           a->truncate == b->truncate && a->base == b->base && a->factor == b->factor &&
           a->attention_factor == b->attention_factor && a->beta_fast == b->beta_fast && a->beta_slow == b->beta_slow;
}

/* Compares the members that keys of config.json set. */
static bool same_config(const struct accel_decoder_config *a, const struct accel_decoder_config *b)
{
    const size_t layers = a->layers;

    return a->layers == b->layers && a->hidden == b->hidden && a->ffn == b->ffn && a->heads == b->heads &&
           a->kv_heads == b->kv_heads && a->head_size == b->head_size && a->value_size == b->value_size &&
           a->vocabulary == b->vocabulary && a->context == b->context && a->norm_epsilon == b->norm_epsilon &&
           a->tied == b->tied && a->q_bias == b->q_bias && a->k_bias == b->k_bias && a->v_bias == b->v_bias &&
           a->o_bias == b->o_bias && a->mlp_bias == b->mlp_bias && a->norm_bias == b->norm_bias &&
           a->qk_norm == b->qk_norm && a->type == b->type && memcmp(&a->form, &b->form, sizeof(a->form)) == 0 &&
           same_rotary(&a->rope, &b->rope) && same_rotary(&a->rope_sliding, &b->rope_sliding) &&
           same_list(a->windows, b->windows, layers * sizeof(*a->windows)) &&
           same_list(a->mixture, b->mixture, layers * sizeof(*a->mixture)) &&
           same_list(a->no_rotary, b->no_rotary, layers * sizeof(*a->no_rotary)) && a->bos == b->bos &&
           a->pad == b->pad && a->eos_count == b->eos_count;
}

/* Writes another value of the type of a default. */
static void other_value(const char *value, char out[64])
{
    if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
        snprintf(out, 64, "%s", strcmp(value, "true") == 0 ? "false" : "true");
    else if (strchr(value, '.') != NULL || strchr(value, 'e') != NULL)
        snprintf(out, 64, "%.9g", strtod(value, NULL) * 0.5);
    else
        snprintf(out, 64, "%ld", strtol(value, NULL, 10) / 2 + (strcmp(value, "1") == 0 ? 2 : 0));
}

/* Returns whether a value of a key changes the configuration or is refused by its name, beside `more`. */
static bool matters(const char *type, const char *key, const char *value, const char *more)
{
    struct accel_decoder_config with, without;
    struct accel_error error;
    char text[256];
    bool result;

    if (parse(type, more, &without, &error) != ACCEL_OK)
        fail_msg("%s: %s", type, error.text);
    snprintf(text, sizeof(text), "%s,\"%s\":%s", more, key, value);
    if (parse(type, text, &with, &error) == ACCEL_OK)
        result = !same_config(&with, &without);
    else
        result = strstr(error.text, key) != NULL || strcmp(key, "num_key_value_heads") == 0;
    accel_decoder_config_free(&with);
    accel_decoder_config_free(&without);
    return result;
}

static void absent_keys_have_the_defaults_of_the_class(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++) {
        const char *type = defaults[i].type, *key = defaults[i].key;
        const bool is_switch = strcmp(key, "use_sliding_window") == 0;
        char other[64];

        other_value(defaults[i].value, other);
        if (matters(type, key, defaults[i].value, ""))
            fail_msg("%s: an absent %s is not %s", type, key, defaults[i].value);
        if (!matters(type, key, other, "") &&
            !matters(type, key, other,
                     is_switch ? ",\"sliding_window\":64" : ",\"use_sliding_window\":true,\"sliding_window\":64"))
            fail_msg("%s: %s has no effect as %s", type, key, other);
    }
}

static void absent_activations_are_those_of_the_class(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(activations) / sizeof(activations[0]); i++) {
        struct accel_decoder_config config;
        struct accel_error error;

        if (parse(activations[i].type, "", &config, &error) != ACCEL_OK)
            fail_msg("%s: %s", activations[i].type, error.text);
        assert_null(config.activation);
        assert_string_equal(config.family->activation, activations[i].value);
        accel_decoder_config_free(&config);
    }
}

/* Values of another type, and elements of lists and objects, are refused by the name of the key. */
static void malformed_values_are_refused_by_name(void **state)
{
    static const struct {
        const char *type, *more, *words;
    } cases[] = {
        {"llama", ",\"is_causal\":false", "is_causal has no meaning in architecture llama"},
        {"llama", ",\"sliding_window\":64", "sliding_window has no meaning"},
        {"llama", ",\"partial_rotary_factor\":0.5", "partial_rotary_factor has no meaning"},
        {"llama", ",\"rope_parameters\":{\"partial_rotary_factor\":0.5}", "partial_rotary_factor is 0.5"},
        {"llama", ",\"rope_parameters\":{\"full_attention\":{}}", "rope_parameters has an object for each type"},
        {"llama", ",\"dtype\":5", "dtype is not a string"},
        {"mistral", ",\"layer_types\":5", "layer_types is not a list"},
        {"mistral", ",\"layer_types\":[\"full_attention\"]", "layer_types is not a list with an element"},
        {"gemma2", ",\"sliding_window\":null", "sliding_window is null"},
        {"gemma3_text", ",\"rope_parameters\":{\"rope_theta\":1e6}", "rope_parameters has no full_attention"},
        {"gemma3_text", ",\"rope_parameters\":{\"full_attention\":5}", "full_attention is an integer, not an object"},
        {"gemma3_text", ",\"rope_parameters\":{\"full_attention\":{},\"sliding_attention\":[]}",
         "sliding_attention is a list, not an object"},
        {"qwen2_moe", ",\"mlp_only_layers\":5", "mlp_only_layers is an integer, not a list"},
        {"qwen2_moe", ",\"mlp_only_layers\":[1,\"2\"]", "mlp_only_layers[1] is not the number of a layer"},
        {"qwen2_moe", ",\"mlp_only_layers\":[-1]", "mlp_only_layers[0] is not the number of a layer"},
        {"qwen3_moe", ",\"mlp_only_layers\":[30]", "mlp_only_layers[0] is not the number of a layer, 0 to 29"},
        {"mixtral", ",\"norm_topk_prob\":false", "norm_topk_prob is false, which is not supported"},
        {"gpt_oss", ",\"swiglu_alpha\":1.5", "swiglu_alpha is 1.5, only 1.702 is supported"},
        {"gpt_oss", ",\"swiglu_limit\":0", "swiglu_limit is 0"},
        {"gpt2", ",\"scale_attn_weights\":5", "scale_attn_weights is not true or false"},
        {"mpt", ",\"attn_config\":[]", "attn_config is a list, not an object"},
        {"mpt", ",\"attn_config\":{\"alibi\":false}", "alibi is false, which is not supported"},
        {"mpt", ",\"attn_config\":{\"qk_ln\":true}", "qk_ln is true, which is not supported"},
        {"mpt", ",\"attn_config\":{\"attn_type\":\"multiquery_attention\"}", "attn_type is neither"},
        {"mpt", ",\"attn_config\":{\"clip_qkv\":\"6\"}", "clip_qkv is not a number"},
        {"falcon", ",\"num_kv_heads\":\"8\"", "num_kv_heads is not an integer"},
        {"olmo2", ",\"sliding_window\":64", "sliding_window has no meaning"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct accel_decoder_config config;
        struct accel_error error;

        assert_int_not_equal(parse(cases[i].type, cases[i].more, &config, &error), ACCEL_OK);
        if (strstr(error.text, cases[i].words) == NULL)
            fail_msg("%s%s: '%s' is not in: %s", cases[i].type, cases[i].more, cases[i].words, error.text);
        check_error_text(&error, "config.json: offset 0x");
    }
}

/* A list of layer types that agrees with the windows of a family without such lists is no contradiction. */
static void layer_types_agree_or_are_refused(void **state)
{
    char list[1024] = ",\"sliding_window\":64,\"layer_types\":[";
    struct accel_decoder_config config;
    struct accel_error error;

    (void)state;
    for (uint32_t i = 0; i < 30; i++)
        strcat(list, i == 0 ? "\"sliding_attention\"" : ",\"sliding_attention\"");
    strcat(list, "]");
    assert_int_equal(parse("mistral", list, &config, &error), ACCEL_OK);
    accel_decoder_config_free(&config);
    memcpy(strstr(list, "[\"sliding_attention\""), "[\"full_attention\"   ", strlen("[\"sliding_attention\""));
    assert_int_equal(parse("mistral", list, &config, &error), ACCEL_E_UNSUPPORTED);
    assert_non_null(strstr(error.text, "layer_types[0] is full_attention, which architecture mistral does not have"));
}

/* Keys of published files that their family does not read, and that change nothing. */
static void keys_of_published_files_are_accepted(void **state)
{
    static const struct {
        const char *type, *more;
    } cases[] = {
        {"starcoder2", ",\"activation_function\":\"gelu\",\"layer_norm_epsilon\":1e-5,\"scale_attn_weights\":true"},
        {"qwen3_moe", ",\"max_window_layers\":48,\"use_sliding_window\":false"},
        {"smollm3", ",\"max_window_layers\":28,\"sliding_window\":null"},
        {"gemma", ",\"hidden_activation\":\"gelu_pytorch_tanh\""},
        {"gemma2", ",\"hidden_act\":\"gelu_pytorch_tanh\",\"cache_implementation\":\"hybrid\""},
        {"gpt_neox", ",\"rope_theta\":10000,\"partial_rotary_factor\":0.25"},
        {"gpt_oss", ",\"experts_per_token\":4,\"initial_context_length\":4096"},
        {"llama", ",\"rope_interleaved\":false,\"is_llama_config\":true,\"use_sliding_window\":false"},
        {"mistral", ",\"attention_bias\":false,\"mlp_bias\":false"},
        {"bloom", ",\"n_inner\":null,\"offset_alibi\":100,\"n_embed\":2048"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct accel_decoder_config with, without;
        struct accel_error error;

        if (parse(cases[i].type, cases[i].more, &with, &error) != ACCEL_OK ||
            parse(cases[i].type, "", &without, &error) != ACCEL_OK)
            fail_msg("%s%s: %s", cases[i].type, cases[i].more, error.text);
        if (!same_config(&with, &without))
            fail_msg("%s%s: read", cases[i].type, cases[i].more);
        accel_decoder_config_free(&with);
        accel_decoder_config_free(&without);
    }
}

static bool is_without_effect(const char *key)
{
    for (size_t i = 0; i < sizeof(without_effect) / sizeof(without_effect[0]); i++)
        if (strcmp(without_effect[i].key, key) == 0)
            return true;
    return false;
}

/* No family reads a key of the list, whatever its value. */
static void keys_without_effect_are_not_read(void **state)
{
    const struct model_family *family;

    (void)state;
    for (size_t f = 0; (family = model_family_at(f)) != NULL; f++)
        for (size_t i = 0; i < sizeof(without_effect) / sizeof(without_effect[0]); i++) {
            assert_true(strlen(without_effect[i].reason) > 0);
            if (config_key_class(family, without_effect[i].key) != CONFIG_KEY_UNKNOWN)
                fail_msg("%s knows %s", family->architecture, without_effect[i].key);
            if (matters(family->architecture, without_effect[i].key, "{\"a\":[1]}",
                        config_key_class(family, "num_experts_per_tok") == CONFIG_KEY_READ
                            ? ",\"num_experts_per_tok\":2"
                            : ""))
                fail_msg("%s reads %s", family->architecture, without_effect[i].key);
        }
}

static void keys_of_fixtures_are_known(void **state)
{
    static const char *const fixtures[] = {
#define FIXTURE(name) name,
#include "tests/unit/family_fixtures.def"
#undef FIXTURE
    };

    (void)state;
    for (size_t i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++) {
        const struct model_family *family;
        struct accel_error error = {0};
        char folder[4096], path[4200];
        const char *key;
        json_t *root, *value;

        snprintf(path, sizeof(path), "%s/config.json", shared_path(folder, fixtures[i]));
        root = json_load_file(path, 0, NULL);
        assert_non_null(root);
        assert_int_equal(
            model_family_find(path, json_string_value(json_object_get(root, "model_type")), &family, &error), ACCEL_OK);
        json_object_foreach(root, key, value)
        {
            const enum config_key_class class = config_key_class(family, key);

            if (class == CONFIG_KEY_UNKNOWN && !is_without_effect(key))
                fail_msg("%s: no family reads %s, which is not in the list of keys without effect", fixtures[i], key);
        }
        json_decref(root);
    }
}

/* Command R states the length that it was trained for beside its positions; in other families the key means nothing. */
static void trained_length(void **state)
{
    struct accel_decoder_config config;
    struct accel_error error;

    (void)state;
    assert_int_equal(parse("cohere", ",\"model_max_length\":131072", &config, &error), ACCEL_OK);
    assert_int_equal(config.context, 131072);
    accel_decoder_config_free(&config);
    assert_int_equal(parse("cohere", ",\"model_max_length\":0", &config, &error), ACCEL_E_CORRUPT);
    assert_non_null(strstr(error.text, "model_max_length is 0"));
    assert_int_equal(parse("llama", ",\"model_max_length\":131072", &config, &error), ACCEL_OK);
    assert_int_equal(config.context, 2048);
    accel_decoder_config_free(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trained_length),
        cmocka_unit_test(absent_keys_have_the_defaults_of_the_class),
        cmocka_unit_test(absent_activations_are_those_of_the_class),
        cmocka_unit_test(malformed_values_are_refused_by_name),
        cmocka_unit_test(layer_types_agree_or_are_refused),
        cmocka_unit_test(keys_of_published_files_are_accepted),
        cmocka_unit_test(keys_without_effect_are_not_read),
        cmocka_unit_test(keys_of_fixtures_are_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
