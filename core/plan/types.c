/* SPDX-License-Identifier: Apache-2.0 */
/* Decides the type of every weight. Precedence: role, component, adaptive precision, weights.type, the file. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/graph/types.h"
#include "core/plan/honored.h"
#include "core/plan/shape_plan.h"
#include "core/profile/keys.h"

/** Why a weight has its type. */
struct decision {
    const struct accel_profile_setting *setting; /* NULL: the file decides */
    const char *reason;
};

/** The type of one weight. */
struct choice {
    struct accel_plan_type type;
    struct accel_plan_type file; /* name empty: not known */
    uint32_t id;                 /* id of `type`; ACCEL_TYPE_NONE: neither a file nor a driver knows the type */
    struct decision decision;
    const char *reason;
    bool converted;
};

/* ---- types by name ---- */

static const struct word {
    uint32_t word; /* ACCEL_WORD_... */
    uint32_t bits;
    uint32_t type; /* ACCEL_TYPE_NONE: it has groups */
    uint32_t scheme;
    uint32_t group; /* as accelctl quantize takes for the word; 0: the row */
} words[] = {
    {ACCEL_WORD_F32, 32, ACCEL_F32, 0, 0},
    {ACCEL_WORD_F16, 16, ACCEL_F16, 0, 0},
    {ACCEL_WORD_BF16, 16, ACCEL_BF16, 0, 0},
    {ACCEL_WORD_Q8, 8, ACCEL_TYPE_NONE, ACCEL_SCHEME_SYMMETRIC, 128},
    {ACCEL_WORD_Q4, 4, ACCEL_TYPE_NONE, ACCEL_SCHEME_SYMMETRIC, 128},
    {ACCEL_WORD_Q3, 3, ACCEL_TYPE_NONE, ACCEL_SCHEME_SYMMETRIC, 128},
    {ACCEL_WORD_Q2, 2, ACCEL_TYPE_NONE, ACCEL_SCHEME_SYMMETRIC, 64},
    {ACCEL_WORD_NF4, 4, ACCEL_TYPE_NONE, ACCEL_SCHEME_NF4, 64},
    {ACCEL_WORD_CLUSTER4, 4, ACCEL_TYPE_NONE, ACCEL_SCHEME_CODEBOOK, 0},
    {ACCEL_WORD_C4, 4, ACCEL_TYPE_NONE, ACCEL_SCHEME_CODEBOOK, 0},
    {ACCEL_WORD_OTHER, 0, ACCEL_TYPE_NONE, 0, 0},
};

/* Returns the row of a word, or the last one, of 0 bits. */
static const struct word *find_word(uint32_t word)
{
    const struct word *row = words;
    while (row->bits && row->word != word)
        row++;
    return row;
}

static bool type_of_file(uint32_t type, struct accel_plan_type *out)
{
    struct accel_type_layout layout;
    char text[ACCEL_TYPE_TEXT];
    if (type == ACCEL_TYPE_NONE || !accel_type_describe(type, &layout))
        return false;
    *out = (struct accel_plan_type){.block_values = layout.block_values};
    for (uint32_t p = 0; p < layout.planes; p++) {
        out->block_bytes += layout.plane_bytes[p];
        out->row_bytes += layout.row_bytes[p];
    }
    snprintf(out->name, sizeof(out->name), "%s", accel_type_text(type, text));
    out->bits = accel_number_in(out->name);
    return true;
}

/* Returns the type that a word means for rows of `columns` values: with the largest group up to `group` that divides
 * them, else F16. ACCEL_TYPE_NONE: no type has the name. */
static uint32_t id_of(uint32_t word, uint32_t group, bool asymmetric, uint64_t columns)
{
    const struct word *row = find_word(word);
    uint32_t log2_group = 0, scheme = row->scheme;
    if (row->type != ACCEL_TYPE_NONE || row->bits == 0)
        return row->type;
    while (group >= 32 && columns % group != 0)
        group /= 2;
    while (1u << log2_group < group)
        log2_group++;
    /* nf4 has one fixed codebook and cluster types have one per row, so each group has a scale and no zero point. */
    if (asymmetric && scheme == ACCEL_SCHEME_SYMMETRIC)
        scheme = ACCEL_SCHEME_ASYMMETRIC;
    return group < 32 && (group != 0 || columns % 32 != 0) ? ACCEL_F16 : ACCEL_PLANAR(row->bits, log2_group, scheme);
}

