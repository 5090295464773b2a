/* SPDX-License-Identifier: Apache-2.0 */
/* Implements filters and tests, which are found by name. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/chat/run.h"

/* Converts the value to text, as string filters do with any value; undefined becomes the empty text. */
static bool wants_text(const struct chat_call *applied, struct chat_text *out_text)
{
    return chat_to_text(applied->run, applied->value, out_text);
}

static bool filter_trim(const struct chat_call *applied, struct chat_value *out_value)
{
    struct chat_text text, set;

    if (!wants_text(applied, &text) ||
        !chat_text_argument(applied->run, applied->at, applied->arguments, 0, "chars", (struct chat_text){0}, &set))
        return false;
    *out_value = chat_string(chat_strip(text, set, true, true));
    return true;
}

static bool filter_case(const struct chat_call *applied, struct chat_value *out_value)
{
    struct chat_text text;
    enum chat_case how = chat_text_is(applied->name, "upper")   ? CHAT_UPPER
                         : chat_text_is(applied->name, "lower") ? CHAT_LOWER
                         : chat_text_is(applied->name, "title") ? CHAT_TITLE
                                                                : CHAT_CAPITALIZE;

    return wants_text(applied, &text) && chat_change_case(applied->run, text, how, out_value);
}

static bool filter_tojson(const struct chat_call *applied, struct chat_value *out_value)
{
    const struct chat_value *indent = chat_argument(applied->arguments, 0, "indent");
    struct token_buffer buffer = {0};
    int spaces = -1;

    if (applied->value.kind == CHAT_UNDEFINED)
        return chat_wrong(applied->run, applied->at, "tojson", applied->value);
    if (indent != NULL && indent->kind == CHAT_INTEGER && indent->as.integer >= 0 && indent->as.integer <= 16)
        spaces = (int)indent->as.integer;
    else if (indent != NULL && indent->kind != CHAT_NONE)
        return chat_wrong(applied->run, applied->at, "tojson's indent of 0 to 16", *indent);
    for (size_t i = 0; i < applied->arguments->count; i++) {
        struct chat_text name = applied->arguments->names[i];

        /* published templates expect ensure_ascii=False; True would output other text */
        if (name.size > 0 && !chat_text_is(name, "indent") &&
            !(chat_text_is(name, "ensure_ascii") && !chat_truth(applied->arguments->values[i])))
            return chat_refuse(applied->run, applied->at, "tojson's argument", name);
    }
    return chat_string_from_buffer(applied->run, &buffer, chat_write_json(&buffer, applied->value, spaces), out_value);
}

static bool filter_length(const struct chat_call *applied, struct chat_value *out_value)
{
    const struct chat_list *list;

    if (!chat_items(applied->run, applied->at, applied->value, &list))
        return false;
    *out_value = chat_integer((int64_t)list->count);
    return true;
}

static bool filter_default(const struct chat_call *applied, struct chat_value *out_value)
{
    const struct chat_value *other = chat_argument(applied->arguments, 0, "default_value");
    const struct chat_value *also_false = chat_argument(applied->arguments, 1, "boolean");
    bool missing = applied->value.kind == CHAT_UNDEFINED ||
                   (also_false != NULL && chat_truth(*also_false) && !chat_truth(applied->value));

    *out_value = !missing ? applied->value : other != NULL ? *other : chat_string(CHAT_TEXT(""));
    return true;
}

static bool filter_join(const struct chat_call *applied, struct chat_value *out_value)
{
    struct chat_text seam, attribute;
    struct token_buffer buffer = {0};
    const struct chat_list *list;
    bool done = true;

    if (!chat_text_argument(applied->run, applied->at, applied->arguments, 0, "d", CHAT_TEXT(""), &seam) ||
        !chat_text_argument(applied->run, applied->at, applied->arguments, 1, "attribute", (struct chat_text){0},
                            &attribute) ||
        !chat_items(applied->run, applied->at, applied->value, &list))
        return false;
    for (size_t i = 0; done && i < list->count; i++) {
        struct chat_value item = list->items[i];

        if (attribute.size > 0 && !chat_attribute(applied->run, applied->at, item, attribute, &item)) {
            token_buffer_free(&buffer);
            return false;
        }
        done = (i == 0 || token_buffer_append(&buffer, seam.data, seam.size)) && chat_write(&buffer, item) &&
               buffer.size <= CHAT_MAX_MEMORY;
    }
    return chat_string_from_buffer(applied->run, &buffer, done, out_value);
}

