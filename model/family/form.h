/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form of a decoder: what makes one family's step differ from another's, as data. A family has a form with its
 * constants; the configuration of a model changes the members that its keys name (config.c), and decoder.c reads the
 * result. A member serves at least two families.
 */
#ifndef ACCEL_MODEL_FAMILY_FORM_H
#define ACCEL_MODEL_FAMILY_FORM_H

#include <stdbool.h>
#include <stdint.h>

/* Parts of a decoder that have tensors. */
enum decoder_part {
    DECODER_EMBEDDING,
    DECODER_POSITIONS,      /* table of learned positions */
    DECODER_EMBEDDING_NORM, /* behind the embedding */
    DECODER_PROJECT_IN,     /* from the width of the embedding to that of the layers */
    DECODER_FINAL_NORM,
    DECODER_PROJECT_OUT,
    DECODER_OUTPUT,
    DECODER_ATTENTION_NORM,
    DECODER_QUERY,
    DECODER_KEY,
    DECODER_VALUE,
    DECODER_QKV, /* query, key and value in one matrix */
    DECODER_QUERY_NORM,
    DECODER_KEY_NORM,
    DECODER_SINK,       /* learned score that joins the softmax */
    DECODER_QUERY_DOWN, /* latent attention: compresses queries */
    DECODER_QUERY_DOWN_NORM,
    DECODER_QUERY_UP,
    DECODER_KV_DOWN, /* compresses keys and values; its last rows are the shared rotary part of keys */
    DECODER_KV_DOWN_NORM,
    DECODER_KV_UP,    /* for each head its key without rotary positions, then its value */
    DECODER_KEY_UP,   /* of all heads, transposed: from queries to compressed keys */
    DECODER_VALUE_UP, /* of all heads */
    DECODER_ATTENTION_OUT,
    DECODER_ATTENTION_POST_NORM,
    DECODER_FFN_NORM,
    DECODER_FFN_GATE,
    DECODER_FFN_UP, /* gate and up in one matrix where ffn is FORM_FUSED_GATE */
    DECODER_FFN_DOWN,
    DECODER_FFN_POST_NORM,
    DECODER_ROUTER,
    DECODER_EXPERT_GATE, /* of all experts, one after the other */
    DECODER_EXPERT_UP,
    DECODER_EXPERT_DOWN,
    DECODER_SHARED_GATE, /* of the expert that every token has */
    DECODER_SHARED_UP,
    DECODER_SHARED_DOWN,
    DECODER_SHARED_FACTOR, /* its sigmoid multiplies the output of the shared expert */
    DECODER_PARTS
};

/* Presence of a tensor. FORM_IF_STORED: present in all layers if the first one has it. */
enum form_presence { FORM_ABSENT, FORM_PRESENT, FORM_IF_STORED };

enum form_norm {
    FORM_RMS_NORM,  /* x / sqrt(mean(x^2) + epsilon) * weight */
    FORM_LAYER_NORM /* of x - mean(x), with a bias by norm_bias */
};

/* Place of the norms of a branch (attention or feed-forward part) with its residual. */
enum form_norm_place {
    FORM_NORM_BEFORE, /* x + branch(norm(x)) */
    FORM_NORM_AFTER,  /* x + norm(branch(x)) */
    FORM_NORM_AROUND, /* x + norm(branch(norm(x))) */
    FORM_NORM_SUM     /* norm(x + branch(x)) */
};

enum form_branches {
    FORM_SEQUENTIAL,
    FORM_PARALLEL,         /* x + attention(norm(x)) + ffn(norm'(x)) */
    FORM_PARALLEL_ONE_NORM /* one norm for both branches */
};

/* How the matrices of queries, keys and values are stored. */
enum form_qkv {
    FORM_QKV_SEPARATE,
    FORM_QKV_ROWS,  /* one matrix: all queries, then all keys, then all values */
    FORM_QKV_GROUPS /* one matrix: for each key head its queries, its key, its value */
};

/* Norms of queries and keys before rotary positions. */
enum form_qk_norm {
    FORM_QK_NONE,
    FORM_QK_HEAD,  /* of each head, one weight [head size] for all */
    FORM_QK_EACH,  /* of each head, a weight of its own: [heads, head size] */
    FORM_QK_WHOLE, /* of all heads at once */
};

enum form_position { FORM_ROTARY, FORM_LEARNED, FORM_ALIBI };

