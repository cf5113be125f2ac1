// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import "kwq.example/kwq"

// fewHeld is how many items a list finds faster than a map.
const fewHeld = 16

// heldItems are the items that a process has got, with their hand-outs: a few in a list, and all that are more in a map.
type heldItems[T comparable] struct {
	few  []heldItem[T]
	more map[T]*kwq.Item
}

type heldItem[T comparable] struct {
	item T
	got  *kwq.Item
}

// find returns the place of an item in the list, or -1.
func (h *heldItems[T]) find(item T) int {
	for i := range h.few {
		if h.few[i].item == item {
			return i
		}
	}
	return -1
}

// get returns the hand-out of an item, or nil.
func (h *heldItems[T]) get(item T) *kwq.Item {
	if i := h.find(item); i >= 0 {
		return h.few[i].got
	}
	return h.more[item]
}

// put notes the hand-out of an item. It takes the place of an older one, which the queue has taken back.
func (h *heldItems[T]) put(item T, got *kwq.Item) {
	if i := h.find(item); i >= 0 {
		h.few[i].got = got
		return
	}
	if len(h.few) < fewHeld && h.more[item] == nil {
		h.few = append(h.few, heldItem[T]{item, got})
		return
	}
	if h.more == nil {
		h.more = map[T]*kwq.Item{}
	}
	h.more[item] = got
}

// take removes the hand-out of an item and returns it, or nil.
func (h *heldItems[T]) take(item T) *kwq.Item {
	i := h.find(item)
	if i < 0 {
		got := h.more[item]
		delete(h.more, item)
		return got
	}
	got, last := h.few[i].got, len(h.few)-1
	h.few[i] = h.few[last]
	h.few[last] = heldItem[T]{}
	h.few = h.few[:last]
	return got
}

// count returns how many items are held.
func (h *heldItems[T]) count() int { return len(h.few) + len(h.more) }
