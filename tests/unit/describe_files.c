/* SPDX-License-Identifier: Apache-2.0 */
/* Files of all families are described from their headers, and recipes of families give the very tensors that
 * checkpoints of that family have. */
#include "config.h"

#include <jansson.h>
#include <sys/stat.h>

#include <accel/model/describe.h>

#include "model/describe/internal.h"
#include "tests/unit/format_support.h"

static struct accel_context *open_context(void)
{
    char profiles[4096];
    struct accel_context_options options = {.size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS};
    struct accel_context *context = NULL;

    options.profile_path = source_path(profiles, "profiles");
    assert_int_equal(accel_context_create(&options, &context, NULL), ACCEL_OK);
    return context;
}

static struct accel_model_description *describe(struct accel_context *context, const char *path)
{
    struct accel_model_description *description = NULL;
    struct accel_error error = {0};

    if (accel_model_describe(context, path, &description, &error) != ACCEL_OK)
        fail_msg("%s: %s", path, error.text);
    assert_int_equal(accel_model_description_is_file(description), 1);
    return description;
}

static void check_fact(const struct accel_model_description *d, const char *key, const char *value)
{
    const char *found = accel_model_description_fact(d, key);

    if (found == NULL || strcmp(found, value) != 0)
        fail_msg("%s: %s is %s, not %s", accel_model_description_path(d), key, found == NULL ? "unknown" : found,
                 value);
}

/* ---- recipes against checkpoints ---- */

/* Tables of numbers and running means are in files, and no weights. */
static bool is_learned(const struct accel_sketch_weight *weight)
{
    return weight->type != ACCEL_I64 && strstr(weight->name, "running_") == NULL;
}

static const struct accel_sketch_weight *find(const struct accel_sketch *shapes, const char *name)
{
    for (uint32_t i = 0; i < shapes->weight_count; i++)
        if (strcmp(shapes->weights[i].name, name) == 0)
            return &shapes->weights[i];
    return NULL;
}

static void compare(const struct accel_sketch_weight *made, const struct accel_sketch_weight *real)
{
    if (real == NULL)
        fail_msg("the recipe has %s, the file has not", made->name);
    if (made->rows * made->columns != real->rows * real->columns || made->layer != real->layer ||
        strcmp(made->component, real->component) != 0 || strcmp(made->role, real->role) != 0)
        fail_msg("%s: the recipe has %llu x %llu, layer %d of %s as %s; the file %llu x %llu, layer %d of %s as %s",
                 made->name, (unsigned long long)made->rows, (unsigned long long)made->columns, (int)made->layer,
                 made->component, made->role, (unsigned long long)real->rows, (unsigned long long)real->columns,
                 (int)real->layer, real->component, real->role);
    if (made->rows != real->rows)
        fail_msg("%s: the recipe has %llu rows, the file %llu", made->name, (unsigned long long)made->rows,
                 (unsigned long long)real->rows);
}

static void check_recipe(struct accel_context *context, const char *path)
{
    struct accel_model_description *file = describe(context, path), *made = calloc(1, sizeof(*made));
    const struct accel_sketch *shapes = accel_model_description_sketch(file);
    struct accel_error error = {0};
    uint32_t learned = 0;

    assert_non_null(made);
    made->path = made->origin = file->path;
    made->family = file->family;
    made->traits = file->traits;
    memcpy(made->shapes, file->shapes, sizeof(made->shapes));
    if (describe_recipe(made, &error) != ACCEL_OK || describe_weight(made, shapes->weights, NULL) != ACCEL_OK)
        fail_msg("%s", error.text);
    made->model_shapes.weights = made->weights;
    made->model_shapes.weight_count--;
    for (uint32_t i = 0; i < made->model_shapes.weight_count; i++)
        compare(&made->weights[i], find(shapes, made->weights[i].name));
    for (uint32_t i = 0; i < shapes->weight_count; i++) {
        learned += is_learned(&shapes->weights[i]);
        if (is_learned(&shapes->weights[i]) && find(&made->model_shapes, shapes->weights[i].name) == NULL)
            fail_msg("the file has %s, the recipe has not", shapes->weights[i].name);
    }
    assert_int_equal(learned, made->model_shapes.weight_count);
    model_pool_free(&made->pool);
    free(made);
    accel_model_description_free(file);
}

