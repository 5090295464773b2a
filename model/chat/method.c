/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the methods of strings, lists and mappings, and the global functions. */
#include "config.h"

#include <string.h>

#include "model/chat/run.h"

#define MAX_RANGE 100000

static bool method_strip(const struct chat_call *called, struct chat_value *out_value)
{
    struct chat_text set;

    if (!chat_text_argument(called->run, called->at, called->arguments, 0, "chars", (struct chat_text){0}, &set))
        return false;
    *out_value =
        chat_string(chat_strip(called->value.as.text, set, called->name.data[0] != 'r', called->name.data[0] != 'l'));
    return true;
}

/* Implements methods that are filters too. */
static bool method_filter(const struct chat_call *called, struct chat_value *out_value)
{
    return chat_filter(called->run, called->at, called->name, called->value, called->arguments, out_value);
}

static bool matches_end(struct chat_text text, struct chat_text part, bool start)
{
    if (part.size > text.size)
        return false;
    return part.size == 0 || memcmp(start ? text.data : text.data + text.size - part.size, part.data, part.size) == 0;
}

/* Implements startswith and endswith: a string, or several of which one must match. */
static bool method_ends(const struct chat_call *called, struct chat_value *out_value)
{
    bool start = called->name.data[0] == 's', result = false;
    struct chat_value one = called->arguments->count == 1 ? called->arguments->values[0] : chat_none();
    struct chat_list single = {.items = &one, .count = 1};
    const struct chat_list *list = one.kind == CHAT_LIST ? one.as.list : &single;

    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].kind != CHAT_STRING)
            return chat_wrong(called->run, called->at, "startswith or endswith", list->items[i]);
        result = result || matches_end(called->value.as.text, list->items[i].as.text, start);
    }
    *out_value = chat_bool(result);
    return true;
}

static bool add_part(const struct chat_call *called, struct chat_value list, const char *data, size_t size)
{
    return chat_list_add(&called->run->arena, list.as.list, chat_string((struct chat_text){data, size})) ||
           chat_no_memory(called->run);
}

/* Implements split() at runs of white space, which is dropped at both ends. */
static bool split_words(const struct chat_call *called, struct chat_text rest, size_t limit, struct chat_value list)
{
    struct chat_text none = {0};

    for (rest = chat_strip(rest, none, true, limit == SIZE_MAX); rest.size > 0;
         rest = chat_strip(rest, none, true, limit == SIZE_MAX)) {
        size_t size = 0;

        while (limit > 0 && size < rest.size) {
            uint32_t code = 0;
            size_t length = token_utf8_next(rest.data + size, rest.size - size, &code);

            if (length == 0 || token_is_space(code))
                break;
            size += length;
        }
        if (limit == 0)
            size = rest.size;
        else if (limit != SIZE_MAX)
            limit--;
        if (!add_part(called, list, rest.data, size))
            return false;
        rest.data += size;
        rest.size -= size;
    }
    return true;
}

static bool method_split(const struct chat_call *called, struct chat_value *out_value)
{
    const struct chat_value *count = chat_argument(called->arguments, 1, "maxsplit");
    size_t limit =
        count != NULL && count->kind == CHAT_INTEGER && count->as.integer >= 0 ? (size_t)count->as.integer : SIZE_MAX;
    struct chat_text rest = called->value.as.text, seam;

    if (!chat_text_argument(called->run, called->at, called->arguments, 0, "sep", (struct chat_text){0}, &seam))
        return false;
    if (!chat_list_new(&called->run->arena, out_value))
        return chat_no_memory(called->run);
    if (seam.size == 0)
        return split_words(called, rest, limit, *out_value);
    while (limit-- > 0) {
        const char *found = rest.size == 0 ? NULL : memmem(rest.data, rest.size, seam.data, seam.size);
        size_t before = found == NULL ? 0 : (size_t)(found - rest.data);

        if (found == NULL)
            break;
        if (!add_part(called, *out_value, rest.data, before))
            return false;
        rest.data += before + seam.size;
        rest.size -= before + seam.size;
    }
    return add_part(called, *out_value, rest.data, rest.size);
}

