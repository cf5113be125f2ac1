// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"context"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// opAdd is the operation of this file, as Error.Op names it.
const opAdd = "add"

// AddResult says what became of an add.
type AddResult int

var addResults = [...]string{"added", "coalesced", "dirtied", "waiting", "dead", "dirty", "restored"}

func (r AddResult) String() string {
	if r < 0 || int(r) >= len(addResults) {
		return "unknown"
	}
	return addResults[r]
}

// A Policy decides the time of a key that waits already.
type Policy int

const (
	Earlier Policy = iota // the earlier of the two times
	Replace               // the new one
	Keep                  // the first one
	Later                 // the later of the two
)

// AddOptions say how to add. The zero value is that of Add. At most one of Delay, At and RateLimited makes it a delayed add.
type AddOptions struct {
	// Delay is how long the key waits. 0 means that it does not wait, unless Policy names another than Earlier.
	Delay time.Duration
	// At is when the wait ends, on the queue's clock: see Queue.Now. 0 means that there is no such time.
	At time.Duration
	// RateLimited adds the key after the delay that the queue's limiters compute, and raises its count of requeues.
	RateLimited bool
	// Policy decides the time of a key that waits already.
	Policy Policy
	// AtMost, with Delay, makes the key wait for a quiet time of Delay, but never longer than this since the first add of the
	// wait (debounce). 0 means that there is no such limit.
	AtMost time.Duration
	// EndWait lets an add without a delay also end the wait of the key.
	EndWait bool
	// Kick adds the key only if it is dead.
	Kick bool
	// Priority of the key, from PriorityMin to PriorityMax: see the function Priority. nil names none.
	Priority *int
	// Value of the key. nil leaves it as it is. An empty one takes it away.
	Value []byte
	// KeepValue lets the key's next run keep the value that it has.
	KeepValue bool
	// Note says something of the key to whoever lists the queue: see [Item.Note]. nil leaves it as it is. An empty one takes it
	// away.
	Note []byte
	// Group of the key: see the function Group. nil leaves it as it is. "" takes the key out of its group.
	Group *string
}

// Priority makes a pointer, for [AddOptions].
func Priority(priority int) *int { return &priority }

// Group makes a pointer, for [AddOptions].
func Group(name string) *string { return &name }

// Add adds a key. It is ready at once. If it is being processed, it is ready again at its done.
func (q *Queue) Add(key string) (AddResult, error) {
	if result, found := q.look(key); found {
		return result, nil
	}
	return q.addUnlisted(key)
}

// AddBytes is Add, for a caller that has the key in a buffer. An add of a key that is ready allocates nothing.
func (q *Queue) AddBytes(key []byte) (AddResult, error) {
	// look keeps nothing of the string.
	if result, found := q.look(*(*string)(unsafe.Pointer(&key))); found {
		return result, nil
	}
	return q.addUnlisted(string(key))
}

// addUnlisted adds a key that is not on the board.
func (q *Queue) addUnlisted(key string) (AddResult, error) {
	result, err := q.addPlain(key, addEntry{})
	if err == nil {
		q.noteAdd(key, result)
	}
	return result, err
}

// AddAfter adds a key after a delay. If it waits already, the earlier time counts. A delay of 0 or less adds the key at
// once, and counts as a retry, as in client-go (C10).
func (q *Queue) AddAfter(key string, delay time.Duration) (AddResult, error) {
	if delay < 0 {
		delay = 0
	}
	return q.addPlain(key, addEntry{flags: addAfter, time: uint64(delay)})
}

// AddRateLimited adds a key after the delay that the queue's limiters compute, and raises its count of requeues.
func (q *Queue) AddRateLimited(key string) (AddResult, error) {
	return q.addPlain(key, addEntry{flags: addRateLimited})
}

// addPlain adds a key whose entry needs no extra.
func (q *Queue) addPlain(key string, entry addEntry) (AddResult, error) {
	if err := checkKey(key); err != nil {
		return 0, q.refuse(opAdd, key, err)
	}
	entry.keyLen = uint32(len(key))
	r := q.newRequest()
	r.entry = entry
	result, err := r.addOne(q, key)
	q.free(r)
	return result, err
}

// AddValue adds a key with a value. The queue needs CreateOptions.Values.
func (q *Queue) AddValue(key string, value []byte) (AddResult, error) {
	if value == nil {
		value = []byte{}
	}
	return q.AddWith(key, &AddOptions{Value: value})
}

