/* SPDX-License-Identifier: Apache-2.0 */
/* Measures by hand-made cases, malformed tables by place, the tools on a synthetic table and on the published one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/accel-scores/internal.h"

#define NEAR(a, b, most) assert_true(fabs((a) - (b)) <= (most))

/* Makes sorted pairs of at most six scores. */
static const struct scores_pair *sorted(const double *scores, const uint8_t *labels, uint64_t count)
{
    static struct scores_pair pairs[6];

    assert_true(count <= 6);
    for (uint64_t i = 0; i < count; i++)
        pairs[i] = (struct scores_pair){scores[i], labels[i]};
    scores_sort(pairs, count);
    return pairs;
}

static void test_auc(void **state)
{
    const double scores[] = {0.1, 0.4, 0.35, 0.8}, ties[] = {1, 1, 1, 2, 2, 3}, flat[] = {5, 5, 5};
    const uint8_t labels[] = {0, 0, 1, 1}, mixed[] = {0, 1, 0, 1, 0, 1}, some[] = {1, 0, 1}, same[] = {1, 1, 1};

    (void)state;
    assert_true(scores_auc_sorted(sorted(scores, labels, 4), 4) == 0.75);
    /* 9 pairs: 1 over 1, 1: two ties; 1 under 2; 2 over 1, 1, ties with 2; 3 over all. */
    NEAR(scores_auc_sorted(sorted(ties, mixed, 6), 6), (1.0 + 2.5 + 3.0) / 9.0, 1e-15);
    assert_true(scores_auc_sorted(sorted(flat, some, 3), 3) == 0.5);
    assert_true(scores_auc_sorted(sorted(flat, same, 3), 3) == -1);
}

static void test_sweep(void **state)
{
    const double scores[] = {0.1, 0.4, 0.35, 0.8}, back[] = {4, 2, 3, 1};
    const uint8_t labels[] = {0, 0, 1, 1};
    struct accel_scores_threshold found = {0};

    (void)state;
    /* F1 at 0.8: 2/3; at 0.4: 1/2; at 0.35: 4/5; at 0.1: 2/3. */
    scores_sweep_sorted(sorted(scores, labels, 4), 4, &found);
    assert_true(found.threshold == 0.35);
    NEAR(found.f1, 0.8, 1e-15);
    NEAR(found.precision, 2.0 / 3.0, 1e-15);
    assert_true(found.recall == 1 && found.false_positive_rate == 0.5 && found.worse_than_chance == 0);
    /* F1 at 4: 0; at 3: 1/2; at 2: 2/5; at 1: 2/3. */
    scores_sweep_sorted(sorted(back, labels, 4), 4, &found);
    assert_true(found.threshold == 1 && found.recall == 1 && found.false_positive_rate == 1);
    NEAR(found.f1, 2.0 / 3.0, 1e-15);
}

static void test_information(void **state)
{
    const double told[] = {1, 2, 3, 4}, flat[] = {7, 7, 7, 7};
    const uint8_t labels[] = {0, 0, 1, 1}, crossed[] = {0, 1, 0, 1};

    (void)state;
    NEAR(scores_information_sorted(sorted(told, labels, 4), 4, 2), log(2), 1e-15);
    NEAR(scores_information_sorted(sorted(told, crossed, 4), 4, 2), 0, 1e-15);
    NEAR(scores_information_sorted(sorted(flat, labels, 4), 4, 4), 0, 1e-15);
    /* Bins {1, 2, 3} and {4} of 4 values are not to be had from 2 bins; from 4 each value has its own. */
    NEAR(scores_information_sorted(sorted(told, crossed, 4), 4, 4), log(2), 1e-15);
}

/* What a text is refused with. */
static void refuse(const char *text, int32_t code, const char *place)
{
    struct accel_scores *scores = NULL;
    struct accel_error error = {0};
    int32_t got = accel_scores_parse(text, strlen(text), "t.csv", NULL, &scores, &error);

    assert_null(scores);
    if (got != code || strstr(error.text, place) == NULL)
        fail_msg("%s: got %d, '%s'; wanted '%s'", text, got, error.text, place);
}

