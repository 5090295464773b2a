/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Text to token ids and back, by the tokenizers that tokenizer.json and SentencePiece models and GGUF vocabularies
 * describe: byte-pair encoding, unigram, WordPiece.
 *
 * A tokenizer does the steps of its file in order, and nothing else: a component that this library does not have
 * is refused by name when the tokenizer is made (ACCEL_E_UNSUPPORTED), never left out. Truncation and padding of
 * tokenizer.json are the caller's business and are not applied.
 *
 * Text is UTF-8 with an explicit length in bytes; it may hold zero bytes. Ids are int32_t, as graphs take them.
 * A tokenizer is immutable once made: any number of threads may use one at the same time. Lists and streams belong
 * to one thread at a time. Time grows with n log n of the text's length, memory with its length.
 */
#ifndef ACCEL_MODEL_TOKENIZER_H
#define ACCEL_MODEL_TOKENIZER_H

#include <accel/abi.h>
#include <accel/error.h>
#include <accel/model/file.h>

ACCEL_BEGIN_C

/** A tokenizer. Immutable; any thread. */
struct accel_tokenizer;

/** A decoder that takes one id at a time. One thread at a time; it keeps a pointer to its tokenizer. */
struct accel_token_stream;

/** Bytes of a string that need not end in zero. Closed. */
struct accel_token_text {
    const char *data; /**< UTF-8, or NULL when `size` is 0 */
    size_t size;      /**< bytes */
};

/** Kinds of tokens as GGUF's `tokenizer.ggml.token_type` numbers them. */
#define ACCEL_TOKEN_NORMAL 1  /**< a piece of text */
#define ACCEL_TOKEN_UNKNOWN 2 /**< stands for what the vocabulary cannot spell */
#define ACCEL_TOKEN_CONTROL 3 /**< special: a mark that is not text */
#define ACCEL_TOKEN_USER 4    /**< user-defined: always taken out of the text whole */
#define ACCEL_TOKEN_UNUSED 5  /**< reserved */
#define ACCEL_TOKEN_BYTE 6    /**< one byte, spelt `<0xNN>` */

/** In a three-valued switch of accel_token_vocabulary: the file does not say, the model's kind decides. */
#define ACCEL_TOKEN_AS_KIND (-1)

/**
 * A vocabulary as GGUF metadata holds it. Open: set `size` to sizeof, and what the file does not say to none or
 * ACCEL_TOKEN_AS_KIND. Everything is read while the tokenizer is made
 * and copied; nothing has to live longer.
 */
struct accel_token_vocabulary {
    uint32_t size;                         /**< sizeof(struct accel_token_vocabulary) */
    uint32_t flags;                        /**< 0 */
    const char *model;                     /**< `tokenizer.ggml.model`: "llama", "gpt2", "gemma4", "t5" or "bert" */
    const char *pre;                       /**< `tokenizer.ggml.pre`; NULL means "default" */
    const struct accel_token_text *tokens; /**< [token_count] */
    const float *scores;                   /**< [token_count]; needed by "llama" and "t5", else may be NULL */
    const int32_t *types;                  /**< [token_count] of ACCEL_TOKEN_...; NULL: all normal */
    const struct accel_token_text *merges; /**< [merge_count], each "left right"; needed by "gpt2" and "gemma4" */
    size_t token_count;                    /**< tokens in the vocabulary */
    size_t merge_count;                    /**< 0 for the others */
    int32_t bos;                           /**< begin of text, -1 for none */
    int32_t eos;                           /**< end of text, -1 for none */
    int32_t unk;                           /**< unknown, -1 for none */
    int32_t pad;                           /**< padding, -1 for none */
    int32_t add_bos;                       /**< 0, 1 or ACCEL_TOKEN_AS_KIND */
    int32_t add_eos;                       /**< 0, 1 or ACCEL_TOKEN_AS_KIND */
    int32_t add_space_prefix;              /**< 0, 1 or ACCEL_TOKEN_AS_KIND */
    int32_t eot;                           /**< end of a turn, -1 for none */
    struct accel_token_text chat_template; /**< `tokenizer.chat_template`, size 0 for none */
    struct accel_token_text charsmap;      /**< "t5": `tokenizer.ggml.precompiled_charsmap`, size 0 for none */
    int32_t remove_extra_whitespaces;      /**< "t5": 0, 1 or ACCEL_TOKEN_AS_KIND */
    int32_t lowercase;                     /**< "bert": 0, 1 or ACCEL_TOKEN_AS_KIND */
    int32_t strip_accents;                 /**< "bert": 0, 1 or ACCEL_TOKEN_AS_KIND */
    int32_t sep;                           /**< "bert": end of a text, -1 for none */
};

