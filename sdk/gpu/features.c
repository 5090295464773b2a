/* SPDX-License-Identifier: Apache-2.0 */
/* The options `features`, `subgroups`, `subgroup` and `tuning`: which features kernels may use, and the sizes of their
 * workgroups and tiles. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sdk/gpu/host.h"

#define MOST_SUBGROUP 128

const struct accel_option gpu_features_option = {
    .size = sizeof(gpu_features_option),
    .type = ACCEL_OPTION_TEXT,
    .name = "features",
    .help =
        "auto: kernels use what the device has; none: no optional feature; -NAME,-NAME: all but these, of those that "
        "`accelctl devices` names; +dot: byte dot products even if they are slow",
    .text = "auto",
};

const struct accel_option gpu_subgroups_option = {
    .size = sizeof(gpu_subgroups_option),
    .type = ACCEL_OPTION_TEXT,
    .name = "subgroups",
    .help = "whether kernels use operations of subgroups: auto (where the device has them), on (or fail), off",
    .text = "auto",
    .choices = "auto on off",
};

const struct accel_option gpu_subgroup_option = {
    .size = sizeof(gpu_subgroup_option),
    .type = ACCEL_OPTION_INTEGER,
    .name = "subgroup",
    .help = "subgroup size that kernels require, if the device supports it; 0: its default",
    .lowest = 0,
    .highest = MOST_SUBGROUP,
};

const struct accel_option gpu_tuning_option = {
    .size = sizeof(gpu_tuning_option),
    .type = ACCEL_OPTION_TEXT,
    .name = "tuning",
    .help = "overrides of the arrangement's numbers, NAME=NUMBER,...: slices, rows, row-group, element-group, "
            "attention, parts, tile-from; for profiles of devices",
    .text = "",
};

#define ROW(name_, option_, with_) {GPU_FEATURE_##name_, (with_), #name_, option_},
const struct gpu_feature gpu_features[] = {
#include "sdk/gpu/features.def"
};
#undef ROW

const uint32_t gpu_feature_count = sizeof(gpu_features) / sizeof(*gpu_features);

void gpu_features_text(uint32_t features, char *text, size_t bytes)
{
    size_t used = 0;

    snprintf(text, bytes, "none");
    for (uint32_t f = 0; f < gpu_feature_count && used < bytes; f++) {
        const struct gpu_feature *feature = &gpu_features[f];
        const bool is_slow = feature->bit == GPU_FEATURE_DOT8 && (features & GPU_FEATURE_DOT8_FAST) == 0;

        if ((features & feature->bit) == 0 || feature->option[0] == '\0')
            continue;
        snprintf(text + used, bytes - used, "%s%s%s", used == 0 ? "" : ",", feature->option,
                 is_slow ? "-emulated" : "");
        used += strlen(text + used);
    }
}

/* One word of the list: "-f16". */
static int32_t apply(struct gpu_limits *limits, const char *word, size_t length, struct accel_error *error)
{
    if (length == 4 && memcmp(word, "+dot", 4) == 0) {
        limits->features |= (limits->features & GPU_FEATURE_DOT8) != 0 ? GPU_FEATURE_DOT8_FAST : 0u;
        return ACCEL_OK;
    }
    for (uint32_t f = 0; length > 1 && word[0] == '-' && f < gpu_feature_count; f++) {
        const struct gpu_feature *feature = &gpu_features[f];

        if (strlen(feature->option) != length - 1 || memcmp(feature->option, word + 1, length - 1) != 0)
            continue;
        limits->features &= ~(feature->bit | feature->with);
        return ACCEL_OK;
    }
    sdk_error(error, ACCEL_E_INVALID, "option features: '%.*s' is no feature to leave out", (int)(length & 63u), word);
    sdk_remedy(error, "auto, none, or for example -subgroup,-dot");
    return ACCEL_E_INVALID;
}

/* Calls `apply_one` for each word of a comma-separated list. */
static int32_t for_each_word(struct gpu_limits *limits, const char *text,
                             int32_t (*apply_one)(struct gpu_limits *limits, const char *word, size_t length,
                                                  struct accel_error *error),
                             struct accel_error *error)
{
    for (const char *at = text;;) {
        size_t length = strcspn(at, ",");
        int32_t code = apply_one(limits, at, length, error);

        if (code != ACCEL_OK || at[length] == '\0')
            return code;
        at += length + 1;
    }
}

static int32_t choose_features(struct gpu_limits *limits, const char *text, struct accel_error *error)
{
    if (strcmp(text, "auto") == 0)
        return ACCEL_OK;
    if (strcmp(text, "none") == 0) {
        limits->features &= GPU_FEATURE_SOFTWARE;
        return ACCEL_OK;
    }
    return for_each_word(limits, text, apply, error);
}

