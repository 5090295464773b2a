/* SPDX-License-Identifier: Apache-2.0 */
/* Separates the command's standard output and error output from those of the process: drivers and the libraries below
 * them print to the latter. A document that the command prints stays whole, and what drivers print can be filtered. */
#ifndef ACCELCTL_OUTPUT_H
#define ACCELCTL_OUTPUT_H

#include <stdio.h>

/* Redirects the standard output of this process to its error output; called once, before anything is printed.
 * Drivers and libraries then cannot write into the command's output. If there is no standard output, output()
 * fails as writing to it would. */
void output_begin(void);

/* Restores the standard output and error output for another program that replaces this one. */
void output_give_back(void);

/* Stream to which the command prints, in place of stdout. */
FILE *output(void);

/* Returns the descriptor of output(). Async-signal-safe. */
int output_file(void);

/* Stream to which the command prints errors, notes and progress, in place of stderr; unbuffered. */
FILE *error_output(void);

/* Returns the descriptor of error_output(). Async-signal-safe. */
int error_output_file(void);

/* Print to output(), as printf and putchar do. */
int print(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));
int print_char(int character);

/* Starts a thread that strips escape sequences and other controls from what drivers and libraries print, on its
 * way to the error output: all of their standard output, and their error output if it is a terminal. A file
 * gets their error output unchanged, so that reports of sanitizers and of aborts are complete there. Without the
 * thread all of it goes to the error output unchanged. */
void filter_begin(void);
/* Writes the rest, and stops the filter. */
void filter_end(void);
/* Writes the available bytes before the process ends. Async-signal-safe. */
void filter_drain(void);

#endif
