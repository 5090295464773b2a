/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/tables/recommended.h"

#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/command.h"
#include "tools/accelctl/errors.h"
#include "tools/accelctl/print/page.h"
#include "tools/tables/tables.h"

static int recommended_text(FILE *out, void *data)
{
    const struct accel_tables *tables = data;
    const char *table = "";

    (void)out;
    for (uint32_t i = 0; i < accel_recommendation_count(tables); i++) {
        const struct accel_recommendation *row = accel_recommendation_get(tables, i);

        if (strcmp(table, row->table) != 0)
            print("%s%s%s: %s%s\n", i == 0 ? "" : "\n", paint(PAINT_HEADING), row->table, row->about,
                  paint(PAINT_PLAIN));
        table = row->table;
        print("%s%s%s ", paint(PAINT_HEADING), row->subject, paint(PAINT_PLAIN));
        print_wrapped((uint32_t)strlen(row->subject) + 1, 4, row->examples);
        print_wrapped((uint32_t)print("    %s: ", row->source), 6, row->advice);
        print_wrapped((uint32_t)print("    "), 6, row->reason);
        if (row->settings[0] != '\0')
            print_wrapped((uint32_t)print("    "), 6, row->settings);
    }
    return ferror(output()) ? EXIT_FAILED : EXIT_DONE;
}

static int recommended_json(FILE *out, void *data)
{
    const struct accel_tables *tables = data;
    json_t *rows = json_array();

    for (uint32_t i = 0; i < accel_recommendation_count(tables); i++) {
        const struct accel_recommendation *r = accel_recommendation_get(tables, i);

        json_add(rows, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "table", r->table, "subject", r->subject,
                                 "examples", r->examples, "advice", r->advice, "reason", r->reason, "settings",
                                 r->settings, "because", r->source, "place", json_text(r->place)));
    }
    return json_write(out, json_pack("{s:o}", "recommendations", rows), "accelctl/recommendations/1");
}

static int recommended_html(FILE *out, void *data)
{
    const struct accel_tables *tables = data;
    const char *table = "";

    html_begin(out, "Recommendations of the documents",
               "For whom the documents recommend what, and the settings it comes to.");
    for (uint32_t i = 0; i < accel_recommendation_count(tables); i++) {
        const struct accel_recommendation *row = accel_recommendation_get(tables, i);

        if (strcmp(table, row->table) != 0) {
            fputs(i == 0 ? "" : "</tbody></table>\n", out);
            html_between(out, "<h2>", row->table, ": ");
            html_between(out, "", row->about, "</h2>\n<table><tbody>\n");
        }
        table = row->table;
        html_between(out, "<tr><th scope=\"row\">", row->subject, "");
        html_between(out, "<small>", row->examples, "</small></th>");
        html_between(out, "<td>", row->advice, "");
        html_between(out, "<small>", row->source, "</small></td>");
        html_between(out, "<td>", row->reason, "</td>");
        html_between(out, "<td><code>", row->settings, "</code></td></tr>\n");
    }
    fputs("</tbody></table>\n", out);
    html_end(out);
    return ferror(out) ? EXIT_FAILED : EXIT_DONE;
}

int (*const recommendation_writers[3])(FILE *out, void *data) = {recommended_text, recommended_json, recommended_html};
