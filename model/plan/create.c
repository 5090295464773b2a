/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the plan of a model: copies the options, opens the model or its description, plans settings and types from
 * its shapes, and with a model file plans a session with the driver. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/model/tokenizer.h>

#include "model/describe/open.h"
#include "model/file/fault.h"
#include "model/file/not_model.h"
#include "model/file/text.h"
#include "model/plan/identity.h"
#include "model/plan/internal.h"
#include "model/plan/run.h"
#include "model/session/context.h"

/* ---- options ---- */

/* Copies a text, which may be NULL, to *at and advances *at. */
static const char *copy_text(char **at, const char *text)
{
    char *copy = *at;

    if (text == NULL)
        return NULL;
    *at = stpcpy(copy, text) + 1;
    return copy;
}

static size_t bytes_of(const char *text)
{
    return text == NULL ? 0 : strlen(text) + 1;
}

static size_t bytes_of_overrides(const struct accel_named_value *overrides, uint32_t count)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < count; i++)
        bytes += bytes_of(overrides[i].key) + bytes_of(overrides[i].value) + bytes_of(overrides[i].origin);
    return bytes;
}

static void append_overrides(struct accel_model_plan *plan, char **at, const struct accel_named_value *overrides,
                             uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct accel_named_value *copy = &plan->overrides[plan->options.override_count++];

        copy->key = copy_text(at, overrides[i].key);
        copy->value = copy_text(at, overrides[i].value);
        copy->origin = copy_text(at, overrides[i].origin);
    }
}

/* Copies the options and appends the settings `more`, which override those of the options. */
static int32_t copy_options(struct accel_model_plan *plan, const struct accel_model_plan_options *options,
                            const struct accel_named_value *more, uint32_t more_count, struct accel_error *error)
{
    size_t bytes = bytes_of(options->path) + bytes_of(options->platform) + bytes_of(options->device) +
                   bytes_of(options->mode) + bytes_of_overrides(options->overrides, options->override_count) +
                   bytes_of_overrides(more, more_count);
    char *at = plan->texts = malloc(bytes);

    plan->overrides = calloc((size_t)options->override_count + more_count + 1, sizeof(*plan->overrides));
    if (plan->texts == NULL || plan->overrides == NULL)
        return accel_error_no_memory(error, "for the plan of a model");
    plan->options = *options;
    plan->options.path = copy_text(&at, options->path);
    plan->options.platform = copy_text(&at, options->platform);
    plan->options.device = copy_text(&at, options->device);
    plan->options.mode = copy_text(&at, options->mode);
    plan->options.overrides = plan->overrides;
    plan->options.override_count = 0;
    append_overrides(plan, &at, options->overrides, options->override_count);
    append_overrides(plan, &at, more, more_count);
    return ACCEL_OK;
}

bool model_plan_is_mode(const char *mode)
{
    return mode != NULL && (strcmp(mode, "stream") == 0 || strcmp(mode, "components") == 0);
}

static int32_t check_overrides(const struct accel_named_value *rows, uint32_t count, struct accel_error *error)
{
    for (uint32_t i = 0; i < count; i++)
        if (rows == NULL || rows[i].key == NULL || rows[i].value == NULL || rows[i].origin == NULL)
            return accel_error_set(error, ACCEL_E_INVALID, "setting %u of a model's plan has no key, value or origin",
                                   i);
    return ACCEL_OK;
}

static int32_t check_options(const struct accel_context *context, const struct accel_model_plan_options *given,
                             struct accel_model_plan_options *out_options, struct accel_error *error)
{
    int32_t code = open_struct_import(given, ACCEL_END_OF(struct accel_model_plan_options, request_length),
                                      sizeof(*out_options), "accel_model_plan_options", out_options, error);

    if (code != ACCEL_OK)
        return code;
    if (context == NULL || out_options->path == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "a model's plan needs a context and a path");
    if (out_options->mode != NULL && !model_plan_is_mode(out_options->mode))
        return accel_error_set(error, ACCEL_E_INVALID, "mode \"%.60s\" of a model's plan is none of: stream components",
                               out_options->mode);
    return check_overrides(out_options->overrides, out_options->override_count, error);
}

