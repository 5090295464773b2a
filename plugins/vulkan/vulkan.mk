# SPDX-License-Identifier: Apache-2.0
# The vulkan driver. Tests link its part below the GPU library.
noinst_LTLIBRARIES += libvulkan-api.la
libvulkan_api_la_SOURCES = \
	%D%/vulkan.h \
	%D%/device.c \
	%D%/list.c \
	%D%/matrix.c \
	%D%/memory.c \
	%D%/physical.c \
	%D%/pipeline.c \
	%D%/queue.c \
	%D%/report.c \
	%D%/runtime.c

drivers_LTLIBRARIES += plugins/vulkan/vulkan.la
plugins_vulkan_vulkan_la_SOURCES = %D%/driver.c
plugins_vulkan_vulkan_la_LDFLAGS = $(driver_ldflags)
plugins_vulkan_vulkan_la_LIBADD = libvulkan-api.la libaccel-gpu.la $(driver_libs) -lpthread -lm

plugins/vulkan/driver.lo: plugins/vulkan/kernels.h
plugins/vulkan/kernels.h: $(gpu_kernel_texts) sdk/gpu/embed.sh
	@$(MKDIR_P) plugins/vulkan
	$(AM_V_GEN)GLSLC='$(GLSLC)' COOPMAT='$(GLSLC_COOPMAT)' $(SHELL) $(srcdir)/sdk/gpu/embed.sh spirv $(srcdir)/sdk/gpu/kernels/sources.def $@
CLEANFILES += plugins/vulkan/kernels.h
