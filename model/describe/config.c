/* SPDX-License-Identifier: Apache-2.0 */
/* Reads shapes from config.json. One table has the names that families use; objects inside are components. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "model/describe/internal.h"
#include "model/file/fault.h"
#include "model/file/json.h"

#define CONFIG_NAME "config.json"
#define CONFIG_DEPTH 64u

enum { NAMES = 7, CONFIG_PLACE = 512 };

struct row {
    const char *names[NAMES]; /* the first one present and not null is used */
    size_t offset;
};

static const struct row numbers[] = {
    {{"num_hidden_layers", "n_layer", "num_layers", "n_layers"}, offsetof(struct shape, layers)},
    {{"hidden_size", "n_embd", "d_model", "dim"}, offsetof(struct shape, hidden)},
    {{"intermediate_size", "n_inner", "ffn_dim", "d_ff", "hidden_dim", "ffn_hidden_size"}, offsetof(struct shape, ffn)},
    {{"num_attention_heads", "n_head", "num_heads", "n_heads"}, offsetof(struct shape, heads)},
    {{"num_key_value_heads", "num_kv_heads"}, offsetof(struct shape, kv_heads)},
    {{"head_dim", "d_kv"}, offsetof(struct shape, head_size)},
    {{"num_local_experts", "num_experts", "n_routed_experts"}, offsetof(struct shape, experts)},
    {{"num_experts_per_tok"}, offsetof(struct shape, experts_used)},
    {{"moe_intermediate_size"}, offsetof(struct shape, expert_ffn)},
    {{"vocab_size"}, offsetof(struct shape, vocabulary)},
    {{"type_vocab_size"}, offsetof(struct shape, types)},
    {{"image_size", "spec_size"}, offsetof(struct shape, image)},
    {{"patch_size"}, offsetof(struct shape, patch)},
    {{"num_mel_bins"}, offsetof(struct shape, mels)},
    {{"window_size"}, offsetof(struct shape, window)},
    {{"num_frames"}, offsetof(struct shape, frames)},
    {{"num_conv_pos_embeddings"}, offsetof(struct shape, kernel)},
    {{"num_conv_pos_embedding_groups"}, offsetof(struct shape, groups)},
};

/* Members of a pyramid, with another meaning in text encoders. */
static const struct row pyramid[] = {
    {{"num_channels"}, offsetof(struct shape, channels)},
    {{"embedding_size", "patch_embeds_hidden_size"}, offsetof(struct shape, stem)},
};

/* Members of models with encoder and decoder. */
static const struct row encoder_side[] = {
    {{"encoder_layers", "num_layers"}, offsetof(struct shape, layers)},
    {{"d_model"}, offsetof(struct shape, hidden)},
    {{"encoder_ffn_dim", "d_ff"}, offsetof(struct shape, ffn)},
    {{"encoder_attention_heads", "num_heads"}, offsetof(struct shape, heads)},
    {{"d_kv"}, offsetof(struct shape, head_size)},
    {{"num_mel_bins"}, offsetof(struct shape, mels)},
};
static const struct row decoder_side[] = {
    {{"decoder_layers", "num_decoder_layers", "num_layers"}, offsetof(struct shape, layers)},
    {{"d_model"}, offsetof(struct shape, hidden)},
    {{"decoder_ffn_dim", "d_ff"}, offsetof(struct shape, ffn)},
    {{"decoder_attention_heads", "num_heads"}, offsetof(struct shape, heads)},
    {{"d_kv"}, offsetof(struct shape, head_size)},
    {{"vocab_size"}, offsetof(struct shape, vocabulary)},
    {{"num_queries"}, offsetof(struct shape, queries)},
};
static const struct row frame_side[] = {
    {{"mit_num_hidden_layers"}, offsetof(struct shape, layers)},
    {{"mit_hidden_size"}, offsetof(struct shape, hidden)},
    {{"mit_intermediate_size"}, offsetof(struct shape, ffn)},
    {{"mit_num_attention_heads"}, offsetof(struct shape, heads)},
};
static const struct row joint_side[] = {
    {{"num_query_tokens"}, offsetof(struct shape, queries)},
    {{"prompt_layers"}, offsetof(struct shape, prompts)},
};