/* Calls `check` with each model; `place` writes the path of a name. */
static void check_all(const char *const *names, size_t count, const char *(*place)(char *, const char *),
                      void (*check)(struct accel_context *, const char *))
{
    struct accel_context *context;
    char path[4096];

    place(path, ""); /* skips the test if the folder is not there */
    context = open_context();
    for (size_t i = 0; i < count; i++) {
        print_message("%s\n", names[i]);
        check(context, place(path, names[i]));
    }
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
}

static void recipes_are_right(void **state)
{
    static const char *const names[] = {
        "llama-mha",    "llama-wide",        "mistral-window", "qwen2-base",   "gpt2-base",     "gpt2-large-ish",
        "opt-base",     "bert-base",         "roberta-base",   "minilm-like",  "t5-base",       "vit-base",
        "vit-rect-pos", "clip-base",         "xclip-base",     "blip-caption", "blip2-opt",     "llava-base",
        "detr-tiny",    "whisper-tiny-like", "wav2vec2-base",  "clap-base",    "convnext-tiny", "resnet-bottleneck",
    };

    (void)state;
    check_all(names, sizeof(names) / sizeof(names[0]), shared_path, check_recipe);
}

/* The same for files that every clone has. */
static void recipes_of_clones(void **state)
{
    static const char *const names[] = {"tests/fixtures/llama-gqa", "tests/fixtures/mistral-window",
                                        "tests/fixtures/qwen2-tied", "samples/stories260K/hf"};

    (void)state;
    check_all(names, sizeof(names) / sizeof(names[0]), source_path, check_recipe);
}

/* ---- config.json alone ---- */

