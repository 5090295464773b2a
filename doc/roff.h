/* SPDX-License-Identifier: Apache-2.0 */
/* Writes man pages: text as roff, and the head of a page. The page generators share it; it is not installed. */
#ifndef ACCEL_DOC_ROFF_H
#define ACCEL_DOC_ROFF_H

#include "tools/accelctl/command.h"

#include <stdio.h>

/* Writes text as roff, with hyphens that can be copied and no line that looks like a request. */
void roff_put(FILE *out, const char *text);

/* Writes text as roff_put does, followed by a newline. */
void roff_line(FILE *out, const char *text);

/* Writes licence, title and the section NAME. `section` is 1 or 5. */
void roff_head(FILE *out, const char *name, int section, const char *summary);

/* Writes a section of rows with the left sides in `font`: B, or BR for references to pages. */
void roff_rows(FILE *out, const char *heading, const struct word_row *row, const char *font);

/* Writes Markdown as a page: its headings below the first become sections. Knows paragraphs, lists, fenced code,
 * tables, bold text, code and links. */
void roff_markdown(FILE *out, FILE *in);

#endif
