# SPDX-License-Identifier: Apache-2.0
libaccel_model_core_la_SOURCES += \
	%D%/adapt.c \
	%D%/adapt.h \
	%D%/adapt_notes.c \
	%D%/create.c \
	%D%/experts.c \
	%D%/identity.c \
	%D%/identity.h \
	%D%/internal.h \
	%D%/json.c \
	%D%/json.h \
	%D%/json_shape_plan.c \
	%D%/repeat.c \
	%D%/search.c \
	%D%/sequences.c \
	%D%/write.c
