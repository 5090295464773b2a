/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/profile/language.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/profile/members.h"

#define DEEPEST_INHERITANCE 8u

/** What reading one file carries along. The arena and the lists are those of the file that inherits. */
struct loader {
    struct accel_profile_file *file;
    const char *folder;
    const char *path;
    const char *names[DEEPEST_INHERITANCE]; /* of the files that are being read, the outermost first */
    uint32_t depth;
    struct accel_error *error;
};

static int32_t read_named(struct loader *loader, const char *name);

static int32_t no_memory(const struct loader *loader)
{
    return accel_error_set(loader->error, ACCEL_E_MEMORY, "no memory to read profile %s", loader->file->name);
}

static int32_t refuse(const struct loader *loader, const struct accel_yaml_node *node, const char *text)
{
    return accel_yaml_refuse(loader->path, node, loader->error, ACCEL_E_CORRUPT, "%s", text);
}

static const char *place_of(const struct loader *loader, const struct accel_yaml_node *node)
{
    return accel_members_place(loader->path, node, &loader->file->arena);
}

/* ---- settings ---- */

/* An option of the driver whose file this is: "cpu.isa" in cpu.yaml, also where another file inherits it. It gets a row
 * of its own. */
static const struct accel_key *option_key(const struct loader *loader, const char *name)
{
    const char *driver = loader->names[loader->depth - 1];
    size_t length = strlen(driver);
    struct accel_key *key;
    if (strncmp(name, driver, length) != 0 || name[length] != '.' || name[length + 1] == 0)
        return NULL;
    key = accel_arena_array(&loader->file->arena, 1, sizeof(*key));
    if (key)
        *key = (struct accel_key){name, ACCEL_KEY_TEXT, "", 0, 0, "", "", ACCEL_KEY_BY_DRIVER, ""};
    return key;
}