static bool filter_ends(const struct chat_call *applied, struct chat_value *out_value)
{
    const struct chat_list *list;

    if (!chat_items(applied->run, applied->at, applied->value, &list))
        return false;
    *out_value = chat_undefined(CHAT_TEXT("item of an empty list"));
    if (list->count > 0)
        *out_value = list->items[chat_text_is(applied->name, "first") ? 0 : list->count - 1];
    return true;
}

static bool filter_replace(const struct chat_call *applied, struct chat_value *out_value)
{
    const struct chat_value *count = chat_argument(applied->arguments, 2, "count");
    size_t limit =
        count != NULL && count->kind == CHAT_INTEGER && count->as.integer >= 0 ? (size_t)count->as.integer : SIZE_MAX;
    struct chat_text text, from, to;

    return wants_text(applied, &text) &&
           chat_text_argument(applied->run, applied->at, applied->arguments, 0, "old", CHAT_TEXT(""), &from) &&
           chat_text_argument(applied->run, applied->at, applied->arguments, 1, "new", CHAT_TEXT(""), &to) &&
           chat_replace(applied->run, text, from, to, limit, out_value);
}

static bool filter_string(const struct chat_call *applied, struct chat_value *out_value)
{
    struct chat_text text;

    if (!chat_to_text(applied->run, applied->value, &text))
        return false;
    *out_value = chat_string(text);
    return true;
}

static bool filter_number(const struct chat_call *applied, struct chat_value *out_value)
{
    const struct chat_value *other = chat_argument(applied->arguments, 0, "default");
    bool whole = chat_text_is(applied->name, "int");
    struct chat_value value = applied->value;
    double real = 0;
    bool good = chat_is_number(value);

    if (good) {
        real = chat_number(value);
    } else if (value.kind == CHAT_STRING && value.as.text.size > 0 && value.as.text.size < 64) {
        struct chat_text text = chat_strip(value.as.text, (struct chat_text){0}, true, true);
        char copy[64], *end;

        memcpy(copy, text.data, text.size);
        copy[text.size] = '\0';
        real = strtod(copy, &end);
        good = end != copy && *end == '\0' && strpbrk(copy, "xXnN") == NULL;
    }
    if (whole && value.kind != CHAT_REAL && chat_is_number(value))
        *out_value = chat_integer(value.as.integer);
    else if (!good || (whole && !(fabs(real) < 9e18)))
        *out_value = other != NULL ? *other : whole ? chat_integer(0) : chat_real(0);
    else
        *out_value = whole ? chat_integer((int64_t)real) : chat_real(real);
    return true;
}

static bool filter_abs(const struct chat_call *applied, struct chat_value *out_value)
{
    if (!chat_is_number(applied->value) || (applied->value.kind != CHAT_REAL && applied->value.as.integer == INT64_MIN))
        return chat_wrong(applied->run, applied->at, "abs", applied->value);
    *out_value = applied->value.kind == CHAT_REAL ? chat_real(fabs(applied->value.as.real))
                                                  : chat_integer(llabs(applied->value.as.integer));
    return true;
}

