/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/profile/members.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/profile/keys.h"

/* Bytes of a message about one word, which is quoted in it. */
#define WORD_TEXT_BYTES 256

static const char *kind_words(enum accel_yaml_kind kind)
{
    return kind == ACCEL_YAML_TEXT ? "plain text" : kind == ACCEL_YAML_MAPPING ? "a mapping" : "a list";
}

int32_t accel_members_refuse_word(const char *path, const struct accel_yaml_node *node, const char *nearest,
                                  struct accel_error *error, const char *format, ...)
{
    char text[WORD_TEXT_BYTES], hint[ACCEL_DID_YOU_MEAN];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    accel_yaml_refuse(path, node, error, ACCEL_E_CORRUPT, "%s%s", text, accel_did_you_mean(nearest, hint));
    accel_yaml_remedy_colon(node, error);
    return ACCEL_E_CORRUPT;
}

static int32_t take(const char *path, const struct accel_yaml_node *key, struct accel_member *members, uint32_t count,
                    struct accel_error *error)
{
    const char *names[ACCEL_MEMBERS_MAX];
    for (uint32_t i = 0; i < count; i++) {
        names[i] = members[i].name;
        if (strcmp(key->text, members[i].name) != 0)
            continue;
        if (!members[i].any_kind && key->value->kind != members[i].kind) {
            accel_yaml_refuse(path, key->value, error, ACCEL_E_CORRUPT, "\"%s\" wants %s", key->text,
                              kind_words(members[i].kind));
            accel_yaml_remedy_colon(key->value, error);
            return ACCEL_E_CORRUPT;
        }
        members[i].value = key->value;
        return ACCEL_OK;
    }
    return accel_members_refuse_word(path, key, accel_suggest(key->text, names, count), error,
                                     "\"%.80s\" is unknown here", key->text);
}

int32_t accel_faults_pass(struct accel_faults *faults, int32_t code, struct accel_error *error)
{
    if (faults == NULL || code == ACCEL_OK || code == ACCEL_E_MEMORY)
        return code;
    if (error->code != ACCEL_OK) {
        faults->take(faults->data, error);
        faults->count++;
    }
    accel_error_clear(error);
    return ACCEL_OK;
}

int32_t accel_members_take(const char *path, const struct accel_yaml_node *mapping, struct accel_member *members,
                           uint32_t count, struct accel_error *error)
{
    return accel_members_take_all(path, mapping, members, count, NULL, error);
}

int32_t accel_members_take_all(const char *path, const struct accel_yaml_node *mapping, struct accel_member *members,
                               uint32_t count, struct accel_faults *faults, struct accel_error *error)
{
    const uint32_t before = faults ? faults->count : 0;
    int32_t code = ACCEL_OK;
    if (mapping->kind != ACCEL_YAML_MAPPING) {
        accel_yaml_refuse(path, mapping, error, ACCEL_E_CORRUPT, "a mapping belongs here");
        accel_yaml_remedy_colon(mapping, error);
        return ACCEL_E_CORRUPT;
    }
    for (const struct accel_yaml_node *key = mapping->first; key && code == ACCEL_OK; key = key->next)
        code = accel_faults_pass(faults, take(path, key, members, count, error), error);
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++)
        if (members[i].required && members[i].value == NULL && faults && faults->count > before)
            code = ACCEL_E_CORRUPT; /* it is one of those that were told: misspelt, or of a wrong kind */
        else if (members[i].required && members[i].value == NULL)
            code = accel_yaml_refuse(path, mapping, error, ACCEL_E_CORRUPT, "\"%s\" is missing", members[i].name);
    return code;
}

const char *accel_members_place(const char *path, const struct accel_yaml_node *node, struct accel_arena *arena)
{
    char line[16];
    size_t length = strlen(path);
    int digits = snprintf(line, sizeof(line), ":%u", node->line);
    char *place = accel_arena_alloc(arena, length + (size_t)digits + 1, 1);
    if (place) {
        memcpy(place, path, length);
        memcpy(place + length, line, (size_t)digits + 1);
    }
    return place;
}
