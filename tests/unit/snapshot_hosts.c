/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded hosts: every snapshot of tests/topologies is replayed, and its devices, the doctor's rows and the threads of
 * a plan are those that stand in the table here. Then snapshots of this machine, and files that are no snapshots.
 */
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

#include <accel/accel.h>

#include "core/base/file.h"
#include "core/registry/context.h"
#include "core/snapshot/snapshot.h"
#include "core/topology/topology.h"
#include "tools/doctor/doctor.h"
#include "tools/doctor/snapshot.h"

/* A row that the doctor has to say: text and remedy hold these words. */
struct wanted_row {
    uint32_t state;
    const char *check;
    const char *subject;
    const char *text;
    const char *remedy;
};

struct host {
    const char *name;
    const char *devices[10]; /* in their order */
    uint32_t hardware;
    uint32_t threads; /* that would compute */
    uint32_t bad;     /* rows */
    struct wanted_row rows[6];
};

static const struct host hosts[] = {
    {"laptop-hybrid",
     {"vulkan:0000:00:02.0", "cpu:cpu0"},
     2,
     14,
     0,
     {{ACCEL_DOCTOR_GOOD, "hardware.node", "/dev/dri/renderD128", "can be read and written", ""},
      {ACCEL_DOCTOR_WARN, "hardware.library", "libigdrcl.so", "not where the loader looks", "intel-opencl-icd"},
      {ACCEL_DOCTOR_GOOD, "cpu.set", "i7-1370P", "all 20 hardware threads of 14 cores", ""}}},
    {"server-8-gpus",
     {"cuda:0000:34:00.0", "cuda:0000:36:00.0", "cuda:0000:39:00.0", "cuda:0000:3b:00.0", "cuda:0000:57:00.0",
      "cuda:0000:59:00.0", "cuda:0000:5c:00.0", "cuda:0000:5e:00.0", "cpu:cpu0"},
     9,
     4,
     0,
     {{ACCEL_DOCTOR_GOOD, "hardware.kernel", "0000:5e:00.0", "module nvidia drives it, version 535.104.05", ""},
      {ACCEL_DOCTOR_WARN, "hardware.library", "libnvrtc.so.12", "loader does not look", "/usr/local/cuda/lib64"},
      {ACCEL_DOCTOR_NOTE, "memory.numa", "NUMA", "2 nodes", ""},
      {ACCEL_DOCTOR_GOOD, "plugin.load", "cuda", "8 devices", ""}}},
    {"container-quota",
     {"cpu:cpu0"},
     1,
     2,
     0,
     {{ACCEL_DOCTOR_WARN, "cpu.quota", "quota", "the time of 1.5 processors, of 6", "--cpus=6"},
      {ACCEL_DOCTOR_WARN, "cpu.set", "Opteron", "6 of 32 hardware threads", "cpuset"},
      {ACCEL_DOCTOR_NOTE, "memory.limit", "limit", "may hold 4.00 GiB", ""},
      {ACCEL_DOCTOR_NOTE, "system.container", "container", "docker", ""}}},
    {"board-arm",
     {"cpu:cpu0"},
     2,
     2,
     1,
     {{ACCEL_DOCTOR_BAD, "hardware.claim", "arm,mali-400", "no driver of accel", "vulkan or opencl"},
      {ACCEL_DOCTOR_GOOD, "hardware.kernel", "gpu@a0300000", "module lima drives it", ""},
      {ACCEL_DOCTOR_WARN, "hardware.library", "libvulkan.so.1", "not where", "mesa-vulkan-drivers"}}},
    {"desktop-two-gpus",
     {"cuda:0000:01:00.0", "vulkan:0000:00:02.0", "vulkan:0000:01:00.0", "cpu:cpu0"},
     3,
     14,
     0,
     {{ACCEL_DOCTOR_GOOD, "hardware.claim", "RTX 4090", "is device cuda:0000:01:00.0", ""},
      {ACCEL_DOCTOR_GOOD, "hardware.claim", "UHD Graphics 770", "is device vulkan:0000:00:02.0", ""}}},
    {"gpu-without-driver",
     {"cpu:cpu0"},
     5,
     12,
     10,
     {{ACCEL_DOCTOR_BAD, "hardware.kernel", "0000:06:00.0", "module nouveau drives it, not nvidia",
       "install NVIDIA's driver"},
      {ACCEL_DOCTOR_BAD, "hardware.kernel", "0000:11:00.0", "no kernel module drives it", "install NVIDIA's driver"},
      {ACCEL_DOCTOR_BAD, "hardware.node", "/dev/nvidiactl", "is not there", "nvidia-modprobe"},
      {ACCEL_DOCTOR_BAD, "hardware.library", "libcuda.so.1", "not where the loader looks", "libcuda1"},
      {ACCEL_DOCTOR_BAD, "hardware.claim", "0000:14:00.0", "no driver of accel", "cuda"},
      {ACCEL_DOCTOR_NOTE, "hardware.claim", "ES1000", "management controller", ""}}},
    {"gpu-node-closed",
     {"cpu:cpu0"},
     3,
     16,
     6,
     {{ACCEL_DOCTOR_BAD, "hardware.node", "/dev/kfd", "not readable by this user (mode 0660, group render)",
       "add the user to group render"},
      {ACCEL_DOCTOR_BAD, "hardware.node", "/dev/dri/renderD129", "not readable", "group render"},
      {ACCEL_DOCTOR_BAD, "hardware.library", "/opt/rocm/lib/libamdhip64.so.6", "loader does not look", "ldconfig"},
      {ACCEL_DOCTOR_BAD, "hardware.driver", "0000:43:00.0", "driver rocm refuses it", "group render"}}},
};

