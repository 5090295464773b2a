/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a submit as operations of the API. */
#include <string.h>

#include "sdk/gpu/timeline.h"

/* ---- operations ---- */

/* A submit under construction; `begun` is set once a part of it was submitted. */
struct builder {
    struct gpu_timeline *timeline;
    struct gpu_entry *entry;
    uint32_t begun;
    uint32_t zero;
    struct accel_error *error;
};

/* Submits the collected operations. Waits go with the first part, since parts run in order. */
static int32_t flush(struct builder *builder)
{
    struct gpu_timeline *timeline = builder->timeline;
    int32_t code =
        timeline->gpu->api->submit(timeline->queue, timeline->operations, timeline->operation_count, timeline->points,
                                   timeline->point_count, timeline->last + 1, builder->error);

    if (code == ACCEL_E_AGAIN && !builder->begun)
        return code;
    builder->begun = 1;
    timeline->last++;
    if (code == ACCEL_OK)
        timeline->sent = timeline->last;
    timeline->operation_count = 0;
    timeline->point_count = 0;
    return code;
}

static int32_t push(struct builder *builder, const struct gpu_operation *operation)
{
    struct gpu_timeline *timeline = builder->timeline;

    if (timeline->operation_count == GPU_OPERATIONS) {
        int32_t code = flush(builder);

        if (code != ACCEL_OK)
            return code;
    }
    timeline->operations[timeline->operation_count++] = *operation;
    return ACCEL_OK;
}

/* ---- rings ---- */

/* `bytes` in one piece, or ACCEL_E_AGAIN while entries in flight use them. */
static int32_t ring_allocate(const struct gpu_timeline *timeline, struct gpu_ring *ring, uint64_t bytes,
                             uint64_t *out_at, struct accel_error *error)
{
    uint64_t padded = (bytes + 15u) & ~UINT64_C(15);
    uint64_t place = ring->head % ring->bytes;
    uint64_t skip = place + padded > ring->bytes ? ring->bytes - place : 0;

    if (ring->tail == ring->head) {
        skip = place == 0 ? 0 : ring->bytes - place;
        ring->tail += skip;
        ring->head += skip;
        skip = 0;
    }
    if (ring->head + skip + padded - ring->tail > ring->bytes && timeline->count == 0)
        return sdk_error(error, ACCEL_E_LIMIT, "one submit moves more than the %llu bytes that the queue holds",
                         (unsigned long long)ring->bytes);
    if (ring->head + skip + padded - ring->tail > ring->bytes)
        return sdk_error(error, ACCEL_E_AGAIN, "the queue holds %llu bytes of data in flight, %llu more do not fit",
                         (unsigned long long)(ring->head - ring->tail), (unsigned long long)bytes);
    *out_at = (ring->head + skip) % ring->bytes;
    ring->head += skip + padded;
    return ACCEL_OK;
}

static int32_t upload(struct builder *builder, const void *data, uint64_t bytes, struct gpu_memory *target,
                      uint64_t offset)
{
    struct gpu_ring *ring = &builder->timeline->upload;
    struct gpu_operation copy = {
        .kind = GPU_COPY, .source = ring->memory, .target = target, .target_offset = offset, .bytes = bytes};
    int32_t code = ring_allocate(builder->timeline, ring, bytes, &copy.source_offset, builder->error);

    if (code != ACCEL_OK)
        return code;
    memcpy(ring->address + copy.source_offset, data, bytes);
    return push(builder, &copy);
}

/* ---- steps ---- */

static struct gpu_memory *memory_of(struct accel_driver_buffer *buffer)
{
    return ((struct gpu_buffer *)buffer)->memory;
}

/* Frees recordings by waiting for the collected operations: one submit may run a set with more tuples of symbols than
 * it has recordings. This is the only case in which a submit waits for the device. */
static int32_t record_again(struct builder *builder, struct gpu_set *set, const uint64_t *symbols,
                            struct gpu_recording **out_recording)
{
    struct gpu_timeline *timeline = builder->timeline;
    int32_t code = timeline->operation_count == 0 ? ACCEL_OK : flush(builder);

    if (code == ACCEL_OK)
        code = timeline->gpu->api->wait(timeline->queue, timeline->sent, UINT64_MAX, builder->error);
    timeline->past = timeline->last;
    return code == ACCEL_OK ? gpu_set_recording(set, symbols, out_recording, builder->error) : code;
}

