// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// The operations of this file, as Error.Op names them.
const (
	opClose  = "close"
	opCreate = "create"
	opFile   = "copy the descriptor of"
	opOpen   = "open"
	opOwner  = "check the owner of"
)

// Rights of a handle. They never widen: a handle that is passed on, or opened with Reopen, has no right that the first one
// lacks. The bits r, w and x of a queue's mode stand for them.
type Rights uint32

// AllRights is every right, which a new handle has by default.
const AllRights = RightRead | RightWrite | RightManage

// A Clock is what a queue's delays, leases and pauses count on.
type Clock int32

const (
	ClockMonotonic Clock = 1             // time asleep does not count
	ClockBoottime  Clock = 7             // time asleep counts
	ClockManual    Clock = clockIDManual // for tests: begins at 0, and moves only by Advance and AdvanceTo
)

// CreateOptions are the properties of a new queue. The zero value is a good default.
type CreateOptions struct {
	// OrOpen opens the queue of that name if there is one. That queue keeps its own properties. It must belong to the caller or to
	// root: see [Queue.CheckOwner].
	OrOpen bool
	// Mode has the permission bits of a named queue, less the umask. 0 means 0700.
	Mode fs.FileMode
	// Rights of the new handle. 0 means all.
	Rights Rights
	// Clock of the queue. 0 means ClockMonotonic.
	Clock Clock
	// MaxItems is the most items at once. 0 means as many as the module grants.
	MaxItems uint64
	// MaxBytes is the most memory for items and their keys. 0 means as much as the module grants.
	MaxBytes uint64
	// Config has the limiters and the rules for retries. nil means client-go's default.
	Config *Config
	// Lease is how long an item may be held. When it is over, the queue takes the item back. 0 means for ever.
	Lease time.Duration
	// Values allows keys to have values and notes.
	Values bool
	// Groups allows keys to belong to groups, which take turns.
	Groups bool
	// GroupLimit is the most items of one group that are processed at once. 0 means any number.
	GroupLimit int
	// Aging lets a ready item count as one priority higher after this time, and so on. 0 means never.
	Aging time.Duration
	// NoDurations lets the queue read no clock for adds, hand-outs and dones, which makes it faster. Its Stat then has no ages of
	// ready keys and hand-outs, and no QueueDuration and WorkDuration. A list has AgeUnknown for such ages. It excludes Lease, Aging and Config.ForgetAfter.
	NoDurations bool
	// Changes allows a handle to follow the changes of the queue: see [Queue.Follow].
	Changes bool
	// Sync lets adds, dones, removes, forgets and restores return only when the follower has kept their changes: see
	// [Follower.Keep]. It needs Changes. Such a call takes a thread while it waits, and nothing but the end of the process ends its
	// wait. Close waits for it, too.
	Sync bool
	// Outbox receives the adds of the queue. So its manager decides what comes into the queue: it takes keys from the outbox and
	// puts them into the queue with [Queue.Restore], perhaps with a [Listed.Token]. Whoever may add to the queue may add to its
	// outbox. The outbox has the same clock, and no outbox. Its handle may be closed afterwards.
	Outbox *Queue
}

// A Queue is a handle of a queue. The handle holds the items that were got through it. When it is closed, or when the process
// ends, the queue takes these items back and hands them to others. So each worker process needs a handle of its own.
//
// Any number of goroutines may call any method at once.
type Queue struct {
	name    string
	clock   Clock
	extras  bool // an item may have a value, a group or a token
	mayWait bool // an add, a done or a remove may wait until its change is kept, or goes to an outbox

	mu sync.RWMutex // held for reading during each request
	fd int          // -1 once the handle is closed; written with mu held

	board   board
	spare   atomic.Pointer[request]
	getters getters
	adders  adders
	news    news
	waits   kernelWaits
}

// Create makes a queue with a name, and opens it. The queue lives until somebody calls [Unlink] and its last handle is closed.
// With nil options it has the zero value's properties.
func Create(name string, o *CreateOptions) (*Queue, error) {
	if err := checkName(name); err != nil {
		return nil, &Error{opCreate, name, "", err}
	}
	return create(name, o)
}

