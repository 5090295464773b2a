/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/guard.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/end_now.h"
#include "tools/accelctl/ending.h"
#include "tools/accelctl/mapping.h"
#include "tools/accelctl/verb.h"

/* Files that a command has open at a time; those beyond go unguarded. */
#define GUARDED_MOST 128

/* The one piece of state that a signal handler needs: which mappings belong to which file. */
static const struct accel_model_file *volatile guarded[GUARDED_MOST];
static const char *volatile remedies[GUARDED_MOST];
static struct sigaction before; /* what bus errors met before the first guard */
static char other_path[4096];   /* a signal's stack is short */

static void end_of_file(const char *path, const char *remedy)
{
    const struct ending ending = {.text = {path, ": the file shrank while it was in use, or its disk failed"},
                                  .code = "ACCEL_E_IO",
                                  .remedy = remedy,
                                  .status = EXIT_INPUT};

    ending_say(&ending);
    end_now(EXIT_INPUT);
}

static void end_if_inside(const struct accel_model_file *file, const char *remedy, const char *at)
{
    struct accel_model_mapping mapping;

    for (uint32_t i = 0; file != NULL && accel_model_file_mapping(file, i, &mapping, NULL) == ACCEL_OK; i++) {
        const char *begin = mapping.address;

        if (at >= begin && at < begin + mapping.bytes)
            end_of_file(mapping.path, remedy);
    }
}

/* Only what may be called in a signal handler. A fault elsewhere is another one's. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    for (size_t i = 0; i < GUARDED_MOST; i++)
        end_if_inside(guarded[i], remedies[i], info->si_addr);
    /* Any other file: packed weights above all. */
    if (mapped_file(info->si_addr, other_path, sizeof other_path))
        end_of_file(other_path,
                    strstr(other_path, "-weights-") == NULL
                        ? "leave files alone while they are in use"
                        : "take it away, accelctl cache clear, so that the next run packs anew, or --no-cache");
    sigaction(number, &before, NULL);
    raise(number);
}

void guard_mappings(const struct accel_model_file *file, const char *remedy)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO}, now;
    size_t at = 0;

    while (at < GUARDED_MOST && guarded[at] != NULL)
        at++;
    if (file == NULL || at == GUARDED_MOST)
        return;
    remedies[at] = remedy;
    guarded[at] = file;
    if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_sigaction == on_bus_error)
        return;
    before = now;
    sigaction(SIGBUS, &action, NULL);
}

void guard_end(const struct accel_model_file *file)
{
    for (size_t i = 0; i < GUARDED_MOST; i++) {
        if (file == NULL || guarded[i] != file)
            continue;
        guarded[i] = NULL;
        return;
    }
}
