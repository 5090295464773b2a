/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors: every one of the folder gives the official number of weights, and keys and values of the size that the
 * shapes of the model cards give. */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include <accel/model/describe.h>
#include <accel/profile.h>

#include "tests/unit/format_support.h"

/* Numbers from model cards and papers, not from our files. `kv` is bytes of K and V for a token in f16. */
static const struct {
    const char *name;
    uint64_t parameters;
    uint64_t kv;
    const char *kind;
    const char *components; /* name=parameters */
} known[] = {
    {"llama-7b", 6738415616, 524288, "generation", "language=6738415616"},
    {"llama-2-7b", 6738415616, 524288, "generation", "language=6738415616"},
    {"llama-2-13b", 13015864320, 819200, "generation", "language=13015864320"},
    {"llama-2-70b", 68976648192, 327680, "generation", "language=68976648192"},
    {"llama-3-8b", 8030261248, 131072, "generation", "language=8030261248"},
    {"tinyllama-1.1b", 1100048384, 22528, "generation", "language=1100048384"},
    {"smollm2-135m", 134515008, 23040, "generation", "language=134515008"},
    {"stories260k", 260032, 640, "generation", "language=260032"},
    {"mistral-7b", 7241732096, 131072, "generation", "language=7241732096"},
    {"qwen2-7b", 7615616512, 57344, "generation", "language=7615616512"},
    {"gemma-2b", 2506172416, 18432, "generation", "language=2506172416"},
    {"gemma-7b", 8537680896, 458752, "generation", "language=8537680896"},
    {"phi-2", 2779683840, 327680, "generation", "language=2779683840"},
    {"falcon-7b", 6921720704, 8192, "generation", "language=6921720704"},
    {"gpt2", 124439808, 36864, "generation", "language=124439808"},
    {"opt-125m", 125239296, 36864, "generation", "language=125239296"},
    {"gemma-2-2b", 2614341888, 106496, "generation", "language=2614341888"},
    {"gemma-3-270m", 268098176, 18432, "generation", "language=268098176"},
    {"gemma-3-1b", 999885952, 26624, "generation", "language=999885952"},
    {"phi-3-mini", 3821079552, 393216, "generation", "language=3821079552"},
    {"phi-4", 14659507200, 204800, "generation", "language=14659507200"},
    {"phi-4-mini", 3836021760, 131072, "generation", "language=3836021760"},
    {"pythia-1b", 1011781632, 131072, "generation", "language=1011781632"},
    {"gpt-neox-20b", 20554567680, 1081344, "generation", "language=20554567680"},
    {"bloom-560m", 559214592, 98304, "generation", "language=559214592"},
    {"bloom-7b1", 7069016064, 491520, "generation", "language=7069016064"},
    {"mpt-7b", 6649286656, 524288, "generation", "language=6649286656"},
    {"starcoder2-3b", 3030371328, 30720, "generation", "language=3030371328"},
    {"stablelm-2-1.6b", 1644515328, 196608, "generation", "language=1644515328"},
    {"stablelm-3b", 2795443200, 327680, "generation", "language=2795443200"},
    {"olmo-2-1b", 1484916736, 131072, "generation", "language=1484916736"},
    {"olmo-2-7b", 7298617344, 524288, "generation", "language=7298617344"},
    {"command-r", 34980831232, 1310720, "generation", "language=34980831232"},
    {"aya-23-8b", 8028033024, 131072, "generation", "language=8028033024"},
    {"granite-3.1-2b", 2533531648, 81920, "generation", "language=2533531648"},
    {"granite-3.1-8b", 8170848256, 163840, "generation", "language=8170848256"},
    {"smollm3-3b", 3075098624, 73728, "generation", "language=3075098624"},
    {"glm-4-9b", 9399951360, 40960, "generation", "language=9399951360"},
    {"glm-4-9b-0414", 9400279040, 40960, "generation", "language=9400279040"},
    {"qwen3-0.6b", 596049920, 114688, "generation", "language=596049920"},
    {"qwen3-8b", 8190735360, 147456, "generation", "language=8190735360"},
    {"mixtral-8x7b", 46702792704, 131072, "generation", "language=46702792704"},
    {"qwen1.5-moe-a2.7b", 14315784192, 196608, "generation", "language=14315784192"},
    {"qwen3-30b-a3b", 30532122624, 98304, "generation", "language=30532122624"},
    {"olmoe-1b-7b", 6919161856, 131072, "generation", "language=6919161856"},
    {"gpt-oss-20b", 20914757184, 49152, "generation", "language=20914757184"},
    {"gpt-oss-120b", 116829156672, 73728, "generation", "language=116829156672"},
    {"deepseek-v2-lite", 15706484224, 276480, "generation", "language=15706484224"},
    {"deepseek-v2", 235741434880, 4915200, "generation", "language=235741434880"},
    {"llama-3.2-1b", 1235814400, 32768, "generation", "language=1235814400"},
    {"bert-base-uncased", 109482240, 0, "embedding", "text=109482240"},
    {"bert-tiny", 4385920, 0, "embedding", "text=4385920"},
    {"minilm", 22713216, 0, "embedding", "text=22713216"},
    {"roberta-base", 124645632, 0, "embedding", "text=124645632"},
    {"t5-base", 222903552, 36864, "encoder-decoder", "text=109628544 decoder=113275008"},
    {"t5-small", 60506624, 12288, "encoder-decoder", "text=35330816 decoder=25175808"},
    {"vit-base", 86567656, 0, "vision", "vision=86567656"},
    {"resnet-50", 25557032, 0, "vision", "vision=25557032"},
    {"convnext-tiny", 28589128, 0, "vision", "vision=28589128"},
    {"detr-resnet-50", 41577888, 0, "vision", "vision=31923008 decoder=9654880"},
    {"clip-vit-base-patch32", 151277313, 0, "multimodal", "text=63428096 vision=87849216 projector=1"},
    {"xclip", 196585729, 0, "multimodal", "text=63428096 vision=123303168 projector=9854465"},
    {"blip-captioning", 247414076, 36864, "multimodal", "vision=86090496 decoder=161323580"},
    {"blip2-opt-2.7b", 3744679936, 327680, "multimodal", "language=2651596800 vision=985952256 projector=107130880"},
    {"llava-1.5-7b", 7063427072, 524288, "multimodal", "language=6738939904 vision=303507456 projector=20979712"},
    {"llava-next", 7566747648, 131072, "multimodal", "language=7242256384 vision=303507456 projector=20983808"},
    {"whisper-tiny", 37760640, 6144, "audio", "audio=8208384 decoder=29552256"},
    {"whisper-base", 72593920, 12288, "audio", "audio=20590592 decoder=52003328"},
    {"whisper-small", 241734912, 36864, "audio", "audio=88154112 decoder=153580800"},
    {"wav2vec2-base", 94371712, 0, "audio", "audio=94371712"},
    {"wav2vec2-base-960h", 94396320, 0, "audio", "audio=94396320"},
    {"clap", 153492890, 0, "audio-multimodal", "text=125302016 audio=28190872 projector=2"},
};
enum { KNOWN = sizeof(known) / sizeof(known[0]) };

