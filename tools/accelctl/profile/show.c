/* SPDX-License-Identifier: Apache-2.0 */
/* accelctl profile show and diff: print the settings that profiles result in. */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/print/more.h"
#include "tools/accelctl/profile/rule.h"
#include "tools/accelctl/profile/view.h"
#include "tools/accelctl/words.h"

/* Returns true for a setting with its built-in value. */
static bool is_untouched(const struct accel_plan_setting *setting)
{
    return setting->origin == ACCEL_ORIGIN_BUILTIN;
}

static void print_head(const char *label, const char *name, const char *about)
{
    char sentence[600], text[800];

    snprintf(text, sizeof(text), "%s%s%s", name, about[0] == '\0' ? "" : ": ",
             first_sentence(about, sentence, sizeof(sentence)));
    print_wrapped((uint32_t)print("%-10s ", label), 11, text);
}

static void print_heads(const struct view *view)
{
    const struct accel_device_info *device = accel_plan_device(view->plan);
    const struct selection *s = &view->selection;

    print_head("platform", accel_plan_platform(view->plan), s->platform == NULL ? "" : s->platform->about);
    if (s->device != NULL)
        print_head("device", s->device->name, s->device->about);
    else if (device != NULL)
        print_head("device", device->name, device->facts->name);
    else
        print_head("device", "none of this platform is here", "");
    if (s->device != NULL)
        print_versions(&view->files, s->device->name, 1);
    if (s->client != NULL)
        print_head("client", s->client->name, s->client->about);
    if (s->model != NULL)
        print_head("model", s->model->name, s->model->about);
    if (view->description != NULL)
        print_head("model", accel_model_description_path(view->description), "");
}

/* Returns the larger of a column's width and a text's, unless the text is wider than `most`. */
static uint32_t wider(uint32_t width, const char *text, uint32_t most)
{
    uint32_t length = (uint32_t)strlen(text);

    return length > width && length <= most ? length : width;
}

static void print_overridden(const struct accel_plan_overridden *row, uint32_t indent)
{
    char value[96], place[600], line[1600];

    snprintf(line, sizeof(line), "%s (%s%s%s)", view_value(row->value, row->unit, value, sizeof(value)),
             short_places(row->place, place, sizeof(place)), row->reason[0] == '\0' ? "" : ": ", row->reason);
    print_wrapped((uint32_t)print("%*sover ", (int)indent, ""), indent + 5, line);
}

/* Finds an earlier setting of the rule, whose reason need not be repeated; NULL if there is none. In a comparison
 * with `other`, an equal setting is not shown, and so does not count. */
static const struct accel_plan_setting *same_reason(const struct accel_plan *plan, const struct accel_plan *other,
                                                    const struct accel_plan_setting *s)
{
    for (uint32_t i = 0; s->reason[0] != '\0'; i++) {
        const struct accel_plan_setting *earlier = accel_plan_setting_get(plan, i);
        const struct accel_plan_setting *there;

        if (earlier == s || earlier == NULL)
            return NULL;
        if (strcmp(earlier->place, s->place) != 0 || strcmp(earlier->reason, s->reason) != 0)
            continue;
        there = other == NULL ? NULL : accel_plan_setting_find(other, earlier->key);
        if (there == NULL || strcmp(there->value, earlier->value) != 0)
            return earlier;
    }
    return NULL;
}

/* Formats the origin of a value and its reason. */
static const char *reason_text(const struct accel_plan *plan, const struct accel_plan *other,
                               const struct accel_plan_setting *s, char *text, size_t size)
{
    const struct accel_plan_setting *earlier = same_reason(plan, other, s);
    struct rule rule = {.reason = ""};
    bool is_ruled = find_rule(plan, s, &rule);
    char place[600];

    snprintf(text, size, "%s%s%s%s%s%s", rule.reason, is_ruled ? "; " : "",
             short_places(s->place, place, sizeof(place)), s->reason[0] == '\0' ? "" : ": ",
             earlier == NULL ? "" : "as for ", earlier == NULL ? s->reason : earlier->key);
    return text;
}

