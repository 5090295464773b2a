/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the doctor's public interface: reads the table, collects the evidence from the machine or the
 * recording, and evaluates it. */
#include "config.h"

#include "tools/doctor/doctor.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/strbuf.h"
#include "core/profile/profile.h"
#include "core/registry/context.h"
#include "core/snapshot/snapshot.h"
#include "tools/doctor/evaluate.h"
#include "tools/doctor/gather.h"

#define TABLE_FILE "doctor.yaml"
#define ROWS_LIMIT ((size_t)16 << 20)

struct accel_doctor {
    struct accel_context *context;
    struct accel_arena arena;
    struct accel_doctor_table table;
    struct accel_evidence evidence;
    struct accel_doctor_evaluation evaluation;
};

int32_t accel_doctor_open_table(const struct accel_context *context, struct accel_arena *arena,
                                struct accel_doctor_table *out_table, struct accel_error *error)
{
    char *folder = NULL;
    struct accel_strbuf path = {0};
    int32_t code = accel_profile_folder(context, &folder, error);
    if (code != ACCEL_OK)
        return code;
    accel_strbuf_printf(&path, "%s/" TABLE_FILE, folder);
    code = path.failed ? accel_error_no_memory(error, "for the doctor")
                       : accel_doctor_table_read(path.text, arena, out_table, error);
    if (code == ACCEL_E_NOT_FOUND)
        accel_error_remedy(error,
                           "install the profiles, or set ACCEL_PROFILE_PATH to the folder that holds " TABLE_FILE);
    accel_strbuf_free(&path);
    free(folder);
    return code;
}

static bool has_container(const struct accel_evidence *evidence)
{
    for (const struct accel_evidence_item *item = evidence->first; item; item = item->next)
        if (strcmp(item->kind, "container") == 0)
            return true;
    return false;
}

/* Reports an unreadable table as a row: the doctor has to diagnose this case, too, and checks the rest without the
 * table. */
static void add_table_row(struct accel_doctor_evaluation *doctor, const struct accel_error *why)
{
    const struct accel_doctor_row row = {
        .state = ACCEL_DOCTOR_BAD,
        .hardware = -1,
        .area = "folders",
        .check = "doctor.table",
        .subject = TABLE_FILE,
        .text = accel_doctor_text(doctor, "%s: what hardware needs is not known", why->text),
        .remedy = accel_doctor_text(doctor, "%s", why->remedy)};
    accel_doctor_add_row(doctor, &row);
}

static int32_t evaluate(struct accel_doctor *doctor, const struct accel_error *table_error, struct accel_error *error)
{
    struct accel_doctor_evaluation *evaluation = &doctor->evaluation;
    *evaluation = (struct accel_doctor_evaluation){.context = doctor->context,
                                                   .table = &doctor->table,
                                                   .evidence = &doctor->evidence,
                                                   .arena = &doctor->arena,
                                                   .in_container = has_container(&doctor->evidence)};
    accel_doctor_check_host(evaluation);
    if (table_error->code != ACCEL_OK)
        add_table_row(evaluation, table_error);
    accel_doctor_check_hardware(evaluation);
    return evaluation->failed ? accel_error_no_memory(error, "for the doctor") : ACCEL_OK;
}

/* Collects the evidence of the recording, or of this machine. */
static int32_t collect_evidence(struct accel_doctor *doctor, struct accel_error *error)
{
    const struct accel_snapshot *snapshot = doctor->context->snapshot;
    accel_evidence_init(&doctor->evidence, &doctor->arena);
    if (snapshot == NULL)
        return accel_doctor_gather(doctor->context, &doctor->table, &doctor->evidence, error);
    accel_evidence_read(&doctor->evidence, snapshot->evidence);
    return doctor->evidence.failed ? accel_error_no_memory(error, "for the doctor's evidence") : ACCEL_OK;
}

static int32_t examine(struct accel_doctor *doctor, struct accel_error *error)
{
    struct accel_error why = {0};
    int32_t code = accel_doctor_open_table(doctor->context, &doctor->arena, &doctor->table, &why);
    if (code == ACCEL_E_MEMORY)
        return accel_error_no_memory(error, "for the doctor");
    code = collect_evidence(doctor, error);
    return code == ACCEL_OK ? evaluate(doctor, &why, error) : code;
}

int32_t accel_doctor_create(struct accel_context *context, struct accel_doctor **out_doctor, struct accel_error *error)
{
    struct accel_doctor *doctor;
    int32_t code;
    if (context == NULL || out_doctor == NULL)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "accel_doctor_create needs a context and a place for the doctor");
    *out_doctor = NULL;
    if (context->topology == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_doctor_create: the context has not discovered");
    doctor = calloc(1, sizeof(*doctor));
    if (doctor == NULL)
        return accel_error_no_memory(error, "for the doctor");
    doctor->context = context;
    atomic_fetch_add(&context->children, 1);
    accel_arena_init(&doctor->arena, ROWS_LIMIT);
    code = examine(doctor, error);
    if (code != ACCEL_OK) {
        accel_doctor_free(doctor);
        return code;
    }
    *out_doctor = doctor;
    return ACCEL_OK;
}

void accel_doctor_free(struct accel_doctor *doctor)
{
    if (doctor == NULL)
        return;
    accel_rows_free(&doctor->evaluation.rows);
    accel_arena_free(&doctor->arena);
    atomic_fetch_sub(&doctor->context->children, 1);
    free(doctor);
}

uint32_t accel_doctor_count(const struct accel_doctor *doctor)
{
    return doctor == NULL ? 0 : doctor->evaluation.rows.count;
}

const struct accel_doctor_row *accel_doctor_get(const struct accel_doctor *doctor, uint32_t index)
{
    return index < accel_doctor_count(doctor) ? doctor->evaluation.rows.items[index] : NULL;
}

bool accel_doctor_lacks_driver(const struct accel_doctor *doctor, const struct accel_device_info *device)
{
    return doctor->context->snapshot != NULL && accel_doctor_has_word(&doctor->table.later, device->driver);
}

uint32_t accel_doctor_tally(const struct accel_doctor *doctor, uint32_t state)
{
    uint32_t tally = 0;
    for (uint32_t i = 0; i < accel_doctor_count(doctor); i++)
        tally += accel_doctor_get(doctor, i)->state == state;
    return tally;
}