static struct accel_context *open_context(const char *profiles)
{
    struct accel_context_options options = {.size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS};
    struct accel_context *context = NULL;

    options.profile_path = profiles;
    assert_int_equal(accel_context_create(&options, &context, NULL), ACCEL_OK);
    return context;
}

static struct accel_model_description *describe(struct accel_context *context, const char *name)
{
    struct accel_model_description *description = NULL;
    struct accel_error error = {0};

    if (accel_model_describe(context, name, &description, &error) != ACCEL_OK)
        fail_msg("%s: %s", name, error.text);
    assert_int_equal(error.code, ACCEL_OK);
    return description;
}

static uint64_t cached_bytes(const struct accel_sketch *shapes)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < shapes->component_count; i++) {
        const struct accel_sketch_component *c = &shapes->components[i];

        if (c->cached)
            bytes += 2ull * c->layers * c->kv_heads * (c->head_size + c->value_size);
    }
    return bytes;
}

/* "name=parameters" of every component, in their order. */
static void write_sums(const struct accel_sketch *shapes, char *out, size_t bytes)
{
    size_t used = 0;

    *out = 0;
    for (uint32_t i = 0; i < shapes->component_count; i++) {
        uint64_t sum = 0;

        for (uint32_t w = 0; w < shapes->weight_count; w++)
            if (strcmp(shapes->weights[w].component, shapes->components[i].name) == 0)
                sum += shapes->weights[w].rows * shapes->weights[w].columns;
        used += (size_t)snprintf(out + used, bytes - used, "%s%s=%" PRIu64, i == 0 ? "" : " ",
                                 shapes->components[i].name, sum);
    }
}

static void check_weights(const struct accel_model_description *description, uint64_t parameters)
{
    static const char *const roles[] = {"embedding", "attention.q", "attention.k", "attention.v", "attention.o",
                                        "ffn.up",    "ffn.gate",    "ffn.down",    "head",        "norm",
                                        "conv",      "other",       "ffn.router"};
    const struct accel_sketch *shapes = accel_model_description_sketch(description);
    uint64_t sum = 0;

    for (uint32_t w = 0; w < shapes->weight_count; w++) {
        const struct accel_sketch_weight *weight = &shapes->weights[w];
        uint32_t role = 0, component = 0;

        assert_int_equal(weight->size, sizeof(*weight));
        while (role < 13 && strcmp(weight->role, roles[role]) != 0)
            role++;
        assert_in_range(role, 0, 12);
        while (component < shapes->component_count &&
               strcmp(weight->component, shapes->components[component].name) != 0)
            component++;
        assert_true(component < shapes->component_count);
        assert_true(weight->layer == ACCEL_NO_LAYER || weight->layer < shapes->components[component].layers);
        for (uint32_t other = w + 1; other < shapes->weight_count && other < w + 40; other++)
            assert_string_not_equal(weight->name, shapes->weights[other].name);
        sum += weight->rows * weight->columns;
    }
    assert_int_equal(sum, parameters);
}

