/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/print_plan.h"

struct plan_options {
    struct common common;
    uint32_t nodes;
    uint32_t losers;
};

static const struct option_row options[] = {
    {"nodes", 0, OPTION_FLAG, offsetof(struct plan_options, nodes), NULL, "list every node with its kernel", 0, 0},
    {"overruled", 'o', OPTION_FLAG, offsetof(struct plan_options, losers), NULL,
     "show under each setting the values that it overruled", 0, 0},
    PLAN_OPTIONS(struct plan_options, common),
    COMMON_OPTIONS(struct plan_options, common),
};

static int run(int count, char **arguments, const struct verb *verb)
{
    struct plan_options chosen = {{0}, 0, 0};
    struct opened opened = {0};
    struct accel_plan_fit fit = {.size = sizeof fit};
    int code = parse_options(verb, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    code = open_model(&chosen.common, arguments[0], NULL, 0, 0, 1, &opened);
    if (code < 0) {
        code = EXIT_DONE;
        if (chosen.common.json)
            code = print_json(plan_json(&opened), "accelctl/plan/1");
        else
            print_plan(&opened, chosen.nodes, chosen.losers);
        if (code == EXIT_DONE && accel_plan_fit(accel_session_plan(opened.session), &fit, NULL) == ACCEL_OK &&
            !fit.fits)
            code = EXIT_SHORT;
    }
    close_model(&opened);
    return code;
}

const struct verb verb_plan = {
    .name = "plan",
    .summary = "how a model would run: device, settings, kernels, memory, each with its origin",
    .arguments = "MODEL",
    .detail =
        "MODEL is a GGUF file, a safetensors file beside its config.json, or a folder with them. Nothing is loaded.\n"
        "Each setting names the file and line of the profile that it comes from, or what measured it. The exit status "
        "is "
        "5 where the memory does not suffice.",
    .example = "accelctl plan --set context=2048tok model.gguf\nhow the model would run with caches for 2048 tokens",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .least = 1,
    .most = 1,
    .run = run,
};
