/* SPDX-License-Identifier: Apache-2.0 */
/* Parses expressions by Jinja's precedence: condition, or, and, not, comparison, sum, ~, product, power, sign,
 * postfix, filter, test. */
#include <stdlib.h>
#include <string.h>

#include "model/chat/syntax.h"

typedef struct chat_node *parse_fn(struct chat_parser *parser);

static parse_fn parse_or;

static struct chat_node *fail_here(struct chat_parser *parser, int32_t code, const char *words)
{
    struct chat_text text = parser->at->text;

    chat_fail(parser->chat, parser->at->offset, code, parser->error, "%s at \"%.*s\"", words,
              (int)(text.size < 60 ? text.size : 60), parser->at->kind == CHAT_T_END ? "" : text.data);
    return NULL;
}

struct chat_node *chat_node_new(struct chat_parser *parser, enum chat_node_kind kind)
{
    struct chat_node *node = chat_arena_take(&parser->chat->arena, sizeof(*node));

    if (node == NULL) {
        chat_fail_memory(parser->chat, &parser->chat->arena, parser->error);
        return NULL;
    }
    node->kind = kind;
    node->offset = parser->at->offset;
    return node;
}

bool chat_node_add(struct chat_parser *parser, struct chat_node *node, struct chat_node *item, struct chat_text name)
{
    struct chat_arena *arena = &parser->chat->arena;

    /* The capacity doubles whenever the count is a power of two. */
    if ((node->count & (node->count - 1)) == 0) {
        size_t capacity = node->count == 0 ? 1 : node->count * 2;
        struct chat_node **items = chat_arena_take(arena, capacity * sizeof(*items));
        struct chat_text *names = chat_arena_take(arena, capacity * sizeof(*names));

        if (items == NULL || names == NULL)
            return chat_fail_memory(parser->chat, arena, parser->error);
        if (node->count > 0) {
            memcpy(items, node->items, node->count * sizeof(*items));
            memcpy(names, node->names, node->count * sizeof(*names));
        }
        node->items = items;
        node->names = names;
    }
    node->items[node->count] = item;
    node->names[node->count++] = name;
    return true;
}

bool chat_at(const struct chat_parser *parser, enum chat_token_kind kind, const char *text)
{
    return parser->at->kind == kind && chat_text_is(parser->at->text, text);
}

bool chat_accept(struct chat_parser *parser, enum chat_token_kind kind, const char *text)
{
    bool there = chat_at(parser, kind, text);

    parser->at += there;
    return there;
}

bool chat_expect(struct chat_parser *parser, enum chat_token_kind kind, const char *text)
{
    if (chat_accept(parser, kind, text))
        return true;
    return chat_fail(parser->chat, parser->at->offset, ACCEL_E_CORRUPT, parser->error, "\"%s\" was expected", text);
}

static bool sign(struct chat_parser *parser, const char *text)
{
    return chat_accept(parser, CHAT_T_SIGN, text);
}

/* Parses items up to a closing bracket; calls also accept name=value. */
static bool parse_items(struct chat_parser *parser, struct chat_node *node, const char *close, bool keywords)
{
    while (!sign(parser, close)) {
        struct chat_text name = {0};
        struct chat_node *item;

        if (node->count > 0 && !chat_expect(parser, CHAT_T_SIGN, ","))
            return false;
        if (sign(parser, close)) /* a trailing comma is allowed */
            break;
        if (keywords && parser->at->kind == CHAT_T_NAME && parser->at[1].kind == CHAT_T_SIGN &&
            chat_text_is(parser->at[1].text, "=")) {
            name = parser->at->text;
            parser->at += 2;
        }
        item = chat_parse_expression(parser, true);
        if (item == NULL || !chat_node_add(parser, node, item, name))
            return false;
    }
    return true;
}

static struct chat_node *parse_dict(struct chat_parser *parser)
{
    struct chat_node *node = chat_node_new(parser, CHAT_N_DICT);
    struct chat_text none = {0};

