/* SPDX-License-Identifier: Apache-2.0 */
/* The options `features` and `subgroup` of drivers: what kernels may use of what a device has. */
#include "sdk/gpu/host.h"

#include <inttypes.h>
#include <string.h>

#define MOST_SUBGROUP 128

const struct accel_option gpu_features_option = {
    .size = sizeof gpu_features_option,
    .type = ACCEL_OPTION_TEXT,
    .name = "features",
    .help = "auto: kernels use what the device has; none: no optional feature; -NAME,-NAME: all but these (f16, "
            "storage16, storage8, int8, int16, dot, subgroup, shuffle); +dot: byte products though they are not quick",
    .text = "auto",
};

const struct accel_option gpu_subgroup_option = {
    .size = sizeof gpu_subgroup_option,
    .type = ACCEL_OPTION_INTEGER,
    .name = "subgroup",
    .help = "items of a subgroup that kernels ask for, where the device lets them; 0: its own size",
    .lowest = 0,
    .highest = MOST_SUBGROUP,
};

static const struct {
    const char *name;
    uint32_t bits;
} names[] = {
    {"f16", GPU_FEATURE_F16},           {"storage16", GPU_FEATURE_STORAGE16},
    {"storage8", GPU_FEATURE_STORAGE8}, {"int8", GPU_FEATURE_INT8},
    {"int16", GPU_FEATURE_INT16},       {"dot", GPU_FEATURE_DOT8 | GPU_FEATURE_DOT8_FAST},
    {"shuffle", GPU_FEATURE_SHUFFLE},   {"subgroup", GPU_FEATURE_SUBGROUP | GPU_FEATURE_SHUFFLE},
};

/* One word of the list: "-f16". */
static int32_t apply(struct gpu_limits *limits, const char *word, size_t length, struct accel_error *error)
{
    if (length == 4 && memcmp(word, "+dot", 4) == 0) {
        limits->features |= (limits->features & GPU_FEATURE_DOT8) != 0 ? GPU_FEATURE_DOT8_FAST : 0u;
        return ACCEL_OK;
    }
    for (size_t i = 0; length > 1 && word[0] == '-' && i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i].name) != length - 1 || memcmp(names[i].name, word + 1, length - 1) != 0)
            continue;
        limits->features &= ~names[i].bits;
        return ACCEL_OK;
    }
    sdk_error(error, ACCEL_E_INVALID, "option features: '%.*s' is no feature to leave out", (int)(length & 63u), word);
    sdk_remedy(error, "auto, none, or for example -subgroup,-dot");
    return ACCEL_E_INVALID;
}

static int32_t choose_features(struct gpu_limits *limits, const char *text, struct accel_error *error)
{
    if (strcmp(text, "auto") == 0)
        return ACCEL_OK;
    if (strcmp(text, "none") == 0) {
        limits->features &= GPU_FEATURE_SOFTWARE;
        return ACCEL_OK;
    }
    for (const char *at = text;;) {
        size_t length = strcspn(at, ",");
        int32_t code = apply(limits, at, length, error);

        if (code != ACCEL_OK || at[length] == '\0')
            return code;
        at += length + 1;
    }
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

int32_t gpu_limits_choose(struct gpu_limits *limits, const struct accel_setting *settings, uint32_t setting_count,
                          struct accel_error *error)
{
    const struct accel_setting *features = sdk_setting(settings, setting_count, gpu_features_option.name);
    const struct accel_setting *subgroup = sdk_setting(settings, setting_count, gpu_subgroup_option.name);
    int32_t code = ACCEL_OK;

    if (features != NULL && features->text != NULL)
        code = choose_features(limits, features->text, error);
    if (code == ACCEL_OK && subgroup != NULL)
        code = choose_subgroup(limits, subgroup->integer, error);
    return code;
}
