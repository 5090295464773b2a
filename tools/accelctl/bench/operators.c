/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the operators to run: types, shapes and lengths of the command line, or the shapes of a model's
 * attention. */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <accel/quant/format.h>
#include <accel/run.h>

#include "tools/accelctl/bench/bench.h"
#include "tools/accelctl/bench/facts.h"
#include "tools/accelctl/bench/machine.h"
#include "tools/accelctl/bench/operator.h"
#include "tools/accelctl/bench/operators.h"
#include "tools/accelctl/bench/rows.h"
#include "tools/accelctl/words.h"

#define MIB 1048576.0

/* Types of the weights of matmul without --type. */
static const char default_types[] = "f16,q8_0,q4_0,q4_k";

/* Returns whether `word` is in the list, which has commas between; a list of NULL contains all words. */
static bool is_listed(const char *list, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncasecmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return list == NULL;
}

/* Returns the rows of a weight that is larger than all caches, unless a shape was given. */
static uint64_t rows_past_caches(uint32_t type, uint64_t k)
{
    struct accel_format format;
    double wanted = 4 * measure_last_cache();

    if (accel_format_describe(type, &format) != ACCEL_OK)
        return 1;
    wanted = wanted < 64 * MIB ? 64 * MIB : wanted > 512 * MIB ? 512 * MIB : wanted;
    return (uint64_t)(wanted / (format.bits_per_value / 8 * (double)k)) / 256 * 256;
}

enum { OPERATORS_MOST = 256 };

struct list {
    struct bench_operator items[OPERATORS_MOST];
    uint32_t count;
};

static void append(struct list *list, const struct bench *bench, struct bench_operator what)
{
    if (list->count < OPERATORS_MOST && is_listed(bench->chosen->operators, accel_op_name(what.op)))
        list->items[list->count++] = what;
}

/* Parses MxNxK; 0 for other texts. */
static uint32_t read_shape(const char *text, struct bench_operator *what)
{
    unsigned long long m, n, k;
    int end = 0;

    if (sscanf(text, "%9llux%9llux%9llu%n", &m, &n, &k, &end) != 3 || m == 0 || n == 0 || k == 0 ||
        (text[end] != ',' && text[end] != '\0'))
        return 0;
    what->m = m;
    what->n = n;
    what->k = k;
    return 1;
}

static int append_matmul(struct list *list, const struct bench *bench, uint32_t type)
{
    struct bench_operator what = {.op = ACCEL_OP_MATMUL, .type = type, .k = 2048};

    for (const char *at = bench->chosen->shapes; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (!read_shape(at, &what))
            return report_error_format(bench->chosen->common.json, EXIT_USAGE, "usage",
                                       "--shape 1x8192x2048,512x2048x2048: rows of x, rows of the weight, width",
                                       "bench: --shape requires MxNxK, separated by commas, not '%.80s'", at);
        append(list, bench, what);
    }
    if (bench->chosen->shapes != NULL)
        return -1;
    for (what.m = 1; what.m <= 4; what.m *= 4) {
        what.n = rows_past_caches(type, what.k);
        append(list, bench, what);
    }
    what.m = 512;
    what.n = 2048;
    append(list, bench, what);
    return -1;
}

/* Appends the operators that have a weight of any type, other than matmul, once for a type. */
static void append_of_type(struct list *list, const struct bench *bench, uint32_t type)
{
    append(list, bench, (struct bench_operator){.op = ACCEL_OP_EMBED, .type = type, .m = 512, .n = 32000, .k = 2048});
    for (uint32_t op = 0; op < ACCEL_OP_END; op++)
        if (bench_form_find(op) != NULL && bench_form_has_type(bench_form_find(op)))
            append(list, bench, (struct bench_operator){.op = op, .form = bench_form_find(op), .type = type});
}

