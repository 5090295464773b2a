/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes a model again with other types of weights: GGUF in, GGUF out; or a folder of safetensors in, a folder out.
 * If all packed matrices of a folder are linear layers of one planar integer type, they are stored in the layout of
 * GPTQ (version 2 with zero points, else 1), which other tools read; otherwise types without a number in the container
 * are stored as planes (quant/LAYOUT.md). A matrix whose rows the groups or blocks of its type do not divide gets
 * smaller groups, or the type of smaller blocks that has at least as many bits (Q5_0 for Q4_K), and its row states it.
 * Several threads decode and encode row by row, with the scales of the least error, so that each thread holds a small
 * number of rows whatever the size of the model. The file is renamed when it is complete; a run that was killed resumes
 * at the first missing tensor.
 *
 * Error compensation (GPTQ) takes more memory: for the widest row of w values, what
 * accel_quantize_options.moments_bytes allows (but 4 * w * w bytes at least), 4 * w * w for one factor, 1024 * w and 3
 * * w * w / 128 while it is made, and for each thread 192 rows in three copies and half a megabyte. It takes w * w *
 * rows multiplications for a matrix.
 *
 * Ownership: a job owns what it shows, and keeps a reference to the file that is read, which the caller closes after
 * it. Threads: one thread at a time may use a job; accel_quantize_run starts its own, and they end before it returns.
 */
#ifndef ACCEL_MODEL_QUANTIZE_H
#define ACCEL_MODEL_QUANTIZE_H

#include <accel/context.h>
#include <accel/model/file.h>
#include <accel/model/session.h>

ACCEL_BEGIN_C

/** Outcome for one tensor. Open. Strings live as long as the job. */
struct accel_quantize_row {
    uint32_t size;
    uint32_t from;         /**< type as which the tensor is read, ACCEL_F32 ... */
    uint32_t to;           /**< type in the file that is written */
    uint32_t converted;    /**< 0: its bytes are copied */
    const char *from_name; /**< type in the file that is read, "BF16"; "NVFP4" of a matrix that is read as F16 */
    const char *to_name;
    uint64_t elements;
    uint64_t bytes; /**< in the file that is written */
    const char *name;
    const char *reason;      /**< reason for another type than requested, or empty */
    double relative_error;   /**< root of the sum of squared differences over that of squares; 0 where copied; filled by
                                  accel_quantize_run for tensors that this run wrote, -1 for those of an earlier one */
    double output_error;     /**< the same of what the matrix gives for its calibrated inputs, of up to 128 of its rows;
                                  -1 where that is not known */
    const char *wanted_name; /**< name of the requested type, if `reason` is that its blocks do not divide the rows;
                              * else empty */
    uint32_t rounded;        /**< 1: the type in the file that is read is a quantized one, blocks, groups or floats of
                                8 bits: its values are rounded already */
    uint32_t zero;
};

/** Reports the progress of a run. Any value but 0 ends it with ACCEL_E_CANCELLED; the part on disk stays for the
 * next run. Any thread of the run, one at a time. */
typedef int32_t(ACCEL_CALL *accel_quantize_progress)(void *data, uint64_t done_bytes, uint64_t all_bytes);

/** Flag: the same as ACCEL_QUANTIZE_METHOD_NEAREST. */
#define ACCEL_QUANTIZE_NEAREST 1u
/** Flag: a `type` that names both a type and a mix, as "q4_0", "q4_k" or "q2_k", is the mix. */
#define ACCEL_QUANTIZE_MIX 2u

#define ACCEL_QUANTIZE_METHOD_DEFAULT 0u    /**< error compensation with a calibration, search without */
#define ACCEL_QUANTIZE_METHOD_NEAREST 1u    /**< the scale that the extreme value of a block gives */
#define ACCEL_QUANTIZE_METHOD_SEARCH 2u     /**< the scale under which a block loses least */
#define ACCEL_QUANTIZE_METHOD_IMPORTANCE 3u /**< scale search, errors weighted with the mean square of the inputs */
#define ACCEL_QUANTIZE_METHOD_GPTQ                                                                                     \
    4u /**< column by column, later ones making up for what earlier ones lost;                                         \
            then each value again with all others in view */

