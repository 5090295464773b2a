# SPDX-License-Identifier: Apache-2.0
libaccel_model_core_la_SOURCES += \
	%D%/adapt.c \
	%D%/adapt.h \
	%D%/adapt_notes.c \
	%D%/compare.c \
	%D%/compare.h \
	%D%/create.c \
	%D%/disk_rate.c \
	%D%/disk_rate.h \
	%D%/experts.c \
	%D%/identity.c \
	%D%/identity.h \
	%D%/internal.h \
	%D%/json.c \
	%D%/json.h \
	%D%/json_shape_plan.c \
	%D%/load.c \
	%D%/load.h \
	%D%/record.c %D%/record.h %D%/repeat.c \
	%D%/run.c \
	%D%/run.h \
	%D%/search.c \
	%D%/sequences.c \
	%D%/stages.c \
	%D%/stages.h \
	%D%/write.c
