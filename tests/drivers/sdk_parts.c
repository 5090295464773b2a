/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the driver library: memory by lifetime, shares of work, the barrier, extents, versions, errors. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "sdk/driver/program.h"
#include "tests/drivers/stub.h"

#define BLOCKS 60u
#define NODES 40u

static uint64_t state;

static uint32_t below(uint32_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % limit;
}

static void seed(void)
{
    const char *given = getenv("ACCEL_TEST_SEED");

    state = given == NULL ? (uint64_t)time(NULL) : strtoull(given, NULL, 10);
    print_message("seed: ACCEL_TEST_SEED=%llu\n", (unsigned long long)state);
}

/* Bytes that live at one node, at the worst node: no layout needs less. */
static uint64_t lower_bound(const struct sdk_block *blocks, uint32_t count)
{
    uint64_t worst = 0;

    for (uint32_t node = 0; node < NODES; node++) {
        uint64_t live = 0;

        for (uint32_t i = 0; i < count; i++)
            if (blocks[i].first <= node && node <= blocks[i].last)
                live += blocks[i].bytes;
        worst = live > worst ? live : worst;
    }
    return worst;
}

static void check_layout(const struct sdk_block *blocks, uint32_t count, uint64_t total)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct sdk_block *a = &blocks[i];

        assert_int_equal(a->offset % 64, 0);
        assert_true(a->offset + a->bytes <= total);
        for (uint32_t j = 0; j < i; j++) {
            const struct sdk_block *b = &blocks[j];

            if (a->first > b->last || b->first > a->last)
                continue;
            assert_true(a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset);
        }
    }
}

static void blocks_that_live_together_do_not_overlap(void **unused)
{
    double sum = 0, worst = 0;

    (void)unused;
    seed();
    for (uint32_t round = 0; round < 500; round++) {
        struct sdk_block blocks[BLOCKS] = {{0}};
        uint32_t count = 1 + below(BLOCKS);
        uint64_t total, bound;
        double ratio;

        for (uint32_t i = 0; i < count; i++) {
            blocks[i].first = below(NODES);
            blocks[i].last = blocks[i].first + below(below(4) == 0 ? NODES - blocks[i].first : 3);
            blocks[i].last = blocks[i].last < NODES ? blocks[i].last : NODES - 1;
            blocks[i].bytes = below(5) == 0 ? 0 : 1 + below(4096);
        }
        total = sdk_layout_plan(blocks, count);
        check_layout(blocks, count, total);
        bound = lower_bound(blocks, count);
        assert_true(total >= bound);
        ratio = bound == 0 ? 1.0 : (double)total / (double)bound;
        sum += ratio;
        worst = ratio > worst ? ratio : worst;
    }
    print_message("scratch over its lower bound: mean %.3f, worst %.3f\n", sum / 500, worst);
    assert_true(sum / 500 < 1.1);
    assert_true(worst < 1.6);
}

static void shares_cover_everything_once(void **unused)
{
    (void)unused;
    seed();
    for (uint32_t round = 0; round < 20000; round++) {
        uint64_t count = below(4) == 0 ? below(5) : below(100000);
        uint64_t step = 1 + below(below(2) == 0 ? 4 : 300);
        uint32_t threads = 1 + below(9);
        uint64_t at = 0, most = 0, least = UINT64_MAX;

        for (uint32_t thread = 0; thread < threads; thread++) {
            uint64_t begin = 1, end = 0;

            sdk_split(count, step, thread, threads, &begin, &end);
            assert_int_equal(begin, at);
            assert_true(end >= begin && end <= count);
            assert_true(end % step == 0 || end == count);
            most = end - begin > most ? end - begin : most;
            least = end - begin < least ? end - begin : least;
            at = end;
        }
        assert_int_equal(at, count);
        assert_true(most - least <= 2 * step);
    }
}

#define THREADS 3u
#define ROUNDS 3000u

struct meeting {
    struct sdk_barrier barrier;
    uint64_t written[THREADS]; /* not atomic: the barrier has to make it visible */
    uint32_t wrong;
};

struct participant {
    pthread_t handle;
    struct meeting *meeting;
    uint32_t index;
    uint32_t zero;
};

