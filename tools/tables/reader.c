/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "core/base/strbuf.h"
#include "core/profile/keys.h"
#include "tools/tables/internal.h"

int32_t accel_table_no_memory(const struct accel_table_reader *reader)
{
    return accel_error_no_memory(reader->error, "to read %.200s", reader->path);
}

int32_t accel_table_refuse(const struct accel_table_reader *reader, const struct accel_yaml_node *node,
                           const char *text)
{
    return accel_yaml_refuse(reader->path, node, reader->error, ACCEL_E_CORRUPT, "%s", text);
}

int32_t accel_table_take(const struct accel_table_reader *reader, const struct accel_yaml_node *mapping,
                         struct accel_member *members, uint32_t count)
{
    return accel_members_read(reader->path, mapping, members, count, NULL, NULL, reader->error);
}

int32_t accel_table_version(const struct accel_table_reader *reader, const struct accel_member *member)
{
    if (strcmp(member->value->text, "1") != 0)
        return accel_table_refuse(reader, member->value, "only version 1 of this table is known");
    return ACCEL_OK;
}

const char *accel_table_text(const struct accel_member *member)
{
    return member->value ? member->value->text : "";
}

int32_t accel_table_place(const struct accel_table_reader *reader, const struct accel_yaml_node *node,
                          const char **out_place)
{
    *out_place = accel_members_place(reader->path, node, &reader->tables->arena);
    return *out_place ? ACCEL_OK : accel_table_no_memory(reader);
}

int32_t accel_table_array(const struct accel_table_reader *reader, uint32_t count, size_t bytes, void *out_array)
{
    void *array = count ? accel_arena_array(&reader->tables->arena, count, bytes) : NULL;
    memcpy(out_array, &array, sizeof(array));
    return array || count == 0 ? ACCEL_OK : accel_table_no_memory(reader);
}

int32_t accel_table_root(const struct accel_table_reader *reader, const struct accel_yaml_node *root,
                         const char *version, const char *list, size_t bytes, void *out_array, accel_table_read *read)
{
    struct accel_member m[] = {{version, true, ACCEL_YAML_TEXT, false, NULL},
                               {"about", false, ACCEL_YAML_TEXT, false, NULL},
                               {list, true, ACCEL_YAML_SEQUENCE, false, NULL}};
    int32_t code = accel_table_take(reader, root, m, 3);
    if (code == ACCEL_OK)
        code = accel_table_version(reader, &m[0]);
    if (code == ACCEL_OK)
        code = accel_table_array(reader, m[2].value->child_count, bytes, out_array);
    if (code != ACCEL_OK)
        return code;
    for (const struct accel_yaml_node *node = m[2].value->first; node && code == ACCEL_OK; node = node->next)
        code = read(reader, node);
    return code;
}

/* ---- documents ---- */

/* Parses "42" or "42-55", the second not before the first; moves *at past it. */
static bool pass_lines(const char **at)
{
    uint32_t lines[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        size_t length = strspn(*at, "0123456789");
        if (length == 0 || length > 5 || **at == '0')
            return false;
        for (; length > 0; length--)
            lines[i] = lines[i] * 10 + (uint32_t)(*(*at)++ - '0');
        if (**at != '-')
            return i == 0 || lines[1] >= lines[0];
        if (i == 0)
            (*at)++;
    }
    return false;
}

/* Parses "S0:42-55,60": a document with its lines. */
static bool pass_document(const char **at)
{
    if (**at != 'S' || (*at)[1] < '0' || (*at)[1] > '9' || (*at)[2] != ':')
        return false;
    *at += 3;
    while (pass_lines(at)) {
        if (**at != ',')
            return **at == 0 || **at == ' ';
        (*at)++;
    }
    return false;
}

static bool names_source(const char *text)
{
    if (strncmp(text, "own", 3) == 0)
        return text[3] == 0 || text[3] == ' ';
    do {
        if (!pass_document(&text))
            return false;
    } while (*text == ' ' && text[1] == 'S' && text[2] >= '0' && text[2] <= '9' && text++);
    return true;
}

int32_t accel_table_source(const struct accel_table_reader *reader, const struct accel_member *member,
                           const char **out_text)
{
    *out_text = accel_table_text(member);
    if (member->value && !names_source(*out_text))
        return accel_table_refuse(reader, member->value,
                                  "a reason begins with its documents and lines, as in \"S0:42-55 words\" or "
                                  "\"S2:13 S4:9,11\", or with \"own\"");
    return ACCEL_OK;
}

/* ---- settings ---- */

int32_t accel_table_setting(const struct accel_table_reader *reader, const struct accel_yaml_node *key)
{
    const struct accel_setting_row *known = accel_key_find(key->text);
    struct accel_key_value value;
    char why[200];
    /* Options of the driver of every build; the driver checks its values. */
    if (known == NULL && strncmp(key->text, "cpu.", 4) == 0 && accel_key_meant(key->text) == NULL)
        return key->value->kind == ACCEL_YAML_TEXT ? ACCEL_OK
                                                   : accel_table_refuse(reader, key->value, "a value is plain text");
    if (known == NULL)
        return accel_members_refuse_word(reader->path, key, accel_key_suggest(key->text), reader->error,
                                         "setting \"%.80s\" is unknown", key->text);
    if (key->value->kind != ACCEL_YAML_TEXT)
        return accel_table_refuse(reader, key->value, "a value is plain text");
    if (!accel_key_parse(known, key->value->text, &value, why, sizeof(why)))
        return accel_yaml_refuse(reader->path, key->value, reader->error, ACCEL_E_CORRUPT, "%s: %s", key->text, why);
    return ACCEL_OK;
}

int32_t accel_table_settings(const struct accel_table_reader *reader, const struct accel_member *member,
                             const char **out_text)
{
    struct accel_strbuf text;
    int32_t code = ACCEL_OK;
    *out_text = "";
    if (member->value == NULL)
        return ACCEL_OK;
    accel_strbuf_init(&text, ACCEL_YAML_BYTES);
    for (const struct accel_yaml_node *key = member->value->first; key && code == ACCEL_OK; key = key->next) {
        code = accel_table_setting(reader, key);
        if (code == ACCEL_OK)
            accel_strbuf_printf(&text, "%s%s=%s", text.length ? " " : "", key->text, key->value->text);
    }
    if (code == ACCEL_OK) {
        *out_text = text.failed ? NULL : accel_arena_strdup(&reader->tables->arena, accel_strbuf_get(&text));
        code = *out_text ? ACCEL_OK : accel_table_no_memory(reader);
    }
    accel_strbuf_free(&text);
    return code;
}
