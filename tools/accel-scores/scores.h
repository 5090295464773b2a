/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Accuracy tools over a table of scores: a CSV file in which each row is a chunk of a response, with a label and what
 * attention heads and layers gave for it. The tools are those of hallucination detection by external similarity (ES)
 * and parametric knowledge (PK): a formula over chosen columns, a grid search over it, a choice of columns by mutual
 * information, ensembles, and a threshold. Each gain is reported twice: on the rows that the tool was fitted to, and on
 * rows that were held out.
 *
 * Definitions, all in double:
 *  - Group: the rows with the same text in the column `response`. Its score is the mean of its rows' scores, its label
 *    the largest of its rows' labels.
 *  - AUC: the share of pairs of a positive and a negative in which the positive has the higher score, ties counted as
 *    one half (the area under the ROC curve by the trapezoid rule).
 *  - F1 at a threshold t: 2 TP / (2 TP + FP + FN), where positive means score >= t. The sweep tries each distinct score
 *    as t and keeps the largest F1, of equal ones the highest t.
 *  - Formula (top_n, top_k, alpha, m): m * P - alpha * E. E is the sum of the top_n columns ES, ranked by 1 - AUC over
 *    rows (they are low where the label is 1), P that of the top_k columns PK ranked by AUC; equal ones by their place
 *    in the file. Each sum is mapped to [0, 1] by the smallest and the largest value in the rows that it is fitted to;
 *    a constant one becomes 0, values outside of that range lie outside of [0, 1]. More columns than there are: all.
 *  - Mutual information of a column and the label, in nats: sum of p(b, y) ln(p(b, y) / (p(b) p(y))) over bins b that
 *    hold about as many rows each. Equal values share a bin, so that there may be fewer. It is not corrected for its
 *    bias, which is about (bins - 1) / (2 rows).
 *  - Folds: groups, never rows, are dealt to folds after a shuffle, the positive ones first, so that each fold has its
 *    share of both labels. Everything a tool chooses (ranks, ranges, grid point, columns, threshold) is chosen on the
 *    other folds. A held-out value is the mean over all folds of all repeats, each with another shuffle.
 *
 * A table is immutable: any thread. Errors in a file: ACCEL_E_CORRUPT, with "file:line:column".
 */
#ifndef ACCEL_SCORES_SCORES_H
#define ACCEL_SCORES_SCORES_H

#include <accel/error.h>

/* ---- table ---- */

/** Names of the columns; NULL selects the defaults. */
struct accel_scores_names {
    const char *group;      /**< column that names the response; NULL: "response" */
    const char *label;      /**< column of 0 and 1; NULL: "label" */
    const char *external;   /**< beginning of the names of ES columns; NULL: "ES" */
    const char *parametric; /**< beginning of the names of PK columns; NULL: "PK" */
};

/** Counts of a table. */
struct accel_scores_facts {
    uint32_t external;   /**< ES columns */
    uint32_t parametric; /**< PK columns */
    uint32_t ignored;    /**< columns that are neither, nor group, nor label */
    uint64_t rows;
    uint64_t positive_rows;
    uint64_t groups;
    uint64_t positive_groups;
};

/** One column. */
struct accel_scores_column {
    uint32_t external;  /**< 1: ES, 0: PK */
    const char *name;   /**< lives as long as the table */
    double auc;         /**< over rows, in the direction of the formula */
    double information; /**< mutual information with the label, in nats, over 10 bins */
};

/** Table of scores. Columns are ES first, then PK, each in the order of the file. Immutable once read. */
struct accel_scores {
    struct accel_scores_facts facts;
    struct accel_scores_column *columns; /**< [external + parametric] */
    char *texts;                         /**< of the columns' names */
    double *values;                      /**< [columns][rows] */
    uint8_t *labels;                     /**< [rows] */
    uint32_t *groups;                    /**< [rows], numbers from 0 in the order of their first rows */
    uint8_t *group_labels;               /**< [groups] */
    uint64_t *group_rows;                /**< [groups] */
};

/** Reads a CSV file: a line of names, then rows of numbers, with commas between them and quotes (RFC 4180) where a
 *  name or group has commas. `names` may be NULL. ACCEL_E_LIMIT past 1 GiB. */
int32_t accel_scores_read(const char *path, const struct accel_scores_names *names, struct accel_scores **out_scores,
                          struct accel_error *error);
/** Parses a table from text; `name` appears in messages. The table does not refer to the text afterwards. */
int32_t accel_scores_parse(const char *text, size_t length, const char *name, const struct accel_scores_names *names,
                           struct accel_scores **out_scores, struct accel_error *error);
/** Frees a table. NULL is allowed. */
void accel_scores_free(struct accel_scores *scores);
/* ---- measures ---- */

