/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/common.h"
#include "tools/accelctl/doctor_gpu.h"

#include <accel/doctor.h>
#include <accel/history.h>
#include <accel/snapshot.h>

#include <stdio.h>
#include <string.h>

struct doctor_options {
    struct common common;
    uint32_t all;
    uint32_t measure;
};

static const struct option_row options[] = {
    {"all", 'a', OPTION_FLAG, offsetof(struct doctor_options, all), NULL,
     "what is as it should be, too, with the place that each row was read from", 0, 0},
    {"measure", 'm', OPTION_FLAG, offsetof(struct doctor_options, measure), NULL,
     "measure how fast memory is read, about a second, and keep it for the plans of this host", 0, 0},
    COMMON_OPTIONS(struct doctor_options, common),
};

static const char *state_name(uint32_t state)
{
    static const char *const names[] = {"?", "good", "note", "unknown", "warn", "bad"};

    return state < 6 ? names[state] : "?";
}

enum { INDENT = 10 };

/* A line below a row: a word for it, and text that is wrapped behind the word. */
static void print_note(const char *word, const char *text)
{
    uint32_t column = (uint32_t)print("%*s%s: ", INDENT, "", word);

    print_wrapped(column, column, text);
}

/* Where a row comes from: a path, a line of the table, both, or neither. */
static void print_origin(const struct accel_doctor_row *row)
{
    char line[1600], place[600];

    if ((row->origin[0] == '\0' && row->place[0] == '\0') || strcmp(row->origin, row->subject) == 0)
        return;
    snprintf(line, sizeof line, "%s%s%s", row->origin, row->origin[0] != '\0' && row->place[0] != '\0' ? ", " : "",
             short_places(row->place, place, sizeof place));
    print_note("from", line);
}

static void print_row(const struct accel_doctor_row *row, uint32_t all)
{
    enum paint colour = row->state == ACCEL_DOCTOR_BAD    ? PAINT_BAD
                        : row->state == ACCEL_DOCTOR_GOOD ? PAINT_GOOD
                                                          : PAINT_PLAIN;
    char line[1600];

    print("  %s%-7s%s ", paint(colour), state_name(row->state), paint(PAINT_PLAIN));
    snprintf(line, sizeof line, "%s: %s", row->subject, row->text);
    print_wrapped(INDENT, INDENT, line);
    if (row->remedy[0] != '\0')
        print_note("remedy", row->remedy);
    if (row->because[0] != '\0' && row->state != ACCEL_DOCTOR_GOOD)
        print_note("because", row->because);
    if (all)
        print_origin(row);
}

/* A note that has a remedy is why something is not used: it is no fault, and the question that a person comes with. */
static int is_shown(const struct accel_doctor_row *row, uint32_t all)
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

static void print_gpu(const struct accel_context *context, const struct accel_doctor *doctor)
{
    struct gpu_answer answer;

    find_gpu_answer(context, doctor, &answer);
    print_wrapped((uint32_t)print("%sGPU%s: ", paint(PAINT_HEADING), paint(PAINT_PLAIN)), 5, answer.text);
    if (answer.remedy[0] != '\0')
        print_note("remedy", answer.remedy);
}

/* The verdict first: what the person came for. */
static void print_summary(const struct accel_context *context, const struct accel_doctor *doctor, uint32_t all)
{
    uint32_t bad = accel_doctor_tally(doctor, ACCEL_DOCTOR_BAD);
    uint32_t warn = accel_doctor_tally(doctor, ACCEL_DOCTOR_WARN);

    print_recording(context);
    print("%s%s%s", paint(bad != 0 ? PAINT_BAD : PAINT_GOOD),
          bad != 0    ? "NEEDS A REMEDY"
          : warn != 0 ? "WORKS, COULD BE BETTER"
                      : "ALL GOOD",
          paint(PAINT_PLAIN));
    print(": %u bad, %u to improve, %u unknown, %u notes, %u good%s\n", bad, warn,
          accel_doctor_tally(doctor, ACCEL_DOCTOR_UNKNOWN), accel_doctor_tally(doctor, ACCEL_DOCTOR_NOTE),
          accel_doctor_tally(doctor, ACCEL_DOCTOR_GOOD), all ? "" : " (--all shows every row)");
    print_gpu(context, doctor);
}

