# SPDX-License-Identifier: Apache-2.0
# Writes the history of runs. Of libaccel-core.la the format of a line, files and strings are linked.
noinst_LTLIBRARIES += libaccel-history.la
libaccel_history_la_SOURCES = %D%/history.c %D%/history.h
