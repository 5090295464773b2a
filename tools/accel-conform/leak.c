/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accel-conform/leak.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#if defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 33) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HAS_ACCOUNT 1 /* malloc tells what it gave out */
#endif
#endif

#define LEAST 16u /* bytes of a round: the smallest block has more */

bool leak_is_told(void)
{
#if defined(HAS_ACCOUNT)
    return mallinfo2().uordblks != 0;
#else
    return false;
#endif
}

static uint64_t heap(void)
{
#if defined(HAS_ACCOUNT)
    const struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}

/* Read without a stream, which would have memory of its own. */
static uint64_t mapped(void)
{
    unsigned long long pages = 0;
    char text[200];
    int handle = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t length = handle < 0 ? -1 : read(handle, text, sizeof(text) - 1);

    if (handle >= 0)
        close(handle);
    text[length < 0 ? 0 : length] = '\0';
    if (sscanf(text, "%*u %*u %*u %*u %*u %llu", &pages) != 1)
        return 0;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void leak_look(struct leak *leak, uint64_t blocks)
{
    if (leak->count == LEAK_ROUNDS)
        return;
    leak->mapped[leak->count] = mapped();
    leak->heap[leak->count] = heap();
    leak->blocks[leak->count] = blocks;
    leak->count++;
}

/* Bytes that every round loses at least; 0 where a part lost nothing. */
static uint64_t lost(const uint64_t *held, uint64_t least)
{
    uint64_t lowest = UINT64_MAX;

    for (uint32_t end = 2 * LEAK_PART; end < LEAK_ROUNDS; end += LEAK_PART) {
        uint64_t before = held[end - LEAK_PART];
        uint64_t grown = held[end] > before ? held[end] - before : 0;

        lowest = grown < lowest ? grown : lowest;
    }
    return lowest < least * LEAK_PART ? 0 : lowest / LEAK_PART;
}

/* What is lost, in words; false where nothing is. */
static bool describe(const struct leak *leak, const char *what, char text[LEAK_TEXT])
{
    uint64_t bytes = lost(leak->heap, LEAST);

    if (bytes != 0) {
        snprintf(text, LEAK_TEXT, "each %s loses %llu bytes or more of malloc, seen over %u of them", what,
                 (unsigned long long)bytes, 3 * LEAK_PART);
        return true;
    }
    bytes = lost(leak->mapped, (uint64_t)sysconf(_SC_PAGESIZE));
    if (bytes != 0)
        snprintf(text, LEAK_TEXT, "each %s leaves %llu bytes or more mapped, seen over %u of them", what,
                 (unsigned long long)bytes, 3 * LEAK_PART);
    return bytes != 0;
}

void leak_judge(const struct leak *leak, struct conform *conform, const char *what, char out_doubt[LEAK_TEXT])
{
    const struct accel_plugin_note *note = conform_note(conform);
    bool has_libraries = note != NULL && note->libraries[0] != '\0';
    char text[LEAK_TEXT] = "";
    uint64_t blocks;

    out_doubt[0] = '\0';
    if (leak->count < LEAK_ROUNDS)
        return;
    blocks = lost(leak->blocks, 1);
    if (blocks != 0)
        conform_fail(conform, "each %s loses %llu blocks of the host's memory, seen over %u of them", what,
                     (unsigned long long)blocks, 3 * LEAK_PART);
    else if (describe(leak, what, text) && !has_libraries)
        conform_fail(conform, "%s", text);
    else if (describe(leak, what, text))
        snprintf(out_doubt, LEAK_TEXT, "%.120s: in the driver or in %.50s, which nobody can tell", text,
                 note->libraries);
}
