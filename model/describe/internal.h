/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private declarations of the describe module. A description is filled from three sources: shapes of components from a
 * configuration or the facts of a descriptor; weights from a file's tensors or from the recipe of a family, which
 * derives weights from shapes; facts from both.
 *
 * The pool of the description owns everything. One thread until it is complete.
 */
#ifndef ACCEL_MODEL_DESCRIBE_INTERNAL_H
#define ACCEL_MODEL_DESCRIBE_INTERNAL_H

#include <stdbool.h>

#include <accel/model/describe.h>
#include <accel/model/file.h>

#include "model/file/fault.h"
#include "model/file/pool.h"

/* Components, with the names that struct accel_sketch uses. */
enum part { PART_LANGUAGE, PART_TEXT, PART_VISION, PART_AUDIO, PART_PROJECTOR, PART_DECODER, PARTS, PART_NONE = PARTS };

/* Stages of a pyramid, or convolutions of a stack. */
enum { SHAPE_ITEMS = 8 };

/* No size of a component is larger: products of two do not overflow. */
#define SHAPE_MAX ((uint64_t)1 << 31)

struct shape_list {
    uint64_t count;
    uint64_t items[SHAPE_ITEMS];
};

/* The shape of a component; 0 means absent or unknown. */
struct shape {
    uint64_t layers;
    uint64_t hidden;
    uint64_t ffn;
    uint64_t heads;
    uint64_t kv_heads;
    uint64_t head_size;
    uint64_t value_size;
    uint64_t vocabulary;
    uint64_t positions;  /* rows of a table of learned positions */
    uint64_t types;      /* rows of a table of token types */
    uint64_t image;      /* pixels of an edge, or of a spectrogram's */
    uint64_t patch;      /* pixels of a patch's edge */
    uint64_t channels;   /* of an image */
    uint64_t stem;       /* channels behind the first convolution of a pyramid */
    uint64_t mels;       /* bands of a spectrogram */
    uint64_t window;     /* of local attention, in patches */
    uint64_t frames;     /* of a clip */
    uint64_t queries;    /* learned ones */
    uint64_t prompts;    /* layers that refine texts by visual features */
    uint64_t kernel;     /* taps of the convolution that gives positions */
    uint64_t groups;     /* of that convolution */
    uint64_t tokens;     /* positions that one input has */
    uint64_t parameters; /* elements of its weights */
    uint64_t key_rows;   /* of the first matrices of keys and of values */
    uint64_t value_rows;
    uint64_t experts;      /* of a layer */
    uint64_t experts_used; /* of a token */
    uint64_t expert_ffn;
    uint64_t shared_ffn;           /* width of the expert that every token has */
    uint64_t dense_layers;         /* first layers, which have no experts */
    uint64_t query_rank;           /* latent attention: width of compressed queries */
    uint64_t kv_rank;              /* and of compressed keys and values */
    uint64_t rotary_size;          /* and elements of a head with rotary positions */
    struct shape_list stages;      /* blocks of each */
    struct shape_list widths;      /* channels of each */
    struct shape_list stage_heads; /* heads of each */
    struct shape_list kernels;     /* taps of each convolution */
    bool used;
};

/* Access to numbers and lists by their offset in a struct, for table rows. */
static inline uint64_t *number_at(void *whole, size_t offset)
{
    return (uint64_t *)(void *)((char *)whole + offset);
}

static inline struct shape_list *list_at(struct shape *shape, size_t offset)
{
    return (struct shape_list *)(void *)((char *)shape + offset);
}

/* A family, for files and for descriptors. */
struct family {
    const char *name; /* its name in config.json */
    const char *kind;
    enum part main;     /* the component whose facts are the model's */
    enum part fallback; /* component of tensors whose name has none */
    enum part encoder;  /* component of "encoder" in a name */
    enum part decoder;
    enum part texts; /* component of text_config */
};

/* Traits of the whole model. */
struct traits {
    const char *family;
    const char *kind;
    const char *source;
    const char *packing; /* how the weights are quantized, as config.json states it; NULL: they are not */
    enum part main;
    uint64_t classes;    /* of a classifier */
    uint64_t projection; /* width of the shared embedding space */
    uint64_t buckets;    /* of relative positions */
    uint64_t context;
    uint64_t window;        /* tokens that a token attends to in some layers; 0: all before it in all layers */
    uint64_t window_layers; /* layers that have the window */
    uint64_t parameters;    /* as a descriptor states them */
    uint64_t weight_bytes;
    uint32_t expert_type; /* of the published matrices of experts; ACCEL_TYPE_NONE: as the others */
    bool tied;            /* the output projection shares the embedding */
    bool biases;          /* matrices of layers have the biases that only some models of the family have */
};

struct accel_model_description {
    struct model_pool pool;
    const char *path;
    const char *origin; /* origin of derived facts */
    bool is_file;
    uint32_t fact_count;
    uint32_t fact_capacity;
    uint32_t weight_capacity;
    struct accel_named_value *facts;
    struct accel_sketch_weight *weights;
    struct accel_sketch_component components[PARTS];
    struct accel_sketch model_shapes; /* the public record of weights and components */
    struct shape shapes[PARTS];
    struct traits traits;
    const struct family *family;
    bool has_json;       /* its family is that of a config.json */
    bool has_odd_name;   /* whose model_type is a string that cannot be a name */
    bool lacks_config;   /* it is of safetensors without a config.json */
    bool is_folder;      /* the file is safetensors: GPT-2's transposed matrices have their inputs first */
    bool has_transposed; /* a matrix of the file is one of these */
};

