#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks CONTRIBUTING.md: the files that it names exist, what stands for a new one (NAME) aside; lines have at most 100
# characters.
# Usage: tools/check_recipes.sh [root of the project]
set -eu
cd "${1:-$(dirname "$0")/..}"

bad=0
for file in $(grep -o '`[A-Za-z_0-9./-]*/[A-Za-z_0-9./-]*`' CONTRIBUTING.md | tr -d '`' | sort -u); do
  case $file in
  *NAME*) ;;
  *)
    if [ ! -e "$file" ]; then
      echo "CONTRIBUTING.md: there is no $file"
      bad=1
    fi
    ;;
  esac
done
awk 'length > 100 { print "CONTRIBUTING.md:" FNR ": " length " characters, 100 at most"; bad = 1 } END { exit bad }' \
  CONTRIBUTING.md || bad=1
[ "$bad" = 0 ] && echo "recipes: every file is there"
exit "$bad"
