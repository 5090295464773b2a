/* SPDX-License-Identifier: Apache-2.0 */
/* The type of every weight: role before component before adaptive precision before weights.type before the file. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/graph/types.h"
#include "core/plan/sketch.h"

/** Why a weight gets its type. */
struct decision {
    const struct accel_profile_setting *setting; /* NULL: the file */
    const char *word;                            /* its value */
    const char *because;
};

/** What one weight comes to. */
struct choice {
    struct accel_plan_type type;
    struct accel_plan_type file; /* name empty: not known */
    uint32_t id;                 /* of `type`; ACCEL_TYPE_NONE: no file and no driver knows it */
    struct decision decision;
    const char *because;
    bool converted;
};

/* ---- types by name ---- */

static const struct {
    const char *word;
    uint32_t bits;
    uint32_t bytes; /* 0: it has groups */
} words[] = {
    {"f32", 32, 4}, {"f16", 16, 2}, {"bf16", 16, 2}, {"q8", 8, 0},       {"q4", 4, 0},
    {"q3", 3, 0},   {"q2", 2, 0},   {"nf4", 4, 0},   {"cluster4", 4, 0},
};

static uint32_t bits_of_word(const char *word)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i].word, word) == 0)
            return words[i].bits;
    return 0;
}

/* The first number in a text: 4 of "q4_1", 16 of "bf16"; 0 without one. */
static uint32_t number_in(const char *text)
{
    uint32_t number = 0;
    text += strcspn(text, "0123456789");
    for (; *text >= '0' && *text <= '9' && number < 10000; text++)
        number = number * 10 + (uint32_t)(*text - '0');
    return number;
}

static uint32_t dividing_group(uint32_t group, uint64_t columns)
{
    while (group >= 32 && columns % group != 0)
        group /= 2;
    return group >= 32 ? group : 0;
}

static void plain(const char *word, uint32_t bytes, struct accel_plan_type *out)
{
    *out = (struct accel_plan_type){.block_values = 1, .block_bytes = bytes, .bits = bytes * 8};
    snprintf(out->name, sizeof(out->name), "%s", word);
}

bool accel_plan_type_of(const char *word, uint32_t group, uint32_t asymmetric, uint64_t columns,
                        struct accel_plan_type *out_type)
{
    size_t i = 0;
    while (i < sizeof(words) / sizeof(words[0]) && strcmp(words[i].word, word) != 0)
        i++;
    if (i == sizeof(words) / sizeof(words[0]))
        return false;
    if (words[i].bytes) {
        plain(word, words[i].bytes, out_type);
        return true;
    }
    *out_type = (struct accel_plan_type){.block_values = 1, .bits = words[i].bits};
    group = dividing_group(group, columns);
    if (group == 0) {
        plain("f16", 2, out_type);
        return true;
    }
    /* The levels of nf4 are the same for all, those of clusters belong to a row: a scale for each group alone. */
    asymmetric = asymmetric && *word == 'q';
    out_type->block_values = group;
    out_type->block_bytes = group / 8 * out_type->bits + 2 + asymmetric;
    out_type->row_bytes = *word == 'c' ? 32 : 0;
    snprintf(out_type->name, sizeof(out_type->name), "%s_g%" PRIu32 "%s", *word == 'c' ? "c4" : word, group,
             asymmetric ? "a" : "");
    return true;
}

uint32_t accel_plan_group(const struct accel_plan *plan, const char *key, uint32_t otherwise)
{
    uint32_t group = number_in(accel_plan_value(plan, key)->value);
    return group ? group : otherwise;
}

