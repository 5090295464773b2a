/* SPDX-License-Identifier: Apache-2.0 */
/* accelctl profile list */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tools/accelctl/profile/profile.h"
#include "tools/accelctl/words.h"

/* Lists the files of all layers. */
#define ALL_LAYERS UINT32_MAX

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

        if (layer != ALL_LAYERS && info->layer != layer)
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

        if (layer == ALL_LAYERS || info->layer == layer)
            json_add(list,
                     json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:i, s:i}", "layer",
                               profile_layer(info->layer, 0), "name", json_text(info->name), "path",
                               json_text(info->path), "about", json_text(info->about), "match", json_text(info->match),
                               "inherits", json_text(info->inherits), "code", accel_error_name(info->code), "text",
                               json_text(info->text), "remedy", json_text(info->remedy), "settings",
                               (int)info->settings, "facts", (int)info->facts));
    }
    return json_pack("{s:s, s:o}", "origin", "file: the path of each", "profiles", list);
}

/* Prints the names that show and diff accept. */
static void print_names(const struct profile_files *files, uint32_t layer)
{
    for (uint32_t i = 0; i < files->count; i++) {
        const struct profile_info *info = &files->list[i];

        if (info->layer < ACCEL_LAYER_SYSTEM && (layer == ALL_LAYERS || info->layer == layer))
            print("%s\n", info->name);
    }
}

/* Parses the name of a layer; ALL_LAYERS stands for all of them. Answers -1, or an exit code after an error has been
 * printed. */
static int choose_layer(const char *word, uint32_t json, uint32_t *out_layer)
{
    const char *nearest = NULL;
    uint32_t least;
    char text[160], remedy[120];

    *out_layer = ALL_LAYERS;
    if (word == NULL)
        return -1;
    least = unrelated_distance(word);
    for (uint32_t i = ACCEL_LAYER_BASE; i <= ACCEL_LAYER_FOLDER; i++) {
        if (strcmp(word, profile_layer(i, 0)) == 0 || strcmp(word, profile_layer(i, 1)) == 0) {
            *out_layer = i;
            return -1;
        }
        if (is_nearer(word, profile_layer(i, 1), &least))
            nearest = profile_layer(i, 1);
    }
    snprintf(text, sizeof(text), "profile list: there is no layer \"%.40s\"%s%s%s", word,
             nearest == NULL ? "" : "; did you mean \"", nearest == NULL ? "" : nearest, nearest == NULL ? "" : "\"?");
    snprintf(remedy, sizeof(remedy), "layers are %s", option_words("profile", "list"));
    return report_error_text(json, EXIT_USAGE, "usage", text, remedy);
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
    warn_unknown_variables(&files);
    if (chosen->common.json)
        code = print_json(list_json(&files, layer), "accelctl/profile-list/1");
    else if (chosen->names)
        print_names(&files, layer);
    else
        print_list(&files, layer, chosen->all);
    profile_files_free(&files);
    return code;
}
