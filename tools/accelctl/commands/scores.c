/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the row of the external command scores: tools/accel-scores is the program. */
#include "config.h"

#include "tools/accel-scores/options.h"
#include "tools/accelctl/command.h"
#include "tools/accelctl/external.h"

static const struct option_row options[] = {
    {"top-n", 0, OPTION_NUMBER, offsetof(struct scores_options, top_n), "N", "ES columns of the baseline; without: 3",
     0, 100000},
    {"top-k", 0, OPTION_NUMBER, offsetof(struct scores_options, top_k), "N", "PK columns of the baseline; without: 4",
     0, 100000},
    {"alpha", 0, OPTION_REAL, offsetof(struct scores_options, alpha), "X", "weight of the ES columns; without: 0.6", 0,
     1e6},
    {"m", 0, OPTION_REAL, offsetof(struct scores_options, m), "X", "weight of the PK columns; without: 1", 0, 1e6},
    {"folds", 0, OPTION_NUMBER, offsetof(struct scores_options, folds), "N",
     "number of folds of the responses, each held out once; without: 5", 2, 100000},
    {"repeats", 0, OPTION_NUMBER, offsetof(struct scores_options, repeats), "N",
     "number of times that the responses are shuffled and split; without: 10", 1, 100000},
    {"seed", 0, OPTION_NUMBER, offsetof(struct scores_options, seed), "N",
     "seed of the shuffles and of random columns; without: 1", 0, 0},
    {"select", 0, OPTION_NUMBER, offsetof(struct scores_options, select), "N",
     "number of ES columns to select by mutual information; without: half of them", 1, 100000},
    {"members", 0, OPTION_NUMBER, offsetof(struct scores_options, members), "N", "members of an ensemble; without: 5",
     1, 10000},
    {"bins", 0, OPTION_NUMBER, offsetof(struct scores_options, bins), "N", "bins of mutual information; without: 10", 2,
     4096},
    {"group", 0, OPTION_TEXT, offsetof(struct scores_options, names.group), "NAME",
     "column that names the response; without: response", 0, 0},
    {"label", 0, OPTION_TEXT, offsetof(struct scores_options, names.label), "NAME",
     "column of the label, 0 or 1; without: label", 0, 0},
    {"external", 0, OPTION_TEXT, offsetof(struct scores_options, names.external), "WORD",
     "prefix of the names of ES columns; without: ES", 0, 0},
    {"parametric", 0, OPTION_TEXT, offsetof(struct scores_options, names.parametric), "WORD",
     "prefix of the names of PK columns; without: PK", 0, 0},
    {"columns", 0, OPTION_FLAG, offsetof(struct scores_options, columns), NULL, "list every column", 0, 0},
    {"json", 0, OPTION_FLAG, offsetof(struct scores_options, json), NULL,
     "print one JSON document, errors too, with the name of its schema", 0, 0},
};

const struct command command_scores = {
    .name = "scores",
    .summary = "tune a detector on a table of scores, and measure its gain on held-out rows",
    .arguments = "FILE.csv",
    .detail = "Each row of FILE.csv is a chunk of a response: the columns response, label (0 or 1), and the external "
              "similarity (ES...) and parametric knowledge (PK...) scores of attention heads. The score of the "
              "detector is m times the sum of the best top_k PK columns minus alpha times that of the best top_n ES "
              "columns, each sum scaled to 0 to 1; a response has the mean score of its rows.\n"
              "Methods: a grid search over the four parameters, selection of columns by mutual information with the "
              "label, ensembles of random halves of the columns, and the threshold with the largest F1. The gain of "
              "each is printed twice: on the rows used for tuning, and on held-out responses.",
    .example = "accelctl scores --seed 7 --repeats 20 scores.csv\ntwice as many shuffles, and other ones",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .least = 1,
    .most = 1,
    .run = run_helper,
};