bool accel_plan_type_of(uint32_t word, uint32_t group, uint64_t columns, struct accel_plan_type *out_type)
{
    return type_of_file(id_of(word, group, false, columns), out_type);
}

uint32_t accel_plan_group(const struct accel_profile_setting *setting, uint32_t otherwise)
{
    return setting->number ? (uint32_t)setting->number : otherwise;
}

uint64_t accel_plan_type_bytes(const struct accel_plan_type *type, uint64_t rows, uint64_t columns)
{
    uint64_t blocks = columns / type->block_values;
    if (columns % type->block_values != 0)
        return UINT64_MAX;
    return accel_plan_multiply(rows, accel_plan_add(accel_plan_multiply(blocks, type->block_bytes), type->row_bytes));
}

static bool is_block(const struct accel_plan_type *type)
{
    return type->block_values > 1;
}

/* ---- which setting decides ---- */

static bool is_vector(const struct accel_sketch_weight *weight)
{
    return weight->rows <= 1 || weight->columns <= 1 || strcmp(weight->role, "norm") == 0;
}

/* Returns the setting of a role, or that of a component, or NULL. */
static const struct accel_profile_setting *setting_named(const struct accel_plan *plan, const char *name)
{
    const struct accel_setting_values *values = plan->settings->values;
    const struct {
        const char *name;
        const struct accel_profile_setting *setting;
    } rows[] = {
        {"embedding", &values->role_embedding},
        {"attention.q", &values->role_attention_q},
        {"attention.k", &values->role_attention_k},
        {"attention.v", &values->role_attention_v},
        {"attention.o", &values->role_attention_o},
        {"ffn.up", &values->role_ffn_up},
        {"ffn.gate", &values->role_ffn_up},
        {"ffn.down", &values->role_ffn_down},
        {"head", &values->role_head},
        {"vision", &values->vision_type},
        {"text", &values->text_type},
        {"language", &values->language_type},
        {"decoder", &values->language_type},
        {"audio", &values->audio_type},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].setting;
    return NULL;
}

static bool is_critical(const char *role)
{
    return strncmp(role, "attention.", 10) == 0 || strcmp(role, "embedding") == 0 || strcmp(role, "head") == 0;
}

/* Returns whether the setting decides the type: "auto" leaves it to a weaker setting. */
static bool decides(const struct accel_profile_setting *setting, struct decision *out)
{
    if (setting == NULL || setting->word == ACCEL_WORD_AUTO)
        return false;
    *out = (struct decision){setting, ""};
    return true;
}

static void find_decision(const struct accel_plan *plan, const struct accel_sketch_weight *weight, struct decision *out)
{
    const struct accel_setting_values *values = plan->settings->values;
    *out = (struct decision){NULL, ""};
    if (is_vector(weight)) {
        decides(&values->role_norm, out);
        return;
    }
    if (decides(setting_named(plan, weight->role), out) || decides(setting_named(plan, weight->component), out))
        return;
    if (values->precision_adaptive.number) {
        bool critical = is_critical(weight->role);
        decides(critical ? &values->precision_critical : &values->precision_default, out);
        out->reason = critical ? "critical, and precision.adaptive is on" : "precision.adaptive is on";
        return;
    }
    decides(&values->weights_type, out);
}

/* ---- the final type ---- */

/* Returns whether the user set the group size or scheme, so that no other type is acceptable. */
static bool groups_are_given(const struct accel_plan *plan)
{
    return accel_plan_is_users(&plan->settings->values->weights_group) ||
           accel_plan_is_users(&plan->settings->values->weights_scheme);
}

/* Returns whether no user requested the type. A user who turns precision.adaptive on requests its types, too. */
static bool is_recommended(const struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    const struct accel_setting_values *values = plan->settings->values;
    if (setting == &values->precision_critical || setting == &values->precision_default)
        return !accel_plan_is_users(setting) && !accel_plan_is_users(&values->precision_adaptive);
    return accel_plan_recommends(setting);
}

/* Leaves a weight in the type of the file, and lists the recommended setting as not honored. */
static int32_t use_file_type(struct accel_shape_planner *s, const struct accel_sketch_weight *weight,
                             struct choice *choice, const char *reason)
{
    choice->type = choice->file;
    choice->id = weight->type;
    choice->converted = false;
    choice->reason = accel_plan_text(s->plan, "as in the file: %s", reason);
    accel_plan_add_unhonored(s->plan, &s->plan->shape_unhonored, choice->decision.setting, 0, reason);
    return ACCEL_OK;
}

