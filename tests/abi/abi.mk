# SPDX-License-Identifier: Apache-2.0
# Tests of the public headers, of exported symbols and of what may include what.
abi_tests = %D%/tails.sh %D%/abigail.sh %D%/releases.sh %D%/minors.sh %D%/noexcept.sh %D%/offsets.sh %D%/headers.sh %D%/headers-cxx.sh %D%/layout.sh %D%/exports.sh %D%/folders.sh
TESTS += $(abi_tests)
EXTRA_DIST += $(abi_tests) %D%/layout.awk %D%/earlier.awk %D%/next.awk %D%/noexcept.awk %D%/offsets.awk %D%/offsets-0.2.txt %D%/libaccel-0.2.abi.gz %D%/libaccel.symbols %D%/libaccel-model.symbols

# What make install puts into the include folder, for headers.sh.
check_DATA += installed-headers
CLEANFILES += installed-headers
installed-headers: Makefile
	$(AM_V_GEN)for header in $(accelinclude_HEADERS) $(accelquantinclude_HEADERS) $(acceldriverinclude_HEADERS) \
	  $(accelmodelinclude_HEADERS); do echo "$$header "; done > $@

# Accepts what the libraries export now as what they shall export.
.PHONY: update-symbols
update-symbols: libaccel.la libaccel-model.la
	for library in libaccel libaccel-model; do \
	  nm -D --defined-only .libs/$$library.so | $(SED) -n 's/^[0-9a-f]* [A-Z] \([^@]*\).*/\1/p' | \
	    grep -v '^ACCEL_' | LC_ALL=C sort > $(srcdir)/%D%/$$library.symbols; done

# Records functions and types of the library as those of this minor.
.PHONY: update-abi
update-abi: libaccel.la
	ACCEL_TEST_SRCDIR='$(abs_top_srcdir)' ACCEL_TEST_BUILDDIR='$(abs_top_builddir)' sh $(srcdir)/%D%/abigail.sh --update

# Records the layout of the public structs as that of this minor.
.PHONY: update-offsets
update-offsets:
	CC='$(CC)' ACCEL_TEST_SRCDIR='$(abs_top_srcdir)' sh $(srcdir)/%D%/offsets.sh --update
