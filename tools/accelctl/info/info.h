/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the facts of a model for accelctl info in one document, from which the text is printed as well. */
#ifndef ACCELCTL_INFO_H
#define ACCELCTL_INFO_H

#include <jansson.h>
#include <stdint.h>

#include <accel/context.h>

#include "tools/accelctl/info/vocabulary.h"

/* Makes the document, without its schema: metadata (lists shortened to their first elements unless `whole` is 1),
 * facts of the architecture, weights, tokenizer and chat template; every tensor if `tensors` is 1. NULL without
 * memory. */
json_t *info_document(const char *path, const struct vocabulary *vocabulary, uint32_t whole, uint32_t tensors);

/* Makes a document of the same shape for a name of the folder models of the profiles, without a file. NULL after an
 * error. */
json_t *info_description(struct accel_context *context, const char *name, struct accel_error *error);

/* Collects the metadata: the keys of GGUF; the members of config.json and the texts of __metadata__. */
json_t *info_metadata(const struct vocabulary *vocabulary, uint32_t whole);

/* Returns the model's chat template; NULL if there is none. The caller frees it. */
char *info_template(const struct vocabulary *vocabulary);

/* Prints the document as text. */
void info_print(const json_t *document);

#endif
