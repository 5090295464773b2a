/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what the doctor found: the command doctor. */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/accelctl/output.h"
#include "tools/doctor/commands.h"
#include "tools/doctor/doctor.h"
#include "tools/doctor/gpu.h"
#include "tools/doctor/options.h"
#include "tools/history/history.h"

static const char *state_name(uint32_t state)
{
    static const char *const names[] = {"?", "good", "note", "unknown", "warn", "bad"};

    return state < 6 ? names[state] : "?";
}

enum { INDENT = 10 };

/* Prints a line below a row: a word, and text that is wrapped behind the word. */
static void print_note(const char *word, const char *text)
{
    uint32_t column = (uint32_t)print("%*s%s: ", INDENT, "", word);

    print_wrapped(column, column, text);
}

/* Prints the origin of a row: a path, a line of the table, both, or neither. */
static void print_origin(const struct accel_doctor_row *row)
{
    char line[1600], place[600];

    if ((row->origin[0] == '\0' && row->place[0] == '\0') || strcmp(row->origin, row->subject) == 0)
        return;
    snprintf(line, sizeof(line), "%s%s%s", row->origin, row->origin[0] != '\0' && row->place[0] != '\0' ? ", " : "",
             short_places(row->place, place, sizeof(place)));
    print_note("from", line);
}

static void print_row(const struct accel_doctor_row *row, uint32_t all)
{
    enum paint colour = row->state == ACCEL_DOCTOR_BAD    ? PAINT_BAD
                        : row->state == ACCEL_DOCTOR_GOOD ? PAINT_GOOD
                                                          : PAINT_PLAIN;
    char line[1600];

    print("  %s%-7s%s ", paint(colour), state_name(row->state), paint(PAINT_PLAIN));
    snprintf(line, sizeof(line), "%s: %s", row->subject, row->text);
    print_wrapped(INDENT, INDENT, line);
    if (row->remedy[0] != '\0')
        print_note("remedy", row->remedy);
    if (row->reason[0] != '\0' && row->state != ACCEL_DOCTOR_GOOD)
        print_note("because", row->reason);
    if (all)
        print_origin(row);
}

/* Returns whether a row is shown. A note with a remedy is: it is no fault, but explains why something is not used. */
static bool is_shown(const struct accel_doctor_row *row, uint32_t all)
{
    return all || row->state > ACCEL_DOCTOR_NOTE || (row->state == ACCEL_DOCTOR_NOTE && row->remedy[0] != '\0');
}

static void print_rows(const struct accel_doctor *doctor, uint32_t all)
{
    const char *area = "";

    for (uint32_t i = 0; i < accel_doctor_count(doctor); i++) {
        const struct accel_doctor_row *row = accel_doctor_get(doctor, i);

        if (!is_shown(row, all))
            continue;
        if (strcmp(area, row->area) != 0)
            print("%s%s%s\n", paint(PAINT_HEADING), row->area, paint(PAINT_PLAIN));
        area = row->area;
        print_row(row, all);
    }
}

static void print_gpu(const struct gpu_answer *answer)
{
    print_wrapped((uint32_t)print("%sGPU%s: ", paint(PAINT_HEADING), paint(PAINT_PLAIN)), 5, answer->text);
    if (answer->remedy[0] != '\0')
        print_note("remedy", answer->remedy);
}

/* Lists drivers without devices, separated by commas; returns their number. */
static uint32_t list_unused(const struct accel_context *context, char *text, size_t bytes)
{
    uint32_t count = 0;
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < accel_plugin_count(context); i++) {
        const struct accel_plugin_info *info = accel_plugin_get(context, i);
        char name[80];

        if (info->state != ACCEL_PLUGIN_REFUSED && (info->state != ACCEL_PLUGIN_LOADED || info->device_count != 0))
            continue;
        if (used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "%s%s", count == 0 ? "" : ", ",
                                     clean_text(info->name, name, sizeof(name)));
        count++;
    }
    return count;
}

