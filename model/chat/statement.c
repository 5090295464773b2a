/* SPDX-License-Identifier: Apache-2.0 */
/* Parses statements: text, outputs and blocks. The body of a block ends before one of the words "ONE TWO". */
#include <string.h>

#include "model/chat/syntax.h"

static bool parse_body(struct chat_parser *parser, const char *ends, struct chat_node **out_first);

static bool fail_here(struct chat_parser *parser, int32_t code, const char *words)
{
    struct chat_text text = parser->at->text;

    return chat_fail(parser->chat, parser->at->offset, code, parser->error, "%s at \"%.*s\"", words,
                     (int)(text.size < 60 ? text.size : 60), parser->at->kind == CHAT_T_END ? "" : text.data);
}

static bool close_tag(struct chat_parser *parser)
{
    if (parser->at->kind != CHAT_T_CLOSE)
        return fail_here(parser, ACCEL_E_CORRUPT, "the end of the tag was expected");
    parser->at++;
    return true;
}

/* Consumes "{% word %}" at the parser's position. */
static bool end_block(struct chat_parser *parser, const char *word)
{
    if (parser->at->kind != CHAT_T_BLOCK)
        return chat_fail(parser->chat, parser->at->offset, ACCEL_E_CORRUPT, parser->error, "\"%s\" is missing", word);
    parser->at++;
    return chat_expect(parser, CHAT_T_NAME, word) && close_tag(parser);
}

/* Parses names separated by commas, optionally in brackets. */
static bool parse_targets(struct chat_parser *parser, struct chat_node *node)
{
    bool bracket = chat_accept(parser, CHAT_T_SIGN, "(");

    do {
        if (parser->at->kind != CHAT_T_NAME)
            return fail_here(parser, ACCEL_E_CORRUPT, "a name was expected");
        if (!chat_node_add(parser, node, NULL, parser->at->text))
            return false;
        parser->at++;
    } while (chat_accept(parser, CHAT_T_SIGN, ","));
    node->name_count = node->count;
    return !bracket || chat_expect(parser, CHAT_T_SIGN, ")");
}

/* Parses if and elif, after the word. An else belongs to the last of them. */
static bool parse_if(struct chat_parser *parser, struct chat_node *node)
{
    struct chat_node *at = node;

    for (;;) {
        at->kind = CHAT_N_IF;
        at->a = chat_parse_tuple(parser, true);
        if (at->a == NULL || !close_tag(parser) || !parse_body(parser, "elif else endif", &at->b))
            return false;
        if (!(parser->at->kind == CHAT_T_BLOCK && chat_text_is(parser->at[1].text, "elif")))
            break;
        parser->at += 2;
        at->c = chat_node_new(parser, CHAT_N_IF);
        if (at->c == NULL)
            return false;
        at = at->c;
    }
    if (parser->at->kind == CHAT_T_BLOCK && chat_text_is(parser->at[1].text, "else")) {
        parser->at += 2;
        if (!close_tag(parser) || !parse_body(parser, "endif", &at->c))
            return false;
    }
    return end_block(parser, "endif");
}

static bool parse_for(struct chat_parser *parser, struct chat_node *node)
{
    bool done;

    node->kind = CHAT_N_FOR;
    if (!parse_targets(parser, node) || !chat_expect(parser, CHAT_T_NAME, "in"))
        return false;
    node->a = chat_parse_tuple(parser, false);
    if (node->a == NULL)
        return false;
    if (chat_accept(parser, CHAT_T_NAME, "if")) {
        node->d = chat_parse_expression(parser, true);
        if (node->d == NULL)
            return false;
    }
    if (chat_at(parser, CHAT_T_NAME, "recursive"))
        return fail_here(parser, ACCEL_E_UNSUPPORTED, "a recursive loop is not supported");
    parser->loops++;
    done = close_tag(parser) && parse_body(parser, "else endfor", &node->b);
    parser->loops--;
    if (done && parser->at->kind == CHAT_T_BLOCK && chat_text_is(parser->at[1].text, "else")) {
        parser->at += 2;
        done = close_tag(parser) && parse_body(parser, "endfor", &node->c);
    }
    return done && end_block(parser, "endfor");
}

/* Parses set x = ..., set x, y = ..., set ns.x = ..., and the block from "set x" to "endset". */
static bool parse_set(struct chat_parser *parser, struct chat_node *node)
{
    node->kind = CHAT_N_SET;
    if (!parse_targets(parser, node))
        return false;
    if (node->name_count == 1 && chat_accept(parser, CHAT_T_SIGN, ".")) {
        if (parser->at->kind != CHAT_T_NAME)
            return fail_here(parser, ACCEL_E_CORRUPT, "a name was expected behind \".\"");
        node->text = (parser->at++)->text;
    }
    if (chat_accept(parser, CHAT_T_SIGN, "=")) {
        node->a = chat_parse_tuple(parser, true);
        return node->a != NULL && close_tag(parser);
    }
    if (node->name_count != 1 || node->text.size > 0 || chat_at(parser, CHAT_T_SIGN, "|"))
        return fail_here(parser, ACCEL_E_UNSUPPORTED, "\"=\" was expected");
    node->kind = CHAT_N_CAPTURE;
    return close_tag(parser) && parse_body(parser, "endset", &node->b) && end_block(parser, "endset");
}

