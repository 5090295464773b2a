/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Model files: GGUF, safetensors, and folders of safetensors with their index. A file gives named tensors with type,
 * shape and place, and metadata; what the tensors mean is not its business.
 *
 * Everything a file says about itself is checked before any of it is returned: counts and lengths against the size of
 * the file, offsets and products with checked arithmetic, alignment, overlaps, types, names. Headers are read into
 * memory of the library; only the data of tensors are mapped. So a file that changes while it is open can damage
 * values, never the tables that these functions return; accel_model_file_check tells. A file that *shrinks* while it is
 * mapped raises SIGBUS in whoever touches the lost pages: the library installs no handler. A program that wants to name
 * the file compares the faulting address with accel_model_file_mapping; one that wants an error instead opens with
 * ACCEL_MODEL_OPEN_READ.
 *
 * Threads: an open file is immutable, so every function but accel_model_file_close may be called from any thread.
 * Pointers and strings returned belong to the file and live until it is closed.
 * Errors: ACCEL_E_NOT_FOUND, ACCEL_E_DENIED and ACCEL_E_IO (`native` is errno) from the operating system,
 * ACCEL_E_CORRUPT for a file that breaks its format, ACCEL_E_UNSUPPORTED for a sound one that is not read here,
 * ACCEL_E_LIMIT, ACCEL_E_MEMORY. The text names the file and the byte offset of the fault.
 */
#ifndef ACCEL_MODEL_FILE_H
#define ACCEL_MODEL_FILE_H

#include <accel/abi.h>
#include <accel/error.h>
#include <accel/types.h>

ACCEL_BEGIN_C

struct accel_model_file;

/** What a file is. */
#define ACCEL_MODEL_GGUF 1u
#define ACCEL_MODEL_SAFETENSORS 2u

/** Tensors have at most this many dimensions; files with more are refused. */
#define ACCEL_MODEL_RANK_MAX 8u

/** Bits of accel_model_open_options.flags. */
#define ACCEL_MODEL_OPEN_READ 1u /**< read tensors with pread instead of mapping the file */
#define ACCEL_MODEL_OPEN_PACKED                                                                                        \
    2u /**< show the packed matrices of a GPTQ, AWQ or compressed-tensors folder as one                                \
            tensor each, as a model does; without it the parts are shown as they lie */

/** How to open. Open. NULL means all zero: mapped. */
struct accel_model_open_options {
    uint32_t size;
    uint32_t flags; /**< ACCEL_MODEL_OPEN_..., unknown bits are refused */
};

/** A tensor of a file. Open. */
struct accel_model_tensor {
    uint32_t size;
    uint32_t type; /**< ACCEL_F32 ..., ACCEL_TYPE_NONE where accel/types.h has no id: see type_name */
    const char *name;
    const char *type_name;               /**< as the format spells it, such as "Q4_K" or "F8_E4M3" */
    uint64_t dims[ACCEL_MODEL_RANK_MAX]; /**< outermost first, `rank` of them; the rest are 0 */
    uint32_t rank;                       /**< 0 for a scalar */
    uint32_t part;                       /**< index of the file that holds the data */
    uint64_t offset;                     /**< of the data, in bytes from the beginning of that file */
    uint64_t bytes;                      /**< length of the data; offset + bytes is inside the file. A planar tensor
                                              of an opened model (accel/model/session.h) was put together from packed
                                              ones: `bytes` are those of its planes, one after the other, and it can
                                              be read, not mapped; `offset` is where its digits lie. One whose
                                              planes lie apart in the file has the same, and its planes can be mapped:
                                              accel_model_file_plane */
};

/** Kinds of metadata values. */
#define ACCEL_MODEL_UNSIGNED 1u
#define ACCEL_MODEL_SIGNED 2u
#define ACCEL_MODEL_FLOAT 3u
#define ACCEL_MODEL_BOOL 4u /**< one byte, 0 or 1 */
#define ACCEL_MODEL_TEXT 5u /**< struct accel_model_text */

/** A string of the metadata. A zero byte follows it; it may hold others. Need not be UTF-8. Closed. */
struct accel_model_text {
    const char *text;
    uint64_t length; /**< bytes, without the final zero */
};

/** A metadata value: one element, or a list of them. Open. */
struct accel_model_value {
    uint32_t size;
    uint32_t kind;    /**< ACCEL_MODEL_UNSIGNED ... of the value or of its elements */
    const char *key;  /**< UTF-8, no zero byte inside */
    const void *data; /**< `count` elements of `width` bytes, naturally aligned; NULL when count is 0 */
    uint64_t count;   /**< 1 for a single value */
    uint64_t offset;  /**< where the value stands in the file; 0 for safetensors */
    uint32_t width;   /**< bytes of an element: 1, 2, 4, 8, or 16 for texts */
    uint32_t list;    /**< 1 when the file says list */
    uint32_t part;    /**< index of the file */
    uint32_t zero;
};

