/* SPDX-License-Identifier: Apache-2.0 */
/* The layers between base.yaml and the caller: platform, client, devices, models, the site, the environment; facts that
 * files state; locks and overridden values over all of them. */
#include "config.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/profile/profile.h"
#include "tests/unit/profile_folder.h"
#include "tests/unit/setting_support.h"

struct fixture {
    char *folder;
    struct accel_profile *profile;
    struct accel_settings *settings;
    struct accel_error error;
};

static const struct accel_profile_pair t4[] = {
    {"driver.name", "one", "test"},
    {"device.name", "Tesla T4", "test"},
    {"device.kind", "gpu", "test"},
    {"model.name", "small", "test"},
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->folder = profile_folder_create();
    profile_folder_write(f->folder, "base.yaml", HEAD);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    accel_settings_free(f->settings);
    accel_profile_free(f->profile);
    profile_folder_remove(f->folder);
    free(f);
    return 0;
}

static void write_file(const struct fixture *f, const char *name, const char *text)
{
    profile_folder_write(f->folder, name, text);
}

static int32_t resolve_with(struct fixture *f, const struct accel_profile_pair *facts, uint32_t count,
                            const struct accel_profile_pair *given, uint32_t given_count)
{
    int32_t code;
    accel_error_clear(&f->error);
    accel_settings_free(f->settings);
    f->settings = NULL;
    accel_profile_free(f->profile);
    code = accel_profile_create(f->folder, &f->profile, &f->error);
    if (code == ACCEL_OK)
        code = accel_profile_add_sites(f->profile, f->folder, &f->error);
    if (code == ACCEL_OK)
        code = accel_profile_resolve(f->profile, facts, count, given, given_count, &f->settings, &f->error);
    return code;
}

static void resolve(struct fixture *f)
{
    if (resolve_with(f, t4, 4, NULL, 0) != ACCEL_OK)
        fail_msg("%s", f->error.text);
}

static void assert_value(const struct fixture *f, const char *key, const char *value, const char *file)
{
    const struct accel_profile_setting *setting = find_setting(f->settings, key);
    assert_non_null(setting);
    if (strcmp(setting->value, value) != 0 || strstr(setting->place, file) == NULL)
        fail_msg("%s is %s (%s)", key, setting->value, setting->place);
}

