/* SPDX-License-Identifier: Apache-2.0 */
/* [TEST]: which experts the cpu driver has copies of: uses, eviction, the limit, the bytes of the copies, and the bytes
 * that are read beside those of a plan. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/session/experts.h"
#include "plugins/cpu/experts.h"
#include "tests/drivers/stub.h"

/* 3 matrices of 2 layers, each of EXPERTS experts of ROWS x WIDTH values in F32. The file begins with HEAD bytes, so
 * that experts do not begin at sectors. */
enum { LAYERS = 2, MATRICES = 3, EXPERTS = 4, ROWS = 12, WIDTH = 1000, HEAD = 100, BYTES = ROWS * WIDTH * 4 };
enum { COPY = (BYTES + 4095) / 4096 * 4096 + 4096, SLOT = MATRICES * COPY };

struct fixture {
    struct stub stub;
    char path[64];
    char *mapped;
    struct cpu_experts *experts;
    struct sdk_tensor w[LAYERS][MATRICES], ids[LAYERS];
    struct cpu_expert_matrix *matrices[LAYERS][MATRICES];
};

/* Byte i of the file. */
static char byte_at(uint64_t i)
{
    return (char)(i * 2654435761u >> 13);
}

static const uint64_t file_bytes = HEAD + (uint64_t)LAYERS * MATRICES * EXPERTS * BYTES;

static void set_up(struct fixture *f, uint64_t limit, int is_removed)
{
    int file;

    stub_init(&f->stub);
    snprintf(f->path, sizeof(f->path), "cpu_experts-%ld.bin", (long)getpid());
    file = open(f->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, (off_t)file_bytes), 0);
    f->mapped = mmap(NULL, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    assert_true(f->mapped != MAP_FAILED);
    for (uint64_t i = 0; i < file_bytes; i++)
        f->mapped[i] = byte_at(i);
    assert_int_equal(msync(f->mapped, file_bytes, MS_SYNC), 0);
    close(file);
    if (is_removed)
        unlink(f->path);
    f->experts = cpu_experts_create(&f->stub.host, limit);
    assert_non_null(f->experts);
    for (uint32_t l = 0; l < LAYERS; l++)
        for (uint32_t m = 0; m < MATRICES; m++) {
            f->w[l][m] = (struct sdk_tensor){.planes = {f->mapped + HEAD + (l * MATRICES + m) * EXPERTS * BYTES},
                                             .dims = {EXPERTS * ROWS, WIDTH},
                                             .rows = EXPERTS * ROWS,
                                             .width = WIDTH,
                                             .type = ACCEL_F32,
                                             .rank = 2};
            f->matrices[l][m] = cpu_experts_add(f->experts, &f->w[l][m], EXPERTS, &f->ids[l]);
            assert_non_null(f->matrices[l][m]);
            assert_ptr_equal(cpu_experts_add(f->experts, &f->w[l][m], EXPERTS, &f->ids[l]), f->matrices[l][m]);
        }
}

static void tear_down(struct fixture *f)
{
    cpu_experts_free(f->experts);
    assert_int_equal(f->stub.blocks, 0);
    munmap(f->mapped, file_bytes);
    unlink(f->path);
}

/* Compares the copies of experts begin .. end of a matrix with the file. */
static void compare(struct fixture *f, uint32_t layer, uint32_t matrix, const uint32_t *first, uint64_t begin,
                    uint64_t end)
{
    for (uint64_t e = begin; e < end; e++) {
        struct sdk_tensor w = f->w[layer][matrix];

        if (first[e + 1] == first[e])
            continue;
        cpu_experts_bind(f->matrices[layer][matrix], e, &w);
        assert_ptr_not_equal(w.planes[0], f->w[layer][matrix].planes[0]);
        assert_memory_equal((char *)w.planes[0] + e * BYTES, (char *)f->w[layer][matrix].planes[0] + e * BYTES, BYTES);
    }
}

/* Computes a matrix: returns how many calls the limit divides it into. `rows` of each expert. */
static uint32_t step(struct fixture *f, uint32_t layer, uint32_t matrix, const uint32_t rows[EXPERTS])
{
    uint32_t first[EXPERTS + 1] = {0}, calls = 0;

    for (uint32_t e = 0; e < EXPERTS; e++)
        first[e + 1] = first[e] + rows[e];
    for (uint64_t begin = 0, end; begin < EXPERTS; begin = end, calls++) {
        end = cpu_experts_acquire(f->experts, f->matrices[layer][matrix], first, begin);
        cpu_experts_read(f->experts);
        compare(f, layer, matrix, first, begin, end);
        cpu_experts_release(f->experts);
        assert_true(end > begin);
        assert_true(cpu_experts_state_of(f->experts).held <= cpu_experts_state_of(f->experts).limit);
    }
    return calls;
}

