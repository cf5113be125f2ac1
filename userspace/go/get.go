// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"context"
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

// opGet is the operation of this file, as Error.Op names it.
const opGet = "get"

// An Item is a key that was handed out. Its holder finishes it with one of Done, DoneAndForget, DoneAndGet, Retry, RetryAfter,
// GiveBack and Bury. Until then the queue hands the key to nobody else.
type Item struct {
	Key       string
	Value     []byte // as of the hand-out; nil if the key has none
	Group     string // the key's group; "" if it is in none
	Priority  int    // the key's priority
	Requeues  int    // how often it was rate-limited since it was last forgotten
	Abandoned int    // how often it was lost since it was last done
	Ticket    uint64 // the number of this hand-out: later ones on this machine have higher ones
	Token     uint64 // given with the key by the queue's manager: see [Listed.Token]

	queue *Queue
}

// Queue returns the handle that holds the item.
func (i *Item) Queue() *Queue { return i.queue }

// Get takes the first ready item, and waits for one until the context ends. A goroutine that waits takes no thread. Once the queue
// is shut down and empty, the error is [ErrShutDown].
func (q *Queue) Get(ctx context.Context) (*Item, error) {
	return q.get(ctx, false)
}

// TryGet takes the first ready item. If nothing is ready, the error is [ErrEmpty].
func (q *Queue) TryGet() (*Item, error) {
	item, errno, closed := q.fetch()
	if closed || errno != 0 {
		return nil, q.notGot(errno, closed)
	}
	return item, nil
}

// GetMany takes up to max ready items in one call, and waits for the first one until the context ends.
func (q *Queue) GetMany(ctx context.Context, max int) ([]*Item, error) {
	if max < 1 {
		return nil, q.refuse(opGet, "", invalid("max is %d: it is 1 at least", max))
	}
	if max > BatchMax {
		max = BatchMax
	}
	var items []*Item
	err := q.waitFor(ctx, false, func() (errno syscall.Errno, closed bool) {
		b := getBatches.Get().(*getBatch)
		items, errno, closed = b.fetch(q, max)
		getBatches.Put(b)
		return errno, closed
	})
	return items, err
}

func (q *Queue) get(ctx context.Context, hasTried bool) (*Item, error) {
	// Mostly there is an item.
	if !hasTried && ctx.Err() == nil {
		item, errno, closed := q.fetch()
		if !closed && errno == 0 {
			return item, nil
		}
		if closed || errno != syscall.EAGAIN {
			return nil, q.notGot(errno, closed)
		}
		hasTried = true
	}
	var item *Item
	err := q.waitFor(ctx, hasTried, func() (errno syscall.Errno, closed bool) {
		item, errno, closed = q.fetch()
		return errno, closed
	})
	return item, err
}

// fetch gets one item if one is ready.
func (q *Queue) fetch() (item *Item, errno syscall.Errno, closed bool) {
	r := q.newRequest()
	item, errno, closed = r.fetch(q, 0)
	q.free(r)
	return item, errno, closed
}

// waitFor calls try until it does not return EAGAIN. hasTried says that the caller has just had that answer.
func (q *Queue) waitFor(ctx context.Context, hasTried bool, try func() (syscall.Errno, bool)) error {
	baton := false
	for {
		if err := ctx.Err(); err != nil {
			if baton {
				q.getters.passOn()
			}
			return err
		}
		if !hasTried {
			errno, closed := try()
			if closed || errno != syscall.EAGAIN {
				if baton && errno == syscall.ESHUTDOWN {
					q.getters.wakeAll()
				} else if baton {
					q.getters.passOn()
				}
				if closed || errno != 0 {
					return q.notGot(errno, closed)
				}
				return nil
			}
		}
		hasTried = false
		if err := q.getters.sleep(ctx, baton); err != nil {
			return err
		}
		baton = true
	}
}

func (q *Queue) notGot(errno syscall.Errno, closed bool) error {
	if closed {
		return q.refuse(opGet, "", ErrClosed)
	}
	return q.fail(opGet, "", errno)
}

