/* SPDX-License-Identifier: Apache-2.0 */
/* accel-probe loads one driver file in a process of its own, so that a fault of the driver does not end the
 * caller's process. libaccel runs it after checking the file; the hardware comes on standard input, the answer
 * goes to descriptor 3 (core/plugin/ipc.h). With --compile instead of a file it is the worker of
 * core/runtime/worker.h. The exit status is 0 unless the driver decides otherwise. */
#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/base/strbuf.h"
#include "core/boundary/import.h"
#include "core/plugin/child.h"
#include "core/plugin/ipc.h"
#include "core/plugin/load.h"
#include "core/runtime/worker.h"
#include "tools/accel-probe/messages.h"
#include "tools/accel-probe/probe.h"

#define INPUT_LIMIT (4u << 20)
/* Limits the bytes that devices and verdicts take up in an answer; the rest is reserved for its other messages. */
#define ANSWER_LIMIT (ACCEL_CHILD_ANSWER - 3u * ACCEL_IPC_BYTES)

/* State of one probe. The sink comes first, so that a pointer to it is one to the probe. */
struct probe {
    struct accel_device_sink sink;
    struct accel_host host;
    pthread_mutex_t sinking; /* a driver may enumerate in several threads */
    bool enumerates;         /* false: a thread that the driver leaves behind is ignored */
    struct accel_arena arena;
    const struct accel_hardware *const *hardware;
    uint32_t hardware_count;
    const char *name; /* of the driver */
    uint32_t devices;
    size_t answered;        /* bytes of devices and verdicts that were sent */
    _Atomic int64_t blocks; /* of the host's memory that the driver did not give back */
    int32_t fault;          /* first fault of a record that the driver gave, or ACCEL_OK */
    struct accel_error error;
    struct accel_error verdict; /* the first one of the driver */
};

/* ---- the smallest host ---- */

static struct probe *probe_of(const struct accel_host *host)
{
    return (struct probe *)((uintptr_t)host - offsetof(struct probe, host));
}

static int32_t ACCEL_CALL host_log(const struct accel_host *host, uint32_t level, const char *text)
{
    (void)host;
    fprintf(stderr, "log level=%u %s\n", level, text ? text : "");
    return ACCEL_OK;
}

static int32_t ACCEL_CALL host_allocate(const struct accel_host *host, uint32_t memory_class, uint64_t bytes,
                                        uint64_t alignment, void **out_memory, struct accel_error *error)
{
    *out_memory = NULL;
    if (bytes == 0 || bytes > SIZE_MAX / 2 || alignment == 0 || (alignment & (alignment - 1)) != 0 ||
        memory_class == 0 || memory_class >= ACCEL_MEMORY_END)
        return accel_error_set(error, ACCEL_E_INVALID, "allocate: bad class, size or alignment");
    if (alignment < sizeof(void *))
        alignment = sizeof(void *);
    if (posix_memalign(out_memory, (size_t)alignment, (size_t)bytes) != 0) {
        *out_memory = NULL;
        return accel_error_set(error, ACCEL_E_MEMORY, "allocate: no memory");
    }
    memset(*out_memory, 0, (size_t)bytes);
    atomic_fetch_add(&probe_of(host)->blocks, 1);
    return ACCEL_OK;
}

static int32_t ACCEL_CALL host_release(const struct accel_host *host, void *memory)
{
    if (memory != NULL)
        atomic_fetch_sub(&probe_of(host)->blocks, 1);
    free(memory);
    return ACCEL_OK;
}

static int32_t ACCEL_CALL host_clock(const struct accel_host *host, uint64_t *out_nanoseconds)
{
    (void)host;
    *out_nanoseconds = accel_clock_ns();
    return ACCEL_OK;
}

/* ---- what the driver finds ---- */

static int32_t send_device(struct probe *probe, const struct accel_facts *facts, struct accel_error *error)
{
    struct accel_facts *copy = NULL;
    struct accel_strbuf record = {0};
    int32_t code = accel_import_facts(&probe->arena, facts, probe->hardware_count, probe->name, &copy, &probe->error);
    if (code != ACCEL_OK && probe->fault == ACCEL_OK)
        probe->fault = code;
    if (code == ACCEL_OK && probe->answered < ANSWER_LIMIT) {
        accel_ipc_put_device(&record, copy);
        probe->answered += record.length;
        send_records(&record);
    }
    probe->devices++;
    return code == ACCEL_OK ? ACCEL_OK : accel_error_set(error, code, "%s", probe->error.text);
}