/* Prints which device is good, unless there is a GPU and every driver has devices. */
static void print_works(const struct accel_context *context, const struct gpu_answer *gpu)
{
    const struct accel_device_info *best = accel_device_get(context, 0);
    bool has_gpu = strcmp(gpu->state, "none") != 0 && strcmp(gpu->state, "software") != 0;
    char names[200];
    uint32_t unused = list_unused(context, names, sizeof(names));

    if (best == NULL || (unused == 0 && has_gpu)) {
        print("%sALL GOOD%s", paint(PAINT_GOOD), paint(PAINT_PLAIN));
        return;
    }
    print("%sGOOD%s for %s%s", paint(PAINT_GOOD), paint(PAINT_PLAIN), best->name, has_gpu ? "" : "; no GPU found");
    if (unused != 0)
        print("; %u driver%s not used (%s)", unused, unused == 1 ? " is" : "s are", names);
}

/* Prints the verdict, which comes first. */
static void print_summary(const struct accel_context *context, const struct accel_doctor *doctor, uint32_t all)
{
    uint32_t bad = accel_doctor_tally(doctor, ACCEL_DOCTOR_BAD);
    uint32_t warn = accel_doctor_tally(doctor, ACCEL_DOCTOR_WARN);
    uint32_t notes = accel_doctor_tally(doctor, ACCEL_DOCTOR_NOTE);
    struct gpu_answer gpu;

    find_gpu_answer(context, doctor, &gpu);
    print_recording(context);
    if (bad != 0 || warn != 0)
        print("%s%s%s", paint(bad != 0 ? PAINT_BAD : PAINT_GOOD),
              bad != 0 ? "NEEDS A REMEDY" : "WORKS, COULD BE BETTER", paint(PAINT_PLAIN));
    else
        print_works(context, &gpu);
    print(": %u bad, %u to improve, %u unknown, %u note%s, %u good%s\n", bad, warn,
          accel_doctor_tally(doctor, ACCEL_DOCTOR_UNKNOWN), notes, notes == 1 ? "" : "s",
          accel_doctor_tally(doctor, ACCEL_DOCTOR_GOOD), all ? "" : " (--all shows every row)");
    print_gpu(&gpu);
}

static void print_bandwidth(const struct accel_bandwidth *bandwidth)
{
    char line[600];

    print("%smeasured%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN));
    snprintf(line, sizeof(line),
             "memory is read at %.2f GB/s: median of %u passes over %.0f MiB, %.2f to %.2f GB/s, %u threads (%s)",
             bandwidth->bytes_per_second * 1e-9, bandwidth->passes, (double)bandwidth->bytes / (1 << 20),
             bandwidth->lowest * 1e-9, bandwidth->highest * 1e-9, bandwidth->threads, bandwidth->reason);
    print_wrapped((uint32_t)print("%*s", INDENT, ""), INDENT, line);
}

/* ---- the history ---- */

/* Returns the device of the processors, whose memory was measured. */
static const struct accel_device_info *host_device(const struct accel_context *context)
{
    for (uint32_t i = 0; i < accel_device_count(context); i++) {
        const struct accel_device_info *info = accel_device_get(context, i);

        if (info->facts->kind == ACCEL_DEVICE_CPU && (info->facts->flags & ACCEL_DEVICE_SOFTWARE) == 0)
            return info;
    }
    return NULL;
}

static int32_t record_bandwidth(struct accel_context *context, const struct accel_bandwidth *bandwidth,
                                struct accel_error *error)
{
    const struct accel_device_info *device = host_device(context);
    struct accel_history_record record = {
        .kind = ACCEL_HISTORY_BANDWIDTH, .threads = bandwidth->threads, .bandwidth = bandwidth->bytes_per_second};

    if (device == NULL)
        return ACCEL_OK;
    record.device = device->name;
    record.driver = device->driver;
    return history_add(&record, error);
}

/* ---- JSON ---- */

static json_t *row_json(const struct accel_doctor_row *row)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:i}", "area", row->area, "check", row->check,
                     "state", state_name(row->state), "subject", json_text(row->subject), "text", json_text(row->text),
                     "remedy", json_text(row->remedy), "origin", json_text(row->origin), "place", json_text(row->place),
                     "because", row->reason, "hardware", (int)row->hardware);
}

