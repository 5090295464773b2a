/* SPDX-License-Identifier: Apache-2.0 */
/* Enumerates in several threads at a time, each with devices of its own. Sin, where MOCK_LATE is set: one thread goes
 * on until detach. The core accepts its calls until it has seen enumerate return, which a loaded machine delays: each
 * accepted device has an id of its own, and the thread waits twice as long after it. */
#define MOCK_NAME "many-threads"
#define MOCK_MORE "effects=threads\n"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/mock/mock.h"

enum { THREADS = 8, DEVICES = 100 };

struct teller {
    const struct accel_device_sink *sink;
    pthread_t thread;
    unsigned number;
};

static void *tell(void *data)
{
    const struct teller *teller = data;
    for (unsigned i = 0; i < DEVICES; i++) {
        char id[32];
        struct accel_facts facts = MOCK_FACTS(id, 1);
        struct accel_error error = {0};
        snprintf(id, sizeof(id), "mock%u-%u", teller->number, i);
        teller->sink->device(teller->sink, &facts, &error);
    }
    return NULL;
}

static atomic_bool ends;
static pthread_t late;
static bool is_late;

static void *go_on(void *data)
{
    const struct accel_device_sink *sink = data;
    unsigned accepted = 0;
    while (!atomic_load(&ends)) {
        char id[32];
        struct accel_facts facts = MOCK_FACTS(id, 1);
        struct accel_error error = {0};
        snprintf(id, sizeof(id), "late%u", accepted);
        usleep(100u << accepted);
        if (sink->device(sink, &facts, &error) == ACCEL_OK)
            accepted++;
    }
    return NULL;
}

static void tell_all(const struct accel_device_sink *sink)
{
    struct teller tellers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        tellers[i] = (struct teller){.sink = sink, .number = i};
        if (pthread_create(&tellers[i].thread, NULL, tell, &tellers[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(tellers[i].thread, NULL);
    atomic_store(&ends, false);
    is_late = getenv("MOCK_LATE") != NULL && pthread_create(&late, NULL, go_on, (void *)(uintptr_t)sink) == 0;
}

static void end_late(void)
{
    atomic_store(&ends, true);
    if (is_late)
        pthread_join(late, NULL);
    is_late = false;
}

static const struct mock mock = {.with_sink = tell_all, .in_detach = end_late};
