/* SPDX-License-Identifier: Apache-2.0 */
#include "model/describe/mix.h"

#include <fnmatch.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <accel/quant/format.h>

#include "model/describe/internal.h"
#include "model/file/json.h"
#include "model/file/pool.h"
#include "model/file/rows.h"

#define CONFIG_BYTES_MAX ((uint64_t)64 << 20)
#define CONFIG_DEPTH 64u

/* ---- names ---- */

enum mix_id {
    MIX_Q2_K,
    MIX_Q2_K_S,
    MIX_Q3_K_S,
    MIX_Q3_K_M,
    MIX_Q3_K_L,
    MIX_Q4_0,
    MIX_Q4_1,
    MIX_Q4_K_S,
    MIX_Q4_K_M,
    MIX_Q5_0,
    MIX_Q5_1,
    MIX_Q5_K_S,
    MIX_Q5_K_M,
    MIX_Q6_K,
    MIX_Q8_0,
    MIX_IQ4_NL,
    MIX_IQ4_XS,
    MIX_MXFP4_MOE,
    MIXES
};

static const struct mix_row {
    const char *name;
    const char *alias; /* another name that llama.cpp accepts, or NULL */
    uint32_t base;
    uint32_t number; /* of general.file_type */
} mixes[MIXES] = {
    [MIX_Q2_K] = {"Q2_K", NULL, ACCEL_Q2_K, 10},       [MIX_Q2_K_S] = {"Q2_K_S", NULL, ACCEL_Q2_K, 21},
    [MIX_Q3_K_S] = {"Q3_K_S", NULL, ACCEL_Q3_K, 11},   [MIX_Q3_K_M] = {"Q3_K_M", "Q3_K", ACCEL_Q3_K, 12},
    [MIX_Q3_K_L] = {"Q3_K_L", NULL, ACCEL_Q3_K, 13},   [MIX_Q4_0] = {"Q4_0", NULL, ACCEL_Q4_0, 2},
    [MIX_Q4_1] = {"Q4_1", NULL, ACCEL_Q4_1, 3},        [MIX_Q4_K_S] = {"Q4_K_S", NULL, ACCEL_Q4_K, 14},
    [MIX_Q4_K_M] = {"Q4_K_M", "Q4_K", ACCEL_Q4_K, 15}, [MIX_Q5_0] = {"Q5_0", NULL, ACCEL_Q5_0, 8},
    [MIX_Q5_1] = {"Q5_1", NULL, ACCEL_Q5_1, 9},        [MIX_Q5_K_S] = {"Q5_K_S", NULL, ACCEL_Q5_K, 16},
    [MIX_Q5_K_M] = {"Q5_K_M", "Q5_K", ACCEL_Q5_K, 17}, [MIX_Q6_K] = {"Q6_K", NULL, ACCEL_Q6_K, 18},
    [MIX_Q8_0] = {"Q8_0", NULL, ACCEL_Q8_0, 7},        [MIX_IQ4_NL] = {"IQ4_NL", NULL, ACCEL_IQ4_NL, 25},
    [MIX_IQ4_XS] = {"IQ4_XS", NULL, ACCEL_IQ4_XS, 30}, [MIX_MXFP4_MOE] = {"MXFP4_MOE", NULL, ACCEL_Q8_0, 38},
};

/* ---- rules ---- */

/* Kinds of matrices that the rules distinguish. */
enum mix_kind { KIND_HEAD, KIND_VALUES, KIND_KEYS, KIND_ATTENTION_OUT, KIND_DOWN, KIND_REST, KIND_ANY };

/* Selects which of the n matrices of a kind a rule covers; i counts them by layer. */
enum mix_span {
    SPAN_ALL,
    SPAN_TWO,       /* i < 2 */
    SPAN_FOUR,      /* i < 4 */
    SPAN_SIXTEENTH, /* i < n / 16 */
    SPAN_EIGHTH,    /* i < n / 8 */
    SPAN_SPREAD     /* the first and the last eighth, and every third between them */
};