static char *host_path(const char *name)
{
    const char *top = getenv("ACCEL_TEST_SRCDIR");
    char path[1024];
    snprintf(path, sizeof(path), "%s/tests/topologies/%s.json", top ? top : ".", name);
    return strdup(path);
}

/* A context that replays a file; the caller frees it. */
static int32_t replay(const char *path, struct accel_context **out_context, struct accel_error *error)
{
    const struct accel_context_options options = {.size = sizeof(options), .host_path = path};
    assert_int_equal(accel_context_create(&options, out_context, error), ACCEL_OK);
    return accel_context_discover(*out_context, error);
}

static bool holds(const struct accel_doctor_row *row, const struct wanted_row *wanted)
{
    return row->state == wanted->state && strcmp(row->check, wanted->check) == 0 &&
           strstr(row->subject, wanted->subject) && strstr(row->text, wanted->text) &&
           strstr(row->remedy, wanted->remedy) && (wanted->remedy[0] != '\0') == (row->remedy[0] != '\0');
}

static void check_row(const struct host *host, const struct accel_doctor *doctor, const struct wanted_row *wanted)
{
    for (uint32_t i = 0; i < accel_doctor_count(doctor); i++)
        if (holds(accel_doctor_get(doctor, i), wanted))
            return;
    for (uint32_t i = 0; i < accel_doctor_count(doctor); i++) {
        const struct accel_doctor_row *row = accel_doctor_get(doctor, i);
        print_message("%u %s %s: %s | %s\n", row->state, row->check, row->subject, row->text, row->remedy);
    }
    fail_msg("%s: no row %s of %s that says '%s', remedy '%s'", host->name, wanted->check, wanted->subject,
             wanted->text, wanted->remedy);
}

static void check_doctor(const struct host *host, struct accel_context *context)
{
    struct accel_doctor *doctor = NULL;
    struct accel_error error = {0};
    assert_int_equal(accel_doctor_create(context, &doctor, &error), ACCEL_OK);
    for (uint32_t i = 0; i < 6 && host->rows[i].check; i++)
        check_row(host, doctor, &host->rows[i]);
    if (accel_doctor_tally(doctor, ACCEL_DOCTOR_BAD) != host->bad)
        fail_msg("%s: %u bad rows, not %u", host->name, accel_doctor_tally(doctor, ACCEL_DOCTOR_BAD), host->bad);
    assert_int_equal(accel_doctor_tally(doctor, ACCEL_DOCTOR_UNKNOWN), 0);
    /* The context may not go while its doctor lives. */
    assert_int_equal(accel_context_free(context, NULL), ACCEL_E_BUSY);
    accel_doctor_free(doctor);
}

static void check_threads(const struct host *host, const struct accel_context *context)
{
    const struct accel_thread_policy policy = {0};
    struct accel_thread_plan plan = {0};
    assert_int_equal(accel_topology_threads(context->topology, &policy, &plan, NULL), ACCEL_OK);
    if (plan.count != host->threads)
        fail_msg("%s: %u threads (%s), not %u", host->name, plan.count, plan.reason, host->threads);
    accel_thread_plan_free(&plan);
}

static void check_closed(struct accel_context *context, const char *name)
{
    struct accel_device *device = NULL;
    struct accel_error error = {0};
    assert_int_equal(accel_device_open(context, name, NULL, 0, &device, &error), ACCEL_E_UNSUPPORTED);
    assert_null(device);
    assert_non_null(strstr(error.text, name));
    assert_non_null(strstr(error.text, "recorded machine"));
    assert_non_null(strstr(error.remedy, "repeat the command on that machine without --host"));
}