/* Returns the block format of files with the same precision as a planar type, or ACCEL_TYPE_NONE: a device may read
 * these formats and no planar ones. */
static uint32_t find_block_format(const struct accel_plan *plan, uint32_t type, uint64_t columns)
{
    const uint32_t precision = ACCEL_PLANAR(ACCEL_PLANAR_BITS(type), 0u, ACCEL_PLANAR_SCHEME(type));
    const uint32_t block = precision == ACCEL_PLANAR(8u, 0u, ACCEL_SCHEME_SYMMETRIC)    ? ACCEL_Q8_0
                           : precision == ACCEL_PLANAR(4u, 0u, ACCEL_SCHEME_SYMMETRIC)  ? ACCEL_Q4_0
                           : precision == ACCEL_PLANAR(4u, 0u, ACCEL_SCHEME_ASYMMETRIC) ? ACCEL_Q4_1
                                                                                        : ACCEL_TYPE_NONE;
    return columns % 32 == 0 && accel_plan_reads(plan, block) ? block : ACCEL_TYPE_NONE;
}

/* Adds one note for all weights: each weight has its own reason in its record. */
static void note_file_type(struct accel_plan *plan, const struct choice *choice, const char *wanted)
{
    const struct accel_profile_setting *policy = &plan->settings->values->fallback_precision;
    for (uint32_t i = 0; i < plan->notes.count; i++)
        if (strcmp(((const struct accel_plan_note *)plan->notes.items[i])->key, policy->key) == 0)
            return;
    accel_plan_add_note(plan, &plan->notes, ACCEL_NOTE_WARN, policy->key, "",
                        "weights stay %s, not %s: %s reads no %s; %s is %s", choice->type.name, wanted,
                        plan->device->info.name, wanted, policy->key, policy->value);
}

/* Lists the words of weights.type whose types the device reads, for rows of `columns` values: " f16 q8 q4". */
static const char *readable_words(struct accel_plan *plan, uint64_t columns)
{
    const char *text = accel_key_find("weights.type")->words, *list = "";
    char word[ACCEL_KEY_LOWER];
    for (int end; sscanf(text, "%39s%n", word, &end) == 1; text += end) {
        const struct word *row = find_word(accel_key_word(word));
        const uint32_t type = id_of(row->word, row->group, false, columns);
        if (row->bits && (accel_plan_reads(plan, type) || find_block_format(plan, type, columns) != ACCEL_TYPE_NONE))
            list = accel_plan_text(plan, "%s %s", list, word);
    }
    return list;
}

/* Replaces a type that the device's matrix products cannot read: by a block format with as many bits, or as the
 * fallback policy decides. */
static int32_t fit_type_to_device(struct accel_shape_planner *s, const struct accel_sketch_weight *weight,
                                  struct choice *choice)
{
    struct accel_plan *plan = s->plan;
    uint32_t other = ACCEL_TYPE_NONE;
    const struct accel_profile_setting *policy = &plan->settings->values->fallback_precision;
    char wanted[24];
    if (is_vector(weight) || accel_plan_reads(plan, choice->id))
        return ACCEL_OK;
    memcpy(wanted, choice->type.name, sizeof(wanted));
    if (is_block(&choice->type) && !groups_are_given(plan) && choice->decision.setting->word != ACCEL_WORD_OTHER)
        other = find_block_format(plan, choice->id, weight->columns);
    if (other != ACCEL_TYPE_NONE && type_of_file(other, &choice->type)) {
        choice->id = other;
        choice->reason =
            accel_plan_text(plan, "%s%s%s reads %s, and no %s", choice->reason, *choice->reason ? "; " : "",
                            plan->device->info.name, choice->type.name, wanted);
        return ACCEL_OK;
    }
    if (choice->file.name[0] && is_recommended(plan, choice->decision.setting))
        return use_file_type(s, weight, choice,
                             accel_plan_text(plan, "matrices of %s do not read %s", plan->device->info.name, wanted));
    if (policy->word == ACCEL_WORD_DENY || choice->file.name[0] == '\0') {
        accel_error_by(s->error, accel_setting_origin(choice->decision.setting), ACCEL_E_FALLBACK,
                       "%s: %s=%s: matrices of %s do not read %s (weight %.120s)", choice->decision.setting->place,
                       choice->decision.setting->key, choice->decision.setting->value, plan->device->info.name, wanted,
                       weight->name);
        accel_error_remedy(s->error, "%srequest a type that the device reads:%s; or another device",
                           choice->file.name[0] ? "set fallback.precision to warn or allow, and weights stay as they "
                                                  "are in the file; or "
                                                : "",
                           readable_words(plan, weight->columns));
        return ACCEL_E_FALLBACK;
    }
    choice->type = choice->file;
    choice->id = weight->type;
    choice->converted = false;
    choice->reason = accel_plan_text(plan, "as in the file: %s does not read %s, and fallback.precision is %s",
                                     plan->device->info.name, wanted, policy->value);
    note_file_type(plan, choice, wanted);
    return ACCEL_OK;
}

