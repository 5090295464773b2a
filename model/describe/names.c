/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the name of a tensor: component, layer, role. Names of checkpoints and of GGUF are words separated by dots.
 * The last words other than "weight" or "bias" name the matrix; a number after a word for layers is the layer; words
 * before it name the component. Unknown names have the role "other".
 */
#include <stdlib.h>
#include <string.h>

#include "model/describe/internal.h"

enum { WORDS = 24, WORD_BYTES = 64 };

struct words {
    uint32_t count;
    char text[WORDS][WORD_BYTES];
};

static void split(const char *name, struct words *out_words)
{
    out_words->count = 0;
    for (const char *p = name; *p != 0 && out_words->count < WORDS;) {
        size_t length = strcspn(p, "./"), copied = length < WORD_BYTES ? length : WORD_BYTES - 1;

        memcpy(out_words->text[out_words->count], p, copied);
        out_words->text[out_words->count++][copied] = 0;
        p += length + (p[length] != 0);
    }
}

static bool is_one_of(const char *word, const char *const *list)
{
    for (size_t i = 0; list[i] != NULL; i++)
        if (strcmp(word, list[i]) == 0)
            return true;
    return false;
}

static bool has_word(const struct words *words, const char *word)
{
    for (uint32_t i = 0; i < words->count; i++)
        if (strcmp(words->text[i], word) == 0)
            return true;
    return false;
}

static bool is_number(const char *word, uint32_t *out_number)
{
    size_t length = strspn(word, "0123456789");

    if (length == 0 || length > 6 || word[length] != 0)
        return false;
    *out_number = (uint32_t)atoi(word);
    return true;
}

/* ---- component ---- */

/* Resolved by the family. */
enum { BY_ENCODER = PARTS + 1, BY_DECODER };

/* The first word found here decides. Words of one or two letters count only at the beginning of the name: further in,
 * "v" is a matrix. */
static const struct {
    const char *word;
    uint32_t part;
} owners[] = {
    {"vision_model", PART_VISION},
    {"vision_tower", PART_VISION},
    {"visual", PART_VISION},
    {"visual_projection", PART_VISION},
    {"backbone", PART_VISION},
    {"input_projection", PART_VISION},
    {"v", PART_VISION},
    {"vit", PART_VISION},
    {"audio_model", PART_AUDIO},
    {"audio_tower", PART_AUDIO},
    {"audio_projection", PART_AUDIO},
    {"a", PART_AUDIO},
    {"text_model", PART_TEXT},
    {"text_projection", PART_TEXT},
    {"text_encoder", PART_TEXT},
    {"text_decoder", PART_DECODER},
    {"language_model", PART_LANGUAGE},
    {"multi_modal_projector", PART_PROJECTOR},
    {"image_newline", PART_PROJECTOR},
    {"qformer", PART_PROJECTOR},
    {"query_tokens", PART_PROJECTOR},
    {"language_projection", PART_PROJECTOR},
    {"mm", PART_PROJECTOR},
    {"mit", PART_PROJECTOR},
    {"prompts_generator", PART_PROJECTOR},
    {"prompts_visual_projection", PART_PROJECTOR},
    {"prompts_visual_layernorm", PART_PROJECTOR},
    {"logit_scale", PART_PROJECTOR},
    {"encoder", BY_ENCODER},
    {"enc", BY_ENCODER},
    {"decoder", BY_DECODER},
    {"dec", BY_DECODER},
    {"lm_head", BY_DECODER},
};

static enum part part_of(const struct words *words, const struct family *family)
{
    for (uint32_t w = 0; w < words->count; w++)
        for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++)
            if (strcmp(words->text[w], owners[i].word) == 0 && (w == 0 || strlen(owners[i].word) > 2))
                return owners[i].part == BY_ENCODER   ? family->encoder
                       : owners[i].part == BY_DECODER ? family->decoder
                                                      : (enum part)owners[i].part;
    return family->fallback;
}

/* ---- layer ---- */

enum { STAGES_MAX = 1024, BLOCKS_MAX = 65536 };

/* Encodes stage and block as one number that preserves their order. */
static uint32_t staged(uint32_t stage, uint32_t block)
{
    return stage < STAGES_MAX && block < BLOCKS_MAX ? NAME_STAGED + stage * BLOCKS_MAX + block : ACCEL_NO_LAYER;
}