static void parameters_and_caches(void **state)
{
    char profiles[4096], sums[512];
    struct accel_context *context = open_context(source_path(profiles, "profiles"));

    (void)state;
    for (size_t i = 0; i < KNOWN; i++) {
        struct accel_model_description *d = describe(context, known[i].name);
        const struct accel_sketch *shapes = accel_model_description_sketch(d);

        print_message("%s\n", known[i].name);
        check_weights(d, known[i].parameters);
        assert_int_equal(strtoull(accel_model_description_fact(d, "model.parameters"), NULL, 10), known[i].parameters);
        assert_int_equal(cached_bytes(shapes), known[i].kv);
        assert_string_equal(accel_model_description_fact(d, "model.kind"), known[i].kind);
        assert_string_equal(accel_model_description_fact(d, "model.name"), known[i].name);
        assert_non_null(accel_model_description_fact(d, "model.source"));
        assert_int_equal(accel_model_description_is_file(d), 0);
        assert_non_null(strstr(shapes->origin, known[i].name));
        write_sums(shapes, sums, sizeof(sums));
        assert_string_equal(sums, known[i].components);
        accel_model_description_free(d);
    }
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
}

/* The published checkpoints of gpt-oss have experts in MXFP4 and all other matrices in BF16; of no other model is a
 * type stated. */
static void published_types(void **state)
{
    static const char *const names[] = {"gpt-oss-20b", "gpt-oss-120b", "mixtral-8x7b", "llama-2-7b"};
    char profiles[4096];
    struct accel_context *context = open_context(source_path(profiles, "profiles"));

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct accel_model_description *d = describe(context, names[i]);
        const struct accel_sketch *shapes = accel_model_description_sketch(d);
        uint32_t mxfp4 = 0;

        for (uint32_t w = 0; w < shapes->weight_count; w++) {
            const struct accel_sketch_weight *weight = &shapes->weights[w];

            if (weight->type == ACCEL_TYPE_NONE)
                continue;
            mxfp4++;
            assert_int_equal(weight->type, ACCEL_MXFP4);
            assert_true(strstr(weight->name, "experts") != NULL && strncmp(weight->role, "ffn.", 4) == 0);
        }
        assert_int_equal(mxfp4, i < 2 ? 3 * shapes->components[0].layers : 0);
        accel_model_description_free(d);
    }
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
}

/* Weights that a step of one token reads: all but the experts that are not chosen. Model cards round them: Mixtral
 * has 12.9 billion active weights, Qwen3 30B A3B 3.3, Qwen1.5 MoE A2.7B 2.7, OLMoE 1.3. */
static void active_weights(void **state)
{
    static const struct {
        const char *name;
        uint64_t unread; /* layers * 3 * hidden * width of an expert * experts that are not chosen */
    } rows[] = {
        {"mixtral-8x7b", 32ull * 3 * 4096 * 14336 * 6},     {"qwen3-30b-a3b", 48ull * 3 * 2048 * 768 * 120},
        {"olmoe-1b-7b", 16ull * 3 * 2048 * 1024 * 56},      {"qwen1.5-moe-a2.7b", 24ull * 3 * 2048 * 1408 * 56},
        {"deepseek-v2-lite", 26ull * 3 * 2048 * 1408 * 58}, {"llama-2-7b", 0},
    };
    char profiles[4096];
    struct accel_context *context = open_context(source_path(profiles, "profiles"));

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct accel_model_description *d = describe(context, rows[i].name);
        const struct accel_sketch *shapes = accel_model_description_sketch(d);
        uint64_t all = 0, read = 0;

        for (uint32_t w = 0; w < shapes->weight_count; w++) {
            all += shapes->weights[w].rows * shapes->weights[w].columns;
            read += shapes->step_rows[w] * shapes->weights[w].columns;
        }
        print_message("%s: %.1f billion active\n", rows[i].name, (double)read / 1e9);
        assert_int_equal(all - read, rows[i].unread);
        accel_model_description_free(d);
    }
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
}

struct listing {
    char last[64];
    uint32_t count;
};

static int32_t count_names(void *data, const struct accel_model_fact *fact)
{
    struct listing *listing = data;
    size_t at = 0;

    assert_int_equal(fact->size, sizeof(*fact));
    if (strcmp(listing->last, fact->model) == 0)
        return ACCEL_OK;
    while (at < KNOWN && strcmp(known[at].name, fact->model) != 0)
        at++;
    if (at == KNOWN)
        fail_msg("%s is described and not in the table of this test", fact->model);
    listing->count++;
    snprintf(listing->last, sizeof(listing->last), "%s", fact->model);
    return ACCEL_OK;
}

