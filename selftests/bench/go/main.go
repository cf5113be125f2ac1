// SPDX-License-Identifier: GPL-2.0-only

// The benchmarks in Go: the real client-go in one process, and kwq's packages for Go over /dev/kwq.
//
//	bench-go [-i] [-p PREFIX] [ROW...]
//
// prints a line for each row, or for the named ones: name, value and unit between tabs. PREFIX stands before each name. With -i it
// counts instructions, on a machine whose clock advances by one per instruction.
package main

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"bench/measure"
)

const (
	rounds = measure.Rounds
	// The number of keys that wait while another one is added with a delay.
	waiting = 10000
)

func die(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "# bench-go: "+format+"\n", arguments...)
	os.Exit(1)
}

func must[T any](value T, err error) T {
	if err != nil {
		die("%v", err)
	}
	return value
}

type name = types.NamespacedName

// names makes keys of two strings.
func names(nr int) []name {
	all := make([]name, nr)
	for i, key := range measure.Keys(nr) {
		all[i] = name{Namespace: fmt.Sprintf("team-%d", i%10), Name: key}
	}
	return all
}

// A queue is what client-go and kwq/workqueue have in common.
type queue[T comparable] interface {
	Add(item T)
	Get() (item T, shutdown bool)
	Done(item T)
	Len() int
}

// cycle measures add, get and done. The items take turns.
func cycle[T comparable](q queue[T], items []T) float64 {
	next := 0
	return measure.Sample(rounds, func() uint64 {
		var item T

		start := measure.Begin()
		for i := 0; i < rounds; i++ {
			q.Add(items[next])
			item, _ = q.Get()
			q.Done(item)
			if next++; next == len(items) {
				next = 0
			}
		}
		took := measure.Since(start)
		if last := items[(next+len(items)-1)%len(items)]; item != last || q.Len() != 0 {
			die("the queue has not done what was measured")
		}
		return took
	})
}

// ten measures add, get and done of ten goroutines at once. Each adds the item that it finished last, and finishes the item that it
// gets. So no add is of an item that another one has, and no get has to wait. A sample is long, because goroutines begin with small
// stacks.
func ten[T comparable](q queue[T], items []T) float64 {
	const goroutines, rounds = 10, 4 * rounds

	return measure.SampleSome(2, 31, goroutines*rounds, func() uint64 {
		var end sync.WaitGroup

		start := measure.Begin()
		for _, item := range items[:goroutines] {
			end.Add(1)
			go func(item T) {
				defer end.Done()
				for i := 0; i < rounds; i++ {
					q.Add(item)
					item, _ = q.Get()
					q.Done(item)
				}
			}(item)
		}
		end.Wait()
		took := measure.Since(start)
		if q.Len() != 0 {
			die("the queue has not done what was measured")
		}
		return took
	})
}

// coalesced measures adds of items that are ready.
func coalesced[T comparable](q queue[T], items []T) float64 {
	for _, item := range items {
		q.Add(item)
	}
	next := 0
	return measure.Sample(rounds, func() uint64 {
		start := measure.Begin()
		for i := 0; i < rounds; i++ {
			q.Add(items[next])
			if next++; next == len(items) {
				next = 0
			}
		}
		took := measure.Since(start)
		if q.Len() != len(items) {
			die("an add was not coalesced")
		}
		return took
	})
}

// addAfter measures delayed adds that are not the earliest, while others wait. Added keys stay: in the end a few more are
// waiting. settle ends when the queue has done its work for them, and is part of the figure.
//
// Each new key takes memory, and the kernel clears a page for some 25 of them. So a sample has many adds.
func addAfter(add func(key string, delay time.Duration), settle func()) float64 {
	const samples, adds = 9, 4 * rounds

	random := rand.New(rand.NewSource(1))
	delay := func() time.Duration {
		return measure.Far + time.Second + time.Duration(random.Int63n(int64(measure.Far)))
	}
	keys := measure.Keys(waiting + (samples+1)*adds)
	add(keys[0], measure.Far)
	for _, key := range keys[1:waiting] {
		add(key, delay())
	}
	settle()
	runtime.GC()

	next := waiting
	return measure.SampleSome(1, samples, adds, func() uint64 {
		var delays [adds]time.Duration
		for i := range delays {
			delays[i] = delay()
		}
		start := measure.Begin()
		for _, delay := range delays {
			add(keys[next], delay)
			next++
		}
		settle()
		return measure.Since(start)
	})
}

type row struct {
	name string
	run  func() float64
}

func main() {
	instructions := flag.Bool("i", false, "count instructions: on a machine whose clock does so")

	prefix := flag.String("p", "", "stands before the name of each row")

	flag.Parse()
	if *instructions {
		measure.CountInstructions()
	}
	// On one processor a goroutine that yields lets all others work. See settler().
	runtime.GOMAXPROCS(1)
	measure.Clock()
	wanted := map[string]bool{}
	for _, name := range flag.Args() {
		wanted[name] = true
	}
	rows := append(clientGoRows, kwqRows...)
	if flag.NArg() != 0 {
		rows = append(rows, twoProcessorRows...)
	}
	for _, row := range rows {
		if flag.NArg() == 0 || wanted[row.name] {
			measure.Report(*prefix+row.name, row.run(), measure.Unit)
			delete(wanted, row.name)
			// The next row does not pay for this one's memory.
			runtime.GC()
		}
	}
	for name := range wanted {
		die("there is no row %s", name)
	}
}
