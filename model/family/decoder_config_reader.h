/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by decoder_config*.c and by families: looks a fact up under its names in either kind of file, with table rows
 * that state its member and its range.
 */
#ifndef ACCEL_MODEL_FAMILY_DECODER_CONFIG_READER_H
#define ACCEL_MODEL_FAMILY_DECODER_CONFIG_READER_H

#include <jansson.h>

#include "model/family/decoder_config.h"
#include "model/file/fault.h"

/* Longest GGUF key built from architecture and name. */
#define CONFIG_KEY_BYTES 160

struct family_key;

struct config_reader {
    const char *path;                    /* for messages */
    const struct accel_model_file *file; /* NULL if only the text of a config.json exists */
    const json_t *scope;                 /* the object of config.json that is searched; NULL for GGUF */
    json_t *root;                        /* the whole config.json; NULL for GGUF */
    const char *text;                    /* source text of root, `length` bytes */
    uint64_t length;
    struct accel_decoder_config *config;
    struct accel_error *error;
    int32_t code; /* the first failure of config_flag */
};

enum config_kind { CONFIG_ABSENT, CONFIG_INTEGER, CONFIG_REAL, CONFIG_BOOL, CONFIG_TEXT, CONFIG_VARIES, CONFIG_OTHER };

/* A value of the configuration as stored. */
struct config_fact {
    enum config_kind kind;
    double real;      /* INTEGER and REAL */
    uint64_t integer; /* INTEGER that is not negative and fits */
    bool truth;
    const char *text;
    uint64_t offset; /* its offset in GGUF; JSON is searched only for a message */
    char key[CONFIG_KEY_BYTES];
};

enum config_target { CONFIG_TO_U32, CONFIG_TO_F64 };

/* A table row: a number, its names, its range and its struct member. */
struct config_row {
    const char *json[4]; /* names in config.json; the first one present and not null is used */
    const char *gguf[2]; /* names in GGUF after the architecture and a dot */
    size_t member;       /* offset in the struct: MEMBER */
    enum config_target target;
    bool required;
    double low, high; /* allowed range; `low` itself only if it is not 0 or the target is an integer */
};

#define MEMBER(name) offsetof(struct accel_decoder_config, name)

/* Looks a fact up; its kind is CONFIG_ABSENT if none of the names exists. A GGUF list whose elements are all equal
 * counts as one element. */
void config_find(const struct config_reader *reader, const char *const json[4], const char *const gguf[2],
                 struct config_fact *out_fact);

/* Use of a key at the top of config.json by a family (decoder_config_keys.c). */
enum config_key_class {
    CONFIG_KEY_READ,
    CONFIG_KEY_UNUSED,    /* its checkpoints have it, and it has no effect */
    CONFIG_KEY_OF_OTHERS, /* changes the results of other decoders: refused unless its value changes nothing */
    CONFIG_KEY_UNKNOWN    /* ignored */
};
enum config_key_class config_key_class(const struct model_family *family, const char *name);

/* Returns whether the family reads a key at the top of config.json. */
bool config_reads(const struct config_reader *reader, const char *name);

/* Returns the row of a key in the list of the family, or NULL. */
const struct family_key *config_key(const struct config_reader *reader, const char *name);

/* Refuses keys at the top of config.json that change the results of other decoders, and values that the family does
 * not support. */
int32_t config_check_keys(const struct config_reader *reader);

/* Refuses values of an object that are not the only one of their key. */
int32_t config_check_only(const struct config_reader *reader, const struct family_key *keys, const json_t *object);

/* Returns the offset of a key, for messages: by its name in config.json, or its full name or the part after the
 * architecture in GGUF. A missing key gives the place where it is expected. */
uint64_t config_offset(const struct config_reader *reader, const char *json, const char *gguf);

/* Sets the error "PATH: offset 0x1c: KEY WHAT". */
int32_t config_fault(const struct config_reader *reader, int32_t code, const struct config_fact *fact,
                     const char *what);

/* Sets the error about a required key. */
int32_t config_missing(const struct config_reader *reader, const char *json, const char *gguf);

/* Fills a struct from rows. Members of absent facts keep their value; an absent required fact is an error. */
int32_t config_fill(const struct config_reader *reader, const struct config_row *rows, size_t count, void *target);

/* Reads a boolean; if it is absent, *out_found is false and *out_truth unchanged. */
int32_t config_find_bool(const struct config_reader *reader, const char *name, bool *out_truth, bool *out_found);

/* Reads a boolean, `fallback` if it is absent and has no default. After a failure, which `code` holds, it reads
 * nothing. */
bool config_flag(struct config_reader *reader, const char *name, bool fallback);

/* Reads rope and rope_sliding. Needs head_size and context. */
int32_t config_rope_read(struct config_reader *reader);

/* Changes the form to what converters to GGUF make of a checkpoint: rows in order, sums in place of 1 + weight. */
void config_as_gguf(const struct config_reader *reader);

/* Read which layers have experts, and which no rotary positions. */
int32_t config_mixture_read(const struct config_reader *reader);
int32_t config_no_rotary_read(const struct config_reader *reader);

/* Refuses a multimodal model under the name of its language model: all layers are in text_config. */
int32_t config_refuse_multimodal(const struct config_reader *reader);

/* Read the facts that only one kind of file has. */
int32_t config_json_read(struct config_reader *reader);
int32_t config_gguf_read(struct config_reader *reader);

/* Store special tokens. An id outside of the vocabulary is refused for bos and eos and ignored for others; UINT32_MAX
 * and negative ids mean none. */
int32_t config_set_token(const struct config_reader *reader, const char *key, int64_t id, int64_t *out_id,
                         bool must_exist);
int32_t config_set_eos(const struct config_reader *reader, const char *key, const int64_t *ids, size_t count);

/* Returns whether the family's pattern gives a layer no window. */
bool config_is_full(const struct config_reader *reader, uint32_t layer);

/* Allocates zeroed windows. */
int32_t config_make_windows(const struct config_reader *reader, uint32_t **out_windows);

/* Returns whether a tensor exists. */
bool config_has(const struct config_reader *reader, const char *name);

#endif
