/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/say.h"
#include "tools/accelctl/verb.h"
#include "tools/accelctl/working.h"

#include <accel/model/scores.h>
#include <math.h>
#include <string.h>

struct scores_options {
    struct accel_scores_names names;
    uint64_t folds;
    uint64_t repeats;
    uint64_t seed;
    uint64_t select;
    uint64_t members;
    uint64_t bins;
    uint64_t top_n;
    uint64_t top_k;
    double alpha;
    double m;
    uint32_t columns;
    uint32_t json;
};

static const struct option_row options[] = {
    {"top-n", 0, OPTION_NUMBER, offsetof(struct scores_options, top_n), "N", "ES columns of the baseline; without: 3",
     0, 100000},
    {"top-k", 0, OPTION_NUMBER, offsetof(struct scores_options, top_k), "N", "PK columns of the baseline; without: 4",
     0, 100000},
    {"alpha", 0, OPTION_REAL, offsetof(struct scores_options, alpha), "X", "weight of the ES columns; without: 0.6", 0,
     1e6},
    {"m", 0, OPTION_REAL, offsetof(struct scores_options, m), "X", "weight of the PK columns; without: 1", 0, 1e6},
    {"folds", 0, OPTION_NUMBER, offsetof(struct scores_options, folds), "N",
     "parts of the responses, each held out once; without: 5", 2, 100000},
    {"repeats", 0, OPTION_NUMBER, offsetof(struct scores_options, repeats), "N",
     "times that the responses are shuffled and dealt anew; without: 10", 1, 100000},
    {"seed", 0, OPTION_NUMBER, offsetof(struct scores_options, seed), "N",
     "of the shuffles and of random columns; without: 1", 0, 0},
    {"select", 0, OPTION_NUMBER, offsetof(struct scores_options, select), "N",
     "ES columns to choose by mutual information; without: half of them", 1, 100000},
    {"members", 0, OPTION_NUMBER, offsetof(struct scores_options, members), "N", "of an ensemble; without: 5", 1,
     10000},
    {"bins", 0, OPTION_NUMBER, offsetof(struct scores_options, bins), "N", "of mutual information; without: 10", 2,
     4096},
    {"group", 0, OPTION_TEXT, offsetof(struct scores_options, names.group), "NAME",
     "column that names the response; without: response", 0, 0},
    {"label", 0, OPTION_TEXT, offsetof(struct scores_options, names.label), "NAME", "column of 0 and 1; without: label",
     0, 0},
    {"external", 0, OPTION_TEXT, offsetof(struct scores_options, names.external), "WORD",
     "how the names of ES columns begin; without: ES", 0, 0},
    {"parametric", 0, OPTION_TEXT, offsetof(struct scores_options, names.parametric), "WORD",
     "how the names of PK columns begin; without: PK", 0, 0},
    {"columns", 0, OPTION_FLAG, offsetof(struct scores_options, columns), NULL, "list every column", 0, 0},
    {"json", 0, OPTION_FLAG, offsetof(struct scores_options, json), NULL,
     "print one JSON document, errors too, with the name of its schema", 0, 0},
};

static const char *measure_name(uint32_t measure)
{
    static const char *const names[] = {"?", "AUC of responses", "AUC of rows", "F1 of responses", "F1 of rows"};

    return names[measure < 5 ? measure : 0];
}

static const char *measure_key(uint32_t measure)
{
    static const char *const names[] = {"?", "auc_responses", "auc_rows", "f1_responses", "f1_rows"};

    return names[measure < 5 ? measure : 0];
}

/* ---- text ---- */

static void print_columns(const struct accel_scores *scores)
{
    struct accel_scores_column column = {.size = sizeof column};

    print("\n%-24s %-4s %10s %18s\n", "column", "", "AUC", "information, nats");
    for (uint32_t i = 0; accel_scores_column(scores, i, &column, NULL) == ACCEL_OK; i++)
        print("%-24s %-4s %10.4f %18.5f\n", column.name, column.external ? "ES" : "PK", column.auc, column.information);
}

static void print_threshold(const char *what, const struct accel_scores_threshold *best)
{
    print("  %-13s %.4f: F1 %.4f, precision %.4f, recall %.4f, false positive rate %.4f%s\n", what, best->threshold,
          best->f1, best->precision, best->recall, best->false_positive_rate,
          best->worse_than_chance ? "; worse than chance" : "");
}

