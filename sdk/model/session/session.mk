# SPDX-License-Identifier: Apache-2.0
accelmodelinclude_HEADERS += \
	sdk/model/include/accel/model/generate.h \
	sdk/model/include/accel/model/session.h

libaccel_model_core_la_SOURCES += \
	%D%/convert.c \
	%D%/generate.c \
	%D%/inputs.c \
	%D%/internal.h \
	%D%/kv.c \
	%D%/kv.h \
	%D%/model.c \
	%D%/load.c \
	%D%/pages.c \
	%D%/pieces.c \
	%D%/plan.c \
	%D%/sequences.c \
	%D%/session.c \
	%D%/slots.c \
	%D%/source.c \
	%D%/source_hash.c \
	%D%/step.c \
	%D%/types.c
