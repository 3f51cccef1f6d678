# SPDX-License-Identifier: Apache-2.0
# The short way in. The build itself is CMake's (CMakeLists.txt).
#
#   make run                 build, multiply a bundled graph and twin:cyt on 4 ranks, print the table of all algorithms
#   make run MATRIX=file     the same with any matrix
#   make test                build and run the tests
#   make install PREFIX=dir  install (default /usr/local)
#   make sanitize            the tests under ASan + UBSan, then under TSan
#   make clean               remove the build folders

BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ifdef MATRIX
MATRICES = $(MATRIX)
else
MATRICES = data/karate.mtx twin:cyt
endif

.PHONY: all run test install sanitize setup clean

all: $(BUILD)/build.ninja
	@cmake --build $(BUILD) --parallel $(JOBS)

setup:
	@tools/setup.sh

$(BUILD)/build.ninja: | setup
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_INSTALL_PREFIX=$(PREFIX)

run: all
	@for matrix in $(MATRICES); do \
	  echo; $(BUILD)/cli/sley spmm "$$matrix" --ranks 4 --k 32 --algo all || exit $$?; \
	done

test: all
	@ctest --test-dir $(BUILD) --output-on-failure --parallel $(JOBS)

install: all
	@cmake -DCMAKE_INSTALL_PREFIX=$(PREFIX) -S . -B $(BUILD) >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS)
	@cmake --install $(BUILD)

sanitize: setup
	@cmake -S . -B $(BUILD)-asan -G Ninja -DSLEY_SANITIZE=address,undefined
	@cmake --build $(BUILD)-asan --parallel $(JOBS)
	@ctest --test-dir $(BUILD)-asan --output-on-failure
	@cmake -S . -B $(BUILD)-tsan -G Ninja -DSLEY_SANITIZE=thread
	@cmake --build $(BUILD)-tsan --parallel $(JOBS)
	@ctest --test-dir $(BUILD)-tsan --output-on-failure

clean:
	@rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan
