/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/print/plot.h"

#include <math.h>

#include "tools/accelctl/print/page.h"

enum { WIDTH = 620, HEIGHT = 340, LEFT = 74, RIGHT = 24, TOP = 16, BOTTOM = 52, COLOURS = 8, TICKS = 6 };

/* Eight hues that are distinct on white and on black; the second eight series repeat them with another shape. */
static const char *const colours[COLOURS] = {"#2f6fd0", "#d9541e", "#1f9e68", "#a44bc4",
                                             "#b8860b", "#d03a6b", "#1496a8", "#7a7f86"};

static double scale(const struct plot *plot, double y)
{
    return plot->log_y ? log10(y) : y;
}

static double at_x(const struct plot *plot, double x)
{
    return LEFT + (x - plot->x_least) / (plot->x_most - plot->x_least) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const struct plot *plot, double y)
{
    double least = scale(plot, plot->y_least), most = scale(plot, plot->y_most);

    return HEIGHT - BOTTOM - (scale(plot, y) - least) / (most - least) * (HEIGHT - TOP - BOTTOM);
}

void plot_reach(struct plot *plot, double x, double y, uint32_t first)
{
    if (plot->log_y && !(y > 0))
        return;
    plot->x_least = first || x < plot->x_least ? x : plot->x_least;
    plot->x_most = first || x > plot->x_most ? x : plot->x_most;
    plot->y_least = first || y < plot->y_least ? y : plot->y_least;
    plot->y_most = first || y > plot->y_most ? y : plot->y_most;
}

/* Returns a tick distance of 1, 2 or 5 times a power of ten, so that about TICKS of them fit. */
static double step_of(double range)
{
    double power = pow(10, floor(log10(range / TICKS))), rest = range / TICKS / power;

    return power * (rest <= 1 ? 1 : rest <= 2 ? 2 : rest <= 5 ? 5 : 10);
}

/* Widens a range to whole ticks, and answers their distance. */
static double make_round(double *least, double *most, uint32_t tight)
{
    double margin = tight ? 0 : *most > *least ? 0.04 * (*most - *least) : *most != 0 ? 0.1 * fabs(*most) : 1, step;
    double low = *least - margin, high = *most + margin;

    if (*least >= 0 && low < 0)
        low = 0;
    step = step_of(high - low);
    *least = floor(low / step + 1e-9) * step;
    *most = ceil(high / step - 1e-9) * step;
    return step;
}

static void make_round_log(double *least, double *most)
{
    *least = pow(10, floor(log10(*least * 0.95)));
    *most = pow(10, ceil(log10(*most * 1.05)));
}

/* Rounds a value to zero if it is a rounding error compared with a step. */
static double snap_to_zero(double value, double step)
{
    return fabs(value) < step * 1e-6 ? 0 : value;
}

static void tick_x(const struct plot *plot, double x)
{
    fprintf(plot->out,
            "<line class=\"g\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/><text x=\"%.1f\" y=\"%d\" "
            "text-anchor=\"middle\">%.6g</text>\n",
            at_x(plot, x), TOP, at_x(plot, x), HEIGHT - BOTTOM, at_x(plot, x), HEIGHT - BOTTOM + 16, x);
}

static void tick_y(const struct plot *plot, double y, uint32_t named)
{
    fprintf(plot->out, "<line class=\"g\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n", LEFT, at_y(plot, y),
            WIDTH - RIGHT, at_y(plot, y));
    if (named)
        fprintf(plot->out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g</text>\n", LEFT - 6, at_y(plot, y) + 4,
                y);
}

static void write_name(const struct plot *plot, const char *place, const char *name)
{
    fprintf(plot->out, "<text class=\"n\" %s text-anchor=\"middle\">", place);
    html_text(plot->out, name);
    fputs("</text>\n", plot->out);
}

