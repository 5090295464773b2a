/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/common.h"
#include "tools/accelctl/info/info.h"
#include "tools/accelctl/print/raw_text.h"

struct info_options {
    uint32_t json;
    uint32_t tensors;
    uint32_t template;
    uint32_t all;
};

static const struct option_row options[] = {
    {"tensors", 0, OPTION_FLAG, offsetof(struct info_options, tensors), NULL,
     "list every tensor: name, shape (outermost first), type, bytes, offset", 0, 0},
    {"template", 0, OPTION_FLAG, offsetof(struct info_options, template), NULL, "print the chat template alone", 0, 0},
    {"all", 'a', OPTION_FLAG, offsetof(struct info_options, all), NULL,
     "with --json, print whole lists of the metadata instead of their first 8 elements", 0, 0},
    MODEL_OPTION,
    {"json", 0, OPTION_FLAG, offsetof(struct info_options, json), NULL,
     "print one JSON document, errors too, with the name of its schema", 0, 0},
};

static int print_template(const struct vocabulary *vocabulary, const char *path, uint32_t json)
{
    char *text = info_template(vocabulary);

    if (text == NULL)
        return report_error_format(json, EXIT_INPUT, "ACCEL_E_NOT_FOUND",
                                   "accelctl info MODEL shows what the model has", "%.300s: has no chat template",
                                   path);
    if (json) {
        json_t *document = json_pack("{s:s, s:o}", "origin", "file", "chat_template", json_text(text));

        free(text);
        return print_json(document, "accelctl/info/1");
    }
    print_raw_text(text);
    free(text);
    return EXIT_DONE;
}

static int print_info(const struct vocabulary *vocabulary, const char *path, const struct info_options *chosen)
{
    json_t *document = info_document(path, vocabulary, chosen->all, chosen->tensors);

    if (document == NULL)
        return report_error_text(chosen->json, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for the document", NULL);
    if (chosen->json)
        return print_json(document, "accelctl/info/1");
    info_print(document);
    json_decref(document);
    return EXIT_DONE;
}

/* Prints what is described under a name of the folder models of the profiles. */
static int print_named(const char *name, const struct info_options *chosen)
{
    const struct common common = {.json = chosen->json};
    struct accel_context *context;
    struct accel_error error = {0};
    json_t *document;
    int code;

    context = open_undiscovered(&common, &code);
    if (context == NULL)
        return code;
    document = info_description(context, name, &error);
    close_context(context);
    if (document == NULL)
        return report_error(chosen->json, &error);
    if (chosen->tensors || chosen->template) {
        json_decref(document);
        return report_error_format(chosen->json, EXIT_USAGE, "usage", "name the model's file or folder",
                                   "info: --%s requires a file, and %.80s is the name of a description",
                                   chosen->tensors ? "tensors" : "template", name);
    }
    if (chosen->json)
        return print_json(document, "accelctl/info/1");
    info_print(document);
    json_decref(document);
    return EXIT_DONE;
}

/* Returns whether what cannot be opened may be a name of the folder models, or a config.json without weights. */
static bool is_description(const char *path, const struct accel_error *error)
{
    const char *slash = strrchr(path, '/');
    char config[4200];

    if (strcmp(slash == NULL ? path : slash + 1, "config.json") == 0)
        return true;
    snprintf(config, sizeof(config), "%.4000s/config.json", path);
    return error->code == ACCEL_E_NOT_FOUND && (access(path, F_OK) != 0 || access(config, F_OK) == 0);
}

static int run(int count, char **arguments, const struct command *command)
{
    struct info_options chosen = {0};
    struct vocabulary vocabulary;
    struct accel_error error = {0};
    int code = parse_options(command, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    if (vocabulary_open(arguments[0], &vocabulary, &error) != ACCEL_OK)
        code = is_description(arguments[0], &error) ? print_named(arguments[0], &chosen)
                                                    : report_error(chosen.json, &error);
    else if (chosen.template)
        code = print_template(&vocabulary, arguments[0], chosen.json);
    else
        code = print_info(&vocabulary, arguments[0], &chosen);
    vocabulary_close(&vocabulary);
    return code;
}

const struct command command_info = {
    .name = "info",
    .alias = "show",
    .summary = "show what a model file holds: metadata, architecture, tensors, tokenizer, chat template",
    .arguments = "MODEL",
    .detail =
        "MODEL is a GGUF file, a safetensors file, or a folder with one. It may be split into several files (name the "
        "first GGUF file, PREFIX-00001-of-00003.gguf), packed by GPTQ or AWQ, of an architecture that does not run "
        "here, or a vocabulary without weights. A name of accelctl profile list models shows what its "
        "description states. Only headers and the files beside them are read, no weights. Bits per "
        "weight are the bytes of all weights, scales included, divided by the number of parameters.\n"
        "Lists are shortened to their first 8 elements, texts to one line. Control characters are shown as \\n, \\t "
        "and ?.\n"
        "Architectures that run:"
#define FAMILY(name) " " #name
#include "model/family/families.def"
#undef FAMILY
        ".",
    .example = "accelctl info --tensors model.gguf\nthe metadata, and each tensor with its type and place",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .least = 1,
    .most = 1,
    .run = run,
};
