/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the name of a tensor: component, layer, role. Names of checkpoints and of GGUF are words separated by dots.
 * The last words other than "weight" or "bias" name the matrix; a number after a word for layers is the layer; words
 * before it name the component. Unknown names have the role "other".
 */
#include <stdlib.h>
#include <string.h>

#include "model/describe/internal.h"
#include "model/file/text.h"

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

static bool is_one_of(const char *word, const char *list)
{
    return model_text_is_one_of(list, word, strlen(word));
}

/* Returns whether a name has a word of a list. */
static bool has_word(const struct words *words, const char *list)
{
    for (uint32_t i = 0; i < words->count; i++)
        if (is_one_of(words->text[i], list))
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
    uint32_t part;
    const char *words;
} owners[] = {
    {PART_VISION, "vision_model vision_tower visual visual_projection backbone input_projection v vit"},
    {PART_AUDIO, "audio_model audio_tower audio_projection a"},
    {PART_TEXT, "text_model text_projection text_encoder"},
    {PART_DECODER, "text_decoder"},
    {PART_LANGUAGE, "language_model"},
    {PART_PROJECTOR, "multi_modal_projector image_newline qformer query_tokens language_projection mm mit "
                     "prompts_generator prompts_visual_projection prompts_visual_layernorm logit_scale"},
    {BY_ENCODER, "encoder enc"},
    {BY_DECODER, "decoder dec lm_head"},
};

static enum part part_of(const struct words *words, const struct family *family)
{
    for (uint32_t w = 0; w < words->count; w++)
        for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++)
            if (is_one_of(words->text[w], owners[i].words) && (w == 0 || strlen(words->text[w]) > 2))
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

static const char layer_lists[] = "layers layer block blk blocks h";

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
    uint32_t layer;

    for (uint32_t i = 0; i + 1 < words->count; i++) {
        /* Lists that are not layers. */
        if (is_one_of(words->text[i], "bbox_predictor conv_layers prompts_generator"))
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

/* Words that name a matrix, directly behind one of `parents` in the first rows. */
static const struct {
    const char *role;
    const char *parents; /* "" for any */
    const char *words;
} matrices[] = {
    {"attention.o", "self_attn", "projection dense"},
    {"attention.o", "self_attention attention", "dense"},
    {"attention.o", "attn", "proj c_proj"},
    {"attention.o", "cross_attn", "proj"},
    {"attention.o", "SelfAttention EncDecAttention", "o"},
    {"ffn.up", "intermediate intermediate_query", "dense"},
    {"ffn.up", "mlp", "0"},
    {"ffn.down", "output_query", "dense"},
    {"ffn.down", "mlp", "3"},
    {"head", "classifier", "out_proj 1"},
    {"head", "predictions", "decoder"},
    {"attention.q", "",
     "q_proj query attn_q cross_attn_q q_a_proj q_b_proj attn_q_a attn_q_b q_lin wq q c_attn qkv qkv_proj Wqkv "
     "query_key_value attn_qkv in_proj_weight"},
    {"attention.k", "", "k_proj key attn_k cross_attn_k kv_a_proj_with_mqa attn_kv_a_mqa attn_k_b k_lin wk k"},
    {"attention.v", "", "v_proj value attn_v cross_attn_v kv_b_proj attn_kv_b attn_v_b v_lin wv v"},
    {"attention.o", "", "o_proj out_proj attn_output cross_attn_o attn_o attn_out out_lin"},
    {"ffn.up", "",
     "fc1 up_proj intermediate_dense c_fc wi wi_1 w3 ffn_up ffn_up_exps ffn_up_shexp dense_h_to_4h lin1 pwconv1 dense1 "
     "ffn"},
    {"ffn.gate", "", "gate_proj gate_up_proj wi_0 w1 ffn_gate ffn_gate_exps ffn_gate_shexp"},
    {"ffn.down", "",
     "fc2 down_proj output_dense c_proj wo w2 ffn_down ffn_down_exps ffn_down_shexp dense_4h_to_h lin2 pwconv2 dense2 "
     "ffn_output"},
    {"head", "", "lm_head embed_out classifier class_labels_classifier proj_out score qa_outputs"},
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
        if (is_one_of(word, matrices[i].words) &&
            (matrices[i].parents[0] == 0 || is_one_of(parent, matrices[i].parents)))
            return matrices[i].role;
    return NULL;
}

static bool is_table(const struct words *words, uint32_t last)
{
    static const char tables[] =
        "wte wpe shared cls_token query_tokens token_embd image_newline relative_attention_bias "
        "distillation_token relative_position_bias_table mask_token";

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
    static const char ends[] = "weight bias weight_v weight_g running_mean running_var scales qweight qzeros";
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

static const char token_tables[] = "embed_tokens word_embeddings token_embedding wte shared token_embd embed_in";
static const char position_tables[] = "position_embeddings position_embedding embed_positions wpe position_embd";

bool name_is_fused(const char *name)
{
    struct words words;

    split(name, &words);
    return words.count > 1 && strcmp(words.text[words.count - 1], "weight") == 0 &&
           is_one_of(words.text[words.count - 2], "c_attn qkv qkv_proj Wqkv query_key_value");
}

void name_read(const char *name, const struct family *family, uint32_t rank, struct name_facts *out_facts)
{
    static const char stacks[] = "gate_up_proj down_proj"; /* of all experts of a layer */
    struct words words;

    split(name, &words);
    *out_facts = (struct name_facts){.part = family->fallback, .layer = ACCEL_NO_LAYER, .role = "other"};
    if (words.count == 0)
        return;
    out_facts->part = part_of(&words, family);
    out_facts->layer = layer_of(&words);
    out_facts->role = role_of(&words, rank);
    out_facts->is_tokens = rank == 2 && has_word(&words, token_tables);
    out_facts->is_positions = rank >= 2 && has_word(&words, position_tables);
    out_facts->is_turned = (rank == 2 && words.count > 1 && strcmp(family->name, "gpt2") == 0 &&
                            is_one_of(words.text[words.count - 2], "c_attn c_proj c_fc")) ||
                           (rank == 3 && is_one_of(words.text[words.count - 1], stacks));
}