static void *meet(void *argument)
{
    struct participant *self = argument;
    struct meeting *meeting = self->meeting;

    for (uint64_t round = 1; round <= ROUNDS; round++) {
        meeting->written[self->index] = round;
        if (round % 97 == self->index)
            sched_yield();
        if (round % 501 == self->index)
            nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL); /* the others fall asleep */
        sdk_barrier_wait(&meeting->barrier);
        for (uint32_t other = 0; other < THREADS; other++)
            if (meeting->written[other] != round)
                __atomic_fetch_add(&meeting->wrong, 1, __ATOMIC_RELAXED);
        sdk_barrier_wait(&meeting->barrier);
    }
    return NULL;
}

static void threads_see_what_others_wrote_before_the_barrier(void **unused)
{
    struct meeting meeting = {.barrier = {.threads = THREADS}};
    struct participant participants[THREADS];

    (void)unused;
    for (uint32_t r = 0; r < THREADS; r++) {
        participants[r] = (struct participant){.meeting = &meeting, .index = r};
        assert_int_equal(pthread_create(&participants[r].handle, NULL, meet, &participants[r]), 0);
    }
    for (uint32_t r = 0; r < THREADS; r++)
        pthread_join(participants[r].handle, NULL);
    assert_int_equal(meeting.wrong, 0);
    assert_int_equal(meeting.barrier.sleepers, 0);
    assert_int_equal(meeting.barrier.arrived, 0);
    sdk_barrier_wait(NULL);
}

static void extents_follow_symbols(void **unused)
{
    const uint64_t symbols[2] = {6, 10};
    struct accel_dim dim = {.symbol = 2, .multiply = 3, .divide = 5, .add = 1};

    (void)unused;
    assert_int_equal(sdk_extent(&dim, symbols, 2), 7);
    dim = (struct accel_dim){.add = 9};
    assert_int_equal(sdk_extent(&dim, symbols, 2), 9);
    dim = (struct accel_dim){.symbol = 3, .multiply = 1, .divide = 1};
    assert_int_equal(sdk_extent(&dim, symbols, 2), 0);
    assert_int_equal(sdk_row_bytes(ACCEL_F16, 3), 6);
    assert_int_equal(sdk_row_bytes(ACCEL_I64, 3), 24);
    assert_int_equal(sdk_row_bytes(ACCEL_U8, 3), 3);
    assert_int_equal(sdk_row_bytes(ACCEL_F32, 3), 12);
}

static void versions_and_errors(void **unused)
{
    const struct accel_driver driver = {
        .size = sizeof(driver), .abi_major = 3, .abi_lowest = 5, .name = "toy", .version = "2"};
    const struct accel_setting settings[] = {{.name = "a", .integer = 1}, {.name = "b", .integer = 2}};
    const struct accel_driver *out = &driver;
    struct accel_error error = {0};
    char minor[16];

    (void)unused;
    snprintf(minor, sizeof(minor), "%u", (unsigned)ACCEL_ABI_MINOR);
    assert_string_equal(minor, SDK_ABI_MINOR_TEXT);
    snprintf(minor, sizeof(minor), "%u", (unsigned)ACCEL_ABI_MAJOR);
    assert_string_equal(minor, SDK_ABI_MAJOR_TEXT);
    snprintf(minor, sizeof(minor), "%u", (unsigned)SDK_ABI_LOWEST);
    assert_string_equal(minor, SDK_ABI_LOWEST_TEXT);
    assert_int_equal(sdk_query(&driver, 4, 9, &out, &error), ACCEL_E_ABI);
    assert_null(out);
    assert_non_null(strstr(error.text, "3.5"));
    assert_non_null(strstr(error.text, "4.9"));
    assert_int_equal(sdk_query(&driver, 3, 4, &out, NULL), ACCEL_E_ABI);
    assert_int_equal(sdk_query(&driver, 3, 5, &out, NULL), ACCEL_OK);
    assert_ptr_equal(out, &driver);
    assert_int_equal(sdk_error(&error, ACCEL_E_IO, "second"), ACCEL_E_IO);
    assert_int_equal(error.code, ACCEL_E_ABI); /* the first error wins */
    sdk_remedy(&error, "do %d", 1);
    sdk_remedy(&error, "do %d", 2);
    assert_string_equal(error.remedy, "do 1");
    sdk_remedy(NULL, "nothing");
    assert_ptr_equal(sdk_setting(settings, 2, "b"), &settings[1]);
    assert_null(sdk_setting(settings, 2, "c"));
    assert_null(sdk_setting(NULL, 0, "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_that_live_together_do_not_overlap),
        cmocka_unit_test(shares_cover_everything_once),
        cmocka_unit_test(threads_see_what_others_wrote_before_the_barrier),
        cmocka_unit_test(extents_follow_symbols),
        cmocka_unit_test(versions_and_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
