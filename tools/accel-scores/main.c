/* SPDX-License-Identifier: Apache-2.0 */
/* accelctl-scores, the external command scores: tunes a detector over a table of scores. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tools/accel-scores/options.h"
#include "tools/accelctl/command.h"
#include "tools/accelctl/errors.h"
#include "tools/accelctl/progress.h"
#include "tools/accelctl/start.h"

const struct command *const commands[] = {&command_scores, NULL};

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
    print("\n%-24s %-4s %10s %18s\n", "column", "", "AUC", "information, nats");
    for (uint32_t i = 0; i < scores->facts.external + scores->facts.parametric; i++) {
        const struct accel_scores_column *column = &scores->columns[i];

        print("%-24s %-4s %10.4f %18.5f\n", column->name, column->external ? "ES" : "PK", column->auc,
              column->information);
    }
}

static void print_threshold(const char *what, const struct accel_scores_threshold *best)
{
    print("  %-13s %.4f: F1 %.4f, precision %.4f, recall %.4f, false positive rate %.4f%s\n", what, best->threshold,
          best->f1, best->precision, best->recall, best->false_positive_rate,
          best->worse_than_chance ? "; worse than chance" : "");
}

static void print_gains(const struct accel_scores_report *report)
{
    const struct accel_scores_gain *const end = report->gains + ACCEL_SCORES_GAINS;

    print("\n%-14s %-17s %-16s %7s   %-16s %7s %8s %6s\n", "tool", "measure", "in sample", "gain", "held out", "gain",
          "spread", "won");
    for (const struct accel_scores_gain *gain = report->gains; gain < end; gain++)
        print("%-14s %-17s %.4f to %.4f %+.4f   %.4f to %.4f %+.4f   %.4f  %3.0f %%\n", gain->tool,
              measure_name(gain->measure), gain->before, gain->after, gain->after - gain->before, gain->held_before,
              gain->held_after, gain->held_after - gain->held_before, gain->held_spread, 100 * gain->held_won);
    print("\n");
    for (const struct accel_scores_gain *gain = report->gains; gain < end; gain++)
        if (gain == report->gains || strcmp(gain[-1].choice, gain->choice) != 0)
            print_wrapped((uint32_t)print("%-14s ", gain->tool), 15, gain->choice);
}

static void print_report(const char *path, const struct accel_scores *scores, const struct accel_scores_report *report)
{
    const struct accel_scores_facts *facts = &scores->facts;
    const struct accel_scores_summary *s = &report->summary;

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

static json_t *formula_json(const struct accel_scores_formula *formula, const struct accel_scores_quality *quality,
                            const char *origin)
{
    const char *measured = "measured: the scores of this formula over the file";

    return json_pack("{s:i, s:i, s:f, s:f, s:f, s:f, s:{s:s, s:s, s:s, s:s, s:s, s:s}}", "top_n", (int)formula->top_n,
                     "top_k", (int)formula->top_k, "alpha", formula->alpha, "m", formula->m, "auc_responses",
                     quality->group_auc, "auc_rows", quality->row_auc, "origin", "top_n", origin, "top_k", origin,
                     "alpha", origin, "m", origin, "auc_responses", measured, "auc_rows", measured);
}

static json_t *threshold_json(const struct accel_scores_threshold *best)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:b}", "threshold", best->threshold, "f1", best->f1, "precision",
                     best->precision, "recall", best->recall, "false_positive_rate", best->false_positive_rate,
                     "worse_than_chance", best->worse_than_chance != 0);
}

static json_t *columns_json(const struct accel_scores *scores)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < scores->facts.external + scores->facts.parametric; i++) {
        const struct accel_scores_column *column = &scores->columns[i];

        json_add(list,
                 json_pack("{s:o, s:s, s:f, s:f}", "name", json_text(column->name), "kind",
                           column->external ? "ES" : "PK", "auc", column->auc, "information", column->information));
    }
    return list;
}

static json_t *gains_json(const struct accel_scores_report *report)
{
    json_t *list = json_array();

    for (const struct accel_scores_gain *gain = report->gains; gain < report->gains + ACCEL_SCORES_GAINS; gain++)
        json_add(list,
                 json_pack("{s:s, s:s, s:s, s:{s:f, s:f, s:f}, s:{s:f, s:f, s:f, s:f, s:f}}", "tool", gain->tool,
                           "measure", measure_key(gain->measure), "choice", gain->choice, "sample", "before",
                           gain->before, "after", gain->after, "gain", gain->after - gain->before, "held_out", "before",
                           gain->held_before, "after", gain->held_after, "gain", gain->held_after - gain->held_before,
                           "spread", gain->held_spread, "won", gain->held_won));
    return list;
}

static int print_document(const char *path, const struct accel_scores *scores, const struct accel_scores_report *report)
{
    const struct accel_scores_facts *facts = &scores->facts;
    const struct accel_scores_summary *s = &report->summary;

    return print_json(
        json_pack(
            "{s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:{s:I, s:I}, s:{s:o, s:o}, s:{s:i, s:f, s:f}, s:{s:i, s:i, "
            "s:I, s:s}, s:o, s:o}",
            "origin", "measured: the rows of the file, with the formula and the folds below", "path", path, "rows",
            (json_int_t)facts->rows, "responses", (json_int_t)facts->groups, "positive_rows",
            (json_int_t)facts->positive_rows, "positive_responses", (json_int_t)facts->positive_groups, "baseline",
            formula_json(&s->baseline, &s->baseline_quality,
                         "given: --top-n, --top-k, --alpha and --m, or their defaults"),
            "best",
            formula_json(&s->best, &s->best_quality,
                         "measured: the point of the grid with the largest AUC of responses"),
            "grid", "points", (json_int_t)s->points, "distinct", (json_int_t)s->distinct, "thresholds", "responses",
            threshold_json(&s->group_best), "rows", threshold_json(&s->row_best), "ensemble", "members",
            (int)s->members, "least", s->member_least, "most", s->member_most, "held_out", "folds", (int)s->folds,
            "repeats", (int)s->repeats, "seed", (json_int_t)s->seed, "origin",
            "given: --folds, --repeats and --seed, or their defaults", "gains", gains_json(report), "columns",
            columns_json(scores)),
        "accelctl/scores/1");
}

static int32_t tune(const struct scores_options *chosen, const struct accel_scores *scores,
                    struct accel_scores_report **out_report, struct accel_error *error)
{
    struct progress progress;
    const struct accel_scores_formula formula = {
        .top_n = (uint32_t)chosen->top_n, .top_k = (uint32_t)chosen->top_k, .alpha = chosen->alpha, .m = chosen->m};
    const struct accel_scores_options wanted = {.folds = (uint32_t)chosen->folds,
                                                .repeats = (uint32_t)chosen->repeats,
                                                .select = (uint32_t)chosen->select,
                                                .members = (uint32_t)chosen->members,
                                                .bins = (uint32_t)chosen->bins,
                                                .seed = chosen->seed,
                                                .formula = &formula,
                                                .progress = progress_update,
                                                .progress_data = &progress};
    int32_t code;

    progress_begin(&progress, NULL, 0);
    progress_next(&progress, "tuning on folds");
    code = accel_scores_tune(scores, &wanted, out_report, error);
    progress_end(&progress);
    return code;
}

static int run(int count, char **arguments)
{
    struct scores_options chosen = {.seed = 1, .top_n = 3, .top_k = 4, .alpha = 0.6, .m = 1};
    struct accel_scores *scores = NULL;
    struct accel_scores_report *report = NULL;
    struct accel_error error = {0};
    int code = parse_options(&command_scores, &count, arguments, &chosen);
    int32_t result;

    if (code >= 0)
        return code;
    result = accel_scores_read(arguments[0], &chosen.names, &scores, &error);
    if (result != ACCEL_OK && result != ACCEL_E_MEMORY && error.remedy[0] == '\0')
        accel_error_remedy(&error,
                           "name a CSV file that is there and may be read, with the columns response, label, ES... "
                           "and PK...; accelctl scores --help describes them");
    if (result == ACCEL_OK)
        result = tune(&chosen, scores, &report, &error);
    if (result != ACCEL_OK) {
        code = report_error(chosen.json, &error);
    } else if (chosen.json) {
        code = print_document(arguments[0], scores, report);
    } else {
        print_report(arguments[0], scores, report);
        if (chosen.columns)
            print_columns(scores);
        code = EXIT_DONE;
    }
    free(report);
    accel_scores_free(scores);
    return code;
}

static int act(int count, char **arguments)
{
    return run(count - 1, arguments + 1);
}

int main(int count, char **arguments)
{
    return run_process(act, count, arguments);
}