/** A range of memory that shows a file. Closed. */
struct accel_model_mapping {
    const void *address;
    uint64_t bytes;
    const char *path;
};

/**
 * Opens a GGUF file, a safetensors file, or a folder with model.safetensors or model.safetensors.index.json. The
 * content decides, not the name. The caller closes the file. One file descriptor per part stays open.
 */
ACCEL_API int32_t accel_model_file_open(const char *path, const struct accel_model_open_options *options,
                                        struct accel_model_file **out_file, struct accel_error *error) ACCEL_NOEXCEPT;

/**
 * The same for a GGUF or safetensors file that lies in memory: `bytes` stays the caller's, unchanged, until the file
 * is closed. `name` stands in messages in place of the path.
 */
ACCEL_API int32_t accel_model_file_open_memory(const void *bytes, uint64_t length, const char *name,
                                               struct accel_model_file **out_file,
                                               struct accel_error *error) ACCEL_NOEXCEPT;

/** Closes; NULL is allowed. Nothing that the file returned may be used any more. */
ACCEL_API void accel_model_file_close(struct accel_model_file *file) ACCEL_NOEXCEPT;

/** ACCEL_MODEL_GGUF or ACCEL_MODEL_SAFETENSORS. */
ACCEL_API uint32_t accel_model_file_format(const struct accel_model_file *file) ACCEL_NOEXCEPT;

/** The path that was opened, as it was given. */
ACCEL_API const char *accel_model_file_path(const struct accel_model_file *file) ACCEL_NOEXCEPT;

/** Number of files that hold the tensors: 1, or the number of shards. */
ACCEL_API uint32_t accel_model_file_part_count(const struct accel_model_file *file) ACCEL_NOEXCEPT;

/** Path of a part, for messages; NULL when there is no such part. */
ACCEL_API const char *accel_model_file_part_path(const struct accel_model_file *file, uint32_t part) ACCEL_NOEXCEPT;

/** Size of a part in bytes when it was opened; 0 when there is no such part. */
ACCEL_API uint64_t accel_model_file_part_bytes(const struct accel_model_file *file, uint32_t part) ACCEL_NOEXCEPT;

/** File descriptor of a part, to be read with pread only; it stays the file's. -1 for memory and for no such part. */
ACCEL_API int32_t accel_model_file_part_fd(const struct accel_model_file *file, uint32_t part) ACCEL_NOEXCEPT;

/** Number of tensors. */
ACCEL_API uint64_t accel_model_file_tensor_count(const struct accel_model_file *file) ACCEL_NOEXCEPT;

/** A tensor by its place in the list, which is the order of the file; NULL past the end. */
ACCEL_API const struct accel_model_tensor *accel_model_file_tensor(const struct accel_model_file *file,
                                                                   uint64_t index) ACCEL_NOEXCEPT;

/** A tensor by name, or NULL. Takes the logarithm of the number of tensors. */
ACCEL_API const struct accel_model_tensor *accel_model_file_find(const struct accel_model_file *file,
                                                                 const char *name) ACCEL_NOEXCEPT;

/** True (1) when the name of some tensor begins with `prefix`. */
ACCEL_API int32_t accel_model_file_has_prefix(const struct accel_model_file *file, const char *prefix) ACCEL_NOEXCEPT;

/**
 * The data of a tensor where it lies: little-endian, at whatever address the file gives it, so aligned only if the
 * file is. NULL when the file was opened for reading instead of mapping, for tensors that lie in several places, or
 * when `tensor` is NULL.
 */
ACCEL_API const void *accel_model_file_data(const struct accel_model_file *file,
                                            const struct accel_model_tensor *tensor) ACCEL_NOEXCEPT;

/**
 * One plane of a tensor (accel/quant/format.h) where it lies, with its bytes: of tensors that a file holds in planes
 * apart from each other (sdk/quant/LAYOUT.md), each of them; of all others plane 0 is the whole of
 * accel_model_file_data. NULL where that is, for a plane that is not there, and for what is put together when it is
 * read.
 */
ACCEL_API const void *accel_model_file_plane(const struct accel_model_file *file,
                                             const struct accel_model_tensor *tensor, uint32_t plane,
                                             uint64_t *out_bytes) ACCEL_NOEXCEPT;

/**
 * Copies `bytes` bytes of a tensor, beginning `offset` bytes into it, to `out`. Works for mapped files and for read
 * ones; for the latter a file that has shrunk is ACCEL_E_CORRUPT.
 */
ACCEL_API int32_t accel_model_file_read(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                                        uint64_t offset, uint64_t bytes, void *out,
                                        struct accel_error *error) ACCEL_NOEXCEPT;