/* Implements list and reverse: a new list; reverse of a string is a string. */
static bool filter_list(const struct chat_call *applied, struct chat_value *out_value)
{
    bool reverse = chat_text_is(applied->name, "reverse");
    struct token_buffer buffer = {0};
    const struct chat_list *list;
    struct chat_value made;
    bool done;

    if (!chat_items(applied->run, applied->at, applied->value, &list))
        return false;
    done = chat_list_new(&applied->run->arena, &made);
    for (size_t i = 0; done && i < list->count; i++) {
        struct chat_value item = list->items[reverse ? list->count - 1 - i : i];

        done = chat_list_add(&applied->run->arena, made.as.list, item);
        if (done && reverse && applied->value.kind == CHAT_STRING)
            done = token_buffer_append(&buffer, item.as.text.data, item.as.text.size);
    }
    if (reverse && applied->value.kind == CHAT_STRING)
        return chat_string_from_buffer(applied->run, &buffer, done, out_value);
    *out_value = made;
    return done || chat_no_memory(applied->run);
}

static bool filter_items(const struct chat_call *applied, struct chat_value *out_value)
{
    struct chat_arguments none = {0};

    if (applied->value.kind == CHAT_UNDEFINED)
        return chat_list_new(&applied->run->arena, out_value) || chat_no_memory(applied->run);
    return chat_method(applied->run, applied->at, CHAT_TEXT("items"), applied->value, &none, out_value);
}

/* Returns the arguments after the first `skip`, for a filter or test that is itself an argument. */
static struct chat_arguments behind(const struct chat_arguments *arguments, size_t skip)
{
    struct chat_arguments rest = *arguments;

    skip = skip < rest.count ? skip : rest.count;
    rest.values = rest.count == 0 ? NULL : rest.values + skip;
    rest.names = rest.count == 0 ? NULL : rest.names + skip;
    rest.count -= skip;
    return rest;
}

/* Implements map(attribute="x") and map("filter", ...). */
static bool filter_map(const struct chat_call *applied, struct chat_value *out_value)
{
    const struct chat_value *other = chat_argument(applied->arguments, SIZE_MAX, "default");
    struct chat_arguments rest = behind(applied->arguments, 1);
    struct chat_text attribute, name;
    const struct chat_list *list;

    if (!chat_text_argument(applied->run, applied->at, applied->arguments, SIZE_MAX, "attribute", (struct chat_text){0},
                            &attribute) ||
        !chat_text_argument(applied->run, applied->at, applied->arguments, 0, "filter", CHAT_TEXT(""), &name) ||
        !chat_items(applied->run, applied->at, applied->value, &list))
        return false;
    if (!chat_list_new(&applied->run->arena, out_value))
        return chat_no_memory(applied->run);
    for (size_t i = 0; i < list->count; i++) {
        struct chat_value item;
        bool done = attribute.size > 0 ? chat_attribute(applied->run, applied->at, list->items[i], attribute, &item)
                                       : chat_filter(applied->run, applied->at, name, list->items[i], &rest, &item);

        if (!done)
            return false;
        if (item.kind == CHAT_UNDEFINED && other != NULL)
            item = *other;
        if (!chat_list_add(&applied->run->arena, out_value->as.list, item))
            return chat_no_memory(applied->run);
    }
    return true;
}

/* Implements select, reject, selectattr and rejectattr: selects the items for which a test holds, or does not. */
static bool filter_select(const struct chat_call *applied, struct chat_value *out_value)
{
    bool by_attribute = applied->name.size > 6, keep = applied->name.data[0] == 's';
    struct chat_arguments rest = behind(applied->arguments, by_attribute ? 2 : 1);
    struct chat_text attribute, test;
    const struct chat_list *list;

    if (!chat_text_argument(applied->run, applied->at, applied->arguments, 0, "attribute", CHAT_TEXT(""), &attribute) ||
        !chat_text_argument(applied->run, applied->at, applied->arguments, by_attribute, "test", CHAT_TEXT(""),
                            &test) ||
        !chat_items(applied->run, applied->at, applied->value, &list))
        return false;
    if (!chat_list_new(&applied->run->arena, out_value))
        return chat_no_memory(applied->run);
    for (size_t i = 0; i < list->count; i++) {
        struct chat_value item = list->items[i];
        bool result;

        if (by_attribute && !chat_attribute(applied->run, applied->at, item, attribute, &item))
            return false;
        result = chat_truth(item);
        if (test.size > 0 && !chat_test(applied->run, applied->at, test, item, &rest, &result))
            return false;
        if (result == keep && !chat_list_add(&applied->run->arena, out_value->as.list, list->items[i]))
            return chat_no_memory(applied->run);
    }
    return true;
}

