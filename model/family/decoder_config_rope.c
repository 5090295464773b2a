/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads rotary positions. Current checkpoints have `rope_parameters`, one object or one per layer type; older ones have
 * `rope_theta` and `rope_scaling`, whose kind is `rope_type` or, older still, `type`. GGUF has `rope.*` keys.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/family/decoder_config_reader.h"
#include "model/family/family.h"
#include "model/file/json.h"

#define DEFAULT_BASE 10000.0
#define DEFAULT_BETA_FAST 32.0
#define DEFAULT_BETA_SLOW 1.0
#define ORIGINAL "original_max_position_embeddings"

/* Values of the file before conversion to accel_rope_config; zero if absent. */
struct rope_facts {
    double base, factor, low, high, beta_fast, beta_slow, attention_factor, mscale, mscale_all, partial;
    uint32_t dims, original;
};

#define FACT(name) offsetof(struct rope_facts, name)

static const struct config_row rows[] = {
    {{"rope_theta"}, {"rope.freq_base"}, FACT(base), CONFIG_TO_F64, false, 1, 1e15},
    {{"factor"}, {"rope.scaling.factor", "rope.scale_linear"}, FACT(factor), CONFIG_TO_F64, false, 0.001, 1e6},
    {{"low_freq_factor"}, {NULL}, FACT(low), CONFIG_TO_F64, false, 0, 1e6},
    {{"high_freq_factor"}, {NULL}, FACT(high), CONFIG_TO_F64, false, 0, 1e6},
    {{"beta_fast"}, {"rope.scaling.yarn_beta_fast"}, FACT(beta_fast), CONFIG_TO_F64, false, 0, 1e6},
    {{"beta_slow"}, {"rope.scaling.yarn_beta_slow"}, FACT(beta_slow), CONFIG_TO_F64, false, 0, 1e6},
    {{"attention_factor"}, {"rope.scaling.attn_factor"}, FACT(attention_factor), CONFIG_TO_F64, false, 0, 1e6},
    {{"mscale"}, {NULL}, FACT(mscale), CONFIG_TO_F64, false, 0, 1e6},
    {{"mscale_all_dim"}, {NULL}, FACT(mscale_all), CONFIG_TO_F64, false, 0, 1e6},
    {{"partial_rotary_factor"}, {NULL}, FACT(partial), CONFIG_TO_F64, false, 0, 1},
    {{NULL}, {"rope.dimension_count"}, FACT(dims), CONFIG_TO_U32, false, 1, 65536},
    {{ORIGINAL}, {"rope.scaling.original_context_length"}, FACT(original), CONFIG_TO_U32, false, 1, 4294967295.0},
};

/* At the top of config.json, where it comes first in families that list it. */
static const struct config_row original_row = {{ORIGINAL}, {NULL}, FACT(original), CONFIG_TO_U32,
                                               false,      1,      4294967295.0};

/* Of layers with a window, in GGUF. */
static const struct config_row sliding_row = {
    {NULL}, {"rope.freq_base_swa"}, offsetof(struct accel_rope_config, base), CONFIG_TO_F64, false, 1, 1e15};

static const struct {
    const char *name;
    enum accel_rope_kind kind;
    bool in_gguf;
} kinds[] = {
    {"default", ACCEL_ROPE_PLAIN, false},   {"none", ACCEL_ROPE_PLAIN, true}, {"linear", ACCEL_ROPE_LINEAR, true},
    {"dynamic", ACCEL_ROPE_DYNAMIC, false}, {"yarn", ACCEL_ROPE_YARN, true},  {"llama3", ACCEL_ROPE_LLAMA3, false},
    {"longrope", ACCEL_ROPE_LONG, true},    {"su", ACCEL_ROPE_LONG, false},
};