// New makes a queue without a name. It lives as long as its handles. Other processes reach it only through a descriptor that is
// passed to them: see [Queue.File].
func New(o *CreateOptions) (*Queue, error) {
	if o != nil && (o.OrOpen || o.Mode != 0) {
		return nil, &Error{opCreate, "", "", invalid("a queue without a name has no Mode, and no OrOpen: use Create")}
	}
	return create("", o)
}

// Open opens the queue of that name, with these rights. Without any right named, it asks for all of them.
func Open(name string, rights Rights) (*Queue, error) {
	if err := checkName(name); err != nil {
		return nil, &Error{opOpen, name, "", err}
	}
	args := openRequest(rights)
	copy(args.name[:], name)
	fd, err := deviceRequest(opOpen, name, iocOpen, unsafe.Pointer(args))
	if err != nil {
		return nil, err
	}
	return adopt(opOpen, fd)
}

// Reopen opens a second handle of the same queue, with these rights or, without any named, with all of them. It may only ask
// for rights that the first handle has. It holds its own items.
func (q *Queue) Reopen(rights Rights) (*Queue, error) {
	args := openRequest(rights)
	fd, err := q.request(opOpen, "", iocOpen, unsafe.Pointer(args))
	if err != nil {
		return nil, err
	}
	return adopt(opOpen, fd)
}

// FromFile makes a handle from a descriptor that was inherited or received. It uses a duplicate, so the caller still has to
// close f. All duplicates share one handle: the items that it holds are given back when the last of them is closed.
func FromFile(f *os.File) (*Queue, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, &Error{opOpen, "", "", err}
	}
	fd, errno := -1, syscall.Errno(0)
	if err := raw.Control(func(of uintptr) { fd, errno = duplicate(int(of)) }); err != nil {
		return nil, &Error{opOpen, "", "", err}
	}
	if errno != 0 {
		return nil, &Error{opOpen, "", "", meaning(opOpen, errno)}
	}
	return adopt(opOpen, fd)
}

// File returns a duplicate of the handle's descriptor, for a child process ([os/exec.Cmd.ExtraFiles]) or to be sent through a
// Unix socket. The caller has to close it. The receiver calls [FromFile]. Both share this handle. A worker process needs a
// handle of its own: pass it that of [Queue.Reopen].
func (q *Queue) File() (*os.File, error) {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.fd < 0 {
		return nil, q.refuse(opFile, "", ErrClosed)
	}
	fd, errno := duplicate(q.fd)
	if errno != 0 {
		return nil, q.fail(opFile, "", errno)
	}
	return os.NewFile(uintptr(fd), "kwq:"+q.name), nil
}

// Close closes the handle. The items that it holds are lost: the queue takes them back, and counts them as abandoned. Calls
// that wait return [ErrClosed]. Close itself waits for calls that do not wait, so that they never use another descriptor.
func (q *Queue) Close() error {
	q.tell()
	q.mu.Lock()
	fd, mapped := q.fd, q.board.mapped
	q.fd, q.board.memory, q.board.mapped = -1, nil, nil
	q.mu.Unlock()
	if mapped != nil {
		syscall.Munmap(mapped)
	}
	if fd < 0 {
		return q.refuse(opClose, "", ErrClosed)
	}
	// A duplicate of the descriptor would keep it registered with the pollers.
	q.getters.end(fd)
	q.adders.end(fd)
	q.news.end(fd)
	q.waits.end()
	if err := syscall.Close(fd); err != nil {
		return &Error{opClose, q.name, "", err}
	}
	return nil
}

// Name of the queue; "" if it has none.
func (q *Queue) Name() string { return q.name }

