/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides weights.load=auto: weights are used in the mapped file, or copied into huge pages. Decode reads every weight
 * for every token, and address translation of small pages costs time. Prefetching (pages.c) uses huge pages on file
 * systems that have them (ext4 and XFS of Linux 6.16 and later); elsewhere only a copy has them. doc/benchmark.md has
 * measurements.
 */
#include "model/plan/load.h"

#include <stdio.h>
#include <string.h>

#include "model/session/experts.h"

#define HUGE_PAGES "/sys/kernel/mm/transparent_hugepage/enabled"

/* For smaller models, small pages and caches are good enough. */
#define LEAST_BYTES (UINT64_C(64) << 20)

/* Returns whether the system gives huge pages to memory on request. */
static bool has_huge_pages(void)
{
    FILE *file = fopen(HUGE_PAGES, "re");
    char text[128] = "";

    if (file == NULL)
        return false;
    if (fgets(text, sizeof(text), file) == NULL)
        text[0] = '\0';
    fclose(file);
    return strstr(text, "[always]") != NULL || strstr(text, "[madvise]") != NULL;
}

/* Returns why weights stay mapped, with the key that decides it in *out_place; NULL: they are copied. */
static const char *why_mapped(const struct run_planner *planner, const char **out_place)
{
    const struct accel_device_info *device = accel_plan_device(planner->plan);

    *out_place = "device.kind";
    if (device == NULL || device->facts->kind != ACCEL_DEVICE_CPU)
        return "the device uploads weights from the mapped file to its own memory";
    *out_place = "the limit of experts";
    if (plan_expert_limit(planner->stage->plan) != 0)
        return "experts are read from the mapped file as tokens are routed to them";
    *out_place = "model.weight_bytes";
    if (planner->session->model->facts.weight_bytes < LEAST_BYTES)
        return "so small a model gains nothing from a copy, and processes share the pages of a mapped file";
    *out_place = "memory.efficient";
    if (setting_is_on(planner->settings->memory_efficient))
        return "memory.efficient allows no second copy";
    *out_place = HUGE_PAGES;
    return has_huge_pages() ? NULL : "a copy would have no huge pages either: the system has them disabled";
}

static int32_t set_load(const struct run_planner *planner, const char *place, const char *why_mapped)
{
    planner->stage->source.copy = why_mapped == NULL;
    return accel_plan_setting_override(planner->plan, "weights.load", why_mapped == NULL ? "read" : "map", place,
                                       why_mapped == NULL
                                           ? "each step reads a copy in huge pages 6 to 20 % faster than pages of a "
                                             "mapped file; map shares them between processes instead"
                                           : why_mapped,
                                       planner->error);
}

int32_t run_planner_resolve_load(const struct run_planner *planner)
{
    const uint32_t load = planner->settings->weights_load->word;
    const char *place, *why;

    planner->stage->source.copy = load == ACCEL_WORD_READ;
    if (load != ACCEL_WORD_AUTO)
        return ACCEL_OK;
    why = why_mapped(planner, &place);
    if (why != NULL)
        return set_load(planner, place, why);
    planner->stage->source.copy = 1;
    return ACCEL_OK;
}

int32_t run_planner_finalize_load(const struct run_planner *planner, uint64_t streamed)
{
    const char *why = streamed < LEAST_BYTES
                          ? "the device uploads what steps read most from the mapped file to its own memory"
                          : NULL;

    if (planner->settings->weights_load->word != ACCEL_WORD_AUTO)
        return ACCEL_OK;
    return set_load(planner, why == NULL ? HUGE_PAGES : "the device's claims", why);
}
