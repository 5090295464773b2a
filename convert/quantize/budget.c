/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/quantize/budget.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { UNITS_MOST = 1 << 16, UNITS_PER_MENU = 16 };

/* Most cells of the table over menus and units. */
#define PLACES_MOST ((uint64_t)1 << 26)

void quantize_menus_free(struct quantize_menu *menus, uint64_t count)
{
    for (uint64_t i = 0; menus != NULL && i < count; i++)
        free(menus[i].candidates);
    free(menus);
}

const struct accel_quantize_candidate *accel_quantize_candidate_get(const struct accel_quantize_job *job,
                                                                    uint64_t tensor, uint32_t index) ACCEL_NOEXCEPT
{
    if (tensor >= accel_quantize_count(job) || job->menus == NULL || index >= job->menus[tensor].count)
        return NULL;
    return &job->menus[tensor].candidates[index];
}

/* ---- sums ---- */

uint64_t quantize_menus_least(const struct quantize_menu *menus, uint64_t count)
{
    uint64_t bytes = 0;

    for (uint64_t i = 0; i < count; i++)
        bytes += menus[i].count == 0 ? 0 : menus[i].candidates[0].bytes;
    return bytes;
}

uint64_t quantize_menus_bytes(const struct quantize_menu *menus, uint64_t count)
{
    uint64_t bytes = 0;

    for (uint64_t i = 0; i < count; i++)
        bytes += menus[i].count == 0 ? 0 : menus[i].candidates[menus[i].chosen].bytes;
    return bytes;
}

double quantize_menus_loss(const struct quantize_menu *menus, uint64_t count)
{
    double loss = 0;

    for (uint64_t i = 0; i < count; i++)
        loss += menus[i].count == 0 ? 0 : menus[i].candidates[menus[i].chosen].loss;
    return loss;
}

/* ---- steps ---- */

/* A change of one menu to a larger candidate. */
struct step {
    uint64_t menu;
    uint32_t to;
    uint32_t zero;
    uint64_t bytes; /* increase */
    double saved;   /* loss */
};

/* Returns the loss saved per byte; changes that cost nothing rank first. */
static double rate_of(const struct step *step)
{
    return step->bytes == 0 ? INFINITY : step->saved / (double)step->bytes;
}

static struct step step_between(const struct quantize_menu *menus, uint64_t menu, uint32_t from, uint32_t to)
{
    const struct accel_quantize_candidate *candidates = menus[menu].candidates;

    return (struct step){.menu = menu,
                         .to = to,
                         .bytes = candidates[to].bytes - candidates[from].bytes,
                         .saved = candidates[from].loss - candidates[to].loss};
}

/* Finds the next corner of the lower hull after `from`: the step that saves most per byte, the longest of equal ones.
 * Returns false if no step saves anything. */
static bool next_corner(const struct quantize_menu *menus, uint64_t menu, uint32_t from, struct step *out_step)
{
    double best = 0;

    for (uint32_t to = from + 1; to < menus[menu].count; to++) {
        struct step step = step_between(menus, menu, from, to);

        if (step.saved <= 0 || rate_of(&step) < best)
            continue;
        best = rate_of(&step);
        *out_step = step;
    }
    return best > 0;
}

