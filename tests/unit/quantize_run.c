/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files written with other types: every tensor equals what the reference encoder makes of the reference decoder's
 * values; a run that was killed is taken up and ends in the same bytes; what cannot be is refused.
 */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <accel/quant/format.h>

#include "model/file/gguf_write.h"
#include "quantize_support.h"
#include "tests/bench/random_model.h"
#include "tools/accelctl/sigbus_guard.h"

/* 2 layers; 27 MB in F16 and 54 MB in F32, which is more than what is written between two synchronisations. */
static const struct random_model sizes = {2, 512, 1536, 8, 2, 16000, 0, 0, 0, 0};

struct files {
    char in[PATH_BYTES];
    char out[PATH_BYTES];
    char again[PATH_BYTES];
};

static void names(struct files *f, const char *what)
{
    snprintf(f->in, PATH_BYTES, "quantize_run-%s-%ld-in.gguf", what, (long)getpid());
    snprintf(f->out, PATH_BYTES, "quantize_run-%s-%ld-out.gguf", what, (long)getpid());
    snprintf(f->again, PATH_BYTES, "quantize_run-%s-%ld-again.gguf", what, (long)getpid());
}

static void *row_of(const struct accel_model_file *file, const struct accel_model_tensor *tensor, uint64_t row,
                    size_t bytes)
{
    return (char *)(uintptr_t)accel_model_file_data(file, tensor) + row * bytes;
}

/* Encodes every row of a tensor anew, in the same way, and compares. */
static void compare_tensor(const struct accel_model_file *in, const struct accel_model_tensor *from,
                           const struct accel_model_file *out, const struct accel_model_tensor *to, bool nearest)
{
    size_t width = (size_t)from->dims[from->rank - 1], from_bytes, to_bytes;
    float *values = malloc(width * sizeof(*values));
    unsigned char *wanted;

    assert_int_equal(from->rank, to->rank);
    assert_memory_equal(from->dims, to->dims, sizeof(from->dims));
    assert_int_equal(accel_format_row_bytes(from->type, 0, width, &from_bytes), ACCEL_OK);
    assert_int_equal(accel_format_row_bytes(to->type, 0, width, &to_bytes), ACCEL_OK);
    wanted = malloc(to_bytes);
    assert_non_null(values);
    assert_non_null(wanted);
    for (uint64_t row = 0; row < to->bytes / to_bytes; row++) {
        const void *source[ACCEL_FORMAT_PLANES] = {row_of(in, from, row, from_bytes)};
        void *target[ACCEL_FORMAT_PLANES] = {wanted};

        assert_int_equal(accel_format_decode(from->type, source, width, values), ACCEL_OK);
        if (nearest || from->type == to->type)
            assert_int_equal(accel_format_encode(to->type, values, width, target), ACCEL_OK);
        else
            assert_int_equal(accel_format_fit(to->type, values, NULL, width, target), ACCEL_OK);
        assert_memory_equal(wanted, row_of(out, to, row, to_bytes), to_bytes);
    }
    free(values);
    free(wanted);
}

static void compare_files(const char *in, const char *out, bool nearest)
{
    struct accel_model_file *source = NULL, *result = NULL;
    struct accel_error error = {0};

    OK(accel_model_file_open(in, NULL, &source, &error));
    OK(accel_model_file_open(out, NULL, &result, &error));
    assert_int_equal(accel_model_file_tensor_count(source), accel_model_file_tensor_count(result));
    for (uint64_t i = 0; i < accel_model_file_tensor_count(source); i++)
        compare_tensor(source, accel_model_file_tensor(source, i), result, accel_model_file_tensor(result, i), nearest);
    accel_model_file_close(source);
    accel_model_file_close(result);
}

static void test_types(void **state)
{
    static const char *const types[] = {"f32",  "f16",  "bf16", "q8_0",   "q4_0",
                                        "Q4_1", "q5_0", "q5_1", "iq4_nl", "mxfp4"};
    struct accel_quantize_options options = {.size = sizeof(options), .threads = 3};
    struct accel_error error = {0};
    struct files f;

    (void)state;
    names(&f, "types");
    stories_path(f.in);
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        uint64_t resumed = 99;

        options.type = types[i];
        options.flags = i % 2 ? ACCEL_QUANTIZE_NEAREST : 0;
        OK(write_as(f.in, f.out, &options, &resumed, &error));
        assert_int_equal(resumed, 0);
        compare_files(f.in, f.out, options.flags != 0);
    }
    assert_int_equal(unlink(f.out), 0);
}