static bool method_find(const struct chat_call *called, struct chat_value *out_value)
{
    struct chat_text text = called->value.as.text, part;
    const char *found = NULL;

    if (!chat_text_argument(called->run, called->at, called->arguments, 0, "sub", CHAT_TEXT(""), &part))
        return false;
    if (text.size > 0)
        found = memmem(text.data, text.size, part.data, part.size);
    if (part.size == 0)
        found = text.data;
    *out_value = chat_integer(-1);
    if (found != NULL)
        *out_value = chat_integer((int64_t)chat_characters((struct chat_text){text.data, (size_t)(found - text.data)}));
    return true;
}

static bool method_count(const struct chat_call *called, struct chat_value *out_value)
{
    struct chat_text rest = called->value.as.text, part;
    int64_t count = 0;

    if (!chat_text_argument(called->run, called->at, called->arguments, 0, "sub", CHAT_TEXT(""), &part))
        return false;
    while (part.size > 0 && rest.size > 0) {
        const char *found = memmem(rest.data, rest.size, part.data, part.size);

        if (found == NULL)
            break;
        count++;
        rest.size -= (size_t)(found - rest.data) + part.size;
        rest.data = found + part.size;
    }
    *out_value = chat_integer(count);
    return true;
}

static bool method_join(const struct chat_call *called, struct chat_value *out_value)
{
    struct chat_value seam = called->value;
    struct chat_arguments arguments = {.values = &seam, .names = &(struct chat_text){0}, .count = 1};

    if (called->arguments->count != 1)
        return chat_fail(called->run->chat, called->at->offset, ACCEL_E_INVALID, called->run->error,
                         "join takes one argument");
    return chat_filter(called->run, called->at, CHAT_TEXT("join"), called->arguments->values[0], &arguments, out_value);
}

/* Implements keys, values and items of a mapping. */
static bool method_entries(const struct chat_call *called, struct chat_value *out_value)
{
    const struct chat_dict *dict = called->value.as.dict;
    struct chat_arena *arena = &called->run->arena;
    bool done = chat_list_new(arena, out_value);

    for (size_t i = 0; done && i < dict->count; i++) {
        struct chat_value key = chat_string(dict->pairs[i].key), entry = key;

        if (called->name.data[0] == 'v')
            entry = dict->pairs[i].value;
        else if (called->name.data[0] == 'i')
            done = chat_list_new(arena, &entry) && chat_list_add(arena, entry.as.list, key) &&
                   chat_list_add(arena, entry.as.list, dict->pairs[i].value);
        done = done && chat_list_add(arena, out_value->as.list, entry);
    }
    return done || chat_no_memory(called->run);
}

static bool method_get(const struct chat_call *called, struct chat_value *out_value)
{
    const struct chat_value *key = chat_argument(called->arguments, 0, "key");
    const struct chat_value *other = chat_argument(called->arguments, 1, "default");
    const struct chat_value *found = NULL;

    if (key != NULL && key->kind == CHAT_STRING)
        found = chat_dict_find(called->value.as.dict, key->as.text);
    *out_value = found != NULL ? *found : other != NULL ? *other : chat_none();
    return true;
}

static bool method_index(const struct chat_call *called, struct chat_value *out_value)
{
    const struct chat_list *list = called->value.as.list;

    for (size_t i = 0; called->arguments->count == 1 && i < list->count; i++) {
        if (chat_equal(list->items[i], called->arguments->values[0], 0)) {
            *out_value = chat_integer((int64_t)i);
            return true;
        }
    }
    return chat_fail(called->run->chat, called->at->offset, ACCEL_E_INVALID, called->run->error,
                     "index: no such item in the list");
}

static bool method_cycle(const struct chat_call *called, struct chat_value *out_value)
{
    if (called->arguments->count == 0)
        return chat_fail(called->run->chat, called->at->offset, ACCEL_E_INVALID, called->run->error,
                         "cycle takes at least one value");
    *out_value = called->arguments->values[called->value.as.loop->index % called->arguments->count];
    return true;
}

static const struct {
    enum chat_kind kind;
    const char *name;
    chat_call_fn *call;
} methods[] = {
    {CHAT_STRING, "strip", method_strip},       {CHAT_STRING, "lstrip", method_strip},
    {CHAT_STRING, "rstrip", method_strip},      {CHAT_STRING, "upper", method_filter},
    {CHAT_STRING, "lower", method_filter},      {CHAT_STRING, "title", method_filter},
    {CHAT_STRING, "capitalize", method_filter}, {CHAT_STRING, "startswith", method_ends},
    {CHAT_STRING, "endswith", method_ends},     {CHAT_STRING, "replace", method_filter},
    {CHAT_STRING, "split", method_split},       {CHAT_STRING, "find", method_find},
    {CHAT_STRING, "count", method_count},       {CHAT_STRING, "join", method_join},
    {CHAT_DICT, "keys", method_entries},        {CHAT_DICT, "values", method_entries},
    {CHAT_DICT, "items", method_entries},       {CHAT_DICT, "get", method_get},
    {CHAT_LIST, "index", method_index},         {CHAT_LOOP, "cycle", method_cycle},
};