static const char *const layer_lists[] = {"layers", "layer", "block", "blk", "blocks", "h", NULL};

/* Returns whether word `i` begins stage and block: "stages.1.layers.0", "layers.1.blocks.0", or SegFormer's
 * "block.1.0". */
static bool is_staged(const struct words *words, uint32_t i, uint32_t *out_layer)
{
    uint32_t stage, block;
    bool is_stage = strcmp(words->text[i], "stages") == 0, is_block = strcmp(words->text[i], "block") == 0;

    if (i + 2 >= words->count || !is_number(words->text[i + 1], &stage))
        return false;
    if (is_block && is_number(words->text[i + 2], &block)) {
        *out_layer = staged(stage, block);
        return true;
    }
    if (i + 3 >= words->count ||
        !(is_stage || (strcmp(words->text[i], "layers") == 0 && strcmp(words->text[i + 2], "blocks") == 0)))
        return false;
    *out_layer = is_one_of(words->text[i + 2], layer_lists) && is_number(words->text[i + 3], &block)
                     ? staged(stage, block)
                     : ACCEL_NO_LAYER;
    return true;
}

static uint32_t layer_of(const struct words *words)
{
    /* Lists that are not layers. */
    static const char *const never[] = {"bbox_predictor", "conv_layers", "prompts_generator", NULL};
    uint32_t layer;

    for (uint32_t i = 0; i + 1 < words->count; i++) {
        if (is_one_of(words->text[i], never))
            return ACCEL_NO_LAYER;
        if (is_staged(words, i, &layer))
            return layer;
        if (!is_one_of(words->text[i], layer_lists) || !is_number(words->text[i + 1], &layer))
            continue;
        /* Tensors between two stages belong to neither. */
        return i + 2 < words->count && strcmp(words->text[i + 2], "downsample") == 0 ? ACCEL_NO_LAYER : layer;
    }
    return ACCEL_NO_LAYER;
}

/* ---- role ---- */