/* ---- the subject ---- */

static void release_subject(struct plan_subject *subject)
{
    if (subject == NULL || atomic_fetch_sub(&subject->owners, 1) != 1)
        return;
    accel_model_close(subject->model);
    accel_model_description_free(subject->description);
    free(subject);
}

/* Sets the reason why a description, which has no weights, does not run. */
static void refuse_description(const char *name, struct plan_subject *subject)
{
    char *config = model_lone_config(name), *folder = config == NULL ? NULL : model_text_folder(config);
    const char *source = accel_model_description_fact(subject->description, "model.source");

    if (folder != NULL)
        model_refuse_folder(folder, &subject->reason);
    free(folder);
    free(config);
    if (subject->reason.code != ACCEL_OK)
        return;
    accel_error_set(&subject->reason, ACCEL_E_NOT_FOUND,
                    "%s: is a description without weights, which can be planned (accelctl plan) but not run%s%s", name,
                    source == NULL ? "" : "; it describes ", source == NULL ? "" : source);
    accel_error_remedy(&subject->reason,
                       "to run it, download its GGUF file or Hugging Face folder, and give the path instead of the "
                       "name");
}

/* Opens the model of the described file, which is NULL if there is none or if it is opened anew for its error. A file
 * of an unsupported family can be planned; a damaged file is an error. */
static int32_t open_model(struct accel_model_file *file, struct plan_subject *subject, struct accel_error *error)
{
    const char *path = accel_model_description_path(subject->description);
    int32_t code;

    if (accel_model_description_runs(subject->description, &subject->reason) != ACCEL_OK) {
        accel_model_file_close(file);
        return ACCEL_OK;
    }
    if (!accel_model_description_is_file(subject->description)) {
        refuse_description(path, subject);
        return ACCEL_OK;
    }
    code = file == NULL ? accel_model_open(path, NULL, &subject->model, &subject->reason)
                        : model_adopt_file(file, &subject->model, &subject->reason);
    if (code == ACCEL_OK)
        plan_identity_hash(subject->model, subject->identity);
    if (code == ACCEL_OK)
        code = describe_trained(subject->description, subject->model->facts.context, &subject->reason);
    if (code == ACCEL_OK || code == ACCEL_E_UNSUPPORTED)
        return ACCEL_OK;
    if (error != NULL && error->code == ACCEL_OK)
        *error = subject->reason;
    return code;
}

static int32_t open_subject(struct accel_context *context, const char *path, struct plan_subject **out_subject,
                            struct accel_error *error)
{
    struct plan_subject *subject = calloc(1, sizeof(*subject));
    struct accel_model_file *file;
    int32_t code;

    *out_subject = NULL;
    if (subject == NULL)
        return accel_error_no_memory(error, "for the plan of a model");
    atomic_init(&subject->owners, 1);
    code = describe_open(context, path, &subject->description, &file, error);
    if (code == ACCEL_OK)
        code = open_model(file, subject, error);
    if (code == ACCEL_OK)
        *out_subject = subject;
    else
        release_subject(subject);
    return code;
}

/* ---- the plan ---- */

enum { LENGTH_TEXT = 24, MORE_FACTS = 5 };

/* Returns whether a run converts quantized weights when it loads them, which rounds them a second time, or whether it
 * keeps some as they are in the file. */
static bool has_quantized(const struct accel_plan *plan, bool is_converted)
{
    struct accel_format format;

    for (uint32_t i = 0; i < accel_plan_weight_count(plan); i++) {
        const struct accel_plan_weight *weight = accel_plan_weight_get(plan, i);

        if ((weight->converted != 0) == is_converted && accel_format_describe(weight->file_type, &format) == ACCEL_OK &&
            format.kind != ACCEL_FORMAT_SCALAR)
            return true;
    }
    return false;
}

/* Writes the options without which accelctl quantize leaves the embedding and the output projection of a folder as they
 * are, for the readers of GPTQ's layout: " with --role embedding=q4_g128". */
