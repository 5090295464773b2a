/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the row of the command doctor: tools/doctor is the program. */
#include "config.h"

#include "tools/accelctl/external.h"
#include "tools/doctor/options.h"

static const struct option_row options[] = {
    {"all", 'a', OPTION_FLAG, offsetof(struct doctor_options, all), NULL,
     "also list the checks that pass, and the place that each row was read from", 0, 0},
    {"measure", 'm', OPTION_FLAG, offsetof(struct doctor_options, measure), NULL,
     "measure the bandwidth of main memory, which takes about a second, and store it for the plans of this host", 0, 0},
    COMMON_OPTIONS(struct doctor_options, common),
};

const struct command command_doctor = {
    .name = "doctor",
    .summary = "find what keeps this machine from running models, and print remedies",
    .arguments = "",
    .detail =
        "Checks limits of processors and memory, folders, plugins, and for each accelerator kernel modules, device "
        "nodes, groups, libraries and their versions. Changes nothing and loads no vendor library. The requirements of "
        "each vendor's hardware are in doctor.yaml of the profiles.\n"
        "The line GPU states whether an accelerator is chosen automatically, and if not, the first cause.\n"
        "The exit status is 6 if a row is bad: something cannot be used, and its remedy states what to do.",
    .example = "accelctl doctor --all\nlists every check with its result and source",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .run = run_doctor,
};
