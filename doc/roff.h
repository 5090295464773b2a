/* SPDX-License-Identifier: Apache-2.0 */
/* Man pages: text as roff, and a page's head. The generators of pages share this; nothing of it is installed. */
#ifndef ACCEL_DOC_ROFF_H
#define ACCEL_DOC_ROFF_H

#include "tools/accelctl/verb.h"

#include <stdio.h>

/* Text as roff: hyphens that can be copied, no line that looks like a request. */
void roff_put(FILE *out, const char *text);

/* The same with a new line after it. */
void roff_line(FILE *out, const char *text);

/* Licence, title and the section NAME. `section` is 1 or 5. */
void roff_head(FILE *out, const char *name, int section, const char *summary);

/* A section of rows with the left sides in `font`: B, or BR for references to pages. */
void roff_rows(FILE *out, const char *heading, const struct word_row *row, const char *font);

/* Markdown as a page: its headings below the first become sections. Knows paragraphs, lists, fenced code, tables, bold
 * text, code and links. */
void roff_markdown(FILE *out, FILE *in);

#endif