    while (node != NULL && !sign(parser, "}")) {
        struct chat_node *key, *value;

        if (node->count > 0 && !chat_expect(parser, CHAT_T_SIGN, ","))
            return NULL;
        if (sign(parser, "}"))
            break;
        key = chat_parse_expression(parser, true);
        if (key == NULL || !chat_expect(parser, CHAT_T_SIGN, ":"))
            return NULL;
        value = chat_parse_expression(parser, true);
        if (value == NULL || !chat_node_add(parser, node, key, none) || !chat_node_add(parser, node, value, none))
            return NULL;
    }
    return node;
}

/* Parses a string; adjacent strings are concatenated. */
static struct chat_node *parse_string(struct chat_parser *parser)
{
    struct chat_node *node = chat_node_new(parser, CHAT_N_LITERAL);
    struct token_buffer joined = {0};
    struct chat_text text = parser->at->text;
    bool done = node != NULL;

    if (parser->at[1].kind != CHAT_T_STRING) {
        parser->at++;
    } else {
        for (; done && parser->at->kind == CHAT_T_STRING; parser->at++)
            done = token_buffer_append(&joined, parser->at->text.data, parser->at->text.size);
        done = done && chat_text_copy(&parser->chat->arena, joined.data, joined.size, &text);
        if (!done)
            chat_fail_memory(parser->chat, &parser->chat->arena, parser->error);
        token_buffer_free(&joined);
    }
    if (!done)
        return NULL;
    node->value = chat_string(text);
    return node;
}

static struct chat_node *parse_number(struct chat_parser *parser)
{
    struct chat_node *node = chat_node_new(parser, CHAT_N_LITERAL);
    char number[40];
    size_t size = parser->at->text.size;

    if (node == NULL)
        return NULL;
    if (size > 18 && (parser->at->kind == CHAT_T_INTEGER || size >= sizeof(number)))
        return fail_here(parser, ACCEL_E_LIMIT, "too long a number");
    memcpy(number, parser->at->text.data, size);
    number[size] = '\0';
    node->value =
        parser->at->kind == CHAT_T_INTEGER ? chat_integer(strtoll(number, NULL, 10)) : chat_real(strtod(number, NULL));
    parser->at++;
    return node;
}

static struct chat_node *parse_name(struct chat_parser *parser)
{
    static const struct {
        const char *word;
        enum chat_kind kind;
        int64_t integer;
    } constants[] = {{"true", CHAT_BOOL, 1},  {"True", CHAT_BOOL, 1}, {"false", CHAT_BOOL, 0},
                     {"False", CHAT_BOOL, 0}, {"none", CHAT_NONE, 0}, {"None", CHAT_NONE, 0}};
    struct chat_node *node = chat_node_new(parser, CHAT_N_NAME);

    if (node == NULL)
        return NULL;
    node->text = parser->at->text;
    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
        if (chat_text_is(node->text, constants[i].word)) {
            node->kind = CHAT_N_LITERAL;
            node->value = (struct chat_value){.kind = constants[i].kind, .as.integer = constants[i].integer};
        }
    }
    parser->at++;
    return node;
}

static struct chat_node *parse_primary(struct chat_parser *parser)
{
    struct chat_node *node;

    if (parser->at->kind == CHAT_T_NAME)
        return parse_name(parser);
    if (parser->at->kind == CHAT_T_STRING)
        return parse_string(parser);
    if (parser->at->kind == CHAT_T_INTEGER || parser->at->kind == CHAT_T_REAL)
        return parse_number(parser);
    if (sign(parser, "(")) {
        if (sign(parser, ")"))
            return chat_node_new(parser, CHAT_N_LIST);
        node = chat_parse_tuple(parser, true);
        return node != NULL && chat_expect(parser, CHAT_T_SIGN, ")") ? node : NULL;
    }
    if (sign(parser, "[")) {
        node = chat_node_new(parser, CHAT_N_LIST);
        return node != NULL && parse_items(parser, node, "]", false) ? node : NULL;
    }
    if (sign(parser, "{"))
        return parse_dict(parser);
    return fail_here(parser, ACCEL_E_CORRUPT, "a value was expected");
}

