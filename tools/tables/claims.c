/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "tools/tables/internal.h"
#include "tools/tables/tables.h"

/* verdicts[ACCEL_PROMISE_...] */
static const char *const verdicts[] = {"", "claimed", "estimated", "measured", "rejected"};
#define VERDICTS (ACCEL_PROMISE_REJECTED + 1)

enum { ID, CLAIM, SUBJECT, VALUE, UNIT, BECAUSE, CHECK, OURS, FORMULA, FINDING, BOUND, MEASURE, MEMBERS };

/** The range of numbers that agree with a claimed value. */
struct accepted {
    double least;
    double most;
    bool excludes_least;
    bool excludes_most;
};

/* ---- the rule: ACCEL_PROMISE_RULE ---- */

/* Parses "<1", "<=3.8", ">0", ">=8.0". */
static bool parse_comparison(const char *value, struct accepted *out)
{
    const bool is_below = value[0] == '<', has_equal = value[1] == '=';
    double number;
    if ((value[0] != '<' && value[0] != '>') || !accel_formula_value(value + 1 + has_equal, &number))
        return false;
    *out = (struct accepted){is_below ? -HUGE_VAL : number, is_below ? number : HUGE_VAL, !is_below && !has_equal,
                             is_below && !has_equal};
    return true;
}

static bool parse_range(const char *value, struct accepted *out)
{
    const char *dots = strstr(value, "..");
    char first[32];
    *out = (struct accepted){0};
    if (dots == NULL || (size_t)(dots - value) >= sizeof(first))
        return false;
    memcpy(first, value, (size_t)(dots - value));
    first[dots - value] = '\0';
    return accel_formula_value(first, &out->least) && accel_formula_value(dots + 2, &out->most);
}

/* Parses a claimed value as a range; false for a claim in words. */
static bool parse_claimed(const char *value, struct accepted *out)
{
    double number, tolerance;
    if (parse_comparison(value, out) || parse_range(value, out))
        return true;
    if (!accel_formula_value(value, &number))
        return false;
    tolerance = fabs(number) * ACCEL_PROMISE_TOLERANCE / 100;
    *out = (struct accepted){number - tolerance, number + tolerance, false, false};
    return true;
}

/* Compares our number with a claim. `agreed` is the verdict if the number agrees. */
static uint32_t judge(const char *value, double ours, const char *bound, uint32_t agreed)
{
    struct accepted accepted;
    if (!parse_claimed(value, &accepted) || !isfinite(ours))
        return ACCEL_PROMISE_CLAIMED;
    if (strcmp(bound, "most") == 0)
        return accepted.least > ours ? ACCEL_PROMISE_REJECTED : ACCEL_PROMISE_CLAIMED;
    if (strcmp(bound, "least") == 0)
        return accepted.most < ours ? ACCEL_PROMISE_REJECTED : ACCEL_PROMISE_CLAIMED;
    if (ours < accepted.least || (accepted.excludes_least && ours == accepted.least) || ours > accepted.most ||
        (accepted.excludes_most && ours == accepted.most))
        return ACCEL_PROMISE_REJECTED;
    return agreed;
}

uint32_t accel_promise_judge(const struct accel_promise *promise, double measured)
{
    return promise ? judge(promise->value, measured, "", ACCEL_PROMISE_MEASURED) : ACCEL_PROMISE_CLAIMED;
}

const char *accel_promise_verdict_name(uint32_t verdict)
{
    return verdict < VERDICTS ? verdicts[verdict] : "";
}

/* ---- reading ---- */

/* Sets verdict and origin. Our number must equal the result of its formula; a formula in words means that it was
 * measured. */
