/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the row of the command doctor: tools/doctor is the program. */
#include "config.h"

#include "tools/accelctl/external.h"
#include "tools/doctor/options.h"

static const struct option_row options[] = {
    {"all", 'a', OPTION_FLAG, offsetof(struct doctor_options, all), NULL,
     "what is as it should be, too, with the place that each row was read from", 0, 0},
    {"measure", 'm', OPTION_FLAG, offsetof(struct doctor_options, measure), NULL,
     "measure how fast memory is read, about a second, and keep it for the plans of this host", 0, 0},
    COMMON_OPTIONS(struct doctor_options, common),
};

const struct command command_doctor = {
    .name = "doctor",
    .summary = "what of this machine stands in the way, and what to do about it",
    .arguments = "",
    .detail =
        "Looks at limits of processors and memory, folders, plugins and every accelerator: the kernel's modules, "
        "device nodes and groups, libraries and their versions. Nothing is changed and no library of a maker is "
        "loaded. "
        "What a maker's hardware needs stands in doctor.yaml of the profiles.\n"
        "The line GPU answers whether an accelerator is chosen automatically, and if not, what comes first of what is "
        "in its way.\n"
        "The exit status is 6 where a row is bad: something cannot be used, and its remedy says what to do.",
    .example = "accelctl doctor --all\nevery check, with what was found and where",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .run = run_doctor,
};
