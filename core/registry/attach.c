/* SPDX-License-Identifier: Apache-2.0 */
/* Drivers with their instances. Attaching a driver may load vendor libraries, with their threads and memory. If a
 * probe has cached the devices of a driver that opens libraries, they are listed from the cache, and the driver is
 * attached when one of its devices is opened. */
#include "config.h"

#include <string.h>

#include "core/base/error.h"
#include "core/boundary/import.h"
#include "core/plugin/ipc.h"
#include "core/plugin/plugin.h"
#include "core/registry/call_guard.h"
#include "core/registry/registry.h"

/* ---- enumeration ---- */

/* Adds the devices that a driver enumerates. The first error of the core is stored: drivers may ignore the result. */
struct collector {
    struct accel_device_sink sink; /* first: the driver passes its address back */
    struct accel_context *context;
    struct accel_attached *owner;
    struct accel_error error;
};

/* Stores the first fault, too: a driver that ignores the sink's result is refused at the end of enumerate. */
static int32_t collect_device(const struct accel_device_sink *sink, const struct accel_facts *given,
                              struct accel_error *error) ACCEL_NOEXCEPT
{
    struct collector *collector = (struct collector *)(uintptr_t)sink;
    int32_t code = accel_registry_add_device(collector->context, collector->owner, given, &collector->error);
    return code == ACCEL_OK ? ACCEL_OK
                            : accel_error_by(error, collector->error.origin, code, "%s", collector->error.text);
}

static int32_t collect_verdict(const struct accel_device_sink *sink, int32_t hardware, int32_t code, const char *text,
                               const char *remedy, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct collector *collector = (struct collector *)(uintptr_t)sink;
    struct accel_verdict verdict = {
        .code = code, .driver = collector->owner->driver->name, .hardware = hardware, .text = text, .remedy = remedy};
    int32_t result = accel_registry_add_verdict(collector->context, &verdict, &collector->error);
    return result == ACCEL_OK ? ACCEL_OK : accel_error_set(error, result, "%s", collector->error.text);
}

static int32_t fail_late(struct accel_error *error)
{
    return accel_error_set(error, ACCEL_E_INVALID, "the sink was called after enumerate had returned");
}

static int32_t pass_device(const struct accel_device_sink *sink, const struct accel_facts *facts,
                           struct accel_error *error) ACCEL_NOEXCEPT
{
    struct accel_locked_sink *locked = (struct accel_locked_sink *)(uintptr_t)sink;
    int32_t code;
    pthread_mutex_lock(&locked->mutex);
    code = locked->inner == NULL ? fail_late(error) : locked->inner->device(locked->inner, facts, error);
    pthread_mutex_unlock(&locked->mutex);
    return code;
}

static int32_t pass_verdict(const struct accel_device_sink *sink, int32_t hardware, int32_t code, const char *text,
                            const char *remedy, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct accel_locked_sink *locked = (struct accel_locked_sink *)(uintptr_t)sink;
    pthread_mutex_lock(&locked->mutex);
    code = locked->inner == NULL ? fail_late(error)
                                 : locked->inner->verdict(locked->inner, hardware, code, text, remedy, error);
    pthread_mutex_unlock(&locked->mutex);
    return code;
}

static void set_inner(struct accel_locked_sink *locked, const struct accel_device_sink *inner)
{
    pthread_mutex_lock(&locked->mutex);
    locked->inner = inner;
    pthread_mutex_unlock(&locked->mutex);
}

static int32_t enumerate(struct accel_context *context, struct accel_attached *owner,
                         const struct accel_device_sink *sink, struct accel_error *error)
{
    int32_t code;
    set_inner(&owner->sink, sink);
    ACCEL_GUARDED(code, context, owner->driver->name, "enumerate",
                  owner->instance->table->enumerate(owner->instance,
                                                    (const struct accel_hardware *const *)context->hardware.items,
                                                    context->hardware.count, &owner->sink.sink, error));
    set_inner(&owner->sink, NULL);
    return accel_import_code(code, owner->driver->name, "enumerate", error);
}

