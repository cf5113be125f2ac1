// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

//go:build go1.21

package workqueue

import "testing"

// An item that cannot be compared panics, as in client-go, and leaves no lock held.
func TestItemThatCannotBeCompared(t *testing.T) {
	table := newTable[any](&fakeStore{keys: map[string]bool{}})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a slice is an item")
			}
		}()
		table.pin([]int{1}, true)
	}()
	if key, known, err := table.pin("a", true); key == "" || !known || err != nil {
		t.Errorf("%q, %v, %v", key, known, err)
	}
}
