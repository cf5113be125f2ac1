// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// The shapes of types.NamespacedName and reconcile.Request.
type namespacedName struct {
	Namespace string
	Name      string
}

type request struct {
	namespacedName
}

// A struct that is embedded has a name that is not exported, if its type is not. These are exported, as in apimachinery.
type NamespacedName namespacedName

type Request struct {
	NamespacedName
}

type kind int8

type everything struct {
	Text   string
	Flag   bool
	Kind   kind
	Big    uint64
	Bytes  [3]byte
	Pair   [2]int16
	Inner  NamespacedName
	Addr   netip.Addr
	_      int
	Nobody struct{}
}

// A type whose text leaves something out.
type rounded int

func (r rounded) MarshalText() ([]byte, error) {
	if r < 0 {
		return nil, errors.New("below zero")
	}
	return []byte(strings.Repeat("x", int(r)/2)), nil
}

func (r *rounded) UnmarshalText(text []byte) error {
	if len(text) > 0 && text[0] != 'x' {
		return errors.New("no x")
	}
	*r = rounded(2 * len(text))
	return nil
}

type mute struct{}

func (mute) MarshalText() ([]byte, error)  { return []byte("fixed"), nil }
func (*mute) UnmarshalText(_ []byte) error { return errors.New("not readable") }

// check tests that the item has this key, and the key this item.
func check[T comparable](t *testing.T, item T, key string) {
	t.Helper()
	codec, err := CodecFor[T]()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := codec.Encode(item); got != key || err != nil {
		t.Errorf("the key of %#v is %q, %v; wanted %q", item, got, err, key)
	}
	if got, err := codec.Decode(key); got != item || err != nil {
		t.Errorf("the item of %q is %#v, %v; wanted %#v", key, got, err, item)
	}
}

// refuse tests that the keys have no item.
func refuse[T comparable](t *testing.T, keys ...string) {
	t.Helper()
	codec, err := CodecFor[T]()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		var zero T
		if item, err := codec.Decode(key); !errors.Is(err, ErrKey) || item != zero {
			t.Errorf("the item of %q is %#v, %v; wanted ErrKey", key, item, err)
		}
	}
}

func TestCodecOfStrings(t *testing.T) {
	type named string

	check(t, "eth0", "eth0")
	check(t, "a/b%2F", "a/b%2F")
	check(t, "", "\x00")
	check(t, "\x00", "\x00\x00")
	check(t, "\x00a", "\x00\x00a")
	check(t, named("a/b%"), "a/b%")
	check(t, named(""), "\x00")
	refuse[string](t, "", "\x00a")
	refuse[named](t, "", "\x00a")
}

func TestCodecOfNumbers(t *testing.T) {
	check(t, 0, "0")
	check(t, int64(math.MinInt64), "-9223372036854775808")
	check(t, uint64(math.MaxUint64), "18446744073709551615")
	check(t, kind(-128), "-128")
	check(t, true, "true")
	check(t, 90*time.Second, "90000000000")
	refuse[int](t, "", "007", "+1", "-0", " 1", "1.0", "one", "9223372036854775808")
	refuse[kind](t, "128")
	refuse[uint](t, "-1")
	refuse[bool](t, "1", "TRUE", "")
}

func TestCodecOfStructs(t *testing.T) {
	check(t, NamespacedName{"default", "web"}, "default/web")
	check(t, Request{NamespacedName{"", "node-1"}}, "/node-1")
	// Fields that are not exported take part in ==.
	check(t, struct {
		name string
		nr   int
	}{"a/b", 7}, "a%2Fb/7")
	check(t, request{namespacedName{"default", "web"}}, "default/web")
	check(t, Request{NamespacedName{"a/b", "c%"}}, "a%2Fb/c%25")
	check(t, Request{NamespacedName{"", "a%2Fb"}}, "/a%252Fb")
	check(t, Request{NamespacedName{"\x00", ""}}, "\x00\x00/")
	check(t, Request{}, "/")
	check(t, struct{ Name string }{"a/b%"}, "a/b%")
	check(t, struct{ Name string }{}, "\x00")
	check(t, struct{}{}, "\x00")
	check(t, [0]int{}, "\x00")
	check(t, [2]NamespacedName{{"a", "b"}, {"c", "d"}}, "a/b/c/d")
	check(t, [2]byte{0xab, 1}, "ab01")
	check(t, everything{
		Text: "a/b", Flag: true, Kind: -3, Big: 7, Bytes: [3]byte{1, 2, 255}, Pair: [2]int16{-1, 1},
		Inner: NamespacedName{"x", "y"}, Addr: netip.MustParseAddr("::1"),
	}, "a%2Fb/true/-3/7/0102ff/-1/1/x/y/::1")
	refuse[Request](t, "", "web", "a/b/c", "a%2fb/c", "a%/c", "a%41/c", "\x00a/b")
	refuse[struct{}](t, "", "a", "\x00\x00")
	refuse[[2]byte](t, "AB01", "ab0", "ab", "ab0102", "xx01")
}

