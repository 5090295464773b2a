# SPDX-License-Identifier: Apache-2.0
# The kernels of the cpu driver: libcpu-kernels.la holds the dispatch and the scalar twins, compiled for any processor;
# each level of vector instructions is a library of its own, the only objects that get the level's flags.
noinst_LTLIBRARIES += libcpu-kernels.la
libcpu_kernels_la_SOURCES = %D%/kernels.h %D%/kernels.def %D%/declare.h %D%/dispatch.c \
	%D%/scalar/scalar.h %D%/scalar/matmul.c %D%/scalar/rows.c %D%/scalar/pointwise.c %D%/scalar/attention.c
libcpu_kernels_la_LIBADD = libaccel-quant.la -lm

# Compiled once per level, with -DCPU_BUILD_LEVEL and the level's flags.
cpu_kernels_vector = %D%/vector/vec.h %D%/vector/layout.h %D%/vector/math.h %D%/vector/finish.h %D%/vector/panel.h \
	%D%/vector/pointwise.c %D%/vector/rows.c %D%/vector/attention.c %D%/vector/matmul.c %D%/vector/quantize.c

if HAVE_AVX2
noinst_LTLIBRARIES += libcpu-kernels-avx2.la
libcpu_kernels_avx2_la_SOURCES = $(cpu_kernels_vector) %D%/avx2/matmul8.c
libcpu_kernels_avx2_la_CFLAGS = $(AM_CFLAGS) $(AVX2_CFLAGS)
libcpu_kernels_la_LIBADD += libcpu-kernels-avx2.la
endif
