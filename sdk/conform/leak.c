/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/conform/leak.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#if defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 33) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HAS_ACCOUNT 1 /* malloc reports its allocated bytes */
#endif
#endif

#define LEAST 16u /* bytes per round: the smallest block is larger */

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

/* Reads without a stream, which would allocate memory itself. */
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

void leak_look(struct leak *leak, uint64_t held)
{
    if (leak->count == LEAK_ROUNDS)
        return;
    leak->mapped[leak->count] = mapped();
    leak->heap[leak->count] = heap();
    leak->held[leak->count] = held;
    leak->count++;
}

/* Returns the bytes that every round loses at least; 0 if a part of the rounds lost nothing. */
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

/* Describes the lost memory; returns false if none is lost. */
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

void leak_judge(const struct leak *leak, struct conform *conform, const char *what, const char *unit,
                char out_doubt[LEAK_TEXT])
{
    char text[LEAK_TEXT] = "", libraries[256];
    uint64_t held;

    out_doubt[0] = '\0';
    if (leak->count < LEAK_ROUNDS)
        return;
    conform_note(conform, "libraries", libraries, sizeof(libraries));
    held = lost(leak->held, 1);
    if (held != 0)
        conform_fail(conform, "each %s loses %llu %s of the host's memory, seen over %u of them", what,
                     (unsigned long long)held, unit, 3 * LEAK_PART);
    else if (describe(leak, what, text) && libraries[0] == '\0')
        conform_fail(conform, "%s", text);
    else if (describe(leak, what, text))
        snprintf(out_doubt, LEAK_TEXT, "%.120s: either in the driver or in %.50s", text, libraries);
}