static void print_setting(const struct accel_plan *plan, const struct accel_plan_setting *s, uint32_t keys,
                          uint32_t values, uint32_t overridden)
{
    char value[48], text[1600];
    uint32_t indent = keys + values + 6;
    uint32_t at;

    at = (uint32_t)print("  %-*s  %-*s  ", (int)keys, s->key, (int)values, shown_value(plan, s, value, sizeof(value)));
    print_wrapped(at, indent, reason_text(plan, NULL, s, text, sizeof(text)));
    for (uint32_t i = 0; overridden && i < s->overridden_count; i++)
        print_overridden(&s->overridden[i], indent);
}

static void print_settings(const struct view *view, const struct profile_options *chosen)
{
    uint32_t keys = 8, values = 6, hidden = 0;
    char value[48];

    for (uint32_t i = 0; i < accel_plan_setting_count(view->plan); i++) {
        const struct accel_plan_setting *s = accel_plan_setting_get(view->plan, i);

        if (!chosen->all && is_untouched(s))
            continue;
        keys = wider(keys, s->key, 28);
        values = wider(values, shown_value(view->plan, s, value, sizeof(value)), 14);
    }
    print("%ssettings%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN));
    for (uint32_t i = 0; i < accel_plan_setting_count(view->plan); i++) {
        const struct accel_plan_setting *s = accel_plan_setting_get(view->plan, i);

        if (chosen->all || !is_untouched(s))
            print_setting(view->plan, s, keys, values, chosen->overridden);
        else
            hidden++;
    }
    if (hidden > 0)
        print("  and %u more with their built-in values (--all shows them)\n", hidden);
}

/* Formats the origin of a fact without the folder of a profile. */
static const char *short_origin(const char *origin, char *text, size_t size)
{
    const char *slash = strrchr(origin, '/');
    size_t length = strlen(origin);

    if (slash != NULL && length > 5 && strcmp(origin + length - 5, ".yaml") == 0)
        return slash + 1;
    return short_places(origin, text, size);
}

static void print_fact_list(const struct view *view)
{
    uint32_t names = 8, values = 6;
    char value[96], place[600];

    for (uint32_t i = 0; i < accel_plan_fact_count(view->plan); i++) {
        const struct accel_named_value *fact = accel_plan_fact_get(view->plan, i);

        names = wider(names, fact->key, 28);
        values = wider(values, view_fact(fact, value, sizeof(value)), 32);
    }
    print("%sfacts%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN));
    for (uint32_t i = 0; i < accel_plan_fact_count(view->plan); i++) {
        const struct accel_named_value *fact = accel_plan_fact_get(view->plan, i);
        uint32_t at = (uint32_t)print("  %-*s  %-*s  ", (int)names, fact->key, (int)values,
                                      view_fact(fact, value, sizeof(value)));

        print_wrapped(at, names + values + 6, short_origin(fact->origin, place, sizeof(place)));
    }
}

int profile_show(const struct profile_options *chosen, int count, char **arguments)
{
    struct view view = {.plan = NULL};
    struct accel_context *context;
    int code;

    context = open_context(&chosen->common, &code);
    if (context == NULL)
        return code;
    code = view_open(context, chosen, count, arguments, &view);
    if (code < 0) {
        code = EXIT_DONE;
        if (chosen->common.json) {
            code = print_json(view_json(&view), "accelctl/profile-show/1");
        } else {
            print_heads(&view);
            print_settings(&view, chosen);
            print_later(view.plan, 1);
            if (chosen->all)
                print_fact_list(&view);
        }
    }
    view_close(&view);
    close_context(context);
    return code;
}

/* ---- diff ---- */

/* One setting of two views; either is NULL if only the other side's driver has the option. */
struct pair {
    const struct accel_plan_setting *a;
    const struct accel_plan_setting *b;
    const struct accel_plan *plans[2];
};

static const char *value_of(const struct pair *pair, uint32_t side, char *text, size_t size)
{
    const struct accel_plan_setting *setting = side == 0 ? pair->a : pair->b;

    return setting == NULL ? "-" : shown_value(pair->plans[side], setting, text, size);
}

static const char *key_of(const struct pair *pair)
{
    return pair->a == NULL ? pair->b->key : pair->a->key;
}

/* Returns whether the sides differ. The client is left out, since the views are named by it. */
static bool differs(const struct pair *pair)
{
    char a[96], b[96];

    if (strcmp(key_of(pair), "client") == 0)
        return false;
    return pair->a == NULL || pair->b == NULL ||
           strcmp(value_of(pair, 0, a, sizeof(a)), value_of(pair, 1, b, sizeof(b))) != 0;
}

/* Returns the pair at `index`: the settings of the left side, then those that only the right side has. */
static uint32_t get_pair(const struct view views[2], uint32_t index, struct pair *out_pair)
{
    uint32_t left = accel_plan_setting_count(views[0].plan);

    *out_pair = (struct pair){.plans = {views[0].plan, views[1].plan}};
    if (index < left) {
        out_pair->a = accel_plan_setting_get(views[0].plan, index);
        out_pair->b = accel_plan_setting_find(views[1].plan, out_pair->a->key);
        return 1;
    }
    out_pair->b = accel_plan_setting_get(views[1].plan, index - left);
    if (out_pair->b == NULL)
        return 0;
    if (accel_plan_setting_find(views[0].plan, out_pair->b->key) != NULL)
        *out_pair = (struct pair){out_pair->b, out_pair->b, {views[1].plan, views[1].plan}};
    return 1;
}

/* Prints one side of a pair: `side` 0 or 1. */
static void print_side(const struct view views[2], uint32_t side, const char *name,
                       const struct accel_plan_setting *setting, uint32_t width)
{
    char text[1600];

    if (setting != NULL)
        print_wrapped((uint32_t)print("    %-*s  ", (int)width, name), width + 6,
                      reason_text(views[side].plan, views[1 - side].plan, setting, text, sizeof(text)));
}

/* Returns whether a pair differs, and not with the same values in `base`, the comparison without a kind of model;
 * NULL: every difference is new. */
static bool is_new(const struct pair *pair, const struct view *base)
{
    struct pair before;
    char now[96], then[96];
    bool is_equal = true;

    if (!differs(pair))
        return false;
    if (base == NULL)
        return true;
    before = (struct pair){accel_plan_setting_find(base[0].plan, key_of(pair)),
                           accel_plan_setting_find(base[1].plan, key_of(pair)),
                           {base[0].plan, base[1].plan}};
    for (uint32_t side = 0; side < 2; side++)
        is_equal = is_equal &&
                   strcmp(value_of(pair, side, now, sizeof(now)), value_of(&before, side, then, sizeof(then))) == 0;
    return !is_equal;
}

/* Finds the value of a setting that profiles keep for later; NULL if they have none. */
static const struct accel_plan_unhonored *find_later(const struct accel_plan *plan, const char *key)
{
    for (uint32_t i = 0; i < accel_plan_unhonored_count(plan); i++) {
        const struct accel_plan_unhonored *row = accel_plan_unhonored_get(plan, i);

        if (row->outcome == ACCEL_UNHONORED_LATER && strcmp(row->key, key) == 0)
            return row;
    }
    return NULL;
}

/* A value for later of two views; either is NULL if only the other side's profiles have one. */
struct later_pair {
    const char *key;
    const struct accel_plan_unhonored *sides[2];
};

/* Returns whether the setting at `index` of the table has values for later that differ, and not equally in `base`. */
static bool get_later(const struct view views[2], const struct view *base, uint32_t index, struct later_pair *out)
{
    bool is_equal = true, is_old = base != NULL;

    out->key = accel_setting_row_get(index)->name;
    for (uint32_t side = 0; side < 2; side++) {
        const struct accel_plan_unhonored *row = find_later(views[side].plan, out->key);
        const struct accel_plan_unhonored *before = base == NULL ? NULL : find_later(base[side].plan, out->key);

        out->sides[side] = row;
        is_old = is_old && (row == NULL) == (before == NULL) && (row == NULL || strcmp(row->value, before->value) == 0);
    }
    if ((out->sides[0] == NULL) == (out->sides[1] == NULL))
        is_equal = out->sides[0] == NULL || strcmp(out->sides[0]->value, out->sides[1]->value) == 0;
    else
        is_equal = false;
    return !is_equal && !is_old;
}

static const char *later_value(const struct accel_plan_unhonored *row, char *text, size_t size)
{
    return row == NULL ? "-" : view_value(row->value, row->unit, text, size);
}

/* Widths of the columns of a comparison. */
struct columns {
    uint32_t keys;
    uint32_t left;  /* values of the left side */
    uint32_t sides; /* names of both */
};

static struct columns measure_columns(const struct view views[2], char *const names[2])
{
    struct columns columns = {8, (uint32_t)strlen(names[0]), (uint32_t)strlen(names[0])};
    struct later_pair later;
    struct pair pair;
    char value[96];

    columns.sides = strlen(names[1]) > columns.sides ? (uint32_t)strlen(names[1]) : columns.sides;
    for (uint32_t i = 0; get_pair(views, i, &pair); i++) {
        if (!differs(&pair))
            continue;
        columns.keys = wider(columns.keys, key_of(&pair), 28);
        columns.left = wider(columns.left, value_of(&pair, 0, value, sizeof(value)), 24);
    }
    for (uint32_t i = 0; i < accel_setting_row_count(); i++)
        if (get_later(views, NULL, i, &later)) {
            columns.keys = wider(columns.keys, later.key, 28);
            columns.left = wider(columns.left, later_value(later.sides[0], value, sizeof(value)), 24);
        }
    return columns;
}

static void print_values(const struct columns *columns, const char *key, const char *a, const char *b)
{
    print("%-*s  %s%-*s  %s%s\n", (int)columns->keys, key, paint(PAINT_HEADING), (int)columns->left, a, b,
          paint(PAINT_PLAIN));
}

/* Prints what differs, under a heading. */
static void print_different(const struct view views[2], const struct view *base, char *const names[2],
                            const char *heading)
{
    struct columns columns = measure_columns(views, names);
    struct later_pair later;
    struct pair pair;
    uint32_t different = 0;
    char a[96], b[96], text[1600], place[400];

    for (uint32_t i = 0; get_pair(views, i, &pair); i++) {
        if (!is_new(&pair, base))
            continue;
        if (different++ == 0)
            print("%s%-*s  %-*s  %s%s\n", paint(PAINT_HEADING), (int)columns.keys, heading, (int)columns.left, names[0],
                  names[1], paint(PAINT_PLAIN));
        print_values(&columns, key_of(&pair), value_of(&pair, 0, a, sizeof(a)), value_of(&pair, 1, b, sizeof(b)));
        print_side(views, 0, names[0], pair.a, columns.sides);
        print_side(views, 1, names[1], pair.b, columns.sides);
    }
    for (uint32_t i = 0; i < accel_setting_row_count(); i++) {
        if (!get_later(views, base, i, &later))
            continue;
        if (different++ == 0)
            print("%s%-*s  %-*s  %s%s\n", paint(PAINT_HEADING), (int)columns.keys, heading, (int)columns.left, names[0],
                  names[1], paint(PAINT_PLAIN));
        print_values(&columns, later.key, later_value(later.sides[0], a, sizeof(a)),
                     later_value(later.sides[1], b, sizeof(b)));
        for (uint32_t side = 0; side < 2; side++) {
            const struct accel_plan_unhonored *row = later.sides[side];

            if (row == NULL)
                continue;
            snprintf(text, sizeof(text), "later: %s (%s%s%s)", row->reason,
                     short_places(row->place, place, sizeof(place)), row->value_reason[0] == '\0' ? "" : ": ",
                     row->value_reason);
            print_wrapped((uint32_t)print("    %-*s  ", (int)columns.sides, names[side]), columns.sides + 6, text);
        }
    }
}

/* Settings of both sides, without a kind of model, that differ in some comparison. */
struct tally {
    const struct view *base; /* [2] */
    bool *differs;           /* for each pair of `base` */
    uint32_t count;
};

static void mark(struct tally *tally, const char *key)
{
    struct pair pair;

    for (uint32_t i = 0; get_pair(tally->base, i, &pair) && i < tally->count; i++)
        tally->differs[i] = tally->differs[i] || strcmp(key_of(&pair), key) == 0;
}

/* Marks the settings in which two views differ, in force or for later. */
static void mark_different(struct tally *tally, const struct view views[2])
{
    struct later_pair later;
    struct pair pair;

    for (uint32_t i = 0; get_pair(views, i, &pair); i++)
        if (differs(&pair))
            mark(tally, key_of(&pair));
    for (uint32_t i = 0; i < accel_setting_row_count(); i++)
        if (get_later(views, NULL, i, &later))
            mark(tally, later.key);
}

static bool open_tally(struct tally *tally, const struct view base[2])
{
    tally->base = base;
    tally->count = accel_plan_setting_count(base[0].plan) + accel_plan_setting_count(base[1].plan);
    tally->differs = calloc(tally->count, sizeof(*tally->differs));
    return tally->differs != NULL;
}

/* Counts the settings that differ in no comparison, and those that do in *out_different. */
static uint32_t count_same(const struct tally *tally, uint32_t *out_different)
{
    uint32_t same = 0, left = accel_plan_setting_count(tally->base[0].plan);
    struct pair pair;

    *out_different = 0;
    for (uint32_t i = 0; get_pair(tally->base, i, &pair) && i < tally->count; i++) {
        same += !tally->differs[i] && i < left;
        *out_different += tally->differs[i] && (i < left || pair.a == NULL);
    }
    return same;
}

static json_t *diff_json(const struct view views[2], const struct view *base)
{
    json_t *settings = json_object(), *laters = json_object();
    struct later_pair later;
    struct pair pair;

    for (uint32_t i = 0; get_pair(views, i, &pair); i++)
        if (is_new(&pair, base))
            json_object_set_new(settings, key_of(&pair),
                                json_pack("{s:o, s:o}", "a",
                                          pair.a == NULL ? json_null() : view_setting_json(views[0].plan, pair.a), "b",
                                          pair.b == NULL ? json_null() : view_setting_json(views[1].plan, pair.b)));
    for (uint32_t i = 0; i < accel_setting_row_count(); i++)
        if (get_later(views, base, i, &later))
            json_object_set_new(laters, later.key,
                                json_pack("{s:o, s:o}", "a",
                                          later.sides[0] == NULL ? json_null() : view_later_json(later.sides[0]), "b",
                                          later.sides[1] == NULL ? json_null() : view_later_json(later.sides[1])));
    return json_pack("{s:o, s:o}", "settings", settings, "later", laters);
}

/* Opens the views of both sides. Close them in every case. */
static int open_both(struct accel_context *context, const struct profile_options *chosen, char **names,
                     struct view views[2])
{
    int code = view_open(context, chosen, 1, names, &views[0]);

    return code < 0 ? view_open(context, chosen, 1, names + 1, &views[1]) : code;
}

/* Returns whether the comparison states no kind of model, so that rules for each kind are compared as well. */
static bool lacks_model(const struct profile_options *chosen, const struct view views[2])
{
    bool has_kind = chosen->model != NULL || views[0].selection.model != NULL || views[1].selection.model != NULL;

    for (uint32_t i = 0; i < chosen->facts.count; i++)
        has_kind = has_kind || strncmp(chosen->facts.items[i], "model.", 6) == 0;
    return !has_kind && chosen->facts.count < LIST_MOST;
}

/* Compares both sides for a kind of model: into `kinds`, or as text if that is NULL. */
static int compare_kind(struct accel_context *context, const struct profile_options *chosen, char **names,
                        const struct view base[2], const char *kind, json_t *kinds, struct tally *tally)
{
    struct view views[2] = {{.plan = NULL}, {.plan = NULL}};
    struct profile_options with_kind = *chosen;
    char fact[64], heading[64];
    int code;

    snprintf(fact, sizeof(fact), "model.kind=%s", kind);
    snprintf(heading, sizeof(heading), "%s model", kind);
    with_kind.facts.items[with_kind.facts.count++] = fact;
    code = open_both(context, &with_kind, names, views);
    if (code < 0 && kinds != NULL)
        json_object_set_new(kinds, kind, diff_json(views, base));
    else if (code < 0)
        print_different(views, base, names, heading);
    if (code < 0)
        mark_different(tally, views);
    view_close(&views[0]);
    view_close(&views[1]);
    return code;
}

static int compare(struct accel_context *context, const struct profile_options *chosen, char **names,
                   const struct view views[2], struct tally *tally)
{
    json_t *document = chosen->common.json ? diff_json(views, NULL) : NULL;
    json_t *kinds = document != NULL ? json_object() : NULL;
    const char *words = lacks_model(chosen, views) ? fact_words("model.kind") : "";
    uint32_t different, same;
    int code = -1;

    if (document == NULL)
        print_different(views, NULL, names, "");
    mark_different(tally, views);
    for (const char *word = words; *word != '\0' && code < 0; word += strspn(word, " ")) {
        char kind[32];

        snprintf(kind, sizeof(kind), "%.*s", (int)strcspn(word, " "), word);
        word += strcspn(word, " ");
        code = compare_kind(context, chosen, names, views, kind, kinds, tally);
    }
    if (code >= 0) {
        json_decref(document);
        json_decref(kinds);
        return code;
    }
    same = count_same(tally, &different);
    if (document != NULL) {
        json_object_update_new(document, json_pack("{s:{s:s, s:s}, s:s, s:s, s:o, s:i, s:i}", "origin", "same",
                                                   "profile: settings with equal values", "different",
                                                   "profile: settings with other values", "a", names[0], "b", names[1],
                                                   "kinds", kinds, "same", (int)same, "different", (int)different));
        return print_json(document, "accelctl/profile-diff/1");
    }
    if (different == 0)
        print("nothing differs: all %u settings are the same", same);
    else
        print("%u setting%s, %u %s the same", different, different == 1 ? " differs" : "s differ", same,
              same == 1 ? "is" : "are");
    print("%s\n", *words == '\0' ? "" : " whatever the model; --model NAME compares rules for its family and size");
    return EXIT_DONE;
}

int profile_diff(const struct profile_options *chosen, int count, char **arguments)
{
    struct view views[2] = {{.plan = NULL}, {.plan = NULL}};
    struct tally tally = {.differs = NULL};
    struct accel_context *context;
    int code;

    (void)count;
    context = open_context(&chosen->common, &code);
    if (context == NULL)
        return code;
    code = open_both(context, chosen, arguments, views);
    if (code < 0 && !open_tally(&tally, views))
        code = report_error_text(chosen->common.json, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for a comparison", NULL);
    if (code < 0)
        code = compare(context, chosen, arguments, views, &tally);
    free(tally.differs);
    view_close(&views[0]);
    view_close(&views[1]);
    close_context(context);
    return code;
}
