// SPDX-License-Identifier: GPL-2.0-only

// The peer in Go: the three-set algorithm as client-go's workqueue documents it.
//
//	peer-go [-i] [-p PREFIX] TEST...
//
// prints a line for each figure: name, value and unit between tabs. With -i it counts
// instructions, on a machine whose clock advances by one per instruction.
package main

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"sort"
	"sync"
	"time"

	"peer/measure"
)

const (
	someKeys = measure.SomeKeys
	rounds   = measure.Rounds
	far      = measure.Far
)

var prefix = flag.String("p", "", "what the figures' names begin with")

func report(name string, value float64, unit string) {
	measure.Report(*prefix+"go."+name, value, unit)
}

func die(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "peer-go: "+format+"\n", arguments...)
	os.Exit(1)
}

func testCycle() {
	q := newQueue[string]()
	keys := measure.Keys(someKeys)
	next := 0
	report("cycle", measure.Sample(rounds, func() uint64 {
		start := measure.Begin()
		for i := 0; i < rounds; i++ {
			q.Add(keys[next])
			key, _ := q.Get()
			q.Done(key)
			if next++; next == someKeys {
				next = 0
			}
		}
		return measure.Since(start)
	}), measure.Unit)
}

func testCoalesced() {
	q := newQueue[string]()
	keys := measure.Keys(1)
	q.Add(keys[0])
	report("coalesced", measure.Sample(rounds, func() uint64 {
		start := measure.Begin()
		for i := 0; i < rounds; i++ {
			q.Add(keys[0])
		}
		return measure.Since(start)
	}), measure.Unit)
}

// awaitWaiting yields the processor to the goroutine that keeps the times, until that
// many keys are waiting.
func awaitWaiting(q *delayingQueue[string], nr int) {
	for q.waiting.Load() != int64(nr) {
		runtime.Gosched()
	}
}

// testAddAfter measures adds that are not the earliest, including the work of the
// goroutine that keeps the times, on one processor. Added keys stay: in the end a few
// more than nr are waiting.
func testAddAfter(name string, nr int) {
	const more = 2000 / rounds

	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	random := rand.New(rand.NewSource(1))
	keys := measure.Keys(nr + (more+1)*rounds)
	q := newDelayingQueue[string]()
	defer q.ShutDown()

	q.AddAfter(keys[0], far)
	for i := 1; i < nr; i++ {
		q.AddAfter(keys[i], far+time.Second+time.Duration(random.Int63n(int64(far))))
		if i%backlog == 0 {
			awaitWaiting(q, i+1)
		}
	}
	awaitWaiting(q, nr)
	runtime.GC()

	next := nr
	report(name, measure.SampleSome(1, more, rounds, func() uint64 {
		var delays [rounds]time.Duration
		for i := range delays {
			delays[i] = far + time.Second + time.Duration(random.Int63n(int64(far)))
		}
		start := measure.Begin()
		for _, delay := range delays {
			q.AddAfter(keys[next], delay)
			next++
		}
		awaitWaiting(q, next)
		return measure.Since(start)
	}), measure.Unit)
}

// testDue measures the time from the due time of nr keys until all of them are ready.
func testDue(name string, nr int) {
	keys := measure.Keys(nr)
	q := newDelayingQueue[string]()
	defer q.ShutDown()

	due := time.Now().Add(100*time.Millisecond + time.Duration(nr)*5*time.Microsecond)
	for _, key := range keys {
		q.AddAfter(key, time.Until(due))
	}
	for q.waiting.Load() != int64(nr) {
		if time.Now().After(due) {
			die("%s: the keys came due before all of them were added", name)
		}
		time.Sleep(100 * time.Microsecond)
	}
	time.Sleep(time.Until(due))
	for q.Len() != nr {
		time.Sleep(100 * time.Microsecond)
	}
	report(name, float64(time.Since(due).Nanoseconds()), "ns")
}