/* Conditions of a rule on the model; all set bits must hold. */
enum mix_condition {
    IF_GROUPED = 1,        /* at least four query heads share a key-value head */
    IF_CALIBRATED = 2,     /* the inputs of matrices are calibrated */
    IF_UNCALIBRATED = 4,   /* the inputs are not calibrated */
    IF_FALCON = 8,         /* the family is falcon */
    IF_NOT_FALCON = 16,    /* the family is another one */
    IF_EIGHT_EXPERTS = 32, /* as Mixtral 8x7B: the shared matrices are a small part of the file */
    IF_STACKED = 64        /* the tensor holds the matrices of several experts */
};

#define OF(name) (1u << MIX_##name)
#define EVERY (OF(MXFP4_MOE) - 1)

/* Rules of the mixes. The first matching rule decides; without one, the base type applies. */
static const struct mix_rule {
    uint32_t mixes;
    enum mix_kind kind;
    enum mix_span span;
    uint32_t condition;
    uint32_t type;
} rules[] = {
    {OF(MXFP4_MOE), KIND_HEAD, SPAN_ALL, 0, ACCEL_Q8_0},
    {OF(MXFP4_MOE), KIND_ANY, SPAN_ALL, IF_STACKED, ACCEL_MXFP4},
    {OF(MXFP4_MOE), KIND_ANY, SPAN_ALL, 0, ACCEL_Q8_0},

    {EVERY, KIND_HEAD, SPAN_ALL, IF_FALCON, ACCEL_Q8_0},
    {EVERY & ~OF(Q8_0), KIND_HEAD, SPAN_ALL, 0, ACCEL_Q6_K},

    {EVERY, KIND_VALUES, SPAN_ALL, IF_EIGHT_EXPERTS, ACCEL_Q8_0},
    {OF(Q2_K) | OF(Q2_K_S), KIND_VALUES, SPAN_ALL, IF_GROUPED, ACCEL_Q4_K},
    {OF(Q2_K), KIND_VALUES, SPAN_ALL, 0, ACCEL_Q3_K},
    {OF(Q3_K_M), KIND_VALUES, SPAN_TWO, 0, ACCEL_Q5_K},
    {OF(Q3_K_M), KIND_VALUES, SPAN_ALL, 0, ACCEL_Q4_K},
    {OF(Q3_K_L), KIND_VALUES, SPAN_ALL, 0, ACCEL_Q5_K},
    {OF(IQ4_NL) | OF(IQ4_XS), KIND_VALUES, SPAN_ALL, IF_GROUPED, ACCEL_Q5_K},
    {OF(Q4_K_M) | OF(Q5_K_M), KIND_VALUES, SPAN_SPREAD, 0, ACCEL_Q6_K},
    {OF(Q4_K_S), KIND_VALUES, SPAN_FOUR, 0, ACCEL_Q5_K},

    {EVERY, KIND_KEYS, SPAN_ALL, IF_EIGHT_EXPERTS, ACCEL_Q8_0},

    {OF(Q2_K), KIND_DOWN, SPAN_ALL, 0, ACCEL_Q3_K},
    {OF(Q2_K_S), KIND_DOWN, SPAN_EIGHTH, 0, ACCEL_Q4_K},
    {OF(Q3_K_M), KIND_DOWN, SPAN_SIXTEENTH, 0, ACCEL_Q5_K},
    {OF(Q3_K_M), KIND_DOWN, SPAN_ALL, IF_NOT_FALCON, ACCEL_Q4_K},
    {OF(Q3_K_M), KIND_DOWN, SPAN_SPREAD, 0, ACCEL_Q4_K},
    {OF(Q3_K_L), KIND_DOWN, SPAN_ALL, IF_FALCON, ACCEL_Q4_K},
    {OF(Q3_K_L), KIND_DOWN, SPAN_ALL, 0, ACCEL_Q5_K},
    {OF(Q4_K_M), KIND_DOWN, SPAN_SIXTEENTH, IF_FALCON, ACCEL_Q6_K},
    {OF(Q4_K_M), KIND_DOWN, SPAN_SPREAD, IF_FALCON, ACCEL_Q5_K},
    {OF(Q4_K_M), KIND_DOWN, SPAN_SPREAD, IF_NOT_FALCON, ACCEL_Q6_K},
    {OF(IQ4_NL) | OF(IQ4_XS), KIND_DOWN, SPAN_EIGHTH, IF_UNCALIBRATED, ACCEL_Q5_K},
    {OF(Q5_K_M), KIND_DOWN, SPAN_SPREAD, 0, ACCEL_Q6_K},
    {OF(Q4_K_S), KIND_DOWN, SPAN_EIGHTH, IF_NOT_FALCON, ACCEL_Q5_K},
    {OF(Q4_0), KIND_DOWN, SPAN_EIGHTH, IF_CALIBRATED, ACCEL_Q4_1},
    {OF(Q5_0), KIND_DOWN, SPAN_EIGHTH, IF_CALIBRATED, ACCEL_Q5_1},

    {OF(Q3_K_L), KIND_ATTENTION_OUT, SPAN_ALL, IF_FALCON, ACCEL_Q4_K},
    {OF(Q2_K) | OF(Q3_K_S) | OF(Q3_K_M) | OF(Q4_K_S) | OF(Q4_K_M) | OF(IQ4_NL) | OF(IQ4_XS), KIND_ATTENTION_OUT,
     SPAN_ALL, IF_NOT_FALCON | IF_EIGHT_EXPERTS, ACCEL_Q5_K},
    {EVERY, KIND_ATTENTION_OUT, SPAN_ALL, IF_EIGHT_EXPERTS, ACCEL_TYPE_NONE},
    {OF(Q2_K), KIND_ATTENTION_OUT, SPAN_ALL, IF_NOT_FALCON, ACCEL_Q3_K},
    {OF(Q3_K_M), KIND_ATTENTION_OUT, SPAN_ALL, IF_NOT_FALCON, ACCEL_Q4_K},
    {OF(Q3_K_L), KIND_ATTENTION_OUT, SPAN_ALL, IF_NOT_FALCON, ACCEL_Q5_K},
};

