/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether weights are used where their file is mapped or copied, where the setting leaves that to the machine: decode
 * reads every weight for every token, and translating the addresses of small pages costs a part of that. What is read
 * from the disk by pages.c comes in huge pages on file systems that have them (ext4 and XFS of Linux 6.16 and later);
 * elsewhere, and of a file that was written or asked for piece by piece, it takes a copy to have them.
 *
 * Measured on a shared virtual machine of two Zen 3 cores, 1.1 billion weights in Q4_0: 6 to 20 % more tokens a second
 * from huge pages (three pairs of runs). The copy took 1.3 to 1.9 s of processor time of the system, where a start from
 * the mapped file took 0.2: that machine gives free memory back to its host, which has to find and clear each huge page
 * that is touched again. So the copy is worth it from some 300 tokens on, and is not what a run does unless it is told.
 */
#include "sdk/model/session/internal.h"

#include <stdio.h>
#include <string.h>

#define HUGE_PAGES "/sys/kernel/mm/transparent_hugepage/enabled"

/* Weights up to this are served well enough by small pages, and by caches. */
#define LEAST_BYTES (UINT64_C(64) << 20)

static uint32_t is_set(const struct accel_session *session, const char *key, const char *value)
{
    const struct accel_plan_setting *setting = accel_plan_setting_find(session->plan, key);

    return setting != NULL && strcmp(setting->value, value) == 0;
}

/* The system gives huge pages to memory that is asked for them. */
static uint32_t has_huge_pages(void)
{
    FILE *file = fopen(HUGE_PAGES, "re");
    char text[128] = "";

    if (file == NULL)
        return 0;
    if (fgets(text, sizeof text, file) == NULL)
        text[0] = '\0';
    fclose(file);
    return strstr(text, "[always]") != NULL || strstr(text, "[madvise]") != NULL;
}

/* Why weights stay where they are, and what says so; NULL: they are copied. */
static const char *why_mapped(const struct accel_session *session, const char **out_place)
{
    const struct accel_device_info *device = accel_plan_device(session->plan);

    *out_place = "device.kind";
    if (device == NULL || device->facts->kind != ACCEL_DEVICE_CPU)
        return "the device takes weights from the mapped file into memory of its own";
    *out_place = "model.weight_bytes";
    if (session->model->facts.weight_bytes < LEAST_BYTES)
        return "so small a model gains nothing from a copy, and processes share the pages of a mapped file";
    *out_place = "memory.efficient";
    if (is_set(session, "memory.efficient", "true") || is_set(session, "load.progressive", "true"))
        return "memory.efficient and load.progressive keep no second copy";
    *out_place = HUGE_PAGES;
    return has_huge_pages() ? NULL : "a copy would have no huge pages either: the system does not give any";
}

static int32_t settle(struct accel_session *session, const char *place, const char *why_mapped,
                      struct accel_error *error)
{
    int32_t code =
        accel_plan_settle(session->plan, "weights.load", why_mapped == NULL ? "read" : "map", place,
                          why_mapped == NULL ? "each step reads a copy in huge pages 6 to 20 % faster than pages of a "
                                               "mapped file; map shares them between processes instead"
                                             : why_mapped,
                          error);

    session->source.copy = why_mapped == NULL;
    return code;
}

int32_t session_settle_load(struct accel_session *session, struct accel_error *error)
{
    const char *place, *why;

    session->copy_is_open = 0;
    session->source.copy = is_set(session, "weights.load", "read");
    if (!is_set(session, "weights.load", "auto"))
        return ACCEL_OK;
    why = why_mapped(session, &place);
    if (why != NULL)
        return settle(session, place, why, error);
    session->source.copy = 1;
    session->copy_is_open = 1;
    return ACCEL_OK;
}

int32_t session_settle_again(struct accel_session *session, uint32_t *out_again, struct accel_error *error)
{
    const char *why = session->streamed < LEAST_BYTES
                          ? "the device takes what steps read most into memory of its own, from the mapped file"
                          : NULL;

    *out_again = 0;
    if (!session->copy_is_open)
        return ACCEL_OK;
    session->copy_is_open = 0;
    *out_again = why != NULL;
    return settle(session, why == NULL ? HUGE_PAGES : "the device's claims", why, error);
}
