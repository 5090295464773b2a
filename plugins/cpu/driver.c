/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cpu driver presents all processors that the process may use as one device. Steps run in the caller's thread and
 * in the core's thread team. Weights are read in place from the mapped file, or packed while they are loaded.
 */
#include <stdio.h>
#include <string.h>

#include "plugins/cpu/device.h"
#include "plugins/cpu/experts.h"
#include "plugins/cpu/layout.h"

#define VERSION "0.1.0"

static const struct accel_option isa_option = {
    .size = sizeof(isa_option),
    .type = ACCEL_OPTION_TEXT,
    .name = "isa",
    .help = "highest instruction set to use",
    .text = "auto",
    .choices = "auto scalar avx2 avxvnni avx512 avx512bf16 amx neon dotprod i8mm",
};

static const struct accel_option simd_option = {
    .size = sizeof(simd_option),
    .type = ACCEL_OPTION_FLAG,
    .name = "simd",
    .help = "use vector instructions; false: as isa=scalar",
    .integer = 1,
    .highest = 1,
};

static const struct accel_option *const options[] = {&isa_option, &cpu_layout_option, &cpu_layout_types_option,
                                                     &simd_option, &cpu_expert_bytes_option};

static uint32_t cpu_threads(const struct accel_hardware *const *hardware, uint32_t hardware_count)
{
    for (uint32_t i = 0; i < hardware_count; i++)
        if (hardware[i]->kind == ACCEL_HARDWARE_CPU)
            return hardware[i]->threads;
    return 0;
}

static int32_t enumerate(const struct accel_host *host, const struct accel_hardware *const *hardware,
                         uint32_t hardware_count, const struct accel_device_sink *sink, struct accel_error *error)
{
    uint32_t types[CPU_TYPES];
    char detail[128];

    (void)host;
    for (uint32_t i = 0; i < CPU_TYPES; i++)
        types[i] = cpu_type_at(i);
    snprintf(detail, sizeof(detail), "isa=%s threads=%u", cpu_isa_name(cpu_isa_detect()),
             cpu_threads(hardware, hardware_count));
    return sdk_report_processors(hardware, hardware_count, sink, "cpu0", detail, types, CPU_TYPES, error);
}

/* Resolves cpu.isa. Returns an error if the machine lacks the requested instruction set, rather than using another one
 * silently. */
static int32_t choose_isa(const struct accel_setting *setting, uint32_t *out_isa, struct accel_error *error)
{
    const uint32_t best = cpu_isa_detect();
    const char *reason;

    *out_isa = best;
    if (setting == NULL || strcmp(setting->text, "auto") == 0)
        return ACCEL_OK;
    *out_isa = cpu_isa_find(setting->text);
    reason = cpu_isa_why_unavailable(*out_isa);
    if (reason == NULL)
        return ACCEL_OK;
    sdk_error(error, ACCEL_E_UNSUPPORTED, "cpu.isa=%s: %s; the best here is %s", setting->text, reason,
              cpu_isa_name(best));
    sdk_remedy(error, "set cpu.isa to auto or %s", cpu_isa_name(best));
    return ACCEL_E_UNSUPPORTED;
}

/* Logs the instruction set and the types that are packed. */
static void log_layout(const struct accel_host *host, const struct cpu_device *device)
{
    char types[256] = "";
    size_t length = 0;

    for (uint32_t i = 0; i < CPU_PLANAR && length < sizeof(types); i++)
        if ((device->layout.packed >> i & 1u) != 0)
            length += (size_t)snprintf(types + length, sizeof(types) - length, "%s%s", length == 0 ? "" : " ",
                                       device->formats[i].name);
    sdk_log(host, ACCEL_LOG_INFO, "driver=cpu device=cpu0 isa=%s packed=\"%s\"", cpu_isa_name(device->kernels.isa),
            types);
}

static int32_t open_device(const struct accel_host *host, const char *id, const struct accel_setting *settings,
                           uint32_t setting_count, void *own, struct accel_error *error)
{
    const struct accel_setting *simd = sdk_setting(settings, setting_count, "simd");
    const struct accel_setting *expert_bytes = sdk_setting(settings, setting_count, "expert_bytes");
    struct cpu_device *device = own;
    uint32_t isa;
    int32_t code;

    if (strcmp(id, "cpu0") != 0)
        return sdk_error(error, ACCEL_E_NOT_FOUND, "the cpu driver has one device, cpu0, and not %s", id);
    code = choose_isa(sdk_setting(settings, setting_count, "isa"), &isa, error);
    if (code != ACCEL_OK)
        return code;
    if (simd != NULL && simd->integer == 0)
        isa = CPU_ISA_SCALAR;
    cpu_kernels_fill(&device->kernels, isa);
    code = cpu_layout_choose(settings, setting_count, device->kernels.isa, cpu_vendor(), &device->layout, error);
    if (code != ACCEL_OK)
        return code;
    for (uint32_t i = 0; i < CPU_PLANAR; i++)
        accel_format_describe(cpu_type_at(i), &device->formats[i]);
    log_layout(host, device);
    if (expert_bytes == NULL || expert_bytes->integer == 0)
        return ACCEL_OK;
    device->experts = cpu_experts_create(host, (uint64_t)expert_bytes->integer);
    return device->experts != NULL
               ? ACCEL_OK
               : sdk_error(error, ACCEL_E_MEMORY, "out of memory for the residency of experts (cpu.expert_bytes)");
}

static void close_device(void *own)
{
    cpu_experts_free(((struct cpu_device *)own)->experts);
}

static uint64_t copies(const void *own, const struct accel_graph *const *graphs, uint32_t graph_count,
                       uint64_t *out_least)
{
    const struct cpu_device *device = own;

    return device->experts == NULL ? 0 : cpu_experts_bytes(device->experts, graphs, graph_count, out_least);
}

/* Programs contain no generated code, so that the version, the ISA and the packed types identify them. */
static void fingerprint(const void *own, uint8_t out_fingerprint[16])
{
    const struct cpu_device *device = own;

    snprintf((char *)out_fingerprint, 8, VERSION);
    out_fingerprint[6] = CPU_PANEL_VERSION;
    out_fingerprint[7] = (uint8_t)device->kernels.isa;
    memcpy(out_fingerprint + 8, &device->layout.packed, 8);
    out_fingerprint[15] ^= device->experts == NULL ? 0 : 0x80; /* no type has this bit */
}

static const char *unit(const void *own, const struct sdk_kernel *kernel)
{
    const struct cpu_device *device = own;

    (void)kernel;
    return cpu_isa_name(device->kernels.isa);
}

static const struct sdk_backend backend = {
    .kernels = cpu_operators,
    .kernel_count = CPU_OPERATORS,
    .enumerate = enumerate,
    .open = open_device,
    .close = close_device,
    .fingerprint = fingerprint,
    .allow = cpu_allow,
    .unit = unit,
    .device_bytes = sizeof(struct cpu_device),
    .weight_alignment = 1,
    .packs = cpu_matmul_packs,
    .pack = cpu_matmul_pack,
    .pack_rows = CPU_MATMUL_ROWS,
    .copies = copies,
};

ACCEL_DRIVER(backend, options, sizeof(options) / sizeof(*options), "cpu", VERSION, "Apache-2.0", "isa=x86-64\n");
