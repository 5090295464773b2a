/* SPDX-License-Identifier: Apache-2.0 */
/* The command's standard output, which is its own: drivers and the libraries below them write to the standard output of
 * the process as they like, and a document that the command prints stays whole. */
#ifndef ACCELCTL_OUTPUT_H
#define ACCELCTL_OUTPUT_H

#include <stdio.h>

/* Once, before anything is printed: what others write to the standard output of this process goes to its error output
 * from now on. Where there is no standard output, output() refuses what is written, as that would. */
void output_begin(void);

/* Puts it back for another program that takes the place of this one. */
void output_give_back(void);

/* Where the command prints, in place of stdout. */
FILE *output(void);

/* Its file. Also in a handler of a signal. */
int output_file(void);

/* printf and putchar of output(). */
int print(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));
int print_char(int character);

#endif
