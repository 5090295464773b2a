/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/profile/condition.h"

#include <string.h>

#include "core/base/text.h"
#include "core/profile/members.h"

/* Maximum words of one list, so that a file of lists costs no more than one of rules. */
#define MOST_WORDS 256u

/** State of reading one condition. */
struct reading {
    const char *path;
    const struct accel_yaml_node *node;
    struct accel_arena *arena;
    struct accel_error *error;
};

#define REFUSE(r, ...) accel_yaml_refuse((r)->path, (r)->node, (r)->error, ACCEL_E_INVALID, __VA_ARGS__)

static const struct {
    const char *text;
    enum accel_comparison comparison;
} comparisons[] = {
    {"==", ACCEL_COMPARE_EQUAL},   {"!=", ACCEL_COMPARE_UNEQUAL},        {"<", ACCEL_COMPARE_BELOW},
    {"<=", ACCEL_COMPARE_AT_MOST}, {">", ACCEL_COMPARE_ABOVE},           {">=", ACCEL_COMPARE_AT_LEAST},
    {"in", ACCEL_COMPARE_IN},      {"contains", ACCEL_COMPARE_CONTAINS},
};

/* Splits off the next word, up to a space; NULL at the end. */
static char *next_word(char **at)
{
    char *word = *at + strspn(*at, " ");
    size_t length = strcspn(word, " ");
    if (length == 0)
        return NULL;
    *at = word + length;
    if (**at)
        *(*at)++ = 0;
    return word;
}

static char *trim(char *text)
{
    size_t length;
    text += strspn(text, " ");
    length = strlen(text);
    while (length && text[length - 1] == ' ')
        text[--length] = 0;
    return text;
}

/* Describes the type of value that a condition on the fact requires. */
static const char *wanted_of(const struct accel_fact_row *fact)
{
    return strcmp(fact->unit, "bytes") == 0 ? "a size with its unit, as 8GiB"
           : strcmp(fact->unit, "tok") == 0 ? "a number of tokens, as 4096tok"
           : strcmp(fact->unit, "ms") == 0  ? "a time with its unit, as 250ms"
                                            : "a plain number, without a unit";
}

static int32_t read_literal(const struct reading *r, struct accel_condition *condition, char *text)
{
    struct accel_literal *literal = &condition->literals[condition->literal_count];
    const char *unit = "";
    text = trim(text);
    if (*text == 0)
        return REFUSE(r, "condition on %s has an empty value", condition->fact->name);
    literal->text = text;
    if (condition->comparison == ACCEL_COMPARE_CONTAINS) {
        condition->literal_count++;
        return ACCEL_OK;
    }
    literal->is_number = accel_number_parse(text, &literal->number, &unit);
    if (condition->comparison >= ACCEL_COMPARE_BELOW && condition->comparison <= ACCEL_COMPARE_AT_LEAST &&
        !literal->is_number)
        return REFUSE(r, "condition on %s: \"%.60s\" is no number to compare with", condition->fact->name, text);
    if (literal->is_number && strcmp(unit, condition->fact->unit) != 0)
        return REFUSE(r, "condition on %s: \"%.60s\" is of the wrong kind; it requires %s", condition->fact->name, text,
                      wanted_of(condition->fact));
    condition->literal_count++;
    return ACCEL_OK;
}

/* Reads the list "[a, b, c]". */
static int32_t read_list(const struct reading *r, struct accel_condition *condition, char *text)
{
    size_t length = strlen(text);
    uint32_t count = 1;
    int32_t code = ACCEL_OK;
    if (length < 2 || text[0] != '[' || text[length - 1] != ']')
        return REFUSE(r, "condition on %s: \"in\" requires a list, [a, b]", condition->fact->name);
    text[length - 1] = 0;
    text++;
    for (const char *at = text; *at; at++)
        count += *at == ',';
    if (count > MOST_WORDS)
        return REFUSE(r, "condition on %s: a list of over %u words", condition->fact->name, MOST_WORDS);
    condition->literals = accel_arena_array(r->arena, count, sizeof(*condition->literals));
    if (condition->literals == NULL)
        return accel_error_no_memory(r->error, "to read %.200s", r->path);
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++) {
        char *end = text + strcspn(text, ",");
        *end = 0;
        code = read_literal(r, condition, text);
        text = end + 1;
    }
    return code;
}

static int32_t read_value(const struct reading *r, struct accel_condition *condition, char *rest)
{
    rest = trim(rest);
    if (condition->comparison == ACCEL_COMPARE_IN || condition->comparison == ACCEL_COMPARE_NOT_IN)
        return read_list(r, condition, rest);
    condition->literals = accel_arena_array(r->arena, 1, sizeof(*condition->literals));
    return condition->literals ? read_literal(r, condition, rest)
                               : accel_error_no_memory(r->error, "to read %.200s", r->path);
}

/* Returns whether "not", which is read, continues as "not in"; *text is then past it. */
static bool is_not_in(const char *operation, char **text)
{
    char *rest = *text + strspn(*text, " ");
    if (strcmp(operation, "not") != 0 || strncmp(rest, "in", 2) != 0 || (rest[2] != ' ' && rest[2] != '['))
        return false;
    *text = rest + 2;
    return true;
}

