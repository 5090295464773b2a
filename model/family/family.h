/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declares model families. family.c finds a family by the architecture that a file states; each file beside it that is
 * named like a family holds the form, the names and the keys of one family and its relatives, and is the only place
 * that knows them. decoder.c makes their step.
 */
#ifndef ACCEL_MODEL_FAMILY_FAMILY_H
#define ACCEL_MODEL_FAMILY_FAMILY_H

#include "model/family/decoder_config.h"
#include "model/family/form.h"
#include "model/family/keys.h"

struct config_reader;

/* Keys of the configuration that a family reads beside those of every decoder: bits of the rows in decoder_config.c. */
enum form_key {
    KEY_EMBEDDING_SCALE = 1 << 0,
    KEY_RESIDUAL_SCALE = 1 << 1,
    KEY_ATTENTION_SCALE = 1 << 2,
    KEY_ATTENTION_WIDTH = 1 << 3, /* scores are divided by the root of this */
    KEY_LOGIT_SCALE = 1 << 4,
    KEY_LOGIT_DIVISOR = 1 << 5,
    KEY_ATTENTION_SOFTCAP = 1 << 6,
    KEY_LOGIT_SOFTCAP = 1 << 7,
    KEY_QKV_LIMIT = 1 << 8,
    KEY_EMBEDDING_WIDTH = 1 << 9,
    KEY_EXPERTS = 1 << 10,
    KEY_SHARED_EXPERT = 1 << 11,
    KEY_GATE_LIMIT = 1 << 12,
};

/* Longest name of a tensor. */
#define DECODER_NAME_BYTES 128u

/* A tensor that checkpoints with a config.json store in another arrangement: as many tensors, one for each expert or
 * for each head of queries or keys, or (COUNT_ONE) as rows of one. `source` is the name of the stored ones, with %u for
 * the layer and %u for the number. */
enum decoder_count { COUNT_ONE, COUNT_EXPERTS, COUNT_HEADS, COUNT_KV_HEADS };
struct decoder_stack {
    enum decoder_part part;
    enum decoder_count count;
    const char *source;
    const char *suffix;   /* of the tensor, NULL: ".weight" */
    bool transposed;      /* the source has its inputs first */
    uint32_t first, step; /* rows of the source; a step of 0: all */
};

struct model_family {
    const char *architecture;      /* its name in config.json */
    const char *gguf_architecture; /* in GGUF; NULL: the same */
    const char *activation;        /* default if the file has none */
    uint32_t gguf_pairing;         /* ACCEL_PAIR_... of GGUF files, which do not state it */
    uint32_t keys;                 /* enum form_key */
    const struct family_key *json_keys;
    const char *json_rotary; /* object of rotary positions where config.json has none; NULL: plain ones */
    /* Names of parts, [DECODER_PARTS], without the ".weight" or ".bias" behind them and with %u for the layer, where
     * they differ from those of llama's checkpoints and from the usual ones of GGUF (names.c). May be NULL. */
    const char *const *names;
    const char *const *gguf_names;
    const struct decoder_stack *stacks; /* ends with a source of NULL; may be NULL */
    struct decoder_form form;
    /* Changes the form by what only this family has; may be NULL. */
    int32_t (*adapt)(struct config_reader *reader);
};

/* Finds the family of an architecture. ACCEL_E_UNSUPPORTED lists the supported ones. */
int32_t model_family_find(const char *path, const char *architecture, const struct model_family **out_family,
                          struct accel_error *error);

/* Returns the family at a place of the list, NULL behind the last one. */
const struct model_family *model_family_at(size_t place);

/* Returns the name of a part, or NULL: the family has none. Without a family the names are llama's. */
const char *decoder_part_name(const struct accel_decoder_config *config, enum decoder_part part);

/* Writes the name of a tensor; false, and an empty name, if the part has none. */
bool decoder_tensor_name(const struct accel_decoder_config *config, enum decoder_part part, uint32_t layer,
                         const char *suffix, char out_name[DECODER_NAME_BYTES]);

#endif