static int32_t step_run(struct builder *builder, const struct accel_driver_step *step)
{
    struct gpu_set *set = (struct gpu_set *)step->set;
    struct gpu_recording *recording = NULL;
    struct gpu_operation run = {.kind = GPU_RUN};
    struct accel_error error = {.code = ACCEL_OK};
    int32_t code = gpu_set_recording(set, step->symbols, &recording, &error);

    if (code == ACCEL_E_AGAIN && (builder->timeline->operation_count != 0 || builder->begun))
        code = record_again(builder, set, step->symbols, &recording);
    else if (code != ACCEL_OK && builder->error != NULL && builder->error->code == ACCEL_OK)
        *builder->error = error;
    if (code != ACCEL_OK)
        return code;
    run.list = recording->list;
    if (run.list != NULL)
        code = push(builder, &run);
    recording->timeline = builder->timeline;
    recording->value = builder->timeline->last + 1;
    return code;
}

static int32_t step_copy(struct builder *builder, const struct accel_driver_step *step)
{
    struct gpu_operation copy = {.kind = GPU_COPY,
                                 .source = memory_of(step->source),
                                 .source_offset = step->source_offset,
                                 .target = memory_of(step->target),
                                 .target_offset = step->target_offset,
                                 .bytes = step->bytes};

    return push(builder, &copy);
}

/* Grows the download ring for a read that is larger than it, once no read is in flight. The ring stays large. Only used
 * if the API cannot read to arbitrary host memory. */
static int32_t grow(struct builder *builder, uint64_t bytes)
{
    struct gpu_timeline *timeline = builder->timeline;
    struct gpu_ring *ring = &timeline->download;
    struct gpu_memory *memory = NULL;
    uint64_t needed = (bytes + 4095u) & ~UINT64_C(4095);
    int32_t code;

    if (needed <= ring->bytes)
        return ACCEL_OK;
    if (ring->tail != ring->head)
        return sdk_error(builder->error, ACCEL_E_AGAIN, "a read of %llu bytes waits for others in flight",
                         (unsigned long long)bytes);
    code = gpu_memory_make(timeline->gpu, ACCEL_MEMORY_PROGRAM, needed, GPU_MEMORY_DOWNLOAD, &memory, builder->error);
    if (code != ACCEL_OK)
        return code;
    gpu_memory_drop(timeline->gpu, ACCEL_MEMORY_PROGRAM, ring->bytes, GPU_MEMORY_DOWNLOAD, ring->memory);
    *ring = (struct gpu_ring){.memory = memory, .address = timeline->gpu->api->memory_address(memory), .bytes = needed};
    return ACCEL_OK;
}

static int32_t step_read(struct builder *builder, const struct accel_driver_step *step)
{
    struct gpu_timeline *timeline = builder->timeline;
    struct gpu_entry *entry = builder->entry;
    struct gpu_operation read = {.kind = GPU_READ,
                                 .source = memory_of(step->source),
                                 .source_offset = step->source_offset,
                                 .bytes = step->bytes,
                                 .host = step->memory};
    int32_t code;

    if (timeline->gpu->limits.reads)
        return push(builder, &read);
    if (entry->fetch_count == GPU_FETCHES)
        return sdk_error(builder->error, ACCEL_E_LIMIT, "more than %u reads in one submit", GPU_FETCHES);
    code = grow(builder, step->bytes);
    if (code == ACCEL_OK)
        code = ring_allocate(timeline, &timeline->download, step->bytes, &read.target_offset, builder->error);
    if (code != ACCEL_OK)
        return code;
    entry->fetches[entry->fetch_count++] =
        (struct gpu_fetch){.host = step->memory, .at = read.target_offset, .bytes = step->bytes};
    read.kind = GPU_COPY;
    read.host = NULL;
    read.target = timeline->download.memory;
    return push(builder, &read);
}

/* The API fills words: up to three bytes at each end come from the host. */
static int32_t step_fill(struct builder *builder, const struct accel_driver_step *step)
{
    struct gpu_memory *target = memory_of(step->target);
    uint64_t begin = step->target_offset, end = begin + step->bytes;
    uint64_t first = (begin + 3u) & ~UINT64_C(3), last = end & ~UINT64_C(3);
    struct gpu_operation fill = {.kind = GPU_FILL, .fill = step->fill, .target = target};
    uint8_t bytes[8];
    int32_t code = ACCEL_OK;

    memset(bytes, (int)step->fill, sizeof(bytes));
    if (first >= last)
        return step->bytes <= sizeof(bytes) ? upload(builder, bytes, step->bytes, target, begin) : ACCEL_E_INTERNAL;
    if (first != begin)
        code = upload(builder, bytes, first - begin, target, begin);
    if (code == ACCEL_OK && last != end)
        code = upload(builder, bytes, end - last, target, last);
    fill.target_offset = first;
    fill.bytes = last - first;
    return code == ACCEL_OK ? push(builder, &fill) : code;
}

