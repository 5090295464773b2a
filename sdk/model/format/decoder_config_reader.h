/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files decoder_config*.c share: one way to look a fact up under its names in
 * either kind of file, and a table row that says where it goes and what it may be.
 */
#ifndef ACCEL_SDK_MODEL_FORMAT_DECODER_CONFIG_READER_H
#define ACCEL_SDK_MODEL_FORMAT_DECODER_CONFIG_READER_H

#include <jansson.h>

#include "sdk/model/format/decoder_config.h"
#include "sdk/model/format/fault.h"

/* Longest key of GGUF that is built from architecture and name. */
#define CONFIG_KEY_BYTES 160

struct config_reader {
    const char *path;                    /* for messages */
    const struct accel_model_file *file; /* NULL when only the text of a config.json is known */
    const json_t *scope;                 /* the object of config.json where names are looked up; NULL for GGUF */
    const json_t *root;                  /* the whole config.json; NULL for GGUF */
    const char *text;                    /* what root was parsed from, `length` bytes */
    uint64_t length;
    struct accel_decoder_config *config;
    struct accel_error *error;
};

enum config_kind { CONFIG_ABSENT, CONFIG_INTEGER, CONFIG_REAL, CONFIG_BOOL, CONFIG_TEXT, CONFIG_VARIES, CONFIG_OTHER };

/* A fact as the file has it. */
struct config_fact {
    enum config_kind kind;
    double real;      /* INTEGER and REAL */
    uint64_t integer; /* INTEGER that is not negative and fits */
    bool truth;
    const char *text;
    uint64_t offset; /* where GGUF has it; in JSON it is searched when a message needs it */
    char key[CONFIG_KEY_BYTES];
};

enum config_target { CONFIG_TO_U32, CONFIG_TO_F64 };

/* A number that goes into a struct. */
struct config_row {
    const char *json[4]; /* names in config.json; the first that is there and not null wins */
    const char *gguf[2]; /* names in GGUF behind the architecture and a dot */
    size_t member;       /* offset in the struct */
    enum config_target target;
    bool required;
    double low, high; /* allowed range; low itself only when it is not 0 or the target is an integer */
};

/* Looks a fact up; its kind is CONFIG_ABSENT when none of the names is there. A list of GGUF whose elements are all
 * equal counts as its element. */
void config_find(const struct config_reader *reader, const char *const json[4], const char *const gguf[2],
                 struct config_fact *out_fact);

/* The first name of a fact in this kind of file, for messages. */
const char *config_first_name(const struct config_reader *reader, const char *const json[4], const char *const gguf[2]);

/* Where a key stands, for messages: its name in config.json, its full name or what follows the architecture in GGUF.
 * A key that is not there gives the place where it is missed. */
uint64_t config_offset(const struct config_reader *reader, const char *json, const char *gguf);

/* "PATH: offset 0x1c: KEY WHAT". */
int32_t config_fault(const struct config_reader *reader, int32_t code, const struct config_fact *fact,
                     const char *what);

/* Fills a struct from rows. Members whose fact is absent keep their value, unless it is required. */
int32_t config_fill(const struct config_reader *reader, const struct config_row *rows, size_t count, void *target);

/* A truth value; *out_found is false, and *out_truth left alone, when it is absent. */
int32_t config_find_bool(const struct config_reader *reader, const char *name, bool *out_truth, bool *out_found);

/* Reads rope and rope_sliding. Needs head_size and context. */
int32_t config_rope_read(struct config_reader *reader);

/* What only one kind of file has. */
int32_t config_json_read(struct config_reader *reader);
int32_t config_gguf_read(struct config_reader *reader);

/* Stores special tokens. Ids outside of the vocabulary: refused where they are looked up (bos) or waited for (eos),
 * taken as none else; UINT32_MAX and negative ones mean none. */
int32_t config_set_token(const struct config_reader *reader, const char *key, int64_t id, int64_t *out_id,
                         bool must_exist);
int32_t config_set_eos(const struct config_reader *reader, const char *key, const int64_t *ids, size_t count);

/* Allocates windows, all zero. */
int32_t config_make_windows(const struct config_reader *reader, uint32_t **out_windows);

/* True when the tensor exists. */
bool config_has(const struct config_reader *reader, const char *name);

#endif
