/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <accel/quant/format.h>

#include "plugins/cpu/kernels/kernels.h"
#include "plugins/cpu/layout.h"

#define SMALLEST 256u  /* values of a row that every packed type divides */
#define SHOWN 80       /* characters of a word in a message */
#define FARTHEST 4096u /* bytes of prefetch distance */

const struct accel_option cpu_layout_option = {
    .size = sizeof(cpu_layout_option),
    .type = ACCEL_OPTION_TEXT,
    .name = "layout",
    .help = "how matmul reads weights: rows (in place, as in the file), panels (packed copies, made while loading), or "
            "auto (panels, but rows for the types of which layout_types states it)",
    .text = "rows",
    .choices = "auto rows panels",
};

const struct accel_option cpu_layout_types_option = {
    .size = sizeof(cpu_layout_types_option),
    .type = ACCEL_OPTION_TEXT,
    .name = "layout_types",
    .help = "how types are read with an instruction set (avx512: and those that extend it), and on processors of a "
            "vendor if it is named, separated by spaces: avx2:q2_k,q3_k=rows (by layout=auto), avx512@amd:q8_0=2+256 "
            "(with one row of activations in 2 memory streams, each prefetched 256 bytes ahead)",
    .text = "",
};

_Static_assert(CPU_PLANAR < 64, "a type that may be packed is a bit, and the last bit is that of no type (driver.c)");

static bool is_packable(uint32_t isa, uint32_t type)
{
    return cpu_packed_bytes(isa, type, CPU_MATMUL_ROWS, SMALLEST) != 0;
}

/* Returns whether a word about an ISA is about `isa`: kernels of avx512 read weights for avx512bf16 and amx, too. */
static bool covers(uint32_t named, uint32_t isa)
{
    return named == isa || (named == CPU_ISA_AVX512 && (isa == CPU_ISA_AVX512BF16 || isa == CPU_ISA_AMX));
}

/* Reads "rows", for which count is 0, or "STREAMS+AHEAD". */
static bool read_value(const char *value, struct cpu_streams *out)
{
    unsigned count = 0, ahead = 0;
    char end;

    if (strcmp(value, "rows") != 0 &&
        (sscanf(value, "%u+%u%c", &count, &ahead, &end) != 2 || count < 1 || count > CPU_STREAMS || ahead > FARTHEST))
        return false;
    *out = (struct cpu_streams){(uint16_t)count, (uint16_t)ahead};
    return true;
}

/* Applies one word, ISA[@VENDOR]:TYPE[,TYPE...]=VALUE, which it divides, if it is about `isa` and `vendor`. Returns
 * what is wrong with *out_part of it, or NULL. */
static const char *apply_word(char *word, uint32_t isa, const char *vendor, struct cpu_layout *layout,
                              const char **out_part)
{
    char *types = strchr(word, ':'), *value = types == NULL ? NULL : strchr(types, '='), *wanted, *next;
    struct cpu_streams streams;
    uint32_t named;
    bool is_meant;

    *out_part = word;
    if (value == NULL)
        return "no instruction set, types and value with ':' and '=' between them";
    *types++ = *value++ = '\0';
    wanted = strchr(word, '@');
    if (wanted != NULL)
        *wanted++ = '\0';
    named = cpu_isa_find(word);
    if (named == CPU_ISA_COUNT)
        return "there is no such instruction set";
    *out_part = wanted;
    if (wanted != NULL && strcmp(wanted, "amd") != 0 && strcmp(wanted, "intel") != 0)
        return "there is no such vendor";
    *out_part = value;
    if (!read_value(value, &streams))
        return "neither rows nor 1 to 4 streams, '+', and up to 4096 bytes ahead";
    is_meant = covers(named, isa) && (wanted == NULL || strcmp(wanted, vendor) == 0);
    for (char *name = types; name != NULL; name = next) {
        uint32_t type;

        next = strchr(name, ',');
        if (next != NULL)
            *next++ = '\0';
        *out_part = name;
        type = accel_format_find(name);
        if (type == ACCEL_TYPE_NONE)
            return "there is no such type";
        if (!is_packable(named, type) && (streams.count != 1 || (type != ACCEL_F16 && type != ACCEL_BF16)))
            return "weights of this type are not packed for this instruction set (f16 and bf16 have one stream: "
                   "1+AHEAD)";
        if (is_meant && streams.count == 0)
            layout->packed &= ~(UINT64_C(1) << cpu_weight_of(type));
        else if (is_meant)
            layout->streams[cpu_weight_of(type)] = streams;
    }
    return NULL;
}

/* Applies one word of layout_types. */
static int32_t read_word(const char *text, size_t length, uint32_t isa, const char *vendor, struct cpu_layout *layout,
                         struct accel_error *error)
{
    char word[256];
    const char *part = text, *reason = "longer than 255 characters";

    if (length < sizeof(word)) {
        memcpy(word, text, length);
        word[length] = '\0';
        reason = apply_word(word, isa, vendor, layout, &part);
    }
    if (reason == NULL)
        return ACCEL_OK;
    sdk_error(error, ACCEL_E_INVALID, "cpu.layout_types: \"%.*s\": \"%.*s\": %s",
              (int)(length < SHOWN ? length : SHOWN), text, SHOWN, part, reason);
    sdk_remedy(error, "write words as avx2:q2_k,q3_k=rows or avx512@amd:q4_0=4+0, with an instruction set of cpu.isa, "
                      "amd or intel, and types that cpu.layout=panels packs");
    return accel_error_origin(error, ACCEL_FROM_SETTING, ACCEL_E_INVALID);
}

/* Returns whether the instruction set is one that the user chose, rather than the best of the machine. */
static bool is_isa_set(const struct accel_setting *settings, uint32_t setting_count)
{
    const struct accel_setting *isa = sdk_setting(settings, setting_count, "isa");
    const struct accel_setting *simd = sdk_setting(settings, setting_count, "simd");

    return (isa != NULL && strcmp(isa->text, "auto") != 0) || (simd != NULL && simd->integer == 0);
}

int32_t cpu_layout_choose(const struct accel_setting *settings, uint32_t setting_count, uint32_t isa,
                          const char *vendor, struct cpu_layout *out, struct accel_error *error)
{
    const struct accel_setting *layout = sdk_setting(settings, setting_count, "layout");
    const struct accel_setting *types = sdk_setting(settings, setting_count, "layout_types");
    const char *name = layout == NULL ? "rows" : layout->text, *at = types == NULL ? "" : types->text;
    uint64_t packable = 0;
    int32_t code = ACCEL_OK;

    for (uint32_t i = 0; i < CPU_PLANAR; i++)
        if (is_packable(isa, cpu_type_at(i)))
            packable |= UINT64_C(1) << i;
    *out = (struct cpu_layout){.packed = packable};
    for (at += strspn(at, " "); *at != '\0' && code == ACCEL_OK; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");

        code = read_word(at, length, isa, vendor, out, error);
        at += length;
    }
    if (strcmp(name, "auto") != 0)
        out->packed = strcmp(name, "rows") == 0 ? 0 : packable;
    if (code == ACCEL_OK && packable == 0 && strcmp(name, "panels") == 0 && is_isa_set(settings, setting_count)) {
        code = sdk_error(error, ACCEL_E_UNSUPPORTED, "cpu.layout=panels: cpu.isa=%s has no packed weights",
                         cpu_isa_name(isa));
        sdk_remedy(error, "set cpu.layout to auto or rows, or cpu.isa to auto");
    }
    return code;
}
