/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accel-conform/certificate.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/plugin/gate.h"

static int32_t find_build_id(const char *path, struct accel_arena *arena, const char **out_id,
                             struct accel_error *error)
{
    struct accel_elf_source source = {.name = path, .fd = open(path, O_RDONLY | O_CLOEXEC)};
    struct accel_gate gate = {NULL, ""};
    struct stat file;

    if (source.fd < 0 || fstat(source.fd, &file) != 0)
        return accel_error_set(error, ACCEL_E_IO, "%s cannot be opened", path);
    source.bytes = (uint64_t)file.st_size;
    /* A file that the gate refuses has failed a test; what was read before that counts here. */
    accel_gate_check(&source, arena, &gate, NULL);
    close(source.fd);
    *out_id = gate.build_id;
    return ACCEL_OK;
}

static void put_all(struct accel_json *json, const struct run_report *report, const char *build_id)
{
    const struct run_facts *facts = report->facts;
    time_t now = time(NULL);
    struct tm parts;
    char abi[32], date[32] = "";

    snprintf(abi, sizeof(abi), "%u.%u", ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR);
    if (gmtime_r(&now, &parts) != NULL)
        strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &parts);
    accel_json_member_u64(json, "accel-certificate", 1);
    accel_json_member_text(json, "driver", facts->driver);
    accel_json_member_text(json, "version", facts->version);
    accel_json_member_text(json, "build_id", build_id);
    accel_json_member_text(json, "kit", PACKAGE_VERSION);
    accel_json_member_text(json, "abi", abi);
    accel_json_member_text(json, "device", facts->device);
    accel_json_member_text(json, "name", facts->name);
    accel_json_member_text(json, "detail", facts->detail);
    accel_json_member_text(json, "fingerprint", facts->fingerprint);
    accel_json_member_u64(json, "passed", report->passed);
    accel_json_member_u64(json, "failed", report->failed);
    accel_json_member_u64(json, "expected", report->expected);
    accel_json_member_u64(json, "skipped", report->skipped);
    accel_json_member_u64(json, "unclaimed", report->unclaimed);
    accel_json_member_u64(json, "cases", report->cases);
    accel_json_member_u64(json, "seed", report->options->seed);
    accel_json_member_u64(json, "rounds", report->options->rounds);
    accel_json_member_text(json, "date", date);
}

/* The hash covers the text up to its own line. */
static int32_t put_text(struct accel_strbuf *text, const struct run_report *report, const char *build_id,
                        struct accel_error *error)
{
    char hash[ACCEL_HASH_TEXT];
    struct accel_json json;

    accel_json_init(&json, text, 2);
    accel_json_object_begin(&json);
    put_all(&json, report, build_id);
    accel_hash_text(accel_hash128(accel_strbuf_get(text), text->length, 0), hash);
    accel_json_member_text(&json, "hash", hash);
    accel_json_object_end(&json);
    accel_strbuf_char(text, '\n');
    return accel_json_finish(&json) ? ACCEL_OK : accel_error_set(error, ACCEL_E_MEMORY, "no memory for a certificate");
}

#define BUILD 12 /* characters of a build id that tell builds apart */

/* "DRIVER-DEVICE-BUILD.json", with nothing in it that a path could mean: another build of the driver, somewhere else or
 * later in the same place, has a certificate of its own. */
static int32_t find_place(const struct run_report *report, const char *build_id, char **out_path,
                          struct accel_error *error)
{
    char name[256], *cache = NULL, *folder;
    int32_t code;

    if (report->options->certificate != NULL) {
        *out_path = strdup(report->options->certificate);
        return *out_path != NULL ? ACCEL_OK : accel_error_set(error, ACCEL_E_MEMORY, "no memory for a path");
    }
    code = accel_file_user_cache(&cache, error);
    if (code != ACCEL_OK)
        return code;
    snprintf(name, sizeof(name), "%.64s-%.128s-%.*s.json", report->facts->driver, report->facts->device, BUILD,
             build_id[0] == '\0' ? "none" : build_id);
    for (char *at = name; *at != '\0'; at++)
        if (*at == '/' || *at == ':')
            *at = '_';
    folder = accel_file_join(cache, "certificates");
    *out_path = folder == NULL ? NULL : accel_file_join(folder, name);
    code = *out_path == NULL ? accel_error_set(error, ACCEL_E_MEMORY, "no memory for a path")
                             : accel_file_make_folders(folder, 0700, error);
    free(folder);
    free(cache);
    return code;
}

int32_t certificate_write(const struct run_report *report, char **out_path, struct accel_error *error)
{
    struct accel_strbuf text = {0};
    struct accel_arena arena;
    const char *build_id = "";
    int32_t code;

    *out_path = NULL;
    accel_arena_init(&arena, 0);
    code = find_build_id(report->options->path, &arena, &build_id, error);
    if (code == ACCEL_OK)
        code = put_text(&text, report, build_id, error);
    if (code == ACCEL_OK)
        code = find_place(report, build_id, out_path, error);
    if (code == ACCEL_OK)
        code = accel_file_write(*out_path, accel_strbuf_get(&text), text.length, 0644, error);
    accel_strbuf_free(&text);
    accel_arena_free(&arena);
    return code;
}
