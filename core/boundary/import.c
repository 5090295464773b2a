/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/boundary/import.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/open.h"
#include "core/base/utf8.h"

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
    if (table == NULL)
        return accel_error_driver(error, ACCEL_E_INTERNAL, driver, "%s succeeded without a handle", slot);
    return ACCEL_OK;
}

/* ---- tables ---- */

/* A required slot of a table. */
struct slot {
    size_t offset;
    const char *name;
};

#define SLOT(type, member)                                                                                             \
    {                                                                                                                  \
        offsetof(struct type, member), #member                                                                         \
    }
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Checks the required slots. They are the first ones of their table or exist since minor 0.1, so that a table ends
 * after the last of them at the earliest. */
static int32_t check_table(const void *table, const struct slot *slots, size_t count, const char *driver,
                           const char *what, struct accel_error *error)
{
    size_t minimum = 8;
    uint32_t head[2];
    uint32_t size;
    memcpy(head, table, sizeof(head));
    size = head[0];
    for (size_t i = 0; i < count; i++)
        if (slots[i].offset + sizeof(void *) > minimum)
            minimum = slots[i].offset + sizeof(void *);
    if (size < minimum || size > ACCEL_OPEN_LIMIT)
        return accel_error_driver(error, ACCEL_E_INVALID, driver, "struct %s has %u bytes, at least %zu are needed",
                                  what, size, minimum);
    if (head[1] != 0)
        return accel_error_driver(error, ACCEL_E_INVALID, driver, "%s.zero is %u", what, head[1]);
    for (size_t i = 0; i < count; i++) {
        void *function;
        memcpy(&function, (const char *)table + slots[i].offset, sizeof(function));
        if (function == NULL)
            return accel_error_driver(error, ACCEL_E_INVALID, driver, "struct %s lacks the required slot %s", what,
                                      slots[i].name);
    }
    return ACCEL_OK;
}

int32_t accel_import_instance(const struct accel_driver_instance *instance, const char *driver,
                              struct accel_error *error)
{
    static const struct slot slots[] = {SLOT(accel_instance_table, detach), SLOT(accel_instance_table, enumerate),
                                        SLOT(accel_instance_table, open)};
    return check_table(instance->table, slots, COUNT(slots), driver, "accel_instance_table", error);
}

int32_t accel_import_device(const struct accel_driver_device *device, const char *driver, struct accel_error *error)
{
    static const struct slot slots[] = {SLOT(accel_device_table, close), SLOT(accel_device_table, claim),
                                        SLOT(accel_device_table, compile)};
    const struct accel_device_table *table = device->table;
    int32_t code = check_table(table, slots, COUNT(slots), driver, "accel_device_table", error);
    if (code != ACCEL_OK)
        return code;
    /* Steps of a driver queue refer to buffers and states by driver handles only. */
    if (ACCEL_CAN(table, queue_create) && (!ACCEL_CAN(table, buffer_create) || !ACCEL_CAN(table, state_create)))
        return accel_error_driver(error, ACCEL_E_INVALID, driver,
                                  "a driver with queue_create needs buffer_create and state_create");
    if (ACCEL_CAN(table, state_create) && !ACCEL_CAN(table, queue_create))
        return accel_error_driver(error, ACCEL_E_INVALID, driver, "a driver with state_create needs queue_create");
    return ACCEL_OK;
}

int32_t accel_import_module(const struct accel_driver_module *module, const char *driver, struct accel_error *error)
{
    static const struct slot slots[] = {SLOT(accel_module_table, free), SLOT(accel_module_table, scratch),
                                        SLOT(accel_module_table, set_create)};
    return check_table(module->table, slots, COUNT(slots), driver, "accel_module_table", error);
}

int32_t accel_import_weights(const struct accel_driver_weights *weights, const char *driver, struct accel_error *error)
{
    static const struct slot slots[] = {SLOT(accel_weights_table, free), SLOT(accel_weights_table, pull)};
    return check_table(weights->table, slots, COUNT(slots), driver, "accel_weights_table", error);
}

int32_t accel_import_buffer(const struct accel_driver_buffer *buffer, const char *driver, struct accel_error *error)
{
    static const struct slot slots[] = {SLOT(accel_buffer_table, free)};
    return check_table(buffer->table, slots, COUNT(slots), driver, "accel_buffer_table", error);
}

int32_t accel_import_state(const struct accel_driver_state *state, const char *driver, struct accel_error *error)
{
    static const struct slot slots[] = {SLOT(accel_state_table, free)};
    return check_table(state->table, slots, COUNT(slots), driver, "accel_state_table", error);
}

int32_t accel_import_set(const struct accel_driver_set *set, bool needs_run, const char *driver,
                         struct accel_error *error)
{
    static const struct slot slots[] = {SLOT(accel_set_table, free), SLOT(accel_set_table, run)};
    return check_table(set->table, slots, needs_run ? 2 : 1, driver, "accel_set_table", error);
}

