/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first driver (tests/drivers/four.c) with bad manners, for tests of the kit: where SPOIL_THREAD is defined attach
 * starts a thread that stays, else each attach leaves a descriptor open.
 */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <accel/driver/note.h>
#include <accel/driver/sdk.h>

#ifdef SPOIL_THREAD
static void *stay(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void spoil(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, stay, NULL) == 0)
        pthread_detach(thread);
}
#else
static void spoil(void)
{
    (void)!open("/dev/null", O_RDONLY | O_CLOEXEC);
}
#endif

static int32_t spoiled_attach(const struct sdk_backend *backend, const struct accel_host *host, uint32_t minor,
                              struct accel_driver_instance **out_instance, struct accel_error *error)
{
    spoil();
    return sdk_attach(backend, host, minor, out_instance, error);
}

#define sdk_attach spoiled_attach
#include "tests/drivers/four.c"