static int append_types(struct list *list, const struct bench *bench)
{
    const char *types = bench->chosen->types == NULL ? default_types : bench->chosen->types;
    char name[24];
    int code = -1;

    for (const char *at = types; code < 0 && at != NULL; at = strchr(at, ',')) {
        uint32_t type;

        at += *at == ',';
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, ","), at);
        type = accel_format_find(name);
        if (type == ACCEL_TYPE_NONE)
            return report_error_format(
                bench->chosen->common.json, EXIT_USAGE, "usage",
                "f32, f16, bf16, q8_0, q4_0, q4_k, ..., or planar ones: q4_g128, q3_g64a, nf4_g64",
                "bench: --type %.40s: there is no such type", name);
        code = append_matmul(list, bench, type);
        if (bench->chosen->types != NULL && bench->chosen->shapes == NULL)
            append_of_type(list, bench, type);
    }
    return code;
}

static void append_others(struct list *list, const struct bench *bench)
{
    static const uint32_t kv[] = {ACCEL_F16, ACCEL_PLANAR(8u, 6u, ACCEL_SCHEME_SYMMETRIC),
                                  ACCEL_PLANAR(4u, 6u, ACCEL_SCHEME_SYMMETRIC)};
    static const struct bench_operator rows[] = {
        {.op = ACCEL_OP_RMS_NORM, .type = ACCEL_F32, .m = 512, .n = 2048},
        {.op = ACCEL_OP_ROTARY, .type = ACCEL_F32, .m = 512, .heads = 32, .size = 64},
        {.op = ACCEL_OP_GATE, .type = ACCEL_F32, .m = 512, .n = 5632},
        {.op = ACCEL_OP_ADD, .type = ACCEL_F32, .m = 512, .n = 2048},
        {.op = ACCEL_OP_SOFTMAX, .type = ACCEL_F32, .m = 512, .n = 2048},
        {.op = ACCEL_OP_EMBED, .type = ACCEL_Q8_0, .m = 512, .n = 32000, .k = 2048},
        {.op = ACCEL_OP_ARGMAX, .type = ACCEL_F32, .m = 1, .n = 32000},
    };

    for (uint32_t t = 0; t < sizeof(kv) / sizeof(*kv); t++)
        for (uint32_t i = 0; i < bench->lengths.count; i++)
            append(list, bench,
                   (struct bench_operator){.op = ACCEL_OP_ATTENTION,
                                           .type = kv[t],
                                           .m = 1,
                                           .heads = 32,
                                           .kv_heads = 4,
                                           .size = 64,
                                           .length = bench->lengths.items[i]});
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].op != ACCEL_OP_EMBED || bench->chosen->types == NULL)
            append(list, bench, rows[i]);
    for (uint32_t op = 0; op < ACCEL_OP_END; op++) {
        const struct bench_form *form = bench_form_find(op);
        const bool has_type = form != NULL && bench_form_has_type(form);

        if (form != NULL && (!has_type || bench->chosen->types == NULL))
            append(list, bench,
                   (struct bench_operator){.op = op, .form = form, .type = has_type ? ACCEL_Q8_0 : ACCEL_TYPE_NONE});
    }
}

/* The request of a plan without facts of a model: the device, its options, threads. */
struct request {
    struct accel_plan_request plan;
    struct accel_named_value overrides[OVERRIDES_MOST + 1];
    char *texts;
};

static int make_request(struct bench *bench, struct request *request)
{
    const struct common *common = &bench->chosen->common;
    int code;

    request->plan = (struct accel_plan_request){
        .size = sizeof(request->plan), .device = common->device, .overrides = request->overrides};
    code = collect_overrides(common, request->overrides, &request->plan.override_count, &request->texts);
    if (code < 0)
        request->plan.override_count +=
            bench_override_threads(bench, &request->overrides[request->plan.override_count]);
    return code;
}

/* Rounds activations as compute.activations states, as sessions do, unless the graph of a model states it; attention
 * knows blocks of 8 bits alone. */
static void apply_activations(const struct accel_plan *plan, struct list *list)
{
    const uint32_t word = accel_plan_setting_find(plan, "compute.activations")->word;

    for (uint32_t i = 0; i < list->count; i++) {
        struct bench_operator *what = &list->items[i];

        if (what->rounding == ACCEL_TYPE_NONE)
            what->rounding = word == ACCEL_WORD_F32                                        ? ACCEL_F32
                             : word == ACCEL_WORD_Q8_ROW && what->op != ACCEL_OP_ATTENTION ? ACCEL_Q8_ROW
                                                                                           : ACCEL_Q8_0;
    }
}

