/* SPDX-License-Identifier: Apache-2.0 */
/* File format: a first line with the version, a line per result (key, code, signal, path, text, remedy, detail,
 * list, separated by tabs, control characters and '%' as %XX, and the list in hexadecimal), a last line with the
 * hash of all lines before it. */
#include "config.h"

#include "core/plugin/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/checked.h"
#include "core/base/file.h"
#include "core/base/strbuf.h"
#include "core/base/utf8.h"

#define COMPONENT "plugin"
#define FIRST_LINE "accel-plugins 2\n"
#define FILE_LIMIT (4u << 20)
#define FIELDS 8u

static void put_escaped(struct accel_strbuf *out, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
        if (*p < 0x20 || *p == 0x7f || *p == '%')
            accel_strbuf_printf(out, "%%%02X", *p);
        else
            accel_strbuf_char(out, (char)*p);
    }
}

static int hex_value(char character)
{
    if (character >= '0' && character <= '9')
        return character - '0';
    return character >= 'A' && character <= 'F' ? character - 'A' + 10 : -1;
}

/* Decodes put_escaped in place. */
static bool unescape(char *text)
{
    char *to = text;
    for (char *from = text; *from != '\0'; from++) {
        if (*from == '%') {
            int high = hex_value(from[1]);
            int low = high < 0 ? -1 : hex_value(from[2]);
            if (low < 0 || high + low == 0)
                return false;
            *to++ = (char)(high * 16 + low);
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    return accel_utf8_valid(text, (size_t)(to - text), NULL);
}

/* Decodes put_bytes in place. */
static bool parse_bytes(char *text, struct accel_cache_entry *entry)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i += 2) {
        int high = hex_value(text[i]);
        int low = high < 0 ? -1 : hex_value(text[i + 1]);
        if (low < 0)
            return false;
        text[i / 2] = (char)(high * 16 + low);
    }
    entry->list = length != 0 ? text : NULL;
    entry->list_bytes = length / 2;
    return true;
}

static void put_bytes(struct accel_strbuf *out, const char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        accel_strbuf_printf(out, "%02X", (unsigned char)data[i]);
}

/* Parses one line in place. */
static bool parse_line(char *line, struct accel_cache_entry *entry)
{
    char *fields[FIELDS];
    size_t count = 0;
    for (char *field = line; field != NULL && count < FIELDS; count++) {
        char *tab = strchr(field, '\t');
        if (tab != NULL)
            *tab++ = '\0';
        fields[count] = field;
        field = tab;
        if (count == FIELDS - 1 && tab != NULL)
            return false;
    }
    if (count != FIELDS || strlen(fields[0]) != ACCEL_HASH128_HEX_BYTES - 1)
        return false;
    for (size_t i = 3; i < FIELDS - 1; i++)
        if (!unescape(fields[i]))
            return false;
    memcpy(entry->key, fields[0], ACCEL_HASH128_HEX_BYTES);
    entry->path = fields[3];
    entry->text = fields[4];
    entry->remedy = fields[5];
    entry->detail = fields[6];
    return parse_bytes(fields[7], entry) && accel_parse_i32(fields[1], &entry->code) &&
           accel_parse_i32(fields[2], &entry->signal) && entry->code <= 0;
}

static void end_line(char out_line[ACCEL_HASH128_HEX_BYTES + 8], const char *data, size_t bytes)
{
    char hash[ACCEL_HASH128_HEX_BYTES];
    accel_hash128_to_hex(accel_hash128(data, bytes, 0), hash);
    snprintf(out_line, ACCEL_HASH128_HEX_BYTES + 8, "end %s\n", hash);
}

/* Parses a whole file in place; the entries point to its texts. */
static bool parse(char *data, size_t bytes, struct accel_cache *cache)
{
    char last[ACCEL_HASH128_HEX_BYTES + 8];
    size_t first_bytes = strlen(FIRST_LINE);
    size_t body;
    if (memchr(data, '\0', bytes) != NULL || strncmp(data, FIRST_LINE, first_bytes) != 0)
        return false;
    body = bytes >= first_bytes + strlen("end \n") + ACCEL_HASH128_HEX_BYTES - 1
               ? bytes - strlen("end \n") - (ACCEL_HASH128_HEX_BYTES - 1)
               : 0;
    end_line(last, data, body);
    if (body == 0 || strcmp(data + body, last) != 0)
        return false;
    data[body] = '\0';
    for (char *line = data + first_bytes; *line != '\0';) {
        char *end = strchr(line, '\n');
        if (end == NULL || cache->count == ACCEL_CACHE_ENTRIES)
            return false;
        *end = '\0';
        if (!parse_line(line, &cache->entries[cache->count]))
            return false;
        cache->count++;
        line = end + 1;
    }
    return true;
}

