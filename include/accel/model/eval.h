/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * How good a model is, and what a smaller file of it lost: perplexity of a text, divergence from a reference model over
 * the same tokens, and the relative error of each tensor.
 *
 * Method. The text's tokens are cut into windows of `chunk` tokens that begin `stride` tokens after each other; caches
 * are empty at the beginning of each window. If a token for the beginning of a text is given, it precedes each
 * window and counts as one of the `chunk`. Each token is predicted once, in the first window that holds it, unless
 * nothing stands before it there: the first one of the text, and, with a stride of a whole chunk, of each window. With
 * a smaller stride every token but those of the first window has at least chunk - stride tokens before it.
 *
 * Definitions, all in double and in nats, from the logits that the device gives:
 *  - loss: the mean of -log p(token) over predicted tokens; perplexity: e to the loss.
 *  - KL divergence at a token: the sum over the vocabulary of P (log P - log Q), with P of the reference and Q of the
 *    model; never below 0. Its quantile q is the value at place ceil(q count) of the sorted ones.
 *  - top-1: the share of predicted tokens before which model and reference have the same likeliest token; of equal ones
 *    it is that with the lowest id.
 *  - an error of a mean: the standard deviation over tokens, divided by the root of their number, as if tokens were
 *    independent; that of perplexity is its slope times that of the loss.
 *  - relative error of a tensor: the root of the sum of squared differences over that of the reference's squares.
 */
#ifndef ACCEL_MODEL_EVAL_H
#define ACCEL_MODEL_EVAL_H

#include <accel/model/file.h>
#include <accel/model/session.h>

ACCEL_BEGIN_C

/** Not 0 ends the work with ACCEL_E_CANCELLED. */
typedef int32_t(ACCEL_CALL *accel_eval_progress)(void *data, uint64_t done, uint64_t all);

/* ---- text ---- */

/** How to read a text. Open. NULL: the defaults. */
struct accel_eval_options {
    uint32_t size;
    uint32_t zero;
    uint64_t chunk;               /**< tokens of a window; 0: 512, or the smallest context of the sessions */
    uint64_t stride;              /**< tokens from window to window, at most `chunk`; 0: as many */
    int64_t bos;                  /**< token that stands before each window, or -1 */
    accel_eval_progress progress; /**< may be NULL; counts tokens of all sessions */
    void *progress_data;
};

/** Result of a text for one session. Open. Without a reference all members from `kl` on are 0. */
struct accel_eval_result {
    uint32_t size;
    uint32_t zero;
    uint64_t predicted; /**< tokens */
    uint64_t windows;
    double loss;
    double loss_error;
    double perplexity;
    double perplexity_error;
    double kl; /**< mean */
    double kl_error;
    double kl_median;
    double kl_99; /**< 99th percentile */
    double kl_most;
    double top1;
    double top1_error;
    double loss_change; /**< loss minus that of the reference */
    double loss_change_error;
};

/** Results of a text for all sessions. */
struct accel_eval;

/**
 * Runs loaded sessions side by side over a text and forgets what they held. `reference` may be NULL, and so may be
 * `sessions` where `count` is 0: then the reference alone is measured. Memory: logits of at most 64 tokens of the
 * reference (32 MiB at most, or one token's), and 8 bytes for each token and session.
 *
 * ACCEL_E_INVALID: other vocabularies, fewer than two tokens, a chunk beyond a context; ACCEL_E_CORRUPT: logits that
 * are not finite; ACCEL_E_CANCELLED; what accel_session_score answers. The sessions' options want enough outputs for
 * good speed: 32 or more.
 */
ACCEL_API int32_t accel_eval_text(struct accel_session *reference, struct accel_session *const *sessions,
                                  uint32_t count, const int32_t *ids, uint64_t id_count,
                                  const struct accel_eval_options *options, struct accel_eval **out_eval,
                                  struct accel_error *error) ACCEL_NOEXCEPT;
/** Frees it. NULL is allowed. */
ACCEL_API void accel_eval_free(struct accel_eval *eval) ACCEL_NOEXCEPT;
/** Result of session `index`, or of the reference at `count`; NULL past it, and where there was none. */
ACCEL_API const struct accel_eval_result *accel_eval_get(const struct accel_eval *eval, uint32_t index) ACCEL_NOEXCEPT;
/** Quantile of the KL divergence of session `index`, `part` from 0 to 1; 0 without a reference. */
ACCEL_API double accel_eval_quantile(const struct accel_eval *eval, uint32_t index, double part) ACCEL_NOEXCEPT;
/** Tokens of a window, and from window to window, as finally chosen. */
ACCEL_API uint64_t accel_eval_chunk(const struct accel_eval *eval) ACCEL_NOEXCEPT;
ACCEL_API uint64_t accel_eval_stride(const struct accel_eval *eval) ACCEL_NOEXCEPT;

/* ---- tensors ---- */

/** One tensor that both files have. Open. Strings live as long as the table. */
struct accel_eval_tensor {
    uint32_t size;
    uint32_t compared; /**< 0: `reason` has the cause */
    const char *name;
    const char *type;      /**< in the file, "Q4_K" */
    const char *reference; /**< and in the reference */
    const char *reason;    /**< empty where it was compared */
    uint64_t elements;
    uint64_t bytes;
    double relative_error; /**< infinite where the reference is all zero and the tensor is not */
    double largest;        /**< absolute difference */
};

/** Sums over a file. Open. */
struct accel_eval_tensor_sums {
    uint32_t size;
    uint32_t zero;
    uint64_t tensors;  /**< of the file */
    uint64_t elements; /**< of them */
    uint64_t bytes;    /**< of their data */
    uint64_t file_bytes;
    uint64_t compared;
    uint64_t missing;       /**< tensors of the reference that the file has not */
    uint64_t extra;         /**< and the other way round */
    double bits_per_weight; /**< 8 bytes / elements: scales and all types in it */
    double relative_error;  /**< over all tensors that were compared, as one */
};

struct accel_eval_tensors;

/**
 * Compares the tensors of two files by name, a run of rows at a time; names and layouts have to be those of the same
 * format. `reference` may be NULL: then only the sums are filled in, and no tensor is read.
 */
ACCEL_API int32_t accel_eval_tensors(const struct accel_model_file *file, const struct accel_model_file *reference,
                                     accel_eval_progress progress, void *progress_data,
                                     struct accel_eval_tensors **out_tensors, struct accel_error *error) ACCEL_NOEXCEPT;
/** Frees it. NULL is allowed. */
ACCEL_API void accel_eval_tensors_free(struct accel_eval_tensors *tensors) ACCEL_NOEXCEPT;
/** Sums; they live as long as the table. */
ACCEL_API const struct accel_eval_tensor_sums *
accel_eval_tensors_sums(const struct accel_eval_tensors *tensors) ACCEL_NOEXCEPT;
/** Number of tensors that both files have. */
ACCEL_API uint64_t accel_eval_tensors_count(const struct accel_eval_tensors *tensors) ACCEL_NOEXCEPT;
/** Tensor `index`, the largest error first; those that were not compared last. NULL past the end. */
ACCEL_API const struct accel_eval_tensor *accel_eval_tensors_get(const struct accel_eval_tensors *tensors,
                                                                 uint64_t index) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
