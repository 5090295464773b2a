/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/plugin/elf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/checked.h"
#include "core/base/error.h"

static int32_t corrupt(const struct accel_elf *elf, struct accel_error *error, const char *what, uint64_t offset,
                       uint64_t value)
{
    return accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_CORRUPT, "%s: malformed ELF: %s (offset %llu, value %llu)",
                          elf->source.name, what, (unsigned long long)offset, (unsigned long long)value);
}

/* Copies a range of the file. */
static int32_t read_range(const struct accel_elf *elf, uint64_t offset, void *data, size_t bytes,
                          struct accel_error *error)
{
    size_t done = 0;
    if (!accel_within_u64(offset, bytes, elf->source.bytes))
        return corrupt(elf, error, "a table reaches past the end of the file", offset, bytes);
    if (elf->source.memory != NULL) {
        memcpy(data, elf->source.memory + offset, bytes);
        return ACCEL_OK;
    }
    while (done < bytes) {
        ssize_t got = pread(elf->source.fd, (char *)data + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return accel_error_set(error, ACCEL_E_IO, "%s: cannot read %zu bytes at offset %llu", elf->source.name,
                                   bytes, (unsigned long long)offset);
        done += (size_t)got;
    }
    return ACCEL_OK;
}

/* Copies `count` entries of `size` bytes to new memory, followed by one zero byte; NULL with the reason in *code. */
static void *read_table(const struct accel_elf *elf, const char *what, uint64_t offset, uint64_t count, size_t size,
                        int32_t *code, struct accel_error *error)
{
    uint64_t bytes = 0;
    char *table;
    if (!accel_mul_u64(count, size, &bytes) || bytes > ACCEL_ELF_TABLE ||
        !accel_within_u64(offset, bytes, elf->source.bytes)) {
        *code = corrupt(elf, error, what, offset, count);
        return NULL;
    }
    table = malloc((size_t)bytes + 1);
    if (table == NULL) {
        *code = accel_error_set(error, ACCEL_E_MEMORY, "%s: no memory for %llu bytes", elf->source.name,
                                (unsigned long long)bytes);
        return NULL;
    }
    *code = read_range(elf, offset, table, (size_t)bytes, error);
    if (*code != ACCEL_OK) {
        free(table);
        return NULL;
    }
    table[bytes] = '\0';
    return table;
}

/* Maps a virtual address to its file offset, and returns how many bytes of the file follow in that segment. */
static bool file_place(const struct accel_elf *elf, uint64_t address, uint64_t *out_offset, uint64_t *out_rest)
{
    for (size_t i = 0; i < elf->header.e_phnum; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        uint64_t into = address - segment->p_vaddr;
        if (segment->p_type != PT_LOAD || address < segment->p_vaddr || into >= segment->p_filesz)
            continue;
        if (!accel_within_u64(segment->p_offset, segment->p_filesz, elf->source.bytes))
            continue;
        *out_offset = segment->p_offset + into;
        *out_rest = segment->p_filesz - into;
        return true;
    }
    return false;
}

static void *read_at_address(const struct accel_elf *elf, const char *what, uint64_t address, uint64_t count,
                             size_t size, int32_t *code, struct accel_error *error)
{
    uint64_t offset = 0;
    uint64_t rest = 0;
    if (!file_place(elf, address, &offset, &rest) || count > rest / size) {
        *code = corrupt(elf, error, what, address, count);
        return NULL;
    }
    return read_table(elf, what, offset, count, size, code, error);
}

static int32_t read_header(struct accel_elf *elf, struct accel_error *error)
{
    Elf64_Ehdr *header = &elf->header;
    int32_t code;
    if (elf->source.bytes < sizeof(*header))
        return corrupt(elf, error, "shorter than an ELF header", 0, elf->source.bytes);
    code = read_range(elf, 0, header, sizeof(*header), error);
    if (code != ACCEL_OK)
        return code;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_CORRUPT, "%s: not an ELF file", elf->source.name);
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
        return accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_UNSUPPORTED, "%s: not a 64-bit little-endian ELF file",
                              elf->source.name);
    if (header->e_ident[EI_VERSION] != EV_CURRENT || header->e_version != EV_CURRENT)
        return corrupt(elf, error, "unknown version of ELF", EI_VERSION, header->e_version);
    if (header->e_type != ET_DYN)
        return corrupt(elf, error, "not a shared object", offsetof(Elf64_Ehdr, e_type), header->e_type);
    if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum == 0 || header->e_phnum == PN_XNUM)
        return corrupt(elf, error, "program headers of a wrong size or number", offsetof(Elf64_Ehdr, e_phentsize),
                       header->e_phnum);
    elf->segments =
        read_table(elf, "program headers", header->e_phoff, header->e_phnum, sizeof(Elf64_Phdr), &code, error);
    return code;
}

