/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command says: errors as one line and a remedy, or as a JSON document; text wrapped to the terminal; numbers
 * for people; colours on a terminal only.
 */
#ifndef ACCELCTL_SAY_H
#define ACCELCTL_SAY_H

#include <accel/error.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/accelctl/clean_text.h"
#include "tools/accelctl/output.h"

/* Says an error: text and code name on the error output and the remedy on a line of its own, or all in a document on
 * the standard output. `remedy` may be NULL. Answers `exit_code`. */
int say(uint32_t json, int exit_code, const char *code, const char *text, const char *remedy);

/* 1 where it came out of a driver. The library begins those errors with the driver's name. */
uint32_t is_of_driver(const struct accel_error *error);

/* Says an error of the library and answers the exit code that fits it. */
int say_error(uint32_t json, const struct accel_error *error);

/* What helps where a thread or a process could not be made: errno was EAGAIN. */
#define PROCESSES_REMEDY "let the user have more processes, threads among them (ulimit -u, pids.max)"

/* What helps where a driver is at its end, as far as is known. */
#define OTHER_DEVICE "accelctl plugins lists the drivers; --device takes a device of another one"

/* The limit of this process that a driver, or a compiler below it, does not bear, as a remedy; NULL where it has none.
 * May be called in a handler of a signal. */
const char *limit_remedy(void);

enum { ROOM_REMEDY = 600 };

/* What helps where `path` could not be written; `native` is errno, 0 where it is not known. */
void room_remedy(int native, const char *path, char out_remedy[ROOM_REMEDY]);

/* The same as say_error of a file that could not be written: EXIT_FAILED, with a remedy. */
int say_output_error(uint32_t json, const struct accel_error *error, const char *path);

/* The same for an error from making a session, where what is not found is a device and what is invalid a setting. */
int say_session_error(uint32_t json, const struct accel_error *error);

/* Text for a document, also where it is a name of a file and no UTF-8: every byte above 127 is a question mark then. */
json_t *json_text(const char *text);

/* Prints a document with its schema name and frees it; answers an exit code. */
int print_json(json_t *document, const char *schema);

/* Prints text and a new line, wrapped at blanks to the output's width. `column` have been printed already on this
 * line; the next lines are indented by `indent`. */
void print_wrapped(uint32_t column, uint32_t indent, const char *text);

/* Bytes for people: "1.03 MiB". */
const char *bytes_text(uint64_t bytes, char text[32]);

/* Copies text with the folders of profiles left out: "base.yaml:38" for "/usr/share/accel/profiles/base.yaml:38". */
const char *short_places(const char *text, char *copy, size_t size);

enum paint { PAINT_PLAIN, PAINT_HEADING, PAINT_GOOD, PAINT_BAD };

/* The terminal's sequence for a colour, empty where the standard output is to have none. */
const char *paint(enum paint which);

#endif
