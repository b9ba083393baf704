#!/bin/sh
# Installs a Debian package if a check fails and no question is needed: as root, or by sudo without a
# password. Otherwise it says what is missing without the package, and fails.
#
#   debian.sh PACKAGE CONSEQUENCE CHECK [ARGUMENT…]     CHECK succeeds if the package is not needed
package=$1 consequence=$2
shift 2
"$@" >/dev/null 2>&1 && exit 0
if command -v apt-get >/dev/null; then
  # Another installation may hold the locks; lists that could not be made new may still do.
  apt="DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120"
  install="$apt update; $apt -y install $package"
  if [ "$(id -u)" = 0 ]; then sh -c "$install" >/dev/null 2>&1
  elif sudo -n true 2>/dev/null; then sudo -n sh -c "$install" >/dev/null 2>&1
  fi
fi
"$@" >/dev/null 2>&1 && exit 0
echo "no $package: $consequence; run: sudo apt-get install $package" >&2
exit 1
