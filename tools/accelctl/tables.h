/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs over the tables of the profiles share: their options about the document, and opening and closing. */
#ifndef ACCELCTL_TABLES_H
#define ACCELCTL_TABLES_H

#include <accel/tables.h>

#include "tools/accelctl/common.h"
#include "tools/accelctl/page.h"

/* Zeroed: nothing is open. */
struct opened_tables {
    struct accel_context *context;
    struct accel_tables *tables;
    enum format format;
};

/* Checks --format and --out, and reads the tables. Answers -1, or an exit code after saying what is wrong; close in
 * both cases. */
int open_tables(const struct common *common, const char *format, const char *out, struct opened_tables *opened);
void close_tables(struct opened_tables *opened);

#endif
