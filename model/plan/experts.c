/* SPDX-License-Identifier: Apache-2.0 */
/* Limits the resident experts of a mixture that does not fit into the memory budget: the driver then reads the others
 * from the mapped file as tokens are routed to them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "model/plan/internal.h"

#define MIB 1048576.0
#define ORIGIN "chosen for the memory budget"

/* A limit that all experts are below, and the longest number: the records of a plan have its digits. */
#define NO_LIMIT ((uint64_t)INT64_MAX)
#define RESERVE_SHARE 16
#define PAGES_SHARE 64

uint32_t model_plan_add_expert_limit(const struct accel_model_plan *plan, struct accel_named_value *rows,
                                     char value[EXPERT_LIMIT_TEXT])
{
    if (plan->expert_limit == 0)
        return 0;
    snprintf(value, EXPERT_LIMIT_TEXT, "%" PRIu64, plan->expert_limit);
    *rows = (struct accel_named_value){plan->expert_key, value, ORIGIN};
    return 1;
}

/* Returns whether the plan decides weights.load. */
static bool is_load_open(const struct accel_plan_setting *load)
{
    return load->word != ACCEL_WORD_READ || load->origin == ACCEL_ORIGIN_FILE;
}

/* Returns whether a limit is to be tried: the plan does not fit, the driver has the option, no layer sets it, and the
 * file maps the experts. */
static bool is_possible(struct accel_model_plan *plan)
{
    const struct accel_session *session = plan->session;
    struct session_experts experts;

    if (session == NULL || session->pipeline_count != 1 || model_plan_verdict(plan).fits ||
        !is_load_open(plan->settings.weights_load) ||
        !plan_expert_key(plan->context, session->plan, plan->expert_key) ||
        accel_plan_setting_find(session->plan, plan->expert_key) != NULL)
        return false;
    stage_measure_experts(session->pipeline, &experts);
    return experts.bytes != 0 && experts.reason == NULL;
}

/* Returns the bytes that no row of a plan counts, and that need memory beside experts that fill the budget: the memory
 * of this process now, which is libraries and code, and page tables with the index of cached pages. At most a share of
 * the budget. */
static uint64_t reserve_of(uint64_t budget)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long long pages = 0;

    if (file != NULL && fscanf(file, "%*s %llu", &pages) != 1)
        pages = 0;
    if (file != NULL)
        fclose(file);
    pages *= (unsigned long long)sysconf(_SC_PAGESIZE);
    pages += budget / PAGES_SHARE;
    return pages < budget / RESERVE_SHARE ? pages : budget / RESERVE_SHARE;
}

static int32_t try_limit(struct accel_model_plan *plan, uint64_t limit, struct accel_error *error)
{
    plan->expert_limit = limit;
    return model_plan_remake(plan, error);
}

static int32_t note_limit(struct accel_model_plan *plan, const struct session_experts *experts, uint64_t reserve,
                          struct accel_error *error)
{
    struct accel_plan_past past = {.size = sizeof(past)};
    char text[600], read[80] = "";
    struct accel_plan_note note = {
        .size = sizeof(note), .level = ACCEL_NOTE_INFO, .key = plan->expert_key, .text = text, .remedy = ""};

    if (accel_plan_past(plan->plan, &past, NULL) == ACCEL_OK && past.read_bytes != 0)
        snprintf(read, sizeof(read), "; runs with these settings read %.1f MiB", (double)past.read_bytes / MIB);
    snprintf(text, sizeof(text),
             "%.1f MiB of %.1f MiB of experts are resident (%s). A token is routed to %" PRIu32 " of %" PRIu32
             " experts in %" PRIu32 " layers, %.1f MiB; %.1f MiB of them are read from the disk if all experts are "
             "equally likely, fewer if the router prefers some%s. %.1f MiB of the budget are left to libraries, code "
             "and page tables (VmRSS while the plan was made, and a 64th of the budget)",
             (double)plan->expert_limit / MIB, (double)experts->bytes / MIB, plan->expert_key, experts->used,
             experts->experts, experts->layers, (double)experts->token / MIB,
             (double)session_expert_reads(experts, plan->expert_limit) / MIB, read, (double)reserve / MIB);
    return accel_plan_note(plan->plan, &note, error);
}

/* Plans without a limit again, and notes the budget that a limit needs. */
static int32_t undo_limit(struct accel_model_plan *plan, uint64_t needed, struct accel_error *error)
{
    char text[200], remedy[100];
    struct accel_plan_note note = {
        .size = sizeof(note), .level = ACCEL_NOTE_INFO, .key = plan->expert_key, .text = text, .remedy = remedy};
    int32_t code = try_limit(plan, 0, error);

    snprintf(text, sizeof(text),
             "with a budget of %" PRIu64
             " KiB or more a run reads experts from the disk as tokens are routed to them (%s)",
             (needed + 1023) / 1024, plan->expert_key);
    snprintf(remedy, sizeof(remedy), "--set memory.budget=%" PRIu64 "KiB", (needed + 1023) / 1024);
    return code == ACCEL_OK && plan->session != NULL ? accel_plan_note(plan->plan, &note, error) : code;
}

