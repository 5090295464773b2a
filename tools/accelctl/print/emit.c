/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of llama-server as its source lists them (llama.cpp at 3f545becc); those of vllm serve have not been
 * compared with a release. */
#include "config.h"

#include "tools/accelctl/print/emit.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/model/describe.h>

enum { FLAG = 200 };

/* Translation of one setting into a flag. */
struct flag_row {
    const char *key;
    const char *flag;   /* before a number or word; empty: the word is the whole flag */
    const char *words;  /* "q8=q8_0 f16=f16": words that it has and what they are called there; NULL: numbers pass */
    const char *reason; /* why others cannot be said */
};

static const struct flag_row llama_rows[] = {
    {"context", "-c ", NULL, ""},
    {"sequences", "-np ", NULL, ""},
    {"batch", "-b ", NULL, ""},
    {"batch", "-ub ", NULL, ""},
    {"kv.type.k", "-ctk ", "auto=f16 f32=f32 f16=f16 q8=q8_0 q4=q4_0", "it has no such type"},
    {"kv.type.v", "-ctv ", "auto=f16 f32=f32 f16=f16 q8=q8_0,-fa,on q4=q4_0,-fa,on", "it has no such type"},
    {"cpu.threads", "-t ", NULL, ""},
    {"attention.kernel", "", "auto= tiled=-fa,on eager=-fa,off", ""},
    {"weights.load", "", "auto= map= read=--no-mmap", ""},
    {"compute.activations", "", "q8=", "its kernels for quantized weights round activations to 8 bits always"},
    {"weights.type", "", "auto=", "the file is written in that type first: llama-quantize"},
    {"attention.page", "", NULL, "its cache has no pages"},
    {"memory.budget", "", "auto=", "it knows no budget"},
    {"kv.enabled", "", "true=", "it always keeps a cache"},
    {"cpu.pin", "", NULL, NULL},
    {"placement", "", NULL, NULL},
    {"gpu.layers", "", NULL, NULL},
    {"offload.layers", "", NULL, NULL},
    {"fallback.device", "", NULL, NULL},
    {"device.rank", "", NULL, NULL},
};

static const struct flag_row vllm_rows[] = {
    {"context", "--max-model-len ", NULL, ""},
    {"sequences", "--max-num-seqs ", NULL, ""},
    {"batch", "--enable-chunked-prefill --max-num-batched-tokens ", NULL, ""},
    {"attention.page", "", NULL, "its blocks are its own matter"},
    {"compute.type", "--dtype ", "auto=auto f32=float32 f16=float16 bf16=bfloat16", ""},
    {"kv.type.k", "", "auto= f16=", "its 8 bits are another format, and K and V have one type"},
    {"kv.type.v", "", "auto= f16=", "its 8 bits are another format, and K and V have one type"},
    {"weights.load", "", "auto= read=", "it always copies weights"},
    {"weights.type", "", "auto=", "the model is converted to that type first"},
    {"compute.activations", "", "f32=", "it does not round activations beside such weights"},
    {"cpu.threads", "", NULL, "set by the variable VLLM_CPU_OMP_THREADS_BIND of its CPU build"},
    {"cpu.pin", "", NULL, "set by the variable VLLM_CPU_OMP_THREADS_BIND of its CPU build"},
    {"memory.budget", "", "auto=", "it knows shares of a device only: --gpu-memory-utilization"},
    {"placement", "", NULL, NULL},
    {"gpu.layers", "", NULL, NULL},
    {"fallback.device", "", NULL, NULL},
    {"device.rank", "", NULL, NULL},
};

struct program {
    const char *name;
    const char *call;
    const struct flag_row *rows;
    uint32_t count;
    uint32_t places; /* 1: -C, -ngl say on which processors threads are, and how many layers a device has */
};

static const struct program programs[] = {
    {"llama-server", "llama-server -m ", llama_rows, sizeof(llama_rows) / sizeof(*llama_rows), 1},
    {"vllm", "vllm serve ", vllm_rows, sizeof(vllm_rows) / sizeof(*vllm_rows), 0},
};

