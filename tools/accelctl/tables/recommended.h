/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the documents' tables of recommendations as text (on the standard output), JSON and HTML: enum format is
 * the index. `data` is a struct accel_tables. */
#ifndef ACCELCTL_RECOMMENDED_H
#define ACCELCTL_RECOMMENDED_H

#include <stdio.h>

extern int (*const recommendation_writers[3])(FILE *out, void *data);

#endif
