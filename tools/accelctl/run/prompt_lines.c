/* SPDX-License-Identifier: Apache-2.0 */
/* Reads prompts of a file, one a line. */
#include "config.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/run/prompt.h"

/* Refuses a key of an object other than "prompt", which would be ignored. */
static int32_t check_keys(const char *path, uint32_t number, json_t *object, struct accel_error *error)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        if (strcmp(key, "prompt") == 0)
            continue;
        accel_error_set(error, ACCEL_E_INVALID, "%s:%u: the key \"%.80s\" is unknown; a prompt has \"prompt\" alone",
                        path, number, key);
        accel_error_remedy(error, "take the key out; options of the command hold for all prompts of the file");
        return ACCEL_E_INVALID;
    }
    return ACCEL_OK;
}

/* Returns the prompt of a line of JSON, or the line itself. */
static int32_t parse_line(const char *path, uint32_t number, const char *line, char **out, struct accel_error *error)
{
    const json_t *text;
    json_error_t wrong;
    json_t *value;
    bool is_json;

    *out = NULL;
    if (line[0] != '{' && line[0] != '"') {
        *out = strdup(line);
        return *out == NULL ? accel_error_no_memory(error, "for prompts") : ACCEL_OK;
    }
    value = json_loads(line, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &wrong);
    text = json_is_object(value) ? json_object_get(value, "prompt") : value;
    if (json_is_string(text) && check_keys(path, number, value, error) == ACCEL_OK)
        *out = strdup(json_string_value(text));
    is_json = value != NULL;
    json_decref(value);
    if (*out != NULL || error->code != ACCEL_OK)
        return error->code;
    if (is_json)
        accel_error_set(error, ACCEL_E_INVALID,
                        "%s:%u: begins like JSON and is no string, and no object with a \"prompt\"", path, number);
    else
        accel_error_set(error, ACCEL_E_INVALID, "%s:%u: begins like JSON and cannot be read: %s", path, number,
                        json_error_code(&wrong) == json_error_null_character ? "no prompt has the character \\u0000"
                                                                             : wrong.text);
    accel_error_remedy(
        error, "write a string of JSON, or an object as {\"prompt\": \"...\"}; a line of text begins otherwise");
    return ACCEL_E_INVALID;
}

int32_t read_lines(const char *path, char ***out_lines, uint32_t *out_count, struct accel_error *error)
{
    char *all = NULL, *rest = NULL;
    uint32_t number = 1, most = 1;
    int32_t code;

    *out_lines = NULL;
    *out_count = 0;
    code = read_prompt(path, &all, error);
    for (const char *c = all; code == ACCEL_OK && *c != '\0'; c++)
        most += *c == '\n';
    if (code == ACCEL_OK) {
        *out_lines = calloc(most, sizeof(**out_lines));
        if (*out_lines == NULL)
            code = accel_error_no_memory(error, "for %u prompts", most);
    }
    for (char *line = all; code == ACCEL_OK && line != NULL; line = rest, number++) {
        size_t bytes = strcspn(line, "\n");

        rest = line[bytes] == '\n' ? line + bytes + 1 : NULL;
        line[bytes] = '\0';
        if (bytes > 0)
            code = parse_line(path, number, line, &(*out_lines)[*out_count], error);
        *out_count += bytes > 0 && code == ACCEL_OK;
    }
    free(all);
    if (code == ACCEL_OK && *out_count == 0) {
        code = accel_error_set(error, ACCEL_E_INVALID, "%s: no prompts", path);
        accel_error_remedy(error, "name a file with one prompt per line; empty lines are skipped");
    }
    if (code != ACCEL_OK) {
        free_lines(*out_lines, *out_count);
        *out_lines = NULL;
        *out_count = 0;
    }
    return code;
}

void free_lines(char **lines, uint32_t count)
{
    for (uint32_t i = 0; lines != NULL && i < count; i++)
        free(lines[i]);
    free(lines);
}
