/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates memory from the shapes of a model, without a driver: every row states its formula. Components run one
 * after the other, so the largest one determines the scratch; encoders that run at the same time add theirs. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/plan/honored.h"
#include "core/plan/memory.h"
#include "core/plan/settings.h"
#include "core/plan/shape_plan.h"

/* Nodes of a layer, and bytes of lists that the library stores for each weight. */
enum { LAYER_NODES = 16, WEIGHT_BYTES = 512 };

/* ---- settings that sizes depend on ---- */

/* Returns a number that a setting has, or `otherwise` for a word or 0. */
static uint64_t number_of(const struct accel_profile_setting *setting, uint64_t otherwise)
{
    return setting->is_number && setting->number > 0 ? (uint64_t)setting->number : otherwise;
}

/* Reads the context in force: the length that the model supports, unless the caller requested more. */
static void read_context(struct accel_shape_planner *s)
{
    struct accel_plan *plan = s->plan;
    const struct accel_profile_setting *setting = &plan->settings->values->context;
    uint64_t longest = 0;
    const char *origin = "";
    accel_plan_fact_number(plan, "model.context", &longest, &origin);
    s->context = number_of(setting, longest ? longest : 4096);
    if (longest && s->context > longest && setting->layer >= ACCEL_LAYER_ENVIRONMENT) {
        accel_plan_add_note(plan, &plan->notes, ACCEL_NOTE_WARN, "context", "",
                            "context %" PRIu64 " tok (%s) is more than the %" PRIu64
                            " tokens that the model was trained for (%s): its text gets worse behind them",
                            s->context, setting->place, longest, origin);
        return;
    }
    if (longest && s->context > longest)
        s->context = longest;
    if (!setting->is_number || (uint64_t)setting->number != s->context)
        accel_plan_decide(plan, setting, accel_plan_text(plan, "%" PRIu64, s->context),
                          longest ? ACCEL_ORIGIN_FILE : ACCEL_ORIGIN_BUILTIN, longest ? origin : "built in",
                          longest ? "the length that the model was trained for"
                                  : "the length that the model was trained for is unknown");
}

/* Reads the type of K or V. A head size that no group divides cannot be quantized. */
static int32_t read_cache_type(struct accel_shape_planner *s, const struct accel_profile_setting *setting,
                               uint32_t head, struct accel_plan_type *out)
{
    struct accel_plan *plan = s->plan;
    const struct accel_profile_setting *policy = &plan->settings->values->fallback_kv;
    uint32_t word = setting->word == ACCEL_WORD_AUTO ? ACCEL_WORD_F16 : setting->word;
    uint32_t group = accel_plan_group(&plan->settings->values->kv_group, 64);
    if (!accel_plan_type_of(word, group, head, out))
        return accel_error_set(s->error, ACCEL_E_INTERNAL, "%s is %s", setting->key, setting->value);
    if ((word != ACCEL_WORD_Q8 && word != ACCEL_WORD_Q4) || out->block_values > 1)
        return ACCEL_OK;
    if (accel_plan_recommends(setting))
        return accel_plan_decline(
            plan, setting->key, "f16",
            accel_plan_text(plan, "heads of %" PRIu32 " elements have no group of 32 or more that divides them", head),
            s->error);
    if (policy->word == ACCEL_WORD_DENY) {
        accel_error_by(s->error, accel_setting_origin(setting), ACCEL_E_FALLBACK,
                       "%s: %s=%s: heads of %" PRIu32 " elements have no group of 32 or more that divides them",
                       setting->place, setting->key, setting->value, head);
        accel_error_remedy(s->error, "set %s=f16, or fallback.kv to warn or allow", setting->key);
        return ACCEL_E_FALLBACK;
    }
    accel_plan_add_note(plan, &plan->notes, ACCEL_NOTE_WARN, "fallback.kv", "",
                        "%s=%s comes to f16: no group of 32 or more divides heads of %" PRIu32
                        ", and fallback.kv is %s",
                        setting->key, setting->value, head, policy->value);
    accel_plan_decide(plan, setting, "f16", ACCEL_ORIGIN_BUILTIN, policy->place, "no group divides the heads");
    return ACCEL_OK;
}

