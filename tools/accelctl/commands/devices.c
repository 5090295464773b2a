/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/common.h"
#include "tools/accelctl/profile/profile.h"

struct devices_options {
    struct common common;
    uint32_t all;
    uint32_t names;
};

static const struct option_row options[] = {
    {"all", 'a', OPTION_FLAG, offsetof(struct devices_options, all), NULL,
     "also list refused hardware and drivers, and the facts of the machine with their origins", 0, 0},
    {"names", 0, OPTION_FLAG, offsetof(struct devices_options, names), NULL,
     "print only the words that --device accepts here, one per line: devices, drivers, ids and kinds", 0, 0},
    COMMON_OPTIONS(struct devices_options, common),
};

static const char *kind_name(uint32_t kind)
{
    static const char *const names[] = {"?", "cpu", "gpu", "npu", "other"};

    return kind < 5 ? names[kind] : "?";
}

static void print_device(const struct accel_device_info *info)
{
    enum { INDENT = 4 };
    const struct accel_facts *facts = info->facts;
    char bytes[32], reason[1200];

    print("%s%s%s  %s  %s%s\n", paint(PAINT_HEADING), info->name, paint(PAINT_PLAIN), kind_name(facts->kind),
          facts->name, (facts->flags & ACCEL_DEVICE_SOFTWARE) != 0 ? " (software)" : "");
    for (uint32_t h = 0; h < facts->heap_count; h++)
        print("%*s%s %s\n", INDENT, "", facts->heaps[h].name,
              facts->heaps[h].bytes == 0 ? "size unknown" : bytes_text(facts->heaps[h].bytes, bytes));
    if (facts->detail[0] != '\0')
        print_wrapped((uint32_t)print("%*s", INDENT, ""), INDENT, facts->detail);
    print_wrapped((uint32_t)print("%*s", INDENT, ""), INDENT, short_places(info->rank_reason, reason, sizeof(reason)));
    if (info->duplicate_of >= 0)
        print("%*sthe same hardware as device %" PRId32 "\n", INDENT, "", info->duplicate_of);
}

static void print_verdict(const struct accel_verdict *verdict)
{
    char line[1200];

    snprintf(line, sizeof(line), "%s (%s%s%s)", verdict->text, accel_error_name(verdict->code),
             verdict->driver[0] == '\0' ? "" : ", driver ", verdict->driver);
    print_wrapped((uint32_t)print("  %s: ", verdict->subject[0] == '\0' ? verdict->driver : verdict->subject), 4, line);
    if (verdict->remedy[0] != '\0')
        print_wrapped((uint32_t)print("    remedy: "), 12, verdict->remedy);
}

/* Prints a driver that was refused: it has no devices, so no other section reports it. */
static void print_refused(const struct accel_plugin_info *info)
{
    char line[1400];

    snprintf(line, sizeof(line), "%s (%s, plugin %s)", info->text, accel_error_name(info->code), info->path);
    print_wrapped((uint32_t)print("  %s: ", info->name), 4, line);
    if (info->remedy[0] != '\0')
        print_wrapped((uint32_t)print("    remedy: "), 12, info->remedy);
}

static uint32_t count_refused(const struct accel_context *context)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < accel_plugin_count(context); i++)
        count += accel_plugin_get(context, i)->state == ACCEL_PLUGIN_REFUSED;
    return count;
}

static void print_fact(const struct accel_fact *fact)
{
    char value[80], bytes[32];

    if (strcmp(fact->unit, "bytes") == 0)
        snprintf(value, sizeof(value), "%s", bytes_text(strtoull(fact->value, NULL, 10), bytes));
    else if (strcmp(fact->unit, "packages") == 0 || strcmp(fact->unit, "cores") == 0 ||
             strcmp(fact->unit, "nodes") == 0)
        snprintf(value, sizeof(value), "%s", fact->value);
    else
        snprintf(value, sizeof(value), "%s%s%s", fact->value, fact->unit[0] == '\0' ? "" : " ", fact->unit);
    print("  %-22s %-22s %s\n", fact->key, value, fact->origin);
}

/* Returns 1 if a device before `index` has printed the same word; `of` selects which of its words. */
static uint32_t seen_before(const struct accel_context *context, uint32_t index,
                            const char *(*of)(const struct accel_device_info *info))
{
    const char *word = of(accel_device_get(context, index));

    for (uint32_t i = 0; i < index; i++)
        if (strcmp(of(accel_device_get(context, i)), word) == 0)
            return 1;
    return 0;
}

static const char *name_of(const struct accel_device_info *info)
{
    return info->name;
}

static const char *driver_of(const struct accel_device_info *info)
{
    return info->driver;
}

static const char *id_of(const struct accel_device_info *info)
{
    return info->facts->id;
}

/* Returns the kind that selects a device, or "". Software devices are not selected by kind; "cpu" is a driver as
 * well. */
static const char *kind_of(const struct accel_device_info *info)
{
    bool is_meant = (info->facts->flags & (ACCEL_DEVICE_SOFTWARE | ACCEL_DEVICE_TARGET)) == 0;

    return is_meant && info->facts->kind != ACCEL_DEVICE_CPU ? kind_name(info->facts->kind) : "";
}

