/* SPDX-License-Identifier: Apache-2.0 */
/* The child's side of a test: results are lines on descriptor 3, each starting with a letter that gives its kind. */
#include "config.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sdk/conform/conform.h"
#include "sdk/conform/hash.h"
#include "sdk/conform/text.h"

#define ANSWER 3   /* descriptor */
#define LINE 1000u /* longest line */

static void write_line(char letter, const char *format, va_list values) ACCEL_PRINTF(2, 0);
static void write_line(char letter, const char *format, va_list values)
{
    char line[LINE] = {letter};
    size_t length, done = 0;

    vsnprintf(line + 1, sizeof(line) - 2, format, values);
    for (char *at = line; *at != '\0'; at++)
        *at = *at == '\n' ? ' ' : *at;
    /* A text of the driver may hold any bytes. */
    text_make_plain(line + 1);
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
    write_line('c', format, values);
    va_end(values);
}

void conform_fail(struct conform *conform, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    write_line('f', format, values);
    va_end(values);
    if (++conform->failures == CONFORM_FAILURES)
        conform_end(conform);
}

static void write_text(char letter, const char *format, ...) ACCEL_PRINTF(2, 3);
static void write_text(char letter, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    write_line(letter, format, values);
    va_end(values);
}

void conform_stage(struct conform *conform, const char *slot)
{
    (void)conform;
    write_text('g', "%s", slot);
}

void conform_unclaimed(struct conform *conform, const char *reason)
{
    (void)conform;
    write_text('n', "%.200s", reason);
}

void conform_skip(struct conform *conform, const char *reason)
{
    (void)conform;
    write_text('s', "%.250s", reason);
}

void conform_fact(struct conform *conform, const char *key, const char *value)
{
    (void)conform;
    write_text('i', "%s=%.800s", key, value);
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
    fflush(stdout); /* so that the parent sees the driver's output */
    write_text('e', "%s", "");
    _exit(0);
}

_Noreturn void conform_leave(struct conform *conform)
{
    (void)conform;
    write_text('e', "%s", "");
    exit(0);
}

/* ---- preconditions of a test ---- */

/* Loads the driver file and calls its entry point, as any host of the ABI does. */
static bool load(struct conform *conform)
{
    void *file, *entry;

    conform_stage(conform, "load");
    file = dlopen(conform->path, RTLD_NOW | RTLD_LOCAL);
    entry = file == NULL ? NULL : dlsym(file, ACCEL_DRIVER_SYMBOL);
    if (entry == NULL) {
        conform_fail(conform, "load the file: %s", dlerror());
        return false;
    }
    memcpy(&conform->query, &entry, sizeof(entry));
    conform_stage(conform, "query");
    return conform_ok(conform, conform->query(ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR, &conform->driver, &conform->error),
                      "query");
}

static bool list_hardware(struct conform *conform)
{
    struct accel_context_options options = {.size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS};

    return conform_ok(conform, accel_context_create(&options, &conform->context, &conform->error), "make a context") &&
           conform_ok(conform, accel_context_discover(conform->context, &conform->error), "look at the machine");
}

int32_t conform_attach(struct conform *conform, const struct accel_plugin_info **out_plugin)
{
    const struct accel_context_options options = {.size = sizeof(options),
                                                  .flags = ACCEL_CONTEXT_ONLY_PATH | ACCEL_CONTEXT_NO_PROBE |
                                                           ACCEL_CONTEXT_NO_CACHE,
                                                  .driver_path = conform->path};
    struct accel_context *context = NULL;
    int32_t code = accel_context_create(&options, &context, &conform->error);

    *out_plugin = NULL;
    if (code == ACCEL_OK)
        code = accel_context_discover(context, &conform->error);
    if (code != ACCEL_OK)
        return code;
    accel_context_free(conform->context, NULL);
    conform->context = context;
    *out_plugin = accel_plugin_get(context, 0);
    if (*out_plugin == NULL)
        return accel_error_set(&conform->error, ACCEL_E_NOT_FOUND, "libaccel finds no driver at %s", conform->path);
    if ((*out_plugin)->state != ACCEL_PLUGIN_LOADED)
        return accel_error_set(&conform->error, (*out_plugin)->code, "%s", (*out_plugin)->text);
    return ACCEL_OK;
}

