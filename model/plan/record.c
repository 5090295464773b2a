/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/file/fault.h"

/* Plans of the largest models take some megabytes; a larger file is no plan. */
#define BYTES_MOST (INT64_C(8) << 20)
enum { SETTINGS_MOST = 4096, GIVEN_MOST = 4096, NODES_MOST = 65536 };

/* A JSON value takes at least two bytes of text and about seventy of memory, so the count is bounded before the
 * file is parsed. */
enum { VALUES_MOST = 1 << 20 };

const char *plan_record_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "" : text;
}

json_t *plan_record_part(const struct plan_record *record, const char *key)
{
    return json_object_get(record->root, key);
}

int plan_record_line(const struct plan_record *record, size_t ordinal)
{
    const char *at = record->json;
    int line = 1;

    for (; *at != '\0'; at++) {
        const char *end = at + 1;

        line += *at == '\n';
        if (strchr(" \t\r\n,:]}", *at) != NULL)
            continue;
        if (*at == '"') {
            while (*end != '"')
                end += *end == '\\' ? 2 : 1;
            end++;
        } else if (*at != '{' && *at != '[') {
            end += strcspn(end, " \t\r\n,]}");
        }
        /* A text before a colon is no value. */
        if (end[strspn(end, " \t\r\n")] != ':' && ordinal-- == 0)
            break;
        at = end - 1;
    }
    return line;
}

/* Counts the values before `value`. Returns whether it is below `at`. */
static bool count_before(const json_t *at, const json_t *value, size_t *ordinal)
{
    const char *key;
    json_t *member;
    size_t i;

    if (at == value)
        return true;
    (*ordinal)++;
    json_object_foreach((json_t *)at, key, member)
    {
        if (count_before(member, value, ordinal))
            return true;
    }
    json_array_foreach(at, i, member)
    {
        if (count_before(member, value, ordinal))
            return true;
    }
    return false;
}

int plan_record_line_of(const struct plan_record *record, const json_t *value)
{
    size_t ordinal = 0;

    count_before(record->root, value, &ordinal);
    return plan_record_line(record, ordinal);
}

int32_t plan_refuse_difference(const struct plan_record *record, struct accel_error *error)
{
    accel_error_remedy(error, "where the change is meant, make the plan anew: accelctl plan MODEL --out FILE%s",
                       record->remedy);
    return ACCEL_E_REFUSED;
}

static int32_t malformed(const struct plan_record *record, const char *what, struct accel_error *error)
{
    accel_error_set(error, ACCEL_E_CORRUPT, "%s: is no plan: %s", record->path, what);
    accel_error_remedy(error, "accelctl plan MODEL --out FILE writes one");
    return accel_error_origin(error, ACCEL_FROM_FILE, ACCEL_E_CORRUPT);
}

static int32_t check_counts(const struct plan_record *record, struct accel_error *error)
{
    if (json_object_size(plan_record_part(record, "settings")) > SETTINGS_MOST)
        return malformed(record, "it has more than 4096 settings", error);
    if (json_array_size(json_object_get(plan_record_part(record, "request"), "given")) > GIVEN_MOST)
        return malformed(record, "more than 4096 settings were given", error);
    if (json_array_size(plan_record_part(record, "nodes")) > NODES_MOST)
        return malformed(record, "it has more than 65536 nodes", error);
    return ACCEL_OK;
}

static int32_t check_request(const struct plan_record *record, struct accel_error *error)
{
    const json_t *request = plan_record_part(record, "request"), *length = json_object_get(request, "length"),
                 *mode = json_object_get(request, "mode"), *given = json_object_get(request, "given"),
                 *platform = json_object_get(request, "platform");

    if (!json_is_object(request) || (given != NULL && !json_is_array(given)) ||
        (platform != NULL && !json_is_string(platform)))
        return malformed(record, "request is missing, or its settings are no list, or its platform is no name", error);
    if (length != NULL && (!json_is_integer(length) || json_integer_value(length) < 0))
        return malformed(record, "request.length is no number of tokens", error);
    if (mode != NULL &&
        (!json_is_string(mode) || (json_string_length(mode) != 0 && !model_plan_is_mode(json_string_value(mode)))))
        return malformed(record, "request.mode is none of: stream components", error);
    return ACCEL_OK;
}

/* Checks the device that the plan is made for again. */
static int32_t check_device(const struct plan_record *record, struct accel_error *error)
{
    const json_t *device = plan_record_part(record, "device");

    if (device == NULL || (!json_is_null(device) && plan_record_text(device, "name")[0] == '\0'))
        return malformed(record, "its device is missing, or has no name", error);
    return check_request(record, error);
}

