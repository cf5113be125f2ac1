// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"runtime"
	"syscall"
	"unsafe"
)

// Some architectures number their requests in another way.
const (
	oddIoctl = runtime.GOARCH == "mips" || runtime.GOARCH == "mipsle" || runtime.GOARCH == "mips64" ||
		runtime.GOARCH == "mips64le" || runtime.GOARCH == "ppc64" || runtime.GOARCH == "ppc64le"
	magic = 0xBB << 8
)

// ioc is the number of a request: the low two bits of rw say that the caller writes and reads an argument.
func ioc(rw, nr uintptr) uintptr {
	if oddIoctl {
		// None, read and write have a bit each. Write and read are the other way round.
		bits := [...]uintptr{1, 4, 2, 6}[rw]
		return bits<<29 | size(rw)<<16 | magic | nr
	}
	return rw<<30 | size(rw)<<16 | magic | nr
}

func size(rw uintptr) uintptr {
	if rw == 0 {
		return 0
	}
	return 4
}

// The name of a queue in a structure, ended by a NUL.
type nameField [NameMax + 1]byte

// address returns an address for a member of a request, where it is a uint64 that the garbage collector does not see. The stack of a goroutine moves, so the compiler must put everything on
// the heap whose address is taken here: as far as it knows, each address may become that of escaped. The caller keeps the memory
// alive until the call is over.
func address(p unsafe.Pointer) uint64 {
	if escape {
		escaped = p
	}
	return uint64(uintptr(p))
}

var (
	escape  bool // always false
	escaped unsafe.Pointer
)

// ioctl runs a request that never waits for long. A signal does not end it.
func ioctl(fd int, request uintptr, arg unsafe.Pointer) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
		if errno != syscall.EINTR {
			return int(n), errno
		}
	}
}