enum form_ffn {
    FORM_GATED,      /* down(function(gate(x)) * up(x)) */
    FORM_FUSED_GATE, /* the same, gate and up in one matrix, gate first */
    FORM_PLAIN       /* down(function(up(x))) */
};

/* Which layers have the window of config.json. Families behind FORM_WINDOW_ALL read a list of layer types first. */
enum form_windows {
    FORM_WINDOW_NONE,
    FORM_WINDOW_ALL,
    FORM_WINDOW_FROM,       /* layers from max_window_layers on */
    FORM_WINDOW_EVEN_BELOW, /* layers 0, 2, 4, ... below max_window_layers */
    FORM_WINDOW_PATTERN,    /* as full_every */
    FORM_WINDOW_NO_ROTARY   /* layers without rotary positions */
};

struct decoder_form {
    enum form_norm norm;
    enum form_presence norm_bias;
    enum form_norm_place norm_place;
    enum form_branches branches;
    enum form_qkv qkv;
    enum form_qk_norm qk_norm;
    enum form_presence qk_norm_presence;
    enum form_position position;
    enum form_ffn ffn;
    enum form_windows windows;
    enum form_presence q_bias, k_bias, v_bias, o_bias, ffn_bias, output_bias;
    enum form_presence embedding_norm;
    enum form_presence output; /* FORM_ABSENT: the embedding is the output projection */
    bool unit_offset;          /* norms multiply by 1 + weight; GGUF files have the sum */
    bool neighbours;           /* rotary pairs are neighbours in files with a config.json */
    bool sink;                 /* attention has a learned sink for each head */
    bool no_final_norm;
    bool embedding_root;     /* embeddings are multiplied by the root of the width */
    bool shared_factor;      /* a shared expert has a factor of its own for each token */
    bool expert_bias;        /* router and experts have biases */
    uint32_t position_first; /* row of the table of positions that position 0 has */
    uint32_t full_every;     /* layers l with (l + 1) % full_every == 0 have no window; 0: by the file */
    uint32_t no_rotary_every;
    uint32_t context;         /* where no key has it; 0: the key is required */
    uint32_t ffn_by_hidden;   /* width of the feed-forward part by that of the layers, where no key has it */
    double norm_epsilon;      /* where no key has it */
    double rotary_share;      /* of a head that is rotary, where no key has it; 0: all */
    double gguf_sliding_base; /* of rotary positions in layers with a window, where no key of GGUF has it */
    bool gguf_sliding_plain;  /* rotary positions in layers with a window are not scaled, which GGUF does not state */
    uint32_t gguf_window;     /* tokens, where no key of GGUF has it; 0: none */
    bool yarn_exact;          /* the bounds of YaRN's ramp are no whole dimensions, if no key has it */
    uint32_t norms_in_parallel;
    bool alibi_by_head; /* slopes are divided by the root of the head size, as scores are */
    bool gelu_is_tanh;  /* the activation "gelu" of config.json stands for gelu_pytorch_tanh */
    bool transposed;    /* matrices of layers have their inputs first in files with a config.json */

    /* From keys of the configuration, with the value that changes nothing where the family reads none. */
    double embedding_scale;   /* 1 */
    double residual_scale;    /* of both branches; 1 */
    double attention_scale;   /* of scores; 0: 1 / sqrt(head size) */
    double attention_width;   /* scores are divided by the root of this; 0: see attention_scale */
    double logit_scale;       /* 1 */
    double logit_divisor;     /* 1 */
    double attention_softcap; /* 0: none */
    double logit_softcap;     /* 0: none */
    double qkv_limit;         /* queries, keys and values are limited to -limit .. limit; 0: none */
    double alibi_bias;        /* slopes of ALiBi are 2^(-alibi_bias i / heads); 0: 8 */
    uint32_t embedding_width; /* of the table; 0: that of the layers */
    uint32_t experts;         /* 0: none */
    uint32_t experts_used;    /* of a token */
    uint32_t expert_ffn;      /* width; 0: ffn */
    uint32_t shared_ffn;      /* width of the shared expert; 0: none */
    bool expert_normalize;    /* factors of the experts of a token sum to 1 */
    double expert_scale;      /* multiplies these factors; 0: 1 */
    uint32_t expert_groups;   /* groups of neighbouring experts; 0 or 1: a token may use all experts */
    uint32_t groups_used;     /* groups of a token: those whose best experts have the highest scores */
    double gate_limit;        /* gate and up are limited, and 1 is added to up; 0: none */
};

#endif
