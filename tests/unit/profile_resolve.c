/* SPDX-License-Identifier: Apache-2.0 */
/* Layers, rules, locks, inheritance and overridden values, on files written by the test; and the profiles that are
 * installed. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/profile/profile.h"
#include "tests/unit/profile_folder.h"
#include "tests/unit/setting_support.h"

/** A folder of profiles. */
struct folder {
    char *path;
    struct accel_error error;
    struct accel_profile *profile;
    struct accel_settings *settings;
};

static int set_up(void **state)
{
    struct folder *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->path = profile_folder_create();
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct folder *f = *state;
    accel_settings_free(f->settings);
    accel_profile_free(f->profile);
    profile_folder_remove(f->path);
    free(f);
    return 0;
}

static const struct accel_profile_pair cpu_facts[] = {
    {"driver.name", "cpu", "test"},
    {"device.kind", "cpu", "test"},
    {"device.memory", "8589934592", "test"},
};

static int32_t resolve(struct folder *f, const struct accel_profile_pair *given, uint32_t given_count)
{
    int32_t code;
    accel_error_clear(&f->error);
    if (f->profile == NULL) {
        code = accel_profile_create(f->path, &f->profile, &f->error);
        if (code == ACCEL_OK)
            code = accel_profile_add(f->profile, "cpu", &f->error);
        if (code != ACCEL_OK)
            return code;
    }
    accel_settings_free(f->settings);
    return accel_profile_resolve(f->profile, cpu_facts, 3, given, given_count, &f->settings, &f->error);
}

static void assert_value(struct folder *f, const char *key, const char *value, const char *place_end)
{
    const struct accel_profile_setting *setting = find_setting(f->settings, key);
    assert_non_null(setting);
    assert_string_equal(setting->value, value);
    if (strlen(setting->place) < strlen(place_end) ||
        strcmp(setting->place + strlen(setting->place) - strlen(place_end), place_end) != 0)
        fail_msg("%s comes from %s, not from %s", key, setting->place, place_end);
}

static void test_layers(void **state)
{
    static const struct accel_profile_pair given[] = {{"context", "4tok", "first"}, {"context", "5tok", "second"}};
    struct folder *f = *state;
    const struct accel_profile_setting *setting;
    profile_folder_write(f->path, "base.yaml", HEAD "defaults: {context: 1tok, batch: 7tok}\n");
    profile_folder_write(f->path, "cpu.yaml", HEAD "defaults:\n  context: {value: 2tok, because: two}\n");
    assert_int_equal(resolve(f, NULL, 0), ACCEL_OK);
    assert_value(f, "context", "2", "/cpu.yaml:3");
    assert_value(f, "batch", "7", "/base.yaml:2");
    assert_value(f, "kv.type.k", "auto", "built in");
    setenv("ACCEL_CONTEXT", "3 tok", 1);
    assert_int_equal(resolve(f, NULL, 0), ACCEL_OK);
    assert_value(f, "context", "3", "environment ACCEL_CONTEXT");
    assert_int_equal(resolve(f, given, 2), ACCEL_OK);
    unsetenv("ACCEL_CONTEXT");
    assert_value(f, "context", "5", "second");
    setting = find_setting(f->settings, "context");
    assert_int_equal(setting->number, 5);
    assert_string_equal(setting->unit, "tok");
    assert_int_equal(setting->layer, ACCEL_LAYER_GIVEN);
    assert_int_equal(setting->overridden_count, 5);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(atoi(setting->overridden[i].value), 4 - i);
    assert_string_equal(setting->overridden[0].place, "first");
    assert_string_equal(setting->overridden[1].place, "environment ACCEL_CONTEXT");
    assert_non_null(strstr(setting->overridden[2].place, "cpu.yaml:3"));
    assert_string_equal(setting->overridden[2].reason, "two");
    assert_string_equal(setting->overridden[4].value, "auto");
    assert_string_equal(setting->overridden[4].place, "built in");
    assert_string_equal(setting->overridden[0].unit, "tok");
    assert_string_equal(setting->overridden[setting->overridden_count - 1].place, "built in");
}

static void test_rules(void **state)
{
    struct folder *f = *state;
    profile_folder_write(
        f->path, "base.yaml",
        HEAD "rules:\n"
             "- {when: device.kind == cpu, set: {context: 1tok}, because: a}\n"
             "- {when: device.kind != cpu, set: {context: 2tok}, because: b}\n"
             "- {when: [device.memory >= 8GiB, device.memory < 8193MiB], set: {context: 3tok}, because: c}\n"
             "- {when: device.memory > 8GiB, set: {context: 4tok}, because: d}\n"
             "- {when: \"device.kind in [gpu, cpu]\", set: {batch: 5tok}, because: e}\n"
             "- {when: model.layers != 4, set: {batch: 6tok}, because: of a fact that nobody knows}\n"
             "- {when: [device.kind == cpu, device.kind == gpu], set: {batch: 8tok}, because: g}\n");
    assert_int_equal(resolve(f, NULL, 0), ACCEL_OK);
    assert_value(f, "context", "3", "base.yaml:5");
    assert_value(f, "batch", "5", "base.yaml:7");
    assert_string_equal(find_setting(f->settings, "batch")->reason, "e");
}