static int32_t send_verdict(struct probe *probe, int32_t hardware, int32_t code, const char *text, const char *remedy,
                            struct accel_error *error)
{
    struct accel_verdict verdict = {.code = code, .hardware = hardware, .text = text, .remedy = remedy};
    int32_t result = accel_import_verdict(&probe->arena, &verdict, probe->hardware_count, probe->name, &probe->error);
    struct accel_strbuf record = {0};
    if (result != ACCEL_OK && probe->fault == ACCEL_OK)
        probe->fault = result;
    if (result == ACCEL_OK) {
        accel_error_set(&probe->verdict, verdict.code, "%s", verdict.text);
        accel_error_remedy(&probe->verdict, "%s", verdict.remedy != NULL ? verdict.remedy : "");
    }
    if (result == ACCEL_OK && probe->answered < ANSWER_LIMIT) {
        put_verdict(&record, &verdict);
        probe->answered += record.length;
        send_records(&record);
    }
    return result == ACCEL_OK ? ACCEL_OK : accel_error_set(error, result, "%s", probe->error.text);
}

static int32_t ACCEL_CALL sink_device(const struct accel_device_sink *sink, const struct accel_facts *facts,
                                      struct accel_error *error)
{
    struct probe *probe = (struct probe *)(uintptr_t)sink;
    int32_t code;
    pthread_mutex_lock(&probe->sinking);
    code = probe->enumerates ? send_device(probe, facts, error) : ACCEL_E_INVALID;
    pthread_mutex_unlock(&probe->sinking);
    return code;
}

static int32_t ACCEL_CALL sink_verdict(const struct accel_device_sink *sink, int32_t hardware, int32_t code,
                                       const char *text, const char *remedy, struct accel_error *error)
{
    struct probe *probe = (struct probe *)(uintptr_t)sink;
    pthread_mutex_lock(&probe->sinking);
    code = probe->enumerates ? send_verdict(probe, hardware, code, text, remedy, error) : ACCEL_E_INVALID;
    pthread_mutex_unlock(&probe->sinking);
    return code;
}

static void set_enumerates(struct probe *probe, bool enumerates)
{
    pthread_mutex_lock(&probe->sinking);
    probe->enumerates = enumerates;
    pthread_mutex_unlock(&probe->sinking);
}

/* ---- the stages ---- */

/* Returns whether the memory of this process, and of the one that started it, has a limit (ulimit -v, -d). */
static bool is_memory_limited(void)
{
    struct rlimit space, data;
    return getrlimit(RLIMIT_AS, &space) == 0 && getrlimit(RLIMIT_DATA, &data) == 0 &&
           (space.rlim_cur != RLIM_INFINITY || data.rlim_cur != RLIM_INFINITY);
}

/* Refuses a driver that finds no device under a limit of memory: the limit may be the cause, and vendor libraries abort
 * a process that lacks memory. */
static int32_t refuse_under_limit(struct probe *probe, const char *slot, int32_t code, const char *text,
                                  const char *remedy)
{
    accel_error_set(&probe->error, code, "%s: %s", slot, *text ? text : "the driver finds no device");
    return accel_error_advise(&probe->error, code, "%s", remedy);
}

/* A driver that refuses in accordance with the contract (no device, no vendor library, no permission) is safe to
 * load; it reports the current reason to the process that loads it. Only a broken contract is a fault. */
static int32_t check_code(struct probe *probe, const char *slot, int32_t code, const struct accel_error *own)
{
    if (code < 0 && is_memory_limited())
        return refuse_under_limit(probe, slot, code, own->text, own->remedy);
    if (code <= 0)
        return ACCEL_OK;
    return accel_error_set(&probe->error, ACCEL_E_INVALID, "bad facts: %s answered the code %d", slot, code);
}

