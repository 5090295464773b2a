/* SPDX-License-Identifier: Apache-2.0 */
#include "model/file/json.h"

#include <stdbool.h>
#include <string.h>

#include "model/file/fault.h"

/* Checks the nesting in one pass without recursion, so that the parser never nests deeper than `limit`. Returns the
 * offset of the first bracket that is too deep, or `length`. */
static uint64_t find_too_deep(const char *text, uint64_t length, uint32_t limit)
{
    uint32_t depth = 0;
    bool inside = false;
    for (uint64_t i = 0; i < length; i++) {
        char character = text[i];
        if (inside) {
            if (character == '\\')
                i++;
            inside = character != '"';
            continue;
        }
        if (character == '"')
            inside = true;
        if ((character == '{' || character == '[') && ++depth > limit)
            return i;
        if ((character == '}' || character == ']') && depth > 0)
            depth--;
    }
    return length;
}

int32_t model_json_parse(const char *path, uint64_t offset, const char *text, uint64_t length, uint32_t depth,
                         json_t **out_root, struct accel_error *error)
{
    json_error_t fault;
    uint64_t deep = find_too_deep(text, length, depth);
    *out_root = NULL;
    if (deep < length)
        return model_fault(error, ACCEL_E_CORRUPT, path, offset + deep, "JSON nested more than %u deep", depth);
    *out_root = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &fault);
    if (*out_root != NULL)
        return ACCEL_OK;
    /* The parser reports no text if an allocation fails inside it. */
    if (fault.text[0] == '\0' || json_error_code(&fault) == json_error_out_of_memory)
        return model_fault(error, ACCEL_E_MEMORY, path, offset, "no memory for the JSON");
    return model_fault(error, ACCEL_E_CORRUPT, path, offset + (uint64_t)(fault.position > 0 ? fault.position : 0),
                       "invalid JSON: line %d: %s", fault.line, fault.text);
}

const char *model_json_kind(const json_t *value)
{
    static const char *const kinds[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list", [JSON_STRING] = "a string", [JSON_INTEGER] = "an integer",
        [JSON_REAL] = "a fraction",  [JSON_TRUE] = "true",    [JSON_FALSE] = "false",     [JSON_NULL] = "null",
    };
    return value == NULL ? "missing" : kinds[json_typeof(value)];
}

static bool is_blank(char character)
{
    return character == ' ' || character == '\t' || character == '\n' || character == '\r';
}

uint64_t model_json_find_key(const char *text, uint64_t length, const char *name)
{
    uint64_t bytes = strlen(name);
    for (uint64_t i = 0; i + bytes + 2 < length; i++) {
        uint64_t after = i + bytes + 2;
        if (text[i] != '"' || text[i + bytes + 1] != '"' || memcmp(text + i + 1, name, bytes) != 0)
            continue;
        while (after < length && is_blank(text[after]))
            after++;
        if (after < length && text[after] == ':')
            return i;
    }
    return 0;
}
