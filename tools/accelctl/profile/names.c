/* SPDX-License-Identifier: Apache-2.0 */
/* Names of profiles: their layers and titles, and the files that names of the command line select. */
#include "config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/driver_options.h"
#include "tools/accelctl/elapsed.h"
#include "tools/accelctl/profile/profile.h"
#include "tools/accelctl/words.h"

static const struct layer_name {
    const char *one;
    const char *more;
    const char *folder; /* where its files lie below the folder of profiles; NULL: they are no files of it */
} layers[] = {{"built in", "built in", NULL},    {"base", "base", ""},
              {"platform", "platforms", ""},     {"client", "clients", "clients/"},
              {"device", "devices", "devices/"}, {"model", "models", "models/"},
              {"system", "system", NULL},        {"user", "user", NULL},
              {"folder", "folder", NULL},        {"environment", "environment", NULL},
              {"given", "given", NULL}};

enum { LAYERS = sizeof(layers) / sizeof(*layers) };

const char *profile_layer(uint32_t layer, uint32_t plural)
{
    if (layer >= LAYERS)
        return "?";
    return plural ? layers[layer].more : layers[layer].one;
}

const char *profile_title(const struct profile_info *info, char *text, size_t size)
{
    const char *folder = info->layer < LAYERS ? layers[info->layer].folder : NULL;

    if (folder == NULL)
        snprintf(text, size, "%s", info->path);
    else
        snprintf(text, size, "%s%s", folder, info->name);
    return text;
}

int open_profiles(const struct common *common, struct profile_files *files)
{
    struct elapsed elapsed = {0};
    struct accel_error error = {0};
    int code;
    struct accel_context *context = open_undiscovered(common, &code);

    if (context == NULL)
        return code;
    if (!common->verbose)
        elapsed_begin(&elapsed, "reading profiles", 0);
    profile_files_read(files, context, NULL, &error);
    elapsed_end(&elapsed);
    code = -1;
    if (error.code != ACCEL_OK) {
        code = report_error(common->json, &error);
        profile_files_free(files);
    }
    close_context(context);
    return code;
}

/* ---- variables ---- */

static void warn_variable(void *data, const char *name, const char *near)
{
    (void)data;
    fprintf(error_output(), "warn: environment %s: unknown variable without effect%s%s%s\n", name,
            near == NULL ? "" : "; did you mean ", near == NULL ? "" : near, near == NULL ? "" : "?");
}

void warn_unknown_variables(const struct profile_files *files)
{
    profile_unknown_variables(files, warn_variable, NULL);
}

void warn_variables(const struct accel_context *context)
{
    struct profile_files files = {0};

    warn_option_variables(context);
    if (profile_files_read(&files, context, NULL, NULL) == ACCEL_OK)
        warn_unknown_variables(&files);
    profile_files_free(&files);
}

/* ---- by name ---- */

/* Returns the member of a selection for files of a layer, or NULL. */
static const struct profile_info **member_of(struct selection *selection, uint32_t layer)
{
    switch (layer) {
    case ACCEL_LAYER_PLATFORM:
        return &selection->platform;
    case ACCEL_LAYER_CLIENT:
        return &selection->client;
    case ACCEL_LAYER_DEVICE:
        return &selection->device;
    case ACCEL_LAYER_MODEL:
        return &selection->model;
    default:
        return NULL;
    }
}

/* Returns whether a text has a word of three letters or more, in any case. */
static bool mentions(const char *text, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = text; length >= 3 && (at = strcasestr(at, word)) != NULL; at++)
        if (!isalnum((unsigned char)at[length]) && (at == text || !isalnum((unsigned char)at[-1])))
            return true;
    return false;
}

/* Finds the file with the nearest name that can be selected, of the same layer if the wrong one has a folder, as
 * "devices/a10"; else one whose `about` mentions the name. */
