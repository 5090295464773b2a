# SPDX-License-Identifier: Apache-2.0
# A driver to begin with, installed as source: it builds with the installed SDK alone.
dist_template_DATA += \
	%D%/Makefile.am \
	%D%/configure.ac \
	%D%/driver.c \
	%D%/plain.mk
