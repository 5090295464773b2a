/* SPDX-License-Identifier: Apache-2.0 */
/* Names of features of devices, and the options that leave some out. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sdk/gpu/host.h"

/* All but the one that says what the device is. */
#define ALL (2u * GPU_FEATURE_SOFTWARE - 1u)

static int32_t choose(const char *text, uint32_t *features)
{
    const struct accel_setting setting = {.name = "features", .text = text};
    struct gpu_limits limits = {.features = *features, .group_items = 256};
    struct accel_error error = {0};
    int32_t code = gpu_limits_choose(&limits, &setting, 1, &error);

    *features = limits.features;
    assert_true(code == ACCEL_OK || error.text[0] != '\0');
    return code;
}

static uint32_t left(const char *text)
{
    uint32_t features = ALL;

    assert_int_equal(choose(text, &features), ACCEL_OK);
    return features;
}

static void test_names(void **state)
{
    uint32_t seen = 0;

    (void)state;
    for (uint32_t f = 0; f < gpu_feature_count; f++) {
        assert_int_equal(seen & gpu_features[f].bit, 0);
        seen |= gpu_features[f].bit;
    }
    assert_int_equal(seen, ALL);
}

static void test_text(void **state)
{
    char text[128], small[8];

    (void)state;
    gpu_features_text(0, text, sizeof(text));
    assert_string_equal(text, "none");
    gpu_features_text(GPU_FEATURE_SOFTWARE, text, sizeof(text));
    assert_string_equal(text, "none");
    gpu_features_text(GPU_FEATURE_F16 | GPU_FEATURE_DOT8, text, sizeof(text));
    assert_string_equal(text, "f16,dot-emulated");
    gpu_features_text(ALL, text, sizeof(text));
    assert_string_equal(text, "f16,storage16,storage8,int8,int16,dot,subgroup,shuffle,matrix");
    gpu_features_text(ALL, small, sizeof(small));
    assert_string_equal(small, "f16,sto");
}

static void test_option(void **state)
{
    uint32_t features = ALL;

    (void)state;
    assert_int_equal(left("auto"), ALL);
    assert_int_equal(left("none"), GPU_FEATURE_SOFTWARE);
    assert_int_equal(left("-storage8"), ALL & ~GPU_FEATURE_STORAGE8);
    assert_int_equal(left("-matrix"), ALL & ~GPU_FEATURE_COOPMAT);
    /* What needs it goes with it. */
    assert_int_equal(left("-f16"), ALL & ~(GPU_FEATURE_F16 | GPU_FEATURE_COOPMAT));
    assert_int_equal(left("-subgroup,-dot"), ALL & ~(GPU_FEATURE_SUBGROUP | GPU_FEATURE_SHUFFLE | GPU_FEATURE_COOPMAT |
                                                     GPU_FEATURE_DOT8 | GPU_FEATURE_DOT8_FAST));
    assert_int_equal(left("-dot,+dot") & GPU_FEATURE_DOT8_FAST, 0);
    assert_int_equal(choose("-", &features), ACCEL_E_INVALID);
    assert_int_equal(choose("f16", &features), ACCEL_E_INVALID);
    assert_int_equal(choose("-DOT8", &features), ACCEL_E_INVALID);
    assert_int_equal(choose("-f16,", &features), ACCEL_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_text),
                                       cmocka_unit_test(test_option)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