static void write_roles(const struct accel_model_plan *plan, char text[80])
{
    text[0] = '\0';
    for (uint32_t i = 0; i < accel_plan_part_count(plan->plan) && describe_is_folder(plan->subject->description); i++) {
        const struct accel_plan_part *part = accel_plan_part_get(plan->plan, i);
        const size_t used = strlen(text);

        if ((strcmp(part->role, "embedding") == 0 || strcmp(part->role, "head") == 0) &&
            strstr(text, part->role) == NULL && ACCEL_IS_PLANAR(accel_format_find(part->type_name)) &&
            strcmp(part->file_type, part->type_name) != 0)
            snprintf(text + used, 80 - used, "%s --role %s=%.20s", used == 0 ? " with" : "", part->role,
                     part->type_name);
    }
}

/* Adds one note for all weights that a run cannot use in the type of the file. */
static int32_t note_conversion(struct accel_model_plan *plan, struct accel_error *error)
{
    const struct accel_plan *made = plan->plan;
    uint32_t converted = 0, count = accel_plan_weight_count(made);
    char text[160], roles[80], remedy[200];
    struct accel_plan_note note = {
        .size = sizeof(note), .level = ACCEL_NOTE_WARN, .key = "weights.type", .text = text, .remedy = ""};

    for (uint32_t i = 0; i < count; i++)
        converted += accel_plan_weight_get(made, i)->converted;
    if (converted == 0 || plan->subject->model == NULL)
        return ACCEL_OK;
    if (accel_model_description_is_transposed(plan->subject->description))
        note.remedy = "convert_hf_to_gguf.py of llama.cpp makes a GGUF file, which accelctl quantize can convert once "
                      "for all runs; this file stores matrices transposed, which it does not quantize";
    else if (has_quantized(made, true) && has_quantized(made, false))
        note.remedy =
            "accelctl quantize makes a file once for all runs, of the original weights (F16, BF16 or F32), or "
            "with --requantize of this file; it also quantizes weights that the plan keeps as they are";
    else if (has_quantized(made, true))
        note.remedy = "accelctl quantize makes a file with the types of the plan, once for all runs, of the original "
                      "weights (F16, BF16 or F32); with --requantize also of this file, which is quantized already";
    else {
        write_roles(plan, roles);
        snprintf(remedy, sizeof(remedy),
                 "accelctl quantize%s makes a file with the types of the plan, once for all runs", roles);
        note.remedy = remedy;
    }
    snprintf(text, sizeof(text),
             "%" PRIu32 " of %" PRIu32 " weights are not in the file as the plan has them: each run converts them when "
             "it loads",
             converted, count);
    return accel_plan_note(plan->plan, &note, error);
}

/* Notes that the cache of latent attention depends on the kind of file, which a description does not have. */
static int32_t note_latent(struct accel_model_plan *plan, struct accel_error *error)
{
    const struct accel_model_description *model = plan->subject->description;
    const uint64_t rank = plan_described(model, "model.kv_rank"), head = plan_described(model, "model.head_size");
    const uint64_t value = plan_described(model, "model.value_size");
    const uint64_t whole = plan_described(model, "model.kv_heads") * (head + (value == 0 ? head : value));
    const uint64_t compressed = 2 * rank + plan_described(model, "model.rotary_size");
    const bool is_gguf = accel_plan_setting_find(plan->plan, "weights.type")->word == ACCEL_WORD_OTHER;
    char text[300];
    struct accel_plan_note note = {
        .size = sizeof(note), .level = ACCEL_NOTE_INFO, .key = "kv", .text = text, .remedy = ""};

    if (rank == 0 || accel_model_description_is_file(plan->subject->description))
        return ACCEL_OK;
    snprintf(text, sizeof(text),
             "latent attention: the KV cache is planned for a %s, with %" PRIu64
             " elements for a token and layer (%s); with a %s it has %" PRIu64,
             is_gguf ? "GGUF file that has blk.0.attn_k_b.weight" : "Hugging Face folder", is_gguf ? compressed : whole,
             is_gguf ? "compressed keys and values" : "keys and values of all heads",
             is_gguf ? "Hugging Face folder" : "GGUF file that has blk.0.attn_k_b.weight",
             is_gguf ? whole : compressed);
    return accel_plan_note(plan->plan, &note, error);
}

/* Plans settings and types from the model's shapes, without a driver. Profiles see the facts of the model and of the
 * request. The plan shares the open device of `from`, which may be NULL. */
