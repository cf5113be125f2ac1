// SPDX-License-Identifier: GPL-2.0-only

// Package measure reads the clock, takes medians and prints figures.
package measure

import (
	"fmt"
	"sort"
	"time"
)

// A tick or an interrupt hits only a few samples, so the median does not show it.
const (
	warmUp  = 32
	samples = 255
)

// SomeKeys is the number of keys that take turns, like those of a controller.
const SomeKeys = 100

// Rounds is the number of operations in a sample.
const Rounds = 64

// Far is the least delay of a key that does not become due during a test.
const Far = time.Hour

// These read the processor's time stamp counter; see tsc_amd64.s.
func tscBegin() uint64
func tscEnd() uint64

var begun = time.Now()

func now() uint64 { return uint64(time.Since(begun)) }

// The clock counts ns, or time stamp ticks. The ticks are instructions on a machine whose
// clock advances by one per instruction.
var (
	begin, end = now, now
	clockCost  uint64
)

// Unit is the unit of the clock.
var Unit = "ns"

// CountInstructions makes the clock count instructions.
func CountInstructions() {
	begin, end = tscBegin, tscEnd
	Unit = "insn"
}

// Begin reads the clock before a measurement.
func Begin() uint64 { return begin() }

// Since returns what has passed since Begin, without the cost of reading the clock.
func Since(start uint64) uint64 {
	took := end() - start
	if took < clockCost {
		return 0
	}
	return took - clockCost
}

func median(values []uint64) uint64 {
	sort.Slice(values, func(i, j int) bool { return values[i] < values[j] })
	return values[len(values)/2]
}

// Clock measures the rest of two readings with nothing between them.
func Clock() {
	var took [samples]uint64
	clockCost = 0
	for i := range took {
		took[i] = Since(Begin())
	}
	clockCost = median(took[:])
}

// Sample returns the median of fn's results, per operation.
func Sample(operations int, fn func() uint64) float64 {
	return SampleSome(warmUp, samples, operations, fn)
}

// SampleSome does the same with other numbers of samples.
func SampleSome(warmUp, samples, operations int, fn func() uint64) float64 {
	took := make([]uint64, samples)
	for i := 0; i < warmUp; i++ {
		fn()
	}
	for i := range took {
		took[i] = fn()
	}
	return float64(median(took)) / float64(operations)
}

// Mean returns the mean of fn's results, per operation, without those of the first calls.
func Mean(warmUp, samples, operations int, fn func() uint64) float64 {
	took := uint64(0)
	for i := 0; i < warmUp+samples; i++ {
		if sample := fn(); i >= warmUp {
			took += sample
		}
	}
	return float64(took) / float64(samples*operations)
}

// Report prints a figure: name, value and unit between tabs.
func Report(name string, value float64, unit string) {
	fmt.Printf("%s\t%.2f\t%s\n", name, value, unit)
}

// Keys makes keys of 8 bytes.
func Keys(nr int) []string {
	keys := make([]string, nr)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%07d", i)
	}
	return keys
}
