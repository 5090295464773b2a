/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues: in-order commands, one flush per submit, and a fence (an event) after each. Fences are polled in order; if
 * more submits are in flight than there are fences, the newest submit replaces the last fence, whose value then
 * completes a little later.
 */
#include <time.h>

#include "plugins/opencl/opencl.h"

int32_t opencl_queue_create(struct gpu_device *device, struct gpu_queue **out_queue, struct accel_error *error)
{
    const struct accel_host *host = device->host;
    struct gpu_queue *queue;
    void *block = NULL;
    cl_int result = CL_SUCCESS;
    int32_t code = host->allocate(host, ACCEL_MEMORY_PROGRAM, sizeof(*queue), 64, &block, error);

    *out_queue = NULL;
    if (code != ACCEL_OK)
        return code;
    queue = block;
    queue->device = device;
    queue->queue = device->cl->CreateCommandQueue(device->context, device->device, 0, &result);
    if (result != CL_SUCCESS) {
        host->release(host, block);
        return opencl_error(error, result, "a queue of the device");
    }
    pthread_mutex_init(&queue->lock, NULL);
    *out_queue = queue;
    return ACCEL_OK;
}

static void drop_first(struct gpu_queue *queue)
{
    queue->device->cl->ReleaseEvent(queue->fences[queue->first].event);
    queue->first = (queue->first + 1) % OPENCL_FENCES;
    queue->count--;
}

void opencl_queue_free(struct gpu_queue *queue)
{
    const struct opencl_functions *cl = queue->device->cl;

    while (queue->count != 0)
        drop_first(queue);
    cl->ReleaseCommandQueue(queue->queue);
    pthread_mutex_destroy(&queue->lock);
    queue->device->host->release(queue->device->host, queue);
}

/* Out of resources behind a running kernel is how drivers report that it died. */
static void fail(struct gpu_queue *queue, cl_int native)
{
    if (queue->code != ACCEL_OK)
        return;
    queue->native = native;
    queue->code = native == CL_OUT_OF_RESOURCES ? ACCEL_E_DEVICE_LOST : opencl_error(NULL, native, "");
}

static int32_t report_failure(const struct gpu_queue *queue, struct accel_error *error)
{
    if (queue->code == ACCEL_OK)
        return ACCEL_OK;
    if (error != NULL && error->code == ACCEL_OK)
        error->native = queue->native;
    return sdk_error(error, queue->code, "a command of the device failed: %s (%d)", opencl_name(queue->native),
                     queue->native);
}

/* Takes away the fences that are over. Under the lock. */
static void poll_fences(struct gpu_queue *queue)
{
    const struct opencl_functions *cl = queue->device->cl;

    while (queue->count != 0) {
        const struct opencl_fence *fence = &queue->fences[queue->first];
        cl_int status = CL_QUEUED;
        cl_int result =
            cl->GetEventInfo(fence->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);

        if (result != CL_SUCCESS)
            status = result;
        if (status > CL_COMPLETE)
            return;
        if (status < CL_COMPLETE)
            fail(queue, status);
        if (queue->code == ACCEL_OK)
            queue->completed = fence->value;
        drop_first(queue);
    }
}

/* The event of the first fence at or behind `value`, retained; NULL where it is over. */
static cl_event event_of(struct gpu_queue *queue, uint64_t value)
{
    cl_event event = NULL;

    pthread_mutex_lock(&queue->lock);
    for (uint32_t i = 0; i < queue->count && event == NULL; i++)
        if (queue->fences[(queue->first + i) % OPENCL_FENCES].value >= value)
            event = queue->fences[(queue->first + i) % OPENCL_FENCES].event;
    if (event != NULL)
        queue->device->cl->RetainEvent(event);
    pthread_mutex_unlock(&queue->lock);
    return event;
}

static void add_fence(struct gpu_queue *queue, uint64_t value, cl_event event)
{
    pthread_mutex_lock(&queue->lock);
    if (queue->count == OPENCL_FENCES) {
        struct opencl_fence *last = &queue->fences[(queue->first + queue->count - 1) % OPENCL_FENCES];

        queue->device->cl->ReleaseEvent(last->event);
        queue->count--;
    }
    queue->fences[(queue->first + queue->count++) % OPENCL_FENCES] = (struct opencl_fence){value, event};
    pthread_mutex_unlock(&queue->lock);
}

