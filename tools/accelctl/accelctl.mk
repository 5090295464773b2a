# SPDX-License-Identifier: Apache-2.0
# The command.
bin_PROGRAMS += accelctl
accelctl_SOURCES = \
	%D%/common.c \
	%D%/common.h \
	%D%/main.c \
	%D%/model.c \
	%D%/model.h \
	%D%/option.c \
	%D%/print_plan.c \
	%D%/print_plan.h \
	%D%/prompt.c \
	%D%/prompt.h \
	%D%/verb.h \
	%D%/verb_devices.c \
	%D%/verb_plan.c \
	%D%/verb_plugins.c \
	%D%/verb_run.c \
	%D%/verb_trace.c \
	%D%/verb_version.c
accelctl_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
accelctl_LDFLAGS = $(bin_ldflags)
accelctl_LDADD = libaccel-model.la libaccel.la $(JANSSON_LIBS)