static void test_malformed(void **state)
{
    (void)state;
    refuse("", ACCEL_E_CORRUPT, "t.csv:1:1: the file is empty");
    refuse("response,label,ES\n", ACCEL_E_CORRUPT, "no row");
    refuse("a,label,ES\n0,1,2\n", ACCEL_E_CORRUPT, "t.csv:1:1: no column is called 'response'");
    refuse("response,b,ES\n0,1,2\n", ACCEL_E_CORRUPT, "no column is called 'label'");
    refuse("response,label,label,ES\n", ACCEL_E_CORRUPT, "t.csv:1:16: a second column called 'label'");
    refuse("response,label,x\n0,1,2\n", ACCEL_E_CORRUPT, "t.csv:1:1: no column of scores");
    refuse("response,label,ES\n0,1,2\n0,1\n", ACCEL_E_CORRUPT, "t.csv:3:3: the line has only 2 fields");
    refuse("response,label,ES\n0,1,2,3\n", ACCEL_E_CORRUPT, "t.csv:2:7: the line has more than 3 fields");
    refuse("response,label,ES\n0,1,2x\n", ACCEL_E_CORRUPT, "t.csv:2:5: expected a number, not '2x'");
    refuse("response,label,ES\n0,1,nan\n", ACCEL_E_CORRUPT, "t.csv:2:5: expected a number");
    refuse("response,label,ES\n0,1,\n", ACCEL_E_CORRUPT, "t.csv:2:5: expected a number");
    refuse("response,label,ES\n0,1,1e999\n", ACCEL_E_CORRUPT, "t.csv:2:5: the number is too large");
    refuse("response,label,ES\n0,1,1.2.3\n", ACCEL_E_CORRUPT, "t.csv:2:5: expected a number");
    refuse("response,label,ES\n\n0,2,1\n", ACCEL_E_CORRUPT, "t.csv:3:3: a label is 0 or 1, not '2'");
    refuse("response,label,ES\n0,1,\"1\n", ACCEL_E_CORRUPT, "t.csv:2:5: a quote is not closed");
    refuse("response,label,ES\n0,1,\"1\"2\n", ACCEL_E_CORRUPT, "t.csv:2:5: text after the closing quote");
    refuse("response,label,ES\n0,1,2\n1,1,2\n", ACCEL_E_INVALID, "all 2 responses have the label 1");
}