static void test_rows(void **state)
{
    static const char *const keep[] = {"blk.?.attn_v.*"};
    struct accel_quantize_options options = {.size = sizeof(options), .type = "q4_0", .keep = keep, .keep_count = 1};
    struct accel_model_file *file = NULL;
    struct accel_quantize_job *job = NULL;
    struct accel_error error = {0};
    uint32_t kept = 0, narrow = 0, vectors = 0;
    struct files f;

    (void)state;
    names(&f, "rows");
    stories_path(f.in);
    OK(accel_model_file_open(f.in, NULL, &file, &error));
    OK(accel_quantize_plan(file, &options, &job, &error));
    for (uint64_t i = 0; i < accel_quantize_count(job); i++) {
        const struct accel_quantize_row *row = accel_quantize_get(job, i);

        if (strcmp(row->reason, "unchanged on request") == 0) {
            assert_non_null(strstr(row->name, "attn_v"));
            assert_int_equal(row->to, ACCEL_F32);
            kept++;
        } else if (strcmp(row->reason, "no matrix") == 0) {
            vectors++;
        } else if (row->to == ACCEL_F16) {
            /* ffn_down: rows of 172. */
            assert_string_equal(row->reason, "rows are no whole number of blocks");
            narrow++;
        } else {
            assert_int_equal(row->to, ACCEL_Q4_0);
            assert_string_equal(row->reason, "");
        }
    }
    assert_int_equal(kept, 5);
    assert_int_equal(narrow, 5);
    assert_int_equal(vectors, 11);
    assert_null(accel_quantize_get(job, accel_quantize_count(job)));
    OK(accel_quantize_run(job, f.out, NULL, &error));
    for (uint64_t i = 0; i < accel_quantize_count(job); i++) {
        const struct accel_quantize_row *row = accel_quantize_get(job, i);

        /* 32 weights of a scale: 0.081 on normal data. */
        if (row->to == ACCEL_Q4_0)
            assert_true(row->relative_error > 0.06 && row->relative_error < 0.10);
        else
            assert_true(row->relative_error < 0.001);
    }
    accel_quantize_free(job);
    accel_model_file_close(file);
    unlink(f.out);
}

/* ---- runs that end early ---- */

static int32_t kill_in_the_middle(void *data, uint64_t done, uint64_t all)
{
    (void)data;
    if (done > all / 2)
        raise(SIGKILL);
    return 0;
}

static int32_t stop_in_the_middle(void *data, uint64_t done, uint64_t all)
{
    (void)data;
    return done > all / 2;
}

/* A file whose data lies at multiples of `alignment`, and says so. */
static void write_aligned(const char *path, uint32_t alignment)
{
    static const uint64_t dims[] = {3, 32};
    const struct accel_model_value value = {.size = sizeof(value),
                                            .kind = ACCEL_MODEL_UNSIGNED,
                                            .key = "general.alignment",
                                            .data = &alignment,
                                            .count = 1,
                                            .width = sizeof(alignment)};
    struct model_gguf_tensor tensors[] = {{.name = "a.weight", .dims = dims, .rank = 2, .type = ACCEL_F32},
                                          {.name = "b.weight", .dims = dims, .rank = 2, .type = ACCEL_F32}};
    float row[3 * 32];
    struct model_gguf_header header;
    struct accel_error error = {0};
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    OK(model_gguf_header(path, (const struct accel_model_value *const[]){&value}, 1, tensors, 2, &header, &error));
    assert_true(fd >= 0 && ftruncate(fd, (off_t)header.file_bytes) == 0);
    assert_int_equal(pwrite(fd, header.data, header.bytes, 0), (ssize_t)header.bytes);
    for (size_t t = 0; t < 2; t++) {
        for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
            row[i] = (float)(t + 1) * (float)i;
        assert_int_equal(tensors[t].offset % alignment, 0);
        assert_int_equal(pwrite(fd, row, sizeof(row), (off_t)tensors[t].offset), (ssize_t)sizeof(row));
    }
    close(fd);
    free(header.data);
}

