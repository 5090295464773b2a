/* SPDX-License-Identifier: Apache-2.0 */
/* Tunes the tools. Each tool is fitted to one part of the groups and measured on another, beside a baseline fitted
 * to that part: once with all groups as both parts, then with held-out folds. */
#include "config.h"

#include "tools/accel-scores/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TOOL_GRID,
    TOOL_INFORMATION,
    TOOL_MEAN,
    TOOL_VOTE,
    TOOLS,
    GAINS = 2 * TOOLS + 2,
    CHOICE_BYTES = ACCEL_SCORES_CHOICE
};
_Static_assert(GAINS == ACCEL_SCORES_GAINS, "two of each tool, and two of the threshold");

static const char *const tool_names[] = {"grid", "information", "ensemble-mean", "ensemble-vote"};

/** One measurement of all tools. */
struct outcome {
    double before[GAINS], after[GAINS];
};

struct tuner {
    const struct accel_scores *scores;
    struct accel_scores_options options; /* with defaults filled in */
    struct accel_scores_formula baseline;
    struct grid grid;
    struct scores_choice ranked;   /* by AUC */
    struct scores_choice informed; /* by mutual information */
    struct scores_choice member;   /* of an ensemble: its own ES columns, PK by AUC */
    struct scores_sum base, tool, vote, one;
    struct scores_pair *pairs; /* [rows] */
    uint32_t *columns;         /* [members][external], the first half of each is its own */
    uint32_t *order;           /* [groups] */
    uint32_t *fold;            /* [groups] */
    struct accel_scores_report *report;
    struct accel_error *error;
};

/* ---- chance ---- */

/* The next number of a sequence (splitmix64), the same on every machine. */
static uint64_t scores_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The bias of the remainder is below 2^-32. */
static uint32_t scores_below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)(scores_random(state) % limit);
}

static void shuffle(uint32_t *list, uint32_t count, uint64_t *state)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = scores_below(state, i), swapped = list[i - 1];

        list[i - 1] = list[j];
        list[j] = swapped;
    }
}

/* Deals groups to folds. `order` has space for all groups. */
static void scores_deal(const struct accel_scores *scores, uint32_t folds, uint64_t *state, uint32_t *order,
                        uint32_t *fold)
{
    uint32_t groups = (uint32_t)scores->facts.groups, next = 0;

    for (uint32_t i = 0; i < groups; i++)
        order[i] = i;
    shuffle(order, groups, state);
    for (int label = 1; label >= 0; label--)
        for (uint32_t i = 0; i < groups; i++)
            if (scores->group_labels[order[i]] == label)
                fold[order[i]] = next++ % folds;
}

/* ---- tools ---- */

static double auc_in(struct tuner *tuner, const struct scores_part *test, const double *values, uint32_t by_row)
{
    return scores_auc_sorted(tuner->pairs, scores_collect(tuner->scores, test, values, by_row, tuner->pairs));
}

/* Measures the AUC of a tool's scores and that of the baseline. */
static void measure_auc(struct tuner *tuner, const struct scores_part *test, uint32_t tool,
                        const struct scores_sum *sum, struct outcome *outcome)
{
    outcome->before[2 * tool] = auc_in(tuner, test, tuner->base.groups, 0);
    outcome->before[2 * tool + 1] = auc_in(tuner, test, tuner->base.rows, 1);
    outcome->after[2 * tool] = auc_in(tuner, test, sum->groups, 0);
    outcome->after[2 * tool + 1] = auc_in(tuner, test, sum->rows, 1);
}

static int32_t try_grid(struct tuner *tuner, const struct scores_part *fit, const struct scores_part *test,
                        struct outcome *outcome)
{
    struct accel_scores_formula best = tuner->baseline;
    int32_t code;

    grid_search(tuner->scores, fit, &tuner->ranked, &tuner->grid, tuner->pairs, &best);
    if (fit->fold == NULL)
        tuner->report->summary.best = best;
    code = scores_formula_fit(tuner->scores, fit, &best, &tuner->ranked, &tuner->tool, tuner->error);
    if (code == ACCEL_OK)
        measure_auc(tuner, test, TOOL_GRID, &tuner->tool, outcome);
    return code;
}

