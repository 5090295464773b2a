/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drivers with their instances. Attaching one may load the libraries of a vendor, with their threads and their memory:
 * where a probe has written down the devices of a driver that opens libraries, they are listed from there, and the
 * driver is attached when one of them is opened.
 */
#include "config.h"

#include <string.h>

#include "core/base/error.h"
#include "core/device/context.h"
#include "core/device/take.h"
#include "core/plugin/plugin.h"
#include "core/plugin/wire.h"

/* ---- what a driver enumerates ---- */

/* Takes what a driver enumerates. The first failure of the core's own is kept: a driver may swallow what we answer. */
struct collector {
    struct accel_device_sink sink; /* first: the driver hands its address back */
    struct accel_context *context;
    struct accel_attached *owner;
    struct accel_error error;
};

/* The first fault is kept in the collector as well as answered: a driver that ignores what its sink answers is refused
 * at the end of enumerate. */
static int32_t take_device(const struct accel_device_sink *sink, const struct accel_facts *given,
                           struct accel_error *error) ACCEL_NOEXCEPT
{
    struct collector *collector = (struct collector *)(uintptr_t)sink;
    int32_t code = accel_registry_take(collector->context, collector->owner, given, &collector->error);
    return code == ACCEL_OK ? ACCEL_OK : accel_error_set(error, code, "%s", collector->error.text);
}

static int32_t take_verdict(const struct accel_device_sink *sink, int32_t hardware, int32_t code, const char *text,
                            const char *remedy, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct collector *collector = (struct collector *)(uintptr_t)sink;
    struct accel_verdict verdict = {
        .code = code, .driver = collector->owner->driver->name, .hardware = hardware, .text = text, .remedy = remedy};
    int32_t result = accel_registry_judge(collector->context, &verdict, &collector->error);
    return result == ACCEL_OK ? ACCEL_OK : accel_error_set(error, result, "%s", collector->error.text);
}

/* Runs the slot, and answers what it left changed in its caller. */
static int32_t enumerate(struct accel_context *context, const struct accel_attached *owner,
                         const struct accel_device_sink *sink, uint32_t *out_changed, struct accel_error *error)
{
    struct accel_surroundings before;
    int32_t code;
    accel_context_before(context, owner, "enumerate", &before);
    code = owner->instance->table->enumerate(owner->instance,
                                             (const struct accel_hardware *const *)context->hardware.items,
                                             context->hardware.count, sink, error);
    *out_changed = accel_context_restore(context, &before, owner->driver->name, "enumerate");
    return accel_take_code(code, owner->driver->name, "enumerate", error);
}

/* Lists what the driver enumerates. */
static int32_t list_now(struct accel_context *context, struct accel_attached *owner, struct accel_error *error)
{
    struct collector collector = {
        .sink = {.size = sizeof(collector.sink), .device = take_device, .verdict = take_verdict},
        .context = context,
        .owner = owner};
    uint32_t changed;
    int32_t code = enumerate(context, owner, &collector.sink, &changed, error);
    if (code == ACCEL_OK)
        code = accel_context_tell_changed(context, owner->driver->name, "enumerate", changed, error);
    return collector.error.code != ACCEL_OK ? accel_error_copy(error, &collector.error) : code;
}

/* ---- attach and detach ---- */

/* A driver gives back what it took before its instance ends. Nobody knows the blocks any more that it did not. */
static void tell_leaks(struct accel_context *context, const struct accel_attached *owner)
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
    struct accel_surroundings before;
    struct accel_error error = {0};
    int32_t code;
    if (owner->instance == NULL)
        return;
    accel_context_before(context, owner, "detach", &before);
    code = owner->instance->table->detach(owner->instance, &error);
    accel_context_restore(context, &before, owner->driver->name, "detach");
    code = accel_take_code(code, owner->driver->name, "detach", &error);
    if (code != ACCEL_OK)
        accel_log_write(&context->log, ACCEL_LOG_ERROR, "device", "driver=%s detach=%s text=\"%s\"",
                        owner->driver->name, accel_error_name(code), error.text);
    owner->instance = NULL;
    tell_leaks(context, owner);
}

/* A driver that breaks the rules in the middle of enumerate leaves no devices behind. */
static void drop_devices(struct accel_context *context, const struct accel_attached *owner)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < context->devices.count; i++) {
        struct accel_listed *listed = context->devices.items[i];
        if (listed->owner != owner)
            context->devices.items[kept++] = listed;
    }
    context->devices.count = kept;
}

