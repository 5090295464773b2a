/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/accelctl/emit.h"
#include "tools/accelctl/explain.h"
#include "tools/accelctl/print_plan.h"
#include "tools/accelctl/print_steps.h"
#include "tools/accelctl/target.h"

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
     "why one setting has its value: file, line, reason, and every value that it overruled", 0, 0},
    {"all", 'a', OPTION_FLAG, offsetof(struct plan_options, shown.all), NULL, "list the settings that nobody set, too",
     0, 0},
    {"overruled", 'o', OPTION_FLAG, offsetof(struct plan_options, shown.losers), NULL,
     "show under each setting the values that it overruled", 0, 0},
    {"nodes", 0, OPTION_FLAG, offsetof(struct plan_options, shown.nodes), NULL, "list every node with its kernel", 0,
     0},
    {"parts", 0, OPTION_FLAG, offsetof(struct plan_options, shown.parts), NULL,
     "list the type of each component's weights by what they do, with the reason", 0, 0},
    {"layers", 0, OPTION_FLAG, offsetof(struct plan_options, shown.layers), NULL,
     "list which layers lie on which device", 0, 0},
    {"platform", 'p', OPTION_TEXT, offsetof(struct plan_options, platform), "NAME",
     "plan for a platform, also one of which no device is here; --device then names one of its devices, or a file of "
     "the folder devices",
     0, 0},
    {"fit", 'f', OPTION_FLAG, offsetof(struct plan_options, fit), NULL,
     "change settings, best first, until it fits; tell what each change saves and costs", 0, 0},
    {"advise", 0, OPTION_TEXT, offsetof(struct plan_options, advise), "TOPIC",
     "what could be changed where it is out of memory (oom), slow or not accurate (accuracy)", 0, 0},
    {"max-context", 0, OPTION_FLAG, offsetof(struct plan_options, most), NULL, "the longest context that fits", 0, 0},
    {"out", 0, OPTION_TEXT, offsetof(struct plan_options, out), "FILE",
     "write the plan to FILE.json, for accelctl run FILE.json", 0, 0},
    {"emit", 0, OPTION_TEXT, offsetof(struct plan_options, emit), "PROGRAM",
     "print the same settings as a call of llama-server or vllm, and what they cannot say", 0, 0},
    {"length", 'l', OPTION_NUMBER, offsetof(struct plan_options, length), "N",
     "tokens of the texts that will be read, where profiles ask for it", 1, 1e9},
    {"mode", 0, OPTION_TEXT, offsetof(struct plan_options, mode), "WORD",
     "stream or components, where profiles ask for it", 0, 0},
    PLAN_OPTIONS(struct plan_options, common),
    COMMON_OPTIONS(struct plan_options, common),
};

/* How much of the context fits, in words. */
static void print_tokens(const struct accel_plan *plan, uint64_t tokens)
{
    const char *planned = accel_plan_setting_find(plan, "context")->value;
    struct accel_plan_fit fit = {.size = sizeof fit};

    if (tokens == 0)
        print("no context fits, not even of one token\n  remedy: accelctl plan --fit tries what else can be changed\n");
    else if (accel_plan_fit(plan, &fit, NULL) == ACCEL_OK && fit.budget == 0)
        print("%" PRIu64 " tokens, what the model was made for; %s\n", tokens, fit.budget_origin);
    else
        print("%" PRIu64 " tokens fit; planned are %s\n", tokens, planned);
}

static int print_most(const struct plan_options *chosen, const struct opened *opened)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    struct accel_error error = {0};
    int code = EXIT_DONE;
    uint64_t tokens;

    if (accel_model_plan_max_context(opened->made, &tokens, &error) != ACCEL_OK)
        return say_session_error(chosen->common.json, &error);
    if (chosen->common.json)
        code = print_json(json_pack("{s:I, s:s}", "max_context", (json_int_t)tokens, "planned",
                                    accel_plan_setting_find(plan, "context")->value),
                          "accelctl/max-context/1");
    else
        print_tokens(plan, tokens);
    return code == EXIT_DONE && tokens == 0 ? EXIT_SHORT : code;
}

static int print_advice(const struct plan_options *chosen, const struct opened *opened)
{
    struct accel_model_plan_steps *steps = NULL;
    struct accel_error error = {0};
    int code = EXIT_DONE;

    if (accel_model_plan_advise(opened->made, chosen->advise, &steps, &error) != ACCEL_OK)
        return error.code == ACCEL_E_NOT_FOUND ? say(chosen->common.json, EXIT_USAGE, "usage", error.text, error.remedy)
                                               : say_error(chosen->common.json, &error);
    if (chosen->common.json)
        code = print_json(json_pack("{s:s, s:o}", "topic", chosen->advise, "steps", steps_json(steps)),
                          "accelctl/advice/1");
    else
        print_steps(steps);
    accel_model_plan_steps_free(steps);
    return code;
}

/* The plan with all changes takes the place of the one that was asked for. */
static int fit_plan(const struct plan_options *chosen, struct opened *opened, struct accel_model_plan_steps **out_steps)
{
    struct accel_model_plan *fitted = NULL;
    struct accel_error error = {0};

    if (accel_model_plan_fit(opened->made, &fitted, out_steps, &error) != ACCEL_OK)
        return say_session_error(chosen->common.json, &error);
    replace_plan(opened, fitted);
    return -1;
}