// Items that are equal have one key, and those that are not have different ones.
func TestCodecKeepsItemsApart(t *testing.T) {
	codec, err := CodecFor[[2]string]()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string][2]string{}
	parts := []string{"", "/", "%", "%2F", "%25", "a", "2F", "\x00", "\x00\x00"}
	var texts []string
	for _, a := range parts {
		for _, b := range parts {
			texts = append(texts, a+b)
		}
	}
	for _, a := range texts {
		for _, b := range texts {
			item := [2]string{a, b}
			key, err := codec.Encode(item)
			if err != nil {
				t.Fatal(err)
			}
			if other, ok := seen[key]; ok && other != item {
				t.Fatalf("%q and %q have the key %q", other, item, key)
			}
			seen[key] = item
			if again, err := codec.Decode(key); again != item || err != nil {
				t.Fatalf("%q became %q, %v", item, again, err)
			}
		}
	}
}

func TestCodecOfText(t *testing.T) {
	check(t, netip.MustParseAddr("10.0.0.1"), "10.0.0.1")
	check(t, netip.Addr{}, "\x00")
	check(t, rounded(4), "xx")
	refuse[netip.Addr](t, "10.0.0", "010.0.0.1", "0:0::1")
	refuse[rounded](t, "y")

	codec, err := CodecFor[rounded]()
	if err != nil {
		t.Fatal(err)
	}
	if key, err := codec.Encode(5); !errors.Is(err, ErrNoCodec) {
		t.Errorf("a text without the whole item became %q, %v", key, err)
	}
	if key, err := codec.Encode(-1); err == nil || err.Error() != "below zero" {
		t.Errorf("an item without a text became %q, %v", key, err)
	}
	muted, err := CodecFor[mute]()
	if err != nil {
		t.Fatal(err)
	}
	if key, err := muted.Encode(mute{}); err == nil || err.Error() != "not readable" {
		t.Errorf("an item with an unreadable text became %q, %v", key, err)
	}
}

func TestCodecMissing(t *testing.T) {
	missing := func(err error) {
		t.Helper()
		if !errors.Is(err, ErrNoCodec) {
			t.Errorf("wanted ErrNoCodec: %v", err)
		}
	}
	_, err := CodecFor[*int]()
	missing(err)
	_, err = CodecFor[float64]()
	missing(err)
	_, err = CodecFor[chan int]()
	missing(err)
	_, err = CodecFor[struct{ Inner struct{ Pointer *int } }]()
	missing(err)
	if !strings.Contains(err.Error(), "Inner: Pointer") {
		t.Errorf("the error does not name the field: %v", err)
	}
	_, err = CodecFor[[2]*int]()
	missing(err)
	_, err = CodecFor[*mute]()
	missing(err)
}

// G2: a shared queue of the type any takes strings, and says so of other items.
func TestAnyCodec(t *testing.T) {
	for _, text := range []string{"a", "", "\x00"} {
		key, err := anyCodec{}.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		if item, err := (anyCodec{}).Decode(key); item != text || err != nil {
			t.Errorf("%q became %q, %v", text, item, err)
		}
	}
	if key, err := (anyCodec{}).Encode(5); !errors.Is(err, ErrNoCodec) || !strings.Contains(err.Error(), "int") {
		t.Errorf("an item that is no string: %q, %v", key, err)
	}
	if _, err := (anyCodec{}).Decode("\x00a"); !errors.Is(err, ErrKey) {
		t.Errorf("a key that no string has: %v", err)
	}
}
