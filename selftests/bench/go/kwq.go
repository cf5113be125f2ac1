// SPDX-License-Identifier: GPL-2.0-only

package main

import (
	"context"
	"time"

	"kwq.example/kwq"
	"kwq.example/kwq/workqueue"

	"bench/measure"
)

var kwqRows = []row{
	{"go.cycle", func() float64 { return kwqCycle(threeCalls) }},
	{"go.cycle.fused", func() float64 { return kwqCycle(twoCalls) }},
	{"go.batch64", kwqBatches},
	{"go.coalesced", kwqCoalesced},
	{"go.add_after.10k", kwqAddAfter},
	{"go.workqueue.cycle", func() float64 { return typed(cycle[string], measure.Keys) }},
	{"go.workqueue.cycle.name", func() float64 { return typed(cycle[name], names) }},
	{"go.workqueue.ten", func() float64 { return typed(ten[string], measure.Keys) }},
	{"go.workqueue.ten.name", func() float64 { return typed(ten[name], names) }},
	{"go.workqueue.coalesced", func() float64 { return typed(coalesced[string], measure.Keys) }},
	{"go.workqueue.coalesced.name", func() float64 { return typed(coalesced[name], names) }},
	{"go.workqueue.add_after.10k", func() float64 {
		q := must(workqueue.Open[string](nil, workqueue.TypedRateLimitingQueueConfig[string]{}))
		defer q.Close()
		return addAfter(q.AddAfter, func() {})
	}},
}

// typed measures a queue of package workqueue that belongs to this process.
func typed[T comparable](run func(queue[T], []T) float64, items func(int) []T) float64 {
	q := must(workqueue.Open[T](nil, workqueue.TypedRateLimitingQueueConfig[T]{}))
	defer q.Close()
	return run(q, items(measure.SomeKeys))
}

var background = context.Background()

// kwqCycle measures add, get and done of one key after the other. work is given the item that was got last, and returns the one
// that it has got.
func kwqCycle(work func(q *kwq.Queue, key string, last *kwq.Item) *kwq.Item) float64 {
	q := must(kwq.New(nil))
	defer q.Close()
	keys := measure.Keys(measure.SomeKeys)
	must(q.Add(keys[measure.SomeKeys-1]))
	item := must(q.Get(background))
	next := 0
	cycles := uint64(1)
	cost := measure.Sample(rounds, func() uint64 {
		start := measure.Begin()
		for i := 0; i < rounds; i++ {
			item = work(q, keys[next], item)
			if next++; next == len(keys) {
				next = 0
			}
		}
		cycles += rounds
		return measure.Since(start)
	})
	must(item.Done())
	check(q, cycles)
	return cost
}

// check dies if the queue has not done what was measured.
func check(q *kwq.Queue, cycles uint64) {
	stat := must(q.Stat())
	if stat.Items != 0 || stat.Abandoned != 0 || stat.Adds != cycles || stat.Dones != cycles {
		die("the queue has not done what was measured: %d cycles, %+v", cycles, stat)
	}
}

// The done is that of the item before, as in twoCalls.
func threeCalls(q *kwq.Queue, key string, last *kwq.Item) *kwq.Item {
	if _, err := last.Done(); err != nil {
		die("%v", err)
	}
	if _, err := q.Add(key); err != nil {
		die("%v", err)
	}
	item, err := q.Get(background)
	if err != nil {
		die("%v", err)
	}
	return item
}

func twoCalls(q *kwq.Queue, key string, last *kwq.Item) *kwq.Item {
	if _, err := q.Add(key); err != nil {
		die("%v", err)
	}
	item, _, err := last.DoneAndGet(background)
	if err != nil {
		die("%v", err)
	}
	return item
}

func kwqCoalesced() float64 {
	q := must(kwq.New(nil))
	defer q.Close()
	keys := measure.Keys(measure.SomeKeys)
	for _, key := range keys {
		must(q.Add(key))
	}
	next := 0
	return measure.Sample(rounds, func() uint64 {
		start := measure.Begin()
		for i := 0; i < rounds; i++ {
			if result, err := q.Add(keys[next]); err != nil || result != kwq.Coalesced {
				die("an add was not coalesced: %v, %v", result, err)
			}
			if next++; next == len(keys) {
				next = 0
			}
		}
		return measure.Since(start)
	})
}

func kwqAddAfter() float64 {
	q := must(kwq.New(nil))
	defer q.Close()
	add := func(key string, delay time.Duration) {
		if result, err := q.AddAfter(key, delay); err != nil || result != kwq.Waiting {
			die("a key does not wait: %v, %v", result, err)
		}
	}
	return addAfter(add, func() {})
}

// kwqBatches measures add, get and done of 64 keys at a time, in three calls. The collector has a larger part in a batch than in a
// single call, and runs once for 30,000 keys. So the figure is the mean of many more, where a median of samples would depend on
// their length.
func kwqBatches() float64 {
	const batches = 78

	q := must(kwq.New(nil))
	defer q.Close()
	keys := measure.Keys(measure.SomeKeys)
	entries := make([]kwq.Entry, rounds)
	next := 0
	cycles := uint64(0)
	cost := measure.Mean(4, 40, batches*rounds, func() (took uint64) {
		for batch := 0; batch < batches; batch++ {
			for i := range entries {
				entries[i] = kwq.Entry{Key: keys[next]}
				next = (next + 1) % len(keys)
			}
			start := measure.Begin()
			if err := q.AddMany(entries); err != nil {
				die("%v", err)
			}
			items, err := q.GetMany(background, rounds)
			if err != nil || len(items) != rounds {
				die("%d items: %v", len(items), err)
			}
			if _, err := q.DoneMany(items); err != nil {
				die("%v", err)
			}
			took += measure.Since(start)
		}
		cycles += batches * rounds
		return took
	})
	check(q, cycles)
	return cost
}
