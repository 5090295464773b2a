/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates expressions to values. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "model/chat/run.h"

bool chat_no_memory(struct chat_run *run)
{
    return chat_fail_memory(run->chat, &run->arena, run->error);
}

bool chat_refuse(struct chat_run *run, const struct chat_node *at, const char *what, struct chat_text name)
{
    return chat_fail(run->chat, at->offset, ACCEL_E_UNSUPPORTED, run->error, "%s \"%.*s\" is not supported", what,
                     (int)(name.size < 60 ? name.size : 60), name.data == NULL ? "" : name.data);
}

bool chat_wrong(struct chat_run *run, const struct chat_node *at, const char *what, struct chat_value value)
{
    if (value.kind == CHAT_UNDEFINED && value.as.text.size > 0)
        return chat_fail(run->chat, at->offset, ACCEL_E_INVALID, run->error, "%s: \"%.*s\" is undefined", what,
                         (int)(value.as.text.size < 60 ? value.as.text.size : 60), value.as.text.data);
    return chat_fail(run->chat, at->offset, ACCEL_E_INVALID, run->error, "%s: not for %s", what,
                     chat_kind_name(value.kind));
}

bool chat_step(struct chat_run *run, const struct chat_node *at)
{
    if (++run->steps <= CHAT_MAX_STEPS)
        return true;
    return chat_fail(run->chat, at->offset, ACCEL_E_LIMIT, run->error, "the template takes more than %u steps",
                     CHAT_MAX_STEPS);
}

bool chat_string_from_buffer(struct chat_run *run, struct token_buffer *buffer, bool done, struct chat_value *out_value)
{
    struct chat_text text;

    done = done && chat_text_copy(&run->arena, buffer->data, buffer->size, &text);
    token_buffer_free(buffer);
    if (!done)
        return chat_no_memory(run);
    *out_value = chat_string(text);
    return true;
}

bool chat_to_text(struct chat_run *run, struct chat_value value, struct chat_text *out_text)
{
    struct token_buffer buffer = {0};
    struct chat_value made;

    if (value.kind == CHAT_STRING) {
        *out_text = value.as.text;
        return true;
    }
    if (!chat_string_from_buffer(run, &buffer, chat_write(&buffer, value), &made))
        return false;
    *out_text = made.as.text;
    return true;
}

bool chat_items(struct chat_run *run, const struct chat_node *at, struct chat_value value,
                const struct chat_list **out_list)
{
    struct chat_value made;
    bool done;

    if (value.kind == CHAT_LIST) {
        *out_list = value.as.list;
        return true;
    }
    if (value.kind != CHAT_UNDEFINED && value.kind != CHAT_DICT && value.kind != CHAT_STRING)
        return chat_wrong(run, at, "going over items", value);
    done = chat_list_new(&run->arena, &made);
    for (size_t i = 0; done && value.kind == CHAT_DICT && i < value.as.dict->count; i++)
        done = chat_list_add(&run->arena, made.as.list, chat_string(value.as.dict->pairs[i].key));
    for (size_t i = 0, size; done && value.kind == CHAT_STRING && i < value.as.text.size; i += size) {
        struct chat_text rest = {value.as.text.data + i, value.as.text.size - i};

        size = chat_character_offset(rest, 1);
        done = chat_list_add(&run->arena, made.as.list, chat_string((struct chat_text){rest.data, size}));
    }
    if (!done)
        return chat_no_memory(run);
    *out_list = made.as.list;
    return true;
}

static bool look_up(struct chat_run *run, struct chat_text name, struct chat_value *out_value)
{
    for (const struct chat_frame *frame = run->frame; frame != NULL; frame = frame->parent) {
        const struct chat_value *found = chat_dict_find(&frame->variables, name);

        if (found != NULL) {
            *out_value = *found;
            return true;
        }
    }
    *out_value = chat_undefined(name);
    if (chat_is_function(name))
        *out_value = (struct chat_value){.kind = CHAT_FUNCTION, .as.text = name};
    return true;
}