static cl_int run_operation(struct gpu_queue *queue, const struct gpu_operation *operation)
{
    const struct opencl_functions *cl = queue->device->cl;
    const cl_uint pattern = (operation->fill & 0xffu) * 0x01010101u;

    switch (operation->kind) {
    case GPU_RUN:
        return opencl_list_run(operation->list, queue->queue);
    case GPU_FILL:
        return cl->EnqueueFillBuffer(queue->queue, operation->target->buffer, &pattern, sizeof(pattern),
                                     operation->target_offset, operation->bytes, 0, NULL, NULL);
    case GPU_READ:
        return cl->EnqueueReadBuffer(queue->queue, operation->source->buffer, CL_FALSE, operation->source_offset,
                                     operation->bytes, operation->host, 0, NULL, NULL);
    default:
        if (operation->source->buffer == NULL)
            return cl->EnqueueWriteBuffer(queue->queue, operation->target->buffer, CL_FALSE, operation->target_offset,
                                          operation->bytes, operation->source->host + operation->source_offset, 0, NULL,
                                          NULL);
        return cl->EnqueueCopyBuffer(queue->queue, operation->source->buffer, operation->target->buffer,
                                     operation->source_offset, operation->target_offset, operation->bytes, 0, NULL,
                                     NULL);
    }
}

/* A barrier behind each other queue's event. */
static cl_int run_waits(struct gpu_queue *queue, const struct gpu_point *waits, uint32_t wait_count)
{
    const struct opencl_functions *cl = queue->device->cl;

    for (uint32_t w = 0; w < wait_count; w++) {
        cl_event event = event_of(waits[w].queue, waits[w].value);
        cl_int result;

        if (event == NULL)
            continue;
        result = cl->EnqueueBarrierWithWaitList(queue->queue, 1, &event, NULL);
        cl->ReleaseEvent(event);
        if (result != CL_SUCCESS)
            return result;
    }
    return CL_SUCCESS;
}

int32_t opencl_submit(struct gpu_queue *queue, const struct gpu_operation *operations, uint32_t count,
                      const struct gpu_point *waits, uint32_t wait_count, uint64_t value, struct accel_error *error)
{
    const struct opencl_functions *cl = queue->device->cl;
    cl_event event = NULL;
    cl_int result = run_waits(queue, waits, wait_count);

    for (uint32_t i = 0; i < count && result == CL_SUCCESS; i++)
        result = run_operation(queue, &operations[i]);
    if (result == CL_SUCCESS)
        result = cl->EnqueueMarkerWithWaitList(queue->queue, 0, NULL, &event);
    if (result == CL_SUCCESS)
        add_fence(queue, value, event);
    if (result == CL_SUCCESS)
        result = cl->Flush(queue->queue);
    if (result == CL_SUCCESS)
        return ACCEL_OK;
    /* Commands of the submit may already run and use memory that the caller is about to reuse. */
    cl->Finish(queue->queue);
    return opencl_error(error, result, "a command of a step");
}

int32_t opencl_completed(struct gpu_queue *queue, uint64_t *out_value, struct accel_error *error)
{
    int32_t code;

    pthread_mutex_lock(&queue->lock);
    poll_fences(queue);
    *out_value = queue->completed;
    code = report_failure(queue, error);
    pthread_mutex_unlock(&queue->lock);
    return code;
}

/* Waits for an event. OpenCL has no wait with a deadline, so the status is polled at growing intervals. */
static cl_int wait_event(const struct gpu_queue *queue, cl_event event, uint64_t deadline, uint32_t *out_late)
{
    const struct opencl_functions *cl = queue->device->cl;
    const struct accel_host *host = queue->device->host;
    struct timespec pause = {0, 10000};

    *out_late = 0;
    if (deadline == UINT64_MAX)
        return cl->WaitForEvents(1, &event);
    for (;;) {
        cl_int status = CL_QUEUED;
        cl_int result = cl->GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
        uint64_t now = 0;

        if (result != CL_SUCCESS || status <= CL_COMPLETE)
            return result;
        host->clock(host, &now);
        *out_late = now >= deadline;
        if (*out_late)
            return CL_SUCCESS;
        if ((uint64_t)pause.tv_nsec > deadline - now)
            pause.tv_nsec = (long)(deadline - now);
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 1000000)
            pause.tv_nsec += pause.tv_nsec / 2 + 1;
    }
}

int32_t opencl_wait(struct gpu_queue *queue, uint64_t value, uint64_t deadline, struct accel_error *error)
{
    cl_event event = event_of(queue, value);
    uint64_t completed = 0;
    uint32_t late = 0;

    if (event != NULL) {
        /* Its failure shows in its status. */
        wait_event(queue, event, deadline, &late);
        queue->device->cl->ReleaseEvent(event);
    }
    if (late)
        return sdk_error(error, ACCEL_E_TIMEOUT, "the deadline passed");
    return opencl_completed(queue, &completed, error);
}

int32_t opencl_reset(struct gpu_queue *queue, struct accel_error *error)
{
    cl_int result = queue->device->cl->Finish(queue->queue);

    pthread_mutex_lock(&queue->lock);
    poll_fences(queue);
    if (queue->code != ACCEL_E_DEVICE_LOST)
        queue->code = ACCEL_OK;
    pthread_mutex_unlock(&queue->lock);
    if (queue->code != ACCEL_OK)
        return report_failure(queue, error);
    return result == CL_SUCCESS ? ACCEL_OK : opencl_error(error, result, "the queue");
}