/* Computes all matrices of a layer for a token that is routed to `a` and `b`. */
static void token(struct fixture *f, uint32_t layer, uint32_t a, uint32_t b)
{
    uint32_t rows[EXPERTS] = {0};

    rows[a] = rows[b] = 1;
    for (uint32_t m = 0; m < MATRICES; m++)
        assert_int_equal(step(f, layer, m, rows), 1);
}

static void assert_held(struct fixture *f, uint32_t layer, const char *expected)
{
    for (uint32_t e = 0; e < EXPERTS; e++)
        for (uint32_t m = 0; m < MATRICES; m++)
            assert_int_equal(cpu_experts_is_held(f->experts, f->matrices[layer][m], e), expected[e] == '1');
}

static void the_least_used_leave(void **state)
{
    struct fixture f = {.experts = NULL};
    struct cpu_experts_state counts;

    (void)state;
    set_up(&f, 5 * SLOT, 0);
    for (uint32_t i = 0; i < 3; i++) {
        token(&f, 0, 0, 1);
        token(&f, 1, 2, 3);
    }
    counts = cpu_experts_state_of(f.experts);
    assert_int_equal(counts.held, 4 * SLOT);
    assert_int_equal(counts.read, 4 * SLOT);
    assert_int_equal(counts.evicted, 0);
    token(&f, 0, 0, 2); /* the fifth */
    token(&f, 1, 2, 0); /* 2 of layer 0 is the least used */
    assert_held(&f, 0, "1100");
    assert_held(&f, 1, "1011");
    token(&f, 0, 0, 3); /* 0 of layer 1 */
    assert_held(&f, 0, "1101");
    assert_held(&f, 1, "0011");
    counts = cpu_experts_state_of(f.experts);
    assert_int_equal(counts.held, 5 * SLOT);
    assert_int_equal(counts.evicted, 2 * SLOT);
    assert_int_equal(f.stub.taken[ACCEL_MEMORY_MAPPED], 5 * SLOT); /* blocks of evicted experts are used again */
    tear_down(&f);
}

/* Rows of all experts with room for two: the matrix is computed in parts, and only what it needs is read. */
static void a_prompt_in_parts(void **state)
{
    static const uint32_t rows[EXPERTS] = {5, 1, 2, 4};
    struct fixture f = {.experts = NULL};

    (void)state;
    set_up(&f, 2 * COPY + COPY / 2, 0);
    for (uint32_t m = 0; m < MATRICES; m++)
        assert_int_equal(step(&f, 0, m, rows), 2);
    assert_int_equal(cpu_experts_state_of(f.experts).read, MATRICES * EXPERTS * COPY);
    tear_down(&f);
}

/* Without the file the mapping is copied. */
static void a_file_that_is_gone(void **state)
{
    struct fixture f = {.experts = NULL};

    (void)state;
    set_up(&f, 8 * SLOT, 1);
    for (uint32_t e = 0; e < EXPERTS; e++)
        token(&f, 1, e, (e + 1) % EXPERTS);
    assert_held(&f, 1, "1111");
    tear_down(&f);
}

/* Without memory for a copy the expert stays where it is mapped. */
static void memory_is_out(void **state)
{
    static const uint32_t first[EXPERTS + 1] = {0, 1, 1, 1, 1};
    struct fixture f = {.experts = NULL};
    struct sdk_tensor w;

    (void)state;
    set_up(&f, 8 * SLOT, 0);
    f.stub.fail_at = f.stub.calls + 1;
    assert_int_equal(cpu_experts_acquire(f.experts, f.matrices[0][0], first, 0), EXPERTS);
    cpu_experts_read(f.experts);
    w = f.w[0][0];
    cpu_experts_bind(f.matrices[0][0], 0, &w);
    assert_ptr_equal(w.planes[0], f.w[0][0].planes[0]);
    cpu_experts_release(f.experts);
    assert_int_equal(cpu_experts_is_held(f.experts, f.matrices[0][0], 0), 0);
    tear_down(&f);
}

/* Other weights may be mapped where a matrix was: copies of that one are not used for them, nor its number of experts.
 */
