/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include <accel/quant/format.h>

#include "plugins/cpu/kernels/kernels.h"
#include "plugins/cpu/layout.h"

#define SMALLEST 256u /* values of a row that every packed type divides */

const struct accel_option cpu_layout_option = {
    .size = sizeof(cpu_layout_option),
    .type = ACCEL_OPTION_TEXT,
    .name = "layout",
    .help = "how matmul reads weights: rows (in place, as in the file), panels (packed copies, made while loading), or "
            "auto (panels, but rows for the types of layout_rows)",
    .text = "rows",
    .choices = "auto rows panels",
};

const struct accel_option cpu_layout_rows_option = {
    .size = sizeof(cpu_layout_rows_option),
    .type = ACCEL_OPTION_TEXT,
    .name = "layout_rows",
    .help = "types that layout=auto reads in rows, each with its instruction set, separated by spaces: avx2:q2_k",
    .text = "",
};

_Static_assert(CPU_WEIGHTS <= 64, "a type is a bit");

static bool is_packable(uint32_t isa, uint32_t type)
{
    return cpu_packed_bytes(isa, type, CPU_MATMUL_ROWS, SMALLEST) != 0;
}

static uint32_t find_isa(const char *name, size_t length)
{
    uint32_t isa = 0;

    while (isa < CPU_ISA_COUNT && (strlen(cpu_isa_name(isa)) != length || memcmp(cpu_isa_name(isa), name, length) != 0))
        isa++;
    return isa;
}

/* Removes the type of one word from the packed types if the word is about `isa`. */
static int32_t read_word(const char *word, size_t length, uint32_t isa, uint64_t *packed, struct accel_error *error)
{
    const char *colon = memchr(word, ':', length);
    const size_t at = colon == NULL ? length : (size_t)(colon - word);
    const uint32_t named = find_isa(word, at);
    char name[32] = "";
    uint32_t type;

    if (colon != NULL && length - at - 1 < sizeof(name))
        memcpy(name, colon + 1, length - at - 1);
    type = accel_format_find(name);
    if (named < CPU_ISA_COUNT && type != ACCEL_TYPE_NONE && is_packable(named, type)) {
        if (named == isa)
            *packed &= ~(UINT64_C(1) << cpu_weight_of(type));
        return ACCEL_OK;
    }
    sdk_error(error, ACCEL_E_INVALID, "cpu.layout_rows: \"%.*s\": %s", (int)length, word,
              colon == NULL             ? "no instruction set and type with ':' between them"
              : named == CPU_ISA_COUNT  ? "there is no such instruction set"
              : type == ACCEL_TYPE_NONE ? "there is no such type"
                                        : "weights of this type are not packed for this instruction set");
    sdk_remedy(error, "write words as avx2:q2_k, with an instruction set of cpu.isa and a type that cpu.layout=panels "
                      "packs");
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
                          uint64_t *out_packed, struct accel_error *error)
{
    const struct accel_setting *layout = sdk_setting(settings, setting_count, "layout");
    const struct accel_setting *rows = sdk_setting(settings, setting_count, "layout_rows");
    const char *name = layout == NULL ? "rows" : layout->text;
    uint64_t packable = 0, measured;
    int32_t code = ACCEL_OK;

    for (uint32_t i = 0; i < CPU_PLANAR; i++)
        if (is_packable(isa, cpu_type_at(i)))
            packable |= UINT64_C(1) << i;
    measured = packable;
    for (const char *word = rows == NULL ? "" : rows->text; *word != '\0' && code == ACCEL_OK;) {
        const size_t length = strcspn(word, " ");

        if (length != 0)
            code = read_word(word, length, isa, &measured, error);
        word += length + strspn(word + length, " ");
    }
    *out_packed = strcmp(name, "rows") == 0 ? 0 : strcmp(name, "panels") == 0 ? packable : measured;
    if (code == ACCEL_OK && packable == 0 && strcmp(name, "panels") == 0 && is_isa_set(settings, setting_count)) {
        code = sdk_error(error, ACCEL_E_UNSUPPORTED, "cpu.layout=panels: cpu.isa=%s has no packed weights",
                         cpu_isa_name(isa));
        sdk_remedy(error, "set cpu.layout to auto or rows, or cpu.isa to auto");
    }
    return code;
}