/* Words that name a matrix; a given parent has to precede the word directly. */
static const struct {
    const char *word;
    const char *parent;
    const char *role;
} matrices[] = {
    {"q_proj", NULL, "attention.q"},
    {"query", NULL, "attention.q"},
    {"attn_q", NULL, "attention.q"},
    {"cross_attn_q", NULL, "attention.q"},
    {"q_a_proj", NULL, "attention.q"},
    {"q_b_proj", NULL, "attention.q"},
    {"attn_q_a", NULL, "attention.q"},
    {"attn_q_b", NULL, "attention.q"},
    {"q_lin", NULL, "attention.q"},
    {"wq", NULL, "attention.q"},
    {"q", NULL, "attention.q"},
    {"c_attn", NULL, "attention.q"},
    {"qkv", NULL, "attention.q"},
    {"qkv_proj", NULL, "attention.q"},
    {"Wqkv", NULL, "attention.q"},
    {"query_key_value", NULL, "attention.q"},
    {"attn_qkv", NULL, "attention.q"},
    {"in_proj_weight", NULL, "attention.q"},
    {"k_proj", NULL, "attention.k"},
    {"key", NULL, "attention.k"},
    {"attn_k", NULL, "attention.k"},
    {"cross_attn_k", NULL, "attention.k"},
    {"kv_a_proj_with_mqa", NULL, "attention.k"},
    {"attn_kv_a_mqa", NULL, "attention.k"},
    {"attn_k_b", NULL, "attention.k"},
    {"k_lin", NULL, "attention.k"},
    {"wk", NULL, "attention.k"},
    {"k", NULL, "attention.k"},
    {"v_proj", NULL, "attention.v"},
    {"value", NULL, "attention.v"},
    {"attn_v", NULL, "attention.v"},
    {"cross_attn_v", NULL, "attention.v"},
    {"kv_b_proj", NULL, "attention.v"},
    {"attn_kv_b", NULL, "attention.v"},
    {"attn_v_b", NULL, "attention.v"},
    {"v_lin", NULL, "attention.v"},
    {"wv", NULL, "attention.v"},
    {"v", NULL, "attention.v"},
    {"o_proj", NULL, "attention.o"},
    {"out_proj", "classifier", "head"},
    {"out_proj", NULL, "attention.o"},
    {"attn_output", NULL, "attention.o"},
    {"cross_attn_o", NULL, "attention.o"},
    {"attn_o", NULL, "attention.o"},
    {"attn_out", NULL, "attention.o"},
    {"out_lin", NULL, "attention.o"},
    {"projection", "self_attn", "attention.o"},
    {"proj", "attn", "attention.o"},
    {"proj", "cross_attn", "attention.o"},
    {"dense", "self_attn", "attention.o"},
    {"dense", "self_attention", "attention.o"},
    {"dense", "attention", "attention.o"},
    {"c_proj", "attn", "attention.o"},
    {"o", "SelfAttention", "attention.o"},
    {"o", "EncDecAttention", "attention.o"},
    {"fc1", NULL, "ffn.up"},
    {"up_proj", NULL, "ffn.up"},
    {"dense", "intermediate", "ffn.up"},
    {"dense", "intermediate_query", "ffn.up"},
    {"intermediate_dense", NULL, "ffn.up"},
    {"c_fc", NULL, "ffn.up"},
    {"wi", NULL, "ffn.up"},
    {"wi_1", NULL, "ffn.up"},
    {"w3", NULL, "ffn.up"},
    {"ffn_up", NULL, "ffn.up"},
    {"ffn_up_exps", NULL, "ffn.up"},
    {"ffn_up_shexp", NULL, "ffn.up"},
    {"dense_h_to_4h", NULL, "ffn.up"},
    {"lin1", NULL, "ffn.up"},
    {"pwconv1", NULL, "ffn.up"},
    {"dense1", NULL, "ffn.up"},
    {"ffn", NULL, "ffn.up"},
    {"0", "mlp", "ffn.up"},
    {"gate_proj", NULL, "ffn.gate"},
    {"gate_up_proj", NULL, "ffn.gate"},
    {"wi_0", NULL, "ffn.gate"},
    {"w1", NULL, "ffn.gate"},
    {"ffn_gate", NULL, "ffn.gate"},
    {"ffn_gate_exps", NULL, "ffn.gate"},
    {"ffn_gate_shexp", NULL, "ffn.gate"},
    {"fc2", NULL, "ffn.down"},
    {"down_proj", NULL, "ffn.down"},
    {"dense", "output_query", "ffn.down"},
    {"output_dense", NULL, "ffn.down"},
    {"c_proj", NULL, "ffn.down"},
    {"wo", NULL, "ffn.down"},
    {"w2", NULL, "ffn.down"},
    {"ffn_down", NULL, "ffn.down"},
    {"ffn_down_exps", NULL, "ffn.down"},
    {"ffn_down_shexp", NULL, "ffn.down"},
    {"dense_4h_to_h", NULL, "ffn.down"},
    {"lin2", NULL, "ffn.down"},
    {"pwconv2", NULL, "ffn.down"},
    {"dense2", NULL, "ffn.down"},
    {"ffn_output", NULL, "ffn.down"},
    {"3", "mlp", "ffn.down"},
    {"lm_head", NULL, "head"},
    {"embed_out", NULL, "head"},
    {"classifier", NULL, "head"},
    {"1", "classifier", "head"},
    {"class_labels_classifier", NULL, "head"},
    {"decoder", "predictions", "head"},
    {"proj_out", NULL, "head"},
    {"score", NULL, "head"},
    {"qa_outputs", NULL, "head"},
};

static bool contains(const struct words *words, const char *text)
{
    for (uint32_t i = 0; i < words->count; i++)
        if (strstr(words->text[i], text) != NULL)
            return true;
    return false;
}

/* Returns the role of "output.dense": attention's if an earlier word names attention, else the feed-forward network's.
 */
static const char *output_dense(const struct words *words, uint32_t last)
{
    for (uint32_t i = 0; i + 1 < last; i++)
        if (strcmp(words->text[i], "attention") == 0 || strcmp(words->text[i], "crossattention") == 0)
            return "attention.o";
    return "ffn.down";
}

static const char *matrix_role(const struct words *words, uint32_t last)
{
    const char *word = words->text[last], *parent = last == 0 ? "" : words->text[last - 1];

    if (has_word(words, "bbox_predictor"))
        return "head";
    if (strcmp(word, "dense") == 0 && strcmp(parent, "output") == 0)
        return output_dense(words, last);
    if (strcmp(word, "output") == 0 && last == 0)
        return "head";
    for (size_t i = 0; i < sizeof(matrices) / sizeof(matrices[0]); i++)
        if (strcmp(word, matrices[i].word) == 0 &&
            (matrices[i].parent == NULL || strcmp(parent, matrices[i].parent) == 0))
            return matrices[i].role;
    return NULL;
}