static void test_match(void **state)
{
    struct folder *f = *state;
    profile_folder_write(f->path, "base.yaml", HEAD);
    profile_folder_write(f->path, "cpu.yaml", HEAD "match: device.kind == gpu\ndefaults: {context: 2tok}\n");
    assert_int_equal(resolve(f, NULL, 0), ACCEL_OK);
    assert_value(f, "context", "auto", "built in");
}

static void test_locks(void **state)
{
    static const struct accel_profile_pair given = {"fallback.device", "allow", "command line"};
    struct folder *f = *state;
    profile_folder_write(f->path, "base.yaml",
                         HEAD
                         "defaults: {fallback.device: deny, context: 1tok}\nlock:\n- fallback.device\n- context\n");
    assert_int_equal(resolve(f, NULL, 0), ACCEL_OK);
    assert_value(f, "fallback.device", "deny", "base.yaml:2");
    assert_int_equal(resolve(f, &given, 1), ACCEL_E_DENIED);
    assert_non_null(strstr(f->error.text, "command line: setting fallback.device is locked by "));
    assert_non_null(strstr(f->error.text, "base.yaml:4"));
    setenv("ACCEL_CONTEXT", "3tok", 1);
    assert_int_equal(resolve(f, NULL, 0), ACCEL_E_DENIED);
    unsetenv("ACCEL_CONTEXT");
    assert_non_null(strstr(f->error.text, "environment ACCEL_CONTEXT"));
}

static void test_inheritance(void **state)
{
    struct folder *f = *state;
    profile_folder_write(f->path, "base.yaml", HEAD);
    profile_folder_write(f->path, "cpu.yaml", HEAD "inherits: [parent]\ndefaults: {context: 2tok}\n");
    profile_folder_write(f->path, "parent.yaml",
                         HEAD "inherits: grand\nmatch: device.kind == gpu\ndefaults: {context: 3tok, batch: 4tok}\n");
    profile_folder_write(f->path, "grand.yaml", HEAD "defaults: {batch: 5tok, attention.page: 6tok}\n");
    assert_int_equal(resolve(f, NULL, 0), ACCEL_OK);
    assert_value(f, "context", "2", "cpu.yaml:3");
    assert_value(f, "batch", "4", "parent.yaml:4");
    assert_value(f, "attention.page", "6", "grand.yaml:2");
}

static void test_circle(void **state)
{
    struct folder *f = *state;
    profile_folder_write(f->path, "base.yaml", HEAD);
    profile_folder_write(f->path, "cpu.yaml", HEAD "inherits: parent\n");
    profile_folder_write(f->path, "parent.yaml", HEAD "inherits: cpu\n");
    assert_int_equal(resolve(f, NULL, 0), ACCEL_E_INVALID);
    assert_non_null(strstr(f->error.text, "parent.yaml:2:11: \"cpu\" inherits itself"));
}

static void test_missing_files(void **state)
{
    struct folder *f = *state;
    assert_int_equal(resolve(f, NULL, 0), ACCEL_E_NOT_FOUND);
    assert_non_null(strstr(f->error.text, "base.yaml"));
    /* A platform without a file is fine, one that inherits from nowhere is not. */
    profile_folder_write(f->path, "base.yaml", HEAD);
    assert_int_equal(resolve(f, NULL, 0), ACCEL_OK);
    accel_profile_free(f->profile);
    f->profile = NULL;
    profile_folder_write(f->path, "cpu.yaml", HEAD "inherits: parent\n");
    assert_int_equal(resolve(f, NULL, 0), ACCEL_E_NOT_FOUND);
    assert_non_null(strstr(f->error.text, "parent.yaml"));
    /* It is not passed over later either. */
    assert_int_equal(resolve(f, NULL, 0), ACCEL_E_NOT_FOUND);
    assert_int_equal(accel_profile_add(f->profile, "cpu", NULL), ACCEL_E_NOT_FOUND);
    assert_int_equal(accel_profile_add(f->profile, "../etc", &f->error), ACCEL_E_INVALID);
}