static int32_t try_information(struct tuner *tuner, const struct scores_part *fit, const struct scores_part *test,
                               struct outcome *outcome)
{
    struct accel_scores_formula formula = tuner->baseline;
    int32_t code = scores_choice_rank(tuner->scores, fit, tuner->options.bins, &tuner->informed, tuner->error);

    formula.top_n = tuner->options.select;
    if (code == ACCEL_OK)
        code = scores_formula_fit(tuner->scores, fit, &formula, &tuner->informed, &tuner->tool, tuner->error);
    if (code == ACCEL_OK)
        measure_auc(tuner, test, TOOL_INFORMATION, &tuner->tool, outcome);
    return code;
}

static void note_member(struct accel_scores_summary *summary, uint32_t index, double auc)
{
    if (index == 0 || auc < summary->member_least)
        summary->member_least = auc;
    if (index == 0 || auc > summary->member_most)
        summary->member_most = auc;
}

static int32_t try_ensemble(struct tuner *tuner, const struct scores_part *fit, const struct scores_part *test,
                            struct outcome *outcome)
{
    uint32_t external = tuner->scores->facts.external, members = tuner->options.members;
    struct accel_scores_formula formula = tuner->baseline;
    uint64_t rows = tuner->scores->facts.rows;
    int32_t code = ACCEL_OK;

    formula.top_n = (external + 1) / 2;
    memset(tuner->tool.rows, 0, (size_t)rows * sizeof(*tuner->tool.rows));
    memset(tuner->vote.rows, 0, (size_t)rows * sizeof(*tuner->vote.rows));
    memcpy(tuner->member.parametric, tuner->ranked.parametric,
           tuner->scores->facts.parametric * sizeof(*tuner->member.parametric));
    for (uint32_t i = 0; i < members && code == ACCEL_OK; i++) {
        memcpy(tuner->member.external, tuner->columns + (size_t)i * external, external * sizeof(*tuner->columns));
        code = scores_formula_fit(tuner->scores, fit, &formula, &tuner->member, &tuner->one, tuner->error);
        scores_map(tuner->scores, fit, 1, tuner->one.rows);
        scores_sum_average(tuner->scores, &tuner->one);
        if (fit->fold == NULL)
            note_member(&tuner->report->summary, i, auc_in(tuner, test, tuner->one.groups, 0));
        for (uint64_t row = 0; row < rows; row++) {
            tuner->tool.rows[row] += tuner->one.rows[row] / members;
            tuner->vote.rows[row] += (tuner->one.rows[row] >= 0.5) / (double)members;
        }
    }
    if (code != ACCEL_OK)
        return code;
    scores_sum_average(tuner->scores, &tuner->tool);
    scores_sum_average(tuner->scores, &tuner->vote);
    measure_auc(tuner, test, TOOL_MEAN, &tuner->tool, outcome);
    measure_auc(tuner, test, TOOL_VOTE, &tuner->vote, outcome);
    return ACCEL_OK;
}

/* F1 of sorted pairs at a threshold. */
static double f1_at(const struct scores_pair *pairs, uint64_t count, double threshold)
{
    uint64_t positives = 0, found = 0, taken = 0;

    for (uint64_t i = 0; i < count; i++) {
        positives += pairs[i].label;
        taken += pairs[i].score >= threshold;
        found += pairs[i].score >= threshold && pairs[i].label;
    }
    return taken + positives == 0 ? 0 : 2.0 * (double)found / (double)(taken + positives);
}

/* Maps the baseline's scores last, since nothing else reads them after that. */
static void try_threshold(struct tuner *tuner, const struct scores_part *fit, const struct scores_part *test,
                          struct outcome *outcome)
{
    struct accel_scores_summary *summary = &tuner->report->summary;

