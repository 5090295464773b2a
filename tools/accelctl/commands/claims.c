/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/accelctl/tables/claims_measure.h"
#include "tools/accelctl/tables/tables.h"
#include "tools/accelctl/words.h"

struct claims_options {
    struct common common;
    uint32_t all;
    const char *verdict;
    const char *subject;
    const char *format;
    const char *out;
    const char *measure;
    const char *text;
    const char *scores;
    const char *device;
};

static const struct option_row options[] = {
    {"all", 'a', OPTION_FLAG, offsetof(struct claims_options, all), NULL,
     "also print how each claim is checked, its formula, and its place in the file", 0, 0},
    {"verdict", 0, OPTION_TEXT, offsetof(struct claims_options, verdict), "WORD",
     "only claims that are claimed, estimated, measured or rejected", 0, 0},
    {"subject", 0, OPTION_TEXT, offsetof(struct claims_options, subject), "WORD",
     "only claims on weights, kv, speed, load, quality, ...", 0, 0},
    {"format", 0, OPTION_TEXT, offsetof(struct claims_options, format), "WORD", "text, json or html", 0, 0},
    {"out", 0, OPTION_TEXT, offsetof(struct claims_options, out), "FILE", "write into FILE instead of printing", 0, 0},
    {"measure", 'm', OPTION_TEXT, offsetof(struct claims_options, measure), "MODEL",
     "test the claims that commands can test here, with versions of this model: a GGUF file or a folder", 0, 0},
    {"text", 0, OPTION_TEXT, offsetof(struct claims_options, text), "FILE",
     "text that the versions read, for claims on accuracy", 0, 0},
    {"scores", 0, OPTION_TEXT, offsetof(struct claims_options, scores), "FILE.csv",
     "table for accelctl scores, for claims on AUC and F1", 0, 0},
    {"device", 'd', OPTION_TEXT, offsetof(struct claims_options, device), "NAME", "device to measure on", 0, 0},
    COMMON_OPTIONS(struct claims_options, common),
};

/** Ledger of claims to print. */
struct ledger {
    const struct claims_options *chosen;
    const struct accel_tables *tables;
    uint32_t counts[ACCEL_PROMISE_REJECTED + 1]; /* of wanted claims, by verdict */
};

static bool is_wanted(const struct claims_options *chosen, const struct accel_promise *promise)
{
    return (chosen->verdict == NULL || strcmp(chosen->verdict, promise->verdict_name) == 0) &&
           (chosen->subject == NULL || strcmp(chosen->subject, promise->subject) == 0);
}

enum { VALUE_BYTES = 80 };

/* Formats a range: "30..45" as "30 to 45". */
static const char *value_text(const struct accel_promise *promise, const char *value, char text[VALUE_BYTES])
{
    const char *dots = strstr(value, ".."), *blank = promise->unit[0] == '\0' ? "" : " ";

    if (dots == NULL)
        snprintf(text, VALUE_BYTES, "%.40s%s%.20s", value, blank, promise->unit);
    else
        snprintf(text, VALUE_BYTES, "%.*s to %.30s%s%.20s", (int)(dots - value), value, dots + 2, blank, promise->unit);
    return text;
}

static void print_detail(const char *name, const char *text)
{
    if (text[0] != '\0')
        print_wrapped((uint32_t)print("%10s%s: ", "", name), 14, text);
}

static void print_claim(const struct accel_promise *promise, uint32_t all)
{
    enum { INDENT = 10 };
    enum paint colour = promise->verdict == ACCEL_PROMISE_REJECTED  ? PAINT_BAD
                        : promise->verdict == ACCEL_PROMISE_CLAIMED ? PAINT_PLAIN
                                                                    : PAINT_GOOD;
    char value[VALUE_BYTES], ours[VALUE_BYTES], line[2 * VALUE_BYTES + 16];

    print("%s%-9s%s ", paint(PAINT_HEADING), promise->id, paint(PAINT_PLAIN));
    print_wrapped(INDENT, INDENT, promise->claim);
    snprintf(line, sizeof(line), "%s, ours %s%s%s%s", value_text(promise, promise->value, value),
             promise->bound[0] == '\0' ? "" : "at ", promise->bound, promise->bound[0] == '\0' ? "" : " ",
             value_text(promise, promise->ours, ours));
    print("%*s%s%s%s: ", INDENT, "", paint(colour), promise->verdict_name, paint(PAINT_PLAIN));
    print_wrapped(INDENT + (uint32_t)strlen(promise->verdict_name) + 2, INDENT,
                  promise->ours[0] == '\0' ? value : line);
    print_detail("but", promise->finding);
    print_detail("document", promise->source);
    if (!all)
        return;
    print_detail("check", promise->check);
    print_detail(promise->origin[0] == '\0' ? "ours" : promise->origin, promise->formula);
    print_detail("measured by", promise->measure);
    print_detail("table", promise->place);
}

