# SPDX-License-Identifier: Apache-2.0
libaccel_core_la_SOURCES += \
	%D%/builder.c \
	%D%/dim.c %D%/dim.h \
	%D%/infer.c %D%/infer.h %D%/infer_arrange.c %D%/infer_space.c \
	%D%/lifetime.c %D%/lifetime.h \
	%D%/ops.c %D%/ops.h \
	%D%/pack.c %D%/pack.h \
	%D%/types.c %D%/types.h \
	%D%/verify.c %D%/verify.h
