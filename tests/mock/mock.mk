# SPDX-License-Identifier: Apache-2.0
# Drivers that only tests load: check_LTLIBRARIES with $(test_driver_ldflags).
