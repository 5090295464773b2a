/* SPDX-License-Identifier: Apache-2.0 */
/* The crew of a queue: a pool of threads that the driver's `run` borrows. */
#include "config.h"

#include <stdlib.h>

#include "core/device/object.h"
#include "core/thread/pool.h"

#define MOST_THREADS 4096u

static int32_t crew_run(const struct accel_crew *crew, uint32_t ranks, accel_crew_function function, void *argument,
                        struct accel_error *error) ACCEL_NOEXCEPT
{
    return accel_pool_run(((const struct accel_pool_crew *)crew)->pool, ranks, function, argument, error);
}

/* Processors are all given or not used: a pool binds all of its threads or none. */
static int32_t copy_processors(const struct accel_queue_options *options, uint32_t *processors, bool *out_bound,
                               struct accel_error *error)
{
    uint32_t given = 0;
    for (uint32_t i = 0; i < options->threads; i++) {
        if (options->processors[i] < -1)
            return accel_error_set(error, ACCEL_E_INVALID, "thread %u cannot run on processor %d", i,
                                   options->processors[i]);
        given += options->processors[i] >= 0;
        processors[i] = (uint32_t)options->processors[i];
    }
    *out_bound = given == options->threads;
    return given == 0 || *out_bound
               ? ACCEL_OK
               : accel_error_set(error, ACCEL_E_UNSUPPORTED, "%u of %u threads have a processor: give all or none",
                                 given, options->threads);
}

int32_t accel_pool_crew_create(struct accel_context *context, const struct accel_queue_options *options,
                               struct accel_pool_crew *crew, struct accel_error *error)
{
    struct accel_pool_config config = {.topology = context->topology, .threads = options->threads};
    uint32_t *processors = NULL;
    bool bound = false;
    int32_t code = ACCEL_OK;
    if (options->threads > MOST_THREADS)
        return accel_error_set(error, ACCEL_E_LIMIT, "%u threads were asked for, at most %u are lent", options->threads,
                               MOST_THREADS);
    if (options->processors != NULL) {
        processors = calloc(options->threads, sizeof(*processors));
        code = processors == NULL ? accel_error_set(error, ACCEL_E_MEMORY, "no memory for a list of processors")
                                  : copy_processors(options, processors, &bound, error);
    }
    if (bound) {
        config.cpus = processors;
        config.flags = options->pin_caller != 0 ? ACCEL_POOL_PIN_CALLER : 0;
    }
    if (code == ACCEL_OK)
        code = accel_pool_create(&config, &crew->pool, error);
    free(processors);
    if (code != ACCEL_OK)
        return code;
    crew->crew = (struct accel_crew){.size = sizeof(crew->crew), .ranks = options->threads, .run = crew_run};
    return ACCEL_OK;
}

void accel_pool_crew_free(struct accel_pool_crew *crew)
{
    accel_pool_free(crew->pool);
    crew->pool = NULL;
}