static int32_t use_instance(struct probe *probe, struct accel_driver_instance *instance)
{
    struct accel_error own = {0};
    int32_t code = accel_import_handle(ACCEL_OK, instance, probe->name, "attach", &probe->error);
    int32_t answer;
    if (code == ACCEL_OK)
        code = accel_import_table(instance, ACCEL_TABLE_INSTANCE, probe->name, &probe->error);
    if (code != ACCEL_OK)
        return code;
    send_stage("enumerate");
    set_enumerates(probe, true);
    answer = instance->table->enumerate(instance, probe->hardware, probe->hardware_count, &probe->sink, &own);
    set_enumerates(probe, false);
    if (probe->fault != ACCEL_OK)
        return probe->fault;
    code = check_code(probe, "enumerate", answer, &own);
    if (code == ACCEL_OK && probe->devices == 0 && is_memory_limited())
        code = refuse_under_limit(probe, "enumerate", ACCEL_E_NOT_FOUND, probe->verdict.text, probe->verdict.remedy);
    if (code != ACCEL_OK)
        return code;
    send_stage("detach");
    own.code = ACCEL_OK;
    answer = instance->table->detach(instance, &own);
    if (answer != ACCEL_OK)
        return accel_error_set(&probe->error, ACCEL_E_INVALID, "its detach failed with the code %d", answer);
    if (atomic_load(&probe->blocks) > 0)
        return accel_error_set(&probe->error, ACCEL_E_INVALID,
                               "leaks: detach leaves %lld blocks of the host's memory that it took",
                               (long long)atomic_load(&probe->blocks));
    return ACCEL_OK;
}

static int32_t attach(struct probe *probe, const struct accel_driver *driver)
{
    uint32_t minor = driver->abi_minor < ACCEL_ABI_MINOR ? driver->abi_minor : ACCEL_ABI_MINOR;
    struct accel_driver_instance *instance = NULL;
    struct accel_error own = {0};
    int32_t answer, code;
    send_stage("attach");
    answer = driver->attach(&probe->host, minor, &instance, &own);
    code = check_code(probe, "attach", answer, &own);
    if (code == ACCEL_OK && answer != ACCEL_OK && instance != NULL)
        code = accel_error_set(&probe->error, ACCEL_E_INVALID, "bad facts: attach failed and handed out an instance");
    if (code == ACCEL_OK && answer == ACCEL_OK)
        code = use_instance(probe, instance);
    return code;
}

static int32_t try_driver(struct probe *probe, const char *path)
{
    accel_driver_query_function query = NULL;
    const struct accel_driver *driver = NULL;
    int32_t code;
    send_stage("load");
    code = accel_load_open(path, &query, &probe->error);
    if (code != ACCEL_OK)
        return code;
    send_stage("query");
    code = accel_load_query(path, query, NULL, &probe->arena, &driver, &probe->error);
    if (code != ACCEL_OK)
        return code;
    probe->name = driver->name;
    return attach(probe, driver);
}

/* ---- the process ---- */

void read_input(struct accel_strbuf *input, size_t limit)
{
    char chunk[16384];
    ssize_t got;
    accel_strbuf_init(input, limit);
    while ((got = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0)
        accel_strbuf_append(input, chunk, (size_t)got);
}

static int32_t read_hardware(struct probe *probe)
{
    struct accel_strbuf input;
    int32_t code;
    read_input(&input, INPUT_LIMIT);
    code = parse_hardware(accel_strbuf_get(&input), input.length, &probe->arena, &probe->hardware,
                          &probe->hardware_count, &probe->error);
    accel_strbuf_free(&input);
    return code;
}

void shelter(int last)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int descriptor = ACCEL_IPC_DESCRIPTOR; descriptor <= last; descriptor++)
        fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    close_range((unsigned)last + 1, ~0u, 0);
}

int main(int count, char **arguments)
{
    struct probe probe = {
        .sink = {sizeof(struct accel_device_sink), 0, sink_device, sink_verdict},
        .host = {sizeof(struct accel_host), 0, host_log, host_allocate, host_release, host_clock},
        .sinking = PTHREAD_MUTEX_INITIALIZER,
    };
    struct accel_strbuf record = {0};
    int32_t code;
    if (count == 2 && strcmp(arguments[1], "--compile") == 0 && fcntl(ACCEL_WORKER_DESCRIPTOR, F_GETFD) >= 0)
        return compile_job();
    if (count != 2 || fcntl(ACCEL_IPC_DESCRIPTOR, F_GETFD) < 0) {
        fputs("accel-probe is run by libaccel to try out a driver; see accelctl plugins\n", stderr);
        return 2;
    }
    shelter(ACCEL_IPC_DESCRIPTOR);
    put_version(&record);
    send_records(&record);
    code = read_hardware(&probe);
    if (code == ACCEL_OK)
        code = try_driver(&probe, arguments[1]);
    if (code == ACCEL_OK) {
        put_done(&record, probe.devices);
    } else {
        probe.error.code = code;
        put_failure(&record, &probe.error);
    }
    send_records(&record);
    accel_arena_free(&probe.arena);
    return 0;
}
