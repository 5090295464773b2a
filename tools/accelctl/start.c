/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/accelctl/command.h"
#include "tools/accelctl/crash_report.h"
#include "tools/accelctl/errors.h"
#include "tools/accelctl/process_memory.h"
#include "tools/accelctl/watchdog.h"

/* Opens /dev/null for a standard input or error output that the caller closed, since the next opened file would
 * get its descriptor. output_begin handles the standard output. */
static void fill_standard_file(int handle, int mode)
{
    int null;

    if (fcntl(handle, F_GETFD) >= 0 || errno != EBADF)
        return;
    null = open("/dev/null", mode);
    if (null >= 0 && null != handle) {
        dup2(null, handle);
        close(null);
    }
}

int run_process(int (*act)(int count, char **arguments), int count, char **arguments)
{
    int code;

    crash_report_as_json(requests_json(count, arguments));
    watchdog_begin();
    fill_standard_file(STDIN_FILENO, O_RDONLY);
    fill_standard_file(STDERR_FILENO, O_WRONLY);

    output_begin();
    process_memory_begin();
    /* Disables hwloc's plugins, which would open the libraries of vendors in this process; drivers do that. */
    setenv("HWLOC_PLUGINS_PATH", "", 1);
    /* Ignores SIGXFSZ, so that a file size limit (ulimit -f) is reported as an error of the write, and does not
     * end the command silently. */
    signal(SIGXFSZ, SIG_IGN);
    code = act(count, arguments);
    filter_end();
    if (fflush(output()) != 0 || ferror(output())) {
        report_error_text(0, EXIT_FAILED, "ACCEL_E_IO", "cannot write to the standard output",
                          "free disk space where it goes, or send it to a file or pipe that takes it");
        code = code == EXIT_DONE ? EXIT_FAILED : code;
    }
    watchdog_done();
    return code;
}
