/* SPDX-License-Identifier: Apache-2.0 */
/* GGUF files in memory: open, touch every tensor and value, read the configuration. */
#include "config.h"

#include "tests/fuzz/fuzz_container.h"

const char *const fuzz_corpus_folder = "tests/fixtures/malformed";
const char *const fuzz_corpus_suffix = ".gguf";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_container(data, size, "fuzz.gguf");
    return 0;
}