static void a_matrix_that_is_removed(void **state)
{
    static const uint32_t first[EXPERTS + 1] = {0, 1, 2, 3, 4}, halves[3] = {0, 1, 2};
    struct fixture f = {.experts = NULL};
    struct cpu_expert_matrix *halved;
    struct sdk_tensor w;

    (void)state;
    set_up(&f, 8 * SLOT, 1);
    /* Another node may divide the same weights into other experts. */
    halved = cpu_experts_add(f.experts, &f.w[0][1], 2, &f.ids[1]);
    assert_ptr_not_equal(halved, f.matrices[0][1]);
    cpu_experts_remove(f.experts, halved);
    assert_int_equal(cpu_experts_acquire(f.experts, f.matrices[0][1], first, 0), EXPERTS);
    cpu_experts_read(f.experts);
    cpu_experts_release(f.experts);
    assert_held(&f, 0, "1111");
    /* Each was added twice. */
    cpu_experts_remove(f.experts, f.matrices[0][1]);
    assert_int_equal(cpu_experts_is_held(f.experts, f.matrices[0][1], 3), 1);
    cpu_experts_remove(f.experts, f.matrices[0][1]);
    assert_int_equal(cpu_experts_is_held(f.experts, f.matrices[0][1], 3), 0);
    assert_int_equal(cpu_experts_state_of(f.experts).held, (MATRICES - 1) * EXPERTS * COPY);
    /* The next layer reads none of it, though its file is gone. */
    memset(f.mapped, 1, file_bytes);
    w = f.w[0][1];
    f.matrices[0][1] = cpu_experts_add(f.experts, &w, 2, &f.ids[0]);
    assert_int_equal(cpu_experts_acquire(f.experts, f.matrices[0][1], halves, 0), 2);
    cpu_experts_read(f.experts);
    cpu_experts_release(f.experts);
    cpu_experts_bind(f.matrices[0][1], 1, &w);
    assert_ptr_not_equal(w.planes[0], f.w[0][1].planes[0]);
    assert_memory_equal((char *)w.planes[0] + 2 * BYTES, f.mapped, 2 * BYTES);
    /* A layer goes with its last matrix, and the others stay. */
    for (uint32_t i = 0; i < 2; i++) {
        cpu_experts_remove(f.experts, f.matrices[0][0]);
        cpu_experts_remove(f.experts, f.matrices[0][2]);
    }
    cpu_experts_remove(f.experts, f.matrices[0][1]);
    assert_int_equal(cpu_experts_state_of(f.experts).held, 0);
    for (uint32_t e = 0; e < EXPERTS; e++)
        token(&f, 1, e, (e + 1) % EXPERTS);
    assert_held(&f, 1, "1111");
    tear_down(&f);
}

/* A source of which expert e of plane 0 is the one before the last e of the file's matrix, except one that it refuses.
 */
struct part_source {
    struct accel_source face;
    uint64_t refused;
};

static int32_t map_part(const struct accel_source *source, const char *key, uint32_t plane, uint64_t offset,
                        uint64_t bytes, const void **out_address, struct accel_error *error)
{
    const uint64_t expert = offset / BYTES;

    (void)error;
    assert_int_equal(plane, 0);
    assert_true(offset % BYTES == 0 && bytes == BYTES && expert < EXPERTS);
    if (expert == ((const struct part_source *)source)->refused)
        return ACCEL_E_UNSUPPORTED;
    *out_address = key + (EXPERTS - 1 - expert) * BYTES;
    return ACCEL_OK;
}

/* Experts that lie one by one in the file are read from their places, and found again by the first. A matrix of which
 * any expert does not lie together is refused. */
static void a_matrix_in_parts(void **state)
{
    struct part_source source = {{.size = sizeof(source.face), .map_part = map_part}, 0};
    static const uint32_t first[EXPERTS + 1] = {0, 1, 2, 3, 4};
    struct fixture f = {.experts = NULL};
    struct cpu_expert_matrix *matrix;
    struct sdk_tensor w, plain;

    (void)state;
    set_up(&f, 8 * SLOT, 0);
    plain = w = f.w[1][1];
    w.planes[0] = NULL;
    w.source = &source.face;
    w.key = plain.planes[0];
    for (; source.refused < EXPERTS; source.refused++)
        assert_null(cpu_experts_add(f.experts, &w, EXPERTS, &f.ids[1]));
    matrix = cpu_experts_add(f.experts, &w, EXPERTS, &f.ids[1]);
    assert_non_null(matrix);
    assert_ptr_not_equal(matrix, f.matrices[1][1]);
    assert_ptr_equal(cpu_experts_add(f.experts, &w, EXPERTS, &f.ids[1]), matrix);
    assert_int_equal(cpu_experts_acquire(f.experts, matrix, first, 0), EXPERTS);
    cpu_experts_read(f.experts);
    for (uint32_t i = 0; i < 2; i++)
        for (uint64_t e = 0; e < EXPERTS; e++) {
            const char *place = (const char *)plain.planes[0] + (EXPERTS - 1 - e) * BYTES;

            if (i == 0)
                cpu_experts_bind(matrix, e, &w);
            else
                cpu_experts_map(e, EXPERTS, &w);
            assert_int_equal((char *)w.planes[0] + e * BYTES == place, i);
            assert_memory_equal((char *)w.planes[0] + e * BYTES, place, BYTES);
        }
    cpu_experts_release(f.experts);
    tear_down(&f);
}

