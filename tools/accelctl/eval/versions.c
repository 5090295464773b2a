/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/eval/versions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tools/accelctl/errors.h"
#include "tools/accelctl/sigbus_guard.h"
#include "tools/accelctl/words.h"

/* Type of a family for a number of bits. */
static const struct {
    const char *family;
    uint32_t bits;
    const char *type;
} families[] = {
    {"planar", 2, "q2"},  {"planar", 3, "q3"},  {"planar", 4, "q4"},  {"planar", 8, "q8"}, {"k", 2, "q2_k"},
    {"k", 3, "q3_k"},     {"k", 4, "q4_k"},     {"k", 5, "q5_k"},     {"k", 6, "q6_k"},    {"k", 8, "q8_0"},
    {"block", 4, "q4_0"}, {"block", 5, "q5_0"}, {"block", 8, "q8_0"},
};

static const char *const family_words = "planar k block";

static int usage(uint32_t json, const char *text, const char *remedy)
{
    return report_error_format(json, EXIT_USAGE, "usage", remedy, "eval: %.250s", text);
}

/* Adds versions, one for each method, of a type or, if that is NULL, of a budget. */
static int add(uint32_t json, const struct version_options *options, const char *type, const char *budget,
               struct versions *versions)
{
    uint32_t grouped = type != NULL && type_has_groups(type), methods = options->methods.count;
    int code = -1;

    versions->grouped |= grouped;
    for (uint32_t i = 0; code < 0 && i < (methods == 0 ? 1 : methods); i++) {
        struct version *version = &versions->items[versions->count];
        const char *method = methods == 0 ? NULL : options->methods.items[i];

        if (versions->count == VERSIONS_MOST)
            return usage(json, "more than 16 versions", "leave out some of --bits, --type, --budget or --method");
        if (type != NULL)
            code = type_name(json, "eval", type, grouped ? options->group : NULL, grouped ? options->scheme : NULL, 0,
                             version->type);
        else
            code = parse_bytes(json, "eval", "budget", budget, &version->budget);
        if (code < 0)
            code = parse_method(json, "eval", method, options->calib, &version->method);
        snprintf(version->name, sizeof(version->name), "%s%.30s%s%.12s", type == NULL ? "budget " : "",
                 type == NULL ? budget : version->type, method == NULL ? "" : " ", method == NULL ? "" : method);
        versions->count++;
    }
    return code;
}

static int add_bits(uint32_t json, const struct version_options *options, const char *family, uint32_t bits,
                    struct versions *versions)
{
    char text[200];

    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
        if (families[i].bits == bits && is_one_of(families[i].family, family))
            return add(json, options, families[i].type, NULL, versions);
    snprintf(text, sizeof(text), "no type of the family '%.20s' has %u bits", family, bits);
    return usage(json, text, "planar has 2, 3, 4 and 8, k 2 to 6 and 8, block 4, 5 and 8");
}

static int add_family(uint32_t json, const struct version_options *options, const char *family,
                      struct versions *versions)
{
    const char *at = options->bits;
    int code = -1;

    if (at == NULL)
        return usage(json, "a family of types requires --bits", "as --type planar --bits 2,3,4,8");
    while (code < 0) {
        char *end;
        unsigned long bits = strtoul(at, &end, 10);

        if (end == at || (*end != ',' && *end != '\0') || bits > 32)
            return usage(json, "--bits requires whole numbers separated by commas", "as --bits 2,3,4,8");
        code = add_bits(json, options, family, (uint32_t)bits, versions);
        if (*end == '\0')
            break;
        at = end + 1;
    }
    return code;
}

/* Adds the versions of a family of types, or of a type. */
static int add_word(uint32_t json, const struct version_options *options, const char *word, struct versions *versions)
{
    if (is_one_of(family_words, word))
        return add_family(json, options, word, versions);
    return add(json, options, word, NULL, versions);
}