static bool is_table(const struct words *words, uint32_t last)
{
    static const char *const tables[] = {"wte",
                                         "wpe",
                                         "shared",
                                         "cls_token",
                                         "query_tokens",
                                         "token_embd",
                                         "image_newline",
                                         "relative_attention_bias",
                                         "distillation_token",
                                         "relative_position_bias_table",
                                         "mask_token",
                                         NULL};

    /* The output projection of GPT-NeoX. */
    if (strcmp(words->text[last], "embed_out") == 0)
        return false;
    return is_one_of(words->text[last], tables) || strstr(words->text[last], "embed") != NULL ||
           strstr(words->text[last], "embd") != NULL || strstr(words->text[last], "attn_rel_b") != NULL;
}

static bool is_norm(const char *word)
{
    return strstr(word, "norm") != NULL || strstr(word, "Norm") != NULL || strncmp(word, "ln_", 3) == 0 ||
           strcmp(word, "ln") == 0 || strcmp(word + strlen(word) - (strlen(word) < 3 ? 0 : 3), "_ln") == 0;
}

static const char *role_of(const struct words *words, uint32_t rank)
{
    static const char *const ends[] = {"weight",      "bias",   "weight_v", "weight_g", "running_mean",
                                       "running_var", "scales", "qweight",  "qzeros",   NULL};
    uint32_t last = words->count - 1;
    bool is_bias = strcmp(words->text[last], "bias") == 0;
    const char *role;

    if (last > 0 && is_one_of(words->text[last], ends))
        last--;
    if (is_bias || is_norm(words->text[last]) || (last > 0 && is_norm(words->text[last - 1]) && rank < 2))
        return "norm";
    if (rank >= 3 && (contains(words, "conv") || contains(words, "patch_em") || contains(words, "projection")))
        return "conv";
    if (is_table(words, last))
        return "embedding";
    if (rank < 2)
        return "norm";
    role = matrix_role(words, last);
    if (role != NULL)
        return role;
    return rank >= 4 || contains(words, "convolution") ? "conv" : "other";
}

/* ---- whole names ---- */

static bool is_token_table(const struct words *words)
{
    static const char *const names[] = {"embed_tokens", "word_embeddings", "token_embedding", "wte",
                                        "shared",       "token_embd",      "embed_in",        NULL};

    for (uint32_t i = 0; i < words->count; i++)
        if (is_one_of(words->text[i], names))
            return true;
    return false;
}

static bool is_position_table(const struct words *words)
{
    static const char *const names[] = {
        "position_embeddings", "position_embedding", "embed_positions", "wpe", "position_embd", NULL};

    for (uint32_t i = 0; i < words->count; i++)
        if (is_one_of(words->text[i], names))
            return true;
    return false;
}

bool name_is_fused(const char *name)
{
    static const char *const fused[] = {"c_attn", "qkv", "qkv_proj", "Wqkv", "query_key_value", NULL};
    struct words words;

    split(name, &words);
    return words.count > 1 && strcmp(words.text[words.count - 1], "weight") == 0 &&
           is_one_of(words.text[words.count - 2], fused);
}

void name_read(const char *name, const struct family *family, uint32_t rank, struct name_facts *out_facts)
{
    static const char *const turned[] = {"c_attn", "c_proj", "c_fc", NULL};
    static const char *const stacks[] = {"gate_up_proj", "down_proj", NULL}; /* of all experts of a layer */
    struct words words;

    split(name, &words);
    *out_facts = (struct name_facts){.part = family->fallback, .layer = ACCEL_NO_LAYER, .role = "other"};
    if (words.count == 0)
        return;
    out_facts->part = part_of(&words, family);
    out_facts->layer = layer_of(&words);
    out_facts->role = role_of(&words, rank);
    out_facts->is_tokens = rank == 2 && is_token_table(&words);
    out_facts->is_positions = rank >= 2 && is_position_table(&words);
    out_facts->is_turned = (rank == 2 && words.count > 1 && strcmp(family->name, "gpt2") == 0 &&
                            is_one_of(words.text[words.count - 2], turned)) ||
                           (rank == 3 && is_one_of(words.text[words.count - 1], stacks));
}