static void check_host(const struct host *host)
{
    char *path = host_path(host->name);
    struct accel_context *context = NULL;
    struct accel_error error = {0};
    uint32_t count = 0;
    if (replay(path, &context, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    while (count < 10 && host->devices[count])
        count++;
    assert_int_equal(accel_device_count(context), count);
    for (uint32_t i = 0; i < count; i++) {
        assert_string_equal(accel_device_get(context, i)->name, host->devices[i]);
        check_closed(context, host->devices[i]);
    }
    assert_int_equal(accel_hardware_count(context), host->hardware);
    assert_true(accel_fact_count(context) > 6);
    assert_string_equal(accel_context_recording(context)->path, path);
    assert_true(accel_context_recording(context)->about[0] != '\0');
    /* Every recorded host says what was added to it. */
    assert_true(accel_context_recording(context)->added_count >= 2);
    check_threads(host, context);
    check_doctor(host, context);
    assert_int_equal(accel_context_free(context, &error), ACCEL_OK);
    free(path);
}

static void recorded_hosts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
        check_host(&hosts[i]);
}

/* The duplicate of one card by two drivers is seen in a recording as on a live machine. */
static void recorded_duplicate(void **state)
{
    char *path = host_path("desktop-two-gpus");
    struct accel_context *context = NULL;
    (void)state;
    assert_int_equal(replay(path, &context, NULL), ACCEL_OK);
    assert_int_equal(accel_device_get(context, 0)->duplicate_of, -1);
    assert_int_equal(accel_device_get(context, 1)->duplicate_of, -1);
    assert_int_equal(accel_device_get(context, 2)->duplicate_of, 0);
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
    free(path);
}

/* ---- this machine ---- */

static char *text_of(struct accel_context *context, uint64_t *out_bytes)
{
    char *text = NULL;
    struct accel_error error = {0};
    if (accel_snapshot_text(context, &text, out_bytes, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    assert_int_equal(strlen(text), *out_bytes);
    return text;
}

static void same_records(const struct accel_context *live, const struct accel_context *recorded)
{
    assert_int_equal(accel_device_count(live), accel_device_count(recorded));
    for (uint32_t i = 0; i < accel_device_count(live); i++) {
        const struct accel_device_info *a = accel_device_get(live, i);
        const struct accel_device_info *b = accel_device_get(recorded, i);
        assert_string_equal(a->name, b->name);
        assert_string_equal(a->facts->detail, b->facts->detail);
        assert_int_equal(a->facts->flags, b->facts->flags);
        assert_int_equal(a->facts->heap_count, b->facts->heap_count);
        assert_true(a->facts->heaps[0].bytes == b->facts->heaps[0].bytes);
        assert_int_equal(a->facts->type_count, b->facts->type_count);
        assert_memory_equal(a->facts->limits, b->facts->limits, sizeof(*a->facts->limits));
        assert_string_equal(a->rank_reason, b->rank_reason);
    }
    assert_int_equal(accel_fact_count(live), accel_fact_count(recorded));
    for (uint32_t i = 0; i < accel_fact_count(live); i++) {
        assert_string_equal(accel_fact_get(live, i)->key, accel_fact_get(recorded, i)->key);
        assert_string_equal(accel_fact_get(live, i)->value, accel_fact_get(recorded, i)->value);
        assert_string_equal(accel_fact_get(live, i)->origin, accel_fact_get(recorded, i)->origin);
    }
    assert_int_equal(accel_plugin_count(live), accel_plugin_count(recorded));
    assert_int_equal(accel_verdict_count(live), accel_verdict_count(recorded));
    assert_int_equal(accel_hardware_count(live), accel_hardware_count(recorded));
}

static void this_machine(void **state)
{
    static const char file[] = "snapshot_hosts.json";
    struct accel_context *live = NULL;
    struct accel_context *recorded = NULL;
    struct accel_context *again = NULL;
    struct accel_error error = {0};
    uint64_t bytes = 0, bytes_again = 0;
    char *text, *text_again;
    (void)state;
    setenv("HOME", "/home/somebody/", 1);
    setenv("XDG_CACHE_HOME", "/home/somebody/caches", 1);
    setenv("ACCEL_CONTEXT", "512tok", 1);
    assert_int_equal(accel_context_create(NULL, &live, &error), ACCEL_OK);
    assert_int_equal(accel_snapshot_write(live, file, &error), ACCEL_E_INVALID); /* it has not discovered */
    accel_error_clear(&error);
    assert_int_equal(accel_context_discover(live, &error), ACCEL_OK);
    assert_null(accel_context_recording(live));
    assert_int_equal(accel_snapshot_write(live, file, &error), ACCEL_OK);
    assert_int_equal(accel_file_read(file, ACCEL_SNAPSHOT_BYTES, &text, NULL, NULL), ACCEL_OK);
    assert_null(strstr(text, "somebody"));
    assert_non_null(strstr(text, "~/caches/accel"));
    assert_non_null(strstr(text, "ACCEL_CONTEXT=512tok"));
    assert_null(strstr(text, "HostName"));
    assert_null(strstr(text, "Cgroup"));
    free(text);
    unsetenv("ACCEL_CONTEXT");
    assert_int_equal(replay(file, &recorded, &error), ACCEL_OK);
    same_records(live, recorded);
    text = text_of(recorded, &bytes);
    assert_int_equal(accel_file_write(file, text, bytes, 0644, &error), ACCEL_OK);
    assert_int_equal(replay(file, &again, &error), ACCEL_OK);
    text_again = text_of(again, &bytes_again);
    assert_string_equal(text, text_again);
    free(text);
    free(text_again);
    unlink(file);
    assert_int_equal(accel_context_free(live, NULL), ACCEL_OK);
    assert_int_equal(accel_context_free(recorded, NULL), ACCEL_OK);
    assert_int_equal(accel_context_free(again, NULL), ACCEL_OK);
}

static void unwritable(void **state)
{
    char *path = host_path("board-arm");
    struct accel_context *context = NULL;
    struct accel_error error = {0};
    struct accel_bandwidth bandwidth = {.size = sizeof(bandwidth)};
    (void)state;
    assert_int_equal(replay(path, &context, &error), ACCEL_OK);
    assert_int_equal(accel_snapshot_write(context, "/nowhere/at/all.json", &error), ACCEL_E_NOT_FOUND);
    assert_non_null(strstr(error.text, "/nowhere/at/all.json"));
    accel_error_clear(&error);
    assert_int_equal(accel_snapshot_write(context, "-", &error), ACCEL_E_INVALID);
    assert_non_null(strstr(error.text, "accel_snapshot_text"));
    assert_int_not_equal(access("-", F_OK), 0);
    accel_error_clear(&error);
    assert_int_equal(accel_doctor_measure(context, &bandwidth, &error), ACCEL_E_UNSUPPORTED);
    accel_error_clear(&error);
    bandwidth.size = 8;
    assert_int_equal(accel_doctor_measure(context, &bandwidth, &error), ACCEL_E_INVALID);
    accel_context_free(context, NULL);
    free(path);
}

static void bandwidth_here(void **state)
{
    struct accel_context *context = NULL;
    struct accel_error error = {0};
    struct accel_bandwidth b = {.size = sizeof(b)};
    const struct accel_context_options options = {.size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS};
    int32_t code;
    (void)state;
    assert_int_equal(accel_context_create(&options, &context, NULL), ACCEL_OK);
    assert_int_equal(accel_context_discover(context, NULL), ACCEL_OK);
    code = accel_doctor_measure(context, &b, &error);
    accel_context_free(context, NULL);
    if (code == ACCEL_E_MEMORY)
        skip();
    assert_int_equal(code, ACCEL_OK);
    assert_true(b.lowest > 0 && b.lowest <= b.bytes_per_second && b.bytes_per_second <= b.highest);
    assert_true(b.threads >= 1 && b.passes >= 3 && b.bytes >= (uint64_t)256 << 20);
}

/* ---- files that are none ---- */

#define HEAD "{\"schema\": \"accel/snapshot/1\", \"topology\": {\"limits\": {}, \"xml\": []}"

struct wrong {
    const char *text;
    int32_t code;
    const char *words;
};

static const struct wrong wrongs[] = {
    {"", ACCEL_E_CORRUPT, "x.json:1:1: the file is empty"},
    {"[]", ACCEL_E_CORRUPT, "a snapshot is one object"},
    {"# Title\n\nSome words: about other: words\n", ACCEL_E_CORRUPT, "is no snapshot of a machine"},
    {"words", ACCEL_E_CORRUPT, "is no snapshot of a machine"},
    {"{\"schema\": \"accel/snapshot/1\"}", ACCEL_E_CORRUPT, "key \"topology\" is missing"},
    {"{\"schema\": \"accel/snapshot/9\", \"topology\": {\"limits\": {}, \"xml\": []}}", ACCEL_E_UNSUPPORTED,
     "accel/snapshot/9"},
    {HEAD ", \"more\": 1}", ACCEL_E_CORRUPT, "x.json:1:71: key \"more\" is unknown"},
    {HEAD ", \"about\": []}", ACCEL_E_CORRUPT, "about: \"a list or an object\" is not a single value"},
    {HEAD ", \"added\": \"x\"}", ACCEL_E_CORRUPT, "is not a list"},
    {HEAD ", \"hardware\": [{\"kind\": \"pci\", \"name\": \"n\", \"numa\": 99999999999}]}", ACCEL_E_CORRUPT,
     "numa: \"99999999999\" is not a number of 32 bits"},
    {HEAD ", \"hardware\": [{\"kind\": \"car\", \"name\": \"n\", \"numa\": 0}]}", ACCEL_E_CORRUPT, "kind: \"car\""},
    {HEAD ", \"hardware\": [{\"kind\": \"pci\", \"name\": \"n\", \"numa\": 0, \"address\": \"65:00.0\"}]}",
     ACCEL_E_CORRUPT, "is not a PCI address"},
    {HEAD ", \"hardware\": [{\"kind\": \"pci\", \"name\": \"n\", \"numa\": 0, \"vendor\": \"0xfffffffff\"}]}",
     ACCEL_E_CORRUPT, "vendor: \"0xfffffffff\" is not a whole number of 32 bits"},
    {HEAD ", \"verdicts\": [{\"driver\": \"d\", \"hardware\": 0, \"code\": \"E\", \"text\": \"\"}]}", ACCEL_E_CORRUPT,
     "code: \"E\" is not the name of a status"},
    {HEAD ", \"evidence\": {}}", ACCEL_E_CORRUPT, "evidence is a list"},
    {HEAD ", \"evidence\": [{\"kind\": \"node\"}]}", ACCEL_E_CORRUPT, "has a \"kind\" and a \"name\""},
    {HEAD ", \"evidence\": [{\"kind\": \"node\", \"name\": []}]}", ACCEL_E_CORRUPT, "\"name\" of evidence is no text"},
    {HEAD ", \"about\": \"a\", \"about\": \"b\"}", ACCEL_E_CORRUPT, "key \"about\" stands at line 1 already"},
    {HEAD ", \"about\": &a \"b\"}", ACCEL_E_CORRUPT, "anchors and tags are not part of a snapshot"},
    {HEAD, ACCEL_E_CORRUPT, "x.json:2:1: did not find expected"},
};

static void no_snapshots(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
        struct accel_arena arena = {0};
        struct accel_snapshot snapshot;
        struct accel_error error = {0};
        int32_t code =
            accel_snapshot_parse("x.json", wrongs[i].text, strlen(wrongs[i].text), &arena, &snapshot, &error);
        if (code != wrongs[i].code || strstr(error.text, wrongs[i].words) == NULL)
            fail_msg("%s: %d '%s', wanted '%s'", wrongs[i].text, code, error.text, wrongs[i].words);
        accel_arena_free(&arena);
    }
}

/* Wrong only for those who replay: each is refused by discover, and the context stays usable. */
static void no_machines(void **state)
{
    static const struct wrong machines[] = {
        {HEAD "}", ACCEL_E_CORRUPT, "not a machine that hwloc"},
        {"{\"schema\": \"accel/snapshot/1\", \"topology\": {\"limits\": {}, \"xml\": [\"<topology>\"]}}",
         ACCEL_E_CORRUPT, "not a machine that hwloc"},
    };
    static const char file[] = "snapshot_wrong.json";
    (void)state;
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        struct accel_context *context = NULL;
        struct accel_error error = {0};
        assert_int_equal(accel_file_write(file, machines[i].text, strlen(machines[i].text), 0644, NULL), ACCEL_OK);
        assert_int_equal(replay(file, &context, &error), machines[i].code);
        if (strstr(error.text, machines[i].words) == NULL || strstr(error.text, file) == NULL)
            fail_msg("'%s', wanted '%s'", error.text, machines[i].words);
        assert_int_equal(accel_device_count(context), 0);
        assert_null(accel_context_recording(context));
        assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
    }
    unlink(file);
}

static void missing_file(void **state)
{
    struct accel_context *context = NULL;
    struct accel_error error = {0};
    (void)state;
    assert_int_equal(replay("/nowhere.json", &context, &error), ACCEL_E_NOT_FOUND);
    assert_non_null(strstr(error.text, "/nowhere.json"));
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_hosts), cmocka_unit_test(recorded_duplicate), cmocka_unit_test(this_machine),
        cmocka_unit_test(unwritable),     cmocka_unit_test(bandwidth_here),     cmocka_unit_test(no_snapshots),
        cmocka_unit_test(no_machines),    cmocka_unit_test(missing_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
