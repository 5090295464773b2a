/* SPDX-License-Identifier: Apache-2.0 */
/* Thread team of a queue: a pool of threads that the driver's `run` uses. */
#include "config.h"

#include <stdlib.h>

#include "core/runtime/queue.h"
#include "core/thread/pool.h"

#define MOST_THREADS 4096u

static int32_t run_team(const struct accel_team *team, uint32_t threads, accel_team_function function, void *argument,
                        struct accel_error *error) ACCEL_NOEXCEPT
{
    return accel_pool_run(((const struct accel_pool_team *)team)->pool, threads, function, argument, error);
}

/* Checks that all processors are set or none: a pool binds all of its threads or none. */
static int32_t copy_processors(const struct accel_queue_options *options, uint32_t *processors, bool *out_bound,
                               struct accel_error *error)
{
    uint32_t bound = 0;
    for (uint32_t i = 0; i < options->threads; i++) {
        if (options->processors[i] < -1)
            return accel_error_set(error, ACCEL_E_INVALID, "thread %u cannot run on processor %d", i,
                                   options->processors[i]);
        bound += options->processors[i] >= 0;
        processors[i] = (uint32_t)options->processors[i];
    }
    *out_bound = bound == options->threads;
    return bound == 0 || *out_bound
               ? ACCEL_OK
               : accel_error_set(error, ACCEL_E_UNSUPPORTED, "%u of %u threads have a processor: set all or none",
                                 bound, options->threads);
}

int32_t accel_pool_team_create(struct accel_context *context, const struct accel_queue_options *options,
                               struct accel_pool_team *team, struct accel_error *error)
{
    struct accel_pool_config config = {.topology = context->topology, .threads = options->threads};
    uint32_t *processors = NULL;
    bool bound = false;
    int32_t code = ACCEL_OK;
    if (options->threads > MOST_THREADS)
        return accel_error_set(error, ACCEL_E_LIMIT, "%u threads were requested, at most %u are allowed",
                               options->threads, MOST_THREADS);
    if (options->processors != NULL) {
        processors = calloc(options->threads, sizeof(*processors));
        code = processors == NULL ? accel_error_no_memory(error, "for a list of processors")
                                  : copy_processors(options, processors, &bound, error);
    }
    if (bound) {
        config.cpus = processors;
        config.flags = options->pin_caller != 0 ? ACCEL_POOL_PIN_CALLER : 0;
    }
    if (code == ACCEL_OK)
        code = accel_pool_create(&config, &team->pool, error);
    free(processors);
    if (code != ACCEL_OK)
        return code;
    team->team = (struct accel_team){.size = sizeof(team->team), .threads = options->threads, .run = run_team};
    return ACCEL_OK;
}

void accel_pool_team_free(struct accel_pool_team *team)
{
    accel_pool_free(team->pool);
    team->pool = NULL;
}
