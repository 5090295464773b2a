/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/model.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <accel/model/describe.h>

#include "tools/accelctl/driver_options.h"
#include "tools/accelctl/output.h"
#include "tools/accelctl/reports.h"
#include "tools/accelctl/sigbus_guard.h"
#include "tools/accelctl/words.h"

/* Bytes at the beginning of a document among which its schema stands. */
enum { SCHEMA_WITHIN = 4096 };

bool is_plan_file(const char *path)
{
    char text[SCHEMA_WITHIN + 1];
    const char *begin = text;
    struct stat status;
    FILE *file;
    size_t length;

    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || (file = fopen(path, "re")) == NULL)
        return false;
    length = fread(text, 1, SCHEMA_WITHIN, file);
    fclose(file);
    text[length] = '\0';
    /* An editor may have written a byte order mark, which JSON does not have: a plan that is refused as such. */
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
        begin += 3;
    return begin[strspn(begin, " \t\r\n")] == '{' && strstr(text, "\"schema\"") != NULL;
}

static void adopt_plan(struct opened *opened)
{
    opened->model = accel_model_plan_model(opened->made);
    opened->session = NULL;
    if (opened->model == NULL)
        return;
    sigbus_guard_begin(accel_model_file_of(opened->model),
                       "do not change model files while they run, or use --set weights.load=read");
    accel_model_plan_session(opened->made, &opened->session, NULL);
}

/* Returns whether a plan has the value that a variable gives its setting, with or without the unit. */
static bool has_value(const struct accel_plan_setting *setting, const char *value)
{
    size_t length = strlen(setting->value);

    return strncmp(value, setting->value, length) == 0 &&
           (value[length] == '\0' || strcmp(value + length, setting->unit) == 0);
}

/* Warns of variables of the environment that set another value than the recorded plan has. */
static void warn_settings(const struct accel_plan *plan, const char *path)
{
    for (uint32_t i = 0; i < accel_plan_setting_count(plan); i++) {
        const struct accel_plan_setting *setting = accel_plan_setting_get(plan, i);
        char name[96], copy[200], plan_path[500];
        const char *value = accel_setting_variable(setting->key, name, sizeof(name)) == ACCEL_OK ? getenv(name) : NULL;

        if (value != NULL && !has_value(setting, value))
            fprintf(error_output(),
                    "warn: environment %s=%s has no effect: the plan %s has %s=%s%s and runs as written\n", name,
                    clean_text(value, copy, sizeof(copy)), clean_text(path, plan_path, sizeof(plan_path)), setting->key,
                    setting->value, setting->unit);
    }
}

/* Warns of variables that set options of the driver which the recorded plan leaves to it. */
static void warn_options(const struct accel_context *context, const struct accel_plan *plan, const char *path)
{
    const struct accel_device_info *device = accel_plan_device(plan);
    const struct accel_plugin_info *driver = device == NULL ? NULL : accel_plugin_get(context, device->plugin);

    for (uint32_t i = 0; driver != NULL && i < driver->option_count; i++) {
        char key[120], name[140], copy[200], plan_path[500];
        const char *value;

        snprintf(key, sizeof(key), "%s.%s", driver->name, driver->options[i]->name);
        value = accel_setting_variable(key, name, sizeof(name)) == ACCEL_OK ? getenv(name) : NULL;
        if (value != NULL && accel_plan_setting_find(plan, key) == NULL)
            fprintf(error_output(),
                    "warn: environment %s=%s has no effect: the plan %s has no %s and runs as written\n", name,
                    clean_text(value, copy, sizeof(copy)), clean_text(path, plan_path, sizeof(plan_path)), key);
    }
}

