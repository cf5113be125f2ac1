// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"sort"
	"strconv"
	"strings"
	"sync"

	"kwq.example/kwq"
)

// levels gives the 64 levels of the kernel to priorities, of which controller-runtime has as many as there are integers.
//
// A usual priority has one level, in all processes: a number of [steps], or its negative. Others get a free level between their
// neighbours'. If there is none, the neighbours above move up. Keys that are queued stay where they are then. That keeps the order
// of priorities, because a queued key comes before later keys of its level, and its priority is the higher one. If there is no room above,
// the neighbours below move down, and then a queued key may come before one of the next higher priority. When all levels are taken,
// a priority shares that of the one below, and their keys come in the order of the queue.
//
// The level of a usual priority tells its number. As soon as this process has met another priority, each add carries its number as
// the key's value, because a level alone would not tell it to another process.
type levels struct {
	// The queue has values.
	values bool

	// Protects all that follows.
	mutex sync.RWMutex
	// Sorted by priority. The levels go up, too, so there are at most 64.
	known []leveled
	// A priority was met that is not usual, lies elsewhere than usual, or shares a level.
	unusual bool
}

type leveled struct {
	priority, level int
}

// The usual priorities from 0 up. The index is the level.
var steps = [...]int{
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 500, 1000, 2000, 5000, 10000,
}

// usualLevel returns the level of the next usual priority that is as far from 0 or farther.
func usualLevel(priority int) int {
	if priority < 0 {
		return -sort.Search(len(steps), func(i int) bool { return -steps[i] <= priority })
	}
	return sort.SearchInts(steps[:], priority)
}

// usualPriority returns the priority of a level that no process has given away.
func usualPriority(level int) int {
	last := len(steps) - 1
	switch {
	case level < 0:
		return -usualPriority(-level)
	case level > last:
		return steps[last] * (level - last + 1)
	}
	return steps[level]
}

// of returns the level for a priority, and whether an add has to carry the number.
func (l *levels) of(priority int) (level int, carry bool) {
	l.mutex.RLock()
	i, found := l.find(priority)
	if found {
		level, carry = l.known[i].level, l.unusual && l.values
	}
	l.mutex.RUnlock()
	if found {
		return level, carry
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	level = l.place(priority, usualLevel(priority))
	return level, l.unusual && l.values
}

// carries tells whether a key may have a value that tells its priority.
func (l *levels) carries() bool {
	l.mutex.RLock()
	defer l.mutex.RUnlock()
	return l.unusual && l.values
}

// find returns the place of a priority in the list, and whether it is there. The lock is held.
func (l *levels) find(priority int) (int, bool) {
	i := sort.Search(len(l.known), func(i int) bool { return l.known[i].priority >= priority })
	return i, i < len(l.known) && l.known[i].priority == priority
}

// place gives a priority the free level that is nearest to the wanted one. The lock is held.
func (l *levels) place(priority, level int) int {
	i, found := l.find(priority)
	if found {
		return l.known[i].level
	}
	below, above := kwq.PriorityMin-1, kwq.PriorityMax+1
	if i > 0 {
		below = l.known[i-1].level
	}
	if i < len(l.known) {
		above = l.known[i].level
	}
	if level <= below {
		level = below + 1
	}
	if level >= above {
		level = above - 1
	}
	if level <= below {
		switch {
		case l.moveUp(i):
			level = above
		case l.moveDown(i):
			level = below
		default:
			l.unusual = true
			if i == 0 {
				return above
			}
			return below
		}
	}
	l.known = append(l.known, leveled{})
	copy(l.known[i+1:], l.known[i:])
	l.known[i] = leveled{priority, level}
	l.unusual = l.unusual || level != usualLevel(priority) || priority != usualPriority(level)
	return level
}

// moveUp frees the level of the i-th priority: it and those right above it move up by one. It fails if there is no room above.
func (l *levels) moveUp(i int) bool {
	if i == len(l.known) {
		return false
	}
	end := i + 1
	for end < len(l.known) && l.known[end].level == l.known[end-1].level+1 {
		end++
	}
	if l.known[end-1].level == kwq.PriorityMax {
		return false
	}
	for ; i < end; i++ {
		l.known[i].level++
	}
	l.unusual = true
	return true
}

// moveDown frees the level of the priority before the i-th one: it and those right below it move down by one. It fails if there is
// no room below.
func (l *levels) moveDown(i int) bool {
	if i == 0 {
		return false
	}
	start := i - 1
	for start > 0 && l.known[start-1].level == l.known[start].level-1 {
		start--
	}
	if l.known[start].level == kwq.PriorityMin {
		return false
	}
	for ; start < i; start++ {
		l.known[start].level--
	}
	l.unusual = true
	return true
}

// number returns the value that carries a priority.
func number(priority, level int) []byte {
	return []byte(strconv.Itoa(priority) + "@" + strconv.Itoa(level))
}

// priorityOf returns the priority of a key that has this level and value.
//
// A value of another level is that of another process's add with a lower priority, which left the level as it was. A key without a
// value comes from a process that has met usual priorities only, or from another program.
func (l *levels) priorityOf(level int, value []byte) int {
	if len(value) == 0 {
		return usualPriority(level)
	}
	priority, err := 0, error(nil)
	at := strings.IndexByte(string(value), '@')
	if at > 0 && string(value[at+1:]) == strconv.Itoa(level) {
		if priority, err = strconv.Atoi(string(value[:at])); err == nil {
			return priority
		}
	}
	l.mutex.RLock()
	defer l.mutex.RUnlock()
	for _, k := range l.known {
		if k.level == level {
			return k.priority
		}
	}
	return usualPriority(level)
}

// meet notes the level of a key that was handed out, if it is the higher one. So processes come to the same levels.
func (l *levels) meet(priority, level int) {
	l.mutex.RLock()
	i, found := l.find(priority)
	known := found && l.known[i].level >= level
	l.mutex.RUnlock()
	if known {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if i, found = l.find(priority); found {
		if l.known[i].level >= level {
			return
		}
		l.known = append(l.known[:i], l.known[i+1:]...)
	}
	l.place(priority, level)
}