func create(name string, o *CreateOptions) (*Queue, error) {
	if o == nil {
		o = &CreateOptions{}
	}
	args, err := createRequest(name, o)
	if err != nil {
		return nil, &Error{opCreate, name, "", err}
	}
	config := new(configRequest)
	if o.Config != nil {
		if err := config.set(o.Config); err != nil {
			return nil, &Error{opCreate, name, "", err}
		}
		args.config = address(unsafe.Pointer(&config.args))
	}
	if o.Outbox != nil {
		o.Outbox.mu.RLock()
		defer o.Outbox.mu.RUnlock()
		if o.Outbox.fd < 0 {
			return nil, &Error{opCreate, name, "", &namedError{"the handle of the outbox is closed", syscall.EBADF, ErrClosed}}
		}
		args.flags |= createOutbox
		args.outbox = int32(o.Outbox.fd)
	}
	fd, err := deviceRequest(opCreate, name, iocCreate, unsafe.Pointer(args))
	runtime.KeepAlive(config)
	if err != nil {
		return nil, err
	}
	q, err := adopt(opCreate, fd)
	if err != nil || !o.OrOpen {
		return q, err
	}
	if err := q.checkOwner(opCreate); err != nil {
		q.Close()
		return nil, err
	}
	return q, nil
}

// CheckOwner returns [ErrNotOwner] unless the caller's effective user or root has created the queue. Everybody who may use /dev/kwq
// can create a queue of a name that is free, and read, change or take out what others add to it then. So a program that makes a
// queue unless it exists asks this before it trusts one that exists. [Create] with OrOpen does so itself, and [Open] does not,
// because a program may mean the queue of another user.
func (q *Queue) CheckOwner() error { return q.checkOwner(opOwner) }

func (q *Queue) checkOwner(op string) error {
	st, err := q.Stat()
	if err == nil && st.UID != 0 && int(st.UID) != os.Geteuid() {
		err = q.fail(op, "", syscall.EPERM)
	}
	return err
}

func createRequest(name string, o *CreateOptions) (*createArgs, error) {
	if o.Mode&^0o777 != 0 {
		return nil, invalid("Mode is %#o: only permission bits, up to 0777, make sense", uint32(o.Mode))
	}
	if o.GroupLimit != 0 && !o.Groups {
		return nil, invalid("GroupLimit needs Groups")
	}
	if o.Sync && !o.Changes {
		return nil, invalid("Sync needs Changes")
	}
	if o.Rights&^AllRights != 0 {
		return nil, invalid("Rights has unknown bits: %#x", uint32(o.Rights))
	}
	args := &createArgs{
		openFlags: syscall.O_CLOEXEC | syscall.O_NONBLOCK,
		clockid:   int32(o.Clock),
		rights:    uint32(o.Rights),
		maxItems:  o.MaxItems,
		maxBytes:  o.MaxBytes,
	}
	args.size = uint32(unsafe.Sizeof(*args))
	var err error
	if args.lease, err = span("Lease", o.Lease); err != nil {
		return nil, err
	}
	if args.aging, err = span("Aging", o.Aging); err != nil {
		return nil, err
	}
	if args.groupLimit, err = count("GroupLimit", o.GroupLimit); err != nil {
		return nil, err
	}
	if args.clockid == 0 {
		args.clockid = int32(ClockMonotonic)
	}
	if args.rights == 0 {
		args.rights = uint32(AllRights)
	}
	if name != "" {
		copy(args.name[:], name)
		args.mode = uint32(o.Mode)
		if args.mode == 0 {
			args.mode = 0o700
		}
	}
	if o.OrOpen {
		args.flags |= createOrOpen
	}
	if o.Values {
		args.flags |= createValues
	}
	if o.Groups {
		args.flags |= createGroups
	}
	if o.NoDurations {
		args.flags |= createNoDurations
	}
	if o.Changes {
		args.flags |= createChanges
	}
	if o.Sync {
		args.flags |= createSync
	}
	return args, nil
}

func openRequest(rights Rights) *openArgs {
	if rights == 0 {
		rights = AllRights
	}
	args := &openArgs{openFlags: syscall.O_CLOEXEC | syscall.O_NONBLOCK, rights: uint32(rights)}
	args.size = uint32(unsafe.Sizeof(*args))
	return args
}