/* Compares a folder with its config.json in a folder without weights: what the family lists is what the file has. */
static void compare_config(struct accel_context *context, const char *path)
{
    static const char *const keys[] = {"model.family",   "model.layers",     "model.hidden",     "model.heads",
                                       "model.kv_heads", "model.head_size",  "model.value_size", "model.vocabulary",
                                       "model.context",  "model.parameters", "model.tied"};
    char folder[] = "/tmp/accel-describe-XXXXXX", from[4200], to[64];
    struct accel_model_description *file = describe(context, path), *config = NULL;
    struct accel_error error = {0};
    unsigned char *text;
    uint64_t length;

    assert_non_null(mkdtemp(folder));
    snprintf(from, sizeof(from), "%s/config.json", path);
    snprintf(to, sizeof(to), "%s/config.json", folder);
    text = read_bytes(from, &length);
    write_bytes(to, text, (size_t)length);
    free(text);
    if (accel_model_describe(context, folder, &config, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    assert_int_equal(accel_model_description_is_file(config), 0);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *has = accel_model_description_fact(file, keys[i]);

        if (has != NULL)
            check_fact(config, keys[i], has);
    }
    accel_model_description_free(config);
    accel_model_description_free(file);
    assert_int_equal(unlink(to), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void configs_of_clones(void **state)
{
    static const char *const names[] = {"tests/fixtures/llama-gqa", "tests/fixtures/mistral-window",
                                        "tests/fixtures/qwen2-tied", "tests/fixtures/qwen3-base",
                                        "samples/stories260K/hf"};

    (void)state;
    check_all(names, sizeof(names) / sizeof(names[0]), source_path, compare_config);
}

static void configs_of_families(void **state)
{
    static const char *const names[] = {
#define FIXTURE(name) name,
#include "tests/unit/family_fixtures.def"
#undef FIXTURE
        "deepseek-v2-tiny",
        "deepseek-v2-lite-like",
    };

    (void)state;
    check_all(names, sizeof(names) / sizeof(names[0]), shared_path, compare_config);
}

#define LLAMA                                                                                                          \
    "{\"model_type\": \"llama\", \"num_hidden_layers\": 2, \"hidden_size\": 64, \"num_attention_heads\": 4, "          \
    "\"vocab_size\": 2, \"intermediate_size\": 64"

/* What a config.json without weights is refused for. */
static void refused_configs(void **state)
{
    static const struct {
        const char *text;
        int32_t code;
        const char *words, *remedy;
    } rows[] = {
        {"{\"model_type\": \"qwen3_next\", \"hidden_size\": 8}", ACCEL_E_UNSUPPORTED,
         "config.json: model_type: architecture \"qwen3_next\" has no implementation here",
         "near it: qwen3, qwen3_moe; "},
        {"{\"model_type\": \"bert\", \"hidden_size\": 8}", ACCEL_E_UNSUPPORTED, "architecture \"bert\"",
         "accelctl info --help lists"},
        {"{\"model_type\": \"gemma3\", \"text_config\": {\"model_type\": \"gemma3_text\", \"num_hidden_layers\": 34}, "
         "\"vision_config\": {\"num_hidden_layers\": 27}}",
         ACCEL_E_UNSUPPORTED,
         "model_type: architecture \"gemma3\" with a text_config (multimodal) has no implementation here",
         "accelctl info --help lists"},
        {"{\"hidden_size\": 8}", ACCEL_E_UNSUPPORTED, "model_type is missing", "set model_type"},
        {"[1]", ACCEL_E_CORRUPT, "is a list, not an object", ""},
        {"{\"model_type\": \"llama\"}", ACCEL_E_CORRUPT, "the key num_hidden_layers is missing", ""},
        {"{\"model_type\": \"llama\", \"num_hidden_layers\": 9999, \"hidden_size\": 64, \"num_attention_heads\": 4, "
         "\"vocab_size\": 2, \"intermediate_size\": 64, \"max_position_embeddings\": 9}",
         ACCEL_E_CORRUPT, "num_hidden_layers is 9999, allowed are 1 to 4096", ""},
        {"{\"model_type\": \"llama\", \"num_hidden_layers\": 2, \"hidden_size\": 64, \"num_attention_heads\": 4, "
         "\"vocab_size\": 2, \"intermediate_size\": 64, \"quantization_config\": {\"quant_method\": \"gptq\"}}",
         ACCEL_E_UNSUPPORTED,
         "quantization_config: quant_method is gptq: only the files of the weights show their types",
         "download the weights"},
        {LLAMA ", \"quantization_config\": {\"quant_method\": \"mxfp4\"}}", ACCEL_E_UNSUPPORTED,
         "quantization_config: quant_method is mxfp4: only the files", "download the weights"},
        {LLAMA ", \"quantization_config\": []}", ACCEL_E_CORRUPT, "quantization_config is a list, not an object", ""},
        {LLAMA ", \"quantization_config\": \"gptq\"}", ACCEL_E_CORRUPT, "is a string, not an object", ""},
        {LLAMA ", \"hidden_act\": \"foo\"}", ACCEL_E_UNSUPPORTED, "hidden_act \"foo\" has no implementation here",
         "functions that run: silu, "},
        {LLAMA ", \"max_position_embeddings\": null}", ACCEL_E_CORRUPT, "the key max_position_embeddings is null", ""},
        {"{\"model_type\": \"lla\\nma\"}", ACCEL_E_UNSUPPORTED, "model_type is not a name of 1 to 64 printable", ""},
    };
    char folder[] = "/tmp/accel-describe-XXXXXX", path[256];

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/config.json", folder);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct accel_model_description *d = (void *)1;
        struct accel_error error = {0};

        write_bytes(path, rows[i].text, strlen(rows[i].text));
        assert_int_equal(accel_model_describe(NULL, folder, &d, &error), rows[i].code);
        assert_null(d);
        if (strstr(error.text, rows[i].words) == NULL || strstr(error.remedy, rows[i].remedy) == NULL)
            fail_msg("%s: %s (%s)", rows[i].text, error.text, error.remedy);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* ---- every family ---- */

static const struct {
    const char *name;
    const char *kind;
    const char *shape;      /* layers, hidden, ffn, heads of the main component */
    const char *components; /* names and their layers */
    uint32_t others;        /* weights whose place no name tells, and projections */
} families[] = {
    {"albert-base", "embedding", "3 72 136 4", "text:3", 1},
    {"bart-base", "encoder-decoder", "2 56 96 4", "text:2 decoder:2", 1},
    {"bert-base", "embedding", "2 64 136 4", "text:2", 1},
    {"bert-classify", "embedding", "2 64 136 4", "text:2", 1},
    {"blip-caption", "multimodal", "2 32 64 4", "vision:2 decoder:2", 1},
    {"blip-vqa", "multimodal", "2 32 64 4", "text:2 vision:2 decoder:2", 1},
    {"blip2-opt", "multimodal", "2 32 64 4", "language:2 vision:2 projector:2", 1},
    {"clap-base", "audio-multimodal", "4 32 64 -", "text:2 audio:4 projector:0", 12},
    {"clip-base", "multimodal", "2 32 72 4", "text:2 vision:2 projector:0", 2},
    {"convnext-tiny", "vision", "4 32 - -", "vision:4", 0},
    {"deit-tiny", "vision", "2 32 72 4", "vision:2", 2},
    {"detr-tiny", "vision", "2 32 64 4", "vision:2 decoder:2", 0},
    {"dinov2-tiny", "vision", "2 32 64 4", "vision:2", 0},
    {"distilbert-base", "embedding", "2 72 136 4", "text:2", 0},
    {"gemma2-base", "generation", "2 72 136 4", "language:2", 0},
    {"gpt2-base", "generation", "2 72 288 4", "language:2", 0},
    {"hubert", "audio", "2 32 64 4", "audio:2", 1},
    {"llama-sharded", "generation", "2 64 128 4", "language:2", 0},
    {"llava-base", "multimodal", "2 32 80 4", "language:2 vision:2 projector:0", 2},
    {"llava-next-base", "multimodal", "2 32 80 4", "language:2 vision:2 projector:0", 2},
    {"mixtral-tiny", "generation", "2 64 56 4", "language:2", 2},
    {"mobilenetv2", "vision", "16 - - -", "vision:16", 0},
    {"opt-350m-like", "generation", "2 72 136 4", "language:2", 2},
    {"phi3-base", "generation", "2 64 128 4", "language:2", 0},
    {"qwen3-base", "generation", "2 72 136 4", "language:2", 0},
    {"resnet-basic", "vision", "3 24 - -", "vision:3", 0},
    {"roberta-classify", "embedding", "2 72 136 4", "text:2", 1},
    {"segformer-tiny", "vision", "3 32 - -", "vision:3", 2},
    {"siglip-base", "multimodal", "2 32 72 4", "text:2 vision:2 projector:0", 2},
    {"swin-tiny", "vision", "4 32 64 -", "vision:4", 1},
    {"t5-gated", "encoder-decoder", "2 56 96 4", "text:2 decoder:2", 0},
    {"vit-base", "vision", "2 32 72 4", "vision:2", 0},
    {"wav2vec2-large-like", "audio", "2 32 64 4", "audio:2", 1},
    {"whisper-tiny-like", "audio", "2 32 64 4", "audio:2 decoder:2", 0},
    {"xclip-base", "multimodal", "2 32 72 4", "text:2 vision:2 projector:1", 5},
};

static void check_shape(const struct accel_model_description *d, const char *expected)
{
    static const char *const keys[] = {"model.layers", "model.hidden", "model.ffn", "model.heads"};
    char words[4][16];

    assert_int_equal(sscanf(expected, "%15s %15s %15s %15s", words[0], words[1], words[2], words[3]), 4);
    for (int i = 0; i < 4; i++) {
        if (words[i][0] != '-')
            check_fact(d, keys[i], words[i]);
        else
            assert_null(accel_model_description_fact(d, keys[i]));
    }
}

static void check_components(const struct accel_model_description *d, const char *expected)
{
    const struct accel_sketch *shapes = accel_model_description_sketch(d);
    char text[256] = "";
    size_t used = 0;

    for (uint32_t i = 0; i < shapes->component_count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s:%u", i == 0 ? "" : " ",
                                 shapes->components[i].name, shapes->components[i].layers);
    if (strcmp(text, expected) != 0)
        fail_msg("%s has %s, not %s", accel_model_description_path(d), text, expected);
}

static uint32_t count_role(const struct accel_sketch *shapes, const char *role)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < shapes->weight_count; i++)
        count += strcmp(shapes->weights[i].role, role) == 0;
    return count;
}

/* Every family: kind, shape, components; elements and bytes are the file's. */
static void every_family(void **state)
{
    char path[4096];
    struct accel_context *context;

    (void)state;
    shared_path(path, "");
    context = open_context();
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        struct accel_model_description *d = describe(context, shared_path(path, families[i].name));

        check_fact(d, "model.kind", families[i].kind);
        check_shape(d, families[i].shape);
        check_components(d, families[i].components);
        assert_int_equal(count_role(accel_model_description_sketch(d), "other"), families[i].others);
        assert_null(accel_model_description_fact(d, "model.name"));
        accel_model_description_free(d);
    }
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
}

/* ---- files and descriptors ---- */

static void fits_its_descriptor(void **state)
{
    static const struct {
        const char *path;
        const char *type;
        uint32_t id;
    } files[] = {{"samples/stories260K/stories260K-f32.gguf", "f32", ACCEL_F32},
                 {"samples/stories260K/stories260K-q8_0.gguf", "q8_0", ACCEL_Q8_0},
                 {"samples/stories260K/hf", "f32", ACCEL_F32}};
    char path[4096];
    struct accel_context *context = open_context();

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct accel_model_description *d = describe(context, source_path(path, files[i].path));
        const struct accel_sketch *shapes = accel_model_description_sketch(d);
        uint32_t found = 0;

        check_fact(d, "model.name", "stories260k");
        check_fact(d, "model.family", "llama");
        check_fact(d, "model.parameters", "260032");
        check_fact(d, "model.context", "512");
        check_fact(d, "model.tied", "true");
        check_fact(d, "model.weights", files[i].type);
        assert_int_equal(shapes->component_count, 1);
        assert_int_equal(shapes->components[0].kv_heads, 4);
        assert_int_equal(shapes->components[0].head_size, 8);
        assert_int_equal(shapes->components[0].cached, 1);
        for (uint32_t w = 0; w < shapes->weight_count; w++)
            found += shapes->weights[w].type == files[i].id;
        assert_true(found > 0);
        accel_model_description_free(d);
        /* Without profiles there is no name, and all else is the same. */
        d = describe(NULL, path);
        assert_null(accel_model_description_fact(d, "model.name"));
        check_fact(d, "model.layers", "5");
        accel_model_description_free(d);
    }
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
}