static int32_t find_key(const struct loader *loader, const struct accel_yaml_node *node,
                        const struct accel_key **out_key)
{
    const char *near;
    *out_key = accel_key_find(node->text);
    if (*out_key == NULL)
        *out_key = option_key(loader, node->text);
    if (*out_key)
        return ACCEL_OK;
    near = accel_key_suggest(node->text);
    return accel_yaml_refuse(loader->path, node, loader->error, ACCEL_E_CORRUPT, "setting \"%.80s\" is unknown%s%s%s",
                             node->text, near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static int32_t add_statement(struct loader *loader, const struct accel_yaml_node *key,
                             const struct accel_yaml_node *value, const struct accel_condition *conditions,
                             const char *because)
{
    struct accel_statement *statement = accel_arena_array(&loader->file->arena, 1, sizeof(*statement));
    char why[200];
    int32_t code;
    if (statement == NULL || (statement->place = place_of(loader, key)) == NULL)
        return no_memory(loader);
    code = find_key(loader, key, &statement->key);
    if (code != ACCEL_OK)
        return code;
    if (value->kind != ACCEL_YAML_TEXT)
        return refuse(loader, value, "a value is plain text");
    if (!accel_key_parse(statement->key, value->text, &statement->value, why, sizeof(why)))
        return accel_yaml_refuse(loader->path, value, loader->error, ACCEL_E_CORRUPT, "%s: %s", key->text, why);
    statement->conditions = conditions;
    statement->because = because;
    if (loader->file->last)
        loader->file->last->next = statement;
    else
        loader->file->first = statement;
    loader->file->last = statement;
    return ACCEL_OK;
}

static int32_t take_members(const struct loader *loader, const struct accel_yaml_node *mapping,
                            struct accel_member *members, uint32_t count)
{
    return accel_members_take(loader->path, mapping, members, count, loader->error);
}

/* ---- the sections ---- */

/* "key: value", or "key: {value: ..., because: ...}". */
static int32_t read_default(struct loader *loader, const struct accel_yaml_node *key)
{
    struct accel_member members[] = {{"value", true, ACCEL_YAML_TEXT, false, NULL},
                                     {"because", true, ACCEL_YAML_TEXT, false, NULL}};
    int32_t code;
    if (key->value->kind == ACCEL_YAML_TEXT)
        return add_statement(loader, key, key->value, NULL, "");
    code = take_members(loader, key->value, members, 2);
    return code == ACCEL_OK ? add_statement(loader, key, members[0].value, NULL, members[1].value->text) : code;
}

static int32_t read_rule(struct loader *loader, const struct accel_yaml_node *rule)
{
    struct accel_member members[] = {{"when", false, ACCEL_YAML_TEXT, true, NULL},
                                     {"set", true, ACCEL_YAML_MAPPING, false, NULL},
                                     {"because", true, ACCEL_YAML_TEXT, false, NULL}};
    const struct accel_condition *conditions = NULL;
    int32_t code = take_members(loader, rule, members, 3);
    if (code == ACCEL_OK && members[0].value)
        code = accel_condition_read(loader->path, members[0].value, &loader->file->arena, &conditions, loader->error);
    if (code != ACCEL_OK)
        return code;
    for (const struct accel_yaml_node *key = members[1].value->first; key && code == ACCEL_OK; key = key->next)
        code = add_statement(loader, key, key->value, conditions, members[2].value->text);
    return code;
}

static int32_t read_lock(struct loader *loader, const struct accel_yaml_node *node)
{
    struct accel_lock *lock;
    const struct accel_key *key;
    int32_t code;
    if (node->kind != ACCEL_YAML_TEXT)
        return refuse(loader, node, "\"lock\" is a list of settings");
    code = find_key(loader, node, &key);
    if (code != ACCEL_OK)
        return code;
    lock = accel_arena_array(&loader->file->arena, 1, sizeof(*lock));
    if (lock == NULL || (lock->place = place_of(loader, node)) == NULL)
        return no_memory(loader);
    lock->key = node->text;
    lock->next = loader->file->locks;
    loader->file->locks = lock;
    return ACCEL_OK;
}

static int32_t read_parent(struct loader *loader, const struct accel_yaml_node *node)
{
    const char *path = loader->path;
    int32_t code;
    if (node->kind != ACCEL_YAML_TEXT || !accel_profile_name_valid(node->text))
        return refuse(loader, node, "\"inherits\" is the name of a profile in the same folder, or a list of names");
    if (loader->folder == NULL)
        return refuse(loader, node, "this profile cannot inherit: it lies in no folder");
    for (uint32_t i = 0; i < loader->depth; i++)
        if (strcmp(loader->names[i], node->text) == 0)
            return accel_yaml_refuse(path, node, loader->error, ACCEL_E_CORRUPT, "\"%s\" inherits itself", node->text);
    if (loader->depth == DEEPEST_INHERITANCE)
        return refuse(loader, node, "profiles inherit too deeply");
    code = read_named(loader, node->text);
    loader->path = path;
    return code;
}

static int32_t read_each(struct loader *loader, const struct accel_yaml_node *list,
                         int32_t (*read)(struct loader *loader, const struct accel_yaml_node *node))
{
    int32_t code = ACCEL_OK;
    for (const struct accel_yaml_node *node = list ? list->first : NULL; node && code == ACCEL_OK; node = node->next)
        code = read(loader, node);
    return code;
}

static int32_t read_parents(struct loader *loader, const struct accel_yaml_node *node)
{
    if (node == NULL)
        return ACCEL_OK;
    return node->kind == ACCEL_YAML_SEQUENCE ? read_each(loader, node, read_parent) : read_parent(loader, node);
}

static int32_t read_root(struct loader *loader, const struct accel_yaml_node *root)
{
    struct accel_member members[] = {
        {"accel-profile", true, ACCEL_YAML_TEXT, false, NULL}, {"about", false, ACCEL_YAML_TEXT, false, NULL},
        {"inherits", false, ACCEL_YAML_TEXT, true, NULL},      {"match", false, ACCEL_YAML_TEXT, true, NULL},
        {"defaults", false, ACCEL_YAML_MAPPING, false, NULL},  {"rules", false, ACCEL_YAML_SEQUENCE, false, NULL},
        {"lock", false, ACCEL_YAML_SEQUENCE, false, NULL},
    };
    const struct accel_condition *match = NULL;
    int32_t code = take_members(loader, root, members, 7);
    if (code == ACCEL_OK && strcmp(members[0].value->text, "1") != 0)
        code = refuse(loader, members[0].value, "only version 1 of the language is known");
    if (code == ACCEL_OK)
        code = read_parents(loader, members[2].value);
    if (code == ACCEL_OK && members[3].value)
        code = accel_condition_read(loader->path, members[3].value, &loader->file->arena, &match, loader->error);
    if (code == ACCEL_OK)
        code = read_each(loader, members[4].value, read_default);
    if (code == ACCEL_OK)
        code = read_each(loader, members[5].value, read_rule);
    if (code == ACCEL_OK)
        code = read_each(loader, members[6].value, read_lock);
    loader->file->match = match;
    return code;
}

static int32_t read_data(struct loader *loader, const char *data, size_t bytes)
{
    struct accel_yaml_node *root;
    int32_t code = accel_yaml_parse(loader->path, data, bytes, &loader->file->arena, &root, loader->error);
    return code == ACCEL_OK ? read_root(loader, root) : code;
}

static int32_t read_named(struct loader *loader, const char *name)
{
    char leaf[80], *joined = NULL, *data = NULL;
    size_t bytes;
    int32_t code;
    snprintf(leaf, sizeof(leaf), "%s.yaml", name);
    joined = accel_file_join(loader->folder, leaf);
    loader->path = joined ? accel_arena_strdup(&loader->file->arena, joined) : NULL;
    free(joined);
    if (loader->path == NULL)
        return accel_error_set(loader->error, ACCEL_E_MEMORY, "no memory to read profile %s", name);
    code = accel_file_read(loader->path, ACCEL_YAML_BYTES, &data, &bytes, loader->error);
    if (code != ACCEL_OK) {
        loader->file->is_absent = code == ACCEL_E_NOT_FOUND && loader->depth == 0;
        return code;
    }
    loader->names[loader->depth++] = name;
    code = read_data(loader, data, bytes);
    loader->depth--;
    free(data);
    return code;
}

bool accel_profile_name_valid(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_");
    return length > 0 && length < 64 && name[length] == 0;
}

static int32_t begin(struct accel_profile_file *file, const char *name, struct accel_error *error)
{
    memset(file, 0, sizeof(*file));
    /* What one file makes is bounded by its own size; the limit is for long chains of inheritance. */
    accel_arena_init(&file->arena, (size_t)64 << 20);
    if (!accel_profile_name_valid(name))
        return accel_error_set(error, ACCEL_E_INVALID, "\"%.80s\" is no name of a profile", name);
    file->name = accel_arena_strdup(&file->arena, name);
    return file->name ? ACCEL_OK : accel_error_set(error, ACCEL_E_MEMORY, "no memory to read profile %s", name);
}

int32_t accel_profile_file_read(struct accel_profile_file *file, const char *folder, const char *name,
                                struct accel_error *error)
{
    struct loader loader = {.file = file, .folder = folder, .error = error};
    int32_t code = begin(file, name, error);
    return code == ACCEL_OK ? read_named(&loader, file->name) : code;
}

int32_t accel_profile_file_parse(struct accel_profile_file *file, const char *folder, const char *name,
                                 const char *path, const char *data, size_t bytes, struct accel_error *error)
{
    struct loader loader = {.file = file, .folder = folder, .error = error};
    int32_t code = begin(file, name, error);
    if (code != ACCEL_OK)
        return code;
    loader.path = accel_arena_strdup(&file->arena, path);
    loader.names[loader.depth++] = file->name;
    return loader.path ? read_data(&loader, data, bytes) : no_memory(&loader);
}

void accel_profile_file_free(struct accel_profile_file *file)
{
    accel_arena_free(&file->arena);
}
