# SPDX-License-Identifier: Apache-2.0
# Man pages and completions. They lie in the tree; `make pages` writes them anew from the tables of the command, and a
# test holds them against it.
dist_man_MANS += \
	%D%/accelctl.1 \
	%D%/accelctl-bench.1 \
	%D%/accelctl-cache.1 \
	%D%/accelctl-chat.1 \
	%D%/accelctl-claims.1 \
	%D%/accelctl-devices.1 \
	%D%/accelctl-info.1 \
	%D%/accelctl-matrix.1 \
	%D%/accelctl-doctor.1 \
	%D%/accelctl-eval.1 \
	%D%/accelctl-plan.1 \
	%D%/accelctl-plugins.1 \
	%D%/accelctl-profile.1 \
	%D%/accelctl-quantize.1 \
	%D%/accelctl-run.1 \
	%D%/accelctl-scores.1 \
	%D%/accelctl-snapshot.1 \
	%D%/accelctl-tokenize.1 \
	%D%/accelctl-trace.1 \
	%D%/accelctl-version.1 \
	%D%/accel-profile.5 \
	%D%/accel-settings.5
dist_doc_DATA += %D%/accel-profile.schema.json %D%/driver-guide.md %D%/architecture.md %D%/benchmark.md %D%/certificates.md %D%/glossary.md %D%/install.md %D%/llama-cpp.md %D%/plan.md %D%/quantization.md %D%/run.md README.md
dist_bashcompletion_DATA += %D%/completion/accelctl %D%/completion/accel-conform
dist_zshcompletion_DATA += %D%/completion/_accelctl %D%/completion/_accel-conform

check_PROGRAMS += doc/pages
doc_pages_SOURCES = \
	%D%/completion.c \
	%D%/completion.h \
	%D%/pages.c \
	%D%/reference.c \
	%D%/reference.h \
	%D%/roff.c \
	%D%/roff.h
doc_pages_CPPFLAGS = $(accelctl_CPPFLAGS)
doc_pages_LDADD = $(accelctl_LDADD)
pages: doc/pages
	doc/pages '$(srcdir)/doc' '$(srcdir)/profiles'
