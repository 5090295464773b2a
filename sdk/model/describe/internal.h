/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the room that describes models. A description is filled in three ways that meet in the same structs: shapes
 * of components come from a configuration or from the facts of a descriptor; weights come from a file's tensors or from
 * the recipe of a family, which turns shapes into weights; facts are what both came to.
 *
 * Ownership: everything lies in the pool of the description. One thread until it is made.
 */
#ifndef ACCEL_SDK_MODEL_DESCRIBE_INTERNAL_H
#define ACCEL_SDK_MODEL_DESCRIBE_INTERNAL_H

#include <accel/model/describe.h>
#include <accel/model/file.h>
#include <stdbool.h>

#include "sdk/model/format/fault.h"
#include "sdk/model/format/pool.h"

/* Components, as sketches call them. */
enum part { PART_LANGUAGE, PART_TEXT, PART_VISION, PART_AUDIO, PART_PROJECTOR, PART_DECODER, PARTS, PART_NONE = PARTS };

/* Stages of a pyramid, or convolutions of a stack. */
enum { SHAPE_ITEMS = 8 };

/* No size of a component is larger: products of two do not overflow. */
#define SHAPE_MAX ((uint64_t)1 << 31)

struct shape_list {
    uint64_t count;
    uint64_t items[SHAPE_ITEMS];
};

/* The shape of a component; 0 is "not there" and "not known" alike. */
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
    uint64_t prompts;    /* layers that refine texts by what is seen */
    uint64_t kernel;     /* taps of the convolution that gives positions */
    uint64_t groups;     /* of that convolution */
    uint64_t tokens;     /* positions that one input has */
    uint64_t parameters; /* elements of its weights */
    uint64_t key_rows;   /* of the first matrices of keys and of values */
    uint64_t value_rows;
    struct shape_list stages;      /* blocks of each */
    struct shape_list widths;      /* channels of each */
    struct shape_list stage_heads; /* heads of each */
    struct shape_list kernels;     /* taps of each convolution */
    bool used;
};

/* Rows of tables name numbers and lists by their place in a struct; these are the ways to them. */
static inline uint64_t *number_at(void *whole, size_t offset)
{
    return (uint64_t *)(void *)((char *)whole + offset);
}

static inline struct shape_list *list_at(struct shape *shape, size_t offset)
{
    return (struct shape_list *)(void *)((char *)shape + offset);
}

/* What the families have in common, for files and for descriptors. */
struct family {
    const char *name; /* as config.json calls it */
    const char *kind;
    enum part main;     /* whose facts are the model's */
    enum part fallback; /* of tensors whose name tells nothing */
    enum part encoder;  /* what "encoder" in a name means */
    enum part decoder;
    enum part texts; /* what text_config describes */
};

/* What belongs to no component. */
struct traits {
    const char *family;
    const char *kind;
    const char *source;
    enum part main;
    uint64_t classes;    /* of a classifier */
    uint64_t projection; /* width in which components meet */
    uint64_t buckets;    /* of relative positions */
    uint64_t context;
    uint64_t parameters; /* as a descriptor states them */
    uint64_t weight_bytes;
    bool tied; /* the output matrix is the embedding */
};

struct accel_model_description {
    struct model_pool pool;
    const char *path;
    const char *origin; /* of what is derived */
    uint32_t is_file;
    uint32_t fact_count;
    uint32_t fact_room;
    uint32_t weight_room;
    struct accel_given *facts;
    struct accel_sketch_weight *weights;
    struct accel_sketch_component components[PARTS];
    struct accel_sketch sketch;
    struct shape shapes[PARTS];
    struct traits traits;
    const struct family *family;
    bool turned; /* the file stores matrices that GPT-2 turned with their inputs first */
};

extern const char *const part_names[PARTS];

/* ---- families ---- */

/* The family called `name` in config.json or in GGUF's general.architecture, or NULL. */
const struct family *family_find(const char *name);