bool chat_method(struct chat_run *run, const struct chat_node *at, struct chat_text name, struct chat_value value,
                 const struct chat_arguments *arguments, struct chat_value *out_value)
{
    struct chat_call called = {run, at, name, value, arguments};

    if (value.kind == CHAT_UNDEFINED)
        return chat_wrong(run, at, "calling a method", value);
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (methods[i].kind == value.kind && chat_text_is(name, methods[i].name))
            return methods[i].call(&called, out_value);
    }
    return chat_refuse(run, at, "method", name);
}

/* ---- functions */

static bool function_raise(const struct chat_call *called, struct chat_value *out_value)
{
    struct chat_text text = CHAT_TEXT("");

    *out_value = chat_none();
    if (called->arguments->count > 0 && !chat_to_text(called->run, called->arguments->values[0], &text))
        return false;
    return chat_fail(called->run->chat, called->at->offset, ACCEL_E_REFUSED, called->run->error,
                     "the template refuses this conversation: %.*s", (int)(text.size < 300 ? text.size : 300),
                     text.data);
}

/* Implements namespace(...) and dict(...): a mapping of the keyword arguments. */
static bool function_dict(const struct chat_call *called, struct chat_value *out_value)
{
    if (!chat_dict_new(&called->run->arena, out_value))
        return chat_no_memory(called->run);
    out_value->as.dict->is_namespace = called->name.data[0] == 'n';
    for (size_t i = 0; i < called->arguments->count; i++) {
        if (called->arguments->names[i].size == 0)
            return chat_wrong(called->run, called->at, "an argument without a name", called->arguments->values[i]);
        if (!chat_dict_set(&called->run->arena, out_value->as.dict, called->arguments->names[i],
                           called->arguments->values[i]))
            return chat_no_memory(called->run);
    }
    return true;
}

static bool function_range(const struct chat_call *called, struct chat_value *out_value)
{
    const struct chat_arguments *arguments = called->arguments;
    int64_t from = 0, to, step = 1;

    for (size_t i = 0; i < arguments->count; i++) {
        if (arguments->values[i].kind != CHAT_INTEGER)
            return chat_wrong(called->run, called->at, "range", arguments->values[i]);
    }
    if (arguments->count == 0 || arguments->count > 3)
        return chat_fail(called->run->chat, called->at->offset, ACCEL_E_INVALID, called->run->error,
                         "range takes one to three integers");
    to = arguments->values[arguments->count > 1].as.integer;
    if (arguments->count > 1)
        from = arguments->values[0].as.integer;
    if (arguments->count > 2)
        step = arguments->values[2].as.integer;
    if (!chat_list_new(&called->run->arena, out_value))
        return chat_no_memory(called->run);
    while (step != 0 && (step > 0 ? from < to : from > to)) {
        if (out_value->as.list->count >= MAX_RANGE)
            return chat_fail(called->run->chat, called->at->offset, ACCEL_E_LIMIT, called->run->error,
                             "range of more than %d numbers", MAX_RANGE);
        if (!chat_list_add(&called->run->arena, out_value->as.list, chat_integer(from)))
            return chat_no_memory(called->run);
        if (__builtin_add_overflow(from, step, &from))
            break;
    }
    return true;
}

static const struct {
    const char *name;
    chat_call_fn *call;
} functions[] = {
    {"raise_exception", function_raise},
    {"namespace", function_dict},
    {"dict", function_dict},
    {"range", function_range},
};

bool chat_is_function(struct chat_text name)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (chat_text_is(name, functions[i].name))
            return true;
    }
    return false;
}

bool chat_function(struct chat_run *run, const struct chat_node *at, struct chat_text name,
                   const struct chat_arguments *arguments, struct chat_value *out_value)
{
    struct chat_call called = {run, at, name, chat_none(), arguments};

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (chat_text_is(name, functions[i].name))
            return functions[i].call(&called, out_value);
    }
    return chat_refuse(run, at, "function", name);
}
