// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

// Code generated from the ABI's header. DO NOT EDIT.
// Made from uapi/linux/kwq.h by selftests/check/abi.py.

package kwq

const (
	KeyMax      = 4096  // the longest key, in bytes; the shortest is 1 byte
	NameMax     = 255   // the longest name of a queue, in bytes, without the NUL
	BatchMax    = 1024  // the most entries in one batch
	ValueMax    = 65536 // the longest value of a key, in bytes
	NoteMax     = 4096  // the longest note, in bytes
	GroupMax    = 255   // the longest name of a group, in bytes
	PriorityMin = -32   // the lowest priority, handed out last
	PriorityMax = 31    // the highest priority, handed out first
)

const (
	noDeadline = 1<<64 - 1
	ageUnknown = 1<<64 - 1
)

const (
	FeatureDelays      Feature = 1 << 0
	FeaturePriorities  Feature = 1 << 1
	FeatureNames       Feature = 1 << 2
	FeatureLimiters    Feature = 1 << 3
	FeatureDead        Feature = 1 << 4
	FeatureMetrics     Feature = 1 << 5
	FeatureManualClock Feature = 1 << 6
	FeatureLeases      Feature = 1 << 7
	FeaturePause       Feature = 1 << 8
	FeatureListItems   Feature = 1 << 9
	FeatureGroups      Feature = 1 << 10
	FeatureAging       Feature = 1 << 11
	FeatureValues      Feature = 1 << 12
	FeatureDebounce    Feature = 1 << 13
	FeatureWaitAdd     Feature = 1 << 14
	FeatureRestore     Feature = 1 << 15
	FeatureSettle      Feature = 1 << 16
	FeatureBoard       Feature = 1 << 17
	FeatureNoDurations Feature = 1 << 18
	FeatureChanges     Feature = 1 << 19
	FeatureGrants      Feature = 1 << 20
	FeatureNotes       Feature = 1 << 21
)

// 1.0 in the fixed-point numbers of factors and jitter.
const one = 65536

const LimitersMax = 8 // the most limiters in one queue

const limiterStepsMax = 256

// Kinds of limiters.
const (
	limiterExponential = 1
	limiterFastSlow    = 2
	limiterBucket      = 3
	limiterBackoff     = 4
)

// Flags of a configuration.
const configCoalesce = 1 << 0

// A clock for tests.
const clockIDManual = -1

// Rights of a descriptor.
const (
	RightRead   Rights = 1 << 2 // get, done, extend, forget, requeues, list
	RightWrite  Rights = 1 << 1 // add
	RightManage Rights = 1 << 0 // remove, configure, pause, resume, term, shut down, drain, advance
)

// Flags of KWQ_IOC_CREATE.
const (
	createOrOpen      = 1 << 0
	createValues      = 1 << 1
	createGroups      = 1 << 2
	createNoDurations = 1 << 3
	createChanges     = 1 << 4
	createSync        = 1 << 5
	createOutbox      = 1 << 6
)

// Flags of KWQ_IOC_ADD.
const (
	addWait     = 1 << 0
	addRelative = 1 << 1
)

// Flags of an entry of an add.
const (
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
)

// Results of an add.
const (
	Added     AddResult = 0 // ready now
	Coalesced AddResult = 1 // was ready already (a delayed add: was waiting already)
	Dirtied   AddResult = 2 // being processed; ready again at its Done
	Waiting   AddResult = 3 // waiting for its time
	Dead      AddResult = 4 // a rate-limited add: the item is dead, now or at its Done
	Dirty     AddResult = 5 // being processed, and had been added again already
	Restored  AddResult = 6 // RESTORE: the item is as it was
)

// Flags of a done.
const (
	doneForget = 1 << 0
	doneDead   = 1 << 1
	doneReturn = 1 << 2
)

