/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what the user reads: errors as one line and a remedy, or as a JSON document; text wrapped to the
 * terminal; numbers for people; colours on a terminal only. */
#ifndef ACCELCTL_ERRORS_H
#define ACCELCTL_ERRORS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <accel/error.h>
#include <accel/plan.h>

#include "tools/accelctl/clean_text.h"
#include "tools/accelctl/output.h"

/* Prints an error: text and code name on the error output and the remedy on a line of its own, or all in a
 * document on the standard output. `remedy` may be NULL. Answers `exit_code`. */
int report_error_text(uint32_t json, int exit_code, const char *code, const char *text, const char *remedy);
/* As report_error_text, with a text that is formatted. */
int report_error_format(uint32_t json, int exit_code, const char *code, const char *remedy, const char *format, ...)
    __attribute__((__format__(__printf__, 5, 6)));

/* Prints an error of the library with its remedy; answers `exit_code`. */
int report_error_as(uint32_t json, int exit_code, const struct accel_error *error);

/* Prints an error of the library and answers the exit code that fits it. */
int report_error(uint32_t json, const struct accel_error *error);

/* Remedy for a thread or a process that could not be created: errno was EAGAIN. */
#define MEMORY_REMEDY "free memory, or let the process have more (ulimit -v)"
#define PROCESSES_REMEDY "let the user have more processes, threads among them (ulimit -u, pids.max)"

/* Remedy for a failure inside a driver, as far as one is known. */
#define OTHER_DEVICE "accelctl plugins lists the drivers; --device takes a device of another one"

/* Names the limit of this process that a driver, or a compiler below it, may exceed, as a remedy; NULL if there is
 * none. Async-signal-safe. */
const char *limit_remedy(void);

enum { DEVICE_REMEDY_BYTES = 1024 };
/* Returns the remedy of a note, with a memory limit before that of a driver that was refused. */
const char *note_remedy(const struct accel_plan_note *note, char text[DEVICE_REMEDY_BYTES]);

enum { SPACE_REMEDY_BYTES = 600 };

/* Composes a remedy for a `path` that could not be written; `native` is errno, 0 if it is not known. */
void space_remedy(int native, const char *path, char out_remedy[SPACE_REMEDY_BYTES]);

/* Prints an error of a file that could not be written: EXIT_FAILED, with a remedy. */
int report_output_error(uint32_t json, const struct accel_error *error, const char *path);

/* Prints an error of a run. A text that the context does not hold is wrong usage. */
int report_text_error(uint32_t json, const struct accel_error *error);

/* Prints an error from creating a session, in which "not found" is about a device, "invalid" about a setting. */
int report_session_error(uint32_t json, const struct accel_error *error);

/* Returns the exit code for what is not supported: by the model's family, whatever the device, or by the device. */
int unsupported_exit(const struct accel_error *error);

/* Returns text for a document. In file names that are not UTF-8 every byte above 127 becomes a question mark. */
json_t *json_text(const char *text);

/* Appends an item and takes it. After an item that could not be made (NULL), print_json and json_write report an error.
 */
void json_add(json_t *list, json_t *item);

/* Returns the document. After a json_add of NULL frees it and returns NULL. */
json_t *json_finish(json_t *document);

/* Returns a string of an object; empty if it has none of that key. */
const char *json_member_text(const json_t *object, const char *key);

/* Makes every document of print_json, errors among them, one line, for commands whose output is lines of JSON. */
void print_json_lines(void);

/* Prints a document with its schema name and frees it; answers an exit code. */
int print_json(json_t *document, const char *schema);

/* Prints text and a new line, wrapped at blanks to the output's width. The line already has `column` columns; the
 * next lines are indented by `indent`. */
void print_wrapped(uint32_t column, uint32_t indent, const char *text);

/* Formats bytes: "1.03 MiB". */
const char *bytes_text(uint64_t bytes, char text[32]);

/* Formats a time with three significant figures: "4.21 ms", "1.50 s". */
const char *seconds_text(double seconds, char text[32]);

/* Copies text with the folders of profiles left out: "base.yaml:38" for "/usr/share/accel/profiles/base.yaml:38". */
const char *short_places(const char *text, char *copy, size_t size);

/* Copies a place with the real folder of its file, without links and ..; copies a place without a file unchanged. */
const char *real_place(const char *place, char *copy, size_t size);

enum paint { PAINT_PLAIN, PAINT_HEADING, PAINT_GOOD, PAINT_BAD };

/* Returns the terminal's sequence for a colour, empty if the standard output is not coloured. */
const char *paint(enum paint which);

#endif