static int32_t read_kind(const struct config_reader *reader, enum accel_rope_kind *out_kind)
{
    static const char *const json[4] = {"rope_type", "type"};
    static const char *const gguf[2] = {"rope.scaling.type"};
    char shown[MODEL_QUOTE_BYTES], what[MODEL_QUOTE_BYTES + 32];
    struct config_fact fact;
    config_find(reader, json, gguf, &fact);
    if (fact.kind == CONFIG_ABSENT)
        return ACCEL_OK;
    if (fact.kind != CONFIG_TEXT)
        return config_fault(reader, ACCEL_E_CORRUPT, &fact, "is not a string");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].name, fact.text) != 0 || (reader->root == NULL && !kinds[i].in_gguf))
            continue;
        *out_kind = kinds[i].kind;
        return ACCEL_OK;
    }
    snprintf(what, sizeof(what), "is %s, which is not supported", model_quote(shown, fact.text, strlen(fact.text)));
    return config_fault(reader, ACCEL_E_UNSUPPORTED, &fact, what);
}

static double log_scale(double factor, double weight)
{
    return factor <= 1 ? 1 : 0.1 * weight * log(factor) + 1;
}

/* Returns the attention factor of YaRN (arXiv 2309.00071, section 3.4, and the extension by two weights). GGUF's own
 * factor multiplies the result, that of config.json replaces it. */
static double yarn_attention(const struct config_reader *reader, const struct rope_facts *facts)
{
    double computed = log_scale(facts->factor, 1);
    if (facts->mscale > 0 && facts->mscale_all > 0)
        computed = log_scale(facts->factor, facts->mscale) / log_scale(facts->factor, facts->mscale_all);
    if (facts->attention_factor == 0)
        return computed;
    return reader->root != NULL ? facts->attention_factor : computed * facts->attention_factor;
}

/* Reads the weight of YaRN in the scores of latent attention, of which GGUF has a tenth. It implies that cosine and
 * sine have the same weight. */
static int32_t read_latent_weight(const struct config_reader *reader, struct rope_facts *facts)
{
    static const struct config_row row = {
        {NULL}, {"rope.scaling.yarn_log_multiplier"}, FACT(mscale_all), CONFIG_TO_F64, false, 0, 1e6};
    int32_t code = config_fill(reader, &row, 1, facts);
    facts->mscale_all *= 10;
    facts->mscale = facts->mscale_all;
    return code;
}

/* Returns the factor of scores of latent attention with YaRN: the square of what cosine and sine are divided by
 * (yarn_attention). */
static double latent_scores(const struct rope_facts *facts)
{
    const double factor = facts->mscale_all > 0 ? log_scale(facts->factor, facts->mscale_all) : 1;
    return factor * factor;
}

/* Returns the attention factor of ACCEL_ROPE_LONG (arXiv 2402.13753, as Phi-3's checkpoints state it). GGUF has none
 * without its key. */
static double long_attention(const struct config_reader *reader, const struct rope_facts *facts, uint32_t original)
{
    const double factor = facts->factor != 0 ? facts->factor : (double)reader->config->context / original;
    if (facts->attention_factor != 0)
        return facts->attention_factor;
    return reader->root == NULL || factor <= 1 ? 1 : sqrt(1 + log(factor) / log(original));
}

/* Reads divisors of frequencies from a list of config.json, or from a tensor of GGUF. */
static int32_t read_divisors(struct config_reader *reader, const char *key, const char *tensor, uint32_t count,
                             const float **out_divisors)
{
    const bool is_json = reader->root != NULL;
    const json_t *list = json_object_get(reader->scope, key);
    const struct accel_model_tensor *stored = is_json ? NULL : accel_model_file_find(reader->file, tensor);
    bool fits = is_json ? json_array_size(list) == count
                        : stored != NULL && stored->type == ACCEL_F32 && stored->rank == 1 && stored->dims[0] == count;
    float *divisors = model_pool_alloc(&reader->config->pool, count, sizeof(*divisors));
    int32_t code = ACCEL_OK;
    if (divisors == NULL)
        return model_no_memory(reader->error, reader->path, count * sizeof(*divisors));
    *out_divisors = divisors;
    if (fits && !is_json)
        code = accel_model_file_read(reader->file, stored, 0, stored->bytes, divisors, reader->error);
    for (uint32_t i = 0; i < count && fits && code == ACCEL_OK; i++) {
        if (is_json)
            divisors[i] = (float)json_number_value(json_array_get(list, i));
        fits = divisors[i] > 0;
    }
    if (fits)
        return code;
    if (is_json)
        return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, key, NULL),
                           "%s is not a list of %u positive numbers", key, count);
    return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, stored == NULL ? MODEL_GGUF_KEYS : stored->offset,
                       "tensor '%s' is missing or does not have %u positive values of F32", tensor, count);
}

