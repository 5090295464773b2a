/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/profile/language.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/strbuf.h"
#include "core/profile/loader.h"
#include "core/profile/members.h"

/* Maximum files that one file may inherit in total, so that lists of lists do not multiply. */
#define MOST_INHERITED 32u

/* Names of the layers, and the folders of their files. */
static const struct {
    const char *name;
    const char *folder;
} layers[] = {
    [ACCEL_LAYER_BUILTIN] = {"built in", ""},     [ACCEL_LAYER_BASE] = {"base", ""},
    [ACCEL_LAYER_PLATFORM] = {"platform", ""},    [ACCEL_LAYER_CLIENT] = {"client", "clients"},
    [ACCEL_LAYER_DEVICE] = {"device", "devices"}, [ACCEL_LAYER_MODEL] = {"model", "models"},
    [ACCEL_LAYER_SYSTEM] = {"system", ""},        [ACCEL_LAYER_USER] = {"user", ""},
    [ACCEL_LAYER_FOLDER] = {"folder", ""},        [ACCEL_LAYER_ENVIRONMENT] = {"environment", ""},
    [ACCEL_LAYER_GIVEN] = {"given", ""},
};

const char *accel_profile_layer_folder(uint32_t layer)
{
    return layer <= ACCEL_LAYER_GIVEN ? layers[layer].folder : "";
}

const char *accel_profile_layer_name(uint32_t layer)
{
    return layer <= ACCEL_LAYER_GIVEN ? layers[layer].name : "unknown";
}

static int32_t read_named(struct accel_loader *loader, uint32_t layer, const char *name);

static bool is_folder_of(uint32_t layer, const char *text, size_t length)
{
    const char *folder = accel_profile_layer_folder(layer);
    return strlen(folder) == length && strncmp(folder, text, length) == 0;
}

/* Splits "name" in the same folder, or "folder/name" from the root. */
static bool split_parent(const struct accel_loader *loader, const char *text, uint32_t *out_layer,
                         const char **out_name)
{
    size_t length = strcspn(text, "/");
    *out_layer = loader->layer >= ACCEL_LAYER_CLIENT && loader->layer <= ACCEL_LAYER_MODEL ? loader->layer
                                                                                           : ACCEL_LAYER_PLATFORM;
    *out_name = text;
    if (text[length] == '/') {
        *out_name = text + length + 1;
        for (*out_layer = ACCEL_LAYER_CLIENT; *out_layer <= ACCEL_LAYER_MODEL; ++*out_layer)
            if (is_folder_of(*out_layer, text, length))
                break;
    }
    return *out_layer <= ACCEL_LAYER_MODEL && accel_profile_name_valid(*out_name);
}

static int32_t read_parent(struct accel_loader *loader, const struct accel_yaml_node *node)
{
    const struct accel_loader_position here = {loader->path, NULL, loader->layer};
    struct accel_error *error = loader->error, why = {0};
    struct accel_faults *faults = loader->faults;
    const char *name;
    uint32_t layer;
    int32_t code;
    if (node->kind != ACCEL_YAML_TEXT || !split_parent(loader, node->text, &layer, &name))
        return accel_loader_refuse(
            loader, node,
            "\"inherits\" is the name of a profile in the same folder, one as devices/name, or a list of them");
    if (loader->root == NULL)
        return accel_loader_refuse(loader, node, "this profile cannot inherit: it lies in no folder");
    for (uint32_t i = 0; i < loader->depth; i++)
        if (loader->open[i].layer == layer && strcmp(loader->open[i].name, name) == 0)
            return accel_loader_refuse(loader, node, "\"%s\" inherits itself", node->text);
    if (loader->depth == ACCEL_LOADER_DEPTH || ++loader->inherited > MOST_INHERITED)
        return accel_loader_refuse(loader, node, "profiles inherit too deeply, or too many of them");
    /* Report only the first error of an inherited file: a check of that file reports all of them. */
    loader->error = &why;
    loader->faults = NULL;
    code = read_named(loader, layer, name);
    loader->faults = faults;
    loader->error = error;
    loader->path = here.path;
    loader->layer = here.layer;
    if (code == ACCEL_OK)
        return ACCEL_OK;
    if (!loader->is_unread || code == ACCEL_E_MEMORY)
        return accel_error_copy(error, &why);
    loader->is_unread = false;
    return accel_yaml_refuse(here.path, node, error, code, "\"inherits\": %s", why.text);
}

