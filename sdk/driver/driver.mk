# SPDX-License-Identifier: Apache-2.0
# libaccel-driver, the optional helpers of drivers. Append to libaccel_driver_la_SOURCES.
