# SPDX-License-Identifier: Apache-2.0
# The tables of the profiles that are no settings, and advice on a plan. Of libaccel-core.la the readers of YAML, settings
# and conditions are linked.
noinst_LTLIBRARIES += libaccel-tables.la
libaccel_tables_la_SOURCES = \
	%D%/advice.c \
	%D%/claims.c \
	%D%/compat.c \
	%D%/formula.c \
	%D%/internal.h \
	%D%/reader.c \
	%D%/recommendations.c \
	%D%/steps.c %D%/steps.h \
	%D%/tables.c %D%/tables.h
