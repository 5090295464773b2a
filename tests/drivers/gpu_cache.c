/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled kernels on disk: what is kept comes back, and what is damaged, foreign or writable by others does not. */
#include "config.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sdk/gpu/cache.h"
#include "tests/drivers/stub.h"

/* The device: what it would write, and what it was given. */
struct gpu_device {
    const char *compiled;
    char given[64];
    char others[64]; /* what cache_write was given last */
    uint8_t kind;
};

static void fingerprint(const struct gpu_device *device, uint8_t out_fingerprint[16])
{
    memset(out_fingerprint, device->kind, 16);
}

static int32_t cache_write(struct gpu_device *device, const void *others, uint64_t count,
                           const struct accel_blob_writer *writer, struct accel_error *error)
{
    size_t half = strlen(device->compiled) / 2;

    assert_true(count < sizeof(device->others));
    assert_int_equal(count == 0, others == NULL);
    memset(device->others, 0, sizeof(device->others));
    memcpy(device->others, count == 0 ? "" : others, count);

    if (writer->write(writer, device->compiled, half, error) != ACCEL_OK)
        return ACCEL_E_IO;
    return writer->write(writer, device->compiled + half, strlen(device->compiled) - half, error);
}

static int32_t cache_read(struct gpu_device *device, const void *bytes, uint64_t count, struct accel_error *error)
{
    (void)error;
    assert_true(count < sizeof(device->given));
    memset(device->given, 0, sizeof(device->given));
    memcpy(device->given, bytes, count);
    return ACCEL_OK;
}

static const struct gpu_api api = {
    .name = "mock", .fingerprint = fingerprint, .cache_write = cache_write, .cache_read = cache_read};

static char folder[] = "/tmp/accel-cache-XXXXXX";

static void open_cache(struct gpu_cache *cache, struct stub *stub, struct gpu_device *device)
{
    char text[sizeof(folder) + 8];
    struct accel_setting setting = {.name = "cache", .text = text};

    snprintf(text, sizeof(text), "%s/a/b", folder);
    stub_init(stub);
    gpu_cache_open(cache, &api, &stub->host, device, &setting);
}

