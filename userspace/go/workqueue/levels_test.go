// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"math"
	"math/rand"
	"testing"

	"kwq.example/kwq"
)

func wantLevel(t *testing.T, l *levels, priority, want int) {
	t.Helper()
	if level, _ := l.of(priority); level != want {
		t.Errorf("priority %d has level %d; wanted %d", priority, level, want)
	}
}

// G5: usual priorities have the same level everywhere, and need no value.
func TestLevelsUsual(t *testing.T) {
	for level := kwq.PriorityMin; level <= kwq.PriorityMax; level++ {
		priority := usualPriority(level)
		if level > kwq.PriorityMin && priority <= usualPriority(level-1) {
			t.Errorf("priority %d at level %d", priority, level)
		}
		if got := usualLevel(priority); abs(level) < len(steps) && got != level {
			t.Errorf("priority %d has the usual level %d, not %d", priority, got, level)
		}
	}
	for _, priority := range []int{math.MinInt, -10001, math.MaxInt, 10001} {
		if level := usualLevel(priority); abs(level) != len(steps) || level < 0 != (priority < 0) {
			t.Errorf("priority %d has the usual level %d", priority, level)
		}
	}
	l := &levels{values: true}
	wantLevel(t, l, -100, -19)
	wantLevel(t, l, 0, 0)
	wantLevel(t, l, 10, 10)
	wantLevel(t, l, 20, 11)
	if _, carry := l.of(0); carry {
		t.Error("a usual priority needs a value")
	}
	wantLevel(t, l, 11, 11)
	wantLevel(t, l, 20, 12) // moved up
	if _, carry := l.of(0); !carry {
		t.Error("after an unusual priority no value is needed")
	}
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// wantOrder checks that the levels of the priorities go up, strictly up to so many.
func wantOrder(t *testing.T, l *levels) {
	t.Helper()
	for i, k := range l.known {
		if k.level < kwq.PriorityMin || k.level > kwq.PriorityMax {
			t.Fatalf("level %d", k.level)
		}
		if i > 0 && (k.level <= l.known[i-1].level || k.priority <= l.known[i-1].priority) {
			t.Fatalf("%v after %v", k, l.known[i-1])
		}
	}
}

// G5, Q12: priorities in any order keep theirs.
func TestLevelsOrder(t *testing.T) {
	dense := []int{-34, -33, -32, -31, 30, 31, 32, 33, 34, -100, 100, 1000, math.MinInt, math.MaxInt, math.MaxInt - 1, 0, 99, 101}
	for n := 0; n < 1000; n++ {
		l := &levels{values: true}
		rand.Shuffle(len(dense), func(i, j int) { dense[i], dense[j] = dense[j], dense[i] })
		for _, priority := range dense {
			l.of(priority)
			wantOrder(t, l)
		}
		if len(l.known) != len(dense) {
			t.Fatalf("%v: %v", dense, l.known)
		}
	}
}

// G5: any 64 priorities find levels of their own.
func TestLevelsAny64(t *testing.T) {
	for n := 0; n < 1000; n++ {
		l := &levels{values: true}
		for _, i := range rand.Perm(64) {
			l.of([...]int{20000 * i, -20000 * i, rand.Int() - rand.Int()}[n%3])
			wantOrder(t, l)
		}
		if len(l.known) != 64 {
			t.Fatalf("%v", l.known)
		}
	}
}

// Beyond 64 priorities some share a level, and none overtakes a higher one.
func TestLevelsFull(t *testing.T) {
	l := &levels{values: true}
	for n := 0; n < 2000; n++ {
		l.of(rand.Intn(2000) - 1000)
	}
	wantOrder(t, l)
	if len(l.known) > 64 {
		t.Errorf("%d levels", len(l.known))
	}
	before := kwq.PriorityMin
	for priority := -1001; priority <= 1001; priority++ {
		level, carry := l.of(priority)
		if level < before || !carry {
			t.Fatalf("priority %d has level %d after %d, value %v", priority, level, before, carry)
		}
		before = level
		if got := l.priorityOf(level, number(priority, level)); got != priority {
			t.Errorf("priority %d is reported as %d", priority, got)
		}
	}
}

// What a key's level and value mean.
func TestLevelsPriorityOf(t *testing.T) {
	l := &levels{values: true}
	l.of(33)
	l.of(20)
	for _, c := range []struct {
		level int
		value string
		want  int
	}{
		{-19, "", -100},
		{13, "33@13", 33},
		{13, "32@13", 32},    // of another process
		{13, "10@10", 33},    // the value of a lower priority
		{-19, "33@13", -100}, // of a priority that nobody has met
		{13, "x@13", 33},
		{13, "anything", 33},
		{31, "", 60000 + 10000},
	} {
		if got := l.priorityOf(c.level, []byte(c.value)); got != c.want {
			t.Errorf("level %d, value %q: priority %d; wanted %d", c.level, c.value, got, c.want)
		}
	}
}

// Processes that met priorities in another order come to the same levels by the keys that they hand out.
func TestLevelsMeet(t *testing.T) {
	a, b := &levels{values: true}, &levels{values: true}
	for _, priority := range []int{32, 33} {
		a.of(priority)
	}
	for _, priority := range []int{33, 32} {
		b.of(priority)
	}
	for n := 0; n < 3; n++ {
		for _, priority := range []int{32, 33} {
			for _, pair := range [][2]*levels{{a, b}, {b, a}} {
				level, _ := pair[0].of(priority)
				pair[1].meet(priority, level)
				wantOrder(t, pair[1])
			}
		}
	}
	for i := range a.known {
		if a.known[i] != b.known[i] {
			t.Errorf("%v and %v", a.known, b.known)
		}
	}
	// Keys without values raise nothing.
	a.meet(-100, -19)
	wantLevel(t, a, -100, -19)
}
