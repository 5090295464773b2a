/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.yaml: the installed one is sound and finds hardware; every error of the language names line and column. */
#include "config.h"

#include <pwd.h>
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

#include "core/base/file.h"
#include "core/registry/machine.h"
#include "tools/doctor/evaluate.h"
#include "tools/doctor/gather.h"
#include "tools/doctor/table.h"

/* ---- the file of the tree ---- */

struct known {
    uint32_t kind, vendor, device, device_class;
    const char *compatible;
    const char *name; /* NULL: nobody knows it */
    bool computes;
};

static const struct known devices[] = {
    {ACCEL_HARDWARE_PCI, 0x10de, 0x1eb8, 0x0302, "", "NVIDIA GPU", true},
    {ACCEL_HARDWARE_PCI, 0x10de, 0x0fba, 0x0403, "", NULL, false}, /* its sound */
    {ACCEL_HARDWARE_PCI, 0x1002, 0x740f, 0x0380, "", "AMD GPU", true},
    {ACCEL_HARDWARE_PCI, 0x1022, 0x1502, 0x1180, "", "AMD NPU", true},
    {ACCEL_HARDWARE_PCI, 0x8086, 0x643e, 0x1200, "", "Intel NPU", true},
    {ACCEL_HARDWARE_PCI, 0x8086, 0x56a0, 0x0300, "", "Intel GPU", true},
    {ACCEL_HARDWARE_PCI, 0x1a03, 0x2000, 0x0300, "", "Display of a management controller (ASPEED)", false},
    {ACCEL_HARDWARE_PCI, 0x1af4, 0x1050, 0x0380, "", "Display of a virtual machine (virtio)", false},
    {ACCEL_HARDWARE_PCI, 0xabcd, 0x0001, 0x0300, "", NULL, false},
    {ACCEL_HARDWARE_NODE, 0, 0, 0, "qcom,adreno-630.2", "Qualcomm GPU", true},
    {ACCEL_HARDWARE_NODE, 0, 0, 0, "arm,mali-t860", "Arm Mali GPU", true},
    {ACCEL_HARDWARE_NODE, 0, 0, 0, "apple,agx-g13g", "Apple GPU", true},
    {ACCEL_HARDWARE_NODE, 0, 0, 0, "example,none", NULL, false},
};

