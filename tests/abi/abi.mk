# SPDX-License-Identifier: Apache-2.0
# Tests of the public headers, of exported symbols and of what may include what.
