/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/print/page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/command.h"
#include "tools/accelctl/errors.h"
#include "tools/accelctl/words.h"

/* Attempts to find an unused name of a temporary file. */
enum { NAME_TRIES = 1000 };

int parse_output_format(const char *word, uint32_t json, const char *path, enum format *out_format)
{
    static const char *const words[] = {"text", "json", "html"};
    bool known = word == NULL;
    char text[260], guess[GUESS_BYTES];

    *out_format = json ? FORMAT_JSON : FORMAT_TEXT;
    for (int i = 0; word != NULL && i < 3; i++)
        if (strcmp(word, words[i]) == 0) {
            *out_format = json ? FORMAT_JSON : (enum format)i;
            known = 1;
        }
    if (!known) {
        snprintf(text, sizeof(text), "--format requires text, json or html, not '%.80s'%s", word,
                 guess_text("text json html", word, guess));
        return report_error_text(json, EXIT_USAGE, "usage", text,
                                 "--format html --out FILE.html writes a page, --format json JSON");
    }
    if (path != NULL && *out_format == FORMAT_TEXT)
        return report_error_text(json, EXIT_USAGE, "usage", "--out requires --format json or --format html",
                                 "add --format html or --format json, or take text to a file with > FILE");
    return -1;
}

int json_write(FILE *out, json_t *document, const char *schema)
{
    json_t *whole = json_pack("{s:s}", "schema", schema);
    int code = EXIT_FAILED;

    document = json_finish(document);
    if (document == NULL || whole == NULL || json_object_update(whole, document) != 0)
        code = report_error_text(0, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for the document", NULL);
    else if (json_dumpf(whole, out, JSON_INDENT(2)) == 0 && fputc('\n', out) != EOF)
        code = EXIT_DONE;
    json_decref(document);
    json_decref(whole);
    return code;
}

void html_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*text, out);
        }
}

void html_between(FILE *out, const char *before, const char *text, const char *after)
{
    fputs(before, out);
    html_text(out, text);
    fputs(after, out);
}

/* Style of pages. Ratings and verdicts are given in words beside their colours, since a page may be printed, or
 * read aloud. */
static const char style[] =
    "body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:76em;padding:0 1em;color:#1c1e21;"
    "background:#fff}\n"
    "h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}\n"
    "table{border-collapse:collapse;width:100%}\n"
    "td{min-width:5.5em}th,td{border:1px solid #d5d9de;padding:.45em .6em;text-align:left;vertical-align:top}\n"
    "thead th{background:#f1f3f5}tbody th{background:#fafbfc;font-weight:600}\n"
    "small{display:block;color:#5a626b;font-weight:400}\n"
    ".r{display:inline-block;white-space:nowrap;padding:0 .5em;border-radius:.6em;font-weight:600}\n"
    ".high,.full,.fits,.measured{background:#d9f0e0;color:#0d5227}\n"
    ".medium,.estimated{background:#e3ecfb;color:#17407f}\n"
    ".limited,.claimed{background:#fdf0d0;color:#6b4a00}\n"
    ".none,.short,.rejected,.refused{background:#fbdfdc;color:#861a10}\n"
    ".absent,.unnamed{background:#eceff1;color:#454d55}\n"
    ".n{text-align:right;white-space:nowrap}\n"
    "@media "
    "(prefers-color-scheme:dark){body{background:#16181b;color:#e4e6e8}td{min-width:5.5em}th,td{border-color:#3a4047}\n"
    "thead th{background:#23272c}tbody th{background:#1c1f23}small{color:#a0a8b0}}\n";

void html_begin(FILE *out, const char *title, const char *about)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          out);
    html_text(out, title);
    fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>", style);
    html_text(out, title);
    fputs("</h1>\n<p>", out);
    html_text(out, about);
    fputs("</p>\n", out);
}

void html_end(FILE *out)
{
    fputs("</body>\n</html>\n", out);
}

/* Reports why a file could not be written; `native` is errno. */
static int refuse_file(uint32_t json, const char *path, int native)
{
    struct accel_error error = {0};

    accel_error_set(&error, ACCEL_E_IO, "%.300s: %s", path, strerror(native));
    error.native = native;
    return report_output_error(json, &error, path);
}

/* Writes and closes a file. Answers 0, or errno of the first failure of the file; `*out_code` is the result of
 * `write`. */
static int write_all(FILE *out, int (*write)(FILE *out, void *data), void *data, int *out_code)
{
    int failure = 0;

    errno = 0;
    *out_code = write(out, data);
    if (ferror(out) || fflush(out) != 0 || fsync(fileno(out)) != 0)
        failure = errno == 0 ? EIO : errno;
    if (fclose(out) != 0 && failure == 0)
        failure = errno == 0 ? EIO : errno;
    return failure;
}

/* Creates a temporary file beside `path` with the mode of the umask, which mkstemp would not apply; answers its
 * handle, or -1. */
static int create_beside(const char *path, char *beside, size_t bytes)
{
    int handle = -1;

    errno = EEXIST;
    for (uint32_t i = 0; i < NAME_TRIES && handle < 0 && errno == EEXIST; i++) {
        snprintf(beside, bytes, "%s.%ld.%u.tmp", path, (long)getpid(), i);
        handle = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
    }
    return handle;
}

static int write_beside(uint32_t json, const char *path, char *beside, size_t bytes,
                        int (*write)(FILE *out, void *data), void *data)
{
    int handle = create_beside(path, beside, bytes), failure, code;
    FILE *out = handle < 0 ? NULL : fdopen(handle, "w");

    if (out == NULL) {
        failure = errno;
        if (handle >= 0) {
            close(handle);
            unlink(beside);
        }
        return refuse_file(json, path, failure);
    }
    failure = write_all(out, write, data, &code);
    if (failure == 0 && code == EXIT_DONE && rename(beside, path) != 0)
        failure = errno;
    else if (failure == 0 && code == EXIT_DONE)
        return EXIT_DONE;
    unlink(beside);
    return failure != 0 ? refuse_file(json, path, failure) : code;
}

int write_output(uint32_t json, const char *path, int (*write)(FILE *out, void *data), void *data)
{
    char *beside;
    size_t bytes;
    int code;

    if (path == NULL)
        return write(output(), data);
    bytes = strlen(path) + 48;
    beside = malloc(bytes);
    if (beside == NULL)
        return report_error_text(json, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory to write a file", NULL);
    code = write_beside(json, path, beside, bytes, write, data);
    free(beside);
    return code;
}
