# SPDX-License-Identifier: Apache-2.0
# linux.c is the part of one operating system.
libaccel_core_la_SOURCES += \
	%D%/linux.c \
	%D%/pool.c %D%/pool.h \
	%D%/system.h
