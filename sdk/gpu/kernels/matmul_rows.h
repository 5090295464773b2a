/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of products of matrices. */
uint k;
uint n;        /* rows of W here */
uint first;    /* the column of y that the first of them gives */
uint stride;   /* columns of y */
uint rows;     /* of x */
uint function; /* no constant: pipelines are few, and seldom wait for this */
uint adds;     /* 1: bias, 2: residual */
uint base;     /* element of y that row 0 of x begins at */