static void assert_error(const struct fixture *f, const char *words)
{
    if (strstr(f->error.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", f->error.text, words);
}

/* Each layer overrules the one before, and every one of them is among the overridden values in its order. */
static void test_order(void **state)
{
    static const struct {
        const char *file, *text;
    } files[] = {
        {"base.yaml", HEAD "defaults: {context: 1tok, client: web}\n"},
        {"one.yaml", HEAD "defaults: {context: 2tok}\n"},
        {"clients/web.yaml", HEAD "defaults: {context: 3tok}\n"},
        {"devices/t4.yaml", HEAD "match: device.name contains T4\ndefaults: {context: 4tok}\n"},
        {"models/small.yaml", HEAD "defaults: {context: 5tok}\n"},
        {"etc/accel/accel.yaml", HEAD "defaults: {context: 6tok}\n"},
        {"user/accel.yaml", HEAD "defaults: {context: 7tok}\n"},
        {"folder/accel.yaml", HEAD "defaults: {context: 8tok}\n"},
    };
    static const struct accel_profile_pair given = {"context", "11tok", "the caller"};
    struct fixture *f = *state;
    const struct accel_profile_setting *setting;
    write_file(f, "clients/web.yaml", HEAD);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char value[4];
        write_file(f, files[i].file, files[i].text);
        resolve(f);
        setting = find_setting(f->settings, "context");
        snprintf(value, sizeof(value), "%zu", i + 1);
        assert_string_equal(setting->value, value);
        assert_non_null(strstr(setting->place, files[i].file));
        assert_int_equal(setting->layer, i + 1);
    }
    write_file(f, "environment.yaml",
               "accel-environment: 1\nvariables: {OTHER_CONTEXT: {key: context, unit: tok, because: doc}}\n");
    setenv("OTHER_CONTEXT", "9", 1);
    resolve(f);
    assert_value(f, "context", "9", "environment OTHER_CONTEXT (");
    assert_string_equal(find_setting(f->settings, "context")->reason, "doc");
    setenv("ACCEL_CONTEXT", "10tok", 1);
    resolve(f);
    assert_value(f, "context", "10", "environment ACCEL_CONTEXT");
    assert_int_equal(resolve_with(f, t4, 4, &given, 1), ACCEL_OK);
    unsetenv("OTHER_CONTEXT");
    unsetenv("ACCEL_CONTEXT");
    setting = find_setting(f->settings, "context");
    assert_string_equal(setting->value, "11");
    assert_int_equal(setting->overridden_count, 11);
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(atoi(setting->overridden[i].value), 10 - i);
    assert_string_equal(setting->overridden[10].value, "auto");
    assert_string_equal(setting->overridden[10].place, "built in");
}

static void test_locks(void **state)
{
    static const struct {
        const char *locking, *setting;
    } pairs[] = {
        {"base.yaml", "one.yaml"},
        {"one.yaml", "devices/t4.yaml"},
        {"devices/t4.yaml", "models/small.yaml"},
        {"models/small.yaml", "etc/accel/accel.yaml"},
        {"etc/accel/accel.yaml", "user/accel.yaml"},
        {"user/accel.yaml", "folder/accel.yaml"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        for (size_t k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++)
            write_file(f, pairs[k].setting, HEAD);
        write_file(f, "base.yaml", HEAD);
        write_file(f, "devices/t4.yaml", HEAD "match: device.name contains T4\n");
        write_file(f, pairs[i].locking,
                   strcmp(pairs[i].locking, "devices/t4.yaml") == 0 ? HEAD
                       "match: device.name contains T4\nlock: [context]\n"
                                                                    : HEAD "lock:\n- context\n");
        write_file(f, pairs[i].setting,
                   strcmp(pairs[i].setting, "devices/t4.yaml") == 0
                       ? HEAD "match: device.name contains T4\ndefaults: {context: 4tok}\n"
                       : HEAD "rules:\n- {set: {context: 4tok}, because: b}\n");
        assert_int_equal(resolve_with(f, t4, 4, NULL, 0), ACCEL_E_DENIED);
        assert_error(f, pairs[i].setting);
        assert_error(f, pairs[i].locking);
        assert_error(f, ":3");
    }
    /* An option of a driver can be locked before anybody sets it. */
    write_file(f, "user/accel.yaml", HEAD);
    write_file(f, "folder/accel.yaml", HEAD);
    write_file(f, "one.yaml", HEAD "lock: [one.speed]\n");
    resolve(f);
    assert_null(find_setting(f->settings, "one.speed"));
    setenv("ACCEL_ONE_SPEED", "9", 1);
    assert_int_equal(resolve_with(f, t4, 4, NULL, 0), ACCEL_E_DENIED);
    unsetenv("ACCEL_ONE_SPEED");
    assert_error(f, "environment ACCEL_ONE_SPEED: setting one.speed is locked by ");
}

static void test_platform(void **state)
{
    static const struct accel_profile_pair elsewhere[] = {{"platform", "two", "test"}};
    static const struct accel_profile_pair both[] = {{"platform", "two", "test"}, {"driver.name", "one", "test"}};
    struct fixture *f = *state;
    write_file(f, "base.yaml", HEAD "rules:\n- {when: platform == one, set: {batch: 9tok}, because: b}\n");
    write_file(f, "one.yaml", HEAD "defaults: {context: 1tok, one.speed: 1}\n");
    write_file(f, "two.yaml", HEAD "defaults: {context: 2tok, two.speed: 2}\n");
    resolve(f);
    assert_value(f, "context", "1", "one.yaml");
    assert_value(f, "batch", "9", "base.yaml");
    assert_int_equal(resolve_with(f, elsewhere, 1, NULL, 0), ACCEL_OK);
    assert_value(f, "context", "2", "two.yaml");
    assert_value(f, "two.speed", "2", "two.yaml");
    assert_int_equal(resolve_with(f, both, 2, NULL, 0), ACCEL_OK);
    assert_value(f, "context", "2", "two.yaml");
    assert_int_equal(resolve_with(f, &(struct accel_profile_pair){"platform", "tow", "test"}, 1, NULL, 0),
                     ACCEL_E_NOT_FOUND);
    assert_error(f, "there is no platform \"tow\"; did you mean \"two\"?");
    assert_string_equal(f->error.remedy, "files of that kind: one, two");
}

static void test_client(void **state)
{
    static const struct accel_profile_pair seen[] = {{"driver.name", "one", "test"}, {"client.name", "web", "driver"}};
    struct fixture *f = *state;
    write_file(f, "base.yaml",
               HEAD "defaults: {client: auto}\nrules:\n- {when: client.name == web, set: {batch: 5tok}, because: b}\n");
    write_file(f, "clients/web.yaml", HEAD "defaults: {context: 3tok}\n");
    resolve(f);
    assert_value(f, "context", "auto", "built in");
    assert_int_equal(resolve_with(f, seen, 2, NULL, 0), ACCEL_OK);
    assert_value(f, "context", "3", "clients/web.yaml");
    setenv("ACCEL_CLIENT", "web", 1);
    resolve(f);
    assert_value(f, "context", "3", "clients/web.yaml");
    assert_value(f, "batch", "5", "base.yaml");
    setenv("ACCEL_CLIENT", "wep", 1);
    assert_int_equal(resolve_with(f, t4, 4, NULL, 0), ACCEL_E_NOT_FOUND);
    assert_error(f, "environment ACCEL_CLIENT: there is no client \"wep\"; did you mean \"web\"?");
    setenv("ACCEL_CLIENT", "../x", 1);
    assert_int_equal(resolve_with(f, t4, 4, NULL, 0), ACCEL_E_NOT_FOUND);
    unsetenv("ACCEL_CLIENT");
    write_file(f, "folder/accel.yaml",
               HEAD "rules:\n- {when: platform == one, set: {client: web}, because: b}\n"
                    "- {when: client.name == web, set: {client: none}, because: c}\n");
    assert_int_equal(resolve_with(f, t4, 4, NULL, 0), ACCEL_E_INVALID);
    assert_error(f, "with client web in force, client becomes none");
}

static const struct accel_profile_fact *find_fact(const struct fixture *f, const char *key)
{
    for (uint32_t i = 0; i < f->settings->fact_count; i++)
        if (strcmp(f->settings->facts[i].key, key) == 0)
            return &f->settings->facts[i];
    return NULL;
}

/* Facts of files join those of the caller before any rule is asked, and are weaker. */
static void test_facts(void **state)
{
    struct accel_profile_pair with_memory[] = {t4[0], t4[1], t4[3], {"device.memory", "8000000000", "driver"}};
    struct accel_profile_facts facts;
    struct fixture *f = *state;
    write_file(
        f, "base.yaml",
        HEAD "rules:\n- {when: [device.memory == 16GB, model.context < 4096tok], set: {context: 7tok}, because: b}\n");
    write_file(f, "devices/t4.yaml",
               HEAD "match: device.name contains t4\nfacts:\n  device.memory: {value: 16GB, because: sheet}\n"
                    "  device.capability: 75\n");
    write_file(f, "devices/x.yaml", HEAD "facts: {device.memory: 1GB}\n");
    write_file(f, "models/small.yaml", HEAD "facts: {model.context: 2048tok, model.kind: generation}\n");
    resolve(f);
    assert_value(f, "context", "7", "base.yaml");
    assert_string_equal(find_fact(f, "device.memory")->value, "16000000000");
    assert_string_equal(find_fact(f, "device.memory")->unit, "bytes");
    assert_string_equal(find_fact(f, "device.memory")->reason, "sheet");
    assert_int_equal(find_fact(f, "device.memory")->layer, ACCEL_LAYER_DEVICE);
    assert_non_null(strstr(find_fact(f, "device.memory")->place, "devices/t4.yaml:4"));
    assert_string_equal(find_fact(f, "model.context")->value, "2048");
    assert_string_equal(find_fact(f, "platform")->place, "driver.name");
    assert_int_equal(resolve_with(f, with_memory, 4, NULL, 0), ACCEL_OK);
    assert_value(f, "context", "auto", "built in");
    assert_string_equal(find_fact(f, "device.memory")->place, "driver");
    assert_int_equal(accel_profile_facts(f->profile, t4, 4, &facts, &f->error), ACCEL_OK);
    assert_int_equal(facts.count, 4 + 1 + 2 + 2);
    accel_profile_facts_free(&facts);
}

static void test_named_device(void **state)
{
    struct accel_profile_pair facts[] = {t4[0], t4[1], {"device.profile", "x", "test"}};
    struct fixture *f = *state;
    write_file(f, "devices/t4.yaml", HEAD "match: device.name contains T4\ndefaults: {context: 1tok, batch: 1tok}\n");
    write_file(f, "devices/u.yaml", HEAD "match: device.name contains Tesla\ndefaults: {context: 2tok}\n");
    write_file(f, "devices/x.yaml", HEAD "match: device.kind == npu\ndefaults: {context: 3tok}\n");
    write_file(f, "devices/y.yaml", HEAD "defaults: {context: 4tok}\n");
    /* Two match; the later name counts where both say something. */
    assert_int_equal(resolve_with(f, facts, 2, NULL, 0), ACCEL_OK);
    assert_value(f, "context", "2", "devices/u.yaml");
    assert_value(f, "batch", "1", "devices/t4.yaml");
    /* The one that is named is not asked whether it matches, and is alone. */
    assert_int_equal(resolve_with(f, facts, 3, NULL, 0), ACCEL_OK);
    assert_value(f, "context", "3", "devices/x.yaml");
    assert_value(f, "batch", "256", "built in");
    facts[2].value = "z";
    assert_int_equal(resolve_with(f, facts, 3, NULL, 0), ACCEL_E_NOT_FOUND);
    assert_error(f, "there is no device \"z\"");
    assert_string_equal(f->error.remedy, "files of that kind: t4, u, x, y");
}

/* A file that cannot be used fails what it counts for, and nothing else. */
static void test_bad_files(void **state)
{
    struct accel_profile_pair facts[] = {t4[0], t4[1], {"model.name", "other", "test"}};
    struct fixture *f = *state;
    write_file(f, "models/small.yaml", HEAD "facts: {model.kin: vision}\n");
    assert_int_equal(resolve_with(f, t4, 4, NULL, 0), ACCEL_E_INVALID);
    assert_error(f, "models/small.yaml:2:9: fact \"model.kin\" is unknown; did you mean \"model.kind\"?");
    assert_int_equal(resolve_with(f, facts, 3, NULL, 0), ACCEL_OK);
    facts[2].value = "../small";
    assert_int_equal(resolve_with(f, facts, 3, NULL, 0), ACCEL_OK);
    write_file(f, "devices/bad.yaml", HEAD "match: device.name contains X\nfoo: 1\n");
    assert_int_equal(resolve_with(f, facts, 3, NULL, 0), ACCEL_E_INVALID);
    assert_error(f, "devices/bad.yaml:3:1: \"foo\" is unknown here");
}

static void test_inheritance(void **state)
{
    struct fixture *f = *state;
    write_file(f, "one.yaml", HEAD "inherits: [devices/u, two]\n");
    write_file(f, "two.yaml", HEAD "defaults: {context: 2tok, two.speed: fast}\n");
    write_file(f, "devices/u.yaml", HEAD "inherits: v\ndefaults: {batch: 3tok}\n");
    write_file(f, "devices/v.yaml", HEAD "defaults: {batch: 4tok, attention.page: 4tok}\n");
    resolve(f);
    assert_value(f, "context", "2", "two.yaml");
    assert_value(f, "two.speed", "fast", "two.yaml");
    assert_value(f, "batch", "3", "devices/u.yaml");
    assert_value(f, "attention.page", "4", "devices/v.yaml");
    write_file(f, "devices/v.yaml", HEAD "inherits: devices/u\n");
    assert_int_equal(resolve_with(f, t4, 4, NULL, 0), ACCEL_E_INVALID);
    assert_error(f, "devices/v.yaml:2:11: \"devices/u\" inherits itself");
    write_file(f, "devices/v.yaml", HEAD "inherits: etc/passwd\n");
    assert_int_equal(resolve_with(f, t4, 4, NULL, 0), ACCEL_E_INVALID);
    /* One that is not there is named where it is asked for. */
    write_file(f, "devices/v.yaml", HEAD "inherits: nothing\n");
    assert_int_equal(resolve_with(f, t4, 4, NULL, 0), ACCEL_E_NOT_FOUND);
    assert_error(f, "devices/v.yaml:2:11: \"inherits\": ");
    assert_error(f, "devices/nothing.yaml: cannot open");
    write_file(f, "devices/v.yaml", HEAD);
    write_file(f, "folder/accel.yaml", HEAD "inherits: accel\n");
    assert_int_equal(resolve_with(f, t4, 4, NULL, 0), ACCEL_E_NOT_FOUND);
    assert_error(f, "folder/accel.yaml:2:11: \"inherits\": ");
    write_file(f, "folder/accel.yaml", HEAD);
    /* Lists of lists are bounded in all. */
    write_file(f, "one.yaml", HEAD "inherits: [two, two, two, two, two, two]\n");
    write_file(f, "two.yaml", HEAD "inherits: [three, three, three, three, three, three]\n");
    write_file(f, "three.yaml", HEAD);
    assert_int_equal(resolve_with(f, t4, 4, NULL, 0), ACCEL_E_INVALID);
    assert_error(f, "profiles inherit too deeply, or too many of them");
}

static void test_options(void **state)
{
    struct fixture *f = *state;
    write_file(f, "one.yaml", HEAD);
    write_file(f, "two.yaml", HEAD);
    write_file(f, "folder/accel.yaml", HEAD "defaults: {one.speed: 1, two.speed: 2}\n");
    resolve(f);
    assert_value(f, "one.speed", "1", "folder/accel.yaml");
    /* Another driver's option says nothing here. */
    assert_null(find_setting(f->settings, "two.speed"));
    setenv("ACCEL_ONE_SPEED", "3", 1);
    setenv("ACCEL_TWO_SPEED", "4", 1);
    resolve(f);
    unsetenv("ACCEL_ONE_SPEED");
    unsetenv("ACCEL_TWO_SPEED");
    assert_value(f, "one.speed", "3", "environment ACCEL_ONE_SPEED");
    assert_null(find_setting(f->settings, "two.speed"));
    write_file(f, "folder/accel.yaml", HEAD "defaults: {nobody.speed: 1}\n");
    assert_int_equal(resolve_with(f, t4, 4, NULL, 0), ACCEL_E_INVALID);
    assert_error(f, "folder/accel.yaml:2:12: setting \"nobody.speed\" is unknown");
    write_file(f, "cpu.yaml", HEAD);
    write_file(f, "folder/accel.yaml", HEAD "defaults: {cpu.pinn: true}\n");
    assert_int_equal(resolve_with(f, t4, 4, NULL, 0), ACCEL_E_INVALID);
    assert_error(f, "setting \"cpu.pinn\" is unknown; did you mean \"cpu.pin\"?");
}

/* ---- the site ---- */

static void test_trust(void **state)
{
    struct fixture *f = *state;
    char path[600];
    snprintf(path, sizeof(path), "%s/folder/accel.yaml", f->folder);
    write_file(f, "folder/accel.yaml", HEAD "defaults: {context: 8tok}\n");
    assert_int_equal(chmod(path, 0664), 0);
    assert_int_equal(resolve_with(f, t4, 4, NULL, 0), ACCEL_E_DENIED);
    assert_error(f, "folder/accel.yaml: not trusted: others may write to it, mode 0664");
    assert_non_null(strstr(f->error.remedy, "chmod go-w "));
    assert_int_equal(chmod(path, 0602), 0);
    assert_int_equal(resolve_with(f, t4, 4, NULL, 0), ACCEL_E_DENIED);
    assert_int_equal(chmod(path, 0600), 0);
    resolve(f);
    assert_value(f, "context", "8", "folder/accel.yaml");
    /* Only root can give a file away. */
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 4242, 4242), 0);
        assert_int_equal(resolve_with(f, t4, 4, NULL, 0), ACCEL_E_DENIED);
        assert_error(f, "it belongs to user 4242, neither root nor the caller");
    }
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(resolve_with(f, t4, 4, NULL, 0), ACCEL_E_INVALID);
    assert_error(f, "not a regular file");
}

