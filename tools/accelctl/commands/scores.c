/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the command scores, which runs the program of tools/accel-scores. */
#include "config.h"

#include "tools/accel-scores/options.h"
#include "tools/accelctl/command.h"
#include "tools/accelctl/external.h"

static const struct option_row options[] = {
    {"top-n", 0, OPTION_NUMBER, offsetof(struct scores_options, top_n), "N", "ES columns of the baseline; default: 3",
     0, 100000},
    {"top-k", 0, OPTION_NUMBER, offsetof(struct scores_options, top_k), "N", "PK columns of the baseline; default: 4",
     0, 100000},
    {"alpha", 0, OPTION_REAL, offsetof(struct scores_options, alpha), "X", "weight of the ES columns; default: 0.6", 0,
     1e6},
    {"m", 0, OPTION_REAL, offsetof(struct scores_options, m), "X", "weight of the PK columns; default: 1", 0, 1e6},
    {"folds", 0, OPTION_NUMBER, offsetof(struct scores_options, folds), "N",
     "number of folds of the responses, each held out once; default: 5", 2, 100000},
    {"repeats", 0, OPTION_NUMBER, offsetof(struct scores_options, repeats), "N",
     "number of times that the responses are shuffled and split; default: 10", 1, 100000},
    {"seed", 0, OPTION_NUMBER, offsetof(struct scores_options, seed), "N",
     "seed of the shuffles and of random columns; default: 1", 0, 0},
    {"select", 0, OPTION_NUMBER, offsetof(struct scores_options, select), "N",
     "number of ES columns to select by mutual information; default: half of them", 1, 100000},
    {"members", 0, OPTION_NUMBER, offsetof(struct scores_options, members), "N", "members of an ensemble; default: 5",
     1, 10000},
    {"bins", 0, OPTION_NUMBER, offsetof(struct scores_options, bins), "N", "bins of mutual information; default: 10", 2,
     4096},
    {"group", 0, OPTION_TEXT, offsetof(struct scores_options, names.group), "NAME",
     "column that names the response; default: response", 0, 0},
    {"label", 0, OPTION_TEXT, offsetof(struct scores_options, names.label), "NAME",
     "column of the label, 0 or 1; default: label", 0, 0},
    {"external", 0, OPTION_TEXT, offsetof(struct scores_options, names.external), "WORD",
     "prefix of the names of ES columns; default: ES", 0, 0},
    {"parametric", 0, OPTION_TEXT, offsetof(struct scores_options, names.parametric), "WORD",
     "prefix of the names of PK columns; default: PK", 0, 0},
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
    .example = "accelctl scores --seed 7 --repeats 20 scores.csv\nuses twice as many shuffles, and another seed",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .least = 1,
    .most = 1,
    .run = run_helper,
};
