/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/boundary/import.h"

#include <math.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/open.h"
#include "core/base/utf8.h"

/* Refuses what a driver returned; `error` and `driver` are those of the function. */
#define INVALID(...) accel_error_driver(error, ACCEL_E_INVALID, driver, __VA_ARGS__)

/* Sanitizes an error that a driver has written: terminates its texts, makes them printable, sets the returned code and
 * names the driver. Its origin is the driver unless the driver sets another. */
static void sanitize_error(int32_t code, const char *driver, const char *slot, struct accel_error *error)
{
    struct accel_error copy;
    if (error == NULL || error->code == ACCEL_OK)
        return;
    copy = *error;
    copy.text[sizeof(copy.text) - 1] = '\0';
    copy.remedy[sizeof(copy.remedy) - 1] = '\0';
    accel_utf8_one_line(copy.text);
    accel_utf8_one_line(copy.remedy);
    *error = copy;
    error->code = copy.text[0] == '\0' ? ACCEL_OK : code;
    /* An error of the core's sink already names the driver. */
    if (copy.text[0] == '\0' || copy.origin == ACCEL_FROM_DRIVER)
        return;
    error->code = ACCEL_OK;
    if (copy.origin == ACCEL_FROM_CALLER || copy.origin > ACCEL_FROM_SYSTEM)
        copy.origin = code == ACCEL_E_DEVICE_LOST ? ACCEL_FROM_DEVICE : ACCEL_FROM_DRIVER;
    accel_error_by(error, copy.origin, code, "driver %s, %s: %s", driver, slot, copy.text);
}

int32_t accel_import_cancellable_code(int32_t code, bool cancel_requested, const char *driver, const char *slot,
                                      struct accel_error *error)
{
    int32_t known =
        code > 0 || code < ACCEL_E_LAST || (code == ACCEL_E_CANCELLED && !cancel_requested) ? ACCEL_E_INTERNAL : code;
    if (code == ACCEL_OK)
        return ACCEL_OK;
    sanitize_error(known, driver, slot, error);
    if (code == ACCEL_E_CANCELLED && !cancel_requested)
        return accel_error_driver(error, known, driver,
                                  "%s returned ACCEL_E_CANCELLED, but no cancellation was requested", slot);
    if (known != code)
        return accel_error_driver(error, known, driver, "%s returned %d, which is no code of ABI %u.%u", slot, code,
                                  ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR);
    return accel_error_driver(error, code, driver, "%s failed with %s and without an error text", slot,
                              accel_error_name(code));
}

int32_t accel_import_code(int32_t code, const char *driver, const char *slot, struct accel_error *error)
{
    return accel_import_cancellable_code(code, false, driver, slot, error);
}

int32_t accel_import_handle(int32_t code, const void *handle, const char *driver, const char *slot,
                            struct accel_error *error)
{
    const void *table = NULL;
    if (code != ACCEL_OK)
        return accel_import_code(code, driver, slot, error);
    if (handle != NULL)
        memcpy(&table, handle, sizeof(table));
    return table ? ACCEL_OK
                 : accel_error_driver(error, ACCEL_E_INTERNAL, driver, "%s succeeded without a handle", slot);
}

/* ---- tables ---- */

/* Required slots of a table. */
static const struct table {
    const char *name;
    struct {
        size_t offset;
        const char *name; /* NULL: there are no more */
    } slots[6];
} tables[] = {
#define SLOT(type, member)                                                                                             \
    {                                                                                                                  \
        offsetof(struct type, member), #member                                                                         \
    }
    [ACCEL_TABLE_INSTANCE] = {"accel_instance_table",
                              {SLOT(accel_instance_table, detach), SLOT(accel_instance_table, enumerate),
                               SLOT(accel_instance_table, open)}},
    [ACCEL_TABLE_DEVICE] = {"accel_device_table",
                            {SLOT(accel_device_table, close), SLOT(accel_device_table, claim),
                             SLOT(accel_device_table, compile)}},
    [ACCEL_TABLE_MODULE] = {"accel_module_table",
                            {SLOT(accel_module_table, free), SLOT(accel_module_table, scratch),
                             SLOT(accel_module_table, set_create)}},
    [ACCEL_TABLE_WEIGHTS] = {"accel_weights_table", {SLOT(accel_weights_table, free), SLOT(accel_weights_table, pull)}},
    [ACCEL_TABLE_BUFFER] = {"accel_buffer_table", {SLOT(accel_buffer_table, free)}},
    [ACCEL_TABLE_STATE] = {"accel_state_table", {SLOT(accel_state_table, free)}},
    [ACCEL_TABLE_QUEUE] = {"accel_queue_table",
                           {SLOT(accel_queue_table, free), SLOT(accel_queue_table, submit),
                            SLOT(accel_queue_table, wait), SLOT(accel_queue_table, completed),
                            SLOT(accel_queue_table, reset)}},
    [ACCEL_TABLE_SET] = {"accel_set_table", {SLOT(accel_set_table, free), SLOT(accel_set_table, run)}},
    [ACCEL_TABLE_QUEUED_SET] = {"accel_set_table", {SLOT(accel_set_table, free)}},
};