    for (uint32_t by_row = 0; by_row < 2; by_row++) {
        double *values = by_row ? tuner->base.rows : tuner->base.groups;
        struct accel_scores_threshold best;
        uint64_t count;

        scores_map(tuner->scores, fit, by_row, values);
        scores_sweep_sorted(tuner->pairs, scores_collect(tuner->scores, fit, values, by_row, tuner->pairs), &best);
        if (fit->fold == NULL)
            *(by_row ? &summary->row_best : &summary->group_best) = best;
        count = scores_collect(tuner->scores, test, values, by_row, tuner->pairs);
        outcome->before[2 * TOOLS + by_row] = f1_at(tuner->pairs, count, 0.5);
        outcome->after[2 * TOOLS + by_row] = f1_at(tuner->pairs, count, best.threshold);
    }
}

static int32_t try_all(struct tuner *tuner, const struct scores_part *fit, const struct scores_part *test,
                       struct outcome *outcome)
{
    int32_t code = scores_choice_rank(tuner->scores, fit, 0, &tuner->ranked, tuner->error);

    if (code == ACCEL_OK)
        code = scores_formula_fit(tuner->scores, fit, &tuner->baseline, &tuner->ranked, &tuner->base, tuner->error);
    if (code == ACCEL_OK)
        code = try_grid(tuner, fit, test, outcome);
    if (code == ACCEL_OK)
        code = try_information(tuner, fit, test, outcome);
    if (code == ACCEL_OK)
        code = try_ensemble(tuner, fit, test, outcome);
    if (code == ACCEL_OK)
        try_threshold(tuner, fit, test, outcome);
    return code;
}

/* ---- words ---- */

static void print_columns(const struct tuner *tuner, char text[CHOICE_BYTES])
{
    uint32_t select = scores_least(tuner->options.select, tuner->scores->facts.external);
    int used = snprintf(text, CHOICE_BYTES, "%u of %u ES columns:", select, tuner->scores->facts.external);

    for (uint32_t i = 0; i < select && used < CHOICE_BYTES; i++)
        used += snprintf(text + used, CHOICE_BYTES - (size_t)used, "%s %.40s", i == 0 ? "" : ",",
                         tuner->scores->columns[tuner->informed.external[i]].name);
}

/* Describes the choices that were made on all groups. */
static void print_choices(struct tuner *tuner)
{
    struct accel_scores_report *report = tuner->report;
    const struct accel_scores_formula *best = &report->summary.best;

    for (uint32_t i = 0; i < 2; i++) {
        snprintf(report->choices[2 * TOOL_GRID + i], CHOICE_BYTES, "top_n %u, top_k %u, alpha %g, m %g", best->top_n,
                 best->top_k, best->alpha, best->m);
        print_columns(tuner, report->choices[2 * TOOL_INFORMATION + i]);
        snprintf(report->choices[2 * TOOL_MEAN + i], CHOICE_BYTES,
                 "%u members with %u of %u ES columns each: mean of their scores", tuner->options.members,
                 (tuner->scores->facts.external + 1) / 2, tuner->scores->facts.external);
        snprintf(report->choices[2 * TOOL_VOTE + i], CHOICE_BYTES,
                 "the same members: share of those with a score of 0.5 or more");
        snprintf(report->choices[2 * TOOLS + i], CHOICE_BYTES, "%s: %.4f instead of 0.5", i ? "rows" : "responses",
                 (i ? &report->summary.row_best : &report->summary.group_best)->threshold);
    }
}

static void begin_gains(struct tuner *tuner, const struct outcome *all)
{
    for (uint32_t i = 0; i < GAINS; i++)
        tuner->report->gains[i] = (struct accel_scores_gain){
            .measure = (i >= 2 * TOOLS ? ACCEL_SCORES_F1_GROUPS : ACCEL_SCORES_AUC_GROUPS) + i % 2,
            .tool = i >= 2 * TOOLS ? "threshold" : tool_names[i / 2],
            .choice = tuner->report->choices[i],
            .before = all->before[i],
            .after = all->after[i]};
}

/* ---- folds ---- */