static int open_device(struct bench *bench, struct accel_context *context, struct list *list,
                       struct accel_device **out_device)
{
    const struct common *common = &bench->chosen->common;
    struct request request = {.texts = NULL};
    struct accel_plan *plan = NULL;
    int code = make_request(bench, &request);

    if (code < 0 && (accel_plan_create(context, &request.plan, &plan, &bench->error) != ACCEL_OK ||
                     accel_plan_open_device(plan, out_device, &bench->error) != ACCEL_OK))
        code = report_session_error(common->json, &bench->error);
    if (code < 0) {
        print_variable_notes(plan);
        apply_activations(plan, list);
    }
    if (code < 0 && !bench->machine.measured) {
        bench_machine_threads(&bench->machine, plan);
        bench_facts_plan(bench, plan);
        bench_device_measure(bench, *out_device, accel_plan_device(plan)->facts);
    }
    accel_plan_free(plan);
    free(request.texts);
    return code;
}

/* Prints the kernel of each operator. */
static int explain_list(struct bench *bench, struct accel_context *context, struct list *list)
{
    struct request request = {.texts = NULL};
    struct accel_plan *plan = NULL;
    int code = make_request(bench, &request);

    if (code < 0 && accel_plan_create(context, &request.plan, &plan, &bench->error) != ACCEL_OK)
        code = report_session_error(bench->chosen->common.json, &bench->error);
    if (code < 0) {
        print_variable_notes(plan);
        apply_activations(plan, list);
    }
    accel_plan_free(plan);
    bench->explained = json_array();
    if (code < 0 && !bench->chosen->common.json)
        print("%s%-36s %s%s\n", paint(PAINT_HEADING), "operator", "kernel", paint(PAINT_PLAIN));
    for (uint32_t i = 0; code < 0 && i < list->count; i++)
        code = bench_operator_explain(bench, context, &request.plan, &list->items[i]);
    free(request.texts);
    if (code < 0 && bench->chosen->common.json)
        code = print_json(json_pack("{s:s, s:O}", "origin", "claimed: the driver", "operators", bench->explained),
                          "accelctl/bench/operators/1");
    json_decref(bench->explained);
    return code < 0 ? EXIT_DONE : code;
}

static int run_list(struct bench *bench, enum bench_subject subject, struct accel_device *device,
                    const struct list *list)
{
    const struct accel_queue_options options = {
        .size = sizeof(options), .threads = bench->machine.threads, .processors = bench->machine.processors};
    struct accel_queue *queue = NULL;
    int code = -1;

    if (accel_queue_create(device, &options, &queue, &bench->error) != ACCEL_OK)
        code = report_session_error(bench->chosen->common.json, &bench->error);
    for (uint32_t i = 0; code < 0 && !bench->interrupted && i < list->count; i++)
        code = bench_operator_run(bench, subject, device, queue, &list->items[i]);
    accel_queue_free(queue);
    return code;
}

/* Checks that all listed names are those of operators. */
static int check_names(const struct bench *bench)
{
    const char *words = option_words("bench", "operator");
    char name[40], guess[GUESS_BYTES];

    for (const char *at = bench->chosen->operators; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, ","), at);
        if (is_one_of(words, name))
            continue;
        return report_error_format(bench->chosen->common.json, EXIT_USAGE, "usage", words,
                                   "bench: --operator %s: there is no such operator%s", name,
                                   guess_text(words, name, guess));
    }
    return -1;
}

/* Refuses options that change none of the operators. */
static int check_options(const struct bench *bench)
{
    const struct bench_options *chosen = bench->chosen;
    const bool has_matmul = is_listed(chosen->operators, "matmul");
    const bool has_type =
        has_matmul || is_listed(chosen->operators, "expert_matmul") || is_listed(chosen->operators, "embed");
    const char *text = NULL, *remedy = "leave it out, or name such an operator by --operator";

    if (!bench->wanted[BENCH_OPERATORS])
        return -1;
    if (chosen->shapes != NULL && !has_matmul)
        text = "bench operators: --shape has no effect: it is for matmul";
    else if (chosen->types != NULL && !has_type)
        text = "bench operators: --type has no effect: it is for matmul, expert_matmul and embed";
    else if (chosen->lengths != NULL && !bench->wanted[BENCH_ATTENTION] &&
             (chosen->shapes != NULL || !is_listed(chosen->operators, "attention")))
        text = chosen->shapes != NULL
                   ? "bench operators: --length has no effect: it is for attention, and --shape for matmul alone"
                   : "bench operators: --length has no effect: it is for attention";
    return text == NULL ? -1 : report_error_text(chosen->common.json, EXIT_USAGE, "usage", text, remedy);
}

