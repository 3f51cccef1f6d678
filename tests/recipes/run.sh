#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Follows recipes of CONTRIBUTING.md to the letter on a copy of the tree: each NAME.patch beside this file adds one thing, touching the files
# that its recipe lists and no others; the copy is built, without optimization, and must do what the recipe promises.
# Usage: run.sh ROOT FOLDER    FOLDER: for the copy; what was built in it is used again
set -eu
root=$1 copy=$2 here=$(cd "$(dirname "$0")" && pwd)
command -v patch >/dev/null || { echo "skipped: there is no patch"; exit 77; }

fail() { echo "FAILED: $*" >&2; exit 1; }

# Files that are as they were keep their times, so that they are not compiled again.
fresh=$copy/fresh
rm -rf "$fresh"
mkdir -p "$fresh" "$copy/tree"
for part in CMakeLists.txt CHANGELOG.md README.md bench cmake cli src include completions data docs examples python tests tools pyproject.toml; do cp -a "$root/$part" "$fresh"; done

# recipe PATCH: its files are those of its recipe.
recipe() {
  title=$(sed -n '1s/^Recipe: \(.*\)\. NAME: .*/\1/p' "$1") name=$(sed -n '1s/.* NAME: \([a-z0-9_-]*\)\..*/\1/p' "$1")
  [ -n "$title" ] && [ -n "$name" ] || fail "$1 does not begin with its recipe and name"
  awk -v title="### $title: " 'index($0, title) == 1 { on = 1; next } /^### / { on = 0 } on' "$root/CONTRIBUTING.md" |
    sed -n 's/^[0-9]*\. `\([^`]*\)`.*/\1/p' | sed "s/NAME/$name/" | sort >"$copy/listed"
  [ -s "$copy/listed" ] || fail "CONTRIBUTING.md has no recipe \"$title\""
  sed -n 's/^+++ b\///p' "$1" | sort >"$copy/touched"
  cmp -s "$copy/listed" "$copy/touched" || fail "$1 touches $(tr '\n' ' ' <"$copy/touched"), its recipe lists $(tr '\n' ' ' <"$copy/listed")"
  patch -d "$fresh" -p1 -s <"$1" || fail "$1 does not apply"
}
for each in "$here"/*.patch; do recipe "$each"; done

find "$fresh" -type f | while read -r file; do
  to=$copy/tree/${file#"$fresh"/}
  cmp -s "$file" "$to" || { mkdir -p "$(dirname "$to")"; cp "$file" "$to"; }
done
(cd "$copy/tree" && find . -path ./build -prune -o -type f -print) | while read -r file; do [ -e "$fresh/$file" ] || rm "$copy/tree/$file"; done

launcher=$(command -v ccache || true)
cmake -S "$copy/tree" -B "$copy/tree/build" -DSLEY_CUDA=OFF -DSLEY_MPI=OFF -DSLEY_TESTS=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 \
  ${launcher:+-DCMAKE_C_COMPILER_LAUNCHER=$launcher} >"$copy/log" || { cat "$copy/log"; fail "the copy is not configured"; }
cmake --build "$copy/tree/build" --parallel 2 --target sley_command test_gnn test_gnn_batches >"$copy/log" 2>&1 || { tail -30 "$copy/log"; fail "the copy is not built"; }
sley=$copy/tree/build/cli/sley graph=$root/data/karate.mtx

# A layer: every place that names models knows it, its gradients are right, and it reaches the hops that it says.
"$sley" words gnn train --model | grep -qx sgc || fail "completion lacks sgc"
"$sley" help gnn train | grep -q '^ *sgc  *(sum' || fail "the help lacks the line of sgc"
"$sley" gnn train "$graph" --features random:4 --labels planted:2 --model sgc --epochs 3 --device cpu --out "$copy/sgc.npz" >"$copy/out" || fail "gnn train --model sgc"
"$sley" gnn infer "$graph" --features random:4 --weights "$copy/sgc.npz" --device cpu >"$copy/out" || fail "gnn infer of sgc's state"
for models in sgc all; do
  "$sley" gnn bench "$graph" --model $models --repeat 1 --warmup 0 --device cpu >"$copy/out" && grep -q '^sgc  *step' "$copy/out" || fail "gnn bench --model $models has no row of sgc"
done
for test in test_gnn test_gnn_batches; do
  SLEY_TEST_CASES=2 "$copy/tree/build/tests/$test" >"$copy/log" 2>&1 || { tail -20 "$copy/log"; fail "$test with sgc"; }
done
echo "recipes: all hold"
