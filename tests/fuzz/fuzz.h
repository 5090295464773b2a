/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fuzz target is one file with these two symbols. Linked with libFuzzer (tests/fuzz/run) it searches; linked with
 * replay.c it is a plain test over its corpus.
 */
#ifndef ACCEL_TESTS_FUZZ_FUZZ_H
#define ACCEL_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Gives one input to the parser. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Files of the corpus: folder from the top of the source tree or of the build tree, and how their names end. */
extern const char *const fuzz_corpus_folder;
extern const char *const fuzz_corpus_suffix;

#endif