/** Threshold with its quality. */
struct accel_scores_threshold {
    uint32_t worse_than_chance; /**< 1: the share of positives that it finds is below that of negatives */
    double threshold;
    double f1;
    double precision;
    double recall; /**< true positive rate */
    double false_positive_rate;
};

/* ---- formula ---- */

/** Parameters of the formula. */
struct accel_scores_formula {
    uint32_t top_n; /**< ES columns; 0: none */
    uint32_t top_k; /**< PK columns; 0: none */
    double alpha;
    double m;
};

/** Quality of a formula that is fitted to all rows. */
struct accel_scores_quality {
    double row_auc;
    double group_auc;
};

/* ---- tools ---- */

/** Reports progress. A result other than 0 ends the work with ACCEL_E_CANCELLED. */
typedef int32_t(ACCEL_CALL *accel_scores_progress)(void *data, uint64_t done, uint64_t all);

/** Options of the tools; NULL selects the defaults. */
struct accel_scores_options {
    uint32_t folds;                             /**< 2 or more; 0: 5 */
    uint32_t repeats;                           /**< shuffles; 0: 10 */
    uint32_t select;                            /**< ES columns to choose by mutual information; 0: half of them */
    uint32_t members;                           /**< of an ensemble; 0: 5 */
    uint32_t bins;                              /**< of mutual information; 0: 10 */
    uint64_t seed;                              /**< of shuffles and of random columns */
    const struct accel_scores_formula *formula; /**< the baseline; NULL: (3, 4, 0.6, 1) */
    accel_scores_progress progress;             /**< may be NULL */
    void *progress_data;
};

#define ACCEL_SCORES_AUC_GROUPS 1u /**< AUC over groups */
#define ACCEL_SCORES_AUC_ROWS 2u   /**< AUC over rows */
#define ACCEL_SCORES_F1_GROUPS 3u  /**< F1 over groups */
#define ACCEL_SCORES_F1_ROWS 4u    /**< F1 over rows */

/** Gain of a tool by one measure. Strings live as long as the report. */
struct accel_scores_gain {
    uint32_t measure;   /**< ACCEL_SCORES_... */
    const char *tool;   /**< "grid", "information", "ensemble-mean", "ensemble-vote" or "threshold" */
    const char *choice; /**< what it chose on all rows, in words */
    double before;      /**< fitted to all rows: the baseline, for a threshold 0.5 */
    double after;       /**< and the tool */
    double held_before; /**< the same on rows that were held out */
    double held_after;
    double held_spread; /**< standard deviation, over folds and repeats, of the held-out gain */
    double held_won;    /**< share of folds in which the tool gained */
};

/** Facts of a report. */
struct accel_scores_summary {
    uint32_t folds;
    uint32_t repeats;
    uint32_t members;
    uint64_t seed;
    uint64_t points;   /**< of the grid */
    uint64_t distinct; /**< of them that can differ in AUC: the same ratio alpha / m, or more columns than there are,
                            gives the same order */
    struct accel_scores_formula baseline;
    struct accel_scores_formula best; /**< point of the grid with the largest group AUC in all rows */
    struct accel_scores_quality baseline_quality;
    struct accel_scores_quality best_quality;
    struct accel_scores_threshold group_best; /**< baseline's scores mapped to [0, 1], as groups; largest F1 */
    struct accel_scores_threshold row_best;   /**< and as rows */
    double member_least;                      /**< smallest and largest group AUC of a member of the ensemble */
    double member_most;
};

#define ACCEL_SCORES_GAINS 10u
#define ACCEL_SCORES_CHOICE 400u /**< bytes of words on a choice */

/** Results of all tools. */
struct accel_scores_report {
    struct accel_scores_summary summary;
    struct accel_scores_gain gains[ACCEL_SCORES_GAINS];
    char choices[ACCEL_SCORES_GAINS][ACCEL_SCORES_CHOICE];
};

/**
 * Runs the grid search over top_n and top_k 1 to 7, alpha 0.2 to 1.6 by 0.2, m 0.5 to 1.5 by 0.25, the choice by mutual
 * information, ensembles and the threshold, each against the baseline.
 *
 * The grid search takes the point of the largest group AUC, of equal ones the first. The choice by mutual information
 * takes `select` ES columns with the most of it and the baseline's share of PK columns, also by it, with the baseline's
 * alpha and m. A member of an ensemble has a random half of the ES columns, the baseline's PK columns, alpha and m, and
 * its score mapped to [0, 1]; they are joined by the mean, or by the share of those whose score is 0.5 or more.
 *
 * ACCEL_E_INVALID where a fold would have no positive or no negative group. The caller frees *out_report.
 */
int32_t accel_scores_tune(const struct accel_scores *scores, const struct accel_scores_options *options,
                          struct accel_scores_report **out_report, struct accel_error *error);

#endif