static const struct row lists[] = {
    {{"depths"}, offsetof(struct shape, stages)},
    {{"hidden_sizes", "conv_dim"}, offsetof(struct shape, widths)},
    {{"num_attention_heads", "num_heads"}, offsetof(struct shape, stage_heads)},
    {{"conv_kernel"}, offsetof(struct shape, kernels)},
};

static const struct row model_numbers[] = {
    {{"projection_dim"}, offsetof(struct traits, projection)},
    {{"relative_attention_num_buckets"}, offsetof(struct traits, buckets)},
    {{"model_max_length", "max_position_embeddings", "n_positions", "n_ctx", "max_target_positions",
      "max_sequence_length", "max_seq_len"},
     offsetof(struct traits, context)},
};
#define ROWS(table) (table), sizeof(table) / sizeof((table)[0])

struct reader {
    const char *path; /* for messages */
    const char *text;
    uint64_t length;
    struct accel_error *error;
};

static const json_t *find(const json_t *scope, const struct row *row, const char **out_name)
{
    for (size_t i = 0; i < NAMES && row->names[i] != NULL; i++) {
        const json_t *value = json_object_get(scope, row->names[i]);

        *out_name = row->names[i];
        if (value != NULL && !json_is_null(value))
            return value;
    }
    return NULL;
}

static int32_t refuse(const struct reader *reader, const char *name, const char *what)
{
    return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path,
                       model_json_find_key(reader->text, reader->length, name), "%s %s", name, what);
}

static int32_t read_number(const struct reader *reader, const char *name, const json_t *value, uint64_t *out_number)
{
    if (!json_is_integer(value))
        return refuse(reader, name, "is not an integer");
    if (json_integer_value(value) < 0 || json_integer_value(value) > (json_int_t)SHAPE_MAX)
        return refuse(reader, name, "is out of range");
    *out_number = (uint64_t)json_integer_value(value);
    return ACCEL_OK;
}

/* Reads numbers. An edge may be [height, width]; other lists belong to the table of lists. */
static int32_t read_numbers(const struct reader *reader, const json_t *scope, const struct row *rows, size_t count,
                            void *target)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t *number = number_at(target, rows[i].offset);
        const char *name;
        const json_t *value = find(scope, &rows[i], &name);
        int32_t code;

        if (json_is_array(value) && strcmp(name, "image_size") == 0)
            value = json_array_get(value, 0);
        if (value == NULL || json_is_array(value) || json_is_object(value))
            continue;
        code = read_number(reader, name, value, number);
        if (code != ACCEL_OK)
            return code;
    }
    return ACCEL_OK;
}

static int32_t read_lists(const struct reader *reader, const json_t *scope, struct shape *shape)
{
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct shape_list *list = list_at(shape, lists[i].offset);
        const char *name;
        const json_t *value = find(scope, &lists[i], &name);

        if (!json_is_array(value) || json_array_size(value) > SHAPE_ITEMS)
            continue;
        list->count = json_array_size(value);
        for (uint64_t k = 0; k < list->count; k++) {
            int32_t code = read_number(reader, name, json_array_get(value, k), &list->items[k]);

            if (code != ACCEL_OK)
                return code;
        }
    }
    return ACCEL_OK;
}

static int32_t read_pyramid(const struct reader *reader, const json_t *scope, struct shape *shape)
{
    int32_t code = read_numbers(reader, scope, ROWS(pyramid), shape);

    return code == ACCEL_OK ? read_lists(reader, scope, shape) : code;
}

/* Reads the width of a feed-forward network given as a ratio. */
static void read_ratio(const json_t *scope, struct shape *shape)
{
    double ratio = json_number_value(json_object_get(scope, "mlp_ratio"));

    if (shape->ffn == 0 && ratio >= 1 && ratio <= 64)
        shape->ffn = (uint64_t)(ratio * (double)shape->hidden);
}

