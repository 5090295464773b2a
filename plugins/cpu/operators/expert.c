/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with chosen parts of a matrix (mixture of experts). Pairs of a token and a choice are sorted by expert, and
 * the rows of an expert are gathered, staged and multiplied together: its weights are read once, by the same kernels as
 * those of matmul. Threads split the columns; what a thread has computed, it stores or sums. With the option
 * expert_bytes copies of experts are read first, as many as the limit permits (plugins/cpu/experts.h).
 */
#include <stdio.h>
#include <string.h>

#include "plugins/cpu/experts.h"
#include "plugins/cpu/operators/operators.h"

#define PAIRS 1024u /* pairs that are staged together: what bounds the scratch memory */
#define GATHER 32u  /* rows that are gathered before they are staged: a multiple of every grain */
#define LINE 64u

/* One call as all of its threads see it; `order` and what follows lie in scratch. */
struct experts {
    const struct cpu_device *device;
    const struct sdk_call *call;
    struct cpu_expert_matrix *matrix; /* NULL: experts have no limit */
    uint64_t experts, choices, pairs, n, k;
    uint32_t weight;
    uint64_t columns;          /* of a thread's results: row stride */
    int32_t *order;            /* [pairs]: by expert, those without an expert last */
    uint32_t *first;           /* [experts + 1]: an expert's first in `order` */
    uint64_t *resident;        /* pairs whose experts are resident: those before this place in `order` */
    char *staged;              /* of up to PAIRS rows: those of each expert from a multiple of LINE on */
    char *own;                 /* for each thread: gathered rows [GATHER, k], results [PAIRS, columns] */
    uint64_t own_bytes, bytes; /* of a thread, of all of scratch */
};

/* Rows of an expert that are staged together. */
struct segment {
    uint64_t expert, begin, rows; /* begin: in `order` */
    struct cpu_product product;
    void *staged;
};

/* Returns the kernel for `rows` rows of an expert. */
static struct cpu_product product_at(const struct sdk_call *call, uint64_t rows)
{
    const struct cpu_expert_prepared *prepared = call->prepared;

    return prepared != NULL ? prepared->products[cpu_least(rows, CPU_PRODUCT_ROWS) - 1]
                            : cpu_product_for(call->device, call->variant, call->inputs[1], rows);
}

/* Returns the bytes of a staged row at most: of any number of rows up to that from which the kernel stays the same,
 * since more rows of one kind are padded less. */
static uint64_t row_bytes_of(const struct sdk_call *call)
{
    const uint64_t k = call->inputs[1]->width;
    uint64_t most = 0;

    for (uint64_t rows = 1; rows <= CPU_PRODUCT_ROWS; rows++) {
        const uint64_t bytes = cpu_act_bytes(product_at(call, rows).act, rows, k) / rows + 1;

        most = bytes > most ? bytes : most;
    }
    return cpu_round_up(most, LINE);
}

static struct experts experts_of(const struct sdk_call *call, uint32_t threads)
{
    const struct accel_expert_matmul *attributes = call->attributes;
    const struct cpu_expert_prepared *prepared = call->prepared;
    const struct sdk_tensor *w = call->inputs[1], *ids = call->inputs[2];
    struct experts e = {
        .device = call->device,
        .call = call,
        .matrix = prepared == NULL ? NULL : prepared->matrix,
        .experts = attributes->experts,
        .choices = ids->dims[1],
        .pairs = ids->dims[0] * ids->dims[1],
        .n = w->rows / attributes->experts,
        .k = w->width,
        .weight = (uint32_t)cpu_weight_of(w->type),
    };
    const uint64_t together = cpu_least(e.pairs, PAIRS);
    char *at = call->scratch;

