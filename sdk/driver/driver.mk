# SPDX-License-Identifier: Apache-2.0
# libaccel-driver, the library that drivers are built with.
acceldriverinclude_HEADERS += \
	%D%/include/accel/driver/kernel.h \
	%D%/include/accel/driver/note.h \
	%D%/include/accel/driver/sdk.h

libaccel_driver_la_SOURCES += \
	%D%/barrier.c \
	%D%/claim.c \
	%D%/estimate.c \
	%D%/graph.c \
	%D%/graph.h \
	%D%/group.c \
	%D%/instance.c \
	%D%/later.c \
	%D%/layout.c \
	%D%/linux_wait.c \
	%D%/lives.c \
	%D%/module.c \
	%D%/processors.c \
	%D%/program.h \
	%D%/pull.c \
	%D%/run.c \
	%D%/set.c \
	%D%/share.c \
	%D%/text.c \
	%D%/wait.h \
	%D%/weights.c