static void finish_gains(struct tuner *tuner, const struct outcome *held, uint32_t count)
{
    for (uint32_t i = 0; i < GAINS; i++) {
        struct accel_scores_gain *gain = &tuner->report->gains[i];
        double mean, squares = 0;

        for (uint32_t j = 0; j < count; j++) {
            gain->held_before += held[j].before[i] / count;
            gain->held_after += held[j].after[i] / count;
            gain->held_won += (held[j].after[i] > held[j].before[i]) / (double)count;
        }
        mean = gain->held_after - gain->held_before;
        for (uint32_t j = 0; j < count; j++) {
            double difference = held[j].after[i] - held[j].before[i] - mean;

            squares += difference * difference;
        }
        gain->held_spread = count > 1 ? sqrt(squares / (count - 1)) : 0;
    }
}

static int32_t tell(struct tuner *tuner, uint64_t done, uint64_t all)
{
    if (tuner->options.progress == NULL || tuner->options.progress(tuner->options.progress_data, done, all) == 0)
        return ACCEL_OK;
    return accel_error_set(tuner->error, ACCEL_E_CANCELLED, "cancelled after %llu of %llu fits",
                           (unsigned long long)done, (unsigned long long)all);
}

static int32_t hold_out(struct tuner *tuner, uint64_t *state)
{
    uint32_t folds = tuner->options.folds, count = folds * tuner->options.repeats;
    struct outcome *held = calloc(count, sizeof(*held));
    int32_t code = ACCEL_OK;

    if (held == NULL)
        return accel_error_no_memory(tuner->error, "for %u folds", count);
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++) {
        const struct scores_part fit = {.fold = tuner->fold, .held = i % folds};
        const struct scores_part test = {.fold = tuner->fold, .held = i % folds, .inside = 1};

        if (i % folds == 0)
            scores_deal(tuner->scores, folds, state, tuner->order, tuner->fold);
        code = try_all(tuner, &fit, &test, &held[i]);
        if (code == ACCEL_OK)
            code = tell(tuner, (uint64_t)i + 2, (uint64_t)count + 1);
    }
    if (code == ACCEL_OK)
        finish_gains(tuner, held, count);
    free(held);
    return code;
}

/* ---- begin and end ---- */

static int32_t check_options(const struct accel_scores_options *given, struct tuner *tuner)
{
    static const struct accel_scores_formula documents = {.top_n = 3, .top_k = 4, .alpha = 0.6, .m = 1};
    struct accel_scores_options *options = &tuner->options;
    const struct accel_scores_facts *facts = &tuner->scores->facts;
    uint64_t least = facts->positive_groups;

    if (given != NULL)
        *options = *given;
    options->folds = options->folds == 0 ? 5 : options->folds;
    options->repeats = options->repeats == 0 ? 10 : options->repeats;
    options->select = options->select == 0 ? (facts->external + 1) / 2 : options->select;
    options->members = options->members == 0 ? 5 : options->members;
    options->bins = options->bins == 0 ? SCORES_BINS : options->bins;
    least = facts->groups - least < least ? facts->groups - least : least;
    if (options->folds < 2 || options->folds > least)
        return accel_error_set(tuner->error, ACCEL_E_INVALID,
                               "%u folds: 2 to %llu are possible, since each needs responses of both labels",
                               options->folds, (unsigned long long)least);
    if (options->repeats > 100000 / options->folds || options->members > 10000 || options->bins < 2 ||
        options->bins > 4096)
        return accel_error_set(tuner->error, ACCEL_E_LIMIT,
                               "%u repeats, %u members, %u bins: 100000 fits, 10000 members and 2 to 4096 bins can be "
                               "had",
                               options->repeats, options->members, options->bins);
    return scores_formula_take(options->formula == NULL ? &documents : options->formula, &tuner->baseline,
                               tuner->error);
}

