/* SPDX-License-Identifier: Apache-2.0 */
/* Executes statements: outputs text, sets variables, runs loops. */
#include "model/chat/run.h"

static bool put_out(struct chat_run *run, const struct chat_node *at, struct chat_value value)
{
    bool done = value.kind == CHAT_STRING ? token_buffer_append(run->out, value.as.text.data, value.as.text.size)
                                          : chat_write(run->out, value);

    if (!done)
        return chat_no_memory(run);
    if (run->out->size > CHAT_MAX_OUTPUT)
        return chat_fail(run->chat, at->offset, ACCEL_E_LIMIT, run->error, "more than %zu bytes of output",
                         CHAT_MAX_OUTPUT);
    return true;
}

static bool push_frame(struct chat_run *run, struct chat_frame *parent)
{
    struct chat_frame *frame = chat_arena_take(&run->arena, sizeof(*frame));

    if (frame == NULL)
        return chat_no_memory(run);
    frame->parent = parent;
    run->frame = frame;
    return true;
}

static bool set_variable(struct chat_run *run, struct chat_text name, struct chat_value value)
{
    return chat_dict_set(&run->arena, &run->frame->variables, name, value) || chat_no_memory(run);
}

/* Assigns the value to one target, or its items to several targets. */
static bool set_targets(struct chat_run *run, const struct chat_node *node, struct chat_value value)
{
    const struct chat_list *list;

    if (node->name_count == 1)
        return set_variable(run, node->names[0], value);
    if (!chat_items(run, node, value, &list))
        return false;
    if (list->count != node->name_count)
        return chat_fail(run->chat, node->offset, ACCEL_E_INVALID, run->error, "%zu names for %zu values",
                         node->name_count, list->count);
    for (size_t i = 0; i < list->count; i++) {
        if (!set_variable(run, node->names[i], list->items[i]))
            return false;
    }
    return true;
}

static bool run_set(struct chat_run *run, const struct chat_node *node)
{
    struct chat_node name = {.kind = CHAT_N_NAME, .offset = node->offset, .text = node->names[0]};
    struct chat_value value, space;

    if (!chat_evaluate(run, node->a, &value))
        return false;
    if (node->text.size == 0)
        return set_targets(run, node, value);
    if (!chat_evaluate(run, &name, &space))
        return false;
    if (space.kind != CHAT_DICT || !space.as.dict->is_namespace)
        return chat_wrong(run, node, "setting an attribute of what is no namespace", space);
    return chat_dict_set(&run->arena, space.as.dict, node->text, value) || chat_no_memory(run);
}

/* Runs a body and returns its output as a value. */
static bool capture(struct chat_run *run, const struct chat_node *body, struct chat_value *out_value)
{
    struct token_buffer *outer = run->out;
    struct token_buffer inner = {0};
    bool done;

    run->out = &inner;
    done = chat_run_body(run, body);
    run->out = outer;
    if (!done) {
        token_buffer_free(&inner);
        return false;
    }
    return chat_string_from_buffer(run, &inner, true, out_value);
}

bool chat_call_macro(struct chat_run *run, const struct chat_node *at, const struct chat_macro *macro,
                     const struct chat_arguments *arguments, struct chat_value *out_value)
{
    struct chat_frame *caller = run->frame;
    size_t loops = run->loops;
    bool done = push_frame(run, macro->frame);

    for (size_t i = 0; done && i < arguments->count; i++) {
        if (arguments->names[i].size == 0 && i >= macro->node->count)
            done = chat_fail(run->chat, at->offset, ACCEL_E_INVALID, run->error, "too many arguments for a macro");
        else
            done = set_variable(run, arguments->names[i].size > 0 ? arguments->names[i] : macro->node->names[i],
                                arguments->values[i]);
    }
    for (size_t i = 0; done && i < macro->node->count; i++) {
        struct chat_value value = chat_undefined(macro->node->names[i]);

        if (chat_dict_find(&run->frame->variables, macro->node->names[i]) != NULL)
            continue;
        done = (macro->node->items[i] == NULL || chat_evaluate(run, macro->node->items[i], &value)) &&
               set_variable(run, macro->node->names[i], value);
    }
    run->loops = 0;
    done = done && capture(run, macro->node->b, out_value);
    run->loops = loops;
    run->frame = caller;
    return done;
}

static bool run_macro(struct chat_run *run, const struct chat_node *node)
{
    struct chat_macro *macro = chat_arena_take(&run->arena, sizeof(*macro));

    if (macro == NULL)
        return chat_no_memory(run);
    macro->node = node;
    macro->frame = run->frame;
    return set_variable(run, node->text, (struct chat_value){.kind = CHAT_MACRO, .as.macro = macro});
}