/* Tensors that keep their type though they have two dimensions: small ones that a model is sensitive to. */
static const char *const float_tensors[] = {"*_norm.weight",
                                            "*ffn_gate_inp.weight*",
                                            "*ffn_gate_tid2eid.weight*",
                                            "*altup*",
                                            "*laurel*",
                                            "*per_layer_model_proj*",
                                            "position_embd.weight",
                                            "token_types.weight",
                                            "*ssm_conv1d*",
                                            "*shortconv.conv.weight*",
                                            "*indexer.[kq]_proj.weight*",
                                            "*time_mix_first.weight*",
                                            "*time_mix_[wvag][012].weight*",
                                            "*time_mix_decay_w[12].weight*",
                                            "*time_mix_lerp_fused.weight*",
                                            "*attn_rel_b.weight*",
                                            "*.position_embd*",
                                            "*sam.pos_embd*",
                                            "*sam.neck.*",
                                            "*sam.net_*",
                                            "*.rel_pos*",
                                            "*.patch_embd*",
                                            "*.patch_merger*",
                                            "*a.rvq.codebook*",
                                            "*mm.a.code_embd*"};

/* ---- kinds of tensors ---- */

/* Substrings of GGUF names; the first that matches decides. A fused matrix counts as a value matrix if it contains
 * values. */
static const struct {
    const char *part;
    enum mix_kind kind;
} gguf_names[] = {
    {"attn_qkv.weight", KIND_VALUES}, {"attn_kv_b.weight", KIND_VALUES},          {"attn_v.weight", KIND_VALUES},
    {"attn_k.weight", KIND_KEYS},     {"attn_output.weight", KIND_ATTENTION_OUT}, {"ffn_down", KIND_DOWN},
};

static const struct {
    const char *role;
    enum mix_kind kind;
} roles[] = {
    {"head", KIND_HEAD},        {"attention.v", KIND_VALUES},
    {"attention.k", KIND_KEYS}, {"attention.o", KIND_ATTENTION_OUT},
    {"ffn.down", KIND_DOWN},
};

struct mix_tensor {
    const char *name;
    uint64_t index; /* in the file or the description */
    int64_t layer;  /* -1: none */
    uint64_t place; /* among those of its kind, by layer and name */
    enum mix_kind kind;
    uint32_t condition; /* IF_STACKED or 0 */
    bool is_tokens;     /* the token embedding, also the output projection if the model has no separate one */
    bool is_matrix;
    bool is_kept;
};

