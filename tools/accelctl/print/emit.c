/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of llama-server as its source lists them (llama.cpp at 3f545becc); those of vllm serve have not been
 * compared with a release. */
#include "config.h"

#include "tools/accelctl/print/emit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/model/describe.h>

#include "tools/accelctl/print/where.h"
#include "tools/accelctl/words.h"

enum { FLAG = 200 };

/* Translation of one setting into a flag. */
struct flag_row {
    const char *key;
    const char *flag;   /* before a number or word; empty: the word is the whole flag */
    const char *words;  /* "q8=q8_0 f16=f16": words that it has and what they are called there; NULL: numbers pass */
    const char *reason; /* why others cannot be said */
};

/* Why -fa off is not said: the reason of the row of which the type of values decides the flag. */
static const char flash_only[] = "its quantized cache of values requires -fa on";

/* The remedy for weights that the plan has in another type than the file. */
static const char to_gguf[] =
    "write the file in a type of GGUF first: accelctl quantize IN OUT Q4_K_M, or llama-quantize";

static const struct flag_row llama_rows[] = {
    {"context", "-c ", NULL, ""},
    {"sequences", "-np ", NULL, ""},
    {"batch", "-b ", NULL, ""},
    {"batch", "-ub ", NULL, ""},
    {"kv.type.k", "-ctk ", "auto=f16 f32=f32 f16=f16 q8=q8_0 q4=q4_0", "it has no such type"},
    {"kv.type.v", "-ctv ", "auto=f16 f32=f32 f16=f16 q8=q8_0,-fa,on q4=q4_0,-fa,on", "it has no such type"},
    {"cpu.threads", "-t ", NULL, ""},
    {"cpu.layout", "", "auto= panels= rows=--no-repack", ""},
    {"attention.kernel", "", "auto= tiled=-fa,on eager=-fa,off", flash_only},
    {"weights.load", "", "auto= map= read=--no-mmap", ""},
    {"compute.activations", "", "q8=", "its kernels for quantized weights round activations to 8 bits always"},
    {"weights.type", "", "auto=", to_gguf},
    {"precision.adaptive", "", "false=", to_gguf},
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
    {"kv.enabled", "", "true=", "it always keeps a cache"},
    {"compute.activations", "", "f32=", "it does not round activations beside such weights"},
    {"cpu.threads", "", NULL, "set by the variable VLLM_CPU_OMP_THREADS_BIND of its CPU build"},
    {"cpu.pin", "", NULL, "set by the variable VLLM_CPU_OMP_THREADS_BIND of its CPU build"},
    {"memory.budget", "", "auto=", "it knows shares of a device only: --gpu-memory-utilization"},
    {"placement", "", NULL, NULL},
    {"gpu.layers", "", "auto= all=", "it moves bytes and not layers off the device: --cpu-offload-gb"},
    {"offload.layers", "", "0=", "it moves bytes and not layers off the device: --cpu-offload-gb"},
    {"fallback.device", "", NULL, NULL},
    {"device.rank", "", NULL, NULL},
};

struct program {
    const char *name;
    const char *call;
    const struct flag_row *rows;
    uint32_t count;
    bool is_gguf;          /* reads GGUF alone; -C, -ngl, -ts and -ot say where threads and layers are */
    const char *platforms; /* that it has kernels for; NULL: not listed here */
};

