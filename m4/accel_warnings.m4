# SPDX-License-Identifier: Apache-2.0
# ACCEL_CC_FLAG(FLAG, VARIABLE)
# Appends FLAG to VARIABLE if the compiler takes it without a warning.
AC_DEFUN([ACCEL_CC_FLAG], [
AS_VAR_PUSHDEF([accel_cache], [accel_cv_cc_$1])dnl
AC_CACHE_CHECK([whether $CC takes $1], [accel_cache], [
  accel_saved_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS -Werror $1"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])], [AS_VAR_SET([accel_cache], [yes])], [AS_VAR_SET([accel_cache], [no])])
  CFLAGS=$accel_saved_CFLAGS])
AS_VAR_IF([accel_cache], [yes], [AS_VAR_APPEND([$2], [" $1"])])
AS_VAR_POPDEF([accel_cache])dnl
])
# ACCEL_WARNINGS
# Output: AC_SUBST WARN_CFLAGS. --enable-werror makes warnings errors; CI does so, a user's compiler may warn of more.
AC_DEFUN([ACCEL_WARNINGS], [
AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [treat warnings of the compiler as errors])])
WARN_CFLAGS=
m4_foreach_w([accel_flag], [-Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wwrite-strings
  -Wpointer-arith -Wundef], [ACCEL_CC_FLAG(m4_defn([accel_flag]), [WARN_CFLAGS])])
AS_IF([test "x$enable_werror" = xyes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
AC_SUBST([WARN_CFLAGS])
])
