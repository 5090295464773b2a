# SPDX-License-Identifier: Apache-2.0
# Measuring: statistics, limits of the machine, disturbances. For accelctl bench and the programs of tests/bench.
noinst_LTLIBRARIES += libaccel-measure.la
libaccel_measure_la_SOURCES = \
	%D%/memory.c \
	%D%/memory.h \
	%D%/noise.c \
	%D%/noise.h \
	%D%/peak.c \
	%D%/peak.h \
	%D%/sequences.h \
	%D%/sequences_arm.c \
	%D%/sequences_x86.c \
	%D%/spread.c \
	%D%/spread.h \
	%D%/team.c \
	%D%/team.h
