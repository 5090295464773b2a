/* SPDX-License-Identifier: Apache-2.0 */
/* Plans a session: passes facts of the model in, reads settings, builds the graph and places it. */
#include "model/session/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/format.h>

#include "model/family/rope.h"
#include "model/session/experts.h"
#include "model/session/load.h"
#include "model/session/measure.h"
#include "model/session/pages.h"
#include "model/session/pipeline.h"
#include "model/session/source.h"
#include "model/session/types.h"

/* Facts of the model that profile rules can test. */
enum { FACTS = 9, FACT_TEXT = 32 };

struct facts {
    struct accel_named_value rows[FACTS];
    char texts[FACTS][FACT_TEXT];
    uint32_t count;
};

static void add_fact(struct facts *facts, const char *key, uint64_t value, const char *origin)
{
    snprintf(facts->texts[facts->count], FACT_TEXT, "%" PRIu64, value);
    facts->rows[facts->count] = (struct accel_named_value){key, facts->texts[facts->count], origin};
    facts->count++;
}

static void collect_facts(const struct accel_model *model, struct facts *facts)
{
    const char *path = accel_model_file_path(model->file);
    const struct accel_model_facts *f = &model->facts;

    facts->count = 0;
    facts->rows[facts->count++] = (struct accel_named_value){"model.family", f->architecture, path};
    add_fact(facts, "model.layers", f->layers, path);
    add_fact(facts, "model.hidden", f->hidden, path);
    add_fact(facts, "model.heads", f->heads, path);
    add_fact(facts, "model.kv_heads", f->kv_heads, path);
    add_fact(facts, "model.vocabulary", f->vocabulary, path);
    add_fact(facts, "model.context", f->context, path);
    add_fact(facts, "model.parameters", f->parameters, path);
    add_fact(facts, "model.weight_bytes", f->weight_bytes, path);
}

/* Resolves a quantized cache type: symmetric groups of kv.group, or smaller ones that divide a head. If none does,
 * falls back to f16 unless the policy denies it. */
static int32_t resolve_quantized_cache(struct accel_plan *plan, const struct accel_plan_setting *setting, uint32_t head,
                                       uint32_t *out_type, struct accel_error *error)
{
    const struct accel_plan_setting *policy = accel_plan_setting_find(plan, "fallback.kv");
    const struct accel_plan_setting *group = accel_plan_setting_find(plan, "kv.group");
    char name[32];

    snprintf(name, sizeof(name), "%.2s_g%.3s", setting->value,
             group == NULL || group->word == ACCEL_WORD_AUTO ? "64" : group->value);
    *out_type = accel_format_narrow(accel_format_find(name), head);
    if (*out_type != ACCEL_F16)
        return ACCEL_OK;
    if (accel_plan_is_recommended(plan, setting->key)) {
        char reason[120];

        snprintf(reason, sizeof(reason), "heads of %u elements have no group of 32 or more that divides them", head);
        return accel_plan_decline(plan, setting->key, "f16", reason, error);
    }
    if (policy == NULL || policy->word != ACCEL_WORD_DENY)
        return ACCEL_OK;
    accel_error_set(error, ACCEL_E_FALLBACK,
                    "%s: %s=%s: heads of %u elements have no group of 32 or more that divides them", setting->place,
                    setting->key, setting->value, head);
    accel_error_remedy(error, "set %s=f16, or fallback.kv to warn or allow", setting->key);
    return ACCEL_E_FALLBACK;
}

static int32_t resolve_cache_type(struct accel_plan *plan, const char *key, uint32_t head, uint32_t *out_type,
                                  struct accel_error *error)
{
    const struct accel_plan_setting *setting = accel_plan_setting_find(plan, key);

    *out_type = ACCEL_F16;
    if (setting == NULL)
        return accel_error_set(error, ACCEL_E_INTERNAL, "the profiles have no setting %s", key);
    if (setting->word == ACCEL_WORD_F32)
        *out_type = ACCEL_F32;
    if (setting->word == ACCEL_WORD_Q8 || setting->word == ACCEL_WORD_Q4)
        return resolve_quantized_cache(plan, setting, head, out_type, error);
    return ACCEL_OK;
}