// adopt makes a handle that owns a descriptor.
func adopt(op string, fd int) (*Queue, error) {
	st := new(statArgs)
	st.size = uint32(unsafe.Sizeof(*st))
	if _, errno := ioctl(fd, iocStat, unsafe.Pointer(st)); errno != 0 {
		syscall.Close(fd)
		if errno == syscall.ENOTTY {
			return nil, &Error{op, "", "", &namedError{"this is not the descriptor of a queue", errno, ErrInvalid}}
		}
		return nil, &Error{op, "", "", meaning(op, errno)}
	}
	q := &Queue{
		name:    st.name.String(),
		clock:   Clock(st.clockid),
		extras:  st.createFlags&(createValues|createGroups|createChanges) != 0,
		mayWait: st.createFlags&(createSync|createOutbox) != 0,
		fd:      fd,
	}
	// Such a queue has no board.
	if !q.mayWait {
		q.board.until = boardCoalesced
	}
	q.getters.queue = q
	q.adders.queue = q
	q.news.queue, q.news.wake = q, make(chan struct{}, 1)
	return q, nil
}

func duplicate(fd int) (int, syscall.Errno) {
	n, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, 0)
	return int(n), errno
}

// request runs a request on the handle's descriptor. The caller keeps everything alive that arg points to.
func (q *Queue) request(op, key string, number uintptr, arg unsafe.Pointer) (int, error) {
	n, errno, closed := q.try(number, arg)
	if closed {
		return 0, q.refuse(op, key, ErrClosed)
	}
	if errno != 0 {
		return 0, q.fail(op, key, errno)
	}
	return n, nil
}

// try is a request whose errno value the caller looks at.
func (q *Queue) try(number uintptr, arg unsafe.Pointer) (n int, errno syscall.Errno, closed bool) {
	q.mu.RLock()
	if q.fd < 0 {
		q.mu.RUnlock()
		return 0, 0, true
	}
	n, errno = ioctl(q.fd, number, arg)
	q.mu.RUnlock()
	return n, errno, false
}

// tryAtOnce is try for a request of one key. That waits for nothing but memory, as an instruction that touches a page for the first time
// may, so Go's scheduler need not know of it. To tell the scheduler would take as many instructions as a quarter of the request.
func (q *Queue) tryAtOnce(number uintptr, arg unsafe.Pointer) (n int, errno syscall.Errno, closed bool) {
	if q.mayWait {
		return q.try(number, arg)
	}
	q.mu.RLock()
	if q.fd < 0 {
		q.mu.RUnlock()
		return 0, 0, true
	}
	for errno = syscall.EINTR; errno == syscall.EINTR; {
		var r uintptr
		r, _, errno = syscall.RawSyscall6(syscall.SYS_IOCTL, uintptr(q.fd), number, uintptr(arg), 0, 0, 0)
		n = int(r)
	}
	q.mu.RUnlock()
	return n, errno, false
}

// descriptor returns -1 once the handle is closed.
func (q *Queue) descriptor() int {
	q.mu.RLock()
	defer q.mu.RUnlock()
	return q.fd
}

func checkName(name string) error {
	switch {
	case name == "":
		return invalid("the name is empty: New makes a queue without a name")
	case len(name) > NameMax:
		return &namedError{tooLong("the name", len(name), NameMax).Error(), syscall.ENAMETOOLONG, ErrTooLong}
	case name == "." || name == ".." || strings.ContainsAny(name, "/\x00"):
		return invalid("a name is neither . nor .., and contains neither / nor a zero byte")
	}
	return nil
}

func checkKey(key string) error {
	if key == "" {
		return invalid("the key is empty: it needs a byte at least")
	}
	if len(key) > KeyMax {
		return tooLong("the key", len(key), KeyMax)
	}
	return nil
}

// span is a duration for the kernel.
func span(what string, d time.Duration) (uint64, error) {
	if d < 0 {
		return 0, invalid("%s is negative: %v", what, d)
	}
	return uint64(d), nil
}

// count is a number for the kernel.
func count(what string, n int) (uint32, error) {
	if n < 0 || uint64(n) > 1<<32-1 {
		return 0, invalid("%s is out of range: %d", what, n)
	}
	return uint32(n), nil
}

// String returns the name in the field.
func (f *nameField) String() string {
	for i, c := range f {
		if c == 0 {
			return string(f[:i])
		}
	}
	return string(f[:])
}