static void print_gains(const struct accel_scores_report *report)
{
    const struct accel_scores_gain *gain, *before = NULL;

    print("\n%-14s %-17s %-16s %7s   %-16s %7s %8s %6s\n", "tool", "measure", "in sample", "gain", "held out", "gain",
          "spread", "won");
    for (uint32_t i = 0; (gain = accel_scores_report_gain(report, i)) != NULL; i++)
        print("%-14s %-17s %.4f to %.4f %+.4f   %.4f to %.4f %+.4f   %.4f  %3.0f %%\n", gain->tool,
              measure_name(gain->measure), gain->before, gain->after, gain->after - gain->before, gain->held_before,
              gain->held_after, gain->held_after - gain->held_before, gain->held_spread, 100 * gain->held_won);
    print("\n");
    for (uint32_t i = 0; (gain = accel_scores_report_gain(report, i)) != NULL; before = gain, i++)
        if (before == NULL || strcmp(before->choice, gain->choice) != 0)
            print_wrapped((uint32_t)print("%-14s ", gain->tool), 15, gain->choice);
}

static void print_report(const char *path, const struct accel_scores *scores, const struct accel_scores_report *report)
{
    const struct accel_scores_facts *facts = accel_scores_facts_of(scores);
    const struct accel_scores_summary *s = accel_scores_report_summary(report);

    print("%s: %llu rows of %llu responses; label 1 in %llu rows and %llu responses; %u ES and %u PK columns", path,
          (unsigned long long)facts->rows, (unsigned long long)facts->groups, (unsigned long long)facts->positive_rows,
          (unsigned long long)facts->positive_groups, facts->external, facts->parametric);
    if (facts->ignored > 0)
        print(", %u others", facts->ignored);
    print("\nbaseline       top_n %u, top_k %u, alpha %g, m %g: AUC %.4f of responses, %.4f of rows\n",
          s->baseline.top_n, s->baseline.top_k, s->baseline.alpha, s->baseline.m, s->baseline_quality.group_auc,
          s->baseline_quality.row_auc);
    print("thresholds     of the baseline's scores from 0 to 1, by the largest F1\n");
    print_threshold("responses", &s->group_best);
    print_threshold("rows", &s->row_best);
    print("grid           %llu points, %llu that can differ: AUC depends on alpha / m alone, and on no more columns "
          "than there are\n",
          (unsigned long long)s->points, (unsigned long long)s->distinct);
    print("ensemble       %u members, AUC of responses from %.4f to %.4f each\n", s->members, s->member_least,
          s->member_most);
    print("held out       %u folds of whole responses, %u shuffles, seed %llu; values are means over folds\n", s->folds,
          s->repeats, (unsigned long long)s->seed);
    print_gains(report);
}

/* ---- JSON ---- */

static json_t *formula_json(const struct accel_scores_formula *formula, const struct accel_scores_quality *quality)
{
    return json_pack("{s:i, s:i, s:f, s:f, s:f, s:f}", "top_n", (int)formula->top_n, "top_k", (int)formula->top_k,
                     "alpha", formula->alpha, "m", formula->m, "auc_responses", quality->group_auc, "auc_rows",
                     quality->row_auc);
}

static json_t *threshold_json(const struct accel_scores_threshold *best)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:b}", "threshold", best->threshold, "f1", best->f1, "precision",
                     best->precision, "recall", best->recall, "false_positive_rate", best->false_positive_rate,
                     "worse_than_chance", best->worse_than_chance != 0);
}

static json_t *columns_json(const struct accel_scores *scores)
{
    struct accel_scores_column column = {.size = sizeof column};
    json_t *list = json_array();

    for (uint32_t i = 0; accel_scores_column(scores, i, &column, NULL) == ACCEL_OK; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:f, s:f}", "name", column.name, "kind",
                                              column.external ? "ES" : "PK", "auc", column.auc, "information",
                                              column.information));
    return list;
}

static json_t *gains_json(const struct accel_scores_report *report)
{
    const struct accel_scores_gain *gain;
    json_t *list = json_array();

    for (uint32_t i = 0; (gain = accel_scores_report_gain(report, i)) != NULL; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:{s:f, s:f, s:f}, s:{s:f, s:f, s:f, s:f, s:f}}", "tool",
                                              gain->tool, "measure", measure_key(gain->measure), "choice", gain->choice,
                                              "sample", "before", gain->before, "after", gain->after, "gain",
                                              gain->after - gain->before, "held_out", "before", gain->held_before,
                                              "after", gain->held_after, "gain", gain->held_after - gain->held_before,
                                              "spread", gain->held_spread, "won", gain->held_won));
    return list;
}

