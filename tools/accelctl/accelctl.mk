# SPDX-License-Identifier: Apache-2.0
# The command.
#   bin_PROGRAMS += accelctl
#   accelctl_SOURCES = %D%/main.c ...
#   accelctl_LDFLAGS = $(bin_ldflags)
#   accelctl_LDADD = libaccel-model.la libaccel.la