void plot_begin(struct plot *plot, FILE *out)
{
    double step = make_round(&plot->x_least, &plot->x_most, plot->tight_x), y_step = 1;
    char place[96];

    plot->out = out;
    fputs("<figure><figcaption>", out);
    html_text(out, plot->title);
    fprintf(out, "</figcaption>\n<svg viewBox=\"0 0 %d %d\" role=\"img\">\n<title>", WIDTH, HEIGHT);
    html_text(out, plot->title);
    fputs("</title>\n", out);
    if (plot->log_y)
        make_round_log(&plot->y_least, &plot->y_most);
    else
        y_step = make_round(&plot->y_least, &plot->y_most, 0);
    for (int i = 0; plot->x_least + i * step <= plot->x_most + step / 2; i++)
        tick_x(plot, snap_to_zero(plot->x_least + i * step, step));
    if (!plot->log_y)
        for (int i = 0; plot->y_least + i * y_step <= plot->y_most + y_step / 2; i++)
            tick_y(plot, snap_to_zero(plot->y_least + i * y_step, y_step), 1);
    for (double power = plot->y_least; plot->log_y && power <= plot->y_most * 1.01; power *= 10)
        for (int i = 1; i < 10 && power * i <= plot->y_most * 1.01; i += i == 1 ? 1 : i == 2 ? 3 : 9)
            tick_y(plot, power * i, i == 1 || plot->y_most / plot->y_least < 1001);
    snprintf(place, sizeof(place), "x=\"%d\" y=\"%d\"", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14);
    write_name(plot, place, plot->x_name);
    snprintf(place, sizeof(place), "transform=\"translate(14 %d) rotate(-90)\"", (TOP + HEIGHT - BOTTOM) / 2);
    write_name(plot, place, plot->y_name);
}

static void write_shape(FILE *out, uint32_t index, double x, double y)
{
    const char *colour = colours[index % COLOURS];

    if (index / COLOURS % 2 == 0)
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"%s\"/>", x, y, colour);
    else
        fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"9\" height=\"9\" fill=\"%s\"/>", x - 4.5, y - 4.5, colour);
}

void plot_point(const struct plot *plot, uint32_t index, double x, double y)
{
    if (plot->log_y && !(y > 0))
        return;
    write_shape(plot->out, index, at_x(plot, x), at_y(plot, y));
    /* Puts the numbers of neighbours on two sides, since they often lie at the same place. */
    fprintf(plot->out, "<text class=\"v\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%u</text>",
            at_x(plot, x) + (index % 2 == 0 ? 8 : -8), at_y(plot, y) + (index % 2 == 0 ? -5 : 12),
            index % 2 == 0 ? "start" : "end", index + 1);
    fputc('\n', plot->out);
}

void plot_line(const struct plot *plot, uint32_t index, double x1, double y1, double x2, double y2, uint32_t dashed)
{
    if (plot->log_y && !(y1 > 0 && y2 > 0))
        return;
    fprintf(plot->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"1.5\"%s/>\n",
            at_x(plot, x1), at_y(plot, y1), at_x(plot, x2), at_y(plot, y2), colours[index % COLOURS],
            dashed ? " stroke-dasharray=\"6 4\"" : "");
}

void plot_curve_begin(const struct plot *plot, uint32_t index)
{
    fprintf(plot->out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"", colours[index % COLOURS],
            index / COLOURS % 2 == 0 ? "" : " stroke-dasharray=\"8 3\"");
}

void plot_curve_add(const struct plot *plot, double x, double y)
{
    if (!plot->log_y || y > 0)
        fprintf(plot->out, "%.1f,%.1f ", at_x(plot, x), at_y(plot, y));
}

void plot_curve_end(const struct plot *plot)
{
    fputs("\"/>\n", plot->out);
}

void plot_end(const struct plot *plot)
{
    fputs("</svg></figure>\n", plot->out);
}

void plot_mark(FILE *out, uint32_t index)
{
    fputs("<svg class=\"k\" viewBox=\"0 0 14 14\" aria-hidden=\"true\">", out);
    write_shape(out, index, 7, 7);
    fputs("</svg>", out);
}

void plot_style(FILE *out)
{
    fputs("<style>\nfigure{display:inline-block;width:36em;max-width:100%;margin:1em 1em 1em 0;vertical-align:top}\n"
          "figcaption{font-weight:600}svg{width:100%;font:12px system-ui,sans-serif;fill:currentColor}\n"
          "svg.k{width:1em;height:1em;vertical-align:-.1em;margin-right:.4em}\n"
          "svg .g{stroke:currentColor;stroke-opacity:.14}svg .v{font-weight:600}svg .n{fill-opacity:.75}\n"
          ".legend span{display:inline-block;margin-right:1.4em;white-space:nowrap}\n"
          "tbody th{min-width:11em}tbody th small{margin-top:.15em}\n"
          "td.n,th.n{text-align:right}td.n{white-space:nowrap}th.n{white-space:normal}\n</style>\n",
          out);
}