/* Facts that only a table knows would never be asked for. */
static void check_facts(const struct accel_model_description *d)
{
    uint32_t count;
    const struct accel_named_value *facts = accel_model_description_facts(d, &count);

    assert_true(count > 8);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = 0;

        while (row < accel_fact_row_count() && strcmp(accel_fact_row_get(row)->name, facts[i].key) != 0)
            row++;
        if (row == accel_fact_row_count())
            fail_msg("the fact %s is not in the table of facts", facts[i].key);
        assert_non_null(facts[i].origin);
    }
}

static void table_is_complete(void **state)
{
    char profiles[4096];
    struct accel_context *context = open_context(source_path(profiles, "profiles"));
    struct listing listing = {"", 0};

    (void)state;
    assert_int_equal(accel_model_facts_read(context, NULL, count_names, &listing, NULL), ACCEL_OK);
    assert_int_equal(listing.count, KNOWN);
    for (size_t i = 0; i < KNOWN; i++) {
        struct accel_model_description *d = describe(context, known[i].name);

        check_facts(d);
        accel_model_description_free(d);
    }
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
}

static void shapes_of_components(void **state)
{
    char profiles[4096];
    struct accel_context *context = open_context(source_path(profiles, "profiles"));
    struct accel_model_description *d = describe(context, "llava-1.5-7b");

    (void)state;
    assert_string_equal(accel_model_description_fact(d, "model.layers"), "32");
    assert_string_equal(accel_model_description_fact(d, "language.layers"), "32");
    assert_string_equal(accel_model_description_fact(d, "vision.layers"), "24");
    assert_string_equal(accel_model_description_fact(d, "vision.tokens"), "577");
    assert_string_equal(accel_model_description_fact(d, "vision.parameters"), "303507456");
    assert_string_equal(accel_model_description_fact(d, "model.context"), "4096");
    assert_null(accel_model_description_fact(d, "audio.layers"));
    assert_string_equal(accel_model_description_path(d), "llava-1.5-7b");
    accel_model_description_free(d);
    d = describe(context, "resnet-50");
    assert_string_equal(accel_model_description_fact(d, "model.layers"), "16");
    assert_string_equal(accel_model_description_fact(d, "model.hidden"), "2048");
    accel_model_description_free(d);
    d = describe(context, "gemma-2b");
    assert_string_equal(accel_model_description_fact(d, "model.head_size"), "256");
    accel_model_description_free(d);
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
}

/* ---- descriptors and config.json ---- */

/* Keys of config.json beside those that all decoders read: of experts, their number of a token, of biases. */
static const struct {
    const char *family, *experts, *biases;
} spellings[] = {
    {"mixtral", "num_local_experts", NULL},    {"qwen2_moe", "num_experts", "qkv_bias"},
    {"qwen3_moe", "num_experts", NULL},        {"olmoe", "num_experts", NULL},
    {"gpt_oss", "num_local_experts", NULL},    {"glm", NULL, "attention_bias"},
    {"glm4", NULL, "attention_bias"},          {"gpt_neox", NULL, "attention_bias"},
    {"starcoder2", NULL, "use_bias"},          {"stablelm", NULL, "use_qkv_bias"},
    {"deepseek_v2", "n_routed_experts", NULL},
};

static uint64_t number(const struct accel_model_description *d, const char *key)
{
    const char *value = accel_model_description_fact(d, key);

    return value == NULL ? 0 : strtoull(value, NULL, 10);
}

static void append(char *text, size_t bytes, const char *key, uint64_t value)
{
    const size_t used = strlen(text);

    if (value != 0)
        snprintf(text + used, bytes - used, ", \"%s\": %" PRIu64, key, value);
}

/* Writes latent attention: heads have a part without and one with rotary positions. */
static void append_latent(const struct accel_model_description *d, char *text, size_t bytes)
{
    if (number(d, "model.kv_rank") == 0)
        return;
    append(text, bytes, "kv_lora_rank", number(d, "model.kv_rank"));
    append(text, bytes, "qk_rope_head_dim", number(d, "model.rotary_size"));
    append(text, bytes, "qk_nope_head_dim", number(d, "model.head_size") - number(d, "model.rotary_size"));
    append(text, bytes, "v_head_dim", number(d, "model.value_size"));
    append(text, bytes, "n_shared_experts", number(d, "model.shared_ffn") / number(d, "model.expert_ffn"));
    append(text, bytes, "first_k_dense_replace", number(d, "model.dense_layers"));
    append(text, bytes, "q_lora_rank", number(d, "model.query_rank"));
    if (number(d, "model.query_rank") == 0)
        strncat(text, ", \"q_lora_rank\": null", bytes - strlen(text) - 1);
}

