/* SPDX-License-Identifier: Apache-2.0 */
/* The host of the kit: counts the allocations of a driver, refuses them on request, and records rule violations. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "sdk/conform/direct.h"
#include "sdk/conform/hash.h"
#include "sdk/conform/text.h"

static int32_t host_log(const struct accel_host *host, uint32_t level, const char *text) ACCEL_NOEXCEPT
{
    struct direct_host *own = (struct direct_host *)(uintptr_t)host;

    if (level < ACCEL_LOG_ERROR || level > ACCEL_LOG_DEBUG || text == NULL)
        atomic_fetch_add(&own->faults, 1);
    else
        atomic_fetch_add(&own->logged, XXH3_64bits(text, strlen(text)));
    return ACCEL_OK;
}

static int32_t host_allocate(const struct accel_host *host, uint32_t memory_class, uint64_t bytes, uint64_t alignment,
                             void **out_memory, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct direct_host *own = (struct direct_host *)(uintptr_t)host;
    uint64_t step = alignment < sizeof(void *) ? sizeof(void *) : alignment;

    *out_memory = NULL;
    if (bytes == 0 || bytes > SIZE_MAX / 2 || alignment == 0 || (alignment & (alignment - 1)) != 0 ||
        memory_class == 0 || memory_class >= ACCEL_MEMORY_END) {
        atomic_fetch_add(&own->faults, 1);
        return accel_error_set(error, ACCEL_E_INVALID, "allocate: class %u, %llu bytes, alignment %llu", memory_class,
                               (unsigned long long)bytes, (unsigned long long)alignment);
    }
    if (atomic_load(&own->countdown) >= 0 && atomic_fetch_sub(&own->countdown, 1) <= 0) {
        atomic_fetch_add(&own->refused, 1);
        atomic_store(&own->countdown, 0);
        return accel_error_set(error, ACCEL_E_MEMORY, "the host refuses %llu bytes", (unsigned long long)bytes);
    }
    if (posix_memalign(out_memory, (size_t)step, (size_t)bytes) != 0) {
        *out_memory = NULL;
        return accel_error_no_memory(error, "for %llu bytes", (unsigned long long)bytes);
    }
    memset(*out_memory, 0, (size_t)bytes);
    atomic_fetch_add(&own->alive, 1);
    atomic_fetch_add(&own->requested, bytes);
    return ACCEL_OK;
}

static int32_t host_release(const struct accel_host *host, void *memory) ACCEL_NOEXCEPT
{
    struct direct_host *own = (struct direct_host *)(uintptr_t)host;

    if (memory != NULL)
        atomic_fetch_sub(&own->alive, 1);
    free(memory);
    return ACCEL_OK;
}

/* Refuses accounting as `allocate` refuses memory: a driver must handle both. */
static int32_t host_account(const struct accel_host *host, uint32_t memory_class, int64_t bytes,
                            struct accel_error *error) ACCEL_NOEXCEPT
{
    struct direct_host *own = (struct direct_host *)(uintptr_t)host;

    if (memory_class == 0 || memory_class >= ACCEL_MEMORY_END || bytes == 0 ||
        atomic_load(&own->counted[memory_class]) + bytes < 0) {
        atomic_fetch_add(&own->faults, 1);
        return accel_error_set(error, ACCEL_E_INVALID, "account: class %u, %lld bytes", memory_class, (long long)bytes);
    }
    if (bytes > 0 && atomic_load(&own->countdown) >= 0 && atomic_fetch_sub(&own->countdown, 1) <= 0) {
        atomic_fetch_add(&own->refused, 1);
        atomic_store(&own->countdown, 0);
        return accel_error_set(error, ACCEL_E_MEMORY, "the host refuses %lld bytes", (long long)bytes);
    }
    atomic_fetch_add(&own->counted[memory_class], bytes);
    if (bytes > 0)
        atomic_fetch_add(&own->requested, (uint64_t)bytes);
    return ACCEL_OK;
}

static int32_t host_clock(const struct accel_host *host, uint64_t *out_nanoseconds) ACCEL_NOEXCEPT
{
    (void)host;
    *out_nanoseconds = clock_now();
    return ACCEL_OK;
}

void direct_host_init(struct direct_host *host)
{
    memset(host, 0, sizeof(*host));
    host->table = (struct accel_host){.size = sizeof(struct accel_host),
                                      .log = host_log,
                                      .allocate = host_allocate,
                                      .release = host_release,
                                      .clock = host_clock,
                                      .account = host_account};
    atomic_store(&host->countdown, -1);
}
