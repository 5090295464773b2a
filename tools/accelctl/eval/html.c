/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <math.h>
#include <stdbool.h>

#include "tools/accelctl/command.h"
#include "tools/accelctl/errors.h"
#include "tools/accelctl/eval/eval.h"
#include "tools/accelctl/print/page.h"
#include "tools/accelctl/print/plot.h"

enum { CURVE_POINTS = 200 };

static double mebibytes(const struct eval_row *row)
{
    return (double)accel_eval_tensors_sums(row->tensors)->bytes / 1048576.0;
}

static bool has_reference(const struct eval_report *report)
{
    return report->reference.path != NULL;
}

/* ---- table ---- */

static void write_head(FILE *out, const struct eval_report *report)
{
    fputs("<table><thead><tr><th>model</th><th class=\"n\">tensors</th><th class=\"n\">bits per weight</th>", out);
    if (report->eval != NULL)
        fputs("<th class=\"n\">perplexity</th>", out);
    if (report->eval != NULL && has_reference(report))
        fputs("<th class=\"n\">change</th><th class=\"n\">KL mean</th><th class=\"n\">KL 99 %</th>"
              "<th class=\"n\">top-1</th>",
              out);
    if (has_reference(report))
        fputs("<th class=\"n\">error of tensors</th>", out);
    fputs("</tr></thead>\n<tbody>\n", out);
}

/* "q4_g128 52.1 MiB, F32 0.13 MiB" */
static void write_kinds(FILE *out, const struct eval_row *row)
{
    struct eval_kind kinds[KINDS_MOST];
    uint32_t count = eval_kinds(row, kinds);
    char bytes[32];

    fputs(count > 0 ? "<small>" : "", out);
    for (uint32_t i = 0; i < count; i++) {
        fputs(i > 0 ? ", " : "", out);
        html_text(out, kinds[i].type);
        fprintf(out, " %s", bytes_text(kinds[i].bytes, bytes));
    }
    fputs(count > 0 ? "</small>" : "", out);
}

static void write_row(FILE *out, const struct eval_report *report, const struct eval_row *row)
{
    const struct accel_eval_tensor_sums *sums = accel_eval_tensors_sums(row->tensors);
    bool compared = has_reference(report) && row != &report->reference;
    char bytes[32];

    fputs("<tr><th scope=\"row\">", out);
    if (row == &report->reference)
        fputs("reference: ", out);
    else
        plot_mark(out, row->index);
    if (row != &report->reference)
        fprintf(out, "%u. ", row->index + 1);
    html_text(out, row->name);
    if (compared)
        write_kinds(out, row);
    fprintf(out, "</th><td class=\"n\">%s</td><td class=\"n\">%.3f</td>", bytes_text(sums->bytes, bytes),
            sums->bits_per_weight);
    if (row->result != NULL)
        fprintf(out, "<td class=\"n\">%.4f ± %.2f</td>", row->result->perplexity, row->result->perplexity_error);
    if (row->result != NULL && compared)
        fprintf(out,
                "<td class=\"n\">%+.2f %%</td><td class=\"n\">%.6f</td><td class=\"n\">%.6f</td>"
                "<td class=\"n\">%.2f %%</td>",
                100 * expm1(row->result->loss_change), row->result->kl, row->result->kl_99, 100 * row->result->top1);
    else if (row->result != NULL && has_reference(report))
        fputs("<td></td><td></td><td></td><td></td>", out);
    if (compared && sums->compared > 0)
        fprintf(out, "<td class=\"n\">%.5f</td>", sums->relative_error);
    else if (has_reference(report))
        fputs("<td></td>", out);
    fputs("</tr>\n", out);
}

static void write_table(FILE *out, const struct eval_report *report)
{
    write_head(out, report);
    if (has_reference(report))
        write_row(out, report, &report->reference);
    for (uint32_t i = 0; i < report->count; i++)
        write_row(out, report, &report->rows[i]);
    fputs("</tbody></table>\n", out);
}

/* ---- charts ---- */

