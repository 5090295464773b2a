/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands, and the exit codes and environment of accelctl in words. */
#include "config.h"

#include "tools/accelctl/command.h"

const struct command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "tools/accelctl/commands.def"
#undef COMMAND
    NULL,
};

const struct word_row exit_rows[] = {
    {"0", "done"},
    {"1", "a run, the machine (a full disk, a limit of the process) or the output failed"},
    {"2",
     "wrong usage: options, values and settings of the command line; settings, limits and paths of the environment"},
    {"3", "a file is missing, malformed or not supported, or it shrank while it was in use"},
    {"4", "the device or platform does not exist, the model does not run on it, or policy denies the fallback that it "
          "needs"},
    {"5", "the model does not fit in memory, or one allocation exceeds the limit of the device"},
    {"6", "doctor found something that cannot be used, and prints a remedy"},
    {"130", "interrupted; 143 if SIGTERM ended the command while a driver did not return"},
    {"139",
     "a driver crashed, and the error names it: 128 plus the number of the signal, here SIGSEGV; 134 is SIGABRT"},
    {NULL, NULL},
};

const struct word_row environment_rows[] = {
    {"ACCEL_DRIVER_PATH", "absolute paths of driver files or folders, separated by ':', searched before the installed "
                          "ones; files must exist"},
    {"ACCEL_PROFILE_PATH", "folder of the profiles, instead of the installed one; it must hold base.yaml"},
    {"ACCEL_PROBE", "absolute path of the program that probes drivers, instead of the installed one"},
    {"ACCEL_COMPILE_MILLISECONDS",
     "time limit of a worker process that compiles for a driver, in ms or with a unit (10min); 600000 if not set"},
    {"ACCEL_COMPILE_BYTES",
     "memory limit of such a worker, in bytes or with a unit (4GiB); the free memory if not set"},
    {"ACCEL_PACKED_BYTES",
     "disk limit of all cached packed weights, in bytes or with a unit; 16 GiB if not set, 0 writes none"},
    {"ACCEL_KEY", "a setting by its name in capitals: kv.type.k is ACCEL_KV_TYPE_K; --set overrides it"},
    {"XDG_CACHE_HOME",
     "probe results, compiled kernels and packed weights are cached in its folder accel; ~/.cache/accel if not set"},
    {"XDG_STATE_HOME",
     "the history of runs and the lines of chats are stored in its folder accel; ~/.local/state/accel if not set"},
    {"NO_COLOR", "if set and not empty: no colours on a terminal"},
    {NULL, NULL},
};