static json_t *all_json(const struct accel_context *context, const struct accel_doctor *doctor,
                        const struct accel_bandwidth *bandwidth)
{
    const struct accel_recording *recording = accel_context_recording(context);
    json_t *rows = json_array();
    json_t *tally = json_object();
    json_t *document;
    struct gpu_answer gpu;

    for (uint32_t i = 0; i < accel_doctor_count(doctor); i++)
        json_add(rows, row_json(accel_doctor_get(doctor, i)));
    for (uint32_t state = ACCEL_DOCTOR_GOOD; state <= ACCEL_DOCTOR_BAD; state++)
        json_object_set_new(tally, state_name(state), json_integer(accel_doctor_tally(doctor, state)));
    find_gpu_answer(context, doctor, &gpu);
    document = json_pack("{s:{s:s, s:s}, s:o, s:{s:s, s:s, s:o, s:o}, s:o, s:o}", "origin", "tally",
                         "measured: the rows of each state", "bandwidth",
                         "measured: passes over memory; lowest and highest are those of the passes", "tally", tally,
                         "gpu", "state", gpu.state, "device", gpu.device, "text", json_text(gpu.text), "remedy",
                         json_text(gpu.remedy), "rows", rows, "host", json_text(recording ? recording->path : ""));
    if (bandwidth->size != 0)
        json_object_set_new(document, "bandwidth",
                            json_pack("{s:f, s:f, s:f, s:i, s:i, s:I, s:s}", "bytes_per_second",
                                      bandwidth->bytes_per_second, "lowest", bandwidth->lowest, "highest",
                                      bandwidth->highest, "threads", (int)bandwidth->threads, "passes",
                                      (int)bandwidth->passes, "bytes", (json_int_t)bandwidth->bytes, "threads_because",
                                      bandwidth->reason));
    return document;
}

/* ---- the command ---- */

static int show(struct accel_context *context, const struct doctor_options *chosen,
                const struct accel_bandwidth *bandwidth, struct accel_error *error)
{
    struct accel_doctor *doctor = NULL;
    int code;

    if (accel_doctor_create(context, &doctor, error) != ACCEL_OK)
        return report_error(chosen->common.json, error);
    code = accel_doctor_tally(doctor, ACCEL_DOCTOR_BAD) != 0 ? EXIT_REMEDY : EXIT_DONE;
    if (chosen->common.json) {
        int printed = print_json(all_json(context, doctor, bandwidth), "accelctl/doctor/1");

        code = printed != EXIT_DONE ? printed : code;
    } else {
        print_summary(context, doctor, chosen->all);
        print_rows(doctor, chosen->all);
        if (bandwidth->size != 0)
            print_bandwidth(bandwidth);
    }
    accel_doctor_free(doctor);
    return code;
}

int report_machine(int count, char **arguments)
{
    struct doctor_options chosen = {.all = 0};
    struct accel_bandwidth bandwidth = {.size = sizeof(bandwidth)};
    struct accel_error error = {0};
    struct accel_context *context;
    int code = parse_options(&command_doctor, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    context = open_to_diagnose(&chosen.common, &code);
    if (context == NULL)
        return code;
    if (chosen.measure && accel_doctor_measure(context, &bandwidth, &error) != ACCEL_OK) {
        code = report_error(chosen.common.json, &error);
        close_context(context);
        return code;
    }
    if (!chosen.measure)
        bandwidth.size = 0;
    else if (!chosen.common.no_cache && record_bandwidth(context, &bandwidth, &error) != ACCEL_OK)
        fprintf(error_output(), "warn: the measurement is not recorded: %s\n", error.text);
    accel_error_clear(&error);
    code = show(context, &chosen, &bandwidth, &error);
    close_context(context);
    return code;
}