    e.columns = cpu_round_up(e.n / threads + 1, CPU_MATMUL16_ROWS) + 2 * CPU_MATMUL16_ROWS;
    e.own_bytes = cpu_round_up((GATHER * e.k + together * e.columns) * sizeof(float), LINE);
    e.order = call->scratch;
    e.bytes = cpu_round_up(e.pairs * sizeof(int32_t), LINE);
    e.first = at == NULL ? NULL : (uint32_t *)(void *)(at + e.bytes);
    e.bytes += cpu_round_up((e.experts + 1) * sizeof(uint32_t), LINE);
    e.resident = at == NULL ? NULL : (uint64_t *)(void *)(at + e.bytes);
    e.bytes += LINE;
    e.staged = at == NULL ? NULL : at + e.bytes;
    e.bytes += together * (prepared == NULL ? row_bytes_of(call) : prepared->row_bytes) + LINE;
    e.own = at == NULL ? NULL : at + e.bytes;
    e.bytes += threads * e.own_bytes;
    return e;
}

/* A single expert is read by every token. */
void cpu_expert_prepare(const struct sdk_call *call, void *prepared)
{
    const struct accel_expert_matmul *attributes = call->attributes;
    const struct cpu_device *device = call->device;
    struct cpu_expert_prepared *p = prepared;

    for (uint64_t rows = 0; p->row_bytes == 0 && rows < CPU_PRODUCT_ROWS; rows++)
        p->products[rows] = cpu_product_for(device, call->variant, call->inputs[1], rows + 1);
    p->row_bytes = p->row_bytes != 0 ? p->row_bytes : row_bytes_of(call);
    if (device->experts != NULL && p->matrix == NULL && attributes->experts > 1 && call->inputs[1]->packed == NULL)
        p->matrix = cpu_experts_add(device->experts, call->inputs[1], attributes->experts, call->inputs[2]);
}

void cpu_expert_release(const struct sdk_call *call, void *prepared)
{
    struct cpu_expert_prepared *p = prepared;

    if (p->matrix != NULL)
        cpu_experts_remove(((const struct cpu_device *)call->device)->experts, p->matrix);
}

const char *cpu_expert_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    const struct accel_expert_matmul *attributes = node->node->attributes;

    return sdk_input(node, 2)->type == ACCEL_I32 ? cpu_gathered_check(kernel, node, 3u << 1, attributes->rounding)
                                                 : "ids have to be I32";
}

/* Lists the kernels by the rows that an expert gets: "avx2, by rows of an expert: gemv_k, from 2 gemm8". The number is
 * that of the first. */
uint32_t cpu_expert_describe(const struct sdk_call *call, char *name, uint32_t size)
{
    const uint64_t most = cpu_least(call->inputs[2]->dims[0] * call->inputs[2]->dims[1], CPU_PRODUCT_ROWS);
    const uint32_t first = product_at(call, 1).family;
    uint32_t last = first;
    int used = snprintf(name, size, "%s, by rows of an expert: %s",
                        cpu_isa_name(((const struct cpu_device *)call->device)->kernels.isa), cpu_product_name(first));

    for (uint64_t rows = 2; rows <= most && used >= 0 && (uint32_t)used < size; rows++) {
        const uint32_t family = product_at(call, rows).family;

        if (family != last)
            used +=
                snprintf(name + used, size - (uint32_t)used, ", from %u %s", (unsigned)rows, cpu_product_name(family));
        last = family;
    }
    return ACCEL_VARIANT_OWN + first;
}

uint64_t cpu_expert_scratch(const struct sdk_call *call, uint32_t threads)
{
    return experts_of(call, threads).bytes;
}

uint64_t cpu_expert_work(const struct sdk_call *call)
{
    const struct sdk_tensor *y = call->outputs[0], *ids = call->inputs[2];
    const uint64_t factor = call->inputs[4] != NULL ? ids->dims[1] : 1;

    return cpu_time(call, y->rows * factor * y->width * call->inputs[1]->width, 8);
}

/* Sorts the pairs by expert, in the order of the pairs: a counting sort. */
static void sort_pairs(const struct experts *e)
{
    const int32_t *ids = e->call->inputs[2]->planes[0];
    uint64_t last = e->pairs;

    memset(e->first, 0, (e->experts + 1) * sizeof(*e->first));
    for (uint64_t p = 0; p < e->pairs; p++)
        if (ids[p] >= 0 && (uint64_t)ids[p] + 1 < e->experts)
            e->first[ids[p] + 1]++;
    for (uint64_t i = 1; i < e->experts; i++)
        e->first[i] += e->first[i - 1];
    for (uint64_t p = 0; p < e->pairs; p++) {
        if (ids[p] >= 0 && (uint64_t)ids[p] < e->experts)
            e->order[e->first[ids[p]]++] = (int32_t)p;
    }
    /* Each entry has moved to the first of the next expert. */
    memmove(e->first + 1, e->first, e->experts * sizeof(*e->first));
    e->first[0] = 0;
    for (uint64_t p = e->pairs; p-- > 0;)
        if (ids[p] < 0 || (uint64_t)ids[p] >= e->experts)
            e->order[--last] = (int32_t)p;
}

