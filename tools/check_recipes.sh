#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks CONTRIBUTING.md: the files that it names exist, what stands for a new one (NAME) aside; lines have at most 100
# characters. Checks docs/ARCHITECTURE.md: the files that it names by their path exist, and each table of its four
# paths has at most 12 rows.
# Usage: tools/check_recipes.sh [root of the project]
set -eu
cd "${1:-$(dirname "$0")/..}"

bad=0
need() { # page, file
  [ -e "$2" ] || {
    echo "$1: there is no $2"
    bad=1
  }
}
for file in $(grep -o '`[A-Za-z_0-9./-]*/[A-Za-z_0-9./-]*`' CONTRIBUTING.md | tr -d '`' | sort -u); do
  case $file in
  *NAME*) ;;
  *) need CONTRIBUTING.md "$file" ;;
  esac
done
page=docs/ARCHITECTURE.md
for file in $(grep -oE '`(src|cli|python|tools|data)/[A-Za-z_0-9./-]+`' $page | tr -d '`' | sort -u); do
  need $page "$file"
done
awk -v page=$page '/^## /{ inside = /^## Four paths/ } /^###? /{ rows = -2 }
  inside && /^\|/ && ++rows == 13 { print page ":" FNR ": more than 12 steps"; bad = 1 }
  inside && /^### /{ paths++ }
  END { if (paths != 4) { print page ": " paths + 0 " paths, 4 are expected"; bad = 1 }; exit bad }' $page || bad=1
awk 'length > 100 { print "CONTRIBUTING.md:" FNR ": " length " characters, 100 at most"; bad = 1 } END { exit bad }' \
  CONTRIBUTING.md || bad=1
[ "$bad" = 0 ] && echo "recipes and paths: every file is there"
exit "$bad"