int32_t accel_cache_read(const char *path, const struct accel_log *log, struct accel_arena *arena,
                         struct accel_cache *cache, struct accel_error *error)
{
    struct accel_error own = {0};
    char *data = NULL, *copy = NULL;
    size_t bytes = 0;
    /* A user who may write the cache could end a quarantine or begin one. */
    int32_t code = accel_file_read_trusted(path, FILE_LIMIT, &data, &bytes, &own);
    memset(cache, 0, sizeof(*cache));
    if (code == ACCEL_OK) {
        copy = accel_arena_strndup(arena, data, bytes);
        free(data);
        if (copy == NULL)
            return accel_error_set(error, ACCEL_E_MEMORY, "%s: no memory to read it", path);
        if (!parse(copy, bytes, cache)) {
            memset(cache, 0, sizeof(*cache));
            code = accel_error_set(&own, ACCEL_E_CORRUPT, "%s: damaged", path);
        }
    }
    cache->changed = code == ACCEL_E_CORRUPT || code == ACCEL_E_DENIED;
    if (code != ACCEL_OK && code != ACCEL_E_NOT_FOUND)
        accel_log_write(log, ACCEL_LOG_WARN, COMPONENT, "cache=\"%s\" ignored=\"%s\"", path, own.text);
    return ACCEL_OK;
}

const struct accel_cache_entry *accel_cache_find(const struct accel_cache *cache, const char *key)
{
    for (uint32_t i = 0; i < cache->count; i++)
        if (strcmp(cache->entries[i].key, key) == 0)
            return &cache->entries[i];
    return NULL;
}

bool accel_cache_remove(struct accel_cache *cache, const char *path)
{
    uint32_t place = 0;
    while (place < cache->count && strcmp(cache->entries[place].path, path) != 0)
        place++;
    if (place == cache->count)
        return false;
    memmove(&cache->entries[place], &cache->entries[place + 1], (cache->count - place - 1) * sizeof(cache->entries[0]));
    cache->count--;
    cache->changed = true;
    return true;
}

void accel_cache_put(struct accel_cache *cache, const struct accel_cache_entry *entry)
{
    /* New results are appended, so the first one is the oldest. */
    if (!accel_cache_remove(cache, entry->path) && cache->count == ACCEL_CACHE_ENTRIES)
        accel_cache_remove(cache, cache->entries[0].path);
    cache->entries[cache->count++] = *entry;
    cache->changed = true;
}

static int32_t write_file(const struct accel_cache *cache, const char *path, struct accel_error *error)
{
    char last[ACCEL_HASH128_HEX_BYTES + 8];
    struct accel_strbuf out = {0};
    int32_t code;
    accel_strbuf_text(&out, FIRST_LINE);
    for (uint32_t i = 0; i < cache->count; i++) {
        const struct accel_cache_entry *entry = &cache->entries[i];
        const char *texts[] = {entry->path, entry->text, entry->remedy, entry->detail};
        accel_strbuf_printf(&out, "%s\t%d\t%d", entry->key, entry->code, entry->signal);
        for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++) {
            accel_strbuf_char(&out, '\t');
            put_escaped(&out, texts[j]);
        }
        accel_strbuf_char(&out, '\t');
        put_bytes(&out, entry->list, entry->list_bytes);
        accel_strbuf_char(&out, '\n');
    }
    end_line(last, accel_strbuf_get(&out), out.length);
    accel_strbuf_text(&out, last);
    code = out.failed ? accel_error_set(error, ACCEL_E_MEMORY, "no memory")
                      : accel_file_write(path, out.text, out.length, 0600, error);
    accel_strbuf_free(&out);
    return code;
}

void accel_cache_write(struct accel_cache *cache, const char *path, const struct accel_log *log)
{
    struct accel_error error = {0};
    char *folder;
    int32_t code;
    if (!cache->changed)
        return;
    folder = strdup(path);
    if (folder == NULL)
        return;
    if (strrchr(folder, '/') != NULL)
        *strrchr(folder, '/') = '\0';
    code = accel_file_make_folders(folder, 0700, &error);
    if (code == ACCEL_OK)
        code = write_file(cache, path, &error);
    if (code != ACCEL_OK)
        accel_log_write(log, ACCEL_LOG_WARN, COMPONENT, "cache=\"%s\" unwritten=\"%s\"", path, error.text);
    cache->changed = code != ACCEL_OK;
    free(folder);
}