/* Reads the heads of latent attention: a part without and one with rotary positions, values of another width. */
static int32_t read_latent(const struct reader *reader, const json_t *scope, struct shape *shape)
{
    static const struct row rows[] = {
        {{"qk_nope_head_dim"}, offsetof(struct shape, head_size)},
        {{"v_head_dim"}, offsetof(struct shape, value_size)},
    };
    static const struct row rotary = {{"qk_rope_head_dim"}, offsetof(struct shape, head_size)};
    struct shape turned = {0};
    int32_t code;

    if (json_number_value(json_object_get(scope, "kv_lora_rank")) == 0)
        return ACCEL_OK;
    code = read_numbers(reader, scope, ROWS(rows), shape);
    if (code == ACCEL_OK)
        code = read_numbers(reader, scope, &rotary, 1, &turned);
    shape->head_size += turned.head_size;
    return code;
}

static int32_t read_component(const struct reader *reader, const json_t *scope, enum part part, struct shape *shape)
{
    int32_t code;

    if (!json_is_object(scope))
        return ACCEL_OK;
    code = read_numbers(reader, scope, ROWS(numbers), shape);
    if (code == ACCEL_OK && (part == PART_VISION || part == PART_AUDIO))
        code = read_pyramid(reader, scope, shape);
    if (code == ACCEL_OK)
        code = read_latent(reader, scope, shape);
    /* Falcon: the first design has one key head for all queries; the new one states the number. */
    if (json_is_true(json_object_get(scope, "multi_query")) &&
        !json_is_true(json_object_get(scope, "new_decoder_architecture")))
        shape->kv_heads = 1;
    if (part != PART_AUDIO || shape->widths.count == 0)
        read_ratio(scope, shape);
    return code;
}

/* ---- the family ---- */

static bool has(const json_t *root, const char *name)
{
    const json_t *value = json_object_get(root, name);

    return value != NULL && !json_is_null(value);
}

/* Guesses the kind of an unknown family from the keys of its configuration. */
static const char *guess_kind(const json_t *root)
{
    const char *architecture = json_string_value(json_array_get(json_object_get(root, "architectures"), 0));

    if (has(root, "vision_config"))
        return "multimodal";
    if (has(root, "audio_config"))
        return "audio-multimodal";
    if (architecture != NULL && strstr(architecture, "ForCausalLM") != NULL)
        return "generation";
    if (json_is_true(json_object_get(root, "is_encoder_decoder")))
        return "encoder-decoder";
    if (has(root, "image_size") || has(root, "num_channels"))
        return "vision";
    if (has(root, "conv_dim") || has(root, "num_mel_bins"))
        return "audio";
    return architecture == NULL || has(root, "vocab_size") ? "embedding" : "vision";
}

static int32_t read_family(struct accel_model_description *d, const json_t *root)
{
    const char *name = json_string_value(json_object_get(root, "model_type"));

    d->has_json = true;
    family_set(d, family_find(name) != NULL ? family_find(name) : family_guess(guess_kind(root)));
    d->traits.kind = d->family->kind;
    return family_name(d, name, name == NULL ? 0 : strlen(name));
}

/* Returns whether all weights have 8 bits and are declared to be multiplied with activations of 8 bits that get one
 * scale for a token when they are computed, as compressed-tensors spells it. */
