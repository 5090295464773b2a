# SPDX-License-Identifier: Apache-2.0
# linux_*.c is the part of one operating system.
libaccel_core_la_SOURCES += \
	%D%/linux_place.c \
	%D%/linux_wait.c \
	%D%/place.h \
	%D%/pool.c %D%/pool.h \
	%D%/wait.h