// Results of a done.
const (
	Finished     DoneResult = 0      // nothing is left to do
	Requeued     DoneResult = 1 << 0 // had been added meanwhile; ready again
	StillWaiting DoneResult = 1 << 1 // still waiting for a time
	Buried       DoneResult = 1 << 2 // dead now
	Returned     DoneResult = 1 << 3 // ready again, as before the hand-out
)

// Flags of an extension.
const extendNote = 1 << 0

// Flags of a remove.
const (
	removeDead      = 1 << 0
	removeRevoke    = 1 << 1
	removeUnchanged = 1 << 2
)

// States of an item.
const (
	IsReady      State = 1 << 0 // in the queue: GET can hand it out
	IsWaiting    State = 1 << 1 // has a time at which it will be added
	IsProcessing State = 1 << 2 // handed out, and not yet done
	IsDirty      State = 1 << 3 // was added while processing; ready at its Done
	IsDead       State = 1 << 4 // set aside after too many failures
	IsRemembered State = 1 << 5 // idle, and kept for its count of requeues
	IsReturned   State = 1 << 6 // ready, and ahead: it lost its holder
	IsDying      State = 1 << 7 // processing, and due to be dead at its Done
)

const priorityNone = -128

// Flags of KWQ_IOC_LIST_ITEMS.
const (
	listKey    = 1 << 0
	listValues = 1 << 1
	listNotes  = 1 << 2
)

// Flags of KWQ_IOC_ADVANCE.
const advanceTo = 1 << 0

// Flags of KWQ_IOC_GET.
const (
	getNonblock = 1 << 0
	getRelative = 1 << 1
)

// Flags of KWQ_IOC_PAUSE.
const pauseFor = 1 << 0

// Flags of KWQ_IOC_DRAIN.
const drainRelative = 1 << 0

const HistogramBuckets = 11

const (
	stateShutDown = 1 << 0
	stateUnlinked = 1 << 1
	statePaused   = 1 << 2
	stateTermOver = 1 << 3
)

const boardKeyMax = 56

// Flags of KWQ_IOC_CHANGES.
const (
	changesNonblock = 1 << 0
	changesRelative = 1 << 1
	changesValues   = 1 << 2
	changesGetters  = 1 << 3
	changesNotes    = 1 << 4
)

// Flags of KWQ_IOC_TERM.
const termRelative = 1 << 0

// What an add of the kernel returns that a worker carries out soon.
const posted = 64

// Most bytes of a value that is a set.
const setMax = 256

const setJoins = 1 << 31

// Flags of KWQ_IOC_SYNC.
const syncRelative = 1 << 0

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
	iocBpf          = ioc(3, 0x2a)
)

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

type backoffArgs struct {
	duration uint64
	cap      uint64
	factor   uint32
	jitter   uint32
	steps    uint32
	pad      uint32
}

type limiterArgs struct {
	kind uint32
	pad  uint32
	u    [4]uint64
}

type exponentialArgs struct {
	base uint64
	max  uint64
}

type fastSlowArgs struct {
	fast   uint64
	slow   uint64
	nrFast uint32
	pad    uint32
}

type bucketArgs struct {
	period uint64
	events uint32
	burst  uint32
}

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

type extendEntry struct {
	ticket uint64
	keyLen uint32
	flags  uint32
}

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

type pauseArgs struct {
	size  uint32
	flags uint32
	time  uint64
}

type resumeArgs struct {
	size  uint32
	flags uint32
}

type shutDownArgs struct {
	size  uint32
	flags uint32
}

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
	refused        uint64
}

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

type termArgs struct {
	size  uint32
	flags uint32
	until uint64
}

type bpfArgs struct {
	size  uint32
	flags uint32
	token uint64
}

type bpfKwqOptions struct {
	token    uint64
	flags    uint32
	priority int32
	time     uint64
	atMost   uint64
}

type syncArgs struct {
	size     uint32
	flags    uint32
	deadline uint64
	resume   uint64
}
