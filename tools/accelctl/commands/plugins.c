/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tools/accelctl/certificate.h"
#include "tools/accelctl/common.h"
#include "tools/accelctl/driver_options.h"
#include "tools/accelctl/profile/profile.h"

struct plugins_options {
    struct common common;
};

static const struct option_row options[] = {
    COMMON_OPTIONS(struct plugins_options, common),
};

static const char *state_name(uint32_t state)
{
    static const char *const names[] = {"?", "loaded", "refused", "shadowed"};

    return state < 4 ? names[state] : "?";
}

/* Prints the devices on which the file was tested by accel-conform. */
static void print_certificates(const struct accel_plugin_info *info)
{
    json_t *list = certificates_of(info), *one;
    size_t i;

    if (json_array_size(list) == 0)
        print("    no certificate: accel-conform makes one\n");
    json_array_foreach(list, i, one)
    {
        const char *state = NULL, *why = NULL, *device = NULL, *date = NULL;
        json_int_t passed = 0, failed = 0, unclaimed = 0, skipped = 0, seed = 0;

        if (json_unpack(one, "{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "state", &state, "why", &why, "device",
                        &device, "date", &date, "passed", &passed, "failed", &failed, "unclaimed", &unclaimed,
                        "skipped", &skipped, "seed", &seed) != 0)
            continue;
        print("    certificate for %s: %lld tests passed, %lld failed, %lld not claimed, %lld skipped, seed %lld, "
              "%.10s%s%s%s%s\n",
              device, (long long)passed, (long long)failed, (long long)unclaimed, (long long)skipped, (long long)seed,
              date, why[0] == '\0' ? "" : "; ", why[0] == '\0' ? "" : state, why[0] == '\0' ? "" : ": ", why);
    }
    json_decref(list);
}

static void print_options(const struct accel_plugin_info *info)
{
    enum { INDENT = 6 };
    struct driver_option option;
    uint32_t width = 0;

    for (uint32_t i = 0; describe_driver_option(info, i, &option); i++)
        width = strlen(option.key) > width ? (uint32_t)strlen(option.key) : width;
    if (width != 0)
        print("    options, as --set KEY=VALUE\n");
    for (uint32_t i = 0; describe_driver_option(info, i, &option); i++)
        print_driver_option(&option, INDENT, width);
}

static json_t *options_json(const struct accel_plugin_info *info)
{
    json_t *list = json_array();
    struct driver_option option;

    for (uint32_t i = 0; describe_driver_option(info, i, &option); i++)
        json_add(list, driver_option_json(&option));
    return list;
}

/* Prints a row, and indented details below it. */
static void print_plugin(const struct accel_plugin_info *info)
{
    enum { INDENT = 4 };
    char line[1200], name[256], path[4200];

    print("%s%s%s %s  %s%s%s  %s\n", paint(PAINT_HEADING), clean_text(info->name, name, sizeof(name)),
          paint(PAINT_PLAIN), info->version[0] == '\0' ? "(no version)" : info->version,
          paint(info->state == ACCEL_PLUGIN_LOADED ? PAINT_GOOD : PAINT_BAD), state_name(info->state),
          paint(PAINT_PLAIN), clean_text(info->path, path, sizeof(path)));
    print("%*s", INDENT, "");
    if (info->state == ACCEL_PLUGIN_LOADED) {
        print("%u device%s, driver ABI %u.%u, licence %s%s\n", info->device_count, info->device_count == 1 ? "" : "s",
              info->abi_major, info->abi_minor, info->licence[0] == '\0' ? "not stated" : info->licence,
              info->from_cache ? ", probed earlier" : "");
        print_certificates(info);
        print_options(info);
        return;
    }
    snprintf(line, sizeof(line), info->code == ACCEL_OK ? "%s" : "%s (%s)", info->text, accel_error_name(info->code));
    print_wrapped(INDENT, INDENT, line);
    if (info->remedy[0] != '\0')
        print_wrapped((uint32_t)print("%*sremedy: ", INDENT, ""), INDENT + 8, info->remedy);
    if (info->detail[0] != '\0')
        print_wrapped((uint32_t)print("%*sits output: ", INDENT, ""), INDENT + 9, info->detail);
    print_options(info);
}

static json_t *plugin_json(const struct accel_plugin_info *info)
{
    return json_pack(
        "{s:{s:s, s:s, s:s, s:s, s:s, s:s}, s:o, s:o, s:s, s:s, s:s, s:s, s:o, s:o, s:i, s:o, s:s, s:{s:i, "
        "s:i}, s:i, s:b, s:I, s:o, s:o}",
        "origin", "signal", "measured: the probe", "abi", "claimed: the file", "devices",
        "measured: the devices that the driver reported", "probe_nanoseconds",
        "measured: the probe, or as it was cached", "certificates", "file: the path of each", "options",
        "claimed: the driver", "path", json_text(info->path), "name", json_text(info->name), "version", info->version,
        "licence", info->licence, "state", state_name(info->state), "code", accel_error_name(info->code), "text",
        json_text(info->text), "remedy", json_text(info->remedy), "signal", (int)info->signal, "detail",
        json_text(info->detail), "build_id", info->build_id, "abi", "major", (int)info->abi_major, "minor",
        (int)info->abi_minor, "devices", (int)info->device_count, "from_cache", info->from_cache != 0,
        "probe_nanoseconds", (json_int_t)info->probe_nanoseconds, "certificates", certificates_of(info), "options",
        options_json(info));
}

static int run(int count, char **arguments, const struct command *command)
{
    struct plugins_options chosen = {{0}};
    struct accel_context *context;
    json_t *list;
    int code = parse_options(command, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    context = open_context(&chosen.common, &code);
    if (context == NULL)
        return code;
    warn_variables(context);
    code = EXIT_DONE;
    list = json_array();
    if (!chosen.common.json)
        print_recording(context);
    for (uint32_t i = 0; i < accel_plugin_count(context); i++) {
        if (chosen.common.json)
            json_add(list, plugin_json(accel_plugin_get(context, i)));
        else
            print_plugin(accel_plugin_get(context, i));
    }
    if (chosen.common.json)
        code = print_json(json_pack("{s:O}", "plugins", list), "accelctl/plugins/1");
    else if (accel_plugin_count(context) == 0)
        print_wrapped(
            0, 0,
            "no plugins: no folder of drivers holds a file; install a driver, or name a folder with --drivers or "
            "ACCEL_DRIVER_PATH");
    json_decref(list);
    close_context(context);
    return code;
}

const struct command command_plugins = {
    .name = "plugins",
    .summary = "list the driver plugins: loaded, or refused with the reason",
    .arguments = "",
    .detail =
        "Every file in the folders of drivers is a row. A driver is checked as a file, probed in a child process, and "
        "then loaded; a driver that fails a step is refused with the reason and does not affect the others.\n"
        "A certificate states how many tests of accel-conform this build of the driver has passed, and on which "
        "device. Tests of features that the driver does not offer count as not claimed; tests that the device cannot "
        "run count as skipped. accel-conform FILE.so writes a certificate.\n"
        "Options of a driver are settings: they are set as all others, by --set, a profile or a variable.",
    .example = "accelctl plugins --drivers ./build/.libs --no-cache\ntry a driver that was just built",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .run = run,
};
