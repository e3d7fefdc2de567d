# glint: what to type. `make` builds; `make test` and `make demo` do everything on a fresh machine.
# The build itself is CMakeLists.txt.

.PHONY: all deps demo test hostile gpu-test lint bench fuzz asan tsan x86_64 aarch64 dist format clean help configure

.NOTPARALLEL: # ninja and ctest use all cores themselves

FUZZ_SECONDS ?= 60
HOSTILE_RUNS ?= 20

all: configure # build glint into build/bin
	@cmake --build build

configure:
	@for tool in cc cmake ninja; do \
	    command -v $$tool >/dev/null || { echo "make: $$tool is missing: 'make deps' installs what glint needs" >&2; exit 1; }; \
	done
	@cmake --preset dev >/dev/null

deps: # install the packages needed (Debian, Ubuntu)
	@scripts/bootstrap

demo: # build, and look at an example
	@scripts/bootstrap --build
	@$(MAKE) --no-print-directory configure
	@cmake --build build --target installed --target chain
	@scripts/demo

test: deps # build and run all tests
	@$(MAKE) --no-print-directory all
	@scripts/test build

hostile: configure # run the programs of tests/hostile HOSTILE_RUNS (20) times in every mode, and measure
	@cmake --build build --target hostile --target glint --target simulator --target glint_inject_preload
	@tests/hostile/run -n $(HOSTILE_RUNS) -t

gpu-test: configure # run the tests that need a GPU, on this machine's
	@cmake --build build --target glint --target simulator --target glint_inject_preload
	@scripts/gpu-test

lint: deps configure # check layout, include law and source
	@scripts/lint

bench: configure # run the benchmarks
	@cmake --build build --target bench-programs --target glint --target simulator --target glint_inject_preload
	@for program in build/bench/bench_*; do \
	    [ -x "$$program" ] || continue; echo "== $${program##*/}"; "$$program" || exit 1; \
	done
	@echo "== kernels"; bench/kernels/run || [ $$? = 77 ]

fuzz: deps # fuzz every target for FUZZ_SECONDS (60)
	@cmake --preset fuzz >/dev/null && cmake --build --preset fuzz
	@ctest --test-dir build-fuzz -R '\.seeds$$' >/dev/null
	@for target in build-fuzz/fuzz/fuzz_*; do \
	    [ -x "$$target" ] || continue; name=$${target##*/fuzz_}; mkdir -p build-fuzz/corpus/$$name; \
	    echo "== $$name, $(FUZZ_SECONDS) s"; \
	    "$$target" -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 -artifact_prefix=build-fuzz/$$name- \
	        build-fuzz/corpus/$$name $$(ls -d tests/fuzz/corpus/$$name build-fuzz/fuzz/corpus/$$name 2>/dev/null) || exit 1; \
	done

asan tsan: deps # run the tests with address or thread sanitizer
	@cmake --preset $@ >/dev/null && cmake --build --preset $@
	@scripts/test build-$@

x86_64 aarch64: # build for that architecture into build-ARCH/bin, to run on any glibc from 2.28 on
	@scripts/bootstrap --cross $@
	@cmake --preset $@ && cmake --build --preset $@

dist: # make tarballs and Debian packages for x86_64 and aarch64 in dist
	@for arch in x86_64 aarch64; do \
	    scripts/bootstrap --cross $$arch || { echo "make: nothing is packed for $$arch" >&2; continue; }; \
	    cmake --preset $$arch >/dev/null && cmake --build --preset $$arch && scripts/pack build-$$arch dist || exit 1; \
	done

format: # lay out all C files
	@tool=$$(scripts/have clang-format) && find src tests bench -name '*.[ch]' 2>/dev/null | xargs -r "$$tool" -i

clean: # remove all build folders
	rm -rf build build-release build-asan build-tsan build-fuzz build-x86_64 build-aarch64 dist

help: # show this list
	@sed -n 's/^\([a-z0-9_ -]*\):[^#=]*# \(.*\)/  \1\t\2/p' Makefile | expand -t 20