/* Writes the config.json that a descriptor stands for. */
static void write_config(const struct accel_model_description *d, const char *path)
{
    static const struct {
        const char *fact, *key;
    } rows[] = {{"layers", "num_hidden_layers"},     {"hidden", "hidden_size"},
                {"ffn", "intermediate_size"},        {"heads", "num_attention_heads"},
                {"kv_heads", "num_key_value_heads"}, {"vocabulary", "vocab_size"},
                {"window", "sliding_window"},        {"context", "max_position_embeddings"}};
    const char *family = accel_model_description_fact(d, "model.family");
    char text[2048], key[64];

    snprintf(text, sizeof(text), "{\"model_type\": \"%s\", \"tie_word_embeddings\": %s", family,
             accel_model_description_fact(d, "model.tied"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(key, sizeof(key), "model.%s", rows[i].fact);
        append(text, sizeof(text), rows[i].key, number(d, key));
    }
    if (number(d, "model.kv_rank") == 0)
        append(text, sizeof(text), "head_dim", number(d, "model.head_size"));
    append_latent(d, text, sizeof(text));
    for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
        if (strcmp(spellings[i].family, family) != 0)
            continue;
        if (spellings[i].experts != NULL) {
            append(text, sizeof(text), spellings[i].experts, number(d, "model.experts"));
            append(text, sizeof(text), "num_experts_per_tok", number(d, "model.experts_used"));
            if (strcmp(family, "mixtral") != 0 && strcmp(family, "gpt_oss") != 0)
                append(text, sizeof(text), "moe_intermediate_size", number(d, "model.expert_ffn"));
        }
        if (spellings[i].biases != NULL) {
            const bool has = accel_model_description_fact(d, "model.biases") != NULL;

            snprintf(key, sizeof(key), ", \"%s\": %s", spellings[i].biases, has ? "true" : "false");
            strncat(text, key, sizeof(text) - strlen(text) - 1);
        }
    }
    if (number(d, "model.shared_ffn") != 0 && number(d, "model.kv_rank") == 0)
        append(text, sizeof(text), "shared_expert_intermediate_size", number(d, "model.shared_ffn"));
    if (accel_model_description_fact(d, "model.expert_type") != NULL)
        strncat(text, ", \"quantization_config\": {\"quant_method\": \"mxfp4\"}", sizeof(text) - strlen(text) - 1);
    strncat(text, "}\n", sizeof(text) - strlen(text) - 1);
    write_bytes(path, text, strlen(text));
}

static void compare_fact(const struct accel_model_description *one, const struct accel_model_description *other,
                         const char *key)
{
    const char *a = accel_model_description_fact(one, key), *b = accel_model_description_fact(other, key);

    if ((a == NULL) != (b == NULL) || (a != NULL && number(one, key) != number(other, key)))
        fail_msg("%s: %s is %s by name and %s by config.json", accel_model_description_path(one), key,
                 a == NULL ? "unknown" : a, b == NULL ? "unknown" : b);
}

/* A decoder by its name and by its config.json alone, whose family lists the weights: the same shapes, keys and values,
 * windows and weights. */
static void names_and_configs(void **state)
{
    static const char *const keys[] = {"model.layers",        "model.heads",      "model.kv_heads", "model.head_size",
                                       "model.value_size",    "model.parameters", "model.context",  "model.window",
                                       "model.window_layers", "model.vocabulary", "model.ffn",      "model.experts",
                                       "language.positions"};
    char profiles[4096], folder[] = "/tmp/accel-describe-XXXXXX", path[256];
    struct accel_context *context = open_context(source_path(profiles, "profiles"));
    uint32_t compared = 0;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/config.json", folder);
    for (size_t i = 0; i < KNOWN; i++) {
        struct accel_model_description *named, *config;
        const struct accel_sketch *a, *b;

        if (strcmp(known[i].kind, "generation") != 0)
            continue;
        named = describe(context, known[i].name);
        write_config(named, path);
        config = describe(context, compared % 2 == 0 ? folder : path);
        a = accel_model_description_sketch(named);
        b = accel_model_description_sketch(config);
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
            compare_fact(named, config, keys[k]);
        assert_int_equal(cached_bytes(a), cached_bytes(b));
        assert_int_equal(a->weight_count, b->weight_count);
        for (uint32_t w = 0; w < a->weight_count; w++) {
            assert_string_equal(a->weights[w].name, b->weights[w].name);
            assert_int_equal(a->weights[w].rows, b->weights[w].rows);
            assert_int_equal(a->weights[w].type, b->weights[w].type);
            assert_int_equal(a->step_rows[w], b->step_rows[w]);
        }
        assert_int_equal(accel_model_description_is_file(config), 0);
        assert_string_equal(b->origin, path);
        accel_model_description_free(named);
        accel_model_description_free(config);
        compared++;
    }
    assert_int_equal(compared, 50);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
}

