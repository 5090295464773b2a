# SPDX-License-Identifier: Apache-2.0
# libaccel-driver, the library that drivers are built with.
libaccel_driver_la_SOURCES += \
	%D%/barrier.c \
	%D%/claim.c \
	%D%/estimate.c \
	%D%/graph.c \
	%D%/graph.h \
	%D%/group.c \
	%D%/instance.c \
	%D%/abi_check.c \
	%D%/layout.c \
	%D%/linux_wait.c \
	%D%/lifetimes.c \
	%D%/module.c \
	%D%/processors.c \
	%D%/program.h \
	%D%/load.c \
	%D%/run.c \
	%D%/set.c \
	%D%/schedule.c \
	%D%/text.c \
	%D%/wait.h \
	%D%/weights.c
