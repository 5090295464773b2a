# SPDX-License-Identifier: Apache-2.0
libaccel_core_la_SOURCES += \
	%D%/cache.c %D%/cache.h %D%/cache_key.c \
	%D%/child.c %D%/child.h \
	%D%/elf.c %D%/elf.h \
	%D%/gate.c %D%/gate.h \
	%D%/intake.c %D%/intake.h \
	%D%/load.c %D%/load.h \
	%D%/lock.c \
	%D%/mark.c %D%/mark.h \
	%D%/note.c \
	%D%/plugin.h \
	%D%/plugins.c \
	%D%/probe.c %D%/probe.h \
	%D%/search.c %D%/search.h \
	%D%/trust.c %D%/trust.h \
	%D%/wire.c %D%/wire.h %D%/wire_record.h \
	%D%/wire_devices.c
