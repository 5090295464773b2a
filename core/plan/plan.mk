# SPDX-License-Identifier: Apache-2.0
libaccel_core_la_SOURCES += \
	%D%/bookkeeping.c \
	%D%/budget.c \
	%D%/cores.c \
	%D%/create.c \
	%D%/decline.c \
	%D%/described.c \
	%D%/devices.c \
	%D%/facts.c \
	%D%/history.c \
	%D%/history.h \
	%D%/honored.h \
	%D%/stages.c \
	%D%/limits.c \
	%D%/memory.c \
	%D%/memory.h \
	%D%/options.c \
	%D%/place.c \
	%D%/placer.h \
	%D%/plan.h \
	%D%/records.c \
	%D%/refused.c \
	%D%/rules.c \
	%D%/runnable.c \
	%D%/settings.c \
	%D%/settings.h \
	%D%/shape_memory.c \
	%D%/shape_plan.c \
	%D%/shape_plan.h \
	%D%/speed.c \
	%D%/spread.c \
	%D%/types.c
