/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver that calls _exit leaves no word, and its mark on the disk says only which of its first slots it was in: a
 * mark for every step would cost each one its time. But the dynamic linker asks the program for a symbol before the C
 * library, so a driver that calls _exit calls this one, which names it whatever slot it is in and costs nothing until
 * then. The C library ends processes by itself without asking for the symbol, and so do children that a driver has
 * made without exec; who makes the call of the system himself is not seen.
 */
#include "config.h"

#include "tools/accelctl/end_now.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/accelctl/blame.h"
#include "tools/accelctl/verb.h"

_Noreturn void end_now(int status)
{
    for (;;)
        syscall(SYS_exit_group, status);
}

__attribute__((__visibility__("default"))) _Noreturn void _exit(int status)
{
    end_now(blame_exit() ? EXIT_FAILED : status);
}

__attribute__((__visibility__("default"))) _Noreturn void _Exit(int status)
{
    _exit(status);
}