/* Returns the number of a setting, 0 for "auto". */
static int64_t number_of(const struct accel_plan *plan, const char *key)
{
    return accel_plan_setting_find(plan, key)->number;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t session_longest_context(const struct accel_model *model)
{
    const struct accel_rope_config *rope = &model->config.rope;
    double reach = rope->factor * rope->original_context;

    if (rope->kind != ACCEL_ROPE_DYNAMIC || reach <= model->facts.context)
        return model->facts.context;
    return reach >= INT32_MAX ? INT32_MAX : (uint64_t)reach;
}

bool session_has_table(const struct accel_model *model)
{
    return model->config.form.position == FORM_LEARNED;
}

/* Returns the origin of an error about a setting. */
static uint32_t origin_of(const struct accel_plan_setting *setting)
{
    return setting->origin == ACCEL_ORIGIN_GIVEN ? ACCEL_FROM_SETTING : ACCEL_FROM_FILE;
}

bool session_is_beyond_training(const struct accel_plan *plan)
{
    return accel_plan_setting_find(plan, "context.beyond_training")->word == ACCEL_WORD_TRUE;
}

int32_t session_refuse_context(const struct accel_plan *plan, const char *name, uint64_t longest,
                               struct accel_error *error)
{
    const struct accel_plan_setting *setting = accel_plan_setting_find(plan, "context");
    /* Suggests the same option: eval accepts -c or the setting, not both. */
    const uint32_t by_option =
        strncmp(setting->place, "command line -", 14) == 0 && strncmp(setting->place, "command line --set", 18) != 0;

    accel_error_set(error, ACCEL_E_INVALID, "%.160s: context=%s: %s was trained for %" PRIu64 " tokens", setting->place,
                    setting->value, name, longest);
    accel_error_remedy(error,
                       "%s%" PRIu64 ", or --set context.beyond_training=true to continue past them, with "
                       "worse text",
                       by_option ? "-c " : "--set context=", longest);
    return accel_error_origin(error, origin_of(setting), ACCEL_E_INVALID);
}

int32_t session_check_context(const struct accel_plan *plan, const char *name, uint64_t longest,
                              struct accel_error *error)
{
    const struct accel_plan_setting *setting = accel_plan_setting_find(plan, "context");

    if (longest == 0 || setting == NULL || setting->origin != ACCEL_ORIGIN_GIVEN || session_is_beyond_training(plan) ||
        strtoull(setting->value, NULL, 10) <= longest)
        return ACCEL_OK;
    return session_refuse_context(plan, name, longest, error);
}

/* Resolves the context: the profiles' value, limited by the model. Refuses a larger one that the caller set; the plan
 * shows the result. */
static int32_t resolve_context(struct accel_session *session, int64_t asked, struct accel_error *error)
{
    const struct accel_model *model = session->model;
    const struct accel_plan_setting *setting = accel_plan_setting_find(session->plan, "context");
    uint64_t longest = session_longest_context(model);
    char value[24];

    session->options.context = asked <= 0 ? model->facts.context : smaller((uint64_t)asked, longest);
    if (asked > 0 && (uint64_t)asked <= longest)
        return ACCEL_OK;
    if (asked > 0 && setting->origin == ACCEL_ORIGIN_GIVEN && session_is_beyond_training(session->plan) &&
        session_has_table(model)) {
        accel_error_set(error, ACCEL_E_INVALID, "%.160s: context=%s: the table of positions of %s has %" PRIu64 " rows",
                        setting->place, setting->value, accel_model_file_path(model->file), longest);
        accel_error_remedy(error, "--set context=%" PRIu64, longest);
        return accel_error_origin(error, origin_of(setting), ACCEL_E_INVALID);
    }
    if (asked > 0 && setting->origin == ACCEL_ORIGIN_GIVEN && session_is_beyond_training(session->plan)) {
        session->options.context = (uint64_t)asked;
        return ACCEL_OK;
    }
    if (asked > 0 && setting->origin == ACCEL_ORIGIN_GIVEN)
        return session_refuse_context(session->plan, accel_model_file_path(model->file), longest, error);
    snprintf(value, sizeof(value), "%" PRIu64, session->options.context);
    return accel_plan_setting_override(session->plan, "context", value, accel_model_file_path(model->file),
                                       "what the model was made for", error);
}

/* Refuses a context that the sinks would nearly fill. */
static int32_t refuse_short(const struct accel_session *session, struct accel_error *error)
{
    const struct accel_plan_setting *full = accel_plan_setting_find(session->plan, "kv.full");
    const struct accel_plan_setting *context = accel_plan_setting_find(session->plan, "context");
    const uint64_t sinks = session->options.sinks, least = 4 * sinks + 4;

    accel_error_set(error, ACCEL_E_INVALID,
                    "%s: kv.full=%s: %" PRIu64 " sinks never leave, so a context of less than %" PRIu64
                    " tokens leaves too few for the text; it has %" PRIu64 " (%s)",
                    full->place, full->value, sinks, least, session->options.context, context->place);
    accel_error_remedy(error, "set context=%" PRIu64 "tok or more, or fewer kv.sinks", least);
    return accel_error_origin(error, origin_of(full), ACCEL_E_INVALID);
}

/* Refuses kv.full=prune without kv.prune, or kv.prune without kv.full=prune; `key` is the one that is set. */
static int32_t refuse_unpaired(const struct accel_plan *plan, const char *key, struct accel_error *error)
{
    const bool has_prune = strcmp(key, "kv.prune") == 0;
    const struct accel_plan_setting *setting = accel_plan_setting_find(plan, key);
    const struct accel_plan_setting *other = accel_plan_setting_find(plan, has_prune ? "kv.full" : "kv.prune");

    accel_error_set(error, ACCEL_E_INVALID, "%.160s: %s=%s needs %s, and %s is %s", setting->place, key, setting->value,
                    has_prune ? "kv.full=prune" : "kv.prune", other->key, other->value);
    accel_error_remedy(error, "%s",
                       has_prune ? "add --set kv.full=prune" : "add --set kv.prune=recency, or --set kv.prune=usage");
    return accel_error_origin(error, origin_of(setting), ACCEL_E_INVALID);
}

/* Returns whether positions of tokens can change as others leave the cache. */
static bool can_shift(const struct accel_session *session)
{
    return !rope_changes(&session->model->config.rope) && !session_has_table(session->model);
}

bool session_can_slide(const struct accel_session *session)
{
    return can_shift(session) && session->options.context >= 4 * session->options.sinks + 4;
}

/* Checks the settings of a full sequence against each other. */
static int32_t check_full(const struct accel_session *session, struct accel_error *error)
{
    const struct accel_plan *plan = session->plan;
    const struct step_options *options = &session->options;

    if ((accel_plan_setting_find(plan, "kv.prune")->word == ACCEL_WORD_OFF) != (session->full != FULL_PRUNE))
        return refuse_unpaired(plan, session->full == FULL_PRUNE ? "kv.full" : "kv.prune", error);
    if (session->full == FULL_STOP)
        return ACCEL_OK;
    if (!can_shift(session)) {
        accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: with %s kv.full has to be stop",
                        accel_model_file_path(session->model->file),
                        session_has_table(session->model) ? "a table of learned positions" : "dynamic rotary scaling");
        accel_error_remedy(error, "add --set kv.full=stop");
        return ACCEL_E_UNSUPPORTED;
    }
    return options->context < 4 * options->sinks + 4 ? refuse_short(session, error) : ACCEL_OK;
}