static int32_t lacks(const struct config_reader *reader, const char *kind, const char *key)
{
    return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, key, "rope.scaling.type"),
                       "rotary scaling %s has no valid %s", kind, key);
}

/* Fills a struct from the top level of config.json, whatever object is read. */
static int32_t fill_at_top(const struct config_reader *reader, const struct config_row *row, void *target)
{
    struct config_reader top = *reader;
    top.scope = top.root;
    return config_fill(&top, row, 1, target);
}

/* Returns whether heads may be rotary in part. */
static bool has_share(const struct config_reader *reader)
{
    return reader->config->family == NULL || config_key(reader, "partial_rotary_factor") != NULL;
}

static int32_t set_dims(const struct config_reader *reader, struct rope_facts *facts, struct accel_rope_config *rope)
{
    static const struct config_row share = {
        {"partial_rotary_factor", "rotary_pct"}, {NULL}, FACT(partial), CONFIG_TO_F64, false, 0, 1};
    const char *key = json_object_get(reader->root, "rotary_pct") == NULL ? "partial_rotary_factor" : "rotary_pct";
    const uint32_t head_size = reader->config->head_size, latent = reader->config->latent.rotary;
    if (facts->partial != 0 && facts->partial != 1 && !has_share(reader))
        return model_fault(reader->error, ACCEL_E_UNSUPPORTED, reader->path,
                           config_offset(reader, "partial_rotary_factor", NULL),
                           "partial_rotary_factor is %g, which has no meaning in architecture %s here", facts->partial,
                           reader->config->architecture);
    if (facts->partial == 0 && reader->root != NULL) {
        /* It may be at the top level while the rest is in an object. */
        int32_t code = fill_at_top(reader, &share, facts);
        if (code != ACCEL_OK)
            return code;
    }
    rope->dims = facts->dims != 0 ? facts->dims : latent != 0 ? latent : head_size;
    if (facts->partial == 0 && reader->root != NULL && reader->config->form.rotary_share != 0)
        rope->dims = (uint32_t)((double)head_size * reader->config->form.rotary_share);
    if (facts->partial > 0)
        rope->dims = (uint32_t)((double)head_size * facts->partial);
    if (rope->dims >= 2 && rope->dims % 2 == 0 && rope->dims <= head_size)
        return ACCEL_OK;
    if (facts->partial > 0)
        return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, key, NULL),
                           "%s is %g, which gives %u of %u dimensions, allowed are even numbers", key, facts->partial,
                           rope->dims, head_size);
    return model_fault(
        reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, "head_dim", "rope.dimension_count"),
        "%u rotary dimensions in heads of %u, allowed are even numbers up to that", rope->dims, head_size);
}

/* Checks the values that each kind requires besides the base. */
static int32_t check_kind(const struct config_reader *reader, struct rope_facts *facts, struct accel_rope_config *rope)
{
    if (rope->kind == ACCEL_ROPE_PLAIN) {
        facts->factor = 1;
        return ACCEL_OK;
    }
    if (facts->factor == 0 && reader->root == NULL)
        facts->factor = 1;
    if (rope->kind == ACCEL_ROPE_YARN && facts->factor == 0 && facts->original != 0)
        facts->factor = (double)reader->config->context / (double)facts->original;
    if (rope->kind == ACCEL_ROPE_LONG)
        return ACCEL_OK;
    if (facts->factor == 0)
        return lacks(reader, "of the model", "factor");
    if (rope->kind == ACCEL_ROPE_YARN && rope->beta_fast <= rope->beta_slow)
        return lacks(reader, "yarn", "beta_fast above beta_slow");
    if (rope->kind != ACCEL_ROPE_LLAMA3)
        return ACCEL_OK;
    if (facts->low == 0 || facts->high <= facts->low)
        return lacks(reader, "llama3", "low_freq_factor below high_freq_factor");
    return facts->original == 0 ? lacks(reader, "llama3", "original_max_position_embeddings") : ACCEL_OK;
}

