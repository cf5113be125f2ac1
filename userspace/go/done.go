// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// The operations of this file, as Error.Op names them.
const (
	opDone     = "done"
	opExtend   = "extend"
	opForget   = "forget"
	opNote     = "note"
	opRemove   = "remove"
	opRequeues = "read the requeues of"
)

// DoneResult says what became of a key that was finished. Finished is 0, the others are bits.
type DoneResult int

func (r DoneResult) String() string {
	if r < 0 {
		return "unknown"
	}
	if r == Finished {
		return "finished"
	}
	var names []string
	for i, name := range [...]string{"requeued", "still waiting", "buried", "returned"} {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Done finishes the item. If its key was added meanwhile, the key is ready again. If the item's lease has expired, or it was
// finished before, the error is [ErrStale].
func (i *Item) Done() (DoneResult, error) { return i.end(0) }

// DoneAndForget finishes the item, and resets its key's count of requeues. It is what a success after retries needs.
func (i *Item) DoneAndForget() (DoneResult, error) { return i.end(doneForget) }

// GiveBack ends the hand-out as if it had not happened: the key is ready again, ahead of the others of its priority.
func (i *Item) GiveBack() (DoneResult, error) { return i.end(doneReturn) }

// Bury finishes the item, and sets its key aside as dead. A key that was added meanwhile is ready again instead. To say why, call
// Note before.
func (i *Item) Bury() (DoneResult, error) { return i.end(doneDead) }

// Retry adds the item's key after the delay that the queue's limiters compute, and finishes the item. The add comes first: if the
// item's lease has expired, the key is added, and the error is [ErrStale]. If the queue is shut down,
// the item is finished, too, and the error is [ErrShutDown]. After any other error of the add the item is still held. To say why
// the key is tried again, call Note before.
func (i *Item) Retry() (AddResult, error) {
	result, err := i.queue.AddRateLimited(i.Key)
	return i.endAfter(result, err)
}

// RetryAfter does the same with a delay of the caller's.
func (i *Item) RetryAfter(delay time.Duration) (AddResult, error) {
	result, err := i.queue.AddAfter(i.Key, delay)
	return i.endAfter(result, err)
}

func (i *Item) endAfter(result AddResult, err error) (AddResult, error) {
	if err != nil && !isShutDown(err) {
		return result, err
	}
	if _, done := i.Done(); err == nil {
		err = done
	}
	return result, err
}

func isShutDown(err error) bool {
	e, ok := err.(*Error)
	return ok && e.Err == ErrShutDown
}

// DoneAndGet finishes the item and takes the next one, in one call of the kernel if one is ready. With an error there is no next
// item. The item is finished nevertheless, unless the error is [ErrStale] or [ErrClosed].
func (i *Item) DoneAndGet(ctx context.Context) (next *Item, result DoneResult, err error) {
	q := i.queue
	if err := ctx.Err(); err != nil {
		result, failed := i.Done()
		if failed != nil {
			err = failed
		}
		return nil, result, err
	}
	r := q.newRequest()
	next, errno, closed := r.fetch(q, i.Ticket)
	done := r.result
	q.free(r)
	switch {
	case closed:
		return nil, 0, q.notGot(errno, closed)
	case done < 0 && next != nil:
		// An error means that there is no item, so the caller must not have one.
		if _, err := next.GiveBack(); err != nil {
			return nil, 0, err
		}
	}
	if done == noResult && errno != 0 {
		return nil, 0, q.fail(opGet, "", errno)
	}
	if done < 0 {
		return nil, 0, q.fail(opDone, i.Key, syscall.Errno(-done))
	}
	switch errno {
	case 0:
		return next, DoneResult(done), nil
	case syscall.EAGAIN:
		next, err = q.get(ctx, true)
		return next, DoneResult(done), err
	}
	return nil, DoneResult(done), q.notGot(errno, closed)
}

// Extend begins the item's lease again. In a queue without leases it only checks that the item is still held.
func (i *Item) Extend() error {
	r := i.queue.newRequest()
	defer i.queue.free(r)
	r.done = doneEntry(extendEntry{ticket: i.Ticket})
	r.putKey(&r.batch.batch, "", unsafe.Pointer(&r.done), unsafe.Sizeof(r.done))
	_, err := r.run(i.queue, opExtend, iocExtend, i.Key)
	return err
}

// Note says something of the item's key to whoever lists the queue: how the work goes on or, above all, why it has failed. A worker
// calls it before Retry or Bury. It also begins the item's lease again, like Extend.
//
// The note takes the place of an earlier one, and an empty one takes it away. The key has it until the key leaves the queue, or
// until its requeues are forgotten, as DoneAndForget does. It has up to NoteMax bytes. The queue needs [CreateOptions.Values], else
// the error is [ErrUnsupported]. If there is no room, it is [ErrFull] or [ErrQuota]. After any error the key has the note that it
// had, and its lease is not extended, but the item can still be retried, unless the error is [ErrStale].
func (i *Item) Note(note []byte) error {
	if len(note) > NoteMax {
		return i.queue.refuse(opNote, i.Key, tooLong("the note", len(note), NoteMax))
	}
	r := i.queue.newRequest()
	defer i.queue.free(r)
	r.done = doneEntry(extendEntry{ticket: i.Ticket, flags: extendNote})
	r.extra = addExtra{}
	r.putNote(note)
	r.putKey(&r.batch.batch, "", unsafe.Pointer(&r.done), unsafe.Sizeof(r.done))
	r.batch.batch.withExtras(unsafe.Pointer(&r.extra), unsafe.Sizeof(r.extra))
	_, err := r.run(i.queue, opNote, iocExtend, i.Key)
	return err
}

func (i *Item) end(flags uint32) (DoneResult, error) {
	q := i.queue
	r := q.newRequest()
	r.done = doneEntry{ticket: i.Ticket, flags: flags}
	r.putKey(&r.batch.batch, "", unsafe.Pointer(&r.done), unsafe.Sizeof(r.done))
	n, err := r.run(q, opDone, iocDone, i.Key)
	q.free(r)
	return DoneResult(n), err
}

// DoneKey finishes the item of this key, which this handle holds. If nobody holds it, the error is [ErrNotFound], and if another
// handle does, it is [ErrNotHolder]. In a queue with leases use [Item.Done]: a key does not tell two hand-outs apart.
func (q *Queue) DoneKey(key string) (DoneResult, error) {
	if err := checkKey(key); err != nil {
		return 0, q.refuse(opDone, key, err)
	}
	r := q.newRequest()
	defer q.free(r)
	r.done = doneEntry{keyLen: uint32(len(key))}
	r.putKey(&r.batch.batch, key, unsafe.Pointer(&r.done), unsafe.Sizeof(r.done))
	n, err := r.run(q, opDone, iocDone, key)
	return DoneResult(n), err
}

// DoneMany finishes items of this handle in few calls of the kernel, and returns what became of each. It returns the first error.
// An error of one leaves the others unaffected. The result of an item that was not finished is -1.
func (q *Queue) DoneMany(items []*Item) ([]DoneResult, error) {
	results := make([]DoneResult, len(items))
	for i := range results {
		results[i] = -1
	}
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	for _, item := range items {
		if item.queue != q {
			return results, q.refuse(opDone, item.Key, invalid("the item belongs to another handle"))
		}
	}
	b := doneBatches.Get().(*doneBatch)
	defer doneBatches.Put(b)
	for done := 0; done < len(items); {
		part := items[done:]
		if len(part) > BatchMax {
			part = part[:BatchMax]
		}
		for i, item := range part {
			b.entries[i] = doneEntry{ticket: item.Ticket}
		}
		b.describe(unsafe.Pointer(&b.entries), unsafe.Sizeof(b.entries[0]), len(part))
		taken, err := q.request(opDone, "", iocDone, unsafe.Pointer(&b.args))
		runtime.KeepAlive(b)
		if err != nil {
			note(err)
			break
		}
		for i := 0; i < taken; i++ {
			n, err := q.resultOf(opDone, part[i].Key, b.results[i])
			if err != nil {
				note(err)
				continue
			}
			results[done+i] = DoneResult(n)
		}
		done += taken
	}
	return results, first
}

// A doneBatch is one call of DoneMany.
type doneBatch struct {
	batch
	entries [BatchMax]doneEntry
}

var doneBatches = sync.Pool{New: func() interface{} { return new(doneBatch) }}

// Forget resets the key's count of requeues, and returns what it was. It does nothing else: an item of the key still needs its
// done.
func (q *Queue) Forget(key string) (int, error) { return q.byKey(opForget, iocForget, key) }

// NumRequeues returns how often the key was rate-limited since it was last forgotten.
func (q *Queue) NumRequeues(key string) (int, error) { return q.byKey(opRequeues, iocRequeues, key) }

// Remove takes a key out of the queue, and returns what it was. A key that is being processed is gone at its done. A key that is
// only remembered for its requeues is forgotten.
func (q *Queue) Remove(key string) (State, error) {
	n, err := q.remove(key, 0, 0)
	return State(n), err
}

// Drop takes a key out only if it is dead.
func (q *Queue) Drop(key string) (State, error) {
	n, err := q.remove(key, removeDead, 0)
	return State(n), err
}

// RemoveOptions are conditions and effects of [Queue.RemoveWith].
type RemoveOptions struct {
	// Revoke takes the key from its holder, too. It is gone at once, and the holder's done fails with [ErrStale]. The holder's
	// descriptor polls POLLPRI until the next [Item.Extend].
	Revoke bool
	// Unchanged removes the key only if the caller knows all its changes and adds up to Change, which is [Listed.Change] as the
	// queue's follower has read it. Else the error is [ErrChanged], and the follower reads the key again. It needs a queue with
	// [CreateOptions.Changes] and without a board.
	Unchanged bool
	Change    uint64
}

// RemoveWith takes a key out of the queue, and returns what it was.
func (q *Queue) RemoveWith(key string, o RemoveOptions) (State, error) {
	if o.Change != 0 && !o.Unchanged {
		return 0, q.refuse(opRemove, key, invalid("Change needs Unchanged"))
	}
	var flags uint32
	if o.Revoke {
		flags |= removeRevoke
	}
	if o.Unchanged {
		flags |= removeUnchanged
	}
	n, err := q.remove(key, flags, o.Change)
	return State(n), err
}

func (q *Queue) remove(key string, flags uint32, change uint64) (int, error) {
	if err := checkKey(key); err != nil {
		return 0, q.refuse(opRemove, key, err)
	}
	r := q.newRequest()
	defer q.free(r)
	r.rem = removeEntry{keyLen: uint32(len(key)), flags: flags, change: change}
	r.putKey(&r.batch.batch, key, unsafe.Pointer(&r.rem), unsafe.Sizeof(r.rem))
	return r.run(q, opRemove, iocRemove, key)
}