// Kick adds a key that is dead. Its count of requeues is 0 then. If it is not dead, the error is [ErrNotFound].
func (q *Queue) Kick(key string) (AddResult, error) {
	return q.AddWith(key, &AddOptions{Kick: true})
}

// AddWith adds a key with options.
func (q *Queue) AddWith(key string, o *AddOptions) (AddResult, error) {
	r := q.newRequest()
	defer q.free(r)
	if err := r.prepareAdd(key, o); err != nil {
		return 0, q.refuse(opAdd, key, err)
	}
	return r.addOne(q, key)
}

// AddWait adds a key with options, which may be nil. If the queue is full, it waits for room until the context ends. A key that
// could not fit into an empty queue is [ErrFull]. A key that is in the queue needs no room. But if another program adds the key
// during the wait, the wait may go on until there is room.
func (q *Queue) AddWait(ctx context.Context, key string, o *AddOptions) (AddResult, error) {
	if o == nil {
		o = &AddOptions{}
	}
	entry := [1]Entry{{Key: key, AddOptions: *o}}
	err := q.AddManyWait(ctx, entry[:])
	return entry[0].Result, err
}

func (r *request) addOne(q *Queue, key string) (AddResult, error) {
	r.putKey(&r.batch.batch, key, unsafe.Pointer(&r.entry), unsafe.Sizeof(r.entry))
	if r.entry.flags&addExtras != 0 {
		r.batch.batch.withExtras(unsafe.Pointer(&r.extra), unsafe.Sizeof(r.extra))
	}
	n, err := r.run(q, opAdd, iocAdd, key)
	return AddResult(n), err
}

// prepareAdd fills in the entry and its extra, and copies the name of the group. Nobody may change the value or the note until
// the call is over.
func (r *request) prepareAdd(key string, o *AddOptions) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if o == nil {
		o = &AddOptions{}
	}
	if err := o.entry(&r.entry, &r.extra); err != nil {
		return err
	}
	r.entry.keyLen = uint32(len(key))
	if len(o.Value) > 0 {
		r.pin = o.Value
		r.extra.value = address(unsafe.Pointer(&r.pin[0]))
	}
	r.putNote(o.Note)
	if o.Group != nil && *o.Group != "" {
		copy(r.in[KeyMax:], *o.Group)
		r.extra.group = address(unsafe.Pointer(&r.in[KeyMax]))
	}
	return nil
}

// These flags need an extra.
const addExtras = addValue | addKeepValue | addGroup | addAtMost | addNote

// entry checks the options, and fills in everything but the lengths of the key and the addresses.
func (o *AddOptions) entry(e *addEntry, x *addExtra) error {
	*e, *x = addEntry{}, addExtra{}
	if err := o.setTime(e, x); err != nil {
		return err
	}
	if o.EndWait {
		e.flags |= addEndWait
	}
	if o.Kick {
		e.flags |= addKick
	}
	if o.Priority != nil {
		if *o.Priority < PriorityMin || *o.Priority > PriorityMax {
			return invalid("the priority is %d: it is %d to %d", *o.Priority, PriorityMin, PriorityMax)
		}
		e.flags |= addPriority
		e.priority = int32(*o.Priority)
	}
	if len(o.Value) > ValueMax {
		return tooLong("the value", len(o.Value), ValueMax)
	}
	if o.Value != nil {
		e.flags |= addValue
		x.valueLen = uint32(len(o.Value))
	}
	if o.KeepValue {
		if o.Value == nil {
			return invalid("KeepValue needs a Value")
		}
		e.flags |= addKeepValue
	}
	if len(o.Note) > NoteMax {
		return tooLong("the note", len(o.Note), NoteMax)
	}
	if o.Note != nil {
		e.flags |= addNote
		x.noteLen = uint32(len(o.Note))
	}
	if o.Group != nil {
		if len(*o.Group) > GroupMax {
			return tooLong("the group", len(*o.Group), GroupMax)
		}
		e.flags |= addGroup
		x.groupLen = uint32(len(*o.Group))
	}
	return nil
}

