/* SPDX-License-Identifier: Apache-2.0 */
/* Draws charts as SVG inside a page: axes with round ticks, points and curves. Each series has a colour, a shape
 * and a number beside it, so that a chart can be read without colours. */
#ifndef ACCELCTL_PLOT_H
#define ACCELCTL_PLOT_H

#include <stdint.h>
#include <stdio.h>

/* Chart in progress. The caller fills in everything above `out`. */
struct plot {
    const char *title;
    const char *x_name, *y_name;
    double x_least, x_most, y_least, y_most; /* of the values; plot_begin makes them round */
    uint32_t log_y;                          /* 1: all y are above 0 */
    uint32_t tight_x;                        /* 1: the axis ends where the values do */
    FILE *out;
};

/* Extends the ranges of the axes to a value; the first call begins them. A y that a logarithm does not have is
 * left out. */
void plot_reach(struct plot *plot, double x, double y, uint32_t first);
/* Writes frame, ticks and names. */
void plot_begin(struct plot *plot, FILE *out);
/* Draws a point of series `index` with its number. */
void plot_point(const struct plot *plot, uint32_t index, double x, double y);
/* Draws a straight line, dashed if `dashed` is 1. */
void plot_line(const struct plot *plot, uint32_t index, double x1, double y1, double x2, double y2, uint32_t dashed);
/* Draw a curve through points, added one after the other. */
void plot_curve_begin(const struct plot *plot, uint32_t index);
void plot_curve_add(const struct plot *plot, double x, double y);
void plot_curve_end(const struct plot *plot);
void plot_end(const struct plot *plot);
/* Writes the mark of a series for a table or a legend. */
void plot_mark(FILE *out, uint32_t index);
/* Writes the style rules of charts, to be added to those of the page. */
void plot_style(FILE *out);

#endif