static int32_t make_shape_plan(struct accel_model_plan *plan, const struct accel_plan *from, struct accel_error *error)
{
    const struct accel_model_description *description = plan->subject->description;
    struct accel_plan_request request = {.size = sizeof(request),
                                         .override_count = plan->options.override_count,
                                         .device = plan->options.device,
                                         .overrides = plan->options.overrides,
                                         .platform = plan->options.platform};
    const struct accel_named_value *facts = accel_model_description_facts(description, &request.model_count);
    struct accel_named_value *all = calloc((size_t)request.model_count + MORE_FACTS, sizeof(*all));
    struct accel_named_value *settings = calloc((size_t)request.override_count + 1, sizeof(*settings));
    char length[LENGTH_TEXT], window[LENGTH_TEXT], windowed[LENGTH_TEXT], limit[EXPERT_LIMIT_TEXT];
    const struct accel_model_facts *model =
        plan->subject->model == NULL ? NULL : accel_model_facts_of(plan->subject->model);
    int32_t code;

    if (all == NULL || settings == NULL) {
        free(all);
        free(settings);
        return accel_error_no_memory(error, "for the plan of a model");
    }
    if (request.override_count != 0)
        memcpy(settings, request.overrides, request.override_count * sizeof(*settings));
    request.override_count += model_plan_add_expert_limit(plan, settings + request.override_count, limit);
    request.overrides = settings;
    if (request.model_count != 0)
        memcpy(all, facts, request.model_count * sizeof(*all));
    snprintf(length, sizeof(length), "%" PRIu64, plan->options.request_length);
    if (plan->options.request_length != 0)
        all[request.model_count++] = (struct accel_named_value){"request.length", length, "the request"};
    if (plan->options.mode != NULL)
        all[request.model_count++] = (struct accel_named_value){"request.mode", plan->options.mode, "the request"};
    if (plan->subject->identity[0] != '\0')
        all[request.model_count++] =
            (struct accel_named_value){"model.identity", plan->subject->identity, plan->options.path};
    if (model != NULL && model->window != 0) {
        snprintf(window, sizeof(window), "%" PRIu32, model->window);
        snprintf(windowed, sizeof(windowed), "%" PRIu32, model->window_layers);
        all[request.model_count++] = (struct accel_named_value){"model.window", window, plan->options.path};
        all[request.model_count++] = (struct accel_named_value){"model.window_layers", windowed, plan->options.path};
    }
    request.model = all;
    code = accel_plan_create(plan->context, &request, &plan->plan, error);
    if (code == ACCEL_OK)
        code = settings_read(plan->plan, &plan->settings, error);
    if (code == ACCEL_OK)
        code = accel_plan_share_device(plan->plan, from, error);
    if (code == ACCEL_OK)
        code = model_plan_decline_sequences(plan, error);
    if (code == ACCEL_OK && plan->subject->model != NULL)
        code = plan_decline_for_model(plan->plan, plan->subject->model, error);
    if (code == ACCEL_OK)
        code = plan_shapes(plan->plan, description,
                           plan->stepped ? &plan->stepped_shapes : accel_model_description_sketch(description), error);
    if (code == ACCEL_OK)
        code = note_conversion(plan, error);
    if (code == ACCEL_OK)
        code = note_latent(plan, error);
    if (code == ACCEL_OK)
        code = plan_check_context(&plan->settings, plan->options.path, model_plan_longest(plan), error);
    free(settings);
    free(all);
    return code;
}

int32_t model_plan_no_session(const struct accel_model_plan *plan, struct accel_error *error)
{
    if (error != NULL && error->code == ACCEL_OK)
        *error = plan->reason;
    return plan->reason.code;
}

