# SPDX-License-Identifier: Apache-2.0
# ACCEL_CHECK_ISA(LEVEL, FLAGS, BODY, [HEADER = immintrin.h])
# Finds out whether the compiler makes code for one level of vector instructions: compiles BODY, which uses an
# intrinsic of every extension of the level, with FLAGS. Only objects of that level get the flags; which level runs is
# decided on the machine, at run time.
# Outputs: AC_SUBST LEVEL_CFLAGS, config.h HAVE_LEVEL (upper case), conditional HAVE_LEVEL, shell variable
# accel_why_LEVEL for the summary. --disable-LEVEL switches the level off.
AC_DEFUN([ACCEL_CHECK_ISA], [
AS_VAR_PUSHDEF([accel_cache], [accel_cv_isa_$1])dnl
AC_ARG_ENABLE([$1],
  [AS_HELP_STRING([--disable-$1], [build no $1 kernels])],
  [], [enable_$1=auto])
AC_CACHE_CHECK([whether $CC makes $1 code], [accel_cache], [
  accel_saved_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS $2"
  AC_LINK_IFELSE([AC_LANG_SOURCE([[
#include <]]m4_default([$4], [immintrin.h])[[>
#include <stdint.h>
int main(int argc, char **argv)
{
    (void)argv;
$3
}]])], [accel_cache=yes], [accel_cache=no])
  CFLAGS=$accel_saved_CFLAGS])
AS_CASE([$enable_$1],
  [no], [accel_use_$1=no; accel_why_$1="no (switched off with --disable-$1)"],
  [AS_IF([test "x$accel_cache" = xyes],
    [accel_use_$1=yes; accel_why_$1="yes ($2)"],
    [accel_use_$1=no; accel_why_$1="no (the compiler refuses a program of $2)"
     AS_IF([test "x$enable_$1" = xyes], [AC_MSG_ERROR([--enable-$1: $CC makes no $1 code with $2])])])])
AS_IF([test "x$accel_use_$1" = xyes],
  [AC_DEFINE(AS_TR_CPP([HAVE_$1]), [1], [Define to 1 if kernels of the level $1 are built.])])
AC_SUBST(AS_TR_CPP([$1_CFLAGS]), ["$2"])
AM_CONDITIONAL(AS_TR_CPP([HAVE_$1]), [test "x$accel_use_$1" = xyes])
AS_VAR_POPDEF([accel_cache])dnl
])
