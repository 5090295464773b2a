/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the driver file, its entry point and the lifecycle of its objects: requirements on every driver,
 * whatever it computes. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "sdk/conform/abi.h"
#include "sdk/conform/list.h"
#include "sdk/conform/text.h"

#define POLL_LATE UINT64_C(2000000000) /* most that a poll may take past its deadline, on a busy machine too */

/* ---- the file ---- */

static void gate(struct conform *conform)
{
    const struct accel_plugin_info *plugin;
    int32_t code;

    conform_case(conform, "the file and its note");
    code = conform_attach(conform, &plugin);
    if (!conform_ok(conform, code, "the gate") && plugin == NULL)
        return;
    conform_case(conform, "a build id, by which results are remembered");
    if (plugin->build_id[0] == '\0')
        conform_fail(conform, "the file has none: link with -Wl,--build-id");
}

/* ---- query ---- */

static void query(struct conform *conform)
{
    const struct accel_driver *driver = conform->driver, *again = NULL;
    const accel_driver_query_function entry = conform->query;
    int32_t code;

    conform_case(conform, "the entry answers the same each time");
    for (uint32_t i = 0; i < 3; i++) {
        const struct accel_driver *one = NULL;

        if (!conform_ok(conform, entry(ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR, &one, &conform->error), "query"))
            return;
        if (again != NULL && one != again)
            conform_fail(conform, "two calls answered two tables");
        again = one;
    }
    conform_case(conform, "a later major is refused by name, whatever its minor");
    for (uint32_t i = 0; i < 2; i++) {
        again = driver;
        code = entry(ACCEL_ABI_MAJOR + 1, i == 0 ? 0 : ACCEL_ABI_MINOR, &again, &conform->error);
        abi_refused(conform, code, ACCEL_E_ABI, again);
    }
    if (driver->abi_lowest != 0) {
        conform_case(conform, "minor %u is refused by name: the driver takes %u and later ones", driver->abi_lowest - 1,
                     driver->abi_lowest);
        again = driver;
        code = entry(ACCEL_ABI_MAJOR, driver->abi_lowest - 1, &again, &conform->error);
        abi_refused(conform, code, ACCEL_E_ABI, again);
    }
    conform_case(conform, "an error may be missing");
    again = driver;
    code = entry(ACCEL_ABI_MAJOR + 1, ACCEL_ABI_MINOR, &again, NULL);
    if (code == ACCEL_OK || again != NULL)
        conform_fail(conform, "another major was taken, or the handle is not NULL");
}

static void check_text(struct conform *conform, const char *text, size_t capacity, const char *what)
{
    size_t bad = 0;

    if (strnlen(text, capacity) == capacity)
        conform_fail(conform, "bad facts: %s of the error does not end", what);
    else if (!text_is_plain(text, &bad))
        conform_fail(conform, "bad facts: %s of the error is no UTF-8 or has a control character at byte %zu", what,
                     bad);
}

void abi_refused(struct conform *conform, int32_t code, int32_t wanted, const void *handle)
{
    if (code == ACCEL_OK)
        conform_fail(conform, "it was taken, and had to be refused");
    else if (wanted != ACCEL_OK && code != wanted)
        conform_fail(conform, "%s, expected %s: %s", accel_error_name(code), accel_error_name(wanted),
                     conform->error.text);
    else if (code > 0 || code < ACCEL_E_LAST)
        conform_fail(conform, "the code is %d, which means nothing", code);
    if (code != ACCEL_OK && handle != NULL)
        conform_fail(conform, "a handle was left behind by a failure: it has to be NULL");
    if (code != ACCEL_OK && conform->error.code != code)
        conform_fail(conform, "the slot returned %s, but its error has code %s", accel_error_name(code),
                     accel_error_name(conform->error.code));
    if (code != ACCEL_OK && conform->error.text[0] == '\0')
        conform_fail(conform, "the error has no text");
    check_text(conform, conform->error.text, sizeof(conform->error.text), "text");
    check_text(conform, conform->error.remedy, sizeof(conform->error.remedy), "remedy");
    accel_error_clear(&conform->error);
}

/* ---- devices ---- */

/* Text listing of the records that one call of enumerate returned. */
struct listing {
    struct accel_device_sink sink;
    char text[4096];
    size_t length;
};

static int32_t list_device(const struct accel_device_sink *sink, const struct accel_facts *facts,
                           struct accel_error *error) ACCEL_NOEXCEPT
{
    struct listing *listing = (struct listing *)(uintptr_t)sink;