static bool declares_q8_row(const json_t *packing)
{
    const json_t *groups = json_object_get(packing, "config_groups"), *group;
    bool declared = json_object_size(groups) != 0;
    const char *name;

    json_object_foreach((json_t *)(uintptr_t)groups, name, group)
    {
        const json_t *weights = json_object_get(group, "weights"), *x = json_object_get(group, "input_activations");
        const char *type = json_string_value(json_object_get(x, "type"));
        const char *strategy = json_string_value(json_object_get(x, "strategy"));

        declared = declared && json_integer_value(json_object_get(weights, "num_bits")) == 8 &&
                   json_integer_value(json_object_get(x, "num_bits")) == 8 && type != NULL &&
                   strcmp(type, "int") == 0 && strategy != NULL && strcmp(strategy, "token") == 0 &&
                   json_is_true(json_object_get(x, "dynamic")) && !json_is_false(json_object_get(x, "symmetric"));
    }
    return declared;
}

/* Reads how the weights are quantized. The published weights of gpt-oss have experts in MXFP4 and others in 16 bits. */
static int32_t read_packing(struct accel_model_description *d, const struct reader *reader, const json_t *root)
{
    const json_t *packing = json_object_get(root, "quantization_config");
    const char *method = json_string_value(json_object_get(packing, "quant_method"));

    if (packing == NULL || json_is_null(packing))
        return ACCEL_OK;
    if (!json_is_object(packing))
        return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, MODEL_NO_OFFSET, "%s is %s, not an object",
                           "quantization_config", model_json_kind(packing));
    method = method == NULL ? "not stated" : method;
    d->traits.expert_type = strcasecmp(method, "mxfp4") == 0 ? ACCEL_MXFP4 : ACCEL_TYPE_NONE;
    d->traits.packing = model_pool_text(&d->pool, method, strlen(method));
    if (d->traits.packing == NULL)
        return model_no_memory(reader->error, d->path, strlen(method));
    return declares_q8_row(packing) ? describe_fact(d, "model.activations", "q8_row", reader->path, reader->error)
                                    : ACCEL_OK;
}

/* ---- the whole configuration ---- */

static bool is_two_sided(const struct accel_model_description *d, const json_t *root)
{
    return d->family->encoder != d->family->decoder && (has(root, "encoder_layers") || has(root, "d_kv"));
}

static int32_t read_root(struct accel_model_description *d, const struct reader *reader, const json_t *root)
{
    enum part main = d->family->main, encoder = d->family->encoder;
    int32_t code;

    if (!is_two_sided(d, root))
        return has(root, "text_config") ? ACCEL_OK : read_component(reader, root, main, &d->shapes[main]);
    code = read_numbers(reader, root, ROWS(encoder_side), &d->shapes[encoder]);
    if (code == ACCEL_OK)
        code = read_numbers(reader, root, ROWS(decoder_side), &d->shapes[d->family->decoder]);
    return code;
}

static int32_t read_joint(struct accel_model_description *d, const struct reader *reader, const json_t *root)
{
    struct shape *projector = &d->shapes[PART_PROJECTOR];
    int32_t code = read_component(reader, json_object_get(root, "qformer_config"), PART_PROJECTOR, projector);

    /* The projector does not include the vocabulary it was trained with. */
    projector->vocabulary = 0;
    if (code == ACCEL_OK)
        code = read_numbers(reader, json_object_get(root, "vision_config"), ROWS(frame_side), projector);
    if (code == ACCEL_OK)
        code = read_numbers(reader, root, ROWS(joint_side), projector);
    return code;
}

static int32_t read_model(struct accel_model_description *d, const struct reader *reader, const json_t *root)
{
    const json_t *texts = json_object_get(root, "text_config"), *padding = json_object_get(root, "pad_token_id");
    int32_t code = ACCEL_OK;

    if (d->family->texts == d->family->main && json_is_object(texts))
        code = read_numbers(reader, texts, ROWS(model_numbers), &d->traits);
    if (code == ACCEL_OK)
        code = read_numbers(reader, root, ROWS(model_numbers), &d->traits);
    /* Its positions begin after the id of padding. */
    if (strcmp(d->family->name, "roberta") == 0 && json_is_integer(padding) && json_integer_value(padding) >= 0 &&
        (uint64_t)json_integer_value(padding) + 1 < d->traits.context)
        d->traits.context -= (uint64_t)json_integer_value(padding) + 1;
    if (json_is_object(json_object_get(root, "id2label")))
        d->traits.classes = json_object_size(json_object_get(root, "id2label"));
    return code;
}