static int print_document(const char *path, const struct accel_scores *scores, const struct accel_scores_report *report)
{
    const struct accel_scores_facts *facts = accel_scores_facts_of(scores);
    const struct accel_scores_summary *s = accel_scores_report_summary(report);

    return print_json(
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:{s:I, s:I}, s:{s:o, s:o}, s:{s:i, s:f, s:f}, s:{s:i, s:i, "
                  "s:I}, s:o, s:o}",
                  "path", path, "rows", (json_int_t)facts->rows, "responses", (json_int_t)facts->groups,
                  "positive_rows", (json_int_t)facts->positive_rows, "positive_responses",
                  (json_int_t)facts->positive_groups, "baseline", formula_json(&s->baseline, &s->baseline_quality),
                  "best", formula_json(&s->best, &s->best_quality), "grid", "points", (json_int_t)s->points, "distinct",
                  (json_int_t)s->distinct, "thresholds", "responses", threshold_json(&s->group_best), "rows",
                  threshold_json(&s->row_best), "ensemble", "members", (int)s->members, "least", s->member_least,
                  "most", s->member_most, "held_out", "folds", (int)s->folds, "repeats", (int)s->repeats, "seed",
                  (json_int_t)s->seed, "gains", gains_json(report), "columns", columns_json(scores)),
        "accelctl/scores/1");
}

static int32_t tune(const struct scores_options *chosen, const struct accel_scores *scores,
                    struct accel_scores_report **out_report, struct accel_error *error)
{
    struct working working;
    const struct accel_scores_formula formula = {.size = sizeof formula,
                                                 .top_n = (uint32_t)chosen->top_n,
                                                 .top_k = (uint32_t)chosen->top_k,
                                                 .alpha = chosen->alpha,
                                                 .m = chosen->m};
    const struct accel_scores_options wanted = {.size = sizeof wanted,
                                                .folds = (uint32_t)chosen->folds,
                                                .repeats = (uint32_t)chosen->repeats,
                                                .select = (uint32_t)chosen->select,
                                                .members = (uint32_t)chosen->members,
                                                .bins = (uint32_t)chosen->bins,
                                                .seed = chosen->seed,
                                                .formula = &formula,
                                                .progress = working_tell,
                                                .progress_data = &working};
    int32_t code;

    working_begin(&working, NULL, 0);
    working_on(&working, "tuning on folds");
    code = accel_scores_tune(scores, &wanted, out_report, error);
    working_end(&working);
    return code;
}

static int run(int count, char **arguments, const struct verb *verb)
{
    struct scores_options chosen = {
        .names = {.size = sizeof chosen.names}, .seed = 1, .top_n = 3, .top_k = 4, .alpha = 0.6, .m = 1};
    struct accel_scores *scores = NULL;
    struct accel_scores_report *report = NULL;
    struct accel_error error = {0};
    int code = parse_options(verb, &count, arguments, &chosen);
    int32_t result;

    if (code >= 0)
        return code;
    result = accel_scores_read(arguments[0], &chosen.names, &scores, &error);
    if (result == ACCEL_OK)
        result = tune(&chosen, scores, &report, &error);
    if (result != ACCEL_OK) {
        code = say_error(chosen.json, &error);
    } else if (chosen.json) {
        code = print_document(arguments[0], scores, report);
    } else {
        print_report(arguments[0], scores, report);
        if (chosen.columns)
            print_columns(scores);
        code = EXIT_DONE;
    }
    accel_scores_report_free(report);
    accel_scores_free(scores);
    return code;
}

const struct verb verb_scores = {
    .name = "scores",
    .summary = "tune a detector over a table of scores, and say what it gains on rows that it has not seen",
    .arguments = "FILE.csv",
    .detail =
        "Each row of FILE.csv is a chunk of a response: the columns response, label (0 or 1), and what attention heads "
        "gave for it as external similarity (ES...) and parametric knowledge (PK...). The detector's score is m times "
        "the sum of the best top_k PK columns minus alpha times that of the best top_n ES columns, each sum mapped "
        "to 0 to 1; a response has the mean score of its rows.\n"
        "Tools: a search over the grid of the four parameters, columns by mutual information with the label, ensembles "
        "of random halves of the columns, and the threshold with the largest F1. The gain of each stands twice: on the "
        "rows that it was tuned to, and held out, where it was tuned on other responses.",
    .example = "accelctl scores --seed 7 --repeats 20 scores.csv\ntwice as many shuffles, and other ones",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .least = 1,
    .most = 1,
    .run = run,
};
