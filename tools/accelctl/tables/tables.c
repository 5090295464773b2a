/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/tables/tables.h"

#include "tools/accelctl/target.h"

int open_tables(const struct common *common, const char *format, const char *out, struct opened_tables *opened)
{
    struct accel_error error = {0};
    int code = parse_output_format(format, common->json, out, &opened->format);

    if (code < 0)
        code = target_check(common->json, out, opened->format == FORMAT_HTML ? TARGET_HTML : TARGET_JSON);
    if (code >= 0)
        return code;
    opened->context = open_context(common, &code);
    if (opened->context == NULL)
        return code;
    if (accel_tables_read(opened->context, &opened->tables, &error) != ACCEL_OK)
        return report_error(common->json, &error);
    return -1;
}

void close_tables(struct opened_tables *opened)
{
    accel_tables_free(opened->tables);
    if (opened->context != NULL)
        close_context(opened->context);
}