struct model_mix {
    enum mix_id id;
    uint32_t condition; /* conditions IF_... that hold for the model */
    bool is_large;      /* of the size and shape of Llama 2 70B */
    uint64_t layers;
    uint64_t experts;
    uint64_t values; /* matrices of KIND_VALUES */
    uint64_t count;
    struct mix_tensor *tensors; /* [count] by index */
};

static bool is_gguf(const struct accel_model_file *file)
{
    return accel_model_file_format(file) == ACCEL_MODEL_GGUF;
}

static enum mix_kind kind_of_gguf(const char *name)
{
    if (strcmp(name, "output.weight") == 0)
        return KIND_HEAD;
    for (size_t i = 0; i < sizeof(gguf_names) / sizeof(gguf_names[0]); i++)
        if (strstr(name, gguf_names[i].part) != NULL)
            return gguf_names[i].kind;
    return KIND_REST;
}

static enum mix_kind kind_of_role(const char *role)
{
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
        if (strcmp(role, roles[i].role) == 0)
            return roles[i].kind;
    return KIND_REST;
}

static bool is_kept(const char *name)
{
    const size_t length = strlen(name);
    if (length < 6 || strcmp(name + length - 6, "weight") != 0)
        return true;
    for (size_t i = 0; i < sizeof(float_tensors) / sizeof(float_tensors[0]); i++)
        if (fnmatch(float_tensors[i], name, 0) == 0)
            return true;
    return false;
}

