# SPDX-License-Identifier: Apache-2.0
# Man pages: dist_man_MANS; completions.
