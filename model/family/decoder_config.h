/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the configuration of a decoder: sizes, rotary positions, windows, biases, special tokens. The source is
 * config.json, in the key styles of older and of current checkpoints, or GGUF metadata; both fill one struct, so
 * families see no difference. The family, found by the architecture that the file states, gives the form with its
 * constants, the names of tensors and the keys that change the form; a key that would change the result and that the
 * family does not read is refused.
 *
 * Every number is checked: a zero, NaN or absurd one is ACCEL_E_CORRUPT with key and value in the text; a well-formed
 * value that is not supported is ACCEL_E_UNSUPPORTED. An absent key of config.json has the default of
 * its family (keys.h); a null has none. The presence of tensors decides the rest, and all of it in GGUF (tied
 * embeddings, biases, norms of queries and keys).
 *
 * The config owns its memory; accel_decoder_config_free frees it. It is immutable once read, then usable from any
 * thread.
 */
#ifndef ACCEL_MODEL_FAMILY_DECODER_CONFIG_H
#define ACCEL_MODEL_FAMILY_DECODER_CONFIG_H

#include <stdbool.h>

#include <accel/model/file.h>

#include "model/family/form.h"
#include "model/file/pool.h"

struct model_family;

enum accel_rope_kind {
    ACCEL_ROPE_PLAIN,   /* no scaling */
    ACCEL_ROPE_LINEAR,  /* positions divided by factor */
    ACCEL_ROPE_DYNAMIC, /* base grows with the length once it passes original_context */
    ACCEL_ROPE_YARN,    /* interpolation by frequency between beta_fast and beta_slow */
    ACCEL_ROPE_LONG,    /* frequencies divided by one of two lists, chosen by the length */
    ACCEL_ROPE_LLAMA3   /* interpolation by wavelength between low_ and high_frequency_factor */
};

/* Which elements of a head are rotated together. */
enum accel_rope_pairing {
    ACCEL_ROPE_PAIRING_FAMILY,    /* implied by the architecture, as in GGUF */
    ACCEL_ROPE_PAIRING_HALVES,    /* i and i + dims / 2: every checkpoint with a config.json */
    ACCEL_ROPE_PAIRING_NEIGHBOURS /* 2i and 2i + 1 */
};

/* Tensors of GGUF with divisors of frequencies: of all kinds, and of ACCEL_ROPE_LONG. */
#define ROPE_DIVISORS_TENSOR "rope_freqs.weight"
#define ROPE_SHORT_TENSOR "rope_factors_short.weight"
#define ROPE_LONG_TENSOR "rope_factors_long.weight"

struct accel_rope_config {
    enum accel_rope_kind kind;
    uint32_t dims; /* leading elements of a head that are rotated; even, at most head_size */
    uint32_t
        original_context; /* tokens that the model was trained for before scaling; `context` if the file has no value */
    bool truncate;        /* YARN: round the bounds of the ramp to whole dimensions */
    double base;
    double factor; /* 1 when PLAIN */
    double low_frequency_factor;
    double high_frequency_factor;
    double beta_fast;
    double beta_slow;
    const float *short_divisors; /* [dims / 2] of LONG, of frequencies up to original_context tokens */
    const float *long_divisors;  /* [dims / 2], beyond */
    double attention_factor; /* multiplies cosine and sine, already computed from factor and mscale; 1 unless YARN or
                                LONG */
    double score_factor;     /* multiplies the scores of latent attention; 1 unless YARN with mscale_all_dim */
};

/* Latent attention (arXiv 2405.04434): keys and values of all heads come from one compressed row, and keys share one
 * part with rotary positions. */
struct accel_latent_config {
    uint32_t query;  /* width of compressed queries; 0: they are not compressed */
    uint32_t kv;     /* width of compressed keys and values; 0: the model has no latent attention */
    uint32_t key;    /* elements of a head of queries or keys without rotary positions */
    uint32_t rotary; /* elements with rotary positions behind them */
    uint32_t value;  /* elements of a head of values */
    bool absorbed;   /* the cache has compressed keys and values, as one head that all query heads share */
};

struct accel_decoder_config {
    const struct model_family *family; /* NULL: the architecture has none */
    struct decoder_form form;          /* the family's, changed by the keys of the file */
    const char *origin;                /* the file that has it, for messages */
    const char *architecture;          /* model_type of config.json, general.architecture of GGUF */
    const char *activation;            /* as in config.json; NULL if the architecture implies it */
    const char *activation_key;        /* that has it */
    uint32_t prefix; /* bytes that names of tensors lack at their begin: checkpoints of a part of the model */
    uint32_t format; /* ACCEL_MODEL_GGUF or ACCEL_MODEL_SAFETENSORS: which names the tensors have */
    uint32_t type;   /* of the weights as the checkpoint declares it, or ACCEL_TYPE_NONE */
    uint32_t layers;
    uint32_t hidden;
    uint32_t ffn;
    uint32_t heads;
    uint32_t kv_heads;   /* divides heads */
    uint32_t head_size;  /* of queries and keys; heads * head_size need not be hidden */
    uint32_t value_size; /* of values */
    uint32_t vocabulary; /* rows of the embedding */
    uint32_t context;    /* longest sequence; may be absurdly large, so never allocate by it */
    double norm_epsilon;
    struct accel_latent_config latent; /* head_size and value_size are those of the cache */

    struct accel_rope_config rope;
    struct accel_rope_config rope_sliding; /* of layers with a window; equal to rope unless the file has another */
    enum accel_rope_pairing pairing;
    const float *rope_divisors; /* [dims / 2] of the frequencies, or NULL */
    const bool *mixture;        /* [layers]: the feed-forward part has experts; NULL: all or none, by form.experts */
    const bool *no_rotary;      /* [layers]: the layer has no rotary positions; NULL: all have */
    const uint32_t *windows;    /* [layers]: tokens that a token attends to, itself included; 0 for all before it */

    bool tied; /* the output projection shares the embedding */
    bool q_bias, k_bias, v_bias, o_bias, mlp_bias, output_bias, norm_bias;
    bool qk_norm; /* queries and keys are normalized */
    bool embedding_norm;

    int64_t bos, unk, pad; /* token ids, -1 for none */
    const uint32_t *eos;   /* ids that end a text */
    uint32_t eos_count;

    struct model_pool pool; /* owns what the pointers above point to */
};

/* Reads the configuration of an open model: GGUF metadata, or config.json and generation_config.json beside it. On
 * failure *out_config is all zero. */
int32_t accel_decoder_config_read(const struct accel_model_file *file, struct accel_decoder_config *out_config,
                                  struct accel_error *error);

/* Parses the text of a config.json; `path` is for messages. Without `file` nothing is checked against tensors. */
int32_t accel_decoder_config_parse(const char *path, const char *text, uint64_t length,
                                   const struct accel_model_file *file, struct accel_decoder_config *out_config,
                                   struct accel_error *error);

/* Frees the memory of a config and zeroes it. An all-zero config is allowed. */
void accel_decoder_config_free(struct accel_decoder_config *config);

#endif
