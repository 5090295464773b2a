/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a table: compatibility, claims or advice. Each input is read as all three. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tools/tables/tables.h"

const char *const fuzz_corpus_folder = "tests/fixtures/tables";
const char *const fuzz_corpus_suffix = ".yaml";

static void read_all(const struct accel_tables *tables)
{
    size_t length = 0;
    for (uint32_t i = 0; i < accel_compat_count(tables); i++)
        length += strlen(accel_compat_get(tables, i)->settings) + strlen(accel_compat_get(tables, i)->place);
    for (uint32_t i = 0; i < accel_recommendation_count(tables); i++)
        length += strlen(accel_recommendation_get(tables, i)->settings);
    for (uint32_t i = 0; i < accel_promise_count(tables); i++)
        length += strlen(accel_promise_get(tables, i)->ours);
    for (uint32_t t = 0; t < accel_advice_topic_count(tables); t++) {
        const char *topic = accel_advice_topic_get(tables, t, NULL);
        for (uint32_t i = 0; i < accel_advice_count(tables, topic); i++)
            length += accel_advice_applies(tables, accel_advice_get(tables, topic, i), NULL, 0);
    }
    if (length == SIZE_MAX)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (enum accel_table_file file = ACCEL_TABLE_COMPAT; file <= ACCEL_TABLE_ADVICE; file++) {
        struct accel_tables *tables = NULL;
        struct accel_error error = {0};
        int32_t code = accel_tables_parse(file, "fuzz.yaml", (const char *)data, size, &tables, &error);
        if ((code != ACCEL_OK) != (error.code != ACCEL_OK) || (code == ACCEL_OK) != (tables != NULL) ||
            strchr(error.text, '\n') != NULL)
            abort();
        read_all(tables);
        accel_tables_free(tables);
    }
    return 0;
}
