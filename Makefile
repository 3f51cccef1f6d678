# SPDX-License-Identifier: Apache-2.0
# The short way in. The build itself is CMake's (CMakeLists.txt).
#
#   make run                 build the command, multiply a bundled graph and twin:cyt on 4 ranks by every algorithm, print the tables
#   make run MATRIX=file     the same with any matrix
#   make                     build the library, its modules and the command
#   make check               build and run a few drawn cases of the tests: before each commit
#   make test                build and run all tests, of most programs one drawn case in SHARE
#   make test-all            build and run all cases
#   make install PREFIX=dir  install (default /usr/local); DESTDIR is honoured
#   make uninstall PREFIX=dir
#   make deb                 Debian packages, in BUILD/deb
#   make test-bare           README's commands in a bare Debian 12 below BARE, as root, with debootstrap; minutes, not part of `make test`
#   make sanitize            the tests under ASan + UBSan, then under TSan
#   make sanitize-some       those of teams, readers, transports and execution, fewer cases of each
#   make clean               remove the build folders
#
# Each installs through apt what it needs and is missing (tools/setup.sh); where it cannot, the build uses what is there.

BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ifdef MATRIX
MATRICES = $(MATRIX)
else
MATRICES = data/karate.mtx twin:cyt
endif
# The module for GPUs takes minutes to compile: `make run` builds it where the driver of one is loaded.
MODULES = $(if $(wildcard /dev/nvidiactl),sley_cuda_if_any)

.PHONY: all run check test test-all test-bare install uninstall deb sanitize sanitize-some clean

# $(call configure,FOLDER,OPTIONS): a folder's generator is chosen once.
configure = cmake -S . -B $(1) $$([ -e $(1)/CMakeCache.txt ] || ! command -v ninja >/dev/null || echo -G Ninja) $(2)
# The product alone, which needs nothing of the tests'; a folder that has the tests keeps them, unbuilt.
fresh = $$([ -e $(BUILD)/CMakeCache.txt ] || echo -DSLEY_TESTS=OFF)
# $(call build,FOLDER,TARGETS)
build = cmake --build $(1) --parallel $(JOBS) $(2)

all:
	@tools/setup.sh build
	@$(call configure,$(BUILD),$(fresh))
	@$(call build,$(BUILD),--target sley_product)

run:
	@tools/setup.sh run
	@[ -e $(BUILD)/CMakeCache.txt ] || $(call configure,$(BUILD),$(fresh))
	@$(call build,$(BUILD),--target sley_command $(MODULES))
	@for matrix in $(MATRICES); do \
	  echo; $(BUILD)/cli/sley spmm "$$matrix" --ranks 4 --k 32 --algo all --repeat 5 || exit $$?; \
	done

# Of the cases of a test one in so many is run, drawn anew each time; a test that fails prints the seed, SLEY_TEST_SEED gives it.
check: SHARE = 100
test: SHARE = 12
test-all: SHARE = 1
check: SOME = -LE slow
check test test-all:
	@tools/setup.sh test
	@$(call configure,$(BUILD),-DSLEY_TESTS=ON -DSLEY_CPU_SETS=all)
	@$(call build,$(BUILD))
	@SLEY_TEST_SHARE=$(SHARE) ctest --test-dir $(BUILD) --output-on-failure --parallel $(JOBS) $(SOME)

install:
	@tools/setup.sh build
	@$(call configure,$(BUILD),$(fresh) -DCMAKE_INSTALL_PREFIX=$(PREFIX)) >/dev/null
	@$(call build,$(BUILD),--target sley_product)
	@tools/install.sh $(BUILD) $(PREFIX)

uninstall:
	@tools/uninstall.sh $(PREFIX)

deb:
	@tools/setup.sh deb
	@$(call configure,$(BUILD),$(fresh) -DCMAKE_INSTALL_PREFIX=/usr -DSLEY_CPU_SETS=all) >/dev/null
	@$(call build,$(BUILD),--target sley_product)
	@cd $(BUILD) && cpack -G DEB -B deb

# Packages come over the network; the build is one of its own.
BARE ?= $(BUILD)/bare
test-bare:
	@tests/install/bare.sh $(BARE) root run deb install
	@tests/install/deb.sh $(BARE) $(BARE)/root/home/sley/build/deb

# gcc 13 places vectors of 64 bytes wrongly on the stacks by which it finds uses after return.
sanitize sanitize-some: export ASAN_OPTIONS := detect_stack_use_after_return=0$(if $(ASAN_OPTIONS),:$(ASAN_OPTIONS))

sanitize:
	@tools/setup.sh test
	@$(call configure,$(BUILD)-asan,-DSLEY_SANITIZE=address$(comma)undefined)
	@$(call build,$(BUILD)-asan)
	@ctest --test-dir $(BUILD)-asan --output-on-failure --parallel $(JOBS)
	@$(call configure,$(BUILD)-tsan,-DSLEY_SANITIZE=thread)
	@$(call build,$(BUILD)-tsan)
	@ctest --test-dir $(BUILD)-tsan --output-on-failure --parallel $(JOBS)

# $(call sanitize_some,FOLDER,SANITIZERS,SETS): races depend on no instruction set.
define sanitize_some
@$(call configure,$(1),-DSLEY_SANITIZE=$(2) -DSLEY_CPU_SETS=$(3))
@$(call build,$(1),--target sley_sanitized_tests)
@SLEY_TEST_SETTINGS="cpu tcp" SLEY_TEST_SHARE=16 ctest --test-dir $(1) --output-on-failure --parallel $(JOBS) -L sanitized
endef

sanitize-some:
	@tools/setup.sh test
	$(call sanitize_some,$(BUILD)-asan,address$(comma)undefined,all)
	$(call sanitize_some,$(BUILD)-tsan,thread,native)

comma = ,

clean:
	@rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan
