/* SPDX-License-Identifier: Apache-2.0 */
/* Plans a run after its shape plan: checks settings against the model, builds the graph and places it. */
#include "model/plan/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/format.h>

#include "model/describe/mix.h"
#include "model/describe/open.h"
#include "model/family/rope.h"
#include "model/file/fault.h"
#include "model/plan/load.h"
#include "model/plan/stages.h"
#include "model/session/context.h"
#include "model/session/experts.h"
#include "model/session/measure.h"
#include "model/session/pages.h"
#include "model/session/source.h"
#include "model/session/types.h"

/* Returns the type in which keys or values are cached; the shape plan has declined or refused what does not divide a
 * head. */
static uint32_t cache_type(const struct settings *settings, const struct accel_plan_setting *setting, uint32_t head)
{
    char name[32];

    if (setting->word != ACCEL_WORD_Q8 && setting->word != ACCEL_WORD_Q4)
        return setting->word == ACCEL_WORD_F32 ? ACCEL_F32 : ACCEL_F16;
    snprintf(name, sizeof(name), "%.2s_g%.3s", setting->value,
             settings->kv_group->word == ACCEL_WORD_AUTO ? "64" : settings->kv_group->value);
    return accel_format_narrow(accel_format_find(name), head);
}

#define ONE_BASE "dynamic rotary scaling has one base for a step"

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static int32_t refuse_context(const struct accel_plan_setting *setting, const char *name, uint64_t longest,
                              struct accel_error *error)
{
    /* Suggests the same option: eval accepts -c or the setting, not both. */
    const uint32_t by_option =
        strncmp(setting->place, "command line -", 14) == 0 && strncmp(setting->place, "command line --set", 18) != 0;

    accel_error_set(error, ACCEL_E_INVALID, "%.160s: context=%s: %s was trained for %" PRIu64 " tokens", setting->place,
                    setting->value, name, longest);
    accel_error_remedy(error,
                       "%s%" PRIu64 ", or --set context.beyond_training=true to continue past them, with "
                       "worse text",
                       by_option ? "-c " : "--set context=", longest);
    return accel_error_origin(error, setting_origin(setting), ACCEL_E_INVALID);
}

int32_t plan_check_context(const struct settings *settings, const char *name, uint64_t longest,
                           struct accel_error *error)
{
    if (longest == 0 || settings->context->origin != ACCEL_ORIGIN_GIVEN ||
        setting_is_on(settings->context_beyond_training) || (uint64_t)settings->context->number <= longest)
        return ACCEL_OK;
    return refuse_context(settings->context, name, longest, error);
}

/* Refuses a context past the training of the model, which only the caller can have set, unless it is allowed. */
static int32_t check_context(const struct run_planner *p)
{
    const struct accel_model *model = p->session->model;
    const struct accel_plan_setting *setting = p->session->settings.context;
    const uint64_t longest = session_longest_context(model);
    const char *path = accel_model_file_path(model->file);

    if ((uint64_t)setting->number <= longest)
        return ACCEL_OK;
    if (!setting_is_on(p->session->settings.context_beyond_training))
        return refuse_context(setting, path, longest, p->error);
    if (!session_has_table(model))
        return ACCEL_OK;
    accel_error_set(p->error, ACCEL_E_INVALID, "%.160s: context=%s: the table of positions of %s has %" PRIu64 " rows",
                    setting->place, setting->value, path, longest);
    accel_error_remedy(p->error, "--set context=%" PRIu64, longest);
    return accel_error_origin(p->error, setting_origin(setting), ACCEL_E_INVALID);
}

/* Refuses a context that the sinks would nearly fill. */
static int32_t refuse_short(const struct accel_session *session, struct accel_error *error)
{
    const struct accel_plan_setting *full = session->settings.kv_full;
    const uint64_t sinks = session->options.sinks, least = 4 * sinks + 4;

    accel_error_set(error, ACCEL_E_INVALID,
                    "%s: kv.full=%s: %" PRIu64 " sinks never leave, so a context of less than %" PRIu64
                    " tokens leaves too few for the text; it has %" PRIu64 " (%s)",
                    full->place, full->value, sinks, least, session->options.context, session->settings.context->place);
    accel_error_remedy(error, "set context=%" PRIu64 "tok or more, or fewer kv.sinks", least);
    return accel_error_origin(error, setting_origin(full), ACCEL_E_INVALID);
}