/* Returns the type that a setting whose word is a mix of types (weights.type=q4_k_m) gives a weight of the sketch,
 * which has the types of that mix; ACCEL_TYPE_NONE: the setting is no mix, or the weight keeps its type. */
static uint32_t type_in_mix(const struct accel_shape_planner *s, const struct accel_sketch_weight *weight,
                            const struct accel_profile_setting *setting)
{
    const uint32_t *mix = ACCEL_HAS(s->shapes, mix) ? s->shapes->mix : NULL;
    return mix && setting->word == ACCEL_WORD_OTHER ? mix[weight - s->shapes->weights] : ACCEL_TYPE_NONE;
}

/* Returns whether a setting gives the weight a type. A mix leaves some in the type of the file, and types with groups
 * those that are neither of a layer nor embedding or head: the routers of experts, and projections of components. */
static bool gives_type(const struct accel_shape_planner *s, const struct accel_sketch_weight *weight,
                       const struct accel_profile_setting *setting)
{
    if (setting->word == ACCEL_WORD_OTHER)
        return type_in_mix(s, weight, setting) != ACCEL_TYPE_NONE;
    return find_word(setting->word)->bits >= 16 || strcmp(weight->role, "other") != 0;
}

static int32_t apply_setting(struct accel_shape_planner *s, const struct accel_sketch_weight *weight,
                             struct choice *choice)
{
    struct accel_plan *plan = s->plan;
    const struct accel_setting_values *values = plan->settings->values;
    const struct accel_profile_setting *least = &values->weights_least;
    bool asymmetric = values->weights_scheme.word == ACCEL_WORD_ASYMMETRIC;
    uint32_t asked;
    bool is_mixed = type_of_file(type_in_mix(s, weight, choice->decision.setting), &choice->type);
    uint32_t bits = is_mixed ? choice->type.bits : find_word(choice->decision.setting->word)->bits;
    bool raises = !is_vector(weight) && find_word(least->word)->bits > bits;
    if (raises && accel_plan_recommends(least) && accel_plan_is_users(choice->decision.setting)) {
        accel_plan_add_unhonored(plan, &plan->shape_unhonored, least, 0,
                                 accel_plan_text(plan, "%s=%s is requested", choice->decision.setting->key,
                                                 choice->decision.setting->value));
    } else if (raises) {
        accel_plan_add_unhonored(
            plan, &plan->shape_unhonored, choice->decision.setting, 0,
            accel_plan_text(plan, "weights.least=%s is the floor (%s)", least->value, least->place));
        choice->decision = (struct decision){least, "no matrix gets fewer bits"};
        choice->reason = choice->decision.reason;
        is_mixed = false;
    }
    asked = accel_plan_group(&values->weights_group, find_word(choice->decision.setting->word)->group);
    choice->id = is_mixed ? type_in_mix(s, weight, choice->decision.setting)
                          : id_of(choice->decision.setting->word, asked, asymmetric, weight->columns);
    if (!type_of_file(choice->id, &choice->type))
        return accel_error_set(s->error, ACCEL_E_INTERNAL, "no type is called %s", choice->decision.setting->value);
    if (!is_mixed && !is_block(&choice->type) && find_word(choice->decision.setting->word)->bits < 16)
        choice->reason =
            accel_plan_text(plan, "f16 for rows of %" PRIu64 ": no group of 32 or more divides them", weight->columns);
    /* A weight with as many bits is not quantized again, which would cost accuracy and gain nothing. */
    if (choice->file.name[0] && !groups_are_given(plan) && choice->file.bits == choice->type.bits &&
        is_block(&choice->file) == is_block(&choice->type) &&
        (is_block(&choice->file) || strcmp(choice->file.name, choice->type.name) == 0)) {
        choice->type = choice->file;
        choice->id = weight->type;
        return ACCEL_OK;
    }
    choice->converted = strcmp(choice->file.name, choice->type.name) != 0;
    /* A recommendation never makes a file larger. A type that the device cannot read from the file has to change. */
    if (choice->converted && choice->file.name[0] &&
        (weight->wanted != ACCEL_TYPE_NONE || is_recommended(plan, choice->decision.setting))) {
        const char *why = NULL;
        if (weight->wanted != ACCEL_TYPE_NONE)
            why = accel_plan_text(plan, "experts stay %s: they are read from the file", choice->file.name);
        else if (is_vector(weight))
            why = "a run converts matrices alone, and neither norms nor biases";
        else if (accel_plan_type_bytes(&choice->type, weight->rows, weight->columns) >
                     accel_plan_type_bytes(&choice->file, weight->rows, weight->columns) &&
                 accel_plan_reads(plan, weight->type))
            why = accel_plan_text(plan, "a recommended type never makes weights larger: those in %s stay so",
                                  choice->file.name);
        if (why)
            return use_file_type(s, weight, choice, why);
    }
    if (!is_mixed && is_block(&choice->type) && choice->type.block_values < asked) {
        choice->reason =
            accel_plan_text(plan, "groups of %" PRIu32 " for rows of %" PRIu64 ": %" PRIu32 " does not divide them",
                            choice->type.block_values, weight->columns, asked);
        if (accel_plan_is_users(&values->weights_group))
            accel_plan_add_unhonored(plan, &plan->shape_unhonored, &values->weights_group, 0, choice->reason);
    }
    return fit_type_to_device(s, weight, choice);
}