/* ---- a router that likes all experts ---- */

enum { MOST_LAYERS = 24, MOST_EXPERTS = 64, ROW = 64, TOKENS = 3000 };

/* Draws which of the experts a token is routed to, as sums of rows. */
static void draw(uint32_t experts, uint32_t used, uint32_t *state, uint32_t first[MOST_EXPERTS + 1])
{
    bool chosen[MOST_EXPERTS] = {false};

    for (uint32_t left = used; left > 0;) {
        uint32_t e;

        *state = *state * 1664525u + 1013904223u;
        e = (uint32_t)((uint64_t)*state * experts >> 32);
        left -= !chosen[e];
        chosen[e] = true;
    }
    for (uint32_t e = 0; e < experts; e++)
        first[e + 1] = first[e] + chosen[e];
}

/* Returns the bytes that a token reads on average, with copies of `held` experts, when the first tokens have passed. */
static double measure_reads(const struct session_experts *experts, uint64_t limit)
{
    static struct sdk_tensor w[MOST_LAYERS], ids[MOST_LAYERS];
    static char weights[MOST_LAYERS][MOST_EXPERTS][ROW];
    struct cpu_expert_matrix *matrices[MOST_LAYERS];
    struct cpu_experts *residency;
    struct stub stub;
    uint64_t begin = 0, read;
    uint32_t state = 1;

    stub_init(&stub);
    residency = cpu_experts_create(&stub.host, limit);
    assert_non_null(residency);
    for (uint32_t l = 0; l < experts->layers; l++) {
        w[l] = (struct sdk_tensor){.planes = {weights[l]},
                                   .dims = {experts->experts, ROW / 4},
                                   .rows = experts->experts,
                                   .width = ROW / 4,
                                   .type = ACCEL_F32,
                                   .rank = 2};
        matrices[l] = cpu_experts_add(residency, &w[l], experts->experts, &ids[l]);
        assert_non_null(matrices[l]);
    }
    for (uint32_t t = 0; t < TOKENS; t++)
        for (uint32_t l = 0; l < experts->layers; l++) {
            uint32_t first[MOST_EXPERTS + 1] = {0};

            draw(experts->experts, experts->used, &state, first);
            begin = t == TOKENS / 4 && l == 0 ? cpu_experts_state_of(residency).read : begin;
            cpu_experts_acquire(residency, matrices[l], first, 0);
            cpu_experts_read(residency);
            cpu_experts_release(residency);
        }
    read = cpu_experts_state_of(residency).read - begin;
    cpu_experts_free(residency);
    return (double)read / (TOKENS - TOKENS / 4);
}

/* The bytes that a plan states are those that the driver reads, whatever part of the experts has copies. */
static void reads_are_as_planned(void **state)
{
    static const struct {
        uint32_t layers, experts, used, held;
    } rows[] = {{24, 8, 2, 2},   {24, 8, 2, 20},  {24, 8, 2, 50},   {24, 8, 2, 81},  {24, 8, 2, 120},
                {24, 8, 2, 160}, {24, 8, 2, 180}, {6, 4, 1, 12},    {8, 64, 8, 16},  {8, 64, 8, 256},
                {8, 64, 8, 400}, {4, 8, 2, 16},   {16, 64, 8, 500}, {16, 64, 8, 900}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const uint64_t copy = 2 * 4096, used = rows[i].used, held = rows[i].held * copy;
        const struct session_experts experts = {.bytes = copy * rows[i].layers * rows[i].experts,
                                                .least = copy * used,
                                                .token = copy * used * rows[i].layers,
                                                .layers = rows[i].layers,
                                                .experts = rows[i].experts,
                                                .used = rows[i].used};
        const double planned = (double)session_expert_reads(&experts, held), read = measure_reads(&experts, held);

        print_message("%u layers of %u experts, %u used, %u held: planned %.0f, read %.0f, %+.2f %%\n", rows[i].layers,
                      rows[i].experts, rows[i].used, rows[i].held, planned, read, 100 * (read / planned - 1));
        assert_true(read < 1.02 * planned && read > 0.98 * planned);
        /* A limit between two whole experts holds no more of them. */
        assert_true(rows[i].held == used || session_expert_reads(&experts, held + copy / 2) == (uint64_t)planned);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_used_leave),     cmocka_unit_test(a_prompt_in_parts),
        cmocka_unit_test(a_file_that_is_gone),      cmocka_unit_test(memory_is_out),
        cmocka_unit_test(a_matrix_that_is_removed), cmocka_unit_test(a_matrix_in_parts),
        cmocka_unit_test(reads_are_as_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
