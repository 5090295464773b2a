/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/crash_report.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/clean_text.h"
#include "tools/accelctl/output.h"

/* Limit of one piece or remedy; paths are shorter. */
enum { TEXT_BYTES = 4096 };

static volatile sig_atomic_t is_json;
static volatile sig_atomic_t is_one_line;
static atomic_flag is_reported = ATOMIC_FLAG_INIT;

static void write_bytes(int handle, const char *text, size_t length)
{
    ssize_t written = write(handle, text, length);

    (void)written;
}

static void write_text(int handle, const char *text)
{
    write_bytes(handle, text, strlen(text));
}

/* Escapes text within a JSON string; clean text has no controls. */
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
    char clean[TEXT_BYTES];

    clean_text(text, clean, sizeof(clean));
    if (is_json)
        write_escaped(output_file(), clean);
    else
        write_text(error_output_file(), clean);
}

static void write_pieces(const struct crash_report *report)
{
    for (uint32_t i = 0; i < CRASH_REPORT_PIECES && report->text[i] != NULL; i++)
        write_clean(report->text[i]);
}

static void print_line(const struct crash_report *report)
{
    write_text(error_output_file(), "\naccelctl: ");
    write_pieces(report);
    write_text(error_output_file(), " (");
    write_text(error_output_file(), report->code);
    write_text(error_output_file(), report->remedy == NULL ? ")\n" : ")\n  remedy: ");
    if (report->remedy == NULL)
        return;
    write_clean(report->remedy);
    write_text(error_output_file(), "\n");
}

/* Writes a piece of a document. Its new lines, and the blanks after them and after a colon, are left out if the
 * document is one line. */
static void write_layout(const char *text)
{
    for (; *text != '\0'; text++)
        if (!is_one_line || strchr(" \n", *text) == NULL)
            write_bytes(output_file(), text, 1);
}

static void print_document(const struct crash_report *report)
{
    const char digits[] = {(char)('0' + report->status / 100), (char)('0' + report->status / 10 % 10),
                           (char)('0' + report->status % 10), '\0'};

    write_layout("{\n  \"schema\": \"accelctl/error/1\",\n  \"error\": {\n    \"code\": \"");
    write_layout(report->code);
    write_layout("\",\n    \"origin\": \"");
    write_layout(report->origin == NULL ? "system" : report->origin);
    write_layout("\",\n    \"text\": \"");
    write_pieces(report);
    write_layout("\",\n    \"remedy\": \"");
    write_clean(report->remedy == NULL ? "" : report->remedy);
    write_layout("\",\n    \"exit\": ");
    write_layout(digits + (report->status < 10 ? 2 : report->status < 100 ? 1 : 0));
    write_layout("\n  }\n}");
    write_text(output_file(), "\n");
}

void crash_report_as_json(uint32_t json)
{
    is_json = json != 0;
}

void crash_report_on_one_line(void)
{
    is_one_line = 1;
}

void crash_report_print(const struct crash_report *report)
{
    while (atomic_flag_test_and_set(&is_reported))
        pause();
    if (is_json)
        print_document(report);
    else
        print_line(report);
}

void crash_report_end(const struct crash_report *report)
{
    crash_report_print(report);
    filter_drain();
    _exit(report->status);
}