/* Applies the type that the caller determined from the settings of stepping. */
static int32_t apply_wanted_type(struct accel_shape_planner *s, const struct accel_sketch_weight *weight,
                                 const struct accel_profile_setting *setting, struct choice *choice)
{
    if (!type_of_file(weight->wanted, &choice->type) || !accel_plan_reads(s->plan, weight->wanted))
        return accel_error_set(s->error, ACCEL_E_INVALID, "%s: weight %.200s: the device reads no type 0x%" PRIx32,
                               s->shapes->origin, weight->name, weight->wanted);
    choice->id = weight->wanted;
    choice->converted = weight->wanted != weight->type;
    choice->decision = (struct decision){setting, ""};
    choice->reason = "stepped from the type that the other settings decide";
    return ACCEL_OK;
}

static int32_t choose_type(struct accel_shape_planner *s, const struct accel_sketch_weight *weight,
                           struct choice *choice)
{
    const struct accel_setting_values *values = s->plan->settings->values;
    const struct accel_profile_setting *least = &values->weights_least;
    const struct accel_profile_setting *stepping =
        values->precision_dynamic.number ? &values->precision_dynamic : &values->precision_tolerance;
    memset(choice, 0, sizeof(*choice));
    s->has_head |= strcmp(weight->role, "head") == 0;
    if (!type_of_file(weight->type, &choice->file) && weight->type != ACCEL_TYPE_NONE)
        return accel_error_set(s->error, ACCEL_E_INVALID, "%s: weight %.200s has the unknown type 0x%" PRIx32,
                               s->shapes->origin, weight->name, weight->type);
    if (weight->wanted != ACCEL_TYPE_NONE && (stepping->number || weight->wanted != weight->type))
        return apply_wanted_type(s, weight, stepping, choice);
    find_decision(s->plan, weight, &choice->decision);
    choice->reason = choice->decision.reason;
    s->by_type |= choice->decision.setting == &values->weights_type;
    if (choice->decision.setting && gives_type(s, weight, choice->decision.setting))
        return apply_setting(s, weight, choice);
    choice->decision.setting = NULL;
    choice->type = choice->file;
    choice->id = weight->type;
    choice->reason = "as in the file";
    if (choice->file.name[0] && !is_vector(weight) && choice->file.bits < find_word(least->word)->bits)
        accel_plan_add_unhonored(s->plan, &s->plan->shape_unhonored, least, 0,
                                 accel_plan_text(s->plan,
                                                 "matrices that are %s in the file stay so, as more bits do "
                                                 "not restore accuracy",
                                                 choice->file.name));
    if (choice->file.name[0] == '\0') {
        type_of_file(is_vector(weight) ? ACCEL_F32 : ACCEL_F16, &choice->type);
        choice->reason = "no file was read: the usual type";
    }
    return ACCEL_OK;
}

