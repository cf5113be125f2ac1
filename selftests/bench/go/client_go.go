// SPDX-License-Identifier: GPL-2.0-only

package main

import (
	"reflect"
	"runtime"
	"sync"

	"k8s.io/client-go/util/workqueue"

	"bench/measure"
)

// A queue without a provider of metrics, and one with it.
var (
	plain   = workqueue.TypedQueueConfig[string]{}
	metered = workqueue.TypedQueueConfig[string]{Name: "bench", MetricsProvider: provider{}}
)

var clientGoRows = []row{
	{"peer.client-go.cycle", func() float64 { return clientGo(plain, cycle[string], measure.Keys) }},
	{"peer.client-go.metrics.cycle", func() float64 { return clientGo(metered, cycle[string], measure.Keys) }},
	{"peer.client-go.cycle.name", func() float64 { return clientGo(plain, cycle[name], names) }},
	{"peer.client-go.metrics.cycle.name", func() float64 { return clientGo(metered, cycle[name], names) }},
	{"peer.client-go.ten", func() float64 { return clientGo(plain, ten[string], measure.Keys) }},
	{"peer.client-go.metrics.ten", func() float64 { return clientGo(metered, ten[string], measure.Keys) }},
	{"peer.client-go.metrics.ten.name", func() float64 { return clientGo(metered, ten[name], names) }},
	{"peer.client-go.coalesced", func() float64 { return clientGo(plain, coalesced[string], measure.Keys) }},
	{"peer.client-go.metrics.coalesced", func() float64 { return clientGo(metered, coalesced[string], measure.Keys) }},
	{"peer.client-go.coalesced.name", func() float64 { return clientGo(plain, coalesced[name], names) }},
	{"peer.client-go.add_after.10k", func() float64 {
		q := workqueue.NewTypedDelayingQueue[string]()
		defer q.ShutDown()
		return addAfter(q.AddAfter, settler(q))
	}},
}

// These are for a machine with two processors. They run only if they are named.
var twoProcessorRows = []row{
	{"client-go.cycle", func() float64 { return clientGo(plain, cycle[string], measure.Keys) }},
	{"client-go.metrics.cycle", func() float64 { return clientGo(metered, cycle[string], measure.Keys) }},
	{"client-go.two.cycle", func() float64 { return clientGo(plain, twoCycle, measure.Keys) }},
	{"client-go.metrics.two.cycle", func() float64 { return clientGo(metered, twoCycle, measure.Keys) }},
	{"client-go.two.add", twoAdders},
}

// twoCycle measures two goroutines, each on a processor. Each adds the key that it finished last, and finishes the key that it
// gets. No add is of a key that the other one has, so no get has to wait.
func twoCycle(q queue[string], keys []string) float64 {
	const cycles = 20000

	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	return measure.SampleSome(2, 15, 2*cycles, func() uint64 {
		var end sync.WaitGroup

		start := measure.Begin()
		for _, key := range keys[:2] {
			end.Add(1)
			go func() {
				defer end.Done()
				for i := 0; i < cycles; i++ {
					q.Add(key)
					key, _ = q.Get()
					q.Done(key)
				}
			}()
		}
		end.Wait()
		return measure.Since(start)
	})
}

// twoAdders measures two goroutines that only add, each other keys. Nobody gets.
func twoAdders() float64 {
	const adds = 20000

	keys := measure.Keys(2 * adds)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	return measure.SampleSome(2, 15, 2*adds, func() uint64 {
		var end sync.WaitGroup

		q := workqueue.NewTypedWithConfig(plain)
		defer q.ShutDown()
		start := measure.Begin()
		for _, own := range [][]string{keys[:adds], keys[adds:]} {
			end.Add(1)
			go func() {
				defer end.Done()
				for _, key := range own {
					q.Add(key)
				}
			}()
		}
		end.Wait()
		return measure.Since(start)
	})
}

func clientGo[T comparable](config workqueue.TypedQueueConfig[string], run func(queue[T], []T) float64,
	items func(int) []T) float64 {
	q := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[T]{
		Name: config.Name, MetricsProvider: config.MetricsProvider,
	})
	defer q.ShutDown()
	return run(q, items(measure.SomeKeys))
}

// settler returns a function that yields the processor until the goroutine of a delaying queue has taken all adds. There is one
// processor, so the goroutine then waits for the next one.
func settler(q workqueue.TypedDelayingInterface[string]) func() {
	adds := reflect.ValueOf(q).Elem().FieldByName("waitingForAddCh")
	return func() {
		for {
			runtime.Gosched()
			if adds.Len() == 0 {
				return
			}
		}
	}
}
