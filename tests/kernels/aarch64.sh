#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The kernels of the levels for aarch64: cross-built with their tests as static programs, which run on emulated processors
# with and without the instructions of each level. AARCH64_CC and AARCH64_RUN name other tools than the usual ones.
# AARCH64_TESTS=all runs every test, and not only a sample of the long ones.
src=${ACCEL_TEST_SRCDIR:-.}
out=${ACCEL_TEST_BUILDDIR:-.}/tests/kernels/aarch64.dir
cc=${AARCH64_CC:-aarch64-linux-gnu-gcc}
run=${AARCH64_RUN:-qemu-aarch64-static}
for tool in $cc $run; do
    command -v "$tool" >/dev/null ||
        { echo "skipped: $tool is not there (Debian and Ubuntu: gcc-aarch64-linux-gnu, qemu-user-static)"; exit 77; }
done
echo 'int main(void) { return 0; }' >"$out.c" && "$cc" -static -o "$out.probe" "$out.c" 2>/dev/null ||
    { echo "skipped: $cc links no static program"; exit 77; }
rm -f "$out.c" "$out.probe"

# SOURCE OBJECT FLAG...: compiles where the source, or any header of the kernels, is newer.
mkdir -p "$out"
cat >"$out/Makefile" <<'END'
flags = -std=gnu11 -O2 -Wall -Wextra -Werror -ffp-contract=off -I$(out) -I$(src) -I$(src)/include \
	-I$(src)/tests/kernels/aarch64
kernels = $(src)/plugins/cpu/kernels
headers = $(wildcard $(kernels)/*.h $(kernels)/*.def $(kernels)/*/*.h $(src)/tests/kernels/*.h $(src)/tests/kernels/aarch64/*.h)
vector = $(filter-out gemv_packed,$(patsubst $(kernels)/vector/%.c,%,$(wildcard $(kernels)/vector/*.c)))
neon = $(patsubst $(kernels)/neon/%.c,%,$(wildcard $(kernels)/neon/*.c))
operators = $(patsubst $(kernels)/plain/%.c,%,$(wildcard $(kernels)/plain/*.c))
plain = $(patsubst $(kernels)/%.c,%,$(wildcard $(kernels)/*.c $(kernels)/panels/*.c $(kernels)/scalar/*.c $(kernels)/plain/*.c))
quant = $(patsubst $(src)/quant/%.c,%,$(wildcard $(src)/quant/*.c))
levels = neon dotprod i8mm
march_neon = -march=armv8-a
march_dotprod = -march=armv8.2-a+dotprod
march_i8mm = -march=armv8.2-a+dotprod+i8mm
library = $(foreach l,$(levels),$(vector:%=$(out)/$(l)/vector/%.o) $(neon:%=$(out)/$(l)/neon/%.o) \
		$(operators:%=$(out)/$(l)/plain/%.o)) \
	$(plain:%=$(out)/plain/%.o) $(quant:%=$(out)/quant/%.o)
tests = support main matmul rows attention

all: $(levels:%=$(out)/test_%)
define level
$(out)/$(1)/%.o: $(kernels)/%.c $(headers)
	@mkdir -p $$(@D)
	$(cc) $(flags) $$(march_$(1)) -DCPU_BUILD_NEON -c -o $$@ $$<
$(out)/test_$(1): $(tests:%=$(out)/tests_$(1)/%.o) $(library)
	$(cc) -static -o $$@ $$^ -lm
$(out)/tests_$(1)/%.o: $(src)/tests/kernels/%.c $(headers)
	@mkdir -p $$(@D)
	$(cc) $(flags) -DKERNELS_ISA=CPU_ISA_$(2) -c -o $$@ $$<
endef
$(eval $(call level,neon,NEON))
$(eval $(call level,dotprod,DOTPROD))
$(eval $(call level,i8mm,I8MM))
$(out)/plain/%.o: $(kernels)/%.c $(headers)
	@mkdir -p $(@D)
	$(cc) $(flags) -DCPU_BUILD_SCALAR -c -o $@ $<
$(out)/quant/%.o: $(src)/quant/%.c
	@mkdir -p $(@D)
	$(cc) $(flags) -c -o $@ $<
END
printf '#define HAVE_NEON 1\n#define HAVE_DOTPROD 1\n#define HAVE_I8MM 1\n' >"$out/config.new"
cmp -s "$out/config.new" "$out/config.h" || mv "$out/config.new" "$out/config.h"
${MAKE:-make} -s -f "$out/Makefile" src="$src" out="$out" cc="$cc" all || exit 1

failed=0
# LEVEL CPU TEST...
on_cpu() {
    level=$1 cpu=$2
    shift 2
    for name; do
        echo "== $level on $cpu: $name"
        "$run" -cpu "$cpu" "$out/test_$level" "$name" >"$out/log" 2>&1 || { cat "$out/log"; failed=1; }
    done
}

# LEVEL CPU: the processor lacks the level, and the program says so.
not_on_cpu() {
    "$run" -cpu "$2" "$out/test_$1" test_table
    test $? -eq 77 || { echo "$1 runs on $2, which lacks it"; failed=1; }
}

tests="test_table test_own test_names test_types test_matmul_few test_matmul8_few test_matmul8_rows test_matmul_alias test_embed test_quantize
    test_norms test_softmax test_argmax test_rotary test_functions test_gate test_binary test_cache_write
    test_cache_write_planar test_attention test_attention_pages test_attention_f16
    test_attention_sinks test_attention_score_sums test_attention_blocks"
test "$AARCH64_TESTS" != all || tests="$tests test_matmul test_matmul8 test_attention_planar test_attention_groups test_attention_eager"
on_cpu neon cortex-a53 $tests
on_cpu dotprod neoverse-n1 $tests
on_cpu i8mm max $tests
not_on_cpu dotprod cortex-a72
not_on_cpu i8mm neoverse-n1
exit $failed
