# SPDX-License-Identifier: Apache-2.0
libaccel_core_la_SOURCES += \
	%D%/arena.c %D%/arena.h \
	%D%/caller_state.c %D%/caller_state.h \
	%D%/checked.h \
	%D%/clock.c %D%/clock.h \
	%D%/env.c %D%/env.h \
	%D%/error.c %D%/error.h \
	%D%/file.c %D%/file.h \
	%D%/fork.c %D%/fork.h \
	%D%/hash.c %D%/hash.h \
	%D%/log.c %D%/log.h \
	%D%/open.c %D%/open.h \
	%D%/paths.c %D%/paths.h \
	%D%/pci.c %D%/pci.h \
	%D%/rows.c %D%/rows.h \
	%D%/strbuf.c %D%/strbuf.h \
	%D%/text.h \
	%D%/utf8.c %D%/utf8.h
