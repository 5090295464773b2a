/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a CSV table of scores field by field. An error names the line and column of its field. */
#include "config.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/text.h"
#include "model/file/fault.h"
#include "tools/accel-scores/internal.h"
#include "tools/accelctl/array.h"

#define FILE_LIMIT ((uint64_t)1 << 30)

/* Roles of a column of the file. */
enum { IGNORED, GROUP, LABEL, EXTERNAL, PARAMETRIC };

/** Last field that was read, without its quotes. */
struct field {
    char *text;
    size_t length;
    uint64_t line, column; /* where it begins, from 1; columns are bytes */
    bool last;             /* of its line */
};

/** A group's name in a row. */
struct name {
    const char *texts;
    size_t offset, length;
    uint64_t row;
};

struct reader {
    const char *name;
    const char *at, *end, *line_begin;
    uint64_t line;
    struct field field;
    struct accel_scores_names names;
    locale_t locale;      /* numbers are the same in all countries */
    uint32_t *kinds;      /* [columns] of the file */
    size_t columns;       /* of the file */
    size_t kind_capacity; /* of `kinds` */
    struct accel_scores *scores;
    double *values; /* [rows][columns of the table], in the order of the file */
    size_t value_count, value_capacity;
    char *group_texts;
    size_t group_bytes;
    struct name *group_names; /* [rows] */
    size_t group_capacity;
    size_t label_capacity;
    struct accel_error *error;
};

static int32_t no_memory(struct reader *reader)
{
    return accel_error_set(reader->error, ACCEL_E_MEMORY, "%s: no memory for the table", reader->name);
}

/* Reports an error at the current field. `detail` is text of the file, or NULL. */
static int32_t fault(const struct reader *reader, const char *what, const char *detail)
{
    char quoted[MODEL_QUOTE_BYTES] = "";

    if (detail != NULL)
        model_quote(quoted, detail, strlen(detail));
    accel_error_set(reader->error, ACCEL_E_CORRUPT, "%s:%llu:%llu: %s%s", reader->name,
                    (unsigned long long)reader->field.line, (unsigned long long)reader->field.column, what, quoted);
    return accel_error_origin(reader->error, ACCEL_FROM_FILE, ACCEL_E_CORRUPT);
}

/* ---- fields ---- */

static int32_t read_quoted(struct reader *reader)
{
    struct field *field = &reader->field;

    for (reader->at++;; reader->at++) {
        if (reader->at == reader->end)
            return fault(reader, "a quote is not closed", NULL);
        if (*reader->at == '"' && (reader->at + 1 == reader->end || reader->at[1] != '"'))
            break;
        if (*reader->at == '"')
            reader->at++;
        if (*reader->at == '\n') {
            reader->line++;
            reader->line_begin = reader->at + 1;
        }
        field->text[field->length++] = *reader->at;
    }
    reader->at++;
    return ACCEL_OK;
}

/* Reads a field and the comma or end of line after it. */
static int32_t read_field(struct reader *reader)
{
    struct field *field = &reader->field;
    int32_t code = ACCEL_OK;

    field->length = 0;
    field->line = reader->line;
    field->column = (uint64_t)(reader->at - reader->line_begin) + 1;
    if (reader->at < reader->end && *reader->at == '"')
        code = read_quoted(reader);
    else
        while (reader->at < reader->end && *reader->at != ',' && *reader->at != '\n' &&
               !(*reader->at == '\r' && (reader->at + 1 == reader->end || reader->at[1] == '\n')))
            field->text[field->length++] = *reader->at++;
    if (code != ACCEL_OK)
        return code;
    field->text[field->length] = '\0';
    field->last = reader->at == reader->end || *reader->at != ',';
    if (reader->at < reader->end && *reader->at == '\r')
        reader->at++;
    if (reader->at == reader->end)
        return ACCEL_OK;
    if (*reader->at != ',' && *reader->at != '\n')
        return fault(reader, "text after the closing quote of a field", NULL);
    if (*reader->at == '\n') {
        reader->line++;
        reader->line_begin = reader->at + 1;
    }
    reader->at++;
    return ACCEL_OK;
}

static bool skip_empty_lines(struct reader *reader)
{
    while (reader->at < reader->end && (*reader->at == '\n' || *reader->at == '\r')) {
        if (*reader->at == '\n')
            reader->line++;
        reader->at++;
        reader->line_begin = reader->at;
    }
    return reader->at < reader->end;
}

/* ---- the line of names ---- */