static void print_bandwidth(const struct accel_bandwidth *bandwidth)
{
    char line[600];

    print("%smeasured%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN));
    snprintf(line, sizeof line,
             "memory is read at %.2f GB/s: median of %u passes over %.0f MiB, %.2f to %.2f GB/s, %u threads (%s)",
             bandwidth->bytes_per_second * 1e-9, bandwidth->passes, (double)bandwidth->bytes / (1 << 20),
             bandwidth->lowest * 1e-9, bandwidth->highest * 1e-9, bandwidth->threads, bandwidth->reason);
    print_wrapped((uint32_t)print("%*s", INDENT, ""), INDENT, line);
}

/* ---- the history ---- */

/* The device of the processors, whose memory was measured. */
static const struct accel_device_info *host_device(const struct accel_context *context)
{
    for (uint32_t i = 0; i < accel_device_count(context); i++) {
        const struct accel_device_info *info = accel_device_get(context, i);

        if (info->facts->kind == ACCEL_DEVICE_CPU && (info->facts->flags & ACCEL_DEVICE_SOFTWARE) == 0)
            return info;
    }
    return NULL;
}

static int32_t keep_bandwidth(struct accel_context *context, const struct accel_bandwidth *bandwidth,
                              struct accel_error *error)
{
    const struct accel_device_info *device = host_device(context);
    struct accel_history_record record = {.size = sizeof record,
                                          .kind = ACCEL_HISTORY_BANDWIDTH,
                                          .threads = bandwidth->threads,
                                          .bandwidth = bandwidth->bytes_per_second};

    if (device == NULL)
        return ACCEL_OK;
    record.device = device->name;
    record.driver = device->driver;
    return accel_history_add(context, &record, error);
}

/* ---- JSON ---- */

static json_t *row_json(const struct accel_doctor_row *row)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i}", "area", row->area, "check", row->check,
                     "state", state_name(row->state), "subject", row->subject, "text", row->text, "remedy", row->remedy,
                     "origin", row->origin, "place", row->place, "because", row->because, "hardware",
                     (int)row->hardware);
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
        json_array_append_new(rows, row_json(accel_doctor_get(doctor, i)));
    for (uint32_t state = ACCEL_DOCTOR_GOOD; state <= ACCEL_DOCTOR_BAD; state++)
        json_object_set_new(tally, state_name(state), json_integer(accel_doctor_tally(doctor, state)));
    find_gpu_answer(context, doctor, &gpu);
    document = json_pack("{s:o, s:{s:s, s:s, s:o, s:o}, s:o, s:s}", "tally", tally, "gpu", "state", gpu.state, "device",
                         gpu.device, "text", json_text(gpu.text), "remedy", json_text(gpu.remedy), "rows", rows, "host",
                         recording ? recording->path : "");
    if (bandwidth->size != 0)
        json_object_set_new(document, "bandwidth",
                            json_pack("{s:f, s:f, s:f, s:i, s:i, s:I, s:s}", "bytes_per_second",
                                      bandwidth->bytes_per_second, "lowest", bandwidth->lowest, "highest",
                                      bandwidth->highest, "threads", (int)bandwidth->threads, "passes",
                                      (int)bandwidth->passes, "bytes", (json_int_t)bandwidth->bytes, "threads_because",
                                      bandwidth->reason));
    return document;
}

/* ---- the verb ---- */

static int show(struct accel_context *context, const struct doctor_options *chosen,
                const struct accel_bandwidth *bandwidth, struct accel_error *error)
{
    struct accel_doctor *doctor = NULL;
    int code;

    if (accel_doctor_create(context, &doctor, error) != ACCEL_OK)
        return say_error(chosen->common.json, error);
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

static int run(int count, char **arguments, const struct verb *verb)
{
    struct doctor_options chosen = {.all = 0};
    struct accel_bandwidth bandwidth = {.size = sizeof bandwidth};
    struct accel_error error = {0};
    struct accel_context *context;
    int code = parse_options(verb, &count, arguments, &chosen);

    if (code >= 0)
        return code;
    context = open_context(&chosen.common, &code);
    if (context == NULL)
        return code;
    if (chosen.measure && accel_doctor_measure(context, &bandwidth, &error) != ACCEL_OK) {
        code = say_error(chosen.common.json, &error);
        close_context(context);
        return code;
    }
    if (!chosen.measure)
        bandwidth.size = 0;
    else if (keep_bandwidth(context, &bandwidth, &error) != ACCEL_OK)
        fprintf(stderr, "warn: the measurement is not kept: %s\n", error.text);
    accel_error_clear(&error);
    code = show(context, &chosen, &bandwidth, &error);
    close_context(context);
    return code;
}

const struct verb verb_doctor = {
    .name = "doctor",
    .summary = "what of this machine stands in the way, and what to do about it",
    .arguments = "",
    .detail = "Looks at limits of processors and memory, folders, plugins and every accelerator: the kernel's modules, "
              "device nodes and groups, libraries and their versions. Nothing is changed and no library of a maker is "
              "loaded. "
              "What a maker's hardware needs stands in doctor.yaml of the profiles.\n"
              "The line GPU answers whether an accelerator is used by itself, and if not, what comes first of what is "
              "in its way.\n"
              "The exit status is 6 where a row is bad: something cannot be used, and its remedy says what to do.",
    .example = "accelctl doctor --all\nevery check, with what was found and where",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .run = run,
};