int versions_begin(uint32_t json, const struct version_options *options, const char *path, struct versions *versions)
{
    struct stat facts;
    int code = -1;

    versions->path = path;
    for (uint32_t i = 0; i < options->types.count && code < 0; i++)
        code = add_word(json, options, options->types.items[i], versions);
    if (options->bits != NULL && options->types.count == 0)
        code = add_family(json, options, "planar", versions);
    for (uint32_t i = 0; i < options->budgets.count && code < 0; i++)
        code = add(json, options, NULL, options->budgets.items[i], versions);
    if (code < 0 && !versions->grouped && (options->group != NULL || options->scheme != NULL))
        code = usage(json, "--group and --scheme have no effect: no version has a planar type",
                     "leave them out, or add --type q4, or --bits 4 without --type");
    if (code < 0 && versions->count > 0)
        code = scratch_make(json, &versions->scratch);
    for (uint32_t i = 0; i < versions->count && code < 0; i++)
        snprintf(versions->items[i].path, sizeof(versions->items[i].path), "%s/%u%s", versions->scratch.path, i,
                 stat(path, &facts) == 0 && S_ISDIR(facts.st_mode) ? "" : ".gguf");
    return code;
}

/* Names a version of a planar type after the groups that its matrices really have: rows that the requested group does
 * not divide have a smaller one. The most frequent is named, with a + if there are others. */
static void name_groups(struct version *version, const struct accel_quantize_job *job)
{
    const size_t base = strcspn(version->type, "_");
    const char *most = NULL;
    uint64_t most_count = 0, all = 0;
    char tail[VERSION_NAME];

    if (version->budget != 0 || strstr(version->type, "_g") == NULL)
        return;
    for (uint64_t i = 0; i < accel_quantize_count(job); i++) {
        const struct accel_quantize_row *row = accel_quantize_get(job, i);
        uint64_t count = 0;

        if (strncmp(row->to_name, version->type, base + 1) != 0)
            continue;
        for (uint64_t k = 0; k < accel_quantize_count(job); k++)
            count += strcmp(accel_quantize_get(job, k)->to_name, row->to_name) == 0
                         ? accel_quantize_get(job, k)->elements
                         : 0;
        all += row->elements;
        if (count > most_count) {
            most_count = count;
            most = row->to_name;
        }
    }
    if (most == NULL || strncmp(version->name, version->type, strlen(version->type)) != 0)
        return;
    snprintf(tail, sizeof(tail), "%s", version->name + strlen(version->type));
    snprintf(version->name, sizeof(version->name), "%.30s%s%.40s", most, most_count < all ? "+" : "", tail);
}

static int32_t make(struct version *version, const struct accel_model_file *file, const struct version_options *options,
                    const struct calibration *calibration, struct progress *progress, struct accel_error *error)
{
    struct accel_quantize_options wanted = {.size = sizeof(wanted),
                                            .threads = options->threads.value == 0 ? default_threads()
                                                                                   : (uint32_t)options->threads.value,
                                            .type = version->budget == 0 ? version->type : "q4_0",
                                            .method = version->method,
                                            .budget = version->budget,
                                            .candidates = options->candidates.items,
                                            .candidate_count = options->candidates.count,
                                            .progress = progress_update,
                                            .progress_data = progress};
    struct accel_quantize_job *job = NULL;
    struct timespec begun;
    int32_t code;

    calibration_give(calibration, &wanted);
    progress_next(progress, version->name);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    code = accel_quantize_plan(file, &wanted, &job, error);
    if (code == ACCEL_OK)
        name_groups(version, job);
    if (code == ACCEL_OK)
        code = accel_quantize_run(job, version->path, NULL, error);
    accel_quantize_free(job);
    version->seconds = seconds_since(&begun);
    return code;
}

int32_t versions_make(struct versions *versions, const struct version_options *options,
                      const struct calibration *calibration, struct progress *progress, struct accel_error *error)
{
    static const struct accel_model_open_options packed = {sizeof(packed), ACCEL_MODEL_OPEN_PACKED};
    struct accel_model_file *file = NULL;
    int32_t code = versions->count == 0 ? ACCEL_OK : accel_model_file_open(versions->path, &packed, &file, error);

    sigbus_guard_begin(file, "do not change the file while it is read");
    for (uint32_t i = 0; i < versions->count && code == ACCEL_OK; i++)
        code = make(&versions->items[i], file, options, calibration, progress, error);
    sigbus_guard_end(file);
    accel_model_file_close(file);
    return code;
}

void versions_end(struct versions *versions)
{
    scratch_remove(&versions->scratch);
}