/**
 * ACCEL_E_CORRUPT when a file of this has been written to since it was opened, as its time of modification says: what
 * was read from its mapping may be neither the old nor the new. Sessions that use weights in the mapping ask it after
 * every step. One system call for each file; allocates nothing.
 */
ACCEL_API int32_t accel_model_file_check(const struct accel_model_file *file, struct accel_error *error) ACCEL_NOEXCEPT;

/**
 * Mapping number `index` of this file, ACCEL_E_NOT_FOUND past the last. Takes no lock and allocates nothing, so a
 * signal handler may call it with `error` NULL.
 */
ACCEL_API int32_t accel_model_file_mapping(const struct accel_model_file *file, uint32_t index,
                                           struct accel_model_mapping *out_mapping,
                                           struct accel_error *error) ACCEL_NOEXCEPT;

/** Number of metadata values: the keys of GGUF, the texts of `__metadata__`. */
ACCEL_API uint64_t accel_model_file_value_count(const struct accel_model_file *file) ACCEL_NOEXCEPT;

/** A value by its place, NULL past the end. */
ACCEL_API const struct accel_model_value *accel_model_file_value(const struct accel_model_file *file,
                                                                 uint64_t index) ACCEL_NOEXCEPT;

/** A value by key, or NULL. Of shards the first that has it. */
ACCEL_API const struct accel_model_value *accel_model_file_find_value(const struct accel_model_file *file,
                                                                      const char *key) ACCEL_NOEXCEPT;

/**
 * Typed access by key. ACCEL_E_NOT_FOUND when there is no such key, ACCEL_E_CORRUPT when it is a list, of another
 * kind, or does not fit. u64 and i64 take every integer in their range, f64 takes floats and integers.
 */
ACCEL_API int32_t accel_model_file_get_u64(const struct accel_model_file *file, const char *key, uint64_t *out_value,
                                           struct accel_error *error) ACCEL_NOEXCEPT;
ACCEL_API int32_t accel_model_file_get_i64(const struct accel_model_file *file, const char *key, int64_t *out_value,
                                           struct accel_error *error) ACCEL_NOEXCEPT;
ACCEL_API int32_t accel_model_file_get_f64(const struct accel_model_file *file, const char *key, double *out_value,
                                           struct accel_error *error) ACCEL_NOEXCEPT;
ACCEL_API int32_t accel_model_file_get_bool(const struct accel_model_file *file, const char *key, int32_t *out_value,
                                            struct accel_error *error) ACCEL_NOEXCEPT;
ACCEL_API int32_t accel_model_file_get_text(const struct accel_model_file *file, const char *key,
                                            struct accel_model_text *out_text,
                                            struct accel_error *error) ACCEL_NOEXCEPT;

/** A list of `kind` by key: ACCEL_E_CORRUPT when it is none or holds something else. */
ACCEL_API int32_t accel_model_file_get_list(const struct accel_model_file *file, const char *key, uint32_t kind,
                                            const struct accel_model_value **out_list,
                                            struct accel_error *error) ACCEL_NOEXCEPT;

/** Element `index` of a value as a number; ACCEL_E_INVALID past the end, ACCEL_E_CORRUPT when it is none or too large.
 */
ACCEL_API int32_t accel_model_value_u64(const struct accel_model_value *value, uint64_t index, uint64_t *out_value,
                                        struct accel_error *error) ACCEL_NOEXCEPT;
ACCEL_API int32_t accel_model_value_i64(const struct accel_model_value *value, uint64_t index, int64_t *out_value,
                                        struct accel_error *error) ACCEL_NOEXCEPT;
ACCEL_API int32_t accel_model_value_f64(const struct accel_model_value *value, uint64_t index, double *out_value,
                                        struct accel_error *error) ACCEL_NOEXCEPT;

/** Element `index` of a list of texts, or NULL. */
ACCEL_API const struct accel_model_text *accel_model_value_text(const struct accel_model_value *value,
                                                                uint64_t index) ACCEL_NOEXCEPT;

/**
 * Reads a text file of the model, such as "tokenizer.json": from the folder that was opened, or from the folder of the
 * file that was opened. `name` is a plain file name. At most `limit` bytes are read; a longer file is ACCEL_E_LIMIT,
 * none is ACCEL_E_NOT_FOUND. The text ends in a zero byte that `out_length` does not count, and is the caller's:
 * accel_model_text_free.
 */
ACCEL_API int32_t accel_model_file_sibling(const struct accel_model_file *file, const char *name, uint64_t limit,
                                           char **out_text, uint64_t *out_length,
                                           struct accel_error *error) ACCEL_NOEXCEPT;

/** Frees a text of accel_model_file_sibling; NULL is allowed. */
ACCEL_API void accel_model_text_free(char *text) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
