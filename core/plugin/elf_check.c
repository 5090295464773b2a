/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/plugin/elf_check.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/text.h"

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#elif defined(__riscv)
#define OWN_MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define OWN_MACHINE EM_PPC64
#elif defined(__loongarch64)
#define OWN_MACHINE 258
#else
#error "the ELF number of this machine is not known here"
#endif

#define BUILD_ID_BYTES 64u

static const char relink[] =
    "link it with -Wl,-z,now -Wl,-z,nodelete -Wl,-z,noexecstack and export " ACCEL_DRIVER_SYMBOL " alone";

/* Reports a broken rule of linking. */
static int32_t broken(const struct accel_elf *elf, struct accel_error *error, const char *what)
{
    accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_INVALID, "%s: not linked as a driver: %s", elf->source.name, what);
    return accel_error_advise(error, ACCEL_E_INVALID, "%s", relink);
}

static int32_t check_machine(const struct accel_elf *elf, struct accel_error *error)
{
    uint8_t system = elf->header.e_ident[EI_OSABI];
    if (elf->header.e_machine != OWN_MACHINE)
        return accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_UNSUPPORTED,
                              "%s: made for the machine %u of ELF, this one is %u", elf->source.name,
                              elf->header.e_machine, OWN_MACHINE);
    if (system != ELFOSABI_SYSV && system != ELFOSABI_GNU)
        return accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_UNSUPPORTED,
                              "%s: made for the operating system %u of ELF", elf->source.name, system);
    return ACCEL_OK;
}

static int32_t read_note(const struct accel_elf *elf, struct accel_arena *arena, struct accel_elf_facts *facts,
                         struct accel_error *error)
{
    const char *file = elf->source.name;
    const struct accel_plugin_note *note;
    uint32_t count = 0;
    size_t bytes = 0;
    char *text = NULL;
    int32_t code = accel_elf_note(elf, "accel", 1, &count, &text, &bytes, error);
    if (code == ACCEL_OK && count == 0) {
        code = accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_INVALID, "%s: no .note.accel: not a driver of accel",
                              file);
        accel_error_remedy(error, "if it is meant to be one, declare it with ACCEL_DRIVER of accel/driver");
    } else if (code == ACCEL_OK && count > 1) {
        code = accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_CORRUPT, "%s: malformed note: %u notes instead of one",
                              file, count);
    } else if (code == ACCEL_OK) {
        code = accel_note_parse(file, text, bytes, arena, &facts->note, error);
    }
    free(text);
    if (code != ACCEL_OK)
        return code;
    note = facts->note;
    /* Prints both versions of both sides, so that the reader sees which one to replace. */
    if (note->abi_major != ACCEL_ABI_MAJOR || note->abi_lowest > ACCEL_ABI_MINOR ||
        note->abi_minor < ACCEL_PLUGIN_LOWEST_MINOR) {
        accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_ABI,
                       "%s: made for the driver ABI %u.%u (lowest minor %u); this library has %u.%u (lowest minor %u)",
                       file, note->abi_major, note->abi_minor, note->abi_lowest, ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR,
                       ACCEL_PLUGIN_LOWEST_MINOR);
        return accel_error_advise(error, ACCEL_E_ABI,
                                  "install a driver \"%s\" that was built for this version of accel", note->name);
    }
    return ACCEL_OK;
}

static int32_t read_build_id(const struct accel_elf *elf, struct accel_arena *arena, struct accel_elf_facts *facts,
                             struct accel_error *error)
{
    static const char hex_characters[] = "0123456789abcdef";
    char hex[2 * BUILD_ID_BYTES];
    uint32_t count = 0;
    size_t bytes = 0;
    char *text = NULL;
    int32_t code = accel_elf_note(elf, "GNU", NT_GNU_BUILD_ID, &count, &text, &bytes, error);
    if (code != ACCEL_OK)
        return code;
    if (bytes > BUILD_ID_BYTES)
        bytes = BUILD_ID_BYTES;
    for (size_t i = 0; i < bytes; i++) {
        hex[2 * i] = hex_characters[(uint8_t)text[i] >> 4];
        hex[2 * i + 1] = hex_characters[(uint8_t)text[i] & 15];
    }
    free(text);
    facts->build_id = accel_arena_strndup(arena, hex, 2 * bytes);
    if (facts->build_id == NULL) {
        facts->build_id = "";
        return accel_error_set(error, ACCEL_E_MEMORY, "%s: no memory for its build-id", elf->source.name);
    }
    return ACCEL_OK;
}

static int32_t check_segments(const struct accel_elf *elf, struct accel_error *error)
{
    const Elf64_Phdr *stack = NULL;
    for (size_t i = 0; i < elf->header.e_phnum; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type == PT_GNU_STACK)
            stack = segment;
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W) && (segment->p_flags & PF_X))
            return broken(elf, error, "a segment is writable and executable");
        if (segment->p_type == PT_INTERP)
            return broken(elf, error, "it is a program");
    }
    /* Without a PT_GNU_STACK header the loader makes the stack of the whole process executable. */
    if (stack == NULL || (stack->p_flags & PF_X))
        return broken(elf, error, "it requires an executable stack");
    return ACCEL_OK;
}

