// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

// Most values are short. A longer one needs a second call.
const shortValue = 4096

// A request is everything that a call for one key points to.
type request struct {
	get    getArgs
	add    addArgs
	batch  batchArgs
	entry  addEntry
	extra  addExtra
	done   doneEntry
	key    keyEntry
	rem    removeEntry
	got    gotEntry
	more   gotExtra
	result int32
	pin    []byte // a value, or a larger buffer than out; its address is in the request
	note   []byte // so is that of a note
	in     [KeyMax + GroupMax]byte
	out    [KeyMax + GroupMax + shortValue]byte
}

var requests = sync.Pool{New: func() interface{} { return new(request) }}

// newRequest returns the handle's own request, or another one if a call uses that.
func (q *Queue) newRequest() *request {
	if r := q.spare.Swap(nil); r != nil {
		return r
	}
	return requests.Get().(*request)
}

func (q *Queue) free(r *request) {
	r.pin, r.note = nil, nil
	if !q.spare.CompareAndSwap(nil, r) {
		requests.Put(r)
	}
}

// noResult is in a result until the kernel writes it.
const noResult = -int32(syscall.EIO)

// putKey copies the key in, and describes a batch of one entry.
func (r *request) putKey(b *batchABI, key string, entry unsafe.Pointer, entrySize uintptr) {
	r.result = noResult
	*b = batchABI{
		entries:   address(entry),
		results:   address(unsafe.Pointer(&r.result)),
		nr:        1,
		entrySize: uint32(entrySize),
	}
	if key != "" {
		copy(r.in[:KeyMax], key)
		b.keys = address(unsafe.Pointer(&r.in))
		b.keysLen = uint32(len(key))
	}
}

// run carries out the batch of one entry, and returns the result of the entry.
func (r *request) run(q *Queue, op string, number uintptr, key string) (int, error) {
	r.batch.size = uint32(unsafe.Sizeof(r.batch))
	_, errno, closed := q.tryAtOnce(number, unsafe.Pointer(&r.batch))
	runtime.KeepAlive(r)
	if closed {
		return 0, q.refuse(op, key, ErrClosed)
	}
	if errno != 0 {
		return 0, q.fail(op, key, errno)
	}
	return q.resultOf(op, key, r.result)
}

// putNote puts the address of a note into the extra. Nobody may change the note until the call is over.
func (r *request) putNote(note []byte) {
	r.extra.noteLen = uint32(len(note))
	if len(note) > 0 {
		r.note = note
		r.extra.note = address(unsafe.Pointer(&r.note[0]))
	}
}

// resultOf an entry: an errno value is negative.
func (q *Queue) resultOf(op, key string, result int32) (int, error) {
	if result < 0 {
		return 0, q.fail(op, key, syscall.Errno(-result))
	}
	return int(result), nil
}

// byKey carries out an operation whose entry is a keyEntry.
func (q *Queue) byKey(op string, number uintptr, key string) (int, error) {
	if err := checkKey(key); err != nil {
		return 0, q.refuse(op, key, err)
	}
	r := q.newRequest()
	defer q.free(r)
	r.key = keyEntry{keyLen: uint32(len(key))}
	r.putKey(&r.batch.batch, key, unsafe.Pointer(&r.key), unsafe.Sizeof(r.key))
	return r.run(q, op, number, key)
}

// A batch is everything that a call for many keys points to.
type batch struct {
	args    batchArgs
	keys    []byte
	results []int32
}

// describe fills in the batch, for entries of this size at this address.
func (b *batch) describe(entries unsafe.Pointer, entrySize uintptr, n int) {
	if cap(b.results) < n {
		b.results = make([]int32, n)
	}
	b.results = b.results[:n]
	for i := range b.results {
		b.results[i] = noResult
	}
	b.args = batchArgs{batch: batchABI{
		entries:   address(entries),
		results:   address(unsafe.Pointer(&b.results[0])),
		nr:        uint32(n),
		entrySize: uint32(entrySize),
		keysLen:   uint32(len(b.keys)),
	}}
	b.args.size = uint32(unsafe.Sizeof(b.args))
	if len(b.keys) > 0 {
		b.args.batch.keys = address(unsafe.Pointer(&b.keys[0]))
	}
}

// extend describes the extras of the batch.
func (b *batchABI) withExtras(extras unsafe.Pointer, extraSize uintptr) {
	b.extras = address(extras)
	b.extraSize = uint32(extraSize)
}
