// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"math"
	"runtime"
	"sort"
	"strings"
	"time"
	"unsafe"
)

// The operations of this file, as Error.Op names them.
const (
	opFind = "find"
	opList = "list"
)

// State has the states of a key, as bits.
type State uint32

// AllStates finds every key.
const AllStates = IsReady | IsWaiting | IsProcessing | IsDead | IsRemembered

var stateNames = [...]string{"ready", "waiting", "processing", "dirty", "dead", "remembered", "returned", "dying"}

func (s State) String() string {
	var names []string
	for i, name := range stateNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// AgeUnknown is an age that a queue with [CreateOptions.NoDurations] does not know. Such a queue notes no time for an add without
// options, a hand-out or a done. It is less than every other age.
const AgeUnknown = time.Duration(math.MinInt64)

// age is an age that the kernel gave.
func age(ns uint64) time.Duration {
	if ns == ageUnknown {
		return AgeUnknown
	}
	return duration(ns)
}

// spanOfAge is an age for the kernel.
func spanOfAge(what string, d time.Duration) (uint64, error) {
	if d == AgeUnknown {
		return ageUnknown, nil
	}
	return span(what, d)
}

// Listed is a key in a list.
type Listed struct {
	Key   string
	Group string
	// Value is nil unless the list was asked for values. ValueLen is its length in any case. While the key is being processed, the
	// value may be one for its next run.
	Value    []byte
	ValueLen int
	// Note is what a worker has said of the key: see [Item.Note]. It is nil unless the list was asked for values, and NoteLen is
	// its length in any case.
	Note    []byte
	NoteLen int

	State State
	// OrderOf is the state that Order sorts: see SortListed.
	OrderOf State
	Order   uint64

	Priority     int
	NextPriority int  // of its next run, if it is dirty
	WaitPriority *int // the priority that a pending delayed add named, if it named one
	Requeues     int  // how often it was rate-limited since it was last forgotten
	Abandoned    int  // how often it was lost since it was last done
	PID          int  // the process that has it; 0 if that is not known

	DirtyFor      time.Duration // how long it has been ready, or dirty; may be AgeUnknown
	ProcessingFor time.Duration // may be AgeUnknown
	WaitingFor    time.Duration
	DueIn         time.Duration // until its wait ends
	DeadFor       time.Duration // may be AgeUnknown
	LeaseLeft     time.Duration

	// Change is the number of the key's first change that the follower has not read. If it has read all, or if there is no
	// follower, that of the last change. 0 without CreateOptions.Changes.
	Change uint64

	// Token is a number that the queue's manager gave with the key by Restore, for the next hand-out: see Item.Token. A key that is
	// gone has that of its last one. 0 for none. It needs CreateOptions.Changes.
	Token uint64
}

// List calls fn for each key that has one of the states. It ends early with the error of fn. The order is that of a hash:
// see [SortListed]. The queue goes on working meanwhile. A key that has one of the states all the time is listed exactly once, and no
// key is listed twice. fn may call other methods. Dead keys that were collected are sorted by SortListed, the oldest death first.
func (q *Queue) List(states State, fn func(*Listed) error) error {
	return q.list(states, 0, 0, fn)
}

// ListWithValues does the same, and also reads the values and the notes.
func (q *Queue) ListWithValues(states State, fn func(*Listed) error) error {
	// So there is room for the first entry, whatever its value and its note.
	return q.list(states, listBoth, ValueMax+NoteMax, fn)
}

// A list that has values has notes, too.
const listBoth = listValues | listNotes

// Find returns the state of one key, with its value and its note. If the queue does not have the key, the error is [ErrNotFound].
func (q *Queue) Find(key string) (*Listed, error) {
	if err := checkKey(key); err != nil {
		return nil, q.refuse(opFind, key, err)
	}
	room := 0
	if q.extras {
		room = ValueMax + NoteMax
	}
	p := newListPage(1, room)
	name := []byte(key)
	p.args.flags = listKey | listBoth
	p.args.states = uint32(AllStates)
	p.args.key = address(unsafe.Pointer(&name[0]))
	p.args.keyLen = uint32(len(name))
	n, err := q.request(opFind, key, iocListItems, unsafe.Pointer(&p.args))
	runtime.KeepAlive(name)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, q.refuse(opFind, key, ErrNotFound)
	}
	listed, _ := p.at(0, p.room)
	return listed, nil
}