static struct chat_value loop_item(const struct chat_loop *loop, size_t index)
{
    return index < loop->list->count ? loop->list->items[index] : chat_undefined(CHAT_TEXT("loop's neighbour"));
}

static bool loop_attribute(struct chat_run *run, const struct chat_node *at, const struct chat_loop *loop,
                           struct chat_text name, struct chat_value *out_value)
{
    int64_t index = (int64_t)loop->index, count = (int64_t)loop->list->count;
    const struct {
        const char *name;
        struct chat_value value;
    } parts[] = {
        {"index", chat_integer(index + 1)},
        {"index0", chat_integer(index)},
        {"first", chat_bool(index == 0)},
        {"last", chat_bool(index + 1 == count)},
        {"length", chat_integer(count)},
        {"revindex", chat_integer(count - index)},
        {"revindex0", chat_integer(count - index - 1)},
        {"depth", chat_integer((int64_t)loop->depth)},
        {"depth0", chat_integer((int64_t)loop->depth - 1)},
        {"previtem", loop_item(loop, loop->index - 1)},
        {"nextitem", loop_item(loop, loop->index + 1)},
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (chat_text_is(name, parts[i].name)) {
            *out_value = parts[i].value;
            return true;
        }
    }
    return chat_refuse(run, at, "loop attribute", name);
}

bool chat_attribute(struct chat_run *run, const struct chat_node *at, struct chat_value value, struct chat_text name,
                    struct chat_value *out_value)
{
    const struct chat_value *found = NULL;

    if (value.kind == CHAT_UNDEFINED)
        return chat_wrong(run, at, "looking up an attribute", value);
    if (value.kind == CHAT_LOOP)
        return loop_attribute(run, at, value.as.loop, name, out_value);
    if (value.kind == CHAT_DICT)
        found = chat_dict_find(value.as.dict, name);
    *out_value = found != NULL ? *found : chat_undefined(name);
    return true;
}

/* value[index] with an index of the list's or string's own; undefined out of range. */
static bool chat_item(struct chat_run *run, const struct chat_node *at, struct chat_value value,
                      struct chat_value index, struct chat_value *out_value)
{
    int64_t count, position = index.as.integer;
    struct chat_text text;
    size_t offset;

    if (index.kind == CHAT_STRING)
        return chat_attribute(run, at, value, index.as.text, out_value);
    *out_value = chat_undefined(CHAT_TEXT("item"));
    if (value.kind == CHAT_UNDEFINED)
        return chat_wrong(run, at, "looking up an item", value);
    if ((index.kind != CHAT_INTEGER && index.kind != CHAT_BOOL) ||
        (value.kind != CHAT_LIST && value.kind != CHAT_STRING))
        return true;
    count = (int64_t)(value.kind == CHAT_LIST ? value.as.list->count : chat_characters(value.as.text));
    if (position < 0)
        position += count;
    if (position < 0 || position >= count)
        return true;
    if (value.kind == CHAT_LIST) {
        *out_value = value.as.list->items[position];
        return true;
    }
    offset = chat_character_offset(value.as.text, (size_t)position);
    text = (struct chat_text){value.as.text.data + offset, value.as.text.size - offset};
    text.size = chat_character_offset(text, 1);
    *out_value = chat_string(text);
    return true;
}

/* Evaluates one bound of a slice, with Python's rules for negative and missing bounds. */
static bool slice_bound(struct chat_run *run, const struct chat_node *node, int64_t other, int64_t *out_bound)
{
    struct chat_value value;

    *out_bound = other;
    if (node == NULL)
        return true;
    if (!chat_evaluate(run, node, &value))
        return false;
    if (value.kind == CHAT_NONE)
        return true;
    if (value.kind != CHAT_INTEGER)
        return chat_wrong(run, node, "a slice's bound", value);
    *out_bound = value.as.integer;
    return true;
}