static int32_t read_each(struct accel_loader *loader, const struct accel_yaml_node *list,
                         int32_t (*read)(struct accel_loader *loader, const struct accel_yaml_node *node))
{
    int32_t code = ACCEL_OK;
    for (const struct accel_yaml_node *node = list ? list->first : NULL; node && code == ACCEL_OK; node = node->next)
        code = accel_faults_pass(loader->faults, read(loader, node), loader->error);
    return code;
}

static int32_t read_parents(struct accel_loader *loader, const struct accel_yaml_node *node)
{
    if (node == NULL)
        return ACCEL_OK;
    return node->kind == ACCEL_YAML_SEQUENCE ? read_each(loader, node, read_parent) : read_parent(loader, node);
}

/* Reads the description of a file; descriptions of inherited files are not used. */
static int32_t read_description(struct accel_loader *loader, const struct accel_member *about,
                                const struct accel_member *inherits)
{
    struct accel_profile_file *file = loader->file;
    struct accel_strbuf text = {0};
    file->about = about->value ? about->value->text : "";
    file->inherits = "";
    if (inherits->value == NULL)
        return ACCEL_OK;
    if (inherits->value->kind == ACCEL_YAML_TEXT)
        accel_strbuf_text(&text, inherits->value->text);
    else
        for (const struct accel_yaml_node *node = inherits->value->first; node; node = node->next)
            accel_strbuf_printf(&text, "%s%s", node == inherits->value->first ? "" : " ",
                                node->kind == ACCEL_YAML_TEXT ? node->text : "");
    file->inherits = text.failed ? NULL : accel_arena_strdup(&file->arena, accel_strbuf_get(&text));
    accel_strbuf_free(&text);
    return file->inherits ? ACCEL_OK : accel_error_no_memory(loader->error, "to read profile %s", loader->file->name);
}

static int32_t check_head(const struct accel_loader *loader, const struct accel_member *version,
                          const struct accel_member *facts)
{
    if (strcmp(version->value->text, "1") != 0)
        return accel_loader_refuse(loader, version->value, "only version 1 of the language is known");
    if (facts->value && loader->layer != ACCEL_LAYER_DEVICE && loader->layer != ACCEL_LAYER_MODEL)
        return accel_loader_refuse(loader, facts->value,
                                   "\"facts\" belongs into files of the folders devices and models");
    return ACCEL_OK;
}

static int32_t read_root(struct accel_loader *loader, const struct accel_yaml_node *root)
{
    struct accel_member members[] = {
        {"accel-profile", true, ACCEL_YAML_TEXT, false, NULL}, {"about", false, ACCEL_YAML_TEXT, false, NULL},
        {"inherits", false, ACCEL_YAML_TEXT, true, NULL},      {"match", false, ACCEL_YAML_TEXT, true, NULL},
        {"facts", false, ACCEL_YAML_MAPPING, false, NULL},     {"defaults", false, ACCEL_YAML_MAPPING, false, NULL},
        {"rules", false, ACCEL_YAML_SEQUENCE, false, NULL},    {"lock", false, ACCEL_YAML_SEQUENCE, false, NULL},
        {"later", false, ACCEL_YAML_SEQUENCE, false, NULL},
    };
    const struct accel_condition *match = NULL;
    int32_t code = accel_members_read(loader->path, root, members, 9,
                                      "settings stand below \"defaults:\", the first line is \"accel-profile: 1\"; "
                                      "man accel-profile",
                                      loader->faults, loader->error);
    if (code == ACCEL_OK)
        code = check_head(loader, &members[0], &members[4]);
    if (code == ACCEL_OK && loader->depth == 1)
        code = read_description(loader, &members[1], &members[2]);
    if (code == ACCEL_OK)
        code = accel_faults_pass(loader->faults, read_parents(loader, members[2].value), loader->error);
    if (code == ACCEL_OK && members[3].value)
        code = accel_faults_pass(
            loader->faults,
            accel_condition_read(loader->path, members[3].value, &loader->file->arena, &match, loader->error),
            loader->error);
    if (code == ACCEL_OK)
        code = read_each(loader, members[4].value, accel_loader_fact);
    if (code == ACCEL_OK)
        code = read_each(loader, members[5].value, accel_loader_default);
    if (code == ACCEL_OK)
        code = read_each(loader, members[6].value, accel_loader_rule);
    if (code == ACCEL_OK)
        code = read_each(loader, members[7].value, accel_loader_lock);
    if (code == ACCEL_OK)
        code = read_each(loader, members[8].value, accel_loader_later);
    loader->file->match = match;
    return code;
}