func (o *AddOptions) setTime(e *addEntry, x *addExtra) error {
	if o.Delay < 0 || o.At < 0 || o.AtMost < 0 {
		return invalid("a time is negative: Delay %v, At %v, AtMost %v", o.Delay, o.At, o.AtMost)
	}
	if o.Policy < Earlier || o.Policy > Later {
		return invalid("there is no policy %d", o.Policy)
	}
	switch {
	case o.RateLimited:
		if o.Delay != 0 || o.At != 0 || o.Kick {
			return invalid("RateLimited goes with neither Delay nor At nor Kick")
		}
		e.flags |= addRateLimited
	case o.At != 0:
		if o.Delay != 0 {
			return invalid("Delay and At exclude each other")
		}
		e.flags |= addAt
		e.time = uint64(o.At)
	case o.Delay != 0 || o.Policy != Earlier:
		e.flags |= addAfter
		e.time = uint64(o.Delay)
	}
	delayed := e.flags&(addRateLimited|addAt|addAfter) != 0
	if delayed && o.EndWait {
		return invalid("EndWait is for adds without a delay")
	}
	switch o.Policy {
	case Replace:
		e.flags |= addReplace
	case Keep:
		e.flags |= addKeep
	case Later:
		e.flags |= addLater
	}
	if o.AtMost != 0 {
		if o.Delay == 0 || o.Policy > Replace {
			return invalid("AtMost needs a Delay, and goes with no other Policy than Replace")
		}
		e.flags |= addAtMost | addReplace
		x.atMost = uint64(o.AtMost)
	}
	return nil
}

// An Entry is one add of many.
type Entry struct {
	Key string
	AddOptions
	Result AddResult // the effect of the add
	Err    error     // nil, or why it failed
}

// AddMany adds keys in few calls of the kernel. Each entry receives its own Result or Err, and an error of one leaves the others
// unaffected. It returns the first error.
func (q *Queue) AddMany(entries []Entry) error {
	return q.addMany(entries, func(a *addBatch) (int, error) { return a.run(q) })
}

// AddManyWait does the same and, if the queue is full, waits for room until the context ends. The entries that were not added then
// have the context's error.
func (q *Queue) AddManyWait(ctx context.Context, entries []Entry) error {
	return q.addMany(entries, func(a *addBatch) (int, error) { return a.runWaiting(ctx, q) })
}

func (q *Queue) addMany(entries []Entry, run func(*addBatch) (int, error)) error {
	var first error
	note := func(e *Entry, err error) {
		e.Result, e.Err = 0, err
		if first == nil {
			first = err
		}
	}
	a := addBatches.Get().(*addBatch)
	defer a.free()
	for len(entries) > 0 {
		a.reset()
		n := 0
		for ; n < len(entries) && a.hasRoom(); n++ {
			if err := a.append(&entries[n]); err != nil {
				note(&entries[n], q.refuse(opAdd, entries[n].Key, err))
			}
		}
		taken, err := 0, error(nil)
		if len(a.of) > 0 {
			taken, err = run(a)
		}
		for i, e := range a.of {
			if i >= taken {
				note(e, err)
				continue
			}
			result, err := q.resultOf(opAdd, e.Key, a.results[i])
			if err != nil {
				note(e, err)
			} else {
				e.Result, e.Err = AddResult(result), nil
			}
		}
		entries = entries[n:]
		if err != nil {
			for i := range entries {
				note(&entries[i], err)
			}
			break
		}
	}
	return first
}

// An addBatch is one call of AddMany.
type addBatch struct {
	batch
	wait    addArgs
	of      []*Entry
	entries []addEntry
	extras  []addExtra
	groups  [][]byte
	extra   bool
}

var addBatches = sync.Pool{New: func() interface{} { return new(addBatch) }}

// reset makes an empty batch, which keeps its memory.
func (a *addBatch) reset() {
	for i := range a.of {
		a.of[i] = nil
	}
	for i := range a.groups {
		a.groups[i] = nil
	}
	*a = addBatch{
		batch:   batch{keys: a.keys[:0], results: a.results},
		of:      a.of[:0],
		entries: a.entries[:0],
		extras:  a.extras[:0],
		groups:  a.groups[:0],
	}
}

// free returns the batch for use by others. It keeps nothing of the caller's.
func (a *addBatch) free() {
	a.reset()
	addBatches.Put(a)
}

// At most so many bytes of keys go into one call.
const batchBytes = 256 << 10

func (a *addBatch) hasRoom() bool {
	return len(a.of) < BatchMax && len(a.keys) <= batchBytes-KeyMax
}

