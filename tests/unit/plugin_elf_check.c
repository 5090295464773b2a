/* SPDX-License-Identifier: Apache-2.0 */
/* The ELF check: a good driver in memory, with one thing changed at a time. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/plugin/elf_check.h"

/* A copy of the good driver, and places in it. */
struct image {
    uint8_t *bytes;
    size_t length;
    Elf64_Ehdr *header;
    Elf64_Phdr *segments;
    Elf64_Dyn *dynamic;
    Elf64_Sym *symbols;
    char *strings;
};

static char *good;
static size_t good_bytes;

static int read_good(void **state)
{
    char path[1024];
    (void)state;
    snprintf(path, sizeof(path), "%s/tests/mock/.libs/good.so", getenv("ACCEL_TEST_BUILDDIR"));
    return accel_file_read(path, 64u << 20, &good, &good_bytes, NULL);
}

static int free_good(void **state)
{
    (void)state;
    free(good);
    return 0;
}

static uint8_t *at_address(const struct image *image, uint64_t address)
{
    for (size_t i = 0; i < image->header->e_phnum; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type == PT_LOAD && address - segment->p_vaddr < segment->p_filesz)
            return image->bytes + segment->p_offset + (address - segment->p_vaddr);
    }
    fail_msg("address %llx", (unsigned long long)address);
    return NULL;
}

static Elf64_Phdr *segment_of(const struct image *image, uint32_t type)
{
    for (size_t i = 0; i < image->header->e_phnum; i++)
        if (image->segments[i].p_type == type)
            return &image->segments[i];
    fail_msg("segment %u", type);
    return NULL;
}

static Elf64_Dyn *dynamic_of(const struct image *image, int64_t tag)
{
    for (Elf64_Dyn *entry = image->dynamic; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == tag)
            return entry;
    fail_msg("dynamic entry %lld", (long long)tag);
    return NULL;
}

static struct image copy_good(void)
{
    struct image image = {.bytes = malloc(good_bytes), .length = good_bytes};
    memcpy(image.bytes, good, good_bytes);
    image.header = (Elf64_Ehdr *)image.bytes;
    image.segments = (Elf64_Phdr *)(image.bytes + image.header->e_phoff);
    image.dynamic = (Elf64_Dyn *)(image.bytes + segment_of(&image, PT_DYNAMIC)->p_offset);
    image.symbols = (Elf64_Sym *)at_address(&image, dynamic_of(&image, DT_SYMTAB)->d_un.d_ptr);
    image.strings = (char *)at_address(&image, dynamic_of(&image, DT_STRTAB)->d_un.d_ptr);
    return image;
}

static int32_t check(const void *bytes, size_t length, struct accel_error *error)
{
    struct accel_elf_source source = {"fuzzed.so", bytes, length, -1};
    struct accel_arena arena = {0};
    struct accel_elf_facts facts;
    int32_t code = accel_elf_check(&source, &arena, &facts, error);
    assert_non_null(facts.build_id);
    if (code == ACCEL_OK)
        assert_string_equal(facts.note->name, "good");
    else
        assert_true(code < 0 && error->text[0] != '\0');
    accel_arena_free(&arena);
    return code;
}

/* Checks the image for the verdict and frees it. */
static void expect(struct image *image, int32_t code, const char *text)
{
    struct accel_error error = {0};
    int32_t got = check(image->bytes, image->length, &error);
    if (got != code || strstr(error.text, text) == NULL)
        print_message("%d %s\n", got, error.text);
    assert_int_equal(got, code);
    assert_non_null(strstr(error.text, text));
    free(image->bytes);
}

static Elf64_Sym *entry_of(const struct image *image)
{
    for (Elf64_Sym *symbol = image->symbols + 1;; symbol++)
        if (strcmp(image->strings + symbol->st_name, ACCEL_DRIVER_SYMBOL) == 0)
            return symbol;
}

static void a_good_file_passes(void **state)
{
    struct image image = copy_good();
    (void)state;
    expect(&image, ACCEL_OK, "");
}

