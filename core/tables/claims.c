/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "core/profile/keys.h"
#include "core/tables/internal.h"
#include "core/tables/tables.h"

/* verdicts[ACCEL_PROMISE_...] */
static const char *const verdicts[] = {"", "claimed", "estimated", "measured", "rejected"};
#define VERDICTS (ACCEL_PROMISE_REJECTED + 1)

enum { ID, CLAIM, SUBJECT, VALUE, UNIT, BECAUSE, CHECK, VERDICT, OURS, FORMULA, FINDING, MEMBERS };

static int32_t read_verdict(const struct accel_table_reader *reader, const struct accel_yaml_node *node,
                            struct accel_promise *promise)
{
    for (uint32_t i = 1; i < VERDICTS; i++)
        if (strcmp(node->text, verdicts[i]) == 0) {
            promise->verdict = i;
            promise->verdict_name = verdicts[i];
            return ACCEL_OK;
        }
    return accel_members_refuse_word(reader->path, node, accel_suggest(node->text, verdicts + 1, VERDICTS - 1),
                                     reader->error, "\"%.40s\" is no verdict: claimed, estimated, measured or rejected",
                                     node->text);
}

/* A verdict has to bring what it stands on, and a number has to be what its arithmetic gives. */
static int32_t check_verdict(const struct accel_table_reader *reader, const struct accel_member m[MEMBERS],
                             const struct accel_promise *promise)
{
    const struct accel_yaml_node *node = m[VERDICT].value;
    bool has_number = m[OURS].value != NULL, has_formula = m[FORMULA].value != NULL, is_arithmetic;
    double value = 0;
    if (promise->verdict == ACCEL_PROMISE_CLAIMED && has_number)
        return accel_table_refuse(reader, node, "a claim that nobody has checked has no number of ours");
    if (promise->verdict == ACCEL_PROMISE_REJECTED && m[FINDING].value == NULL)
        return accel_table_refuse(reader, node, "a rejected claim wants a \"finding\" that says why");
    if ((promise->verdict == ACCEL_PROMISE_ESTIMATED || promise->verdict == ACCEL_PROMISE_MEASURED) &&
        !(has_number && has_formula))
        return accel_table_refuse(reader, node, "this verdict wants \"ours\" and the \"formula\" behind it");
    is_arithmetic = has_formula && accel_formula_value(promise->formula, &value);
    if (promise->verdict == ACCEL_PROMISE_ESTIMATED && !is_arithmetic)
        return accel_table_refuse(reader, m[FORMULA].value, "an estimate wants a formula that can be computed");
    if (has_number && is_arithmetic && !accel_formula_agrees(promise->ours, value))
        return accel_yaml_refuse(reader->path, m[OURS].value, reader->error, ACCEL_E_CORRUPT,
                                 "the formula gives %.6g, not %.40s", value, promise->ours);
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
                                      .finding = accel_table_text(&m[FINDING])};
    code = read_verdict(reader, m[VERDICT].value, promise);
    if (code == ACCEL_OK)
        code = check_verdict(reader, m, promise);
    return code == ACCEL_OK ? accel_table_source(reader, &m[BECAUSE], &promise->because) : code;
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
        [VERDICT] = {"verdict", true, ACCEL_YAML_TEXT, false, NULL},
        [OURS] = {"ours", false, ACCEL_YAML_TEXT, false, NULL},
        [FORMULA] = {"formula", false, ACCEL_YAML_TEXT, false, NULL},
        [FINDING] = {"finding", false, ACCEL_YAML_TEXT, false, NULL},
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
    struct accel_member m[] = {{"accel-claims", true, ACCEL_YAML_TEXT, false, NULL},
                               {"about", false, ACCEL_YAML_TEXT, false, NULL},
                               {"claims", true, ACCEL_YAML_SEQUENCE, false, NULL}};
    int32_t code = accel_table_take(reader, root, m, 3);
    if (code == ACCEL_OK)
        code = accel_table_version(reader, &m[0]);
    if (code == ACCEL_OK)
        code = accel_table_array(reader, m[2].value->child_count, sizeof(*reader->tables->promises),
                                 &reader->tables->promises);
    if (code != ACCEL_OK)
        return code;
    for (const struct accel_yaml_node *node = m[2].value->first; node && code == ACCEL_OK; node = node->next)
        code = read_claim(reader, node);
    return code;
}
