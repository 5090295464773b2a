/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/accelctl/tables.h"

struct claims_options {
    struct common common;
    uint32_t all;
    const char *verdict;
    const char *subject;
    const char *format;
    const char *out;
};

static const struct option_row options[] = {
    {"all", 'a', OPTION_FLAG, offsetof(struct claims_options, all), NULL,
     "how each claim is checked, the formula and the place in the file, too", 0, 0},
    {"verdict", 0, OPTION_TEXT, offsetof(struct claims_options, verdict), "WORD",
     "only claims that are claimed, estimated, measured or rejected", 0, 0},
    {"subject", 0, OPTION_TEXT, offsetof(struct claims_options, subject), "WORD",
     "only claims on weights, kv, speed, load, quality, ...", 0, 0},
    {"format", 0, OPTION_TEXT, offsetof(struct claims_options, format), "WORD", "text, json or html", 0, 0},
    {"out", 0, OPTION_TEXT, offsetof(struct claims_options, out), "FILE", "write into FILE instead of printing", 0, 0},
    COMMON_OPTIONS(struct claims_options, common),
};

/** What is printed. */
struct ledger {
    const struct claims_options *chosen;
    const struct accel_tables *tables;
    uint32_t counts[ACCEL_PROMISE_REJECTED + 1]; /* of wanted claims, by verdict */
};

static int is_wanted(const struct claims_options *chosen, const struct accel_promise *promise)
{
    return (chosen->verdict == NULL || strcmp(chosen->verdict, promise->verdict_name) == 0) &&
           (chosen->subject == NULL || strcmp(chosen->subject, promise->subject) == 0);
}

enum { VALUE_BYTES = 80 };

/* "30..45" is "30 to 45" for people. */
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
    snprintf(line, sizeof line, "%s, ours %s", value_text(promise, promise->value, value),
             value_text(promise, promise->ours, ours));
    print("%*s%s%s%s: ", INDENT, "", paint(colour), promise->verdict_name, paint(PAINT_PLAIN));
    print_wrapped(INDENT + (uint32_t)strlen(promise->verdict_name) + 2, INDENT,
                  promise->ours[0] == '\0' ? value : line);
    print_detail("but", promise->finding);
    print_detail("document", promise->because);
    if (!all)
        return;
    print_detail("check", promise->check);
    print_detail("formula", promise->formula);
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
          " that nobody has checked here\n",
          ledger->counts[ACCEL_PROMISE_ESTIMATED], ledger->counts[ACCEL_PROMISE_MEASURED],
          ledger->counts[ACCEL_PROMISE_REJECTED], ledger->counts[ACCEL_PROMISE_CLAIMED]);
    return ferror(output()) ? EXIT_FAILED : EXIT_DONE;
}

static int write_json(FILE *out, void *data)
{
    struct ledger *ledger = data;
    json_t *rows = json_array();

    for (uint32_t i = 0; i < accel_promise_count(ledger->tables); i++) {
        const struct accel_promise *p = accel_promise_get(ledger->tables, i);

        if (is_wanted(ledger->chosen, p))
            json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "id",
                                                  p->id, "claim", p->claim, "subject", p->subject, "value", p->value,
                                                  "unit", p->unit, "verdict", p->verdict_name, "ours", p->ours,
                                                  "formula", p->formula, "check", p->check, "finding", p->finding,
                                                  "because", p->because, "place", p->place));
    }
    return json_write(out, json_pack("{s:o}", "claims", rows), "accelctl/claims/1");
}

static void html_claim(FILE *out, const struct accel_promise *p)
{
    char value[VALUE_BYTES];

    html_between(out, "<tr><th scope=\"row\">", p->id, "</th>");
    html_between(out, "<td>", p->claim, "");
    html_between(out, "<small>", p->because, "</small></td>");
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
               "Every number that the source documents promise, beside ours. Estimated: arithmetic that is computed "
               "again whenever this table is read. Rejected: arithmetic or a measurement contradicts it. Claimed: "
               "nobody has checked it here.");
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
        return say(chosen->common.json, EXIT_USAGE, "usage", "no claim has that verdict and subject",
                   "accelctl claims lists all of them");
    return page_write(chosen->common.json, chosen->out, writers[format], &ledger);
}

static int run(int count, char **arguments, const struct verb *verb)
{
    struct claims_options chosen = {0};
    struct opened_tables opened = {0};
    int code = parse_options(verb, &count, arguments, &chosen);

    if (code < 0)
        code = open_tables(&chosen.common, chosen.format, chosen.out, &opened);
    if (code < 0)
        code = print_ledger(&chosen, opened.format, opened.tables);
    close_tables(&opened);
    return code;
}

const struct verb verb_claims = {
    .name = "claims",
    .summary = "what the source documents promise, and what came of it",
    .arguments = "",
    .detail =
        "Estimated is arithmetic that is computed again whenever the table is read. Rejected says why. Claimed is "
        "what nobody has checked here.\nThe documents are named in the README of the folder of profiles.",
    .example = "accelctl claims --verdict rejected\npromises that arithmetic or a measurement contradicts",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .run = run,
};