static void the_file(void **state)
{
    struct accel_arena arena = {0};
    struct accel_doctor_table table;
    struct accel_error error = {0};
    char path[1024];
    (void)state;
    snprintf(path, sizeof(path), "%s/profiles/doctor.yaml",
             getenv("ACCEL_TEST_SRCDIR") ? getenv("ACCEL_TEST_SRCDIR") : ".");
    if (accel_doctor_table_read(path, &arena, &table, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        const struct accel_hardware hardware = {.kind = devices[i].kind,
                                                .vendor = devices[i].vendor,
                                                .device = devices[i].device,
                                                .device_class = devices[i].device_class,
                                                .compatible = devices[i].compatible};
        const struct accel_doctor_entry *entry = accel_doctor_table_find(&table, &hardware);
        if ((entry == NULL) != (devices[i].name == NULL))
            fail_msg("%04x:%04x %s: %s", hardware.vendor, hardware.device, hardware.compatible,
                     entry ? entry->name : "nobody knows it");
        if (entry) {
            assert_string_equal(entry->name, devices[i].name);
            assert_int_equal(entry->computes, devices[i].computes);
        }
    }
    /* Requirements of a vendor's hardware have remedies; hardware that computes nothing has no requirements. */
    for (uint32_t i = 0; i < table.count; i++) {
        const struct accel_doctor_entry *entry = &table.entries[i];
        assert_true(entry->computes || (entry->about[0] != '\0' && entry->need_count == 0));
        for (uint32_t n = 0; n < entry->need_count; n++)
            assert_true(strlen(entry->needs[n].remedy) > 10 && strlen(entry->needs[n].remedy) < 200);
    }
    accel_arena_free(&arena);
}

/* ---- the language ---- */

#define HEAD "accel-doctor: 1\nhardware:\n"
#define ENTRY HEAD " A:\n  pci: {vendor: 0x1234}\n"

struct sample {
    const char *text;
    const char *words; /* of the error; NULL: it is right */
};

static const struct sample samples[] = {
    {ENTRY, NULL},
    {ENTRY "  needs: [{node: /dev/a, remedy: b}]\n", NULL},
    {ENTRY "  needs:\n   - {library: [a, b], folders: /x, for: c, least: '1', level: warn, remedy: r, container: s, "
           "because: t}\n",
     NULL},
    {HEAD " A:\n  tree: [\"a,\"]\n  computes: false\n  about: b\n", NULL},
    {"hardware: {}\n", "d.yaml:1:1: \"accel-doctor\" is missing"},
    {"accel-doctor: 2\n", "d.yaml:1:15: this version reads accel-doctor: 1"},
    {"[]\n", "d.yaml:1:1: a mapping belongs here"},
    {"accel-doctor: 1\nmore: 1\n", "d.yaml:2:1: \"more\" is unknown here"},
    {"accel-doctor: 1\nhardware: []\n", "d.yaml:2:11: hardware is a mapping"},
    {HEAD " A: b\n", "d.yaml:3:5: a mapping belongs here"},
    {HEAD " A: {computes: true}\n", "d.yaml:3:2: hardware without pci and tree is never met: \"A\""},
    {HEAD " A: {pci: {class: 0x0300}}\n", "\"vendor\" is missing"},
    {HEAD " A: {pci: {vendor: nobody}}\n", "d.yaml:3:20: expected a number of 16 bits"},
    {HEAD " A: {pci: {vendor: 0x12345}}\n", "a number of 16 bits"},
    {HEAD " A: {pci: {vendor: 1, colour: 2}}\n", "\"colour\" is unknown here"},
    {HEAD " A: {pci: {vendor: 1, class: [[]]}}\n", "a number of 16 bits"},
    {ENTRY "  colour: red\n", "d.yaml:5:3: \"colour\" is unknown here"},
    {ENTRY "  computes: maybe\n", "d.yaml:5:13: expected true or false"},
    {ENTRY "  about: ''\n", "expected a text"},
    {ENTRY "  needs: {}\n", "\"remedy\" is missing"},
    {ENTRY "  needs: [a]\n", "a mapping belongs here"},
    {ENTRY "  needs: [{remedy: a}]\n", "a need requires one of kernel, node and library"},
    {ENTRY "  needs: [{node: a}]\n", "\"remedy\" is missing"},
    {ENTRY "  needs: [{node: a, kernel: b, remedy: c}]\n", "a need requires one of kernel, node and library"},
    {ENTRY "  needs: [{node: a, remedy: c, level: high}]\n", "expected bad or warn"},
    {ENTRY "  needs: [{node: a, remedy: c, size: 1}]\n", "\"size\" is unknown here"},
    {ENTRY "  pci: {vendor: 1}\n", "key \"pci\" stands at line 4 already"},
};

static void the_language(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        struct accel_arena arena = {0};
        struct accel_doctor_table table;
        struct accel_error error = {0};
        int32_t code =
            accel_doctor_table_parse("d.yaml", samples[i].text, strlen(samples[i].text), &arena, &table, &error);
        if ((code == ACCEL_OK) != (samples[i].words == NULL) ||
            (samples[i].words && !strstr(error.text, samples[i].words)))
            fail_msg("%s\n%d '%s', wanted '%s'", samples[i].text, code, error.text,
                     samples[i].words ? samples[i].words : "");
        accel_arena_free(&arena);
    }
}

/* ---- looking ---- */

static void nodes_of_hardware(void **state)
{
    static const char *const files[] = {"card0", "renderD128", "renderD129"};
    const struct accel_hardware hardware = {.files = files, .file_count = 3};
    struct accel_arena arena = {0};
    const char *paths[DOCTOR_NODES];
    uint32_t count;
    (void)state;
    assert_true(accel_doctor_nodes("/dev/dri/{renderD}", &hardware, &arena, paths, &count));
    assert_int_equal(count, 2);
    assert_string_equal(paths[1], "/dev/dri/renderD129");
    assert_true(accel_doctor_nodes("/dev/{accel}/x", &hardware, &arena, paths, &count));
    assert_int_equal(count, 0);
    assert_true(accel_doctor_nodes("/dev/kfd", &hardware, &arena, paths, &count));
    assert_int_equal(count, 1);
    assert_string_equal(paths[0], "/dev/kfd");
    accel_arena_free(&arena);
}

