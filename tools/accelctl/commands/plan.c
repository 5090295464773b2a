/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/model/describe.h>

#include "tools/accelctl/print/brief.h"
#include "tools/accelctl/print/emit.h"
#include "tools/accelctl/print/explain.h"
#include "tools/accelctl/print/plan.h"
#include "tools/accelctl/print/steps.h"
#include "tools/accelctl/print/where.h"
#include "tools/accelctl/profile/profile.h"
#include "tools/accelctl/target.h"
#include "tools/accelctl/words.h"

struct plan_options {
    struct common common;
    struct shown shown;
    uint32_t most;
    uint32_t fit;
    const char *advise;
    const char *platform;
    const char *mode;
    uint64_t length;
    const char *explain;
    const char *out;
    const char *emit;
};

static const struct option_row options[] = {
    {"explain", 'e', OPTION_TEXT, offsetof(struct plan_options, explain), "KEY",
     "print why a setting has its value (file, line, reason, every overridden value), and whether a run honors it", 0,
     0},
    {"reasons", 'r', OPTION_FLAG, offsetof(struct plan_options, shown.reasons), NULL,
     "list the settings that profiles, the environment or the command line set, with place and reason", 0, 0},
    {"all", 'a', OPTION_FLAG, offsetof(struct plan_options, shown.all), NULL,
     "print every section: threads, facts, all settings with reasons, memory with its formulas, kernels, notes", 0, 0},
    {"overruled", 'o', OPTION_FLAG, offsetof(struct plan_options, shown.overridden), NULL,
     "print the overridden values under each setting", 0, 0},
    {"nodes", 0, OPTION_FLAG, offsetof(struct plan_options, shown.nodes), NULL, "list every node with its kernel", 0,
     0},
    {"parts", 0, OPTION_FLAG, offsetof(struct plan_options, shown.parts), NULL,
     "list the weight types of each component by role, with the reason", 0, 0},
    {"layers", 0, OPTION_FLAG, offsetof(struct plan_options, shown.layers), NULL, "list the device of each layer", 0,
     0},
    {"platform", 'p', OPTION_TEXT, offsetof(struct plan_options, platform), "NAME",
     "plan for a platform, even if no device of it is here; --device then names one of its devices that is here, or "
     "files of the folder devices: h100, 4xa100, a100,h200. --set device.count=N, device.memory=SIZE, "
     "device.reserve=SIZE (of it, for the driver), device.bandwidth=SIZE (a second) and device.compute=N (10^12 "
     "operations a second) state what such a file does "
     "not, or describe a device without a file",
     0, 0},
    {"fit", 'f', OPTION_FLAG, offsetof(struct plan_options, fit), NULL,
     "change settings until the model fits, the cheapest change first; print what each change saves and costs", 0, 0},
    {"advise", 0, OPTION_TEXT, offsetof(struct plan_options, advise), "TOPIC",
     "list possible changes if the model is out of memory (oom), slow or not accurate (accuracy)", 0, 0},
    {"max-context", 0, OPTION_FLAG, offsetof(struct plan_options, most), NULL, "print the longest context that fits", 0,
     0},
    {"out", 0, OPTION_TEXT, offsetof(struct plan_options, out), "FILE", "write the plan to FILE, for accelctl run FILE",
     0, 0},
    {"emit", 0, OPTION_TEXT, offsetof(struct plan_options, emit), "PROGRAM",
     "print a command line of llama-server or vllm with the settings, and list the settings that it cannot express", 0,
     0},
    {"length", 'l', OPTION_NUMBER, offsetof(struct plan_options, length), "N",
     "length of the texts in tokens, for profiles with a condition on it", 1, 1e9},
    {"mode", 0, OPTION_TEXT, offsetof(struct plan_options, mode), "WORD",
     "stream or components, for profiles with a condition on it", 0, 0},
    MODEL_OPTION,
    CONTEXT_OPTIONS(struct plan_options, common),
    PLAN_OPTIONS(struct plan_options, common),
    COMMON_OPTIONS(struct plan_options, common),
};

