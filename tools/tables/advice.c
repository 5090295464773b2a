/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/strbuf.h"
#include "core/profile/keys.h"
#include "tools/tables/internal.h"

enum { ID, TEXT, WHEN, SET, SEARCH, COST, COST_ORIGIN, NEEDS, BECAUSE, MEMBERS };

static int32_t read_set(const struct accel_table_reader *reader, const struct accel_yaml_node *mapping,
                        struct accel_advice *step)
{
    struct accel_named_value *settings;
    int32_t code;
    if (mapping == NULL)
        return ACCEL_OK;
    code = accel_table_array(reader, mapping->child_count, sizeof(*settings), &settings);
    for (const struct accel_yaml_node *key = mapping->first; key && code == ACCEL_OK; key = key->next) {
        code = accel_table_setting(reader, key);
        if (code != ACCEL_OK)
            break;
        settings[step->set_count].key = key->text;
        settings[step->set_count].value = key->value->text;
        code = accel_table_place(reader, key, &settings[step->set_count].origin);
        step->set_count++;
    }
    step->set = settings;
    return code;
}

static int32_t read_bound(const struct accel_table_reader *reader, const struct accel_setting_row *key,
                          const struct accel_yaml_node *node, struct accel_advice *step)
{
    struct accel_key_value value;
    char why[200], number[32];
    if (accel_known_fact_find(node->text) != NULL) {
        step->bound = node->text;
        return ACCEL_OK;
    }
    if (!accel_key_parse(key, node->text, &value, why, sizeof(why)))
        return accel_yaml_refuse(reader->path, node, reader->error, ACCEL_E_CORRUPT, "%s: %s", key->name, why);
    if (!value.is_number)
        return accel_table_refuse(reader, node, "a bound is a number, or a fact that is one");
    snprintf(number, sizeof(number), "%" PRId64, value.number);
    step->bound = accel_arena_strdup(&reader->tables->arena, number);
    return step->bound ? ACCEL_OK : accel_table_no_memory(reader);
}

static int32_t read_search(const struct accel_table_reader *reader, const struct accel_yaml_node *node,
                           struct accel_advice *step)
{
    struct accel_member m[] = {{"setting", true, ACCEL_YAML_TEXT, false, NULL},
                               {"wanted", true, ACCEL_YAML_TEXT, false, NULL},
                               {"bound", true, ACCEL_YAML_TEXT, false, NULL}};
    const struct accel_setting_row *key;
    int32_t code;
    if (node == NULL)
        return ACCEL_OK;
    code = accel_table_take(reader, node, m, 3);
    if (code != ACCEL_OK)
        return code;
    key = accel_key_find(m[0].value->text);
    if (key == NULL || (key->type != ACCEL_SETTING_INTEGER && key->type != ACCEL_SETTING_SIZE))
        return accel_table_refuse(reader, m[0].value, "what is searched is a setting that is a number");
    if (strcmp(m[1].value->text, "largest") != 0 && strcmp(m[1].value->text, "smallest") != 0)
        return accel_table_refuse(reader, m[1].value, "wanted is the largest or the smallest value that fits");
    step->search = m[0].value->text;
    step->search_wanted = *m[1].value->text == 'l' ? ACCEL_ADVICE_LARGEST : ACCEL_ADVICE_SMALLEST;
    return read_bound(reader, key, m[2].value, step);
}

/* Formats conditions for people as they are written. */
static int32_t write_when(const struct accel_table_reader *reader, const struct accel_yaml_node *node,
                          struct accel_advice *step)
{
    struct accel_strbuf text;
    const struct accel_yaml_node *one = node->kind == ACCEL_YAML_SEQUENCE ? node->first : node;
    accel_strbuf_init(&text, ACCEL_YAML_BYTES);
    for (; one; one = node->kind == ACCEL_YAML_SEQUENCE ? one->next : NULL)
        accel_strbuf_printf(&text, "%s%s", text.length ? ", " : "", one->text);
    step->when = text.failed ? NULL : accel_arena_strdup(&reader->tables->arena, accel_strbuf_get(&text));
    accel_strbuf_free(&text);
    return step->when ? ACCEL_OK : accel_table_no_memory(reader);
}