static void nodes_here(void **state)
{
    struct accel_arena arena = {0};
    struct accel_evidence evidence;
    const struct accel_evidence_item *item;
    (void)state;
    accel_evidence_init(&evidence, &arena);
    accel_doctor_gather_node(&evidence, "/dev/null");
    item = accel_evidence_find(&evidence, "node", "/dev/null");
    assert_true(accel_evidence_is(item, "exists") && accel_evidence_is(item, "readable") &&
                accel_evidence_is(item, "writable"));
    assert_string_equal(accel_evidence_value(item, "type"), "device");
    assert_string_equal(accel_evidence_value(item, "mode"), "0666");
    accel_doctor_gather_node(&evidence, "/dev/no-such-node");
    item = accel_evidence_find(&evidence, "node", "/dev/no-such-node");
    assert_non_null(item);
    assert_false(accel_evidence_is(item, "exists"));
    accel_arena_free(&arena);
}

static void libraries_here(void **state)
{
    struct accel_arena arena = {0};
    struct accel_evidence evidence;
    const struct accel_doctor_words none = {0};
    const char *const folder = "/nowhere";
    const struct accel_doctor_words folders = {&folder, 1};
    const struct accel_evidence_item *item;
    (void)state;
    accel_evidence_init(&evidence, &arena);
    accel_doctor_gather_library(&evidence, "libc.so.*", &none);
    item = accel_evidence_find(&evidence, "library", "libc.so.*");
    assert_true(accel_evidence_is(item, "found") && accel_evidence_is(item, "loader"));
    assert_int_equal(access(accel_evidence_value(item, "path"), R_OK), 0);
    accel_doctor_gather_library(&evidence, "libno-such-library.so.1", &folders);
    item = accel_evidence_find(&evidence, "library", "libno-such-library.so.1");
    assert_non_null(item);
    assert_false(accel_evidence_is(item, "found"));
    accel_arena_free(&arena);
}

/* A group of the user's own has the user's name, which no snapshot may tell. */
static void no_name_of_the_user(void **state)
{
    struct accel_arena arena = {0};
    struct accel_evidence evidence;
    const struct passwd *user = getpwuid(geteuid());
    char *groups, *rest;
    (void)state;
    if (user == NULL)
        skip();
    accel_evidence_init(&evidence, &arena);
    accel_doctor_gather_process(&evidence);
    rest = groups = strdup(accel_evidence_value(accel_evidence_find(&evidence, "process", ""), "groups"));
    for (const char *group = strsep(&rest, " "); group; group = strsep(&rest, " "))
        assert_string_not_equal(group, user->pw_name);
    free(groups);
    accel_arena_free(&arena);
}

/* Folders that are not there, as an application may name them; "" ends the search, too. */
static void folders_that_are_not_there(void **state)
{
    static const struct {
        const char *cache;
        const char *nearest;
    } folders[] = {{"/no-such-folder/a/b", "/"}, {"no-such-folder/a", "."}, {"", "."}, {"/dev/no-such/a", "/dev"}};
    (void)state;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        struct accel_context_options options = {.size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS};
        const struct accel_doctor_table none = {0};
        struct accel_context *context = NULL;
        struct accel_arena arena = {0};
        struct accel_evidence evidence;
        options.cache_path = folders[i].cache;
        assert_int_equal(accel_context_create(&options, &context, NULL), ACCEL_OK);
        accel_evidence_init(&evidence, &arena);
        assert_int_equal(accel_doctor_gather(context, &none, &evidence, NULL), ACCEL_OK);
        assert_string_equal(accel_evidence_value(accel_evidence_find(&evidence, "folder", "cache"), "nearest"),
                            folders[i].nearest);
        assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
        accel_arena_free(&arena);
    }
}

/* ---- from looking to rows ---- */

static const char table_text[] = "accel-doctor: 1\nhardware:\n"
                                 " A:\n"
                                 "  pci: {vendor: 0x4321}\n"
                                 "  drivers: nobody\n"
                                 "  needs:\n"
                                 "  - {node: \"%s/{doctor_node}\", remedy: make it}\n"
                                 "  - {node: \"%s/doctor_table.none*\", remedy: make some}\n"
                                 "  - {library: libc.so.*, least: '2.0', remedy: none}\n"
                                 "  - {kernel: nothing-of-that-name, remedy: load it}\n";

static const struct accel_doctor_row *find_row(const struct accel_doctor_evaluation *doctor, const char *check,
                                               const char *subject)
{
    for (uint32_t i = 0; i < doctor->rows.count; i++) {
        const struct accel_doctor_row *row = doctor->rows.items[i];
        if (strcmp(row->check, check) == 0 && strstr(row->subject, subject))
            return row;
    }
    fail_msg("no row %s of %s", check, subject);
    return NULL;
}