/* Declines recommended settings of a full sequence that are unavailable here. */
static int32_t decline_full(struct accel_session *session, const struct accel_error *why, struct accel_error *error)
{
    int32_t code = accel_plan_decline(session->plan, "kv.full", "stop", why->text, error);

    if (code == ACCEL_OK && accel_plan_is_recommended(session->plan, "kv.prune"))
        code = accel_plan_decline(session->plan, "kv.prune", "off", why->text, error);
    session->full = FULL_STOP;
    session->by_usage = 0;
    return code;
}

/* Resolves which tokens leave a full sequence, and the attention window. */
static int32_t resolve_full(struct accel_session *session, struct accel_error *error)
{
    const struct accel_plan *plan = session->plan;
    struct accel_error why = {0};
    int32_t code;

    session->full = FULL_STOP;
    if (accel_plan_setting_find(plan, "kv.full")->word == ACCEL_WORD_SLIDE)
        session->full = FULL_SLIDE;
    if (accel_plan_setting_find(plan, "kv.full")->word == ACCEL_WORD_PRUNE)
        session->full = FULL_PRUNE;
    session->by_usage =
        session->full == FULL_PRUNE && accel_plan_setting_find(plan, "kv.prune")->word == ACCEL_WORD_USAGE;
    session->options.window = (uint64_t)number_of(plan, "kv.window");
    session->options.sinks = (uint64_t)number_of(plan, "kv.sinks");
    code = check_full(session, &why);
    if (code == ACCEL_OK)
        return ACCEL_OK;
    if (accel_plan_is_recommended(plan, "kv.full"))
        return decline_full(session, &why, error);
    accel_error_origin(error, why.origin, accel_error_set(error, code, "%s", why.text));
    accel_error_remedy(error, "%s", why.remedy);
    return code;
}

