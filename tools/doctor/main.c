/* SPDX-License-Identifier: Apache-2.0 */
/* accelctl-doctor, the program of the commands doctor and snapshot: accelctl starts it with the command as its first
 * argument. It is linked with the core's objects instead of libaccel, since both commands report what no public header
 * has: limits of the machine, faults of profiles, hwloc's description. */
#include "config.h"

#include <string.h>

#include "tools/accelctl/command.h"
#include "tools/accelctl/errors.h"
#include "tools/accelctl/start.h"
#include "tools/doctor/commands.h"

const struct command *const commands[] = {&command_doctor, &command_snapshot, NULL};

static int act(int count, char **arguments)
{
    const char *name = count > 0 ? arguments[0] : "";

    if (strcmp(name, command_doctor.name) == 0)
        return report_machine(count - 1, arguments + 1);
    if (strcmp(name, command_snapshot.name) == 0)
        return record_machine(count - 1, arguments + 1);
    return report_error_text(0, EXIT_USAGE, "usage", "accelctl-doctor is started by accelctl",
                             "accelctl doctor, or accelctl snapshot");
}

int main(int count, char **arguments)
{
    return run_process(act, count, arguments);
}