/* ---- states ---- */

static int32_t reset_part(struct builder *builder, const struct gpu_state *state, const struct gpu_state_part *part)
{
    struct gpu_operation fill = {.kind = GPU_FILL,
                                 .target = state->arena.chunks[part->place.chunk],
                                 .target_offset = part->place.offset,
                                 .bytes = part->pitch * state->slots};

    return push(builder, &fill);
}

/* Slots that overlap their target go through the bounce, piece by piece from the side that is moved away from. */
static int32_t copy_part(struct builder *builder, const struct gpu_state *state, const struct gpu_state_part *part,
                         const struct accel_state_change *change)
{
    struct gpu_memory *memory = state->arena.chunks[part->place.chunk];
    uint64_t from = part->place.offset + change->from * part->pitch;
    uint64_t to = part->place.offset + change->to * part->pitch;
    uint64_t bytes = change->count * part->pitch;
    uint64_t distance = from > to ? from - to : to - from;
    uint64_t piece = distance >= bytes ? bytes : state->bounce_bytes;
    int32_t code = ACCEL_OK;

    if (distance == 0)
        return ACCEL_OK;
    for (uint64_t done = 0; done < bytes && code == ACCEL_OK;) {
        uint64_t now = bytes - done < piece ? bytes - done : piece;
        uint64_t at = from > to ? done : bytes - done - now;
        struct gpu_operation copy = {.kind = GPU_COPY, .source = memory, .target = memory, .bytes = now};

        copy.source_offset = from + at;
        copy.target_offset = to + at;
        if (distance < bytes) {
            struct gpu_operation out = copy;

            out.target = state->bounce;
            out.target_offset = 0;
            code = push(builder, &out);
            copy.source = state->bounce;
            copy.source_offset = 0;
        }
        if (code == ACCEL_OK)
            code = push(builder, &copy);
        done += now;
    }
    return code;
}

static int32_t step_state(struct builder *builder, const struct accel_driver_step *step)
{
    const struct gpu_state *state = (const struct gpu_state *)step->state;
    int32_t code = ACCEL_OK;

    for (uint64_t c = 0; c < step->change_count; c++)
        for (uint32_t p = 0; p < state->part_count && code == ACCEL_OK; p++)
            code = step->changes[c].kind == ACCEL_STATE_RESET
                       ? reset_part(builder, state, &state->parts[p])
                       : copy_part(builder, state, &state->parts[p], &step->changes[c]);
    return code;
}

static int32_t add_step(struct builder *builder, const struct accel_driver_step *step)
{
    int32_t code =
        sdk_check_size(step, ACCEL_END_OF(struct accel_driver_step, change_count), "accel_step", builder->error);

    if (code != ACCEL_OK)
        return code;
    switch (step->kind) {
    case ACCEL_STEP_RUN:
        return step_run(builder, step);
    case ACCEL_STEP_COPY:
        return step_copy(builder, step);
    case ACCEL_STEP_UPDATE:
        return upload(builder, step->data, step->bytes, memory_of(step->target), step->target_offset);
    case ACCEL_STEP_READ:
        return step_read(builder, step);
    case ACCEL_STEP_FILL:
        return step_fill(builder, step);
    case ACCEL_STEP_STATE:
        return step_state(builder, step);
    default:
        return sdk_error(builder->error, ACCEL_E_UNSUPPORTED, "a step of the unknown kind %u", step->kind);
    }
}

int32_t gpu_timeline_steps(struct gpu_timeline *timeline, const struct accel_driver_step *const *steps,
                           uint32_t step_count, struct gpu_entry *entry, uint32_t *out_begun, struct accel_error *error)
{
    struct builder builder = {.timeline = timeline, .entry = entry, .error = error};
    uint64_t upload_head = timeline->upload.head, download_head = timeline->download.head;
    int32_t code = ACCEL_OK;

    timeline->operation_count = 0;
    timeline->past = timeline->last;
    timeline->is_building = true;
    for (uint32_t s = 0; s < step_count && code == ACCEL_OK; s++)
        code = add_step(&builder, steps[s]);
    if (code == ACCEL_OK)
        code = flush(&builder);
    timeline->is_building = false;
    *out_begun = builder.begun;
    if (!builder.begun) {
        timeline->upload.head = upload_head;
        timeline->download.head = download_head;
    }
    entry->upload_head = timeline->upload.head;
    entry->download_head = timeline->download.head;
    return code;
}