static int32_t read_cache(struct accel_shape_planner *s)
{
    const struct accel_setting_values *values = s->plan->settings->values;
    uint32_t head = 0, value = 0;
    int32_t code;
    s->has_kv_cache = values->kv_enabled.number != 0;
    for (uint32_t i = 0; i < s->shapes->component_count && head == 0; i++)
        if (s->shapes->components[i].cached) {
            head = s->shapes->components[i].head_size;
            value = s->shapes->components[i].value_size;
        }
    /* Without a KV cache the types have no effect. */
    if (head == 0 || !s->has_kv_cache) {
        accel_plan_type_of(ACCEL_WORD_F16, 64, 64, &s->keys);
        s->values = s->keys;
        return ACCEL_OK;
    }
    code = read_cache_type(s, &values->kv_type_k, head, &s->keys);
    return code == ACCEL_OK ? read_cache_type(s, &values->kv_type_v, value ? value : head, &s->values) : code;
}

/* ---- keys and values ---- */

/* Returns the tokens that a sequence caches. With an attention window, pages behind the window are evicted, unless
 * the cache slides: then the tokens in it have already attended to evicted ones. A step needs the windows of its
 * first to its last token, and the token before them for the next position; sinks have pages of their own. */
static uint64_t cached_tokens(const struct accel_shape_planner *s)
{
    const struct accel_setting_values *values = s->plan->settings->values;
    uint32_t full = values->kv_full.word;
    uint64_t page = full == ACCEL_WORD_PRUNE ? 1 : number_of(&values->attention_page, 1);
    uint64_t window = number_of(&values->kv_window, 0), sinks = number_of(&values->kv_sinks, 0), slots;
    if (window == 0 || full == ACCEL_WORD_SLIDE)
        return s->context;
    page = page < s->context ? page : s->context;
    window = window < 2 ? 2 : window;
    slots = ((sinks + page - 1) / page + (window + s->batch + 2 * page - 3) / page) * page;
    return slots < s->context ? slots : s->context;
}

/* Returns the tokens of a page, and why they differ from attention.page; "" if they do not. */
static uint64_t find_page(const struct accel_shape_planner *s, const char **out_reason)
{
    const struct accel_profile_setting *setting = &s->plan->settings->values->attention_page;
    uint32_t full = s->plan->settings->values->kv_full.word;
    bool slides = full == ACCEL_WORD_SLIDE;
    uint64_t page = number_of(setting, 1), most = slides ? s->context / 4 : s->context;
    *out_reason = "";
    if (full == ACCEL_WORD_PRUNE) {
        *out_reason = "kv.full=prune: tokens leave the cache one by one";
        return 1;
    }
    if (!accel_plan_is_users(setting) && s->sequences == 1 && full == ACCEL_WORD_STOP &&
        cached_tokens(s) == s->context) {
        *out_reason = "one sequence from which no token leaves has one page, which is addressed without a table";
        return s->context;
    }
    if (page <= most)
        return page;
    *out_reason = slides ? "kv.full=slide: whole pages leave, so that a page is at most a quarter of the context"
                         : "a page is at most as long as the context";
    return most ? most : 1;
}

/* Writes the page of a run into the record of attention.page. A value of the user that changes is a note. */
static void decide_page(struct accel_shape_planner *s)
{
    const struct accel_profile_setting *setting = &s->plan->settings->values->attention_page;
    const char *reason;
    uint64_t page = find_page(s, &reason);
    if (page == number_of(setting, 1))
        return;
    accel_plan_decide(s->plan, setting, accel_plan_text(s->plan, "%" PRIu64, page), ACCEL_ORIGIN_BUILTIN, "built in",
                      reason);
    if (accel_plan_is_users(setting))
        accel_plan_add_note(s->plan, &s->plan->notes, ACCEL_NOTE_INFO, "attention.page", "",
                            "attention.page=%s tok comes to %" PRIu64 ": %s", setting->value, page, reason);
}

/* Returns the KV slots of all sequences, in whole pages. */
uint64_t accel_shape_plan_kv_slots(const struct accel_shape_planner *s)
{
    const char *reason;
    uint64_t page = find_page(s, &reason), slots = cached_tokens(s);
    return accel_plan_multiply(accel_plan_multiply((slots + page - 1) / page, page), s->sequences);
}