/* A file of llama's shape with other sizes has no descriptor. */
static void fits_no_other(void **state)
{
    char path[4096];
    struct accel_context *context = open_context();
    struct accel_model_description *d = describe(context, source_path(path, "tests/fixtures/llama-gqa"));

    (void)state;
    assert_null(accel_model_description_fact(d, "model.name"));
    check_fact(d, "model.family", "llama");
    accel_model_description_free(d);
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
}

/* ---- what is wrong ---- */

static void damaged_files(void **state)
{
    char path[4096], name[256];
    json_error_t why;
    json_t *index, *entry;
    const char *key;
    uint32_t refused = 0, described = 0;

    (void)state;
    index = json_load_file(source_path(path, "tests/fixtures/malformed/index.json"), 0, &why);
    assert_non_null(index);
    json_object_foreach(json_object_get(index, "files") ? json_object_get(index, "files") : index, key, entry)
    {
        const char *expect = json_string_value(json_object_get(entry, "expect"));
        struct accel_model_description *d = NULL;
        struct accel_error error = {0};
        int32_t code;

        if (expect == NULL)
            continue;
        snprintf(name, sizeof(name), "tests/fixtures/malformed/%s", key);
        code = accel_model_describe(NULL, source_path(path, name), &d, &error);
        if (code != ACCEL_OK && strstr(error.text, key) == NULL)
            fail_msg("%s: the message does not name the file: %s", key, error.text);
        if ((strcmp(expect, "error") == 0 && code == ACCEL_OK) || (strcmp(expect, "ok") == 0 && code != ACCEL_OK))
            fail_msg("%s is to be %s and came to %s: %s", key, expect, accel_error_name(code), error.text);
        refused += code != ACCEL_OK;
        described += code == ACCEL_OK;
        accel_model_description_free(d);
    }
    print_message("%u refused, %u described\n", refused, described);
    assert_true(refused > 50 && described > 5);
    json_decref(index);
}