    (void)error;
    if (listing->length < sizeof(listing->text))
        listing->length += (size_t)snprintf(listing->text + listing->length, sizeof(listing->text) - listing->length,
                                            "%s %s %u %u %u %d\n", facts->id, facts->name, facts->kind, facts->flags,
                                            facts->heap_count, facts->hardware);
    return ACCEL_OK;
}

static int32_t list_verdict(const struct accel_device_sink *sink, int32_t hardware, int32_t code, const char *text,
                            const char *remedy, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct listing *listing = (struct listing *)(uintptr_t)sink;

    (void)error, (void)remedy;
    if (listing->length < sizeof(listing->text))
        listing->length += (size_t)snprintf(listing->text + listing->length, sizeof(listing->text) - listing->length,
                                            "%d %d %s\n", hardware, code, text);
    return ACCEL_OK;
}

static int32_t list_refuse(const struct accel_device_sink *sink, const struct accel_facts *facts,
                           struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)sink, (void)facts;
    return accel_error_set(error, ACCEL_E_LIMIT, "the core takes no more devices");
}

static int32_t enumerate(struct direct *direct, struct listing *listing)
{
    const struct accel_hardware *hardware[256];
    uint32_t count = accel_hardware_count(direct->conform->context);

    count = count < 256 ? count : 256;
    for (uint32_t i = 0; i < count; i++)
        hardware[i] = accel_hardware_get(direct->conform->context, i);
    return direct->instance->table->enumerate(direct->instance, hardware, count, &listing->sink,
                                              &direct->conform->error);
}

static void devices(struct conform *conform)
{
    struct listing first = {.length = 0}, second = {.length = 0};
    struct direct direct;

    first.sink = second.sink =
        (struct accel_device_sink){.size = sizeof(first.sink), .device = list_device, .verdict = list_verdict};
    if (!direct_begin(&direct, conform))
        return;
    conform_case(conform, "enumerate twice gives the same");
    if (conform_ok(conform, direct_do(&direct, DIRECT_ATTACH), "attach") &&
        conform_ok(conform, enumerate(&direct, &first), "enumerate") &&
        conform_ok(conform, enumerate(&direct, &second), "enumerate again") && strcmp(first.text, second.text) != 0)
        conform_fail(conform, "first: %s second: %s", first.text, second.text);
    conform_case(conform, "a sink that refuses a device does no harm");
    second.sink.device = list_refuse;
    enumerate(&direct, &second);
    accel_error_clear(&conform->error);
    conform_case(conform, "no hardware at all");
    second.sink.device = list_device;
    conform_ok(conform, direct.instance->table->enumerate(direct.instance, NULL, 0, &second.sink, &conform->error),
               "enumerate");
    direct_end(&direct);
}

/* ---- lifecycles ---- */

static void busy(struct direct *direct, enum direct_stage stage)
{
    struct conform *conform = direct->conform;
    int32_t code = direct_undo(direct, stage);

    conform->error = direct->error;
    abi_refused(conform, code, ACCEL_E_BUSY, NULL);
}

static void life(struct conform *conform)
{
    struct direct direct;

    if (!direct_begin(&direct, conform))
        return;
    for (uint32_t round = 0; round < 3; round++) {
        conform_case(conform, "attach to a step and back, %u", round + 1);
        if (!direct_do_stages(&direct, DIRECT_ATTACH, DIRECT_END))
            break;
        for (uint32_t stage = DIRECT_END; stage > 0; stage--)
            conform_ok(conform, direct_undo(&direct, stage - 1), direct_stage_name(stage - 1));
        if (atomic_load(&direct.host.alive) != 0)
            conform_fail(conform, "%llu blocks of the host were not given back",
                         (unsigned long long)atomic_load(&direct.host.alive));
        if (atomic_load(&direct.host.faults) != 0)
            conform_fail(conform, "the host's slots were called against their rules %u times",
                         atomic_load(&direct.host.faults));
        atomic_store(&direct.host.alive, 0);
    }
    direct_end(&direct);
}

static void children(struct conform *conform)
{
    struct direct direct;

    if (!direct_begin(&direct, conform))
        return;
    conform_case(conform, "detach with an open device");
    if (direct_do_stages(&direct, DIRECT_ATTACH, DIRECT_CLAIM))
        busy(&direct, DIRECT_ATTACH);
    conform_case(conform, "close with a module");
    if (direct.device != NULL && direct_do_stages(&direct, DIRECT_CLAIM, DIRECT_WEIGHTS))
        busy(&direct, DIRECT_OPEN);
    direct_end(&direct);
}

