/* SPDX-License-Identifier: Apache-2.0 */
/* A driver file as the ELF check reads it: ELF tables and the note. The corpus is the drivers of the tests. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/plugin/elf_check.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_corpus_folder = "tests/mock/.libs";
const char *const fuzz_corpus_suffix = ".so";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* An empty input may have no address, which would mean that there is a file to read from. */
    static const uint8_t nothing;
    struct accel_elf_source source = {"fuzz.so", data ? data : &nothing, size, -1};
    const struct accel_plugin_note *note = NULL;
    struct accel_arena arena = {0};
    struct accel_error error = {0};
    struct accel_elf_facts facts;
    char *text;
    int32_t code = accel_elf_check(&source, &arena, &facts, &error);
    if (facts.build_id == NULL || (code == ACCEL_OK && facts.note == NULL) || strchr(error.text, '\n') != NULL)
        abort();
    text = malloc(size + 1);
    if (text == NULL)
        abort();
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    code = accel_note_parse("fuzz.so", text, size, &arena, &note, &error);
    if ((code == ACCEL_OK) != (note != NULL))
        abort();
    free(text);
    accel_arena_free(&arena);
    return 0;
}