static int32_t make_owner(struct accel_context *context, const struct accel_driver *driver, uint32_t plugin,
                          struct accel_attached **out_owner, struct accel_error *error)
{
    struct accel_attached *owner = accel_arena_array(&context->records, 1, sizeof(*owner));
    *out_owner = owner;
    if (owner == NULL || !accel_rows_add(&context->attached, owner))
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for driver %s", driver->name);
    owner->driver = driver;
    owner->minor = driver->abi_minor < ACCEL_ABI_MINOR ? driver->abi_minor : ACCEL_ABI_MINOR;
    owner->plugin = plugin;
    accel_host_services_init(&owner->host, driver->name, &context->memory, &context->log);
    return ACCEL_OK;
}

/* After a failure there may be an instance, for detach. */
static int32_t attach(struct accel_context *context, struct accel_attached *owner, uint32_t *out_changed,
                      struct accel_error *error)
{
    const char *name = owner->driver->name;
    struct accel_driver_instance *instance = NULL;
    struct accel_surroundings before;
    int32_t code;
    accel_context_before(context, owner, "attach", &before);
    code = owner->driver->attach(&owner->host.table, owner->minor, &instance, error);
    *out_changed = accel_context_restore(context, &before, name, "attach");
    code = accel_take_handle(code, instance, name, "attach", error);
    if (code != ACCEL_OK)
        return code;
    /* What can be detached is ours even when the rest of its table is refused. */
    if (ACCEL_CAN(instance->table, detach))
        owner->instance = instance;
    return accel_take_instance(instance, name, error);
}

int32_t accel_registry_attach(struct accel_context *context, const struct accel_driver *driver, uint32_t plugin,
                              struct accel_error *error)
{
    struct accel_attached *owner;
    uint32_t changed;
    int32_t code = make_owner(context, driver, plugin, &owner, error);
    if (code != ACCEL_OK)
        return code;
    code = attach(context, owner, &changed, error);
    if (code == ACCEL_OK)
        code = accel_context_tell_changed(context, driver->name, "attach", changed, error);
    if (code == ACCEL_OK)
        code = list_now(context, owner, error);
    if (code != ACCEL_OK) {
        drop_devices(context, owner);
        accel_registry_detach(context, owner);
        context->attached.count--;
    } else if (owner->device_count == 0 && !ACCEL_CAN(owner->instance->table, poll)) {
        /* Nobody will ask for it, and what it holds would stand beside every plan. */
        accel_registry_detach(context, owner);
    }
    return code;
}

/* ---- devices of a driver that is not attached yet ---- */

/* A driver that opens no library has nothing to load, and says what is so now. A device that is not in this machine may
 * come and go. */
static bool may_wait(const struct accel_plugin *plugin, const struct accel_wire_list *list)
{
    if (list->fact_count == 0)
        return false;
    /* Who ended a process is attached by those alone who ask for it. */
    if (plugin->died != NULL)
        return true;
    if (plugin->note == NULL || *plugin->note->libraries == '\0')
        return false;
    for (uint32_t i = 0; i < list->fact_count; i++)
        if ((list->facts[i]->flags & ACCEL_DEVICE_REMOTE) != 0)
            return false;
    return true;
}

static int32_t list_kept(struct accel_context *context, struct accel_attached *owner,
                         const struct accel_wire_list *list, struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < list->fact_count && code == ACCEL_OK; i++)
        code = accel_registry_take(context, owner, list->facts[i], error);
    for (uint32_t i = 0; i < list->verdict_count && code == ACCEL_OK; i++) {
        list->verdicts[i].driver = owner->driver->name;
        code = accel_registry_judge(context, &list->verdicts[i], error);
    }
    return code;
}

bool accel_registry_list(struct accel_context *context, const struct accel_plugin *plugin, uint32_t index)
{
    struct accel_arena arena = {0};
    struct accel_attached *owner = NULL;
    struct accel_wire_list list;
    uint32_t verdicts = context->verdicts.count;
    bool listed = false;
    if (plugin->list == NULL)
        return false;
    accel_arena_init(&arena, 0);
    if (accel_wire_read_list(plugin->list, plugin->list_bytes, &arena, &list, NULL) == ACCEL_OK &&
        may_wait(plugin, &list) && make_owner(context, plugin->driver, index, &owner, NULL) == ACCEL_OK) {
        owner->waits = true;
        listed = list_kept(context, owner, &list, NULL) == ACCEL_OK;
        if (!listed) {
            drop_devices(context, owner);
            context->verdicts.count = verdicts;
            context->attached.count--;
        }
    }
    accel_arena_free(&arena);
    return listed;
}

