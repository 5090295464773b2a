# SPDX-License-Identifier: Apache-2.0
# Part of libaccel. Append to libaccel_core_la_SOURCES; installed headers go to sdk/include/include.mk.
