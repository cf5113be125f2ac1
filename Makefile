# SPDX-License-Identifier: GPL-2.0-only
#
# The targets for people: see `make help`. Kbuild, beside it, is for the kernel's build.

KDIR    ?= /lib/modules/$(shell uname -r)/build
PREFIX  ?= /usr/local
DESTDIR ?=

# make and the kernel's build split names at spaces. `make clean` would remove the folder that the first part names.
ifneq ($(words $(CURDIR)$(PREFIX)$(DESTDIR)),1)
$(error The checkout's path, PREFIX and DESTDIR must be without spaces: $(CURDIR) $(PREFIX) $(DESTDIR))
endif

BUILD     := $(CURDIR)/build
MAKEFLAGS += --no-print-directory

.PHONY: all module userspace install uninstall deb test test-quick test-all test-matrix test-packages test-bindings test-share test-long test-races soak soak-share coverage mutants evidence check bench bench-compare bench-profile bench-keys bench-shell bench-python bench-share demo demo-share shell clean help
.DEFAULT_GOAL := all

all: module userspace

# ---- The module ----
#
# It is built for several kernels. Each has its own copy of the sources, so that the builds do not mix and the sources stay
# clean.

# The release as in uname -r. include/config/kernel.release differs in Debian's 6.1.
release := $(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"$$/\1/p' $(KDIR)/include/generated/utsrelease.h 2>/dev/null)
stage   := $(BUILD)/module-$(release)
sources := $(shell find Kbuild kmod uapi -name Kbuild -o -name Kconfig -o -name '*.[ch]')

ifneq ($(filter all module install uninstall,$(or $(MAKECMDGOALS),all)),)
ifeq ($(release),)
define no_headers

There are no kernel headers in $(KDIR).
  for the running kernel:  apt-get install linux-headers-$(shell uname -r)
  for another kernel:      make KDIR=/lib/modules/RELEASE/build
  without the module:      make userspace
  in a virtual machine:    make demo
endef
$(error $(no_headers))
endif
endif

module: $(addprefix $(stage)/,$(sources))
	$(MAKE) -C $(KDIR) M=$(stage) modules

$(stage)/%: %
	@install -D -m 644 $< $@

# ---- The library and the command ----

userspace:
	$(MAKE) -C userspace O=$(BUILD)/userspace all

# ---- Installing ----

install: all
	$(MAKE) -C $(KDIR) M=$(stage) INSTALL_MOD_PATH=$(DESTDIR) INSTALL_MOD_DIR=updates CONFIG_MODULE_SIG_ALL= \
		DEPMOD=true modules_install
	depmod $(if $(DESTDIR),-b $(DESTDIR)) $(release)
	$(MAKE) -C userspace O=$(BUILD)/userspace PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) install

uninstall:
	rm -f $(foreach dir,kmod kmod/files kmod/samples,$(DESTDIR)/lib/modules/$(release)/updates/$(dir)/kwq*.ko*)
	-depmod $(if $(DESTDIR),-b $(DESTDIR)) $(release)
	$(MAKE) -C userspace O=$(BUILD)/userspace PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) uninstall

deb:
	@userspace/packaging/deb.sh

# ---- Testing, in virtual machines ----

test:
	@selftests/run/run-tests.sh

test-quick:
	@CHECKS=quick TESTS='!(share-three|test-go|test-header)' SUITES='check host kunit-uml' selftests/run/run-tests.sh

test-all:
	@selftests/run/test-all.sh

test-matrix:
	@selftests/run/test-matrix.sh

test-packages:
	@SUITES=packages selftests/run/run-tests.sh

test-bindings:
	@SUITES='bindings-trixie bindings-sid bindings-controller-runtime' \
		CONTROLLER_RUNTIME='$(abspath $(CONTROLLER_RUNTIME))' selftests/run/run-tests.sh

test-share:
	@SUITES='share-rules share-faults share-power' selftests/run/run-tests.sh

test-long:
	@SUITES='coccinelle spin kunit-uml-queue load-stock-queue mutants kselftest-debug' selftests/run/run-tests.sh

test-races:
	@SUITES='kunit-kcsan kselftest-kcsan kunit-uml-smp kselftest-uml-smp-2 kselftest-uml-smp-4' selftests/run/run-tests.sh

