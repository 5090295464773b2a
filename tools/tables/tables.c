/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/tables/tables.h"

#include <stdlib.h>

#include <accel/profile.h>

#include "core/base/file.h"
#include "tools/tables/internal.h"

/* Limit of a table's arena. The size of the file bounds its contents; the limit is for text that is copied from
 * cell to cell. */
#define ARENA_BYTES ((size_t)64 << 20)

static const struct {
    const char *leaf;
    accel_table_read *read;
} files[] = {
    [ACCEL_TABLE_COMPAT] = {"compat.yaml", accel_table_read_compat},
    [ACCEL_TABLE_CLAIMS] = {"claims.yaml", accel_table_read_claims},
    [ACCEL_TABLE_ADVICE] = {"advice.yaml", accel_table_read_advice},
};

static int32_t make(struct accel_tables **out_tables, struct accel_error *error)
{
    struct accel_tables *tables = calloc(1, sizeof(*tables));
    *out_tables = tables;
    if (tables == NULL)
        return accel_error_no_memory(error, "for tables");
    accel_arena_init(&tables->arena, ARENA_BYTES);
    return ACCEL_OK;
}

static int32_t parse(struct accel_tables *tables, enum accel_table_file file, const char *path, const char *data,
                     size_t bytes, struct accel_error *error)
{
    struct accel_table_reader reader = {tables, accel_arena_strdup(&tables->arena, path), error};
    struct accel_yaml_node *root;
    int32_t code;
    if (reader.path == NULL)
        return accel_error_no_memory(error, "to read %.200s", path);
    code = accel_yaml_parse(reader.path, data, bytes, &tables->arena, &root, error);
    return code == ACCEL_OK ? files[file].read(&reader, root) : code;
}

static int32_t load(struct accel_tables *tables, enum accel_table_file file, const char *folder,
                    struct accel_error *error)
{
    char *path = accel_file_join(folder, files[file].leaf), *data = NULL;
    size_t bytes = 0;
    int32_t code;
    if (path == NULL)
        return accel_error_no_memory(error, "to read %s", files[file].leaf);
    code = accel_file_read(path, ACCEL_YAML_BYTES, &data, &bytes, error);
    if (code == ACCEL_OK)
        code = parse(tables, file, path, data, bytes, error);
    free(data);
    free(path);
    return code;
}

/* Returns the tables to the caller only if they were read completely. */
static int32_t give(int32_t code, struct accel_tables *tables, struct accel_tables **out_tables)
{
    if (code != ACCEL_OK)
        accel_tables_free(tables);
    *out_tables = code == ACCEL_OK ? tables : NULL;
    return code;
}

int32_t accel_tables_load(const char *folder, struct accel_tables **out_tables, struct accel_error *error)
{
    struct accel_tables *tables;
    int32_t code = make(&tables, error);
    for (enum accel_table_file file = ACCEL_TABLE_COMPAT; code == ACCEL_OK && file <= ACCEL_TABLE_ADVICE; file++)
        code = load(tables, file, folder, error);
    return give(code, tables, out_tables);
}

int32_t accel_tables_read(struct accel_context *context, struct accel_tables **out_tables, struct accel_error *error)
{
    char *folder = NULL;
    int32_t code;
    *out_tables = NULL;
    code = accel_profile_folder(context, &folder, error);
    if (code == ACCEL_OK)
        code = accel_tables_load(folder, out_tables, error);
    free(folder);
    return code;
}

int32_t accel_tables_parse(enum accel_table_file file, const char *path, const char *data, size_t bytes,
                           struct accel_tables **out_tables, struct accel_error *error)
{
    struct accel_tables *tables;
    int32_t code = make(&tables, error);
    if (code == ACCEL_OK)
        code = parse(tables, file, path, data, bytes, error);
    return give(code, tables, out_tables);
}

void accel_tables_free(struct accel_tables *tables)
{
    if (tables == NULL)
        return;
    accel_arena_free(&tables->arena);
    free(tables);
}

uint32_t accel_compat_count(const struct accel_tables *tables)
{
    return tables ? tables->cell_count : 0;
}

const struct accel_compat *accel_compat_get(const struct accel_tables *tables, uint32_t index)
{
    return index < accel_compat_count(tables) ? &tables->cells[index] : NULL;
}

uint32_t accel_recommendation_count(const struct accel_tables *tables)
{
    return tables ? tables->recommendation_count : 0;
}

const struct accel_recommendation *accel_recommendation_get(const struct accel_tables *tables, uint32_t index)
{
    return index < accel_recommendation_count(tables) ? &tables->recommendations[index] : NULL;
}

uint32_t accel_promise_count(const struct accel_tables *tables)
{
    return tables ? tables->promise_count : 0;
}

const struct accel_promise *accel_promise_get(const struct accel_tables *tables, uint32_t index)
{
    return index < accel_promise_count(tables) ? &tables->promises[index] : NULL;
}
