/* SPDX-License-Identifier: Apache-2.0 */
/* Shared parts of commands over the tables of the profiles: options about the document, and opening and closing. */
#ifndef ACCELCTL_TABLES_H
#define ACCELCTL_TABLES_H

#include "tools/accelctl/common.h"
#include "tools/accelctl/print/page.h"
#include "tools/tables/tables.h"

/* Open tables; zeroed if none is open. */
struct opened_tables {
    struct accel_context *context;
    struct accel_tables *tables;
    enum format format;
};

/* Checks --format and --out, and reads the tables. Answers -1, or an exit code after an error has been printed;
 * close in both cases. */
int open_tables(const struct common *common, const char *format, const char *out, struct opened_tables *opened);
void close_tables(struct opened_tables *opened);

#endif
