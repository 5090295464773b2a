# SPDX-License-Identifier: Apache-2.0
# linux_*.c is the part of one operating system.
libaccel_core_la_SOURCES += \
	%D%/devices.c \
	%D%/internal.h \
	%D%/limits.h \
	%D%/linux_devices.c \
	%D%/linux_limits.c \
	%D%/pci_names.c \
	%D%/processors.c \
	%D%/threads.c \
	%D%/topology.c %D%/topology.h
