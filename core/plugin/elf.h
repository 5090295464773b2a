/* SPDX-License-Identifier: Apache-2.0 */
/** @file Reads the parts of an ELF64 file that the dynamic loader uses: program headers, dynamic section, notes,
 * exported symbols. Section headers are not used, because the loader ignores them too. Every offset, size and count of
 * the file is checked before it is used, and no table larger than ACCEL_ELF_TABLE bytes is read. Nothing is mapped, so
 * that a file that shrinks meanwhile is an error and not a signal. */
#ifndef ACCEL_CORE_PLUGIN_ELF_H
#define ACCEL_CORE_PLUGIN_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <accel/error.h>

/** Maximum size in bytes of a table (program headers, dynamic section, symbols, strings, one note). */
#define ACCEL_ELF_TABLE (64u << 20)

/** Source of the bytes: an open file, or memory (tests and fuzzing) if `memory` is not NULL. */
struct accel_elf_source {
    const char *name; /**< for error texts */
    const uint8_t *memory;
    uint64_t bytes; /**< size of the whole */
    int fd;
};

/** A parsed file. Freed with accel_elf_close. */
struct accel_elf {
    struct accel_elf_source source;
    Elf64_Ehdr header;
    Elf64_Phdr *segments; /**< header.e_phnum of them */
    Elf64_Dyn *dynamic;   /**< without the DT_NULL entry */
    size_t dynamic_count;
    char *strings; /**< DT_STRTAB; the last byte is 0 */
    size_t string_bytes;
    Elf64_Sym *symbols; /**< DT_SYMTAB, up to the last symbol of the hash table */
    size_t symbol_count;
};

/** Reads headers and tables. The struct may be closed after a failure too. ACCEL_E_CORRUPT names offset and value. */
int32_t accel_elf_open(const struct accel_elf_source *source, struct accel_elf *out_elf, struct accel_error *error);

/** Frees memory of accel_elf_open. A zeroed struct is fine. Does not close the file. */
void accel_elf_close(struct accel_elf *elf);

/** Returns the value of the first dynamic entry with this tag. */
bool accel_elf_dynamic(const struct accel_elf *elf, int64_t tag, uint64_t *out_value);

/** Returns the string at `offset` of the string table, or NULL past its end. */
const char *accel_elf_string(const struct accel_elf *elf, uint64_t offset);

/** Finds the notes of `owner` and `type`. *out_count is their number; *out_text the description of the first, with
 * a zero byte after its *out_bytes, freed with free(), or NULL if there is none. */
int32_t accel_elf_note(const struct accel_elf *elf, const char *owner, uint32_t type, uint32_t *out_count,
                       char **out_text, size_t *out_bytes, struct accel_error *error);

#endif
