/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdio.h>

#include "tools/accelctl/command.h"
#include "tools/accelctl/print/page.h"
#include "tools/accelctl/tables/matrix.h"

/* Writes the columns of the first row, which all rows of a table share. */
static void write_head(FILE *out, const struct matrix *matrix, uint32_t index)
{
    const struct accel_compat *row = matrix->cells[index].row;

    fputs("<h2>", out);
    html_text(out, row->table);
    fputs(": ", out);
    html_text(out, row->about);
    fputs("</h2>\n<table><thead><tr><th></th>", out);
    for (uint32_t i = index; i < matrix->count && matrix->cells[i].row == row; i++) {
        fputs("<th>", out);
        html_text(out, matrix_column(&matrix->cells[i]));
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

static void write_row_name(FILE *out, const struct accel_compat *row)
{
    fputs("<tr><th scope=\"row\">", out);
    html_text(out, row->row);
    fputs("<small>", out);
    html_text(out, row->client[0] != '\0' ? row->source : row->model);
    fputs("</small></th>", out);
}

static void write_cell(FILE *out, const struct matrix_cell *cell)
{
    const char *rating = cell->document != NULL ? cell->document->rating_name : NULL;

    fprintf(out, "<td><span class=\"r %s\" title=\"", rating != NULL ? rating : "unnamed");
    html_text(out, cell->document != NULL ? cell->document->source : "no document names this platform");
    fprintf(out, "\">%s</span>", rating != NULL ? rating : "no rating");
    if (cell->verdict != HOST_ABSENT && cell->verdict != HOST_UNKNOWN)
        fprintf(out, "\n<span class=\"r %s\">%s</span>", matrix_name(cell->verdict), matrix_words(cell->verdict));
    fputs("<small title=\"", out);
    html_text(out, cell->origin);
    fputs("\">", out);
    html_text(out, cell->text);
    if (cell->later[0] != '\0') {
        fputs("; ", out);
        html_text(out, cell->later);
    }
    fputs("</small></td>\n", out);
}

int matrix_html(FILE *out, const struct matrix *matrix)
{
    html_begin(
        out, "Compatibility: the documents and this host",
        "Each cell has the documents' rating and the result of this host: a plan of the model that represents the "
        "row, for the platform of the column. Bytes are estimated unless they are marked measured. If there is no "
        "device, nothing was run. Documents and origins show when the pointer rests on a word.");
    for (uint32_t i = 0; i < matrix->count; i++) {
        if (matrix_begins_table(matrix, i))
            write_head(out, matrix, i);
        if (matrix_begins_row(matrix, i))
            write_row_name(out, matrix->cells[i].row);
        write_cell(out, &matrix->cells[i]);
        if (i + 1 == matrix->count || matrix_begins_row(matrix, i + 1))
            fputs("</tr>\n", out);
        if (i + 1 == matrix->count || matrix_begins_table(matrix, i + 1))
            fputs("</tbody></table>\n", out);
    }
    html_end(out);
    return ferror(out) ? EXIT_FAILED : EXIT_DONE;
}