/* Sorts by rate, then by index. */
static int compare_steps(const void *one, const void *other)
{
    const struct step *a = one, *b = other;
    double x = rate_of(a), y = rate_of(b);

    if (x != y)
        return x > y ? -1 : 1;
    if (a->menu != b->menu)
        return a->menu < b->menu ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

/* Applies the steps along the hulls while they fit; a menu whose next step does not fit is dropped. */
static int32_t follow_hulls(struct quantize_menu *menus, uint64_t count, uint64_t remaining)
{
    uint64_t most = 0, steps = 0;
    struct step *list;
    bool *left;

    for (uint64_t i = 0; i < count; i++)
        most += menus[i].count;
    list = malloc((size_t)(most + 1) * sizeof(*list));
    left = calloc((size_t)count + 1, sizeof(*left));
    if (list == NULL || left == NULL) {
        free(list);
        free(left);
        return ACCEL_E_MEMORY;
    }
    for (uint64_t i = 0; i < count; i++) {
        menus[i].chosen = 0;
        for (uint32_t at = 0; menus[i].count > 0 && next_corner(menus, i, at, &list[steps]); at = list[steps++].to)
            continue;
    }
    qsort(list, (size_t)steps, sizeof(*list), compare_steps);
    for (uint64_t s = 0; s < steps; s++) {
        left[list[s].menu] = left[list[s].menu] || list[s].bytes > remaining;
        if (left[list[s].menu])
            continue;
        remaining -= list[s].bytes;
        menus[list[s].menu].chosen = list[s].to;
    }
    free(list);
    free(left);
    return ACCEL_OK;
}

/* Applies single changes that fit, the best first, until none fits. */
static void apply_single_changes(struct quantize_menu *menus, uint64_t count, uint64_t remaining)
{
    for (;;) {
        struct step best = {0};

        for (uint64_t i = 0; i < count; i++)
            for (uint32_t to = menus[i].chosen + 1; to < menus[i].count; to++) {
                struct step step = step_between(menus, i, menus[i].chosen, to);

                if (step.saved > 0 && step.bytes <= remaining && (best.saved <= 0 || rate_of(&step) > rate_of(&best)))
                    best = step;
            }
        if (best.saved <= 0)
            return;
        remaining -= best.bytes;
        menus[best.menu].chosen = best.to;
    }
}

/* ---- the table ---- */

struct table {
    uint64_t unit;   /* bytes */
    uint64_t units;  /* of the remaining budget */
    double *loss;    /* [units + 1] least loss so far for at most so many units */
    double *before;  /* the same without the current menu */
    uint8_t *choice; /* [count][units + 1] */
};

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Returns the units that candidate `c` needs beyond the smallest. */
static uint64_t units_of(const struct table *table, const struct quantize_menu *menu, uint32_t c)
{
    return (menu->candidates[c].bytes - menu->candidates[0].bytes + table->unit - 1) / table->unit;
}

/* Returns false if a table would be too coarse or too large. */
static bool size_table(struct table *table, const struct quantize_menu *menus, uint64_t count, uint64_t remaining)
{
    uint64_t menus_used = 0, divisor = 0, most = 0;

    for (uint64_t i = 0; i < count; i++) {
        menus_used += menus[i].count > 0;
        for (uint32_t c = 1; c < menus[i].count; c++)
            divisor = common_divisor(divisor, menus[i].candidates[c].bytes - menus[i].candidates[0].bytes);
        most += menus[i].count > 0 ? menus[i].candidates[menus[i].count - 1].bytes - menus[i].candidates[0].bytes : 0;
        if (menus[i].count > UINT8_MAX)
            return false;
    }
    remaining = remaining < most ? remaining : most;
    table->unit = divisor == 0 ? 1 : divisor;
    if (remaining / table->unit > UNITS_MOST)
        table->unit = (remaining + UNITS_MOST - 1) / UNITS_MOST;
    table->units = remaining / table->unit;
    return (table->unit == divisor || table->units >= UNITS_PER_MENU * menus_used) &&
           (table->units + 1) * count <= PLACES_MOST;
}

static void add_menu(struct table *table, const struct quantize_menu *menu, uint8_t *choice)
{
    double *swap = table->before;

    table->before = table->loss;
    table->loss = swap;
    for (uint64_t u = 0; u <= table->units; u++)
        table->loss[u] = INFINITY;
    for (uint32_t c = 0; c < menu->count; c++) {
        uint64_t needed = units_of(table, menu, c);

        for (uint64_t u = needed; u <= table->units; u++) {
            double loss = table->before[u - needed] + menu->candidates[c].loss;

            if (loss < table->loss[u]) {
                table->loss[u] = loss;
                choice[u] = (uint8_t)c;
            }
        }
    }
}

static void solve_table(struct table *table, struct quantize_menu *menus, uint64_t count)
{
    uint64_t at = table->units;

    for (uint64_t u = 0; u <= table->units; u++)
        table->loss[u] = 0;
    for (uint64_t i = 0; i < count; i++)
        if (menus[i].count > 0)
            add_menu(table, &menus[i], table->choice + i * (table->units + 1));
    for (uint64_t i = count; i-- > 0;) {
        if (menus[i].count == 0)
            continue;
        menus[i].chosen = table->choice[i * (table->units + 1) + at];
        at -= units_of(table, &menus[i], menus[i].chosen);
    }
}

/* Tries the table; *out_done is false, and the choice unchanged, if none is possible. */
static int32_t try_table(struct quantize_menu *menus, uint64_t count, uint64_t remaining, bool *out_done)
{
    struct table table = {0};
    int32_t code = ACCEL_OK;

    *out_done = size_table(&table, menus, count, remaining);
    if (!*out_done)
        return ACCEL_OK;
    table.loss = malloc((size_t)(table.units + 1) * sizeof(*table.loss));
    table.before = malloc((size_t)(table.units + 1) * sizeof(*table.before));
    table.choice = calloc((size_t)count + 1, (size_t)table.units + 1);
    if (table.loss == NULL || table.before == NULL || table.choice == NULL)
        code = ACCEL_E_MEMORY;
    else
        solve_table(&table, menus, count);
    free(table.loss);
    free(table.before);
    free(table.choice);
    return code;
}

/* ---- both methods ---- */

static void finish(struct quantize_menu *menus, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        for (uint32_t c = 0; c < menus[i].count; c++)
            menus[i].candidates[c].chosen = c == menus[i].chosen;
}

static int32_t solve(struct quantize_menu *menus, uint64_t count, uint64_t bytes, uint32_t *saved)
{
    uint64_t remaining = bytes - quantize_menus_least(menus, count);
    bool is_tabled = false;
    double loss;
    int32_t code = follow_hulls(menus, count, remaining);

    if (code != ACCEL_OK)
        return code;
    apply_single_changes(menus, count, bytes - quantize_menus_bytes(menus, count));
    loss = quantize_menus_loss(menus, count);
    for (uint64_t i = 0; i < count; i++)
        saved[i] = menus[i].chosen;
    code = try_table(menus, count, remaining, &is_tabled);
    if (code == ACCEL_OK && is_tabled)
        apply_single_changes(menus, count, bytes - quantize_menus_bytes(menus, count));
    if (code == ACCEL_OK && quantize_menus_loss(menus, count) > loss)
        for (uint64_t i = 0; i < count; i++)
            menus[i].chosen = saved[i];
    return code;
}

int32_t quantize_budget_solve(struct quantize_menu *menus, uint64_t count, uint64_t bytes, struct accel_error *error)
{
    uint64_t least = quantize_menus_least(menus, count);
    uint32_t *saved;
    int32_t code;

    if (least > bytes)
        return accel_error_set(error, ACCEL_E_LIMIT, "%llu bytes for matrices, %llu are the least that is possible",
                               (unsigned long long)bytes, (unsigned long long)least);
    saved = calloc((size_t)count + 1, sizeof(*saved));
    code = saved == NULL ? ACCEL_E_MEMORY : solve(menus, count, bytes, saved);
    free(saved);
    if (code != ACCEL_OK)
        return accel_error_set(error, code, "no memory for the choice of %llu types", (unsigned long long)count);
    finish(menus, count);
    return ACCEL_OK;
}
