/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/conform/options.h"

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define ROUNDS 3u
#define MOST_NUMBER 1000000u

enum kind { FLAG, TEXT, PAIR, NUMBER, SEED };

/* A command-line option; its member of struct run_options is a bool, a text, a uint32_t, the seed, or the list of
 * pairs. */
struct row {
    const char *name;
    enum kind kind;
    size_t place;
    const char *value; /* name of the value in the help */
    const char *help;  /* NULL: internal option */
};

#define ROW(name_, kind_, member_, value_, help_)                                                                      \
    {                                                                                                                  \
        name_, kind_, offsetof(struct run_options, member_), value_, help_                                             \
    }

static const struct row rows[] = {
    ROW("device", TEXT, device, "ID", "device of the driver; the first one without it"),
    ROW("filter", TEXT, filter, "GLOB", "tests whose name fits: 'matmul/*'"),
    ROW("list", FLAG, is_list, "", "print the names of the tests and end"),
    ROW("seed", SEED, seed, "N", "numbers of the random shapes and values; the clock's without it"),
    ROW("rounds", NUMBER, rounds, "N", "random cases of a test beside the fixed ones (3)"),
    ROW("cases", NUMBER, cases, "N", "at most N cases of a test: a quick look, or a slow tool that watches"),
    ROW("from", NUMBER, from, "N", "leave the cases of operators before the Nth out"),
    ROW("deadline", NUMBER, deadline, "SECONDS", "of one test (120)"),
    ROW("jobs", NUMBER, jobs, "N", "tests that run at the same time (1); more on processors than on a GPU"),
    ROW("set", PAIR, set, "NAME=VALUE", "an option of the driver, for tests that run programs; up to four times"),
    ROW("json", FLAG, is_json, "", "print JSON"),
    ROW("certificate", TEXT, certificate, "FILE",
        "where to write the certificate; in the user's cache folder without it"),
    ROW("known", TEXT, known, "FILE", "expected failures; conformance.yaml beside the driver without it"),
    ROW("child", TEXT, child, "TEST", NULL),
};

#define ROWS (sizeof(rows) / sizeof(*rows))

/* Return values of getopt beside the row numbers. */
enum { SHOW_HELP = 'h', SHOW_VERSION = 'v' };

static void print_help(FILE *file)
{
    fputs("usage: accel-conform DRIVER.so [options]\n", file);
    for (size_t i = 0; i < ROWS; i++) {
        int width = 16 - (int)strlen(rows[i].name);

        if (rows[i].help != NULL)
            fprintf(file, "  --%s %-*s %s\n", rows[i].name, width, rows[i].value, rows[i].help);
    }
    fputs("  --help, --version\n"
          "exit status: 0 no failure, 1 failures, 2 it could not be run, or not print\n",
          file);
}

int options_complain(const char *text, const char *value)
{
    fprintf(stderr, "accel-conform: %s%s\n", text, value);
    return RUN_EXIT_USAGE;
}

static bool read_number(const char *text, uint64_t most, uint64_t *out_number)
{
    char *end = NULL;

    *out_number = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && *out_number <= most;
}

static int read_pair(struct run_options *options, const char *value)
{
    if (strchr(value, '=') == NULL)
        return options_complain("an option of the driver is NAME=VALUE, and not ", value);
    if (options->set_count == CONFORM_SETTINGS)
        return options_complain("more options of the driver than can be set: ", value);
    options->set[options->set_count++] = value;
    return -1;
}

/* Parses the value of an option. Returns -1 to continue, otherwise the exit status. */
static int read_row(struct run_options *options, const struct row *row, const char *value)
{
    void *member = (char *)options + row->place;
    uint64_t number = 0;

    if (row->kind == PAIR)
        return read_pair(options, value);
    if ((row->kind == SEED || row->kind == NUMBER) &&
        !read_number(value, row->kind == SEED ? INT64_MAX : MOST_NUMBER, &number))
        return options_complain(
            row->kind == SEED ? "no number up to 9223372036854775807: " : "no number up to 1000000: ", value);
    if (row->kind == FLAG)
        *(bool *)member = true;
    else if (row->kind == SEED)
        *(uint64_t *)member = number;
    else if (row->kind == NUMBER)
        *(uint32_t *)member = (uint32_t)number;
    else
        *(const char **)member = value;
    return -1;
}

static int read_option(struct run_options *options, int letter, const char *value)
{
    if (letter >= 256 && letter < 256 + (int)ROWS)
        return read_row(options, &rows[letter - 256], value);
    if (letter == SHOW_VERSION)
        printf("accel-conform %s\n", PACKAGE_VERSION);
    else
        print_help(letter == SHOW_HELP ? stdout : stderr);
    return letter == SHOW_VERSION || letter == SHOW_HELP ? 0 : RUN_EXIT_USAGE;
}

/* Returns whether a path names a regular file, or nothing: another would block the reader, as a FIFO does. */
static bool is_file(const char *path)
{
    struct stat status;

    return stat(path, &status) != 0 || S_ISREG(status.st_mode);
}

static bool is_elf(const char *path)
{
    FILE *file = is_file(path) ? fopen(path, "re") : NULL;
    char begin[4] = "";
    size_t length = file == NULL ? 0 : fread(begin, 1, sizeof(begin), file);

    if (file != NULL)
        fclose(file);
    return length == sizeof(begin) && memcmp(begin, "\177ELF", sizeof(begin)) == 0;
}

static int read_driver(struct run_options *options, int count, char **arguments)
{
    if (optind + 1 != count)
        return options_complain("one driver file is needed; ", "accel-conform --help");
    options->driver = arguments[optind];
    if (realpath(options->driver, options->path) == NULL)
        return options_complain("no such file (accelctl plugins prints where drivers lie): ", options->driver);
    if (!is_elf(options->path))
        return options_complain("no shared object, which a driver is: ", options->driver);
    return -1;
}

bool options_are_partial(const struct run_options *options)
{
    return options->filter != NULL || options->cases != 0 || options->from != 0 || options->set_count != 0;
}

int options_read(struct run_options *options, int count, char **arguments)
{
    struct option list[ROWS + 3] = {{NULL, 0, NULL, 0}};
    int letter;

    options->rounds = ROUNDS;
    options->deadline = RUN_DEADLINE;
    options->jobs = 1;
    options->seed = (uint64_t)time(NULL);
    for (size_t i = 0; i < ROWS; i++)
        list[i] =
            (struct option){rows[i].name, rows[i].kind == FLAG ? no_argument : required_argument, NULL, 256 + (int)i};
    list[ROWS] = (struct option){"help", no_argument, NULL, SHOW_HELP};
    list[ROWS + 1] = (struct option){"version", no_argument, NULL, SHOW_VERSION};
    while ((letter = getopt_long(count, arguments, "h", list, NULL)) != -1) {
        int status = read_option(options, letter, optarg);

        if (status >= 0)
            return status;
    }
    if (options->jobs == 0)
        return options_complain("--jobs takes at least 1, and not ", "0");
    if (options->is_list)
        return -1;
    if (options->known != NULL && !is_file(options->known))
        return options_complain("--known is no file: ", options->known);
    if (options->certificate != NULL && options_are_partial(options))
        return options_complain(
            "a certificate needs all tests as they are: no --filter, no --cases, no --from, no --set", "");
    return read_driver(options, count, arguments);
}