static int write_text(FILE *out, void *data)
{
    struct ledger *ledger = data;

    (void)out;
    for (uint32_t i = 0; i < accel_promise_count(ledger->tables); i++) {
        const struct accel_promise *promise = accel_promise_get(ledger->tables, i);

        if (is_wanted(ledger->chosen, promise))
            print_claim(promise, ledger->chosen->all);
    }
    print("\n%" PRIu32 " estimated, %" PRIu32 " measured, %" PRIu32 " rejected, %" PRIu32
          " claimed without a number of ours that decides\n",
          ledger->counts[ACCEL_PROMISE_ESTIMATED], ledger->counts[ACCEL_PROMISE_MEASURED],
          ledger->counts[ACCEL_PROMISE_REJECTED], ledger->counts[ACCEL_PROMISE_CLAIMED]);
    print_wrapped((uint32_t)print("rule: "), 6, ACCEL_PROMISE_RULE);
    return ferror(output()) ? EXIT_FAILED : EXIT_DONE;
}

/* Returns the origin of our number of a claim as JSON; null if there is none. */
static json_t *origin_json(const struct accel_promise *promise)
{
    return promise->origin[0] == '\0' ? json_null() : json_sprintf("%s: %s", promise->origin, promise->formula);
}

static int write_json(FILE *out, void *data)
{
    struct ledger *ledger = data;
    json_t *rows = json_array();

    for (uint32_t i = 0; i < accel_promise_count(ledger->tables); i++) {
        const struct accel_promise *p = accel_promise_get(ledger->tables, i);

        if (is_wanted(ledger->chosen, p))
            json_add(rows,
                     json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:s, s:o, s:s, s:o, s:s, s:{s:o, s:o}}",
                               "id", p->id, "claim", p->claim, "subject", p->subject, "value", p->value, "unit",
                               p->unit, "verdict", p->verdict_name, "ours",
                               p->ours[0] == '\0' ? json_null() : json_string(p->ours), "bound", p->bound, "formula",
                               p->formula, "check", p->check, "finding", json_text(p->finding), "because", p->source,
                               "place", json_text(p->place), "measure", p->measure, "origin", "value",
                               json_sprintf("claimed: %s", p->source), "ours", origin_json(p)));
    }
    return json_write(out, json_pack("{s:s, s:o}", "rule", ACCEL_PROMISE_RULE, "claims", rows), "accelctl/claims/1");
}

static void html_claim(FILE *out, const struct accel_promise *p)
{
    char value[VALUE_BYTES];

    html_between(out, "<tr><th scope=\"row\">", p->id, "</th>");
    html_between(out, "<td>", p->claim, "");
    html_between(out, "<small>", p->source, "</small></td>");
    html_between(out, "<td class=\"n\">", value_text(p, p->value, value), "</td>");
    html_between(out, "<td class=\"n\">", p->ours[0] == '\0' ? "" : value_text(p, p->ours, value), "</td>");
    fprintf(out, "<td><span class=\"r %s\">%s</span></td>", p->verdict_name, p->verdict_name);
    html_between(out, "<td>", p->finding, "");
    html_between(out, "<small>", p->check, "");
    if (p->formula[0] != '\0')
        html_between(out, ": <code>", p->formula, "</code>");
    fputs("</small></td></tr>\n", out);
}

static int write_html(FILE *out, void *data)
{
    struct ledger *ledger = data;

    html_begin(out, "Claims of the documents",
               "Every number that the source documents promise, beside ours. " ACCEL_PROMISE_RULE);
    fprintf(out, "<p>%" PRIu32 " estimated, %" PRIu32 " measured, %" PRIu32 " rejected, %" PRIu32 " claimed.</p>\n",
            ledger->counts[ACCEL_PROMISE_ESTIMATED], ledger->counts[ACCEL_PROMISE_MEASURED],
            ledger->counts[ACCEL_PROMISE_REJECTED], ledger->counts[ACCEL_PROMISE_CLAIMED]);
    fputs("<table><thead><tr><th>id</th><th>claim</th><th>theirs</th><th>ours</th><th>verdict</th><th>finding and "
          "check</th></tr></thead>\n<tbody>\n",
          out);
    for (uint32_t i = 0; i < accel_promise_count(ledger->tables); i++)
        if (is_wanted(ledger->chosen, accel_promise_get(ledger->tables, i)))
            html_claim(out, accel_promise_get(ledger->tables, i));
    fputs("</tbody></table>\n", out);
    html_end(out);
    return EXIT_DONE;
}

/* ---- measured claims ---- */

static const char *number_text(double value, char text[32])
{
    snprintf(text, 32, "%.*f", fabs(value) < 0.995 ? 3 : fabs(value) < 99.95 ? 1 : 0, value);
    return text;
}