static bool run_capture(struct chat_run *run, const struct chat_node *node)
{
    struct chat_frame *outer = run->frame;
    struct chat_value value;
    bool done = push_frame(run, outer) && capture(run, node->b, &value);

    run->frame = outer;
    return done && set_variable(run, node->names[0], value);
}

static bool run_if(struct chat_run *run, const struct chat_node *node)
{
    while (node != NULL && node->kind == CHAT_N_IF) {
        struct chat_value value;

        if (!chat_evaluate(run, node->a, &value))
            return false;
        if (chat_truth(value))
            return chat_run_body(run, node->b);
        if (node->c == NULL || node->c->kind != CHAT_N_IF || node->c->next != NULL)
            return chat_run_body(run, node->c);
        node = node->c;
    }
    return true;
}

/* Selects the items that pass the loop's condition, which sees the targets but not `loop`. */
static bool select_items(struct chat_run *run, const struct chat_node *node, const struct chat_list **list)
{
    struct chat_value selected, value;
    struct chat_frame *outer = run->frame;

    if (node->d == NULL)
        return true;
    if (!chat_list_new(&run->arena, &selected))
        return chat_no_memory(run);
    for (size_t i = 0; i < (*list)->count; i++) {
        if (!push_frame(run, outer) || !set_targets(run, node, (*list)->items[i]) ||
            !chat_evaluate(run, node->d, &value))
            return false;
        if (chat_truth(value) && !chat_list_add(&run->arena, selected.as.list, (*list)->items[i]))
            return chat_no_memory(run);
    }
    run->frame = outer;
    *list = selected.as.list;
    return true;
}

static bool run_items(struct chat_run *run, const struct chat_node *node, const struct chat_list *list)
{
    struct chat_frame *outer = run->frame;

    for (size_t i = 0; i < list->count; i++) {
        struct chat_loop *loop = chat_arena_take(&run->arena, sizeof(*loop));

        if (loop == NULL)
            return chat_no_memory(run);
        *loop = (struct chat_loop){.list = list, .index = i, .depth = run->loops};
        if (!chat_step(run, node) || !push_frame(run, outer) ||
            !set_variable(run, CHAT_TEXT("loop"), (struct chat_value){.kind = CHAT_LOOP, .as.loop = loop}) ||
            !set_targets(run, node, list->items[i]) || !chat_run_body(run, node->b))
            return false;
        if (run->jump == CHAT_JUMP_BREAK)
            break;
        run->jump = CHAT_NO_JUMP;
    }
    run->jump = CHAT_NO_JUMP;
    return true;
}

static bool run_for(struct chat_run *run, const struct chat_node *node)
{
    struct chat_frame *outer = run->frame;
    const struct chat_list *list;
    struct chat_value value;
    bool done;

    if (!chat_evaluate(run, node->a, &value) || !chat_items(run, node, value, &list) || !select_items(run, node, &list))
        return false;
    if (list->count == 0)
        return chat_run_body(run, node->c);
    run->loops++;
    done = run_items(run, node, list);
    run->loops--;
    run->frame = outer;
    return done;
}

static bool run_statement(struct chat_run *run, const struct chat_node *node)
{
    struct chat_value value;

    switch (node->kind) {
    case CHAT_N_TEXT:
        return put_out(run, node, chat_string(node->text));
    case CHAT_N_OUTPUT:
        return chat_evaluate(run, node->a, &value) && put_out(run, node, value);
    case CHAT_N_IF:
        return run_if(run, node);
    case CHAT_N_FOR:
        return run_for(run, node);
    case CHAT_N_SET:
        return run_set(run, node);
    case CHAT_N_CAPTURE:
        return run_capture(run, node);
    case CHAT_N_MACRO:
        return run_macro(run, node);
    case CHAT_N_GROUP:
        return chat_run_body(run, node->b);
    default:
        run->jump = node->kind == CHAT_N_BREAK ? CHAT_JUMP_BREAK : CHAT_JUMP_CONTINUE;
        return true;
    }
}

bool chat_run_body(struct chat_run *run, const struct chat_node *first)
{
    bool done = true;

    if (run->depth >= CHAT_MAX_DEPTH)
        return first == NULL || chat_fail(run->chat, first->offset, ACCEL_E_LIMIT, run->error,
                                          "statements nest deeper than %d", CHAT_MAX_DEPTH);
    run->depth++;
    for (const struct chat_node *node = first; done && node != NULL && run->jump == CHAT_NO_JUMP; node = node->next)
        done = chat_step(run, node) && run_statement(run, node);
    run->depth--;
    return done;
}