/* The value general.alignment is copied, and what is written keeps to it. */
static void test_alignment(void **state)
{
    struct accel_quantize_options options = {.size = sizeof(options), .type = "f16"};
    struct accel_error error = {0};
    struct files f;

    (void)state;
    names(&f, "aligned");
    write_aligned(f.in, 4096);
    OK(write_as(f.in, f.out, &options, NULL, &error));
    compare_files(f.in, f.out, false);
    unlink(f.in);
    unlink(f.out);
}

static void compare_bytes(const char *a, const char *b)
{
    int fds[2] = {open(a, O_RDONLY | O_CLOEXEC), open(b, O_RDONLY | O_CLOEXEC)};
    static char left[1 << 16], right[1 << 16];
    ssize_t count;

    assert_true(fds[0] >= 0 && fds[1] >= 0);
    do {
        count = read(fds[0], left, sizeof(left));
        assert_true(count >= 0);
        assert_int_equal(read(fds[1], right, sizeof(right)), count);
        assert_memory_equal(left, right, (size_t)count);
    } while (count > 0);
    close(fds[0]);
    close(fds[1]);
}

static bool exists(const char *path, const char *suffix)
{
    char name[PATH_BYTES + 32];

    snprintf(name, sizeof(name), "%s%s", path, suffix);
    return access(name, F_OK) == 0;
}

