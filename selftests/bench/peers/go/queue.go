// SPDX-License-Identifier: GPL-2.0-only

package main

import "sync"

type set[K comparable] map[K]struct{}

func (s set[K]) has(key K) bool {
	_, found := s[key]
	return found
}

// queue is the three-set algorithm as client-go's workqueue documents it: the order of
// the ready keys, the set of keys that need processing, and the set of keys being
// processed.
type queue[K comparable] struct {
	lock       sync.Mutex
	ready      *sync.Cond
	order      []K
	dirty      set[K]
	processing set[K]
	shutDown   bool
}

func newQueue[K comparable]() *queue[K] {
	q := &queue[K]{dirty: set[K]{}, processing: set[K]{}}
	q.ready = sync.NewCond(&q.lock)
	return q
}

// Add marks a key as in need of processing.
func (q *queue[K]) Add(key K) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.shutDown || q.dirty.has(key) {
		return
	}
	q.dirty[key] = struct{}{}
	if q.processing.has(key) {
		return
	}
	q.order = append(q.order, key)
	q.ready.Signal()
}

// Get hands out the first ready key. more is false when the queue is shut down and
// empty.
func (q *queue[K]) Get() (key K, more bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	for len(q.order) == 0 && !q.shutDown {
		q.ready.Wait()
	}
	if len(q.order) == 0 {
		return key, false
	}
	var none K
	key, q.order[0] = q.order[0], none
	q.order = q.order[1:]
	q.processing[key] = struct{}{}
	delete(q.dirty, key)
	return key, true
}

// Done ends the processing of a key. If it was added meanwhile it is ready again.
func (q *queue[K]) Done(key K) {
	q.lock.Lock()
	defer q.lock.Unlock()
	delete(q.processing, key)
	if q.dirty.has(key) {
		q.order = append(q.order, key)
		q.ready.Signal()
	}
}

// Len is the number of ready keys.
func (q *queue[K]) Len() int {
	q.lock.Lock()
	defer q.lock.Unlock()
	return len(q.order)
}

// ShutDown refuses adds from now on and wakes everyone.
func (q *queue[K]) ShutDown() {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.shutDown = true
	q.ready.Broadcast()
}
