/* SPDX-License-Identifier: Apache-2.0 */
/* Reads descriptors of models: the facts in files of the folder models, without a resolution. */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/profile/folder.h"
#include "core/profile/language.h"
#include "core/profile/profile.h"

/* Returns whether a later statement overrides this one: a file's own fact follows the inherited one. */
static bool is_overruled(const struct accel_fact_statement *statement)
{
    for (const struct accel_fact_statement *later = statement->next; later; later = later->next)
        if (later->fact == statement->fact)
            return true;
    return false;
}

static int32_t pass_facts(const struct accel_profile_file *file, accel_model_fact_function function, void *data)
{
    int32_t code = ACCEL_OK;
    for (const struct accel_fact_statement *s = file->facts; s && code == ACCEL_OK; s = s->next) {
        struct accel_model_fact fact = {sizeof(fact),  0,        file->name, s->fact->name, s->value,
                                        s->fact->unit, s->place, s->reason};
        if (!is_overruled(s))
            code = function(data, &fact);
    }
    return code;
}

/* Returns whether a file may state OWNER.MEMBER as the number: not if its lines state only others. Whatever is written
 * in another way, or cannot be read, may. */
static bool may_state(const char *root, const char *name, const char *member, uint64_t number)
{
    char leaf[ACCEL_PROFILE_NAME_MAX + 16], *path, *text = NULL;
    bool states_it = false, states_another = false;
    snprintf(leaf, sizeof(leaf), "%s/%s.yaml", accel_profile_layer_folder(ACCEL_LAYER_MODEL), name);
    path = accel_file_join(root, leaf);
    if (path && accel_file_read(path, ACCEL_YAML_BYTES, &text, NULL, NULL) == ACCEL_OK)
        for (const char *line = text; *line && !states_it; line += strcspn(line, "\n"), line += *line == '\n') {
            const char *at = line + strspn(line, " abcdefghijklmnopqrstuvwxyz");
            const size_t length = strlen(member);
            if (*at != '.' || strncmp(at + 1, member, length) != 0 || at[1 + length] != ':')
                continue;
            at += length + 2 + strspn(at + length + 2, " ");
            states_it = !isdigit((unsigned char)*at) || strtoull(at, NULL, 10) == number;
            states_another = true;
        }
    free(text);
    free(path);
    return states_it || !states_another;
}

/* Reports the files of the search that are usable; the first unusable one is the error at the end. */
static int32_t read_files(const struct accel_profile_names *names, const char *root,
                          const struct accel_profile_search *search, accel_model_fact_function function, void *data,
                          struct accel_error *error)
{
    struct accel_error first = {0};
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < names->count && code == ACCEL_OK; i++) {
        struct accel_profile_file file;
        struct accel_error why = {0};
        if ((search->name && strcmp(names->names[i], search->name) != 0) ||
            (search->member && !may_state(root, names->names[i], search->member, search->number)))
            continue;
        if (accel_profile_file_read(&file, root, ACCEL_LAYER_MODEL, names->names[i], &why) == ACCEL_OK)
            code = pass_facts(&file, function, data);
        else if (first.code == ACCEL_OK)
            first = why;
        accel_profile_file_free(&file);
    }
    if (code != ACCEL_OK || first.code == ACCEL_OK)
        return code;
    /* Only a name without a file is not found. */
    if (search->name == NULL && first.code == ACCEL_E_NOT_FOUND)
        first.code = ACCEL_E_CORRUPT;
    return accel_error_copy(error, &first);
}

/* Returns the size in a name, as "70b", or its first other number, as the "3.3" of "name-3.3-70b"; "" without one. That
 * of a release, as "v0.3", is none. */
static const char *find_number(const char *name, bool is_size)
{
    for (const char *begin = name; *name != '\0'; name++) {
        const size_t digits = isdigit((unsigned char)*name) ? strspn(name, "0123456789.") : 0;
        const char unit = digits ? name[digits] : '\0';
        const bool has_unit = unit != '\0' && strchr("kKmMbB", unit) && !isalnum((unsigned char)name[digits + 1]);
        if (digits && has_unit == is_size && (name == begin || tolower((unsigned char)name[-1]) != 'v'))
            return name;
        name += digits ? digits - 1 : 0;
    }
    return name;
}

/* Returns whether two names have different sizes, or differ in their first numbers before the point; a name without any
 * number is of every version, and one with a size alone of none. */
static bool is_other_version(const char *name, const char *other)
{
    const char *size = find_number(name, true), *other_size = find_number(other, true);
    return (*size && *other_size && strncasecmp(size, other_size, strspn(size, "0123456789.") + 1) != 0) ||
           (strpbrk(name, "0123456789") &&
            strtoull(find_number(name, false), NULL, 10) != strtoull(find_number(other, false), NULL, 10));
}

/* Returns whether a name begins with another one, comparing only letters and numerals: "name3" begins "name-3-8b", and
 * "name2" does not begin "name20". */
static bool is_begun_by(const char *name, const char *begin)
{
    for (; *begin != '\0'; begin++) {
        if (!isalnum((unsigned char)*begin))
            continue;
        while (*name != '\0' && !isalnum((unsigned char)*name))
            name++;
        if (tolower((unsigned char)*name) != tolower((unsigned char)*begin))
            return false;
        name++;
    }
    return !isdigit((unsigned char)begin[-1]) || !isdigit((unsigned char)*name);
}

/* Returns the longest name within the wrong one, else the shortest that begins with it, else the nearest one, or NULL:
 * of the same size and version, since another one is another model. */
static const char *suggest_model(const struct accel_profile_names *names, const char *name)
{
    const char *within = NULL, *best = NULL, *near = NULL;
    uint32_t distance = accel_farthest(name);
    for (uint32_t i = 0; i < names->count; i++) {
        const char *one = names->names[i], *at = name;
        if (is_other_version(name, one))
            continue;
        while (*at && !is_begun_by(at, one))
            at++;
        if (*at && (within == NULL || strlen(one) > strlen(within)))
            within = one;
        if (strlen(name) >= 3 && is_begun_by(one, name) && (best == NULL || strlen(one) < strlen(best)))
            best = one;
        if (accel_is_nearer(name, one, &distance))
            near = one;
    }
    return within ? within : best ? best : near;
}

int32_t accel_profile_models_read(const char *root, const struct accel_profile_search *search,
                                  accel_model_fact_function function, void *data, struct accel_error *error)
{
    const char *name = search->name;
    struct accel_profile_names names;
    bool is_there = name == NULL;
    const char *near;
    int32_t code = accel_profile_names_read(root, ACCEL_LAYER_MODEL, &names, error);
    if (code != ACCEL_OK)
        return code;
    for (uint32_t i = 0; i < names.count && !is_there; i++)
        is_there = strcmp(names.names[i], name) == 0;
    if (!is_there) {
        code = accel_error_by(error, ACCEL_FROM_FILE, ACCEL_E_NOT_FOUND, "%.300s has no file models/%.80s.yaml", root,
                              name);
        near = suggest_model(&names, name);
        if (near)
            accel_error_remedy(error, "did you mean %s?", near);
    } else {
        code = read_files(&names, root, search, function, data, error);
    }
    accel_profile_names_free(&names);
    return code;
}