/** accel_quantize_options.group: one group is the whole row. */
#define ACCEL_QUANTIZE_GROUP_ROW 1u

/** Options of a job. Open. */
struct accel_quantize_options {
    uint32_t size;
    uint32_t threads;    /**< at most 1024; 0: 1 */
    const char *type;    /**< of matrices, in folders of linear layers: "f32", "f16", "bf16", "q8_0", "q6_k", "q5_k",
                              "q5_1", "q5_0", "q4_k", "q4_1", "q4_0", "iq4_nl", "iq4_xs", "q3_k", "q2_k", "mxfp4";
                              planar ones, as "q4_g128", "q4_g128a", "q3_row", "nf4_g64", "c4_row"; or one of "q8", "q4",
                              "q3", "q2", "nf4", "c4" with `group` and `scheme`; or a mix under the name of a file
                              type of llama.cpp: "q4_k_m", "q4_k_s", "q5_k_m", "q5_k_s", "q3_k_s", "q3_k_m", "q3_k_l",
                              "q2_k_s", "mxfp4_moe", and with ACCEL_QUANTIZE_MIX every such name. In any case */
    uint32_t keep_count; /**< of `keep` */
    uint32_t flags;      /**< ACCEL_QUANTIZE_... */
    const char *const *keep;          /**< patterns of names (*, ?, [...]) of tensors that are copied as they are;
                                           one that matches none is ACCEL_E_INVALID */
    accel_quantize_progress progress; /**< may be NULL; accel_quantize_plan counts tokens of a calibration */
    void *progress_data;              /**< handed to `progress`; stays the caller's, and outlives the job */

    /* Calibration: tokens that the model, as it is in the file that is read, runs over. All of it stays the caller's
     * and outlives the job. NULL: none. */
    struct accel_context *context;   /**< discovered; its best device runs the model */
    const struct accel_model *model; /**< opened from the same path as the file */
    const int32_t *ids;
    uint64_t id_count;
    uint64_t chunk;         /**< tokens of a window, caches empty at its beginning; 0: 512, or the model's context */
    uint64_t moments_bytes; /**< maximum memory for products of inputs at a time; 0: 1 GiB. The text runs again for
                             * the rest */

    /* A budget: each matrix gets the candidate that makes the sum of losses over the file smallest. With a calibration
     * losses are measured: accel_quantize_plan runs 64 to 256 tokens once for each matrix made worse. */
    uint64_t budget; /**< bytes of the file, or of model.safetensors; 0: none. ACCEL_E_LIMIT where even the smallest
                          candidates come to more, with what they come to */
    const char *const *candidates; /**< types, named as `type`, at most 64; none: those of 2 to 8 bits and f16, planar
                                        ones where `type` is planar, else those that GGUF numbers */
    uint32_t candidate_count;

    /* Which type a tensor gets, where no pattern keeps it and no budget chooses: the last of `roles` that fits it, else
     * `critical`, else `type`. */
    uint32_t group;     /**< of types without one: 32, 64, 128, 256, 512 or ACCEL_QUANTIZE_GROUP_ROW; 0: 64 of "q2"
                             and "nf4", the row of "c4", 128 of the others */
    const char *scheme; /**< of types without one: "symmetric" or "asymmetric"; NULL: symmetric */
    const char *const *roles; /**< "ROLE=TYPE": embedding, q, k, v, o, attention (these four), gate, up, down, ffn
                                   (these three), head, norm or conv; vectors take scalars alone. One that no tensor
                                   has is ACCEL_E_INVALID */
    const char *critical;     /**< type of attention, embedding and head; NULL: as the others */
    uint32_t role_count;      /**< of `roles` */
    uint32_t method; /**< ACCEL_QUANTIZE_METHOD_...; the last two need a calibration. Tensors without known inputs,
                      * and vectors, get the scale search */
};