static bool open_device(struct conform *conform)
{
    const struct accel_plugin_info *plugin;
    struct accel_named_value given[CONFORM_SETTINGS];
    char name[256], keys[CONFORM_SETTINGS][256];
    int32_t code;

    conform_stage(conform, "attach or enumerate");
    if (!conform_ok(conform, conform_attach(conform, &plugin), "attach and enumerate"))
        return false;
    snprintf(name, sizeof(name), "%s:%s", plugin->name, conform->id);
    for (uint32_t i = 0; i < accel_device_count(conform->context); i++)
        if (strcmp(accel_device_get(conform->context, i)->name, name) == 0)
            conform->facts = accel_device_get(conform->context, i)->facts;
    for (uint32_t i = 0; i < conform->option_count; i++) {
        const char *option = conform->options[i];
        const size_t length = strcspn(option, "=");

        snprintf(keys[i], sizeof(keys[i]), "%s.%.*s", plugin->name, (int)length, option);
        given[i] = (struct accel_named_value){keys[i], option + length + 1, "command line --set"};
    }
    conform_stage(conform, "open");
    code = accel_device_open(conform->context, name, given, conform->option_count, &conform->device, &conform->error);
    return conform_ok(conform, code, "open");
}

void conform_begin(struct conform *conform, enum conform_needs needs)
{
    if ((needs >= CONFORM_DRIVER && !load(conform)) || (needs == CONFORM_DRIVER && !list_hardware(conform)) ||
        (needs >= CONFORM_DEVICE && !open_device(conform)))
        conform_end(conform);
}

/* ---- the ELF note ---- */

/* A key to look up in the ELF note of the file that contains an address. */
struct lookup {
    uintptr_t address;
    const char *key;
    char *text;
    size_t bytes;
};

static void read_note(const struct lookup *lookup, const char *line, const char *end)
{
    const size_t length = strlen(lookup->key);

    for (const char *stop; line < end && (stop = memchr(line, '\n', (size_t)(end - line))) != NULL; line = stop + 1)
        if ((size_t)(stop - line) > length && memcmp(line, lookup->key, length) == 0 && line[length] == '=')
            snprintf(lookup->text, lookup->bytes, "%.*s", (int)((size_t)(stop - line) - length - 1), line + length + 1);
}

/* Reads a note segment, in which each note is a header, an owner and a text, padded to the alignment. */
static void read_notes(const struct lookup *lookup, const char *at, const char *end, size_t alignment)
{
    ElfW(Nhdr) head;

    while ((size_t)(end - at) > sizeof(head)) {
        const char *owner = at + sizeof(head), *text;

        memcpy(&head, at, sizeof(head));
        text = owner + (head.n_namesz + 3) / 4 * 4;
        if (head.n_type == 1 && head.n_namesz == sizeof("accel") && memcmp(owner, "accel", sizeof("accel")) == 0)
            read_note(lookup, text, text + head.n_descsz);
        at = text + (head.n_descsz + alignment - 1) / alignment * alignment;
        if (at > end)
            return;
    }
}

static bool is_within(const struct dl_phdr_info *file, uintptr_t address)
{
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &file->dlpi_phdr[i];

        if (segment->p_type == PT_LOAD && address - file->dlpi_addr - segment->p_vaddr < segment->p_memsz)
            return true;
    }
    return false;
}

static int look_up(struct dl_phdr_info *file, size_t bytes, void *data)
{
    const struct lookup *lookup = data;

    (void)bytes;
    if (!is_within(file, lookup->address))
        return 0;
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &file->dlpi_phdr[i];
        const char *begin = (const char *)file->dlpi_addr + segment->p_vaddr;

        if (segment->p_type == PT_NOTE)
            read_notes(lookup, begin, begin + segment->p_memsz, segment->p_align == 8 ? 8 : 4);
    }
    return 1;
}

void conform_note(const struct conform *conform, const char *key, char *out_text, size_t bytes)
{
    struct lookup lookup = {.key = key, .text = out_text, .bytes = bytes};

    out_text[0] = '\0';
    memcpy(&lookup.address, &conform->query, sizeof(lookup.address));
    dl_iterate_phdr(look_up, &lookup);
}

/* ---- numbers ---- */

void conform_seed(struct conform *conform, uint64_t seed, const char *name)
{
    conform->random.state = XXH3_64bits_withSeed(name, strlen(name), seed);
}

uint32_t conform_below(struct conform *conform, uint32_t limit)
{
    conform->random.state = conform->random.state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((conform->random.state >> 33) % limit);
}

float conform_float(struct conform *conform)
{
    /* The factor makes every mantissa use its lowest bits: there are no ties, which a driver may round either way. */
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