/* ---- parts ---- */

static bool same_part(const struct accel_plan_part *part, const struct accel_sketch_weight *weight,
                      const struct choice *choice, const char *place)
{
    return strcmp(part->component, weight->component) == 0 && strcmp(part->role, weight->role) == 0 &&
           strcmp(part->type_name, choice->type.name) == 0 && strcmp(part->file_type, choice->file.name) == 0 &&
           strcmp(part->place, place) == 0;
}

static int32_t add_to_parts(struct accel_shape_planner *s, const struct accel_sketch_weight *weight,
                            const struct choice *choice, uint64_t bytes)
{
    struct accel_plan *plan = s->plan;
    const struct accel_profile_setting *setting = choice->decision.setting;
    const char *place = setting ? setting->place : s->shapes->origin;
    uint64_t elements = accel_plan_multiply(weight->rows, weight->columns);
    struct accel_plan_part *part = NULL;
    for (uint32_t i = 0; i < plan->parts.count && !part; i++)
        if (same_part(plan->parts.items[i], weight, choice, place))
            part = plan->parts.items[i];
    if (part == NULL) {
        struct accel_plan_part fresh = {
            .size = sizeof(fresh),
            .component = accel_plan_text(plan, "%s", weight->component),
            .role = accel_plan_text(plan, "%s", weight->role),
            .type_name = accel_plan_text(plan, "%s", choice->type.name),
            .file_type = accel_plan_text(plan, "%s", choice->file.name),
            .place = accel_plan_text(plan, "%s", place),
            .reason = setting ? accel_plan_text(plan, "%s=%s%s%s%s%s", setting->key, setting->value,
                                                *choice->reason ? ": " : "", choice->reason,
                                                *setting->reason ? "; " : "", setting->reason)
                              : choice->reason,
        };
        accel_plan_append(plan, &plan->parts, &fresh, sizeof(fresh));
        if (plan->out_of_memory)
            return ACCEL_E_MEMORY;
        part = plan->parts.items[plan->parts.count - 1];
    }
    part->count++;
    part->elements = accel_plan_add(part->elements, elements);
    part->bytes = accel_plan_add(part->bytes, bytes);
    part->bits_per_weight = part->elements ? (double)part->bytes * 8 / (double)part->elements : 0;
    return ACCEL_OK;
}

/* Adds the record of one weight. */
static void add_weight(struct accel_shape_planner *s, const struct accel_sketch_weight *weight,
                       const struct choice *choice, uint64_t bytes)
{
    struct accel_plan_weight row = {.size = sizeof(row),
                                    .converted = choice->converted && choice->file.name[0],
                                    .type = choice->id,
                                    .file_type = weight->type,
                                    .bytes = bytes,
                                    .name = accel_plan_text(s->plan, "%s", weight->name)};
    s->plan->converted += row.converted;
    s->plan->converted_vectors += row.converted && is_vector(weight);
    s->grouped += choice->converted && is_block(&choice->type) && choice->decision.setting->word != ACCEL_WORD_OTHER;
    accel_plan_append(s->plan, &s->plan->weights, &row, sizeof(row));
}

/* Lists settings without effect: group settings if no weight is converted to a grouped type, types of
 * precision.adaptive if that is off, that of a head which the model does not have, and settings of the user for the KV
 * cache that others leave without effect. */