static int64_t clamp(int64_t at, int64_t count, int64_t low, int64_t high)
{
    if (at < 0)
        at = at < -count ? low : at + count;
    return at < low ? low : at > high ? high : at;
}

static bool evaluate_slice(struct chat_run *run, const struct chat_node *node, struct chat_value *out_value)
{
    struct chat_value value, made;
    const struct chat_list *list;
    struct token_buffer joined = {0};
    int64_t from, to, step, count;
    bool done = true;

    if (!chat_evaluate(run, node->a, &value) || !slice_bound(run, node->d, 1, &step))
        return false;
    if (value.kind != CHAT_LIST && value.kind != CHAT_STRING)
        return chat_wrong(run, node, "slicing", value);
    if (step == 0 || step == INT64_MIN)
        return chat_fail(run->chat, node->offset, ACCEL_E_INVALID, run->error, "a slice's step is 0");
    if (!chat_items(run, node, value, &list) || !slice_bound(run, node->b, step > 0 ? 0 : INT64_MAX, &from) ||
        !slice_bound(run, node->c, step > 0 ? INT64_MAX : INT64_MIN, &to))
        return false;
    count = (int64_t)list->count;
    from = clamp(from, count, step > 0 ? 0 : -1, step > 0 ? count : count - 1);
    to = clamp(to, count, step > 0 ? 0 : -1, step > 0 ? count : count - 1);
    if (!chat_list_new(&run->arena, &made))
        return chat_no_memory(run);
    while (done && (step > 0 ? from < to : from > to)) {
        struct chat_value item = list->items[from];

        done = value.kind == CHAT_LIST ? chat_list_add(&run->arena, made.as.list, item)
                                       : token_buffer_append(&joined, item.as.text.data, item.as.text.size);
        if (step > 0 ? step >= to - from : step <= to - from)
            break;
        from += step;
    }
    if (value.kind == CHAT_STRING)
        return chat_string_from_buffer(run, &joined, done, out_value);
    *out_value = made;
    return done || chat_no_memory(run);
}

/* Evaluates x in y: an item of a list, a key of a mapping, or a substring. */
static bool contains(struct chat_run *run, const struct chat_node *at, struct chat_value item, struct chat_value in,
                     bool *out_result)
{
    *out_result = false;
    if (in.kind == CHAT_STRING) {
        if (item.kind != CHAT_STRING)
            return chat_wrong(run, at, "looking for a part of a string", item);
        *out_result = item.as.text.size == 0 || (in.as.text.size > 0 && memmem(in.as.text.data, in.as.text.size,
                                                                               item.as.text.data, item.as.text.size));
    } else if (in.kind == CHAT_DICT) {
        *out_result = item.kind == CHAT_STRING && chat_dict_find(in.as.dict, item.as.text) != NULL;
    } else if (in.kind == CHAT_LIST) {
        for (size_t i = 0; !*out_result && i < in.as.list->count; i++)
            *out_result = chat_equal(item, in.as.list->items[i], 0);
    } else if (in.kind != CHAT_UNDEFINED) {
        return chat_wrong(run, at, "looking for an item", in);
    }
    return true;
}

static bool compare(struct chat_run *run, const struct chat_node *at, struct chat_value a, struct chat_text sign,
                    struct chat_value b, bool *out_result)
{
    bool negated = chat_text_is(sign, "!=") || chat_text_is(sign, "not in");
    int order = 0;

    if (negated || chat_text_is(sign, "==") || chat_text_is(sign, "in")) {
        if (sign.data[sign.size - 1] == '=')
            *out_result = chat_equal(a, b, 0);
        else if (!contains(run, at, a, b, out_result))
            return false;
        *out_result = *out_result != negated;
        return true;
    }
    if (!chat_order(a, b, &order))
        return chat_wrong(run, at, "ordering", chat_is_number(a) || a.kind == CHAT_STRING ? b : a);
    *out_result = sign.data[0] == '<' ? order < 0 : order > 0;
    if (sign.size == 2 && order == 0)
        *out_result = true;
    return true;
}

