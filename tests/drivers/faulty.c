/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The template with one fault, which the variable ACCEL_TEST_FAULT names: for what the kit has to find and to say.
 *   lose-open, lose-host, lose-map   each open keeps memory of malloc, of the host, of the system
 *   lose-attention                   each call of attention keeps memory of malloc
 *   wrong-add                        one sum is wrong
 *   crash-enumerate                  the process ends in enumerate
 *   refuse-open                      no device opens, so that all tests of devices fail at once
 *   hello                            each open prints thirty lines
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <accel/driver/sdk.h>

#pragma push_macro("ACCEL_DRIVER")
#undef ACCEL_DRIVER
#define ACCEL_DRIVER(backend_, ...) static const struct sdk_backend *const good = &backend_
#include "sdk/template/driver.c"
#pragma pop_macro("ACCEL_DRIVER")

static int has_fault(const char *name)
{
    const char *fault = getenv("ACCEL_TEST_FAULT");

    return fault != NULL && strcmp(fault, name) == 0;
}

/* Memory that somebody could look at: no compiler leaves it out. */
static void *volatile kept;

static void keep(void *memory, size_t bytes)
{
    if (memory != NULL)
        memset(memory, 1, bytes);
    kept = memory;
}

static int32_t faulty_find(const struct accel_host *host, const struct accel_hardware *const *hardware, uint32_t count,
                           const struct accel_device_sink *sink, struct accel_error *error)
{
    if (has_fault("crash-enumerate"))
        abort();
    return good->enumerate(host, hardware, count, sink, error);
}

static int32_t faulty_open(const struct accel_host *host, const char *id, const struct accel_setting *settings,
                           uint32_t setting_count, void *device, struct accel_error *error)
{
    void *memory = NULL;

    if (has_fault("refuse-open"))
        return sdk_error(error, ACCEL_E_INTERNAL, "a part of the device is missing");
    if (has_fault("lose-open"))
        keep(malloc(1000), 1000);
    if (has_fault("lose-map"))
        keep(mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1 << 16);
    if (has_fault("lose-host") && host->allocate(host, ACCEL_MEMORY_HOST, 1000, 64, &memory, error) == ACCEL_OK)
        keep(memory, 1000);
    for (uint32_t i = 0; i < 30 && has_fault("hello"); i++)
        printf("hello from the vendor, line %u\n", i);
    return good->open(host, id, settings, setting_count, device, error);
}

static void faulty_attention(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    if (thread == 0 && has_fault("lose-attention"))
        keep(malloc(1 << 20), 1 << 20);
    attention_run(call, thread, threads);
}

static void faulty_add(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    binary_run(call, thread, threads);
    if (thread == 0 && has_fault("wrong-add"))
        ((float *)call->outputs[0]->planes[0])[0] += 1;
}

static const struct sdk_kernel faulty_kernels[] = {
    KERNEL(ACCEL_OP_CACHE_WRITE, "cache write", 0, write_check, write_run, NULL),
    KERNEL(ACCEL_OP_ATTENTION, "attention", 0, attention_check, faulty_attention, NULL),
    KERNEL(ACCEL_OP_ADD, "add", ACCEL_OP_ADD, binary_check, faulty_add, NULL),
};

static const struct sdk_backend faulty = {
    .kernels = faulty_kernels,
    .kernel_count = sizeof(faulty_kernels) / sizeof(*faulty_kernels),
    .enumerate = faulty_find,
    .open = faulty_open,
    .fingerprint = fingerprint,
    .weight_alignment = 4,
};

ACCEL_DRIVER(faulty, NULL, 0, "faulty", "1.0", "Apache-2.0", "isa=x86-64\n");
