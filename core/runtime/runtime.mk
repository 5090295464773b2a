# SPDX-License-Identifier: Apache-2.0
# Modules, weights, buffers, states, sets and queues; caches of kernels and packed weights; the compile worker.
libaccel_core_la_SOURCES += \
	%D%/blob.c \
	%D%/buffer.c \
	%D%/check.c \
	%D%/check.h \
	%D%/check_create.c \
	%D%/device.c \
	%D%/device.h \
	%D%/module.c \
	%D%/module.h \
	%D%/module_claim.c \
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
	%D%/scratch.c \
	%D%/set.c \
	%D%/state.c \
	%D%/step.c \
	%D%/task.c \
	%D%/task.h \
	%D%/team.c \
	%D%/weights.c \
	%D%/worker.c \
	%D%/worker.h \
	%D%/worker_ipc.c
