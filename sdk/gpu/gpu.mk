# SPDX-License-Identifier: Apache-2.0
# The host room of drivers whose devices run kernels, and what makes C of kernel texts. A plugin links libaccel-gpu.la
# and the table of sources of its API.
noinst_LTLIBRARIES += libaccel-gpu.la
libaccel_gpu_la_SOURCES = \
	%D%/api.h \
	%D%/host.h \
	%D%/kernel.h \
	%D%/line.h \
	%D%/room.h \
	%D%/arena.c \
	%D%/buffer.c \
	%D%/instance.c \
	%D%/lower.c \
	%D%/module.c \
	%D%/pipeline.c \
	%D%/queue.c \
	%D%/set.c \
	%D%/shape.c \
	%D%/state.c \
	%D%/step.c \
	%D%/transfer.c \
	%D%/weights.c
EXTRA_DIST += %D%/embed.sh