/* Holds what a driver enumerates against its devices of the list. */
struct comparer {
    struct accel_device_sink sink; /* first: the driver hands its address back */
    struct accel_context *context;
    const struct accel_attached *owner;
    struct accel_arena arena;
    uint32_t same;    /* devices that are as listed */
    uint32_t changed; /* that are not, or are new */
    int32_t code;     /* of the first that is refused */
};

static struct accel_listed *find_id(const struct accel_context *context, const struct accel_attached *owner,
                                    const char *id)
{
    for (uint32_t i = 0; i < context->devices.count; i++) {
        struct accel_listed *listed = context->devices.items[i];
        if (listed->owner == owner && strcmp(listed->info.facts->id, id) == 0)
            return listed;
    }
    return NULL;
}

static bool same_facts(const struct accel_facts *a, const struct accel_facts *b)
{
    struct accel_strbuf left = {0};
    struct accel_strbuf right = {0};
    bool same;
    accel_wire_put_device(&left, a);
    accel_wire_put_device(&right, b);
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
    int32_t code = accel_take_facts(&comparer->arena, given, comparer->context->hardware.count,
                                    comparer->owner->driver->name, &facts, error);
    if (code != ACCEL_OK) {
        comparer->code = comparer->code == ACCEL_OK ? code : comparer->code;
        return code;
    }
    listed = find_id(comparer->context, comparer->owner, facts->id);
    if (listed != NULL && same_facts(facts, listed->info.facts))
        comparer->same++;
    else
        comparer->changed++;
    if (listed != NULL)
        listed->here = true;
    return ACCEL_OK;
}

/* Verdicts were listed from the probe. */
static int32_t pass_verdict(const struct accel_device_sink *sink, int32_t hardware, int32_t code, const char *text,
                            const char *remedy, struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)sink, (void)hardware, (void)code, (void)text, (void)remedy, (void)error;
    return ACCEL_OK;
}

/* The list stays as it is, since others read it; what does not hold of it is found anew by the next discovery. */
static int32_t compare(struct accel_context *context, struct accel_attached *owner, struct accel_error *error)
{
    struct comparer comparer = {
        .sink = {.size = sizeof(comparer.sink), .device = compare_device, .verdict = pass_verdict},
        .context = context,
        .owner = owner};
    uint32_t surroundings;
    int32_t code;
    accel_arena_init(&comparer.arena, 0);
    code = enumerate(context, owner, &comparer.sink, &surroundings, error);
    if (code == ACCEL_OK && comparer.code != ACCEL_OK)
        code = accel_error_set(error, comparer.code, "driver %s: its devices are refused", owner->driver->name);
    accel_arena_free(&comparer.arena);
    if (code != ACCEL_OK || comparer.changed != 0 || comparer.same != owner->device_count) {
        accel_log_write(&context->log, ACCEL_LOG_INFO, "device", "driver=%s kept_devices=%u same=%u changed=%u",
                        owner->driver->name, owner->device_count, comparer.same, comparer.changed);
        accel_plugins_stale(context->plugins, owner->plugin);
    }
    return code;
}

/* Attaches once; what failed is not tried again before the next discovery. */
static int32_t attach_late(struct accel_context *context, struct accel_attached *owner, struct accel_error *error)
{
    uint32_t changed;
    int32_t code;
    if (owner->late.code != ACCEL_OK)
        return accel_error_copy(error, &owner->late);
    if (owner->instance != NULL)
        return ACCEL_OK;
    code = attach(context, owner, &changed, &owner->late);
    if (code == ACCEL_OK)
        code = compare(context, owner, &owner->late);
    owner->late.code = code;
    accel_plugins_rest(context->plugins);
    /* One that ended a process before is as good as others from now on. */
    if (code != ACCEL_OK || accel_plugins_get(context->plugins, owner->plugin)->died != NULL)
        accel_plugins_stale(context->plugins, owner->plugin);
    if (code == ACCEL_OK)
        return ACCEL_OK;
    accel_registry_detach(context, owner);
    return accel_error_copy(error, &owner->late);
}

int32_t accel_registry_need(struct accel_context *context, const struct accel_listed *listed, struct accel_error *error)
{
    struct accel_attached *owner = listed->owner;
    int32_t code;
    if (!owner->waits)
        return ACCEL_OK;
    pthread_mutex_lock(&context->attaching);
    code = attach_late(context, owner, error);
    if (code == ACCEL_OK && !listed->here) {
        code = accel_error_set(error, ACCEL_E_NOT_FOUND,
                               "device %s was there when its driver was probed, and is not now", listed->info.name);
        accel_error_remedy(error, "accelctl devices finds the devices anew");
    }
    pthread_mutex_unlock(&context->attaching);
    return code;
}