static bool has_cache(const struct accel_shape_planner *s)
{
    for (uint32_t i = 0; i < s->shapes->component_count; i++)
        if (s->shapes->components[i].cached)
            return s->has_kv_cache;
    return false;
}

int32_t accel_shape_plan_read_settings(struct accel_shape_planner *s)
{
    const struct accel_setting_values *values = s->plan->settings->values;
    uint32_t compute = values->compute_type.word;
    uint64_t length;
    int32_t code;
    read_context(s);
    s->sequences = number_of(&values->sequences, 1);
    s->batch = number_of(&values->batch, 1);
    s->batch = s->batch < s->context ? s->batch : s->context;
    s->length = s->context;
    if (accel_plan_fact_number(s->plan, "request.length", &length, NULL) && length && length < s->length)
        s->length = length;
    s->element = compute == ACCEL_WORD_F16 || compute == ACCEL_WORD_BF16 ? 2 : 4;
    code = read_cache(s);
    if (code == ACCEL_OK && has_cache(s))
        decide_page(s);
    return code;
}

static uint64_t token_bytes(const struct accel_shape_planner *s, const struct accel_sketch_component *c)
{
    uint64_t value = c->value_size ? c->value_size : c->head_size;
    return accel_plan_add(accel_plan_type_bytes(&s->keys, c->kv_heads, c->head_size),
                          accel_plan_type_bytes(&s->values, c->kv_heads, value));
}

/* Returns the encoder positions whose keys and values a decoder caches as well; 0: it has no encoder. */
static uint64_t crossed_tokens(const struct accel_shape_planner *s, const struct accel_sketch_component *c)
{
    if (strcmp(c->name, "decoder") != 0)
        return 0;
    for (uint32_t i = 0; i < s->shapes->component_count; i++) {
        const struct accel_sketch_component *other = &s->shapes->components[i];
        if (other != c && !other->cached && other->layers)
            return other->tokens ? other->tokens : s->length;
    }
    return 0;
}

uint64_t accel_shape_plan_layer_state(const struct accel_shape_planner *s, const struct accel_sketch_component *c)
{
    uint64_t tokens;
    if (!c->cached || !s->has_kv_cache)
        return 0;
    tokens = accel_plan_add(cached_tokens(s), crossed_tokens(s, c));
    return accel_plan_multiply(accel_plan_multiply(token_bytes(s, c), tokens), s->sequences);
}

uint64_t accel_plan_step_state(const struct accel_plan *plan, uint64_t bytes, uint64_t tokens)
{
    uint64_t window, windowed, layers;
    if (!accel_plan_fact_number(plan, "model.window", &window, NULL) || window >= tokens ||
        !accel_plan_fact_number(plan, "model.window_layers", &windowed, NULL) ||
        !accel_plan_fact_number(plan, "model.layers", &layers, NULL) || windowed > layers || layers == 0)
        return bytes;
    return bytes - bytes / layers / tokens * windowed * (tokens - window);
}

static void add_state(struct accel_shape_planner *s)
{
    uint64_t tokens = cached_tokens(s), token = 0, crossed = 0;
    for (uint32_t i = 0; i < s->shapes->component_count; i++) {
        const struct accel_sketch_component *c = &s->shapes->components[i];
        s->state = accel_plan_add(s->state, accel_plan_multiply(accel_shape_plan_layer_state(s, c), c->layers));
        if (c->cached && s->has_kv_cache) {
            token = accel_plan_add(token, accel_plan_multiply(token_bytes(s, c), c->layers));
            crossed = crossed_tokens(s, c) > crossed ? crossed_tokens(s, c) : crossed;
        }
    }
    s->plan->step_state = accel_plan_step_state(s->plan, s->state / s->sequences, tokens);
    accel_plan_add_row(s->plan, ACCEL_MEMORY_STATE, s->state, s->state,
                       accel_plan_text(s->plan,
                                       "estimated: %" PRIu64 " tokens x %" PRIu64 " sequences x %" PRIu64
                                       " bytes of keys (%s) and values (%s) of all layers%s",
                                       accel_plan_add(tokens, crossed), s->sequences, token, s->keys.name,
                                       s->values.name, crossed ? ", positions of the encoder with them" : ""));
}

