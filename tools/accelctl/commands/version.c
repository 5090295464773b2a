/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/common.h"

struct version_options {
    uint32_t json;
};

static const struct option_row options[] = {
    {"json", 0, OPTION_FLAG, offsetof(struct version_options, json), NULL,
     "print one JSON document, errors too, with the name of its schema", 0, 0},
};

static int run(int count, char **arguments, const struct command *command)
{
    struct version_options chosen = {0};
    int code = parse_options(command, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    if (chosen.json)
        return print_json(json_pack("{s:s, s:s, s:s, s:{s:i, s:i}}", "origin", "builtin", "command", PACKAGE_VERSION,
                                    "library", accel_version(), "abi", "major", (int)ACCEL_ABI_MAJOR, "minor",
                                    (int)ACCEL_ABI_MINOR),
                          "accelctl/version/1");
    print("accelctl %s, libaccel %s, driver ABI %u.%u\n", PACKAGE_VERSION, accel_version(), ACCEL_ABI_MAJOR,
          ACCEL_ABI_MINOR);
    return EXIT_DONE;
}

const struct command command_version = {.name = "version",
                                        .summary = "print the versions of the command, the library and the driver ABI",
                                        .arguments = "",
                                        .detail = "The version of the driver ABI is MAJOR.MINOR.",
                                        .example = "accelctl version --json\nthe versions for a script",
                                        .options = options,
                                        .option_count = 1,
                                        .run = run};
