/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Model files: GGUF, safetensors, and folders of safetensors with their index. A file has named tensors with type,
 * shape and offset, and metadata; it does not interpret them.
 *
 * Everything in a header is checked before any of it is returned: counts and lengths against the size of
 * the file, offsets and products with checked arithmetic, alignment, overlaps, types, names. Headers are read into
 * memory of the library; only the data of tensors are mapped. So a file that changes while it is open can damage
 * values, never the tables that these functions return; accel_model_file_check detects it. A file that *shrinks* while
 * it is mapped raises SIGBUS in the thread that touches the lost pages: the library installs no handler. A program that
 * has to name the file compares the faulting address with accel_model_file_mapping; one that needs an error instead
 * opens with ACCEL_MODEL_OPEN_READ.
 *
 * Threads: an open file is immutable, so every function but accel_model_file_close may be called from any thread.
 * Pointers and strings returned belong to the file and live until it is closed.
 * Errors: ACCEL_E_NOT_FOUND, ACCEL_E_DENIED and ACCEL_E_IO (`native` is errno) from the operating system,
 * ACCEL_E_CORRUPT for a file that breaks its format, ACCEL_E_UNSUPPORTED for a valid one that is not supported,
 * ACCEL_E_LIMIT, ACCEL_E_MEMORY. The text names the file and the byte offset of the fault.
 */
#ifndef ACCEL_MODEL_FILE_H
#define ACCEL_MODEL_FILE_H

#include <accel/abi.h>
#include <accel/error.h>
#include <accel/types.h>

ACCEL_BEGIN_C

struct accel_model_file;

/** Formats of files. */
#define ACCEL_MODEL_GGUF 1u
#define ACCEL_MODEL_SAFETENSORS 2u

/** Most dimensions of a tensor; files with more are refused. */
#define ACCEL_MODEL_RANK_MAX 8u

/** Bits of accel_model_open_options.flags. */
#define ACCEL_MODEL_OPEN_READ 1u /**< read tensors with pread instead of mapping the file */
#define ACCEL_MODEL_OPEN_PACKED                                                                                        \
    2u /**< present each packed matrix of a GPTQ, AWQ or compressed-tensors folder as one tensor, as a model does;     \
          without it the stored tensors are listed */
#define ACCEL_MODEL_OPEN_BLOCKS                                                                                        \
    4u /**< with ACCEL_MODEL_OPEN_PACKED: matrices of NVFP4 have that type, as in a run, which multiplies products     \
          with them by their global scales; without it they are decoded, scales included */

/** Options of opening. Open. NULL means all zero: mapped. */
struct accel_model_open_options {
    uint32_t size;
    uint32_t flags; /**< ACCEL_MODEL_OPEN_..., unknown bits are refused */
};

/** A tensor of a file. Open. */
struct accel_model_tensor {
    uint32_t size;
    uint32_t type; /**< ACCEL_F32 ..., ACCEL_TYPE_NONE if accel/types.h has no id: see type_name */
    const char *name;
    const char *type_name;               /**< as the format spells it, such as "Q4_K" or "F8_E4M3" */
    uint64_t dims[ACCEL_MODEL_RANK_MAX]; /**< outermost first, `rank` of them; the rest are 0 */
    uint32_t rank;                       /**< 0 for a scalar */
    uint32_t part;                       /**< index of the file that holds the data */
    uint64_t offset;                     /**< of the data, in bytes from the beginning of that file */
    uint64_t bytes; /**< length of the data; offset + bytes is inside the file. A planar tensor of an opened model
                       (accel/model/session.h) is assembled from packed ones: `bytes` counts its planes, one after the
                       other; it can be read, not mapped; `offset` is that of its codes. A tensor with separate planes
                       in the file is the same, but its planes can be mapped: accel_model_file_plane */
    const char *stored_type; /**< type in the file: type_name, or that of the codes and scales which a tensor is
                                assembled from and which type_name does not name: "NVFP4", "MXFP4", "MXFP8",
                                "F8_E4M3", "F8_E5M2", "INT4" */
    uint64_t stored_bytes;   /**< bytes in the file: `bytes`, or those of the codes, scales, zero points and orders */
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
    uint64_t offset;  /**< offset of the value in the file; 0 for safetensors */
    uint32_t width;   /**< bytes of an element: 1, 2, 4, 8, or 16 for texts */
    uint32_t list;    /**< 1: the file has a list */
    uint32_t part;    /**< index of the file */
    uint32_t zero;
};

/** A range of memory that maps a file. Closed. */
struct accel_model_mapping {
    const void *address;
    uint64_t bytes;
    const char *path;
};

/**
 * Opens a GGUF file, a safetensors file, or a folder with model.safetensors, model.safetensors.index.json, or one GGUF
 * model. The content decides, not the name. Of a GGUF model in several files `path` is the first
 * (PREFIX-00001-of-00003.gguf); the others are opened as well. The caller closes the file. One file descriptor per part
 * stays open.
 */
ACCEL_API int32_t accel_model_file_open(const char *path, const struct accel_model_open_options *options,
                                        struct accel_model_file **out_file, struct accel_error *error) ACCEL_NOEXCEPT;

/**
 * Opens a GGUF or safetensors file in memory: the caller owns `bytes` and must not change them until the file
 * is closed. `name` stands in messages in place of the path.
 */
ACCEL_API int32_t accel_model_file_open_memory(const void *bytes, uint64_t length, const char *name,
                                               struct accel_model_file **out_file,
                                               struct accel_error *error) ACCEL_NOEXCEPT;

/** Closes a file; NULL is allowed. Nothing that it returned may be used any more. */
ACCEL_API void accel_model_file_close(struct accel_model_file *file) ACCEL_NOEXCEPT;

