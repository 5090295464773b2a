/* SPDX-License-Identifier: Apache-2.0 */
/* Writes documents of a command: text, JSON or a self-contained page of HTML. They go to the standard output, or
 * atomically into a file: readers see the old or the whole new one. */
#ifndef ACCELCTL_PAGE_H
#define ACCELCTL_PAGE_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_HTML };

/* Parses the word of --format; NULL is text. JSON if `json` is 1, whatever the word. Refuses text if `path` (of --out)
 * is not NULL. Answers -1, or an exit code after an error has been printed. */
int parse_output_format(const char *word, uint32_t json, const char *path, enum format *out_format);

/* Writes a document with the name of its schema; frees `document`. Answers an exit code: EXIT_FAILED if `out`
 * cannot be written, which the opener of `out` reports. Reports a `document` of NULL as lack of memory. */
int json_write(FILE *out, json_t *document, const char *schema);

/* Writes text with HTML's reserved characters escaped. */
void html_text(FILE *out, const char *text);

/* Writes text as html_text does, between two pieces of HTML. */
void html_between(FILE *out, const char *before, const char *text, const char *after);

/* Begins and ends a page: title, style, one line on what it is. */
void html_begin(FILE *out, const char *title, const char *about);
void html_end(FILE *out);

/* Writes a document to `path`, or to the standard output if `path` is NULL, by calling `write` with `data`. A file is
 * written under a temporary name in the same folder and renamed to `path` once it is complete. Answers the exit code
 * of `write`, or that of a failure, which is printed. */
int write_output(uint32_t json, const char *path, int (*write)(FILE *out, void *data), void *data);

#endif