/* After `features`, which may have left them out. */
static int32_t choose_subgroups(struct gpu_limits *limits, const char *text, struct accel_error *error)
{
    if (strcmp(text, "off") == 0)
        limits->features &= ~(GPU_FEATURE_SUBGROUP | GPU_FEATURE_SHUFFLE);
    if (strcmp(text, "on") != 0 || (limits->features & GPU_FEATURE_SUBGROUP) != 0)
        return ACCEL_OK;
    sdk_error(error, ACCEL_E_UNSUPPORTED, "option subgroups: on, and the device has none that kernels can use");
    sdk_remedy(error, "auto does without them");
    return ACCEL_E_UNSUPPORTED;
}

static int32_t choose_subgroup(struct gpu_limits *limits, int64_t size, struct accel_error *error)
{
    if (size == 0 || size == limits->subgroup)
        return ACCEL_OK;
    if ((size & (size - 1)) != 0 || size < limits->subgroups[0] || size > limits->subgroups[1])
        return sdk_error(error, ACCEL_E_UNSUPPORTED,
                         "option subgroup: %" PRId64 " items, and the device makes subgroups of %u to %u", size,
                         limits->subgroups[0] != 0 ? limits->subgroups[0] : limits->subgroup,
                         limits->subgroups[1] != 0 ? limits->subgroups[1] : limits->subgroup);
    limits->subgroup = (uint32_t)size;
    return ACCEL_OK;
}

/* Items of workgroups are powers of two, since reductions halve them. */
static const struct {
    const char *name;
    uint32_t least;
    uint32_t most;
    bool is_power;
} tunings[GPU_TUNINGS] = {
    [GPU_TUNE_SLICES] = {"slices", 2, 32, 1},          [GPU_TUNE_ROWS] = {"rows", 1, 8, 0},
    [GPU_TUNE_ROW_GROUP] = {"row-group", 8, 1024, 1},  [GPU_TUNE_ELEMENT_GROUP] = {"element-group", 8, 1024, 1},
    [GPU_TUNE_ATTENTION] = {"attention", 8, 256, 1},   [GPU_TUNE_PARTS] = {"parts", 1, 64, 0},
    [GPU_TUNE_TILE_FROM] = {"tile-from", 2, 65536, 0},
};

/* One NAME=NUMBER. */
static int32_t tune(struct gpu_limits *limits, const char *word, size_t length, struct accel_error *error)
{
    size_t name = strcspn(word, "=,");

    for (uint32_t t = 0; name < length && word[name] == '=' && t < GPU_TUNINGS; t++) {
        uint64_t number = 0;
        size_t at = name + 1;

        if (strlen(tunings[t].name) != name || memcmp(tunings[t].name, word, name) != 0)
            continue;
        for (; at < length && word[at] >= '0' && word[at] <= '9' && number <= tunings[t].most; at++)
            number = 10 * number + (uint64_t)(word[at] - '0');
        if (at == length && number >= tunings[t].least && number <= tunings[t].most &&
            (!tunings[t].is_power || ((number & (number - 1)) == 0 && number <= limits->group_items))) {
            limits->tuning[t] = (uint32_t)number;
            return ACCEL_OK;
        }
        sdk_error(error, ACCEL_E_INVALID, "option tuning: '%.*s' is no number that fits", (int)(length & 63u), word);
        sdk_remedy(error, "%s takes %u to %u%s", tunings[t].name, tunings[t].least, tunings[t].most,
                   tunings[t].is_power ? ", a power of two that is no larger than the device's workgroups" : "");
        return ACCEL_E_INVALID;
    }
    sdk_error(error, ACCEL_E_INVALID, "option tuning: '%.*s' is no NAME=NUMBER", (int)(length & 63u), word);
    sdk_remedy(error, "slices, rows, row-group, element-group, attention, parts, tile-from");
    return ACCEL_E_INVALID;
}

int32_t gpu_limits_choose(struct gpu_limits *limits, const struct accel_setting *settings, uint32_t setting_count,
                          struct accel_error *error)
{
    const struct accel_setting *features = sdk_setting(settings, setting_count, gpu_features_option.name);
    const struct accel_setting *subgroups = sdk_setting(settings, setting_count, gpu_subgroups_option.name);
    const struct accel_setting *subgroup = sdk_setting(settings, setting_count, gpu_subgroup_option.name);
    const struct accel_setting *tuning = sdk_setting(settings, setting_count, gpu_tuning_option.name);
    int32_t code = ACCEL_OK;

    if (features != NULL && features->text != NULL)
        code = choose_features(limits, features->text, error);
    if (code == ACCEL_OK && subgroups != NULL && subgroups->text != NULL)
        code = choose_subgroups(limits, subgroups->text, error);
    if (code == ACCEL_OK && subgroup != NULL)
        code = choose_subgroup(limits, subgroup->integer, error);
    if (code == ACCEL_OK && tuning != NULL && tuning->text != NULL && tuning->text[0] != '\0')
        code = for_each_word(limits, tuning->text, tune, error);
    return code;
}