static int32_t read_dynamic(struct accel_elf *elf, struct accel_error *error)
{
    const Elf64_Phdr *found = NULL;
    size_t count;
    int32_t code = ACCEL_OK;
    for (size_t i = 0; i < elf->header.e_phnum; i++) {
        if (elf->segments[i].p_type != PT_DYNAMIC)
            continue;
        if (found != NULL)
            return corrupt(elf, error, "two dynamic sections", elf->segments[i].p_offset, i);
        found = &elf->segments[i];
    }
    if (found == NULL)
        return corrupt(elf, error, "no dynamic section", elf->header.e_phoff, elf->header.e_phnum);
    count = found->p_filesz / sizeof(Elf64_Dyn);
    /* Finds the section by its address, as the loader does. */
    elf->dynamic = read_at_address(elf, "dynamic section", found->p_vaddr, count, sizeof(Elf64_Dyn), &code, error);
    if (code != ACCEL_OK)
        return code;
    while (elf->dynamic_count < count && elf->dynamic[elf->dynamic_count].d_tag != DT_NULL)
        elf->dynamic_count++;
    if (elf->dynamic_count == count)
        return corrupt(elf, error, "dynamic section without an end", found->p_offset, count);
    return ACCEL_OK;
}

bool accel_elf_dynamic(const struct accel_elf *elf, int64_t tag, uint64_t *out_value)
{
    for (size_t i = 0; i < elf->dynamic_count; i++) {
        if (elf->dynamic[i].d_tag == tag) {
            *out_value = elf->dynamic[i].d_un.d_val;
            return true;
        }
    }
    return false;
}

/* Finds the end of the chain that begins with symbol `symbol`: the first word from there whose lowest bit is set. */
static int32_t end_of_chain(const struct accel_elf *elf, uint64_t chains, uint64_t symbol, uint64_t *out_symbol,
                            struct accel_error *error)
{
    uint32_t words[64];
    uint64_t offset = 0;
    uint64_t rest = 0;
    for (;;) {
        size_t count;
        int32_t code;
        if (!file_place(elf, chains + symbol * sizeof(*words), &offset, &rest) || rest < sizeof(*words))
            return corrupt(elf, error, "GNU hash chain without an end", chains, symbol);
        count = rest / sizeof(*words) < 64 ? (size_t)(rest / sizeof(*words)) : 64;
        code = read_range(elf, offset, words, count * sizeof(*words), error);
        if (code != ACCEL_OK)
            return code;
        for (size_t i = 0; i < count; i++, symbol++) {
            if (words[i] & 1u) {
                *out_symbol = symbol;
                return ACCEL_OK;
            }
        }
    }
}

/* Counts the entries of the symbol table by the last symbol of the last chain: the GNU hash table has no count. */
static int32_t count_by_gnu_hash(const struct accel_elf *elf, uint64_t address, uint64_t *out_count,
                                 struct accel_error *error)
{
    uint32_t *buckets = NULL;
    uint64_t first, last = 0;
    uint64_t place;
    int32_t code = ACCEL_OK;
    /* Number of buckets, first symbol, words of the Bloom filter, shift. */
    uint32_t *head = read_at_address(elf, "GNU hash table", address, 4, sizeof(*head), &code, error);
    if (code != ACCEL_OK)
        return code;
    /* The filter has words of 64 bits. A wrapped address is in no segment or in a wrong one, both harmless. */
    place = address + 4u * sizeof(*head) + (uint64_t)head[2] * 8u;
    buckets = read_at_address(elf, "GNU hash buckets", place, head[0], sizeof(*buckets), &code, error);
    for (uint32_t i = 0; code == ACCEL_OK && i < head[0]; i++)
        if (buckets[i] > last)
            last = buckets[i];
    first = head[1];
    place += (uint64_t)head[0] * sizeof(*buckets);
    if (code == ACCEL_OK && last != 0) {
        if (last < first)
            code = corrupt(elf, error, "GNU hash bucket before the first symbol", address, last);
        else
            code = end_of_chain(elf, place - first * sizeof(*buckets), last, &last, error);
    }
    *out_count = last == 0 ? first : last + 1;
    free(head);
    free(buckets);
    return code;
}

static int32_t count_symbols(const struct accel_elf *elf, uint64_t *out_count, struct accel_error *error)
{
    uint64_t address = 0;
    uint32_t *head;
    int32_t code = ACCEL_OK;
    if (accel_elf_dynamic(elf, DT_GNU_HASH, &address))
        return count_by_gnu_hash(elf, address, out_count, error);
    if (!accel_elf_dynamic(elf, DT_HASH, &address))
        return corrupt(elf, error, "no hash table of symbols", elf->header.e_phoff, 0);
    head = read_at_address(elf, "hash table", address, 2, sizeof(*head), &code, error);
    if (head != NULL)
        *out_count = head[1];
    free(head);
    return code;
}