/**
 * Makes a tokenizer from the text of a tokenizer.json.
 *
 * @param text, size   the file's content
 * @param config, config_size  the content of tokenizer_config.json beside it, for the names of the begin, end,
 *                     unknown and padding tokens and the chat template; NULL and 0 where there is none
 * @param name         what messages call the file, such as its path; may be NULL
 * @param out_tokenizer  receives the tokenizer, to be freed by the caller; NULL on failure
 * @return ACCEL_OK; ACCEL_E_CORRUPT with line and column or the component's place; ACCEL_E_UNSUPPORTED with the
 *         component's name; ACCEL_E_MEMORY. Any thread.
 */
ACCEL_API int32_t accel_tokenizer_create_json(const char *text, size_t size, const char *config, size_t config_size,
                                              const char *name, struct accel_tokenizer **out_tokenizer,
                                              struct accel_error *error) ACCEL_NOEXCEPT;

/**
 * Makes a tokenizer from the content of a SentencePiece model: tokenizer.model or spiece.model, of the kind BPE or
 * unigram. Tokens that tokenizer_config.json adds behind the model's (added_tokens_decoder) are added. Arguments,
 * ownership, threads and errors as for accel_tokenizer_create_json.
 */
ACCEL_API int32_t accel_tokenizer_create_sentencepiece(const char *data, size_t size, const char *config,
                                                       size_t config_size, const char *name,
                                                       struct accel_tokenizer **out_tokenizer,
                                                       struct accel_error *error) ACCEL_NOEXCEPT;

/**
 * Makes a tokenizer from the arrays of a GGUF file. Same ownership, threads and errors as
 * accel_tokenizer_create_json; an unknown `model` or `pre` is ACCEL_E_UNSUPPORTED with the known names as remedy.
 */
ACCEL_API int32_t accel_tokenizer_create_vocabulary(const struct accel_token_vocabulary *vocabulary, const char *name,
                                                    struct accel_tokenizer **out_tokenizer,
                                                    struct accel_error *error) ACCEL_NOEXCEPT;

/**
 * Makes the tokenizer of a model file: from the metadata of a GGUF file, else from tokenizer.json beside the tensors,
 * or tokenizer.model or spiece.model, with tokenizer_config.json and chat_template.jinja where they exist. The file is
 * only read here. Errors as above, and ACCEL_E_NOT_FOUND for a model without a tokenizer.
 */
ACCEL_API int32_t accel_tokenizer_create_file(const struct accel_model_file *file,
                                              struct accel_tokenizer **out_tokenizer,
                                              struct accel_error *error) ACCEL_NOEXCEPT;

/** Frees a tokenizer; NULL is allowed. No stream of it may be alive. */
ACCEL_API void accel_tokenizer_free(struct accel_tokenizer *tokenizer) ACCEL_NOEXCEPT;

/** A growing array of ids, owned by the caller: begin with zeros, end with accel_token_list_free. Closed. */
struct accel_token_list {
    int32_t *ids;    /**< [count] */
    size_t count;    /**< ids in use */
    size_t capacity; /**< ids that fit without growing */
};

/** Frees the ids of a list and makes it empty; NULL is allowed. */
ACCEL_API void accel_token_list_free(struct accel_token_list *list) ACCEL_NOEXCEPT;

/** accel_tokenizer_encode: adds the begin and end tokens that the file requires. */
#define ACCEL_ENCODE_ADD_SPECIAL 1u
/** accel_tokenizer_encode: special tokens spelt in the text become their ids; without it they are ordinary text. */
#define ACCEL_ENCODE_PARSE_SPECIAL 2u

/**
 * Appends the ids of a text to a list. Text that is not UTF-8 is refused with the offset of the first bad byte
 * (ACCEL_E_INVALID); a text of 1 GiB or more is ACCEL_E_LIMIT. On failure the list keeps its old ids.
 */
ACCEL_API int32_t accel_tokenizer_encode(const struct accel_tokenizer *tokenizer, const char *text, size_t size,
                                         uint32_t flags, struct accel_token_list *list,
                                         struct accel_error *error) ACCEL_NOEXCEPT;

/** accel_tokenizer_decode, accel_token_stream_create: leave special tokens out. */
#define ACCEL_DECODE_SKIP_SPECIAL 1u

