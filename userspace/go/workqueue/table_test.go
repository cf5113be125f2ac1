// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"errors"
	"testing"
)

// fakeStore is a queue that knows only its keys.
type fakeStore struct {
	keys   map[string]bool
	missed string // each does not find it
	err    error
	asked  int
	during func()
}

func (s *fakeStore) has(key string) (bool, error) {
	s.asked++
	return s.keys[key], s.err
}

func (s *fakeStore) each(found func(string)) error {
	for key := range s.keys {
		if key != s.missed {
			found(key)
		}
	}
	if s.during != nil {
		s.during()
	}
	return s.err
}

func newTestTable() (*table[*int], *fakeStore) {
	s := &fakeStore{keys: map[string]bool{}}
	return newTable[*int](s), s
}

func pinned(t *testing.T, table *table[*int], item *int) string {
	t.Helper()
	key, known, err := table.pin(item, true)
	if !known || err != nil {
		t.Fatalf("%q, %v, %v", key, known, err)
	}
	return key
}

func wantSize(t *testing.T, table *table[*int], n int) {
	t.Helper()
	if got := table.size(); got != n || len(table.byKey) != n {
		t.Errorf("the table has %d objects and %d keys, wanted %d", got, len(table.byKey), n)
	}
}

func TestTable(t *testing.T) {
	table, store := newTestTable()
	a, b := new(int), new(int)

	if key, known, err := table.pin(a, false); known || key != "" || err != nil {
		t.Errorf("an unknown object has a key: %q, %v", key, err)
	}
	keyA, keyB := pinned(t, table, a), pinned(t, table, b)
	if keyA == keyB {
		t.Errorf("two objects have the key %q", keyA)
	}
	table.unpin(keyA, stays)
	table.unpin(keyB, stays)
	if item, err := table.item(keyB); item != b || err != nil {
		t.Errorf("%p, %v", item, err)
	}
	if again := pinned(t, table, a); again != keyA {
		t.Errorf("the key of an object changed from %q to %q", keyA, again)
	}
	// The end of a run.
	table.unpin(keyA, gone)
	wantSize(t, table, 1)
	if item, err := table.item(keyA); item != nil || !errors.Is(err, ErrKey) {
		t.Errorf("an object that is gone: %p, %v", item, err)
	}
	if store.asked != 0 {
		t.Errorf("a lonely call asked the queue %d times", store.asked)
	}
}

// A key that is gone for one call may be there again for another.
func TestTableCallsMeet(t *testing.T) {
	table, store := newTestTable()
	a := new(int)

	key := pinned(t, table, a)
	pinned(t, table, a)
	store.keys[key] = true
	table.unpin(key, gone)
	table.unpin(key, stays)
	wantSize(t, table, 1)

	pinned(t, table, a)
	pinned(t, table, a)
	table.unpin(key, stays)
	delete(store.keys, key)
	table.unpin(key, gone)
	wantSize(t, table, 0)

	// An error leaves the object for the next sweep.
	key = pinned(t, table, a)
	store.err = errors.New("no answer")
	table.unpin(key, unsure)
	wantSize(t, table, 1)
	table.sweep()
	wantSize(t, table, 1)
	store.err = nil
	table.sweep()
	wantSize(t, table, 0)

	// A refused add of a new object.
	table.unpin(pinned(t, table, a), unsure)
	wantSize(t, table, 0)
}

// L10: the queue keeps a key for its count of requeues.
func TestTableCounted(t *testing.T) {
	table, store := newTestTable()
	a := new(int)

	key := pinned(t, table, a)
	store.keys[key] = true
	table.unpin(key, counted)
	pinned(t, table, a)
	table.unpin(key, gone)
	wantSize(t, table, 1)
	pinned(t, table, a)
	table.unpin(key, forgotten)
	wantSize(t, table, 1)
	delete(store.keys, key)
	pinned(t, table, a)
	table.unpin(key, forgotten)
	wantSize(t, table, 0)
}

func TestTableSweep(t *testing.T) {
	table, store := newTestTable()

	used, held := new(int), new(int)
	pinned(t, table, held)
	items := make([]int, smallestSweep-1)
	for i := range items {
		key := pinned(t, table, &items[i])
		if i%2 == 0 {
			store.keys[key] = true
		}
		table.unpin(key, stays)
	}
	store.during = func() {
		store.during = nil
		table.sweep()
		table.unpin(pinned(t, table, &items[1]), stays)
	}
	// One more object than the limit begins a sweep. The sweep keeps objects that are in use, or were used meanwhile.
	table.unpin(pinned(t, table, used), stays)
	wantSize(t, table, smallestSweep/2+3)
	if table.limit != 2*(smallestSweep/2+3)+smallestSweep {
		t.Errorf("the next sweep begins at %d", table.limit)
	}
}

// Q15: a list may miss a key that moves from one state to another meanwhile.
func TestTableListMissesAKey(t *testing.T) {
	table, store := newTestTable()
	a := new(int)

	key := pinned(t, table, a)
	store.keys[key], store.missed = true, key
	table.unpin(key, stays)
	table.sweep()
	wantSize(t, table, 1)
	delete(store.keys, key)
	table.sweep()
	wantSize(t, table, 0)
}

// A forget of one call and a count of another meet. The queue keeps the key for the count.
func TestTableForgetMeetsACount(t *testing.T) {
	table, store := newTestTable()
	a := new(int)

	key := pinned(t, table, a)
	store.keys[key] = true
	table.unpin(key, stays)
	pinned(t, table, a)
	pinned(t, table, a)
	table.unpin(key, counted)
	table.unpin(key, forgotten)
	table.pinKey(key)
	table.unpin(key, gone)
	wantSize(t, table, 1)
	// A shut down forgets the counts.
	delete(store.keys, key)
	table.pinKey(key)
	table.unpin(key, gone)
	wantSize(t, table, 0)
}
