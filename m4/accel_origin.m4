# SPDX-License-Identifier: Apache-2.0
# ACCEL_ORIGIN(VARIABLE, FOLDER, LIBDIR)
# Substitutes into VARIABLE linker flags for programs in FOLDER that find libraries in LIBDIR relative to themselves, or
# nothing where the two do not lie below one prefix. Both may begin with ${prefix} or ${exec_prefix}, unexpanded.
AC_DEFUN([ACCEL_ORIGIN], [
accel_from=`AS_ECHO(["$2"]) | $SED -n 's,^\${@<:@a-z_@:>@*prefix}/,,p; '"s,^$prefix/,,p"`
accel_to=`AS_ECHO(["$3"]) | $SED -n 's,^\${@<:@a-z_@:>@*prefix}/,,p; '"s,^$prefix/,,p"`
AS_IF([test -n "$accel_from" && test -n "$accel_to"],
  [accel_up=`AS_ECHO(["$accel_from"]) | $SED 's,@<:@^/@:>@@<:@^/@:>@*,..,g'`
   $1="-Wl,-rpath,'\$\$ORIGIN/$accel_up/$accel_to'"],
  [$1=])
AC_SUBST([$1])
])