static uint32_t kind_of(const struct accel_scores_names *names, const char *text)
{
    if (strcmp(text, names->group) == 0)
        return GROUP;
    if (strcmp(text, names->label) == 0)
        return LABEL;
    if (accel_has_prefix(text, names->external))
        return EXTERNAL;
    return accel_has_prefix(text, names->parametric) ? PARAMETRIC : IGNORED;
}

static int32_t parse_name(struct reader *reader, bool seen[2], size_t *texts_length, size_t *column_capacity)
{
    struct accel_scores *scores = reader->scores;
    const struct field *field = &reader->field;
    uint32_t kind = kind_of(&reader->names, field->text);
    size_t count = (size_t)scores->facts.external + scores->facts.parametric;

    if (kind == GROUP || kind == LABEL) {
        if (seen[kind - GROUP])
            return fault(reader, "a second column called ", field->text);
        seen[kind - GROUP] = true;
    }
    if (!array_reserve(&reader->kinds, &reader->kind_capacity, reader->columns + 1, sizeof(*reader->kinds)))
        return no_memory(reader);
    reader->kinds[reader->columns++] = kind;
    scores->facts.ignored += kind == IGNORED;
    if (kind != EXTERNAL && kind != PARAMETRIC)
        return ACCEL_OK;
    if (!array_reserve(&scores->columns, column_capacity, count + 1, sizeof(*scores->columns)))
        return no_memory(reader);
    scores->columns[count] = (struct accel_scores_column){.external = kind == EXTERNAL};
    /* The text buffer has the capacity of the whole file, so that pointers into it stay valid. */
    scores->columns[count].name = memcpy(scores->texts + *texts_length, field->text, field->length + 1);
    *texts_length += field->length + 1;
    scores->facts.external += kind == EXTERNAL;
    scores->facts.parametric += kind == PARAMETRIC;
    return ACCEL_OK;
}

static int32_t parse_names(struct reader *reader)
{
    size_t texts_length = 0, column_capacity = 0;
    bool seen[2] = {false, false};
    int32_t code;

    do {
        code = read_field(reader);
        if (code == ACCEL_OK)
            code = parse_name(reader, seen, &texts_length, &column_capacity);
    } while (code == ACCEL_OK && !reader->field.last);
    if (code != ACCEL_OK)
        return code;
    reader->field.column = 1;
    if (!seen[0])
        code = fault(reader, "no column is called ", reader->names.group);
    else if (!seen[1])
        code = fault(reader, "no column is called ", reader->names.label);
    else if (reader->scores->facts.external + reader->scores->facts.parametric == 0)
        code = fault(reader, "no column of scores: none begins with ", reader->names.external);
    if (code != ACCEL_OK)
        accel_error_remedy(reader->error, "the table is CSV, and its first line names a column for the "
                                          "response, one for the label and those of scores; other names than these "
                                          "may be given (accelctl scores: --group, --label, --external, --parametric)");
    return code;
}

/* ---- rows ---- */

static int32_t parse_number(struct reader *reader, double *out_value)
{
    const struct field *field = &reader->field;
    char *end = NULL;

    /* Rejects forms that only strtod accepts: leading blanks, and hexadecimal such as "0x1p3". */
    if (field->length == 0 || strspn(field->text, "+-.0123456789eE") != field->length)
        return fault(reader, "expected a number, not ", field->text);
    *out_value = strtod_l(field->text, &end, reader->locale);
    if (end != field->text + field->length)
        return fault(reader, "expected a number, not ", field->text);
    return isfinite(*out_value) ? ACCEL_OK : fault(reader, "the number is too large: ", field->text);
}

static int32_t parse_label(struct reader *reader)
{
    struct accel_scores *scores = reader->scores;
    double value = 0;
    int32_t code = parse_number(reader, &value);

    if (code != ACCEL_OK)
        return code;
    if (value != 0 && value != 1)
        return fault(reader, "a label is 0 or 1, not ", reader->field.text);
    if (!array_reserve(&scores->labels, &reader->label_capacity, (size_t)scores->facts.rows + 1, 1))
        return no_memory(reader);
    scores->labels[scores->facts.rows] = value == 1;
    return ACCEL_OK;
}