static int32_t read_all(struct accel_model_description *d, const struct reader *reader, const json_t *root)
{
    int32_t code = read_root(d, reader, root);

    if (code == ACCEL_OK)
        code = read_component(reader, json_object_get(root, "text_config"), d->family->texts,
                              &d->shapes[d->family->texts]);
    if (code == ACCEL_OK)
        code = read_component(reader, json_object_get(root, "backbone_config"), PART_VISION, &d->shapes[PART_VISION]);
    if (code == ACCEL_OK)
        code = read_component(reader, json_object_get(root, "vision_config"), PART_VISION, &d->shapes[PART_VISION]);
    if (code == ACCEL_OK)
        code = read_component(reader, json_object_get(root, "audio_config"), PART_AUDIO, &d->shapes[PART_AUDIO]);
    if (code == ACCEL_OK)
        code = read_joint(d, reader, root);
    return code == ACCEL_OK ? read_model(d, reader, root) : code;
}

/* Returns the offset of a shape's member in the text, or that of its beginning. */
static uint64_t find_offset(const struct reader *reader, const char *member)
{
    size_t member_offset =
        strcmp(member, "heads") == 0 ? offsetof(struct shape, heads) : offsetof(struct shape, kv_heads);
    uint64_t place = 0;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        for (size_t k = 0; k < NAMES && numbers[i].names[k] != NULL && place == 0; k++)
            if (numbers[i].offset == member_offset)
                place = model_json_find_key(reader->text, reader->length, numbers[i].names[k]);
    return place;
}

static int32_t check_shapes(const struct accel_model_description *d, const struct reader *reader)
{
    char text[IMPOSSIBLE_BYTES];

    for (uint32_t part = 0; part < PARTS; part++) {
        const char *member = describe_impossible(&d->shapes[part], text);

        if (member != NULL)
            return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, find_offset(reader, member), "%s: %s",
                               part_names[part], text);
    }
    return ACCEL_OK;
}

int32_t describe_config_text(struct accel_model_description *d, const char *path, const char *text, uint64_t length,
                             struct accel_error *error)
{
    struct reader reader = {.path = path, .text = text, .length = length, .error = error};
    json_t *root = NULL;
    int32_t code = model_json_parse(path, 0, text, length, CONFIG_DEPTH, &root, error);

    family_set(d, family_guess("generation"));
    if (code == ACCEL_OK && !json_is_object(root))
        code =
            model_fault(error, ACCEL_E_CORRUPT, path, MODEL_NO_OFFSET, "is %s, not an object", model_json_kind(root));
    if (code == ACCEL_OK && read_family(d, root) != ACCEL_OK)
        code = model_no_memory(error, d->path, 0);
    if (code == ACCEL_OK)
        code = read_packing(d, &reader, root);
    if (code == ACCEL_OK)
        code = read_all(d, &reader, root);
    if (code == ACCEL_OK)
        code = check_shapes(d, &reader);
    json_decref(root);
    return code;
}

int32_t describe_config(struct accel_model_description *d, const struct accel_model_file *file,
                        struct accel_error *error)
{
    struct accel_error inner = {0};
    char place[CONFIG_PLACE];
    uint64_t length;
    char *text = NULL;
    int32_t code = accel_model_file_sibling(file, CONFIG_NAME, CONFIG_TEXT_MAX, &text, &length, &inner);

    family_set(d, family_guess("generation"));
    d->lacks_config = code == ACCEL_E_NOT_FOUND;
    if (d->lacks_config)
        return ACCEL_OK;
    if (code != ACCEL_OK)
        return model_error_copy(error, &inner);
    snprintf(place, sizeof(place), "%s: %s", d->path, CONFIG_NAME);
    code = describe_config_text(d, place, text, length, error);
    accel_model_text_free(text);
    return code;
}
