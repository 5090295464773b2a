# SPDX-License-Identifier: Apache-2.0
libaccel_model_core_la_SOURCES += \
	%D%/family.c \
	%D%/family.h \
	%D%/llama.c \
	%D%/rope.c \
	%D%/rope.h \
	%D%/weights.c \
	%D%/weights.h
