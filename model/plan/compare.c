/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a recorded plan with the document of the plan that was made again from it. */
#include "model/plan/compare.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longest path of a value, and longest text of one in an error. */
enum { PATH_TEXT = 256, VALUE_TEXT = 100 };

/* Values that differ on another day although the plan is the same. doc/plan.md states the reason of each. */
static const char *const varying[] = {
    "verdict.fits",
    "verdict.budget",
    "verdict.short_by",
    "request",
    "settings.*.origin",
    "memory.classes.*.origin",
    "memory.fits",
    "memory.budget",
    "memory.budget_origin",
    "memory.short_by",
    "facts.*.origin",
    "facts.host.memory",
    "facts.model.memory_share",
    "facts.model.name",
    "facts.model.source",
    "facts.model.checked",
    "facts.device.bandwidth",
    "facts.device.compute",
    "facts.device.reserve",
    "parts.*.place",
    "parts.*.because",
    "notes",
    "not_honored",
    "later",
    "speed",
    "past",
};

struct comparison {
    const struct plan_record *record;
    bool is_deferring; /* the verdict is not compared yet, and `verdict` becomes its ordinal */
    size_t verdict;
    size_t ordinal; /* values of the record before the current one, in the order of the text */
    char path[PATH_TEXT];
    struct accel_error *error;
};

/* Values that differ besides if the model was moved or copied: its size and header are compared. */
static const char *const moving[] = {"model.path", "model.files.*.path", "model.files.*.changed"};

static bool is_skipped(const struct comparison *c)
{
    for (size_t i = 0; i < sizeof(moving) / sizeof(*moving) && c->record->moved != NULL; i++)
        if (fnmatch(moving[i], c->path, 0) == 0)
            return true;
    for (size_t i = 0; i < sizeof(varying) / sizeof(*varying); i++)
        if (fnmatch(varying[i], c->path, 0) == 0)
            return true;
    return false;
}

static size_t count_values(const json_t *value)
{
    size_t count = 1, i;
    const char *key;
    json_t *member;

    if (json_is_object(value))
        json_object_foreach((json_t *)value, key, member) count += count_values(member);
    json_array_foreach(value, i, member) count += count_values(member);
    return count;
}

/* Ends a text that had `length` bytes before it was cut. */
static void mark_cut(char text[VALUE_TEXT], int length)
{
    if (length >= VALUE_TEXT)
        memcpy(text + VALUE_TEXT - 4, "...", 4);
}

/* Formats a value for an error, cut if it is long. */
static void format_value(const json_t *value, char text[VALUE_TEXT])
{
    char *whole = value == NULL ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);

    mark_cut(text, snprintf(text, VALUE_TEXT, "%s", whole == NULL ? "missing" : whole));
    free(whole);
}

/* Returns the origin of the values of an object of the new plan, "" if it states none. */
static const char *find_origin(const json_t *parent)
{
    const json_t *origin = json_object_get(parent, "origin");

    return plan_record_text(json_is_object(origin) ? origin : parent, json_is_object(origin) ? "place" : "origin");
}

static int32_t refuse(struct comparison *c, const json_t *then, const json_t *now, const json_t *parent)
{
    char old[VALUE_TEXT], new[VALUE_TEXT], origin[VALUE_TEXT];

    format_value(then, old);
    format_value(now, new);
    mark_cut(origin, snprintf(origin, sizeof(origin), "%s", find_origin(parent)));
    accel_error_set(c->error, ACCEL_E_REFUSED, "%.160s:%d: %s is %s, and %s when the plan is made again%s%s%s%s%s",
                    c->record->path, plan_record_line(c->record, c->ordinal), c->path, old, new,
                    origin[0] == '\0' ? "" : " (", origin, origin[0] == '\0' ? "" : ")",
                    strcmp(c->path, "facts.model.identity.value") == 0 ? ": the contents of the file differ" : "",
                    c->record->changed);
    return plan_refuse_difference(c->record, c->error);
}

static int32_t compare_value(struct comparison *c, const json_t *then, const json_t *now, const json_t *parent);