/* Reads one set of rotary facts from the reader's scope. `base` is the default of the base. */
static int32_t read_one(struct config_reader *reader, double base, struct accel_rope_config *rope)
{
    struct rope_facts facts = {.base = base, .beta_fast = DEFAULT_BETA_FAST, .beta_slow = DEFAULT_BETA_SLOW};
    bool found;
    int32_t code = config_fill(reader, rows, sizeof(rows) / sizeof(rows[0]), &facts);
    rope->truncate = reader->root != NULL || !reader->config->form.yarn_exact;
    /* GGUF files with a factor and no kind are scaled linearly, as those of that kind without a factor are not. */
    if (reader->root == NULL)
        rope->kind = ACCEL_ROPE_LINEAR;
    if (code == ACCEL_OK)
        code = read_kind(reader, &rope->kind);
    if (reader->root == NULL && rope->kind == ACCEL_ROPE_LINEAR && facts.factor == 0)
        rope->kind = ACCEL_ROPE_PLAIN;
    /* GGUF states this scaling by its tensors alone. */
    if (reader->root == NULL && config_has(reader, ROPE_LONG_TENSOR))
        rope->kind = ACCEL_ROPE_LONG;
    if (code == ACCEL_OK && reader->root != NULL)
        code = config_find_bool(reader, "truncate", &rope->truncate, &found);
    if (code == ACCEL_OK && reader->root != NULL && (facts.original == 0 || config_key(reader, ORIGINAL) != NULL))
        code = fill_at_top(reader, &original_row, &facts);
    if (code == ACCEL_OK)
        code = set_dims(reader, &facts, rope);
    rope->beta_fast = facts.beta_fast;
    rope->beta_slow = facts.beta_slow;
    if (code == ACCEL_OK)
        code = check_kind(reader, &facts, rope);
    if (code != ACCEL_OK)
        return code;
    rope->base = facts.base;
    rope->factor = facts.factor;
    rope->low_frequency_factor = facts.low;
    rope->high_frequency_factor = facts.high;
    rope->original_context = facts.original == 0 ? reader->config->context : facts.original;
    if (reader->root == NULL && reader->config->latent.kv != 0)
        code = read_latent_weight(reader, &facts);
    if (code != ACCEL_OK)
        return code;
    rope->attention_factor = rope->kind == ACCEL_ROPE_YARN ? yarn_attention(reader, &facts) : 1;
    rope->score_factor = rope->kind == ACCEL_ROPE_YARN ? latent_scores(&facts) : 1;
    if (rope->kind != ACCEL_ROPE_LONG)
        return ACCEL_OK;
    if (reader->root != NULL ? facts.original < 2 : rope->original_context < 2)
        return lacks(reader, "longrope", "original_max_position_embeddings");
    rope->attention_factor = long_attention(reader, &facts, rope->original_context);
    code = read_divisors(reader, "short_factor", ROPE_SHORT_TENSOR, rope->dims / 2, &rope->short_divisors);
    return code == ACCEL_OK
               ? read_divisors(reader, "long_factor", ROPE_LONG_TENSOR, rope->dims / 2, &rope->long_divisors)
               : code;
}

static int32_t read_scope(struct config_reader *reader, const json_t *scope, double base,
                          struct accel_rope_config *rope)
{
    int32_t code;
    reader->scope = scope;
    code = read_one(reader, base, rope);
    reader->scope = reader->root;
    return code;
}

/* Reads the rotary positions of one kind of layers, for which an object or null may stand. */
static int32_t read_object(struct config_reader *reader, const json_t *object, const char *key, double base,
                           struct accel_rope_config *rope)
{
    if (object != NULL && !json_is_null(object) && !json_is_object(object))
        return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, key, NULL),
                           "%s is %s, not an object", key, model_json_kind(object));
    memset(rope, 0, sizeof(*rope));
    return read_scope(reader, json_is_object(object) ? object : NULL, base, rope);
}