static int print_whole(const struct plan_options *chosen, const struct opened *opened,
                       const struct accel_model_plan_steps *steps)
{
    struct accel_error error = {0};
    json_t *document;

    if (!chosen->common.json && steps == NULL) {
        print_plan(opened, &chosen->shown);
        return EXIT_DONE;
    }
    if (!chosen->common.json) {
        print_verdict(opened, 1);
        print_applied(steps);
        print_steps(steps);
        return EXIT_DONE;
    }
    document = plan_json(opened, &error);
    if (document != NULL && steps != NULL)
        json_object_set_new(document, "steps", steps_json(steps));
    return document == NULL ? say_error(1, &error) : print_json(document, "accelctl/plan/2");
}

/* Where --out has written the plan that stands above. */
static void print_out(const char *path)
{
    char name[4096];

    print("written    %s, for accelctl run to repeat\n", clean_text(path, name, sizeof name));
}

/* What the options ask of the plan that is open now. */
static int answer(const struct plan_options *chosen, const struct opened *opened,
                  const struct accel_model_plan_steps *steps)
{
    struct accel_plan_fit fit = {.size = sizeof fit};
    struct accel_error error = {0};
    int code;

    if (chosen->explain == NULL && !chosen->most && chosen->emit == NULL &&
        accel_model_plan_note_tokenizer(opened->made, &error) != ACCEL_OK)
        return say_error(chosen->common.json, &error);
    if (chosen->out != NULL && accel_model_plan_write(opened->made, chosen->out, &error) != ACCEL_OK)
        return say_output_error(chosen->common.json, &error, chosen->out);
    if (chosen->explain != NULL)
        return explain_setting(opened, chosen->explain, chosen->common.json);
    if (chosen->most)
        return print_most(chosen, opened);
    code = chosen->emit != NULL ? emit_call(opened, chosen->emit) : print_whole(chosen, opened, steps);
    if (chosen->out != NULL && !chosen->common.json)
        print_out(chosen->out);
    if (code == EXIT_DONE && chosen->emit == NULL && does_not_run(opened, &error))
        return EXIT_REFUSED;
    if (code == EXIT_DONE && accel_plan_fit(accel_model_plan_plan(opened->made), &fit, NULL) == ACCEL_OK && !fit.fits)
        code = EXIT_SHORT;
    return code;
}

static int act(const struct plan_options *chosen, struct opened *opened)
{
    struct accel_model_plan_steps *steps = NULL;
    int code = -1;

    if (chosen->advise != NULL)
        return print_advice(chosen, opened);
    if (chosen->fit)
        code = fit_plan(chosen, opened, &steps);
    if (code < 0)
        code = answer(chosen, opened, steps);
    accel_model_plan_steps_free(steps);
    return code;
}

static int run(int count, char **arguments, const struct verb *verb)
{
    struct plan_options chosen = {0};
    struct wish wish = {.outputs = 1};
    struct opened opened = {0};
    int code = parse_options(verb, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    if (chosen.mode != NULL && strcmp(chosen.mode, "stream") != 0 && strcmp(chosen.mode, "components") != 0)
        return say(chosen.common.json, EXIT_USAGE, "usage", "plan: --mode wants stream or components", NULL);
    if (chosen.emit != NULL && !emit_knows(chosen.emit))
        return say(chosen.common.json, EXIT_USAGE, "usage", "plan: --emit wants llama-server or vllm", NULL);
    if (chosen.emit != NULL && chosen.common.json)
        return say(1, EXIT_USAGE, "usage", "plan: --emit prints a call, not JSON", NULL);
    if ((uint32_t)chosen.fit + chosen.most + (chosen.advise != NULL) + (chosen.explain != NULL) +
            (chosen.emit != NULL) >
        1)
        return say(chosen.common.json, EXIT_USAGE, "usage",
                   "plan: --fit, --max-context, --advise, --explain and --emit answer one question each", NULL);
    if (chosen.out != NULL && (chosen.most || chosen.advise != NULL || chosen.explain != NULL || chosen.emit != NULL))
        return say(chosen.common.json, EXIT_USAGE, "usage", "plan: --out is for the plan itself, or with --fit", NULL);
    code = target_check(chosen.common.json, chosen.out, TARGET_JSON);
    if (code >= 0)
        return code;
    wish.path = arguments[0];
    wish.platform = chosen.platform;
    wish.mode = chosen.mode;
    wish.length = chosen.length;
    code = open_model(&chosen.common, &wish, &opened);
    if (code < 0)
        code = act(&chosen, &opened);
    close_model(&opened);
    return code;
}

const struct verb verb_plan = {
    .name = "plan",
    .summary = "how a model would run: whether it fits, settings, memory, kernels, each with its origin",
    .arguments = "MODEL",
    .detail =
        "MODEL is a GGUF file, a safetensors file beside its config.json, a folder with them, or the name of a file in "
        "the folder models of the profiles. Nothing is loaded. Where the model, its family or the device is not here, "
        "the plan is made by formula and says so.\n"
        "Each setting names the file and line of the profile that it comes from, or what measured it. The exit status "
        "is 5 where the memory does not suffice, and 4 where the device is here and the model or a setting has no "
        "implementation on it.",
    .example = "accelctl plan --set context=2048tok model.gguf\nhow the model would run with caches for 2048 tokens",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .least = 1,
    .most = 1,
    .run = run,
};
