/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/quantize/choose.h"

#include <fnmatch.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "model/describe/internal.h"
#include "model/describe/mix.h"
#include "model/file/json.h"
#include "model/file/rows.h"

/* general.file_type if no name fits: readers guess. */
#define FILE_TYPE_GUESSED 1024u

#define CONFIG_BYTES_MAX ((uint64_t)64 << 20)
#define CONFIG_DEPTH 64u

/* Types that GGUF can store and accel can write, with the general.file_type of files whose matrices mostly have that
 * type. */
static const struct target {
    const char *shown;
    uint32_t type;
    uint32_t number;
} targets[] = {
#define TARGET_READ(...)
#define TARGET_ENCODED(...)
#define TARGET_WRITTEN(...) {__VA_ARGS__},
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, group, code, number, file_type, narrow, use, cache)            \
    TARGET_##use(#ID, ACCEL_##ID, file_type)
#include <accel/quant/formats.def>
};
#define TARGETS (sizeof(targets) / sizeof(targets[0]))

static const struct target *find_target(uint32_t type)
{
    for (size_t i = 0; i < TARGETS; i++)
        if (targets[i].type == type)
            return &targets[i];
    return NULL;
}

uint32_t quantize_file_type(uint32_t type)
{
    const struct target *target = find_target(type);
    return target == NULL ? FILE_TYPE_GUESSED : target->number;
}

/* ---- words ---- */

/* Type names completed by a group, and some by a scheme; `group` is the default. */
static const struct {
    const char *word;
    const char *begin; /* of the whole name */
    uint32_t group;
    uint32_t schemes; /* 1: there are two */
} bare_types[] = {
    {"q8", "q8", 128, 1},
    {"q4", "q4", 128, 1},
    {"q3", "q3", 128, 1},
    {"q2", "q2", 64, 1},
    {"nf4", "nf4", 64, 0},
    {"f8", "f8", 128, 0},
    {"c4", "c4", ACCEL_QUANTIZE_GROUP_ROW, 0},
    {"cluster4", "c4", ACCEL_QUANTIZE_GROUP_ROW, 0},
};
#define BARE_TYPES (sizeof(bare_types) / sizeof(bare_types[0]))

static int32_t refuse_type(const char *word, const char *what, struct accel_error *error)
{
    char known[160];
    size_t used = 0;
    for (size_t i = 0; i < TARGETS && used < sizeof(known); i++)
        used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i == 0 ? "" : ", ", targets[i].shown);
    accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s \"%.40s\" is no type that can be written", what,
                    word == NULL ? "" : word);
    accel_error_remedy(
        error,
        "one of %s; or q2, q3, q4, q8, nf4, c4 or f8 in groups of 32 to 512 or of a row, as q4_g128, q4_g128a "
        "(with zero points), nf4_g64, c4_row",
        known);
    return accel_error_origin(error, ACCEL_FROM_SETTING, ACCEL_E_UNSUPPORTED);
}

static uint32_t complete(size_t bare, const struct accel_quantize_options *options)
{
    const bool asymmetric = options->scheme != NULL && strcmp(options->scheme, "asymmetric") == 0;
    const uint32_t values = options->group == 0 ? bare_types[bare].group : options->group;
    char name[24], group[16] = "row";
    if (values != ACCEL_QUANTIZE_GROUP_ROW)
        snprintf(group, sizeof(group), "g%u", values);
    snprintf(name, sizeof(name), "%s_%s%s", bare_types[bare].begin, group,
             asymmetric && bare_types[bare].schemes ? "a" : "");
    return accel_format_find(name);
}

int32_t quantize_type_read(const char *word, const struct accel_quantize_options *options, const char *what,
                           uint32_t *out_type, struct accel_error *error)
{
    struct accel_format format;
    uint32_t type = word == NULL ? ACCEL_TYPE_NONE : accel_format_find(word);
    for (size_t i = 0; word != NULL && i < BARE_TYPES; i++)
        if (strcasecmp(bare_types[i].word, word) == 0)
            type = complete(i, options);
    if (accel_format_describe(type, &format) != ACCEL_OK ||
        (format.kind != ACCEL_FORMAT_PLANAR && find_target(type) == NULL))
        return refuse_type(word, what, error);
    *out_type = type;
    return ACCEL_OK;
}

/* ---- roles ---- */

/* Names of roles: a whole role, or its first or last word ("attention.q": attention, q). */
static const char *const roles_known[] = {"embedding", "attention", "q",    "k",    "v",    "o",   "ffn",
                                          "gate",      "up",        "down", "head", "norm", "conv"};
#define ROLES_KNOWN (sizeof(roles_known) / sizeof(roles_known[0]))

static bool same(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(text, word, length) == 0;
}