static void check_rows(const struct accel_doctor_evaluation *doctor, bool closed)
{
    const struct accel_doctor_row *row = find_row(doctor, "hardware.node", "doctor_node");
    assert_int_equal(row->state, closed ? ACCEL_DOCTOR_BAD : ACCEL_DOCTOR_GOOD);
    assert_true(!closed || strstr(row->text, "is not readable by this user (mode"));
    row = find_row(doctor, "hardware.node", "doctor_table.none*");
    assert_int_equal(row->state, ACCEL_DOCTOR_BAD);
    assert_string_equal(row->remedy, "make some");
    assert_string_equal(row->place, "d.yaml:8");
    assert_int_equal(find_row(doctor, "hardware.library", "libc.so")->state, ACCEL_DOCTOR_GOOD);
    row = find_row(doctor, "hardware.kernel", "A GPU (00ff:00:1f.0)");
    assert_int_equal(row->state, ACCEL_DOCTOR_BAD);
    assert_string_equal(row->remedy, "load it");
    row = find_row(doctor, "hardware.claim", "A GPU (00ff:00:1f.0)");
    assert_non_null(strstr(row->remedy, "driver plugin nobody"));
}

/* Looks as a user who may not use the node: root becomes nobody for it. */
static void look_and_judge(struct accel_context *context, struct accel_doctor_table *table, struct accel_arena *arena,
                           bool closed)
{
    struct accel_evidence evidence;
    struct accel_doctor_evaluation doctor = {.context = context, .table = table, .evidence = &evidence, .arena = arena};
    bool root = geteuid() == 0;
    accel_evidence_init(&evidence, arena);
    if (closed && root)
        assert_int_equal(setegid(65534) | seteuid(65534), 0);
    assert_int_equal(accel_doctor_gather(context, table, &evidence, NULL), ACCEL_OK);
    if (closed && root)
        assert_int_equal(seteuid(0) | setegid(0), 0);
    accel_doctor_check_hardware(&doctor);
    assert_false(doctor.failed);
    check_rows(&doctor, closed);
    if (closed && root)
        assert_non_null(strstr(find_row(&doctor, "hardware.node", "doctor_node")->remedy, "group"));
    accel_rows_free(&doctor.rows);
}

static void from_looking_to_rows(void **state)
{
    static const char *const files[] = {"doctor_node"};
    const struct accel_context_options options = {.size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS};
    const struct accel_hardware hardware = {.kind = ACCEL_HARDWARE_PCI,
                                            .domain = 0xff,
                                            .slot = 0x1f,
                                            .vendor = 0x4321,
                                            .name = "A GPU",
                                            .files = files,
                                            .file_count = 1};
    struct accel_context *context = NULL;
    struct accel_doctor_table table;
    struct accel_arena arena = {0};
    char here[1024], text[4096];
    (void)state;
    assert_non_null(getcwd(here, sizeof(here)));
    snprintf(text, sizeof(text), table_text, here, here);
    assert_int_equal(accel_doctor_table_parse("d.yaml", text, strlen(text), &arena, &table, NULL), ACCEL_OK);
    assert_int_equal(accel_file_write("doctor_node", "", 0, 0660, NULL), ACCEL_OK);
    assert_int_equal(chmod("doctor_node", 0660), 0);
    assert_int_equal(accel_context_create(&options, &context, NULL), ACCEL_OK);
    assert_int_equal(accel_context_discover(context, NULL), ACCEL_OK);
    assert_int_equal(accel_machine_add(context, &hardware, NULL), ACCEL_OK);
    look_and_judge(context, &table, &arena, false);
    if (geteuid() == 0)
        assert_int_equal(chown("doctor_node", 0, 44), 0);
    else
        assert_int_equal(chmod("doctor_node", 0), 0);
    look_and_judge(context, &table, &arena, true);
    unlink("doctor_node");
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
    accel_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_file),
                                       cmocka_unit_test(the_language),
                                       cmocka_unit_test(nodes_of_hardware),
                                       cmocka_unit_test(nodes_here),
                                       cmocka_unit_test(libraries_here),
                                       cmocka_unit_test(no_name_of_the_user),
                                       cmocka_unit_test(folders_that_are_not_there),
                                       cmocka_unit_test(from_looking_to_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
