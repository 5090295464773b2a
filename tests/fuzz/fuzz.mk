# SPDX-License-Identifier: Apache-2.0
# Fuzz targets: EXTRA_PROGRAMS, built by name.
