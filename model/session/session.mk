# SPDX-License-Identifier: Apache-2.0
libaccel_model_core_la_SOURCES += \
	%D%/convert.c \
	%D%/convert.h \
	%D%/generate.c \
	%D%/inputs.c \
	%D%/inputs.h \
	%D%/kv.c \
	%D%/kv.h \
	%D%/model.c \
	%D%/load.c \
	%D%/load.h \
	%D%/measure.c \
	%D%/measure.h \
	%D%/logits.c \
	%D%/logits.h \
	%D%/pages.c \
	%D%/pages.h \
	%D%/pipeline.c \
	%D%/pipeline.h \
	%D%/plan.c \
	%D%/plan.h \
	%D%/sequences.c \
	%D%/sequences.h \
	%D%/session.c \
	%D%/session.h \
	%D%/io.c \
	%D%/io.h \
	%D%/source.c \
	%D%/source.h \
	%D%/source_hash.c \
	%D%/source_hash.h \
	%D%/state.h \
	%D%/step.c \
	%D%/step.h \
	%D%/types.c \
	%D%/types.h