/** Returns ACCEL_MODEL_GGUF or ACCEL_MODEL_SAFETENSORS. */
ACCEL_API uint32_t accel_model_file_format(const struct accel_model_file *file) ACCEL_NOEXCEPT;

/** Returns the path that was opened, as given. */
ACCEL_API const char *accel_model_file_path(const struct accel_model_file *file) ACCEL_NOEXCEPT;

/** Returns the number of files that hold the tensors: 1, or the number of shards. */
ACCEL_API uint32_t accel_model_file_part_count(const struct accel_model_file *file) ACCEL_NOEXCEPT;

/** Returns the path of a part, for messages; NULL if there is no such part. */
ACCEL_API const char *accel_model_file_part_path(const struct accel_model_file *file, uint32_t part) ACCEL_NOEXCEPT;

/** Returns the size of a part in bytes when it was opened; 0 if there is no such part. */
ACCEL_API uint64_t accel_model_file_part_bytes(const struct accel_model_file *file, uint32_t part) ACCEL_NOEXCEPT;

/** Returns the file descriptor of a part, which the file owns; use pread only. -1 for memory and if there is no such
 * part. */
ACCEL_API int32_t accel_model_file_part_fd(const struct accel_model_file *file, uint32_t part) ACCEL_NOEXCEPT;

/** Returns the number of tensors. */
ACCEL_API uint64_t accel_model_file_tensor_count(const struct accel_model_file *file) ACCEL_NOEXCEPT;

/** Returns a tensor by its index, in the order of the file; NULL past the end. */
ACCEL_API const struct accel_model_tensor *accel_model_file_tensor(const struct accel_model_file *file,
                                                                   uint64_t index) ACCEL_NOEXCEPT;

/** Finds a tensor by name in logarithmic time, or returns NULL, also for a name of NULL. */
ACCEL_API const struct accel_model_tensor *accel_model_file_find(const struct accel_model_file *file,
                                                                 const char *name) ACCEL_NOEXCEPT;

/** Returns 1 if the name of some tensor begins with `prefix`, else 0. */
ACCEL_API int32_t accel_model_file_has_prefix(const struct accel_model_file *file, const char *prefix) ACCEL_NOEXCEPT;

/**
 * Returns the mapped data of a tensor: little-endian, at the address that the file gives it, so aligned only if the
 * file is. NULL if the file was opened for reading instead of mapping, for tensors stored in several places, or
 * when `tensor` is NULL.
 */
ACCEL_API const void *accel_model_file_data(const struct accel_model_file *file,
                                            const struct accel_model_tensor *tensor) ACCEL_NOEXCEPT;

/**
 * Returns one mapped plane of a tensor (accel/quant/format.h), with its bytes: of tensors stored in separate planes
 * (quant/LAYOUT.md), each of them; of all others plane 0 is the whole of accel_model_file_data. NULL if that is NULL,
 * for a missing plane, and for tensors that are assembled when they are read. `out_bytes` is not NULL.
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
 * Returns ACCEL_E_CORRUPT if a file of the model was written to since it was opened, by its modification time: data
 * read from its mapping may be neither the old nor the new. Sessions that use mapped weights call this after every
 * step. One system call for each file; allocates nothing.
 */
ACCEL_API int32_t accel_model_file_check(const struct accel_model_file *file, struct accel_error *error) ACCEL_NOEXCEPT;

/**
 * Returns mapping number `index` of this file, ACCEL_E_NOT_FOUND past the last. Takes no lock and allocates nothing, so
 * a signal handler may call it with `error` NULL.
 */
ACCEL_API int32_t accel_model_file_mapping(const struct accel_model_file *file, uint32_t index,
                                           struct accel_model_mapping *out_mapping,
                                           struct accel_error *error) ACCEL_NOEXCEPT;

/** Returns the number of metadata values: the keys of GGUF, the texts of `__metadata__`. */
ACCEL_API uint64_t accel_model_file_value_count(const struct accel_model_file *file) ACCEL_NOEXCEPT;

/** Returns a value by its index, NULL past the end. */
ACCEL_API const struct accel_model_value *accel_model_file_value(const struct accel_model_file *file,
                                                                 uint64_t index) ACCEL_NOEXCEPT;

/** Finds a value by key, or returns NULL. Of shards the first that has it. */
ACCEL_API const struct accel_model_value *accel_model_file_find_value(const struct accel_model_file *file,
                                                                      const char *key) ACCEL_NOEXCEPT;

/**
 * Read a typed value by key. ACCEL_E_NOT_FOUND if the key is missing, ACCEL_E_CORRUPT if it is a list, of another
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

/** Finds a list of `kind` by key: ACCEL_E_CORRUPT if it is no list or has another kind. */
ACCEL_API int32_t accel_model_file_get_list(const struct accel_model_file *file, const char *key, uint32_t kind,
                                            const struct accel_model_value **out_list,
                                            struct accel_error *error) ACCEL_NOEXCEPT;

/** Read element `index` of a value as a number; ACCEL_E_INVALID past the end, ACCEL_E_CORRUPT if it is no number or too
 * large. */
ACCEL_API int32_t accel_model_value_u64(const struct accel_model_value *value, uint64_t index, uint64_t *out_value,
                                        struct accel_error *error) ACCEL_NOEXCEPT;
ACCEL_API int32_t accel_model_value_i64(const struct accel_model_value *value, uint64_t index, int64_t *out_value,
                                        struct accel_error *error) ACCEL_NOEXCEPT;
ACCEL_API int32_t accel_model_value_f64(const struct accel_model_value *value, uint64_t index, double *out_value,
                                        struct accel_error *error) ACCEL_NOEXCEPT;

/** Returns element `index` of a list of texts, or NULL. */
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