static void keeps_what_was_compiled(void **state)
{
    struct gpu_device device = {.compiled = "first kernels", .kind = 1};
    struct gpu_cache cache;
    struct stub stub;
    struct stat before, after;

    (void)state;
    open_cache(&cache, &stub, &device);
    assert_string_equal(device.given, "");
    gpu_cache_store(&cache);
    assert_int_equal(stat(cache.file, &before), 0);
    assert_int_equal(before.st_mode & 0777, 0600);
    gpu_cache_store(&cache); /* nothing new: the file is not touched */
    assert_int_equal(stat(cache.file, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    gpu_cache_close(&cache);

    open_cache(&cache, &stub, &device);
    assert_string_equal(device.given, "first kernels");
    device.compiled = "first kernels and more";
    gpu_cache_store(&cache);
    gpu_cache_close(&cache);
    open_cache(&cache, &stub, &device);
    assert_string_equal(device.given, "first kernels and more");
    assert_int_equal(stub.lines, 0);
    gpu_cache_close(&cache);

    device.kind = 2; /* another device has another file */
    device.given[0] = '\0';
    open_cache(&cache, &stub, &device);
    assert_string_equal(device.given, "");
    gpu_cache_close(&cache);
}

static void damage(const char *name, off_t at, int delta)
{
    int file = open(name, O_RDWR);
    unsigned char byte;

    assert_true(file >= 0);
    assert_int_equal(pread(file, &byte, 1, at), 1);
    byte = (unsigned char)(byte + delta);
    assert_int_equal(pwrite(file, &byte, 1, at), 1);
    close(file);
}

static void expect_refused(struct gpu_device *device)
{
    struct gpu_cache cache;
    struct stub stub;

    device->given[0] = '\0';
    open_cache(&cache, &stub, device);
    assert_string_equal(device->given, "");
    assert_int_equal(stub.lines, 1); /* it is said */
    gpu_cache_close(&cache);
}

static void refuses_what_is_not_right(void **state)
{
    struct gpu_device device = {.compiled = "some kernels", .kind = 3};
    struct gpu_cache cache;
    struct stub stub;
    struct stat status;

    (void)state;
    open_cache(&cache, &stub, &device);
    gpu_cache_store(&cache);
    gpu_cache_close(&cache);
    assert_int_equal(stat(cache.file, &status), 0);
    for (off_t at = 0; at < status.st_size; at++) { /* any byte of it */
        damage(cache.file, at, 1);
        expect_refused(&device);
        damage(cache.file, at, -1);
    }
    assert_int_equal(chmod(cache.file, 0620), 0);
    expect_refused(&device);
    assert_int_equal(chmod(cache.file, 0600), 0);
    assert_int_equal(truncate(cache.file, status.st_size - 1), 0);
    expect_refused(&device);
    assert_int_equal(truncate(cache.file, 3), 0);
    expect_refused(&device);
    open_cache(&cache, &stub, &device); /* and it is written anew */
    gpu_cache_store(&cache);
    gpu_cache_close(&cache);
    open_cache(&cache, &stub, &device);
    assert_string_equal(device.given, "some kernels");
    gpu_cache_close(&cache);
}

/* What a killed process left beside the file does no harm; what is somebody else's is not touched. */
static void writes_beside(void **state)
{
    struct gpu_device device = {.compiled = "kernels of before", .kind = 5};
    struct gpu_cache cache;
    struct stub stub;
    struct stat status;
    char beside[sizeof(cache.file) + 8], linked[sizeof(beside) + 8];
    int file;

    (void)state;
    open_cache(&cache, &stub, &device);
    gpu_cache_store(&cache);
    snprintf(beside, sizeof(beside), "%s.new", cache.file);
    assert_int_not_equal(stat(beside, &status), 0);
    file = open(beside, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(file, "half of a file that is longer than the next one will be, by far", 63), 63);
    close(file);
    device.compiled = "kernels";
    gpu_cache_store(&cache);
    assert_int_not_equal(stat(beside, &status), 0);
    assert_int_equal(stub.lines, 0);

    snprintf(linked, sizeof(linked), "%s.other", beside);
    file = open(linked, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(file, "mine", 4), 4);
    close(file);
    assert_int_equal(link(linked, beside), 0);
    device.compiled = "other kernels";
    gpu_cache_store(&cache);
    assert_int_equal(stub.lines, 1);
    assert_int_equal(stat(linked, &status), 0);
    assert_int_equal(status.st_size, 4);
    assert_int_equal(unlink(beside), 0);
    gpu_cache_store(&cache);
    gpu_cache_close(&cache);

    open_cache(&cache, &stub, &device);
    assert_string_equal(device.given, "other kernels");
    /* What another process has written meanwhile is written again; the device keeps nothing of it. */
    device.given[0] = '\0';
    device.compiled = "still other kernels";
    gpu_cache_store(&cache);
    assert_string_equal(device.others, "other kernels");
    assert_string_equal(device.given, "");
    gpu_cache_close(&cache);
    assert_int_equal(stub.blocks, 0);
}

/* Names of files, how old they are, and whether they go when a device is opened. */
static void old_remains_go(void **state)
{
    static const struct {
        const char *name;
        int hours;
        int goes;
    } files[] = {
        {"mock-00112233445566778899aabbccddeeff.q3Xz0b", 7, 1},
        {"mock-00112233445566778899aabbccddeeff.new", 7, 1},
        {"mock-00112233445566778899aabbccddeeff.q3Xz0c", 5, 0},
        {"mock-00112233445566778899aabbccddeefe.new", 5, 0},
        {"mock-00112233445566778899aabbccddeeff", 700, 0},
        {"mock-00112233445566778899aabbccddeeff.q3Xz0bc", 7, 0},
        {"mock-0011223344556677.q3Xz0b", 7, 0},
        {"other-00112233445566778899aabbccddeeff.q3Xz0b", 7, 0},
        {"mock-00112233445566778899aabbccddeeff.abcdef", 7, 1},
        {"mock-00112233445566778899aabbccddeed0.locke0", 7, 0},
    };
    struct gpu_device device = {.compiled = "kernels", .kind = 6};
    struct gpu_cache cache;
    struct stub stub;
    char path[sizeof(cache.file) + 64];
    int locked = -1;

    (void)state;
    open_cache(&cache, &stub, &device);
    gpu_cache_store(&cache);
    gpu_cache_close(&cache);
    for (uint32_t f = 0; f < sizeof(files) / sizeof(*files); f++) {
        struct timespec times[2] = {{.tv_sec = time(NULL) - files[f].hours * 3600}};
        int file;

        times[1] = times[0];
        snprintf(path, sizeof(path), "%s/a/b/%s", folder, files[f].name);
        file = open(path, O_RDWR | O_CREAT, 0600);
        assert_true(file >= 0);
        assert_int_equal(futimens(file, times), 0);
        if (strstr(files[f].name, ".locke0") != NULL)
            locked = file;
        else
            close(file);
    }
    assert_int_equal(flock(locked, LOCK_EX), 0);
    open_cache(&cache, &stub, &device);
    gpu_cache_close(&cache);
    close(locked);
    for (uint32_t f = 0; f < sizeof(files) / sizeof(*files); f++) {
        snprintf(path, sizeof(path), "%s/a/b/%s", folder, files[f].name);
        assert_int_equal(access(path, F_OK) != 0, files[f].goes);
    }
}

static void can_be_switched_off(void **state)
{
    struct gpu_device device = {.compiled = "kernels", .kind = 4};
    struct accel_setting setting = {.name = "cache", .text = "off"};
    struct gpu_cache cache;
    struct stub stub;

    (void)state;
    stub_init(&stub);
    gpu_cache_open(&cache, &api, &stub.host, &device, &setting);
    assert_string_equal(cache.folder, "");
    gpu_cache_store(&cache);
    gpu_cache_close(&cache);
    setting.text = "/proc/no/such"; /* where nothing can be made: said, and no reason to fail */
    gpu_cache_open(&cache, &api, &stub.host, &device, &setting);
    gpu_cache_store(&cache);
    assert_int_equal(stub.lines, 1);
    gpu_cache_close(&cache);
}

static int forget(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static int end(void **state)
{
    (void)state;
    return nftw(folder, forget, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_was_compiled), cmocka_unit_test(refuses_what_is_not_right),
        cmocka_unit_test(writes_beside),           cmocka_unit_test(old_remains_go),
        cmocka_unit_test(can_be_switched_off),
    };

    if (mkdtemp(folder) == NULL)
        return 1;
    return cmocka_run_group_tests(tests, NULL, end);
}
