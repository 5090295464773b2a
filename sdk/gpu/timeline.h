/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of a queue. queue.c: the slots and the timeline; step.c: steps as operations of the API. */
#ifndef SDK_GPU_TIMELINE_H
#define SDK_GPU_TIMELINE_H

#include "sdk/gpu/internal.h"

/* Ring of host memory for uploads or downloads. The space of an entry is free again when the entry has completed. */
struct gpu_ring {
    struct gpu_memory *memory;
    char *address;
    uint64_t bytes;
    uint64_t head;         /* place of the next byte, counted without end */
    _Atomic uint64_t tail; /* first byte that an entry still uses */
};

/* A staged read: bytes of the download ring that go to the host when the value is reached. */
struct gpu_fetch {
    void *host;
    uint64_t at; /* in the ring */
    uint64_t bytes;
};

#define GPU_FETCHES 64u

/* A submit in flight. */
struct gpu_entry {
    uint64_t value;
    uint64_t upload_head; /* heads of the rings behind it */
    uint64_t download_head;
    struct accel_driver_fence waits[GPU_WAITS];
    struct gpu_fetch fetches[GPU_FETCHES];
    uint32_t wait_count;
    uint32_t fetch_count;
};

struct gpu_timeline {
    struct accel_driver_queue base;
    struct gpu_device_state *gpu;
    struct gpu_queue *queue;
    pthread_mutex_t lock;      /* entries, completed, and the verdict */
    struct gpu_entry *entries; /* ring of gpu->limits.in_flight */
    uint32_t first;
    _Atomic uint32_t count;
    uint64_t last; /* value handed out */
    uint64_t sent; /* value submitted to the API */
    uint64_t past; /* while a submit is built: values up to this one may be over, later ones are its own */
    bool is_building;
    _Atomic uint64_t completed;  /* reached without failure */
    _Atomic uint64_t failed;     /* first value that failed; 0: none */
    _Atomic uint64_t void_first; /* values that failed before the last reset; 0: none */
    _Atomic uint64_t void_last;
    struct accel_error failure;
    struct gpu_ring upload;
    struct gpu_ring download;
    struct gpu_operation *operations; /* GPU_OPERATIONS, filled by a submit */
    struct gpu_point points[GPU_WAITS];
    uint32_t operation_count;
    uint32_t point_count;
};

/* Fills operations from steps and submits them in as many parts as needed. The last part signals timeline->last, and
 * the entry receives the fetches and the heads of the rings. Returns ACCEL_E_AGAIN before anything was submitted if the
 * rings are full; any later failure is that of the value. */
int32_t gpu_timeline_steps(struct gpu_timeline *timeline, const struct accel_driver_step *const *steps,
                           uint32_t step_count, struct gpu_entry *entry, uint32_t *out_begun,
                           struct accel_error *error);

#endif
