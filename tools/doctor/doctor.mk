# SPDX-License-Identifier: Apache-2.0
# accelctl-doctor, the program of the commands doctor and snapshot. linux_*.c is the part of one operating system.
# It lies at the top of the build tree, beside uninstalled/, and has the core in it: no library of ours is linked.
noinst_LTLIBRARIES += libaccel-doctor.la
libaccel_doctor_la_SOURCES = \
	%D%/commands.h \
	%D%/doctor.c %D%/doctor.h \
	%D%/evaluate.c %D%/evaluate.h \
	%D%/evaluate_hardware.c \
	%D%/evaluate_host.c \
	%D%/evaluate_needs.c \
	%D%/evidence.c %D%/evidence.h \
	%D%/gather.c %D%/gather.h \
	%D%/gpu.c %D%/gpu.h \
	%D%/linux_libraries.c \
	%D%/linux_look.c \
	%D%/measure.c \
	%D%/options.h \
	%D%/report.c \
	%D%/snapshot.c %D%/snapshot.h \
	%D%/snapshot_command.c \
	%D%/table.c %D%/table.h \
	%D%/write_snapshot.c
libaccel_doctor_la_CPPFLAGS = $(accelctl_CPPFLAGS)
pkglibexec_PROGRAMS += accelctl-doctor
accelctl_doctor_SOURCES = %D%/main.c
accelctl_doctor_CPPFLAGS = $(accelctl_CPPFLAGS)
accelctl_doctor_LDADD = libaccel-doctor.la libaccelctl.la libaccel-history.la libaccel-core.la $(JANSSON_LIBS)
