/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the second part of compat.yaml: tables of recommended choices by use case. */
#include "config.h"

#include "tools/tables/internal.h"

static int32_t read_recommendation(const struct accel_table_reader *reader, const struct accel_yaml_node *node,
                                   const char *table, const char *about)
{
    enum { SUBJECT, EXAMPLES, ADVICE, REASON, SET, BECAUSE, MEMBERS };
    struct accel_member m[MEMBERS] = {
        [SUBJECT] = {"subject", true, ACCEL_YAML_TEXT, false, NULL},
        [EXAMPLES] = {"examples", false, ACCEL_YAML_TEXT, false, NULL},
        [ADVICE] = {"advice", true, ACCEL_YAML_TEXT, false, NULL},
        [REASON] = {"reason", true, ACCEL_YAML_TEXT, false, NULL},
        [SET] = {"set", false, ACCEL_YAML_MAPPING, false, NULL},
        [BECAUSE] = {"because", true, ACCEL_YAML_TEXT, false, NULL},
    };
    struct accel_recommendation *row = &reader->tables->recommendations[reader->tables->recommendation_count];
    int32_t code = accel_table_take(reader, node, m, MEMBERS);
    if (code != ACCEL_OK)
        return code;
    *row = (struct accel_recommendation){.size = sizeof(*row),
                                         .table = table,
                                         .about = about,
                                         .subject = accel_table_text(&m[SUBJECT]),
                                         .examples = accel_table_text(&m[EXAMPLES]),
                                         .advice = accel_table_text(&m[ADVICE]),
                                         .reason = accel_table_text(&m[REASON])};
    code = accel_table_source(reader, &m[BECAUSE], &row->source);
    if (code == ACCEL_OK)
        code = accel_table_settings(reader, &m[SET], &row->settings);
    if (code == ACCEL_OK)
        code = accel_table_place(reader, node, &row->place);
    reader->tables->recommendation_count += code == ACCEL_OK;
    return code;
}

/* Returns an upper bound of the rows: the entries of all inner lists. Which of the lists is "rows" is checked
 * later. */
static uint32_t most_rows(const struct accel_yaml_node *list)
{
    uint32_t count = 0;
    for (const struct accel_yaml_node *node = list->first; node; node = node->next)
        for (const struct accel_yaml_node *key = node->kind == ACCEL_YAML_MAPPING ? node->first : NULL; key;
             key = key->next)
            count += key->value->kind == ACCEL_YAML_SEQUENCE ? key->value->child_count : 0;
    return count;
}

static int32_t read_table(const struct accel_table_reader *reader, const struct accel_yaml_node *node)
{
    struct accel_member m[] = {{"name", true, ACCEL_YAML_TEXT, false, NULL},
                               {"about", true, ACCEL_YAML_TEXT, false, NULL},
                               {"rows", true, ACCEL_YAML_SEQUENCE, false, NULL}};
    int32_t code = accel_table_take(reader, node, m, 3);
    if (code != ACCEL_OK)
        return code;
    for (const struct accel_yaml_node *row = m[2].value->first; row && code == ACCEL_OK; row = row->next)
        code = read_recommendation(reader, row, m[0].value->text, m[1].value->text);
    return code;
}

int32_t accel_table_read_recommendations(const struct accel_table_reader *reader, const struct accel_yaml_node *list)
{
    int32_t code = accel_table_array(reader, most_rows(list), sizeof(*reader->tables->recommendations),
                                     &reader->tables->recommendations);
    for (const struct accel_yaml_node *node = list->first; node && code == ACCEL_OK; node = node->next)
        code = read_table(reader, node);
    return code;
}
