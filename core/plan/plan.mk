# SPDX-License-Identifier: Apache-2.0
libaccel_core_la_SOURCES += \
	%D%/create.c \
	%D%/memory.c \
	%D%/place.c \
	%D%/plan.h \
	%D%/settings.c
