/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/errors.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tools/accelctl/command.h"
#include "tools/accelctl/crash_report.h"
#include "tools/accelctl/output.h"

static uint32_t is_one_line; /* of documents of print_json */
static bool is_incomplete;   /* an item of a document could not be made */

/* Prints one line, whatever a file's name contains. */
static void print_line(const char *before, const char *text, const char *after)
{
    char line[4096];

    fprintf(error_output(), "%s%s%s\n", before, clean_text(text, line, sizeof(line)), after);
}

json_t *json_text(const char *text)
{
    json_t *words = json_string(text);
    char *copy = words == NULL ? strdup(text) : NULL;

    for (char *at = copy; at != NULL && *at != '\0'; at++)
        *at = (unsigned char)*at < 128 ? *at : '?';
    if (copy != NULL)
        words = json_string(copy);
    free(copy);
    return words;
}

void json_add(json_t *list, json_t *item)
{
    is_incomplete |= json_array_append_new(list, item) != 0;
}

json_t *json_finish(json_t *document)
{
    if (!is_incomplete)
        return document;
    json_decref(document);
    return NULL;
}

const char *json_member_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "" : text;
}

/* Refers to the help of the command for wrong usage: its text begins with "plan: ...". Other texts have no remedy
 * here, or their own. */
static const char *usage_remedy(const char *code, const char *text, char remedy[80])
{
    size_t length = strcspn(text, ":");

    for (uint32_t i = 0; strcmp(code, "usage") == 0 && commands[i] != NULL; i++)
        if (strlen(commands[i]->name) == length && strncmp(text, commands[i]->name, length) == 0) {
            snprintf(remedy, 80, "accelctl %s --help lists arguments and options", commands[i]->name);
            return remedy;
        }
    return "";
}

static int print_error_record(uint32_t json, int exit_code, const char *code, uint32_t origin, const char *text,
                              const char *remedy)
{
    static const char *const origins[] = {"caller", "setting", "file", "model", "driver", "device", "system"};
    _Static_assert(sizeof(origins) / sizeof(*origins) == ACCEL_FROM_SYSTEM + 1, "every origin has a name");
    char tail[64], usage[80];

    if (remedy == NULL || remedy[0] == '\0')
        remedy = usage_remedy(code, text, usage);
    if (json) {
        json_t *error = json_pack("{s:{s:s, s:s, s:o, s:o, s:i}}", "error", "code", code, "origin",
                                  origins[origin <= ACCEL_FROM_SYSTEM ? origin : ACCEL_FROM_CALLER], "text",
                                  json_text(text), "remedy", json_text(remedy), "exit", exit_code);

        return print_json(error, "accelctl/error/1") == EXIT_DONE ? exit_code : EXIT_FAILED;
    }
    snprintf(tail, sizeof(tail), " (%s)", code);
    print_line("accelctl: ", text, strcmp(code, "usage") == 0 ? "" : tail);
    if (remedy[0] != '\0')
        print_line("  remedy: ", remedy, "");
    return exit_code;
}

/* Returns what helps against a lack of memory on the host. */
static const char *memory_remedy(void)
{
    struct rlimit space, data;

    if (getrlimit(RLIMIT_AS, &space) == 0 && getrlimit(RLIMIT_DATA, &data) == 0 &&
        (space.rlim_cur != RLIM_INFINITY || data.rlim_cur != RLIM_INFINITY))
        return "the memory of this process is limited (ulimit -v, -d), which may be why: raise the limit";
    return "end programs that hold memory; a smaller context needs less, and accelctl plan MODEL lists what a run "
           "needs";
}

int report_error_text(uint32_t json, int exit_code, const char *code, const char *text, const char *remedy)
{
    uint32_t origin = exit_code == EXIT_USAGE || exit_code == EXIT_INTERRUPTED ? ACCEL_FROM_CALLER
                      : exit_code == EXIT_INPUT                                ? ACCEL_FROM_FILE
                                                                               : ACCEL_FROM_SYSTEM;

    if (exit_code == EXIT_SHORT && remedy == NULL)
        remedy = memory_remedy();
    return print_error_record(json, exit_code, code, origin, text, remedy);
}

int report_error_format(uint32_t json, int exit_code, const char *code, const char *remedy, const char *format, ...)
{
    char text[4400];
    va_list values;

    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    return report_error_text(json, exit_code, code, text, remedy);
}

