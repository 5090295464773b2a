/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files written piece by piece: what one run brought to the disk the next one takes up, and nothing else, whatever
 * became of the journal in between.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/file/staged.h"

enum { PIECES = 200, PIECE_BYTES = 16, HEADER_BYTES = 8, PATH_BYTES = 128 };

struct names {
    char whole[PATH_BYTES];
    char part[PATH_BYTES + 8];
    char journal[PATH_BYTES + 16];
};

static struct names names_of(const char *what)
{
    struct names n;

    snprintf(n.whole, sizeof(n.whole), "format_staged-%s-%ld", what, (long)getpid());
    snprintf(n.part, sizeof(n.part), "%s.part", n.whole);
    snprintf(n.journal, sizeof(n.journal), "%s.part.journal", n.whole);
    return n;
}

static void remove_all(const struct names *n)
{
    unlink(n->whole);
    unlink(n->part);
    unlink(n->journal);
}

static struct model_staged *open_staged(const struct names *n, uint64_t identity)
{
    struct model_staged_plan plan = {.path = n->whole,
                                     .header = "a header",
                                     .header_bytes = HEADER_BYTES,
                                     .bytes = HEADER_BYTES + PIECES * PIECE_BYTES,
                                     .identity = identity,
                                     .blocks = PIECES};
    struct model_staged *staged = NULL;

    assert_int_equal(model_staged_open(&plan, &staged, NULL), ACCEL_OK);
    return staged;
}

static void write_piece(struct model_staged *staged, uint32_t piece)
{
    char bytes[PIECE_BYTES];

    memset(bytes, (int)piece, sizeof(bytes));
    assert_int_equal(
        model_staged_write(staged, HEADER_BYTES + (uint64_t)piece * PIECE_BYTES, bytes, sizeof(bytes), NULL), ACCEL_OK);
    assert_int_equal(model_staged_complete_block(staged, piece, sizeof(bytes), NULL), ACCEL_OK);
}

static void append(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void test_taken_up(void **state)
{
    struct names n = names_of("taken");
    struct model_staged *staged = open_staged(&n, 7);
    unsigned char byte = 0;
    int fd;

    (void)state;
    assert_int_equal(model_staged_resumed(staged), 0);
    write_piece(staged, 3);
    model_staged_close(staged);
    assert_int_not_equal(access(n.whole, F_OK), 0);
    staged = open_staged(&n, 7);
    assert_int_equal(model_staged_resumed(staged), 1);
    assert_true(model_staged_has(staged, 3) && !model_staged_has(staged, 4) && !model_staged_has(staged, PIECES));
    assert_int_equal(model_staged_finish(staged, NULL), ACCEL_OK);
    model_staged_close(staged);
    assert_int_not_equal(access(n.part, F_OK), 0);
    assert_int_not_equal(access(n.journal, F_OK), 0);
    fd = open(n.whole, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, &byte, 1, HEADER_BYTES + 3 * PIECE_BYTES), 1);
    assert_int_equal(byte, 3);
    close(fd);
    remove_all(&n);
}

static void test_other_identity(void **state)
{
    struct names n = names_of("identity");
    struct model_staged *staged = open_staged(&n, 7);

    (void)state;
    write_piece(staged, 3);
    model_staged_close(staged);
    staged = open_staged(&n, 8);
    assert_int_equal(model_staged_resumed(staged), 0);
    assert_false(model_staged_has(staged, 3));
    model_staged_close(staged);
    remove_all(&n);
}

/* A journal of piece 0 gets `tail`; a run writes piece 2 then, and the next one knows these two and not `other`. */
static void go_on_after(const char *name, const char *tail, uint32_t other)
{
    struct names n = names_of(name);
    struct model_staged *staged = open_staged(&n, 7);

    write_piece(staged, 0);
    model_staged_close(staged);
    append(n.journal, tail);
    staged = open_staged(&n, 7);
    assert_int_equal(model_staged_resumed(staged), 1);
    write_piece(staged, 2);
    model_staged_close(staged);
    staged = open_staged(&n, 7);
    assert_int_equal(model_staged_resumed(staged), 2);
    assert_true(model_staged_has(staged, 0) && model_staged_has(staged, 2) && !model_staged_has(staged, other));
    model_staged_close(staged);
    remove_all(&n);
}