/** Error of a tensor in one type. Open. Strings live as long as the job. */
struct accel_quantize_candidate {
    uint32_t size;
    uint32_t type;
    const char *type_name;
    uint64_t bytes;  /**< of the tensor in that type */
    double error;    /**< relative, of what the matrix gives for its calibrated inputs; of the values, without these */
    double loss;     /**< what it adds to the sum that is made small: the divergence from the model as it is, in nats,
                          that this tensor alone is expected to cause; measured in another type with a calibration,
                          guessed by its role and layer without */
    uint32_t chosen; /**< 1: the tensor gets it */
    uint32_t zero;
};

struct accel_quantize_job;

/** Decides the type of each tensor; writes nothing. The file stays the caller's and outlives the job; of the
 * options only `progress` with its data and the calibration are used later. ACCEL_E_UNSUPPORTED: a type without an
 * encoder for this kind of file, or a packed folder opened without ACCEL_MODEL_OPEN_PACKED; ACCEL_E_INVALID: an
 * argument or an option is out of range; ACCEL_E_IO, ACCEL_E_LIMIT, ACCEL_E_MEMORY. */
ACCEL_API int32_t accel_quantize_plan(const struct accel_model_file *file, const struct accel_quantize_options *options,
                                      struct accel_quantize_job **out_job, struct accel_error *error) ACCEL_NOEXCEPT;
/** Frees a job. NULL is allowed. */
ACCEL_API void accel_quantize_free(struct accel_quantize_job *job) ACCEL_NOEXCEPT;

/** Number of tensors. */
ACCEL_API uint64_t accel_quantize_count(const struct accel_quantize_job *job) ACCEL_NOEXCEPT;
/** The tensor at `index`, in the order of the file, or NULL past the end. */
ACCEL_API const struct accel_quantize_row *accel_quantize_get(const struct accel_quantize_job *job,
                                                              uint64_t index) ACCEL_NOEXCEPT;
/** How the file lies: "GGUF", "safetensors", "GPTQ" or "accel 1". Lives as long as the library. */
ACCEL_API const char *accel_quantize_layout(const struct accel_quantize_job *job) ACCEL_NOEXCEPT;
/** The mix that the types follow, as llama.cpp spells it ("Q4_K_M"), or NULL where `type` is a plain type. Lives as
 * long as the library. */
ACCEL_API const char *accel_quantize_mix(const struct accel_quantize_job *job) ACCEL_NOEXCEPT;
/** Bytes of the file that is written. */
ACCEL_API uint64_t accel_quantize_bytes(const struct accel_quantize_job *job) ACCEL_NOEXCEPT;

/** Candidate `index` of tensor `tensor`, by rising bytes, where there is a budget; NULL past the last. */
ACCEL_API const struct accel_quantize_candidate *
accel_quantize_candidate_get(const struct accel_quantize_job *job, uint64_t tensor, uint32_t index) ACCEL_NOEXCEPT;

/** Writes the file. `*out_resumed`, which may be NULL, gets the number of tensors that an earlier run had finished,
 * with equal choices and the same files (by device, inode, size and times, so that a copy begins anew).
 * ACCEL_E_BUSY: another process writes it; ACCEL_E_INVALID: it is the input file, or the file at its place or at
 * PATH.part may not be replaced; ACCEL_E_CORRUPT, ACCEL_E_UNSUPPORTED: a value is not finite, or too large for its
 * type; ACCEL_E_CANCELLED; ACCEL_E_IO and other system errors, after which the next run resumes. Once for each
 * job. */
ACCEL_API int32_t accel_quantize_run(struct accel_quantize_job *job, const char *path, uint64_t *out_resumed,
                                     struct accel_error *error) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
