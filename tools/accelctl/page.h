/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document that a verb makes: text, JSON or a page of HTML that needs no other file. It goes to the standard output,
 * or into a file that others see as the old or as the whole new one.
 */
#ifndef ACCELCTL_PAGE_H
#define ACCELCTL_PAGE_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_HTML };

/* The format that a word names, text where it is NULL; `json` wins. Text goes to no file. Answers -1, or an exit code
 * after saying what is wrong. */
int page_format(const char *word, uint32_t json, const char *path, enum format *out_format);

/* Writes a document with the name of its schema; frees `document`. Answers an exit code: EXIT_FAILED where `out` cannot
 * be written, which whoever opened it tells; where `document` is NULL, for want of memory, that is said. */
int json_write(FILE *out, json_t *document, const char *schema);

/* Writes text with what HTML reserves escaped. */
void html_text(FILE *out, const char *text);

/* The same between two pieces of HTML. */
void html_between(FILE *out, const char *before, const char *text, const char *after);

/* Begins and ends a page: title, style, one line on what it is. */
void html_begin(FILE *out, const char *title, const char *about);
void html_end(FILE *out);

/* Calls `write` with the standard output, or, where `path` is not NULL, with a file beside it that becomes `path` when
 * all is written. Answers an exit code. */
int page_write(uint32_t json, const char *path, int (*write)(FILE *out, void *data), void *data);

#endif
