/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: the driver of second.h as a plugin over the file MOCK_UNDER, which does in a slot what MOCK_HOSTILE says:
 * SLOT=exit, =hang, =mask, =terminal, or =CODE, a number that is answered without a text. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mock/second.h"

#define NOTE "abi_major=0\nabi_minor=1\nabi_lowest=1\nname=second\nversion=1.0\nlicence=Apache-2.0\neffects=threads\n"

_Static_assert(ACCEL_ABI_MAJOR == 0 && ACCEL_ABI_MINOR == 1, "the note names the version");

static const struct {
    uint32_t name_bytes, text_bytes, type;
    char name[8];
    char text[sizeof(NOTE)];
} note __attribute__((__section__(".note.accel"), __used__, __aligned__(4))) = {6, sizeof(NOTE) - 1, 1, "accel", NOTE};

static int32_t before(const char *slot, struct accel_error *error)
{
    const char *how = getenv("MOCK_HOSTILE");
    size_t length = strlen(slot);
    sigset_t all;
    if (how == NULL || strncmp(how, slot, length) != 0 || how[length] != '=')
        return ACCEL_OK;
    how += length + 1;
    if (strcmp(how, "exit") == 0)
        exit(0);
    while (strcmp(how, "hang") == 0)
        pause();
    if (strcmp(how, "mask") == 0) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, NULL);
        umask(0777);
    }
    error->code = atoi(how);
    if (strcmp(how, "terminal") == 0) {
        error->code = ACCEL_E_IO;
        snprintf(error->text, sizeof(error->text), "\x1b[31mred\xc2\x9b\xe2\x80\xae\xff");
    }
    return error->code;
}

__attribute__((__visibility__("default"))) int32_t
accel_driver_query(uint32_t major, uint32_t minor, const struct accel_driver **out_driver, struct accel_error *error);
__attribute__((__visibility__("default"))) int32_t
accel_driver_query(uint32_t major, uint32_t minor, const struct accel_driver **out_driver, struct accel_error *error)
{
    const char *under = getenv("MOCK_UNDER");
    (void)major;
    (void)minor;
    *out_driver = under == NULL ? NULL : second_load(under);
    second.before = before;
    return *out_driver != NULL ? ACCEL_OK : (error->code = ACCEL_E_NOT_FOUND);
}