/* Returns how many sequences a plan with another context has: of a profile's number, as many as fit. */
static uint64_t count_sequences(const struct opened *opened, uint64_t tokens)
{
    char value[32];
    const struct accel_named_value context = {"context", value, "--max-context"};
    struct accel_model_plan *made = NULL;
    uint64_t count = 1;

    snprintf(value, sizeof(value), "%" PRIu64 "tok", tokens);
    if (accel_model_plan_vary(opened->made, &context, 1, &made, NULL) == ACCEL_OK)
        count = (uint64_t)accel_plan_setting_find(accel_model_plan_plan(made), "sequences")->number;
    accel_model_plan_free(made);
    return count;
}

static const char *each_of(uint64_t sequences, char text[48])
{
    if (sequences == 1)
        return " in one sequence";
    snprintf(text, 48, " in each of %" PRIu64 " sequences", sequences);
    return text;
}

/* Prints how much of the context fits. */
static void print_tokens(const struct opened *opened, uint64_t tokens)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const char *planned = accel_plan_setting_find(plan, "context")->value;
    const char *trained = accel_model_description_fact(accel_model_plan_description(opened->made), "model.context");
    const uint64_t sequences = (uint64_t)accel_plan_setting_find(plan, "sequences")->number;
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    const uint64_t fitting = tokens == 0 ? 0 : count_sequences(opened, tokens);
    const bool is_one = fitting == 1 && sequences == 1;
    char command[1200], texts[2][48];

    if (tokens == 0)
        print("no context fits, not even of one token\n  remedy: %s --fit\n",
              opened->command == NULL ? "accelctl plan" : clean_text(opened->command, command, sizeof(command)));
    else if (accel_plan_fit(plan, &fit, NULL) == ACCEL_OK && fit.budget == 0)
        print("%" PRIu64 " tokens, what the model was made for; %s\n", tokens, fit.budget_origin);
    else
        print("%" PRIu64 " tokens fit%s%s%s%s; planned are %s%s\n", tokens, trained == NULL ? "" : " (trained for ",
              trained == NULL                         ? ""
              : strtoull(trained, NULL, 10) == tokens ? "as many"
                                                      : trained,
              trained == NULL ? "" : ")", is_one ? "" : each_of(fitting, texts[0]), planned,
              is_one ? "" : each_of(sequences, texts[1]));
}

static int print_most(const struct plan_options *chosen, const struct opened *opened)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    struct accel_error error = {0};
    int code = EXIT_DONE;
    uint64_t tokens;

    if (accel_model_plan_max_context(opened->made, &tokens, &error) != ACCEL_OK)
        return report_session_error(chosen->common.json, &error);
    if (chosen->common.json)
        code = print_json(json_pack("{s:{s:s}, s:I, s:s}", "origin", "max_context",
                                    "estimated: the longest context whose plan fits", "max_context", (json_int_t)tokens,
                                    "planned", accel_plan_setting_find(plan, "context")->value),
                          "accelctl/max-context/1");
    else
        print_tokens(opened, tokens);
    return code == EXIT_DONE && tokens == 0 ? EXIT_SHORT : code;
}

static int print_advice(const struct plan_options *chosen, const struct opened *opened)
{
    struct plan_steps *steps = NULL;
    struct accel_error error = {0};
    int code = EXIT_DONE;

    if (advise_on_plan(opened->context, opened->made, chosen->advise, &steps, &error) != ACCEL_OK)
        return error.code == ACCEL_E_NOT_FOUND
                   ? report_error_text(chosen->common.json, EXIT_USAGE, "usage", error.text, error.remedy)
                   : report_error(chosen->common.json, &error);
    if (chosen->common.json)
        code = print_json(json_pack("{s:s, s:o}", "topic", chosen->advise, "steps", steps_json(steps)),
                          "accelctl/advice/1");
    else
        print_steps(steps);
    plan_steps_free(steps);
    return code;
}

/* Replaces the requested plan by one that fits, with all changes applied. */
static int fit_plan(const struct plan_options *chosen, struct opened *opened, struct plan_steps **out_steps)
{
    struct accel_model_plan *fitted = NULL;
    struct accel_error error = {0};

    if (fit_model_plan(opened->context, opened->made, &fitted, out_steps, &error) != ACCEL_OK)
        return report_session_error(chosen->common.json, &error);
    replace_plan(opened, fitted);
    return -1;
}