/* Implements indent(width=4, first=False, blank=False): indents every line except the first and empty ones. */
static bool filter_indent(const struct chat_call *applied, struct chat_value *out_value)
{
    const struct chat_value *width = chat_argument(applied->arguments, 0, "width");
    const struct chat_value *first = chat_argument(applied->arguments, 1, "first");
    const struct chat_value *blank = chat_argument(applied->arguments, 2, "blank");
    int64_t count = width == NULL ? 4 : width->as.integer;
    struct token_buffer buffer = {0};
    struct chat_text text;
    bool done = true;

    if (width != NULL && (width->kind != CHAT_INTEGER || count < 0 || count > 64))
        return chat_wrong(applied->run, applied->at, "indent's width of 0 to 64", *width);
    if (!wants_text(applied, &text))
        return false;
    for (size_t i = 0; done && i < text.size; i++) {
        bool begins = i == 0 ? first != NULL && chat_truth(*first) : text.data[i - 1] == '\n';

        if (begins && (text.data[i] != '\n' || (blank != NULL && chat_truth(*blank))))
            for (int64_t j = 0; done && j < count; j++)
                done = token_buffer_append(&buffer, " ", 1);
        done = done && token_buffer_append(&buffer, text.data + i, 1);
    }
    return chat_string_from_buffer(applied->run, &buffer, done, out_value);
}

static bool filter_same(const struct chat_call *applied, struct chat_value *out_value)
{
    *out_value = applied->value;
    return true;
}

static const struct {
    const char *name;
    chat_call_fn *apply;
} filters[] = {
    {"trim", filter_trim},         {"upper", filter_case},        {"lower", filter_case},    {"title", filter_case},
    {"capitalize", filter_case},   {"tojson", filter_tojson},     {"length", filter_length}, {"count", filter_length},
    {"default", filter_default},   {"d", filter_default},         {"join", filter_join},     {"first", filter_ends},
    {"last", filter_ends},         {"replace", filter_replace},   {"string", filter_string}, {"int", filter_number},
    {"float", filter_number},      {"abs", filter_abs},           {"list", filter_list},     {"reverse", filter_list},
    {"items", filter_items},       {"map", filter_map},           {"select", filter_select}, {"reject", filter_select},
    {"selectattr", filter_select}, {"rejectattr", filter_select}, {"indent", filter_indent}, {"safe", filter_same},
};

bool chat_filter(struct chat_run *run, const struct chat_node *at, struct chat_text name, struct chat_value value,
                 const struct chat_arguments *arguments, struct chat_value *out_value)
{
    struct chat_call applied = {run, at, name, value, arguments};
    bool done;

    if (!chat_step(run, at))
        return false;
    if (run->depth >= CHAT_MAX_DEPTH)
        return chat_fail(run->chat, at->offset, ACCEL_E_LIMIT, run->error, "filters nest deeper than %d",
                         CHAT_MAX_DEPTH);
    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        if (!chat_text_is(name, filters[i].name))
            continue;
        run->depth++;
        done = filters[i].apply(&applied, out_value);
        run->depth--;
        return done;
    }
    return chat_refuse(run, at, "filter", name);
}

/* ---- tests */

/* Tests of a value's kind: a set of kinds by name. */
static const struct {
    const char *name;
    unsigned kinds; /* bit by kind */
} kind_tests[] = {
    {"undefined", 1u << CHAT_UNDEFINED},
    {"none", 1u << CHAT_NONE},
    {"boolean", 1u << CHAT_BOOL},
    {"integer", 1u << CHAT_INTEGER},
    {"float", 1u << CHAT_REAL},
    {"number", 1u << CHAT_BOOL | 1u << CHAT_INTEGER | 1u << CHAT_REAL},
    {"string", 1u << CHAT_STRING},
    {"mapping", 1u << CHAT_DICT},
    {"sequence", 1u << CHAT_STRING | 1u << CHAT_LIST | 1u << CHAT_DICT | 1u << CHAT_UNDEFINED},
    {"iterable", 1u << CHAT_STRING | 1u << CHAT_LIST | 1u << CHAT_DICT | 1u << CHAT_UNDEFINED},
    {"callable", 1u << CHAT_MACRO | 1u << CHAT_FUNCTION},
};