static const struct {
    const char *config;
    int32_t code;
    const char *text;
} configs[] = {
    {"{\"model_type\": \"llama\", \"num_hidden_layers\": -1}", ACCEL_E_CORRUPT, "num_hidden_layers is out of range"},
    {"{\"model_type\": \"llama\", \"hidden_size\": \"wide\"}", ACCEL_E_CORRUPT, "hidden_size is not an integer"},
    {"{\"model_type\": \"llama\", \"vocab_size\": 99999999999}", ACCEL_E_CORRUPT, "vocab_size is out of range"},
    {"[1]", ACCEL_E_CORRUPT, "not an object"},
    {"{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_attention_heads\": 8, \"num_key_value_heads\": 3}",
     ACCEL_E_CORRUPT, "3 heads of keys do not divide 8"},
    {"{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_attention_heads\": 8, \"num_key_value_heads\": 16}",
     ACCEL_E_CORRUPT, "16 heads of keys do not divide 8"},
    {"{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_attention_heads\": 7}", ACCEL_E_CORRUPT,
     "7 heads do not divide a width of 64"},
    {"{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_attention_heads\": 7, \"head_dim\": 8}", ACCEL_OK,
     "generation"},
    {"{\"model_type\": ", ACCEL_E_CORRUPT, "config.json"},
    {"{\"model_type\": \"convnext\", \"depths\": [1, \"x\"]}", ACCEL_E_CORRUPT, "depths is not an integer"},
    {"{\"model_type\": \"something-new\", \"architectures\": [\"SomethingForCausalLM\"], \"num_hidden_layers\": null}",
     ACCEL_OK, "generation"},
    {"{\"model_type\": 7, \"image_size\": [224, 224]}", ACCEL_OK, "vision"},
    {"{\"vision_config\": {\"image_size\": 8}, \"text_config\": {\"hidden_size\": 8}}", ACCEL_OK, "multimodal"},
    {"{\"vision_config\": 3, \"text_config\": \"no\"}", ACCEL_OK, "multimodal"},
    {"{\"is_encoder_decoder\": true, \"encoder_layers\": 2, \"d_model\": 8}", ACCEL_OK, "encoder-decoder"},
};