/* Returns the KV capacity of a sequence in pages of `page`, so that each token of a step sees its window. With
 * kv.full=slide this is the whole context: tokens behind the window count again once those before them have left. */
static uint64_t find_kv_capacity(const struct accel_session *session, uint64_t page)
{
    const struct step_options *options = &session->options;

    if (options->window == 0 || session->full == FULL_SLIDE)
        return options->context;
    return smaller(options->context, kv_capacity(page, options->window, options->sinks, options->batch));
}

/* Returns whether the user set the value of a setting: it is neither recommended nor built in. */
static bool is_users(const struct accel_plan *plan, const char *key)
{
    uint32_t origin = accel_plan_setting_find(plan, key)->origin;

    return (origin == ACCEL_ORIGIN_GIVEN || origin == ACCEL_ORIGIN_PROFILE) && !accel_plan_is_recommended(plan, key);
}

/* Resolves the page size and the KV capacity, as a shape plan does. One sequence that never drops tokens has a single
 * page, which needs no lookup, unless the user set a page size. Pruned tokens leave one by one. A short context needs
 * several pages, because whole pages leave. */
static void resolve_pages(struct accel_session *session, uint64_t wished)
{
    struct step_options *options = &session->options;

    options->page = smaller(wished, options->context);
    if (session->full == FULL_PRUNE)
        options->page = 1;
    if (session->full == FULL_SLIDE)
        options->page = smaller(wished, options->context / 4);
    options->kv_capacity = find_kv_capacity(session, options->page);
    if (session->full == FULL_STOP && options->sequences == 1 && options->kv_capacity == options->context &&
        !is_users(session->plan, "attention.page"))
        options->page = options->context;
    options->slots = kv_slots((uint32_t)options->sequences, options->page, options->kv_capacity);
}

static int32_t resolve_sequences(struct accel_session *session, struct accel_error *error)
{
    struct step_options *options = &session->options;
    int64_t sequences = number_of(session->plan, "sequences");
    int32_t code = ACCEL_OK;

    if (sequences > 1 && rope_changes(&session->model->config.rope) &&
        accel_plan_is_recommended(session->plan, "sequences")) {
        sequences = 1;
        code = accel_plan_decline(session->plan, "sequences", "1", "dynamic rotary scaling has one base for a step",
                                  error);
    } else if (sequences > 1 && rope_changes(&session->model->config.rope))
        return accel_error_set(error, ACCEL_E_UNSUPPORTED,
                               "%s: dynamic rotary scaling has one base for a step: sequences has to be 1",
                               accel_model_file_path(session->model->file));
    options->sequences = (uint64_t)sequences;
    return code;
}

/* Sets up the conversion of weights, with as many threads as steps have. */
static int32_t setup_conversion(struct accel_session *session, struct accel_error *error)
{
    const struct accel_plan *plan = session->plan;
    int32_t code = session_types_create(session, error);

    session->options.types = &session->types;
    session->source.types = &session->types;
    session->source.conversion = &session->conversion;
    accel_plan_processor(session->plan, 0, &session->source.threads);
    session->source.report = accel_plan_setting_find(plan, "log.quantization")->word == ACCEL_WORD_TRUE ||
                                     accel_plan_setting_find(plan, "metrics.quantization")->word == ACCEL_WORD_TRUE
                                 ? session->plan
                                 : NULL;
    return code;
}

/* Lets attention output its scores if kv.prune=usage or output.attention reads them. Layers on several devices do not
 * pass them on. */
static int32_t resolve_scores(struct accel_session *session, struct accel_error *error)
{
    const struct accel_plan_setting *output = accel_plan_setting_find(session->plan, "output.attention");
    const bool is_wanted = output->word == ACCEL_WORD_TRUE;

    session->options.scores = session->by_usage || is_wanted;
    if (!is_wanted || !session_is_spread(session))
        return ACCEL_OK;
    session->options.scores = session->by_usage;
    if (accel_plan_is_recommended(session->plan, "output.attention"))
        return accel_plan_decline(session->plan, "output.attention", "false", "the layers lie on several devices",
                                  error);
    accel_error_set(error, ACCEL_E_UNSUPPORTED, "%.160s: output.attention=true: the layers lie on several devices",
                    output->place);
    accel_error_remedy(error, "run the model on one device: --set placement=single --set gpu.layers=auto");
    return accel_error_origin(error, origin_of(output), ACCEL_E_UNSUPPORTED);
}