static bool role_fits(const struct quantize_role *rule, const char *role)
{
    const char *dot = strchr(role, '.');
    return same(rule->name, rule->length, role) ||
           (dot != NULL && (same(rule->name, rule->length, dot + 1) ||
                            (rule->length == (size_t)(dot - role) && strncmp(rule->name, role, rule->length) == 0)));
}

/* Returns whether a role is critical, as defined for profiles. */
static bool is_critical(const char *role)
{
    return strncmp(role, "attention.", 10) == 0 || strcmp(role, "embedding") == 0 || strcmp(role, "head") == 0;
}

static struct name_facts facts_of(const struct quantize_rules *rules, const struct accel_model_tensor *tensor)
{
    struct name_facts facts;
    name_read(tensor->name, rules->family, tensor->rank, &facts);
    return facts;
}

static int32_t read_role(const struct accel_model_file *file, const char *text, const struct quantize_rules *rules,
                         struct quantize_role *out_role, struct accel_error *error)
{
    const char *equals = text == NULL ? NULL : strchr(text, '='), *word = text;
    bool known = false, found = false;
    if (equals == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "role \"%.60s\" is not of the form ROLE=TYPE",
                               text == NULL ? "" : text);
    *out_role = (struct quantize_role){.name = text, .length = (size_t)(equals - text)};
    if (strncmp(text, "attention.", 10) == 0 || strncmp(text, "ffn.", 4) == 0)
        word = strchr(text, '.') + 1;
    for (size_t i = 0; i < ROLES_KNOWN; i++)
        known = known || same(word, (size_t)(equals - word), roles_known[i]);
    if (!known)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "role \"%.60s\" is none of embedding, attention, q, k, v, o, ffn, gate, up, down, head, "
                               "norm and conv",
                               text);
    for (uint64_t i = 0; i < accel_model_file_tensor_count(file) && !found; i++)
        found = role_fits(out_role, facts_of(rules, accel_model_file_tensor(file, i)).role);
    if (!found)
        return accel_error_set(error, ACCEL_E_INVALID, "%s: no tensor has the role of \"%.60s\"",
                               accel_model_file_path(file), text);
    return quantize_type_read(equals + 1, rules->options, "the type of a role", &out_role->type, error);
}

/* ---- the rules ---- */

/* Finds the family, which decides the meaning of some names; NULL if it cannot be read. */
static const struct family *family_of(const struct accel_model_file *file)
{
    const struct family *family = NULL;
    struct accel_model_text text;
    json_t *root = NULL;
    char *config = NULL;
    uint64_t length = 0;
    if (accel_model_file_format(file) == ACCEL_MODEL_GGUF) {
        if (accel_model_file_get_text(file, "general.architecture", &text, NULL) == ACCEL_OK)
            family = family_find(text.text);
    } else if (accel_model_file_sibling(file, "config.json", CONFIG_BYTES_MAX, &config, &length, NULL) == ACCEL_OK &&
               model_json_parse("config.json", 0, config, length, CONFIG_DEPTH, &root, NULL) == ACCEL_OK) {
        family = family_find(json_string_value(json_object_get(root, "model_type")));
    }
    json_decref(root);
    accel_model_text_free(config);
    return family != NULL ? family : family_guess("");
}