static void note_idle(struct accel_shape_planner *s)
{
    const struct accel_setting_values *values = s->plan->settings->values;
    static const char no_groups[] = "no weight is converted to a type with groups";
    const bool has_kv_groups = s->keys.block_values > 1 || s->values.block_values > 1;
    const bool is_full = values->kv_window.word != ACCEL_WORD_OFF || values->kv_full.word != ACCEL_WORD_STOP;
    const struct {
        const struct accel_profile_setting *setting;
        bool is_idle;
        const char *reason;
    } rows[] = {
        {&values->weights_group, s->grouped == 0 && values->weights_group.word != ACCEL_WORD_AUTO, no_groups},
        {&values->weights_scheme, s->grouped == 0, no_groups},
        {&values->precision_default, values->precision_adaptive.number == 0, "precision.adaptive is false"},
        {&values->precision_critical, values->precision_adaptive.number == 0, "precision.adaptive is false"},
        {&values->role_head,
         accel_plan_is_users(&values->role_head) && values->role_head.word != ACCEL_WORD_AUTO && !s->has_head,
         "no matrix is a head; a tied one has role.embedding"},
        {&values->kv_group,
         accel_plan_is_users(&values->kv_group) && values->kv_group.word != ACCEL_WORD_AUTO && !has_kv_groups,
         "neither keys nor values are cached in a type with groups (kv.type)"},
        {&values->kv_sinks, accel_plan_is_users(&values->kv_sinks) && !is_full,
         "no token leaves the cache: kv.window is off and kv.full is stop"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].is_idle && rows[i].setting->layer != ACCEL_LAYER_BUILTIN)
            accel_plan_add_unhonored(s->plan, &s->plan->shape_unhonored, rows[i].setting, 0, rows[i].reason);
    if (values->weights_type.word != ACCEL_WORD_AUTO && !s->by_type)
        accel_plan_add_unhonored(s->plan, &s->plan->shape_unhonored, &values->weights_type, 0,
                                 "settings for components, roles or precision decide about every matrix");
}

/* Returns whether a component has an output projection. Else its token embedding is one, and a step reads all of it. */
static bool has_head(const struct accel_sketch *shapes, const char *component)
{
    for (uint32_t i = 0; i < shapes->weight_count; i++)
        if (strcmp(shapes->weights[i].role, "head") == 0 && strcmp(shapes->weights[i].component, component) == 0)
            return true;
    return false;
}

/* Sums the token embeddings of which a step reads single rows, and the weights that a decode step reads: those of
 * components with a KV cache. */
static void sum_step_weights(struct accel_shape_planner *s)
{
    for (uint32_t c = 0; c < s->shapes->component_count; c++) {
        const struct accel_sketch_component *component = &s->shapes->components[c];
        bool looked_up = has_head(s->shapes, component->name);
        for (uint32_t i = 0; i < s->shapes->weight_count; i++) {
            const struct accel_sketch_weight *weight = &s->shapes->weights[i];
            const uint64_t *rows = ACCEL_HAS(s->shapes, step_rows) ? s->shapes->step_rows : NULL;
            uint64_t read = rows == NULL || rows[i] > weight->rows ? weight->rows : rows[i];
            if (strcmp(weight->component, component->name) != 0)
                continue;
            if (looked_up && strcmp(weight->role, "embedding") == 0)
                s->tables = accel_plan_add(s->tables, s->weight_bytes[i]);
            else if (component->cached && s->has_kv_cache) {
                s->step_weights = accel_plan_add(s->step_weights, read ? s->weight_bytes[i] / weight->rows * read : 0);
                /* Prefill computes logits for the last token alone. */
                if (strcmp(weight->role, "head") != 0 && strcmp(weight->role, "embedding") != 0)
                    s->step_elements = accel_plan_add(s->step_elements, accel_plan_multiply(read, weight->columns));
            }
        }
    }
}

int32_t accel_shape_plan_choose_types(struct accel_shape_planner *s)
{
    int32_t code = ACCEL_OK;
    s->weight_bytes = accel_arena_array(&s->plan->arena, s->shapes->weight_count, sizeof(*s->weight_bytes));
    if (s->weight_bytes == NULL)
        return accel_error_no_memory(s->error, "for a plan");
    for (uint32_t i = 0; i < s->shapes->weight_count && code == ACCEL_OK; i++) {
        const struct accel_sketch_weight *weight = &s->shapes->weights[i];
        struct choice choice;
        uint64_t bytes;
        code = choose_type(s, weight, &choice);
        if (code != ACCEL_OK)
            break;
        bytes = accel_plan_type_bytes(&choice.type, weight->rows, weight->columns);
        if (bytes == UINT64_MAX)
            return accel_error_set(s->error, ACCEL_E_INVALID,
                                   "%s: weight %.200s of %" PRIu64 " x %" PRIu64 " cannot be %s", s->shapes->origin,
                                   weight->name, weight->rows, weight->columns, choice.type.name);
        s->weight_bytes[i] = bytes;
        s->weights = accel_plan_add(s->weights, bytes);
        add_weight(s, weight, &choice, bytes);
        code = add_to_parts(s, weight, &choice, bytes);
    }
    if (code != ACCEL_OK)
        return code;
    sum_step_weights(s);
    note_idle(s);
    return ACCEL_OK;
}
