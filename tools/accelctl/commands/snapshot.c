/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the row of the command snapshot: tools/doctor is the program. */
#include "config.h"

#include "tools/accelctl/external.h"
#include "tools/doctor/options.h"

static const struct option_row options[] = {
    COMMON_OPTIONS(struct snapshot_options, common),
};

const struct command command_snapshot = {
    .name = "snapshot",
    .summary = "record all that is known of this machine in a file, to replay it elsewhere",
    .arguments = "[FILE]",
    .detail = "The file holds the description of hwloc, limits, facts, hardware, devices, verdicts, plugins, the "
              "checks of doctor, and the profiles and variables in force. It names no user, host, serial number or "
              "network address. With --host FILE the commands devices, plugins, doctor and plan answer for the "
              "recorded machine on any other; the devices of a recorded machine cannot be opened.",
    .example = "accelctl snapshot server.json && accelctl doctor --host server.json\nrecord a machine, and check it on "
               "another one",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .most = 1,
    .run = run_doctor,
};