static int32_t read_when(const struct accel_table_reader *reader, const struct accel_yaml_node *node,
                         struct accel_advice *step, const struct accel_condition **out_conditions)
{
    int32_t code;
    if (node == NULL)
        return ACCEL_OK;
    code = accel_condition_read(reader->path, node, &reader->tables->arena, out_conditions, reader->error);
    return code == ACCEL_OK ? write_when(reader, node, step) : code;
}

static int32_t fill_step(const struct accel_table_reader *reader, const struct accel_member m[MEMBERS],
                         struct accel_advice *step, const struct accel_condition **out_conditions)
{
    int32_t code;
    if ((m[COST].value != NULL) != (m[COST_ORIGIN].value != NULL))
        return accel_table_refuse(reader, m[ID].value, "\"cost\" and \"cost-origin\" belong together");
    if (m[SET].value && m[SEARCH].value)
        return accel_table_refuse(reader, m[SEARCH].value, "a step either sets values or searches one");
    code = read_when(reader, m[WHEN].value, step, out_conditions);
    if (code == ACCEL_OK)
        code = read_set(reader, m[SET].value, step);
    if (code == ACCEL_OK)
        code = read_search(reader, m[SEARCH].value, step);
    return code == ACCEL_OK ? accel_table_source(reader, &m[BECAUSE], &step->source) : code;
}

static int32_t read_step(const struct accel_table_reader *reader, const struct accel_yaml_node *node,
                         struct accel_advice_topic *topic)
{
    struct accel_member m[MEMBERS] = {
        [ID] = {"id", true, ACCEL_YAML_TEXT, false, NULL},
        [TEXT] = {"text", true, ACCEL_YAML_TEXT, false, NULL},
        [WHEN] = {"when", false, ACCEL_YAML_TEXT, true, NULL},
        [SET] = {"set", false, ACCEL_YAML_MAPPING, false, NULL},
        [SEARCH] = {"search", false, ACCEL_YAML_MAPPING, false, NULL},
        [COST] = {"cost", false, ACCEL_YAML_TEXT, false, NULL},
        [COST_ORIGIN] = {"cost-origin", false, ACCEL_YAML_TEXT, false, NULL},
        [NEEDS] = {"needs", false, ACCEL_YAML_TEXT, false, NULL},
        [BECAUSE] = {"because", true, ACCEL_YAML_TEXT, false, NULL},
    };
    struct accel_advice *step = &topic->steps[topic->count];
    int32_t code = accel_table_take(reader, node, m, MEMBERS);
    if (code != ACCEL_OK)
        return code;
    *step = (struct accel_advice){.size = sizeof(*step),
                                  .topic = topic->name,
                                  .id = accel_table_text(&m[ID]),
                                  .text = accel_table_text(&m[TEXT]),
                                  .when = "",
                                  .search = "",
                                  .bound = "",
                                  .cost = accel_table_text(&m[COST]),
                                  .cost_origin = accel_table_text(&m[COST_ORIGIN]),
                                  .needs = accel_table_text(&m[NEEDS]),
                                  .rank = topic->count + 1};
    for (uint32_t i = 0; i < topic->count; i++)
        if (strcmp(topic->steps[i].id, step->id) == 0)
            return accel_yaml_refuse(reader->path, m[ID].value, reader->error, ACCEL_E_CORRUPT,
                                     "step \"%.60s\" stands twice", step->id);
    code = fill_step(reader, m, step, &topic->conditions[topic->count]);
    if (code == ACCEL_OK)
        code = accel_table_place(reader, node, &step->place);
    topic->count += code == ACCEL_OK;
    return code;
}