/* Tests that compare with their argument, and the equivalent operator. */
static const struct {
    const char *name, *sign;
} comparisons[] = {
    {"eq", "=="}, {"equalto", "=="}, {"==", "=="}, {"ne", "!="},     {"!=", "!="},         {"lt", "<"},
    {"<", "<"},   {"lessthan", "<"}, {"le", "<="}, {"<=", "<="},     {"gt", ">"},          {">", ">"},
    {"ge", ">="}, {">=", ">="},      {"in", "in"}, {"sameas", "=="}, {"greaterthan", ">"},
};

static bool test_comparison(struct chat_run *run, const struct chat_node *at, struct chat_value value, const char *sign,
                            const struct chat_arguments *arguments, bool *out_result)
{
    struct chat_node left = {.kind = CHAT_N_LITERAL, .offset = at->offset, .value = value};
    struct chat_node right = {.kind = CHAT_N_LITERAL, .offset = at->offset};
    struct chat_node *items[] = {&left, &right};
    struct chat_text names[] = {{0}, {sign, strlen(sign)}};
    struct chat_node both = {.kind = CHAT_N_COMPARE, .offset = at->offset, .items = items, .names = names, .count = 2};
    struct chat_value result;

    if (arguments->count != 1)
        return chat_fail(run->chat, at->offset, ACCEL_E_INVALID, run->error, "this test takes one argument");
    right.value = arguments->values[0];
    if (!chat_evaluate(run, &both, &result))
        return false;
    *out_result = chat_truth(result);
    return true;
}

static bool test_whole(struct chat_run *run, const struct chat_node *at, struct chat_text name, struct chat_value value,
                       const struct chat_arguments *arguments, bool *out_result)
{
    int64_t by = 2;

    if (value.kind != CHAT_INTEGER)
        return chat_wrong(run, at, "a test of integers", value);
    if (chat_text_is(name, "divisibleby")) {
        if (arguments->count != 1 || arguments->values[0].kind != CHAT_INTEGER || arguments->values[0].as.integer == 0)
            return chat_fail(run->chat, at->offset, ACCEL_E_INVALID, run->error, "divisibleby takes an integer");
        by = arguments->values[0].as.integer;
    }
    *out_result = (by == -1 || value.as.integer % by == 0) != chat_text_is(name, "odd");
    return true;
}

bool chat_test(struct chat_run *run, const struct chat_node *at, struct chat_text name, struct chat_value value,
               const struct chat_arguments *arguments, bool *out_result)
{
    if (!chat_step(run, at))
        return false;
    for (size_t i = 0; i < sizeof(kind_tests) / sizeof(kind_tests[0]); i++) {
        if (chat_text_is(name, kind_tests[i].name)) {
            *out_result = (kind_tests[i].kinds >> value.kind & 1) != 0;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++) {
        if (chat_text_is(name, comparisons[i].name))
            return test_comparison(run, at, value, comparisons[i].sign, arguments, out_result);
    }
    if (chat_text_is(name, "defined")) {
        *out_result = value.kind != CHAT_UNDEFINED;
        return true;
    }
    if (chat_text_is(name, "true") || chat_text_is(name, "false")) {
        *out_result = value.kind == CHAT_BOOL && (value.as.integer != 0) == (name.size == 4);
        return true;
    }
    if (chat_text_is(name, "odd") || chat_text_is(name, "even") || chat_text_is(name, "divisibleby"))
        return test_whole(run, at, name, value, arguments, out_result);
    return chat_refuse(run, at, "test", name);
}
