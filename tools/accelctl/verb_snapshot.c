/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/common.h"
#include "tools/accelctl/target.h"

#include <accel/snapshot.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct snapshot_options {
    struct common common;
};

static const struct option_row options[] = {
    COMMON_OPTIONS(struct snapshot_options, common),
};

/* A snapshot is a JSON document of its own, so that --json changes nothing when it goes to the output. */
static int print_machine(struct accel_context *context, uint32_t json)
{
    struct accel_error error = {0};
    char *text = NULL;

    if (accel_snapshot_text(context, &text, NULL, &error) != ACCEL_OK)
        return say_error(json, &error);
    fputs(text, output());
    accel_snapshot_free(text);
    return EXIT_DONE;
}

static int write_file(struct accel_context *context, const char *path, uint32_t json)
{
    struct accel_error error = {0};
    struct stat facts = {0};

    if (accel_snapshot_write(context, path, &error) != ACCEL_OK)
        return say_output_error(json, &error, path);
    stat(path, &facts);
    if (json)
        return print_json(json_pack("{s:o, s:I}", "path", json_text(path), "bytes", (json_int_t)facts.st_size),
                          "accelctl/snapshot/1");
    print("%s: %" PRIu64 " bytes; replay it anywhere: accelctl devices --host %s\n", path, (uint64_t)facts.st_size,
          path);
    return EXIT_DONE;
}

static int run(int count, char **arguments, const struct verb *verb)
{
    struct snapshot_options chosen = {{0}};
    struct accel_context *context;
    int code = parse_options(verb, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    if (count > 0 && strcmp(arguments[0], "-") != 0)
        code = target_check(chosen.common.json, arguments[0], TARGET_JSON);
    if (code >= 0)
        return code;
    context = open_context(&chosen.common, &code);
    if (context == NULL)
        return code;
    if (count == 0 || strcmp(arguments[0], "-") == 0)
        code = print_machine(context, chosen.common.json);
    else
        code = write_file(context, arguments[0], chosen.common.json);
    close_context(context);
    return code;
}

const struct verb verb_snapshot = {
    .name = "snapshot",
    .summary = "write all that is known of this machine into one file, to be replayed elsewhere",
    .arguments = "[FILE]",
    .detail =
        "The file holds hwloc's description, limits, facts, hardware, devices, verdicts, plugins, what doctor looked "
        "at, "
        "and the profiles and variables in force. It names no user, host, serial number or network address. With "
        "--host FILE the verbs devices, plugins, doctor and plan answer for that machine, on any other; the devices "
        "of a recorded machine cannot be opened.",
    .example = "accelctl snapshot server.json && accelctl doctor --host server.json\nrecord a machine, and look at it "
               "anywhere",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .most = 1,
    .run = run,
};
