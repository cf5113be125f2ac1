// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unsafe"
)

// Codec translates items to keys of kwq and back. Equal items must have equal keys, and different items different ones.
// A key has 1 to 4,096 bytes.
type Codec[T comparable] interface {
	Encode(item T) (string, error)
	Decode(key string) (T, error)
}

// ErrNoCodec says that a type has no codec of its own: it has a pointer, an interface, a channel or a floating-point number. Give
// Options.Codec, or let the type have MarshalText and UnmarshalText.
var ErrNoCodec = errors.New("the type of the items has no codec: give Options.Codec, or write MarshalText and UnmarshalText")

// ErrKey says that a key in the queue is not one that the codec makes. Somebody else added it.
var ErrKey = errors.New("no item has this key")

// CodecFor returns the codec that a queue uses for T unless it is given another.
//
//   - A string is its own key. A zero byte goes before a string that is empty, or begins with a zero byte.
//   - Integers are decimal, booleans are true or false, and arrays of bytes are hexadecimal.
//   - A type with MarshalText and UnmarshalText is its text.
//   - The members of structs and arrays, and of structs in them, are separated by slashes. A slash in a member is %2F there,
//     and a percent sign is %25. So types.NamespacedName and reconcile.Request are namespace/name.
//
// Other types have no codec (ErrNoCodec). A decoded key must be the one that its item has, else Decode fails with ErrKey. So
// 007 is no key of a number.
func CodecFor[T comparable]() (Codec[T], error) {
	var zero T

	t := reflect.TypeOf(&zero).Elem()
	leaves, err := leavesOf(t, 0, nil)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", t, err)
	}
	if text := textCodecOf[T](leaves); text != nil {
		return text, nil
	}
	return &leafCodec[T]{leaves}, nil
}

// anyCodec is for shared queues of the type any. Most controllers that use client-go's deprecated constructors have strings.
type anyCodec struct{}

func (anyCodec) Encode(item any) (string, error) {
	text, ok := item.(string)
	if !ok {
		return "", fmt.Errorf("an item of type %T in a shared queue of any: use strings, or a typed queue: %w", item, ErrNoCodec)
	}
	return keyOf(text), nil
}

func (anyCodec) Decode(key string) (any, error) {
	return textOf(key)
}

// kwq has no empty key.
func keyOf(text string) string {
	if text == "" || text[0] == 0 {
		return "\x00" + text
	}
	return text
}

func textOf(key string) (string, error) {
	text := strings.TrimPrefix(key, "\x00")
	if key != keyOf(text) {
		return "", fmt.Errorf("%q: %w", key, ErrKey)
	}
	return text, nil
}

// A leaf is a member that is no struct. The codec of a type has a list of its leaves.
type leaf struct {
	// Where the member is in the item.
	offset uintptr
	// Its type; nil for a string, which needs no reflection.
	kind   reflect.Type
	encode func(reflect.Value) (string, error)
	decode func(reflect.Value, string) error
}

func (l *leaf) text(item unsafe.Pointer) (string, error) {
	member := unsafe.Add(item, l.offset)
	if l.kind == nil {
		return *(*string)(member), nil
	}
	return l.encode(reflect.NewAt(l.kind, member).Elem())
}

func (l *leaf) set(item unsafe.Pointer, text string) error {
	member := unsafe.Add(item, l.offset)
	if l.kind == nil {
		*(*string)(member) = text
		return nil
	}
	return l.decode(reflect.NewAt(l.kind, member).Elem(), text)
}

var (
	marshaler   = reflect.TypeOf((*encoding.TextMarshaler)(nil)).Elem()
	unmarshaler = reflect.TypeOf((*encoding.TextUnmarshaler)(nil)).Elem()
)