static bool evaluate_comparison(struct chat_run *run, const struct chat_node *node, struct chat_value *out_value)
{
    struct chat_value left, right;
    bool result = true;

    if (!chat_evaluate(run, node->items[0], &left))
        return false;
    for (size_t i = 1; result && i < node->count; i++) {
        if (!chat_evaluate(run, node->items[i], &right) || !compare(run, node, left, node->names[i], right, &result))
            return false;
        left = right;
    }
    *out_value = chat_bool(result);
    return true;
}

static bool join_lists(struct chat_run *run, struct chat_value a, struct chat_value b, struct chat_value *out_value)
{
    bool done = chat_list_new(&run->arena, out_value);

    for (size_t i = 0; done && i < a.as.list->count; i++)
        done = chat_list_add(&run->arena, out_value->as.list, a.as.list->items[i]);
    for (size_t i = 0; done && i < b.as.list->count; i++)
        done = chat_list_add(&run->arena, out_value->as.list, b.as.list->items[i]);
    return done || chat_no_memory(run);
}

static bool join_texts(struct chat_run *run, struct chat_value a, struct chat_value b, struct chat_value *out_value)
{
    struct token_buffer joined = {0};
    bool done = chat_write(&joined, a) && chat_write(&joined, b);

    return chat_string_from_buffer(run, &joined, done, out_value);
}

/* Computes integer arithmetic. Results other than those of "/" stay integers; overflow of 64 bits is refused. */
static bool whole_arithmetic(char sign, int64_t a, int64_t b, struct chat_value *out_value)
{
    int64_t made = 0;

    switch (sign) {
    case '+':
        return !__builtin_add_overflow(a, b, &made) && (*out_value = chat_integer(made), true);
    case '-':
        return !__builtin_sub_overflow(a, b, &made) && (*out_value = chat_integer(made), true);
    case '*':
        return !__builtin_mul_overflow(a, b, &made) && (*out_value = chat_integer(made), true);
    default:
        break;
    }
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    /* Python rounds towards minus infinity, C towards zero. */
    made = sign == '%' ? a % b : a / b;
    if (a % b != 0 && (a < 0) != (b < 0))
        made += sign == '%' ? b : -1;
    *out_value = chat_integer(made);
    return true;
}

static bool real_arithmetic(struct chat_text sign, double a, double b, struct chat_value *out_value)
{
    double made, rest;

    if (b == 0 && (sign.data[0] == '/' || sign.data[0] == '%'))
        return false;
    /* The remainder has the sign of the divisor, as in Python. */
    rest = b == 0 ? 0 : fmod(a, b);
    if (rest != 0 && (rest < 0) != (b < 0))
        rest += b;
    if (chat_text_is(sign, "**"))
        made = pow(a, b);
    else if (sign.data[0] == '/')
        made = sign.size == 2 ? floor((a - rest) / b + 0.5) : a / b;
    else if (sign.data[0] == '%')
        made = rest;
    else
        made = sign.data[0] == '+' ? a + b : sign.data[0] == '-' ? a - b : a * b;
    *out_value = chat_real(made);
    return true;
}