static int32_t read_topic(const struct accel_table_reader *reader, const struct accel_yaml_node *node)
{
    struct accel_member m[] = {{"name", true, ACCEL_YAML_TEXT, false, NULL},
                               {"about", true, ACCEL_YAML_TEXT, false, NULL},
                               {"steps", true, ACCEL_YAML_SEQUENCE, false, NULL}};
    struct accel_tables *tables = reader->tables;
    struct accel_advice_topic *topic = &tables->topics[tables->topic_count];
    int32_t code = accel_table_take(reader, node, m, 3);
    if (code != ACCEL_OK)
        return code;
    for (uint32_t i = 0; i < tables->topic_count; i++)
        if (strcmp(tables->topics[i].name, m[0].value->text) == 0)
            return accel_table_refuse(reader, m[0].value, "this topic stands twice");
    topic->name = m[0].value->text;
    topic->about = m[1].value->text;
    tables->topic_count++;
    code = accel_table_array(reader, m[2].value->child_count, sizeof(*topic->steps), &topic->steps);
    if (code == ACCEL_OK)
        code = accel_table_array(reader, m[2].value->child_count, sizeof(const struct accel_condition *),
                                 &topic->conditions);
    for (const struct accel_yaml_node *step = m[2].value->first; step && code == ACCEL_OK; step = step->next)
        code = read_step(reader, step, topic);
    return code;
}

int32_t accel_table_read_advice(const struct accel_table_reader *reader, const struct accel_yaml_node *root)
{
    return accel_table_root(reader, root, "accel-advice", "topics", sizeof(*reader->tables->topics),
                            &reader->tables->topics, read_topic);
}

/* ---- public functions ---- */

static const struct accel_advice_topic *find_topic(const struct accel_tables *tables, const char *name)
{
    for (uint32_t i = 0; tables && name && i < tables->topic_count; i++)
        if (strcmp(tables->topics[i].name, name) == 0)
            return &tables->topics[i];
    return NULL;
}

uint32_t accel_advice_topic_count(const struct accel_tables *tables)
{
    return tables ? tables->topic_count : 0;
}

const char *accel_advice_topic_get(const struct accel_tables *tables, uint32_t index, const char **out_about)
{
    if (index >= accel_advice_topic_count(tables))
        return NULL;
    if (out_about)
        *out_about = tables->topics[index].about;
    return tables->topics[index].name;
}

uint32_t accel_advice_count(const struct accel_tables *tables, const char *topic)
{
    const struct accel_advice_topic *found = find_topic(tables, topic);
    return found ? found->count : 0;
}

const struct accel_advice *accel_advice_get(const struct accel_tables *tables, const char *topic, uint32_t index)
{
    const struct accel_advice_topic *found = find_topic(tables, topic);
    return found && index < found->count ? &found->steps[index] : NULL;
}

/* Evaluates a condition with the fact that it refers to; the last value given takes effect, as in profiles. */
static bool one_applies(struct accel_condition condition, const struct accel_named_value *facts, uint32_t fact_count)
{
    struct accel_profile_pair pair = {NULL, NULL, NULL};
    for (uint32_t i = 0; i < fact_count; i++)
        if (strcmp(facts[i].key, condition.fact->name) == 0)
            pair = (struct accel_profile_pair){facts[i].key, facts[i].value, facts[i].origin};
    condition.next = NULL;
    return pair.key && accel_condition_holds(&condition, &pair, 1);
}

uint32_t accel_advice_applies(const struct accel_tables *tables, const struct accel_advice *step,
                              const struct accel_named_value *facts, uint32_t fact_count)
{
    const struct accel_advice_topic *topic = step ? find_topic(tables, step->topic) : NULL;
    if (topic == NULL || step < topic->steps || step >= topic->steps + topic->count)
        return 0;
    for (const struct accel_condition *c = topic->conditions[step - topic->steps]; c; c = c->next)
        if (!one_applies(*c, facts, fact_count))
            return 0;
    return 1;
}
