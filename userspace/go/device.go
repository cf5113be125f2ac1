// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"io/fs"
	"runtime"
	"syscall"
	"unsafe"
)

// The operations of this file, as Error.Op names them.
const (
	opInfo   = "ask for the limits of"
	opUnlink = "unlink"
)

const devicePath = "/dev/kwq"

// A Feature is something that a module may lack, because it is older than this package.
type Feature uint64

// ModuleInfo has the features and limits of the loaded module.
type ModuleInfo struct {
	Features       Feature
	KeyMax         int    // longest key
	NameMax        int    // longest name
	BatchMax       int    // most entries in one call of the kernel
	PriorityMin    int    // lowest priority
	PriorityMax    int    // highest priority
	MaxItems       uint64 // highest CreateOptions.MaxItems
	MaxBytes       uint64 // highest CreateOptions.MaxBytes
	MaxQueues      uint32 // most queues of one user
	MaxUserBytes   uint64 // most memory of one user's queues
	MaxTotalBytes  uint64 // most memory of all users' queues
	UserQueues     uint32 // queues that the caller has
	UserQueuesLeft uint32 // how many more the caller may have
	UserBytes      uint64 // memory that the caller's queues take
	UserBytesLeft  uint64 // how much more they may take
}

// Info returns the features and limits of the loaded module.
func Info() (*ModuleInfo, error) {
	args := new(infoArgs)
	args.size = uint32(unsafe.Sizeof(*args))
	if _, err := deviceRequest(opInfo, "", iocInfo, unsafe.Pointer(args)); err != nil {
		return nil, err
	}
	return &ModuleInfo{
		Features:       Feature(args.features),
		KeyMax:         int(args.keyMax),
		NameMax:        int(args.nameMax),
		BatchMax:       int(args.batchMax),
		PriorityMin:    int(args.priorityMin),
		PriorityMax:    int(args.priorityMax),
		MaxItems:       args.maxItems,
		MaxBytes:       args.maxBytes,
		MaxQueues:      args.maxQueues,
		MaxUserBytes:   args.maxUserBytes,
		MaxTotalBytes:  args.maxTotalBytes,
		UserQueues:     args.userQueues,
		UserQueuesLeft: args.userQueuesLeft,
		UserBytes:      args.userBytes,
		UserBytesLeft:  args.userBytesLeft,
	}, nil
}

// Unlink removes a queue's name. Another queue may have it at once. The queue itself, with the items left in it, ends when its
// last handle is closed.
func Unlink(name string) error {
	if err := checkName(name); err != nil {
		return &Error{opUnlink, name, "", err}
	}
	args := new(unlinkArgs)
	args.size = uint32(unsafe.Sizeof(*args))
	copy(args.name[:], name)
	_, err := deviceRequest(opUnlink, name, iocUnlink, unsafe.Pointer(args))
	return err
}

// A NamedQueue is an entry in the list of queues.
type NamedQueue struct {
	Name string
	UID  uint32 // owner, in the caller's user namespace
	GID  uint32 // group, in the caller's user namespace
	Mode fs.FileMode
}

// Queues returns the queues that have a name, sorted by it.
func Queues() ([]NamedQueue, error) {
	const page = 64
	var queues []NamedQueue
	entries := new([page]listEntry)
	args := &listArgs{
		entries:   address(unsafe.Pointer(entries)),
		nr:        page,
		entrySize: uint32(unsafe.Sizeof(entries[0])),
	}
	args.size = uint32(unsafe.Sizeof(*args))
	for {
		n, err := deviceRequest(opList, "", iocList, unsafe.Pointer(args))
		runtime.KeepAlive(entries)
		if err != nil || n == 0 {
			return queues, err
		}
		for i := range entries[:n] {
			e := &entries[i]
			queues = append(queues, NamedQueue{e.name.String(), e.uid, e.gid, fs.FileMode(e.mode)})
		}
		args.after = entries[n-1].name
	}
}

// deviceRequest opens the device, runs one request on it, and closes it. The caller keeps everything alive that arg points to.
func deviceRequest(op, name string, number uintptr, arg unsafe.Pointer) (int, error) {
	fd, err := syscall.Open(devicePath, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	for err == syscall.EINTR {
		fd, err = syscall.Open(devicePath, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	}
	if err == syscall.ENOENT || err == syscall.ENXIO {
		// A request uses ENOENT for a queue that does not exist.
		return 0, &Error{op, name, "", ErrNoDevice}
	}
	if err != nil {
		return 0, &Error{op, name, "", &namedError{devicePath + ": " + err.Error(), err.(syscall.Errno), nil}}
	}
	defer syscall.Close(fd)
	n, errno := ioctl(fd, number, arg)
	if errno != 0 {
		return 0, &Error{op, name, "", meaning(op, errno)}
	}
	return n, nil
}
