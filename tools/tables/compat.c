/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "core/profile/keys.h"
#include "tools/tables/internal.h"

/* ratings[ACCEL_COMPAT_...] */
static const char *const ratings[] = {"", "none", "limited", "medium", "high", "full"};
#define RATINGS (ACCEL_COMPAT_FULL + 1)

/** Members that rows and columns have in common. */
struct heading {
    const char *name;
    const char *platform;
    const char *client;
    const char *model;
    const char *source;
    const char *settings; /* "KEY=VALUE KEY=VALUE", validated */
};

/** State of reading the cells of one table. */
struct sheet {
    const char *name;
    const char *about;
    bool allowed[RATINGS];
    struct heading *columns;
    uint32_t column_count;
};

static uint32_t rating_of(const char *word)
{
    uint32_t rating = RATINGS - 1;
    while (rating > 0 && strcmp(ratings[rating], word) != 0)
        rating--;
    return rating;
}

static int32_t refuse_rating(const struct accel_table_reader *reader, const struct sheet *sheet,
                             const struct accel_yaml_node *node)
{
    const char *names[RATINGS];
    uint32_t count = 0;
    for (uint32_t i = 1; i < RATINGS; i++)
        if (sheet == NULL || sheet->allowed[i])
            names[count++] = ratings[i];
    return accel_members_refuse_word(reader->path, node, accel_suggest(node->text, names, count), reader->error,
                                     "\"%.40s\" is no rating of this table", node->text);
}

/* Reads the ratings that cells of this table may have; not every document uses the whole scale. */
static int32_t read_ratings(const struct accel_table_reader *reader, const struct accel_yaml_node *list,
                            struct sheet *sheet)
{
    for (const struct accel_yaml_node *node = list->first; node; node = node->next) {
        uint32_t rating = node->kind == ACCEL_YAML_TEXT ? rating_of(node->text) : 0;
        if (node->kind != ACCEL_YAML_TEXT)
            return accel_table_refuse(reader, node, "\"ratings\" is a list of words");
        if (rating == 0)
            return refuse_rating(reader, NULL, node);
        sheet->allowed[rating] = true;
    }
    return ACCEL_OK;
}

enum { H_NAME, H_PLATFORM, H_CLIENT, H_MODEL, H_SET, H_BECAUSE, H_CELLS, HEADING_MEMBERS };

static int32_t read_heading(const struct accel_table_reader *reader, const struct accel_yaml_node *node, bool is_row,
                            struct heading *heading, const struct accel_yaml_node **out_cells)
{
    struct accel_member m[HEADING_MEMBERS] = {
        [H_NAME] = {"name", true, ACCEL_YAML_TEXT, false, NULL},
        [H_PLATFORM] = {"platform", false, ACCEL_YAML_TEXT, false, NULL},
        [H_CLIENT] = {"client", false, ACCEL_YAML_TEXT, false, NULL},
        [H_MODEL] = {"model", false, ACCEL_YAML_TEXT, false, NULL},
        [H_SET] = {"set", false, ACCEL_YAML_MAPPING, false, NULL},
        [H_BECAUSE] = {"because", is_row, ACCEL_YAML_TEXT, false, NULL},
        [H_CELLS] = {"cells", true, ACCEL_YAML_SEQUENCE, false, NULL},
    };
    int32_t code = accel_table_take(reader, node, m, is_row ? HEADING_MEMBERS : H_CELLS);
    if (code != ACCEL_OK)
        return code;
    heading->name = accel_table_text(&m[H_NAME]);
    heading->platform = accel_table_text(&m[H_PLATFORM]);
    heading->client = accel_table_text(&m[H_CLIENT]);
    heading->model = accel_table_text(&m[H_MODEL]);
    if (out_cells)
        *out_cells = m[H_CELLS].value;
    code = accel_table_settings(reader, &m[H_SET], &heading->settings);
    return code == ACCEL_OK ? accel_table_source(reader, &m[H_BECAUSE], &heading->source) : code;
}

static const char *either(const char *first, const char *second)
{
    return *first ? first : second;
}

/* Joins the settings of row and column. Most cells have those of their column alone, and share its text. */
static int32_t join_settings(const struct accel_table_reader *reader, const char *row, const char *column,
                             const char **out_text)
{
    size_t length = strlen(row);
    char *text;
    *out_text = either(row, column);
    if (*row == 0 || *column == 0)
        return ACCEL_OK;
    text = accel_arena_alloc(&reader->tables->arena, length + strlen(column) + 2, 1);
    *out_text = text;
    if (text == NULL)
        return accel_table_no_memory(reader);
    memcpy(text, row, length);
    text[length] = ' ';
    memcpy(text + length + 1, column, strlen(column) + 1);
    return ACCEL_OK;
}

static int32_t fill_cell(const struct accel_table_reader *reader, const struct sheet *sheet, const struct heading *row,
                         const struct heading *column, const struct accel_yaml_node *node, struct accel_compat *cell)
{
    uint32_t rating = node->kind == ACCEL_YAML_TEXT ? rating_of(node->text) : 0;
    int32_t code;
    if (node->kind != ACCEL_YAML_TEXT)
        return accel_table_refuse(reader, node, "a cell is a word");
    if (!sheet->allowed[rating])
        return refuse_rating(reader, sheet, node);
    cell->size = sizeof(*cell);
    cell->rating = rating;
    cell->rating_name = ratings[rating];
    cell->table = sheet->name;
    cell->about = sheet->about;
    cell->row = row->name;
    cell->column = column->name;
    cell->platform = either(column->platform, row->platform);
    cell->client = either(row->client, column->client);
    cell->model = either(row->model, column->model);
    cell->source = row->source;
    if (*cell->platform == 0)
        return accel_table_refuse(reader, node, "neither the row nor the column of this cell names a platform");
    code = join_settings(reader, row->settings, column->settings, &cell->settings);
    return code == ACCEL_OK ? accel_table_place(reader, node, &cell->place) : code;
}