static int32_t check_groups(const struct accel_quantize_options *options, struct accel_error *error)
{
    const uint32_t group = options->group;
    if (group > ACCEL_QUANTIZE_GROUP_ROW && (group < 32 || group > 512 || (group & (group - 1)) != 0))
        return accel_error_set(error, ACCEL_E_INVALID, "group %u is none of 32, 64, 128, 256, 512 and the row", group);
    if (options->scheme != NULL && strcmp(options->scheme, "symmetric") != 0 &&
        strcmp(options->scheme, "asymmetric") != 0)
        return accel_error_set(error, ACCEL_E_INVALID, "scheme \"%.40s\" is neither symmetric nor asymmetric",
                               options->scheme);
    if (options->role_count > 0 && options->roles == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_quantize_options.roles is NULL");
    return ACCEL_OK;
}

int32_t quantize_rules_read(const struct accel_model_file *file, const struct accel_quantize_options *options,
                            struct quantize_rules *out_rules, struct accel_error *error)
{
    struct quantize_rules rules = {.options = options, .critical = ACCEL_TYPE_NONE};
    int32_t code = check_groups(options, error);
    if (code != ACCEL_OK)
        return code;
    rules.family = family_of(file);
    if (model_mix_is_known(options->type, (options->flags & ACCEL_QUANTIZE_MIX) != 0))
        code = model_mix_of_file(file, rules.family, options->type, options->id_count > 0, &rules.mix, error);
    if (code == ACCEL_OK && rules.mix != NULL)
        rules.type = model_mix_base(rules.mix);
    else if (code == ACCEL_OK)
        code = quantize_type_read(options->type, options, "type", &rules.type, error);
    if (code == ACCEL_OK && options->critical != NULL)
        code = quantize_type_read(options->critical, options, "the type of critical matrices", &rules.critical, error);
    if (code == ACCEL_OK)
        rules.roles = calloc((size_t)options->role_count + 1, sizeof(*rules.roles));
    if (code == ACCEL_OK && rules.roles == NULL)
        code = model_no_memory(error, accel_model_file_path(file), options->role_count * sizeof(*rules.roles));
    for (uint32_t i = 0; i < options->role_count && code == ACCEL_OK; i++)
        code = read_role(file, options->roles[i], &rules, &rules.roles[i], error);
    if (code == ACCEL_OK)
        *out_rules = rules;
    else
        quantize_rules_free(&rules);
    return code;
}

void quantize_rules_free(struct quantize_rules *rules)
{
    model_mix_free(rules->mix);
    free(rules->roles);
    rules->mix = NULL;
    rules->roles = NULL;
}

/* ---- one tensor ---- */

bool quantize_is_linear(const struct accel_model_tensor *tensor)
{
    return tensor->rank == 2 && fnmatch("*.layers.*_proj.weight", tensor->name, 0) == 0;
}

/* Returns whether a tensor is a matrix of a layer, by name or role: in folders only these get the requested type.
 * Readers of the GPTQ layout do not treat matrices of encoders as linear layers; these are stored in planes. */
static bool is_in_layer(const struct accel_model_tensor *tensor, const char *role)
{
    return quantize_is_linear(tensor) ||
           (tensor->rank == 2 && (strncmp(role, "attention.", 10) == 0 || strncmp(role, "ffn.", 4) == 0));
}

/* Returns whether a tensor of a folder is quantized without a rule of the user for it. A mix covers the token embedding
 * and the output projection as well, as in a GGUF file; readers of GPTQ's layout expect them unquantized. */
static bool is_quantized_in_folder(const struct quantize_rules *rules, const struct accel_model_tensor *tensor,
                                   const char *role)
{
    return is_in_layer(tensor, role) ||
           (rules->mix != NULL && (strcmp(role, "embedding") == 0 || strcmp(role, "head") == 0));
}

static bool is_decoded(const struct accel_model_tensor *tensor)
{
    struct model_rows rows;
    return model_rows_of(tensor, tensor->type, &rows) == ACCEL_OK;
}

const char quantize_on_request[] = "unchanged on request";

/* Returns why a tensor keeps its type whatever the rules are, or NULL. */
static const char *reason_to_keep(const struct accel_quantize_options *options, const struct accel_model_tensor *tensor)
{
    for (uint32_t i = 0; i < options->keep_count; i++)
        if (fnmatch(options->keep[i], tensor->name, 0) == 0)
            return quantize_on_request;
    if (model_tensor_elements(tensor) == 0)
        return "holds no values";
    return NULL;
}

/* Returns whether a matrix cannot have the type: groups of a transposed matrix would lie along its outputs, and the
 * matrices that a run makes of it have their groups along the inputs. */
static bool is_transposed_for(const struct name_facts *facts, uint32_t type)
{
    struct accel_format format;
    return facts->is_turned && (accel_format_describe(type, &format) != ACCEL_OK || format.kind != ACCEL_FORMAT_SCALAR);
}

/* Returns whether the file has the tensor in a quantized type, also if it is read as F16, BF16 or F32. */
static bool is_rounded(const struct accel_model_tensor *tensor)
{
    struct accel_format format;
    if (strcmp(tensor->stored_type, tensor->type_name) != 0)
        return true;
    return accel_format_describe(tensor->type, &format) == ACCEL_OK &&
           (format.kind != ACCEL_FORMAT_SCALAR || tensor->type == ACCEL_F8_E4M3 || tensor->type == ACCEL_F8_E5M2);
}

static bool is_wide(uint32_t type)
{
    return type == ACCEL_F32 || type == ACCEL_F16 || type == ACCEL_BF16;
}

/* Returns the type name that the rules give a tensor, or NULL with a reason. */
static const char *type_by_rules(const struct accel_quantize_job *job, const struct quantize_rules *rules,
                                 uint64_t index, const struct name_facts *facts, uint32_t *out_type)
{
    const struct accel_model_tensor *tensor = accel_model_file_tensor(job->file, index);
    const bool folder = accel_model_file_format(job->file) == ACCEL_MODEL_SAFETENSORS;
    *out_type = ACCEL_TYPE_NONE;
    for (uint32_t i = 0; i < rules->options->role_count; i++)
        if (role_fits(&rules->roles[i], facts->role))
            *out_type = rules->roles[i].type;
    /* Norms and biases of several heads or experts have rank 2; operators read vectors in these types. */
    if (tensor->rank < 2 || strcmp(facts->role, "norm") == 0) {
        if (*out_type == ACCEL_TYPE_NONE && is_rounded(tensor))
            *out_type = rules->type;
        return is_wide(*out_type) ? NULL : "no matrix";
    }
    if (*out_type == ACCEL_TYPE_NONE && is_critical(facts->role))
        *out_type = rules->critical;
    if (*out_type == ACCEL_TYPE_NONE && folder && !is_quantized_in_folder(rules, tensor, facts->role))
        return "no linear layer";
    if (*out_type == ACCEL_TYPE_NONE && rules->mix != NULL)
        return model_mix_type(rules->mix, index, out_type);
    if (*out_type == ACCEL_TYPE_NONE)
        *out_type = rules->type;
    return NULL;
}

static void name_type(struct accel_quantize_job *job, uint64_t index)
{
    const struct target *target = find_target(job->rows[index].to);
    accel_format_describe(job->rows[index].to, &job->formats[index]);
    job->rows[index].to_name = target != NULL ? target->shown : job->formats[index].name;
}

/* Records the requested type whose blocks do not divide the rows. */
static void name_requested(struct accel_quantize_job *job, uint64_t index, uint32_t type)
{
    const struct target *target = find_target(type);
    struct accel_format format = {0};
    accel_format_describe(type, &format);
    snprintf(job->wanted[index], sizeof(job->wanted[index]), "%s", target != NULL ? target->shown : format.name);
    job->rows[index].wanted_name = job->wanted[index];
    job->rows[index].reason = "rows are no whole number of blocks";
}

static void keep(struct accel_quantize_row *row, const struct accel_model_tensor *tensor, const char *reason)
{
    row->to = row->from;
    row->to_name = tensor->type_name;
    row->converted = 0;
    row->reason = reason;
    row->bytes = tensor->bytes;
}

static void choose(struct accel_quantize_job *job, const struct quantize_rules *rules, uint64_t index)
{
    const struct accel_model_tensor *tensor = accel_model_file_tensor(job->file, index);
    const struct name_facts facts = facts_of(rules, tensor);
    struct accel_quantize_row *row = &job->rows[index];
    const char *reason = reason_to_keep(rules->options, tensor);
    uint32_t type = ACCEL_TYPE_NONE;
    *row = (struct accel_quantize_row){.size = sizeof(*row),
                                       .from = tensor->type,
                                       .converted = 1,
                                       .from_name = tensor->stored_type,
                                       .rounded = is_rounded(tensor),
                                       .elements = model_tensor_elements(tensor),
                                       .name = tensor->name,
                                       .reason = "",
                                       .wanted_name = ""};
    if (reason == NULL && job->chosen != NULL && job->chosen[index] != ACCEL_TYPE_NONE)
        type = job->chosen[index];
    else if (reason == NULL)
        reason = type_by_rules(job, rules, index, &facts, &type);
    if (reason == NULL && is_transposed_for(&facts, type)) {
        reason = "stored transposed, with inputs first";
        job->transposed++;
        job->transposed_elements += row->elements;
    }
    if (reason == NULL && row->from == type)
        reason = "has that type";
    if (reason == NULL && !is_decoded(tensor))
        reason = "its type cannot be decoded";
    if (reason != NULL) {
        keep(row, tensor, reason);
        return;
    }
    row->to = model_narrow_type(type, model_tensor_width(tensor));
    if (row->to != type)
        name_requested(job, index, type);
    name_type(job, index);
    if (row->from == row->to)
        keep(row, tensor, row->reason);
}

bool quantize_is_free(const struct accel_quantize_job *job, const struct quantize_rules *rules, uint64_t index)
{
    const struct accel_model_tensor *tensor = accel_model_file_tensor(job->file, index);
    const struct name_facts facts = facts_of(rules, tensor);
    const bool folder = accel_model_file_format(job->file) == ACCEL_MODEL_SAFETENSORS;
    return tensor->rank == 2 && strcmp(facts.role, "norm") != 0 && !facts.is_turned &&
           reason_to_keep(rules->options, tensor) == NULL && is_decoded(tensor) &&
           (!folder || is_in_layer(tensor, facts.role) || is_critical(facts.role));
}

void quantize_choose(struct accel_quantize_job *job, const struct quantize_rules *rules)
{
    job->transposed = 0;
    job->transposed_elements = 0;
    for (uint64_t i = 0; i < job->count; i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(job->file, i);
        choose(job, rules, i);
        job->tensors[i] = (struct model_gguf_tensor){
            .name = tensor->name, .dims = tensor->dims, .rank = tensor->rank, .type = job->rows[i].to};
    }
}
