/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target as a plain test: over every file of its corpus, and over copies that are cut short or have bytes
 * changed by a generator with a fixed seed, so that a failure comes back. What is tested is that nothing crashes, so
 * it says most in a build with sanitizers.
 */
#include "config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

#define COPIES 200u

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* One input in memory of exactly its size. */
static void give(const uint8_t *bytes, size_t length)
{
    uint8_t *copy = malloc(length == 0 ? 1 : length);
    if (copy == NULL)
        exit(99);
    memcpy(copy, bytes, length);
    LLVMFuzzerTestOneInput(copy, length);
    free(copy);
}

static void give_damaged(const uint8_t *bytes, size_t length, uint64_t *state)
{
    uint8_t *copy = malloc(length);
    if (copy == NULL)
        exit(99);
    for (unsigned i = 0; i < COPIES; i++) {
        uint64_t changes = next(state) % 4;
        size_t kept = changes == 0 ? next(state) % length : length;
        memcpy(copy, bytes, length);
        for (uint64_t k = 0; k < changes; k++)
            copy[next(state) % length] = (uint8_t)(next(state) >> 32);
        give(copy, kept);
    }
    free(copy);
}

static void replay(const char *path)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    FILE *file = fopen(path, "rb");
    uint8_t *bytes;
    long length;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (length = ftell(file)) < 0) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(99);
    }
    rewind(file);
    bytes = malloc((size_t)length + 1);
    if (bytes == NULL || fread(bytes, 1, (size_t)length, file) != (size_t)length)
        exit(99);
    fclose(file);
    give(bytes, (size_t)length);
    if (length > 0)
        give_damaged(bytes, (size_t)length, &state);
    free(bytes);
}

int main(void)
{
    const char *top = getenv("ACCEL_TEST_SRCDIR");
    const char *build = getenv("ACCEL_TEST_BUILDDIR");
    size_t suffix = strlen(fuzz_corpus_suffix);
    unsigned count = 0;
    char folder[4096], path[8192];
    struct dirent *entry;
    DIR *list;
    snprintf(folder, sizeof(folder), "%s/%s", top == NULL ? "." : top, fuzz_corpus_folder);
    list = opendir(folder);
    /* A corpus may also be something that was built. */
    if (list == NULL) {
        snprintf(folder, sizeof(folder), "%s/%s", build == NULL ? "." : build, fuzz_corpus_folder);
        list = opendir(folder);
    }
    while (list != NULL && (entry = readdir(list)) != NULL) {
        size_t length = strlen(entry->d_name);
        if (length < suffix || strcmp(entry->d_name + length - suffix, fuzz_corpus_suffix) != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        replay(path);
        count++;
    }
    if (list != NULL)
        closedir(list);
    printf("%u files of %s, %u damaged copies of each\n", count, folder, COPIES);
    return count > 0 ? 0 : 1;
}