/* Notes the caller's options of the driver, whose effect on memory and speed a plan by formula does not know. */
static int32_t note_driver_options(struct accel_model_plan *plan, struct accel_error *error)
{
    char text[400];
    struct accel_plan_note note = {.size = sizeof(note), .level = ACCEL_NOTE_INFO, .text = text, .remedy = ""};
    int32_t code = ACCEL_OK;

    for (uint32_t i = accel_setting_row_count(); i < accel_plan_setting_count(plan->plan) && code == ACCEL_OK; i++) {
        const struct accel_plan_setting *option = accel_plan_setting_get(plan->plan, i);

        if (option->origin != ACCEL_ORIGIN_GIVEN)
            continue;
        note.key = option->key;
        snprintf(text, sizeof(text),
                 "%.60s=%.120s is not counted: what it changes in memory and speed the driver alone knows, which is "
                 "asked about a file on its machine",
                 option->key, option->value);
        code = accel_plan_note(plan->plan, &note, error);
    }
    return code;
}

/* Checks the options of the driver, which a device that is opened with them may refuse. */
static int32_t check_driver_options(struct accel_model_plan *plan, struct accel_error *error)
{
    struct accel_device *device = NULL;
    int32_t code = ACCEL_OK;

    if (accel_plan_setting_count(plan->plan) > accel_setting_row_count())
        code = accel_plan_open_device(plan->plan, &device, error);
    accel_device_free(device);
    return code == ACCEL_OK ? note_driver_options(plan, error) : code;
}

/* Plans a session with the driver. If the model, the device or a setting is not supported by runs, the shape plan
 * stays, with that as its reason; any other error fails the plan. */
static int32_t make_session(struct accel_model_plan *plan, struct accel_error *error)
{
    const struct accel_model *model = plan->subject->model;
    int32_t code = accel_plan_runnable(plan->plan, &plan->reason);

    if (code == ACCEL_E_UNSUPPORTED || code == ACCEL_E_NOT_FOUND)
        return note_driver_options(plan, error);
    if (code != ACCEL_OK)
        return model_plan_no_session(plan, error);
    if (model == NULL) {
        plan->reason = plan->subject->reason;
        return check_driver_options(plan, error);
    }
    code = session_from_plan(plan->context, model, plan->plan, plan->options.flags, plan->options.outputs, NULL,
                             &plan->session, &plan->reason);
    /* Checks again, since some settings are known not to be honored only after kernels are chosen. */
    if (code == ACCEL_OK)
        code = accel_plan_runnable(plan->plan, &plan->reason);
    if (code != ACCEL_OK) {
        accel_session_free(plan->session);
        plan->session = NULL;
    }
    return code == ACCEL_OK || code == ACCEL_E_UNSUPPORTED ? ACCEL_OK : model_plan_no_session(plan, error);
}

int32_t model_plan_remake(struct accel_model_plan *plan, struct accel_error *error)
{
    struct accel_plan *earlier = plan->plan;
    int32_t code;

    accel_session_free(plan->session);
    plan->session = NULL;
    plan->plan = NULL;
    accel_error_clear(&plan->reason);
    code = make_shape_plan(plan, earlier, error);
    accel_plan_free(earlier);
    return code == ACCEL_OK ? make_session(plan, error) : code;
}

/* Creates a plan, which shares the open device of `from` unless that is NULL. Takes ownership of one reference to the
 * subject, also on failure. */
static int32_t create_plan(struct accel_context *context, struct plan_subject *subject,
                           const struct accel_model_plan_options *options, const struct accel_named_value *more,
                           uint32_t more_count, const struct accel_plan *from, struct accel_model_plan **out_plan,
                           struct accel_error *error)
{
    struct accel_model_plan *plan = calloc(1, sizeof(*plan));
    int32_t code;

    if (plan == NULL) {
        release_subject(subject);
        return accel_error_no_memory(error, "for the plan of a model");
    }
    plan->context = context;
    plan->subject = subject;
    code = copy_options(plan, options, more, more_count, error);
    if (code == ACCEL_OK)
        code = make_shape_plan(plan, from, error);
    if (code == ACCEL_OK) {
        code = make_session(plan, error);
        if (code == ACCEL_OK || code == ACCEL_E_LIMIT)
            code = model_plan_lower_sequences(plan, code, error);
    }
    if (code == ACCEL_OK)
        code = model_plan_adapt(plan, error);
    if (code == ACCEL_OK)
        code = model_plan_limit_experts(plan, error);
    if (code == ACCEL_OK)
        *out_plan = plan;
    else
        accel_model_plan_free(plan);
    return code;
}