/* Windows of the papers and model cards: tokens, and layers that have them. */
static void windows(void **state)
{
    static const struct {
        const char *name, *window, *layers;
    } rows[] = {{"mistral-7b", "4096", "32"}, {"gemma-2-2b", "4096", "13"}, {"gemma-3-1b", "512", "22"},
                {"gpt-oss-20b", "128", "12"}, {"phi-3-mini", "2047", "32"}, {"starcoder2-3b", "4096", "30"},
                {"llama-3-8b", NULL, NULL},   {"qwen3-8b", NULL, NULL}};
    char profiles[4096];
    struct accel_context *context = open_context(source_path(profiles, "profiles"));

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct accel_model_description *d = describe(context, rows[i].name);
        const char *window = accel_model_description_fact(d, "model.window");

        assert_int_equal(window == NULL, rows[i].window == NULL);
        assert_int_equal(number(d, "model.window"), rows[i].window == NULL ? 0 : strtoull(rows[i].window, NULL, 10));
        assert_int_equal(number(d, "model.window_layers"),
                         rows[i].layers == NULL ? 0 : strtoull(rows[i].layers, NULL, 10));
        accel_model_description_free(d);
    }
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
}

/* ---- descriptors that are wrong ---- */

static const struct {
    const char *name;
    const char *facts;
    int32_t code;
    const char *text;
} broken[] = {
    {"no-family", "  model.layers: 2\n", ACCEL_E_CORRUPT, "model.family is missing"},
    {"odd-family", "  model.family: nonesuch\n", ACCEL_E_UNSUPPORTED, "unknown family \"nonesuch\""},
    {"no-recipe", "  model.family: swin\n", ACCEL_E_UNSUPPORTED, "cannot be derived from facts"},
    {"no-hidden", "  model.family: llama\n  model.layers: 2\n", ACCEL_E_CORRUPT, "language.hidden is missing"},
    {"odd-type", "  model.family: gpt_oss\n  model.expert_type: mxfp5\n", ACCEL_E_CORRUPT,
     "odd-type.yaml:4: model.expert_type is \"mxfp5\", which is no type of weights"},
    {"a-word", "  model.family: llama\n  model.layers: many\n", ACCEL_E_CORRUPT, "a-word.yaml:4: model.layers"},
    {"no-rotary",
     "  model.family: deepseek_v2\n  model.layers: 1\n  model.hidden: 8\n  model.ffn: 8\n  model.heads: 2\n"
     "  model.vocabulary: 2\n  model.kv_rank: 4\n  model.head_size: 4\n  model.rotary_size: 4\n",
     ACCEL_E_CORRUPT, "language.rotary_size is missing"},
    {"too-many",
     "  model.family: gpt2\n  model.layers: 99999\n  model.hidden: 2\n  model.ffn: 2\n  model.heads: 1\n"
     "  model.vocabulary: 2\n  language.positions: 2\n",
     ACCEL_E_LIMIT, "more than 4096 layers"},
    {"too-wide",
     "  model.family: gpt2\n  model.layers: 1\n  model.hidden: 99999999999\n  model.ffn: 2\n  model.heads: 1\n"
     "  model.vocabulary: 2\n  language.positions: 2\n",
     ACCEL_E_CORRUPT, "too-wide.yaml:5: model.hidden is \"99999999999\", which is no size of at most 16777216"},
    {"zero-window", "  model.family: mistral\n  model.layers: 1\n  model.window: 0tok\n", ACCEL_E_CORRUPT,
     "zero-window.yaml:5: model.window is \"0\", which is no number of tokens from 1 on"},
    {"more-windows", "  model.family: mistral\n  model.layers: 1\n  model.window: 4tok\n  model.window_layers: 2\n",
     ACCEL_E_CORRUPT,
     "more-windows.yaml:6: model.window_layers is \"2\", which is no number of at most the layers of the model"},
    {"wrong-sum",
     "  model.family: gpt2\n  model.layers: 1\n  model.hidden: 4\n  model.ffn: 2\n  model.heads: 1\n"
     "  model.vocabulary: 2\n  language.positions: 2\n  model.tied: true\n  model.parameters: 7\n",
     ACCEL_E_CORRUPT, "model.parameters is 7, but the shapes have 142"},
    {"keys-more", "  model.family: llama\n  model.heads: 4\n  model.kv_heads: 8\n", ACCEL_E_CORRUPT,
     "keys-more.yaml:5: model.kv_heads: 8 heads of keys do not divide 4"},
    {"keys-odd", "  model.family: llama\n  model.heads: 8\n  model.kv_heads: 3\n", ACCEL_E_CORRUPT,
     "keys-odd.yaml:5: model.kv_heads: 3 heads of keys do not divide 8"},
    {"odd-heads", "  model.family: llama\n  model.heads: 7\n  model.hidden: 64\n", ACCEL_E_CORRUPT,
     "odd-heads.yaml:4: model.heads: 7 heads do not divide a width of 64"},
    {"no-window",
     "  model.family: llama\n  model.layers: 1\n  model.hidden: 8\n  model.ffn: 8\n  model.heads: 2\n"
     "  model.vocabulary: 2\n  model.window: 4tok\n",
     ACCEL_E_CORRUPT, "model.window is stated, and no pattern of llama has it"},
    {"long-list", "  model.family: resnet\n  vision.stages: 1 1 1 1 1 1 1 1 1\n", ACCEL_E_CORRUPT, "up to eight"},
    {"two-lists", "  model.family: resnet\n  vision.stem: 4\n  vision.stages: 1 1\n  vision.widths: 8\n",
     ACCEL_E_CORRUPT, "differ in length"},
};

