/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a snapshot of the machine: the command snapshot. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/accelctl/target.h"
#include "tools/doctor/commands.h"
#include "tools/doctor/options.h"
#include "tools/doctor/snapshot.h"

/* Prints a snapshot, which is a JSON document of its own: --json does not change it. */
static int print_machine(struct accel_context *context, uint32_t json)
{
    struct accel_error error = {0};
    char *text = NULL;

    if (accel_snapshot_text(context, &text, NULL, &error) != ACCEL_OK)
        return report_error(json, &error);
    fputs(text, output());
    free(text);
    return EXIT_DONE;
}

static int write_file(struct accel_context *context, const char *path, uint32_t json)
{
    struct accel_error error = {0};
    struct stat facts = {0};

    if (accel_snapshot_write(context, path, &error) != ACCEL_OK)
        return report_output_error(json, &error, path);
    stat(path, &facts);
    if (json)
        return print_json(json_pack("{s:o, s:I}", "path", json_text(path), "bytes", (json_int_t)facts.st_size),
                          "accelctl/snapshot/1");
    print("%s: %" PRIu64 " bytes; replay it anywhere: accelctl devices --host %s\n", path, (uint64_t)facts.st_size,
          path);
    return EXIT_DONE;
}

int record_machine(int count, char **arguments)
{
    struct snapshot_options chosen = {{0}};
    struct accel_context *context;
    int code = parse_options(&command_snapshot, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    if (count > 0 && strcmp(arguments[0], "-") != 0)
        code = target_check(chosen.common.json, arguments[0], TARGET_JSON);
    if (code >= 0)
        return code;
    context = open_to_diagnose(&chosen.common, &code);
    if (context == NULL)
        return code;
    if (count == 0 || strcmp(arguments[0], "-") == 0)
        code = print_machine(context, chosen.common.json);
    else
        code = write_file(context, arguments[0], chosen.common.json);
    close_context(context);
    return code;
}
