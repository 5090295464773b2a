# SPDX-License-Identifier: Apache-2.0
# The kernels of the cpu driver: libcpu-kernels.la holds the dispatch and the scalar twins, compiled for any processor;
# each level of vector instructions is a library of its own, the only objects that get the level's flags.
noinst_LTLIBRARIES += libcpu-kernels.la
libcpu_kernels_la_SOURCES = %D%/kernels.h %D%/kernels.def %D%/declare.h %D%/dispatch.c \
	%D%/scalar/scalar.h %D%/scalar/matmul.c %D%/scalar/rows.c %D%/scalar/pointwise.c %D%/scalar/attention.c
libcpu_kernels_la_LIBADD = libaccel-quant.la -lm
