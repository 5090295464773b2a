/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/ending.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/clean_text.h"
#include "tools/accelctl/output.h"

/* Of one piece or remedy; paths are shorter. */
enum { ENDING_TEXT = 4096 };

static volatile sig_atomic_t is_json;
static atomic_flag told = ATOMIC_FLAG_INIT;

static void write_bytes(int handle, const char *text, size_t length)
{
    ssize_t written = write(handle, text, length);

    (void)written;
}

static void write_text(int handle, const char *text)
{
    write_bytes(handle, text, strlen(text));
}

/* Within a string of JSON; clean text has no controls. */
static void write_escaped(int handle, const char *text)
{
    for (size_t plain; *text != '\0'; text += plain + (text[plain] != '\0')) {
        plain = strcspn(text, "\"\\");
        write_bytes(handle, text, plain);
        if (text[plain] != '\0')
            write_text(handle, text[plain] == '"' ? "\\\"" : "\\\\");
    }
}

static void write_clean(const char *text)
{
    char clean[ENDING_TEXT];

    clean_text(text, clean, sizeof clean);
    if (is_json)
        write_escaped(output_file(), clean);
    else
        write_text(STDERR_FILENO, clean);
}

static void write_pieces(const struct ending *ending)
{
    for (uint32_t i = 0; i < ENDING_PIECES && ending->text[i] != NULL; i++)
        write_clean(ending->text[i]);
}

static void say_line(const struct ending *ending)
{
    write_text(STDERR_FILENO, "\naccelctl: ");
    write_pieces(ending);
    write_text(STDERR_FILENO, " (");
    write_text(STDERR_FILENO, ending->code);
    write_text(STDERR_FILENO, ending->remedy == NULL ? ")\n" : ")\n  remedy: ");
    if (ending->remedy == NULL)
        return;
    write_clean(ending->remedy);
    write_text(STDERR_FILENO, "\n");
}

static void say_document(const struct ending *ending)
{
    const char digits[] = {(char)('0' + ending->status / 100), (char)('0' + ending->status / 10 % 10),
                           (char)('0' + ending->status % 10), '\0'};

    write_text(output_file(), "{\n  \"schema\": \"accelctl/error/1\",\n  \"error\": {\n    \"code\": \"");
    write_text(output_file(), ending->code);
    write_text(output_file(), "\",\n    \"text\": \"");
    write_pieces(ending);
    write_text(output_file(), "\",\n    \"remedy\": \"");
    write_clean(ending->remedy == NULL ? "" : ending->remedy);
    write_text(output_file(), "\",\n    \"exit\": ");
    write_text(output_file(), digits + (ending->status < 10 ? 2 : ending->status < 100 ? 1 : 0));
    write_text(output_file(), "\n  }\n}\n");
}

void ending_as_json(uint32_t json)
{
    is_json = json != 0;
}

void ending_say(const struct ending *ending)
{
    while (atomic_flag_test_and_set(&told))
        pause();
    if (is_json)
        say_document(ending);
    else
        say_line(ending);
}