// testLate measures the lateness of a due key at a goroutine that sleeps in Get.
func testLate() {
	const nr = 1000

	random := rand.New(rand.NewSource(1))
	keys := measure.Keys(nr)
	q := newDelayingQueue[string]()
	defer q.ShutDown()
	readyAt := map[string]time.Time{}
	now := time.Now()
	for i, key := range keys {
		at := now.Add(100*time.Millisecond + time.Duration(i)*time.Millisecond +
			time.Duration(random.Int63n(int64(time.Millisecond))))
		readyAt[key] = at
		q.AddAfter(key, time.Until(at))
	}
	late := make([]float64, nr)
	for i := range late {
		key, _ := q.Get()
		late[i] = float64(time.Since(readyAt[key]).Nanoseconds())
		q.Done(key)
	}
	sort.Float64s(late)
	report("late.p50", late[nr/2], "ns")
	report("late.p99", late[nr*99/100], "ns")
}

// wallOf returns the time until all functions, which run concurrently, have returned.
func wallOf(fns ...func()) uint64 {
	var end sync.WaitGroup

	end.Add(len(fns))
	start := measure.Begin()
	for _, fn := range fns {
		go func(fn func()) {
			fn()
			end.Done()
		}(fn)
	}
	end.Wait()
	return measure.Since(start)
}

// testTwoCycle runs two threads. Each adds the key that it finished last, and finishes
// the key that it gets. No add is of a key that the other thread has, so no get has to
// wait.
func testTwoCycle() {
	const cycles = 20000

	q := newQueue[string]()
	keys := measure.Keys(2)
	run := func(key string) func() {
		return func() {
			for i := 0; i < cycles; i++ {
				q.Add(key)
				key, _ = q.Get()
				q.Done(key)
			}
		}
	}
	report("two.cycle", measure.SampleSome(2, 15, 2*cycles, func() uint64 {
		return wallOf(run(keys[0]), run(keys[1]))
	}), measure.Unit)
}

// testTwoByTwo runs two producers, each with its own keys, and two consumers.
func testTwoByTwo() {
	const each = 50000

	keys := measure.Keys(2 * each)
	report("two_by_two", measure.SampleSome(1, 9, 2*each, func() uint64 {
		var producers sync.WaitGroup
		q := newQueue[string]()
		produce := func(keys []string) func() {
			return func() {
				for _, key := range keys {
					q.Add(key)
				}
				producers.Done()
				producers.Wait()
				q.ShutDown()
			}
		}
		consume := func() {
			for {
				key, more := q.Get()
				if !more {
					return
				}
				q.Done(key)
			}
		}
		producers.Add(2)
		return wallOf(produce(keys[:each]), produce(keys[each:]), consume, consume)
	}), measure.Unit)
}

var tests = []struct {
	name string
	run  func(name string)
}{
	{"cycle", func(string) { testCycle() }},
	{"coalesced", func(string) { testCoalesced() }},
	{"add_after.10k", func(name string) { testAddAfter(name, 10000) }},
	{"add_after.100k", func(name string) { testAddAfter(name, 100000) }},
	{"add_after.1m", func(name string) { testAddAfter(name, 1000000) }},
	{"due.100k", func(name string) { testDue(name, 100000) }},
	{"due.1m", func(name string) { testDue(name, 1000000) }},
	{"late", func(string) { testLate() }},
	{"two.cycle", func(string) { testTwoCycle() }},
	{"two_by_two", func(string) { testTwoByTwo() }},
}

func run(name string) {
	for _, test := range tests {
		if test.name == name {
			test.run(name)
			return
		}
	}
	die("there is no test %s", name)
}

func main() {
	instructions := flag.Bool("i", false, "count instructions: on a machine whose clock does so")

	flag.Parse()
	if *instructions {
		measure.CountInstructions()
	}
	measure.Clock()
	for _, name := range flag.Args() {
		run(name)
	}
}