static int32_t read_symbols(struct accel_elf *elf, struct accel_error *error)
{
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint64_t count = 0;
    int32_t code = ACCEL_OK;
    if (!accel_elf_dynamic(elf, DT_STRTAB, &address) || !accel_elf_dynamic(elf, DT_STRSZ, &bytes) || bytes == 0)
        return corrupt(elf, error, "no string table", elf->header.e_phoff, bytes);
    elf->strings = read_at_address(elf, "string table", address, bytes, 1, &code, error);
    if (code != ACCEL_OK)
        return code;
    if (elf->strings[bytes - 1] != '\0')
        return corrupt(elf, error, "string table without a zero byte at its end", address, bytes);
    elf->string_bytes = (size_t)bytes;
    code = count_symbols(elf, &count, error);
    if (code != ACCEL_OK)
        return code;
    if (!accel_elf_dynamic(elf, DT_SYMTAB, &address))
        return corrupt(elf, error, "no symbol table", elf->header.e_phoff, 0);
    elf->symbols = read_at_address(elf, "symbol table", address, count, sizeof(Elf64_Sym), &code, error);
    if (code == ACCEL_OK)
        elf->symbol_count = (size_t)count;
    return code;
}

int32_t accel_elf_open(const struct accel_elf_source *source, struct accel_elf *out_elf, struct accel_error *error)
{
    int32_t code;
    memset(out_elf, 0, sizeof(*out_elf));
    out_elf->source = *source;
    code = read_header(out_elf, error);
    if (code == ACCEL_OK)
        code = read_dynamic(out_elf, error);
    if (code == ACCEL_OK)
        code = read_symbols(out_elf, error);
    return code;
}

void accel_elf_close(struct accel_elf *elf)
{
    free(elf->segments);
    free(elf->dynamic);
    free(elf->strings);
    free(elf->symbols);
    memset(elf, 0, sizeof(*elf));
}

const char *accel_elf_string(const struct accel_elf *elf, uint64_t offset)
{
    return offset < elf->string_bytes ? elf->strings + offset : NULL;
}

/* Arguments and results of accel_elf_note. */
struct note_search {
    const char *owner;
    uint32_t type;
    uint32_t count;
    char *text;
    size_t bytes;
};

/* Adds to `place` a size padded to `align`, and fails beyond `whole`. */
static bool step(uint64_t *place, uint64_t size, uint64_t align, uint64_t whole)
{
    *place = (*place + size + align - 1) & ~(align - 1);
    return *place <= whole;
}

static int32_t search_segment(const struct accel_elf *elf, const Elf64_Phdr *segment, struct note_search *search,
                              struct accel_error *error)
{
    uint64_t align = segment->p_align == 8 ? 8 : 4;
    uint64_t place = 0;
    int32_t code = ACCEL_OK;
    char *notes = read_table(elf, "notes", segment->p_offset, segment->p_filesz, 1, &code, error);
    while (code == ACCEL_OK && segment->p_filesz - place >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        uint64_t text;
        memcpy(&note, notes + place, sizeof(note));
        text = place + sizeof(note);
        /* Sizes have 32 bits and the segment is small, so the sums cannot overflow. */
        if (!step(&text, note.n_namesz, align, segment->p_filesz) || note.n_descsz > segment->p_filesz - text) {
            code = corrupt(elf, error, "a note reaches past its segment", segment->p_offset + place, note.n_descsz);
            break;
        }
        if (note.n_type == search->type && note.n_namesz == strlen(search->owner) + 1 &&
            memcmp(notes + place + sizeof(note), search->owner, note.n_namesz) == 0 && search->count++ == 0) {
            search->text = malloc((size_t)note.n_descsz + 1);
            if (search->text == NULL) {
                code = accel_error_set(error, ACCEL_E_MEMORY, "%s: no memory for a note", elf->source.name);
                break;
            }
            memcpy(search->text, notes + text, note.n_descsz);
            search->text[note.n_descsz] = '\0';
            search->bytes = note.n_descsz;
        }
        place = text;
        /* The last note of a segment need not be padded. */
        if (!step(&place, note.n_descsz, align, segment->p_filesz))
            break;
    }
    free(notes);
    return code;
}

int32_t accel_elf_note(const struct accel_elf *elf, const char *owner, uint32_t type, uint32_t *out_count,
                       char **out_text, size_t *out_bytes, struct accel_error *error)
{
    struct note_search search = {owner, type, 0, NULL, 0};
    int32_t code = ACCEL_OK;
    for (size_t i = 0; i < elf->header.e_phnum && code == ACCEL_OK; i++)
        if (elf->segments[i].p_type == PT_NOTE)
            code = search_segment(elf, &elf->segments[i], &search, error);
    if (code != ACCEL_OK) {
        free(search.text);
        search = (struct note_search){owner, type, 0, NULL, 0};
    }
    *out_count = search.count;
    *out_text = search.text;
    *out_bytes = search.bytes;
    return code;
}
