// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"fmt"
	"strconv"
	"sync"
)

// An outcome is what a call has found out about its key.
type outcome int

const (
	// The queue has the key.
	stays outcome = iota
	// The queue also counts requeues of the key, so it may keep the key when it is done.
	counted
	// The queue may have dropped the key.
	unsure
	// The count is zero now. The queue may have dropped the key.
	forgotten
	// The queue has dropped the key, unless another call added it meanwhile, or its requeues were counted.
	gone
)

// keys translates items to keys and back.
type keys[T comparable] interface {
	// pin returns the item's key for one call to the queue. The unpin after the call says what it found out. Without
	// create an unknown item has no key, and needs no unpin.
	pin(item T, create bool) (key string, known bool, err error)
	// pinKey does the same for a key that was handed out.
	pinKey(key string)
	unpin(key string, what outcome)
	// item returns the item of a key that was handed out.
	item(key string) (T, error)
	// sweep drops keys that the queue has dropped.
	sweep()
}

// mustHash panics if an item of an interface type cannot be compared, as a map does. The caller holds no lock yet.
func mustHash[T comparable](item T) {
	var none map[T]struct{}
	_ = none[item]
}

// codecKeys are for types with a codec: keys need no memory.
type codecKeys[T comparable] struct {
	codec Codec[T]
	// The codec is somebody else's. A key that is not the one of its item would be handed out beside the right one.
	foreign bool
}

func (k codecKeys[T]) pin(item T, create bool) (string, bool, error) {
	key, err := k.codec.Encode(item)
	return key, err == nil, err
}

func (codecKeys[T]) pinKey(string) {}

func (codecKeys[T]) unpin(string, outcome) {}

func (k codecKeys[T]) item(key string) (T, error) {
	item, err := k.codec.Decode(key)
	if err != nil || !k.foreign {
		return item, err
	}
	if again, err := k.codec.Encode(item); err != nil || again != key {
		var zero T
		return zero, fmt.Errorf("%q: %w", key, ErrKey)
	}
	return item, nil
}

func (codecKeys[T]) sweep() {}

// store is what a table asks of its queue.
type store interface {
	// has tells whether the queue has the key, in whatever state.
	has(key string) (bool, error)
	// each calls the function for each key of the queue.
	each(func(key string)) error
}

// A table gives objects numbers, and the numbers are their keys. An object leaves the table when the queue has dropped its key.
// A call that uses a key pins it, so that no other call drops the object meanwhile.
type table[T comparable] struct {
	store store

	// Protects all that follows.
	mutex  sync.Mutex
	byItem map[T]*entry[T]
	byKey  map[string]*entry[T]
	last   uint64
	// The number of sweeps, whether one is under way, and at which size the next one begins.
	sweeps   uint64
	sweeping bool
	limit    int
}

type entry[T comparable] struct {
	item T
	key  string
	// How many calls use it, whether two did at once since it was last unused, and whether one of them was unsure.
	pins   int
	met    bool
	unsure bool
	// The queue may keep the key for its count of requeues.
	counted bool
	// The number of sweeps when it was last used.
	sweep uint64
}

const smallestSweep = 1024

func newTable[T comparable](s store) *table[T] {
	return &table[T]{store: s, byItem: map[T]*entry[T]{}, byKey: map[string]*entry[T]{}, limit: smallestSweep}
}

func (t *table[T]) pin(item T, create bool) (string, bool, error) {
	mustHash(item)
	t.mutex.Lock()
	e := t.byItem[item]
	if e == nil && !create {
		t.mutex.Unlock()
		return "", false, nil
	}
	if e == nil {
		t.last++
		e = &entry[T]{item: item, key: strconv.FormatUint(t.last, 10)}
		t.byItem[item] = e
		t.byKey[e.key] = e
	}
	t.use(e)
	full := len(t.byItem) > t.limit && !t.sweeping
	t.mutex.Unlock()

	if full {
		t.sweep()
	}
	return e.key, true, nil
}

func (t *table[T]) pinKey(key string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.use(t.byKey[key])
}

// use counts one more call that uses the entry.
func (t *table[T]) use(e *entry[T]) {
	e.met = e.met || e.pins > 0
	e.pins++
	e.sweep = t.sweeps
}

func (t *table[T]) unpin(key string, what outcome) {
	t.mutex.Lock()
	defer t.mutex.Unlock()

	e := t.byKey[key]
	e.pins--
	e.sweep = t.sweeps
	switch what {
	case counted:
		e.counted = true
	case forgotten:
		// Another call may have counted after this one forgot.
		e.counted = e.counted && e.met
		e.unsure = true
	case unsure:
		e.unsure = true
	case gone:
		if e.pins == 0 && !e.met && !e.counted && !e.unsure {
			t.drop(e)
			return
		}
		e.unsure = true
	}
	if e.pins > 0 {
		return
	}
	if e.unsure {
		// Nobody uses the key, so the answer stays true under the mutex. After an error a sweep finds out.
		if has, err := t.store.has(key); err == nil && !has {
			t.drop(e)
			return
		}
	}
	e.met, e.unsure = false, false
}

func (t *table[T]) drop(e *entry[T]) {
	delete(t.byItem, e.item)
	delete(t.byKey, e.key)
}

func (t *table[T]) item(key string) (T, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()

	e := t.byKey[key]
	if e == nil {
		var zero T
		return zero, fmt.Errorf("%q: %w", key, ErrKey)
	}
	return e.item, nil
}

// sweep compares the table with the queue: counts of requeues end by themselves, and a shut down drops keys. It leaves out
// objects that were used since it began. A list may miss a key whose state changes meanwhile (Q15). So sweep asks again for each
// key that the list lacks.
func (t *table[T]) sweep() {
	t.mutex.Lock()
	if t.sweeping {
		t.mutex.Unlock()
		return
	}
	t.sweeping = true
	t.sweeps++
	t.mutex.Unlock()

	found := map[string]bool{}
	err := t.store.each(func(key string) { found[key] = true })

	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, e := range t.byKey {
		if err != nil || e.pins > 0 || e.sweep == t.sweeps || found[e.key] {
			continue
		}
		if has, err := t.store.has(e.key); err == nil && !has {
			t.drop(e)
		}
	}
	t.sweeping = false
	t.limit = 2*len(t.byItem) + smallestSweep
}

// size is for tests.
func (t *table[T]) size() int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return len(t.byItem)
}
