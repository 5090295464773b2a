/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two libaccels in one process, as two programs' plugins bring them, and two contexts of each: their calls are
 * interleaved, they get the same driver file, and what one of them frees the others keep. The second library is a copy
 * under another name, so that it has statics of its own; this program links neither.
 */
#include "config.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <accel/accel.h>

#define CALLS(X)                                                                                                       \
    X(accel_context_create)                                                                                            \
    X(accel_context_discover)                                                                                          \
    X(accel_context_free)                                                                                              \
    X(accel_device_count)                                                                                              \
    X(accel_device_open)                                                                                               \
    X(accel_device_free)                                                                                               \
    X(accel_queue_create)                                                                                              \
    X(accel_queue_free)                                                                                                \
    X(accel_buffer_create)                                                                                             \
    X(accel_buffer_address)                                                                                            \
    X(accel_buffer_free)

/* The calls of one library. */
struct library {
    void *handle;
#define MEMBER(name) __typeof__(&name) name;
    CALLS(MEMBER)
};

/* What one context has. */
struct user {
    const struct library *library;
    struct accel_context *context;
    struct accel_device *device;
    struct accel_queue *queue;
    struct accel_buffer *buffer;
};

static struct library libraries[2];
static char root[64], drivers[96];

static void run(const char *format, ...) ACCEL_PRINTF(1, 2);
static void run(const char *format, ...)
{
    char command[4096];
    va_list list;
    va_start(list, format);
    vsnprintf(command, sizeof(command), format, list);
    va_end(list);
    if (system(command) != 0)
        fail_msg("%s", command);
}

static void load(struct library *library, const char *path)
{
    library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library->handle == NULL)
        fail_msg("%s", dlerror());
#define FIND(name) *(void **)&library->name = dlsym(library->handle, #name);
    CALLS(FIND)
#define CHECK(name) assert_non_null((void *)(uintptr_t)library->name);
    CALLS(CHECK)
}

static int set_up(void **state)
{
    const char *build = getenv("ACCEL_TEST_BUILDDIR");
    char path[1024];
    (void)state;
    if (build == NULL)
        fail_msg("ACCEL_TEST_BUILDDIR does not say where the libraries are");
    strcpy(root, "/tmp/accel-two-XXXXXX");
    assert_non_null(mkdtemp(root));
    snprintf(drivers, sizeof(drivers), "%s/drivers", root);
    assert_int_equal(mkdir(drivers, 0755), 0);
    run("cp -L '%s/.libs/libaccel.so' '%s/libaccel-two.so'", build, root);
    run("cp '%s/plugins/cpu/.libs/cpu.so' '%s/cpu.so' && chmod 755 '%s/cpu.so'", build, drivers, drivers);
    snprintf(path, sizeof(path), "%s/tools/accel-probe/accel-probe", build);
    setenv("ACCEL_PROBE", path, 0);
    setenv("XDG_DATA_HOME", root, 1);
    unsetenv("ACCEL_DRIVER_PATH");
    snprintf(path, sizeof(path), "%s/.libs/libaccel.so", build);
    load(&libraries[0], path);
    snprintf(path, sizeof(path), "%s/libaccel-two.so", root);
    load(&libraries[1], path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    run("rm -rf '%s'", root);
    return 0;
}

static void need(int32_t code, const struct accel_error *error)
{
    if (code != ACCEL_OK)
        fail_msg("%s", error->text);
}

static void create(struct user *user)
{
    struct accel_context_options options = {
        .size = sizeof(options), .flags = ACCEL_CONTEXT_NO_CACHE, .driver_path = drivers};
    struct accel_error error = {0};
    need(user->library->accel_context_create(&options, &user->context, &error), &error);
}

static void discover(struct user *user)
{
    struct accel_error error = {0};
    need(user->library->accel_context_discover(user->context, &error), &error);
    assert_true(user->library->accel_device_count(user->context) >= 1);
}

static void open_device(struct user *user)
{
    struct accel_error error = {0};
    need(user->library->accel_device_open(user->context, "cpu", NULL, 0, &user->device, &error), &error);
}

static void make(struct user *user)
{
    struct accel_error error = {0};
    need(user->library->accel_queue_create(user->device, NULL, &user->queue, &error), &error);
    need(user->library->accel_buffer_create(user->device, 4096, 0, &user->buffer, &error), &error);
}

static void use(struct user *user)
{
    unsigned char *bytes = user->library->accel_buffer_address(user->buffer);
    assert_non_null(bytes);
    memset(bytes, 0x5a, 4096);
}

static void end(struct user *user)
{
    struct accel_error error = {0};
    user->library->accel_buffer_free(user->buffer);
    user->library->accel_queue_free(user->queue);
    user->library->accel_device_free(user->device);
    need(user->library->accel_context_free(user->context, &error), &error);
}

static void step_by_step(void **state)
{
    static void (*const steps[])(struct user *) = {create, discover, open_device, make, use};
    struct user users[4];
    (void)state;
    assert_ptr_not_equal(libraries[0].accel_context_create, libraries[1].accel_context_create);
    for (int round = 0; round < 3; round++) {
        memset(users, 0, sizeof(users));
        for (size_t u = 0; u < 4; u++)
            users[u].library = &libraries[u % 2];
        for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++)
            for (size_t u = 0; u < 4; u++)
                steps[s](&users[u]);
        /* One after the other leaves, in another order each time; those that stay go on. */
        for (size_t gone = 0; gone < 4; gone++) {
            end(&users[(gone * 3 + (size_t)round) % 4]);
            for (size_t left = gone + 1; left < 4; left++)
                use(&users[(left * 3 + (size_t)round) % 4]);
        }
    }
}

/* A driver is loaded once in a process, whoever asks. */
static void the_driver_is_one(void **state)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];
    int code_pages = 0;
    (void)state;
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps) != NULL)
        code_pages += strstr(line, "/cpu.so") != NULL && strstr(line, "r-xp") != NULL;
    fclose(maps);
    assert_int_equal(code_pages, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_by_step),
        cmocka_unit_test(the_driver_is_one),
    };
    return cmocka_run_group_tests_name("two_libraries", tests, set_up, tear_down);
}
