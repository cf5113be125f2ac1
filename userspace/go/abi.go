// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"runtime"
	"syscall"
	"unsafe"
)

// The structures and numbers of <linux/kwq.h>. abi_test.go compares them with the header. An address in a structure is a uint64:
// the garbage collector does not see it.

const (
	createOrOpen = 1 << 0
	createValues = 1 << 1
	createGroups = 1 << 2

	createNoDurations = 1 << 3
	createChanges     = 1 << 4
	createSync        = 1 << 5
	createOutbox      = 1 << 6

	configCoalesce = 1 << 0

	addWait     = 1 << 0
	addRelative = 1 << 1

	addPriority    = 1 << 0
	addAfter       = 1 << 1
	addAt          = 1 << 2
	addReplace     = 1 << 3
	addKeep        = 1 << 4
	addLater       = 1 << 5
	addEndWait     = 1 << 6
	addRateLimited = 1 << 7
	addKick        = 1 << 8
	addValue       = 1 << 9
	addKeepValue   = 1 << 10
	addGroup       = 1 << 11
	addAtMost      = 1 << 12
	addToken       = 1 << 13
	addNote        = 1 << 14

	doneForget = 1 << 0
	doneDead   = 1 << 1
	doneReturn = 1 << 2

	extendNote = 1 << 0

	removeDead      = 1 << 0
	removeRevoke    = 1 << 1
	removeUnchanged = 1 << 2

	listKey    = 1 << 0
	listValues = 1 << 1
	listNotes  = 1 << 2

	advanceTo = 1 << 0

	getNonblock = 1 << 0

	pauseFor = 1 << 0

	termRelative = 1 << 0

	drainRelative = 1 << 0

	changesNonblock = 1 << 0
	changesValues   = 1 << 2
	changesNotes    = 1 << 4

	stateShutDown = 1 << 0
	stateUnlinked = 1 << 1
	statePaused   = 1 << 2
	stateTermOver = 1 << 3

	noDeadline   = ^uint64(0)
	priorityNone = -128
	ageUnknown   = 1<<64 - 1
	one          = 65536
)

