/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void log_line(void *data, uint32_t level, const char *text)
{
    static const char *const names[] = {"", "error", "warn", "info", "debug"};

    (void)data;
    fprintf(stderr, "%s: %s\n", level < 5 ? names[level] : "log", text);
}

struct accel_context *open_context(const struct common *common, int *out_exit)
{
    struct accel_context_options options = {.size = sizeof options,
                                            .flags = common->no_cache ? ACCEL_CONTEXT_NO_CACHE : 0,
                                            .log = log_line,
                                            .log_level = common->verbose ? ACCEL_LOG_DEBUG : ACCEL_LOG_WARN,
                                            .driver_path = common->drivers,
                                            .profile_path = common->profiles};
    struct accel_context *context = NULL;
    struct accel_error error = {0};

    if (accel_context_create(&options, &context, &error) == ACCEL_OK &&
        accel_context_discover(context, &error) == ACCEL_OK)
        return context;
    *out_exit = say_error(&error);
    accel_context_free(context, NULL);
    return NULL;
}

void close_context(struct accel_context *context)
{
    struct accel_error error = {0};

    if (accel_context_free(context, &error) != ACCEL_OK)
        say_error(&error);
}

int given_settings(const struct common *common, struct accel_given given[LIST_MOST], char **out_texts)
{
    size_t bytes = 1;
    char *at;

    *out_texts = NULL;
    for (uint32_t i = 0; i < common->sets.count; i++)
        bytes += 2 * strlen(common->sets.items[i]) + sizeof "command line --set ";
    at = malloc(bytes);
    if (at == NULL) {
        fprintf(stderr, "accelctl: out of memory\n");
        return EXIT_FAILED;
    }
    *out_texts = at;
    for (uint32_t i = 0; i < common->sets.count; i++) {
        const char *item = common->sets.items[i];
        const char *equals = strchr(item, '=');

        if (equals == NULL || equals == item) {
            fprintf(stderr, "accelctl: --set wants KEY=VALUE, not '%s'\n", item);
            return EXIT_USAGE;
        }
        given[i].key = at;
        at += sprintf(at, "%.*s", (int)(equals - item), item) + 1;
        given[i].value = equals + 1;
        given[i].origin = at;
        at += sprintf(at, "command line --set %s", item) + 1;
    }
    return -1;
}

int say_error(const struct accel_error *error)
{
    fprintf(stderr, "accelctl: %s (%s)\n", error->text, accel_error_name(error->code));
    if (error->remedy[0] != '\0')
        fprintf(stderr, "remedy: %s\n", error->remedy);
    switch (error->code) {
    case ACCEL_E_CORRUPT:
    case ACCEL_E_UNSUPPORTED:
    case ACCEL_E_IO:
    case ACCEL_E_NOT_FOUND:
    case ACCEL_E_INVALID:
        return EXIT_INPUT;
    case ACCEL_E_FALLBACK:
    case ACCEL_E_REFUSED:
    case ACCEL_E_DENIED:
        return EXIT_REFUSED;
    case ACCEL_E_MEMORY:
        return EXIT_SHORT;
    case ACCEL_E_CANCELLED:
        return EXIT_INTERRUPTED;
    default:
        return EXIT_FAILED;
    }
}

const char *bytes_text(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    uint32_t unit = 0;

    while (value >= 1024.0 && unit < 4) {
        value /= 1024.0;
        unit++;
    }
    if (unit == 0)
        snprintf(text, 32, "%llu B", (unsigned long long)bytes);
    else
        snprintf(text, 32, "%.*f %s", value < 10.0 ? 2 : 1, value, units[unit]);
    return text;
}

uint32_t wants_colour(void)
{
    const char *terminal = getenv("TERM");

    return isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

int print_json(json_t *document, const char *schema)
{
    json_t *whole = json_object();
    int code;

    json_object_set_new(whole, "schema", json_string(schema));
    json_object_update(whole, document);
    json_decref(document);
    code = json_dumpf(whole, stdout, JSON_INDENT(2));
    json_decref(whole);
    if (code != 0 || putchar('\n') == EOF || fflush(stdout) != 0) {
        fprintf(stderr, "accelctl: cannot write JSON to the standard output\n");
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}