static void another_kind_of_file_is_refused(void **state)
{
    struct image image = copy_good();
    (void)state;
    image.header->e_machine ^= 0x40;
    expect(&image, ACCEL_E_UNSUPPORTED, "made for the machine");
    image = copy_good();
    image.header->e_ident[EI_OSABI] = ELFOSABI_FREEBSD;
    expect(&image, ACCEL_E_UNSUPPORTED, "operating system 9");
    image = copy_good();
    image.header->e_ident[EI_CLASS] = ELFCLASS32;
    expect(&image, ACCEL_E_UNSUPPORTED, "not a 64-bit");
    image = copy_good();
    image.header->e_type = ET_EXEC;
    expect(&image, ACCEL_E_CORRUPT, "not a shared object");
    image = copy_good();
    memcpy(image.bytes, "#!/bin", 6);
    expect(&image, ACCEL_E_CORRUPT, "not an ELF file");
    image = copy_good();
    image.length = 63;
    expect(&image, ACCEL_E_CORRUPT, "shorter than an ELF header");
}

static void flags_of_the_linker_are_demanded(void **state)
{
    struct image image = copy_good();
    (void)state;
    dynamic_of(&image, DT_FLAGS)->d_un.d_val &= ~(uint64_t)DF_BIND_NOW;
    dynamic_of(&image, DT_FLAGS_1)->d_un.d_val &= ~(uint64_t)DF_1_NOW;
    expect(&image, ACCEL_E_INVALID, "lazy binding");
    image = copy_good();
    dynamic_of(&image, DT_FLAGS_1)->d_un.d_val &= ~(uint64_t)DF_1_NODELETE;
    expect(&image, ACCEL_E_INVALID, "NODELETE is missing");
    image = copy_good();
    dynamic_of(&image, DT_FLAGS)->d_un.d_val |= DF_TEXTREL;
    expect(&image, ACCEL_E_INVALID, "text relocations");
    image = copy_good();
    segment_of(&image, PT_GNU_STACK)->p_flags |= PF_X;
    expect(&image, ACCEL_E_INVALID, "executable stack");
    image = copy_good();
    segment_of(&image, PT_GNU_STACK)->p_type = PT_NULL;
    expect(&image, ACCEL_E_INVALID, "executable stack");
    image = copy_good();
    segment_of(&image, PT_LOAD)->p_flags |= PF_X | PF_W;
    expect(&image, ACCEL_E_INVALID, "writable and executable");
}

static void the_entry_is_the_only_symbol(void **state)
{
    struct image image = copy_good();
    (void)state;
    entry_of(&image)->st_info = ELF64_ST_INFO(STB_GNU_UNIQUE, STT_FUNC);
    expect(&image, ACCEL_E_INVALID, "is unique");
    image = copy_good();
    entry_of(&image)->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    expect(&image, ACCEL_E_INVALID, "it exports the symbol accel_driver_query in addition to");
    image = copy_good();
    entry_of(&image)->st_other = STV_HIDDEN;
    expect(&image, ACCEL_E_INVALID, "does not export accel_driver_query");
    image = copy_good();
    entry_of(&image)->st_shndx = SHN_UNDEF;
    expect(&image, ACCEL_E_INVALID, "needs the symbol accel_driver_query of libaccel");
}

static void libraries_are_looked_at(void **state)
{
    struct image image = copy_good();
    (void)state;
    /* Any string of the table will do, since the libraries are judged before the symbols. */
    strcpy(image.strings + 1, "libaccel.so.0");
    *dynamic_of(&image, DT_SONAME) = (Elf64_Dyn){DT_NEEDED, {1}};
    expect(&image, ACCEL_E_INVALID, "it links libaccel");
    image = copy_good();
    dynamic_of(&image, DT_SONAME)->d_tag = DT_RUNPATH;
    expect(&image, ACCEL_E_INVALID, "relative entry");
    image = copy_good();
    strcpy(image.strings + 1, "$ORIGIN/x::");
    *dynamic_of(&image, DT_SONAME) = (Elf64_Dyn){DT_RUNPATH, {1}};
    expect(&image, ACCEL_E_INVALID, "relative entry");
    image = copy_good();
    dynamic_of(&image, DT_SONAME)->d_tag = DT_AUDIT;
    expect(&image, ACCEL_E_INVALID, "auditor");
    image = copy_good();
    *dynamic_of(&image, DT_SONAME) = (Elf64_Dyn){DT_NEEDED, {1u << 30}};
    expect(&image, ACCEL_E_CORRUPT, "names a string past the end");
}