static const struct program *find_program(const char *name)
{
    for (uint32_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
        if (strcmp(programs[i].name, name) == 0)
            return &programs[i];
    return NULL;
}

bool emit_knows(const char *program)
{
    return find_program(program) != NULL;
}

/* Finds a value in "a=x b=y"; a comma stands for a blank in the result. 0 if it is not listed. */
static uint32_t look_up(const char *words, const char *value, char out[FLAG])
{
    size_t length = strlen(value);

    for (const char *at = words; *at != '\0'; at += strspn(at, " ")) {
        size_t whole = strcspn(at, " ");

        if (strncmp(at, value, length) == 0 && at[length] == '=') {
            snprintf(out, FLAG, "%.*s", (int)(whole - length - 1), at + length + 1);
            for (char *c = out; *c != '\0'; c++)
                *c = *c == ',' ? ' ' : *c;
            return 1;
        }
        at += whole;
    }
    return 0;
}

/* Returns the context of all sequences together, since llama-server divides one cache among them. */
static uint64_t tokens_in_all(const struct accel_plan *plan, const struct accel_plan_setting *setting)
{
    const struct accel_plan_setting *sequences = accel_plan_setting_find(plan, "sequences");

    return strtoull(setting->value, NULL, 10) * (sequences == NULL ? 1 : strtoull(sequences->value, NULL, 10));
}

/* Makes the flag of a row for a setting; empty if none is needed. 0 if the program has no flag for the value. */
static uint32_t make_flag(const struct accel_plan *plan, const struct flag_row *row,
                          const struct accel_plan_setting *setting, char flag[FLAG])
{
    char value[FLAG];

    if (row->words != NULL && !look_up(row->words, setting->value, value))
        return 0;
    if (row->words == NULL && row->flag[0] == '\0')
        return 0;
    if (row->words == NULL && setting->value[strspn(setting->value, "0123456789")] != '\0')
        return 0;
    if (row->words == NULL && strcmp(row->flag, "-c ") == 0)
        snprintf(value, sizeof(value), "%" PRIu64, tokens_in_all(plan, setting));
    else if (row->words == NULL)
        snprintf(value, sizeof(value), "%.100s", setting->value);
    snprintf(flag, FLAG, "%.60s%.130s", row->flag, value);
    return 1;
}

/* Prints a setting: "context = 512 tok (base.yaml:8)". */
static void print_setting(const struct accel_plan_setting *setting)
{
    char copy[400];

    print("%s = %s%s%s (%s)", setting->key, setting->value, setting->unit[0] == '\0' ? "" : " ", setting->unit,
          short_places(setting->place, copy, sizeof(copy)));
}

static void print_flag(const struct accel_plan *plan, const struct accel_plan_setting *setting, const char *flag,
                       FILE *flags)
{
    const struct accel_plan_setting *sequences = accel_plan_setting_find(plan, "sequences");

    print("#   %-24s ", flag);
    print_setting(setting);
    if (strncmp(flag, "-c ", 3) == 0 && sequences != NULL && strcmp(sequences->value, "1") != 0)
        print(" x %s sequences", sequences->value);
    print("\n");
    fprintf(flags, " \\\n    %s", flag);
}

/* Prints a setting without a flag. A value that the plan itself does not honor has the plan's reason. */
static void print_unsaid(const struct accel_plan *plan, const struct accel_plan_setting *setting, const char *reason)
{
    for (uint32_t i = 0; i < accel_plan_unhonored_count(plan) && strcmp(setting->key, "weights.type") == 0; i++)
        if (strcmp(accel_plan_unhonored_get(plan, i)->key, setting->key) == 0)
            reason = accel_plan_unhonored_get(plan, i)->reason;
    print("#   ");
    print_setting(setting);
    print(": %s\n", reason);
}

/* Writes the flags of one setting, with a comment; if `flags` is NULL, only a comment that the program has no flag
 * for it. Settings with their built-in value are left to the program, apart from numbers. */
static void emit_setting(const struct accel_plan *plan, const struct program *program,
                         const struct accel_plan_setting *setting, FILE *flags)
{
    bool is_set = setting->origin != ACCEL_ORIGIN_BUILTIN;
    uint32_t known = 0;

    for (uint32_t r = 0; r < program->count; r++) {
        const struct flag_row *row = &program->rows[r];
        char flag[FLAG] = "";
        uint32_t said;

        if (strcmp(row->key, setting->key) != 0)
            continue;
        known = 1;
        if (row->reason == NULL)
            return;
        said = make_flag(plan, row, setting, flag);
        if (flags != NULL && said && flag[0] != '\0' && (is_set || row->flag[0] != '\0'))
            print_flag(plan, setting, flag, flags);
        if (flags == NULL && !said && is_set)
            print_unsaid(plan, setting, row->reason);
    }
    if (!known && flags == NULL && is_set)
        print_unsaid(plan, setting, "it has no flag for that");
}

/* Writes the pinning of threads as a mask of processors. */
static void emit_processors(const struct accel_plan *plan, FILE *flags)
{
    uint64_t mask = 0;
    uint32_t threads = 1;

    for (uint32_t thread = 0; thread < threads; thread++) {
        int32_t processor = accel_plan_processor(plan, thread, &threads);

        if (processor < 0 || processor > 63)
            return;
        mask |= (uint64_t)1 << processor;
    }
    print("#   -C 0x%-19" PRIx64 " cpu.pin = true\n", mask);
    fprintf(flags, " \\\n    -C 0x%" PRIx64 " --cpu-strict 1", mask);
}

/* Prints a path, quoted for the shell. */
static void print_quoted(const char *text)
{
    print_char('\'');
    for (; *text != '\0'; text++)
        if (*text == '\'')
            fputs("'\\''", output());
        else
            print_char(*text);
    print_char('\'');
}

/* Counts the devices that hold layers. */
static uint32_t count_devices(const struct accel_plan *plan)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < accel_plan_layer_count(plan); i++) {
        uint32_t seen = 0;

        for (uint32_t j = 0; j < i; j++)
            seen |= strcmp(accel_plan_layer_get(plan, i)->device, accel_plan_layer_get(plan, j)->device) == 0;
        count += !seen;
    }
    return count;
}

