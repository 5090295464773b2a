/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of scores. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tools/accel-scores/internal.h"

const char *const fuzz_corpus_folder = "tests/fixtures/scores";
const char *const fuzz_corpus_suffix = ".csv";

/* What is measured of a column is a number, and lies where it may. */
static void check_columns(const struct accel_scores *scores)
{
    for (uint32_t i = 0; i < scores->facts.external + scores->facts.parametric; i++) {
        const struct accel_scores_column *column = &scores->columns[i];
        if (column->name == NULL || !(column->auc >= 0 && column->auc <= 1) || !(column->information >= 0))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct accel_scores_formula formula = {.top_n = 2, .top_k = 1, .alpha = 1, .m = 1};
    struct accel_scores_quality quality = {0};
    const struct accel_scores_facts *facts;
    struct accel_scores *scores = NULL;
    struct accel_error error = {0};
    if (accel_scores_parse((const char *)data, size, "fuzz.csv", NULL, &scores, &error) != ACCEL_OK) {
        if (scores != NULL || error.code == ACCEL_OK || strchr(error.text, '\n') != NULL)
            abort();
        return 0;
    }
    facts = &scores->facts;
    if (facts->positive_rows > facts->rows || facts->groups > facts->rows || facts->positive_groups > facts->groups)
        abort();
    check_columns(scores);
    if (scores_quality_of(scores, &formula, &quality, &error) == ACCEL_OK &&
        !(quality.row_auc >= 0 && quality.row_auc <= 1 && quality.group_auc >= 0 && quality.group_auc <= 1))
        abort();
    accel_scores_free(scores);
    return 0;
}
