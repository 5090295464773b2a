/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A small, correct driver with one device that computes nothing, for tests of the loader. A file that includes this is
 * a whole driver; one that misbehaves says in its first line how, and overrides one thing. Before the include:
 *   MOCK_NAME   name of the driver
 *   MOCK_NOTE   text of the note, if not the right one
 *   MOCK_MORE   further lines of the note
 *   MOCK_TAKES  blocks of the host's memory that attach takes and nobody gives back
 *   MOCK_TABLE_BYTES  what the instance's table says that it has
 *   MOCK_QUERY  linkage of the entry symbol, if not exported
 * After it `static const struct mock mock = {...};` with what happens where.
 */
#ifndef ACCEL_TESTS_MOCK_H
#define ACCEL_TESTS_MOCK_H

#include <stddef.h>

#include <accel/driver.h>

_Static_assert(ACCEL_ABI_MAJOR == 0 && ACCEL_ABI_MINOR == 2, "the note below names the version");

#ifndef MOCK_MORE
#define MOCK_MORE ""
#endif
#ifndef MOCK_NOTE
#define MOCK_NOTE                                                                                                      \
    "abi_major=0\nabi_minor=2\nabi_lowest=2\nname=" MOCK_NAME "\nversion=1.0\nlicence=Apache-2.0\n" MOCK_MORE
#endif
#ifndef MOCK_TAKES
#define MOCK_TAKES 0
#endif
#ifndef MOCK_TABLE_BYTES
#define MOCK_TABLE_BYTES sizeof(struct accel_instance_table)
#endif
#ifndef MOCK_QUERY
#define MOCK_QUERY __attribute__((__visibility__("default")))
#endif

/** What a mock does besides the right thing. */
struct mock {
    void (*in_query)(void);
    void (*in_attach)(void);
    void (*in_enumerate)(void);
    void (*with_sink)(const struct accel_device_sink *sink); /**< in enumerate, before its device */
    void (*in_detach)(void);
    const struct accel_facts *facts;           /**< of its device, if not the right ones */
    const struct accel_option *const *options; /**< its option table */
    uint32_t option_count;
};

static const struct mock mock;

#ifndef MOCK_WITHOUT_NOTE
static const struct {
    uint32_t name_bytes, text_bytes, type;
    char name[8];
    char text[sizeof(MOCK_NOTE)];
} mock_note __attribute__((__section__(".note.accel"), __used__, __aligned__(4))) = {6, sizeof(MOCK_NOTE) - 1, 1,
                                                                                     "accel", MOCK_NOTE};
#endif

static const struct accel_limits mock_limits = {1 << 20, 1 << 20, 0, 1, 1, 0, 1};
static const struct accel_heap mock_heaps[] = {{1 << 20, ACCEL_HEAP_HOST, 0, 64, "mock"}};

/** The right facts. */
#define MOCK_FACTS(id_, heap_count_)                                                                                   \
    {                                                                                                                  \
        .size = sizeof(struct accel_facts), .kind = ACCEL_DEVICE_OTHER, .flags = ACCEL_DEVICE_SOFTWARE,                \
        .hardware = -1, .id = (id_), .name = "a device of the tests", .detail = "", .heap_count = (heap_count_),       \
        .heaps = mock_heaps, .limits = &mock_limits                                                                    \
    }

static const struct accel_facts mock_facts = MOCK_FACTS("mock0", 1);

static int32_t ACCEL_CALL mock_detach(struct accel_driver_instance *instance, struct accel_error *error)
{
    (void)instance;
    (void)error;
    if (mock.in_detach)
        mock.in_detach();
    return ACCEL_OK;
}

static int32_t ACCEL_CALL mock_enumerate(struct accel_driver_instance *instance,
                                         const struct accel_hardware *const *hardware, uint32_t hardware_count,
                                         const struct accel_device_sink *sink, struct accel_error *error)
{
    (void)instance;
    (void)hardware;
    if (mock.in_enumerate)
        mock.in_enumerate();
    if (mock.with_sink)
        mock.with_sink(sink);
    for (uint32_t i = 0; i < hardware_count; i++)
        sink->verdict(sink, (int32_t)i, ACCEL_E_UNSUPPORTED, "this driver is a mock", NULL, error);
    return sink->device(sink, mock.facts ? mock.facts : &mock_facts, error);
}

static int32_t ACCEL_CALL mock_open(struct accel_driver_instance *instance, const char *id,
                                    const struct accel_setting *settings, uint32_t setting_count,
                                    struct accel_driver_device **out_device, struct accel_error *error)
{
    (void)instance;
    (void)id;
    (void)settings;
    (void)setting_count;
    (void)error;
    *out_device = NULL;
    return ACCEL_E_UNSUPPORTED;
}

static const struct accel_instance_table mock_table = {MOCK_TABLE_BYTES, 0,         mock_detach,
                                                       mock_enumerate,   mock_open, NULL};
static struct accel_driver_instance mock_instance = {&mock_table};

static int32_t ACCEL_CALL mock_attach(const struct accel_host *host, uint32_t minor,
                                      struct accel_driver_instance **out_instance, struct accel_error *error)
{
    void *block;
    (void)minor;
    if (mock.in_attach)
        mock.in_attach();
    for (int i = 0; i < MOCK_TAKES; i++)
        if (host->allocate(host, ACCEL_MEMORY_HOST, 4096, 64, &block, error) != ACCEL_OK)
            return ACCEL_E_MEMORY;
    host->log(host, ACCEL_LOG_DEBUG, "mock=" MOCK_NAME " attached=1");
    *out_instance = &mock_instance;
    return ACCEL_OK;
}

MOCK_QUERY int32_t accel_driver_query(uint32_t major, uint32_t minor, const struct accel_driver **out_driver,
                                      struct accel_error *error);
MOCK_QUERY int32_t accel_driver_query(uint32_t major, uint32_t minor, const struct accel_driver **out_driver,
                                      struct accel_error *error)
{
    static const struct accel_driver plain = {.size = sizeof(plain),
                                              .abi_major = ACCEL_ABI_MAJOR,
                                              .abi_minor = ACCEL_ABI_MINOR,
                                              .abi_lowest = ACCEL_ABI_MINOR,
                                              .name = MOCK_NAME,
                                              .version = "1.0",
                                              .attach = mock_attach};
    static struct accel_driver driver;
    (void)major;
    (void)minor;
    (void)error;
    if (mock.in_query)
        mock.in_query();
    driver = plain;
    driver.options = mock.options;
    driver.option_count = mock.option_count;
    *out_driver = &driver;
    return ACCEL_OK;
}

#endif