static json_t *measured_json(const struct accel_promise *promise, const struct measured *measured, uint32_t verdict)
{
    json_t *number = isnan(measured->value) ? json_null() : json_real(measured->value);

    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:o, s:{s:o, s:o}}", "id", promise->id, "claim",
                     promise->claim, "value", promise->value, "unit", promise->unit, "measured", number, "verdict",
                     accel_promise_verdict_name(verdict), "because", promise->source, "reason",
                     isnan(measured->value) ? json_text(measured->how) : json_null(), "origin", "value",
                     json_sprintf("claimed: %s", promise->source), "measured",
                     isnan(measured->value) ? json_null() : json_sprintf("measured: %s", measured->how));
}

static void print_measured(const struct accel_promise *promise, const struct measured *measured, uint32_t verdict)
{
    enum { INDENT = 10 };
    char value[VALUE_BYTES], ours[VALUE_BYTES], number[32];

    print("%s%-9s%s ", paint(PAINT_HEADING), promise->id, paint(PAINT_PLAIN));
    print_wrapped(INDENT, INDENT, promise->claim);
    value_text(promise, promise->value, value);
    if (isnan(measured->value)) {
        print("%*sclaimed %s, not measured\n", INDENT, "", value);
        print_detail("reason", measured->how);
        return;
    }
    value_text(promise, number_text(measured->value, number), ours);
    print("%*sclaimed %s, measured %s: %s%s%s\n", INDENT, "", value, ours,
          paint(verdict == ACCEL_PROMISE_REJECTED   ? PAINT_BAD
                : verdict == ACCEL_PROMISE_MEASURED ? PAINT_GOOD
                                                    : PAINT_PLAIN),
          verdict == ACCEL_PROMISE_REJECTED   ? "rejected"
          : verdict == ACCEL_PROMISE_MEASURED ? "agrees"
                                              : "not judged, since the claim is in words",
          paint(PAINT_PLAIN));
    print_detail("by", measured->how);
}

/* Least bytes of f16 weights of a useful model: smaller ones stay in the processor's caches, and hardly affect the
 * start. */
#define SMALL_MODEL ((uint64_t)256 << 20)

static const char small_note[] =
    "the model has less than 256 MiB in f16: speed, start and peak of memory of so small a "
    "model do not speak for large ones";

static int refuse_none(const struct claims_options *chosen)
{
    const char *verdicts = option_words("claims", "verdict"), *subjects = option_words("claims", "subject");

    if (chosen->verdict != NULL && !is_one_of(verdicts, chosen->verdict))
        return refuse_option_word(chosen->common.json, "claims", "verdict", verdicts, chosen->verdict);
    if (chosen->subject != NULL && !is_one_of(subjects, chosen->subject))
        return refuse_option_word(chosen->common.json, "claims", "subject", subjects, chosen->subject);
    return report_error_text(chosen->common.json, EXIT_USAGE, "usage", "no claim has that verdict and subject",
                             "accelctl claims lists all of them");
}

/* Answers -1 if a claim is selected and all names of measurements are known, or an exit code. */
static int check_measurements(const struct claims_options *chosen, const struct accel_tables *tables)
{
    uint32_t wanted = 0;

    for (uint32_t i = 0; i < accel_promise_count(tables); i++) {
        const struct accel_promise *promise = accel_promise_get(tables, i);

        wanted += is_wanted(chosen, promise) != 0;
        if (promise->measure[0] == '\0' || has_measurement(promise->measure))
            continue;
        return report_error_format(
            chosen->common.json, EXIT_INPUT, "ACCEL_E_INVALID",
            "measurements are size.TYPE.TYPE, size.mixed, error.TYPE, accuracy.TYPE, speed.TYPE.TYPE, kv.TYPE, "
            "load.mapped, start.cached, start.compiled, batch.4 and scores.TOOL.MEASURE",
            "claims.yaml: claim %.60s: there is no measurement \"%.60s\"", promise->id, promise->measure);
    }
    return wanted == 0 ? refuse_none(chosen) : -1;
}

