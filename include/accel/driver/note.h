/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The note that identifies a driver file, and the entry symbol, in one line of a driver's source.
 *
 * The note lies in section `.note.accel` (owner "accel", type 1): lines `key=value`. A loader reads it from the file,
 * before any code of the driver runs. Further keys, each at most once and each ending in "\n":
 *   isa        instruction sets that the code uses without asking: "x86-64"
 *   libraries  libraries that it opens at run time, separated by spaces
 *   depends    what the result of a probe depends on: files, device nodes and $VARIABLES, separated by spaces
 *   effects    what the vendor's code does to the process: "prints threads signals"
 *   isolate    "none" or "compile": compile in a worker process
 */
#ifndef ACCEL_DRIVER_NOTE_H
#define ACCEL_DRIVER_NOTE_H

#include <accel/driver.h>

/** The decimal text of ACCEL_ABI_MINOR. */
#define SDK_ABI_MINOR_TEXT "2"
/** The decimal text of ACCEL_ABI_MAJOR. */
#define SDK_ABI_MAJOR_TEXT "0"
/**
 * Lowest minor of a core that a driver works with when it is made by the macros below: the first one of the major, and
 * it does not follow ACCEL_ABI_MINOR. The library for drivers reads what later minors appended only through ACCEL_HAS
 * and ACCEL_CAN and has the older way beside it. A driver that cannot do without a later member writes its note and its
 * struct accel_driver itself, with the minor that it needs. Until 1.0 a minor that breaks raises it.
 */
#define SDK_ABI_LOWEST 2u
/** The decimal text of SDK_ABI_LOWEST. */
#define SDK_ABI_LOWEST_TEXT "2"

#ifdef __cplusplus
#define SDK_EXPORT extern "C" __attribute__((__visibility__("default")))
#else
#define SDK_EXPORT __attribute__((__visibility__("default")))
#endif

/** Emits the note of a driver. `more` is a string of further lines, or "". */
#define ACCEL_NOTE(name_, version_, licence_, more_)                                                                   \
    static const struct {                                                                                              \
        uint32_t name_bytes;                                                                                           \
        uint32_t text_bytes;                                                                                           \
        uint32_t type;                                                                                                 \
        char name[8];                                                                                                  \
        char text[sizeof("abi_major=" SDK_ABI_MAJOR_TEXT "\nabi_minor=" SDK_ABI_MINOR_TEXT                             \
                         "\nabi_lowest=" SDK_ABI_LOWEST_TEXT "\nname=" name_ "\nversion=" version_                     \
                         "\nlicence=" licence_ "\n" more_)];                                                           \
    } accel_note __attribute__((__section__(".note.accel"), __used__, __aligned__(4))) = {                             \
        6u, (uint32_t)sizeof(accel_note.text) - 1u, 1u, "accel",                                                       \
        "abi_major=" SDK_ABI_MAJOR_TEXT "\nabi_minor=" SDK_ABI_MINOR_TEXT "\nabi_lowest=" SDK_ABI_LOWEST_TEXT          \
        "\nname=" name_ "\nversion=" version_ "\nlicence=" licence_ "\n" more_}

/**
 * Note, entry symbol and attach of a driver that `attach_` makes of the object `made_of_`: what ACCEL_DRIVER and its
 * like consist of.
 */
#define SDK_DRIVER(attach_, made_of_, options_, option_count_, name_, version_, licence_, more_)                       \
    static int32_t driver_attach(const struct accel_host *host, uint32_t minor,                                        \
                                 struct accel_driver_instance **out_instance, struct accel_error *error)               \
        ACCEL_NOEXCEPT                                                                                                 \
    {                                                                                                                  \
        return attach_(&(made_of_), host, minor, out_instance, error);                                                 \
    }                                                                                                                  \
    static const struct accel_driver driver_entry = {                                                                  \
        sizeof(driver_entry), 0,     ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR, SDK_ABI_LOWEST,                                 \
        (option_count_),      name_, version_,        (options_),      driver_attach};                                 \
    SDK_EXPORT int32_t accel_driver_query(uint32_t major, uint32_t minor, const struct accel_driver **out_driver,      \
                                          struct accel_error *error);                                                  \
    SDK_EXPORT int32_t accel_driver_query(uint32_t major, uint32_t minor, const struct accel_driver **out_driver,      \
                                          struct accel_error *error)                                                   \
    {                                                                                                                  \
        return sdk_query(&driver_entry, major, minor, out_driver, error);                                              \
    }                                                                                                                  \
    ACCEL_NOTE(name_, version_, licence_, more_)

/**
 * Makes a driver of a struct sdk_backend and its option table (NULL, 0: none): note, entry symbol and attach. Once in a
 * driver, at file level:
 *
 *     ACCEL_DRIVER(backend, NULL, 0, "tiny", "1.0", "Apache-2.0", "isa=x86-64\n");
 */
#define ACCEL_DRIVER(backend_, options_, option_count_, name_, version_, licence_, more_)                              \
    SDK_DRIVER(sdk_attach, backend_, options_, option_count_, name_, version_, licence_, more_)

#endif