static int32_t read_one(const struct reading *r, struct accel_condition *condition)
{
    char *text = accel_arena_strdup(r->arena, r->node->text);
    const char *name, *operation;
    condition->text = r->node->text;
    condition->place = accel_members_place(r->path, r->node, r->arena);
    if (text == NULL || condition->place == NULL)
        return accel_error_no_memory(r->error, "to read %.200s", r->path);
    name = next_word(&text);
    operation = name ? next_word(&text) : NULL;
    if (operation == NULL)
        return REFUSE(r, "a condition is FACT OPERATOR VALUE, as in \"device.kind == gpu\"");
    condition->fact = accel_known_fact_find(name);
    if (condition->fact == NULL)
        return accel_members_refuse_word(r->path, r->node, accel_known_fact_suggest(name), r->error,
                                         "fact \"%.80s\" is unknown", name);
    if (is_not_in(operation, &text)) {
        condition->comparison = ACCEL_COMPARE_NOT_IN;
        return read_value(r, condition, text);
    }
    for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++)
        if (strcmp(comparisons[i].text, operation) == 0) {
            condition->comparison = comparisons[i].comparison;
            return read_value(r, condition, text);
        }
    return REFUSE(r, "operator \"%.20s\" is none of ==, !=, <, <=, >, >=, in, not in, contains", operation);
}

int32_t accel_condition_read(const char *path, const struct accel_yaml_node *node, struct accel_arena *arena,
                             const struct accel_condition **out_conditions, struct accel_error *error)
{
    struct reading r = {path, node, arena, error};
    struct accel_condition *first = NULL, **end = &first;
    int32_t code = ACCEL_OK;
    *out_conditions = NULL;
    if (node->kind == ACCEL_YAML_MAPPING || (node->kind == ACCEL_YAML_SEQUENCE && node->first == NULL))
        return accel_yaml_refuse(path, node, error, ACCEL_E_INVALID,
                                 "a condition or a list of conditions belongs here");
    if (node->kind == ACCEL_YAML_SEQUENCE)
        r.node = node->first;
    for (; r.node && code == ACCEL_OK; r.node = node->kind == ACCEL_YAML_SEQUENCE ? r.node->next : NULL) {
        if (r.node->kind != ACCEL_YAML_TEXT)
            return accel_yaml_refuse(path, r.node, error, ACCEL_E_INVALID, "a condition is plain text");
        *end = accel_arena_array(arena, 1, sizeof(**end));
        if (*end == NULL)
            return accel_error_no_memory(r.error, "to read %.200s", r.path);
        code = read_one(&r, *end);
        end = &(*end)->next;
    }
    *out_conditions = first;
    return code;
}

/* Returns whether a character is part of a word; bytes of letters outside of ASCII are. */
static bool is_part_of_word(char letter)
{
    letter = accel_lower(letter);
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || (letter & 0x80) != 0;
}

bool accel_contains_words(const char *text, const char *words)
{
    size_t length = strlen(words);
    for (const char *at = text; *at; at++) {
        size_t same = 0;
        while (same < length && accel_lower(at[same]) == accel_lower(words[same]))
            same++;
        if (same == length && (at == text || !is_part_of_word(at[-1])) && !is_part_of_word(at[length]))
            return true;
    }
    return false;
}

/* Compares a fact with a literal. Numbers compare by value: 8GiB equals 8192MiB; other facts equal no number. */
static bool holds_for(enum accel_comparison comparison, const char *fact, const struct accel_literal *literal)
{
    const char *unit;
    int64_t number;
    bool numeric = literal->is_number && accel_number_parse(fact, &number, &unit);
    switch (comparison) {
    case ACCEL_COMPARE_CONTAINS:
        return accel_contains_words(fact, literal->text);
    case ACCEL_COMPARE_EQUAL:
    case ACCEL_COMPARE_IN:
    case ACCEL_COMPARE_NOT_IN:
        return numeric ? number == literal->number : strcmp(fact, literal->text) == 0;
    case ACCEL_COMPARE_UNEQUAL:
        return numeric ? number != literal->number : strcmp(fact, literal->text) != 0;
    case ACCEL_COMPARE_BELOW:
        return numeric && number < literal->number;
    case ACCEL_COMPARE_AT_MOST:
        return numeric && number <= literal->number;
    case ACCEL_COMPARE_ABOVE:
        return numeric && number > literal->number;
    default:
        return numeric && number >= literal->number;
    }
}

static bool one_holds(const struct accel_condition *condition, const struct accel_profile_pair *facts,
                      uint32_t fact_count)
{
    const char *value = NULL;
    for (uint32_t i = 0; i < fact_count; i++)
        if (strcmp(facts[i].key, condition->fact->name) == 0)
            value = facts[i].value;
    for (uint32_t i = 0; value && i < condition->literal_count; i++)
        if (holds_for(condition->comparison, value, &condition->literals[i]))
            return condition->comparison != ACCEL_COMPARE_NOT_IN;
    return value && condition->comparison == ACCEL_COMPARE_NOT_IN;
}

bool accel_condition_holds(const struct accel_condition *conditions, const struct accel_profile_pair *facts,
                           uint32_t fact_count)
{
    for (; conditions; conditions = conditions->next)
        if (!one_holds(conditions, facts, fact_count))
            return false;
    return true;
}
