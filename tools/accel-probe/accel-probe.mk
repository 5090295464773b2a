# SPDX-License-Identifier: Apache-2.0
# The child process that probes drivers, and compiles with them. Tests link its parsers.
noinst_LTLIBRARIES += libaccel-probe.la
libaccel_probe_la_SOURCES = \
	%D%/graph.c %D%/graph.h \
	%D%/job.c %D%/job.h \
	%D%/messages.c %D%/messages.h \
	%D%/reader.c %D%/reader.h
pkglibexec_PROGRAMS += tools/accel-probe/accel-probe
tools_accel_probe_accel_probe_SOURCES = %D%/compile.c %D%/main.c %D%/probe.h
tools_accel_probe_accel_probe_LDADD = libaccel-probe.la libaccel-core.la