static int32_t read_data(struct accel_loader *loader, const char *name, const char *data, size_t bytes)
{
    struct accel_yaml_node *root;
    int32_t code;
    loader->open[loader->depth++] = (struct accel_loader_position){loader->path, name, loader->layer};
    code = accel_yaml_parse(loader->path, data, bytes, &loader->file->arena, &root, loader->error);
    if (code == ACCEL_OK)
        code = read_root(loader, root);
    loader->depth--;
    return code;
}

static const char *path_of(const struct accel_loader *loader, uint32_t layer, const char *name)
{
    char leaf[96], *joined;
    const char *folder = accel_profile_layer_folder(layer), *path;
    snprintf(leaf, sizeof(leaf), "%s%s%s.yaml", folder, *folder ? "/" : "", name);
    joined = accel_file_join(loader->root, leaf);
    path = joined ? accel_arena_strdup(&loader->file->arena, joined) : NULL;
    free(joined);
    return path;
}

static int32_t read_named(struct accel_loader *loader, uint32_t layer, const char *name)
{
    char *data = NULL;
    size_t bytes;
    int32_t code;
    loader->layer = layer;
    loader->path = path_of(loader, layer, name);
    if (loader->path == NULL)
        return accel_error_no_memory(loader->error, "to read profile %s", loader->file->name);
    if (loader->depth == 0)
        loader->file->path = loader->path;
    code = accel_file_read(loader->path, ACCEL_YAML_BYTES, &data, &bytes, loader->error);
    code = accel_yaml_read_code(code, loader->error);
    if (code != ACCEL_OK) {
        loader->is_unread = true;
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
    return length > 0 && length <= ACCEL_PROFILE_NAME_MAX && name[length] == 0 && name[0] != '.';
}

static int32_t begin(struct accel_profile_file *file, uint32_t layer, const char *name, struct accel_error *error)
{
    memset(file, 0, sizeof(*file));
    /* The size of one file bounds its contents; the limit is for long chains of inheritance. */
    accel_arena_init(&file->arena, (size_t)64 << 20);
    file->layer = layer;
    file->about = file->inherits = "";
    if (!accel_profile_name_valid(name))
        return accel_error_by(error, ACCEL_FROM_FILE, ACCEL_E_INVALID, "\"%.80s\" is no name of a profile", name);
    file->name = accel_arena_strdup(&file->arena, name);
    return file->name ? ACCEL_OK : accel_error_no_memory(error, "to read profile %s", name);
}

int32_t accel_profile_file_read(struct accel_profile_file *file, const char *root, uint32_t layer, const char *name,
                                struct accel_error *error)
{
    struct accel_loader loader = {.file = file, .root = root, .error = error};
    int32_t code = begin(file, layer, name, error);
    return code == ACCEL_OK ? read_named(&loader, layer, file->name) : code;
}

int32_t accel_profile_file_parse(struct accel_profile_file *file, const struct accel_profile_source *source,
                                 const char *data, size_t bytes, struct accel_error *error)
{
    struct accel_loader loader = {
        .file = file, .root = source->root, .layer = source->layer, .faults = source->faults, .error = error};
    int32_t code = begin(file, source->layer, source->name, error);
    if (code != ACCEL_OK)
        return code;
    loader.path = file->path = accel_arena_strdup(&file->arena, source->path);
    return loader.path ? read_data(&loader, file->name, data, bytes)
                       : accel_error_no_memory(loader.error, "to read profile %s", loader.file->name);
}

int32_t accel_profile_file_begin(struct accel_profile_file *file, const struct accel_profile_source *source,
                                 const struct accel_error *why, struct accel_error *error)
{
    int32_t code = begin(file, source->layer, source->name, error);
    if (code != ACCEL_OK)
        return code;
    file->path = accel_arena_strdup(&file->arena, source->path);
    if (file->path == NULL)
        return accel_error_no_memory(error, "to read profile %s", source->name);
    file->is_absent = why->code == ACCEL_E_NOT_FOUND;
    return accel_error_copy(error, why);
}

void accel_profile_file_free(struct accel_profile_file *file)
{
    accel_arena_free(&file->arena);
}