int32_t accel_model_plan_create(struct accel_context *context, const struct accel_model_plan_options *options,
                                struct accel_model_plan **out_plan, struct accel_error *error)
{
    struct accel_model_plan_options chosen;
    struct plan_subject *subject;
    int32_t code;

    if (out_plan == NULL)
        return model_refuse_null(__func__, error);
    *out_plan = NULL;
    code = check_options(context, options, &chosen, error);
    if (code == ACCEL_OK)
        code = open_subject(context, chosen.path, &subject, error);
    return code == ACCEL_OK ? create_plan(context, subject, &chosen, NULL, 0, NULL, out_plan, error) : code;
}

int32_t accel_model_plan_vary(const struct accel_model_plan *plan, const struct accel_named_value *more,
                              uint32_t more_count, struct accel_model_plan **out_plan, struct accel_error *error)
{
    int32_t code;

    if (plan == NULL || out_plan == NULL)
        return model_refuse_null(__func__, error);
    *out_plan = NULL;
    code = check_overrides(more, more_count, error);
    if (code != ACCEL_OK)
        return code;
    atomic_fetch_add(&plan->subject->owners, 1);
    return create_plan(plan->context, plan->subject, &plan->options, more, more_count, accel_model_plan_plan(plan),
                       out_plan, error);
}

void accel_model_plan_free(struct accel_model_plan *plan)
{
    if (plan == NULL)
        return;
    accel_session_free(plan->session);
    accel_plan_free(plan->plan);
    release_subject(plan->subject);
    free(plan->stepped);
    free(plan->overrides);
    free(plan->texts);
    free(plan);
}

/* ---- accessors ---- */

const struct accel_plan *accel_model_plan_plan(const struct accel_model_plan *plan)
{
    return plan->plan;
}

int32_t accel_model_plan_note_tokenizer(struct accel_model_plan *plan, struct accel_error *error)
{
    const struct accel_model *model = plan == NULL ? NULL : plan->subject->model;
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_error why = {0};
    char text[sizeof(why.text) + 40];
    struct accel_plan_note note = {
        .size = sizeof(note), .level = ACCEL_NOTE_WARN, .key = "tokenizer", .text = text, .remedy = why.remedy};

    if (plan == NULL)
        return model_refuse_null(__func__, error);
    if (model == NULL)
        return ACCEL_OK;
    accel_tokenizer_create_file(accel_model_file_of(model), &tokenizer, &why);
    accel_tokenizer_free(tokenizer);
    if (why.code == ACCEL_OK)
        return ACCEL_OK;
    if (why.code == ACCEL_E_MEMORY)
        return accel_error_set(error, ACCEL_E_MEMORY, "%s", why.text);
    snprintf(text, sizeof(text), "a run of texts is refused: %s", why.text);
    return accel_plan_note(plan->plan, &note, error);
}

const struct accel_model_description *accel_model_plan_description(const struct accel_model_plan *plan)
{
    return plan->subject->description;
}

const struct accel_model *accel_model_plan_model(const struct accel_model_plan *plan)
{
    return plan->subject->model;
}

int32_t accel_model_plan_session(struct accel_model_plan *plan, struct accel_session **out_session,
                                 struct accel_error *error)
{
    if (plan == NULL || out_session == NULL)
        return model_refuse_null(__func__, error);
    *out_session = plan->session;
    if (plan->session != NULL)
        return ACCEL_OK;
    return model_plan_no_session(plan, error);
}

uint32_t accel_model_plan_exact(const struct accel_model_plan *plan)
{
    return plan->session != NULL;
}

uint64_t model_plan_longest(const struct accel_model_plan *plan)
{
    return plan->subject->model != NULL ? session_longest_context(plan->subject->model)
                                        : plan_described(plan->subject->description, "model.context");
}

struct accel_plan_fit model_plan_verdict(const struct accel_model_plan *plan)
{
    struct accel_plan_fit fit = {.size = sizeof(fit)};

    if (accel_plan_fit(accel_model_plan_plan(plan), &fit, NULL) != ACCEL_OK)
        fit = (struct accel_plan_fit){.size = sizeof(fit), .budget_origin = ""};
    return fit;
}
