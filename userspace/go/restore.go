// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"runtime"
	"unsafe"
)

// opRestore is the operation of this file, as Error.Op names it.
const opRestore = "restore"

// Restore puts keys back as [Queue.ListWithValues] found them: with their values and notes, their states, the times that were
// left, and their counts. An item that was being processed is ready, and ahead of others. Sort the list with [SortListed] first, because
// ready keys keep the order in which they come.
//
// An age that is [AgeUnknown] counts from the restore. In a queue with [CreateOptions.NoDurations] it stays unknown.
//
// A key that the queue has already keeps its state. It is only added, and gets the token if there is one. Each key has a result: Restored for a new one, or that of the
// add. Restore returns the first error, and an error of one leaves the others unaffected. It needs the rights to write and to manage.
func (q *Queue) Restore(list []*Listed) ([]AddResult, error) {
	results := make([]AddResult, len(list))
	for i := range results {
		results[i] = -1
	}
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	for next := 0; next < len(list); {
		b := &restoreBatch{}
		of := make([]int, 0, BatchMax)
		for ; next < len(list) && len(of) < BatchMax && len(b.keys) <= batchBytes-KeyMax; next++ {
			if err := b.append(list[next]); err != nil {
				note(q.refuse(opRestore, list[next].Key, err))
				continue
			}
			of = append(of, next)
		}
		if len(of) == 0 {
			continue
		}
		taken, err := b.run(q)
		for i, n := range b.results[:taken] {
			result, err := q.resultOf(opRestore, list[of[i]].Key, n)
			if err != nil {
				note(err)
				continue
			}
			results[of[i]] = AddResult(result)
		}
		if err != nil {
			note(err)
			break
		}
	}
	return results, first
}

// A restoreBatch is one call of Restore.
type restoreBatch struct {
	batch
	entries []restoreEntry
	extras  []addExtra
	pins    [][]byte
	extra   bool
}

func (b *restoreBatch) append(l *Listed) error {
	if err := checkKey(l.Key); err != nil {
		return err
	}
	if len(l.Value) > ValueMax {
		return tooLong("the value", len(l.Value), ValueMax)
	}
	if len(l.Note) > NoteMax {
		return tooLong("the note", len(l.Note), NoteMax)
	}
	if len(l.Group) > GroupMax {
		return tooLong("the group", len(l.Group), GroupMax)
	}
	e := restoreEntry{
		keyLen:   uint32(len(l.Key)),
		state:    uint32(l.State),
		priority: int32(l.Priority),
	}
	var err error
	if e.requeues, err = count("Requeues", l.Requeues); err != nil {
		return err
	}
	if e.abandoned, err = count("Abandoned", l.Abandoned); err != nil {
		return err
	}
	if e.dirtyFor, err = spanOfAge("DirtyFor", l.DirtyFor); err != nil {
		return err
	}
	if e.deadFor, err = spanOfAge("DeadFor", l.DeadFor); err != nil {
		return err
	}
	if l.State&IsWaiting != 0 {
		e.waitPriority = priorityNone
		if l.WaitPriority != nil {
			e.waitPriority = int32(*l.WaitPriority)
		}
		if e.waitingFor, err = span("WaitingFor", l.WaitingFor); err != nil {
			return err
		}
		if e.dueIn, err = span("DueIn", l.DueIn); err != nil {
			return err
		}
	}
	var x addExtra
	if len(l.Value) > 0 {
		e.flags |= addValue
		x.valueLen = uint32(len(l.Value))
		x.value = b.pin(l.Value)
	}
	if l.Group != "" {
		e.flags |= addGroup
		x.groupLen = uint32(len(l.Group))
		x.group = b.pin([]byte(l.Group))
	}
	if len(l.Note) > 0 {
		e.flags |= addNote
		x.noteLen = uint32(len(l.Note))
		x.note = b.pin(l.Note)
	}
	if l.Token != 0 {
		e.flags |= addToken
		x.token = l.Token
	}
	b.extra = b.extra || e.flags != 0
	b.entries = append(b.entries, e)
	b.extras = append(b.extras, x)
	b.keys = append(b.keys, l.Key...)
	return nil
}

// pin keeps bytes alive, and returns their address.
func (b *restoreBatch) pin(bytes []byte) uint64 {
	b.pins = append(b.pins, bytes)
	return address(unsafe.Pointer(&bytes[0]))
}

// run returns how many entries were taken.
func (b *restoreBatch) run(q *Queue) (int, error) {
	b.describe(unsafe.Pointer(&b.entries[0]), unsafe.Sizeof(b.entries[0]), len(b.entries))
	args := &b.args.batch
	if b.extra {
		args.withExtras(unsafe.Pointer(&b.extras[0]), unsafe.Sizeof(b.extras[0]))
	}
	taken, key := 0, 0
	for {
		n, err := q.request(opRestore, "", iocRestore, unsafe.Pointer(&b.args))
		runtime.KeepAlive(b)
		if err != nil {
			return taken, err
		}
		for _, e := range b.entries[taken : taken+n] {
			key += int(e.keyLen)
		}
		taken += n
		if taken == len(b.entries) {
			return taken, nil
		}
		args.entries = address(unsafe.Pointer(&b.entries[taken]))
		args.results = address(unsafe.Pointer(&b.results[taken]))
		args.keys = address(unsafe.Pointer(&b.keys[key]))
		args.keysLen = uint32(len(b.keys) - key)
		args.nr = uint32(len(b.entries) - taken)
		if b.extra {
			args.extras = address(unsafe.Pointer(&b.extras[taken]))
		}
	}
}
