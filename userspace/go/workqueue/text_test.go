// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"math/rand"
	"reflect"
	"testing"
)

// Both codecs make the same keys, and refuse the same ones.
func TestTextCodec(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	// Most texts have no special byte, and some keys are longer than the room.
	member := func() string {
		b := make([]byte, random.Intn(1+random.Intn(80)))
		for i := range b {
			if b[i] = byte('.' + 2*random.Intn(3)); random.Intn(100) == 0 {
				b[i] = "/%\x00\xa5\xaf$&\x80"[random.Intn(8)]
			}
		}
		return string(b)
	}
	for i := 0; i < 10000; i++ {
		sameAsLeaves(t, [1]string{member()}, member())
		sameAsLeaves(t, [2]string{member(), member()}, member()+"/"+member())
		sameAsLeaves(t, [3]string{member(), member(), member()}, member()+"/"+member()+"/"+member())
	}
}

// sameAsLeaves compares the codecs of a type: by the key of an item, and by a key that somebody else made.
func sameAsLeaves[T comparable](t *testing.T, item T, key string) {
	t.Helper()
	leaves, err := leavesOf(reflect.TypeOf(item), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, general := textCodecOf[T](leaves), &leafCodec[T]{leaves}
	own, _ := general.Encode(item)
	if got, err := text.Encode(item); got != own || err != nil {
		t.Fatalf("the key of %v is %q, %v; wanted %q", item, got, err, own)
	}
	if got, err := text.Decode(own); got != item || err != nil {
		t.Fatalf("the item of %q is %v, %v; wanted %v", own, got, err, item)
	}
	want, wantErr := general.Decode(key)
	if got, err := text.Decode(key); got != want || (err == nil) != (wantErr == nil) {
		t.Fatalf("the item of %q is %v, %v; wanted %v, %v", key, got, err, want, wantErr)
	}
}

// The translation of a types.NamespacedName needs no memory.
func TestTextCodecNeedsNoMemory(t *testing.T) {
	leaves, err := leavesOf(reflect.TypeOf(Request{}), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	codec := textCodecOf[Request](leaves)
	item := Request{NamespacedName{"kube-system", "a-pod-with-a-name-of-usual-length-5d4f8b6c9-x2x7p"}}
	key, _ := codec.Encode(item)
	if n := testing.AllocsPerRun(100, func() {
		var room textRoom
		if string(codec.key(&room, &item)) != key {
			t.Fatal("another key")
		}
		if again, err := codec.Decode(key); again != item || err != nil {
			t.Fatal("another item")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
