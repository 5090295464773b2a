# SPDX-License-Identifier: Apache-2.0
# Profiles: dist_profiles_DATA.