static Elf64_Nhdr *note_of(const struct image *image)
{
    for (size_t i = 0; i < image->header->e_phnum; i++) {
        uint64_t place = image->segments[i].p_offset;
        uint64_t end = place + image->segments[i].p_filesz;
        while (image->segments[i].p_type == PT_NOTE && place + sizeof(Elf64_Nhdr) <= end) {
            Elf64_Nhdr *note = (Elf64_Nhdr *)(image->bytes + place);
            if (memcmp(note + 1, "accel", 6) == 0)
                return note;
            place += sizeof(*note) + ((note->n_namesz + 3u) & ~3u) + ((note->n_descsz + 3u) & ~3u);
        }
    }
    fail_msg("no note");
    return NULL;
}

static void one_note_is_demanded(void **state)
{
    struct image image = copy_good();
    Elf64_Phdr *spare;
    (void)state;
    note_of(&image)->n_type = 2;
    expect(&image, ACCEL_E_INVALID, "no .note.accel");
    image = copy_good();
    spare = segment_of(&image, PT_GNU_EH_FRAME);
    for (size_t i = 0; i < image.header->e_phnum; i++) {
        const Elf64_Phdr *segment = &image.segments[i];
        const uint8_t *note = (const uint8_t *)note_of(&image);
        if (segment->p_type == PT_NOTE && note >= image.bytes + segment->p_offset &&
            note < image.bytes + segment->p_offset + segment->p_filesz)
            *spare = *segment;
    }
    expect(&image, ACCEL_E_CORRUPT, "2 notes instead of one");
    image = copy_good();
    note_of(&image)->n_descsz = 0xfffffff0u;
    expect(&image, ACCEL_E_CORRUPT, "a note reaches past its segment");
    image = copy_good();
    memcpy((char *)(note_of(&image) + 1) + 8, "ABI", 3);
    expect(&image, ACCEL_E_CORRUPT, "the key abi_major is missing");
}

static void tables_stay_within_the_file(void **state)
{
    struct image image = copy_good();
    (void)state;
    image.header->e_phoff = UINT64_MAX - 8;
    expect(&image, ACCEL_E_CORRUPT, "program headers");
    image = copy_good();
    image.header->e_phnum = PN_XNUM;
    expect(&image, ACCEL_E_CORRUPT, "wrong size or number");
    image = copy_good();
    segment_of(&image, PT_DYNAMIC)->p_vaddr = 1ull << 50;
    expect(&image, ACCEL_E_CORRUPT, "dynamic section");
    image = copy_good();
    segment_of(&image, PT_DYNAMIC)->p_type = PT_NULL;
    expect(&image, ACCEL_E_CORRUPT, "no dynamic section");
    image = copy_good();
    dynamic_of(&image, DT_STRSZ)->d_un.d_val = 1ull << 40;
    expect(&image, ACCEL_E_CORRUPT, "string table");
    image = copy_good();
    dynamic_of(&image, DT_SYMTAB)->d_un.d_ptr = 1ull << 40;
    expect(&image, ACCEL_E_CORRUPT, "symbol table");
    image = copy_good();
    dynamic_of(&image, DT_GNU_HASH)->d_un.d_ptr = 1ull << 40;
    expect(&image, ACCEL_E_CORRUPT, "GNU hash table");
    image = copy_good();
    ((uint32_t *)at_address(&image, dynamic_of(&image, DT_GNU_HASH)->d_un.d_ptr))[0] = UINT32_MAX;
    expect(&image, ACCEL_E_CORRUPT, "GNU hash buckets");
}

