/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of settings and facts; the list of files and variables, and what the checks find. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include <accel/plan.h>
#include <accel/profile.h>

#include "tests/unit/profile_folder.h"
#include "tools/profiles/files.h"

struct fixture {
    char *folder;
    struct accel_context *context;
    struct profile_files files;
    struct accel_error error;
    char findings[8000];
    uint32_t errors;
};

static int set_up(void **state)
{
    struct accel_context_options options = {.size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS};
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->folder = profile_folder_create();
    options.profile_path = options.site_path = f->folder;
    assert_int_equal(accel_context_create(&options, &f->context, &f->error), ACCEL_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    profile_files_free(&f->files);
    accel_context_free(f->context, NULL);
    profile_folder_remove(f->folder);
    free(f);
    return 0;
}

static void test_tables(void **state)
{
    char variable[80];
    (void)state;
    assert_true(accel_setting_row_count() > 90);
    assert_null(accel_setting_row_get(accel_setting_row_count()));
    for (uint32_t i = 0; i < accel_setting_row_count(); i++) {
        const struct accel_setting_row *row = accel_setting_row_get(i);
        assert_true(row->size == sizeof(*row) && row->type <= ACCEL_SETTING_TEXT &&
                    row->honored <= ACCEL_HONORED_LATER && *row->help);
        if (strcmp(row->name, "kv.window") == 0) {
            assert_int_equal(row->type, ACCEL_SETTING_INTEGER);
            assert_int_equal(row->honored, ACCEL_HONORED_RUN);
            assert_string_equal(row->unit, "tok");
            assert_string_equal(row->words, "off");
            assert_string_equal(row->preset, "off");
            assert_int_equal(row->highest, 16777216);
        }
    }
    assert_string_equal(accel_fact_row_get(0)->name, "platform");
    assert_null(accel_fact_row_get(accel_fact_row_count()));
    assert_int_equal(accel_setting_variable("kv.type.k", variable, sizeof(variable)), ACCEL_OK);
    assert_string_equal(variable, "ACCEL_KV_TYPE_K");
    assert_int_equal(accel_setting_variable("kv.type.k", variable, 15), ACCEL_E_LIMIT);
    assert_int_equal(accel_setting_variable("kv.type.k", variable, 16), ACCEL_OK);
}

static const struct profile_info *find(const struct fixture *f, uint32_t layer, const char *name)
{
    for (uint32_t i = 0; i < f->files.count; i++) {
        const struct profile_info *info = &f->files.list[i];
        if (info->layer == layer && strcmp(info->name, name) == 0)
            return info;
    }
    return NULL;
}

static void test_list(void **state)
{
    struct fixture *f = *state;
    const struct profile_info *info;
    char path[600];
    profile_folder_write(f->folder, "base.yaml", HEAD "about: of all\nfoo: 1\n");
    profile_folder_write(f->folder, "one.yaml",
                         HEAD "inherits: [two, devices/t4]\nmatch: [device.kind == gpu, device.count > 1]\n");
    profile_folder_write(f->folder, "two.yaml", HEAD "about: the second\ndefaults: {context: 1tok, batch: 2tok}\n");
    profile_folder_write(f->folder, "devices/t4.yaml", HEAD "facts: {device.kind: gpu}\ndefaults: {kv.type.k: f16}\n");
    profile_folder_write(f->folder, "other.yaml", "# a comment\naccel-advice: 1\n");
    profile_folder_write(f->folder, "user/accel.yaml", HEAD);
    profile_folder_write(f->folder, "folder/accel.yaml", HEAD);
    snprintf(path, sizeof(path), "%s/folder/accel.yaml", f->folder);
    assert_int_equal(chmod(path, 0666), 0);
    profile_folder_write(
        f->folder, "environment.yaml",
        "accel-environment: 1\nvariables:\n"
        "  A_BITS: {key: weights.type, values: {\"4\": q4, \"0\": auto}, because: doc}\n"
        "  A_BOTH: {set: {\"1\": {kv.type.k: q4, kv.type.v: q8}, \"0\": {kv.type.k: auto}}, because: doc}\n"
        "  A_SIZE: {key: load.chunk, unit: MB, because: doc}\n");
    assert_int_equal(profile_files_read(&f->files, f->context, f->folder, &f->error), ACCEL_OK);
    assert_int_equal(f->files.count, 6);
    info = f->files.list;
    assert_string_equal(info->name, "base");
    assert_int_equal(info->code, ACCEL_E_INVALID);
    assert_non_null(strstr(info->text, "base.yaml:3:1: \"foo\" is unknown here"));
    info = find(f, ACCEL_LAYER_PLATFORM, "one");
    assert_int_equal(info->code, ACCEL_OK);
    assert_string_equal(info->match, "device.kind == gpu and device.count > 1");
    assert_string_equal(info->inherits, "two devices/t4");
    assert_int_equal(info->settings, 3);
    assert_string_equal(find(f, ACCEL_LAYER_PLATFORM, "two")->about, "the second");
    assert_int_equal(find(f, ACCEL_LAYER_DEVICE, "t4")->facts, 1);
    assert_int_equal(find(f, ACCEL_LAYER_USER, "accel")->code, ACCEL_OK);
    info = find(f, ACCEL_LAYER_FOLDER, "accel");
    assert_int_equal(info->code, ACCEL_E_DENIED);
    assert_non_null(strstr(info->remedy, "chmod go-w"));
    assert_null(find(f, ACCEL_LAYER_SYSTEM, "accel"));
    assert_int_equal(f->files.variable_count, 3);
    assert_string_equal(f->files.variables[0].values, "4=q4 0=auto");
    assert_string_equal(f->files.variables[0].keys, "weights.type");
    assert_string_equal(f->files.variables[1].values, "1=kv.type.k:q4,kv.type.v:q8 0=kv.type.k:auto");
    assert_string_equal(f->files.variables[1].keys, "kv.type.k kv.type.v");
    assert_string_equal(f->files.variables[2].unit, "MB");
    assert_string_equal(f->files.variables[2].values, "");
    assert_non_null(strstr(f->files.variables[2].place, "environment.yaml:5"));
}

static void take(void *data, uint32_t level, const char *place, const char *text)
{
    struct fixture *f = data;
    size_t used = strlen(f->findings);
    size_t folder = strlen(f->folder);
    f->errors += level == ACCEL_LOG_ERROR;
    /* The folder's name changes from run to run. */
    if (strncmp(place, f->folder, folder) == 0)
        place += folder + 1;
    snprintf(f->findings + used, sizeof(f->findings) - used, "%s %s: %s\n", level == ACCEL_LOG_ERROR ? "error" : "warn",
             place, text);
}

static void assert_finding(const struct fixture *f, const char *words)
{
    if (strstr(f->findings, words) == NULL)
        fail_msg("\"%s\" is not in:\n%s", words, f->findings);
}

static void test_lint(void **state)
{
    static const char *const expected[] = {
        "error one.yaml:2:12: setting \"contxt\" is unknown; did you mean \"context\"?\n",
        "warn one.yaml:2:12: accelctl profile settings lists them, and accelctl plugins the drivers with options\n",
        "warn two.yaml:2: context has no reason: write it as context: {value: ..., because: ...}\n",
        "warn two.yaml:3: device.kind is never \"gpuu\"\n",
        "warn two.yaml:3: \"device.kind == gpuu\" never holds\n",
        "warn two.yaml:5: client.name is never \"opera\"\n",
        "warn two.yaml:8: device.software is never \"yes\"\n",
        "warn two.yaml:8: \"device.software != yes\" always holds\n",
        "warn two.yaml:10: never holds: device.kind cannot be \"gpu\" and \"cpu\" at once\n",
        "warn two.yaml:13: batch is set again under the same conditions in line 15\n",
        "error folder/accel.yaml: not trusted: others may write to it, mode 0666\n",
        "error environment.yaml:2:22: setting \"nothing.at.all\" is unknown\n",
    };
    struct fixture *f = *state;
    uint32_t count = 0;
    char path[600];
    profile_folder_write(f->folder, "base.yaml", HEAD);
    profile_folder_write(f->folder, "one.yaml", HEAD "defaults: {contxt: 1tok}\n");
    profile_folder_write(f->folder, "clients/web.yaml", HEAD "defaults: {context: {value: 1tok, because: fine}}\n");
    profile_folder_write(f->folder, "two.yaml",
                         HEAD "defaults: {context: 1tok}\n"
                              "match: device.kind == gpuu\n"
                              "rules:\n"
                              "- when: \"client.name in [opera, web]\"\n"
                              "  set: {cpu.pin: true}\n"
                              "  because: b\n"
                              "- {when: device.software != yes, because: b, set: {cpu.pin: false}}\n"
                              "- when: [device.kind == gpu,\n"
                              "    device.kind == cpu]\n"
                              "  set: {batch: 1tok}\n"
                              "  because: b\n"
                              "- {when: device.kind == gpu, set: {batch: 2tok}, because: b}\n"
                              "- {when: device.kind == npu, set: {batch: 2tok}, because: b}\n"
                              "- {when: device.kind == gpu, set: {batch: 3tok}, because: b}\n");
    profile_folder_write(f->folder, "folder/accel.yaml", HEAD);
    snprintf(path, sizeof(path), "%s/folder/accel.yaml", f->folder);
    assert_int_equal(chmod(path, 0666), 0);
    profile_folder_write(f->folder, "environment.yaml",
                         "accel-environment: 1\nvariables: {A: {key: nothing.at.all, because: x}}\n");
    assert_int_equal(profile_files_read(&f->files, f->context, f->folder, &f->error), ACCEL_OK);
    assert_int_equal(profile_lint_files(&f->files, take, f, &f->error), ACCEL_OK);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        assert_finding(f, expected[i]);
    for (const char *at = f->findings; (at = strchr(at, '\n')) != NULL; at++)
        count++;
    assert_int_equal(f->errors, 3);
    assert_int_equal(count, sizeof(expected) / sizeof(expected[0]));
}

static void test_check(void **state)
{
    static const struct {
        const char *file, *text;
        uint32_t errors;
        const char *words;
    } cases[] = {
        {"base.yaml", HEAD "defaults: {context: 1tok}\n", 0, ""},
        {"devices/a.yaml", HEAD "facts: {device.kind: gpu}\n", 0, ""},
        {"models/a.yaml", HEAD "facts: {device.kind: gpu}\n", 1,
         "models/a.yaml:2:9: fact device.kind is not for a file of models to state"},
        {"a.yaml", HEAD "facts: {device.kind: gpu}\n", 1,
         "a.yaml:2:8: \"facts\" belongs into files of the folders devices and models"},
        {"a.yaml", HEAD "inherits: devices/a\n", 0, ""},
        {"devices/b.yaml", HEAD "inherits: a\n", 0, ""},
        {"environment.yaml", "accel-environment: 1\nvariables: {}\n", 0, ""},
        {"c.yaml", "accel-claims: 1\n", 1, "\"accel-claims\" is neither a profile nor"},
        {"c.yaml", "about: x\n", 1, "c.yaml:1:1: \"accel-profile\" is missing"},
        {"folder/accel.yaml", HEAD "inherits: base\n", 1, "cannot inherit"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char path[600];
        profile_folder_write(f->folder, cases[i].file, cases[i].text);
        snprintf(path, sizeof(path), "%s/%s", f->folder, cases[i].file);
        f->errors = 0;
        f->findings[0] = '\0';
        assert_int_equal(profile_lint_file(&f->files, path, take, f, &f->error), ACCEL_OK);
        if (f->errors != cases[i].errors || strstr(f->findings, cases[i].words) == NULL)
            fail_msg("%s: %s", cases[i].file, f->findings);
    }
    assert_int_equal(profile_lint_file(&f->files, "/nowhere/x.yaml", take, f, &f->error), ACCEL_OK);
    assert_finding(f, "error /nowhere/x.yaml: ");
}

/* ---- contexts ---- */

static int32_t plan_for(struct fixture *f, const char *platform)
{
    struct accel_plan_request request = {.size = sizeof(request), .platform = platform};
    struct accel_plan *plan = NULL;
    int32_t code;
    accel_error_clear(&f->error);
    code = accel_context_discover(f->context, &f->error);
    if (code == ACCEL_OK)
        code = accel_plan_create(f->context, &request, &plan, &f->error);
    if (code == ACCEL_OK && strstr(accel_plan_setting_find(plan, "context")->place, "user/accel.yaml:2") == NULL)
        fail_msg("context comes from %s", accel_plan_setting_find(plan, "context")->place);
    accel_plan_free(plan);
    return code;
}

/* A plan is made with the files of the site, or fails with what is wrong with them. */
static void test_site(void **state)
{
    struct fixture *f = *state;
    profile_folder_write(f->folder, "base.yaml", HEAD);
    profile_folder_write(f->folder, "one.yaml", HEAD "defaults: {context: 1tok}\n");
    profile_folder_write(f->folder, "user/accel.yaml", HEAD "defaults: {context: 2tok}\n");
    if (plan_for(f, "one") != ACCEL_OK)
        fail_msg("%s", f->error.text);
    profile_folder_write(f->folder, "folder/accel.yaml", HEAD "defaults: {contxt: 2tok}\n");
    assert_int_equal(plan_for(f, "one"), ACCEL_E_INVALID);
    assert_non_null(strstr(f->error.text, "folder/accel.yaml:2:12: setting \"contxt\" is unknown"));
}

/* What is to be done depends on who named the folder. */
static void test_remedies(void **state)
{
    struct accel_context_options options = {.size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS};
    struct fixture *f = *state;
    char before[600] = "";
    if (getenv("ACCEL_PROFILE_PATH"))
        snprintf(before, sizeof(before), "%s", getenv("ACCEL_PROFILE_PATH"));
    assert_int_equal(plan_for(f, "one"), ACCEL_E_NOT_FOUND);
    assert_string_equal(f->error.remedy, "the folder of profiles must contain base.yaml");
    accel_context_free(f->context, NULL);
    f->context = NULL;
    options.site_path = f->folder;
    assert_int_equal(accel_context_create(&options, &f->context, NULL), ACCEL_OK);
    setenv("ACCEL_PROFILE_PATH", f->folder, 1);
    assert_int_equal(plan_for(f, "one"), ACCEL_E_NOT_FOUND);
    if (*before)
        setenv("ACCEL_PROFILE_PATH", before, 1);
    else
        unsetenv("ACCEL_PROFILE_PATH");
    assert_non_null(strstr(f->error.remedy, "set ACCEL_PROFILE_PATH to the folder"));
}

/* The files that are installed have no errors and nothing that is hardly meant. */
static void test_installed(void **state)
{
    struct accel_context_options options = {.size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS};
    struct fixture *f = *state;
    struct accel_context *context;
    if (getenv("ACCEL_PROFILE_PATH") == NULL)
        skip();
    options.site_path = f->folder;
    assert_int_equal(accel_context_create(&options, &context, &f->error), ACCEL_OK);
    assert_int_equal(profile_files_read(&f->files, context, f->folder, &f->error), ACCEL_OK);
    assert_true(f->files.count > 20);
    assert_int_equal(profile_lint_files(&f->files, take, f, &f->error), ACCEL_OK);
    accel_context_free(context, NULL);
    if (*f->findings)
        fail_msg("%s", f->findings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test_setup_teardown(test_list, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lint, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_check, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_site, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_remedies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_installed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