static void configurations(void **state)
{
    static const char header[] = "{\"odd.thing\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[0,12]}}";
    char folder[] = "/tmp/accel-describe-XXXXXX", path[256], bytes[256] = {0};

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/model.safetensors", folder);
    bytes[0] = (char)(sizeof(header) - 1);
    memcpy(bytes + 8, header, sizeof(header) - 1);
    write_bytes(path, bytes, 8 + sizeof(header) - 1 + 12);
    snprintf(path, sizeof(path), "%s/config.json", folder);
    for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
        struct accel_model_description *d = NULL;
        struct accel_error error = {0};

        write_bytes(path, configs[i].config, strlen(configs[i].config));
        assert_int_equal(accel_model_describe(NULL, folder, &d, &error), configs[i].code);
        if (d == NULL && (strstr(error.text, configs[i].text) == NULL || strstr(error.text, folder) == NULL))
            fail_msg("\"%s\" is not in: %s", configs[i].text, error.text);
        if (d != NULL) {
            check_fact(d, "model.kind", configs[i].text);
            check_fact(d, "model.parameters", "6");
            check_fact(d, "model.weights", "f16");
            assert_string_equal(accel_model_description_sketch(d)->weights[0].role, "other");
        }
        accel_model_description_free(d);
    }
    /* Without a configuration there are only weights. */
    assert_int_equal(remove(path), 0);
    accel_model_description_free(describe(NULL, folder));
    snprintf(path, sizeof(path), "%s/model.safetensors", folder);
    assert_int_equal(remove(path), 0);
    assert_int_equal(remove(folder), 0);
}

