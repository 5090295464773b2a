/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/profiles/files.h"

#include <stdlib.h>

#include <accel/profile.h>

#include "core/base/strbuf.h"
#include "core/profile/environment.h"
#include "core/profile/folder.h"
#include "core/profile/language.h"

static const char *copy(struct profile_files *files, const char *text)
{
    return accel_arena_strdup(&files->arena, text);
}

static const char *finish_text(struct profile_files *files, struct accel_strbuf *text)
{
    const char *result = text->failed ? NULL : copy(files, accel_strbuf_get(text));
    accel_strbuf_free(text);
    return result;
}

static const char *match_text(struct profile_files *files, const struct accel_condition *conditions)
{
    struct accel_strbuf text;
    accel_strbuf_init(&text, 0);
    for (const struct accel_condition *c = conditions; c; c = c->next)
        accel_strbuf_printf(&text, "%s%s", c == conditions ? "" : " and ", c->text);
    return finish_text(files, &text);
}

static int32_t add(struct profile_files *files, const struct accel_profile_file *file,
                   const struct accel_error *failure, struct accel_error *error)
{
    struct profile_info *info;
    if (!accel_arena_grow(&files->arena, &files->list, files->count, &files->capacity, sizeof(*files->list)))
        return accel_error_no_memory(error, "for the list of profiles");
    info = &files->list[files->count];
    *info = (struct profile_info){
        .layer = file->layer,
        .code = failure->code,
        .name = copy(files, file->name),
        .path = copy(files, file->path ? file->path : ""),
        .about = copy(files, file->about),
        .match = match_text(files, file->match),
        .inherits = copy(files, file->inherits),
        .text = copy(files, failure->text),
        .remedy = copy(files, failure->remedy),
    };
    for (const struct accel_statement *s = file->first; s; s = s->next)
        info->settings++;
    for (const struct accel_fact_statement *s = file->facts; s; s = s->next)
        info->facts++;
    if (!info->name || !info->path || !info->about || !info->match || !info->inherits || !info->text || !info->remedy)
        return accel_error_no_memory(error, "for the list of profiles");
    files->count++;
    return ACCEL_OK;
}

static int32_t add_named(struct profile_files *files, uint32_t layer, const char *name, struct accel_error *error)
{
    struct accel_profile_file file;
    struct accel_error failure = {0};
    int32_t code = accel_profile_file_read(&file, files->root, layer, name, &failure);
    code = code == ACCEL_E_MEMORY ? accel_error_no_memory(error, "for the list of profiles")
                                  : add(files, &file, &failure, error);
    accel_profile_file_free(&file);
    return code;
}

static int32_t add_layer(struct profile_files *files, uint32_t layer, struct accel_error *error)
{
    struct accel_profile_names names;
    int32_t code = accel_profile_names_read(files->root, layer, &names, error);
    if (code != ACCEL_OK)
        return code;
    for (uint32_t i = 0; i < names.count && code == ACCEL_OK; i++)
        code = add_named(files, layer, names.names[i], error);
    accel_profile_names_free(&names);
    return code;
}

static int32_t add_site(struct profile_files *files, uint32_t layer, const char *below, struct accel_error *error)
{
    struct accel_profile_file file;
    struct accel_error failure = {0};
    char *path;
    int32_t code;
    if (!accel_profile_site_path(layer, below, &path))
        return accel_error_no_memory(error, "for the list of profiles");
    if (path == NULL)
        return ACCEL_OK;
    code = accel_profile_site_read(&file, files->root, layer, path, &failure);
    free(path);
    if (code == ACCEL_E_MEMORY)
        code = accel_error_no_memory(error, "for the list of profiles");
    else
        code = file.is_absent ? ACCEL_OK : add(files, &file, &failure, error);
    accel_profile_file_free(&file);
    return code;
}

/* ---- variables ---- */

/* Formats the values of an alias: "1=q4 0=auto"; a value of several settings is "1=kv.type.k:q4,kv.type.v:q4". */
static const char *values_text(struct profile_files *files, const struct accel_alias *alias)
{
    struct accel_strbuf text;
    accel_strbuf_init(&text, 0);
    for (const struct accel_alias_value *value = alias->values; value; value = value->next) {
        accel_strbuf_printf(&text, "%s%s=", value == alias->values ? "" : " ", value->text);
        for (const struct accel_alias_setting *s = value->settings; s; s = s->next)
            accel_strbuf_printf(&text, "%s%s%s%s", s == value->settings ? "" : ",", alias->key ? "" : s->key->name,
                                alias->key ? "" : ":", s->text);
    }
    return finish_text(files, &text);
}

