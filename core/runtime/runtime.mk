# SPDX-License-Identifier: Apache-2.0
# Modules, weights, buffers, states, sets and queues; caches of kernels and packed weights; the compile worker.
libaccel_core_la_SOURCES += \
	%D%/blob.c \
	%D%/buffer.c \
	%D%/check.c \
	%D%/check.h \
	%D%/check_create.c \
	%D%/check_create.h \
	%D%/device.c \
	%D%/device.h \
	%D%/module.c \
	%D%/module_claim.c \
	%D%/module_claim.h \
	%D%/object.c \
	%D%/object.h \
	%D%/packed.c \
	%D%/packed.h \
	%D%/packed_evict.c \
	%D%/packed_file.c \
	%D%/packed_use.c \
	%D%/quarantine.c \
	%D%/queue.c \
	%D%/queue.h \
	%D%/queue_device.c \
	%D%/queue_device.h \
	%D%/scratch.c \
	%D%/scratch.h \
	%D%/set.c \
	%D%/state.c \
	%D%/state.h \
	%D%/step.c \
	%D%/step.h \
	%D%/task.c \
	%D%/task.h \
	%D%/team.c \
	%D%/team.h \
	%D%/weights.c \
	%D%/weights.h \
	%D%/worker.c \
	%D%/worker.h \
	%D%/worker_ipc.c
