// SPDX-License-Identifier: GPL-2.0-only

package main

import (
	"sort"
	"time"
)

// A tick or an interrupt hits only a few samples, so the median does not show it.
const (
	warmUp  = 32
	samples = 255
)

// tsc reads the processor's time stamp counter; see tsc_amd64.s.
func tsc() uint64

var begun = time.Now()

// clock counts ns, or time stamp ticks. The ticks are instructions on a machine whose
// clock advances by one per instruction.
var (
	clock     = func() uint64 { return uint64(time.Since(begun)) }
	clockCost uint64
	unit      = "ns"
)

func countInstructions() {
	clock = tsc
	unit = "insn"
}

func since(start uint64) uint64 {
	took := clock() - start
	if took < clockCost {
		return 0
	}
	return took - clockCost
}

func median(values []uint64) uint64 {
	sort.Slice(values, func(i, j int) bool { return values[i] < values[j] })
	return values[len(values)/2]
}

// measureClock measures the rest of two readings with nothing between them.
func measureClock() {
	var took [samples]uint64
	clockCost = 0
	for i := range took {
		took[i] = since(clock())
	}
	clockCost = median(took[:])
}

// sample returns the median of fn's results, per operation.
func sample(operations int, fn func() uint64) float64 {
	return sampleSome(warmUp, samples, operations, fn)
}

func sampleSome(warmUp, samples, operations int, fn func() uint64) float64 {
	took := make([]uint64, samples)
	for i := 0; i < warmUp; i++ {
		fn()
	}
	for i := range took {
		took[i] = fn()
	}
	return float64(median(took)) / float64(operations)
}