/* Refuses kv.full=prune without kv.prune, or kv.prune without kv.full=prune. */
static int32_t refuse_unpaired(const struct settings *settings, struct accel_error *error)
{
    const bool has_prune = settings->kv_full->word != ACCEL_WORD_PRUNE;
    const struct accel_plan_setting *setting = has_prune ? settings->kv_prune : settings->kv_full;
    const struct accel_plan_setting *other = has_prune ? settings->kv_full : settings->kv_prune;

    accel_error_set(error, ACCEL_E_INVALID, "%.160s: %s=%s needs %s, and %s is %s", setting->place, setting->key,
                    setting->value, has_prune ? "kv.full=prune" : "kv.prune", other->key, other->value);
    accel_error_remedy(error, "%s",
                       has_prune ? "add --set kv.full=prune" : "add --set kv.prune=recency, or --set kv.prune=usage");
    return accel_error_origin(error, setting_origin(setting), ACCEL_E_INVALID);
}

/* Checks the settings of a full sequence against each other and the model. */
static int32_t check_full(const struct settings *settings, const struct accel_model *model, struct accel_error *error)
{
    if ((settings->kv_prune->word == ACCEL_WORD_OFF) != (settings->kv_full->word != ACCEL_WORD_PRUNE))
        return refuse_unpaired(settings, error);
    if (settings->kv_full->word == ACCEL_WORD_STOP || session_can_shift(model))
        return ACCEL_OK;
    accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: with %s kv.full has to be stop",
                    accel_model_file_path(model->file),
                    session_has_table(model) ? "a table of learned positions" : "dynamic rotary scaling");
    return accel_error_advise(error, ACCEL_E_UNSUPPORTED, "add --set kv.full=stop");
}

/* Declines recommended settings of a full sequence that are unavailable here. */
static int32_t decline_full(struct accel_plan *plan, const struct accel_error *why, struct accel_error *error)
{
    int32_t code = accel_plan_decline(plan, "kv.full", "stop", why->text, error);

    if (code == ACCEL_OK && accel_plan_is_recommended(plan, "kv.prune"))
        code = accel_plan_decline(plan, "kv.prune", "off", why->text, error);
    return code;
}

int32_t plan_decline_for_model(struct accel_plan *plan, const struct accel_model *model, struct accel_error *error)
{
    struct settings settings;
    struct accel_error why = {0};
    int32_t code = settings_read(plan, &settings, error);

    if (code == ACCEL_OK && settings.sequences->number > 1 && rope_changes(&model->config.rope) &&
        accel_plan_is_recommended(plan, "sequences"))
        code = accel_plan_decline(plan, "sequences", "1", ONE_BASE, error);
    if (code == ACCEL_OK && check_full(&settings, model, &why) != ACCEL_OK &&
        accel_plan_is_recommended(plan, "kv.full"))
        code = decline_full(plan, &why, error);
    return code;
}

/* Resolves which tokens leave a full sequence, and the attention window. */
static int32_t resolve_full(const struct run_planner *p)
{
    struct accel_session *session = p->session;
    struct step_options *options = &session->options;
    const struct settings *settings = &session->settings;
    struct accel_error why = {0};
    int32_t code = check_full(settings, session->model, p->error);

    options->window = (uint64_t)settings->kv_window->number;
    options->sinks = (uint64_t)settings->kv_sinks->number;
    if (code == ACCEL_OK && settings->kv_full->word != ACCEL_WORD_STOP && !session_can_slide(session)) {
        const bool is_recommended = accel_plan_is_recommended(p->plan, "kv.full") != 0;

        code = refuse_short(session, is_recommended ? &why : p->error);
        if (is_recommended)
            code = decline_full(p->plan, &why, p->error);
    }
    session->full = settings->kv_full->word == ACCEL_WORD_SLIDE   ? FULL_SLIDE
                    : settings->kv_full->word == ACCEL_WORD_PRUNE ? FULL_PRUNE
                                                                  : FULL_STOP;
    session->by_usage = session->full == FULL_PRUNE && settings->kv_prune->word == ACCEL_WORD_USAGE;
    return code;
}