func (a *addBatch) append(e *Entry) error {
	if err := checkKey(e.Key); err != nil {
		return err
	}
	var entry addEntry
	var extra addExtra
	if err := e.AddOptions.entry(&entry, &extra); err != nil {
		return err
	}
	entry.keyLen = uint32(len(e.Key))
	if len(e.Value) > 0 {
		// The entry keeps it alive.
		extra.value = address(unsafe.Pointer(&e.Value[0]))
	}
	if len(e.Note) > 0 {
		extra.note = address(unsafe.Pointer(&e.Note[0]))
	}
	if extra.groupLen > 0 {
		group := []byte(*e.AddOptions.Group)
		a.groups = append(a.groups, group)
		extra.group = address(unsafe.Pointer(&group[0]))
	}
	a.extra = a.extra || entry.flags&addExtras != 0
	a.of = append(a.of, e)
	a.entries = append(a.entries, entry)
	a.extras = append(a.extras, extra)
	a.keys = append(a.keys, e.Key...)
	return nil
}

// describeFrom describes the entries from the given one on, whose keys begin at this byte.
func (a *addBatch) describeFrom(i, key int) *batchABI {
	b := &a.args.batch
	*b = batchABI{
		entries:   address(unsafe.Pointer(&a.entries[i])),
		keys:      address(unsafe.Pointer(&a.keys[key])),
		results:   address(unsafe.Pointer(&a.results[i])),
		keysLen:   uint32(len(a.keys) - key),
		nr:        uint32(len(a.entries) - i),
		entrySize: uint32(unsafe.Sizeof(a.entries[0])),
	}
	if a.extra {
		b.withExtras(unsafe.Pointer(&a.extras[i]), unsafe.Sizeof(a.extras[0]))
	}
	return b
}

func (a *addBatch) prepare() {
	a.describe(unsafe.Pointer(&a.entries[0]), unsafe.Sizeof(a.entries[0]), len(a.entries))
}

// run returns how many entries were taken.
func (a *addBatch) run(q *Queue) (int, error) {
	a.prepare()
	taken, key := 0, 0
	for taken < len(a.entries) {
		a.describeFrom(taken, key)
		n, err := q.request(opAdd, "", iocAdd, unsafe.Pointer(&a.args))
		runtime.KeepAlive(a)
		if err != nil {
			return taken, err
		}
		key += a.keysOf(taken, n)
		taken += n
	}
	return taken, nil
}

func (a *addBatch) keysOf(from, n int) int {
	bytes := 0
	for _, e := range a.entries[from : from+n] {
		bytes += int(e.keyLen)
	}
	return bytes
}

// bytesOf an entry: what it may need room for.
func (a *addBatch) bytesOf(i int) int {
	x := &a.extras[i]
	return int(a.entries[i].keyLen + x.valueLen + x.noteLen + x.groupLen)
}

// runWaiting does the same, and waits for room at each entry that lacks it.
func (a *addBatch) runWaiting(ctx context.Context, q *Queue) (int, error) {
	a.prepare()
	var w *waiter
	taken, key := 0, 0
	for taken < len(a.entries) {
		if err := ctx.Err(); err != nil {
			return taken, err
		}
		seen := uint64(0)
		if w != nil {
			seen = q.adders.seen()
		}
		// The kernel does not wait, so that this thread stays free.
		a.wait = addArgs{flags: addWait | addRelative, batch: *a.describeFrom(taken, key)}
		a.wait.size = uint32(unsafe.Sizeof(a.wait))
		n, errno, closed := q.try(iocAdd, unsafe.Pointer(&a.wait))
		runtime.KeepAlive(a)
		if closed {
			return taken, q.refuse(opAdd, "", ErrClosed)
		}
		noRoom := errno == syscall.ETIMEDOUT || errno == syscall.EAGAIN
		if errno != 0 && !noRoom {
			return taken, q.fail(opAdd, "", errno)
		}
		if !noRoom {
			key += a.keysOf(taken, n)
			taken += n
			continue
		}
		// Room may have come before the poller watched. So the first wait begins with another try.
		if w == nil {
			w = waiters.Get().(*waiter)
			if err := q.adders.join(w, a.bytesOf(taken)); err != nil {
				waiters.Put(w)
				return taken, err
			}
			defer func() {
				q.adders.leave(w)
				waiters.Put(w)
			}()
			continue
		}
		if err := q.adders.sleep(ctx, w, a.bytesOf(taken), seen); err != nil {
			return taken, err
		}
	}
	return taken, nil
}
