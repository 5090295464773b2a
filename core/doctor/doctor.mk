# SPDX-License-Identifier: Apache-2.0
# linux_*.c is the part of one operating system.
libaccel_core_la_SOURCES += \
	%D%/doctor.c %D%/doctor.h \
	%D%/evaluate.c %D%/evaluate.h \
	%D%/evaluate_hardware.c \
	%D%/evaluate_host.c \
	%D%/evaluate_needs.c \
	%D%/gather.c %D%/gather.h \
	%D%/linux_libraries.c \
	%D%/linux_look.c \
	%D%/measure.c \
	%D%/record.c \
	%D%/table.c %D%/table.h