/* Writes the legend: the meaning of numbers and colours in all charts. */
static void write_legend(FILE *out, const struct eval_report *report)
{
    fputs("<p class=\"legend\">", out);
    for (uint32_t i = 0; i < report->count; i++) {
        fputs("<span>", out);
        plot_mark(out, i);
        fprintf(out, "%u. ", i + 1);
        html_text(out, report->rows[i].name);
        fputs("</span> ", out);
    }
    fputs("</p>\n", out);
}

static void chart_perplexity(FILE *out, const struct eval_report *report)
{
    struct plot plot = {.title = has_reference(report) ? "Perplexity over size; dashed: the reference"
                                                       : "Perplexity over size",
                        .x_name = "tensors, MiB",
                        .y_name = "perplexity"};
    double reference = has_reference(report) ? report->reference.result->perplexity : 0;

    for (uint32_t i = 0; i < report->count; i++)
        plot_reach(&plot, mebibytes(&report->rows[i]), report->rows[i].result->perplexity, i == 0);
    if (has_reference(report))
        plot_reach(&plot, plot.x_least, reference, 0);
    plot.log_y = plot.y_most > 20 * plot.y_least;
    plot_begin(&plot, out);
    if (has_reference(report))
        plot_line(&plot, 7, plot.x_least, reference, plot.x_most, reference, 1);
    for (uint32_t i = 0; i < report->count; i++)
        plot_point(&plot, i, mebibytes(&report->rows[i]), report->rows[i].result->perplexity);
    plot_end(&plot);
}

/* Draws the mean with a line up to the 99th percentile. Models without any difference are left out, since zero has
 * no logarithm. */
static void chart_divergence(FILE *out, const struct eval_report *report)
{
    struct plot plot = {.title = "KL divergence over size: mean to 99th percentile",
                        .x_name = "tensors, MiB",
                        .y_name = "nats",
                        .log_y = 1};
    uint32_t taken = 0;

    for (uint32_t i = 0; i < report->count; i++)
        if (report->rows[i].result->kl > 0) {
            plot_reach(&plot, mebibytes(&report->rows[i]), report->rows[i].result->kl, taken++ == 0);
            plot_reach(&plot, mebibytes(&report->rows[i]), report->rows[i].result->kl_99, 0);
        }
    if (taken == 0)
        return;
    plot_begin(&plot, out);
    for (uint32_t i = 0; i < report->count; i++) {
        const struct accel_eval_result *result = report->rows[i].result;

        plot_line(&plot, i, mebibytes(&report->rows[i]), result->kl, mebibytes(&report->rows[i]), result->kl_99, 0);
        plot_point(&plot, i, mebibytes(&report->rows[i]), result->kl);
    }
    plot_end(&plot);
}

static double share(uint32_t step)
{
    return (double)step / CURVE_POINTS;
}

static void chart_quantiles(FILE *out, const struct eval_report *report)
{
    struct plot plot = {.title = "KL divergence by token: the share of tokens that stay below it",
                        .x_name = "share of tokens",
                        .y_name = "nats",
                        .log_y = 1,
                        .tight_x = 1};
    uint32_t taken = 0;

    for (uint32_t i = 0; i < report->count; i++)
        for (uint32_t step = CURVE_POINTS / 10; step <= CURVE_POINTS; step++)
            if (accel_eval_quantile(report->eval, i, share(step)) > 0)
                plot_reach(&plot, share(step), accel_eval_quantile(report->eval, i, share(step)), taken++ == 0);
    if (taken == 0)
        return;
    plot.x_least = 0;
    plot.x_most = 1;
    plot_begin(&plot, out);
    for (uint32_t i = 0; i < report->count; i++) {
        uint32_t step;

        plot_curve_begin(&plot, i);
        for (step = CURVE_POINTS / 10; step <= CURVE_POINTS; step++)
            plot_curve_add(&plot, share(step), accel_eval_quantile(report->eval, i, share(step)));
        plot_curve_end(&plot);
        step = CURVE_POINTS / 4 + CURVE_POINTS / 2 * i / report->count;
        plot_point(&plot, i, share(step), accel_eval_quantile(report->eval, i, share(step)));
    }
    plot_end(&plot);
}