static int report_error_with(uint32_t json, int exit_code, const struct accel_error *error, const char *remedy)
{
    return print_error_record(json, exit_code, accel_error_name(error->code), error->origin, error->text, remedy);
}

int report_error_as(uint32_t json, int exit_code, const struct accel_error *error)
{
    return report_error_with(json, exit_code, error, error->remedy);
}

/* Least number of open files that drivers' compilers need to read their input. */
#define FEW_FILES ((rlim_t)64)

/* A file size limit below this may break drivers: compilers write smaller files than that. */
#define SMALL_FILES ((rlim_t)64 << 20)

/* Stack limit of common systems. Kernels of matrix units use hundreds of KiB of it, compilers of drivers more. */
#define SMALL_STACK ((rlim_t)8 << 20)

const char *limit_remedy(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        return "the memory of this process is limited (ulimit -v), which may be why: raise the limit; "
               "else " OTHER_DEVICE;
    if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        return "the memory of this process is limited (ulimit -d), which may be why: raise the limit; "
               "else " OTHER_DEVICE;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FEW_FILES)
        return "this process may open few files (ulimit -n), which may be why: raise the limit; else " OTHER_DEVICE;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < SMALL_STACK)
        return "the stack of this process is limited (ulimit -s), which may be why: raise the limit to 8192 (KiB); "
               "else " OTHER_DEVICE;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < SMALL_FILES)
        return "the files of this process are limited in size (ulimit -f), which may be why: raise the limit; "
               "else " OTHER_DEVICE;
    return NULL;
}

/* Returns whether errno of a write means a full disk, a quota, or a limit of the size of files. */
static bool is_out_of_space(int native)
{
    return native == ENOSPC || native == EDQUOT || native == EFBIG;
}

int report_error(uint32_t json, const struct accel_error *error)
{
    int exit_code = EXIT_FAILED;

    switch (error->code) {
    case ACCEL_E_CORRUPT:
    case ACCEL_E_UNSUPPORTED:
    case ACCEL_E_IO:
    case ACCEL_E_NOT_FOUND:
    case ACCEL_E_INVALID:
    case ACCEL_E_DENIED:
    case ACCEL_E_LIMIT:
        /* A driver's failure is not a malformed file; an operation that the driver does not support does not run
         * there. */
        exit_code = error->origin != ACCEL_FROM_DRIVER   ? EXIT_INPUT
                    : error->code == ACCEL_E_UNSUPPORTED ? EXIT_REFUSED
                                                         : EXIT_FAILED;
        /* A full disk; a place for output that a setting names and that cannot be written. */
        if (error->code == ACCEL_E_IO && ((error->origin == ACCEL_FROM_SYSTEM && is_out_of_space(error->native)) ||
                                          error->origin == ACCEL_FROM_SETTING))
            exit_code = EXIT_FAILED;
        /* A limit of the system, as that of threads, is no fault of a file. */
        if (error->code == ACCEL_E_LIMIT && error->origin == ACCEL_FROM_SYSTEM)
            exit_code = EXIT_FAILED;
        break;
    case ACCEL_E_FALLBACK:
    case ACCEL_E_REFUSED:
        exit_code = EXIT_REFUSED;
        break;
    case ACCEL_E_MEMORY:
        exit_code = EXIT_SHORT;
        break;
    case ACCEL_E_CANCELLED:
        exit_code = EXIT_INTERRUPTED;
        break;
    default:
        break;
    }
    if (error->remedy[0] == '\0' && error->origin == ACCEL_FROM_SYSTEM && error->code == ACCEL_E_MEMORY)
        return report_error_with(json, exit_code, error, memory_remedy());
    if (error->remedy[0] != '\0' || error->origin != ACCEL_FROM_DRIVER)
        return report_error_as(json, exit_code, error);
    return report_error_with(json, exit_code, error, limit_remedy());
}

int report_text_error(uint32_t json, const struct accel_error *error)
{
    return error->code == ACCEL_E_LIMIT && error->origin == ACCEL_FROM_CALLER ? report_error_as(json, EXIT_USAGE, error)
                                                                              : report_error(json, error);
}

