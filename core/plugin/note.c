/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the text of a driver's note: lines key=value, in any order, each key once. Unknown keys are ignored, so
 * that later versions can add keys. */
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/plugin/elf_check.h"

#define NAME_BYTES 32u

enum key_type { KEY_NUMBER, KEY_TEXT };

struct key {
    const char *name;
    enum key_type type;
    size_t offset; /* in struct accel_plugin_note */
    bool required;
};

#define OFFSET_OF(member) offsetof(struct accel_plugin_note, member)

static const struct key keys[] = {
    {"abi_major", KEY_NUMBER, OFFSET_OF(abi_major), true},
    {"abi_minor", KEY_NUMBER, OFFSET_OF(abi_minor), true},
    {"abi_lowest", KEY_NUMBER, OFFSET_OF(abi_lowest), true},
    {"name", KEY_TEXT, OFFSET_OF(name), true},
    {"version", KEY_TEXT, OFFSET_OF(version), true},
    {"licence", KEY_TEXT, OFFSET_OF(licence), false},
    {"isa", KEY_TEXT, OFFSET_OF(isa), false},
    {"libraries", KEY_TEXT, OFFSET_OF(libraries), false},
    {"depends", KEY_TEXT, OFFSET_OF(depends), false},
    {"effects", KEY_TEXT, OFFSET_OF(effects), false},
    {"isolate", KEY_TEXT, OFFSET_OF(isolate), false},
};

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

#define MALFORMED(error, text, ...)                                                                                    \
    accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_CORRUPT, "%s: malformed note: " text, __VA_ARGS__)

static int32_t refuse_line(struct accel_error *error, const char *file, unsigned line, const char *what)
{
    return MALFORMED(error, "line %u %s", file, line, what);
}

static bool parse_number(const char *text, size_t bytes, uint32_t *out_number)
{
    uint32_t number = 0;
    if (bytes == 0 || bytes > 6)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        number = number * 10 + (uint32_t)(text[i] - '0');
    }
    *out_number = number;
    return true;
}

static bool is_name_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
}

/* Restricts names to bytes that are safe in device names, such as "cpu:cpu0", and in file names. */
bool accel_plugin_is_name(const char *text)
{
    size_t bytes = strlen(text);
    if (bytes == 0 || bytes > NAME_BYTES || text[0] < 'a' || text[0] > 'z')
        return false;
    for (size_t i = 0; i < bytes; i++)
        if (!is_name_byte(text[i]))
            return false;
    return true;
}

/* Returns whether the text is a list of absolute paths and $VARIABLES, separated by spaces. */
static bool is_depends(const char *text)
{
    while (*text != '\0') {
        size_t bytes = strcspn(text, " ");
        if (bytes > 0 && text[0] != '/' && (text[0] != '$' || bytes == 1 || memchr(text, '=', bytes) != NULL))
            return false;
        text += bytes + strspn(text + bytes, " ");
    }
    return true;
}

static int32_t parse_line(const char *file, unsigned line, const char *text, size_t bytes, struct accel_arena *arena,
                          struct accel_plugin_note *note, uint32_t *seen, struct accel_error *error)
{
    const char *equals = memchr(text, '=', bytes);
    size_t key_bytes = equals ? (size_t)(equals - text) : 0;
    size_t value_bytes = equals ? bytes - key_bytes - 1 : 0;
    if (key_bytes == 0)
        return refuse_line(error, file, line, "is not key=value");
    for (size_t i = 0; i < KEY_COUNT; i++) {
        void *value = (char *)note + keys[i].offset;
        if (strlen(keys[i].name) != key_bytes || memcmp(keys[i].name, text, key_bytes) != 0)
            continue;
        if (*seen & 1u << i)
            return accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_CORRUPT,
                                  "%s: malformed note: line %u repeats the key %s", file, line, keys[i].name);
        *seen |= 1u << i;
        if (keys[i].type == KEY_NUMBER)
            return parse_number(equals + 1, value_bytes, value)
                       ? ACCEL_OK
                       : accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_CORRUPT,
                                        "%s: malformed note: line %u: %s is not a number below 1000000", file, line,
                                        keys[i].name);
        *(const char **)value = accel_arena_strndup(arena, equals + 1, value_bytes);
        if (*(const char **)value == NULL)
            return accel_error_set(error, ACCEL_E_MEMORY, "%s: no memory for its note", file);
    }
    return ACCEL_OK;
}

static int32_t parse_lines(const char *file, const char *text, size_t bytes, struct accel_arena *arena,
                           struct accel_plugin_note *note, uint32_t *seen, struct accel_error *error)
{
    unsigned line = 1;
    for (size_t at = 0; at < bytes; line++) {
        const char *end = memchr(text + at, '\n', bytes - at);
        size_t length = end ? (size_t)(end - text) - at : 0;
        int32_t code;
        if (end == NULL)
            return refuse_line(error, file, line, "does not end in a newline");
        if (!accel_utf8_plain(text + at, length, NULL))
            return refuse_line(error, file, line, "has a control character");
        code = parse_line(file, line, text + at, length, arena, note, seen, error);
        if (code != ACCEL_OK)
            return code;
        at += length + 1;
    }
    return ACCEL_OK;
}

static int32_t check_values(const char *file, const struct accel_plugin_note *note, uint32_t seen,
                            struct accel_error *error)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (keys[i].required && (seen & 1u << i) == 0)
            return MALFORMED(error, "the key %s is missing", file, keys[i].name);
    if (!accel_plugin_is_name(note->name))
        return MALFORMED(error, "name \"%.64s\" is not a lower-case word of up to %u bytes", file, note->name,
                         NAME_BYTES);
    if (strcmp(note->isolate, "none") != 0 && strcmp(note->isolate, "compile") != 0 &&
        strcmp(note->isolate, "device") != 0)
        return MALFORMED(error, "isolate \"%.64s\" is none of: none compile device", file, note->isolate);
    if (!is_depends(note->depends))
        return MALFORMED(error, "depends \"%.128s\" has a word that is no /path and no $VARIABLE", file, note->depends);
    if (note->abi_lowest > note->abi_minor)
        return MALFORMED(error, "abi_lowest %u is above abi_minor %u", file, note->abi_lowest, note->abi_minor);
    return ACCEL_OK;
}

int32_t accel_note_parse(const char *file, const char *text, size_t bytes, struct accel_arena *arena,
                         const struct accel_plugin_note **out_note, struct accel_error *error)
{
    struct accel_plugin_note *note;
    uint32_t seen = 0;
    size_t bad = 0;
    int32_t code;
    *out_note = NULL;
    if (bytes > ACCEL_NOTE_TEXT)
        return MALFORMED(error, "%zu bytes, more than %u", file, bytes, ACCEL_NOTE_TEXT);
    if (!accel_utf8_valid(text, bytes, &bad))
        return MALFORMED(error, "no UTF-8 at byte %zu", file, bad);
    note = accel_arena_alloc(arena, sizeof(*note), _Alignof(struct accel_plugin_note));
    if (note == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "%s: no memory for its note", file);
    note->name = note->version = note->licence = note->isa = "";
    note->libraries = note->depends = note->effects = "";
    note->isolate = "none";
    code = parse_lines(file, text, bytes, arena, note, &seen, error);
    if (code == ACCEL_OK)
        code = check_values(file, note, seen, error);
    if (code == ACCEL_OK)
        *out_note = note;
    return code;
}