/* Draws the errors of tensors, the worst first; copied tensors have none. */
static void chart_tensors(FILE *out, const struct eval_report *report)
{
    struct plot plot = {.title = "Relative error of tensors, the largest first",
                        .x_name = "tensors with a larger error",
                        .y_name = "relative error"};
    const struct accel_eval_tensor *tensor;
    uint32_t taken = 0, at;

    for (uint32_t i = 0; i < report->count; i++)
        for (uint64_t j = 0; (tensor = accel_eval_tensors_get(report->rows[i].tensors, j)) != NULL; j++)
            if (tensor->compared && isfinite(tensor->relative_error))
                plot_reach(&plot, (double)j, tensor->relative_error, taken++ == 0);
    if (taken == 0)
        return;
    plot_begin(&plot, out);
    for (uint32_t i = 0; i < report->count; i++) {
        plot_curve_begin(&plot, i);
        for (uint64_t j = 0; (tensor = accel_eval_tensors_get(report->rows[i].tensors, j)) != NULL; j++)
            if (tensor->compared && isfinite(tensor->relative_error))
                plot_curve_add(&plot, (double)j, tensor->relative_error);
        plot_curve_end(&plot);
        at = taken / report->count * (i + 1) / (2 * (report->count + 1));
        tensor = accel_eval_tensors_get(report->rows[i].tensors, at);
        if (tensor != NULL && tensor->compared && isfinite(tensor->relative_error))
            plot_point(&plot, i, (double)at, tensor->relative_error);
    }
    plot_end(&plot);
}

/* ---- worst tensors ---- */

static void write_worst(FILE *out, const struct eval_report *report, const struct eval_row *row)
{
    const struct accel_eval_tensor *tensor;

    fputs("<h2>", out);
    html_text(out, row->name);
    fputs(": tensors with the largest errors</h2>\n<table><thead><tr><th>tensor</th><th>reference</th><th>type</th>"
          "<th class=\"n\">weights</th><th class=\"n\">relative error</th><th class=\"n\">largest difference</th></tr>"
          "</thead>\n<tbody>\n",
          out);
    for (uint64_t i = 0; i < report->worst && (tensor = accel_eval_tensors_get(row->tensors, i)) != NULL; i++) {
        fputs("<tr><th scope=\"row\">", out);
        html_text(out, tensor->name);
        fputs("</th><td>", out);
        html_text(out, tensor->reference);
        fputs("</td><td>", out);
        html_text(out, tensor->type);
        fprintf(out, "</td><td class=\"n\">%llu</td>", (unsigned long long)tensor->elements);
        if (tensor->compared)
            fprintf(out, "<td class=\"n\">%.5f</td><td class=\"n\">%.4g</td></tr>\n", tensor->relative_error,
                    tensor->largest);
        else {
            fputs("<td colspan=\"2\">not compared: ", out);
            html_text(out, tensor->reason);
            fputs("</td></tr>\n", out);
        }
    }
    fputs("</tbody></table>\n", out);
}

int eval_html(FILE *out, void *data)
{
    const struct eval_report *report = data;
    char method[400] = "Tensors compared by name; no text was read.";

    if (report->eval != NULL)
        eval_method(report, method);
    html_begin(out, "Evaluation of models", method);
    plot_style(out);
    write_table(out, report);
    fputs(
        "<p><small>Perplexity is e to the mean of -log p over predicted tokens, ± one standard error over tokens. KL "
        "is "
        "the divergence from the reference's distribution at each token, in nats. Top-1 is the share of tokens before "
        "which both have the same likeliest token. The error of a tensor is the root of the sum of squared "
        "differences over that of the reference's squares.</small></p>\n",
        out);
    if (report->eval != NULL || has_reference(report))
        write_legend(out, report);
    if (report->eval != NULL)
        chart_perplexity(out, report);
    if (report->eval != NULL && has_reference(report)) {
        chart_divergence(out, report);
        chart_quantiles(out, report);
    }
    if (has_reference(report))
        chart_tensors(out, report);
    for (uint32_t i = 0; has_reference(report) && report->worst > 0 && i < report->count; i++)
        write_worst(out, report, &report->rows[i]);
    html_end(out);
    return ferror(out) ? EXIT_FAILED : EXIT_DONE;
}
