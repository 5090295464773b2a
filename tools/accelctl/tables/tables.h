/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the tables of the profiles for the commands matrix and claims, which share --format and --out. */
#ifndef ACCELCTL_TABLES_H
#define ACCELCTL_TABLES_H

#include "tools/accelctl/common.h"
#include "tools/accelctl/print/page.h"
#include "tools/tables/tables.h"

/* Open tables; all zero if none is open. */
struct opened_tables {
    struct accel_context *context;
    struct accel_tables *tables;
    enum format format;
};

/* Checks --format and --out, and reads the tables. Returns -1, or an exit code after an error has been printed;
 * call close_tables in both cases. */
int open_tables(const struct common *common, const char *format, const char *out, struct opened_tables *opened);
void close_tables(struct opened_tables *opened);

#endif