/* Writes the flags for layers on several devices. */
static void emit_split(const struct accel_plan *plan, const struct program *program, FILE *flags)
{
    uint32_t devices = count_devices(plan);
    char flag[FLAG];

    if (devices < 2)
        return;
    if (strcmp(program->name, "llama-server") == 0)
        snprintf(flag, sizeof(flag), "--split-mode layer");
    else
        snprintf(flag, sizeof(flag), "--pipeline-parallel-size %u", devices);
    print("#   %-24s layers on %u devices\n", flag, devices);
    fprintf(flags, " \\\n    %s", flag);
}

/* Warns, in the script itself, that the call will fail since the plan does not fit. */
static void emit_warning(const struct opened *opened, const struct accel_plan *plan)
{
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    char text[32], command[1200] = "accelctl plan";

    if (accel_plan_fit(plan, &fit, NULL) != ACCEL_OK || fit.fits)
        return;
    if (opened->command != NULL)
        clean_text(opened->command, command, sizeof(command));
    print("# IT DOES NOT FIT as planned: short by %s. Possible changes:\n#   %s --fit\n",
          bytes_text(fit.short_by, text), command);
}

/* Returns the layers on the device as -ngl counts them, with the output as one of them: gpu.layers, or the
 * remainder after offload.layers. */
static uint64_t gpu_layers(const struct accel_plan *plan, uint64_t layers)
{
    const struct accel_plan_setting *gpu = accel_plan_setting_find(plan, "gpu.layers");
    const struct accel_plan_setting *offload = accel_plan_setting_find(plan, "offload.layers");
    const uint64_t last = offload == NULL ? 0 : strtoull(offload->value, NULL, 10);
    uint64_t count;

    if (gpu != NULL && gpu->value[0] >= '0' && gpu->value[0] <= '9') {
        count = strtoull(gpu->value, NULL, 10);
        return count > layers + 1 ? layers + 1 : count;
    }
    return layers + 1 - (last > layers ? layers : last);
}

static void emit_layers(const struct opened *opened, FILE *flags)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const struct accel_device_info *device = accel_plan_device(plan);
    const struct accel_plan_setting *gpu = accel_plan_setting_find(plan, "gpu.layers");
    bool on_processors = device != NULL && device->facts->kind == ACCEL_DEVICE_CPU;
    /* The plan is on the processors although the user requested layers on a GPU: none is here. */
    bool lacks_gpu = on_processors && gpu->origin == ACCEL_ORIGIN_GIVEN && strcmp(gpu->value, "auto") != 0 &&
                     strcmp(gpu->value, "0") != 0;
    const char *fact = accel_model_description_fact(accel_model_plan_description(opened->made), "model.layers");
    uint64_t layers = fact == NULL ? 0 : strtoull(fact, NULL, 10);
    char flag[FLAG];

    if (!on_processors && layers == 0)
        return;
    snprintf(flag, sizeof(flag), "-ngl %" PRIu64, on_processors && !lacks_gpu ? 0 : gpu_layers(plan, layers));
    if (lacks_gpu)
        print("#   %-24s gpu.layers = %s: no GPU is here, the memory of another machine's is not planned\n", flag,
              gpu->value);
    else
        print("#   %-24s device %s\n", flag, device == NULL ? accel_plan_platform(plan) : device->name);
    fprintf(flags, " \\\n    %s", flag);
}

int emit_call(const struct opened *opened, const char *name)
{
    const struct program *program = find_program(name);
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const struct accel_model_description *model = accel_model_plan_description(opened->made);
    const char *path = accel_model_description_path(model);
    char *text = NULL;
    size_t bytes = 0;
    FILE *flags = open_memstream(&text, &bytes);

    if (flags == NULL)
        return report_error_text(0, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for the call", NULL);
    print("#!/bin/sh\n# %s as accelctl planned it.\n", program->name);
    emit_warning(opened, plan);
    print("# Flags and the settings that they come from:\n");
    for (uint32_t i = 0; i < accel_plan_setting_count(plan); i++)
        emit_setting(plan, program, accel_plan_setting_get(plan, i), flags);
    if (program->places) {
        emit_processors(plan, flags);
        emit_layers(opened, flags);
    }
    emit_split(plan, program, flags);
    if (!accel_model_description_is_file(model))
        print("# The model is not here: put the path of its file in the place of %s.\n", path);
    print("# Settings that %s has no option for:\n", program->name);
    for (uint32_t i = 0; i < accel_plan_setting_count(plan); i++)
        emit_setting(plan, program, accel_plan_setting_get(plan, i), NULL);
    fclose(flags);
    print("exec %s", program->call);
    print_quoted(path);
    print("%s\n", text == NULL ? "" : text);
    free(text);
    return EXIT_DONE;
}
