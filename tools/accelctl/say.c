/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/say.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tools/accelctl/space.h"
#include "tools/accelctl/verb.h"

/* One line whatever a file's name contains. */
static void print_line(const char *before, const char *text, const char *after)
{
    char line[4096];

    fprintf(stderr, "%s%s%s\n", before, clean_text(text, line, sizeof line), after);
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

/* "plan: ..." is wrong usage of that verb, and its help says what is right; other texts have none, or their own. */
static const char *usage_remedy(const char *code, const char *text, char remedy[80])
{
    size_t length = strcspn(text, ":");

    for (uint32_t i = 0; strcmp(code, "usage") == 0 && verbs[i] != NULL; i++)
        if (strlen(verbs[i]->name) == length && strncmp(text, verbs[i]->name, length) == 0) {
            snprintf(remedy, 80, "accelctl %s --help lists arguments and options", verbs[i]->name);
            return remedy;
        }
    return "";
}

int say(uint32_t json, int exit_code, const char *code, const char *text, const char *remedy)
{
    char tail[64], usage[80];

    if (remedy == NULL || remedy[0] == '\0')
        remedy = usage_remedy(code, text, usage);
    if (json) {
        json_t *error = json_pack("{s:{s:s, s:o, s:o, s:i}}", "error", "code", code, "text", json_text(text), "remedy",
                                  json_text(remedy), "exit", exit_code);

        return print_json(error, "accelctl/error/1") == EXIT_DONE ? exit_code : EXIT_FAILED;
    }
    snprintf(tail, sizeof tail, " (%s)", code);
    print_line("accelctl: ", text, strcmp(code, "usage") == 0 ? "" : tail);
    if (remedy[0] != '\0')
        print_line("  remedy: ", remedy, "");
    return exit_code;
}

uint32_t is_of_driver(const struct accel_error *error)
{
    return strncmp(error->text, "driver ", 7) == 0;
}

/* Fewer open files than this and compilers of drivers cannot read what they are made of. */
#define FEW_FILES ((rlim_t)64)

/* What compilers of drivers write is smaller. */
#define SMALL_FILES ((rlim_t)64 << 20)

/* What systems give. Kernels of matrix units take hundreds of KiB of it, compilers of drivers more. */
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

int say_error(uint32_t json, const struct accel_error *error)
{
    int exit_code = EXIT_FAILED;
    char full[SPACE_TEXT];

    switch (error->code) {
    case ACCEL_E_CORRUPT:
    case ACCEL_E_UNSUPPORTED:
    case ACCEL_E_IO:
    case ACCEL_E_NOT_FOUND:
    case ACCEL_E_INVALID:
    case ACCEL_E_DENIED:
    case ACCEL_E_LIMIT:
        /* A driver that fails is no file that is malformed; what it does not support does not run there. */
        exit_code = !is_of_driver(error) ? EXIT_INPUT : error->code == ACCEL_E_UNSUPPORTED ? EXIT_REFUSED : EXIT_FAILED;
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
    /* A compiler that does not get its files onto the disk says so in words of its own, if at all. */
    if (error->remedy[0] == '\0' && strstr(error->text, "compiler refuses") != NULL && space_is_short(full))
        return say(json, exit_code, accel_error_name(error->code), error->text, full);
    return say(json, exit_code, accel_error_name(error->code), error->text,
               error->remedy[0] == '\0' && is_of_driver(error) ? limit_remedy() : error->remedy);
}

void room_remedy(int native, const char *path, char out_remedy[ROOM_REMEDY])
{
    const char *slash = strrchr(path, '/');
    int length = slash == NULL || slash - path > 400 ? 0 : slash == path ? 1 : (int)(slash - path);
    struct rlimit limit;

    if (native == EFBIG && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        snprintf(out_remedy, ROOM_REMEDY, "files of this process may have %llu bytes (ulimit -f): raise the limit",
                 (unsigned long long)limit.rlim_cur);
        return;
    }
    snprintf(out_remedy, ROOM_REMEDY, "make room on the disk of %.*s, or name a file in a folder that may be written",
             length == 0 ? 15 : length, length == 0 ? "its folder" : path);
}

int say_output_error(uint32_t json, const struct accel_error *error, const char *path)
{
    char remedy[ROOM_REMEDY];

    if (error->code == ACCEL_E_MEMORY || is_of_driver(error))
        return say_error(json, error);
    room_remedy(error->native, path, remedy);
    return say(json, EXIT_FAILED, accel_error_name(error->code), error->text,
               error->remedy[0] != '\0' ? error->remedy : remedy);
}

/* Loaders of drivers find none where they get no memory, and say no more: where that is limited it is named first. */
static const char *device_remedy(const struct accel_error *error, char remedy[1024])
{
    struct rlimit space, data;

    if (error->code != ACCEL_E_NOT_FOUND || strncmp(error->text, "there is no device ", 19) != 0 ||
        getrlimit(RLIMIT_AS, &space) != 0 || getrlimit(RLIMIT_DATA, &data) != 0 ||
        (space.rlim_cur == RLIM_INFINITY && data.rlim_cur == RLIM_INFINITY))
        return error->remedy;
    snprintf(remedy, 1024,
             "the memory of this process is limited (ulimit -%c), which may be why drivers find no device: raise the "
             "limit; else %s",
             space.rlim_cur == RLIM_INFINITY ? 'd' : 'v', error->remedy);
    return remedy;
}

int say_session_error(uint32_t json, const struct accel_error *error)
{
    char remedy[1024];

    /* What the command line or the environment set is wrong usage; what a profile set is a file's fault. */
    uint32_t given = strstr(error->text, "command line --set") != NULL || strncmp(error->text, "environment ", 12) == 0;

    if (is_of_driver(error))
        return say_error(json, error);
    if (given && (error->code == ACCEL_E_INVALID || error->code == ACCEL_E_NOT_FOUND))
        return say(json, EXIT_USAGE, accel_error_name(error->code), error->text, error->remedy);
    if (error->code == ACCEL_E_NOT_FOUND || error->code == ACCEL_E_DENIED || error->code == ACCEL_E_UNSUPPORTED)
        return say(json, EXIT_REFUSED, accel_error_name(error->code), error->text, device_remedy(error, remedy));
    if (error->code == ACCEL_E_LIMIT)
        return say(json, EXIT_SHORT, accel_error_name(error->code), error->text, error->remedy);
    return say_error(json, error);
}

int print_json(json_t *document, const char *schema)
{
    json_t *whole = json_object();
    int code = -1;

    json_object_set_new(whole, "schema", json_string(schema));
    if (document != NULL && json_object_update(whole, document) == 0)
        code = json_dumpf(whole, output(), JSON_INDENT(2));
    json_decref(document);
    json_decref(whole);
    if (code != 0 && document == NULL)
        return say(0, EXIT_FAILED, "ACCEL_E_INTERNAL", "a value is not UTF-8, and JSON cannot hold it", NULL);
    return code != 0 || print_char('\n') == EOF ? EXIT_FAILED : EXIT_DONE;
}

/* Columns of the standard output: of the terminal, else 100. */
static uint32_t output_width(void)
{
    struct winsize size = {0};

    if (!isatty(output_file()) || ioctl(output_file(), TIOCGWINSZ, &size) != 0 || size.ws_col < 40)
        return 100;
    return size.ws_col;
}

/* Columns of a word: its characters. Wider and narrower ones are rare here. */
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

const char *short_places(const char *text, char *copy, size_t size)
{
    static const char ending[] = ".yaml";
    const char *end;
    size_t used = 0;

    while ((end = strstr(text, ending)) != NULL) {
        const char *slash = end;
        const char *begin;

        end += sizeof ending - 1;
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