/* Returns the KV capacity of a sequence in whole pages, so that each token of a step sees its window. With
 * kv.full=slide this is the whole context: tokens behind the window count again once those before them have left. */
static uint64_t find_kv_capacity(const struct accel_session *session)
{
    const struct step_options *options = &session->options;

    if (options->window == 0 || session->full == FULL_SLIDE)
        return options->context;
    return smaller(options->context, kv_capacity(options->page, options->window, options->sinks, options->batch));
}

/* Dynamic rotary scaling reads one base for all tokens of a step. */
static int32_t check_sequences(const struct run_planner *p)
{
    const struct accel_model *model = p->session->model;

    if (p->session->options.sequences == 1 || !rope_changes(&model->config.rope))
        return ACCEL_OK;
    return accel_error_set(p->error, ACCEL_E_UNSUPPORTED, "%s: " ONE_BASE ": sequences has to be 1",
                           accel_model_file_path(model->file));
}

/* Sets up the conversion of weights, with as many threads as steps have. */
static int32_t setup_conversion(const struct run_planner *p, const struct run_types *types)
{
    struct accel_session *session = p->session;
    struct file_source *source = &p->stage->source;
    const struct settings *settings = p->settings;
    const bool is_reported = setting_is_on(settings->log_quantization) || setting_is_on(settings->metrics_quantization);

    session->options.types = &session->types;
    source->types = &session->types;
    source->conversion = &session->conversion;
    source->report = is_reported ? &session->notes : NULL;
    accel_plan_processor(p->plan, 0, &source->threads);
    return types == NULL ? session_types_create(session, p->error)
                         : session_types_replace(session, types->rows, types->count, p->error);
}

/* Declines or refuses a setting that reads scores of attention, which layers on several devices do not pass on. */
static int32_t refuse_scores(const struct run_planner *p, const struct accel_plan_setting *setting, const char *without)
{
    if (accel_plan_is_recommended(p->plan, setting->key))
        return accel_plan_decline(p->plan, setting->key, without, "the layers lie on several devices", p->error);
    accel_error_set(p->error, ACCEL_E_UNSUPPORTED, "%.160s: %s=%s: the layers lie on several devices", setting->place,
                    setting->key, setting->value);
    accel_error_remedy(p->error, "run the model on one device: --set placement=single --set gpu.layers=auto");
    return accel_error_origin(p->error, setting_origin(setting), ACCEL_E_UNSUPPORTED);
}

/* Lets attention output its scores if kv.prune=usage or output.attention reads them. */
static int32_t resolve_scores(const struct run_planner *p)
{
    struct accel_session *session = p->session;
    const bool is_spread = plan_is_spread(p->plan), is_wanted = setting_is_on(session->settings.output_attention);
    int32_t code = ACCEL_OK;

    if (is_spread && session->by_usage)
        code = refuse_scores(p, session->settings.kv_prune, "recency");
    if (code == ACCEL_OK && is_spread && is_wanted)
        code = refuse_scores(p, session->settings.output_attention, "false");
    session->by_usage = session->by_usage && !is_spread;
    session->options.scores = session->by_usage || (is_wanted && !is_spread);
    return code;
}