/* Prints the other versions of a described device if the plan does not fit, as that of the A100 with more memory. */
static void print_other_devices(const struct opened *opened)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const char *name = plan_fact(plan, "device.profile"), *count = plan_fact(plan, "device.count");
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    struct profile_files files = {0};

    if (accel_plan_device(plan) != NULL || name == NULL || accel_plan_fit(plan, &fit, NULL) != ACCEL_OK || fit.fits)
        return;
    if (profile_files_read(&files, opened->context, NULL, NULL) == ACCEL_OK)
        print_versions(&files, name,
                       count == NULL || plan_fact(plan, "device.list") != NULL ? 1 : strtoull(count, NULL, 10));
    profile_files_free(&files);
}

static int print_whole(const struct plan_options *chosen, const struct opened *opened, const struct plan_steps *steps)
{
    struct accel_error error = {0};
    json_t *document;

    if (!chosen->common.json && steps == NULL) {
        print_plan(opened, &chosen->shown);
        print_other_devices(opened);
        return EXIT_DONE;
    }
    if (!chosen->common.json) {
        print_verdict(opened, 1);
        print_lowered_type(opened);
        print_applied(steps);
        print_context(opened);
        print_experts(opened);
        if (chosen->shown.all && plan_step_count(steps) != 0)
            print_steps(steps);
        else
            print_applied_steps(steps);
        print_other_devices(opened);
        return EXIT_DONE;
    }
    document = plan_json(opened, &error);
    if (document != NULL && steps != NULL)
        json_object_set_new(document, "steps", steps_json(steps));
    return document == NULL ? report_error(1, &error) : print_json(document, "accelctl/plan/2");
}

/* Prints the path to which --out wrote the plan above, and whether a run can follow it. */
static void print_out(const struct opened *opened, const char *path)
{
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    const bool fits = accel_plan_fit(accel_model_plan_plan(opened->made), &fit, NULL) != ACCEL_OK || fit.fits;
    char name[4096];

    print("written    %s, %s\n", clean_text(path, name, sizeof(name)),
          opened->session == NULL ? "to read or to compare: accelctl run follows no plan by formula"
          : fits                  ? "for accelctl run to repeat"
                                  : "which accelctl run refuses as long as it does not fit");
}

/* Answers what the options request of the open plan. */
static int answer(const struct plan_options *chosen, const struct opened *opened, const struct plan_steps *steps)
{
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    struct accel_error error = {0};
    int code;

    if (chosen->explain == NULL && !chosen->most && chosen->emit == NULL &&
        accel_model_plan_note_tokenizer(opened->made, &error) != ACCEL_OK)
        return report_error(chosen->common.json, &error);
    if (chosen->out != NULL && accel_model_plan_write(opened->made, chosen->out, &error) != ACCEL_OK)
        return report_output_error(chosen->common.json, &error, chosen->out);
    if (chosen->explain != NULL)
        return explain_setting(opened, chosen->explain, chosen->common.json);
    if (chosen->most)
        return print_most(chosen, opened);
    code = chosen->emit != NULL ? emit_call(opened, chosen->emit) : print_whole(chosen, opened, steps);
    if (chosen->out != NULL && !chosen->common.json)
        print_out(opened, chosen->out);
    if (code == EXIT_DONE && chosen->emit == NULL && does_not_run(opened, &error))
        return unsupported_exit(&error);
    if (code == EXIT_DONE && accel_plan_fit(accel_model_plan_plan(opened->made), &fit, NULL) == ACCEL_OK && !fit.fits)
        code = EXIT_SHORT;
    return code;
}

static int act(const struct plan_options *chosen, struct opened *opened)
{
    struct plan_steps *steps = NULL;
    int code = -1;

    if (chosen->advise != NULL)
        return print_advice(chosen, opened);
    if (chosen->fit)
        code = fit_plan(chosen, opened, &steps);
    if (code < 0)
        code = answer(chosen, opened, steps);
    plan_steps_free(steps);
    return code;
}