/* Compares the member `key` of an object, or of a list if `then` or `now` is one of its rows. */
static int32_t compare_member(struct comparison *c, const char *key, const json_t *then, const json_t *now,
                              const json_t *parent)
{
    const size_t length = strlen(c->path);
    int32_t code = ACCEL_OK;

    snprintf(c->path + length, PATH_TEXT - length, "%s%s", length == 0 ? "" : ".", key);
    if (c->is_deferring && strcmp(c->path, "verdict") == 0) {
        c->verdict = c->ordinal;
        c->ordinal += count_values(then);
    } else if (!is_skipped(c))
        code = then == NULL || now == NULL ? refuse(c, then, now, parent) : compare_value(c, then, now, parent);
    else if (then != NULL)
        c->ordinal += count_values(then);
    if (code == ACCEL_OK)
        c->path[length] = '\0';
    return code;
}

static int32_t compare_objects(struct comparison *c, const json_t *then, const json_t *now)
{
    const size_t begin = c->ordinal;
    int32_t code = ACCEL_OK;
    const char *key;
    json_t *member;

    c->ordinal++;
    json_object_foreach((json_t *)then, key, member)
    {
        code = compare_member(c, key, member, json_object_get(now, key), now);
        if (code != ACCEL_OK)
            return code;
    }
    json_object_foreach((json_t *)now, key, member)
    {
        const size_t end = c->ordinal;

        c->ordinal = begin; /* the line of an object that lacks a member is its first */
        if (json_object_get(then, key) == NULL)
            code = compare_member(c, key, NULL, member, now);
        if (code != ACCEL_OK)
            return code;
        c->ordinal = end;
    }
    return ACCEL_OK;
}

static int32_t compare_lists(struct comparison *c, const json_t *then, const json_t *now)
{
    const size_t old = json_array_size(then), new = json_array_size(now), begin = c->ordinal;
    int32_t code = ACCEL_OK;
    char key[24];

    c->ordinal++;
    for (size_t i = 0; i < (old > new ? old : new) && code == ACCEL_OK; i++) {
        if (i == old)
            c->ordinal = begin;
        snprintf(key, sizeof(key), "%zu", i);
        code = compare_member(c, key, json_array_get(then, i), json_array_get(now, i), NULL);
    }
    return code;
}

static int32_t compare_value(struct comparison *c, const json_t *then, const json_t *now, const json_t *parent)
{
    if (json_is_object(then) && json_is_object(now))
        return compare_objects(c, then, now);
    if (json_is_array(then) && json_is_array(now))
        return compare_lists(c, then, now);
    if (!json_equal(then, now))
        return refuse(c, then, now, parent);
    c->ordinal++;
    return ACCEL_OK;
}

static void add_to(json_t *object, const char *key, json_int_t more)
{
    json_object_set_new(object, key, json_integer(json_integer_value(json_object_get(object, key)) + more));
}

/* Replaces the bound of host memory by the recorded one: a driver bounds what its file of compiled kernels needs, which
 * grows as kernels are compiled. The lower end, and sums with the bound, are compared. */
static void adopt_bound(const json_t *then, json_t *now)
{
    const json_t *old = json_object_get(json_object_get(then, "memory"), "classes");
    json_t *memory = json_object_get(now, "memory"), *row;
    size_t i;

    json_array_foreach(json_object_get(memory, "classes"), i, row)
    {
        const json_int_t recorded = json_integer_value(json_object_get(json_array_get(old, i), "bytes"));
        const json_int_t bytes = json_integer_value(json_object_get(row, "bytes"));
        const json_int_t lower = json_integer_value(json_object_get(row, "lower"));

        if (strcmp(plan_record_text(row, "class"), "host") != 0 || lower == bytes || recorded < lower ||
            recorded > INT64_MAX / 2)
            continue;
        add_to(row, "bytes", recorded - bytes);
        add_to(memory, "needed", recorded - bytes);
        add_to(json_object_get(now, "verdict"), "needed", recorded - bytes);
    }
}

int32_t plan_compare(const struct plan_record *record, json_t *now, struct accel_error *error)
{
    struct comparison c = {.record = record, .is_deferring = true, .error = error};
    int32_t code;

    adopt_bound(record->root, now);
    code = compare_value(&c, record->root, now, NULL);
    if (code != ACCEL_OK)
        return code;
    /* The verdict comes last: it follows from the other members, which name the cause. */
    c.is_deferring = false;
    c.ordinal = c.verdict;
    return compare_member(&c, "verdict", json_object_get(record->root, "verdict"), json_object_get(now, "verdict"),
                          now);
}
