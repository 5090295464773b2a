# SPDX-License-Identifier: Apache-2.0
# The child process that probes drivers.
pkglibexec_PROGRAMS += tools/accel-probe/accel-probe
tools_accel_probe_accel_probe_SOURCES = %D%/compile.c %D%/main.c %D%/probe.h
tools_accel_probe_accel_probe_LDADD = libaccel-core.la
