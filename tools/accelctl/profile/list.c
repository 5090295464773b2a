/* SPDX-License-Identifier: Apache-2.0 */
/* accelctl profile list: prints the profiles, and finds their files by name. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Finds the nearest name that can be selected, of the same layer if the wrong one has a folder, as "devices/a10". */
static const char *nearest_name(const struct profile_files *files, struct selection *selection, const char *name)
{
    const char *nearest = NULL, *slash = strrchr(name, '/'), *base = slash == NULL ? name : slash + 1;
    uint32_t least = unrelated_distance(base);
    char title[512];

    for (uint32_t i = 0; i < files->count; i++) {
        const struct profile_info *info = &files->list[i];

        profile_title(info, title, sizeof(title));
        if ((member_of(selection, info->layer) == NULL && info->layer != ACCEL_LAYER_BASE) ||
            (slash != NULL && strncmp(title, name, (size_t)(slash + 1 - name)) != 0))
            continue;
        if (is_nearer(base, info->name, &least))
            nearest = info->name;
    }
    return nearest;
}

static int refuse_name(const struct profile_files *files, struct selection *selection, const char *name, uint32_t json)
{
    const char *nearest = nearest_name(files, selection, name);
    char text[256];

    if (nearest == NULL)
        snprintf(text, sizeof(text), "there is no profile \"%.80s\"", name);
    else
        snprintf(text, sizeof(text), "there is no profile \"%.80s\"; did you mean \"%s\"?", name, nearest);
    return report_error_text(json, EXIT_INPUT, accel_error_name(ACCEL_E_NOT_FOUND), text,
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

/* ---- the list ---- */

static void print_info(const struct profile_info *info, uint32_t width, uint32_t all)
{
    char title[512], counts[64], about[1200], line[1400];

    if (info->layer >= ACCEL_LAYER_SYSTEM)
        profile_title(info, title, sizeof(title));
    else
        snprintf(title, sizeof(title), "%s", info->name);
    print("  %s%-*s%s  ", paint(info->code == ACCEL_OK ? PAINT_PLAIN : PAINT_BAD), (int)width, title,
          paint(PAINT_PLAIN));
    if (info->code != ACCEL_OK) {
        print_wrapped(width + 4, width + 4, short_places(info->text, line, sizeof(line)));
        if (info->remedy[0] != '\0')
            print_wrapped((uint32_t)print("%*sremedy: ", (int)width + 4, ""), width + 12, info->remedy);
        return;
    }
    counts[0] = '\0';
    if (info->settings > 0 || info->facts == 0)
        snprintf(counts, sizeof(counts), "%u setting%s", info->settings, info->settings == 1 ? "" : "s");
    if (info->facts > 0)
        snprintf(counts + strlen(counts), sizeof(counts) - strlen(counts), "%s%u fact%s", counts[0] == '\0' ? "" : ", ",
                 info->facts, info->facts == 1 ? "" : "s");
    snprintf(line, sizeof(line), "%s%s(%s)", all ? info->about : first_sentence(info->about, about, sizeof(about)),
             info->about[0] == '\0' ? "" : " ", counts);
    print_wrapped(width + 4, width + 4, line);
}

static uint32_t widest(const struct profile_files *files)
{
    uint32_t width = 8;

    for (uint32_t i = 0; i < files->count; i++) {
        const struct profile_info *info = &files->list[i];
        uint32_t length = (uint32_t)strlen(info->name);

        if (info->layer < ACCEL_LAYER_SYSTEM && length > width && length < 40)
            width = length;
    }
    return width;
}

/* Prints the folder of base.yaml, with which every list begins. */
static void print_folder(const struct profile_files *files)
{
    const struct profile_info *info = files->count > 0 ? files->list : NULL;
    const char *slash = info == NULL ? NULL : strrchr(info->path, '/');

    if (slash != NULL && info->layer == ACCEL_LAYER_BASE)
        print("folder %.*s\n", (int)(slash - info->path), info->path);
}

static void print_list(const struct profile_files *files, uint32_t layer, uint32_t all)
{
    uint32_t width = widest(files);
    uint32_t before = ACCEL_LAYER_BUILTIN;

    print_folder(files);
    for (uint32_t i = 0; i < files->count; i++) {
        const struct profile_info *info = &files->list[i];
        uint32_t heading = info->layer >= ACCEL_LAYER_SYSTEM ? ACCEL_LAYER_SYSTEM : info->layer;

        if (layer != LAYERS && info->layer != layer)
            continue;
        if (heading != before)
            print("%s%s%s\n", paint(PAINT_HEADING),
                  heading == ACCEL_LAYER_SYSTEM ? "of this site" : profile_layer(heading, 1), paint(PAINT_PLAIN));
        before = heading;
        print_info(info, width, all);
    }
}

static json_t *list_json(const struct profile_files *files, uint32_t layer)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < files->count; i++) {
        const struct profile_info *info = &files->list[i];

        if (layer == LAYERS || info->layer == layer)
            json_add(list,
                     json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:i, s:i}", "layer",
                               profile_layer(info->layer, 0), "name", json_text(info->name), "path",
                               json_text(info->path), "about", json_text(info->about), "match", json_text(info->match),
                               "inherits", json_text(info->inherits), "code", accel_error_name(info->code), "text",
                               json_text(info->text), "remedy", json_text(info->remedy), "settings",
                               (int)info->settings, "facts", (int)info->facts));
    }
    return json_pack("{s:o}", "profiles", list);
}

/* Prints the names that show and diff accept. */
static void print_names(const struct profile_files *files, uint32_t layer)
{
    for (uint32_t i = 0; i < files->count; i++) {
        const struct profile_info *info = &files->list[i];

        if (info->layer < ACCEL_LAYER_SYSTEM && (layer == LAYERS || info->layer == layer))
            print("%s\n", info->name);
    }
}

/* Parses the name of a layer; LAYERS stands for all of them. Answers -1, or an exit code after an error has been
 * printed. */
static int choose_layer(const char *word, uint32_t json, uint32_t *out_layer)
{
    const char *nearest = NULL;
    uint32_t least;
    char text[160];

    *out_layer = LAYERS;
    if (word == NULL)
        return -1;
    least = unrelated_distance(word);
    for (uint32_t i = ACCEL_LAYER_BASE; i <= ACCEL_LAYER_FOLDER; i++) {
        if (strcmp(word, layers[i].one) == 0 || strcmp(word, layers[i].more) == 0) {
            *out_layer = i;
            return -1;
        }
        if (is_nearer(word, layers[i].more, &least))
            nearest = layers[i].more;
    }
    snprintf(text, sizeof(text), "profile list: there is no layer \"%.40s\"%s%s%s", word,
             nearest == NULL ? "" : "; did you mean \"", nearest == NULL ? "" : nearest, nearest == NULL ? "" : "\"?");
    return report_error_text(json, EXIT_USAGE, "usage", text,
                             "layers are base, platforms, clients, devices, models, system, user and folder");
}

int profile_list(const struct profile_options *chosen, int count, char **arguments)
{
    struct profile_files files;
    uint32_t layer;
    int code = choose_layer(count == 0 ? NULL : arguments[0], chosen->common.json, &layer);

    if (code >= 0)
        return code;
    code = open_profiles(&chosen->common, &files);
    if (code >= 0)
        return code;
    code = EXIT_DONE;
    if (chosen->common.json)
        code = print_json(list_json(&files, layer), "accelctl/profile-list/1");
    else if (chosen->names)
        print_names(&files, layer);
    else
        print_list(&files, layer, chosen->all);
    profile_files_free(&files);
    return code;
}
