/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command of accelctl is a row: name, one line, arguments, options, function. Options are rows too: parsing, the
 * usage line and --help all come from them. Values are parsed into the command's own struct, at an offset.
 */
#ifndef ACCELCTL_COMMAND_H
#define ACCELCTL_COMMAND_H

#include <stddef.h>
#include <stdint.h>

/* Exit codes, as `accelctl --help` and the man page state them. */
enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,       /* a run or the machine failed */
    EXIT_USAGE = 2,        /* wrong arguments */
    EXIT_INPUT = 3,        /* a file is missing, malformed or not supported */
    EXIT_REFUSED = 4,      /* no such device, or policy denies a fallback */
    EXIT_SHORT = 5,        /* it does not fit in the memory budget, or memory ran out */
    EXIT_REMEDY = 6,       /* the doctor found what needs a remedy */
    EXIT_INTERRUPTED = 130 /* stopped by the user */
};

enum option_type {
    OPTION_FLAG,    /* uint32_t, set to 1 */
    OPTION_TEXT,    /* const char *, the last one counts; of lists "N,N..." every one */
    OPTION_NUMBER,  /* uint64_t */
    OPTION_NAMED,   /* struct named_number */
    OPTION_REAL,    /* double */
    OPTION_LIST,    /* struct text_list: every one counts */
    OPTION_LIMIT,   /* uint64_t; -1, llama.cpp's word for no limit, is UINT64_MAX */
    OPTION_SEED,    /* struct seed_choice; -1, llama.cpp's word for a random one, is SEED_DRAW */
    OPTION_SETTING, /* struct text_list: KEY=VALUE, of which habits.c has KEY; for a flag all of it */
    OPTION_ARGUMENT /* the value is an argument of the command: llama.cpp's -m FILE */
};

enum { LIST_MOST = 64 };

struct text_list {
    const char *items[LIST_MOST];
    const char *words[LIST_MOST]; /* of OPTION_SETTING: option and value as they were typed; else NULL */
    uint32_t count;
};

/* A number that becomes a setting: 0 if it was not given. */
struct named_number {
    uint64_t value;
    char text[24];   /* in digits */
    char origin[96]; /* "command line -c 512", with the option as it was typed */
};

enum { SEED_DEFAULT, SEED_GIVEN, SEED_DRAW, SEED_DRAWN };

struct seed_choice {
    uint64_t value;
    uint32_t origin; /* SEED_... */
};

struct option_row {
    const char *name; /* "json" */
    char letter;      /* 0: none */
    enum option_type type;
    size_t offset;        /* in the command's struct */
    const char *argument; /* "FILE" or "FOLDER", which completion offers names for, or another word; NULL for flags */
    const char *help;
    double least; /* of numbers; both 0: any that is not negative */
    double most;
};

enum { ACTION_FILES, ACTION_NAMES, ACTION_SETTINGS, ACTION_FACTS, ACTION_WORDS, ACTION_NOTHING };

/* Action of a command that has several: the first argument, such as "list" in "profile list". */
struct action_row {
    const char *name;
    const char *arguments; /* after the name: "NAME...", or "" */
    const char *summary;   /* one line */
    uint32_t least;        /* arguments after the name */
    uint32_t most;
    uint32_t completes; /* ACTION_...: what completion offers as arguments */
};

struct command {
    const char *name;
    const char *alias;     /* another name that is answered, as other programs call it, or NULL */
    const char *summary;   /* one line */
    const char *arguments; /* "MODEL", or "" */
    const char *detail;    /* further paragraphs of --help and of the man page, one line each, or "" */
    const char *example;   /* of a call and what it is for, two lines, for the man page */
    const struct option_row *options;
    uint32_t option_count;
    uint32_t least; /* arguments */
    uint32_t most;
    int (*run)(int count, char **arguments, const struct command *command);
    const struct action_row *actions; /* NULL: it has none */
    uint32_t action_count;
};

/* Parses options into `target`; *count and arguments are left with the positional arguments. Answers -1 to go on,
 * else an exit code (--help was given, or an error has been printed). */
int parse_options(const struct command *command, int *count, char **arguments, void *target);

/* Parses options as parse_options does; errors are JSON if `json` is set, whatever the options are. */
int parse_options_as(const struct command *command, int *count, char **arguments, uint32_t json, void *target);

/* Returns whether the arguments request JSON: --json or --json-lines, also with a value, which neither takes. After
 * --json-lines documents are one line each. */
uint32_t requests_json(int count, char *const *arguments);

/* Finds the action that the first of `count` arguments names, and checks the number of further arguments; NULL
 * after an error has been printed, with a suggestion for a misspelt name, and *out_exit set. */
const struct action_row *find_action(const struct command *command, int count, char **arguments, uint32_t json,
                                     int *out_exit);

/* Prints the help of a command. */
void print_command_help(const struct command *command);

/* All commands in the order of --help, ended by NULL. */
extern const struct command *const commands[];

#define COMMAND(name) extern const struct command command_##name;
#include "tools/accelctl/commands.def"
#undef COMMAND

/* The exit codes and the environment in words, as --help and the man pages give them: left, right, ended by a row of
 * NULL. */
struct word_row {
    const char *left;
    const char *right;
};
extern const struct word_row exit_rows[];
extern const struct word_row environment_rows[];

#endif