/* ---- activations and scratch ---- */

static bool reads_text(const struct accel_sketch_component *c)
{
    return c->cached || accel_word_is_among("language text decoder", c->name);
}

/* Returns the tokens of a component that one step computes. A component that reads no text and has no positions of its
 * own takes those of the encoder before it. A model of convolutions alone has none; its features are not counted. */
static uint64_t step_tokens(const struct accel_shape_planner *s, const struct accel_sketch_component *c)
{
    if (c->tokens)
        return c->tokens;
    if (reads_text(c))
        return c->cached && s->has_kv_cache ? s->batch : s->length;
    for (uint32_t i = 0; i < s->shapes->component_count; i++)
        if (s->shapes->components[i].tokens)
            return s->shapes->components[i].tokens;
    return 1;
}

static void add_activations(struct accel_shape_planner *s)
{
    uint64_t tokens = 0, outputs = 0, images = 0;
    for (uint32_t i = 0; i < s->shapes->component_count; i++) {
        const struct accel_sketch_component *c = &s->shapes->components[i];
        if (c->tokens)
            images = accel_plan_add(images, accel_plan_multiply(accel_plan_multiply(c->tokens, c->hidden), 4));
        else if (reads_text(c) && step_tokens(s, c) > tokens)
            tokens = step_tokens(s, c);
        outputs = c->vocabulary > outputs ? c->vocabulary : outputs;
        outputs = c->vocabulary == 0 && c->hidden > outputs ? c->hidden : outputs;
    }
    s->activations = accel_plan_multiply(
        s->sequences,
        accel_plan_add(images, accel_plan_add(accel_plan_multiply(tokens, 8), accel_plan_multiply(outputs, 4))));
    accel_plan_add_row(s->plan, ACCEL_MEMORY_ACTIVATION, s->activations, s->activations,
                       accel_plan_text(s->plan,
                                       "estimated: %" PRIu64 " sequences x (%" PRIu64
                                       " tokens x 8 bytes of ids and places, %" PRIu64 " outputs x 4 bytes, %" PRIu64
                                       " bytes of other inputs)",
                                       s->sequences, tokens, outputs, images));
}

/** Parts of the scratch of one component. */
struct scratch {
    uint64_t tokens;
    uint64_t width;  /* elements of a token that live at the same time */
    uint64_t scores; /* bytes of attention scores */
    uint64_t bytes;
};

static void scratch_of(const struct accel_shape_planner *s, const struct accel_sketch_component *c, struct scratch *out)
{
    uint64_t value = c->value_size ? c->value_size : c->head_size;
    uint64_t heads = (uint64_t)c->heads * (c->head_size + value) + (uint64_t)c->kv_heads * (c->head_size + value);
    uint64_t keys, block;
    out->tokens = step_tokens(s, c);
    keys = c->cached && s->has_kv_cache ? cached_tokens(s) : out->tokens;
    out->width = 2 * (uint64_t)c->hidden + (heads > 2 * (uint64_t)c->ffn ? heads : 2 * (uint64_t)c->ffn);
    block = s->block < out->tokens ? s->block : out->tokens;
    if (s->tiled)
        out->scores = accel_plan_multiply(c->heads, block * (s->block + value) * 4);
    else
        out->scores =
            accel_plan_multiply(accel_plan_multiply(c->heads, out->tokens), accel_plan_multiply(keys, s->element));
    out->scores = accel_plan_multiply(out->scores, s->sequences);
    out->bytes = accel_plan_add(
        out->scores, accel_plan_multiply(
                         accel_plan_multiply(accel_plan_multiply(s->sequences, out->tokens), out->width), s->element));
}