/* Reads an object per type of layer, or one for all. Families with a base for layers with a window (`local`) have no
 * scaling in them, and an object for all only under its older name. */
static int32_t read_types(struct config_reader *reader, const json_t *scope, bool is_older, double base, double local)
{
    struct accel_decoder_config *config = reader->config;
    const json_t *full = json_object_get(scope, "full_attention");
    const json_t *sliding = json_object_get(scope, "sliding_attention");
    const bool has_types = full != NULL || sliding != NULL;
    int32_t code;
    if (config->family != NULL && scope != NULL && !is_older && has_types != (local != 0))
        return model_fault(
            reader->error, ACCEL_E_UNSUPPORTED, reader->path, config_offset(reader, "rope_parameters", NULL),
            has_types ? "rope_parameters has an object for each type of layer, which architecture %s does not read"
                      : "rope_parameters has no full_attention, which architecture %s reads",
            config->architecture);
    code = has_types ? read_object(reader, full, "full_attention", base, &config->rope)
                     : read_scope(reader, scope, base, &config->rope);
    config->rope_sliding = config->rope;
    if (code != ACCEL_OK || (sliding == NULL && local == 0))
        return code;
    return read_object(reader, sliding, "sliding_attention", local == 0 ? base : local, &config->rope_sliding);
}

static int32_t read_json(struct config_reader *reader)
{
    static const struct config_row base_row = {
        {"rope_theta", "rotary_emb_base"}, {NULL}, 0, CONFIG_TO_F64, false, 1, 1e15};
    static const struct config_row local_row = {{"rope_local_base_freq"}, {NULL}, 0, CONFIG_TO_F64, false, 1, 1e15};
    const char *key = "rope_parameters";
    const json_t *scope = json_object_get(reader->root, key);
    const char *implied = reader->config->family == NULL ? NULL : reader->config->family->json_rotary;
    double base = DEFAULT_BASE, local = 0;
    json_t *own = NULL;
    int32_t code = config_fill(reader, &base_row, 1, &base);
    if (code == ACCEL_OK)
        code = config_fill(reader, &local_row, 1, &local);
    if (code != ACCEL_OK)
        return code;
    if (scope == NULL || json_is_null(scope)) {
        key = "rope_scaling";
        scope = json_object_get(reader->root, key);
    }
    if (scope != NULL && !json_is_null(scope) && !json_is_object(scope))
        return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, key, NULL),
                           "%s is %s, not an object", key, model_json_kind(scope));
    if (!json_is_object(scope) && implied != NULL)
        scope = own = json_loads(implied, 0, NULL);
    if (!json_is_object(scope) && implied != NULL)
        return model_no_memory(reader->error, reader->path, strlen(implied));
    code = read_types(reader, json_is_object(scope) ? scope : NULL, strcmp(key, "rope_scaling") == 0, base, local);
    json_decref(own);
    return code;
}

int32_t config_rope_read(struct config_reader *reader)
{
    struct accel_decoder_config *config = reader->config;
    int32_t code;
    if (reader->root != NULL) {
        config->pairing = config->form.neighbours ? ACCEL_ROPE_PAIRING_NEIGHBOURS : ACCEL_ROPE_PAIRING_HALVES;
        return read_json(reader);
    }
    code = read_one(reader, DEFAULT_BASE, &config->rope);
    config->rope_sliding = config->rope;
    if (config->form.gguf_sliding_base != 0)
        config->rope_sliding.base = config->form.gguf_sliding_base;
    if (config->form.gguf_sliding_plain) {
        config->rope_sliding.kind = ACCEL_ROPE_PLAIN;
        config->rope_sliding.factor = 1;
        config->rope_sliding.attention_factor = 1;
    }
    if (code == ACCEL_OK)
        code = config_fill(reader, &sliding_row, 1, &config->rope_sliding);
    return code == ACCEL_OK && config_has(reader, ROPE_DIVISORS_TENSOR)
               ? read_divisors(reader, NULL, ROPE_DIVISORS_TENSOR, config->rope.dims / 2, &config->rope_divisors)
               : code;
}