int32_t accel_import_queue(const struct accel_driver_queue *queue, const char *driver, struct accel_error *error)
{
    static const struct slot slots[] = {SLOT(accel_queue_table, free), SLOT(accel_queue_table, submit),
                                        SLOT(accel_queue_table, wait), SLOT(accel_queue_table, completed),
                                        SLOT(accel_queue_table, reset)};
    return check_table(queue->table, slots, COUNT(slots), driver, "accel_queue_table", error);
}

/* ---- records ---- */

static bool is_valid_text(const char *text, size_t limit)
{
    size_t length = text == NULL ? 0 : strnlen(text, limit + 1);
    return text != NULL && length <= limit && accel_utf8_valid(text, length, NULL);
}

int32_t accel_import_text(struct accel_arena *arena, const char *given, const char *driver, const char *what,
                          char **out_text, struct accel_error *error)
{
    *out_text = NULL;
    if (!is_valid_text(given, ACCEL_IMPORT_TEXT))
        return accel_error_driver(error, ACCEL_E_INVALID, driver, "%s is missing, too long or not UTF-8", what);
    *out_text = accel_arena_strdup(arena, given);
    if (*out_text == NULL)
        return accel_error_no_memory(error, "for %s of driver %s", what, driver);
    accel_utf8_one_line(*out_text);
    return ACCEL_OK;
}

int32_t accel_import_verdict(struct accel_arena *arena, struct accel_verdict *verdict, uint32_t hardware_count,
                             const char *driver, struct accel_error *error)
{
    char *copy = NULL;
    int32_t code;
    if (verdict->hardware < -1 || (verdict->hardware >= 0 && (uint32_t)verdict->hardware >= hardware_count))
        return accel_error_driver(error, ACCEL_E_INVALID, driver, "a verdict names hardware %d, which is not there",
                                  verdict->hardware);
    if (verdict->code >= ACCEL_OK || verdict->code < ACCEL_E_LAST)
        return accel_error_driver(error, ACCEL_E_INVALID, driver, "a verdict has the code %d", verdict->code);
    code = accel_import_text(arena, verdict->text, driver, "a verdict's text", &copy, error);
    verdict->text = copy;
    if (code != ACCEL_OK || verdict->remedy == NULL)
        return code;
    code = accel_import_text(arena, verdict->remedy, driver, "a verdict's remedy", &copy, error);
    verdict->remedy = copy;
    return code;
}

int32_t accel_import_claim(const struct accel_claim *given, const struct accel_graph *const *graphs,
                           uint32_t graph_count, const char *driver, struct accel_claim *out_claim,
                           struct accel_error *error)
{
    if (given == NULL)
        return accel_error_driver(error, ACCEL_E_INVALID, driver, "a claim is NULL");
    *out_claim = *given;
    if (out_claim->graph >= graph_count || out_claim->node >= graphs[out_claim->graph]->node_count)
        return accel_error_driver(error, ACCEL_E_INVALID, driver,
                                  "a claim names node %u of graph %u, which is not there", out_claim->node,
                                  out_claim->graph);
    if (out_claim->answer < ACCEL_CLAIM_NATIVE || out_claim->answer > ACCEL_CLAIM_NO)
        return accel_error_driver(error, ACCEL_E_INVALID, driver, "a claim has the unknown answer %u",
                                  out_claim->answer);
    if (out_claim->weights > ACCEL_BAKED)
        return accel_error_driver(error, ACCEL_E_INVALID, driver, "a claim has the unknown placement %u of weights",
                                  out_claim->weights);
    if (!isfinite(out_claim->tolerance) || out_claim->tolerance < 0)
        return accel_error_driver(error, ACCEL_E_INVALID, driver, "the tolerance of a claim is no finite number >= 0");
    if ((out_claim->alignment & (out_claim->alignment - 1)) != 0 || out_claim->alignment > (UINT64_C(1) << 21))
        return accel_error_driver(error, ACCEL_E_INVALID, driver, "a claim has the alignment %llu",
                                  (unsigned long long)out_claim->alignment);
    if (out_claim->variant > ACCEL_VARIANT_EAGER && out_claim->variant < ACCEL_VARIANT_OWN)
        return accel_error_driver(error, ACCEL_E_INVALID, driver, "a claim has the unknown variant %u",
                                  out_claim->variant);
    if (out_claim->zero != 0)
        return accel_error_driver(error, ACCEL_E_INVALID, driver, "accel_claim.zero is %u", out_claim->zero);
    if (!is_valid_text(out_claim->kernel, ACCEL_IMPORT_TEXT) || !is_valid_text(out_claim->reason, ACCEL_IMPORT_TEXT))
        return accel_error_driver(error, ACCEL_E_INVALID, driver,
                                  "kernel or reason of a claim is missing or not UTF-8");
    return ACCEL_OK;
}