soak:
	@selftests/run/soak.sh

soak-share:
	@SUITES=share-soak selftests/run/run-tests.sh

coverage:
	@selftests/run/coverage.sh

mutants:
	@selftests/mutants/run.sh

evidence:
	@selftests/run/evidence.py $(PARTS)

check:
	@selftests/check/checks.sh

bench:
	@selftests/bench/bench.sh

bench-compare:
	@selftests/bench/bench-compare.sh

bench-profile:
	@selftests/bench/bench-profile.sh

bench-keys:
	@PARTS=keys selftests/bench/bench.sh

bench-shell:
	@PARTS=shell selftests/bench/bench.sh

bench-python:
	@PARTS=python selftests/bench/bench.sh

bench-share:
	@PARTS=share selftests/bench/bench.sh

demo:
	@selftests/machine/demo.sh

demo-share:
	@selftests/machine/demo.sh share

shell:
	@selftests/machine/shell.sh

clean:
	rm -rf $(BUILD)

help:
	@echo 'kwq: Kubernetes'"'"' workqueue in the kernel'
	@echo
	@echo '  make            the module for KDIR, the library and the command'
	@echo '  make module     the module only (CONFIG_KWQ_DEV=n: without /dev/kwq, for drivers)'
	@echo '  make userspace  the library and the command only'
	@echo '  make install    install them (as root), make uninstall to remove them'
	@echo '  make deb        Debian packages, in build/deb: kwq-dkms, libkwq1, libkwq-dev, golang-kwq-dev,'
	@echo '                  python3-kwq, kwq and kwq-share'
	@echo '  make demo       shows it in a virtual machine'
	@echo '  make demo-share shows a shared queue on three machines, of which one is killed'
	@echo '  make shell      a shell in that machine (KERNEL=debug, stock-6.1, ...; GDB=1; KVM=1)'
	@echo '  make test-quick the host, KUnit and the checks of changed files, in two minutes'
	@echo '  make test       most tests, in virtual machines; the last line is the totals'
	@echo '  make test-all   all that must pass before a release; it takes hours, and goes on where it was stopped'
	@echo '  make test-matrix    the tests that need a kernel, on every supported kernel (PAGE=1: the table into docs/kernels.md)'
	@echo '  make test SUITES=model OPS=100000000 FUZZ=600   the core against its model, for longer'
	@echo '  make soak SOAK=30   all random tests, for this many minutes'
	@echo '  make test-packages  the Debian packages, in a clean Debian (as root)'
	@echo '  make test-bindings  the Go package beside the real client-go, of Debian 13 and of unstable'
	@echo '                  (CONTROLLER_RUNTIME=DIR: also beside the priority queue of a checkout of controller-runtime)'
	@echo '  make test-share     a shared queue on three machines, with three servers of NATS, their faults, and power cuts'
	@echo '  make test-long      more of them, which takes another half an hour'
	@echo '  make test-races     the tests of concurrency, on a kernel that looks for data races'
	@echo '  make soak-share SOAK=60   the same faults for this many minutes, with a million adds'
	@echo '  make coverage   the lines and branches that the tests reach; fails if a line is missed that is not listed'
	@echo '  make mutants    plants bugs, one at a time; a test has to find each (MUTANTS=NAME for one)'
	@echo '  make evidence   soak, kills, models, searches, mutants, coverage, and their tables into docs/testing/evidence.md (PARTS="models kills")'
	@echo '  make check      static checks: checkpatch, sparse, kernel-doc, ... (CHECKS="words links" for some)'
	@echo '  make bench      the cost of each operation, beside other queues'
	@echo '  make bench-compare BASE=REVISION   the changes of these costs since a revision (ONLY=changed)'
	@echo '  make bench-profile ROW=NAME        the instructions of one row, function by function'
	@echo '  make bench-keys the cost of ten million keys in one queue'
	@echo '  make bench-shell   what jobs cost at a shell, beside other tools'
	@echo '  make bench-python  what a key costs in Python, beside multiprocessing and beanstalkd'
	@echo '  make bench-share how many keys three machines add and work on, on this computer'
	@echo '  make clean      remove build/ (the kernels stay in ~/.cache/kwq)'
	@echo
	@echo '  KDIR=$(KDIR)'
	@echo '  PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)'
	@echo '  All output is in build/.'