static void test_site(void **state)
{
    struct fixture *f = *state;
    write_file(f, "folder/accel.yaml", HEAD "match: device.kind == npu\ndefaults: {context: 8tok}\n");
    resolve(f);
    assert_value(f, "context", "auto", "built in");
    write_file(f, "folder/accel.yaml", HEAD "inherits: devices/u\ndefaults: {context: 8tok}\n");
    write_file(f, "devices/u.yaml", HEAD "defaults: {batch: 3tok}\n");
    resolve(f);
    assert_value(f, "context", "8", "folder/accel.yaml");
    assert_value(f, "batch", "3", "devices/u.yaml");
    assert_int_equal(find_setting(f->settings, "batch")->layer, ACCEL_LAYER_FOLDER);
    write_file(f, "user/accel.yaml", HEAD "facts: {device.memory: 1GB}\n");
    assert_int_equal(resolve_with(f, t4, 4, NULL, 0), ACCEL_E_INVALID);
    assert_error(f, "user/accel.yaml:2:8: \"facts\" belongs into files of the folders devices and models");
}

/* ---- threads ---- */

static void *resolve_often(void *data)
{
    const struct fixture *f = data;
    for (int i = 0; i < 20; i++) {
        struct accel_settings *settings;
        if (accel_profile_resolve(f->profile, t4, 4, NULL, 0, &settings, NULL) != ACCEL_OK ||
            strcmp(find_setting(settings, "context")->value, "5") != 0)
            return data;
        accel_settings_free(settings);
    }
    return NULL;
}

/* Files are read when they are first needed, by whichever thread comes first. */
static void test_threads(void **state)
{
    struct fixture *f = *state;
    pthread_t threads[4];
    write_file(f, "one.yaml", HEAD "defaults: {context: 2tok, client: web}\n");
    write_file(f, "clients/web.yaml", HEAD "defaults: {context: 3tok}\n");
    write_file(f, "devices/t4.yaml", HEAD "match: device.name contains T4\ndefaults: {context: 4tok}\n");
    write_file(f, "models/small.yaml", HEAD "defaults: {context: 5tok}\n");
    assert_int_equal(accel_profile_create(f->folder, &f->profile, &f->error), ACCEL_OK);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, resolve_often, f), 0);
    for (size_t i = 0; i < 4; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_locks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_platform, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_client, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_facts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_named_device, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_inheritance, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_options, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_trust, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_site, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
