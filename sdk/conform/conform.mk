# SPDX-License-Identifier: Apache-2.0
# The conformance kit: holds a driver file against the ABI and against a scalar reference.
# All but its main is a library of this tree, which tests/unit links too.
bin_PROGRAMS += accel-conform
noinst_LTLIBRARIES += libaccel-conform.la
libaccel_conform_la_SOURCES = \
	%D%/abi.h \
	%D%/abi_leaks.c \
	%D%/abi_life.c \
	%D%/abi_manners.c \
	%D%/abi_memory.c \
	%D%/abi_misuse.c \
	%D%/abi_modules.c \
	%D%/abi_options.c \
	%D%/abi_refusals.c \
	%D%/abi_short.c \
	%D%/abi_slots.c \
	%D%/abi_steps.c \
	%D%/allocations.c \
	%D%/allocations.h \
	%D%/certificate.c \
	%D%/certificate.h \
	%D%/child.c \
	%D%/conform.h \
	%D%/decoder.c \
	%D%/decoder.h \
	%D%/direct.c \
	%D%/direct.h \
	%D%/direct_host.c \
	%D%/hash.h \
	%D%/groups.def \
	%D%/info.c \
	%D%/known.c \
	%D%/known.h \
	%D%/late.c \
	%D%/late.h \
	%D%/leak.c \
	%D%/leak.h \
	%D%/list.c \
	%D%/list.h \
	%D%/op_arrange.c \
	%D%/op_cast.c \
	%D%/op_attention.c \
	%D%/op_dense.c \
	%D%/op_expert.c \
	%D%/op_matmul.c \
	%D%/op_places.c \
	%D%/op_rows.c \
	%D%/op_sample.c \
	%D%/op_space.c \
	%D%/options.c \
	%D%/options.h \
	%D%/print.c \
	%D%/print.h \
	%D%/process.c \
	%D%/process.h \
	%D%/reference.c \
	%D%/reference.h \
	%D%/run.c \
	%D%/run.h \
	%D%/source.c \
	%D%/source.h \
	%D%/step.c \
	%D%/step.h \
	%D%/tensor.c \
	%D%/tensor.h \
	%D%/text.c \
	%D%/text.h \
	%D%/timeline.c \
	%D%/timeline_pairs.c \
	%D%/timeline_sets.c \
	%D%/trial.c \
	%D%/trial.h \
	%D%/trial_case.c \
	%D%/trial_case.h \
	%D%/whole.c
libaccel_conform_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(YAML_CFLAGS)
accel_conform_SOURCES = %D%/main.c
accel_conform_LDADD = libaccel-conform.la libaccel.la libaccel-quant.la $(JANSSON_LIBS) $(YAML_LIBS) $(SYSTEM_LIBS) -lm
accel_conform_LDFLAGS = $(bin_ldflags)
dist_man_MANS += %D%/accel-conform.1
