/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/profile/members.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/profile/keys.h"

/* Bytes of a message about one word, which it quotes. */
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
    accel_yaml_refuse(path, node, error, ACCEL_E_INVALID, "%s%s", text, accel_did_you_mean(nearest, hint));
    accel_yaml_remedy_colon(node, error);
    return ACCEL_E_INVALID;
}

static int32_t read_member(const char *path, const struct accel_yaml_node *key, struct accel_member *members,
                           uint32_t count, const char *remedy, struct accel_error *error)
{
    int32_t code;
    const char *names[ACCEL_MEMBERS_MAX];
    for (uint32_t i = 0; i < count; i++) {
        names[i] = members[i].name;
        if (strcmp(key->text, members[i].name) != 0)
            continue;
        if (!members[i].any_kind && key->value->kind != members[i].kind) {
            accel_yaml_refuse(path, key->value, error, ACCEL_E_INVALID, "\"%s\" requires %s", key->text,
                              kind_words(members[i].kind));
            accel_yaml_remedy_colon(key->value, error);
            return ACCEL_E_INVALID;
        }
        members[i].value = key->value;
        return ACCEL_OK;
    }
    code = accel_members_refuse_word(path, key, accel_suggest(key->text, names, count), error,
                                     "\"%.80s\" is unknown here", key->text);
    if (remedy)
        accel_error_remedy(error, "%s", remedy);
    return code;
}

int32_t accel_faults_pass(struct accel_faults *faults, int32_t code, struct accel_error *error)
{
    if (faults == NULL || code == ACCEL_OK || code == ACCEL_E_MEMORY)
        return code;
    if (error->code != ACCEL_OK) {
        faults->report(faults->data, error);
        faults->count++;
    }
    accel_error_clear(error);
    return ACCEL_OK;
}

int32_t accel_members_read(const char *path, const struct accel_yaml_node *mapping, struct accel_member *members,
                           uint32_t count, const char *remedy, struct accel_faults *faults, struct accel_error *error)
{
    const uint32_t before = faults ? faults->count : 0;
    int32_t code = ACCEL_OK;
    if (mapping->kind != ACCEL_YAML_MAPPING) {
        accel_yaml_refuse(path, mapping, error, ACCEL_E_INVALID, "a mapping belongs here");
        accel_yaml_remedy_colon(mapping, error);
        return ACCEL_E_INVALID;
    }
    for (const struct accel_yaml_node *key = mapping->first; key && code == ACCEL_OK; key = key->next)
        code = accel_faults_pass(faults, read_member(path, key, members, count, remedy, error), error);
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++)
        if (members[i].required && members[i].value == NULL && faults && faults->count > before)
            code = ACCEL_E_INVALID; /* already reported: the name is misspelt, or the value of a wrong kind */
        else if (members[i].required && members[i].value == NULL) {
            code = accel_yaml_refuse(path, mapping, error, ACCEL_E_INVALID, "\"%s\" is missing", members[i].name);
            if (remedy)
                accel_error_remedy(error, "%s", remedy);
        }
    return code;
}

const char *accel_members_place(const char *path, const struct accel_yaml_node *node, struct accel_arena *arena)
{
    char line[16];
    size_t length = strlen(path);
    int line_bytes = snprintf(line, sizeof(line), ":%u", node->line);
    char *place = accel_arena_alloc(arena, length + (size_t)line_bytes + 1, 1);
    if (place) {
        memcpy(place, path, length);
        memcpy(place + length, line, (size_t)line_bytes + 1);
    }
    return place;
}
