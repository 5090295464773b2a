/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Tables beside the profiles: compatibility, claims and advice (accel/tables.h). The files are data; the room knows
 * nothing of what they speak about, and reads them strictly: an unknown name, a value that a setting does not take, a
 * number that its formula does not give, are errors with file:line:column.
 *
 * Ownership: tables own all of their strings. Threads: read-only once they were read. The room may include base,
 * profile, and device for the folder of a context.
 */
#ifndef ACCEL_CORE_TABLES_TABLES_H
#define ACCEL_CORE_TABLES_TABLES_H

#include <accel/tables.h>
#include <stdbool.h>
#include <stddef.h>

/** Which file a text is. */
enum accel_table_file { ACCEL_TABLE_COMPAT, ACCEL_TABLE_CLAIMS, ACCEL_TABLE_ADVICE };

/** Reads the three files of a folder. */
int32_t accel_tables_load(const char *folder, struct accel_tables **out_tables, struct accel_error *error);

/** Tables of one text alone, that of `path`; the others are empty. */
int32_t accel_tables_parse(enum accel_table_file file, const char *path, const char *data, size_t bytes,
                           struct accel_tables **out_tables, struct accel_error *error);

/**
 * The value of an arithmetic expression: decimal numbers, + - * /, brackets and blanks. False where the text is
 * anything else, divides by zero, or nests deeper than 32 brackets.
 */
bool accel_formula_value(const char *text, double *out_value);

/** Whether `number`, a decimal number as it is printed, is `value` rounded to as many places. */
bool accel_formula_agrees(const char *number, double value);

#endif
