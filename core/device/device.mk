# SPDX-License-Identifier: Apache-2.0
libaccel_core_la_SOURCES += \
	%D%/around.c \
	%D%/attach.c \
	%D%/blob.c \
	%D%/buffer.c \
	%D%/check.c \
	%D%/check_create.c \
	%D%/choose.c \
	%D%/context.c %D%/context.h \
	%D%/crew.c \
	%D%/device.c \
	%D%/host.c %D%/host.h \
	%D%/machine.c \
	%D%/machine_facts.c \
	%D%/memory.c %D%/memory.h \
	%D%/model_facts.c \
	%D%/module.c \
	%D%/module_claim.c \
	%D%/object.c %D%/object.h \
	%D%/packed.c %D%/packed.h \
	%D%/packed_file.c \
	%D%/packed_room.c \
	%D%/packed_use.c \
	%D%/profile.c \
	%D%/profiles.c \
	%D%/quarantine.c \
	%D%/queue.c \
	%D%/queue_device.c \
	%D%/rank.c \
	%D%/registry.c \
	%D%/replay.c \
	%D%/scratch.c \
	%D%/set.c \
	%D%/state.c \
	%D%/take.c %D%/take.h \
	%D%/take_facts.c \
	%D%/task.c \
	%D%/weights.c \
	%D%/work.c \
	%D%/worker.c %D%/worker.h \
	%D%/worker_child.c \
	%D%/worker_wire.c
