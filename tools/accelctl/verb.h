/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A verb of the command is a row: name, one line, arguments, options, function. Options are rows too: parsing, the
 * usage line and --help all come from them. Values are parsed into the verb's own struct, at an offset.
 */
#ifndef ACCELCTL_VERB_H
#define ACCELCTL_VERB_H

#include <stddef.h>
#include <stdint.h>

/* Exit codes, as `accelctl --help` and the man page state them. */
enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,       /* a run or the machine failed */
    EXIT_USAGE = 2,        /* wrong arguments */
    EXIT_INPUT = 3,        /* a file is missing, malformed or not supported */
    EXIT_REFUSED = 4,      /* no such device, or policy denies a fallback */
    EXIT_SHORT = 5,        /* it does not fit in the memory budget */
    EXIT_REMEDY = 6,       /* the doctor found what needs a remedy */
    EXIT_INTERRUPTED = 130 /* stopped by the user */
};

enum option_type {
    OPTION_FLAG,   /* uint32_t, set to 1 */
    OPTION_TEXT,   /* const char *, the last one counts */
    OPTION_NUMBER, /* uint64_t */
    OPTION_REAL,   /* double */
    OPTION_LIST    /* struct text_list: every one counts */
};

enum { LIST_MOST = 64 };

struct text_list {
    const char *items[LIST_MOST];
    uint32_t count;
};

struct option_row {
    const char *name; /* "json" */
    char letter;      /* 0: none */
    enum option_type type;
    size_t offset;        /* in the verb's struct */
    const char *argument; /* "FILE" or "FOLDER", which completion offers names for, or another word; NULL for flags */
    const char *help;
    double least; /* of numbers; both 0: any that is not negative */
    double most;
};

enum { ACTION_FILES, ACTION_NAMES, ACTION_SETTINGS, ACTION_FACTS, ACTION_NOTHING };

/* What the first argument of a verb may be, where a verb does several things: "profile list". */
struct action_row {
    const char *name;
    const char *arguments; /* after the name: "NAME...", or "" */
    const char *summary;   /* one line */
    uint32_t least;        /* arguments after the name */
    uint32_t most;
    uint32_t completes; /* ACTION_...: what completion offers as arguments */
};

struct verb {
    const char *name;
    const char *summary;   /* one line */
    const char *arguments; /* "MODEL", or "" */
    const char *detail;    /* further paragraphs of --help and of the man page, one line each, or "" */
    const char *example;   /* of a call and what it is for, two lines, for the man page */
    const struct option_row *options;
    uint32_t option_count;
    uint32_t least; /* arguments */
    uint32_t most;
    int (*run)(int count, char **arguments, const struct verb *verb);
    const struct action_row *actions; /* NULL: it has none */
    uint32_t action_count;
};

/* Parses options into `target`; *count and arguments are left with what is no option. Answers -1 to go on, else an exit
 * code (--help was asked for, or something is wrong and has been said). */
int parse_options(const struct verb *verb, int *count, char **arguments, void *target);

/* The action that the first of `count` arguments names, whose number of further arguments is right; NULL after an error
 * has been said, with a suggestion where the name is misspelt, and *out_exit set. */
const struct action_row *find_action(const struct verb *verb, int count, char **arguments, uint32_t json,
                                     int *out_exit);

/* Prints the help of a verb. */
void print_verb_help(const struct verb *verb);

/* All verbs in the order of --help, ended by NULL. */
extern const struct verb *const verbs[];

#define VERB(name) extern const struct verb verb_##name;
#include "tools/accelctl/verbs.def"
#undef VERB

/* How many letters have to change from one short word to another; WORD_MOST where either has as many. */
enum { WORD_MOST = 64 };
uint32_t word_distance(const char *a, const char *b);
/* 1 where `other` may have been meant by `word` and is nearer than *least, which is then its distance. */
uint32_t is_nearer(const char *word, const char *other, uint32_t *least);

/* The exit codes and the environment in words, as --help and the man pages give them: left, right, ended by a row of
 * NULL. */
struct word_row {
    const char *left;
    const char *right;
};
extern const struct word_row exit_rows[];
extern const struct word_row environment_rows[];

#endif