/* Opens a recorded plan. Options that would change it are refused, since the record is complete. */
static int repeat(const struct common *common, const struct wish *wish, struct opened *opened)
{
    const char *plan = wish->plan != NULL ? wish->plan : wish->path;
    struct accel_model_plan_options options = {.size = sizeof(options),
                                               .flags = wish->flags,
                                               .path = wish->plan != NULL ? wish->path : NULL,
                                               .outputs = wish->outputs};
    struct accel_error error = {0};

    if (common->device != NULL || common->client != NULL || common->reference_sets != NULL ||
        common->sets.count + wish->more_count != 0) {
        char option[200];

        if (first_plan_option(common, option, sizeof(option)) == NULL && common->reference_sets != NULL)
            snprintf(option, sizeof(option), "--reference-set %.90s", common->reference_sets->items[0]);
        else if (first_plan_option(common, option, sizeof(option)) == NULL)
            snprintf(option, sizeof(option), "%.40s=%.60s (%.40s)", wish->more[0].key, wish->more[0].value,
                     wish->more[0].origin);
        return report_error_format(
            common->json, EXIT_USAGE, "usage",
            first_plan_option(common, option, sizeof(option)) == NULL && common->reference_sets == NULL
                ? "name the model in place of the plan: the command has settings of its own"
                : "leave the option out, or make another plan with it: accelctl plan MODEL ... --out FILE",
            "%s and the plan %.500s: a plan has all settings, and runs only as it was written", option, plan);
    }
    if (accel_model_plan_repeat(opened->context, plan, &options, &opened->made, &error) != ACCEL_OK)
        return report_session_error(common->json, &error);
    warn_settings(accel_model_plan_plan(opened->made), plan);
    warn_options(opened->context, accel_model_plan_plan(opened->made), plan);
    return -1;
}

/* Writes a word for a shell, quoted if necessary. */
static void write_word(FILE *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=+@%";

    if (text[0] != '\0' && text[strspn(text, plain)] == '\0') {
        fputs(text, out);
        return;
    }
    putc('\'', out);
    for (; *text != '\0'; text++)
        if (*text == '\'')
            fputs("'\\''", out);
        else
            putc(*text, out);
    putc('\'', out);
}

static void write_option(FILE *out, const char *name, const char *value)
{
    if (value == NULL)
        return;
    fprintf(out, " %s ", name);
    write_word(out, value);
}

/* Composes the call of accelctl plan for the same plan, to which remedies add options. NULL without memory. */
static char *make_command(const struct common *common, const struct wish *wish,
                          const struct accel_named_value *overrides, uint32_t count)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    if (out == NULL)
        return NULL;
    fputs("accelctl plan ", out);
    write_word(out, wish->path);
    write_option(out, "--drivers", common->drivers);
    write_option(out, "--profiles", common->profiles);
    write_option(out, "--host", common->host);
    write_option(out, "--platform", wish->platform);
    write_option(out, "--device", common->device);
    write_option(out, "--client", common->client);
    write_option(out, "--mode", wish->mode);
    if (wish->length != 0)
        fprintf(out, " --length %" PRIu64, wish->length);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(overrides[i].key, "client") != 0 || common->client == NULL) {
            fputs(" --set ", out);
            write_word(out, overrides[i].key);
            putc('=', out);
            write_word(out, overrides[i].value);
        }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* Returns whether a setting, or a group of settings as kv.type, has the key. */
static bool sets_key(const char *setting, const char *key)
{
    const char *const *members = setting_members(setting);

    if (members != NULL)
        return strcmp(members[0], key) == 0 || strcmp(members[1], key) == 0;
    return strcmp(setting, key) == 0;
}

/* Returns whether a value of a setting allows another one, which has its unit: it is auto, or the same. */
static bool allows_value(const char *value, const char *whole)
{
    const size_t length = strlen(value);

    if (strcmp(value, "auto") == 0)
        return true;
    return strncmp(value, whole, length) == 0 && (whole[length] == '\0' || strcmp(whole + length, "tok") == 0);
}

/* Refuses settings of the command line that those of the command itself would overrule. */
static int refuse_overruled(const struct common *common, const struct wish *wish,
                            const struct accel_named_value *overrides, uint32_t count)
{
    char text[500], remedy[200];

    for (uint32_t i = 0; i < count && !wish->is_repeated; i++)
        for (uint32_t m = 0; m < wish->more_count; m++) {
            const struct accel_named_value *more = &wish->more[m];

            if (!sets_key(overrides[i].key, more->key) || allows_value(overrides[i].value, more->value))
                continue;
            snprintf(text, sizeof(text), "%.160s: %s=%.80s has no effect, since %s=%s is fixed (%.100s)",
                     overrides[i].origin, overrides[i].key, overrides[i].value, more->key, more->value, more->origin);
            snprintf(remedy, sizeof(remedy), "leave it out; accelctl %s --help has the command's own settings",
                     wish->command == NULL ? "plan" : wish->command);
            return report_error_text(common->json, EXIT_USAGE, "usage", text, remedy);
        }
    return -1;
}

