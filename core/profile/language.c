/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/profile/language.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/strbuf.h"
#include "core/profile/members.h"

#define DEEPEST_INHERITANCE 8u

/* Files that one may inherit in all, so that lists of lists do not multiply. */
#define MOST_INHERITED 32u

/** Which file is being read. */
struct position {
    const char *path;
    const char *name;
    uint32_t layer;
};

/** What reading one file carries along. The arena and the lists are those of the file that inherits. */
struct loader {
    struct accel_profile_file *file;
    const char *root;
    const char *path;
    uint32_t layer;                            /* of the file at `path` */
    struct position open[DEEPEST_INHERITANCE]; /* files that are being read, the outermost first */
    uint32_t depth;
    uint32_t inherited;
    struct accel_error *error;
};

static int32_t read_named(struct loader *loader, uint32_t layer, const char *name);

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

static bool has_platform(const struct loader *loader, const char *name, size_t length)
{
    char leaf[80], *path;
    bool found;
    if (loader->layer == ACCEL_PROFILE_PLATFORM && strlen(loader->file->name) == length &&
        strncmp(name, loader->file->name, length) == 0)
        return true;
    if (loader->root == NULL || length > 63)
        return false;
    snprintf(leaf, sizeof(leaf), "%.*s.yaml", (int)length, name);
    path = accel_file_join(loader->root, leaf);
    found = path && access(path, F_OK) == 0;
    free(path);
    return found;
}

/* An option of a driver that has a file: "cpu.isa". It gets a row of its own. */
static const struct accel_key *option_key(const struct loader *loader, const char *name)
{
    size_t length = strcspn(name, ".");
    struct accel_key *key;
    if (length == 0 || name[length] == 0 || name[length + 1] == 0 || strchr(name, '/') || accel_key_meant(name) ||
        !has_platform(loader, name, length))
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
    near = accel_key_meant(node->text);
    if (near == NULL)
        near = accel_key_suggest(node->text);
    return accel_members_refuse_word(loader->path, node, near, loader->error, "setting \"%.80s\" is unknown",
                                     node->text);
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

/* What a file may state: those of devices about devices, those of models about models and their components. */
static bool may_state(const struct loader *loader, const char *fact)
{
    static const char *const others[] = {"device.", "driver.", "host.", "client.", "request.", "platform"};
    if (loader->layer == ACCEL_PROFILE_DEVICE)
        return strncmp(fact, "device.", 7) == 0 && strcmp(fact, "device.profile") != 0;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strncmp(fact, others[i], strlen(others[i])) == 0)
            return false;
    return true;
}

/* The value in the form in which facts are given: numbers with a unit in the base unit, without it. */
static int32_t read_fact_value(struct loader *loader, const struct accel_yaml_node *node,
                               const struct accel_known_fact *fact, const char **out_value)
{
    const char *words = accel_known_fact_words(fact->name), *unit = "";
    int64_t number;
    char text[24];
    *out_value = node->text;
    if (*node->text == 0)
        return accel_yaml_refuse(loader->path, node, loader->error, ACCEL_E_CORRUPT, "fact %s is empty", fact->name);
    if (words && !accel_word_is_among(words, node->text))
        return accel_yaml_refuse(loader->path, node, loader->error, ACCEL_E_CORRUPT,
                                 "fact %s: \"%.60s\" is none of: %s", fact->name, node->text, words);
    if (*fact->unit == 0)
        return ACCEL_OK;
    if (!accel_number_parse(node->text, &number, &unit) || strcmp(unit, fact->unit) != 0)
        return accel_yaml_refuse(loader->path, node, loader->error, ACCEL_E_CORRUPT,
                                 "fact %s: \"%.60s\" is not a whole number with its unit, %s", fact->name, node->text,
                                 strcmp(fact->unit, "bytes") == 0 ? "GiB or GB" : fact->unit);
    snprintf(text, sizeof(text), "%" PRId64, number);
    *out_value = accel_arena_strdup(&loader->file->arena, text);
    return *out_value ? ACCEL_OK : no_memory(loader);
}