void space_remedy(int native, const char *path, char out_remedy[SPACE_REMEDY_BYTES])
{
    const char *slash = strrchr(path, '/');
    int length = slash == NULL || slash - path > 400 ? 0 : slash == path ? 1 : (int)(slash - path);
    struct rlimit limit;

    if (native == EFBIG && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        snprintf(out_remedy, SPACE_REMEDY_BYTES,
                 "files of this process may have %llu bytes (ulimit -f): raise the limit",
                 (unsigned long long)limit.rlim_cur);
        return;
    }
    if (native == ENAMETOOLONG) {
        snprintf(out_remedy, SPACE_REMEDY_BYTES,
                 "name a file with a shorter name: the temporary file beside it has a longer one");
        return;
    }
    snprintf(out_remedy, SPACE_REMEDY_BYTES, "%s %.*s, or name a file in a writable folder",
             native == EACCES || native == EPERM || native == EROFS ? "let this user write to"
             : native == 0 || is_out_of_space(native)               ? "free disk space in"
                                                                    : "check that files can be made in",
             length == 0 ? 15 : length, length == 0 ? "its folder" : path);
}

int report_output_error(uint32_t json, const struct accel_error *error, const char *path)
{
    char remedy[SPACE_REMEDY_BYTES];

    if (error->code == ACCEL_E_MEMORY || error->origin == ACCEL_FROM_DRIVER)
        return report_error(json, error);
    space_remedy(error->native, path, remedy);
    return report_error_with(json, EXIT_FAILED, error, error->remedy[0] != '\0' ? error->remedy : remedy);
}

/* Names a memory limit before a remedy for drivers that find no device: their loaders leave out what they have no
 * memory for, and do not report the cause. Answers `text`, or `remedy` without a limit. */
static const char *device_remedy(const char *remedy, char text[DEVICE_REMEDY_BYTES])
{
    struct rlimit space, data;

    if (getrlimit(RLIMIT_AS, &space) != 0 || getrlimit(RLIMIT_DATA, &data) != 0 ||
        (space.rlim_cur == RLIM_INFINITY && data.rlim_cur == RLIM_INFINITY))
        return remedy;
    snprintf(text, DEVICE_REMEDY_BYTES,
             "the memory of this process is limited (ulimit -%c), which may be why drivers find no device: raise the "
             "limit%s%s",
             space.rlim_cur == RLIM_INFINITY ? 'd' : 'v', remedy[0] == '\0' ? "" : "; else ", remedy);
    return text;
}

const char *note_remedy(const struct accel_plan_note *note, char text[DEVICE_REMEDY_BYTES])
{
    return note->level == ACCEL_NOTE_WARN && strcmp(note->key, "device") == 0 ? device_remedy(note->remedy, text)
                                                                              : note->remedy;
}

int unsupported_exit(const struct accel_error *error)
{
    return error->origin == ACCEL_FROM_MODEL ? EXIT_INPUT : EXIT_REFUSED;
}

int report_session_error(uint32_t json, const struct accel_error *error)
{
    char text[DEVICE_REMEDY_BYTES];
    const bool finds_none = error->code == ACCEL_E_NOT_FOUND && error->origin == ACCEL_FROM_DEVICE;

    if (error->origin == ACCEL_FROM_DRIVER)
        return report_error(json, error);
    /* An error in a setting of the command line or the environment is wrong usage; one in a profile is a fault of
     * the file. */
    if (error->origin == ACCEL_FROM_SETTING && (error->code == ACCEL_E_INVALID || error->code == ACCEL_E_NOT_FOUND))
        return report_error_as(json, EXIT_USAGE, error);
    if ((error->code == ACCEL_E_NOT_FOUND || error->code == ACCEL_E_DENIED) && error->origin != ACCEL_FROM_MODEL)
        return report_error_with(json, EXIT_REFUSED, error,
                                 finds_none ? device_remedy(error->remedy, text) : error->remedy);
    if (error->code == ACCEL_E_UNSUPPORTED)
        return report_error_as(json, unsupported_exit(error), error);
    if (error->code == ACCEL_E_LIMIT)
        return report_error_as(json, EXIT_SHORT, error);
    return report_error(json, error);
}

void print_json_lines(void)
{
    is_one_line = 1;
    crash_report_on_one_line();
}