static int compare_tensors(const void *one, const void *other)
{
    const struct mix_tensor *a = one, *b = other;
    if (a->layer != b->layer)
        return a->layer < b->layer ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int compare_indices(const void *one, const void *other)
{
    const struct mix_tensor *a = one, *b = other;
    return (a->index > b->index) - (a->index < b->index);
}

/* Classifies a tensor by its name in a GGUF file, else by its role. */
static void classify(struct mix_tensor *tensor, bool is_gguf, const char *role)
{
    struct name_facts facts;

    if (is_gguf) {
        tensor->kind = kind_of_gguf(tensor->name);
        tensor->is_tokens =
            strcmp(tensor->name, "token_embd.weight") == 0 || strcmp(tensor->name, "per_layer_token_embd.weight") == 0;
        tensor->is_kept = is_kept(tensor->name);
        return;
    }
    name_read(tensor->name, family_guess(""), 2, &facts);
    tensor->kind = name_is_fused(tensor->name) ? KIND_VALUES : kind_of_role(role);
    tensor->is_tokens = facts.is_tokens && strcmp(role, "embedding") == 0;
    /* In folders the embeddings that are kept are tables of positions and of token types. */
    tensor->is_kept = strcmp(role, "embedding") == 0 && !tensor->is_tokens;
}

bool model_mix_is_expert(const char *name)
{
    return strstr(name, ".experts.") != NULL || strstr(name, "_exps.") != NULL;
}

static void read_tensor(struct mix_tensor *out, const struct accel_model_file *file, const struct family *family,
                        uint64_t index)
{
    const struct accel_model_tensor *tensor = accel_model_file_tensor(file, index);
    const bool is_stacked =
        (tensor->rank > 2 && tensor->dims[0] > 1) || (!is_gguf(file) && model_mix_is_expert(tensor->name));
    struct name_facts facts;
    int layer = -1;
    name_read(tensor->name, family, tensor->rank, &facts);
    if (!is_gguf(file))
        layer = facts.layer < NAME_STAGED ? (int)facts.layer : -1;
    else if (sscanf(tensor->name, "blk.%d.", &layer) != 1)
        layer = -1;
    *out = (struct mix_tensor){.name = tensor->name,
                               .index = index,
                               .layer = layer,
                               .condition = is_stacked ? IF_STACKED : 0,
                               .is_matrix = tensor->rank > 1};
    classify(out, is_gguf(file), facts.role);
}

/* Numbers the matrices of each kind by layer, as the rules count them. */
static void place_tensors(struct model_mix *mix)
{
    uint64_t downs = 0;
    bool has_head = false;
    for (uint64_t i = 0; i < mix->count; i++)
        has_head = has_head || mix->tensors[i].kind == KIND_HEAD;
    qsort(mix->tensors, (size_t)mix->count, sizeof(*mix->tensors), compare_tensors);
    for (uint64_t i = 0; i < mix->count; i++) {
        struct mix_tensor *tensor = &mix->tensors[i];
        if (!has_head && tensor->is_tokens)
            tensor->kind = KIND_HEAD;
        if (tensor->kind == KIND_VALUES && tensor->is_matrix)
            tensor->place = mix->values++;
        if (tensor->kind == KIND_DOWN && tensor->is_matrix)
            tensor->place = mix->experts > 1 && tensor->layer >= 0 ? (uint64_t)tensor->layer : downs++;
    }
    qsort(mix->tensors, (size_t)mix->count, sizeof(*mix->tensors), compare_indices);
}

/* ---- model properties ---- */

struct model_shape {
    char family[64];
    uint64_t layers, heads, kv_heads, experts; /* 0: unknown */
};

/* Returns a number from the family's own keys; the first element of a list, as in llama.cpp. */
static uint64_t gguf_number(const struct accel_model_file *file, const char *family, const char *name)
{
    char key[160];
    uint64_t number = 0;
    snprintf(key, sizeof(key), "%s.%s", family, name);
    const struct accel_model_value *value = accel_model_file_find_value(file, key);
    if (value == NULL || accel_model_value_u64(value, 0, &number, NULL) != ACCEL_OK)
        return 0;
    return number;
}

static void read_gguf_shape(const struct accel_model_file *file, struct model_shape *shape)
{
    struct accel_model_text text;
    if (accel_model_file_get_text(file, "general.architecture", &text, NULL) != ACCEL_OK)
        return;
    snprintf(shape->family, sizeof(shape->family), "%s", text.text);
    shape->layers = gguf_number(file, shape->family, "block_count");
    shape->heads = gguf_number(file, shape->family, "attention.head_count");
    shape->kv_heads = gguf_number(file, shape->family, "attention.head_count_kv");
    shape->experts = gguf_number(file, shape->family, "expert_count");
}

static uint64_t json_count(const json_t *root, const char *const names[])
{
    json_int_t number = 0;
    for (size_t i = 0; names[i] != NULL && number <= 0; i++)
        number = json_integer_value(json_object_get(root, names[i]));
    return number > 0 ? (uint64_t)number : 0;
}

static void read_folder_shape(const struct accel_model_file *file, struct model_shape *shape)
{
    static const char *const layers[] = {"num_hidden_layers", "n_layer", "n_layers", NULL},
                             *const heads[] = {"num_attention_heads", "n_head", "n_heads", NULL},
                             *const kv_heads[] = {"num_key_value_heads", NULL},
                             *const experts[] = {"num_local_experts", "num_experts", "n_routed_experts", NULL};
    char *text = NULL;
    json_t *root = NULL;
    uint64_t length = 0;
    if (accel_model_file_sibling(file, "config.json", CONFIG_BYTES_MAX, &text, &length, NULL) == ACCEL_OK &&
        model_json_parse("config.json", 0, text, length, CONFIG_DEPTH, &root, NULL) == ACCEL_OK) {
        const char *name = json_string_value(json_object_get(root, "model_type"));
        snprintf(shape->family, sizeof(shape->family), "%s", name == NULL ? "" : name);
        shape->layers = json_count(root, layers);
        shape->heads = json_count(root, heads);
        shape->kv_heads = json_count(root, kv_heads);
        shape->experts = json_count(root, experts);
    }
    json_decref(root);
    accel_model_text_free(text);
}

static void read_model(struct model_mix *mix, const struct model_shape *shape, bool is_calibrated)
{
    const uint64_t kv_heads = shape->kv_heads == 0 ? shape->heads : shape->kv_heads;
    const bool is_falcon = strcmp(shape->family, "falcon") == 0;
    mix->layers = shape->layers;
    mix->experts = shape->experts;
    mix->condition = is_falcon ? IF_FALCON : IF_NOT_FALCON;
    mix->condition |= is_calibrated ? IF_CALIBRATED : IF_UNCALIBRATED;
    mix->condition |= kv_heads > 0 && shape->heads / kv_heads >= 4 ? IF_GROUPED : 0;
    mix->condition |= shape->experts == 8 ? IF_EIGHT_EXPERTS : 0;
    mix->is_large = shape->layers == 80 && ((strcmp(shape->family, "llama") == 0 && shape->heads != kv_heads) ||
                                            strcmp(shape->family, "qwen2") == 0 || strcmp(shape->family, "deci") == 0 ||
                                            strcmp(shape->family, "olmo") == 0);
}

/* ---- a mix ---- */

static enum mix_id find(const char *word)
{
    for (uint32_t i = 0; word != NULL && i < MIXES; i++)
        if (strcasecmp(mixes[i].name, word) == 0 || (mixes[i].alias != NULL && strcasecmp(mixes[i].alias, word) == 0))
            return (enum mix_id)i;
    return MIXES;
}

bool model_mix_is_known(const char *word, bool named_as_types)
{
    return find(word) != MIXES && (named_as_types || accel_format_find(word) == ACCEL_TYPE_NONE);
}

/* Refuses the mix without calibration, as llama.cpp does: 2 bits in every matrix are usable only with calibrated
 * inputs. */
static int32_t check_calibration(enum mix_id id, bool is_calibrated, struct accel_error *error)
{
    if (id != MIX_Q2_K_S || is_calibrated)
        return ACCEL_OK;
    accel_error_set(error, ACCEL_E_INVALID, "type \"Q2_K_S\" needs a calibration text");
    return accel_error_advise(error, ACCEL_E_INVALID, "add --calib TEXT, or take Q2_K");
}

static int32_t create(enum mix_id id, uint64_t count, const char *path, struct model_mix **out_mix,
                      struct accel_error *error)
{
    struct model_mix *mix = *out_mix = calloc(1, sizeof(*mix));
    if (mix == NULL)
        return model_no_memory(error, path, sizeof(*mix));
    mix->id = id;
    mix->count = count;
    mix->tensors = calloc((size_t)count + 1, sizeof(*mix->tensors));
    if (mix->tensors != NULL)
        return ACCEL_OK;
    free(mix);
    return model_no_memory(error, path, count * sizeof(*mix->tensors));
}

int32_t model_mix_of_file(const struct accel_model_file *file, const struct family *family, const char *word,
                          bool is_calibrated, struct model_mix **out_mix, struct accel_error *error)
{
    struct model_shape shape = {.layers = 0};
    struct model_mix *mix;
    int32_t code = check_calibration(find(word), is_calibrated, error);
    if (code == ACCEL_OK)
        code = create(find(word), accel_model_file_tensor_count(file), accel_model_file_path(file), &mix, error);
    if (code != ACCEL_OK)
        return code;
    if (is_gguf(file))
        read_gguf_shape(file, &shape);
    else
        read_folder_shape(file, &shape);
    read_model(mix, &shape, is_calibrated);
    for (uint64_t i = 0; i < mix->count; i++)
        read_tensor(&mix->tensors[i], file, family, i);
    place_tensors(mix);
    *out_mix = mix;
    return ACCEL_OK;
}

/* Returns whether the mix covers a weight of a folder: matrices of layers but routers, the token embedding and the
 * head. */
static bool is_covered(const struct accel_sketch_weight *weight)
{
    return strcmp(weight->role, "ffn.router") != 0 &&
           (strncmp(weight->role, "attention.", 10) == 0 || strncmp(weight->role, "ffn.", 4) == 0 ||
            strcmp(weight->role, "embedding") == 0 || strcmp(weight->role, "head") == 0);
}

static void read_weight(struct mix_tensor *out, const struct accel_model_description *d, bool is_gguf, uint64_t index)
{
    const struct accel_sketch_weight *weight = &d->weights[index];
    *out = (struct mix_tensor){.name = weight->name,
                               .index = index,
                               .layer = weight->layer == ACCEL_NO_LAYER ? -1 : (int64_t)weight->layer,
                               .condition = model_mix_is_expert(weight->name) ? IF_STACKED : 0,
                               .is_matrix = weight->rows > 1 && weight->columns > 1};
    classify(out, is_gguf, weight->role);
    out->is_kept = out->is_kept || !out->is_matrix || (!is_gguf && !is_covered(weight));
}

/* Returns the type of a weight that the mix does not cover: its own; of a description without a file that of GGUF
 * files, F32 for routers, positions and token types of the language model. */
static uint32_t uncovered_type(const struct accel_model_description *d, const struct accel_sketch_weight *weight)
{
    const bool is_known = d->is_file || strcmp(weight->component, part_names[d->traits.main]) != 0 || weight->rows < 2;
    return is_known ? ACCEL_TYPE_NONE : ACCEL_F32;
}

int32_t model_mix_types(const struct accel_model_description *d, const char *word, uint32_t **out_types,
                        struct accel_error *error)
{
    const struct shape *main = &d->shapes[d->traits.main];
    const bool is_gguf = d->is_file && !d->is_folder;
    struct model_shape shape = {
        .layers = main->layers, .heads = main->heads, .kv_heads = main->kv_heads, .experts = main->experts};
    struct model_mix *mix;
    int32_t code = create(find(word), d->model_shapes.weight_count, d->path, &mix, error);
    if (code != ACCEL_OK)
        return code;
    snprintf(shape.family, sizeof(shape.family), "%s", d->traits.family == NULL ? "" : d->traits.family);
    read_model(mix, &shape, false);
    for (uint64_t i = 0; i < mix->count; i++)
        read_weight(&mix->tensors[i], d, is_gguf, i);
    place_tensors(mix);
    *out_types = malloc(((size_t)mix->count + 1) * sizeof(**out_types));
    if (*out_types == NULL)
        code = model_no_memory(error, d->path, mix->count * sizeof(**out_types));
    for (uint64_t i = 0; i < mix->count && code == ACCEL_OK; i++)
        if (model_mix_type(mix, i, &(*out_types)[i]) != NULL)
            (*out_types)[i] = uncovered_type(d, &d->weights[i]);
        else
            (*out_types)[i] = model_narrow_type((*out_types)[i], d->weights[i].columns);
    model_mix_free(mix);
    return code;
}

void model_mix_free(struct model_mix *mix)
{
    if (mix == NULL)
        return;
    free(mix->tensors);
    free(mix);
}

uint32_t model_mix_base(const struct model_mix *mix)
{
    return mixes[mix->id].base;
}

uint32_t model_mix_number(const struct model_mix *mix)
{
    return mixes[mix->id].number;
}

const char *model_mix_name(const struct model_mix *mix)
{
    return mixes[mix->id].name;
}

static bool is_in_span(enum mix_span span, uint64_t i, uint64_t n)
{
    switch (span) {
    case SPAN_TWO:
        return i < 2;
    case SPAN_FOUR:
        return i < 4;
    case SPAN_SIXTEENTH:
        return i < n / 16;
    case SPAN_EIGHTH:
        return i < n / 8;
    case SPAN_SPREAD:
        return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
    default:
        return true;
    }
}

const char *model_mix_type(const struct model_mix *mix, uint64_t index, uint32_t *out_type)
{
    const struct mix_tensor *tensor = &mix->tensors[index];
    const uint32_t condition = mix->condition | tensor->condition;
    const uint64_t n = tensor->kind == KIND_VALUES ? mix->values : mix->layers;
    if (tensor->is_kept)
        return "small and sensitive";
    *out_type = mixes[mix->id].base;
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        const struct mix_rule *rule = &rules[i];
        if ((rule->mixes >> mix->id & 1) == 0 || (rule->kind != KIND_ANY && rule->kind != tensor->kind) ||
            (rule->condition & ~condition) != 0 || !is_in_span(rule->span, tensor->place, n))
            continue;
        if (rule->type != ACCEL_TYPE_NONE)
            *out_type = rule->type;
        break;
    }
    /* Eight query heads share each value head there: the matrix is small, and extra bits in it are cheap. */
    if (mix->is_large && tensor->kind == KIND_VALUES && (*out_type == ACCEL_Q3_K || *out_type == ACCEL_Q4_K))
        *out_type = ACCEL_Q5_K;
    return NULL;
}