static void test_parse(void **state)
{
    const char text[] =
        "\xef\xbb\xbf\"q\"\"1\",PX,y,s_b,s_a\r\n\"one, two\",-1e1,1,1,.5\r\n\r\nb,2,0,3,4\r\n\"one, two\",7,0,5,6";
    const struct accel_scores_names names = {.group = "q\"1", .label = "y", .external = "s_", .parametric = "P"};
    const struct accel_scores_facts *facts;
    struct accel_scores *scores = NULL;
    struct accel_error error = {0};

    (void)state;
    if (accel_scores_parse(text, sizeof(text) - 1, "t", &names, &scores, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    facts = &scores->facts;
    assert_int_equal(facts->rows, 3);
    assert_int_equal(facts->groups, 2);
    assert_int_equal(facts->positive_rows, 1);
    assert_int_equal(facts->positive_groups, 1);
    assert_int_equal(facts->external, 2);
    assert_int_equal(facts->parametric, 1);
    assert_string_equal(scores->columns[0].name, "s_b");
    assert_true(scores->columns[0].auc == 1);
    assert_string_equal(scores->columns[2].name, "PX");
    assert_true(scores->columns[2].auc == 0 && scores->columns[2].external == 0);
    accel_scores_free(scores);
}

static struct accel_scores *read_table(const char *path)
{
    struct accel_scores *scores = NULL;
    struct accel_error error = {0};

    if (accel_scores_read(path, NULL, &scores, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    return scores;
}

static struct accel_scores_quality quality_of(const struct accel_scores *scores, uint32_t n, uint32_t k, double alpha,
                                              double m)
{
    const struct accel_scores_formula formula = {.top_n = n, .top_k = k, .alpha = alpha, .m = m};
    struct accel_scores_quality quality = {0};

    assert_int_equal(scores_quality_of(scores, &formula, &quality, NULL), ACCEL_OK);
    return quality;
}

static struct accel_scores *synthetic(void)
{
    const char *tree = getenv("ACCEL_TEST_SRCDIR");
    char path[1024];

    snprintf(path, sizeof(path), "%s/tests/fixtures/scores/synthetic.csv", tree == NULL ? "." : tree);
    return read_table(path);
}

/* Values of an independent computation that counts all pairs. */
static void test_formula(void **state)
{
    const struct accel_scores_formula bad = {.top_n = 1, .alpha = -1, .m = 1};
    struct accel_scores *scores = synthetic();
    struct accel_scores_formula taken;
    struct accel_scores_quality quality;

    (void)state;
    quality = quality_of(scores, 1, 1, 0.6, 1);
    NEAR(quality.row_auc, 0.8619791666666667, 1e-12);
    NEAR(quality.group_auc, 0.875, 1e-12);
    quality = quality_of(scores, 3, 2, 0.6, 1);
    NEAR(quality.row_auc, 0.8020833333333333, 1e-12);
    NEAR(quality.group_auc, 0.84375, 1e-12);
    quality = quality_of(scores, 9, 9, 1.6, 0.5);
    NEAR(quality.row_auc, 0.78125, 1e-12);
    NEAR(quality.group_auc, 0.7109375, 1e-12);
    assert_int_equal(scores_formula_take(&bad, &taken, NULL), ACCEL_E_INVALID);
    accel_scores_free(scores);
}

static const struct accel_scores_gain *find_gain(const struct accel_scores_report *report, const char *tool,
                                                 uint32_t measure)
{
    for (uint32_t i = 0; i < ACCEL_SCORES_GAINS; i++) {
        const struct accel_scores_gain *gain = &report->gains[i];

        if (strcmp(gain->tool, tool) == 0 && gain->measure == measure)
            return gain;
    }
    fail_msg("no gain of %s", tool);
    return NULL;
}

static int32_t stop(void *data, uint64_t done, uint64_t all)
{
    (void)all;
    return ++*(uint32_t *)data > 2 && done > 2;
}

static void test_tools(void **state)
{
    struct accel_scores *scores = synthetic();
    struct accel_scores_options options = {.folds = 4, .repeats = 3, .seed = 1};
    struct accel_scores_report *report = NULL, *again = NULL, *other = NULL;
    const struct accel_scores_summary *summary;
    const struct accel_scores_gain *grid;
    uint32_t calls = 0;

    (void)state;
    assert_int_equal(accel_scores_tune(scores, &options, &report, NULL), ACCEL_OK);
    assert_int_equal(accel_scores_tune(scores, &options, &again, NULL), ACCEL_OK);
    options.seed = 2;
    assert_int_equal(accel_scores_tune(scores, &options, &other, NULL), ACCEL_OK);
    summary = &report->summary;
    assert_int_equal(summary->points, 1960);
    /* 4 ES and 3 PK columns, 28 ratios of alpha and m. */
    assert_int_equal(summary->distinct, 4 * 3 * 28);
    grid = find_gain(report, "grid", ACCEL_SCORES_AUC_GROUPS);
    assert_true(grid->after >= grid->before && grid->after == summary->best_quality.group_auc);
    NEAR(grid->before, quality_of(scores, 3, 4, 0.6, 1).group_auc, 1e-15);
    NEAR(quality_of(scores, summary->best.top_n, summary->best.top_k, summary->best.alpha, summary->best.m).group_auc,
         grid->after, 1e-15);
    assert_true(find_gain(report, "threshold", ACCEL_SCORES_F1_ROWS)->after >=
                find_gain(report, "threshold", ACCEL_SCORES_F1_ROWS)->before);
    for (uint32_t i = 0; i < ACCEL_SCORES_GAINS; i++) {
        const struct accel_scores_gain *a = &report->gains[i];
        const struct accel_scores_gain *b = &again->gains[i];

        assert_true(a->held_after == b->held_after && a->held_before == b->held_before && a->after == b->after);
        assert_true(a->held_after > 0 && a->held_after < 1 && a->held_won >= 0 && a->held_won <= 1);
    }
    assert_true(find_gain(other, "grid", ACCEL_SCORES_AUC_GROUPS)->held_after != grid->held_after);
    assert_true(find_gain(other, "grid", ACCEL_SCORES_AUC_GROUPS)->after == grid->after);
    free(report);
    free(again);
    free(other);
    options.progress = stop;
    options.progress_data = &calls;
    assert_int_equal(accel_scores_tune(scores, &options, &report, NULL), ACCEL_E_CANCELLED);
    assert_int_equal(calls, 3);
    assert_null(report);
    options.folds = 9;
    assert_int_equal(accel_scores_tune(scores, &options, &report, NULL), ACCEL_E_INVALID);
    accel_scores_free(scores);
}

/* Columns of noise, told apart by luck alone: tools gain on what they have seen, and nothing on what they have not. */
static void test_noise(void **state)
{
    struct accel_scores_options options = {.repeats = 4, .seed = 1};
    struct accel_scores *scores = NULL;
    struct accel_scores_report *report = NULL;
    const struct accel_scores_gain *grid;
    uint64_t state_of = 5;
    char *text = calloc(400, 200);
    size_t used;

    (void)state;
    assert_non_null(text);
    used = (size_t)sprintf(text, "response,label,ES_0,ES_1,ES_2,ES_3,ES_4,ES_5,PK_0,PK_1\n");
    for (int row = 0; row < 300; row++) {
        used += (size_t)sprintf(text + used, "%d,%d", row, row % 2);
        for (int i = 0; i < 8; i++) {
            state_of = state_of * 6364136223846793005u + 1442695040888963407u;
            used += (size_t)sprintf(text + used, ",%u", (unsigned)(state_of >> 40));
        }
        used += (size_t)sprintf(text + used, "\n");
    }
    assert_int_equal(accel_scores_parse(text, used, "noise", NULL, &scores, NULL), ACCEL_OK);
    assert_int_equal(accel_scores_tune(scores, &options, &report, NULL), ACCEL_OK);
    grid = find_gain(report, "grid", ACCEL_SCORES_AUC_GROUPS);
    print_message("noise: grid in sample %.4f -> %.4f, held out %.4f -> %.4f\n", grid->before, grid->after,
                  grid->held_before, grid->held_after);
    assert_true(grid->after - grid->before > 0.03 && grid->held_after - grid->held_before < 0.015);
    free(report);
    accel_scores_free(scores);
    free(text);
}

/* The table of a published port: its AUC, and those that an independent computation gives. */
static void test_published(void **state)
{
    const char *shared = getenv("ACCEL_SHARED_FIXTURES");
    struct accel_scores_options options = {.repeats = 1, .seed = 1};
    struct accel_scores_quality quality;
    const struct accel_scores_facts *facts;
    struct accel_scores_report *report = NULL;
    struct accel_scores *scores;
    char path[1024];

    (void)state;
    snprintf(path, sizeof(path), "%s/../data/redeep_kaggle.csv", shared == NULL ? "." : shared);
    if (access(path, R_OK) != 0) {
        print_message("skipped: redeep_kaggle.csv is not here\n");
        skip();
    }
    scores = read_table(path);
    facts = &scores->facts;
    assert_int_equal(facts->rows, 1159);
    assert_int_equal(facts->groups, 450);
    assert_int_equal(facts->positive_rows, 291);
    assert_int_equal(facts->positive_groups, 226);
    quality = quality_of(scores, 3, 4, 0.6, 1);
    NEAR(quality.group_auc, 0.6885469342604298, 1e-12);
    NEAR(quality.row_auc, 0.5984646934929608, 1e-12);
    quality = quality_of(scores, 3, 4, 1.6, 0.5);
    NEAR(quality.group_auc, 0.701939791403287, 1e-12);
    assert_int_equal(accel_scores_tune(scores, &options, &report, NULL), ACCEL_OK);
    NEAR(report->summary.best_quality.group_auc, 0.7089917825537294, 1e-12);
    assert_int_equal(report->summary.distinct, 7 * 28);
    NEAR(find_gain(report, "threshold", ACCEL_SCORES_F1_ROWS)->before, 0.425, 5e-4);
    NEAR(find_gain(report, "threshold", ACCEL_SCORES_F1_ROWS)->after, 0.436, 5e-4);
    for (uint32_t i = 0; i < ACCEL_SCORES_GAINS; i++) {
        const struct accel_scores_gain *gain = &report->gains[i];

        print_message("%-14s %u: in sample %.4f -> %.4f, held out %.4f -> %.4f (%.4f): %s\n", gain->tool, gain->measure,
                      gain->before, gain->after, gain->held_before, gain->held_after, gain->held_spread, gain->choice);
    }
    free(report);
    accel_scores_free(scores);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_auc),       cmocka_unit_test(test_sweep), cmocka_unit_test(test_information),
        cmocka_unit_test(test_malformed), cmocka_unit_test(test_parse), cmocka_unit_test(test_formula),
        cmocka_unit_test(test_tools),     cmocka_unit_test(test_noise), cmocka_unit_test(test_published),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
