/* SPDX-License-Identifier: Apache-2.0 */
/* Writes where layers lie as flags. Of llama-server: -ngl counts the last layers and the output on GPUs, -ts divides
 * them among several, and -ot moves the weights of others to the processors. Of vllm: stages of a pipeline. */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <accel/model/describe.h>

#include "tools/accelctl/print/emit.h"
#include "tools/accelctl/print/idle.h"
#include "tools/accelctl/print/where.h"

enum { FLAG = 1200, GPUS_MOST = 16 };

/* Layers of a plan by device: processors are those before the first layer on a GPU (`first`), and others. */
struct places {
    uint64_t layers;
    uint64_t first;
    uint64_t gpu[GPUS_MOST]; /* on each GPU, with the output and with layers that -ot moves away behind them */
    const char *names[GPUS_MOST];
    uint32_t gpus;
    uint32_t output;     /* index of the GPU with the output, unless is_output_here */
    char others[FLAG];   /* "28|29|30": layers on processors behind one on a GPU; empty: none */
    bool is_output_here; /* the output lies on processors */
    bool is_cut;         /* there are more GPUs or layers than this has place for */
};

/* Writes a flag to the call, and a comment with its origin. */
ACCEL_PRINTF(3, 4) static void emit_flag(FILE *flags, const char *origin, const char *format, ...)
{
    char flag[FLAG];
    va_list values;

    va_start(values, format);
    vsnprintf(flag, sizeof(flag), format, values);
    va_end(values);
    emit_text("#   %-24s %s", flag, origin);
    print("\n");
    fprintf(flags, " \\\n    %s", flag);
}

static uint32_t find_gpu(struct places *places, const char *name)
{
    uint32_t gpu = 0;

    while (gpu < places->gpus && strcmp(places->names[gpu], name) != 0)
        gpu++;
    if (gpu == GPUS_MOST) {
        places->is_cut = true;
        return GPUS_MOST - 1;
    }
    if (gpu == places->gpus)
        places->names[places->gpus++] = name;
    return gpu;
}

/* Adds layers on the processors: before the first GPU they need no flag, behind it they are named. */
static void add_processor_layers(struct places *places, uint64_t first, uint64_t end)
{
    if (places->gpus == 0) {
        places->first += end - first;
        return;
    }
    places->gpu[places->gpus - 1] += end - first;
    for (uint64_t layer = first; layer < end; layer++) {
        const size_t used = strlen(places->others);

        places->is_cut = places->is_cut || used + 24 > sizeof(places->others);
        if (!places->is_cut)
            snprintf(places->others + used, sizeof(places->others) - used, "%s%" PRIu64, used == 0 ? "" : "|", layer);
    }
}

static void read_places(const struct opened *opened, struct places *places)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const uint32_t rows = accel_plan_layer_count(plan);

    for (uint32_t i = 0; i < rows; i++) {
        const struct accel_plan_layer *row = accel_plan_layer_get(plan, i);
        const bool is_host = is_processor(opened->context, row->device);

        if (row->first != ACCEL_NO_LAYER) {
            places->layers += row->last + 1 - row->first;
            if (is_host)
                add_processor_layers(places, row->first, (uint64_t)row->last + 1);
            else
                places->gpu[find_gpu(places, row->device)] += row->last + 1 - row->first;
        } else if (i + 1 == rows && i > 0) {
            places->is_output_here = is_host;
            if (!is_host)
                places->gpu[places->output = find_gpu(places, row->device)]++;
        }
    }
}

/* Writes that only the GPU of the plan holds layers, where there are others: llama-server divides layers among all. */
static void emit_one_gpu(const struct opened *opened, FILE *flags)
{
    const uint32_t idle = count_idle_devices(opened);

    if (idle == 0)
        return;
    emit_flag(flags, "the plan uses one GPU", "--split-mode none");
    print("#   The GPU is the first of --list-devices; --main-gpu INDEX names another.\n");
}

