# SPDX-License-Identifier: Apache-2.0
libaccel_core_la_SOURCES += \
	%D%/fields.c %D%/fields.h \
	%D%/snapshot.c %D%/snapshot.h \
	%D%/tables.c
