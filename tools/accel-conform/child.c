/* SPDX-License-Identifier: Apache-2.0 */
/* A test inside of its child: what it says goes to descriptor 3, one line each, a letter first. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/base/utf8.h"
#include "core/device/context.h"
#include "core/plugin/gate.h"
#include "core/plugin/load.h"
#include "tools/accel-conform/conform.h"

#define ANSWER 3   /* descriptor */
#define LINE 1000u /* longest line */

static void say(char letter, const char *format, va_list values) ACCEL_PRINTF(2, 0);
static void say(char letter, const char *format, va_list values)
{
    char line[LINE] = {letter};
    size_t length, done = 0;

    vsnprintf(line + 1, sizeof(line) - 2, format, values);
    for (char *at = line; *at != '\0'; at++)
        *at = *at == '\n' ? ' ' : *at;
    /* What a driver says may hold anything. */
    accel_utf8_one_line(line + 1);
    length = strlen(line);
    line[length++] = '\n';
    while (done < length) {
        ssize_t wrote = write(ANSWER, line + done, length - done);

        if (wrote <= 0)
            return;
        done += (size_t)wrote;
    }
}

bool conform_is_early(const struct conform *conform)
{
    return conform->begun < conform->from;
}

void conform_case(struct conform *conform, const char *format, ...)
{
    va_list values;

    if (conform->cases != 0 && conform->begun == conform->cases + (conform->from == 0 ? 0 : conform->from - 1))
        conform_end(conform);
    conform->begun++;
    if (conform_is_early(conform))
        return;
    va_start(values, format);
    say('c', format, values);
    va_end(values);
}

void conform_fail(struct conform *conform, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    say('f', format, values);
    va_end(values);
    if (++conform->failures == CONFORM_FAILURES)
        conform_end(conform);
}

static void say_text(char letter, const char *format, ...) ACCEL_PRINTF(2, 3);
static void say_text(char letter, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    say(letter, format, values);
    va_end(values);
}

void conform_stage(struct conform *conform, const char *slot)
{
    (void)conform;
    say_text('g', "%s", slot);
}

void conform_unclaimed(struct conform *conform, const char *reason)
{
    (void)conform;
    say_text('n', "%.200s", reason);
}

void conform_skip(struct conform *conform, const char *reason)
{
    (void)conform;
    say_text('s', "%.250s", reason);
}

void conform_fact(struct conform *conform, const char *key, const char *value)
{
    (void)conform;
    say_text('i', "%s=%.800s", key, value);
}

bool conform_ok(struct conform *conform, int32_t code, const char *what)
{
    if (code != ACCEL_OK)
        conform_fail(conform, "%s: %s: %s", what, accel_error_name(code), conform->error.text);
    accel_error_clear(&conform->error);
    return code == ACCEL_OK;
}

_Noreturn void conform_end(struct conform *conform)
{
    (void)conform;
    fflush(stdout); /* what a driver wrote there is to be seen */
    say_text('e', "%s", "");
    _exit(0);
}

_Noreturn void conform_leave(struct conform *conform)
{
    (void)conform;
    say_text('e', "%s", "");
    exit(0);
}

/* ---- what a test stands on ---- */

/* The driver alone, not those that are installed beside it. */
static bool load(struct conform *conform)
{
    struct accel_context_options options = {.size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS};
    accel_driver_query_function query = NULL;

    if (!conform_ok(conform, accel_context_create(&options, &conform->context, &conform->error), "make a context") ||
        !conform_ok(conform, accel_context_discover(conform->context, &conform->error), "look at the machine"))
        return false;
    conform_stage(conform, "load");
    if (!conform_ok(conform, accel_load_open(conform->path, &query, &conform->error), "load the file"))
        return false;
    conform_stage(conform, "query");
    return conform_ok(conform,
                      accel_load_query(conform->path, query, NULL, &conform->arena, &conform->driver, &conform->error),
                      "query");
}

static bool open_device(struct conform *conform)
{
    struct accel_given given[CONFORM_SETTINGS];
    char name[256], keys[CONFORM_SETTINGS][256];
    int32_t code;

    conform_stage(conform, "attach or enumerate");
    code = accel_context_attach_driver(conform->context, conform->driver, &conform->error);
    if (!conform_ok(conform, code, "attach and enumerate"))
        return false;
    snprintf(name, sizeof(name), "%s:%s", conform->driver->name, conform->id);
    for (uint32_t i = 0; i < conform->option_count; i++) {
        const char *option = conform->options[i];
        const size_t length = strcspn(option, "=");

        snprintf(keys[i], sizeof(keys[i]), "%s.%.*s", conform->driver->name, (int)length, option);
        given[i] = (struct accel_given){keys[i], option + length + 1, "command line --set"};
    }
    conform_stage(conform, "open");
    code = accel_device_open(conform->context, name, given, conform->option_count, &conform->device, &conform->error);
    return conform_ok(conform, code, "open");
}

void conform_begin(struct conform *conform, enum conform_needs needs)
{
    if ((needs >= CONFORM_DRIVER && !load(conform)) || (needs >= CONFORM_DEVICE && !open_device(conform)))
        conform_end(conform);
}

const struct accel_plugin_note *conform_note(struct conform *conform)
{
    struct accel_elf_source source = {.name = conform->path, .fd = open(conform->path, O_RDONLY | O_CLOEXEC)};
    struct accel_gate gate = {NULL, ""};
    struct stat file;

    if (source.fd < 0)
        return NULL;
    if (fstat(source.fd, &file) == 0) {
        source.bytes = (uint64_t)file.st_size;
        accel_gate_check(&source, &conform->arena, &gate, NULL);
    }
    close(source.fd);
    return gate.note;
}

/* ---- numbers ---- */

void conform_seed(struct conform *conform, uint64_t seed, const char *name)
{
    conform->random.state = accel_hash64(name, strlen(name), seed);
}

uint32_t conform_below(struct conform *conform, uint32_t limit)
{
    conform->random.state = conform->random.state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((conform->random.state >> 33) % limit);
}

float conform_float(struct conform *conform)
{
    /* The factor gives every mantissa bits to its end: no ties, which may be rounded either way. */
    return ((float)conform_below(conform, 1u << 23) / (float)(1u << 22) - 1.0f) * 0.99993712f;
}

void *conform_memory(struct conform *conform, uint64_t count, uint64_t bytes)
{
    void *memory = calloc(count + 1, bytes);

    if (memory == NULL) {
        conform_fail(conform, "no memory for %llu elements of the kit's own", (unsigned long long)count);
        conform_end(conform);
    }
    return memory;
}

float *conform_floats(struct conform *conform, uint64_t count)
{
    float *values = conform_memory(conform, count, sizeof(*values));

    for (uint64_t i = 0; i < count; i++)
        values[i] = conform_float(conform);
    return values;
}
