/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/conform/json.h"

#include <stdlib.h>
#include <string.h>

#include "sdk/conform/text.h"

static void put_string(FILE *file, const char *text)
{
    static const char shorts[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";

    fputc('"', file);
    for (size_t length; *text != '\0'; text += length == 0 ? 1 : length) {
        const char *found = strchr(shorts, *text);

        length = text_character(text);
        if (length == 0)
            fputs("\\ufffd", file);
        else if (found != NULL)
            fprintf(file, "\\%c", letters[found - shorts]);
        else if (*text == 0x7f || (length == 1 && *text < 0x20))
            fprintf(file, "\\u%04x", (unsigned)*text);
        else
            fwrite(text, 1, length, file);
    }
    fputc('"', file);
}

static void begin(struct json *json, const char *key)
{
    if (json->has_member)
        fputc(',', json->file);
    if (json->depth > 0)
        fprintf(json->file, "\n%*s", (int)(2 * json->depth), "");
    json->has_member = true;
    if (key == NULL)
        return;
    put_string(json->file, key);
    fputs(": ", json->file);
}

void json_open(struct json *json, const char *key, char bracket)
{
    begin(json, key);
    fputc(bracket, json->file);
    json->depth++;
    json->has_member = false;
}

void json_close(struct json *json, char bracket)
{
    json->depth--;
    if (json->has_member)
        fprintf(json->file, "\n%*s", (int)(2 * json->depth), "");
    fputc(bracket, json->file);
    json->has_member = true;
}

void json_text(struct json *json, const char *key, const char *text)
{
    begin(json, key);
    put_string(json->file, text);
}

void json_number(struct json *json, const char *key, uint64_t number)
{
    begin(json, key);
    fprintf(json->file, "%llu", (unsigned long long)number);
}

void json_double(struct json *json, const char *key, double number)
{
    char text[40];

    for (int precision = 15; precision <= 17; precision++) {
        snprintf(text, sizeof(text), "%.*g", precision, number);
        if (strtod(text, NULL) == number)
            break;
    }
    begin(json, key);
    fputs(text, json->file);
}
