/* SPDX-License-Identifier: Apache-2.0 */
/* Checked arithmetic, the arena, hashes and the clock. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/arena.h"
#include "core/base/checked.h"
#include "core/base/clock.h"
#include "core/base/hash.h"

static void checked_arithmetic(void **state)
{
    uint64_t u = 7;
    size_t s = 7;
    (void)state;
    assert_true(accel_add_u64(UINT64_MAX - 1, 1, &u));
    assert_true(u == UINT64_MAX);
    assert_false(accel_add_u64(UINT64_MAX, 1, &u));
    assert_true(u == UINT64_MAX);
    assert_true(accel_mul_u64(UINT64_C(1) << 32, (UINT64_C(1) << 32) - 1, &u));
    assert_false(accel_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &u));
    assert_true(accel_mul_u64(0, UINT64_MAX, &u));
    assert_int_equal(u, 0);
    assert_true(accel_mul_u64(UINT64_MAX, 0, &u));
    assert_false(accel_add_size(SIZE_MAX, 1, &s));
    assert_false(accel_mul_size(SIZE_MAX / 2, 3, &s));
    assert_int_equal(s, 7);
    assert_true(accel_align_size(65, 64, &s));
    assert_int_equal(s, 128);
    assert_true(accel_align_size(64, 64, &s));
    assert_int_equal(s, 64);
    assert_false(accel_align_size(SIZE_MAX - 3, 64, &s));
    assert_true(accel_within_u64(10, 0, 10));
    assert_true(accel_within_u64(4, 6, 10));
    assert_false(accel_within_u64(4, 7, 10));
    assert_false(accel_within_u64(11, 0, 10));
    assert_false(accel_within_u64(UINT64_MAX, 2, 10));
}

static void arena_gives_aligned_zeros(void **state)
{
    static const size_t aligns[] = {1, 2, 8, 64, 4096};
    struct accel_arena arena;
    (void)state;
    accel_arena_init(&arena, 0);
    for (size_t round = 0; round < 200; round++) {
        size_t align = aligns[round % 5];
        size_t bytes = round * 37 % 5000;
        unsigned char *memory = accel_arena_alloc(&arena, bytes, align);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % align, 0);
        for (size_t i = 0; i < bytes; i++)
            assert_int_equal(memory[i], 0);
        memset(memory, 0xa5, bytes);
    }
    assert_ptr_not_equal(accel_arena_alloc(&arena, 0, 1), accel_arena_alloc(&arena, 0, 1));
    assert_string_equal(accel_arena_strdup(&arena, "hello"), "hello");
    assert_string_equal(accel_arena_strndup(&arena, "hello", 2), "he");
    accel_arena_free(&arena);
    assert_int_equal(arena.held, 0);
    assert_non_null(accel_arena_alloc(&arena, 8, 8));
    accel_arena_free(&arena);
}

static void arena_keeps_its_limit(void **state)
{
    struct accel_arena arena;
    size_t given = 0;
    (void)state;
    accel_arena_init(&arena, 20000);
    while (accel_arena_alloc(&arena, 1000, 8) != NULL) {
        given += 1000;
        assert_true(arena.held <= 20000);
    }
    /* Headers and blocks that are not quite full may cost something, not half of it. */
    assert_in_range(given, 15000, 20000);
    assert_null(accel_arena_alloc(&arena, 30000, 8));
    accel_arena_free(&arena);
    assert_non_null(accel_arena_alloc(&arena, 19000, 8));
    accel_arena_free(&arena);
}

static void arena_refuses_nonsense(void **state)
{
    struct accel_arena arena = {0};
    (void)state;
    assert_null(accel_arena_alloc(&arena, 1, 0));
    assert_null(accel_arena_alloc(&arena, 1, 3));
    assert_null(accel_arena_alloc(&arena, 1, 8192));
    assert_null(accel_arena_alloc(&arena, SIZE_MAX, 8));
    assert_null(accel_arena_alloc(&arena, SIZE_MAX - 100, 8));
    assert_null(accel_arena_array(&arena, SIZE_MAX / 2, 3));
    assert_null(accel_arena_strndup(&arena, "x", SIZE_MAX));
    accel_arena_free(&arena);
}

static void hashes(void **state)
{
    char text[ACCEL_HASH128_HEX_BYTES];
    struct accel_hash128 hash = accel_hash128("", 0, 0);
    (void)state;
    /* The published values of XXH3 for no bytes and seed 0. */
    assert_true(accel_hash64("", 0, 0) == UINT64_C(0x2d06800538d394c2));
    accel_hash128_to_hex(hash, text);
    assert_string_equal(text, "99aa06d3014798d86001c324468d497f");
    assert_true(accel_hash64("abc", 3, 0) != accel_hash64("abc", 3, 1));
    assert_true(accel_hash64("abc", 3, 0) != accel_hash64("abd", 3, 0));
}

static void clock_advances(void **state)
{
    uint64_t first = accel_clock_ns();
    uint64_t last = first;
    (void)state;
    while (last - first < 1000) {
        uint64_t now = accel_clock_ns();
        assert_true(now >= last);
        last = now;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checked_arithmetic),
        cmocka_unit_test(arena_gives_aligned_zeros),
        cmocka_unit_test(arena_keeps_its_limit),
        cmocka_unit_test(arena_refuses_nonsense),
        cmocka_unit_test(hashes),
        cmocka_unit_test(clock_advances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