/* What a configuration says that is not so in the file, or counts otherwise. */
static void readings_of_families(void **state)
{
    char path[4096];
    struct accel_model_description *d = describe(NULL, shared_path(path, "roberta-base"));

    (void)state;
    check_fact(d, "text.positions", "66");
    check_fact(d, "model.context", "64");
    accel_model_description_free(d);
    d = describe(NULL, shared_path(path, "opt-base"));
    check_fact(d, "language.positions", "98");
    check_fact(d, "model.context", "96");
    accel_model_description_free(d);
    d = describe(NULL, shared_path(path, "wav2vec2-base"));
    check_fact(d, "audio.vocabulary", "30");
    accel_model_description_free(d);
    d = describe(NULL, shared_path(path, "gpt2-base"));
    for (uint32_t i = 0; i < accel_model_description_sketch(d)->weight_count; i++) {
        const struct accel_sketch_weight *weight = &accel_model_description_sketch(d)->weights[i];

        if (strstr(weight->name, "h.0.mlp.c_fc.weight") != NULL) {
            assert_int_equal(weight->rows, 288);
            assert_int_equal(weight->columns, 72);
        }
    }
    accel_model_description_free(d);
}

/* Two descriptors of one shape: the length of the context decides, and a third length excludes neither. */
static void check_twins(struct accel_context *context, const char *folder, const char *descriptor)
{
    static const struct {
        const char *config;
        const char *name;
        const char *length;
    } cases[] = {{"{\"model_type\": \"llama\", \"max_position_embeddings\": 64}", "small", "64"},
                 {"{\"model_type\": \"llama\", \"max_position_embeddings\": 99}", "wide", "99"},
                 {"{\"model_type\": \"llama\", \"max_position_embeddings\": 77}", "small", "77"},
                 {"{\"model_type\": \"gpt2\", \"max_position_embeddings\": 64}", NULL, "64"}};
    char twin[1024], path[256];
    char *length;

    snprintf(twin, sizeof(twin), "%s", descriptor);
    length = strstr(twin, "64tok");
    assert_non_null(length);
    memcpy(length, "99tok", 5);
    snprintf(path, sizeof(path), "%s/models/wide.yaml", folder);
    write_bytes(path, twin, strlen(twin));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct accel_model_description *d;

        snprintf(path, sizeof(path), "%s/config.json", folder);
        write_bytes(path, cases[i].config, strlen(cases[i].config));
        d = describe(context, folder);
        check_fact(d, "model.context", cases[i].length);
        if (cases[i].name != NULL)
            check_fact(d, "model.name", cases[i].name);
        else
            assert_null(accel_model_description_fact(d, "model.name"));
        accel_model_description_free(d);
    }
    snprintf(path, sizeof(path), "%s/models/wide.yaml", folder);
    assert_int_equal(remove(path), 0);
}