// fetch gets one item, after it has finished the hand-out of this ticket, if that is not 0. r.result is the result of that.
func (r *request) fetch(q *Queue, ticket uint64) (item *Item, errno syscall.Errno, closed bool) {
	room := r.out[:KeyMax]
	if q.extras {
		room = r.out[:]
	}
	r.prepareGet(q, room)
	if ticket != 0 {
		r.done = doneEntry{ticket: ticket}
		r.putKey(&r.get.done, "", unsafe.Pointer(&r.done), unsafe.Sizeof(r.done))
	}
	_, errno, closed = q.tryAtOnce(iocGet, unsafe.Pointer(&r.get))
	if errno == syscall.EMSGSIZE && q.extras {
		// The value is long. The hand-out of the ticket is finished.
		large := largeRooms.Get().(*[]byte)
		defer largeRooms.Put(large)
		room = *large
		r.pin = room
		r.prepareGet(q, room)
		_, errno, closed = q.tryAtOnce(iocGet, unsafe.Pointer(&r.get))
	}
	runtime.KeepAlive(r)
	if closed || errno != 0 {
		return nil, errno, closed
	}
	item = q.itemOf(&r.got, &r.more, room)
	return item, 0, false
}

var largeRooms = sync.Pool{New: func() interface{} {
	room := make([]byte, KeyMax+GroupMax+ValueMax)
	return &room
}}

// prepareGet describes a get of one item. Most of it is the same in all calls, so it is filled in once.
func (r *request) prepareGet(q *Queue, room []byte) {
	get := &r.get.get
	if r.get.size == 0 {
		r.get.size = uint32(unsafe.Sizeof(r.get))
		r.get.flags = getNonblock
		get.entries = address(unsafe.Pointer(&r.got))
		get.nr = 1
		get.entrySize = uint32(unsafe.Sizeof(r.got))
	}
	if r.get.done.nr != 0 {
		r.get.done, r.get.nrDone = batchABI{}, 0
	}
	get.keys = address(unsafe.Pointer(&room[0]))
	get.keysLen = uint32(len(room))
	r.more = gotExtra{}
	get.extras, get.extraSize = 0, 0
	if q.extras {
		get.withExtras(unsafe.Pointer(&r.more), unsafe.Sizeof(r.more))
	}
}

// itemOf makes an item of what the kernel has filled in. Its bytes are at the start of data.
func (q *Queue) itemOf(got *gotEntry, more *gotExtra, data []byte) *Item {
	group := got.keyLen + more.groupLen
	item := &Item{
		Key:       string(data[:got.keyLen]),
		Group:     string(data[got.keyLen:group]),
		Priority:  int(got.priority),
		Requeues:  int(got.requeues),
		Abandoned: int(got.abandoned),
		Ticket:    got.ticket,
		Token:     more.token,
		queue:     q,
	}
	if more.valueLen > 0 {
		item.Value = append([]byte(nil), data[group:group+more.valueLen]...)
	}
	return item
}

// A getBatch is one call of GetMany.
type getBatch struct {
	get  getArgs
	got  [BatchMax]gotEntry
	more [BatchMax]gotExtra
	room [batchBytes]byte
}

var getBatches = sync.Pool{New: func() interface{} { return new(getBatch) }}

func (b *getBatch) fetch(q *Queue, max int) (items []*Item, errno syscall.Errno, closed bool) {
	b.get = getArgs{flags: getNonblock}
	b.get.size = uint32(unsafe.Sizeof(b.get))
	b.get.get = batchABI{
		entries:   address(unsafe.Pointer(&b.got)),
		keys:      address(unsafe.Pointer(&b.room)),
		keysLen:   uint32(len(b.room)),
		nr:        uint32(max),
		entrySize: uint32(unsafe.Sizeof(b.got[0])),
	}
	if q.extras {
		b.get.get.withExtras(unsafe.Pointer(&b.more), unsafe.Sizeof(b.more[0]))
	}
	n, errno, closed := q.try(iocGet, unsafe.Pointer(&b.get))
	runtime.KeepAlive(b)
	if closed || errno != 0 {
		return nil, errno, closed
	}
	items = make([]*Item, n)
	data := b.room[:]
	none := gotExtra{}
	for i := range items {
		more := &none
		if q.extras {
			more = &b.more[i]
		}
		items[i] = q.itemOf(&b.got[i], more, data)
		data = data[b.got[i].keyLen+more.groupLen+more.valueLen:]
	}
	return items, 0, false
}