/* Returns where the pairs from `begin` on, up to `end`, stop being staged together. Experts are whole, so that the
 * kernel depends on the rows of an expert alone; one of more than PAIRS is cut evenly, and all of its pieces have one
 * kernel. */
static uint64_t find_stop(const struct experts *e, uint64_t expert, uint64_t begin, uint64_t end)
{
    uint64_t stop = begin, left;

    for (; stop < end && e->first[expert + 1] <= begin + PAIRS; expert++)
        stop = e->first[expert + 1];
    if (stop > begin)
        return stop;
    left = e->first[expert + 1] - begin;
    return begin + left / ((left + PAIRS - 1) / PAIRS);
}

/* Finds the segment that begins at `begin` and ends before `end`; *staged is where it is staged, and moves on. */
static struct segment next_segment(const struct experts *e, uint64_t expert, uint64_t begin, uint64_t end,
                                   char **staged)
{
    struct segment segment = {.expert = expert, .begin = begin, .staged = *staged};

    while (e->first[segment.expert + 1] <= begin)
        segment.expert++;
    segment.rows = cpu_least(e->first[segment.expert + 1], end) - begin;
    segment.product = product_at(e->call, segment.rows);
    *staged += cpu_round_up(cpu_act_bytes(segment.product.act, segment.rows, e->k), LINE);
    return segment;
}

/* Stages rows begin .. end of a segment. */
static void stage_rows(const struct experts *e, const struct segment *segment, uint64_t begin, uint64_t end,
                       float *gathered)
{
    const struct sdk_tensor *x = e->call->inputs[0];

    for (uint64_t r = begin; r < end; r++) {
        const uint64_t pair = (uint64_t)e->order[segment->begin + r];

        memcpy(gathered + (r - begin) * e->k,
               (const float *)x->planes[0] + (x->rank == 2 ? pair / e->choices : pair) * e->k,
               e->k * sizeof(*gathered));
    }
    cpu_act_stage(e->device, segment->product.act, gathered, e->k, segment->rows, segment->staged, begin, end);
}

/* Stores columns begin .. end of the results of a segment, or adds them to the sums of their tokens. */
static void store_rows(const struct experts *e, const struct segment *segment, const float *results, uint64_t begin,
                       uint64_t end)
{
    const float *factor = e->call->inputs[4] == NULL ? NULL : e->call->inputs[4]->planes[0];
    float *y = e->call->outputs[0]->planes[0];

    for (uint64_t r = 0; r < segment->rows; r++, results += e->columns) {
        const uint64_t pair = (uint64_t)e->order[segment->begin + r];
        float *to = y + (factor == NULL ? pair : pair / e->choices) * e->n;

        if (factor == NULL)
            memcpy(to + begin, results, (end - begin) * sizeof(*to));
        for (uint64_t i = begin; factor != NULL && i < end; i++)
            to[i] += factor[pair] * results[i - begin];
    }
}