/* Measures each selected claim that has a measurement, and prints it at once, or all of them as a document. */
static int measure_claims(const struct claims_options *chosen, const struct accel_tables *tables)
{
    const struct measure_wish wish = {chosen->measure, chosen->text, chosen->scores, chosen->device,
                                      chosen->common.json};
    uint32_t counts[ACCEL_PROMISE_REJECTED + 1] = {0}, missing = 0;
    json_t *rows = json_array();
    struct measuring measuring;
    int code = measure_begin(&measuring, &wish);
    uint32_t is_small;

    for (uint32_t i = 0; i < accel_promise_count(tables); i++)
        measuring.all +=
            accel_promise_get(tables, i)->measure[0] != '\0' && is_wanted(chosen, accel_promise_get(tables, i));
    for (uint32_t i = 0; code < 0 && i < accel_promise_count(tables); i++) {
        const struct accel_promise *promise = accel_promise_get(tables, i);
        struct measured measured;
        uint32_t verdict;

        if (promise->measure[0] == '\0' || !is_wanted(chosen, promise))
            continue;
        measure_claim(&measuring, promise->measure, promise->unit, &measured);
        measuring.done++;
        if (measure_interrupted(&measuring)) {
            code = report_error_text(chosen->common.json, EXIT_INTERRUPTED, "ACCEL_E_CANCELLED",
                                     "interrupted while claims were measured", NULL);
            break;
        }
        verdict = accel_promise_judge(promise, measured.value);
        counts[verdict] += !isnan(measured.value);
        missing += isnan(measured.value);
        if (chosen->common.json)
            json_add(rows, measured_json(promise, &measured, verdict));
        else
            print_measured(promise, &measured, verdict);
        fflush(output());
    }
    is_small = code < 0 && measure_bytes(&measuring) < SMALL_MODEL;
    if (code < 0 && !chosen->common.json) {
        print("\n%s: %" PRIu32 " agree, %" PRIu32 " rejected, %" PRIu32 " in words, %" PRIu32 " not measured\n",
              chosen->measure, counts[ACCEL_PROMISE_MEASURED], counts[ACCEL_PROMISE_REJECTED],
              counts[ACCEL_PROMISE_CLAIMED], missing);
        if (is_small)
            print_wrapped((uint32_t)print("note: "), 6, small_note);
        print_wrapped((uint32_t)print("rule: "), 6, ACCEL_PROMISE_RULE);
    }
    if (code < 0 && chosen->common.json)
        code = print_json(json_pack("{s:o, s:s?, s:s, s:O}", "model", json_text(chosen->measure), "note",
                                    is_small ? small_note : NULL, "rule", ACCEL_PROMISE_RULE, "claims", rows),
                          "accelctl/claims-measured/1");
    json_decref(rows);
    measure_end(&measuring);
    return code < 0 ? EXIT_DONE : code;
}

static int print_ledger(const struct claims_options *chosen, enum format format, const struct accel_tables *tables)
{
    static int (*const writers[])(FILE *, void *) = {write_text, write_json, write_html};
    struct ledger ledger = {chosen, tables, {0}};
    uint32_t wanted = 0;

    for (uint32_t i = 0; i < accel_promise_count(tables); i++)
        if (is_wanted(chosen, accel_promise_get(tables, i))) {
            ledger.counts[accel_promise_get(tables, i)->verdict]++;
            wanted++;
        }
    if (wanted == 0)
        return refuse_none(chosen);
    return write_output(chosen->common.json, chosen->out, writers[format], &ledger);
}

static int run(int count, char **arguments, const struct command *command)
{
    struct claims_options chosen = {0};
    struct opened_tables opened = {0};
    int code = parse_options(command, &count, arguments, &chosen);

    if (code < 0 && chosen.measure == NULL && (chosen.text || chosen.scores || chosen.device))
        code = report_error_text(chosen.common.json, EXIT_USAGE, "usage",
                                 "claims: --text, --scores and --device require --measure", NULL);
    if (code < 0 && chosen.measure != NULL && (chosen.format != NULL || chosen.out != NULL))
        code = report_error_text(chosen.common.json, EXIT_USAGE, "usage",
                                 "claims: --measure prints text, or a document with --json", NULL);
    if (code < 0)
        code = open_tables(&chosen.common, chosen.format, chosen.out, &opened);
    if (code < 0 && chosen.measure != NULL)
        code = check_measurements(&chosen, opened.tables);
    if (code < 0 && chosen.measure != NULL)
        code = measure_claims(&chosen, opened.tables);
    else if (code < 0)
        code = print_ledger(&chosen, opened.format, opened.tables);
    close_tables(&opened);
    return code;
}

const struct command command_claims = {
    .name = "claims",
    .summary = "list what the source documents claim, with a verdict on each claim",
    .arguments = "",
    .detail = ACCEL_PROMISE_RULE
    "\nArithmetic is computed again whenever the table is read. The documents are named in the "
    "README of the folder of profiles.\n"
    "--measure runs accelctl quantize, run, eval, bench and scores, each in a process with caches of its own, on "
    "versions of MODEL in a temporary folder that goes with the command, and prints what is claimed, what was "
    "measured, the verdict and the command. Accuracy is the share of tokens of --text before which the likeliest "
    "token stays that of the f16 version; speed is decode of one sequence. The schema with --json is "
    "accelctl/claims-measured/1.",
    .example = "accelctl claims --verdict rejected\npromises that arithmetic or a measurement contradicts\n"
               "accelctl claims --measure model.gguf --text book.txt\nwhat this machine and this model say of them",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .run = run,
};