/* Parses the brackets of an index: an expression, or the parts of a slice. */
static struct chat_node *parse_index(struct chat_parser *parser, struct chat_node *of)
{
    struct chat_node *node = chat_node_new(parser, CHAT_N_INDEX);
    struct chat_node **parts[3];
    size_t part = 0;

    if (node == NULL)
        return NULL;
    node->a = of;
    parts[0] = &node->b;
    parts[1] = &node->c;
    parts[2] = &node->d;
    while (!sign(parser, "]")) {
        if (sign(parser, ":")) {
            node->kind = CHAT_N_SLICE;
            if (++part > 2)
                return fail_here(parser, ACCEL_E_CORRUPT, "a slice has three parts");
            continue;
        }
        if (*parts[part] != NULL)
            return fail_here(parser, ACCEL_E_CORRUPT, "\"]\" was expected");
        *parts[part] = chat_parse_expression(parser, true);
        if (*parts[part] == NULL)
            return NULL;
    }
    if (node->kind == CHAT_N_INDEX && node->b == NULL)
        return fail_here(parser, ACCEL_E_CORRUPT, "an empty index");
    return node;
}

static struct chat_node *parse_attribute(struct chat_parser *parser, struct chat_node *of)
{
    struct chat_node *node = chat_node_new(parser, CHAT_N_ATTRIBUTE);

    if (node == NULL)
        return NULL;
    node->a = of;
    node->text = parser->at->text;
    if (parser->at->kind == CHAT_T_INTEGER) { /* list.0 */
        node->kind = CHAT_N_INDEX;
        node->b = parse_number(parser);
        return node->b == NULL ? NULL : node;
    }
    if (parser->at->kind != CHAT_T_NAME)
        return fail_here(parser, ACCEL_E_CORRUPT, "a name was expected behind \".\"");
    parser->at++;
    return node;
}

static struct chat_node *parse_call(struct chat_parser *parser, struct chat_node *of)
{
    struct chat_node *node = chat_node_new(parser, CHAT_N_CALL);

    if (node == NULL || !parse_items(parser, node, ")", true))
        return NULL;
    node->a = of;
    return node;
}

static struct chat_node *parse_postfix(struct chat_parser *parser, struct chat_node *node)
{
    while (node != NULL && parser->at->kind == CHAT_T_SIGN) {
        if (sign(parser, "."))
            node = parse_attribute(parser, node);
        else if (sign(parser, "["))
            node = parse_index(parser, node);
        else if (sign(parser, "("))
            node = parse_call(parser, node);
        else
            break;
    }
    return node;
}

static struct chat_node *parse_filter(struct chat_parser *parser, struct chat_node *of)
{
    struct chat_node *node = chat_node_new(parser, CHAT_N_FILTER);

    if (node == NULL)
        return NULL;
    if (parser->at->kind != CHAT_T_NAME)
        return fail_here(parser, ACCEL_E_CORRUPT, "the name of a filter was expected");
    node->a = of;
    node->text = (parser->at++)->text;
    return !sign(parser, "(") || parse_items(parser, node, ")", true) ? node : NULL;
}

/* Returns whether an unbracketed argument of a test begins here, as in "is divisibleby 3". */
static bool at_argument(const struct chat_parser *parser)
{
    if (parser->at->kind == CHAT_T_STRING || parser->at->kind == CHAT_T_INTEGER || parser->at->kind == CHAT_T_REAL)
        return true;
    if (parser->at->kind == CHAT_T_SIGN)
        return chat_text_is_one_of(parser->at->text, "[ {");
    return parser->at->kind == CHAT_T_NAME &&
           !chat_text_is_one_of(parser->at->text, "else or and if in is not recursive");
}