/* A file whose configuration leaves out what its class has as defaults, as checkpoints of several components do: the
 * descriptor tells heads, and without one the rows of keys and values give the same bytes. */
static void sparse_configuration(void **state)
{
    static const char header[] =
        "{\"model.embed_tokens.weight\":{\"dtype\":\"BF16\",\"shape\":[32,8],\"data_offsets\":[0,512]},"
        "\"model.layers.0.self_attn.k_proj.weight\":{\"dtype\":\"BF16\",\"shape\":[4,8],\"data_offsets\":[512,576]},"
        "\"model.layers.0.self_attn.v_proj.weight\":{\"dtype\":\"BF16\",\"shape\":[6,8],\"data_offsets\":[576,672]}}";
    static const char config[] = "{\"model_type\": \"llama\"}";
    static const char base[] = "accel-profile: 1\n";
    static const char descriptor[] = "accel-profile: 1\nfacts:\n  model.family: llama\n  model.layers: 1\n"
                                     "  model.hidden: 8\n  model.heads: 4\n  model.kv_heads: 2\n"
                                     "  model.vocabulary: 32\n  model.context: 64tok\n";
    char folder[] = "/tmp/accel-describe-XXXXXX", path[256], bytes[2048] = {0};
    struct accel_context_options options = {.size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS};
    const struct accel_sketch_component *c;
    struct accel_model_description *d;
    struct accel_context *context = NULL;
    uint64_t length = sizeof(header) - 1;

    (void)state;
    assert_non_null(mkdtemp(folder));
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, length);
    snprintf(path, sizeof(path), "%s/model.safetensors", folder);
    write_bytes(path, bytes, 8 + length + 672);
    snprintf(path, sizeof(path), "%s/config.json", folder);
    write_bytes(path, config, sizeof(config) - 1);
    d = describe(NULL, folder);
    c = accel_model_description_sketch(d)->components;
    check_fact(d, "model.layers", "1");
    check_fact(d, "model.vocabulary", "32");
    assert_int_equal(c->kv_heads * (c->head_size + c->value_size), 10);
    accel_model_description_free(d);

    snprintf(path, sizeof(path), "%s/base.yaml", folder);
    write_bytes(path, base, sizeof(base) - 1);
    snprintf(path, sizeof(path), "%s/models", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/models/small.yaml", folder);
    write_bytes(path, descriptor, sizeof(descriptor) - 1);
    options.profile_path = folder;
    assert_int_equal(accel_context_create(&options, &context, NULL), ACCEL_OK);
    d = describe(context, folder);
    check_fact(d, "model.name", "small");
    check_fact(d, "model.kv_heads", "2");
    check_fact(d, "model.head_size", "2");
    check_fact(d, "model.context", "64");
    accel_model_description_free(d);
    check_twins(context, folder, descriptor);
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
    assert_int_equal(remove(path), 0);
    snprintf(path, sizeof(path), "%s/models", folder);
    assert_int_equal(remove(path), 0);
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"model.safetensors", "config.json", "base.yaml"};

        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        assert_int_equal(remove(path), 0);
    }
    assert_int_equal(remove(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recipes_are_right),    cmocka_unit_test(recipes_of_clones),
        cmocka_unit_test(configs_of_clones),    cmocka_unit_test(configs_of_families),
        cmocka_unit_test(refused_configs),      cmocka_unit_test(every_family),
        cmocka_unit_test(fits_its_descriptor),  cmocka_unit_test(fits_no_other),
        cmocka_unit_test(damaged_files),        cmocka_unit_test(configurations),
        cmocka_unit_test(sparse_configuration), cmocka_unit_test(readings_of_families),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