/* What a family that no table has could be, by its kind. Never NULL. */
const struct family *family_guess(const char *kind);

/* The description is of that family: it says what words of the file mean, and whose facts are the model's. */
void family_take(struct accel_model_description *d, const struct family *family);

/* Notes the name that a file gives its family; one that is no word is none. Only memory can fail. */
int32_t family_name(struct accel_model_description *d, const char *name, uint64_t length);

/* ---- facts ---- */

/* A fact; the strings are copied. One that is there already stays. */
int32_t describe_fact(struct accel_model_description *d, const char *key, const char *value, const char *origin,
                      struct accel_error *error);
const char *describe_find_fact(const struct accel_model_description *d, const char *key);

/* Shapes and traits from facts. ACCEL_E_CORRUPT for a number that is none, with the fact's origin. */
int32_t describe_read_facts(struct accel_model_description *d, struct accel_error *error);

/* What no model can have: heads that do not divide the width where their size follows from it, and heads of keys that
 * do not divide those of queries. The member that is to blame, and what is wrong with it in `out_text`; NULL: nothing.
 */
enum { IMPOSSIBLE_BYTES = 112 };
const char *describe_impossible(const struct shape *shape, char out_text[IMPOSSIBLE_BYTES]);

/* Facts from shapes and traits, where they are not stated. */
int32_t describe_write_facts(struct accel_model_description *d, struct accel_error *error);

/* Fills what follows from other members: head sizes, key heads, positions of an image. */
void describe_complete(struct accel_model_description *d);

/* ---- weights ---- */

/* One more weight; the name is copied, and component and role have to be constants. */
int32_t describe_weight(struct accel_model_description *d, const struct accel_sketch_weight *weight,
                        struct accel_error *error);

/* Components and sums from shapes and weights; the sketch then stands. */
int32_t describe_finish(struct accel_model_description *d, struct accel_error *error);

/* Weights of a family from the shapes. ACCEL_E_UNSUPPORTED: it has no recipe; ACCEL_E_CORRUPT: a shape is missing. */
int32_t describe_recipe(struct accel_model_description *d, struct accel_error *error);

/* ---- files ---- */

/* Fills a description from an open file. */
int32_t describe_file(struct accel_model_description *d, const struct accel_model_file *file,
                      struct accel_error *error);

/* Shapes and traits from the text of a config.json, which messages call `path`. */
int32_t describe_config_text(struct accel_model_description *d, const char *path, const char *text, uint64_t length,
                             struct accel_error *error);

/* Shapes and traits from config.json beside the file, or from GGUF's metadata. */
int32_t describe_config(struct accel_model_description *d, const struct accel_model_file *file,
                        struct accel_error *error);
int32_t describe_gguf(struct accel_model_description *d, const struct accel_model_file *file,
                      struct accel_error *error);

/* What a tensor's name says. */
struct name_facts {
    enum part part;
    uint32_t layer; /* from NAME_STAGED on: stage and block, to be counted through (file.c) */
    const char *role;
    bool is_tokens;    /* the table of tokens */
    bool is_positions; /* a table of learned positions */
    bool is_turned;    /* inputs stand first */
};
#define NAME_STAGED 0x40000000u

void name_read(const char *name, const struct family *family, uint32_t rank, struct name_facts *out_facts);

/* ---- descriptors ---- */

/* Fills a description from the descriptor called `name`. ACCEL_E_NOT_FOUND: there is none, and error->remedy is the
 * nearest name. */
int32_t describe_named(struct accel_model_description *d, struct accel_context *context, const char *name,
                       struct accel_error *error);

/* Names the descriptor whose family and shapes are the file's, as a fact, and takes from it what the file does not
 * say. A descriptor that is wrong is an error, whichever it is: it could be the file's. */
int32_t describe_fit(struct accel_model_description *d, struct accel_context *context, struct accel_error *error);

#endif
