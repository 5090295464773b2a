# SPDX-License-Identifier: Apache-2.0
libaccel_core_la_SOURCES += \
	%D%/cache.c %D%/cache.h %D%/cache_key.c \
	%D%/child.c %D%/child.h \
	%D%/elf.c %D%/elf.h \
	%D%/elf_check.c %D%/elf_check.h \
	%D%/import_driver.c %D%/import_driver.h \
	%D%/ipc.c %D%/ipc.h %D%/ipc_record.h \
	%D%/ipc_devices.c \
	%D%/load.c %D%/load.h \
	%D%/note.c \
	%D%/plugin.h \
	%D%/plugins.c \
	%D%/probe.c %D%/probe.h \
	%D%/search.c %D%/search.h \
	%D%/trust.c %D%/trust.h