/* Makes `to`, which may be `from`, a file of other halves with the same header and the same time of last change. */
static void change_quietly(const char *from, const char *to)
{
    int fds[2] = {open(from, O_RDONLY | O_CLOEXEC), open(to, O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    struct stat status;
    unsigned char *data;

    assert_true(fds[0] >= 0 && fds[1] >= 0 && fstat(fds[0], &status) == 0);
    data = malloc((size_t)status.st_size);
    assert_non_null(data);
    assert_int_equal(pread(fds[0], data, (size_t)status.st_size, 0), status.st_size);
    /* The signs of halves, in all but the first part, which has the header. */
    for (off_t at = (status.st_size / 8) | 1; at < status.st_size; at += 2)
        data[at] ^= 0x80;
    assert_int_equal(pwrite(fds[1], data, (size_t)status.st_size, 0), status.st_size);
    assert_int_equal(futimens(fds[1], (const struct timespec[2]){status.st_atim, status.st_mtim}), 0);
    close(fds[0]);
    close(fds[1]);
    free(data);
}

static void test_killed(void **state)
{
    struct accel_quantize_options options = {.size = sizeof(options), .type = "f32", .threads = 2};
    struct accel_error error = {0};
    uint64_t resumed = 0;
    struct files f;
    pid_t child;
    int status;

    (void)state;
    names(&f, "killed");
    assert_true(random_model_write(f.in, &sizes, ACCEL_F16));
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        options.progress = kill_in_the_middle;
        write_as(f.in, f.out, &options, NULL, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_false(exists(f.out, ""));
    assert_true(exists(f.out, ".part") && exists(f.out, ".part.journal"));
    OK(write_as(f.in, f.out, &options, &resumed, &error));
    assert_true(resumed > 0);
    assert_false(exists(f.out, ".part") || exists(f.out, ".part.journal"));
    OK(write_as(f.in, f.again, &options, &resumed, &error));
    assert_int_equal(resumed, 0);
    compare_bytes(f.out, f.again);
    unlink(f.in);
    unlink(f.out);
    unlink(f.again);
}

/* What was begun with other options is begun anew. */
static void test_other_options(void **state)
{
    struct accel_quantize_options options = {
        .size = sizeof(options), .type = "f32", .threads = 2, .progress = stop_in_the_middle};
    struct accel_error error = {0};
    uint64_t resumed = 99;
    struct files f;

    (void)state;
    names(&f, "other");
    assert_true(random_model_write(f.in, &sizes, ACCEL_F16));
    assert_int_equal(write_as(f.in, f.out, &options, NULL, &error), ACCEL_E_CANCELLED);
    assert_true(exists(f.out, ".part"));
    options.progress = NULL;
    options.type = "q8_0";
    OK(write_as(f.in, f.out, &options, &resumed, &error));
    assert_int_equal(resumed, 0);
    compare_files(f.in, f.out, false);
    unlink(f.in);
    unlink(f.out);
}

/* What was begun of one model is not taken up for another one with the same header, size and time of last change: it
 * lies beside the first here, and then in its place. */
static void test_other_model(void **state)
{
    struct accel_quantize_options options = {.size = sizeof(options), .type = "f32", .threads = 2};
    struct accel_error error = {0};
    struct files f;

    (void)state;
    names(&f, "model");
    assert_true(random_model_write(f.in, &sizes, ACCEL_F16));
    for (uint32_t in_place = 0; in_place < 2; in_place++) {
        const char *second = in_place ? f.in : f.again;
        uint64_t resumed = 99;

        options.progress = stop_in_the_middle;
        assert_int_equal(write_as(f.in, f.out, &options, NULL, &error), ACCEL_E_CANCELLED);
        assert_true(exists(f.out, ".part.journal"));
        change_quietly(f.in, second);
        options.progress = NULL;
        OK(write_as(second, f.out, &options, &resumed, &error));
        assert_int_equal(resumed, 0);
        compare_files(second, f.out, false);
        unlink(f.out);
    }
    unlink(f.in);
    unlink(f.again);
}

static void test_busy(void **state)
{
    struct accel_quantize_options options = {.size = sizeof(options), .type = "q8_0"};
    struct accel_error error = {0};
    char part[PATH_BYTES + 8];
    struct files f;
    int fd;

    (void)state;
    names(&f, "busy");
    stories_path(f.in);
    snprintf(part, sizeof(part), "%s.part", f.out);
    fd = open(part, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(write_as(f.in, f.out, &options, NULL, &error), ACCEL_E_BUSY);
    assert_non_null(strstr(error.text, "another process"));
    close(fd);
    assert_int_equal(unlink(part), 0);
}

/* ---- refusals ---- */

/* The error of a run that has to fail with `code`. */
static struct accel_error refused(const char *in, const char *out, const struct accel_quantize_options *options,
                                  int32_t code)
{
    struct accel_error error = {0};

    assert_int_equal(write_as(in, out, options, NULL, &error), code);
    return error;
}

static void test_refusals(void **state)
{
    struct accel_quantize_options options = {.size = sizeof(options), .type = "q9"};
    char cwd[PATH_BYTES];
    struct files f;

    (void)state;
    names(&f, "refused");
    stories_path(f.in);
    assert_non_null(strstr(refused(f.in, f.out, &options, ACCEL_E_UNSUPPORTED).text, "\"q9\""));
    options.type = "q8_0";
    assert_non_null(strstr(refused(f.in, f.in, &options, ACCEL_E_INVALID).text, "is the file that is read"));
    refused(f.in, "no-such-folder/out.gguf", &options, ACCEL_E_NOT_FOUND);
    options.flags = 4;
    assert_non_null(strstr(refused(f.in, f.out, &options, ACCEL_E_UNSUPPORTED).text, "flags"));
    options.flags = 0;
    options.threads = 5000;
    refused(f.in, f.out, &options, ACCEL_E_INVALID);
    options.threads = 1;
    snprintf(cwd, sizeof(cwd), "%.*s/hf", (int)(strrchr(f.in, '/') - f.in), f.in);
    options.type = "q4";
    options.group = 48;
    assert_non_null(strstr(refused(f.in, f.out, &options, ACCEL_E_INVALID).text, "group 48"));
    options.group = ACCEL_QUANTIZE_GROUP_ROW;
    options.scheme = "both";
    assert_non_null(strstr(refused(f.in, f.out, &options, ACCEL_E_INVALID).text, "\"both\""));
    options.scheme = NULL;
    options.roles = (const char *const[]){"ffn=q4_0", "tail=q8_0"};
    options.role_count = 2;
    assert_non_null(strstr(refused(f.in, f.out, &options, ACCEL_E_INVALID).text, "tail=q8_0"));
    options.role_count = 1;
    options.critical = "iq1_s";
    assert_non_null(strstr(refused(cwd, f.out, &options, ACCEL_E_UNSUPPORTED).text, "iq1_s"));
    assert_false(exists(f.out, ".part"));
}

/* A file with one matrix in F32. */
static void write_matrix(const char *path, const uint64_t dims[2], const float *values, const char *name)
{
    struct model_gguf_tensor tensor = {.name = name, .dims = dims, .rank = 2, .type = ACCEL_F32};
    struct model_gguf_header header;
    struct accel_error error = {0};
    size_t bytes = dims[0] * dims[1] * sizeof(*values);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    OK(model_gguf_header(path, NULL, 0, &tensor, 1, &header, &error));
    assert_true(fd >= 0 && ftruncate(fd, (off_t)header.file_bytes) == 0);
    assert_int_equal(pwrite(fd, header.data, header.bytes, 0), (ssize_t)header.bytes);
    assert_int_equal(pwrite(fd, values, bytes, (off_t)tensor.offset), (ssize_t)bytes);
    close(fd);
    free(header.data);
}

/* A value that a type cannot hold is named, and nothing of the run is left. */
static void test_overflow(void **state)
{
    static const char *const types[] = {"f16", "q8_0", "q4_0", "q5_1", "q4_k", "q6_k", "q2_k", "iq4_xs"};
    static const uint64_t dims[2] = {2, 256};
    struct accel_quantize_options options = {.size = sizeof(options)};
    float values[2 * 256] = {0};
    struct files f;

    (void)state;
    names(&f, "overflow");
    values[256 + 9] = -3e38f;
    write_matrix(f.in, dims, values, "a.weight");
    for (size_t i = 0; i < 2 * sizeof(types) / sizeof(*types); i++) {
        struct accel_error error = {0};
        int32_t code;

        options.type = types[i / 2];
        options.flags = i % 2 ? ACCEL_QUANTIZE_NEAREST : 0;
        code = write_as(f.in, f.out, &options, NULL, &error);
        if (code != ACCEL_E_UNSUPPORTED || strstr(error.text, "value 9 of row 1 is -3e+38, too large for") == NULL ||
            strstr(error.text, "a.weight") == NULL || strstr(error.remedy, "--keep") == NULL)
            fail_msg("%s: %d: %s", types[i / 2], (int)code, error.text);
        assert_false(exists(f.out, "") || exists(f.out, ".part") || exists(f.out, ".part.journal"));
    }
    values[256 + 9] = NAN;
    write_matrix(f.in, dims, values, "a.weight");
    assert_non_null(strstr(refused(f.in, f.out, &options, ACCEL_E_CORRUPT).text, "value 9 of row 1 is not finite"));
    assert_false(exists(f.out, ".part") || exists(f.out, ".part.journal"));
    unlink(f.in);
}

static int32_t truncate_it(void *data, uint64_t done, uint64_t all)
{
    (void)done;
    (void)all;
    return truncate(data, 4096) != 0;
}

/* A file that shrinks while it is read ends the command with its name, in whichever thread that is noticed. */
static void test_shrinking(void **state)
{
    struct accel_quantize_options options = {.size = sizeof(options), .type = "f32", .threads = 3};
    char said[512] = "", log[PATH_BYTES + 32];
    struct files f;
    int status, fd;

    (void)state;
    names(&f, "shrinking");
    snprintf(log, sizeof(log), "%s.log", f.out);
    for (int i = 0; i < 3; i++) {
        pid_t child;

        assert_true(random_model_write(f.in, &sizes, ACCEL_F16));
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct accel_model_file *file = NULL;
            struct accel_quantize_job *job = NULL;

            fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
            dup2(fd, STDERR_FILENO);
            options.progress = truncate_it;
            options.progress_data = f.in;
            if (accel_model_file_open(f.in, NULL, &file, NULL) == ACCEL_OK &&
                accel_quantize_plan(file, &options, &job, NULL) == ACCEL_OK) {
                sigbus_guard_begin(file, "leave it alone");
                accel_quantize_run(job, f.out, NULL, NULL);
            }
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 3);
        fd = open(log, O_RDONLY | O_CLOEXEC);
        assert_true(read(fd, said, sizeof(said) - 1) > 0);
        close(fd);
        assert_non_null(strstr(said, f.in));
        assert_non_null(strstr(said, "remedy: leave it alone"));
    }
    assert_false(exists(f.out, ""));
    unlink(f.in);
    unlink(log);
    snprintf(log, sizeof(log), "%s.part", f.out);
    unlink(log);
    snprintf(log, sizeof(log), "%s.part.journal", f.out);
    unlink(log);
}

/* Matrices without values are copied as they are. */
static void test_empty(void **state)
{
    static const uint64_t shapes[][2] = {{3, 0}, {0, 256}};
    struct accel_quantize_options options = {.size = sizeof(options), .type = "q8_0", .threads = 2};
    struct accel_error error = {0};
    struct files f;

    (void)state;
    names(&f, "empty");
    for (size_t i = 0; i < 2; i++) {
        write_matrix(f.in, shapes[i], (const float[]){0}, "a.weight");
        struct accel_model_file *file = NULL;

        OK(write_as(f.in, f.out, &options, NULL, &error));
        OK(accel_model_file_open(f.out, NULL, &file, &error));
        assert_memory_equal(accel_model_file_tensor(file, 0)->dims, shapes[i], sizeof(shapes[i]));
        assert_int_equal(accel_model_file_tensor(file, 0)->type, ACCEL_F32);
        accel_model_file_close(file);
    }
    unlink(f.in);
    unlink(f.out);
}

/* The file that is read is not written under any of the names that the other one has in the course of time. */
static void test_same_file(void **state)
{
    static const char *const suffixes[] = {"", ".part", ".part.journal"};
    static const uint64_t dims[2] = {1, 32};
    struct accel_quantize_options options = {.size = sizeof(options), .type = "q8_0"};
    float values[32] = {1};
    struct files f;

    (void)state;
    names(&f, "same");
    write_matrix(f.again, dims, values, "a.weight");
    write_matrix(f.in, dims, values, "a.weight");
    for (size_t i = 0; i < 3; i++) {
        char name[PATH_BYTES + 32];

        snprintf(name, sizeof(name), "%s%s", f.out, suffixes[i]);
        assert_int_equal(link(f.in, name), 0);
        assert_non_null(strstr(refused(f.in, f.out, &options, ACCEL_E_INVALID).text, "is the file that is read"));
        assert_non_null(strstr(refused(name, f.out, &options, ACCEL_E_INVALID).text, "is the file that is read"));
        compare_bytes(f.in, f.again);
        unlink(name);
    }
    unlink(f.in);
    unlink(f.again);
}

/* Places at which no file may be put. */
static void test_targets(void **state)
{
    static const char *const keep[] = {"*", "blk.*.nothing"};
    struct accel_quantize_options options = {.size = sizeof(options), .type = "q8_0"};
    struct accel_error error = {0};
    struct stat status;
    struct files f;

    (void)state;
    names(&f, "targets");
    stories_path(f.in);
    assert_non_null(strstr(refused(f.in, "", &options, ACCEL_E_INVALID).text, "name is empty"));
    assert_non_null(strstr(refused(f.in, "new/", &options, ACCEL_E_INVALID).text, "name of a folder"));
    assert_int_equal(mkdir(f.out, 0700), 0);
    assert_non_null(strstr(refused(f.in, f.out, &options, ACCEL_E_INVALID).text, "is a folder"));
    rmdir(f.out);
    assert_int_equal(mkfifo(f.out, 0600), 0);
    assert_non_null(strstr(refused(f.in, f.out, &options, ACCEL_E_INVALID).text, "is a FIFO"));
    assert_true(lstat(f.out, &status) == 0 && S_ISFIFO(status.st_mode));
    unlink(f.out);
    assert_int_equal(symlink("nothing", f.out), 0);
    assert_non_null(strstr(refused(f.in, f.out, &options, ACCEL_E_INVALID).text, "is a symbolic link"));
    unlink(f.out);
    assert_false(exists(f.out, ".part"));
    options.keep = keep;
    options.keep_count = 1;
    OK(write_as(f.in, f.out, &options, NULL, &error));
    unlink(f.out);
    options.keep_count = 2;
    error = refused(f.in, f.out, &options, ACCEL_E_INVALID);
    assert_non_null(strstr(error.text, "blk.*.nothing"));
    assert_non_null(strstr(error.remedy, "--dry-run"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),     cmocka_unit_test(test_rows),          cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_killed),    cmocka_unit_test(test_other_options), cmocka_unit_test(test_other_model),
        cmocka_unit_test(test_busy),      cmocka_unit_test(test_refusals),      cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_empty),     cmocka_unit_test(test_same_file),     cmocka_unit_test(test_targets),
        cmocka_unit_test(test_shrinking),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
