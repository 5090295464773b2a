/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charts as SVG inside a page: axes with round ticks, points and curves. Each series has a colour, a shape and a number
 * beside it, so that a chart can be read without colours.
 */
#ifndef ACCELCTL_PLOT_H
#define ACCELCTL_PLOT_H

#include <stdint.h>
#include <stdio.h>

/* A chart between two calls. The caller fills in everything above `out`. */
struct plot {
    const char *title;
    const char *x_name, *y_name;
    double x_least, x_most, y_least, y_most; /* of the values; plot_begin makes them round */
    uint32_t log_y;                          /* 1: all y are above 0 */
    uint32_t tight_x;                        /* 1: the axis ends where the values do */
    FILE *out;
};

/* Makes room for a value in the ranges; the first call begins them. A y that a logarithm does not have is left out. */
void plot_reach(struct plot *plot, double x, double y, uint32_t first);
/* Writes frame, ticks and names. */
void plot_begin(struct plot *plot, FILE *out);
/* A point of series `index`, with its number where `numbered` is 1. */
void plot_point(const struct plot *plot, uint32_t index, double x, double y, uint32_t numbered);
/* A straight line, dashed where `dashed` is 1. */
void plot_line(const struct plot *plot, uint32_t index, double x1, double y1, double x2, double y2, uint32_t dashed);
/* A curve through points, added one after the other. */
void plot_curve_begin(const struct plot *plot, uint32_t index);
void plot_curve_add(const struct plot *plot, double x, double y);
void plot_curve_end(const struct plot *plot);
void plot_end(const struct plot *plot);
/* The mark of a series for a table or a legend. */
void plot_mark(FILE *out, uint32_t index);
/* What charts add to the style of a page. */
void plot_style(FILE *out);

#endif