/* Required slots are the first of their table or exist since minor 0.1: no table ends before the last of them. */
int32_t accel_import_table(const void *handle, enum accel_table_kind kind, const char *driver,
                           struct accel_error *error)
{
    const struct table *required = &tables[kind];
    size_t minimum = 8;
    const char *table;
    uint32_t head[2];
    memcpy(&table, handle, sizeof(table));
    memcpy(head, table, sizeof(head));
    for (size_t i = 0; required->slots[i].name; i++)
        if (required->slots[i].offset + sizeof(void *) > minimum)
            minimum = required->slots[i].offset + sizeof(void *);
    if (head[0] < minimum || head[0] > ACCEL_OPEN_LIMIT)
        return INVALID("struct %s has %u bytes, at least %zu are needed", required->name, head[0], minimum);
    if (head[1] != 0)
        return INVALID("%s.zero is %u", required->name, head[1]);
    for (size_t i = 0; required->slots[i].name; i++) {
        void *function;
        memcpy(&function, table + required->slots[i].offset, sizeof(function));
        if (function == NULL)
            return INVALID("struct %s lacks the required slot %s", required->name, required->slots[i].name);
    }
    return ACCEL_OK;
}

int32_t accel_import_device(const struct accel_driver_device *device, const char *driver, struct accel_error *error)
{
    const struct accel_device_table *table = device->table;
    int32_t code = accel_import_table(device, ACCEL_TABLE_DEVICE, driver, error);
    if (code != ACCEL_OK)
        return code;
    /* Steps of a driver queue refer to buffers and states by driver handles only. */
    if (ACCEL_CAN(table, queue_create) && (!ACCEL_CAN(table, buffer_create) || !ACCEL_CAN(table, state_create)))
        return INVALID("a driver with queue_create needs buffer_create and state_create");
    if (ACCEL_CAN(table, state_create) && !ACCEL_CAN(table, queue_create))
        return INVALID("a driver with state_create needs queue_create");
    return ACCEL_OK;
}

/* ---- records ---- */

static bool is_valid_text(const char *text, size_t limit)
{
    size_t length = text == NULL ? 0 : strnlen(text, limit + 1);
    return text != NULL && length <= limit && accel_utf8_valid(text, length, NULL);
}

int32_t accel_import_text(struct accel_arena *arena, const char **text, const char *driver, const char *what,
                          struct accel_error *error)
{
    char *copy = NULL;
    int32_t code = ACCEL_OK;
    if (!is_valid_text(*text, ACCEL_IMPORT_TEXT))
        code = INVALID("%s is missing, too long or not UTF-8", what);
    else if ((copy = accel_arena_strdup(arena, *text)) == NULL)
        code = accel_error_no_memory(error, "for %s of driver %s", what, driver);
    else
        accel_utf8_one_line(copy);
    *text = copy;
    return code;
}

int32_t accel_import_verdict(struct accel_arena *arena, struct accel_verdict *verdict, uint32_t hardware_count,
                             const char *driver, struct accel_error *error)
{
    int32_t code;
    if (verdict->hardware < -1 || (verdict->hardware >= 0 && (uint32_t)verdict->hardware >= hardware_count))
        return INVALID("a verdict names hardware %d, which is not there", verdict->hardware);
    if (verdict->code >= ACCEL_OK || verdict->code < ACCEL_E_LAST)
        return INVALID("a verdict has the code %d", verdict->code);
    code = accel_import_text(arena, &verdict->text, driver, "a verdict's text", error);
    if (code != ACCEL_OK || verdict->remedy == NULL)
        return code;
    return accel_import_text(arena, &verdict->remedy, driver, "a verdict's remedy", error);
}

int32_t accel_import_claim(const struct accel_claim *given, const struct accel_graph *const *graphs,
                           uint32_t graph_count, const char *driver, struct accel_claim *out_claim,
                           struct accel_error *error)
{
    if (given == NULL)
        return INVALID("a claim is NULL");
    *out_claim = *given;
    if (out_claim->graph >= graph_count || out_claim->node >= graphs[out_claim->graph]->node_count)
        return INVALID("a claim names node %u of graph %u, which is not there", out_claim->node, out_claim->graph);
    if (out_claim->answer < ACCEL_CLAIM_NATIVE || out_claim->answer > ACCEL_CLAIM_NO)
        return INVALID("a claim has the unknown answer %u", out_claim->answer);
    if (out_claim->weights > ACCEL_BAKED)
        return INVALID("a claim has the unknown placement %u of weights", out_claim->weights);
    if (!isfinite(out_claim->tolerance) || out_claim->tolerance < 0)
        return INVALID("the tolerance of a claim is no finite number >= 0");
    if ((out_claim->alignment & (out_claim->alignment - 1)) != 0 || out_claim->alignment > (UINT64_C(1) << 21))
        return INVALID("a claim has the alignment %llu", (unsigned long long)out_claim->alignment);
    if (out_claim->variant > ACCEL_VARIANT_EAGER && out_claim->variant < ACCEL_VARIANT_OWN)
        return INVALID("a claim has the unknown variant %u", out_claim->variant);
    if (!is_valid_text(out_claim->kernel, ACCEL_IMPORT_TEXT) || !is_valid_text(out_claim->reason, ACCEL_IMPORT_TEXT))
        return INVALID("kernel or reason of a claim is missing or not UTF-8");
    return ACCEL_OK;
}