static const struct program programs[] = {
    {"llama-server", "llama-server -m ", llama_rows, sizeof(llama_rows) / sizeof(*llama_rows), true, NULL},
    {"vllm", "vllm serve ", vllm_rows, sizeof(vllm_rows) / sizeof(*vllm_rows), false, "cuda rocm cpu"},
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

/* Returns whether the cache of values has a quantized type, for which llama-server requires -fa on. */
static bool has_quantized_values(const struct accel_plan *plan)
{
    const struct accel_plan_setting *type = accel_plan_setting_find(plan, "kv.type.v");

    return type != NULL && type->value[0] == 'q';
}

/* Makes the flag of a row for a setting; empty if none is needed. 0 if the program has no flag for the value. */
static uint32_t make_flag(const struct accel_plan *plan, const struct flag_row *row,
                          const struct accel_plan_setting *setting, char flag[FLAG])
{
    char value[FLAG];

    if (row->reason == flash_only && has_quantized_values(plan))
        return setting->word != ACCEL_WORD_EAGER;
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

void emit_text(const char *format, ...)
{
    char text[1200], clean[sizeof(text)];
    va_list values;

    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    print("%s", clean_text(text, clean, sizeof(clean)));
}

/* Prints a setting: "context = 512 tok (base.yaml:8)". */
static void print_setting(const struct accel_plan_setting *setting)
{
    char copy[400], value[64];

    end_cut_list(value, sizeof(value), snprintf(value, sizeof(value), "%s", setting->value));
    emit_text("%s = %s%s%s (%s)", setting->key, value, setting->unit[0] == '\0' ? "" : " ", setting->unit,
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
    emit_text(": %s", reason);
    print("\n");
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

/* Prints a path, quoted for the shell; one that begins with a dash would be an option. */
static void print_quoted(const char *text)
{
    print(text[0] == '-' ? "'./" : "'");
    for (; *text != '\0'; text++)
        if (*text == '\'')
            fputs("'\\''", output());
        else
            print_char(*text);
    print_char('\'');
}

/* Warns, in the script itself, that the call will fail since the plan does not fit, or run on another device. */
static void emit_warning(const struct opened *opened, const struct accel_plan *plan, const struct program *program)
{
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    char text[32];

    if (program->platforms != NULL && !is_one_of(program->platforms, accel_plan_platform(plan))) {
        emit_text("# THE PLAN IS FOR %s: %s has kernels for %s, and may run on the processors instead.",
                  accel_plan_platform(plan), program->name, program->platforms);
        print("\n");
    }
    if (accel_plan_fit(plan, &fit, NULL) != ACCEL_OK || fit.fits)
        return;
    print("# IT DOES NOT FIT as planned: short by %s. Possible changes:\n#   ", bytes_text(fit.short_by, text));
    emit_text("%s --fit", opened->command == NULL ? "accelctl plan" : opened->command);
    print("\n");
}

/* ---- what the program reads ---- */

/* Refuses a model in a format that the program does not read. Returns -1 to go on. */
static int check_format(const struct accel_model_file *file, const struct program *program)
{
    const char *path = accel_model_file_path(file), *remedy = NULL;
    char text[600] = "";

    if (accel_model_file_find_value(file, "accel.layout") != NULL) {
        snprintf(text, sizeof(text), "plan: %s does not read layout accel 1, in which %.400s is", program->name, path);
        remedy = "plan a file that it reads: quantize the original weights to a type of GGUF, as Q4_K_M, or take those";
    } else if (program->is_gguf && accel_model_file_format(file) != ACCEL_MODEL_GGUF) {
        snprintf(text, sizeof(text), "plan: %s reads GGUF, and %.400s is safetensors", program->name, path);
        remedy = "make GGUF of it with convert_hf_to_gguf.py of llama.cpp, and plan that file";
    }
    return text[0] == '\0' ? -1 : report_error_text(0, EXIT_INPUT, "ACCEL_E_UNSUPPORTED", text, remedy);
}

static int check_model(const struct opened *opened, const struct program *program)
{
    const struct accel_model_description *model = accel_model_plan_description(opened->made);
    static const struct accel_model_open_options plain = {sizeof(plain), ACCEL_MODEL_OPEN_READ};
    struct accel_model_file *file = NULL;
    int code = -1;

    if (accel_model_description_is_file(model) &&
        accel_model_file_open(accel_model_description_path(model), &plain, &file, NULL) == ACCEL_OK)
        code = check_format(file, program);
    accel_model_file_close(file);
    return code;
}

int emit_call(const struct opened *opened, const char *name)
{
    const struct program *program = find_program(name);
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const struct accel_model_description *model = accel_model_plan_description(opened->made);
    const char *path = accel_model_description_path(model);
    char *text = NULL;
    size_t bytes = 0;
    FILE *flags;
    int code = check_model(opened, program);

    if (code >= 0)
        return code;
    flags = open_memstream(&text, &bytes);
    if (flags == NULL)
        return report_error_text(0, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for the call", NULL);
    print("#!/bin/sh\n# %s as accelctl planned it.\n", program->name);
    emit_warning(opened, plan, program);
    print("# Flags and the settings that they come from:\n");
    for (uint32_t i = 0; i < accel_plan_setting_count(plan); i++)
        emit_setting(plan, program, accel_plan_setting_get(plan, i), flags);
    if (program->is_gguf) {
        emit_processors(plan, flags);
        emit_llama_layers(opened, flags);
    } else {
        emit_vllm_stages(opened, flags);
    }
    if (!accel_model_description_is_file(model)) {
        emit_text("# The model is not here: put the path of its file in the place of %s.", path);
        print("\n");
    }
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
