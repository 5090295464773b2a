/* SPDX-License-Identifier: Apache-2.0 */
/* Lock of libltdl. */
#include "config.h"

#include <pthread.h>

#include "core/plugin/plugin.h"

/* Global like the state that it protects: libltdl has one list of modules and one error text per process. */
static pthread_mutex_t ltdl_mutex = PTHREAD_MUTEX_INITIALIZER;

void accel_plugins_lock(void)
{
    pthread_mutex_lock(&ltdl_mutex);
}

void accel_plugins_unlock(void)
{
    pthread_mutex_unlock(&ltdl_mutex);
}