static int32_t check_members(const struct plan_record *record, struct accel_error *error)
{
    json_t *settings = plan_record_part(record, "settings");
    const char *key;
    json_t *setting;
    size_t i;

    if (strcmp(plan_record_text(record->root, "schema"), PLAN_SCHEMA) != 0)
        return malformed(record, "its schema is not " PLAN_SCHEMA, error);
    if (plan_record_text(plan_record_part(record, "model"), "path")[0] == '\0' || !json_is_object(settings) ||
        !json_is_array(plan_record_part(record, "nodes")))
        return malformed(record, "model.path, settings or nodes are missing", error);
    if (check_counts(record, error) != ACCEL_OK)
        return ACCEL_E_CORRUPT;
    json_object_foreach(settings, key, setting)
    {
        if (!json_is_string(json_object_get(setting, "value")) || !json_is_string(json_object_get(setting, "unit")))
            return malformed(record, "a setting has no value or no unit", error);
    }
    json_array_foreach(json_object_get(plan_record_part(record, "request"), "given"), i, setting)
    {
        if (plan_record_text(setting, "key")[0] == '\0' || !json_is_string(json_object_get(setting, "value")))
            return malformed(record, "a given setting has no key or no value", error);
    }
    return check_device(record, error);
}

/* Returns whether the text has too many values. Every value but the last of an object or list is followed by a
 * comma, and every list starts with a bracket; those inside strings are counted too, but a plan has few. */
static bool has_too_many(const char *text, size_t length)
{
    size_t values = 0;

    for (size_t i = 0; i < length; i++)
        values += text[i] == ',' || text[i] == '[' || text[i] == '{';
    return values > VALUES_MOST;
}

static int32_t parse(struct plan_record *record, int fd, size_t most, struct accel_error *error)
{
    json_error_t where = {0};
    char *text = record->json = malloc(most + 1);
    size_t length = 0;
    int32_t code = text == NULL ? accel_error_no_memory(error, "to repeat a plan") : ACCEL_OK;

    while (code == ACCEL_OK && length < most) {
        ssize_t got = read(fd, text + length, most - length);

        if (got < 0 && errno != EINTR)
            code = model_fault_errno(error, record->path, "cannot read", errno);
        if (got == 0)
            break;
        length += got > 0 ? (size_t)got : 0;
    }
    if (code == ACCEL_OK && has_too_many(text, length))
        code = malformed(record, "it has over a million values", error);
    if (code == ACCEL_OK) {
        text[length] = '\0';
        record->root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
    }
    if (code != ACCEL_OK || record->root != NULL)
        return code;
    accel_error_set(error, ACCEL_E_CORRUPT, "%s:%d:%d: %s", record->path, where.line, where.column, where.text);
    accel_error_remedy(error, "the file is cut or damaged; accelctl plan MODEL --out FILE writes one");
    return accel_error_origin(error, ACCEL_FROM_FILE, ACCEL_E_CORRUPT);
}

/* Opens the file without blocking on a pipe, and checks and reads it through one descriptor. */
static int32_t load(struct plan_record *record, struct accel_error *error)
{
    int fd = open(record->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat status;
    int32_t code;

    if (fd < 0) {
        code = model_fault_errno(error, record->path, "cannot open", errno);
        accel_error_remedy(error, "check the path: accelctl plan MODEL --out FILE writes a plan");
        return code;
    }
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > BYTES_MOST)
        code = malformed(record, "it is no regular file of at most 8 MiB", error);
    else
        code = parse(record, fd, (size_t)status.st_size + 1, error);
    close(fd);
    return code;
}

/* Refuses a plan by formula, with the recorded reason and its remedy. */
static int32_t check_exact(const struct plan_record *record, struct accel_error *error)
{
    const json_t *verdict = plan_record_part(record, "verdict");
    const char *reason = plan_record_text(verdict, "reason"), *remedy = plan_record_text(verdict, "remedy");
    const char *model = plan_record_text(plan_record_part(record, "model"), "path");

    if (!json_is_boolean(json_object_get(verdict, "exact")))
        return malformed(record, "verdict.exact is missing, or neither true nor false", error);
    if (json_is_true(json_object_get(verdict, "exact")))
        return ACCEL_OK;
    accel_error_set(error, ACCEL_E_REFUSED, "%s: is a plan by formula, which no run can follow%s%.400s", record->path,
                    reason[0] == '\0' ? "" : ": ", reason);
    /* Without the model's files a device of another platform is not the only reason. */
    if (json_array_size(json_object_get(plan_record_part(record, "model"), "files")) == 0 &&
        json_is_null(json_object_get(record->root, "device")))
        accel_error_remedy(error,
                           "accelctl run PATH runs the GGUF file or the Hugging Face folder of a model on a device "
                           "of this machine");
    else if (json_array_size(json_object_get(plan_record_part(record, "model"), "files")) != 0)
        accel_error_remedy(error,
                           "accelctl run %.200s runs the model on a device of this machine, and accelctl plan %.200s "
                           "--out FILE, without --platform and --host, writes a plan that a run can follow",
                           model, model);
    else
        accel_error_remedy(error, "%.400s",
                           remedy[0] == '\0' ? "plan a model that is here, for a device that is here" : remedy);
    return ACCEL_E_REFUSED;
}

int32_t plan_record_read(struct plan_record *record, struct accel_error *error)
{
    int32_t code = load(record, error);

    if (code == ACCEL_OK)
        code = check_members(record, error);
    return code == ACCEL_OK ? check_exact(record, error) : code;
}
