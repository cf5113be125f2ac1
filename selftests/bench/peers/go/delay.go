// SPDX-License-Identifier: GPL-2.0-only

package main

import (
	"container/heap"
	"sync/atomic"
	"time"
)

// The capacity of the channel to the goroutine that keeps the times.
const backlog = 1000

type wait[K comparable] struct {
	key     K
	readyAt time.Time
	index   int
}

type waitHeap[K comparable] []*wait[K]

func (h waitHeap[K]) Len() int           { return len(h) }
func (h waitHeap[K]) Less(i, j int) bool { return h[i].readyAt.Before(h[j].readyAt) }

func (h waitHeap[K]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *waitHeap[K]) Push(x any) {
	w := x.(*wait[K])
	w.index = len(*h)
	*h = append(*h, w)
}

func (h *waitHeap[K]) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return w
}

// delayingQueue adds keys at their times. One goroutine keeps the times in a heap, with
// a map of each key's place in it. Adds reach it through a channel.
type delayingQueue[K comparable] struct {
	*queue[K]
	adds chan *wait[K]
	stop chan struct{}
	// The number of waiting keys, stored once per batch that the goroutine takes.
	waiting atomic.Int64
}

func newDelayingQueue[K comparable]() *delayingQueue[K] {
	q := &delayingQueue[K]{
		queue: newQueue[K](),
		adds:  make(chan *wait[K], backlog),
		stop:  make(chan struct{}),
	}
	go q.keepTimes()
	return q
}

// AddAfter adds a key after a delay.
func (q *delayingQueue[K]) AddAfter(key K, delay time.Duration) {
	if delay <= 0 {
		q.Add(key)
		return
	}
	select {
	case <-q.stop:
	case q.adds <- &wait[K]{key: key, readyAt: time.Now().Add(delay)}:
	}
}

// ShutDown ends the goroutine, too.
func (q *delayingQueue[K]) ShutDown() {
	q.queue.ShutDown()
	close(q.stop)
}

func (q *delayingQueue[K]) keepTimes() {
	var waits waitHeap[K]
	known := map[K]*wait[K]{}
	heartbeat := time.NewTicker(10 * time.Second)
	defer heartbeat.Stop()
	var timer *time.Timer

	// If a key has two times, the earlier one counts.
	take := func(w *wait[K]) {
		if !w.readyAt.After(time.Now()) {
			q.Add(w.key)
		} else if old, found := known[w.key]; !found {
			heap.Push(&waits, w)
			known[w.key] = w
		} else if old.readyAt.After(w.readyAt) {
			old.readyAt = w.readyAt
			heap.Fix(&waits, old.index)
		}
	}

	for {
		now := time.Now()
		for len(waits) > 0 && !waits[0].readyAt.After(now) {
			w := heap.Pop(&waits).(*wait[K])
			q.Add(w.key)
			delete(known, w.key)
		}
		q.waiting.Store(int64(len(waits)))

		var first <-chan time.Time
		if timer != nil {
			timer.Stop()
		}
		if len(waits) > 0 {
			timer = time.NewTimer(waits[0].readyAt.Sub(now))
			first = timer.C
		}
		select {
		case <-q.stop:
			return
		case <-heartbeat.C:
		case <-first:
		case w := <-q.adds:
			take(w)
			for drained := false; !drained; {
				select {
				case w := <-q.adds:
					take(w)
				default:
					drained = true
				}
			}
		}
	}
}