/* Chooses a limit if the plan does not fit without one. */
static int32_t choose_limit(struct accel_model_plan *plan, struct accel_error *error)
{
    struct session_experts experts;
    struct accel_plan_fit fit;
    uint64_t limit, others, reserve;
    int32_t code;

    if (!is_possible(plan))
        return ACCEL_OK;
    /* The driver estimates the copies of all experts, and of those that a step needs at least. */
    code = try_limit(plan, NO_LIMIT, error);
    if (code != ACCEL_OK || plan->session == NULL)
        return code;
    stage_measure_experts(plan->session->pipeline, &experts);
    fit = model_plan_verdict(plan);
    /* A driver that states no row of mapped weights does not count the experts: a limit would save nothing. */
    if (fit.needed < experts.bytes)
        return try_limit(plan, 0, error);
    others = fit.needed - experts.bytes;
    if (fit.budget < others + experts.least)
        return undo_limit(plan, others + experts.least, error);
    reserve = reserve_of(fit.budget);
    limit = fit.budget - others;
    limit = limit < experts.least + reserve ? experts.least : limit - reserve;
    /* A multiple of the average expert: a few bytes more or less of the budget give the same limit again. */
    limit -= limit % (experts.bytes / ((uint64_t)experts.layers * experts.experts));
    limit = limit < experts.least ? experts.least : limit;
    code = try_limit(plan, limit < experts.bytes ? limit : experts.bytes, error);
    return code == ACCEL_OK && plan->session != NULL ? note_limit(plan, &experts, reserve, error) : code;
}

/* Estimates the experts of a plan by formula: the weights of which a token reads some rows, in the types of their parts
 * of the plan. */
static void estimate_experts(const struct accel_model_plan *plan, struct session_experts *out_experts)
{
    const struct accel_sketch *shapes = accel_model_description_sketch(plan->subject->description);
    double bytes = 0, token = 0;

    *out_experts = (struct session_experts){0};
    for (uint32_t i = 0; i < shapes->weight_count; i++) {
        const struct accel_sketch_weight *weight = &shapes->weights[i];
        const uint64_t rows = shapes->step_rows == NULL ? weight->rows : shapes->step_rows[i];
        double elements = 0, sum = 0;

        for (uint32_t p = 0; rows < weight->rows && p < accel_plan_part_count(plan->plan); p++) {
            const struct accel_plan_part *part = accel_plan_part_get(plan->plan, p);

            if (strcmp(part->role, weight->role) != 0 || strcmp(part->component, weight->component) != 0)
                continue;
            elements += (double)part->elements;
            sum += (double)part->bytes;
        }
        if (elements == 0)
            continue;
        bytes += (double)weight->rows * (double)weight->columns * sum / elements;
        token += (double)rows * (double)weight->columns * sum / elements;
        out_experts->layers += strcmp(weight->role, "ffn.down") == 0;
    }
    out_experts->bytes = (uint64_t)bytes;
    out_experts->least = out_experts->layers == 0 ? 0 : (uint64_t)(token / out_experts->layers);
}

/* Notes what a run of the model's file may do that a plan by formula does not: leave experts on the disk. */
static int32_t note_file(struct accel_model_plan *plan, struct accel_error *error)
{
    const struct accel_plan_fit fit = model_plan_verdict(plan);
    struct session_experts experts;
    char text[500];
    struct accel_plan_note note = {
        .size = sizeof(note), .level = ACCEL_NOTE_INFO, .key = plan->expert_key, .text = text, .remedy = ""};

    if (fit.fits || fit.budget == 0 || accel_model_description_is_file(plan->subject->description) ||
        !is_load_open(plan->settings.weights_load) || !plan_expert_key(plan->context, plan->plan, plan->expert_key) ||
        accel_plan_setting_find(plan->plan, plan->expert_key) != NULL)
        return ACCEL_OK;
    estimate_experts(plan, &experts);
    if (experts.bytes == 0 || experts.bytes > fit.needed)
        return ACCEL_OK;
    snprintf(text, sizeof(text),
             "%.1f MiB of it are experts. A run of the model's file reads them from the disk as tokens are routed to "
             "them (%s), if the file stores each in one piece in these types: then a budget of %.1f MiB fits, for all "
             "else and the experts of a token in one layer",
             (double)experts.bytes / MIB, plan->expert_key, (double)(fit.needed - experts.bytes + experts.least) / MIB);
    return accel_plan_note(plan->plan, &note, error);
}

/* States the speed that reading experts from the disk permits. */
static int32_t state_speed(const struct accel_model_plan *plan, struct accel_error *error)
{
    const uint64_t limit = plan->session == NULL ? 0 : plan_expert_limit(plan->session->pipeline->plan);
    struct disk_rate *disk = &plan->subject->disk;
    char text[DISK_RATE_TEXT + 200];
    struct session_experts experts;
    uint64_t reads;

    if (limit == 0)
        return ACCEL_OK;
    stage_measure_experts(plan->session->pipeline, &experts);
    reads = session_expert_reads(&experts, limit);
    if (reads == 0)
        return ACCEL_OK;
    if (disk->text[0] == '\0')
        disk_rate_measure(plan->subject->model->file, disk);
    snprintf(text, sizeof(text), "%s%s %.1f MiB of experts if all are equally likely, fewer if the router prefers some",
             disk->text, disk->bytes > 0 ? " /" : "; a token reads", (double)reads / MIB);
    return accel_plan_state_speed(plan->plan, disk->bytes / (double)reads, text, error);
}

int32_t model_plan_limit_experts(struct accel_model_plan *plan, struct accel_error *error)
{
    int32_t code = choose_limit(plan, error);

    if (code == ACCEL_OK && plan->session == NULL)
        code = note_file(plan, error);
    return code == ACCEL_OK ? state_speed(plan, error) : code;
}