static int32_t make_room(struct tuner *tuner)
{
    const struct accel_scores *scores = tuner->scores;
    struct scores_sum *sums[] = {&tuner->base, &tuner->tool, &tuner->vote, &tuner->one};
    struct scores_choice *choices[] = {&tuner->ranked, &tuner->informed, &tuner->member};
    int32_t code = ACCEL_OK;

    for (int i = 0; i < 4 && code == ACCEL_OK; i++)
        code = scores_sum_make(scores, sums[i], tuner->error);
    for (int i = 0; i < 3 && code == ACCEL_OK; i++)
        code = scores_choice_make(scores, choices[i], tuner->error);
    tuner->pairs = calloc((size_t)scores->facts.rows, sizeof(*tuner->pairs));
    tuner->columns = calloc((size_t)tuner->options.members * scores->facts.external + 1, sizeof(*tuner->columns));
    tuner->order = calloc((size_t)scores->facts.groups, sizeof(*tuner->order));
    tuner->fold = calloc((size_t)scores->facts.groups, sizeof(*tuner->fold));
    tuner->report = calloc(1, sizeof(*tuner->report));
    if (code == ACCEL_OK && (tuner->pairs == NULL || tuner->columns == NULL || tuner->order == NULL ||
                             tuner->fold == NULL || tuner->report == NULL))
        return accel_error_no_memory(tuner->error, "to tune");
    return code;
}

static void free_room(struct tuner *tuner)
{
    scores_sum_free(&tuner->base);
    scores_sum_free(&tuner->tool);
    scores_sum_free(&tuner->vote);
    scores_sum_free(&tuner->one);
    scores_choice_free(&tuner->ranked);
    scores_choice_free(&tuner->informed);
    scores_choice_free(&tuner->member);
    grid_free(&tuner->grid);
    free(tuner->pairs);
    free(tuner->columns);
    free(tuner->order);
    free(tuner->fold);
}

static void draw_members(struct tuner *tuner, uint64_t *state)
{
    uint32_t external = tuner->scores->facts.external;

    for (uint32_t i = 0; i < tuner->options.members; i++) {
        uint32_t *columns = tuner->columns + (size_t)i * external;

        for (uint32_t j = 0; j < external; j++)
            columns[j] = j;
        shuffle(columns, external, state);
    }
}

static int32_t tune(struct tuner *tuner)
{
    const struct scores_part all = {0};
    uint64_t state = tuner->options.seed;
    struct accel_scores_summary *summary = &tuner->report->summary;
    struct outcome outcome = {{0}, {0}};
    int32_t code;

    *summary = (struct accel_scores_summary){.folds = tuner->options.folds,
                                             .repeats = tuner->options.repeats,
                                             .members = tuner->options.members,
                                             .seed = tuner->options.seed,
                                             .points = tuner->grid.points,
                                             .baseline = tuner->baseline};
    summary->distinct = (uint64_t)tuner->grid.top_n_count * tuner->grid.top_k_count * tuner->grid.ratio_count;
    draw_members(tuner, &state);
    code = try_all(tuner, &all, &all, &outcome);
    if (code == ACCEL_OK)
        code = scores_quality_of(tuner->scores, &summary->baseline, &summary->baseline_quality, tuner->error);
    if (code == ACCEL_OK)
        code = scores_quality_of(tuner->scores, &summary->best, &summary->best_quality, tuner->error);
    if (code != ACCEL_OK)
        return code;
    begin_gains(tuner, &outcome);
    print_choices(tuner);
    code = tell(tuner, 1, (uint64_t)tuner->options.folds * tuner->options.repeats + 1);
    return code == ACCEL_OK ? hold_out(tuner, &state) : code;
}

int32_t accel_scores_tune(const struct accel_scores *scores, const struct accel_scores_options *options,
                          struct accel_scores_report **out_report, struct accel_error *error)
{
    struct tuner tuner = {.scores = scores, .error = error};
    int32_t code;

    *out_report = NULL;
    code = check_options(options, &tuner);
    if (code == ACCEL_OK)
        code = grid_make(scores, &tuner.grid, error);
    if (code == ACCEL_OK)
        code = make_room(&tuner);
    if (code == ACCEL_OK)
        code = tune(&tuner);
    if (code == ACCEL_OK)
        *out_report = tuner.report;
    else
        free(tuner.report);
    free_room(&tuner);
    return code;
}
