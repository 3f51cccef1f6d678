#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Follows recipes of CONTRIBUTING.md exactly, on a copy of the sources. Each NAME.patch beside this file adds one thing, and touches
# the files that its recipe lists and no others. All patches are applied to one copy. The touched C files are compiled, and linked with
# the other objects of the build to a library and a command; these and the build's tests must do what the recipes promise.
# A patch may add constants, declarations and rows to what others include, but no field: the other objects are as they were.
# Usage: run.sh ROOT BUILD    the copy is BUILD/recipes; BUILD/recipes.objects and BUILD/recipes_command.objects name the objects of
# the library and of the command
set -eu
root=$1 build=$2 copy=$2/recipes here=$(cd "$(dirname "$0")" && pwd)
for tool in patch cc readelf; do command -v $tool >/dev/null || { echo "skipped: there is no $tool"; exit 77; }; done

fail() { echo "FAILED: $*" >&2; exit 1; }

rm -rf "$copy"
mkdir -p "$copy/lib"
cp -a "$root/include" "$root/src" "$root/cli" "$root/python" "$copy"

# recipe PATCH: its files are those of its recipe, where NAME, FAMILY and FOLDER stand for words of the patch's first line. Of a listed
# folder any files.
recipe() {
  title=$(sed -n '1s/^Recipe: \(.*\)\. NAME: .*/\1/p' "$1") name=$(sed -n '1s/.* NAME: \([a-z0-9_-]*\)\..*/\1/p' "$1")
  folder=$(sed -n '1s/.* \(FAMILY\|FOLDER\): \([a-z]*\)\..*/\2/p' "$1")
  [ -n "$title" ] && [ -n "$name" ] || fail "$1 does not begin with its recipe and name"
  awk -v title="### $title: " 'index($0, title) == 1 { on = 1; next } /^### / { on = 0 } on' "$root/CONTRIBUTING.md" |
    sed -n 's/^[0-9]*\. `\([^`]*\)`.*/\1/p' | sed "s/NAME/$name/; s/FAMILY\|FOLDER/$folder/" | sort >"$copy/listed"
  [ -s "$copy/listed" ] || fail "CONTRIBUTING.md has no recipe \"$title\""
  sed -n 's/^+++ b\///p' "$1" | sort >"$copy/touched"
  cp "$copy/touched" "$copy/matched"
  for whole in $(grep '/$' "$copy/listed" || true); do
    sed "s,^$whole.*,$whole," "$copy/touched" | sort -u >"$copy/matched"
  done
  cmp -s "$copy/listed" "$copy/matched" || fail "$1 touches $(tr '\n' ' ' <"$copy/touched"), its recipe lists $(tr '\n' ' ' <"$copy/listed")"
  patch -d "$copy" -p1 -s <"$1" || fail "$1 does not apply"
  grep -e '\.c$' -e '\.c\.in$' "$copy/touched" >>"$copy/sources" || true # a recipe of Python has none
}
for each in "$here"/*.patch; do recipe "$each"; done

sed "s,/\./,/,g" "$build/recipes.objects" >"$copy/objects"
sed "s,/\./,/,g" "$build/recipes_command.objects" >"$copy/command"
compile() {
  cc -std=c11 -O0 -fPIC -Wall -Wextra -Werror -Wno-missing-field-initializers -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -I"$copy/include" \
    -I"$copy/src" -I"$copy/cli" -I"$build/generated" "$@"
}
for source in $(sort -u "$copy/sources"); do
  case $source in
  src/*.in) # the build's file gets the lines that the template has got
    source=generated/${source#src/} source=${source%.in}
    mkdir -p "$copy/${source%/*}"
    cp "$build/$source" "$copy/$source"
    diff -u "$root/src/${source#generated/}.in" "$copy/src/${source#generated/}.in" | patch -s "$copy/$source" || fail "$source does not take the template's lines"
    list=$copy/objects object=".*/$source.o"
    ;;
  src/device/cuda/*) # of a module, whose table needs no compiler of GPUs
    compile -fsyntax-only "$copy/$source" || fail "$source is not compiled"
    continue
    ;;
  cli/*) list=$copy/command object=${source#cli/}.o ;;
  *) list=$copy/objects object=${source#src/}.o ;;
  esac
  grep -v "\.dir/$object$" "$list" >"$copy/others" && mv "$copy/others" "$list"
  made=$copy/$(echo "$source.o" | tr / _)
  compile -c "$copy/$source" -o "$made" || fail "$source is not compiled"
  echo "$made" >>"$list"
done
# needs FILE: the libraries that it needs beside Sley's, as options of the linker.
needs() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/-l:\1/p' | grep -v 'ld-linux\|libsley'; }
# library NAME [OPTION]: needs what the build's library needs.
library() {
  name=$1
  shift
  # shellcheck disable=SC2046 # names of libraries have no blanks
  cc -shared -o "$copy/lib/$name" -Wl,-soname,"$name" "$@" @"$copy/objects" $(needs "$build/src/libsley.so") || fail "$name is not linked"
}
library "$(readelf -d "$build/src/libsley.so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" -Wl,--version-script="$root/src/sley.map"
library libsley_internal.so
# shellcheck disable=SC2046
cc -o "$copy/sley" @"$copy/command" -L"$copy/lib" -l:"$(basename "$copy"/lib/libsley.so.*)" $(needs "$build/cli/sley") || fail "the command is not linked"
export LD_LIBRARY_PATH="$copy/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

graph=$root/data/karate.mtx
sley() { "$copy/sley" "$@" >"$copy/out" 2>"$copy/log" || { cat "$copy/log" >&2; fail "sley $*"; }; }
# shows PATTERN: what the last command printed.
shows() { grep -q -- "$1" "$copy/out" || fail "the last command shows no \"$1\""; }
# tests NAME ...: which take every row of a table; a few cases of each. They are linked anew, since a program has a copy of a table.
tests() {
  for test in "$@"; do
    find "$build/tests/CMakeFiles/$test.dir" -name "$test.c.o" -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2- >"$copy/object"
    # shellcheck disable=SC2046
    cc -o "$copy/$test" @"$copy/object" "$build/tests/libsley_test_support.a" -L"$copy/lib" -lsley_internal \
      $(needs "$build/tests/$test") || fail "$test is not linked"
    SLEY_TEST_SHARE=100 SLEY_TEST_SETTINGS=cpu "$copy/$test" >"$copy/log" 2>&1 || { tail -20 "$copy/log"; fail "$test"; }
  done
}

# A layer: every place that names models knows it, its gradients are right, and it reaches the hops that it says.
sley words gnn train --model && shows '^sgc'
sley help gnn train && shows '^ *sgc  *(sum'
sley gnn train "$graph" --features random:4 --labels planted:2 --model sgc --epochs 3 --device cpu --out "$copy/sgc.npz"
sley gnn infer "$graph" --features random:4 --weights "$copy/sgc.npz" --device cpu
for models in sgc all; do
  sley gnn bench "$graph" --model $models --repeat 1 --warmup 0 --device cpu && shows '^sgc  *step'
done
tests test_gnn test_gnn_batches

# A kind of collective: named wherever kinds are, with the right result on each transport, dense and compressed.
sley words collective && shows '^broadcast'
sley help collective && shows "^ *broadcast  *every rank gets rank 0's array"
sley collective broadcast --ranks 4 --bytes 1M --repeat 1 --warmup 0 --device cpu && shows '^# broadcast, 4 ranks'
tests test_transport_dense test_collective

# A way of a collective: named wherever ways are, with the bits of the dense collective.
sley words collective --way && shows '^star'
sley help collective && shows '^ *star  *to rank 0'
sley collective allreduce --way star --format pici --ranks 4 --bytes 1M --repeat 1 --warmup 0 --device cpu && shows ' star pici'
tests test_collective test_collective_options

# An ordering: named wherever orderings are, and a permutation.
sley words spmm --order && shows '^reverse'
sley help order && shows "^ *reverse  *the last row first"
sley spmm "$graph" --order reverse --device cpu && shows '^check  *ok'
tests test_order_random

# A format: named wherever formats are; what is written is read again, compressed too; an error names the line.
sley words convert --format && shows '^triples'
sley convert "$graph" "$copy/karate.mtx"
sley convert "$graph" "$copy/karate.triples.gz"
sley convert "$copy/karate.triples.gz" "$copy/again.mtx"
cmp "$copy/karate.mtx" "$copy/again.mtx" || fail "what is written as triples is read as another matrix"
sley convert "$graph" "$copy/karate.triples"
sed '3s/.*/99 0 1/' "$copy/karate.triples" >"$copy/wrong.triples"
"$copy/sley" convert "$copy/wrong.triples" "$copy/wrong.mtx" >"$copy/out" 2>&1 && fail "a wrong line is read"
shows 'wrong.triples:3: '

