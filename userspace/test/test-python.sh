# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# shellcheck shell=bash source-path=SCRIPTDIR
#
# Y1: the Python package without a queue: its arguments and its errors.
. ./tap.sh

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
	skip 'Y1: the Python package' 'there is no Python 3.11'
	done_testing
fi
python3 -B "$SRC/python/test/host.py"
