/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the tokenizer of a model, also without weights: of a GGUF file with a vocabulary alone, of a folder with a
 * tokenizer.json, tokenizer.model or spiece.model, or of that file itself. */
#ifndef ACCELCTL_VOCABULARY_H
#define ACCELCTL_VOCABULARY_H

#include <accel/model/file.h>
#include <accel/model/tokenizer.h>

struct vocabulary {
    struct accel_model_file *file;     /* NULL: there are no weights, and no GGUF file */
    struct accel_tokenizer *tokenizer; /* NULL: not available, for the reason in `error` */
    struct accel_error error;
    char folder[4096]; /* of the files beside, where `file` is NULL; else empty */
    const char *name;  /* of the tokenizer's file there; else NULL */
};

/* Opens the model and creates its tokenizer. Fails if the path is neither a model nor a tokenizer; a model whose
 * tokenizer is not supported is opened with `tokenizer` NULL. Close it in any case. */
int32_t vocabulary_open(const char *path, struct vocabulary *out_vocabulary, struct accel_error *error);
void vocabulary_close(struct vocabulary *vocabulary);

/* Reads a file beside the model, such as "config.json"; the caller frees the text. ACCEL_E_NOT_FOUND if there is
 * none. */
int32_t vocabulary_read(const struct vocabulary *vocabulary, const char *name, char **out_text, uint64_t *out_length,
                        struct accel_error *error);

#endif