int32_t session_settings(struct accel_session *session, uint64_t outputs, uint32_t flags, struct accel_error *error)
{
    struct step_options *options = &session->options;
    int64_t batch = number_of(session->plan, "batch");
    int32_t code =
        resolve_cache_type(session->plan, "kv.type.k", session->model->config.head_size, &options->k_type, error);

    if (code == ACCEL_OK)
        code =
            resolve_cache_type(session->plan, "kv.type.v", session->model->config.value_size, &options->v_type, error);
    if (code != ACCEL_OK)
        return code;
    code = resolve_context(session, number_of(session->plan, "context"), error);
    if (code != ACCEL_OK)
        return code;
    code = resolve_full(session, error);
    if (code == ACCEL_OK)
        code = resolve_scores(session, error);
    if (code == ACCEL_OK)
        code = resolve_sequences(session, error);
    if (code == ACCEL_OK)
        code = session_measure_check(session, error);
    if (code != ACCEL_OK)
        return code;
    options->batch = batch <= 0 ? 1 : (uint64_t)batch;
    options->batch = smaller(larger(options->batch, options->sequences), options->context * options->sequences);
    options->span = options->batch;
    /* The tokens of a sequence in a step have to fit beside its sinks. */
    if (session->full != FULL_STOP) {
        options->span = smaller(options->batch, options->context / 2);
        options->batch = smaller(options->batch, larger(options->span, options->sequences));
    }
    resolve_pages(session, (uint64_t)number_of(session->plan, "attention.page"));
    options->outputs = smaller(larger(outputs, options->sequences), options->batch);
    options->stages = (flags & ACCEL_SESSION_STAGES) != 0;
    options->inputs = (flags & ACCEL_SESSION_INPUTS) != 0;
    options->rounding =
        accel_plan_setting_find(session->plan, "compute.activations")->word == ACCEL_WORD_Q8 ? ACCEL_Q8_0 : ACCEL_F32;
    file_source_init(&session->source, session->model->file);
    code = session_resolve_load(session, error);
    return code == ACCEL_OK ? setup_conversion(session, error) : code;
}

static int32_t create_state_parts(struct accel_session *session, struct accel_error *error)
{
    const struct accel_decoder_config *c = &session->model->config;

    session->parts = calloc(c->layers, 2 * sizeof(*session->parts));
    if (session->parts == NULL)
        return accel_error_no_memory(error, "for the parts of %u layers", c->layers);
    session->part_count = 2 * c->layers;
    for (uint32_t layer = 0; layer < c->layers; layer++) {
        session->parts[2 * layer] =
            (struct accel_state_part){.type = session->options.k_type, .row = (uint64_t)c->kv_heads * c->head_size};
        session->parts[2 * layer + 1] =
            (struct accel_state_part){.type = session->options.v_type, .row = (uint64_t)c->kv_heads * c->value_size};
    }
    return ACCEL_OK;
}

enum { SPEED_TEXT = 300 };

/* Returns why the decode speed is unknown: experts are read from the disk. NULL: they are not. */
static const char *describe_speed(const struct accel_session *session, char text[SPEED_TEXT])
{
    const uint64_t limit = session_expert_limit(session);
    struct session_experts experts;

    if (limit == 0)
        return NULL;
    session_measure_experts(session, &experts);
    if (limit >= experts.bytes)
        return NULL;
    snprintf(text, SPEED_TEXT,
             "a token reads %.1f MiB of experts from the disk if all are equally likely, fewer if the router "
             "prefers some; a run of the model measures the speed",
             (double)session_expert_reads(&experts, limit) / (1 << 20));
    return text;
}

