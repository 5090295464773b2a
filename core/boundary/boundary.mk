# SPDX-License-Identifier: Apache-2.0
# Validates and copies what drivers return, and guards the calls into them.
libaccel_core_la_SOURCES += \
	%D%/host.c \
	%D%/host.h \
	%D%/import.c \
	%D%/import.h \
	%D%/import_facts.c \
	%D%/memory.c \
	%D%/memory.h