static bool was_named(const struct accel_alias *alias, const struct accel_alias_value *until,
                      const struct accel_alias_setting *setting)
{
    for (const struct accel_alias_value *value = alias->values; value; value = value->next) {
        for (const struct accel_alias_setting *s = value->settings; s && s != setting; s = s->next)
            if (s->key == setting->key)
                return true;
        if (value == until)
            break;
    }
    return false;
}

static const char *keys_text(struct profile_files *files, const struct accel_alias *alias)
{
    struct accel_strbuf text;
    if (alias->key)
        return copy(files, alias->key->name);
    accel_strbuf_init(&text, 0);
    for (const struct accel_alias_value *value = alias->values; value; value = value->next)
        for (const struct accel_alias_setting *s = value->settings; s; s = s->next)
            if (!was_named(alias, value, s))
                accel_strbuf_printf(&text, "%s%s", text.length ? " " : "", s->key->name);
    return finish_text(files, &text);
}

static int32_t fill_variables(struct profile_files *files, const struct accel_aliases *aliases,
                              struct accel_error *error)
{
    files->variables_path = copy(files, aliases->path);
    files->variables = accel_arena_array(&files->arena, aliases->count, sizeof(*files->variables));
    if (files->variables == NULL || files->variables_path == NULL)
        return accel_error_no_memory(error, "for the list of profiles");
    for (const struct accel_alias *alias = aliases->first; alias; alias = alias->next) {
        struct profile_variable *out = &files->variables[files->variable_count];
        *out = (struct profile_variable){.name = copy(files, alias->name),
                                         .keys = keys_text(files, alias),
                                         .values = values_text(files, alias),
                                         .unit = copy(files, alias->unit),
                                         .place = copy(files, alias->place),
                                         .reason = copy(files, alias->reason)};
        if (!out->name || !out->keys || !out->values || !out->unit || !out->place || !out->reason)
            return accel_error_no_memory(error, "for the list of profiles");
        files->variable_count++;
    }
    return ACCEL_OK;
}

static int32_t read_variables(struct profile_files *files, struct accel_error *error)
{
    struct accel_aliases aliases;
    struct accel_error why = {0};
    int32_t code = accel_aliases_read(&aliases, files->root, &why);
    if (code == ACCEL_E_MEMORY)
        code = accel_error_no_memory(error, "for the list of profiles");
    else if (code == ACCEL_OK && !aliases.is_absent)
        code = fill_variables(files, &aliases, error);
    else
        /* A table that cannot be used has no names; the lint reports its errors. */
        code = aliases.is_absent || (files->variables_path = copy(files, aliases.path))
                   ? ACCEL_OK
                   : accel_error_no_memory(error, "for the list of profiles");
    accel_aliases_free(&aliases);
    return code;
}

void profile_unknown_variables(const struct profile_files *files, profile_unknown function, void *data)
{
    const char **drivers = calloc(files->count + 1, sizeof(*drivers));
    struct accel_aliases aliases;
    uint32_t count = 0;
    for (uint32_t i = 0; drivers != NULL && i < files->count; i++)
        if (files->list[i].layer == ACCEL_LAYER_PLATFORM)
            drivers[count++] = files->list[i].name;
    if (accel_aliases_read(&aliases, files->root, NULL) == ACCEL_OK && drivers != NULL)
        accel_environment_unknown(&aliases, drivers, count, function, data);
    accel_aliases_free(&aliases);
    free(drivers);
}

/* ---- the list ---- */

int32_t profile_files_read(struct profile_files *files, const struct accel_context *context, const char *below,
                           struct accel_error *error)
{
    char *folder;
    int32_t code = accel_profile_folder(context, &folder, error);
    *files = (struct profile_files){0};
    if (code != ACCEL_OK)
        return code;
    files->root = copy(files, folder);
    free(folder);
    if (files->root == NULL)
        return accel_error_no_memory(error, "for the list of profiles");
    code = add_named(files, ACCEL_LAYER_BASE, "base", error);
    for (uint32_t layer = ACCEL_LAYER_PLATFORM; layer <= ACCEL_LAYER_MODEL && code == ACCEL_OK; layer++)
        code = add_layer(files, layer, error);
    for (uint32_t layer = ACCEL_LAYER_SYSTEM; layer <= ACCEL_LAYER_FOLDER && code == ACCEL_OK; layer++)
        code = add_site(files, layer, below, error);
    return code == ACCEL_OK ? read_variables(files, error) : code;
}

void profile_files_free(struct profile_files *files)
{
    accel_arena_free(&files->arena);
    *files = (struct profile_files){0};
}