/* Calls the driver's enumerate and adds its devices. */
static int32_t list_live(struct accel_context *context, struct accel_attached *owner, struct accel_error *error)
{
    struct collector collector = {
        .sink = {.size = sizeof(collector.sink), .device = collect_device, .verdict = collect_verdict},
        .context = context,
        .owner = owner};
    int32_t code = enumerate(context, owner, &collector.sink, error);
    return collector.error.code != ACCEL_OK ? accel_error_copy(error, &collector.error) : code;
}

/* ---- attach and detach ---- */

/* Reports blocks that a driver has not released before its instance ends; they can no longer be freed. */
static void log_leaks(struct accel_context *context, const struct accel_attached *owner)
{
    uint64_t blocks = atomic_load_explicit(&owner->host.blocks, memory_order_relaxed);
    uint64_t bytes = atomic_load_explicit(&owner->host.bytes, memory_order_relaxed);
    if (blocks != 0)
        accel_log_write(&context->log, ACCEL_LOG_ERROR, "device", "driver=%s leaked_blocks=%llu leaked_bytes=%llu",
                        owner->driver->name, (unsigned long long)blocks, (unsigned long long)bytes);
    for (uint32_t c = 1; c < ACCEL_MEMORY_END; c++) {
        int64_t counted = atomic_load_explicit(&owner->host.counted[c], memory_order_relaxed);
        if (counted != 0)
            accel_log_write(&context->log, ACCEL_LOG_ERROR, "device", "driver=%s leaked_class=%u leaked_bytes=%lld",
                            owner->driver->name, c, (long long)counted);
    }
}

void accel_registry_detach(struct accel_context *context, struct accel_attached *owner)
{
    struct accel_error error = {0};
    int32_t code;
    if (owner->instance == NULL)
        return;
    ACCEL_GUARDED(code, context, owner->driver->name, "detach",
                  owner->instance->table->detach(owner->instance, &error));
    code = accel_import_code(code, owner->driver->name, "detach", &error);
    if (code != ACCEL_OK)
        accel_log_write(&context->log, ACCEL_LOG_ERROR, "device", "driver=%s detach=%s text=\"%s\"",
                        owner->driver->name, accel_error_name(code), error.text);
    owner->instance = NULL;
    log_leaks(context, owner);
}

/* Removes the devices of a driver that fails in the middle of enumerate. */
static void drop_devices(struct accel_context *context, const struct accel_attached *owner)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < context->devices.count; i++) {
        struct accel_listed *listed = context->devices.items[i];
        if (listed->owner != owner)
            context->devices.items[left++] = listed;
    }
    context->devices.count = left;
}

static int32_t make_owner(struct accel_context *context, const struct accel_driver *driver, uint32_t plugin,
                          struct accel_attached **out_owner, struct accel_error *error)
{
    struct accel_attached *owner = accel_arena_array(&context->records, 1, sizeof(*owner));
    *out_owner = owner;
    if (owner == NULL || !accel_rows_add(&context->attached, owner))
        return accel_error_no_memory(error, "for driver %s", driver->name);
    owner->driver = driver;
    owner->minor = driver->abi_minor < ACCEL_ABI_MINOR ? driver->abi_minor : ACCEL_ABI_MINOR;
    owner->plugin = plugin;
    owner->sink.sink =
        (struct accel_device_sink){.size = sizeof(owner->sink.sink), .device = pass_device, .verdict = pass_verdict};
    pthread_mutex_init(&owner->sink.mutex, NULL);
    accel_host_services_init(&owner->host, driver->name, &context->memory, &context->log);
    return ACCEL_OK;
}