static int32_t read_row(const struct accel_table_reader *reader, const struct sheet *sheet,
                        const struct accel_yaml_node *node, struct accel_compat *cells)
{
    const struct accel_yaml_node *list;
    struct heading row = {0};
    uint32_t index = 0;
    int32_t code = read_heading(reader, node, true, &row, &list);
    if (code != ACCEL_OK)
        return code;
    if (list->child_count != sheet->column_count)
        return accel_yaml_refuse(reader->path, list, reader->error, ACCEL_E_CORRUPT,
                                 "the row has %u cells, the table %u columns", list->child_count, sheet->column_count);
    for (const struct accel_yaml_node *cell = list->first; cell && code == ACCEL_OK; cell = cell->next, index++)
        code = fill_cell(reader, sheet, &row, &sheet->columns[index], cell, &cells[index]);
    return code;
}

enum { T_NAME, T_ABOUT, T_RATINGS, T_COLUMNS, T_ROWS, TABLE_MEMBERS };

static int32_t read_table_members(const struct accel_table_reader *reader, const struct accel_yaml_node *node,
                                  struct accel_member m[TABLE_MEMBERS])
{
    static const struct accel_member wanted[TABLE_MEMBERS] = {
        [T_NAME] = {"name", true, ACCEL_YAML_TEXT, false, NULL},
        [T_ABOUT] = {"about", true, ACCEL_YAML_TEXT, false, NULL},
        [T_RATINGS] = {"ratings", true, ACCEL_YAML_SEQUENCE, false, NULL},
        [T_COLUMNS] = {"columns", true, ACCEL_YAML_SEQUENCE, false, NULL},
        [T_ROWS] = {"rows", true, ACCEL_YAML_SEQUENCE, false, NULL},
    };
    memcpy(m, wanted, sizeof(wanted));
    return accel_table_take(reader, node, m, TABLE_MEMBERS);
}

static int32_t read_columns(const struct accel_table_reader *reader, const struct accel_yaml_node *list,
                            struct sheet *sheet)
{
    uint32_t index = 0;
    int32_t code = accel_table_array(reader, list->child_count, sizeof(*sheet->columns), &sheet->columns);
    sheet->column_count = list->child_count;
    for (const struct accel_yaml_node *node = list->first; node && code == ACCEL_OK; node = node->next)
        code = read_heading(reader, node, false, &sheet->columns[index++], NULL);
    return code;
}

static int32_t read_table(const struct accel_table_reader *reader, const struct accel_yaml_node *node)
{
    struct accel_tables *tables = reader->tables;
    struct accel_member m[TABLE_MEMBERS];
    struct sheet sheet = {0};
    int32_t code = read_table_members(reader, node, m);
    if (code != ACCEL_OK)
        return code;
    sheet.name = accel_table_text(&m[T_NAME]);
    sheet.about = accel_table_text(&m[T_ABOUT]);
    code = read_ratings(reader, m[T_RATINGS].value, &sheet);
    if (code == ACCEL_OK)
        code = read_columns(reader, m[T_COLUMNS].value, &sheet);
    for (const struct accel_yaml_node *row = m[T_ROWS].value->first; row && code == ACCEL_OK; row = row->next) {
        code = read_row(reader, &sheet, row, &tables->cells[tables->cell_count]);
        tables->cell_count += sheet.column_count;
    }
    return code;
}

/* Allocates the cells of all tables: the maximum that read_table fills. A row with a wrong number of cells is
 * refused before it writes more cells than there are columns. */
static int32_t make_cells(const struct accel_table_reader *reader, const struct accel_yaml_node *list)
{
    uint64_t count = 0;
    for (const struct accel_yaml_node *node = list->first; node; node = node->next) {
        struct accel_member m[TABLE_MEMBERS];
        int32_t code = read_table_members(reader, node, m);
        if (code != ACCEL_OK)
            return code;
        count += (uint64_t)m[T_COLUMNS].value->child_count * m[T_ROWS].value->child_count;
    }
    /* Each cell is a node, so there cannot be more cells than nodes of a file. */
    if (count > ACCEL_YAML_NODES)
        return accel_table_refuse(reader, list, "the tables have more cells than a file can hold");
    return accel_table_array(reader, (uint32_t)count, sizeof(*reader->tables->cells), &reader->tables->cells);
}

int32_t accel_table_read_compat(const struct accel_table_reader *reader, const struct accel_yaml_node *root)
{
    struct accel_member m[] = {{"accel-compat", true, ACCEL_YAML_TEXT, false, NULL},
                               {"about", false, ACCEL_YAML_TEXT, false, NULL},
                               {"tables", true, ACCEL_YAML_SEQUENCE, false, NULL},
                               {"recommendations", false, ACCEL_YAML_SEQUENCE, false, NULL}};
    int32_t code = accel_table_take(reader, root, m, 4);
    if (code == ACCEL_OK)
        code = accel_table_version(reader, &m[0]);
    if (code == ACCEL_OK)
        code = make_cells(reader, m[2].value);
    if (code != ACCEL_OK)
        return code;
    for (const struct accel_yaml_node *node = m[2].value->first; node && code == ACCEL_OK; node = node->next)
        code = read_table(reader, node);
    return code == ACCEL_OK && m[3].value ? accel_table_read_recommendations(reader, m[3].value) : code;
}