static void print_words(const struct accel_context *context)
{
    static const char *(*const words[])(const struct accel_device_info *info) = {name_of, driver_of, id_of, kind_of};

    for (size_t w = 0; w < sizeof(words) / sizeof(*words); w++)
        for (uint32_t i = 0; i < accel_device_count(context); i++) {
            const char *word = words[w](accel_device_get(context, i));

            if (word[0] != '\0' && !seen_before(context, i, words[w]))
                print("%s\n", word);
        }
}

static void print_all(const struct accel_context *context)
{
    if (accel_verdict_count(context) + count_refused(context) > 0)
        print("\n%snot usable%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN));
    for (uint32_t i = 0; i < accel_verdict_count(context); i++)
        print_verdict(accel_verdict_get(context, i));
    for (uint32_t i = 0; i < accel_plugin_count(context); i++)
        if (accel_plugin_get(context, i)->state == ACCEL_PLUGIN_REFUSED)
            print_refused(accel_plugin_get(context, i));
    print("\n%smachine%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN));
    for (uint32_t i = 0; i < accel_fact_count(context); i++)
        print_fact(accel_fact_get(context, i));
}

static json_t *device_json(const struct accel_device_info *info)
{
    const struct accel_facts *facts = info->facts;
    json_t *heaps = json_array();

    for (uint32_t h = 0; h < facts->heap_count; h++)
        json_add(heaps, json_pack("{s:o, s:I}", "name", json_text(facts->heaps[h].name), "bytes",
                                  (json_int_t)facts->heaps[h].bytes));
    return json_pack("{s:{s:s, s:s}, s:o, s:o, s:s, s:o, s:o, s:b, s:o, s:f, s:o, s:i, s:i}", "origin", "heaps",
                     "claimed: the driver", "rank", "profile: rank_reason", "name", json_text(info->name), "driver",
                     json_text(info->driver), "kind", kind_name(facts->kind), "product", json_text(facts->name),
                     "detail", json_text(facts->detail), "software", (facts->flags & ACCEL_DEVICE_SOFTWARE) != 0,
                     "heaps", heaps, "rank", info->rank, "rank_reason", json_text(info->rank_reason), "duplicate_of",
                     (int)info->duplicate_of, "hardware", (int)info->hardware);
}

static json_t *refused_json(const struct accel_context *context)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < accel_plugin_count(context); i++) {
        const struct accel_plugin_info *info = accel_plugin_get(context, i);

        if (info->state == ACCEL_PLUGIN_REFUSED)
            json_add(list, json_pack("{s:o, s:o, s:s, s:o, s:o}", "driver", json_text(info->name), "path",
                                     json_text(info->path), "code", accel_error_name(info->code), "text",
                                     json_text(info->text), "remedy", json_text(info->remedy)));
    }
    return list;
}

static json_t *all_json(const struct accel_context *context)
{
    json_t *devices = json_array();
    json_t *verdicts = json_array();
    json_t *facts = json_array();

    for (uint32_t i = 0; i < accel_device_count(context); i++)
        json_add(devices, device_json(accel_device_get(context, i)));
    for (uint32_t i = 0; i < accel_verdict_count(context); i++) {
        const struct accel_verdict *v = accel_verdict_get(context, i);

        json_add(verdicts, json_pack("{s:o, s:o, s:s, s:o, s:o, s:i}", "subject", json_text(v->subject), "driver",
                                     json_text(v->driver), "code", accel_error_name(v->code), "text",
                                     json_text(v->text), "remedy", json_text(v->remedy), "hardware", (int)v->hardware));
    }
    for (uint32_t i = 0; i < accel_fact_count(context); i++) {
        const struct accel_fact *f = accel_fact_get(context, i);

        json_add(facts, json_pack("{s:s, s:o, s:s, s:o}", "key", f->key, "value", json_text(f->value), "unit", f->unit,
                                  "origin", json_text(f->origin)));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "devices", devices, "verdicts", verdicts, "refused",
                     refused_json(context), "machine", facts, "host",
                     json_text(accel_context_recording(context) ? accel_context_recording(context)->path : ""));
}

static int run(int count, char **arguments, const struct command *command)
{
    struct devices_options chosen = {.all = 0};
    struct accel_context *context;
    int code = parse_options(command, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    context = open_context(&chosen.common, &code);
    if (context == NULL)
        return code;
    warn_variables(context);
    code = EXIT_DONE;
    if (chosen.common.json) {
        code = print_json(all_json(context), "accelctl/devices/1");
    } else if (chosen.names) {
        print_words(context);
    } else {
        print_recording(context);
        for (uint32_t i = 0; i < accel_device_count(context); i++)
            print_device(accel_device_get(context, i));
        if (accel_device_count(context) == 0)
            print_wrapped(0, 0,
                          "no device: no driver was loaded, or none found hardware; accelctl plugins and accelctl "
                          "devices --all lists the reasons");
        if (chosen.all)
            print_all(context);
    }
    close_context(context);
    return code;
}

const struct command command_devices = {
    .name = "devices",
    .summary = "list the devices that can be used, best first, and why others cannot be used",
    .arguments = "",
    .detail = "Devices are listed in the order in which a plan chooses them. A profile decides the rank and states the "
              "reason.\n"
              "Other commands select a device by DRIVER:ID, by DRIVER (its best device), by ID alone, by a kind (cpu, "
              "gpu, npu, other: its best device that is hardware), or by a list of these separated by commas, of which "
              "the first available one is used.",
    .example = "accelctl devices --all\nwhat the machine has, and why some of it cannot be used",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .run = run,
};