/* Attaches the driver. After a failure there may be an instance, for detach. */
static int32_t attach(struct accel_context *context, struct accel_attached *owner, struct accel_error *error)
{
    const char *name = owner->driver->name;
    struct accel_driver_instance *instance = NULL;
    int32_t code;
    ACCEL_GUARDED(code, context, name, "attach",
                  owner->driver->attach(&owner->host.table, owner->minor, &instance, error));
    code = accel_import_handle(code, instance, name, "attach", error);
    if (code != ACCEL_OK)
        return code;
    /* The core owns an instance that it can detach, even if the rest of its table is refused. */
    if (ACCEL_CAN(instance->table, detach))
        owner->instance = instance;
    return accel_import_table(instance, ACCEL_TABLE_INSTANCE, name, error);
}

int32_t accel_registry_attach(struct accel_context *context, const struct accel_driver *driver, uint32_t plugin,
                              struct accel_error *error)
{
    struct accel_attached *owner;
    int32_t code = make_owner(context, driver, plugin, &owner, error);
    if (code != ACCEL_OK)
        return code;
    code = attach(context, owner, error);
    if (code == ACCEL_OK)
        code = list_live(context, owner, error);
    if (code != ACCEL_OK) {
        drop_devices(context, owner);
        accel_registry_detach(context, owner);
        context->attached.count--;
    } else if (owner->device_count == 0 && !ACCEL_CAN(owner->instance->table, poll)) {
        /* A driver without devices is not used again; its resources would only reduce free memory. */
        accel_registry_detach(context, owner);
    }
    return code;
}

/* ---- deferred attach ---- */

/* Returns whether attach can be deferred. A driver that opens no library has nothing to load and enumerates the
 * current state; a device that is not part of this machine may come and go. */
static bool may_wait(const struct accel_plugin *plugin, const struct accel_ipc_list *list)
{
    if (list->fact_count == 0)
        return false;
    if (plugin->note == NULL || *plugin->note->libraries == '\0')
        return false;
    for (uint32_t i = 0; i < list->fact_count; i++)
        if ((list->facts[i]->flags & ACCEL_DEVICE_REMOTE) != 0)
            return false;
    return true;
}

static int32_t list_cached(struct accel_context *context, struct accel_attached *owner,
                           const struct accel_ipc_list *list, struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < list->fact_count && code == ACCEL_OK; i++)
        code = accel_registry_add_device(context, owner, list->facts[i], error);
    for (uint32_t i = 0; i < list->verdict_count && code == ACCEL_OK; i++) {
        list->verdicts[i].driver = owner->driver->name;
        code = accel_registry_add_verdict(context, &list->verdicts[i], error);
    }
    return code;
}

bool accel_registry_list(struct accel_context *context, const struct accel_plugin *plugin, uint32_t index)
{
    struct accel_arena arena = {0};
    struct accel_attached *owner = NULL;
    struct accel_ipc_list list;
    uint32_t verdicts = context->verdicts.count;
    bool listed = false;
    if (plugin->list == NULL)
        return false;
    if (accel_ipc_read_list(plugin->list, plugin->list_bytes, &arena, &list, NULL) == ACCEL_OK &&
        may_wait(plugin, &list) && make_owner(context, plugin->driver, index, &owner, NULL) == ACCEL_OK) {
        owner->is_deferred = true;
        listed = list_cached(context, owner, &list, NULL) == ACCEL_OK;
        if (!listed) {
            drop_devices(context, owner);
            context->verdicts.count = verdicts;
            context->attached.count--;
        }
    }
    accel_arena_free(&arena);
    return listed;
}

/* Compares enumerated devices with the cached list. */
struct comparer {
    struct accel_device_sink sink; /* first: the driver passes its address back */
    struct accel_context *context;
    const struct accel_attached *owner;
    struct accel_arena arena;
    uint32_t same;    /* devices that match the list */
    uint32_t changed; /* devices that differ or are new */
    int32_t code;     /* error of the first refused device */
};

static bool same_facts(const struct accel_facts *a, const struct accel_facts *b)
{
    struct accel_strbuf left = {0};
    struct accel_strbuf right = {0};
    bool same;
    accel_ipc_put_device(&left, a);
    accel_ipc_put_device(&right, b);
    same = !left.failed && !right.failed && left.length == right.length &&
           memcmp(accel_strbuf_get(&left), accel_strbuf_get(&right), left.length) == 0;
    accel_strbuf_free(&left);
    accel_strbuf_free(&right);
    return same;
}