/* Returns whether one of the settings of the command line has the key. */
static bool is_given(const struct common *common, const char *key)
{
    size_t length = strlen(key);

    for (uint32_t i = 0; i < common->sets.count; i++)
        if (strncmp(common->sets.items[i], key, length) == 0 && common->sets.items[i][length] == '=')
            return true;
    return false;
}

/* Returns whether --emit prints a call with layers on a GPU, which is for another machine if none is here. */
static bool emits_gpu_layers(const struct plan_options *chosen)
{
    return chosen->emit != NULL && chosen->common.device == NULL && is_given(&chosen->common, "gpu.layers") &&
           !is_given(&chosen->common, "fallback.device");
}

static int run(int count, char **arguments, const struct command *command)
{
    static const struct accel_named_value without_gpu = {"fallback.device", "allow", "--emit"};
    struct plan_options chosen = {0};
    struct wish wish = {.outputs = 1};
    struct opened opened = {0};
    int code = parse_options(command, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    if (chosen.mode != NULL && strcmp(chosen.mode, "stream") != 0 && strcmp(chosen.mode, "components") != 0)
        return refuse_option_word(chosen.common.json, "plan", "mode", "stream components", chosen.mode);
    if (chosen.emit != NULL && !emit_knows(chosen.emit))
        return refuse_option_word(chosen.common.json, "plan", "emit", option_words("plan", "emit"), chosen.emit);
    if (chosen.emit != NULL && chosen.common.json)
        return report_error_text(1, EXIT_USAGE, "usage", "plan: --emit prints a call, not JSON", NULL);
    /* --emit prints the call of the plan that --fit finds. */
    if ((chosen.fit && chosen.emit == NULL) + chosen.most + (chosen.advise != NULL) + (chosen.explain != NULL) +
            (chosen.emit != NULL) >
        1)
        return report_error_text(chosen.common.json, EXIT_USAGE, "usage",
                                 "plan: only one of --fit, --max-context, --advise, --explain and --emit can be given, "
                                 "or --fit and --emit",
                                 NULL);
    if (chosen.out != NULL && (chosen.most || chosen.advise != NULL || chosen.explain != NULL || chosen.emit != NULL))
        return report_error_text(
            chosen.common.json, EXIT_USAGE, "usage",
            "plan: --out writes the plan, and --max-context, --advise, --explain and --emit print another answer",
            NULL);
    code = target_check(chosen.common.json, chosen.out, TARGET_JSON);
    if (code >= 0)
        return code;
    wish.path = arguments[0];
    wish.platform = chosen.platform;
    wish.mode = chosen.mode;
    wish.length = chosen.length;
    wish.more = &without_gpu;
    wish.more_count = emits_gpu_layers(&chosen);
    code = open_model(&chosen.common, &wish, &opened);
    if (code < 0 && !chosen.common.json &&
        (chosen.fit || chosen.most || chosen.advise != NULL || chosen.explain != NULL || chosen.emit != NULL))
        print_start_notes(accel_model_plan_plan(opened.made), "environment");
    if (code < 0)
        code = act(&chosen, &opened);
    close_model(&opened);
    return code;
}

const struct command command_plan = {
    .name = "plan",
    .summary = "show how a model would run: whether it fits, settings, memory and kernels, each with its origin",
    .arguments = "MODEL",
    .detail =
        "Prints the verdict, device, memory, speed, and the settings that a run does not honor; --reasons and --all "
        "print the rest. MODEL is a GGUF file, a safetensors file beside its config.json, a folder with them, the "
        "config.json of a decoder alone, or the name of a file in the folder models of the profiles. Nothing is "
        "loaded. If the weights, the model's family or the device are not here, the plan is computed by formula, and a "
        "note states so.\n"
        "Each setting names the file and line of the profile that it comes from, or what measured it. The exit status "
        "is 5 if memory does not suffice, and, if the device is here, 3 if the model's family does not run and 4 if "
        "the device does not implement the model or a setting.",
    .example = "accelctl plan --set context=2048tok model.gguf\nhow the model would run with caches for 2048 tokens",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .least = 1,
    .most = 1,
    .run = run,
};
