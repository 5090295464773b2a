# SPDX-License-Identifier: Apache-2.0
# The list of all files of profiles, and their checks. Of libaccel-core.la the reader of profiles is linked.
noinst_LTLIBRARIES += libaccel-profiles.la
libaccel_profiles_la_SOURCES = \
	%D%/files.c %D%/files.h \
	%D%/lint.c