const (
	limiterExponential = 1
	limiterFastSlow    = 2
	limiterBucket      = 3
	limiterBackoff     = 4
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

var (
	iocInfo         = ioc(3, 0x00)
	iocCreate       = ioc(1, 0x01)
	iocOpen         = ioc(1, 0x02)
	iocUnlink       = ioc(1, 0x03)
	iocList         = ioc(1, 0x04)
	iocAdd          = ioc(3, 0x10)
	iocGet          = ioc(3, 0x11)
	iocDone         = ioc(1, 0x12)
	iocRemove       = ioc(1, 0x13)
	iocLen          = ioc(0, 0x14)
	iocStat         = ioc(3, 0x15)
	iocShutDown     = ioc(1, 0x16)
	iocShuttingDown = ioc(0, 0x17)
	iocDrain        = ioc(3, 0x18)
	iocForget       = ioc(1, 0x19)
	iocRequeues     = ioc(1, 0x1a)
	iocConfigure    = ioc(1, 0x1b)
	iocConfig       = ioc(3, 0x1c)
	iocAdvance      = ioc(1, 0x1e)
	iocExtend       = ioc(1, 0x1f)
	iocPause        = ioc(1, 0x20)
	iocResume       = ioc(1, 0x21)
	iocListItems    = ioc(3, 0x22)
	iocRestore      = ioc(1, 0x23)
	iocBoard        = ioc(3, 0x24)
	iocTell         = ioc(1, 0x25)
	iocFollow       = ioc(3, 0x26)
	iocChanges      = ioc(3, 0x27)
	iocSync         = ioc(3, 0x28)
	iocTerm         = ioc(1, 0x29)
)

type nameField [NameMax + 1]byte

type infoArgs struct {
	size           uint32
	keyMax         uint32
	features       uint64
	maxItems       uint64
	maxBytes       uint64
	maxQueues      uint32
	nameMax        uint32
	batchMax       uint32
	priorityMin    int32
	priorityMax    int32
	userQueues     uint32
	userQueuesLeft uint32
	pad            uint32
	maxUserBytes   uint64
	maxTotalBytes  uint64
	userBytes      uint64
	userBytesLeft  uint64
}

type limiterArgs struct {
	kind uint32
	pad  uint32
	u    [4]uint64
}

// The members of the union in limiterArgs.
type (
	exponentialArgs struct {
		base uint64
		max  uint64
	}
	fastSlowArgs struct {
		fast   uint64
		slow   uint64
		nrFast uint32
		pad    uint32
	}
	bucketArgs struct {
		period uint64
		events uint32
		burst  uint32
	}
	backoffArgs struct {
		duration uint64
		cap      uint64
		factor   uint32
		jitter   uint32
		steps    uint32
		pad      uint32
	}
)

type configArgs struct {
	size          uint32
	flags         uint32
	maxWait       uint64
	forgetAfter   uint64
	deadAfter     uint32
	nr            uint32
	limiters      uint64
	limiterSize   uint32
	deadAfterLost uint32
}

type createArgs struct {
	size       uint32
	flags      uint32
	openFlags  uint32
	mode       uint32
	clockid    int32
	rights     uint32
	maxItems   uint64
	maxBytes   uint64
	name       nameField
	config     uint64
	lease      uint64
	aging      uint64
	groupLimit uint32
	outbox     int32
}

type openArgs struct {
	size      uint32
	openFlags uint32
	rights    uint32
	pad       uint32
	name      nameField
}

type unlinkArgs struct {
	size  uint32
	flags uint32
	name  nameField
}

type listEntry struct {
	uid  uint32
	gid  uint32
	mode uint32
	pad  uint32
	name nameField
}

type listArgs struct {
	size      uint32
	flags     uint32
	entries   uint64
	nr        uint32
	entrySize uint32
	after     nameField
}

type batchABI struct {
	entries   uint64
	keys      uint64
	results   uint64
	extras    uint64
	keysLen   uint32
	nr        uint32
	entrySize uint32
	extraSize uint32
}

type batchArgs struct {
	size  uint32
	flags uint32
	batch batchABI
}

type addArgs struct {
	size     uint32
	flags    uint32
	batch    batchABI
	deadline uint64
	resume   uint64
}

type addEntry struct {
	keyLen   uint32
	flags    uint32
	priority int32
	pad      uint32
	time     uint64
}

type addExtra struct {
	value    uint64
	group    uint64
	note     uint64
	atMost   uint64
	valueLen uint32
	groupLen uint32
	noteLen  uint32
	pad      uint32
	token    uint64
}

type doneEntry struct {
	ticket uint64
	keyLen uint32
	flags  uint32
}

type extendEntry = doneEntry

type removeEntry struct {
	keyLen uint32
	flags  uint32
	change uint64
}

type keyEntry struct {
	keyLen uint32
	flags  uint32
}

type listedEntry struct {
	order         uint64
	dirtyFor      uint64
	processingFor uint64
	waitingFor    uint64
	dueIn         uint64
	deadFor       uint64
	leaseLeft     uint64
	state         uint32
	orderOf       uint32
	keyLen        uint32
	groupLen      uint32
	valueLen      uint32
	noteLen       uint32
	priority      int32
	nextPriority  int32
	waitPriority  int32
	requeues      uint32
	abandoned     uint32
	pid           int32
	change        uint64
	token         uint64
}

type listItemsArgs struct {
	size   uint32
	flags  uint32
	after  uint64
	states uint32
	keyLen uint32
	key    uint64
	batch  batchABI
}

type restoreEntry struct {
	keyLen       uint32
	flags        uint32
	state        uint32
	priority     int32
	waitPriority int32
	requeues     uint32
	abandoned    uint32
	pad          uint32
	dirtyFor     uint64
	waitingFor   uint64
	dueIn        uint64
	deadFor      uint64
}

type advanceArgs struct {
	size  uint32
	flags uint32
	time  uint64
}

type pauseArgs = advanceArgs

type termArgs struct {
	size  uint32
	flags uint32
	until uint64
}

type gotEntry struct {
	ticket    uint64
	keyLen    uint32
	priority  int32
	abandoned uint32
	requeues  uint32
}

type gotExtra struct {
	valueLen uint32
	groupLen uint32
	token    uint64
}

type getArgs struct {
	size     uint32
	flags    uint32
	deadline uint64
	add      batchABI
	done     batchABI
	get      batchABI
	nrAdded  uint32
	nrDone   uint32
	resume   uint64
}

type resumeArgs struct {
	size  uint32
	flags uint32
}

type shutDownArgs = resumeArgs

type drainArgs struct {
	size      uint32
	flags     uint32
	deadline  uint64
	resume    uint64
	shutDowns uint64
}

type histogramABI struct {
	sum     uint64
	sumHigh uint64
	counts  [HistogramBuckets]uint64
}

type statArgs struct {
	size           uint32
	state          uint32
	ready          uint64
	waiting        uint64
	processing     uint64
	items          uint64
	bytes          uint64
	maxItems       uint64
	maxBytes       uint64
	adds           uint64
	coalesced      uint64
	gets           uint64
	dones          uint64
	abandoned      uint64
	removed        uint64
	dropped        uint64
	uid            uint32
	gid            uint32
	mode           uint32
	clockid        int32
	handles        uint32
	createFlags    uint32
	name           nameField
	now            uint64
	retries        uint64
	rateLimited    uint64
	died           uint64
	dead           uint64
	remembered     uint64
	oldestReady    uint64
	longestRunning uint64
	unfinished     uint64
	queueDuration  histogramABI
	workDuration   histogramABI
	lateness       histogramABI
	lease          uint64
	expired        uint64
	dirty          uint64
	values         uint64
	pausedFor      uint64
	aging          uint64
	groups         uint64
	blocked        uint64
	groupLimit     uint64
	oldestWaiting  uint64
	oldestDead     uint64
	returned       uint64
	posted         uint64
	id             uint64
	lastChange     uint64
	kept           uint64
	unread         uint64
	followers      uint32
	getters        uint32
	term           uint64
}

const boardKeyMax = 56

type boardSlot struct {
	seq    uint32
	len    uint16
	result uint16
	key    [boardKeyMax / 8]uint64
}

type boardABI struct {
	seed    uint64
	nrSlots uint32
	closed  uint32
	pad     [6]uint64
}

type boardArgs struct {
	size      uint32
	openFlags uint32
	mapSize   uint64
}

type tellArgs struct {
	size  uint32
	flags uint32
	adds  uint64
}

type followArgs struct {
	size   uint32
	flags  uint32
	number uint64
}

type changesArgs struct {
	size     uint32
	flags    uint32
	after    uint64
	kept     uint64
	ofQueue  uint64
	deadline uint64
	resume   uint64
	batch    batchABI
}

type syncArgs struct {
	size         uint32
	flags        uint32
	deadline     uint64
	resume       uint64
	number       uint64
	outboxNumber uint64
}

// address returns an address for a member of a request. The stack of a goroutine moves, so the compiler must put everything on
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
