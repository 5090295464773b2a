/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/conform/certificate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sdk/conform/hash.h"
#include "sdk/conform/print.h"

/* Returns the text of the certificate, whose hash covers all lines before its own; NULL if memory ran out. */
static char *make_text(const struct run_report *report)
{
    const struct run_facts *facts = report->facts;
    time_t now = time(NULL);
    struct tm parts;
    char date[32] = "", *lines, *text = NULL;
    json_t *object;
    XXH128_hash_t sum;

    if (gmtime_r(&now, &parts) != NULL)
        strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &parts);
    object = json_pack(
        "{s:i, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:s}",
        "accel-certificate", 1, "driver", text_json(facts->driver), "version", text_json(facts->version), "build_id",
        text_json(facts->build_id), "kit", PACKAGE_VERSION, "abi",
        json_sprintf("%u.%u", ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR), "device", text_json(facts->device), "name",
        text_json(facts->name), "detail", text_json(facts->detail), "fingerprint", text_json(facts->fingerprint),
        "passed", (int)report->passed, "failed", (int)report->failed, "expected", (int)report->expected, "skipped",
        (int)report->skipped, "unclaimed", (int)report->unclaimed, "cases", (json_int_t)report->cases, "seed",
        (json_int_t)report->options->seed, "rounds", (json_int_t)report->options->rounds, "date", date);
    lines = json_dumps(object, JSON_INDENT(2));
    json_decref(object);
    if (lines == NULL)
        return NULL;
    lines[strlen(lines) - strlen("\n}")] = '\0';
    sum = XXH3_128bits_withSeed(lines, strlen(lines), 0);
    if (asprintf(&text, "%s,\n  \"hash\": \"%016" PRIx64 "%016" PRIx64 "\"\n}\n", lines, (uint64_t)sum.high64,
                 (uint64_t)sum.low64) < 0)
        text = NULL;
    free(lines);
    return text;
}

/* Creates the missing folders of the path, up to its last slash. */
static int32_t make_folders(char *path, struct accel_error *error)
{
    for (char *at = strchr(path + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return accel_error_set(error, ACCEL_E_IO, "cannot make the folder %s: %s", path, strerror(errno));
        *at = '/';
    }
    return ACCEL_OK;
}

#define BUILD 12 /* leading characters of a build id, enough to distinguish builds */

/* Builds the path DRIVER-DEVICE-BUILD.json without characters that are special in paths. Every build of a driver
 * has a certificate of its own. */
static int32_t find_place(const struct run_report *report, char **out_path, struct accel_error *error)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"), *build_id = report->facts->build_id;
    const bool has_cache = cache != NULL && cache[0] == '/';
    char name[256];

    if (report->options->certificate != NULL) {
        *out_path = strdup(report->options->certificate);
        return *out_path != NULL ? ACCEL_OK : accel_error_no_memory(error, "for a path");
    }
    if (!has_cache && (home == NULL || home[0] != '/'))
        return accel_error_set(error, ACCEL_E_NOT_FOUND, "neither XDG_CACHE_HOME nor HOME names an absolute folder");
    snprintf(name, sizeof(name), "%.64s-%.128s-%.*s.json", report->facts->driver, report->facts->device, BUILD,
             build_id[0] == '\0' ? "none" : build_id);
    for (char *at = name; *at != '\0'; at++)
        if (*at == '/' || *at == ':')
            *at = '_';
    if (asprintf(out_path, "%s%s/accel/certificates/%s", has_cache ? cache : home, has_cache ? "" : "/.cache", name) <
        0) {
        *out_path = NULL;
        return accel_error_no_memory(error, "for a path");
    }
    return make_folders(*out_path, error);
}

/* Writes a temporary file beside the path and renames it, so that a reader never sees a partial certificate. */
static int32_t write_file(const char *path, const char *text, struct accel_error *error)
{
    const mode_t mask = umask(0);
    bool is_written = false;
    char *beside = NULL;
    int descriptor = -1;
    FILE *file;

    umask(mask);
    if (asprintf(&beside, "%s.XXXXXX", path) < 0)
        return accel_error_no_memory(error, "for a path");
    descriptor = mkstemp(beside);
    file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (file != NULL) {
        is_written = fputs(text, file) >= 0 && fchmod(descriptor, 0666 & ~mask) == 0;
        is_written = fclose(file) == 0 && is_written && rename(beside, path) == 0;
    } else if (descriptor >= 0) {
        close(descriptor);
    }
    if (!is_written) {
        accel_error_set(error, ACCEL_E_IO, "cannot write %s: %s", path, strerror(errno));
        if (descriptor >= 0)
            unlink(beside);
    }
    free(beside);
    return is_written ? ACCEL_OK : ACCEL_E_IO;
}

int32_t certificate_write(const struct run_report *report, char **out_path, struct accel_error *error)
{
    char *text = make_text(report);
    int32_t code;

    *out_path = NULL;
    if (text == NULL)
        return accel_error_no_memory(error, "for a certificate");
    code = find_place(report, out_path, error);
    if (code == ACCEL_OK)
        code = write_file(*out_path, text, error);
    free(text);
    return code;
}