static int32_t parse_group(struct reader *reader)
{
    const struct field *field = &reader->field;
    size_t row = (size_t)reader->scores->facts.rows;

    if (!array_reserve(&reader->group_names, &reader->group_capacity, row + 1, sizeof(*reader->group_names)))
        return no_memory(reader);
    reader->group_names[row] = (struct name){NULL, reader->group_bytes, field->length, row};
    memcpy(reader->group_texts + reader->group_bytes, field->text, field->length);
    reader->group_bytes += field->length;
    return ACCEL_OK;
}

static int32_t parse_value(struct reader *reader)
{
    if (!array_reserve(&reader->values, &reader->value_capacity, reader->value_count + 1, sizeof(*reader->values)))
        return no_memory(reader);
    return parse_number(reader, &reader->values[reader->value_count++]);
}

static int32_t parse_row(struct reader *reader)
{
    char counts[120];
    size_t column = 0;
    int32_t code;

    do {
        code = read_field(reader);
        if (code != ACCEL_OK)
            return code;
        if (column < reader->columns && reader->kinds[column] == GROUP)
            code = parse_group(reader);
        else if (column < reader->columns && reader->kinds[column] == LABEL)
            code = parse_label(reader);
        else if (column < reader->columns && reader->kinds[column] != IGNORED)
            code = parse_value(reader);
        column++;
    } while (code == ACCEL_OK && !reader->field.last && column <= reader->columns);
    if (code == ACCEL_OK && column != reader->columns) {
        snprintf(counts, sizeof(counts), "the line has %s %zu fields, that of the names has %zu",
                 column > reader->columns ? "more than" : "only", column > reader->columns ? column - 1 : column,
                 reader->columns);
        return fault(reader, counts, NULL);
    }
    reader->scores->facts.rows++;
    return code;
}

/* ---- the table ---- */

static int compare_names(const void *a, const void *b)
{
    const struct name *one = a, *other = b;
    size_t least = one->length < other->length ? one->length : other->length;
    int order = memcmp(one->texts + one->offset, other->texts + other->offset, least);

    if (order == 0 && one->length != other->length)
        order = one->length < other->length ? -1 : 1;
    if (order == 0)
        order = one->row < other->row ? -1 : one->row > other->row;
    return order;
}

/* Numbers the groups in the order of their first rows. */
static int32_t number_groups(struct reader *reader)
{
    struct accel_scores *scores = reader->scores;
    uint64_t rows = scores->facts.rows;
    uint64_t *first = calloc((size_t)rows, sizeof(*first));

    scores->groups = calloc((size_t)rows, sizeof(*scores->groups));
    scores->group_labels = calloc((size_t)rows, 1);
    if (first == NULL || scores->groups == NULL || scores->group_labels == NULL) {
        free(first);
        return no_memory(reader);
    }
    for (uint64_t i = 0; i < rows; i++)
        reader->group_names[i].texts = reader->group_texts;
    qsort(reader->group_names, (size_t)rows, sizeof(*reader->group_names), compare_names);
    for (uint64_t i = 0, leader = 0; i < rows; i++) {
        const struct name *name = &reader->group_names[i], *before = name - 1;

        if (i == 0 || name->length != before->length ||
            memcmp(name->texts + name->offset, before->texts + before->offset, name->length) != 0)
            leader = name->row;
        first[name->row] = leader;
    }
    for (uint64_t row = 0; row < rows; row++) {
        uint32_t *group = &scores->groups[row];

        *group = first[row] == row ? (uint32_t)scores->facts.groups++ : scores->groups[first[row]];
        scores->group_labels[*group] |= scores->labels[row];
        scores->facts.positive_rows += scores->labels[row];
    }
    for (uint64_t i = 0; i < scores->facts.groups; i++)
        scores->facts.positive_groups += scores->group_labels[i];
    free(first);
    return ACCEL_OK;
}

/* Stores columns one behind the other, ES before PK. */
static int32_t arrange(struct reader *reader)
{
    struct accel_scores *scores = reader->scores;
    size_t count = (size_t)scores->facts.external + scores->facts.parametric, next[2];
    struct accel_scores_column *columns = calloc(count, sizeof(*columns));

    next[1] = 0;
    next[0] = scores->facts.external;
    scores->values = calloc(reader->value_count, sizeof(*scores->values));
    if (columns == NULL || scores->values == NULL) {
        free(columns);
        return no_memory(reader);
    }
    for (size_t i = 0; i < count; i++) {
        size_t to = next[scores->columns[i].external]++;

        columns[to] = scores->columns[i];
        for (uint64_t row = 0; row < scores->facts.rows; row++)
            scores->values[to * scores->facts.rows + row] = reader->values[row * count + i];
    }
    free(scores->columns);
    scores->columns = columns;
    return ACCEL_OK;
}

