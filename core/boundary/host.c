/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/boundary/host.h"

#include <stdio.h>

#include "core/base/clock.h"

/* Returns the services, whose first member is the table that a driver holds. */
static struct accel_host_services *services_of(const struct accel_host *host)
{
    return (struct accel_host_services *)(uintptr_t)host;
}

static int32_t host_log(const struct accel_host *host, uint32_t level, const char *text) ACCEL_NOEXCEPT
{
    const struct accel_host_services *services = services_of(host);
    if (level >= ACCEL_LOG_ERROR && level <= ACCEL_LOG_DEBUG && text != NULL)
        accel_log_write(services->log, level, services->component, "%s", text);
    return ACCEL_OK;
}

static int32_t host_allocate(const struct accel_host *host, uint32_t memory_class, uint64_t bytes, uint64_t alignment,
                             void **out_memory, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct accel_host_services *services = services_of(host);
    /* Uses huge pages for weights: steps read all of them repeatedly, so that TLB misses cost most there. */
    int32_t code =
        memory_class == ACCEL_MEMORY_WEIGHTS
            ? accel_memory_allocate_padded(services->memory, memory_class, bytes, bytes, alignment, out_memory, error)
            : accel_memory_allocate(services->memory, memory_class, bytes, alignment, out_memory, error);
    if (code == ACCEL_OK) {
        atomic_fetch_add_explicit(&services->blocks, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&services->bytes, bytes, memory_order_relaxed);
    }
    return code;
}

static int32_t host_release(const struct accel_host *host, void *memory) ACCEL_NOEXCEPT
{
    struct accel_host_services *services = services_of(host);
    uint64_t bytes = accel_memory_free(services->memory, memory);
    if (bytes != 0) {
        atomic_fetch_sub_explicit(&services->blocks, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&services->bytes, bytes, memory_order_relaxed);
    }
    return ACCEL_OK;
}

/* Rejects a driver that returns more than it has counted, which would empty the account of another driver. */
static int32_t host_account(const struct accel_host *host, uint32_t memory_class, int64_t bytes,
                            struct accel_error *error) ACCEL_NOEXCEPT
{
    struct accel_host_services *services = services_of(host);
    bool known = memory_class != 0 && memory_class < ACCEL_MEMORY_END && bytes != INT64_MIN;
    int64_t held = known ? atomic_load_explicit(&services->counted[memory_class], memory_order_relaxed) : 0;
    int32_t code;
    if (!known)
        return accel_error_set(error, ACCEL_E_INVALID, "%lld bytes of memory class %u cannot be counted",
                               (long long)bytes, memory_class);
    if (bytes > 0) {
        code = accel_memory_count(services->memory, memory_class, bytes, error);
        if (code == ACCEL_OK)
            atomic_fetch_add_explicit(&services->counted[memory_class], bytes, memory_order_relaxed);
        return code;
    }
    do {
        if (held < -bytes)
            return accel_error_set(error, ACCEL_E_INVALID, "%lld bytes given back, %lld were counted",
                                   (long long)-bytes, (long long)held);
    } while (!atomic_compare_exchange_weak_explicit(&services->counted[memory_class], &held, held + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return accel_memory_count(services->memory, memory_class, bytes, error);
}

static int32_t host_clock(const struct accel_host *host, uint64_t *out_nanoseconds) ACCEL_NOEXCEPT
{
    (void)host;
    *out_nanoseconds = accel_clock_ns();
    return ACCEL_OK;
}

void accel_host_services_init(struct accel_host_services *services, const char *name, struct accel_memory *memory,
                              const struct accel_log *log)
{
    services->table = (struct accel_host){.size = sizeof(struct accel_host),
                                          .log = host_log,
                                          .allocate = host_allocate,
                                          .release = host_release,
                                          .clock = host_clock,
                                          .account = host_account};
    services->memory = memory;
    atomic_init(&services->blocks, 0);
    atomic_init(&services->bytes, 0);
    for (uint32_t c = 0; c < ACCEL_MEMORY_END; c++)
        atomic_init(&services->counted[c], 0);
    services->log = log;
    snprintf(services->component, sizeof(services->component), "driver.%s", name);
}

static int32_t run_serially(const struct accel_team *team, uint32_t threads, accel_team_function function,
                            void *argument, struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)team;
    if (threads != 1 || function == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "a serial thread team was called with %u threads", threads);
    function(argument, 0, 1);
    return ACCEL_OK;
}

/* Returns a team of the calling thread alone. It is const and needs neither a pool nor an owner, so that all
 * single-threaded queues share it. */
const struct accel_team *accel_team_serial(void)
{
    static const struct accel_team team = {.size = sizeof(struct accel_team), .threads = 1, .run = run_serially};
    return &team;
}
