/* SPDX-License-Identifier: Apache-2.0 */
/* Records the conditions of a measurement beside the results: the run, the host, the plan and the model, as texts
 * and numbers. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tools/accelctl/bench/bench.h"
#include "tools/accelctl/bench/facts.h"
#include "tools/accelctl/print/where.h"

static void set_text(struct bench *bench, const char *key, const char *text)
{
    json_object_set_new(bench->facts, key, json_text(text));
}

void bench_facts_run(struct bench *bench)
{
    char text[64];
    const time_t now = time(NULL);
    struct tm utc;

    gmtime_r(&now, &utc);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    set_text(bench, "begun", text);
    set_text(bench, "version", accel_version());
}

void bench_facts_host(struct bench *bench, const struct accel_context *context)
{
    json_t *host = json_object();

    for (uint32_t i = 0; i < accel_fact_count(context); i++) {
        const struct accel_fact *fact = accel_fact_get(context, i);

        json_object_set_new(host, fact->key, json_text(fact->value));
        if (strcmp(fact->key, "cpu.model") == 0)
            set_text(bench, "processor", fact->value);
    }
    json_object_set_new(bench->facts, "host", host);
}

void bench_facts_plan(struct bench *bench, const struct accel_plan *plan)
{
    const struct accel_device_info *device = accel_plan_device(plan);
    char text[300];

    set_text(bench, "device", devices_text(plan, text, sizeof(text)));
    set_text(bench, "device_detail", device->facts->detail);
    set_text(bench, "settings", accel_plan_variant(plan));
    snprintf(text, sizeof(text), "%.20s, %.20s", plan_setting_text(plan, "kv.type.k"),
             plan_setting_text(plan, "kv.type.v"));
    set_text(bench, "kv", text);
}

void bench_facts_model(struct bench *bench, const struct accel_model *model)
{
    const struct accel_model_facts *facts = accel_model_facts_of(model);
    char text[300];

    set_text(bench, "model_file", bench->path);
    snprintf(text, sizeof(text), "%.60s, %u layers x %u, %" PRIu64 " parameters, %.100s", facts->architecture,
             facts->layers, facts->hidden, facts->parameters, facts->types);
    set_text(bench, "model", text);
    json_object_set_new(bench->facts, "model_bytes", json_integer((json_int_t)facts->weight_bytes));
    json_object_set_new(bench->facts, "model_parameters", json_integer((json_int_t)facts->parameters));
}

void bench_facts_unopened(struct bench *bench)
{
    struct accel_model *model = NULL;

    if (bench->path == NULL || json_object_get(bench->facts, "model") != NULL)
        return;
    if (accel_model_open(bench->path, NULL, &model, NULL) == ACCEL_OK)
        bench_facts_model(bench, model);
    accel_model_close(model);
}
