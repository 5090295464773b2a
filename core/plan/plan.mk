# SPDX-License-Identifier: Apache-2.0
libaccel_core_la_SOURCES += \
	%D%/create.c \
	%D%/facts.c \
	%D%/memory.c \
	%D%/place.c \
	%D%/plan.h \
	%D%/records.c \
	%D%/settings.c