static void test_given(void **state)
{
    static const struct {
        struct accel_profile_pair pair;
        int32_t code;
        const char *words;
    } cases[] = {
        {{"contxt", "1tok", "--set"}, ACCEL_E_NOT_FOUND, "did you mean \"context\"?"},
        {{"context", "1", "--set"}, ACCEL_OK, ""},
        {{"context", "1ms", "--set"}, ACCEL_E_INVALID, "--set: context: \"1ms\": ms is no unit of tokens"},
        {{"memory.budget", "4", "--set"}, ACCEL_E_INVALID, "--set: memory.budget: \"4\" lacks its unit, MiB or GiB"},
        {{"kv.type", "q8", "--set"}, ACCEL_OK, ""},
        {{"kv.type", "q9", "--set"}, ACCEL_E_INVALID, "--set: kv.type.k: \"q9\" is none of"},
        {{"cpu.isa", "scalar", "--set"}, ACCEL_OK, ""},
        {{"cpu.pinn", "true", "--set"},
         ACCEL_E_NOT_FOUND,
         "--set: setting \"cpu.pinn\" is unknown; did you mean \"cpu.pin\"?"},
        {{"opencl.isa", "scalar", "--set"}, ACCEL_E_NOT_FOUND, "unknown"},
        {{"cpu.", "scalar", "--set"}, ACCEL_E_NOT_FOUND, "unknown"},
    };
    struct folder *f = *state;
    profile_folder_write(f->path, "base.yaml", HEAD);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(resolve(f, &cases[i].pair, 1), cases[i].code);
        assert_non_null(strstr(f->error.text, cases[i].words));
        assert_int_equal(f->error.origin, cases[i].code == ACCEL_OK ? ACCEL_FROM_CALLER : ACCEL_FROM_SETTING);
    }
}

static void test_driver_options(void **state)
{
    static const struct accel_profile_pair given = {"cpu.isa", "scalar", "--set"};
    struct folder *f = *state;
    const struct accel_profile_setting *setting;
    profile_folder_write(f->path, "base.yaml", HEAD);
    profile_folder_write(f->path, "cpu.yaml", HEAD "defaults: {cpu.isa: avx2, cpu.other: 1}\n");
    assert_int_equal(resolve(f, &given, 1), ACCEL_OK);
    assert_int_equal(f->settings->count, accel_setting_row_count() + 2);
    setting = &f->settings->settings[accel_setting_row_count()];
    assert_string_equal(setting->key, "cpu.isa");
    assert_string_equal(setting->value, "scalar");
    assert_int_equal(f->settings->values->cpu_pin.number, 1);
    assert_ptr_equal(&f->settings->values->device_rank, &f->settings->settings[0]);
    assert_ptr_equal(&f->settings->values->metrics_attention, &f->settings->settings[accel_setting_row_count() - 1]);
}

/* An option without a value is the driver's, whatever files set; a lock holds against it, and settings have values. */
static void test_options_left_out(void **state)
{
    static const struct accel_profile_pair given[] = {
        {"cpu.isa", "", "--set"}, {"context", "", "--set"}, {"cpu.other", "", "--set"}};
    struct folder *f = *state;
    profile_folder_write(f->path, "base.yaml", HEAD);
    profile_folder_write(f->path, "cpu.yaml", HEAD "defaults: {cpu.isa: avx2, cpu.other: 1}\nlock: [cpu.other]\n");
    assert_int_equal(resolve(f, given, 1), ACCEL_OK);
    assert_int_equal(f->settings->count, accel_setting_row_count() + 1);
    assert_string_equal(f->settings->settings[accel_setting_row_count()].key, "cpu.other");
    assert_int_equal(resolve(f, given + 1, 1), ACCEL_E_INVALID);
    assert_int_equal(resolve(f, given + 2, 1), ACCEL_E_DENIED);
}

/* What is installed resolves, ranks kinds of devices as it says, and every value of it has a reason. */
static void test_installed(void **state)
{
    static const struct {
        const char *kind, *flag, *rank;
    } ranks[] = {
        {"cpu", "device.display", "90"},  {"gpu", "device.display", "300"}, {"npu", "device.display", "200"},
        {"gpu", "device.software", "10"}, {"gpu", "device.remote", "50"},   {"gpu", "device.target", "0"},
    };
    struct folder *f = *state;
    const char *folder = getenv("ACCEL_PROFILE_PATH");
    if (folder == NULL)
        skip();
    assert_int_equal(accel_profile_create(folder, &f->profile, &f->error), ACCEL_OK);
    assert_int_equal(accel_profile_add(f->profile, "cpu", &f->error), ACCEL_OK);
    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        struct accel_profile_pair facts[] = {
            {"driver.name", "any", "test"}, {"device.kind", ranks[i].kind, "test"}, {ranks[i].flag, "true", "test"}};
        accel_settings_free(f->settings);
        assert_int_equal(accel_profile_resolve(f->profile, facts, 3, NULL, 0, &f->settings, &f->error), ACCEL_OK);
        assert_string_equal(find_setting(f->settings, "device.rank")->value, ranks[i].rank);
    }
    accel_settings_free(f->settings);
    assert_int_equal(accel_profile_resolve(f->profile, cpu_facts, 3, NULL, 0, &f->settings, &f->error), ACCEL_OK);
    for (uint32_t i = 0; i < f->settings->count; i++) {
        const struct accel_profile_setting *setting = &f->settings->settings[i];
        if (setting->layer != ACCEL_LAYER_BUILTIN && *setting->reason == 0)
            fail_msg("%s gives no reason for %s", setting->place, setting->key);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_layers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rules, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_match, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_locks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_inheritance, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_circle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_given, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_driver_options, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_options_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_installed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