static bool parse_macro(struct chat_parser *parser, struct chat_node *node)
{
    int loops = parser->loops;
    bool done;

    node->kind = CHAT_N_MACRO;
    if (parser->at->kind != CHAT_T_NAME)
        return fail_here(parser, ACCEL_E_CORRUPT, "the name of a macro was expected");
    node->text = (parser->at++)->text;
    if (!chat_expect(parser, CHAT_T_SIGN, "("))
        return false;
    while (!chat_accept(parser, CHAT_T_SIGN, ")")) {
        struct chat_text name;
        struct chat_node *other = NULL;

        if (node->count > 0 && !chat_expect(parser, CHAT_T_SIGN, ","))
            return false;
        if (parser->at->kind != CHAT_T_NAME)
            return fail_here(parser, ACCEL_E_CORRUPT, "the name of a parameter was expected");
        name = (parser->at++)->text;
        if (chat_accept(parser, CHAT_T_SIGN, "=") && (other = chat_parse_expression(parser, true)) == NULL)
            return false;
        if (!chat_node_add(parser, node, other, name))
            return false;
    }
    parser->loops = 0;
    done = close_tag(parser) && parse_body(parser, "endmacro", &node->b) && end_block(parser, "endmacro");
    parser->loops = loops;
    return done;
}

/* Parses generation, which marks the assistant's text for training; its content is output unchanged. */
static bool parse_generation(struct chat_parser *parser, struct chat_node *node)
{
    node->kind = CHAT_N_GROUP;
    return close_tag(parser) && parse_body(parser, "endgeneration", &node->b) && end_block(parser, "endgeneration");
}

static bool parse_jump(struct chat_parser *parser, struct chat_node *node)
{
    node->kind = chat_text_is(parser->at[-1].text, "break") ? CHAT_N_BREAK : CHAT_N_CONTINUE;
    if (parser->loops == 0)
        return fail_here(parser, ACCEL_E_CORRUPT, "break or continue outside of a loop");
    return close_tag(parser);
}

static bool parse_block(struct chat_parser *parser, struct chat_node *node)
{
    static const struct {
        const char *word;
        bool (*parse)(struct chat_parser *, struct chat_node *);
    } blocks[] = {{"if", parse_if},
                  {"for", parse_for},
                  {"set", parse_set},
                  {"macro", parse_macro},
                  {"break", parse_jump},
                  {"continue", parse_jump},
                  {"generation", parse_generation}};

    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        if (chat_accept(parser, CHAT_T_NAME, blocks[i].word))
            return blocks[i].parse(parser, node);
    }
    return fail_here(parser, ACCEL_E_UNSUPPORTED, "a statement that is not supported");
}

/* Parses one statement into `node`. */
static bool parse_statement(struct chat_parser *parser, struct chat_node *node)
{
    if (parser->at->kind == CHAT_T_TEXT) {
        node->kind = CHAT_N_TEXT;
        node->text = (parser->at++)->text;
        return true;
    }
    if (parser->at->kind == CHAT_T_OUTPUT) {
        parser->at++;
        node->kind = CHAT_N_OUTPUT;
        node->a = chat_parse_tuple(parser, true);
        return node->a != NULL && close_tag(parser);
    }
    parser->at++;
    return parse_block(parser, node);
}

/* Returns whether the parser is at a block that begins with one of the words; consumes nothing. */
static bool at_end(const struct chat_parser *parser, const char *ends)
{
    return parser->at->kind == CHAT_T_BLOCK && parser->at[1].kind == CHAT_T_NAME &&
           chat_text_is_one_of(parser->at[1].text, ends);
}

static bool parse_body(struct chat_parser *parser, const char *ends, struct chat_node **out_first)
{
    struct chat_node **link = out_first;

    *out_first = NULL;
    if (++parser->depth > CHAT_MAX_NESTING)
        return fail_here(parser, ACCEL_E_LIMIT, "nested too deeply");
    while (parser->at->kind != CHAT_T_END && !at_end(parser, ends)) {
        struct chat_node *node = chat_node_new(parser, CHAT_N_TEXT);

        if (node == NULL || !parse_statement(parser, node))
            return false;
        *link = node;
        link = &node->next;
    }
    if (parser->at->kind == CHAT_T_END && ends[0] != '\0')
        return chat_fail(parser->chat, parser->at->offset, ACCEL_E_CORRUPT, parser->error, "\"%.*s\" is missing",
                         (int)strcspn(ends, " "), ends);
    parser->depth--;
    return true;
}

bool chat_parse(struct accel_chat_template *chat, struct accel_error *error)
{
    struct chat_parser parser = {.chat = chat, .at = chat->tokens, .error = error};

    return parse_body(&parser, "", &chat->body);
}
