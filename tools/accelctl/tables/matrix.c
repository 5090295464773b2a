/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/tables/matrix.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/model/describe.h>

#include "tools/accelctl/errors.h"
#include "tools/accelctl/model.h"
#include "tools/accelctl/print/where.h"
#include "tools/accelctl/setting_words.h"

enum { SETTINGS_MOST = 8, PLATFORMS_MOST = 8 };

static const struct {
    const char *name;
    const char *words;
} verdicts[] = {
    [HOST_ABSENT] = {"absent", "no device here"},     [HOST_FITS] = {"fits", "fits"},
    [HOST_SHORT] = {"short", "does not fit"},         [HOST_REFUSED] = {"refused", "does not run"},
    [HOST_MEASURED] = {"measured", "fits, measured"}, [HOST_UNKNOWN] = {"unknown", "no description of the model"},
};

const char *matrix_words(enum host_verdict verdict)
{
    return verdicts[verdict].words;
}

const char *matrix_name(enum host_verdict verdict)
{
    return verdicts[verdict].name;
}

int matrix_begins_table(const struct matrix *matrix, uint32_t index)
{
    return index == 0 || strcmp(matrix->cells[index].row->table, matrix->cells[index - 1].row->table) != 0;
}

int matrix_begins_row(const struct matrix *matrix, uint32_t index)
{
    return index == 0 || matrix->cells[index].row != matrix->cells[index - 1].row;
}

const char *matrix_column(const struct matrix_cell *cell)
{
    return cell->document != NULL ? cell->document->column : cell->platform;
}

/* ---- the verdict ---- */

static void add_later(struct matrix_cell *cell, const char *key, const char *value)
{
    const struct accel_setting_row *row = find_setting(key);
    size_t used = strlen(cell->later);

    if (row != NULL && row->honored == ACCEL_HONORED_LATER)
        snprintf(cell->later + used, sizeof(cell->later) - used, "%s%s=%s later: %s", used == 0 ? "" : ", ", key, value,
                 row->by);
}

/* Parses "KEY=VALUE KEY=VALUE" and the client as settings; `copy` holds their texts. Settings that are not honored
 * yet go to cell->later instead, "KEY=VALUE later: WHAT". */
static uint32_t cell_settings(struct matrix_cell *matrix_cell, char *copy, size_t size,
                              struct accel_named_value overrides[SETTINGS_MOST])
{
    const struct accel_compat *cell = matrix_cell->document;
    uint32_t count = 0;
    char *rest = copy;

    snprintf(copy, size, "%s", cell->settings);
    if (cell->client[0] != '\0')
        overrides[count++] = (struct accel_named_value){"client", cell->client, cell->place};
    for (char *item = strtok_r(copy, " ", &rest); item != NULL && count < SETTINGS_MOST;
         item = strtok_r(NULL, " ", &rest)) {
        char *equals = strchr(item, '=');

        if (equals == NULL)
            continue;
        *equals = '\0';
        add_later(matrix_cell, item, equals + 1);
        if (find_setting(item) != NULL && find_setting(item)->honored == ACCEL_HONORED_LATER)
            continue;
        overrides[count++] = (struct accel_named_value){item, equals + 1, cell->place};
    }
    return count;
}

static bool has_device(struct accel_context *context, const char *platform)
{
    for (uint32_t i = 0; i < accel_device_count(context); i++)
        if (strcmp(accel_device_get(context, i)->driver, platform) == 0)
            return 1;
    return 0;
}

/* Records an error. Without a device here a refusal is not this host's. */
static void store_error(struct matrix_cell *cell, const struct accel_error *error, int is_here)
{
    cell->verdict = is_here ? HOST_REFUSED : HOST_ABSENT;
    snprintf(cell->text, sizeof(cell->text), "%s%s",
             is_here ? "" : "no device here; a plan for one is refused: ", error->text);
    snprintf(cell->origin, sizeof(cell->origin), "%s", accel_error_name(error->code));
}