func (q *Queue) list(states State, flags uint32, room int, fn func(*Listed) error) error {
	if states == 0 {
		return q.refuse(opList, "", invalid("there is no state: AllStates finds every key"))
	}
	p := newListPage(256, room)
	p.args.flags = flags
	p.args.states = uint32(states)
	for {
		n, err := q.request(opList, "", iocListItems, unsafe.Pointer(&p.args))
		runtime.KeepAlive(p)
		if err != nil {
			return err
		}
		data := p.room
		for i := 0; i < n; i++ {
			var listed *Listed
			listed, data = p.at(i, data)
			if err := fn(listed); err != nil {
				return err
			}
		}
		if p.args.after == 0 {
			return nil
		}
	}
}

// A listPage is one call that lists keys.
type listPage struct {
	args    listItemsArgs
	entries []listedEntry
	room    []byte
}

// newListPage makes a page with room for values and notes of so many bytes.
func newListPage(nr, values int) *listPage {
	bytes := KeyMax + GroupMax + values
	if nr > 1 {
		bytes += 64 << 10
	}
	p := &listPage{entries: make([]listedEntry, nr), room: make([]byte, bytes)}
	p.args.size = uint32(unsafe.Sizeof(p.args))
	p.args.batch = batchABI{
		entries:   address(unsafe.Pointer(&p.entries[0])),
		keys:      address(unsafe.Pointer(&p.room[0])),
		keysLen:   uint32(len(p.room)),
		nr:        uint32(nr),
		entrySize: uint32(unsafe.Sizeof(p.entries[0])),
	}
	return p
}

// at makes a Listed of an entry, whose bytes are at the start of data. It returns the bytes behind them.
func (p *listPage) at(i int, data []byte) (*Listed, []byte) {
	e := &p.entries[i]
	l := &Listed{
		ValueLen:      int(e.valueLen),
		NoteLen:       int(e.noteLen),
		State:         State(e.state),
		OrderOf:       State(e.orderOf),
		Order:         e.order,
		Priority:      int(e.priority),
		NextPriority:  int(e.nextPriority),
		Requeues:      int(e.requeues),
		Abandoned:     int(e.abandoned),
		PID:           int(e.pid),
		DirtyFor:      age(e.dirtyFor),
		ProcessingFor: age(e.processingFor),
		WaitingFor:    duration(e.waitingFor),
		DueIn:         duration(e.dueIn),
		DeadFor:       age(e.deadFor),
		LeaseLeft:     duration(e.leaseLeft),
		Change:        e.change,
		Token:         e.token,
	}
	if l.State&IsWaiting != 0 && e.waitPriority != priorityNone {
		l.WaitPriority = Priority(int(e.waitPriority))
	}
	l.Key, data = string(data[:e.keyLen]), data[e.keyLen:]
	l.Group, data = string(data[:e.groupLen]), data[e.groupLen:]
	if p.args.flags&listValues != 0 && e.valueLen > 0 {
		l.Value = append([]byte(nil), data[:e.valueLen]...)
		data = data[e.valueLen:]
	}
	if p.args.flags&listNotes != 0 && e.noteLen > 0 {
		l.Note = append([]byte(nil), data[:e.noteLen]...)
		data = data[e.noteLen:]
	}
	return l, data
}

// SortListed sorts keys: what is processing by age, then what is ready in the order in which it will be handed out, then what waits
// by time, what is dead by death, and the rest. Groups and aging change the order of the hand-out.
func SortListed(list []*Listed) {
	sort.SliceStable(list, func(i, j int) bool { return list[i].before(list[j]) })
}

func (l *Listed) before(other *Listed) bool {
	if a, b := l.rank(), other.rank(); a != b {
		return a < b
	}
	if l.OrderOf == IsReady {
		if l.Priority != other.Priority {
			return l.Priority > other.Priority
		}
		if a, b := l.State&IsReturned, other.State&IsReturned; a != b {
			return a != 0
		}
	}
	return l.Order < other.Order
}

func (l *Listed) rank() int {
	switch l.OrderOf {
	case IsProcessing:
		return 0
	case IsReady:
		return 1
	case IsWaiting:
		return 2
	case IsDead:
		return 3
	}
	return 4
}
