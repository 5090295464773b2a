# SPDX-License-Identifier: Apache-2.0
libaccel_core_la_SOURCES += \
	%D%/advice.c \
	%D%/claims.c \
	%D%/compat.c \
	%D%/context.c \
	%D%/formula.c \
	%D%/internal.h \
	%D%/reader.c \
	%D%/recommendations.c \
	%D%/tables.c %D%/tables.h