/* Writes the flags of layers on several devices, and comments on what they do not carry over. */
static void emit_places(const struct opened *opened, const struct places *places, FILE *flags)
{
    char parts[FLAG] = "";

    emit_flag(flags, "layers on GPUs, the output counted as one", "-ngl %" PRIu64,
              places->layers - places->first + !places->is_output_here);
    for (uint32_t gpu = 0; gpu < places->gpus; gpu++)
        snprintf(parts + strlen(parts), sizeof(parts) - strlen(parts), "%s%" PRIu64, gpu == 0 ? "" : ",",
                 places->gpu[gpu]);
    if (places->gpus > 1) {
        emit_flag(flags, "layers, not rows of matrices, are divided", "--split-mode layer");
        emit_flag(flags, "layers of each GPU, in the order of --list-devices", "-ts %s", parts);
    } else {
        emit_one_gpu(opened, flags);
    }
    if (places->others[0] != '\0') {
        emit_flag(flags, "layers on the processors", "-ot 'blk\\.(%s)\\.=CPU'", places->others);
        print("#   not translated: the KV cache of these layers, which -ot leaves on the GPU\n");
    }
    if (places->is_output_here)
        print("#   not translated: the output on the processors, which -ngl moves first\n");
    if (places->is_cut)
        print("#   not translated: layers past the limits of this table: %d GPUs, %d bytes of -ot\n", GPUS_MOST, FLAG);
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

void emit_llama_layers(const struct opened *opened, FILE *flags)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const struct accel_device_info *device = accel_plan_device(plan);
    const struct accel_plan_setting *gpu = accel_plan_setting_find(plan, "gpu.layers");
    const bool on_processors = device != NULL && device->facts->kind == ACCEL_DEVICE_CPU;
    /* The plan is on the processors although the user requests layers on a GPU: none is here. */
    const bool lacks_gpu = on_processors && gpu->origin == ACCEL_ORIGIN_GIVEN && gpu->word != ACCEL_WORD_AUTO &&
                           strcmp(gpu->value, "0") != 0;
    const char *fact = accel_model_description_fact(accel_model_plan_description(opened->made), "model.layers");
    const uint64_t layers = fact == NULL ? 0 : strtoull(fact, NULL, 10);
    struct places places = {0};
    char origin[200];

    read_places(opened, &places);
    if (places.gpus > 1 || (places.gpus == 1 && places.first != 0) || places.others[0] != '\0') {
        emit_places(opened, &places, flags);
        return;
    }
    if (!on_processors && layers == 0)
        return;
    if (lacks_gpu)
        snprintf(origin, sizeof(origin),
                 "gpu.layers = %.20s: no GPU is here, the memory of another machine's is not planned", gpu->value);
    else
        snprintf(origin, sizeof(origin), "device %.150s", device == NULL ? accel_plan_platform(plan) : device->name);
    emit_flag(flags, origin, "-ngl %" PRIu64, on_processors && !lacks_gpu ? 0 : gpu_layers(plan, layers));
    if (!on_processors && gpu_layers(plan, layers) != 0)
        emit_one_gpu(opened, flags);
}

void emit_vllm_stages(const struct opened *opened, FILE *flags)
{
    struct places places = {0};
    char parts[FLAG] = "";

    read_places(opened, &places);
    if (places.gpus > 0 && (places.first != 0 || places.others[0] != '\0'))
        print("#   not translated: layers on the processors; it moves bytes and not layers there: --cpu-offload-gb\n");
    if (places.gpus < 2)
        return;
    for (uint32_t gpu = 0; gpu < places.gpus; gpu++)
        snprintf(parts + strlen(parts), sizeof(parts) - strlen(parts), "%s%" PRIu64, gpu == 0 ? "" : ",",
                 places.gpu[gpu] - (!places.is_output_here && gpu == places.output));
    emit_flag(flags, "whole layers on each device, as planned", "--pipeline-parallel-size %u", places.gpus);
    print("#   %-24s %s\n", "VLLM_PP_LAYER_PARTITION", "layers of each device; vllm divides them evenly without it");
    print(
        "#   In one host vllm is mostly called with --tensor-parallel-size %u instead, which splits every layer over\n"
        "#   the devices; accelctl plans no such split (tensor.parallel), and its memory and speed are not those.\n",
        places.gpus);
    print("export VLLM_PP_LAYER_PARTITION=%s\n", parts);
}