/* An id that enumerate did not return is refused, and the refused open leaves no allocation. */
static void unknown(struct conform *conform)
{
    static const char *const ids[] = {"no-such-device", "", "cpu0:", "0"};
    struct direct direct;

    if (!direct_begin(&direct, conform))
        return;
    for (uint32_t i = 0; direct_do_stages(&direct, DIRECT_ATTACH, DIRECT_OPEN) && i < sizeof(ids) / sizeof(*ids); i++) {
        struct accel_driver_device *device = NULL;
        const uint64_t before = atomic_load(&direct.host.alive);
        int32_t code;

        conform_case(conform, "open \"%s\"", ids[i]);
        code = direct.instance->table->open(direct.instance, ids[i], NULL, 0, &device, &direct.error);
        conform->error = direct.error;
        abi_refused(conform, code, ACCEL_OK, device);
        accel_error_clear(&direct.error);
        if (atomic_load(&direct.host.alive) > before)
            conform_fail(conform, "%llu blocks of the host were lost",
                         (unsigned long long)(atomic_load(&direct.host.alive) - before));
        direct_undo(&direct, DIRECT_ATTACH);
    }
    direct_end(&direct);
}

/* A poll waits until its deadline and not longer, and reports no other failure than that it has passed. */
static void poll(struct conform *conform)
{
    static const uint64_t waits[] = {0, 50000000, 0};
    struct direct direct;

    if (!direct_begin(&direct, conform))
        return;
    if (direct_do_stages(&direct, DIRECT_ATTACH, DIRECT_OPEN) && !ACCEL_CAN(direct.instance->table, poll))
        conform_skip(conform, "the devices of the driver never change");
    for (uint32_t i = 0;
         direct.instance != NULL && ACCEL_CAN(direct.instance->table, poll) && i < sizeof(waits) / sizeof(*waits);
         i++) {
        uint64_t begin = 0, end = 0;
        int32_t code;

        conform_case(conform, "a deadline in %u ms, %u", (unsigned)(waits[i] / 1000000), i);
        direct.host.table.clock(&direct.host.table, &begin);
        code = direct.instance->table->poll(direct.instance, begin + waits[i], &conform->error);
        direct.host.table.clock(&direct.host.table, &end);
        if (code != ACCEL_E_TIMEOUT)
            conform_ok(conform, code, "poll");
        else if (end - begin < waits[i])
            conform_fail(conform, "it answered ACCEL_E_TIMEOUT %llu us before the deadline",
                         (unsigned long long)(waits[i] - (end - begin)) / 1000);
        if (end - begin > waits[i] + POLL_LATE)
            conform_fail(conform, "it answered %llu ms after the deadline",
                         (unsigned long long)(end - begin - waits[i]) / 1000000);
        accel_error_clear(&conform->error);
    }
    direct_end(&direct);
}

/* Two instances in one process are independent: two contexts, or two loaded copies of the library. */
static void instances(struct conform *conform)
{
    struct direct one, two;

    if (!direct_begin(&one, conform) || !direct_begin(&two, conform))
        return;
    conform_case(conform, "two instances side by side");
    if (direct_do_stages(&one, DIRECT_ATTACH, DIRECT_RUN) && direct_do_stages(&two, DIRECT_ATTACH, DIRECT_END)) {
        one.conform->error = one.error;
        conform_ok(conform, direct_do(&one, DIRECT_RUN), "a step of the first");
        direct_end(&two);
        conform_ok(conform, direct_do(&one, DIRECT_RUN), "a step of the first after the second has ended");
    }
    direct_end(&one);
}

/* A program may exit without closing any object. */
static void leave(struct conform *conform)
{
    struct direct direct;

    if (!direct_begin(&direct, conform))
        return;
    conform_case(conform, "the program ends with everything alive");
    if (direct_do_stages(&direct, DIRECT_ATTACH, DIRECT_END))
        conform_leave(conform);
}

void conform_add_life(struct conform_list *list)
{
    conform_add(list, CONFORM_FILE, 0, gate, "file/gate");
    conform_add(list, CONFORM_DRIVER, 0, query, "life/query");
    conform_add(list, CONFORM_DRIVER, 0, devices, "life/enumerate");
    conform_add(list, CONFORM_DRIVER, 0, unknown, "life/open");
    conform_add(list, CONFORM_DRIVER, 0, poll, "life/poll");
    conform_add(list, CONFORM_DRIVER, 0, life, "life/whole");
    conform_add(list, CONFORM_DRIVER, 0, children, "life/busy");
    conform_add(list, CONFORM_DRIVER, 0, instances, "life/instances");
    conform_add(list, CONFORM_DRIVER, 0, leave, "life/exit");
}