static int32_t check_labels(struct reader *reader)
{
    const struct accel_scores_facts *facts = &reader->scores->facts;

    if (facts->positive_groups != 0 && facts->positive_groups != facts->groups)
        return ACCEL_OK;
    accel_error_set(reader->error, ACCEL_E_INVALID,
                    "%s: all %llu responses have the label %d, and no tool can tell labels apart", reader->name,
                    (unsigned long long)facts->groups, facts->positive_groups != 0);
    return accel_error_origin(reader->error, ACCEL_FROM_FILE, ACCEL_E_INVALID);
}

static int32_t parse(struct reader *reader, size_t length)
{
    struct accel_scores *scores = reader->scores;
    int32_t code;

    reader->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    reader->field.text = malloc(length + 1);
    reader->group_texts = malloc(length + 1);
    scores->texts = malloc(length + 1);
    if (reader->locale == (locale_t)0 || reader->field.text == NULL || reader->group_texts == NULL ||
        scores->texts == NULL)
        return no_memory(reader);
    if (length >= 3 && memcmp(reader->at, "\xef\xbb\xbf", 3) == 0)
        reader->line_begin = reader->at += 3;
    reader->field.line = reader->field.column = 1;
    code = skip_empty_lines(reader) ? parse_names(reader) : fault(reader, "the file is empty", NULL);
    while (code == ACCEL_OK && skip_empty_lines(reader))
        code = parse_row(reader);
    reader->field.line = reader->line;
    reader->field.column = 1;
    if (code == ACCEL_OK && scores->facts.rows == 0)
        code = fault(reader, "no row follows the names", NULL);
    if (code == ACCEL_OK && scores->facts.rows > INT32_MAX)
        code = fault(reader, "more than 2147483647 rows", NULL);
    if (code == ACCEL_OK)
        code = number_groups(reader);
    if (code == ACCEL_OK)
        code = arrange(reader);
    if (code == ACCEL_OK)
        code = check_labels(reader);
    return code == ACCEL_OK ? scores_describe(scores, reader->error) : code;
}

static void set_column_names(const struct accel_scores_names *given, struct accel_scores_names *out_names)
{
    if (given != NULL)
        *out_names = *given;
    out_names->group = out_names->group == NULL ? "response" : out_names->group;
    out_names->label = out_names->label == NULL ? "label" : out_names->label;
    out_names->external = out_names->external == NULL ? "ES" : out_names->external;
    out_names->parametric = out_names->parametric == NULL ? "PK" : out_names->parametric;
}

int32_t accel_scores_parse(const char *text, size_t length, const char *name, const struct accel_scores_names *names,
                           struct accel_scores **out_scores, struct accel_error *error)
{
    struct reader reader = {.name = name, .line = 1, .error = error};
    int32_t code;

    *out_scores = NULL;
    set_column_names(names, &reader.names);
    if (length > FILE_LIMIT)
        return accel_error_set(error, ACCEL_E_LIMIT, "%s: longer than 1 GiB", reader.name);
    reader.at = reader.line_begin = length == 0 ? "" : text;
    reader.end = reader.at + length;
    reader.scores = calloc(1, sizeof(*reader.scores));
    if (reader.scores == NULL)
        return no_memory(&reader);
    code = parse(&reader, length);
    if (code != ACCEL_OK)
        accel_scores_free(reader.scores);
    else
        *out_scores = reader.scores;
    if (reader.locale != (locale_t)0)
        freelocale(reader.locale);
    free(reader.field.text);
    free(reader.kinds);
    free(reader.values);
    free(reader.group_texts);
    free(reader.group_names);
    return code;
}

int32_t accel_scores_read(const char *path, const struct accel_scores_names *names, struct accel_scores **out_scores,
                          struct accel_error *error)
{
    size_t length = 0;
    char *text = NULL;
    int32_t code;

    *out_scores = NULL;
    code = accel_file_read(path, FILE_LIMIT, &text, &length, error);
    if (code == ACCEL_OK)
        code = accel_scores_parse(text, length, path, names, out_scores, error);
    free(text);
    return code;
}

void accel_scores_free(struct accel_scores *scores)
{
    if (scores == NULL)
        return;
    free(scores->columns);
    free(scores->texts);
    free(scores->values);
    free(scores->labels);
    free(scores->groups);
    free(scores->group_labels);
    free(scores->group_rows);
    free(scores);
}
