# SPDX-License-Identifier: Apache-2.0
# The vulkan driver. Tests link what lies under its host room.
noinst_LTLIBRARIES += libvulkan-api.la
libvulkan_api_la_SOURCES = \
	%D%/vulkan.h \
	%D%/device.c \
	%D%/list.c \
	%D%/memory.c \
	%D%/physical.c \
	%D%/pipeline.c \
	%D%/queue.c \
	%D%/report.c \
	%D%/runtime.c