# An algorithm: named wherever algorithms are, predicted as counted, with the right product, the same bits on all transports.
sley words spmm --algo && shows '^late'
sley spmm "$graph" --ranks 4 --algo late --device cpu && shows '^check  *ok' && shows 'as predicted'
sley spmm "$graph" --ranks 4 --algo all --device cpu && shows '^late'
tests test_spmm test_bits

# An algorithm in tiles: named wherever they are, predicted as counted, with both products right.
sley words spmm --algo && shows '^tile-plain'
sley spmm "$graph" --ranks 4 --algo tile-plain --tiles 5 --device cpu && shows '^check  *every entry' && shows 'as predicted'
sley spgemm "$graph" --verify --ranks 4 --algo tile-plain --tiles 5 --mask "$graph" --device cpu && shows '^check ' && shows '^moved '

# An operation: found through the table of kernels.
compile "$here/use_operation.c" -o "$copy/operation" -L"$copy/lib" -lsley_internal || fail "use_operation.c is not compiled"
"$copy/operation" >"$copy/out" || fail "the operation: $(cat "$copy/out")"

# A transport: named wherever transports are, with the same products.
sley info && shows '^transport  inside  *yes'
sley words spmm --transport && shows '^inside'
sley spmm "$graph" --ranks 4 --transport inside --device cpu && shows '^check  *ok' && shows ' 0.000 MiB direct'
SLEY_TEST_TRANSPORT=inside tests test_transport test_halo

# A subcommand: listed, with its own help and completion.
sley help && shows '^  size  *print the size'
sley words && shows '^size'
sley size "$graph" && shows '^34 x 34, 156 nonzeros'

# An operator of PyTorch: its values and gradients. Where there is no PyTorch it is only added.
for python in "${SLEY_TORCH_PYTHON:-}" python3; do
  if command -v "$python" >/dev/null && "$python" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)'; then
    SLEY_LIBRARY=$(echo "$copy"/lib/libsley.so.*) PYTHONPATH=$copy/python "$python" "$here/use_operator.py" >"$copy/log" 2>&1 ||
      { tail -5 "$copy/log" >&2; fail "the operator"; }
    break
  fi
done
echo "recipes: all hold"