static int32_t find_fact(const struct loader *loader, const struct accel_yaml_node *key,
                         const struct accel_known_fact **out_fact)
{
    *out_fact = accel_known_fact_find(key->text);
    if (*out_fact == NULL)
        return accel_members_refuse_word(loader->path, key, accel_known_fact_suggest(key->text), loader->error,
                                         "fact \"%.80s\" is unknown", key->text);
    if (!may_state(loader, key->text))
        return accel_yaml_refuse(loader->path, key, loader->error, ACCEL_E_CORRUPT,
                                 "fact %s is not for a file of %s to state", key->text,
                                 accel_profile_layer_folder(loader->layer));
    return ACCEL_OK;
}

/* "fact: value", or "fact: {value: ..., because: ...}". */
static int32_t read_fact(struct loader *loader, const struct accel_yaml_node *key)
{
    struct accel_member members[] = {{"value", true, ACCEL_YAML_TEXT, false, NULL},
                                     {"because", true, ACCEL_YAML_TEXT, false, NULL}};
    struct accel_fact_statement *statement = accel_arena_array(&loader->file->arena, 1, sizeof(*statement));
    const struct accel_yaml_node *value = key->value;
    int32_t code = statement ? find_fact(loader, key, &statement->fact) : no_memory(loader);
    if (code == ACCEL_OK && value->kind != ACCEL_YAML_TEXT) {
        code = take_members(loader, value, members, 2);
        value = members[0].value;
    }
    if (code == ACCEL_OK)
        code = read_fact_value(loader, value, statement->fact, &statement->value);
    if (code != ACCEL_OK)
        return code;
    statement->because = members[1].value ? members[1].value->text : "";
    statement->place = place_of(loader, key);
    if (statement->place == NULL)
        return no_memory(loader);
    if (loader->file->last_fact)
        loader->file->last_fact->next = statement;
    else
        loader->file->facts = statement;
    loader->file->last_fact = statement;
    return ACCEL_OK;
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

static bool is_folder_of(uint32_t layer, const char *text, size_t length)
{
    const char *folder = accel_profile_layer_folder(layer);
    return strlen(folder) == length && strncmp(folder, text, length) == 0;
}

/* "name" of the same folder, or "folder/name" from the root. */
static bool split_parent(const struct loader *loader, const char *text, uint32_t *out_layer, const char **out_name)
{
    size_t length = strcspn(text, "/");
    *out_layer = loader->layer >= ACCEL_PROFILE_CLIENT && loader->layer <= ACCEL_PROFILE_MODEL ? loader->layer
                                                                                               : ACCEL_PROFILE_PLATFORM;
    *out_name = text;
    if (text[length] == '/') {
        *out_name = text + length + 1;
        for (*out_layer = ACCEL_PROFILE_CLIENT; *out_layer <= ACCEL_PROFILE_MODEL; ++*out_layer)
            if (is_folder_of(*out_layer, text, length))
                break;
    }
    return *out_layer <= ACCEL_PROFILE_MODEL && accel_profile_name_valid(*out_name);
}

static int32_t read_parent(struct loader *loader, const struct accel_yaml_node *node)
{
    const struct position here = {loader->path, NULL, loader->layer};
    const char *name;
    uint32_t layer;
    int32_t code;
    if (node->kind != ACCEL_YAML_TEXT || !split_parent(loader, node->text, &layer, &name))
        return refuse(
            loader, node,
            "\"inherits\" is the name of a profile in the same folder, one as devices/name, or a list of them");
    if (loader->root == NULL)
        return refuse(loader, node, "this profile cannot inherit: it lies in no folder");
    for (uint32_t i = 0; i < loader->depth; i++)
        if (loader->open[i].layer == layer && strcmp(loader->open[i].name, name) == 0)
            return accel_yaml_refuse(loader->path, node, loader->error, ACCEL_E_CORRUPT, "\"%s\" inherits itself",
                                     node->text);
    if (loader->depth == DEEPEST_INHERITANCE || ++loader->inherited > MOST_INHERITED)
        return refuse(loader, node, "profiles inherit too deeply, or too many of them");
    code = read_named(loader, layer, name);
    loader->path = here.path;
    loader->layer = here.layer;
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

/* What a file says about itself; of those that it inherits nobody asks. */
static int32_t take_description(struct loader *loader, const struct accel_member *about,
                                const struct accel_member *inherits)
{
    struct accel_profile_file *file = loader->file;
    struct accel_strbuf text;
    file->about = about->value ? about->value->text : "";
    file->inherits = "";
    if (inherits->value == NULL)
        return ACCEL_OK;
    accel_strbuf_init(&text, 0);
    if (inherits->value->kind == ACCEL_YAML_TEXT)
        accel_strbuf_text(&text, inherits->value->text);
    else
        for (const struct accel_yaml_node *node = inherits->value->first; node; node = node->next)
            accel_strbuf_printf(&text, "%s%s", node == inherits->value->first ? "" : " ",
                                node->kind == ACCEL_YAML_TEXT ? node->text : "");
    file->inherits = text.failed ? NULL : accel_arena_strdup(&file->arena, accel_strbuf_get(&text));
    accel_strbuf_free(&text);
    return file->inherits ? ACCEL_OK : no_memory(loader);
}

static int32_t check_head(const struct loader *loader, const struct accel_member *version,
                          const struct accel_member *facts)
{
    if (strcmp(version->value->text, "1") != 0)
        return refuse(loader, version->value, "only version 1 of the language is known");
    if (facts->value && loader->layer != ACCEL_PROFILE_DEVICE && loader->layer != ACCEL_PROFILE_MODEL)
        return refuse(loader, facts->value, "\"facts\" belongs into files of the folders devices and models");
    return ACCEL_OK;
}

static int32_t read_root(struct loader *loader, const struct accel_yaml_node *root)
{
    struct accel_member members[] = {
        {"accel-profile", true, ACCEL_YAML_TEXT, false, NULL}, {"about", false, ACCEL_YAML_TEXT, false, NULL},
        {"inherits", false, ACCEL_YAML_TEXT, true, NULL},      {"match", false, ACCEL_YAML_TEXT, true, NULL},
        {"facts", false, ACCEL_YAML_MAPPING, false, NULL},     {"defaults", false, ACCEL_YAML_MAPPING, false, NULL},
        {"rules", false, ACCEL_YAML_SEQUENCE, false, NULL},    {"lock", false, ACCEL_YAML_SEQUENCE, false, NULL},
    };
    const struct accel_condition *match = NULL;
    int32_t code = take_members(loader, root, members, 8);
    if (code == ACCEL_OK)
        code = check_head(loader, &members[0], &members[4]);
    if (code == ACCEL_OK && loader->depth == 1)
        code = take_description(loader, &members[1], &members[2]);
    if (code == ACCEL_OK)
        code = read_parents(loader, members[2].value);
    if (code == ACCEL_OK && members[3].value)
        code = accel_condition_read(loader->path, members[3].value, &loader->file->arena, &match, loader->error);
    if (code == ACCEL_OK)
        code = read_each(loader, members[4].value, read_fact);
    if (code == ACCEL_OK)
        code = read_each(loader, members[5].value, read_default);
    if (code == ACCEL_OK)
        code = read_each(loader, members[6].value, read_rule);
    if (code == ACCEL_OK)
        code = read_each(loader, members[7].value, read_lock);
    loader->file->match = match;
    return code;
}

static int32_t read_data(struct loader *loader, const char *name, const char *data, size_t bytes)
{
    struct accel_yaml_node *root;
    int32_t code;
    loader->open[loader->depth++] = (struct position){loader->path, name, loader->layer};
    code = accel_yaml_parse(loader->path, data, bytes, &loader->file->arena, &root, loader->error);
    if (code == ACCEL_OK)
        code = read_root(loader, root);
    loader->depth--;
    return code;
}

static const char *path_of(const struct loader *loader, uint32_t layer, const char *name)
{
    char leaf[96], *joined;
    const char *folder = accel_profile_layer_folder(layer), *path;
    snprintf(leaf, sizeof(leaf), "%s%s%s.yaml", folder, *folder ? "/" : "", name);
    joined = accel_file_join(loader->root, leaf);
    path = joined ? accel_arena_strdup(&loader->file->arena, joined) : NULL;
    free(joined);
    return path;
}

static int32_t read_named(struct loader *loader, uint32_t layer, const char *name)
{
    char *data = NULL;
    size_t bytes;
    int32_t code;
    loader->layer = layer;
    loader->path = path_of(loader, layer, name);
    if (loader->path == NULL)
        return no_memory(loader);
    if (loader->depth == 0)
        loader->file->path = loader->path;
    code = accel_file_read(loader->path, ACCEL_YAML_BYTES, &data, &bytes, loader->error);
    if (code != ACCEL_OK) {
        loader->file->is_absent = code == ACCEL_E_NOT_FOUND && loader->depth == 0;
        return code;
    }
    code = read_data(loader, name, data, bytes);
    free(data);
    return code;
}

bool accel_profile_name_valid(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.");
    return length > 0 && length < 64 && name[length] == 0 && name[0] != '.';
}

static int32_t begin(struct accel_profile_file *file, uint32_t layer, const char *name, struct accel_error *error)
{
    memset(file, 0, sizeof(*file));
    /* What one file makes is bounded by its own size; the limit is for long chains of inheritance. */
    accel_arena_init(&file->arena, (size_t)64 << 20);
    file->layer = layer;
    file->about = file->inherits = "";
    if (!accel_profile_name_valid(name))
        return accel_error_set(error, ACCEL_E_INVALID, "\"%.80s\" is no name of a profile", name);
    file->name = accel_arena_strdup(&file->arena, name);
    return file->name ? ACCEL_OK : accel_error_set(error, ACCEL_E_MEMORY, "no memory to read profile %s", name);
}

int32_t accel_profile_file_read(struct accel_profile_file *file, const char *root, uint32_t layer, const char *name,
                                struct accel_error *error)
{
    struct loader loader = {.file = file, .root = root, .error = error};
    int32_t code = begin(file, layer, name, error);
    return code == ACCEL_OK ? read_named(&loader, layer, file->name) : code;
}

int32_t accel_profile_file_parse(struct accel_profile_file *file, const struct accel_profile_source *source,
                                 const char *data, size_t bytes, struct accel_error *error)
{
    struct loader loader = {.file = file, .root = source->root, .layer = source->layer, .error = error};
    int32_t code = begin(file, source->layer, source->name, error);
    if (code != ACCEL_OK)
        return code;
    loader.path = file->path = accel_arena_strdup(&file->arena, source->path);
    return loader.path ? read_data(&loader, file->name, data, bytes) : no_memory(&loader);
}

int32_t accel_profile_file_begin(struct accel_profile_file *file, const struct accel_profile_source *source,
                                 const struct accel_error *why, struct accel_error *error)
{
    int32_t code = begin(file, source->layer, source->name, error);
    if (code != ACCEL_OK)
        return code;
    file->path = accel_arena_strdup(&file->arena, source->path);
    if (file->path == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory to read profile %s", source->name);
    file->is_absent = why->code == ACCEL_E_NOT_FOUND;
    return accel_error_copy(error, why);
}

void accel_profile_file_free(struct accel_profile_file *file)
{
    accel_arena_free(&file->arena);
}
