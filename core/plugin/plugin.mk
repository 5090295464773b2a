# SPDX-License-Identifier: Apache-2.0
libaccel_core_la_SOURCES += \
	%D%/lock.c \
	%D%/plugin.h
