# SPDX-License-Identifier: Apache-2.0
# Contexts, their devices with verdicts and ranks, and recorded hosts.
libaccel_core_la_SOURCES += \
	%D%/attach.c \
	%D%/call_guard.c \
	%D%/call_guard.h \
	%D%/choose.c \
	%D%/context.c \
	%D%/context.h \
	%D%/machine.c \
	%D%/machine.h \
	%D%/machine_facts.c \
	%D%/profile.c \
	%D%/rank.c \
	%D%/rank.h \
	%D%/registry.c \
	%D%/registry.h \
	%D%/replay.c