static const struct profile_info *nearest_file(const struct profile_files *files, struct selection *selection,
                                               const char *name)
{
    const struct profile_info *nearest = NULL;
    const char *slash = strrchr(name, '/'), *base = slash == NULL ? name : slash + 1;
    uint32_t least = unrelated_distance(base);
    char title[512];

    for (uint32_t i = 0; i < files->count; i++) {
        const struct profile_info *info = &files->list[i];

        profile_title(info, title, sizeof(title));
        if ((member_of(selection, info->layer) == NULL && info->layer != ACCEL_LAYER_BASE) ||
            (slash != NULL && strncmp(title, name, (size_t)(slash + 1 - name)) != 0))
            continue;
        if (is_nearer(base, info->name, &least))
            nearest = info;
    }
    for (uint32_t i = 0; i < files->count && nearest == NULL; i++)
        if (member_of(selection, files->list[i].layer) != NULL && mentions(files->list[i].about, base))
            nearest = &files->list[i];
    return nearest;
}

static int refuse_name(const struct profile_files *files, struct selection *selection, const char *name, uint32_t json)
{
    const struct profile_info *nearest = nearest_file(files, selection, name);
    const bool is_model = nearest != NULL && nearest->layer == ACCEL_LAYER_MODEL;
    char text[256];

    if (nearest == NULL)
        snprintf(text, sizeof(text), "there is no profile \"%.80s\"", name);
    else
        snprintf(text, sizeof(text), "there is no profile \"%.80s\"; did you mean \"%s\"?", name, nearest->name);
    return report_error_text(json, is_model ? EXIT_INPUT : EXIT_REFUSED, accel_error_name(ACCEL_E_NOT_FOUND), text,
                             "accelctl profile list prints the names");
}

/* Adds the profile of a name to the selection. Answers -1, or an exit code after an error has been printed. */
static int select_one(const struct profile_files *files, const char *name, uint32_t json, struct selection *selection)
{
    const struct profile_info *found = NULL;
    const struct profile_info **member;
    char text[512], title[512];

    for (uint32_t i = 0; i < files->count && found == NULL; i++) {
        const struct profile_info *info = &files->list[i];

        if (member_of(selection, info->layer) != NULL &&
            (strcmp(name, info->name) == 0 || strcmp(name, profile_title(info, title, sizeof(title))) == 0))
            found = info;
    }
    if (found == NULL && strcmp(name, "base") == 0)
        return -1; /* it holds for everything */
    if (found == NULL)
        return refuse_name(files, selection, name, json);
    member = member_of(selection, found->layer);
    if (*member != NULL && *member != found) {
        snprintf(text, sizeof(text), "%s and %s are both of the layer %s, and one holds at a time", (*member)->name,
                 found->name, profile_layer(found->layer, 0));
        return report_error_text(json, EXIT_USAGE, "usage", text, "accelctl profile diff compares two of them");
    }
    *member = found;
    if (found->code == ACCEL_OK)
        return -1;
    return report_error_text(json, EXIT_INPUT, accel_error_name(found->code), found->text, found->remedy);
}

int select_profiles(const struct profile_files *files, const char *names, uint32_t json, struct selection *selection)
{
    int code = -1;

    for (const char *at = names; code < 0;) {
        size_t length = strcspn(at, "+");
        char *name = strndup(at, length);

        if (name == NULL)
            return report_error_text(json, EXIT_SHORT, accel_error_name(ACCEL_E_MEMORY), "no memory for a name",
                                     MEMORY_REMEDY);
        code = select_one(files, name, json, selection);
        free(name);
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    return code;
}

const char *first_sentence(const char *about, char *text, size_t size)
{
    for (const char *end = strstr(about, ". "); end != NULL; end = strstr(end + 1, ". ")) {
        if (end[2] < 'A' || end[2] > 'Z')
            continue;
        snprintf(text, size, "%.*s", (int)(end - about), about);
        return text;
    }
    snprintf(text, size, "%s", about);
    return text;
}

void print_versions(const struct profile_files *files, const char *name, uint64_t count)
{
    const size_t length = strlen(name);
    char sentence[600], text[800], times[24] = "";

    if (count > 1)
        snprintf(times, sizeof(times), "%" PRIu64 "x", count);
    for (uint32_t i = 0; i < files->count; i++) {
        const struct profile_info *info = &files->list[i];

        if (info->layer != ACCEL_LAYER_DEVICE || strncmp(info->name, name, length) != 0 || info->name[length] != '-')
            continue;
        snprintf(text, sizeof(text), "--device %s%s: %s", times, info->name,
                 first_sentence(info->about, sentence, sizeof(sentence)));
        print_wrapped((uint32_t)print("other      "), 11, text);
    }
}