/* Adds the speed of such a run on this very device from the history; an estimate from other runs does not count. */
static void store_speed(struct matrix_cell *cell, const struct accel_plan *plan)
{
    for (uint32_t i = 0; i < accel_plan_speed_count(plan); i++) {
        const struct accel_plan_speed *speed = accel_plan_speed_get(plan, i);

        if (strncmp(speed->origin, "measured", 8) != 0 || speed->upper <= 0 || cell->speed > 0)
            continue;
        cell->verdict = HOST_MEASURED;
        cell->speed = speed->upper;
        snprintf(cell->origin, sizeof(cell->origin), "%s", speed->origin);
    }
}

/* For a plan that fits, records whether this version can run it at all, and whether it did. */
static void store_run(struct matrix_cell *cell, const struct accel_plan *plan,
                      const struct accel_model_description *description, uint32_t is_recorded, const char *needs)
{
    struct accel_error error = {0};

    cell->verdict = HOST_FITS;
    store_speed(cell, plan);
    if (cell->speed > 0) {
        snprintf(cell->text, sizeof(cell->text), "%.3g tok/s; %s", cell->speed, needs);
        return;
    }
    snprintf(cell->text, sizeof(cell->text), "%s", needs);
    if (accel_model_description_runs(description, &error) == ACCEL_OK &&
        (is_recorded || accel_plan_runnable(plan, &error) == ACCEL_OK))
        return;
    cell->verdict = HOST_REFUSED;
    snprintf(cell->text, sizeof(cell->text), "%.400s; it would fit: %s", error.text, needs);
}

static void store_plan(struct matrix_cell *cell, const struct accel_plan *plan,
                       const struct accel_model_description *description, uint32_t is_recorded)
{
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    struct accel_error error = {0};
    bool is_here = accel_plan_device(plan) != NULL;
    char bytes[32], needs[80];

    if (accel_plan_fit(plan, &fit, &error) != ACCEL_OK) {
        store_error(cell, &error, is_here);
        return;
    }
    cell->needed = fit.needed;
    cell->budget = is_here ? fit.budget : 0;
    snprintf(needs, sizeof(needs), "needs %s", bytes_text(fit.needed, bytes));
    if (!is_here) {
        cell->verdict = HOST_ABSENT;
        snprintf(cell->origin, sizeof(cell->origin), "estimated: sums over the model's weights");
        snprintf(cell->text, sizeof(cell->text), "no device here; a plan %s (estimated)", needs);
        return;
    }
    snprintf(cell->origin, sizeof(cell->origin), "estimated: sums over the model's weights; budget %s",
             fit.budget_origin);
    snprintf(needs + strlen(needs), sizeof(needs) - strlen(needs), " of %s (estimated)", bytes_text(fit.budget, bytes));
    if (fit.fits) {
        store_run(cell, plan, description, is_recorded, needs);
        return;
    }
    cell->verdict = HOST_SHORT;
    snprintf(cell->text, sizeof(cell->text), "short by %s%s: %s", bytes_text(fit.short_by, bytes),
             accel_plan_fit_is_of_one(&fit) ? " on one device" : "", needs);
}

/* Describes the model of a cell, unless it was described last. */
static int32_t describe(struct accel_context *context, const char *model, struct accel_model_description **description,
                        struct accel_error *error)
{
    if (*description != NULL && strcmp(accel_model_description_path(*description), model) == 0)
        return ACCEL_OK;
    accel_model_description_free(*description);
    *description = NULL;
    return accel_model_describe(context, model, description, error);
}

static void judge(const struct matrix *matrix, struct matrix_cell *cell, struct accel_model_description **description)
{
    struct accel_context *context = matrix->context;
    const char *model = cell->document != NULL ? cell->document->model : cell->row->model;
    struct accel_named_value overrides[SETTINGS_MOST];
    struct accel_plan_request request = {.size = sizeof(request), .platform = cell->platform, .overrides = overrides};
    struct accel_plan *plan = NULL;
    struct accel_error error = {0};
    char copy[512];
    int32_t code = describe(context, model, description, &error);

    if (code != ACCEL_OK) {
        cell->verdict = HOST_UNKNOWN;
        snprintf(cell->text, sizeof(cell->text), "%s", error.text);
        return;
    }
    if (cell->document != NULL)
        request.override_count = cell_settings(cell, copy, sizeof(copy), overrides);
    request.model = accel_model_description_facts(*description, &request.model_count);
    code = accel_plan_create(context, &request, &plan, &error);
    if (code == ACCEL_OK)
        print_variable_notes(plan);
    if (code == ACCEL_OK)
        code = accel_plan_sketch(plan, accel_model_description_sketch(*description), &error);
    if (code == ACCEL_OK)
        store_plan(cell, plan, *description, matrix->is_recorded);
    else
        store_error(cell, &error, has_device(context, cell->platform));
    for (uint32_t i = 0; i < accel_plan_unhonored_count(plan); i++)
        if (accel_plan_unhonored_get(plan, i)->outcome == ACCEL_UNHONORED_LATER)
            add_later(cell, accel_plan_unhonored_get(plan, i)->key, accel_plan_unhonored_get(plan, i)->value);
    accel_plan_free(plan);
}

