// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"fmt"
	"unsafe"
)

// textCodec is the codec of types whose members are all strings, such as types.NamespacedName, and of strings. It is made once for a
// type, and then needs no reflection and, for one or two members, no memory.
type textCodec[T comparable] struct {
	// Where the members are in an item. There is at least one.
	offsets []uintptr
}

// textRoom is the room for a key on the stack, in words. A longer key needs memory.
type textRoom [16]uint64

// textCodecOf returns the codec for leaves that are all strings, else nil.
func textCodecOf[T comparable](leaves []leaf) *textCodec[T] {
	c := &textCodec[T]{}
	for i := range leaves {
		if leaves[i].kind != nil {
			return nil
		}
		c.offsets = append(c.offsets, leaves[i].offset)
	}
	if len(c.offsets) == 0 {
		return nil
	}
	return c
}

func (c *textCodec[T]) member(item *T, i int) *string {
	return (*string)(unsafe.Add(unsafe.Pointer(item), c.offsets[i]))
}

// key returns the key of an item that has several members. That of two members is mostly in the room, which has to be zero before.
func (c *textCodec[T]) key(words *textRoom, item *T) []byte {
	if len(c.offsets) > 2 {
		return c.rareKey(item)
	}
	first, second := *c.member(item, 0), *c.member(item, 1)
	n := len(first) + 1 + len(second)
	room := (*[unsafe.Sizeof(*words)]byte)(unsafe.Pointer(words))
	if n > len(room) || first != "" && first[0] == 0 {
		return c.rareKey(item)
	}
	copy(room[:], first)
	copy(room[len(first)+1:], second)
	if words.hasSpecial(n) {
		return c.rareKey(item)
	}
	room[len(first)] = '/'
	return room[:n]
}

// hasSpecial tells whether one of the first n bytes in the room has to be escaped. The rest of the room is zero, so eight bytes can be
// looked at in one go. A word less ones has the highest bit of a byte set where the byte was zero, and perhaps above such a byte.
func (w *textRoom) hasSpecial(n int) bool {
	const ones, highest = 0x0101010101010101, 0x8080808080808080

	found := uint64(0)
	for i := 0; i < n; i += 8 {
		word := w[i/8]
		slash, percent := word^ones*'/', word^ones*'%'
		found |= (slash-ones)&^slash | (percent-ones)&^percent
	}
	return found&highest != 0
}

// rareKey returns the key of any item that has several members.
func (c *textCodec[T]) rareKey(item *T) []byte {
	var key []byte
	if first := *c.member(item, 0); first != "" && first[0] == 0 {
		key = append(key, 0)
	}
	for i := range c.offsets {
		if i > 0 {
			key = append(key, '/')
		}
		key = append(key, escaper.Replace(*c.member(item, i))...)
	}
	return key
}

// isOne tells whether a member is all of the item, so that its text is the key.
func (c *textCodec[T]) isOne() bool { return len(c.offsets) == 1 }

// one returns the key of such an item.
func (c *textCodec[T]) one(item *T) string { return keyOf(*c.member(item, 0)) }

func (c *textCodec[T]) Encode(item T) (string, error) {
	if c.isOne() {
		return c.one(&item), nil
	}
	var room textRoom
	return string(c.key(&room, &item)), nil
}

// Decode returns the item of a key, whose members are parts of the key.
func (c *textCodec[T]) Decode(key string) (T, error) {
	var item, none T

	rest := key
	if key == "" || key[0] == 0 {
		var err error
		if rest, err = textOf(key); err != nil {
			return none, err
		}
	}
	if c.isOne() {
		*c.member(&item, 0) = rest
		return item, nil
	}
	last, start, escaped := 0, 0, false
	for i := 0; i <= len(rest); i++ {
		if i < len(rest) && rest[i] != '/' {
			escaped = escaped || rest[i] == '%'
			continue
		}
		if last == len(c.offsets) {
			return none, fmt.Errorf("%q: %w", key, ErrKey)
		}
		part := rest[start:i]
		if escaped {
			text := unescaper.Replace(part)
			// Each item has one key, so %2f and %41 are refused.
			if escaper.Replace(text) != part {
				return none, fmt.Errorf("%q: %w: %q would be %q", key, ErrKey, part, escaper.Replace(text))
			}
			part = text
		}
		*c.member(&item, last) = part
		last, start, escaped = last+1, i+1, false
	}
	if last < len(c.offsets) {
		return none, fmt.Errorf("%q: %w", key, ErrKey)
	}
	return item, nil
}