int print_json(json_t *document, const char *schema)
{
    json_t *whole = json_object();
    int code = -1;

    document = json_finish(document);
    json_object_set_new(whole, "schema", json_string(schema));
    if (document != NULL && json_object_update(whole, document) == 0)
        code = json_dumpf(whole, output(), is_one_line ? JSON_COMPACT : JSON_INDENT(2));
    json_decref(document);
    json_decref(whole);
    if (code != 0 && document == NULL)
        return report_error_text(0, EXIT_FAILED, "ACCEL_E_INTERNAL", "a value is not UTF-8, and JSON cannot hold it",
                                 NULL);
    if (code != 0 || print_char('\n') == EOF)
        return EXIT_FAILED;
    /* A crash of a driver from here on is reported as text, since the document is complete. Lines may follow lines. */
    if (fflush(output()) == 0 && !is_one_line)
        crash_report_as_json(0);
    return EXIT_DONE;
}

/* Returns the columns of the standard output: of the terminal, else 100. */
static uint32_t output_width(void)
{
    struct winsize size = {0};

    if (!isatty(output_file()) || ioctl(output_file(), TIOCGWINSZ, &size) != 0 || size.ws_col < 40)
        return 100;
    return size.ws_col;
}

/* Returns the columns of a word: its characters. Wide and zero-width ones are rare here. */
static uint32_t columns(const char *text, size_t length)
{
    uint32_t count = 0;

    for (size_t i = 0; i < length; i++)
        count += ((unsigned char)text[i] & 0xc0u) != 0x80u;
    return count;
}

void print_wrapped(uint32_t column, uint32_t indent, const char *text)
{
    uint32_t width = output_width();
    uint32_t at = column;
    const char *word = text;

    while (*word != '\0') {
        size_t length = strcspn(word, " \n");
        uint32_t wide = columns(word, length);

        if (word != text && at + 1 + wide > width && at > indent) {
            print("\n%*s", (int)indent, "");
            at = indent;
        } else if (word != text) {
            print_char(' ');
            at++;
        }
        fwrite(word, 1, length, output());
        at += wide;
        word += length;
        word += strspn(word, " \n");
    }
    print_char('\n');
}

const char *bytes_text(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    uint32_t unit = 0;

    while (value >= 1024.0 && unit < 4) {
        value /= 1024.0;
        unit++;
    }
    if (unit == 0)
        snprintf(text, 32, "%llu B", (unsigned long long)bytes);
    else
        snprintf(text, 32, "%.*f %s", value < 10.0 ? 2 : 1, value, units[unit]);
    return text;
}

const char *seconds_text(double seconds, char text[32])
{
    const char *unit = seconds < 0.9995 ? "ms" : "s";
    double value = seconds < 0.9995 ? 1000 * seconds : seconds;

    snprintf(text, 32, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit);
    return text;
}

const char *short_places(const char *text, char *copy, size_t size)
{
    static const char ending[] = ".yaml";
    const char *end;
    size_t used = 0;

    while ((end = strstr(text, ending)) != NULL) {
        const char *slash = end;
        const char *begin;

        end += sizeof(ending) - 1;
        while (slash > text && *slash != '/' && *slash != ' ')
            slash--;
        begin = slash;
        while (begin > text && begin[-1] != ' ' && begin[-1] != '(')
            begin--;
        if (*slash == '/' && *begin == '/')
            used += (size_t)snprintf(copy + used, size - used, "%.*s%.*s", (int)(begin - text), text,
                                     (int)(end - slash - 1), slash + 1);
        else
            used += (size_t)snprintf(copy + used, size - used, "%.*s", (int)(end - text), text);
        if (used >= size)
            return copy;
        text = end;
    }
    snprintf(copy + used, size - used, "%s", text);
    return copy;
}

const char *real_place(const char *place, char *copy, size_t size)
{
    const char *slash = strrchr(place, '/');
    char folder[1024];
    char *real = NULL;

    if (slash != NULL && (size_t)(slash - place) < sizeof(folder)) {
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - place), place);
        real = realpath(folder, NULL);
    }
    snprintf(copy, size, "%s%s", real == NULL ? place : real, real == NULL ? "" : slash);
    free(real);
    return copy;
}

const char *paint(enum paint which)
{
    static const char *const sequences[] = {"\033[0m", "\033[1m", "\033[32m", "\033[31m"};
    const char *terminal = getenv("TERM");
    const char *refused = getenv("NO_COLOR");

    if (!isatty(output_file()) || (refused != NULL && refused[0] != '\0') || terminal == NULL ||
        strcmp(terminal, "dumb") == 0)
        return "";
    return sequences[which];
}