static int32_t compare_device(const struct accel_device_sink *sink, const struct accel_facts *given,
                              struct accel_error *error) ACCEL_NOEXCEPT
{
    struct comparer *comparer = (struct comparer *)(uintptr_t)sink;
    struct accel_facts *facts = NULL;
    struct accel_listed *listed;
    int32_t code = accel_import_facts(&comparer->arena, given, comparer->context->hardware.count,
                                      comparer->owner->driver->name, &facts, error);
    if (code != ACCEL_OK) {
        comparer->code = comparer->code == ACCEL_OK ? code : comparer->code;
        return code;
    }
    listed = accel_registry_find_id(comparer->context, comparer->owner, facts->id);
    if (listed != NULL && same_facts(facts, listed->info.facts))
        comparer->same++;
    else
        comparer->changed++;
    if (listed != NULL)
        listed->is_present = true;
    return ACCEL_OK;
}

/* Ignores verdicts: they were listed from the cache. */
static int32_t drop_verdict(const struct accel_device_sink *sink, int32_t hardware, int32_t code, const char *text,
                            const char *remedy, struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)sink, (void)hardware, (void)code, (void)text, (void)remedy, (void)error;
    return ACCEL_OK;
}

/* Enumerates and compares. The list is not changed, since other threads read it; the next discovery updates it. */
static int32_t compare(struct accel_context *context, struct accel_attached *owner, struct accel_error *error)
{
    struct comparer comparer = {
        .sink = {.size = sizeof(comparer.sink), .device = compare_device, .verdict = drop_verdict},
        .context = context,
        .owner = owner};
    int32_t code;
    code = enumerate(context, owner, &comparer.sink, error);
    if (code == ACCEL_OK && comparer.code != ACCEL_OK)
        code = accel_error_set(error, comparer.code, "driver %s: its devices are refused", owner->driver->name);
    accel_arena_free(&comparer.arena);
    if (code != ACCEL_OK || comparer.changed != 0 || comparer.same != owner->device_count) {
        accel_log_write(&context->log, ACCEL_LOG_INFO, "device", "driver=%s cached_devices=%u same=%u changed=%u",
                        owner->driver->name, owner->device_count, comparer.same, comparer.changed);
        accel_plugins_stale(context->plugins, owner->plugin);
    }
    return code;
}

/* Attaches a driver once; a failure is not retried before the next discovery. */
static int32_t attach_deferred(struct accel_context *context, struct accel_attached *owner, struct accel_error *error)
{
    int32_t code;
    if (owner->deferred_error.code != ACCEL_OK)
        return accel_error_copy(error, &owner->deferred_error);
    if (owner->instance != NULL)
        return ACCEL_OK;
    code = attach(context, owner, &owner->deferred_error);
    if (code == ACCEL_OK)
        code = compare(context, owner, &owner->deferred_error);
    owner->deferred_error.code = code;
    if (code == ACCEL_OK)
        return ACCEL_OK;
    accel_plugins_stale(context->plugins, owner->plugin);
    accel_registry_detach(context, owner);
    return accel_error_copy(error, &owner->deferred_error);
}

int32_t accel_registry_ensure_attached(struct accel_context *context, const struct accel_listed *listed,
                                       struct accel_error *error)
{
    struct accel_attached *owner = listed->owner;
    int32_t code;
    if (!owner->is_deferred)
        return ACCEL_OK;
    pthread_mutex_lock(&context->attaching);
    code = attach_deferred(context, owner, error);
    if (code == ACCEL_OK && !listed->is_present) {
        code =
            accel_error_set(error, ACCEL_E_NOT_FOUND,
                            "device %s was present when its driver was probed, but is missing now", listed->info.name);
        accel_error_remedy(error, "run `accelctl devices` to find the devices again");
    }
    pthread_mutex_unlock(&context->attaching);
    return code;
}