/**
 * The text of some ids. Bytes that are not UTF-8 become U+FFFD. An id without a token (models often have more rows
 * than their tokenizer has tokens) gives nothing; accel_tokenizer_token identifies such ids.
 *
 * @param out_text  receives the text, ended by a zero byte that `out_size` does not count; free it with
 *                  accel_tokenizer_text_free
 */
ACCEL_API int32_t accel_tokenizer_decode(const struct accel_tokenizer *tokenizer, const int32_t *ids, size_t count,
                                         uint32_t flags, char **out_text, size_t *out_size,
                                         struct accel_error *error) ACCEL_NOEXCEPT;

/** Frees a text that accel_tokenizer_decode returned; NULL is allowed. */
ACCEL_API void accel_tokenizer_text_free(char *text) ACCEL_NOEXCEPT;

/** Number of ids, from 0 to the highest one that has a token. Gaps count. */
ACCEL_API size_t accel_tokenizer_size(const struct accel_tokenizer *tokenizer) ACCEL_NOEXCEPT;

/** The spelling of a token as the vocabulary has it, valid as long as the tokenizer; ACCEL_E_NOT_FOUND for others. */
ACCEL_API int32_t accel_tokenizer_token(const struct accel_tokenizer *tokenizer, int32_t id,
                                        struct accel_token_text *out_text, struct accel_error *error) ACCEL_NOEXCEPT;

/** The id of a spelling; ACCEL_E_NOT_FOUND where there is none. */
ACCEL_API int32_t accel_tokenizer_find(const struct accel_tokenizer *tokenizer, const char *text, size_t size,
                                       int32_t *out_id, struct accel_error *error) ACCEL_NOEXCEPT;

#define ACCEL_TOKEN_BOS 0 /**< begin of text */
#define ACCEL_TOKEN_EOS 1 /**< end of text */
#define ACCEL_TOKEN_UNK 2 /**< unknown */
#define ACCEL_TOKEN_PAD 3 /**< padding */

/** The id of ACCEL_TOKEN_BOS and its kin, or -1 where the file names none. */
ACCEL_API int32_t accel_tokenizer_special(const struct accel_tokenizer *tokenizer, int32_t which) ACCEL_NOEXCEPT;

/** 1 if the id is a special token, else 0. */
ACCEL_API int32_t accel_tokenizer_is_special(const struct accel_tokenizer *tokenizer, int32_t id) ACCEL_NOEXCEPT;

/**
 * 1 if generation ends at this id: the end token or the end of a turn that the file names, or a special token that is
 * spelt as the end of a turn is in published models (`<|im_end|>`, `<|eot_id|>`, `<end_of_turn>`, `<|endoftext|>` and a
 * few more); else 0.
 */
ACCEL_API int32_t accel_tokenizer_is_end(const struct accel_tokenizer *tokenizer, int32_t id) ACCEL_NOEXCEPT;

/** The chat template that came with the vocabulary, valid as long as the tokenizer; NULL where there is none. */
ACCEL_API const char *accel_tokenizer_chat_template(const struct accel_tokenizer *tokenizer) ACCEL_NOEXCEPT;

/** Makes a stream that decodes the ids of `tokenizer`, which must outlive it. Flags: ACCEL_DECODE_... */
ACCEL_API int32_t accel_token_stream_create(const struct accel_tokenizer *tokenizer, uint32_t flags,
                                            struct accel_token_stream **out_stream,
                                            struct accel_error *error) ACCEL_NOEXCEPT;

/** Adds one id and returns the text that is certain now: whole UTF-8 characters only, possibly none. Bytes of an
 * incomplete character are held back. Broken bytes in a row of byte tokens become U+FFFD; accel_tokenizer_decode,
 * which sees the row's end, rejects the whole row, like the reference. The text belongs to the stream and is valid
 * until its next call. */
ACCEL_API int32_t accel_token_stream_push(struct accel_token_stream *stream, int32_t id, const char **out_text,
                                          size_t *out_size, struct accel_error *error) ACCEL_NOEXCEPT;

/** Ends the text: what is still held back becomes U+FFFD. The stream is then ready for another text. */
ACCEL_API int32_t accel_token_stream_flush(struct accel_token_stream *stream, const char **out_text, size_t *out_size,
                                           struct accel_error *error) ACCEL_NOEXCEPT;

/** Frees a stream; NULL is allowed. */
ACCEL_API void accel_token_stream_free(struct accel_token_stream *stream) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