static void broken_descriptors(void **state)
{
    char folder[] = "/tmp/accel-describe-XXXXXX", path[256], text[1024];
    struct accel_context *context;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/base.yaml", folder);
    write_bytes(path, "accel-profile: 1\n", 17);
    snprintf(path, sizeof(path), "%s/models", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    context = open_context(folder);
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct accel_model_description *d = (void *)1;
        struct accel_error error = {0};

        snprintf(path, sizeof(path), "%s/models/%s.yaml", folder, broken[i].name);
        snprintf(text, sizeof(text), "accel-profile: 1\nfacts:\n%s", broken[i].facts);
        write_bytes(path, text, strlen(text));
        assert_int_equal(accel_model_describe(context, broken[i].name, &d, &error), broken[i].code);
        assert_null(d);
        if (strstr(error.text, broken[i].text) == NULL)
            fail_msg("%s: \"%s\" is not in: %s", broken[i].name, broken[i].text, error.text);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
    snprintf(path, sizeof(path), "%s/base.yaml", folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/models", folder);
    rmdir(path);
    rmdir(folder);
}

/* ---- facts of descriptors through the library ---- */

struct heard {
    char text[1024];
    int32_t answer;
};

static int32_t hear(void *data, const struct accel_model_fact *fact)
{
    struct heard *heard = data;
    size_t used = strlen(heard->text);

    snprintf(heard->text + used, sizeof(heard->text) - used, "%s:%s=%s%s(%s) ", fact->model, fact->key, fact->value,
             fact->unit, fact->reason);
    return heard->answer;
}

static void write_profile(const char *folder, const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s.yaml", folder, name);
    write_bytes(path, text, strlen(text));
}

static void facts_of_files(void **state)
{
    char folder[] = "/tmp/accel-describe-XXXXXX", path[256];
    struct heard heard = {"", ACCEL_OK};
    struct accel_error error = {0};
    struct accel_context *context;

    (void)state;
    assert_non_null(mkdtemp(folder));
    write_profile(folder, "base", "accel-profile: 1\n");
    snprintf(path, sizeof(path), "%s/models", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    write_profile(path, "a",
                  "accel-profile: 1\nfacts:\n  model.layers: {value: 2, because: card}\n  model.context: 8tok\n");
    write_profile(path, "b", "accel-profile: 1\ninherits: a\nfacts:\n  model.layers: 3\n");
    write_profile(path, "c", "accel-profile: 1\nfacts:\n  model.layerz: 3\n");
    context = open_context(folder);
    /* A file's own fact rules over an inherited one, and a file that is wrong is the error behind all others. */
    assert_int_equal(accel_model_facts_read(context, NULL, hear, &heard, &error), ACCEL_E_INVALID);
    assert_non_null(strstr(error.text, "c.yaml:3:3"));
    accel_error_clear(&error);
    assert_string_equal(heard.text,
                        "a:model.layers=2(card) a:model.context=8tok() b:model.context=8tok() b:model.layers=3() ");
    heard.text[0] = 0;
    assert_int_equal(accel_model_facts_read(context, "c", hear, &heard, &error), ACCEL_E_INVALID);
    assert_non_null(strstr(error.text, "c.yaml:3:3"));
    assert_non_null(strstr(error.text, "model.layers"));
    accel_error_clear(&error);
    assert_int_equal(accel_model_facts_read(context, NULL, NULL, &heard, &error), ACCEL_E_INVALID);
    accel_error_clear(&error);
    assert_int_equal(accel_model_facts_read(NULL, NULL, hear, &heard, &error), ACCEL_E_INVALID);
    accel_error_clear(&error);
    assert_int_equal(accel_model_facts_read(context, "bb", hear, &heard, &error), ACCEL_E_NOT_FOUND);
    assert_string_equal(heard.text, "");
    /* The taker ends it. */
    heard.answer = ACCEL_E_CANCELLED;
    assert_int_equal(accel_model_facts_read(context, "a", hear, &heard, NULL), ACCEL_E_CANCELLED);
    assert_string_equal(heard.text, "a:model.layers=2(card) ");
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
    for (const char *name = "abc"; *name != 0; name++) {
        snprintf(path, sizeof(path), "%s/models/%c.yaml", folder, *name);
        assert_int_equal(unlink(path), 0);
    }
    snprintf(path, sizeof(path), "%s/base.yaml", folder);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof(path), "%s/models", folder);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* A file gets no description if a descriptor that could be its own is not as it should be: rules and locks would be
 * lost. Others, of another family or with other layers than the two of the file, do not matter. */
static void damage_beside_a_file(void **state)
{
    char folder[] = "/tmp/accel-describe-XXXXXX", path[256], model[4096];
    static const char *const wrong[][2] = {
        {"facts:\n  model.layerz: 3\n", "z.yaml:3:3"},
        {"facts:\n  model.family: llama\n  model.layers: many\n", "z.yaml:4: model.layers"},
        {"facts:\n  model.layers: 02\n", "z.yaml:3: the fact model.family is missing"},
        {"facts:\n  vision.layers: 3\n  language.layers: 2\n  x: 1\n", "z.yaml:5:3"},
        {"facts:\n  model.layers: {value: 3}\n  x: 1\n", "z.yaml:3:17"},
        {"facts: {model.layers: 3, x: 1}\n", "z.yaml:2:26"},
        {"inherits: nothing\n", "z.yaml:2:11: \"inherits\""},
        {"facts:\n  model.family: llama\n", NULL},
        {"facts:\n  model.layers: 3\n", NULL},
        {"facts:\n  vision.layers: 3\n  model.layers: 4\n  x: 1\n", NULL},
        {"facts:\n  model.family: bloom\n  model.layers: 2\n  model.heads: many\n", NULL},
    };
    struct accel_context *context;

    (void)state;
    assert_non_null(mkdtemp(folder));
    write_profile(folder, "base", "accel-profile: 1\n");
    context = open_context(folder);
    source_path(model, "tests/fixtures/llama-gqa");
    snprintf(path, sizeof(path), "%s/models", folder);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]) + 4; i++) {
        size_t row = i < 4 ? 0 : i - 4;
        const char *words = i < 2 ? "models: the folder cannot be read" : wrong[row][1];
        struct accel_model_description *d = NULL;
        struct accel_error error = {0};
        char text[256], file[300];

        if (i == 0)
            assert_int_equal(symlink("models", path), 0);
        else if (i == 1)
            write_bytes(path, "x", 1);
        else
            assert_int_equal(mkdir(path, 0700), 0);
        snprintf(file, sizeof(file), "%s/z.yaml", path);
        if (i == 2)
            words = NULL;
        else if (i == 3) {
            assert_int_equal(symlink("nowhere", file), 0);
            words = "z.yaml";
        } else if (i > 3) {
            snprintf(text, sizeof(text), "accel-profile: 1\n%s", wrong[row][0]);
            write_bytes(file, text, strlen(text));
        }
        if ((accel_model_describe(context, model, &d, &error) == ACCEL_OK) != (words == NULL))
            fail_msg("%zu: %s", i, error.text);
        if (words != NULL && strstr(error.text, words) == NULL)
            fail_msg("%zu: \"%s\" is not in: %s", i, words, error.text);
        accel_model_description_free(d);
        unlink(file);
        assert_int_equal(remove(path), 0);
    }
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
    snprintf(path, sizeof(path), "%s/base.yaml", folder);
    unlink(path);
    rmdir(folder);
}

