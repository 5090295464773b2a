/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the commands read by themselves: runs of other programs to stand beside, prompts, certificates, and what
 * is known of a driver's failures. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/file.h"
#include "sdk/conform/known.h"
#include "sdk/conform/list.h"
#include "tests/fuzz/fuzz.h"
#include "tools/accelctl/bench/against.h"
#include "tools/accelctl/bench/bench.h"
#include "tools/accelctl/bench/machine.h"
#include "tools/accelctl/certificate.h"
#include "tools/accelctl/command.h"
#include "tools/accelctl/run/prompt.h"

/* The readers are here without the command, which has no commands then. */
const struct command *const commands[] = {NULL};

const char *const fuzz_corpus_folder = "tests/fixtures/tools";
const char *const fuzz_corpus_suffix = ".input";

/* Rows are only made here, and nothing is measured. */
double bench_limit(const struct bench_machine *machine, const struct bench_cost *cost, enum bench_bound *out_bound,
                   char name[32])
{
    (void)machine, (void)cost, (void)name;
    *out_bound = BENCH_BOUND_UNKNOWN;
    return 0;
}

/* Two names of one file: as it is, and as a certificate beside a driver. */
static FILE *quiet; /* for messages of the command */
static char path[96], driver[104], certificate[128];

static void leave(void)
{
    unlink(path);
    unlink(certificate);
    fclose(quiet);
}

static void put_files(const uint8_t *data, size_t bytes)
{
    FILE *file;
    if (path[0] == '\0') {
        const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(path, sizeof(path), "%s/accel-fuzz-%ld", folder, (long)getpid());
        snprintf(driver, sizeof(driver), "%s.so", path);
        snprintf(certificate, sizeof(certificate), "%s.certificate.json", path);
        setenv("XDG_CACHE_HOME", "/nonexistent", 1);
        quiet = fopen("/dev/null", "w");
        if (quiet == NULL)
            exit(99);
        atexit(leave);
    }
    file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, bytes, file) != bytes)
        exit(99);
    fclose(file);
    unlink(certificate);
    if (link(path, certificate) != 0)
        exit(99);
}

static void check_error(int32_t code, const struct accel_error *error)
{
    if ((code != ACCEL_OK) != (error->code != ACCEL_OK) || strchr(error->text, '\n') != NULL)
        abort();
}

static void give_as_prompts(void)
{
    struct accel_error error = {0};
    char **lines;
    uint32_t count;
    int32_t code = read_lines(path, &lines, &count, &error);
    check_error(code, &error);
    if ((code == ACCEL_OK) != (count > 0))
        abort();
    for (uint32_t i = 0; i < count; i++)
        if (strlen(lines[i]) > (64u << 20))
            abort();
    free_lines(lines, count);
}

/* What a run of another program says is matched with rows of ours. */
static void give_as_peer(void)
{
    struct bench_options chosen = {.against = {.items = {path, path}, .count = 2}};
    struct bench bench = {.chosen = &chosen};
    FILE *told_here = stderr;
    int status;
    for (uint32_t s = 0; s < BENCH_SUBJECTS; s++)
        bench.wanted[s] = 1;
    bench.facts = json_object();
    bench.warnings = json_array();
    stderr = quiet;
    status = bench_against_read(&bench);
    stderr = told_here;
    if (status < 0) {
        json_t *told;
        bench_against_match(&bench);
        told = bench_peer_json(bench.peer);
        if (told == NULL || bench.error.code != ACCEL_OK || strchr(bench_peer_title(bench.peer), '\n') != NULL)
            abort();
        json_decref(told);
    } else {
        check_error(bench.error.code, &bench.error);
    }
    for (uint32_t i = 0; i < bench.count; i++)
        free(bench.rows[i].seconds);
    free(bench.rows);
    bench_against_free(bench.peer);
    json_decref(bench.facts);
    json_decref(bench.warnings);
}

static void give_as_certificate(void)
{
    static const char *const states[] = {"valid", "stale", "damaged"};
    struct accel_plugin_info info = {.size = sizeof(info), .name = "fuzz", .path = driver, .build_id = "00"};
    json_t *list = certificates_of(&info);
    const json_t *one;
    size_t i, known;
    json_array_foreach(list, i, one)
    {
        const char *state = json_string_value(json_object_get(one, "state"));
        for (known = 0; known < 3 && strcmp(state, states[known]) != 0; known++)
            ;
        if (known == 3)
            abort();
    }
    json_decref(list);
}

static void give_as_known(void)
{
    static struct conform_list list;
    static struct known known;
    struct run_options options = {.known = path};
    struct accel_error error = {0};
    if (list.count == 0)
        for (uint32_t i = 0; i < 3; i++)
            snprintf(list.tests[list.count++].name, CONFORM_NAME, "matmul/%u", i);
    check_error(known_read(&options, &list, &known, &error), &error);
    if (known.count > KNOWN_ROWS)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    put_files(data, size);
    give_as_prompts();
    give_as_peer();
    give_as_certificate();
    give_as_known();
    return 0;
}
