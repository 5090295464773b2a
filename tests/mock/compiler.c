/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of direct.h with a compiler that asks to be isolated. Its option `mode` says what that does wrong. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mock/direct.h"

#define NOTE "abi_major=0\nabi_minor=2\nabi_lowest=2\nname=compiler\nversion=1.0\nlicence=Apache-2.0\nisolate=compile\n"

_Static_assert(ACCEL_ABI_MAJOR == 0 && ACCEL_ABI_MINOR == 2, "the note names the version");

static const struct {
    uint32_t name_bytes, text_bytes, type;
    char name[8];
    char text[sizeof(NOTE)];
} note __attribute__((__section__(".note.accel"), __used__, __aligned__(4))) = {6, sizeof(NOTE) - 1, 1, "accel", NOTE};

static const char blob_text[] = "a program for the mock";
static char mode[32] = "good";
static struct accel_device_table device_table;
static struct accel_driver driver;
static struct accel_driver_instance *instance_in;

static int32_t fail(struct accel_error *error, int32_t code, const char *text)
{
    if (error != NULL) {
        error->code = code;
        snprintf(error->text, sizeof(error->text), "%s", text);
    }
    return code;
}

static void take_all_memory(void)
{
    size_t taken = 0;
    void *block;
    while ((block = malloc(1u << 20)) != NULL) {
        memset(block, 1, 1u << 20);
        taken++;
    }
    fprintf(stderr, "out of memory after %zu MiB\n", taken);
    abort();
}

static void misbehave(void)
{
    fputs("the compiler begins\n", stderr);
    if (strcmp(mode, "crash") == 0) {
        fputs("internal compiler error\n", stderr);
        raise(SIGSEGV);
    }
    if (strcmp(mode, "hang") == 0)
        for (;;)
            pause();
    if (strcmp(mode, "exit") == 0)
        exit(0);
    if (strcmp(mode, "memory") == 0)
        take_all_memory();
}

static int32_t ACCEL_CALL compile(struct accel_driver_device *device, const struct accel_graph *const *graphs,
                                  uint32_t graph_count, const struct accel_compile_options *options,
                                  const struct accel_source *source, const struct accel_blob_writer *writer,
                                  const struct accel_task *task, struct accel_driver_module **out_module,
                                  struct accel_error *error)
{
    *out_module = NULL;
    if (writer == NULL)
        return fail(error, ACCEL_E_INTERNAL, "the compiler was called outside of a worker");
    (void)device, (void)graphs, (void)graph_count, (void)options, (void)source, (void)task;
    misbehave();
    if (strcmp(mode, "nothing") == 0)
        return ACCEL_OK;
    if (strcmp(mode, "refuse") == 0)
        return fail(error, ACCEL_E_REFUSED, "the compiler does not like the graph");
    if (strcmp(mode, "damaged") == 0)
        return writer->write(writer, "a program for", 13, error);
    return writer->write(writer, blob_text, sizeof(blob_text), error);
}

static int32_t ACCEL_CALL load(struct accel_driver_device *device, const void *blob, uint64_t bytes,
                               const struct accel_graph *const *graphs, uint32_t graph_count,
                               const struct accel_source *source, const struct accel_task *task,
                               struct accel_driver_module **out_module, struct accel_error *error)
{
    *out_module = NULL;
    if (bytes != sizeof(blob_text) || memcmp(blob, blob_text, sizeof(blob_text)) != 0)
        return fail(error, ACCEL_E_CORRUPT, "load was given what compile did not write");
    return direct_device_table.compile(device, graphs, graph_count, NULL, source, NULL, task, out_module, error);
}

static int32_t ACCEL_CALL fingerprint(struct accel_driver_device *device, uint8_t out_fingerprint[16],
                                      struct accel_error *error)
{
    (void)device, (void)error;
    memset(out_fingerprint, 7, 16);
    return ACCEL_OK;
}

static int32_t ACCEL_CALL compiler_open(struct accel_driver_instance *instance, const char *id,
                                        const struct accel_setting *settings, uint32_t setting_count,
                                        struct accel_driver_device **out_device, struct accel_error *error)
{
    snprintf(mode, sizeof(mode), "%s", setting_count != 0 ? settings[setting_count - 1].text : "good");
    return instance_in->table->open(instance, id, NULL, 0, out_device, error);
}

/* The instance of direct.h, its `open` replaced. */
static int32_t ACCEL_CALL compiler_attach(const struct accel_host *host, uint32_t minor,
                                          struct accel_driver_instance **out_instance, struct accel_error *error)
{
    static struct accel_instance_table table;
    static struct accel_driver_instance plain;
    int32_t code = direct_driver.attach(host, minor, out_instance, error);
    if (code != ACCEL_OK)
        return code;
    plain.table = (*out_instance)->table;
    instance_in = &plain;
    table = *(*out_instance)->table;
    table.open = compiler_open;
    (*out_instance)->table = &table;
    device_table = direct_device_table;
    device_table.compile = compile;
    device_table.load = load;
    device_table.fingerprint = fingerprint;
    direct.device_table = &device_table;
    return ACCEL_OK;
}

static const struct accel_option option_mode = {.size = sizeof(option_mode),
                                                .type = ACCEL_OPTION_TEXT,
                                                .name = "compiler.mode",
                                                .help = "what the compiler does",
                                                .text = "good",
                                                .choices = "good crash hang exit memory nothing refuse damaged"};
static const struct accel_option *const options[] = {&option_mode};

__attribute__((__visibility__("default"))) int32_t
accel_driver_query(uint32_t major, uint32_t minor, const struct accel_driver **out_driver, struct accel_error *error);
__attribute__((__visibility__("default"))) int32_t
accel_driver_query(uint32_t major, uint32_t minor, const struct accel_driver **out_driver, struct accel_error *error)
{
    (void)major, (void)minor, (void)error;
    driver = direct_driver;
    driver.name = "compiler";
    driver.options = options;
    driver.option_count = 1;
    driver.attach = compiler_attach;
    *out_driver = &driver;
    return ACCEL_OK;
}
