// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"fmt"
	"syscall"
)

// Errors of the operations, for [errors.Is]. Each of them is a [syscall.Errno] as well, and an error that has no name here is
// only that. Where no name fits, [io/fs.ErrPermission] and [io/fs.ErrNotExist] work, too. The end of a context is reported as
// the context's own error, [context.Canceled] or [context.DeadlineExceeded].
var (
	// ErrShutDown says that the queue is shut down. An add is refused. A get has nothing left to hand out.
	ErrShutDown error = &namedError{"the queue is shut down", syscall.ESHUTDOWN, nil}
	// ErrEmpty says that nothing is ready. Only TryGet returns it.
	ErrEmpty error = &namedError{"nothing is ready", syscall.EAGAIN, nil}
	// ErrNotFound says that there is no queue of that name, or no such key in the queue.
	ErrNotFound error = &namedError{"there is none of that name", syscall.ENOENT, nil}
	// ErrExists says that a queue of that name exists.
	ErrExists error = &namedError{"a queue of that name exists", syscall.EEXIST, nil}
	// ErrFull says that the queue has no room for the key, or for its value or note.
	ErrFull error = &namedError{"the queue is full", syscall.ENOSPC, nil}
	// ErrQuota says that the queues of a user take too much memory, or are too many, or that the caller's calls take too
	// much.
	ErrQuota error = &namedError{"the owner of the queue, or the caller, has used up a quota", syscall.EDQUOT, nil}
	// ErrStale says that the handle lost the item: its lease expired, or it was finished before.
	ErrStale error = &namedError{"the item is not held any more", syscall.ESTALE, nil}
	// ErrChanged says that the key has changed, or was added, since the change that [RemoveOptions.Change] names.
	ErrChanged error = &namedError{"the key has changed since", syscall.ESTALE, nil}
	// ErrNotHolder says that another handle holds the key.
	ErrNotHolder error = &namedError{"another handle holds the key", syscall.EPERM, nil}
	// ErrNotOwner says that another user has created the queue: see [Queue.CheckOwner].
	ErrNotOwner error = &namedError{"another user has created the queue, and can do anything with its keys", syscall.EPERM, nil}
	// ErrRights says that the handle was opened without the right for this operation.
	ErrRights error = &namedError{"the handle was opened without the right for this", syscall.EBADF, nil}
	// ErrClosed says that the handle is closed.
	ErrClosed error = &namedError{"the handle is closed", syscall.EBADF, nil}
	// ErrDrainEnded says that a shut down without a drain ended the wait of a drain.
	ErrDrainEnded error = &namedError{"a shut down ended the wait for the drain", syscall.ECANCELED, nil}
	// ErrTooLong says that a key, a value, a note, a group or a name is too long.
	ErrTooLong error = &namedError{"too long", syscall.EMSGSIZE, nil}
	// ErrInvalid says that an argument is wrong. The text says which one, and what it may be.
	ErrInvalid error = &namedError{"an argument is wrong", syscall.EINVAL, nil}
	// ErrNoDevice says that there is no /dev/kwq.
	ErrNoDevice error = &namedError{"there is no /dev/kwq: load the module with modprobe kwq", syscall.ENODEV, nil}
	// ErrFollowed says that the queue has a follower already, perhaps this handle.
	ErrFollowed error = &namedError{"the queue has a follower already", syscall.EBUSY, nil}
	// ErrUnsupported says that the queue, or the module, does not have what was asked for.
	ErrUnsupported error = &namedError{"the queue or the module does not have this", syscall.EOPNOTSUPP, nil}
)

// A namedError is an errno value with a text. It also is the error kind, if that is not nil.
type namedError struct {
	text  string
	errno syscall.Errno
	kind  error
}

func (e *namedError) Error() string        { return e.text }
func (e *namedError) Unwrap() error        { return e.errno }
func (e *namedError) Is(target error) bool { return e.kind != nil && target == e.kind }

// named has the named error of each errno value that means the same everywhere.
var named = map[syscall.Errno]error{
	syscall.ESHUTDOWN:    ErrShutDown,
	syscall.EAGAIN:       ErrEmpty,
	syscall.ENOENT:       ErrNotFound,
	syscall.EEXIST:       ErrExists,
	syscall.ENOSPC:       ErrFull,
	syscall.EDQUOT:       ErrQuota,
	syscall.ESTALE:       ErrStale,
	syscall.EBADF:        ErrRights,
	syscall.ECANCELED:    ErrDrainEnded,
	syscall.EMSGSIZE:     ErrTooLong,
	syscall.ENAMETOOLONG: &namedError{"the name is too long", syscall.ENAMETOOLONG, ErrTooLong},
	syscall.EINVAL:       &namedError{"the kernel refused an argument", syscall.EINVAL, ErrInvalid},
	syscall.EOPNOTSUPP:   ErrUnsupported,
	syscall.EBUSY:        ErrFollowed,
	syscall.E2BIG:        &namedError{"the loaded module is too old for this", syscall.E2BIG, ErrUnsupported},
	syscall.ENOTTY:       &namedError{"the loaded module does not have this request", syscall.ENOTTY, ErrUnsupported},
}

// meaning of an errno value that an operation returned.
func meaning(op string, errno syscall.Errno) error {
	if errno == syscall.EPERM && (op == opDone || op == opExtend || op == opNote) {
		return ErrNotHolder
	}
	if errno == syscall.EPERM && (op == opCreate || op == opOwner) {
		return ErrNotOwner
	}
	if errno == syscall.ESTALE && op == opRemove {
		return ErrChanged
	}
	if err, ok := named[errno]; ok {
		return err
	}
	return errno
}

// An Error is what an operation returns if it fails, unless a context ended it. It unwraps to one of the errors of this package,
// and that to a [syscall.Errno].
type Error struct {
	Op    string // the operation that failed, such as "add"
	Queue string // the name of the queue, or "" if it has none
	Key   string // the key, or "" if the operation has none
	Err   error
}

// Error says which operation failed, on what, and why.
func (e *Error) Error() string {
	on := ""
	if e.Key != "" {
		on = fmt.Sprintf(" %.64q", e.Key)
	}
	switch {
	case e.Queue != "" && on != "":
		on += " of queue " + e.Queue
	case e.Queue != "":
		on = " queue " + e.Queue
	case on == "":
		on = " queue"
	}
	return "kwq: " + e.Op + on + ": " + e.Err.Error()
}

// Unwrap returns the named error, or the errno value.
func (e *Error) Unwrap() error { return e.Err }

// invalid is an error about a wrong argument.
func invalid(format string, args ...interface{}) error {
	return &namedError{fmt.Sprintf(format, args...), syscall.EINVAL, ErrInvalid}
}

// tooLong is an error about an argument that is too long.
func tooLong(what string, length, max int) error {
	return &namedError{fmt.Sprintf("%s has %d bytes, and may have %d", what, length, max), syscall.EMSGSIZE, ErrTooLong}
}

// fail makes the error of an operation from an errno value.
func (q *Queue) fail(op, key string, errno syscall.Errno) error {
	return &Error{op, q.name, key, meaning(op, errno)}
}

// refuse makes the error of an operation from an argument's error.
func (q *Queue) refuse(op, key string, err error) error {
	return &Error{op, q.name, key, err}
}
