# SPDX-License-Identifier: Apache-2.0
# The opencl driver. Kernel texts are compiled on the device; the library is opened at run time and never linked.
drivers_LTLIBRARIES += plugins/opencl/opencl.la
plugins_opencl_opencl_la_SOURCES = \
	%D%/functions.def \
	%D%/opencl.h \
	%D%/device.c \
	%D%/driver.c \
	%D%/binaries.c \
	%D%/list.c \
	%D%/memory.c \
	%D%/physical.c \
	%D%/pipeline.c \
	%D%/queue.c \
	%D%/report.c \
	%D%/runtime.c
plugins_opencl_opencl_la_LDFLAGS = $(driver_ldflags)
plugins_opencl_opencl_la_LIBADD = libaccel-gpu.la $(driver_libs) -lpthread -lm

plugins/opencl/driver.lo: plugins/opencl/kernels.h
plugins/opencl/kernels.h: $(gpu_kernel_texts) sdk/gpu/embed.sh
	@$(MKDIR_P) plugins/opencl
	$(AM_V_GEN)$(SHELL) $(srcdir)/sdk/gpu/embed.sh opencl $(srcdir)/sdk/gpu/kernels/sources.def $@
CLEANFILES += plugins/opencl/kernels.h