// leavesOf appends the leaves of a type that is at this offset.
func leavesOf(t reflect.Type, offset uintptr, leaves []leaf) ([]leaf, error) {
	var err error

	add := func(encode func(reflect.Value) (string, error), decode func(reflect.Value, string) error) {
		leaves = append(leaves, leaf{offset, t, encode, decode})
	}
	if t.Kind() != reflect.Interface && t.Kind() != reflect.Pointer &&
		t.Implements(marshaler) && reflect.PointerTo(t).Implements(unmarshaler) {
		add(encodeText, decodeText)
		return leaves, nil
	}
	switch t.Kind() {
	case reflect.String:
		leaves = append(leaves, leaf{offset: offset})
	case reflect.Bool:
		add(func(v reflect.Value) (string, error) { return strconv.FormatBool(v.Bool()), nil },
			func(v reflect.Value, s string) error {
				b, err := strconv.ParseBool(s)
				v.SetBool(b)
				return err
			})
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		add(func(v reflect.Value) (string, error) { return strconv.FormatInt(v.Int(), 10), nil },
			func(v reflect.Value, s string) error {
				n, err := strconv.ParseInt(s, 10, t.Bits())
				v.SetInt(n)
				return err
			})
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		add(func(v reflect.Value) (string, error) { return strconv.FormatUint(v.Uint(), 10), nil },
			func(v reflect.Value, s string) error {
				n, err := strconv.ParseUint(s, 10, t.Bits())
				v.SetUint(n)
				return err
			})
	case reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			add(encodeBytes, decodeBytes)
			return leaves, nil
		}
		for i := 0; i < t.Len(); i++ {
			if leaves, err = leavesOf(t.Elem(), offset+uintptr(i)*t.Elem().Size(), leaves); err != nil {
				return nil, err
			}
		}
	case reflect.Struct:
		for i := 0; i < t.NumField(); i++ {
			field := t.Field(i)
			// == does not compare these.
			if field.Name == "_" {
				continue
			}
			if leaves, err = leavesOf(field.Type, offset+field.Offset, leaves); err != nil {
				return nil, fmt.Errorf("%s: %w", field.Name, err)
			}
		}
	default:
		return nil, ErrNoCodec
	}
	return leaves, nil
}

// encodeText fails if the text does not determine the value, because two items would then have one key.
func encodeText(v reflect.Value) (string, error) {
	text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return "", err
	}
	again := reflect.New(v.Type())
	if err := again.Interface().(encoding.TextUnmarshaler).UnmarshalText(text); err != nil {
		return "", err
	}
	if again.Elem().Interface() != v.Interface() {
		return "", fmt.Errorf("%v is not equal to what its text %q means: %w", v.Interface(), text, ErrNoCodec)
	}
	return string(text), nil
}

func decodeText(v reflect.Value, s string) error {
	return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s))
}

func encodeBytes(v reflect.Value) (string, error) {
	bytes := make([]byte, v.Len())
	for i := range bytes {
		bytes[i] = byte(v.Index(i).Uint())
	}
	return hex.EncodeToString(bytes), nil
}

func decodeBytes(v reflect.Value, s string) error {
	bytes, err := hex.DecodeString(s)
	if err == nil && len(bytes) != v.Len() {
		err = hex.ErrLength
	}
	if err != nil {
		return err
	}
	for i, b := range bytes {
		v.Index(i).SetUint(uint64(b))
	}
	return nil
}

var (
	escaper   = strings.NewReplacer("%", "%25", "/", "%2F")
	unescaper = strings.NewReplacer("%25", "%", "%2F", "/")
)

type leafCodec[T comparable] struct {
	leaves []leaf
}

// escaped returns the text of a member as it is in the key. A single member needs no separator, and no escapes.
func (c *leafCodec[T]) escaped(text string) string {
	if len(c.leaves) > 1 && (strings.IndexByte(text, '/') >= 0 || strings.IndexByte(text, '%') >= 0) {
		return escaper.Replace(text)
	}
	return text
}

func (c *leafCodec[T]) Encode(item T) (string, error) {
	key := make([]byte, 0, 64)
	for i := range c.leaves {
		text, err := c.leaves[i].text(unsafe.Pointer(&item))
		if err != nil {
			return "", err
		}
		if i > 0 {
			key = append(key, '/')
		}
		key = append(key, c.escaped(text)...)
	}
	return keyOf(string(key)), nil
}

func (c *leafCodec[T]) Decode(key string) (T, error) {
	var item, zero T

	rest, err := textOf(key)
	if err != nil {
		return zero, err
	}
	for i := range c.leaves {
		part := rest
		if i < len(c.leaves)-1 {
			end := strings.IndexByte(rest, '/')
			if end < 0 {
				return zero, fmt.Errorf("%q: %w", key, ErrKey)
			}
			part, rest = rest[:end], rest[end+1:]
		}
		if err := c.decodeLeaf(&c.leaves[i], unsafe.Pointer(&item), part); err != nil {
			return zero, fmt.Errorf("%q: %w: %v", key, ErrKey, err)
		}
	}
	if len(c.leaves) == 0 && rest != "" {
		return zero, fmt.Errorf("%q: %w", key, ErrKey)
	}
	return item, nil
}

// decodeLeaf sets a member to what its part of the key says. Each item has one key: 007, %2f, upper-case hexadecimal digits and one
// slash too many are refused.
func (c *leafCodec[T]) decodeLeaf(l *leaf, item unsafe.Pointer, part string) error {
	text := part
	if len(c.leaves) > 1 && strings.IndexByte(part, '%') >= 0 {
		text = unescaper.Replace(part)
	}
	if err := l.set(item, text); err != nil {
		return err
	}
	again, err := l.text(item)
	if err == nil && c.escaped(again) != part {
		err = fmt.Errorf("it would be %q", c.escaped(again))
	}
	return err
}