/* Whatever is cut off or overwritten, the answer is a verdict. Sanitizers see more than this test does. */
static void damage_of_any_kind_is_a_verdict(void **state)
{
    size_t step = good_bytes / 4096 + 1;
    (void)state;
    for (size_t length = 0; length < good_bytes; length += step) {
        struct accel_error error = {0};
        uint8_t *copy = malloc(length + 1);
        memcpy(copy, good, length);
        check(copy, length, &error);
        free(copy);
    }
    for (size_t i = 0; i < 2048 && i < good_bytes; i++) {
        struct image image = copy_good();
        for (unsigned value = 0; value < 256; value += 51) {
            struct accel_error error = {0};
            struct accel_arena arena = {0};
            struct accel_elf_source source = {"fuzzed.so", image.bytes, image.length, -1};
            struct accel_elf_facts facts;
            image.bytes[i] = (uint8_t)value;
            accel_elf_check(&source, &arena, &facts, &error);
            accel_arena_free(&arena);
        }
        free(image.bytes);
    }
}

/* ---- the text of a note ---- */

#define HEAD "abi_major=0\nabi_minor=2\nabi_lowest=2\nname=a\nversion=1\n"

struct note_case {
    const char *text, *fault; /* fault NULL: it is good */
};

static const struct note_case note_cases[] = {
    {HEAD, NULL},
    {HEAD "future=anything goes\n", NULL},
    {HEAD "depends=/dev/kfd $HSA_PATH  /dev/dri\nisolate=compile\n", NULL},
    {HEAD "licence=\n", NULL},
    {"", "the key abi_major is missing"},
    {"abi_major=0\nabi_minor=2\nabi_lowest=2\nname=a\n", "the key version is missing"},
    {HEAD "version=2\n", "line 6 repeats the key version"},
    {HEAD "isa=x86-64", "line 6 does not end in a newline"},
    {HEAD "=x\n", "line 6 is not key=value"},
    {HEAD "\n", "line 6 is not key=value"},
    {HEAD "isa=a\tb\n", "line 6 has a control character"},
    {HEAD "isa=\xc0\x80\n", "no UTF-8 at byte"},
    {HEAD "isolate=maybe\n", "isolate \"maybe\" is none of"},
    {HEAD "depends=dev/kfd\n", "is no /path and no $VARIABLE"},
    {HEAD "depends=$\n", "is no /path and no $VARIABLE"},
    {"abi_major=x\n", "line 1: abi_major is not a number below 1000000"},
    {"abi_major=\n", "line 1: abi_major is not a number below 1000000"},
    {"abi_major=1234567\n", "line 1: abi_major is not a number below 1000000"},
    {"abi_major=0\nabi_minor=2\nabi_lowest=3\nname=a\nversion=1\n", "abi_lowest 3 is above abi_minor 2"},
    {"abi_major=0\nabi_minor=2\nabi_lowest=2\nname=A b\nversion=1\n", "name \"A b\" is not a lower-case word"},
    {"abi_major=0\nabi_minor=2\nabi_lowest=2\nname=\nversion=1\n", "name \"\" is not a lower-case word"},
};

static void notes_are_strict(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(note_cases) / sizeof(note_cases[0]); i++) {
        const struct note_case *c = &note_cases[i];
        const struct accel_plugin_note *note = NULL;
        struct accel_arena arena = {0};
        struct accel_error error = {0};
        int32_t code = accel_note_parse("x.so", c->text, strlen(c->text), &arena, &note, &error);
        if (c->fault == NULL) {
            assert_int_equal(code, ACCEL_OK);
            assert_string_equal(note->name, "a");
        } else {
            if (strstr(error.text, c->fault) == NULL)
                print_message("%s: %s\n", c->fault, error.text);
            assert_int_equal(code, ACCEL_E_CORRUPT);
            assert_non_null(strstr(error.text, c->fault));
            assert_null(note);
        }
        accel_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_file_passes),
        cmocka_unit_test(another_kind_of_file_is_refused),
        cmocka_unit_test(flags_of_the_linker_are_demanded),
        cmocka_unit_test(the_entry_is_the_only_symbol),
        cmocka_unit_test(libraries_are_looked_at),
        cmocka_unit_test(one_note_is_demanded),
        cmocka_unit_test(tables_stay_within_the_file),
        cmocka_unit_test(damage_of_any_kind_is_a_verdict),
        cmocka_unit_test(notes_are_strict),
    };
    return cmocka_run_group_tests_name("plugin_elf_check", tests, read_good, free_good);
}
