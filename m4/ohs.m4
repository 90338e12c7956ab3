# SPDX-License-Identifier: MIT
# ohs.m4 - checks that collect what is missing, and add a flag where it works.

# OHS_MISSING(DEBIAN-PACKAGE): remember it for the one message of OHS_REPORT_MISSING.
AC_DEFUN([OHS_MISSING], [AS_CASE([" $ohs_missing "], [*" $1 "*], [], [ohs_missing="$ohs_missing $1"])])

# OHS_NEED_PKG(VARIABLE, PKG-CONFIG NAME AND VERSION, DEBIAN-PACKAGE)
# Sets VARIABLE_CFLAGS and VARIABLE_LIBS.
AC_DEFUN([OHS_NEED_PKG], [PKG_CHECK_MODULES([$1], [$2], [], [OHS_MISSING([$3])])])

# OHS_NEED_LIB(VARIABLE, HEADER, FUNCTION, LIBS, DEBIAN-PACKAGE)
# For libraries without a pkg-config file. Sets VARIABLE_LIBS.
AC_DEFUN([OHS_NEED_LIB], [
	AC_MSG_CHECKING([for $3 in $4])
	ohs_save_LIBS=$LIBS
	LIBS="$4 $LIBS"
	AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <stddef.h>
#include <$2>]], [[return (int)(size_t)(void *)&$3;]])],
		[$1_LIBS="$4"; AC_MSG_RESULT([yes])],
		[OHS_MISSING([$5]); AC_MSG_RESULT([no])])
	LIBS=$ohs_save_LIBS
	AC_SUBST([$1_LIBS])
])

# OHS_NEED_HEADER(HEADER, DEBIAN-PACKAGE)
AC_DEFUN([OHS_NEED_HEADER], [AC_CHECK_HEADER([$1], [], [OHS_MISSING([$2])])])

# OHS_REPORT_MISSING: stop, naming all of it at once.
AC_DEFUN([OHS_REPORT_MISSING], [
	AS_IF([test -n "$ohs_missing"], [AC_MSG_ERROR([packages are missing (Debian names):$ohs_missing
  as root:  apt-get install$ohs_missing])])
])

# OHS_COMPILE_FLAG(VARIABLE, FLAG, [ELSE-FLAG]): append FLAG where the compiler takes it.
AC_DEFUN([OHS_COMPILE_FLAG], [
	AC_MSG_CHECKING([whether $CC takes $2])
	ohs_save_CFLAGS=$CFLAGS
	CFLAGS="$CFLAGS -Werror $2"
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <string.h>]], [[char b[8]; memset(b, 0, sizeof(b)); return b[0];]])],
		[AC_MSG_RESULT([yes]); CFLAGS=$ohs_save_CFLAGS; $1="$$1 $2"],
		[AC_MSG_RESULT([no]); CFLAGS=$ohs_save_CFLAGS; m4_ifval([$3], [OHS_COMPILE_FLAG([$1], [$3])])])
])

# OHS_LINK_FLAG(VARIABLE, FLAG): append FLAG where the linker takes it.
AC_DEFUN([OHS_LINK_FLAG], [
	AC_MSG_CHECKING([whether the linker takes $2])
	ohs_save_LDFLAGS=$LDFLAGS
	LDFLAGS="$LDFLAGS -Werror $2"
	AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
		[AC_MSG_RESULT([yes]); $1="$$1 $2"], [AC_MSG_RESULT([no])])
	LDFLAGS=$ohs_save_LDFLAGS
])

# OHS_STATIC(VARIABLE, FLAGS, LIBS, WHAT, PROLOGUE, BODY, [CFLAGS]): set VARIABLE to FLAGS when a program
# that uses the LIBS links with them and runs, else leave it alone.
AC_DEFUN([OHS_STATIC], [
	AC_MSG_CHECKING([whether $4 can be linked with $2])
	ohs_save_LIBS=$LIBS; ohs_save_LDFLAGS=$LDFLAGS; ohs_save_CFLAGS=$CFLAGS
	LIBS="$3 $LIBS"; LDFLAGS="$LDFLAGS $2"; CFLAGS="$CFLAGS -fPIE $7"
	AC_LINK_IFELSE([AC_LANG_PROGRAM([$5], [$6])],
		[AC_MSG_RESULT([yes]); $1="$2"], [AC_MSG_RESULT([no])])
	LIBS=$ohs_save_LIBS; LDFLAGS=$ohs_save_LDFLAGS; CFLAGS=$ohs_save_CFLAGS
])