int bench_operators_check(const struct bench *bench)
{
    struct list *list = calloc(1, sizeof(*list));
    int code = check_names(bench);

    if (code < 0)
        code = check_options(bench);
    if (list != NULL && code < 0)
        code = append_types(list, bench);
    free(list);
    return code;
}

int bench_operators(struct bench *bench, struct accel_context *context)
{
    struct list *list = calloc(1, sizeof(*list));
    struct accel_device *device = NULL;
    int code = list == NULL ? EXIT_SHORT : append_types(list, bench);

    if (list == NULL)
        return report_error_text(bench->chosen->common.json, code, "ACCEL_E_MEMORY",
                                 "no memory for a list of operators", NULL);
    if (code < 0 && bench->chosen->shapes == NULL)
        append_others(list, bench);
    if (code < 0 && bench->chosen->explain) {
        code = explain_list(bench, context, list);
        free(list);
        return code;
    }
    if (code < 0)
        code = open_device(bench, context, list, &device);
    if (code < 0 && !bench->machine.measured)
        code = bench_machine_measure(bench);
    if (code < 0 && bench->wanted[BENCH_OPERATORS])
        code = run_list(bench, BENCH_OPERATORS, device, list);
    accel_device_free(device);
    free(list);
    return code;
}

/* Reads the shapes of attention from its first node; all nodes share them. */
static uint32_t read_attention(const struct accel_graph *graph, struct bench_operator *what)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const struct accel_node *node = graph->nodes[n];
        const struct accel_attention *how = node->attributes;

        if (node->op != ACCEL_OP_ATTENTION)
            continue;
        *what = (struct bench_operator){.op = ACCEL_OP_ATTENTION,
                                        .type = graph->values[node->inputs[1]]->type,
                                        .heads = graph->values[node->inputs[0]]->dims[1].add,
                                        .kv_heads = how->kv_heads,
                                        .size = graph->values[node->inputs[0]]->dims[2].add,
                                        .rounding = how->rounding,
                                        .window = how->window};
        return 1;
    }
    return 0;
}

/* Returns the most tokens that a step of the plan may have. The session's own batch may be smaller, since it is
 * limited by its context, which suits the other tests. */
static uint64_t batch_of(const struct opened *opened)
{
    return (uint64_t)accel_plan_setting_find(accel_session_plan(opened->session), "batch")->number;
}

/* Adds one token at each length, then a batch of tokens unless that is a single token, too. */
static void append_attention(struct list *list, const struct bench *bench, struct bench_operator what, uint64_t batch)
{
    for (uint32_t many = 0; many < 2; many++)
        for (uint32_t i = 0; i < bench->lengths.count; i++) {
            what.length = bench->lengths.items[i];
            what.m = many == 0 ? 1 : batch < what.length ? batch : what.length;
            if (many == 0 || what.m > 1)
                append(list, bench, what);
        }
}

int bench_attention(struct bench *bench, const struct opened *opened)
{
    struct list *list = calloc(1, sizeof(*list));
    struct accel_device *device = NULL;
    struct bench_operator what;
    int code;

    if (list == NULL)
        return report_error_text(bench->chosen->common.json, EXIT_SHORT, "ACCEL_E_MEMORY",
                                 "no memory for a list of operators", NULL);
    if (read_attention(accel_session_graph(opened->session), &what))
        append_attention(list, bench, what, batch_of(opened));
    code = open_device(bench, opened->context, list, &device);
    if (code < 0)
        code = run_list(bench, BENCH_ATTENTION, device, list);
    accel_device_free(device);
    free(list);
    return code;
}