extern const char *const part_names[PARTS];

/* ---- families ---- */

/* Finds a family by its name in config.json or in GGUF's general.architecture; NULL if unknown. */
const struct family *family_find(const char *name);

/* Returns a generic family of a kind, for unknown names. Never NULL. */
const struct family *family_guess(const char *kind);

/* Sets the family of a description: the meaning of words in the file, and the main component. */
void family_set(struct accel_model_description *d, const struct family *family);

/* Records the family name of a file; invalid names set has_odd_name. Fails only if memory is out. */
int32_t family_name(struct accel_model_description *d, const char *name, uint64_t length);

/* ---- facts ---- */

/* Adds a fact, copying its strings. An existing fact stays. */
int32_t describe_fact(struct accel_model_description *d, const char *key, const char *value, const char *origin,
                      struct accel_error *error);
const char *describe_find_fact(const struct accel_model_description *d, const char *key);

/* Reads shapes and traits from facts. ACCEL_E_CORRUPT, with the fact's origin, for an invalid number. */
int32_t describe_read_facts(struct accel_model_description *d, struct accel_error *error);

/* Finds an impossible shape: heads that do not divide the width when their size follows from it, or key heads that do
 * not divide query heads. Returns the member at fault, and the reason in `out_text`; NULL: none. */
enum { IMPOSSIBLE_BYTES = 112 };
const char *describe_impossible(const struct shape *shape, char out_text[IMPOSSIBLE_BYTES]);

/* Writes facts from shapes and traits, unless they are stated. */
int32_t describe_write_facts(struct accel_model_description *d, struct accel_error *error);

/* Derives members from others: head sizes, key heads, positions of an image. */
void describe_complete(struct accel_model_description *d);

/* ---- weights ---- */

/* Adds a weight, copying its name; component and role have to be constants. */
int32_t describe_weight(struct accel_model_description *d, const struct accel_sketch_weight *weight,
                        struct accel_error *error);

/* Computes components and sums from shapes and weights, and completes d->model_shapes. */
int32_t describe_finish(struct accel_model_description *d, struct accel_error *error);

/* Derives the weights of a family from the shapes. ACCEL_E_UNSUPPORTED: it has no recipe; ACCEL_E_CORRUPT: a shape is
 * missing. */
int32_t describe_recipe(struct accel_model_description *d, struct accel_error *error);

/* Derives shapes, traits and weights from the configuration of a decoder. */
struct accel_decoder_config;
int32_t describe_decoder(struct accel_model_description *d, const struct accel_decoder_config *config,
                         struct accel_error *error);

/* Checks that components have no absurd number of layers, whose weights would fill memory. */
int32_t describe_check_layers(const struct accel_model_description *d, struct accel_error *error);

/* ---- files ---- */

/* Most bytes of a config.json. */
#define CONFIG_TEXT_MAX ((uint64_t)16 << 20)

/* Fills a description from an open file. */
int32_t describe_file(struct accel_model_description *d, const struct accel_model_file *file,
                      struct accel_error *error);

/* Reads shapes and traits from the text of a config.json; `path` is for messages. */
int32_t describe_config_text(struct accel_model_description *d, const char *path, const char *text, uint64_t length,
                             struct accel_error *error);

/* Read shapes and traits from config.json beside the file, or from GGUF's metadata. */
int32_t describe_config(struct accel_model_description *d, const struct accel_model_file *file,
                        struct accel_error *error);
int32_t describe_gguf(struct accel_model_description *d, const struct accel_model_file *file,
                      struct accel_error *error);

/* Facts parsed from a tensor's name. */
struct name_facts {
    enum part part;
    uint32_t layer; /* from NAME_STAGED on: stage and block, numbered later (file.c) */
    const char *role;
    bool is_tokens;    /* the table of tokens */
    bool is_positions; /* a table of learned positions */
    bool is_turned;    /* inputs stand first */
};
#define NAME_STAGED 0x40000000u

void name_read(const char *name, const struct family *family, uint32_t rank, struct name_facts *out_facts);

/* Returns whether a tensor of a folder holds queries, keys and values of attention, as attn_qkv of GGUF files does. */
bool name_is_fused(const char *name);

/* ---- descriptors ---- */

/* Fills a description from the descriptor that the name means. ACCEL_E_NOT_FOUND if there is none; error->remedy
 * suggests the nearest name. */
int32_t describe_named(struct accel_model_description *d, struct accel_context *context, const char *name,
                       struct accel_error *error);

enum { DESCRIPTOR_BYTES = 64 };

/* Finds the descriptor that a name means which no descriptor has: in upper or lower case, or as Hugging Face names the
 * model, "meta-llama/Llama-2-7b-hf", with or without its owner. Returns false if there is none. */
bool describe_find_name(struct accel_context *context, const char *name, char found[DESCRIPTOR_BYTES]);

/* Sets the remedy of a name without a file and a descriptor: the nearest descriptor, if there is one. */
void describe_suggest_name(struct accel_context *context, const char *name, struct accel_error *error);

/* Returns the name behind the owner in "OWNER/NAME", and a name without a slash as it is; NULL for a path. */
const char *describe_base_name(const char *name);

/* Finds the descriptor whose family and shapes match the file, records it as a fact, and copies facts that the file
 * lacks. An invalid descriptor that could be the match is an error. */
int32_t describe_fit(struct accel_model_description *d, struct accel_context *context, struct accel_error *error);

#endif
