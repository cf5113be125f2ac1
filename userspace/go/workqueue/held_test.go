// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"math/rand"
	"testing"

	"kwq.example/kwq"
)

// Items are held in a list and in a map, and nobody may notice where.
func TestHeldItems(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	var held heldItems[int]
	model := map[int]*kwq.Item{}
	for step := 0; step < 20000; step++ {
		// The number of items goes up and down, beyond what the list has room for.
		item := random.Intn(1 + step/100%40)
		switch random.Intn(3) {
		case 0:
			got := &kwq.Item{Ticket: uint64(step)}
			held.put(item, got)
			model[item] = got
		case 1:
			if got := held.take(item); got != model[item] {
				t.Fatalf("step %d: take(%d) returned %v, wanted %v", step, item, got, model[item])
			}
			delete(model, item)
		}
		if got := held.get(item); got != model[item] {
			t.Fatalf("step %d: get(%d) returned %v, wanted %v", step, item, got, model[item])
		}
		if held.count() != len(model) {
			t.Fatalf("step %d: %d items are held, wanted %d", step, held.count(), len(model))
		}
	}
	if held.more == nil {
		t.Error("the map was never used")
	}
}