static int32_t check_flags(const struct accel_elf *elf, struct accel_error *error)
{
    uint64_t flags = 0;
    uint64_t flags_1 = 0;
    uint64_t value = 0;
    accel_elf_dynamic(elf, DT_FLAGS, &flags);
    accel_elf_dynamic(elf, DT_FLAGS_1, &flags_1);
    if ((flags & DF_BIND_NOW) == 0 && (flags_1 & DF_1_NOW) == 0 && !accel_elf_dynamic(elf, DT_BIND_NOW, &value))
        return broken(elf, error, "lazy binding, BIND_NOW is missing (-Wl,-z,now)");
    if ((flags_1 & DF_1_NODELETE) == 0)
        return broken(elf, error, "it may be unloaded, NODELETE is missing (-Wl,-z,nodelete)");
    if ((flags & DF_TEXTREL) || accel_elf_dynamic(elf, DT_TEXTREL, &value))
        return broken(elf, error, "it has text relocations (compile with -fPIC)");
    return ACCEL_OK;
}

/* Returns whether each entry of a search path is absolute or begins with $ORIGIN. */
static bool is_safe_search_path(const char *path)
{
    for (;;) {
        if (path[0] != '/' && !accel_has_prefix(path, "$ORIGIN") && !accel_has_prefix(path, "${ORIGIN}"))
            return false;
        path = strchr(path, ':');
        if (path == NULL)
            return true;
        path++;
    }
}

static int32_t check_libraries(const struct accel_elf *elf, struct accel_error *error)
{
    for (size_t i = 0; i < elf->dynamic_count; i++) {
        int64_t tag = elf->dynamic[i].d_tag;
        const char *text;
        if (tag != DT_NEEDED && tag != DT_RPATH && tag != DT_RUNPATH && tag != DT_AUDIT && tag != DT_DEPAUDIT)
            continue;
        text = accel_elf_string(elf, elf->dynamic[i].d_un.d_val);
        if (text == NULL)
            return accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_CORRUPT,
                                  "%s: malformed ELF: dynamic entry %zu names a string past the end", elf->source.name,
                                  i);
        if (tag == DT_NEEDED && (accel_has_prefix(text, "libaccel.so") || accel_has_prefix(text, "libaccel-")))
            return broken(elf, error, "it links libaccel");
        if ((tag == DT_RPATH || tag == DT_RUNPATH) && !is_safe_search_path(text))
            return broken(elf, error, "its library search path (RUNPATH) has a relative entry");
        if (tag == DT_AUDIT || tag == DT_DEPAUDIT)
            return broken(elf, error, "it names an auditor of the loader");
    }
    return ACCEL_OK;
}

static int32_t check_symbol(const struct accel_elf *elf, const Elf64_Sym *symbol, uint32_t *entries,
                            struct accel_error *error)
{
    const char *file = elf->source.name;
    const char *text = accel_elf_string(elf, symbol->st_name), *name = text ? text : "?";
    unsigned binding = ELF64_ST_BIND(symbol->st_info);
    unsigned visibility = ELF64_ST_VISIBILITY(symbol->st_other);
    if (binding == STB_LOCAL)
        return ACCEL_OK;
    if (symbol->st_shndx == SHN_UNDEF) {
        if (!accel_has_prefix(name, "accel_"))
            return ACCEL_OK;
        accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_INVALID,
                       "%s: not linked as a driver: it needs the symbol %.96s of libaccel", file, name);
    } else if (binding == STB_GNU_UNIQUE) {
        /* A GNU_UNIQUE symbol exists once per process, so that two unrelated drivers would share it. */
        accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_INVALID,
                       "%s: not linked as a driver: the symbol %.96s is unique (GNU_UNIQUE)", file, name);
        accel_error_remedy(error, "compile with -fno-gnu-unique, or hide the symbol");
    } else if (visibility == STV_HIDDEN || visibility == STV_INTERNAL) {
        return ACCEL_OK;
    } else if (strcmp(name, ACCEL_DRIVER_SYMBOL) == 0 && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC) {
        ++*entries;
        return ACCEL_OK;
    } else {
        accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_INVALID,
                       "%s: not linked as a driver: it exports the symbol %.96s in addition to %s", file, name,
                       ACCEL_DRIVER_SYMBOL);
    }
    return accel_error_advise(error, ACCEL_E_INVALID, "%s", relink);
}

static int32_t check_symbols(const struct accel_elf *elf, struct accel_error *error)
{
    uint32_t entries = 0;
    /* Entry 0 of a symbol table is reserved. */
    for (size_t i = 1; i < elf->symbol_count; i++) {
        int32_t code = check_symbol(elf, &elf->symbols[i], &entries, error);
        if (code != ACCEL_OK)
            return code;
    }
    return entries == 1 ? ACCEL_OK : broken(elf, error, "it does not export " ACCEL_DRIVER_SYMBOL);
}

int32_t accel_elf_check(const struct accel_elf_source *source, struct accel_arena *arena,
                        struct accel_elf_facts *out_facts, struct accel_error *error)
{
    static int32_t (*const rules[])(const struct accel_elf *, struct accel_error *) = {check_segments, check_flags,
                                                                                       check_libraries, check_symbols};
    struct accel_elf elf;
    int32_t code = accel_elf_open(source, &elf, error);
    out_facts->note = NULL;
    out_facts->build_id = "";
    if (code == ACCEL_OK)
        code = check_machine(&elf, error);
    if (code == ACCEL_OK)
        code = read_build_id(&elf, arena, out_facts, error);
    if (code == ACCEL_OK)
        code = read_note(&elf, arena, out_facts, error);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && code == ACCEL_OK; i++)
        code = rules[i](&elf, error);
    accel_elf_close(&elf);
    return code;
}