/* ---- the cells ---- */

static bool is_column(const struct matrix *matrix, const struct accel_compat *row, const char *platform)
{
    for (uint32_t i = 0; i < matrix->count; i++)
        if (matrix->cells[i].row == row && strcmp(matrix->cells[i].platform, platform) == 0)
            return 1;
    return 0;
}

/* Adds the platforms of this host that have no column in the last row. */
static void add_host(struct matrix *matrix, const struct accel_compat *row)
{
    uint32_t added = 0;

    for (uint32_t i = 0; i < accel_device_count(matrix->context) && added < PLATFORMS_MOST; i++) {
        const char *platform = accel_device_get(matrix->context, i)->driver;

        if (is_column(matrix, row, platform))
            continue;
        matrix->cells[matrix->count++] = (struct matrix_cell){.row = row, .platform = platform};
        added++;
    }
}

int matrix_make(struct matrix *matrix, const char *table)
{
    struct accel_model_description *description = NULL;
    const struct accel_compat *row = NULL;
    uint32_t count = accel_compat_count(matrix->tables);

    /* Allocates for the case that each cell is a row of its own. */
    matrix->count = 0;
    matrix->cells = calloc((size_t)count * (1 + PLATFORMS_MOST) + 1, sizeof(*matrix->cells));
    if (matrix->cells == NULL)
        return 0;
    for (uint32_t i = 0; i <= count; i++) {
        const struct accel_compat *cell = accel_compat_get(matrix->tables, i);

        if (row != NULL && row->client[0] == '\0' && (cell == NULL || cell->source != row->source))
            add_host(matrix, row);
        if (cell == NULL || (table != NULL && strcmp(table, cell->table) != 0)) {
            row = NULL;
            continue;
        }
        if (row == NULL || cell->source != row->source)
            row = cell;
        matrix->cells[matrix->count++] = (struct matrix_cell){.row = row, .document = cell, .platform = cell->platform};
    }
    for (uint32_t i = 0; i < matrix->count; i++)
        judge(matrix, &matrix->cells[i], &description);
    accel_model_description_free(description);
    return 1;
}

void matrix_free(struct matrix *matrix)
{
    free(matrix->cells);
    matrix->cells = NULL;
    matrix->count = 0;
}

json_t *matrix_json(const struct matrix *matrix)
{
    json_t *rows = json_array();

    for (uint32_t i = 0; i < matrix->count; i++) {
        const struct matrix_cell *cell = &matrix->cells[i];
        const struct accel_compat *document = cell->document;
        json_t *host = json_pack("{s:s, s:o, s:I, s:I, s:o}", "verdict", matrix_name(cell->verdict), "text",
                                 json_text(cell->text), "needed", (json_int_t)cell->needed, "budget",
                                 (json_int_t)cell->budget, "origin", json_text(cell->origin));

        if (cell->later[0] != '\0')
            json_object_set_new(host, "later", json_text(cell->later));
        if (cell->speed > 0)
            json_object_set_new(host, "tokens_per_second", json_real(cell->speed));
        json_add(rows, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s*, s:s*, s:o*, s:o}", "table", cell->row->table,
                                 "row", cell->row->row, "column", matrix_column(cell), "platform", cell->platform,
                                 "model", document != NULL ? document->model : cell->row->model, "client",
                                 cell->row->client, "rating", document != NULL ? document->rating_name : NULL,
                                 "because", document != NULL ? document->source : NULL, "place",
                                 document != NULL ? json_text(document->place) : NULL, "host", host));
    }
    return json_pack("{s:o}", "cells", rows);
}
