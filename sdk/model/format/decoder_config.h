/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model file says about a decoder: sizes, rotary positions, windows, biases, special tokens. Read from
 * config.json, in the key styles of older and of current checkpoints, or from GGUF metadata, into one struct, so that
 * a family sees no difference. The family's own name decides nothing here: the prefix of the keys is the string that
 * the file gives as its architecture.
 *
 * Every number is checked: a zero, NaN or absurd one is ACCEL_E_CORRUPT with key and value in the text, what is well
 * formed and not handled is ACCEL_E_UNSUPPORTED. A key that is null counts as absent. Presence of tensors answers what
 * the keys leave open (tied embeddings, biases, norms of queries and keys).
 *
 * Ownership: the config holds its own memory; accel_decoder_config_free. Immutable once read, then for any thread.
 */
#ifndef ACCEL_SDK_MODEL_FORMAT_DECODER_CONFIG_H
#define ACCEL_SDK_MODEL_FORMAT_DECODER_CONFIG_H

#include <accel/model/file.h>
#include <stdbool.h>

#include "sdk/model/format/pool.h"

enum accel_rope_kind {
    ACCEL_ROPE_PLAIN,   /* no scaling */
    ACCEL_ROPE_LINEAR,  /* positions divided by factor */
    ACCEL_ROPE_DYNAMIC, /* base grows with the length once it passes original_context */
    ACCEL_ROPE_YARN,    /* interpolation by frequency between beta_fast and beta_slow */
    ACCEL_ROPE_LLAMA3   /* interpolation by wavelength between low_ and high_frequency_factor */
};

/* Which elements of a head turn together. */
enum accel_rope_pairing {
    ACCEL_ROPE_PAIRING_FAMILY,    /* the file does not say: GGUF, where the architecture implies it */
    ACCEL_ROPE_PAIRING_HALVES,    /* i and i + dims / 2: every checkpoint with a config.json */
    ACCEL_ROPE_PAIRING_NEIGHBOURS /* 2i and 2i + 1 */
};

struct accel_rope_config {
    enum accel_rope_kind kind;
    uint32_t dims;             /* leading elements of a head that turn; even, at most head_size */
    uint32_t original_context; /* tokens the model was trained on before scaling; `context` when the file is silent */
    bool truncate;             /* YARN: round the bounds of the ramp to whole dimensions */
    double base;
    double factor; /* 1 when PLAIN */
    double low_frequency_factor;
    double high_frequency_factor;
    double beta_fast;
    double beta_slow;
    double attention_factor; /* multiplies cosine and sine, already computed from factor and mscale; 1 unless YARN */
};

struct accel_decoder_config {
    const char *architecture; /* model_type of config.json, general.architecture of GGUF */
    const char *activation;   /* as config.json spells it; NULL where the architecture implies it */
    uint32_t format;          /* ACCEL_MODEL_GGUF or ACCEL_MODEL_SAFETENSORS: which names the tensors have */
    uint32_t type;            /* of the weights as the checkpoint declares it, ACCEL_TYPE_NONE when it does not */
    uint32_t layers;
    uint32_t hidden;
    uint32_t ffn;
    uint32_t heads;
    uint32_t kv_heads;   /* divides heads */
    uint32_t head_size;  /* of queries and keys; heads * head_size need not be hidden */
    uint32_t value_size; /* of values */
    uint32_t vocabulary; /* rows of the embedding */
    uint32_t context;    /* longest sequence; may be absurdly large, so size nothing by it */
    double norm_epsilon;

    struct accel_rope_config rope;
    struct accel_rope_config rope_sliding; /* of layers with a window; equal to rope unless the file says otherwise */
    enum accel_rope_pairing pairing;
    const char *rope_divisors; /* name of a tensor [dims / 2] that divides the frequencies, or NULL */
    const uint32_t *windows;   /* [layers]: tokens that a token sees, itself included; 0 for all before it */

    bool tied; /* the output matrix is the embedding */
    bool q_bias, k_bias, v_bias, o_bias, mlp_bias;
    bool qk_norm; /* heads of queries and keys are normalised */

    int64_t bos, unk, pad; /* token ids, -1 for none */
    const uint32_t *eos;   /* ids that end a text */
    uint32_t eos_count;

    struct model_pool pool; /* what the pointers above point to */
};

/* Reads the configuration of an open model: GGUF metadata, or config.json and generation_config.json beside it. On
 * failure *out_config is all zero. */
int32_t accel_decoder_config_read(const struct accel_model_file *file, struct accel_decoder_config *out_config,
                                  struct accel_error *error);

/* The same from the text of a config.json called `path`. Without `file` nothing is held against the tensors. */
int32_t accel_decoder_config_parse(const char *path, const char *text, uint64_t length,
                                   const struct accel_model_file *file, struct accel_decoder_config *out_config,
                                   struct accel_error *error);

/* Frees what the config points to and zeroes it; one that is all zero is fine. */
void accel_decoder_config_free(struct accel_decoder_config *config);

#endif