int32_t session_place(struct accel_session *session, struct accel_error *error)
{
    const struct accel_graph *graphs[] = {session->step.graph};
    const struct step_options *options = &session->options;
    uint64_t symbols[SYMBOLS] = {options->batch, options->outputs, options->sequences};
    const uint64_t *highest[] = {symbols};
    struct accel_plan_work work = {
        .size = sizeof(work),
        .graph_count = 1,
        .graphs = graphs,
        .symbols = highest,
        .parts = session->parts,
        .part_count = session->part_count,
        .sets = session->options.batch == 1 ? 1 : 2,
        .slots = session->options.slots,
        .host_formula = "tables and tokenizer are not counted",
        .converted = session->made,
        .converted_count = session->made_count,
    };
    char speed[SPEED_TEXT];
    int32_t code = session_check_experts(session, error);

    if (code != ACCEL_OK)
        return code;
    work.why_no_speed = describe_speed(session, speed);
    if (!session->is_stage && session_is_spread(session)) {
        session->streamed = session->model->facts.weight_bytes; /* each stage decides for itself */
        code = session_finalize_load(session, error);
        return code == ACCEL_OK ? session_pipeline_place(session, error) : code;
    }
    code = accel_plan_ask(session->plan, &work, &work.answers, error);
    if (code == ACCEL_OK)
        code = session_note_in_place(session, work.answers, error);
    if (code == ACCEL_OK)
        code = session_finalize_load(session, error);
    if (code != ACCEL_OK)
        return code;
    work.file_bytes = session_mapped_bytes(session);
    work.in_place_bytes = session_in_place_bytes(session);
    return accel_plan_assign_graphs(session->plan, &work, error);
}

int32_t session_retype(struct accel_session *session, const struct weight_type *rows, uint32_t count,
                       struct accel_error *error)
{
    const struct accel_model *model = session->model;
    int32_t code = session_types_replace(session, rows, count, error);

    if (code != ACCEL_OK)
        return code;
    step_graph_free(&session->step);
    code = decoder_step(model->file, &model->config, &session->options, &session->step, error);
    return code == ACCEL_OK ? session_place(session, error) : code;
}

static int32_t import_options(const struct accel_session_options *given, struct accel_session_options *out_options,
                              struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    *out_options = (struct accel_session_options){.size = sizeof(*out_options)};
    if (given != NULL)
        code = open_struct_import(given, ACCEL_END_OF(struct accel_session_options, outputs), sizeof(*out_options),
                                  "accel_session_options", out_options, error);
    if (code == ACCEL_OK &&
        (out_options->flags & ~(ACCEL_SESSION_STAGES | ACCEL_SESSION_INPUTS | ACCEL_SESSION_UNTRACED)) != 0)
        code = accel_error_set(error, ACCEL_E_UNSUPPORTED, "accel_session_options.flags 0x%x has unknown bits",
                               out_options->flags);
    return code;
}

int32_t session_from_plan(struct accel_context *context, const struct accel_model *model, struct accel_plan *plan,
                          uint32_t flags, uint32_t outputs, struct accel_session **out_session,
                          struct accel_error *error)
{
    struct accel_session *session = calloc(1, sizeof(*session));
    int32_t code;

    *out_session = NULL;
    if (session == NULL)
        return accel_error_no_memory(error, "for a session");
    session->context = context;
    session->model = model;
    session->plan = plan;
    session->is_untraced = (flags & ACCEL_SESSION_UNTRACED) != 0;
    code = session_settings(session, outputs, flags, error);
    if (code == ACCEL_OK)
        code = create_state_parts(session, error);
    if (code == ACCEL_OK)
        code = decoder_step(model->file, &model->config, &session->options, &session->step, error);
    if (code == ACCEL_OK)
        code = session_place(session, error);
    if (code == ACCEL_OK) {
        *out_session = session;
    } else {
        session->plan = NULL;
        accel_session_free(session);
    }
    return code;
}

int32_t accel_session_create(struct accel_context *context, const struct accel_model *model,
                             const struct accel_session_options *options, struct accel_session **out_session,
                             struct accel_error *error)
{
    struct accel_plan_request request = {.size = sizeof(request)};
    struct accel_session_options chosen;
    struct accel_plan *plan = NULL;
    struct facts facts;
    int32_t code;

    *out_session = NULL;
    code = import_options(options, &chosen, error);
    if (code != ACCEL_OK)
        return code;
    collect_facts(model, &facts);
    request.model = facts.rows;
    request.model_count = facts.count;
    request.device = chosen.device;
    request.overrides = chosen.overrides;
    request.override_count = chosen.override_count;
    code = accel_plan_create(context, &request, &plan, error);
    if (code != ACCEL_OK)
        return code;
    code = session_from_plan(context, model, plan, chosen.flags, chosen.outputs, out_session, error);
    if (code != ACCEL_OK) {
        accel_plan_free(plan);
        return code;
    }
    /* Some settings can be checked only once memory is known. */
    code = accel_plan_runnable(plan, error);
    if (code != ACCEL_OK) {
        accel_session_free(*out_session);
        *out_session = NULL;
    }
    return code;
}
