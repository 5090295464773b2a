# SPDX-License-Identifier: Apache-2.0
# The cpu driver.
include $(top_srcdir)/plugins/cpu/kernels/kernels.mk

drivers_LTLIBRARIES += plugins/cpu/cpu.la
plugins_cpu_cpu_la_SOURCES = \
	%D%/device.h \
	%D%/driver.c \
	%D%/experts.h \
	%D%/experts.c \
	%D%/layout.h \
	%D%/layout.c \
	%D%/operators/operators.h \
	%D%/operators/arrange.c \
	%D%/operators/attention.c \
	%D%/operators/conv.c \
	%D%/operators/expert.c \
	%D%/operators/half.c \
	%D%/operators/matmul.c \
	%D%/operators/rows.c \
	%D%/operators/sample.c \
	%D%/operators/table.c
plugins_cpu_cpu_la_LDFLAGS = $(driver_ldflags)
plugins_cpu_cpu_la_LIBADD = libcpu-kernels.la $(driver_libs)