static void names_that_are_none(void **state)
{
    char profiles[4096];
    struct accel_context *context = open_context(source_path(profiles, "profiles"));
    struct accel_model_description *d = NULL;
    struct accel_error error = {0};

    (void)state;
    assert_int_equal(accel_model_describe(context, "llama-2-7", &d, &error), ACCEL_E_NOT_FOUND);
    assert_non_null(strstr(error.remedy, "llama-2-7b"));
    accel_error_clear(&error);
    assert_int_equal(accel_model_describe(context, "../base", &d, &error), ACCEL_E_NOT_FOUND);
    accel_error_clear(&error);
    assert_int_equal(accel_model_describe(context, "", &d, &error), ACCEL_E_INVALID);
    accel_error_clear(&error);
    assert_int_equal(accel_model_describe(NULL, "llama-2-7b", &d, &error), ACCEL_E_NOT_FOUND);
    assert_null(d);
    accel_model_description_free(NULL);
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_and_caches), cmocka_unit_test(published_types),
        cmocka_unit_test(active_weights),        cmocka_unit_test(table_is_complete),
        cmocka_unit_test(names_and_configs),     cmocka_unit_test(windows),
        cmocka_unit_test(shapes_of_components),  cmocka_unit_test(broken_descriptors),
        cmocka_unit_test(facts_of_files),        cmocka_unit_test(names_that_are_none),
        cmocka_unit_test(damage_beside_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