static void add_scratch(struct accel_shape_planner *s)
{
    struct scratch most = {0};
    const char *name = "";
    for (uint32_t i = 0; i < s->shapes->component_count; i++) {
        struct scratch one;
        scratch_of(s, &s->shapes->components[i], &one);
        if (one.bytes >= most.bytes) {
            most = one;
            name = s->shapes->components[i].name;
        }
    }
    s->scratch = most.bytes;
    accel_plan_add_row(s->plan, ACCEL_MEMORY_SCRATCH, 0, s->scratch,
                       accel_plan_text(s->plan,
                                       "estimated: %s: %" PRIu64 " sequences x %" PRIu64 " tokens x %" PRIu64
                                       " numbers x %" PRIu64 " bytes, and %" PRIu64 " bytes for scores of %s attention",
                                       name, s->sequences, most.tokens, most.width, s->element, most.scores,
                                       s->tiled ? "tiled" : "eager"));
}

/* Adds a note about memory that the formulas omit. */
static void note_filters(struct accel_shape_planner *s)
{
    for (uint32_t i = 0; i < s->shapes->component_count; i++) {
        const struct accel_sketch_component *c = &s->shapes->components[i];
        if (c->layers && c->heads == 0 && !reads_text(c) && step_tokens(s, c) == 1)
            accel_plan_add_note(s->plan, &s->plan->notes, ACCEL_NOTE_INFO, "activations", "",
                                "%s: features between filters are not in the scratch of the plan", c->name);
    }
}

/* ---- rows of memory ---- */

/* Returns whether the device uses the host's memory, so that weights may be used in place in the mapped file. */
static bool is_unified(const struct accel_plan *plan)
{
    const char *unified = accel_plan_fact(plan, "device.unified", NULL);
    const char *kind = accel_plan_fact(plan, "device.kind", NULL);
    return ((unified && strcmp(unified, "true") == 0) || (kind && strcmp(kind, "cpu") == 0)) &&
           plan->settings->values->weights_load.word != ACCEL_WORD_READ;
}

static void add_weights(struct accel_shape_planner *s)
{
    bool mapped = is_unified(s->plan);
    uint64_t elements = 0;
    for (uint32_t i = 0; i < s->plan->parts.count; i++)
        elements = accel_plan_add(elements, ((const struct accel_plan_part *)s->plan->parts.items[i])->elements);
    accel_plan_add_row(
        s->plan, mapped ? ACCEL_MEMORY_MAPPED : ACCEL_MEMORY_WEIGHTS, mapped ? s->weights - s->tables : s->weights,
        s->weights,
        accel_plan_text(s->plan,
                        "estimated: types x shapes of %" PRIu32 " weights with their scales, %.3f bits a weight",
                        s->shapes->weight_count, elements ? (double)s->weights * 8 / (double)elements : 0.0));
}

/* A driver with its own queues allocates more than a formula covers; its own estimate includes that memory. */
#define NOT_COUNTED                                                                                                    \
    "; without the driver's memory for queues, copies and compiled kernels, which an exact plan includes"

static void add_rest(struct accel_shape_planner *s)
{
    const struct accel_listed *device = s->plan->device;
    const bool has_own_queues = device && device->info.facts->limits->queues != 0;
    uint64_t nodes = 8;
    for (uint32_t i = 0; i < s->shapes->component_count; i++)
        nodes += (uint64_t)s->shapes->components[i].layers * LAYER_NODES;
    s->program = nodes * ACCEL_PLAN_NODE_BYTES;
    s->host = (uint64_t)s->shapes->weight_count * WEIGHT_BYTES;
    accel_plan_add_row(s->plan, ACCEL_MEMORY_PROGRAM, 0, s->program,
                       accel_plan_text(s->plan, "estimated: %u bytes for each of %" PRIu64 " nodes%s",
                                       ACCEL_PLAN_NODE_BYTES, nodes, has_own_queues ? NOT_COUNTED : ""));
    accel_plan_add_row(s->plan, ACCEL_MEMORY_HOST, 0, s->host,
                       accel_plan_text(s->plan, "estimated: %d bytes of lists for each of %" PRIu32 " weights",
                                       WEIGHT_BYTES, s->shapes->weight_count));
}

void accel_shape_plan_sum_memory(struct accel_shape_planner *s)
{
    add_weights(s);
    add_state(s);
    add_activations(s);
    add_scratch(s);
    note_filters(s);
    add_rest(s);
}