static struct chat_node *parse_test(struct chat_parser *parser, struct chat_node *of)
{
    bool negated = chat_accept(parser, CHAT_T_NAME, "not");
    struct chat_node *node = chat_node_new(parser, CHAT_N_TEST), *outer;
    struct chat_text none = {0};

    if (node == NULL)
        return NULL;
    if (parser->at->kind != CHAT_T_NAME)
        return fail_here(parser, ACCEL_E_CORRUPT, "the name of a test was expected");
    node->a = of;
    node->text = (parser->at++)->text;
    if (sign(parser, "(")) {
        if (!parse_items(parser, node, ")", true))
            return NULL;
    } else if (at_argument(parser)) {
        struct chat_node *argument = parse_postfix(parser, parse_primary(parser));

        if (argument == NULL || !chat_node_add(parser, node, argument, none))
            return NULL;
    }
    if (!negated)
        return node;
    outer = chat_node_new(parser, CHAT_N_NOT);
    if (outer != NULL)
        outer->a = node;
    return outer;
}

static struct chat_node *parse_filters(struct chat_parser *parser, struct chat_node *node)
{
    while (node != NULL) {
        if (sign(parser, "|"))
            node = parse_filter(parser, node);
        else if (chat_accept(parser, CHAT_T_NAME, "is"))
            node = parse_test(parser, node);
        else if (sign(parser, "("))
            node = parse_call(parser, node);
        else
            break;
    }
    return node;
}

/* Enters a nested construct. The depth is bounded, since the tree is evaluated by recursion. */
static bool enter(struct chat_parser *parser)
{
    if (++parser->depth <= CHAT_MAX_NESTING)
        return true;
    fail_here(parser, ACCEL_E_LIMIT, "nested too deeply");
    return false;
}

static struct chat_node *parse_signed(struct chat_parser *parser, bool filters)
{
    struct chat_node *node = NULL;

    if (!enter(parser))
        return NULL;
    if (sign(parser, "-")) {
        node = chat_node_new(parser, CHAT_N_MINUS);
        if (node != NULL && (node->a = parse_signed(parser, false)) == NULL)
            node = NULL;
    } else if (sign(parser, "+")) {
        node = parse_signed(parser, false);
    } else {
        node = parse_primary(parser);
    }
    node = parse_postfix(parser, node);
    if (filters)
        node = parse_filters(parser, node);
    parser->depth--;
    return node;
}

/* Left-associative operators from the loosest to the tightest, those of one precedence together; NULL ends. */
static const char *const levels[] = {"+ -", "~", "* / // %", "**", NULL};

static struct chat_node *parse_level(struct chat_parser *parser, const char *const *level)
{
    struct chat_node *left = *level == NULL ? parse_signed(parser, true) : parse_level(parser, level + 1);
    int chained = 0;

    while (left != NULL && *level != NULL && parser->at->kind == CHAT_T_SIGN &&
           chat_text_is_one_of(parser->at->text, *level)) {
        struct chat_node *node = chat_node_new(parser, CHAT_N_BINARY);

        if (node == NULL)
            return NULL;
        /* A chain is left-associative and nests the tree as deeply as brackets do. */
        if (++chained > CHAT_MAX_NESTING * 4)
            return fail_here(parser, ACCEL_E_LIMIT, "too long a chain of operators");
        node->text = (parser->at++)->text;
        node->a = left;
        node->b = parse_level(parser, level + 1);
        left = node->b == NULL ? NULL : node;
    }
    return left;
}

/* Parses the operator of a comparison, if there is one. */
static struct chat_text accept_comparison(struct chat_parser *parser)
{
    static const char *const signs[] = {"==", "!=", "<=", ">=", "<", ">"};
    struct chat_text none = {0};

    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (sign(parser, signs[i]))
            return (struct chat_text){signs[i], strlen(signs[i])};
    }
    if (chat_accept(parser, CHAT_T_NAME, "in"))
        return CHAT_TEXT("in");
    if (chat_at(parser, CHAT_T_NAME, "not") && parser->at[1].kind == CHAT_T_NAME &&
        chat_text_is(parser->at[1].text, "in")) {
        parser->at += 2;
        return CHAT_TEXT("not in");
    }
    return none;
}

