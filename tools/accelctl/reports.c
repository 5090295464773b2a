/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/reports.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/accelctl/output.h"

/* Settings that request a report. */
static const struct {
    const char *key;
    enum report kind;
} requests[] = {
    {"log.load", REPORT_LOG},
    {"log.kernels", REPORT_LOG},
    {"log.memory", REPORT_LOG},
    {"log.attention", REPORT_LOG},
    {"log.quantization", REPORT_WEIGHTS},
    {"metrics.quantization", REPORT_WEIGHTS},
    {"metrics.performance", REPORT_METRICS},
    {"metrics.memory", REPORT_METRICS},
    {"metrics.attention", REPORT_METRICS},
};

enum { REQUESTS = sizeof(requests) / sizeof(*requests) };

/* Refuses a setting, with the commands that honor it. */
static int refuse_report(const struct common *common, const struct wish *wish, const struct accel_plan_setting *setting,
                         enum report kind)
{
    char text[400], remedy[300];

    snprintf(text, sizeof(text), "%.200s: %s=%s: accelctl %s %s", setting->place, setting->key, setting->value,
             wish->command,
             kind == REPORT_METRICS && (wish->reports & REPORT_LOG) != 0 ? "generates no text, of which it would print "
                                                                           "the metrics"
                                                                         : "prints its own results alone");
    snprintf(remedy, sizeof(remedy),
             "accelctl run MODEL --prompt TEXT --set %s=%s prints them; leave the setting out "
             "here",
             setting->key, setting->value);
    return report_error_text(common->json, EXIT_USAGE, "usage", text, remedy);
}

int refuse_reports(const struct common *common, const struct wish *wish, const struct accel_plan *plan)
{
    for (uint32_t i = 0; i < REQUESTS; i++) {
        const struct accel_plan_setting *setting = accel_plan_setting_find(plan, requests[i].key);

        if ((wish->reports & requests[i].kind) != 0 || setting == NULL || setting->word != ACCEL_WORD_TRUE)
            continue;
        if (!accel_plan_is_recommended(plan, setting->key))
            return refuse_report(common, wish, setting, requests[i].kind);
        if (!common->json && !wish->is_repeated)
            fprintf(error_output(), "note       not honored: %s=%s, accelctl run prints it (%s)\n", setting->key,
                    setting->value, setting->place);
    }
    return -1;
}

/* Finds the kind of a note, or 0 for a note of the plan. */
static enum report kind_of(const struct accel_plan_note *note)
{
    if (strncmp(note->key, "precision.", 10) == 0)
        return REPORT_WEIGHTS;
    for (uint32_t i = 0; i < REQUESTS; i++)
        if (strcmp(note->key, requests[i].key) == 0)
            return requests[i].kind;
    return 0;
}

static bool is_requested(const struct accel_plan *plan, const char *key)
{
    const struct accel_plan_setting *setting = accel_plan_setting_find(plan, key);

    return setting != NULL && setting->word == ACCEL_WORD_TRUE && !accel_plan_is_recommended(plan, key);
}

/* Returns whether the user gave the setting that requests a report. Both settings of weights share their notes. */
static bool is_given(const struct accel_plan *plan, const struct accel_plan_note *note)
{
    return is_requested(plan, note->key) ||
           (strcmp(note->key, "log.quantization") == 0 && is_requested(plan, "metrics.quantization"));
}

/* Returns the notes of the plan and then those of its run, or NULL past the end. */
static const struct accel_plan_note *get_note(const struct accel_session *session, uint32_t index)
{
    const struct accel_plan *plan = accel_session_plan(session);
    const uint32_t planned = accel_plan_note_count(plan);

    return index < planned ? accel_plan_note_get(plan, index) : accel_session_note_get(session, index - planned);
}

uint32_t print_reports(const struct accel_session *session, uint32_t first, uint32_t quiet, const char *model)
{
    const struct accel_plan_note *note;
    uint32_t i;

    for (i = first; (note = get_note(session, i)) != NULL; i++) {
        const enum report kind = kind_of(note);
        char text[800];

        if (kind == 0 || (quiet && !is_given(accel_session_plan(session), note)))
            continue;
        fprintf(error_output(), "%-10s %s%s%s\n",
                kind == REPORT_WEIGHTS   ? "weights"
                : kind == REPORT_METRICS ? "metrics"
                                         : note->key,
                model == NULL ? "" : model, model == NULL ? "" : ": ", clean_text(note->text, text, sizeof(text)));
    }
    return i;
}

json_t *reports_json(const struct accel_session *session, uint32_t first, enum report kind)
{
    const struct accel_plan_note *note;
    json_t *list = json_array();

    for (uint32_t i = first; (note = get_note(session, i)) != NULL; i++)
        if (kind_of(note) == kind)
            json_array_append_new(list, json_text(note->text));
    return list;
}
