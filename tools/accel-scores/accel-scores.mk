# SPDX-License-Identifier: Apache-2.0
# accelctl-scores, the program of the external command scores.
noinst_LTLIBRARIES += libaccel-scores.la
libaccel_scores_la_SOURCES = \
	%D%/csv.c \
	%D%/formula.c \
	%D%/grid.c \
	%D%/internal.h \
	%D%/measures.c \
	%D%/scores.h \
	%D%/tune.c %D%/tune.h
# Of the last two, accel_file_read and model_quote alone are linked.
accel_scores_libs = libaccel-scores.la libaccel.la libaccel-model-core.la libaccel-core.la -lm
pkglibexec_PROGRAMS += tools/accel-scores/accelctl-scores
tools_accel_scores_accelctl_scores_SOURCES = %D%/main.c %D%/options.h
tools_accel_scores_accelctl_scores_CPPFLAGS = $(accelctl_CPPFLAGS)
tools_accel_scores_accelctl_scores_LDFLAGS = $(libexec_ldflags)
tools_accel_scores_accelctl_scores_LDADD = libaccelctl.la libaccel-model.la $(accel_scores_libs) $(JANSSON_LIBS)