/* A line that was being written when the process ended, and then the line of another piece: "1" and "2" are not 12. */
static void test_torn_line(void **state)
{
    (void)state;
    go_on_after("torn", "1", 12);
}

/* A line that names no piece ends what is believed, and what follows it. */
static void test_damaged_line(void **state)
{
    (void)state;
    go_on_after("damaged", "9999\n5\n", 5);
    go_on_after("damaged", "9999\n5\n", 99);
}

static int32_t try_open(const struct names *n, struct accel_error *error)
{
    struct model_staged_plan plan = {.path = n->whole,
                                     .header = "a header",
                                     .header_bytes = HEADER_BYTES,
                                     .bytes = HEADER_BYTES + PIECES * PIECE_BYTES,
                                     .identity = 7,
                                     .blocks = PIECES};
    struct model_staged *staged = NULL;
    int32_t code = model_staged_open(&plan, &staged, error);

    assert_true((staged == NULL) == (code != ACCEL_OK));
    model_staged_close(staged);
    return code;
}

static void create(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    close(fd);
    append(path, text);
}

/* The file has these bytes, and no others. */
static void holds(const char *path, const char *text)
{
    char found[64] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(read(fd, found, sizeof(found) - 1), (ssize_t)strlen(text));
    assert_string_equal(found, text);
    close(fd);
}

/* Files of somebody else stay as they are. */
static void test_foreign(void **state)
{
    struct names n = names_of("foreign");
    struct accel_error error = {0};

    (void)state;
    create(n.part, "a letter");
    assert_int_equal(try_open(&n, &error), ACCEL_E_INVALID);
    assert_non_null(strstr(error.text, "exists and is not from an earlier run"));
    assert_non_null(strstr(error.remedy, "remove it"));
    holds(n.part, "a letter");
    assert_int_not_equal(access(n.journal, F_OK), 0);
    create(n.journal, "");
    assert_int_equal(try_open(&n, NULL), ACCEL_E_INVALID);
    holds(n.part, "a letter");
    unlink(n.part);
    append(n.journal, "dear diary");
    accel_error_clear(&error);
    assert_int_equal(try_open(&n, &error), ACCEL_E_INVALID);
    assert_non_null(strstr(error.text, "journal"));
    holds(n.journal, "dear diary");
    assert_int_not_equal(access(n.part, F_OK), 0);
    remove_all(&n);
}

/* A run that was killed between its first line and its file left what the next one begins anew. */
static void test_begun(void **state)
{
    struct names n = names_of("begun");

    (void)state;
    create(n.journal, "accel-journal begun\n");
    create(n.part, "a head");
    assert_int_equal(try_open(&n, NULL), ACCEL_OK);
    remove_all(&n);
}

/* What is no regular file is refused, at each of the three names, before anything is made. */
static void test_places(void **state)
{
    struct names n = names_of("places");
    const char *const names[] = {n.whole, n.part, n.journal};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(mkfifo(names[i], 0600), 0);
        assert_int_equal(try_open(&n, NULL), ACCEL_E_INVALID);
        unlink(names[i]);
        assert_int_equal(symlink("/nowhere", names[i]), 0);
        assert_int_equal(try_open(&n, NULL), ACCEL_E_INVALID);
        unlink(names[i]);
        assert_int_not_equal(access(n.part, F_OK), 0);
    }
    remove_all(&n);
}

static void test_discarded(void **state)
{
    struct names n = names_of("discarded");
    struct model_staged *staged = open_staged(&n, 7);

    (void)state;
    write_piece(staged, 3);
    model_staged_discard(staged);
    model_staged_close(staged);
    assert_int_not_equal(access(n.part, F_OK), 0);
    assert_int_not_equal(access(n.journal, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken_up),     cmocka_unit_test(test_other_identity), cmocka_unit_test(test_torn_line),
        cmocka_unit_test(test_damaged_line), cmocka_unit_test(test_foreign),        cmocka_unit_test(test_begun),
        cmocka_unit_test(test_places),       cmocka_unit_test(test_discarded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
