/* SPDX-License-Identifier: Apache-2.0 */
/* Reads recorded plans. */
#ifndef MODEL_PLAN_RECORD_H
#define MODEL_PLAN_RECORD_H

#include <accel/plan.h>

#include "model/plan/json.h"

/* A recorded plan, and the settings with which it is made again. */
struct plan_record {
    const char *path;
    const char *moved; /* another path of the model than the recorded one; NULL: it is where it was */
    char *json;        /* the file, and a zero behind it */
    json_t *root;
    struct accel_named_value *overrides; /* settings of the request, then the overridden ones */
    uint32_t override_count;
    char **texts; /* setting values formatted with their units, and keys of options */
    uint32_t text_count;
    char changed[160]; /* the first setting that is overridden, and its value of today, for errors; empty: none */
    char remedy[140];  /* end of the remedy, which keeps it */
};

/* Returns the text of a member, "" if it is none. */
const char *plan_record_text(const json_t *object, const char *key);

/* Returns a member of the record's document. */
json_t *plan_record_part(const struct plan_record *record, const char *key);

/* Returns the line of the value that `ordinal` values precede in the file. */
int plan_record_line(const struct plan_record *record, size_t ordinal);

/* Returns the line of a text or number of the record's document. */
int plan_record_line_of(const struct plan_record *record, const json_t *value);

/* Adds the remedy of a plan that came out differently, and returns ACCEL_E_REFUSED. */
int32_t plan_refuse_difference(const struct plan_record *record, struct accel_error *error);

/* Reads and checks the file `record->path`, and refuses a plan by formula. */
int32_t plan_record_read(struct plan_record *record, struct accel_error *error);

#endif
