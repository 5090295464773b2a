/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tools/accelctl/tables/matrix.h"
#include "tools/accelctl/tables/recommended.h"
#include "tools/accelctl/tables/tables.h"
#include "tools/accelctl/words.h"

struct matrix_options {
    struct common common;
    uint32_t recommended;
    const char *table;
    const char *format;
    const char *out;
};

static const struct option_row options[] = {
    {"table", 0, OPTION_TEXT, offsetof(struct matrix_options, table), "NAME",
     "one table: D1 text models, D2 multimodal models, D3 and D4 browsers", 0, 0},
    {"recommended", 'r', OPTION_FLAG, offsetof(struct matrix_options, recommended), NULL,
     "the documents' tables of recommendations instead", 0, 0},
    {"format", 0, OPTION_TEXT, offsetof(struct matrix_options, format), "WORD", "text, json or html", 0, 0},
    {"out", 0, OPTION_TEXT, offsetof(struct matrix_options, out), "FILE", "write into FILE instead of printing", 0, 0},
    COMMON_OPTIONS(struct matrix_options, common),
};

static enum paint colour(enum host_verdict verdict)
{
    return verdict == HOST_FITS || verdict == HOST_MEASURED   ? PAINT_GOOD
           : verdict == HOST_SHORT || verdict == HOST_REFUSED ? PAINT_BAD
                                                              : PAINT_PLAIN;
}

static void print_cell(const struct matrix_cell *cell)
{
    enum { INDENT = 36 };
    const char *rating = cell->document != NULL ? cell->document->rating_name : "no rating";
    int at = print("  %-22s %-9s  ", matrix_column(cell), rating);

    if (cell->verdict != HOST_ABSENT && cell->verdict != HOST_UNKNOWN) {
        print("%s%s%s: ", paint(colour(cell->verdict)), matrix_words(cell->verdict), paint(PAINT_PLAIN));
        at += (int)strlen(matrix_words(cell->verdict)) + 2;
    }
    print_wrapped((uint32_t)at, INDENT, cell->text);
    if (cell->later[0] != '\0')
        print_wrapped((uint32_t)print("%*s", INDENT, ""), INDENT, cell->later);
}

static int write_text(FILE *out, void *data)
{
    const struct matrix *matrix = data;

    (void)out;
    for (uint32_t i = 0; i < matrix->count; i++) {
        const struct accel_compat *row = matrix->cells[i].row;

        if (matrix_begins_table(matrix, i))
            print("%s%s%s: %s%s\n", i == 0 ? "" : "\n", paint(PAINT_HEADING), row->table, row->about,
                  paint(PAINT_PLAIN));
        if (matrix_begins_row(matrix, i))
            print("%s%s%s, %s%s (%s)\n", paint(PAINT_HEADING), row->row, paint(PAINT_PLAIN),
                  row->client[0] != '\0' ? "client " : "", row->client[0] != '\0' ? row->client : row->model,
                  row->source);
        print_cell(&matrix->cells[i]);
    }
    return ferror(output()) ? EXIT_FAILED : EXIT_DONE;
}

static int write_json(FILE *out, void *data)
{
    return json_write(out, matrix_json(data), "accelctl/matrix/1");
}

static int write_html(FILE *out, void *data)
{
    return matrix_html(out, data);
}

/* Refuses an unknown table; the error lists the tables. */
static int refuse_table(uint32_t json, const struct accel_tables *tables, const char *name)
{
    char known[160] = "";
    size_t used = 0;
    const char *last = "";

    for (uint32_t i = 0; i < accel_compat_count(tables) && used < sizeof(known); i++) {
        const char *table = accel_compat_get(tables, i)->table;

        if (strcmp(table, last) != 0)
            used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", *last == '\0' ? "" : " ", table);
        last = table;
    }
    return refuse_option_word(json, "matrix", "table", known, name);
}

static int print_cells(const struct matrix_options *chosen, enum format format, struct accel_context *context,
                       const struct accel_tables *tables)
{
    static int (*const writers[])(FILE *, void *) = {write_text, write_json, write_html};
    struct matrix matrix = {.context = context, .tables = tables, .is_recorded = chosen->common.host != NULL};
    int code;

    if (!matrix_make(&matrix, chosen->table))
        return report_error_text(chosen->common.json, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for the matrix", NULL);
    if (matrix.count == 0)
        code = refuse_table(chosen->common.json, tables, chosen->table);
    else
        code = write_output(chosen->common.json, chosen->out, writers[format], &matrix);
    matrix_free(&matrix);
    return code;
}

static int run(int count, char **arguments, const struct command *command)
{
    struct matrix_options chosen = {0};
    struct opened_tables opened = {0};
    int code = parse_options(command, &count, arguments, &chosen);

    if (code < 0)
        code = open_tables(&chosen.common, chosen.format, chosen.out, &opened);
    if (code < 0 && chosen.recommended)
        code = write_output(chosen.common.json, chosen.out, recommendation_writers[opened.format], opened.tables);
    else if (code < 0)
        code = print_cells(&chosen, opened.format, opened.context, opened.tables);
    close_tables(&opened);
    return code;
}

const struct command command_matrix = {
    .name = "matrix",
    .summary = "which model runs where: the ratings of the documents beside the results of this host",
    .arguments = "",
    .detail =
        "Each cell has the rating of the documents and the verdict of a plan for a model that represents the row: it "
        "fits, lacks memory, is not supported, or was measured. If the device is not here, the cell has the memory "
        "that the plan estimates for it.",
    .example = "accelctl matrix --format html --out matrix.html\nthe whole comparison as a page",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .run = run,
};
