// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"io/fs"
	"syscall"
	"time"
	"unsafe"
)

// The operations of this file, as Error.Op names them.
const (
	opStat = "read the state of"
	opTime = "read the clock of"
)

// A Histogram counts durations. The first bucket counts those up to 1 microsecond. Each following one ends at ten times the limit
// before, up to 1000 s. The last one counts the longer ones.
type Histogram struct {
	Sum    time.Duration // of all durations; the longest time.Duration if it is longer
	Counts [HistogramBuckets]uint64
}

// Stat is the state of a queue, with its counters.
type Stat struct {
	Name                       string
	ShutDown, Unlinked, Paused bool
	TermOver                   bool // the queue hands nothing out, as its term is over
	UID, GID                   uint32
	Mode                       fs.FileMode
	Clock                      Clock
	Handles                    int
	HasValues, HasGroups       bool
	HasChanges, HasSync        bool
	HasOutbox                  bool // adds go to another queue
	NoDurations                bool // the queue measures none: what CreateOptions.NoDurations names is 0
	MaxItems, MaxBytes         uint64
	GroupLimit                 int
	Lease, Aging               time.Duration

	Ready      uint64 // keys that a get may hand out
	Waiting    uint64 // keys with a time
	Processing uint64 // items that were handed out
	Dirty      uint64 // part of Processing: ready again at their done
	Dead       uint64
	Remembered uint64 // idle keys that are kept for their count of requeues
	Items      uint64 // all keys
	Bytes      uint64 // memory of keys and values
	Values     uint64 // keys with a value
	Groups     uint64
	Blocked    uint64 // part of Ready: their groups are at their limits

	Adds        uint64 // adds that made a key dirty
	Coalesced   uint64 // adds that changed nothing, or only a time
	Posted      uint64 // adds of ready keys, or of keys to be ready again, that programs made without a call; not in Coalesced
	Refused     uint64 // adds of drivers that were refused
	Gets        uint64 // hand-outs
	Dones       uint64 // hand-outs that were finished
	Abandoned   uint64 // hand-outs that were lost
	Expired     uint64 // part of Abandoned: their leases expired
	Returned    uint64 // hand-outs that were given back
	Removed     uint64
	Dropped     uint64 // waiting times and dead keys that a shut down dropped
	Retries     uint64 // delayed adds
	RateLimited uint64 // part of Retries
	Died        uint64

	// The rest of this part is 0 in a queue without [CreateOptions.Changes].
	ID         uint64 // a random number, different in each queue of this and of all other boots
	LastChange uint64 // number of the last change
	Kept       uint64 // all changes up to this number are kept
	Unread     uint64 // changed keys that the follower has not read, or may read again; those that are gone count in Items
	Followed   bool   // a handle follows
	Getters    uint64 // gets that wait; with changes also handles whose last get or poll found nothing

	Now            time.Duration // the time on the queue's clock
	OldestReady    time.Duration // ages; 0 for none
	OldestWaiting  time.Duration
	OldestDead     time.Duration
	LongestRunning time.Duration
	Unfinished     time.Duration // sum of the ages of all hand-outs
	PausedFor      time.Duration // the longest time.Duration until Resume
	Term           time.Duration // when all hand-outs end, on the queue's clock; the longest time.Duration for never

	QueueDuration Histogram // from an add to the hand-out
	WorkDuration  Histogram // from a hand-out to its done
	Lateness      Histogram // from the end of a wait until the key was ready
}

// Stat returns the state of the queue. With many waiting keys it takes long, because it looks for the oldest wait.
func (q *Queue) Stat() (*Stat, error) {
	q.tell()
	st := new(statArgs)
	st.size = uint32(unsafe.Sizeof(*st))
	if _, err := q.request(opStat, "", iocStat, unsafe.Pointer(st)); err != nil {
		return nil, err
	}
	return st.stat(), nil
}

func (st *statArgs) stat() *Stat {
	return &Stat{
		Name:      st.name.String(),
		ShutDown:  st.state&stateShutDown != 0,
		Unlinked:  st.state&stateUnlinked != 0,
		Paused:    st.state&statePaused != 0,
		TermOver:  st.state&stateTermOver != 0,
		UID:       st.uid,
		GID:       st.gid,
		Mode:      fs.FileMode(st.mode),
		Clock:     Clock(st.clockid),
		Handles:   int(st.handles),
		HasValues: st.createFlags&createValues != 0,
		HasGroups: st.createFlags&createGroups != 0,

		HasChanges:  st.createFlags&createChanges != 0,
		HasSync:     st.createFlags&createSync != 0,
		HasOutbox:   st.createFlags&createOutbox != 0,
		NoDurations: st.createFlags&createNoDurations != 0,

		MaxItems:   st.maxItems,
		MaxBytes:   st.maxBytes,
		GroupLimit: int(st.groupLimit),
		Lease:      duration(st.lease),
		Aging:      duration(st.aging),

		Ready:      st.ready,
		Waiting:    st.waiting,
		Processing: st.processing,
		Dirty:      st.dirty,
		Dead:       st.dead,
		Remembered: st.remembered,
		Items:      st.items,
		Bytes:      st.bytes,
		Values:     st.values,
		Groups:     st.groups,
		Blocked:    st.blocked,

		Adds:        st.adds,
		Coalesced:   st.coalesced,
		Posted:      st.posted,
		Refused:     st.refused,
		Gets:        st.gets,
		Dones:       st.dones,
		Abandoned:   st.abandoned,
		Expired:     st.expired,
		Returned:    st.returned,
		Removed:     st.removed,
		Dropped:     st.dropped,
		Retries:     st.retries,
		RateLimited: st.rateLimited,
		Died:        st.died,

		ID:         st.id,
		LastChange: st.lastChange,
		Kept:       st.kept,
		Unread:     st.unread,
		Followed:   st.followers != 0,
		Getters:    uint64(st.getters),

		Now:            duration(st.now),
		OldestReady:    duration(st.oldestReady),
		OldestWaiting:  duration(st.oldestWaiting),
		OldestDead:     duration(st.oldestDead),
		LongestRunning: duration(st.longestRunning),
		Unfinished:     duration(st.unfinished),
		PausedFor:      duration(st.pausedFor),
		Term:           duration(st.term),

		QueueDuration: st.queueDuration.histogram(),
		WorkDuration:  st.workDuration.histogram(),
		Lateness:      st.lateness.histogram(),
	}
}

func (h *histogramABI) histogram() Histogram {
	sum := h.sum
	if h.sumHigh != 0 {
		sum = ^uint64(0)
	}
	return Histogram{duration(sum), h.counts}
}

// Now returns the time on the queue's clock, for AddOptions.At.
func (q *Queue) Now() (time.Duration, error) {
	if q.clock == ClockManual {
		st := new(statArgs)
		st.size = uint32(unsafe.Sizeof(*st))
		_, err := q.request(opTime, "", iocStat, unsafe.Pointer(st))
		return duration(st.now), err
	}
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, uintptr(q.clock), uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		return 0, q.fail(opTime, "", errno)
	}
	return time.Duration(ts.Nano()), nil
}