static int32_t set_verdict(const struct accel_table_reader *reader, const struct accel_member m[MEMBERS],
                           struct accel_promise *promise)
{
    const struct accel_yaml_node *ours = m[OURS].value;
    double value = 0, number = 0;
    bool is_arithmetic;
    promise->verdict = ACCEL_PROMISE_CLAIMED;
    promise->origin = "";
    if ((ours == NULL) != (m[FORMULA].value == NULL))
        return accel_table_refuse(reader, ours ? ours : m[FORMULA].value,
                                  "\"ours\" and the \"formula\" behind it belong together");
    if (*promise->bound && (ours == NULL || (strcmp(promise->bound, "most") && strcmp(promise->bound, "least"))))
        return accel_table_refuse(reader, m[BOUND].value, "a bound of \"ours\" is most or least");
    if (ours != NULL) {
        is_arithmetic = accel_formula_value(promise->formula, &value);
        if (!accel_formula_value(promise->ours, &number))
            return accel_table_refuse(reader, ours, "\"ours\" is a number");
        if (is_arithmetic && !accel_formula_agrees(promise->ours, value))
            return accel_yaml_refuse(reader->path, ours, reader->error, ACCEL_E_CORRUPT,
                                     "the formula gives %.6g, not %.40s", value, promise->ours);
        promise->origin = verdicts[is_arithmetic ? ACCEL_PROMISE_ESTIMATED : ACCEL_PROMISE_MEASURED];
        promise->verdict = judge(promise->value, number, promise->bound,
                                 is_arithmetic ? ACCEL_PROMISE_ESTIMATED : ACCEL_PROMISE_MEASURED);
    }
    promise->verdict_name = verdicts[promise->verdict];
    if (promise->verdict == ACCEL_PROMISE_REJECTED && m[FINDING].value == NULL)
        return accel_table_refuse(reader, ours,
                                  "the rule rejects this claim, which requires a \"finding\" with the reason");
    return ACCEL_OK;
}

static int32_t fill_claim(const struct accel_table_reader *reader, const struct accel_member m[MEMBERS],
                          struct accel_promise *promise)
{
    int32_t code;
    *promise = (struct accel_promise){.size = sizeof(*promise),
                                      .id = accel_table_text(&m[ID]),
                                      .claim = accel_table_text(&m[CLAIM]),
                                      .subject = accel_table_text(&m[SUBJECT]),
                                      .value = accel_table_text(&m[VALUE]),
                                      .unit = accel_table_text(&m[UNIT]),
                                      .check = accel_table_text(&m[CHECK]),
                                      .ours = accel_table_text(&m[OURS]),
                                      .formula = accel_table_text(&m[FORMULA]),
                                      .finding = accel_table_text(&m[FINDING]),
                                      .bound = accel_table_text(&m[BOUND]),
                                      .measure = accel_table_text(&m[MEASURE])};
    code = set_verdict(reader, m, promise);
    return code == ACCEL_OK ? accel_table_source(reader, &m[BECAUSE], &promise->source) : code;
}

static int32_t read_claim(const struct accel_table_reader *reader, const struct accel_yaml_node *node)
{
    struct accel_member m[MEMBERS] = {
        [ID] = {"id", true, ACCEL_YAML_TEXT, false, NULL},
        [CLAIM] = {"claim", true, ACCEL_YAML_TEXT, false, NULL},
        [SUBJECT] = {"subject", true, ACCEL_YAML_TEXT, false, NULL},
        [VALUE] = {"value", true, ACCEL_YAML_TEXT, false, NULL},
        [UNIT] = {"unit", false, ACCEL_YAML_TEXT, false, NULL},
        [BECAUSE] = {"because", true, ACCEL_YAML_TEXT, false, NULL},
        [CHECK] = {"check", true, ACCEL_YAML_TEXT, false, NULL},
        [OURS] = {"ours", false, ACCEL_YAML_TEXT, false, NULL},
        [FORMULA] = {"formula", false, ACCEL_YAML_TEXT, false, NULL},
        [FINDING] = {"finding", false, ACCEL_YAML_TEXT, false, NULL},
        [BOUND] = {"bound", false, ACCEL_YAML_TEXT, false, NULL},
        [MEASURE] = {"measure", false, ACCEL_YAML_TEXT, false, NULL},
    };
    struct accel_promise *promise = &reader->tables->promises[reader->tables->promise_count];
    int32_t code = accel_table_take(reader, node, m, MEMBERS);
    if (code != ACCEL_OK)
        return code;
    for (uint32_t i = 0; i < reader->tables->promise_count; i++)
        if (strcmp(reader->tables->promises[i].id, m[ID].value->text) == 0)
            return accel_yaml_refuse(reader->path, m[ID].value, reader->error, ACCEL_E_CORRUPT,
                                     "claim \"%.40s\" stands twice", m[ID].value->text);
    code = fill_claim(reader, m, promise);
    if (code == ACCEL_OK)
        code = accel_table_place(reader, node, &promise->place);
    reader->tables->promise_count += code == ACCEL_OK;
    return code;
}

int32_t accel_table_read_claims(const struct accel_table_reader *reader, const struct accel_yaml_node *root)
{
    return accel_table_root(reader, root, "accel-claims", "claims", sizeof(*reader->tables->promises),
                            &reader->tables->promises, read_claim);
}