static bool evaluate_binary(struct chat_run *run, const struct chat_node *node, struct chat_value *out_value)
{
    struct chat_value a, b;
    struct chat_text sign = node->text;
    bool whole, done;

    if (!chat_evaluate(run, node->a, &a) || !chat_evaluate(run, node->b, &b))
        return false;
    if (sign.data[0] == '~')
        return join_texts(run, a, b, out_value);
    if (sign.data[0] == '+' && a.kind == CHAT_STRING && b.kind == CHAT_STRING)
        return join_texts(run, a, b, out_value);
    if (sign.data[0] == '+' && a.kind == CHAT_LIST && b.kind == CHAT_LIST)
        return join_lists(run, a, b, out_value);
    if (!chat_is_number(a) || !chat_is_number(b)) {
        struct chat_value odd = chat_is_number(a) || (a.kind == CHAT_STRING && b.kind != CHAT_STRING) ? b : a;
        char what[] = "operator \"..\"";

        memcpy(what + 10, sign.data, sign.size);
        what[10 + sign.size] = '"';
        what[11 + sign.size] = '\0';
        return chat_wrong(run, node, what, odd);
    }
    whole = a.kind != CHAT_REAL && b.kind != CHAT_REAL && !chat_text_is(sign, "/") && !chat_text_is(sign, "**");
    done = whole ? whole_arithmetic(sign.data[0], a.as.integer, b.as.integer, out_value)
                 : real_arithmetic(sign, chat_number(a), chat_number(b), out_value);
    return done || chat_fail(run->chat, node->offset, ACCEL_E_INVALID, run->error,
                             "arithmetic divides by zero or leaves 64 bits");
}

static bool evaluate_arguments(struct chat_run *run, const struct chat_node *node, struct chat_arguments *out_arguments)
{
    *out_arguments = (struct chat_arguments){.names = node->names, .count = node->count};
    if (node->count == 0)
        return true;
    out_arguments->values = chat_arena_take(&run->arena, node->count * sizeof(*out_arguments->values));
    if (out_arguments->values == NULL)
        return chat_no_memory(run);
    for (size_t i = 0; i < node->count; i++) {
        if (!chat_evaluate(run, node->items[i], &out_arguments->values[i]))
            return false;
    }
    return true;
}

static bool evaluate_call(struct chat_run *run, const struct chat_node *node, struct chat_value *out_value)
{
    struct chat_arguments arguments;
    struct chat_value callee = chat_none(), object;

    if (node->a->kind == CHAT_N_ATTRIBUTE) {
        const struct chat_value *entry = NULL;

        if (!chat_evaluate(run, node->a->a, &object) || !evaluate_arguments(run, node, &arguments))
            return false;
        if (object.kind == CHAT_DICT)
            entry = chat_dict_find(object.as.dict, node->a->text);
        if (entry == NULL || entry->kind != CHAT_MACRO)
            return chat_method(run, node->a, node->a->text, object, &arguments, out_value);
        callee = *entry;
    } else if (!chat_evaluate(run, node->a, &callee) || !evaluate_arguments(run, node, &arguments)) {
        return false;
    }
    if (callee.kind == CHAT_MACRO)
        return chat_call_macro(run, node, callee.as.macro, &arguments, out_value);
    if (callee.kind == CHAT_FUNCTION)
        return chat_function(run, node, callee.as.text, &arguments, out_value);
    if (callee.kind == CHAT_UNDEFINED)
        return chat_refuse(run, node, "function", callee.as.text);
    return chat_wrong(run, node, "calling", callee);
}

static bool evaluate_list(struct chat_run *run, const struct chat_node *node, struct chat_value *out_value)
{
    if (!chat_list_new(&run->arena, out_value))
        return chat_no_memory(run);
    for (size_t i = 0; i < node->count; i++) {
        struct chat_value item;

        if (!chat_evaluate(run, node->items[i], &item))
            return false;
        if (!chat_list_add(&run->arena, out_value->as.list, item))
            return chat_no_memory(run);
    }
    return true;
}

static bool evaluate_dict(struct chat_run *run, const struct chat_node *node, struct chat_value *out_value)
{
    if (!chat_dict_new(&run->arena, out_value))
        return chat_no_memory(run);
    for (size_t i = 0; i + 1 < node->count; i += 2) {
        struct chat_value key, item;

        if (!chat_evaluate(run, node->items[i], &key) || !chat_evaluate(run, node->items[i + 1], &item))
            return false;
        if (key.kind != CHAT_STRING)
            return chat_wrong(run, node->items[i], "the key of a mapping", key);
        if (!chat_dict_set(&run->arena, out_value->as.dict, key.as.text, item))
            return chat_no_memory(run);
    }
    return true;
}