uint64_t accel_plan_type_bytes(const struct accel_plan_type *type, uint64_t rows, uint64_t columns)
{
    uint64_t blocks = columns / type->block_values;
    if (columns % type->block_values != 0)
        return UINT64_MAX;
    return accel_plan_multiply(rows, accel_plan_add(accel_plan_multiply(blocks, type->block_bytes), type->row_bytes));
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
    out->bits = number_in(out->name);
    return true;
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

static const char *key_of_role(const char *role)
{
    static const char *const keys[][2] = {
        {"embedding", "role.embedding"},     {"attention.q", "role.attention.q"}, {"attention.k", "role.attention.k"},
        {"attention.v", "role.attention.v"}, {"attention.o", "role.attention.o"}, {"ffn.up", "role.ffn.up"},
        {"ffn.gate", "role.ffn.up"},         {"ffn.down", "role.ffn.down"},       {"head", "role.head"},
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (strcmp(keys[i][0], role) == 0)
            return keys[i][1];
    return NULL;
}

static const char *key_of_component(const char *component)
{
    static const char *const keys[][2] = {
        {"vision", "vision.type"}, {"text", "text.type"},        {"language", "language.type"},
        {"audio", "audio.type"},   {"decoder", "language.type"},
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (strcmp(keys[i][0], component) == 0)
            return keys[i][1];
    return NULL;
}

static bool is_critical(const char *role)
{
    return strncmp(role, "attention.", 10) == 0 || strcmp(role, "embedding") == 0 || strcmp(role, "head") == 0;
}

/* Takes the setting unless it leaves the type to a weaker one. */
static bool decides(const struct accel_plan *plan, const char *key, struct decision *out)
{
    const struct accel_profile_setting *setting = key ? accel_plan_value(plan, key) : NULL;
    if (setting == NULL || strcmp(setting->value, "auto") == 0)
        return false;
    *out = (struct decision){setting, setting->value, ""};
    return true;
}

static void decide(const struct accel_plan *plan, const struct accel_sketch_weight *weight, struct decision *out)
{
    *out = (struct decision){NULL, NULL, ""};
    if (is_vector(weight)) {
        decides(plan, "role.norm", out);
        return;
    }
    if (decides(plan, key_of_role(weight->role), out) || decides(plan, key_of_component(weight->component), out))
        return;
    if (accel_plan_value(plan, "precision.adaptive")->number) {
        bool critical = is_critical(weight->role);
        decides(plan, critical ? "precision.critical" : "precision.default", out);
        out->because = critical ? "critical, and precision.adaptive is on" : "precision.adaptive is on";
        return;
    }
    decides(plan, "weights.type", out);
}

/* ---- what it comes to ---- */

/* The caller has fixed how groups look, so that nothing else will do. */
static bool groups_are_given(const struct accel_plan *plan)
{
    return accel_plan_value(plan, "weights.group")->layer >= ACCEL_PROFILE_ENVIRONMENT ||
           accel_plan_value(plan, "weights.scheme")->layer >= ACCEL_PROFILE_ENVIRONMENT;
}

/* The block format of files that is as good as a word says, or ACCEL_TYPE_NONE: a device may read these and no planar
 * ones. */
static uint32_t interleaved_of(const struct accel_plan *plan, const struct accel_plan_type *wanted, uint64_t columns)
{
    static const struct {
        char word[3];
        uint32_t asymmetric;
        uint32_t type;
    } rows[] = {{"q8", 0, ACCEL_Q8_0}, {"q4", 0, ACCEL_Q4_0}, {"q4", 1, ACCEL_Q4_1}};
    uint32_t asymmetric = wanted->name[strlen(wanted->name) - 1] == 'a';
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strncmp(rows[i].word, wanted->name, 2) == 0 && rows[i].asymmetric == asymmetric && columns % 32 == 0 &&
            accel_plan_reads(plan, rows[i].type))
            return rows[i].type;
    return ACCEL_TYPE_NONE;
}

/* The scheme of a planar type by its name: "q4_g128a", "nf4_g64", "c4_g128". */
static uint32_t scheme_of(const char *name)
{
    if (name[0] == 'q')
        return name[strlen(name) - 1] == 'a' ? ACCEL_SCHEME_ASYMMETRIC : ACCEL_SCHEME_SYMMETRIC;
    return name[0] == 'n' ? ACCEL_SCHEME_NF4 : ACCEL_SCHEME_CODEBOOK;
}

/* The id of a type that accel_plan_type_of made. */
static uint32_t id_of(const struct accel_plan_type *type)
{
    uint32_t log2_group = 0;
    if (!is_block(type))
        return strcmp(type->name, "f32") == 0 ? ACCEL_F32 : strcmp(type->name, "f16") == 0 ? ACCEL_F16 : ACCEL_BF16;
    while (1u << log2_group < type->block_values)
        log2_group++;
    return ACCEL_PLANAR(type->bits, log2_group, scheme_of(type->name));
}

/* Once for all weights: each has its own reason beside it. */
static int32_t note_file_type(struct accel_plan *plan, const struct choice *choice, const char *wanted,
                              struct accel_error *error)
{
    static const char policy[] = "fallback.precision";
    for (uint32_t i = 0; i < plan->notes.count; i++)
        if (strcmp(((const struct accel_plan_note *)plan->notes.items[i])->key, policy) == 0)
            return ACCEL_OK;
    return accel_plan_add_note(plan, ACCEL_NOTE_WARN, policy, "", error,
                               "weights stay %s, not %s: %s reads no %s; %s is %s", choice->type.name, wanted,
                               plan->device->info.name, wanted, policy, accel_plan_value(plan, policy)->value);
}

/* A type that the device's matrices cannot read: another form of the same bits, or what the policy says. */
static int32_t suit_device(struct accel_sketcher *s, const struct accel_sketch_weight *weight, struct choice *choice)
{
    struct accel_plan *plan = s->plan;
    uint32_t other = ACCEL_TYPE_NONE;
    const struct accel_profile_setting *policy = accel_plan_value(plan, "fallback.precision");
    char wanted[24];
    choice->id = id_of(&choice->type);
    if (is_vector(weight) || accel_plan_reads(plan, choice->id))
        return ACCEL_OK;
    memcpy(wanted, choice->type.name, sizeof(wanted));
    if (is_block(&choice->type) && !groups_are_given(plan))
        other = interleaved_of(plan, &choice->type, weight->columns);
    if (other != ACCEL_TYPE_NONE && type_of_file(other, &choice->type)) {
        choice->id = other;
        choice->because =
            accel_plan_text(plan, "%s%s%s reads %s, and no %s", choice->because, *choice->because ? "; " : "",
                            plan->device->info.name, choice->type.name, wanted);
        return choice->because ? ACCEL_OK : accel_plan_no_memory(s->error);
    }
    if (strcmp(policy->value, "deny") == 0 || choice->file.name[0] == '\0') {
        accel_error_set(s->error, ACCEL_E_FALLBACK, "%s: %s=%s: matrices of %s do not read %s (weight %.120s)",
                        choice->decision.setting->place, choice->decision.setting->key, choice->decision.word,
                        plan->device->info.name, wanted, weight->name);
        accel_error_remedy(s->error, "leave %s at auto, or set fallback.precision to warn or allow",
                           choice->decision.setting->key);
        return ACCEL_E_FALLBACK;
    }
    choice->type = choice->file;
    choice->id = weight->type;
    choice->converted = false;
    choice->because = accel_plan_text(plan, "as in the file: %s does not read %s, and fallback.precision is %s",
                                      plan->device->info.name, wanted, policy->value);
    return choice->because ? note_file_type(plan, choice, wanted, s->error) : accel_plan_no_memory(s->error);
}

static int32_t convert(struct accel_sketcher *s, const struct accel_sketch_weight *weight, struct choice *choice)
{
    struct accel_plan *plan = s->plan;
    const struct accel_profile_setting *least = accel_plan_value(plan, "weights.least");
    bool asymmetric = strcmp(accel_plan_value(plan, "weights.scheme")->value, "asymmetric") == 0;
    uint32_t asked = accel_plan_group(plan, "weights.group", 128);
    if (!is_vector(weight) && bits_of_word(least->value) > bits_of_word(choice->decision.word)) {
        choice->decision = (struct decision){least, least->value, "no matrix gets fewer bits"};
        choice->because = choice->decision.because;
    }
    if (!accel_plan_type_of(choice->decision.word, asked, asymmetric, weight->columns, &choice->type))
        return accel_error_set(s->error, ACCEL_E_INTERNAL, "no type is called %s", choice->decision.word);
    /* What has as many bits already is not quantized a second time, which would cost accuracy and gain nothing. */
    if (choice->file.name[0] && !groups_are_given(plan) && choice->file.bits == choice->type.bits &&
        is_block(&choice->file) == is_block(&choice->type) &&
        (is_block(&choice->file) || strcmp(choice->file.name, choice->type.name) == 0)) {
        choice->type = choice->file;
        choice->id = weight->type;
        return ACCEL_OK;
    }
    choice->converted = strcmp(choice->file.name, choice->type.name) != 0;
    if (!is_block(&choice->type) && bits_of_word(choice->decision.word) < 16)
        choice->because =
            accel_plan_text(plan, "f16: no group of 32 or more divides rows of %" PRIu64, weight->columns);
    else if (is_block(&choice->type) && choice->type.block_values < asked)
        choice->because = accel_plan_text(plan, "groups of %" PRIu32 ": %" PRIu32 " does not divide rows of %" PRIu64,
                                          choice->type.block_values, asked, weight->columns);
    if (choice->because == NULL)
        return accel_plan_no_memory(s->error);
    return suit_device(s, weight, choice);
}

/* The caller has found the type, under the settings of stepping. */
static int32_t take_wanted(struct accel_sketcher *s, const struct accel_sketch_weight *weight, struct choice *choice)
{
    const char *key =
        accel_plan_value(s->plan, "precision.dynamic")->number ? "precision.dynamic" : "precision.tolerance";
    if (!type_of_file(weight->wanted, &choice->type))
        return accel_error_set(s->error, ACCEL_E_INVALID, "%s: weight %.200s wants the unknown type 0x%" PRIx32,
                               s->sketch->origin, weight->name, weight->wanted);
    choice->id = weight->wanted;
    choice->converted = weight->wanted != weight->type;
    choice->decision = (struct decision){accel_plan_value(s->plan, key), accel_plan_value(s->plan, key)->value, ""};
    choice->because = "stepped from what the other settings say";
    return ACCEL_OK;
}

static int32_t choose(struct accel_sketcher *s, const struct accel_sketch_weight *weight, struct choice *choice)
{
    memset(choice, 0, sizeof(*choice));
    if (!type_of_file(weight->type, &choice->file) && weight->type != ACCEL_TYPE_NONE)
        return accel_error_set(s->error, ACCEL_E_INVALID, "%s: weight %.200s has the unknown type 0x%" PRIx32,
                               s->sketch->origin, weight->name, weight->type);
    if (weight->wanted != ACCEL_TYPE_NONE)
        return take_wanted(s, weight, choice);
    decide(s->plan, weight, &choice->decision);
    choice->because = choice->decision.because;
    if (choice->decision.setting)
        return convert(s, weight, choice);
    choice->type = choice->file;
    choice->id = weight->type;
    choice->because = "as in the file";
    if (choice->file.name[0] == '\0') {
        plain(is_vector(weight) ? "f32" : "f16", is_vector(weight) ? 4 : 2, &choice->type);
        choice->because = "no file was read: the usual type";
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

static int32_t add_to_parts(struct accel_sketcher *s, const struct accel_sketch_weight *weight,
                            const struct choice *choice, uint64_t bytes)
{
    struct accel_plan *plan = s->plan;
    const struct accel_profile_setting *setting = choice->decision.setting;
    const char *place = setting ? setting->place : s->sketch->origin;
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
            .because = setting ? accel_plan_text(plan, "%s=%s%s%s%s%s", setting->key, choice->decision.word,
                                                 *choice->because ? ": " : "", choice->because,
                                                 *setting->because ? "; " : "", setting->because)
                               : choice->because,
        };
        if (!fresh.component || !fresh.role || !fresh.type_name || !fresh.file_type || !fresh.place || !fresh.because ||
            !accel_plan_rows_add(plan, &plan->parts, &fresh, sizeof(fresh)))
            return accel_plan_no_memory(s->error);
        part = plan->parts.items[plan->parts.count - 1];
    }
    part->count++;
    part->elements = accel_plan_add(part->elements, elements);
    part->bytes = accel_plan_add(part->bytes, bytes);
    part->bits_per_weight = part->elements ? (double)part->bytes * 8 / (double)part->elements : 0;
    return ACCEL_OK;
}

/* Writes down one weight. */
static int32_t add_weight(struct accel_sketcher *s, const struct accel_sketch_weight *weight,
                          const struct choice *choice, uint64_t bytes)
{
    struct accel_plan_weight row = {.size = sizeof(row),
                                    .converted = choice->converted && choice->file.name[0],
                                    .type = choice->id,
                                    .file_type = weight->type,
                                    .bytes = bytes,
                                    .name = accel_plan_text(s->plan, "%s", weight->name)};
    s->converted += row.converted;
    s->converted_vectors += row.converted && is_vector(weight);
    if (!row.name || !accel_plan_rows_add(s->plan, &s->plan->weights, &row, sizeof(row)))
        return accel_plan_no_memory(s->error);
    return ACCEL_OK;
}

/* One line for all weights that a run cannot use as they are in the file. */
static int32_t note_conversion(struct accel_sketcher *s)
{
    if (s->converted == 0)
        return ACCEL_OK;
    return accel_plan_add_note(s->plan, ACCEL_NOTE_WARN, "weights.type",
                               "accelctl quantize makes a file with the types of the plan, once for all runs", s->error,
                               "%" PRIu32 " of %" PRIu32 " weights are not in the file as the plan has them: each run "
                               "converts them when it loads",
                               s->converted, s->sketch->weight_count);
}

/* Without a matrix of its own the head of a component is its table of tokens, and a step reads all of it. */
static bool has_head(const struct accel_sketch *sketch, const char *component)
{
    for (uint32_t i = 0; i < sketch->weight_count; i++)
        if (strcmp(sketch->weights[i].role, "head") == 0 && strcmp(sketch->weights[i].component, component) == 0)
            return true;
    return false;
}

/* Tables of which a step reads single rows, and what a step that writes a token reads: the components that cache. */
static void sum_steps(struct accel_sketcher *s)
{
    for (uint32_t c = 0; c < s->sketch->component_count; c++) {
        const struct accel_sketch_component *component = &s->sketch->components[c];
        bool looked_up = has_head(s->sketch, component->name);
        for (uint32_t i = 0; i < s->sketch->weight_count; i++) {
            const struct accel_sketch_weight *weight = &s->sketch->weights[i];
            if (strcmp(weight->component, component->name) != 0)
                continue;
            if (looked_up && strcmp(weight->role, "embedding") == 0)
                s->tables = accel_plan_add(s->tables, s->weight_bytes[i]);
            else if (component->cached && s->kept)
                s->step_weights = accel_plan_add(s->step_weights, s->weight_bytes[i]);
        }
    }
}

int32_t accel_sketch_types(struct accel_sketcher *s)
{
    int32_t code = ACCEL_OK;
    s->weight_bytes = accel_arena_array(&s->plan->arena, s->sketch->weight_count, sizeof(*s->weight_bytes));
    if (s->weight_bytes == NULL)
        return accel_plan_no_memory(s->error);
    for (uint32_t i = 0; i < s->sketch->weight_count && code == ACCEL_OK; i++) {
        const struct accel_sketch_weight *weight = &s->sketch->weights[i];
        struct choice choice;
        uint64_t bytes;
        code = choose(s, weight, &choice);
        if (code != ACCEL_OK)
            break;
        bytes = accel_plan_type_bytes(&choice.type, weight->rows, weight->columns);
        if (bytes == UINT64_MAX)
            return accel_error_set(s->error, ACCEL_E_INVALID,
                                   "%s: weight %.200s of %" PRIu64 " x %" PRIu64 " cannot be %s", s->sketch->origin,
                                   weight->name, weight->rows, weight->columns, choice.type.name);
        s->weight_bytes[i] = bytes;
        s->weights = accel_plan_add(s->weights, bytes);
        code = add_weight(s, weight, &choice, bytes);
        if (code == ACCEL_OK)
            code = add_to_parts(s, weight, &choice, bytes);
    }
    if (code != ACCEL_OK)
        return code;
    sum_steps(s);
    return note_conversion(s);
}