/* Translates the plan's settings to step options. */
static int32_t resolve_settings(const struct run_planner *p, uint64_t outputs, uint32_t flags)
{
    struct accel_session *session = p->session;
    const struct accel_decoder_config *config = &session->model->config;
    const struct settings *settings = &session->settings;
    struct step_options *options = &session->options;
    int32_t code = check_context(p);

    options->context = (uint64_t)settings->context->number;
    options->sequences = (uint64_t)settings->sequences->number;
    if (code == ACCEL_OK)
        code = resolve_full(p);
    if (code == ACCEL_OK)
        code = resolve_scores(p);
    if (code == ACCEL_OK)
        code = check_sequences(p);
    if (code == ACCEL_OK)
        code = session_measure_check(session, p->error);
    if (code != ACCEL_OK)
        return code;
    options->k_type = cache_type(settings, settings->kv_type_k, config->head_size);
    options->v_type = cache_type(settings, settings->kv_type_v, config->value_size);
    options->batch =
        smaller(larger((uint64_t)settings->batch->number, options->sequences), options->context * options->sequences);
    options->span = options->batch;
    /* The tokens of a sequence in a step have to fit beside its sinks. */
    if (session->full != FULL_STOP) {
        options->span = smaller(options->batch, options->context / 2);
        options->batch = smaller(options->batch, larger(options->span, options->sequences));
    }
    options->page = (uint64_t)settings->attention_page->number;
    options->kv_capacity = find_kv_capacity(session);
    options->slots = kv_slots((uint32_t)options->sequences, options->page, options->kv_capacity);
    options->outputs = smaller(larger(outputs, options->sequences), options->batch);
    options->stages = (flags & ACCEL_SESSION_STAGES) != 0;
    options->inputs = (flags & ACCEL_SESSION_INPUTS) != 0;
    options->rounding = settings->compute_activations->word == ACCEL_WORD_Q8_ROW ? ACCEL_Q8_ROW
                        : settings->compute_activations->word == ACCEL_WORD_Q8   ? ACCEL_Q8_0
                                                                                 : ACCEL_F32;
    file_source_init(&p->stage->source, session->model->file);
    return run_planner_resolve_load(p);
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

/* Notes a request to round rows of activations that no kernel of the device follows for these weights. A matmul of
 * which the driver states no precision may follow it. */
static int32_t note_activations(const struct run_planner *p)
{
    char text[200];
    const struct accel_plan_note note = {
        .size = sizeof(note),
        .level = ACCEL_NOTE_WARN,
        .key = "compute.activations",
        .text = text,
        .remedy =
            "leave it at q8, or quantize the weights to 8 bits in groups of 64 and more (accelctl quantize --type "
            "q8_row), for which the drivers cpu, opencl and vulkan have such kernels, the latter two on GPUs that "
            "multiply bytes fast"};

    if (p->session->options.rounding != ACCEL_Q8_ROW)
        return ACCEL_OK;
    for (uint32_t i = 0; i < accel_plan_node_count(p->plan); i++) {
        const uint32_t op = p->stage->step.graph->nodes[i]->op;
        const uint32_t precision = accel_plan_node_get(p->plan, i)->precision;

        if (precision == ACCEL_Q8_ROW || (precision == 0 && (op == ACCEL_OP_MATMUL || op == ACCEL_OP_EXPERT_MATMUL)))
            return ACCEL_OK;
    }
    snprintf(text, sizeof(text),
             "q8_row changes nothing: no kernel of %s rounds activations with one scale for a token for these weights",
             accel_plan_device(p->plan)->name);
    return accel_plan_note(p->plan, &note, p->error);
}

/* Notes a request for packed weights where the device packs none of this run. */
static int32_t note_layout(const struct run_planner *p)
{
    const struct accel_plan_setting *layout = accel_plan_setting_find(p->plan, "cpu.layout");
    const struct accel_graph *graph = p->stage->step.graph;
    const struct accel_plan_note note = {
        .size = sizeof(note),
        .level = ACCEL_NOTE_WARN,
        .key = "cpu.layout",
        .text = "panels changes nothing: all weights are read in rows, since their types have no panels, or no kernel "
                "that reads panels follows compute.activations",
        .remedy = "leave cpu.layout at auto, and compute.activations at q8; doc/run.md lists the types with panels"};

    if (layout == NULL || layout->word != ACCEL_WORD_PANELS || p->session->made_count != 0)
        return ACCEL_OK;
    for (uint32_t v = 0; v < graph->value_count; v++)
        if (graph->values[v]->role == ACCEL_ROLE_WEIGHT && p->stage->in_place[v] == 0)
            return ACCEL_OK;
    return accel_plan_note(p->plan, &note, p->error);
}

int32_t run_planner_place(const struct run_planner *p)
{
    const struct accel_session *session = p->session;
    struct pipeline_stage *stage = p->stage;
    struct accel_error *error = p->error;
    const struct accel_graph *graphs[] = {stage->step.graph};
    const struct step_options *options = &session->options;
    uint64_t symbols[SYMBOLS] = {options->batch, options->outputs, options->sequences};
    const uint64_t *highest[] = {symbols};
    struct accel_plan_work work = {
        .size = sizeof(work),
        .graph_count = 1,
        .graphs = graphs,
        .symbols = highest,
        .parts = stage->parts,
        .part_count = stage->part_count,
        .sets = options->batch == 1 ? 1 : 2,
        .slots = options->slots,
        .host_formula = "tables and tokenizer are not counted",
        .converted = session->made,
        .converted_count = session->made_count,
    };
    uint64_t streamed = session->model->facts.weight_bytes;
    int32_t code = stage_check_experts(stage, error);

    if (code != ACCEL_OK)
        return code;
    if (plan_is_spread(p->plan)) {
        code = run_planner_finalize_load(p, streamed); /* each stage decides for itself */
        return code == ACCEL_OK ? run_planner_place_stages(p) : code;
    }
    code = accel_plan_ask(p->plan, &work, &work.answers, error);
    if (code == ACCEL_OK)
        code = stage_note_in_place(stage, work.answers, &streamed, error);
    if (code == ACCEL_OK)
        code = run_planner_finalize_load(p, streamed);
    if (code != ACCEL_OK)
        return code;
    work.file_bytes = stage_mapped_bytes(stage);
    work.in_place_bytes = stage_in_place_bytes(stage);
    code = accel_plan_assign_graphs(p->plan, &work, error);
    if (code == ACCEL_OK)
        code = note_activations(p);
    if (code == ACCEL_OK)
        code = note_layout(p);
    if (code == ACCEL_OK)
        code = stage_check_expert_limit(stage, error);
    return code == ACCEL_OK ? accel_plan_open_device(p->plan, &stage->device, error) : code;
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
                          uint32_t flags, uint32_t outputs, const struct run_types *types,
                          struct accel_session **out_session, struct accel_error *error)
{
    struct accel_session *session = calloc(1, sizeof(*session));
    struct pipeline_stage *stage = calloc(1, sizeof(*stage));
    const struct run_planner planner = {
        .plan = plan, .settings = &session->settings, .session = session, .stage = stage, .error = error};
    int32_t code;

    *out_session = NULL;
    if (session == NULL || stage == NULL) {
        free(session);
        free(stage);
        return accel_error_no_memory(error, "for a session");
    }
    *stage = (struct pipeline_stage){.session = session, .plan = plan};
    session->pipeline = stage;
    session->pipeline_count = 1;
    session->context = context;
    session->model = model;
    session->plan = plan;
    session->notes.context = context;
    session->is_untraced = (flags & ACCEL_SESSION_UNTRACED) != 0;
    code = settings_read(plan, &session->settings, error);
    if (code == ACCEL_OK)
        code = resolve_settings(&planner, outputs, flags);
    if (code == ACCEL_OK)
        code = setup_conversion(&planner, types);
    if (code == ACCEL_OK)
        code = create_state_parts(session, error);
    if (code == ACCEL_OK)
        code = decoder_step(model->file, &model->config, &session->options, &session->step, error);
    if (code == ACCEL_OK) {
        stage->step = session->step;
        stage->step.builder = NULL; /* the session owns the graph */
        stage->parts = session->parts;
        stage->part_count = session->part_count;
        code = run_planner_place(&planner);
    }
    if (code == ACCEL_OK)
        *out_session = session;
    else
        accel_session_free(session);
    return code;
}

uint64_t plan_described(const struct accel_model_description *description, const char *key)
{
    const char *value = accel_model_description_fact(description, key);

    return value == NULL ? 0 : strtoull(value, NULL, 10);
}

/* Replaces the components of a model by name that has latent attention by those of its GGUF file, which caches the
 * compressed keys and values. */
static int32_t compress_latent(const struct accel_model_description *description, struct accel_sketch *shapes,
                               struct accel_sketch_component **out_components, struct accel_error *error)
{
    const uint64_t rank = plan_described(description, "model.kv_rank");
    const size_t bytes = shapes->component_count * sizeof(**out_components);

    if (rank == 0 || accel_model_description_is_file(description))
        return ACCEL_OK;
    *out_components = malloc(bytes);
    if (*out_components == NULL)
        return accel_error_no_memory(error, "for the plan of a model");
    memcpy(*out_components, shapes->components, bytes);
    shapes->components = *out_components;
    for (uint32_t i = 0; i < shapes->component_count; i++) {
        struct accel_sketch_component *component = &(*out_components)[i];

        if (component->cached == 0)
            continue;
        component->kv_heads = 1;
        component->head_size = (uint32_t)(rank + plan_described(description, "model.rotary_size"));
        component->value_size = (uint32_t)rank;
    }
    return ACCEL_OK;
}

int32_t plan_shapes(struct accel_plan *plan, const struct accel_model_description *description,
                    const struct accel_sketch *shapes, struct accel_error *error)
{
    const struct accel_plan_setting *type = accel_plan_setting_find(plan, "weights.type");
    struct accel_sketch mixed = *shapes;
    struct accel_sketch_component *components = NULL;
    struct accel_sketch_weight *weights = NULL;
    uint32_t *types = NULL;
    int32_t code = ACCEL_OK;

    if (plan_expert_limit(plan) != 0) {
        weights = malloc(((size_t)shapes->weight_count + 1) * sizeof(*weights));
        if (weights == NULL)
            return accel_error_no_memory(error, "for the types of experts");
        for (uint32_t i = 0; i < shapes->weight_count; i++) {
            weights[i] = shapes->weights[i];
            if (model_mix_is_expert(weights[i].name))
                weights[i].wanted = weights[i].type;
        }
        mixed.weights = weights;
    }
    if (type->word == ACCEL_WORD_OTHER)
        code = model_mix_types(description, type->value, &types, error);
    if (code == ACCEL_OK && type->word == ACCEL_WORD_OTHER)
        code = compress_latent(description, &mixed, &components, error);
    mixed.mix = types;
    if (code == ACCEL_OK)
        code = accel_plan_sketch(plan, &mixed, error);
    free(components);
    free(weights);
    free(types);
    return code;
}

int32_t session_create(struct accel_context *context, const struct accel_model *model,
                       const struct accel_session_options *options, const struct run_types *types,
                       struct accel_session **out_session, struct accel_error *error)
{
    struct accel_plan_request request = {.size = sizeof(request)};
    struct accel_model_description *description = NULL;
    struct accel_session_options chosen;
    struct accel_plan *plan = NULL;
    int32_t code;

    *out_session = NULL;
    code = import_options(options, &chosen, error);
    if (code == ACCEL_OK)
        code = describe_open_file(context, model->file, model->facts.context, &description, error);
    if (code != ACCEL_OK)
        return code;
    request.model = accel_model_description_facts(description, &request.model_count);
    request.device = chosen.device;
    request.overrides = chosen.overrides;
    request.override_count = chosen.override_count;
    code = accel_plan_create(context, &request, &plan, error);
    if (code == ACCEL_OK)
        code = plan_decline_for_model(plan, model, error);
    if (code == ACCEL_OK)
        code = plan_shapes(plan, description, accel_model_description_sketch(description), error);
    accel_model_description_free(description);
    if (code == ACCEL_OK)
        code = session_from_plan(context, model, plan, chosen.flags, chosen.outputs, types, out_session, error);
    /* Some settings can be checked only once memory is known. */
    if (code == ACCEL_OK)
        code = accel_plan_runnable(plan, error);
    if (code == ACCEL_OK) {
        (*out_session)->owns_plan = true;
        return ACCEL_OK;
    }
    accel_session_free(*out_session);
    *out_session = NULL;
    accel_plan_free(plan);
    return code;
}

int32_t accel_session_create(struct accel_context *context, const struct accel_model *model,
                             const struct accel_session_options *options, struct accel_session **out_session,
                             struct accel_error *error)
{
    if (context == NULL || model == NULL || out_session == NULL)
        return model_refuse_null(__func__, error);
    return session_create(context, model, options, NULL, out_session, error);
}