/* Writes a device whose count stands in another place, "rtx4090x2" or "2 x a100", as "2xrtx4090". Returns whether the
 * text has such a count. */
static bool correct_count(const char *device, char text[96])
{
    const char *x = device == NULL ? NULL : strrchr(device, 'x');
    char name[64];
    unsigned count;
    int end = 0;

    if (device == NULL || strchr(device, ',') != NULL || *device == '-')
        return false;
    if (sscanf(device, "%3u %*1[xX*] %63[a-zA-Z0-9-]%n", &count, name, &end) == 2 && device[end] == '\0')
        snprintf(text, 96, "%ux%s", count, name);
    else if (x != NULL && x[1] != '\0' && x[1 + strspn(x + 1, "0123456789")] == '\0' && strlen(x + 1) <= 2)
        snprintf(text, 96, "%sx%.*s", x + 1, (int)(x - device - (x > device && x[-1] == ' ')), device);
    else
        return false;
    return strcmp(text, device) != 0;
}

static int make(const struct common *common, const struct wish *wish, struct opened *opened)
{
    struct accel_named_value overrides[OVERRIDES_MOST + MORE_MOST];
    struct accel_model_plan_options options = {.size = sizeof(options),
                                               .flags = wish->flags,
                                               .path = wish->path,
                                               .platform = wish->platform,
                                               .device = common->device,
                                               .mode = wish->mode,
                                               .overrides = overrides,
                                               .outputs = wish->outputs,
                                               .request_length = wish->length};
    struct accel_error error = {0};
    char device[96];
    int code = collect_overrides(common, overrides, &options.override_count, &opened->texts);

    if (code < 0)
        code = refuse_overruled(common, wish, overrides, options.override_count);
    if (code >= 0)
        return code;
    for (uint32_t i = 0; i < wish->more_count && i < MORE_MOST; i++)
        overrides[options.override_count++] = wish->more[i];
    opened->command = make_command(common, wish, overrides, options.override_count);
    if (opened->command == NULL)
        return report_error_text(common->json, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for the command", NULL);
    if (accel_model_plan_create(opened->context, &options, &opened->made, &error) == ACCEL_OK)
        return -1;
    if (error.code == ACCEL_E_NOT_FOUND && wish->platform != NULL && correct_count(common->device, device)) {
        struct accel_model_plan *corrected = NULL;

        options.device = device;
        if (accel_model_plan_create(opened->context, &options, &corrected, NULL) == ACCEL_OK)
            snprintf(error.remedy, sizeof(error.remedy), "write the count before the profile: --device %s", device);
        accel_model_plan_free(corrected);
    }
    return error.origin == ACCEL_FROM_MODEL ? report_error(common->json, &error)
                                            : report_session_error(common->json, &error);
}

/* Returns whether the model itself is supported here: then settings or the device are why it does not run. */
static bool is_model_here(const struct opened *opened)
{
    const struct accel_model_description *model = accel_model_plan_description(opened->made);

    return accel_model_description_is_file(model) && accel_model_description_runs(model, NULL) == ACCEL_OK;
}

void print_start_notes(const struct accel_plan *plan, const char *key)
{
    const char *level = strcmp(key, "environment") == 0 ? "warn" : "note";
    char text[1200], remedy[1200], limited[DEVICE_REMEDY_BYTES];

    for (uint32_t i = 0; i < accel_plan_note_count(plan); i++) {
        const struct accel_plan_note *note = accel_plan_note_get(plan, i);

        const char *todo = note_remedy(note, limited);

        if (strcmp(note->key, key) == 0)
            fprintf(error_output(), "%s: %s%s%s\n", level, clean_text(note->text, text, sizeof(text)),
                    todo[0] == '\0' ? "" : "; ", clean_text(todo, remedy, sizeof(remedy)));
    }
}

void print_variable_notes(const struct accel_plan *plan)
{
    static bool are_printed;

    if (!are_printed)
        print_start_notes(plan, "environment");
    are_printed = true;
}

int open_model(const struct common *common, const struct wish *wish, struct opened *opened)
{
    /* Notes of a plan that its run repeats: the device, and settings without effect. */
    static const char *const noted[] = {"device", "compute.activations", "cpu.layout"};
    struct accel_error error = {0};
    int code;

    opened->borrowed = opened->context != NULL;
    opened->smaller = wish->smaller;
    if (!opened->borrowed)
        opened->context = open_context(common, &code);
    if (opened->context == NULL)
        return code;
    code = wish->runs && (wish->plan != NULL || is_plan_file(wish->path)) ? repeat(common, wish, opened)
                                                                          : make(common, wish, opened);
    if (code >= 0)
        return code;
    warn_option_variables(opened->context);
    adopt_plan(opened);
    if (wish->runs && !wish->is_repeated) {
        opened->quiet = wish->quiet;
        for (size_t i = 0; i < sizeof(noted) / sizeof(*noted) && !wish->quiet; i++)
            print_start_notes(accel_model_plan_plan(opened->made), noted[i]);
        print_variable_notes(accel_model_plan_plan(opened->made));
    }
    if (wish->runs)
        code = refuse_reports(common, wish, accel_model_plan_plan(opened->made));
    if (code >= 0)
        return code;
    if (!wish->runs || accel_model_plan_session(opened->made, &opened->session, &error) == ACCEL_OK)
        return -1;
    if (opened->quiet)
        print_start_notes(accel_model_plan_plan(opened->made), "device");
    return is_model_here(opened) ? report_session_error(common->json, &error) : report_error(common->json, &error);
}

int32_t load_session(const struct opened *opened, struct accel_error *error)
{
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    char remedy[sizeof(error->remedy)];
    int32_t code = accel_session_load(opened->session, error);
    int length;

    if (code != ACCEL_OK && code != ACCEL_E_CANCELLED && opened->quiet)
        print_start_notes(accel_model_plan_plan(opened->made), "device");
    if (code != ACCEL_E_MEMORY || opened->command == NULL ||
        accel_plan_fit(accel_model_plan_plan(opened->made), &fit, NULL) != ACCEL_OK || fit.fits)
        return code;
    length = opened->smaller == NULL ? snprintf(remedy, sizeof(remedy), "%s --fit", opened->command)
                                     : snprintf(remedy, sizeof(remedy), "%s", opened->smaller);
    if (length < (int)sizeof(remedy))
        memcpy(error->remedy, remedy, sizeof(remedy));
    return code;
}

/* Ends the SIGBUS guard of the model's file, if it has one. */
static void end_guard(const struct opened *opened)
{
    if (opened->model != NULL)
        sigbus_guard_end(accel_model_file_of(opened->model));
}

void replace_plan(struct opened *opened, struct accel_model_plan *plan)
{
    end_guard(opened);
    accel_model_plan_free(opened->made);
    opened->made = plan;
    adopt_plan(opened);
}

void close_model(struct opened *opened)
{
    end_guard(opened);
    accel_model_plan_free(opened->made);
    if (opened->context != NULL && !opened->borrowed)
        close_context(opened->context);
    free(opened->texts);
    free(opened->command);
}

const char *plan_setting_text(const struct accel_plan *plan, const char *key)
{
    const struct accel_plan_setting *setting = accel_plan_setting_find(plan, key);

    return setting == NULL ? "?" : setting->value;
}

uint64_t widest_row(const struct accel_model_file *file)
{
    uint64_t widest = 0;

    for (uint64_t i = 0; i < accel_model_file_tensor_count(file); i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(file, i);

        if (tensor->rank == 2 && tensor->dims[1] > widest)
            widest = tensor->dims[1];
    }
    return widest;
}