static bool evaluate_minus(struct chat_run *run, const struct chat_node *node, struct chat_value *out_value)
{
    struct chat_value value;

    if (!chat_evaluate(run, node->a, &value))
        return false;
    if (!chat_is_number(value) || (value.kind != CHAT_REAL && value.as.integer == INT64_MIN))
        return chat_wrong(run, node, "operator \"-\"", value);
    *out_value = value.kind == CHAT_REAL ? chat_real(-value.as.real) : chat_integer(-value.as.integer);
    return true;
}

/* Evaluates and, or, not and the conditional expression with short-circuiting. */
static bool evaluate_logic(struct chat_run *run, const struct chat_node *node, struct chat_value *out_value)
{
    bool truth;

    if (!chat_evaluate(run, node->a, out_value))
        return false;
    truth = chat_truth(*out_value);
    switch (node->kind) {
    case CHAT_N_AND:
        return !truth || chat_evaluate(run, node->b, out_value);
    case CHAT_N_OR:
        return truth || chat_evaluate(run, node->b, out_value);
    case CHAT_N_NOT:
        *out_value = chat_bool(!truth);
        return true;
    default:
        *out_value = chat_undefined(CHAT_TEXT("value without else"));
        if (truth)
            return chat_evaluate(run, node->b, out_value);
        return node->c == NULL || chat_evaluate(run, node->c, out_value);
    }
}

static bool evaluate_applied(struct chat_run *run, const struct chat_node *node, struct chat_value *out_value)
{
    struct chat_arguments arguments;
    struct chat_value value;
    bool result = false;

    if (!chat_evaluate(run, node->a, &value) || !evaluate_arguments(run, node, &arguments))
        return false;
    if (node->kind == CHAT_N_FILTER)
        return chat_filter(run, node, node->text, value, &arguments, out_value);
    if (!chat_test(run, node, node->text, value, &arguments, &result))
        return false;
    *out_value = chat_bool(result);
    return true;
}

static bool evaluate(struct chat_run *run, const struct chat_node *node, struct chat_value *out_value)
{
    struct chat_value value, index;

    switch (node->kind) {
    case CHAT_N_LITERAL:
        *out_value = node->value;
        return true;
    case CHAT_N_NAME:
        return look_up(run, node->text, out_value);
    case CHAT_N_LIST:
        return evaluate_list(run, node, out_value);
    case CHAT_N_DICT:
        return evaluate_dict(run, node, out_value);
    case CHAT_N_ATTRIBUTE:
        return chat_evaluate(run, node->a, &value) && chat_attribute(run, node, value, node->text, out_value);
    case CHAT_N_INDEX:
        return chat_evaluate(run, node->a, &value) && chat_evaluate(run, node->b, &index) &&
               chat_item(run, node, value, index, out_value);
    case CHAT_N_SLICE:
        return evaluate_slice(run, node, out_value);
    case CHAT_N_CALL:
        return evaluate_call(run, node, out_value);
    case CHAT_N_FILTER:
    case CHAT_N_TEST:
        return evaluate_applied(run, node, out_value);
    case CHAT_N_MINUS:
        return evaluate_minus(run, node, out_value);
    case CHAT_N_BINARY:
        return evaluate_binary(run, node, out_value);
    case CHAT_N_COMPARE:
        return evaluate_comparison(run, node, out_value);
    default:
        return evaluate_logic(run, node, out_value);
    }
}

bool chat_evaluate(struct chat_run *run, const struct chat_node *node, struct chat_value *out_value)
{
    bool done;

    *out_value = chat_none();
    if (!chat_step(run, node))
        return false;
    if (run->depth >= CHAT_MAX_DEPTH)
        return chat_fail(run->chat, node->offset, ACCEL_E_LIMIT, run->error, "evaluation nests deeper than %d",
                         CHAT_MAX_DEPTH);
    run->depth++;
    done = evaluate(run, node, out_value);
    run->depth--;
    return done;
}