/* Computes columns begin .. end of a segment. Packed weights are read in whole panels. */
static void multiply_segment(const struct experts *e, const struct segment *segment, uint64_t begin, uint64_t end,
                             float *results)
{
    const struct accel_expert_matmul *attributes = e->call->attributes;
    const struct sdk_tensor *bias = e->call->inputs[3], *w = e->call->inputs[1];
    struct sdk_tensor own = *w;
    const uint64_t from = segment->expert * e->n + begin, to = from + end - begin;
    const uint64_t row = w->packed == NULL ? from : from / CPU_MATMUL_ROWS * CPU_MATMUL_ROWS;
    const uint64_t rows = w->packed == NULL ? to - row : cpu_round_up(to - row, CPU_MATMUL_ROWS);
    struct cpu_matmul matmul = {
        .m = segment->rows,
        .n = rows,
        .k = e->k,
        .x = segment->staged,
        .x_stride = e->k,
        .bias = bias == NULL ? NULL : (const float *)bias->planes[0] + row,
        .function = attributes->function,
        .y = results,
        .y_stride = e->columns,
    };

    if (e->matrix != NULL)
        cpu_experts_bind(e->matrix, segment->expert, &own);
    else if (w->source != NULL)
        cpu_experts_map(segment->expert, e->experts, &own);
    cpu_matrix_of(e->device, &own, e->weight, &matmul.w);
    cpu_matrix_from(e->device, row, e->k, &matmul.w);
    cpu_act_bind(segment->product.act, &matmul, segment->staged);
    segment->product.run(&matmul, 0, rows);
    store_rows(e, segment, results + (from - row), begin, end);
}

/* Writes zeros to columns begin .. end of what is summed, and of pairs without an expert. */
static void clear_rows(const struct experts *e, uint64_t begin, uint64_t end)
{
    const uint32_t sums = e->call->inputs[4] != NULL;
    float *y = e->call->outputs[0]->planes[0];

    for (uint64_t t = 0; sums && t < e->pairs / e->choices; t++)
        memset(y + t * e->n + begin, 0, (end - begin) * sizeof(*y));
    for (uint64_t p = e->first[e->experts]; !sums && p < e->pairs; p++)
        memset(y + (uint64_t)e->order[p] * e->n + begin, 0, (end - begin) * sizeof(*y));
}

/* Selects the experts of the pairs from `pair` on, and stores up to which pair they have copies. */
static void acquire_experts(const struct experts *e, uint64_t pair)
{
    uint64_t expert = 0;

    *e->resident = e->first[e->experts];
    if (e->matrix == NULL)
        return;
    while (pair != 0 && e->first[expert + 1] <= pair)
        expert++;
    *e->resident = e->first[cpu_experts_acquire(e->device->experts, e->matrix, e->first, expert)];
}

void cpu_expert_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const struct experts e = experts_of(call, threads);
    float *gathered = (float *)(void *)(e.own + thread * e.own_bytes), *results = gathered + GATHER * e.k;
    uint64_t begin, end, pairs, resident, expert = 0;

    if (thread == 0) {
        sort_pairs(&e);
        acquire_experts(&e, 0);
    }
    sdk_barrier_wait(call->barrier);
    if (e.matrix != NULL)
        cpu_experts_read(e.device->experts);
    pairs = e.first[e.experts];
    resident = *e.resident;
    sdk_split(e.n, e.n < threads * CPU_MATMUL16_ROWS ? CPU_MATMUL_ROWS : CPU_MATMUL16_ROWS, thread, threads, &begin,
              &end);
    clear_rows(&e, begin, end);
    for (uint64_t p = 0, last; p < pairs; p = last) {
        struct segment segment = {.expert = expert};
        char *staged = e.staged;
        uint64_t turn = 0;

        last = find_stop(&e, expert, p, resident);
        for (uint64_t at = p; at < last; at += segment.rows) {
            segment = next_segment(&e, segment.expert, at, last, &staged);
            for (uint64_t r = 0, count; r < segment.rows; r += count) {
                count = cpu_least(cpu_act_grain(segment.product.act), segment.rows - r);
                if (turn++ % threads == thread)
                    stage_rows(&e, &segment, r, r + count, gathered);
            }
        }
        sdk_barrier_wait(call->barrier);
        segment.expert = expert;
        staged = e.staged;
        for (uint64_t at = p; at < last; at += segment.rows) {
            segment = next_segment(&e, segment.expert, at, last, &staged);
            if (begin < end)
                multiply_segment(&e, &segment, begin, end, results);
        }
        expert = segment.expert;
        sdk_barrier_wait(call->barrier);
        if (last == resident && last < pairs) {
            if (thread == 0) {
                cpu_experts_release(e.device->experts);
                acquire_experts(&e, last);
            }
            sdk_barrier_wait(call->barrier);
            cpu_experts_read(e.device->experts);
            resident = *e.resident;
        }
    }
    if (e.matrix != NULL && thread == 0)
        cpu_experts_release(e.device->experts);
}