static struct chat_node *parse_comparison(struct chat_parser *parser)
{
    struct chat_node *first = parse_level(parser, levels), *node = NULL;
    struct chat_text none = {0};

    while (first != NULL) {
        struct chat_text operator= accept_comparison(parser);
        struct chat_node *right;

        if (operator.size == 0)
            break;
        if (node == NULL) {
            node = chat_node_new(parser, CHAT_N_COMPARE);
            if (node == NULL || !chat_node_add(parser, node, first, none))
                return NULL;
        }
        right = parse_level(parser, levels);
        if (right == NULL || !chat_node_add(parser, node, right, operator))
            return NULL;
    }
    return first == NULL || node == NULL ? first : node;
}

static struct chat_node *parse_not(struct chat_parser *parser)
{
    struct chat_node *node;

    if (!chat_accept(parser, CHAT_T_NAME, "not"))
        return parse_comparison(parser);
    node = chat_node_new(parser, CHAT_N_NOT);
    if (node == NULL || !enter(parser))
        return NULL;
    node->a = parse_not(parser);
    parser->depth--;
    return node->a == NULL ? NULL : node;
}

static struct chat_node *parse_logic(struct chat_parser *parser, const char *word, enum chat_node_kind kind,
                                     parse_fn *next)
{
    struct chat_node *left = next(parser);
    int chained = 0;

    while (left != NULL && chat_accept(parser, CHAT_T_NAME, word)) {
        struct chat_node *node = chat_node_new(parser, kind);

        if (++chained > CHAT_MAX_NESTING * 4)
            return fail_here(parser, ACCEL_E_LIMIT, "too long a chain of operators");
        if (node == NULL)
            return NULL;
        node->a = left;
        node->b = next(parser);
        left = node->b == NULL ? NULL : node;
    }
    return left;
}

static struct chat_node *parse_and(struct chat_parser *parser)
{
    return parse_logic(parser, "and", CHAT_N_AND, parse_not);
}

static struct chat_node *parse_or(struct chat_parser *parser)
{
    return parse_logic(parser, "or", CHAT_N_OR, parse_and);
}

struct chat_node *chat_parse_expression(struct chat_parser *parser, bool condition)
{
    struct chat_node *value, *node;

    if (!enter(parser))
        return NULL;
    value = parse_or(parser);
    while (condition && value != NULL && chat_accept(parser, CHAT_T_NAME, "if")) {
        node = chat_node_new(parser, CHAT_N_CONDITION);
        if (node == NULL)
            return NULL;
        node->b = value;
        node->a = parse_or(parser);
        if (node->a == NULL)
            return NULL;
        if (chat_accept(parser, CHAT_T_NAME, "else")) {
            node->c = chat_parse_expression(parser, true);
            if (node->c == NULL)
                return NULL;
        }
        value = node;
    }
    parser->depth--;
    return value;
}

struct chat_node *chat_parse_tuple(struct chat_parser *parser, bool condition)
{
    struct chat_node *first = chat_parse_expression(parser, condition), *node;
    struct chat_text none = {0};

    if (first == NULL || !chat_at(parser, CHAT_T_SIGN, ","))
        return first;
    node = chat_node_new(parser, CHAT_N_LIST);
    if (node == NULL || !chat_node_add(parser, node, first, none))
        return NULL;
    while (sign(parser, ",")) {
        struct chat_node *item;

        if (parser->at->kind == CHAT_T_CLOSE || chat_at(parser, CHAT_T_SIGN, ")"))
            break;
        item = chat_parse_expression(parser, condition);
        if (item == NULL || !chat_node_add(parser, node, item, none))
            return NULL;
    }
    return node;
}
