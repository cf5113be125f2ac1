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
)

// Codec translates items to keys of kwq and back. Equal items must have equal keys, and different items different ones.
// A key has 1 to 4,096 bytes.
type Codec[T comparable] interface {
	Encode(item T) (string, error)
	Decode(key string) (T, error)
}

// ErrNoCodec says that a type has no codec of its own: it has a pointer, an interface, a channel, a floating-point number or
// an unexported field. Give Options.Codec, or let the type have MarshalText and UnmarshalText.
var ErrNoCodec = errors.New("the type of the items has no codec: give Options.Codec, or write MarshalText and UnmarshalText")

// ErrKey says that a key in the queue is not one that the codec makes. Somebody else added it.
var ErrKey = errors.New("no item has this key")

// CodecFor returns the codec that a queue uses for T unless it is given another.
//
//   - A string is its own key. A zero byte goes before a string that is empty, or begins with a zero byte.
//   - Numbers are decimal, booleans are true or false, and arrays of bytes are hexadecimal.
//   - A type with MarshalText and UnmarshalText is its text.
//   - The members of structs and arrays, and of structs in them, are separated by slashes. A slash in a member is %2F there,
//     and a percent sign is %25. So types.NamespacedName and reconcile.Request are namespace/name.
//
// Other types have no codec (ErrNoCodec). A decoded key must be the one that its item has, else Decode fails with ErrKey. So
// 007 is no key of a number.
func CodecFor[T comparable]() (Codec[T], error) {
	var zero T

	if _, ok := any(zero).(string); ok {
		return any(stringCodec{}).(Codec[T]), nil
	}
	t := reflect.TypeOf(&zero).Elem()
	leaves, err := leavesOf(t, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", t, err)
	}
	return &leafCodec[T]{leaves}, nil
}

// stringCodec is for the type string, the most frequent one.
type stringCodec struct{}

func (stringCodec) Encode(item string) (string, error) {
	return keyOf(item), nil
}

func (stringCodec) Decode(key string) (string, error) {
	return textOf(key)
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
	// The way to the member, as reflect.Value.Field and reflect.Value.Index want it.
	path   []int
	encode func(reflect.Value) (string, error)
	decode func(reflect.Value, string) error
}

var (
	marshaler   = reflect.TypeOf((*encoding.TextMarshaler)(nil)).Elem()
	unmarshaler = reflect.TypeOf((*encoding.TextUnmarshaler)(nil)).Elem()
)

// leavesOf appends the leaves of a type that is at path.
func leavesOf(t reflect.Type, path []int, leaves []leaf) ([]leaf, error) {
	var err error

	at := func(i int) []int { return append(path[:len(path):len(path)], i) }
	add := func(encode func(reflect.Value) (string, error), decode func(reflect.Value, string) error) {
		leaves = append(leaves, leaf{path, encode, decode})
	}
	if t.Kind() != reflect.Interface && t.Kind() != reflect.Pointer &&
		t.Implements(marshaler) && reflect.PointerTo(t).Implements(unmarshaler) {
		add(encodeText, decodeText)
		return leaves, nil
	}
	switch t.Kind() {
	case reflect.String:
		add(func(v reflect.Value) (string, error) { return v.String(), nil },
			func(v reflect.Value, s string) error { v.SetString(s); return nil })
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
			if leaves, err = leavesOf(t.Elem(), at(i), leaves); err != nil {
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
			if !field.IsExported() {
				return nil, fmt.Errorf("%s: %w", field.Name, ErrNoCodec)
			}
			if leaves, err = leavesOf(field.Type, at(i), leaves); err != nil {
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

func at(v reflect.Value, path []int) reflect.Value {
	for _, i := range path {
		if v.Kind() == reflect.Array {
			v = v.Index(i)
		} else {
			v = v.Field(i)
		}
	}
	return v
}

func (c *leafCodec[T]) Encode(item T) (string, error) {
	v := reflect.ValueOf(&item).Elem()
	text := strings.Builder{}
	for i, leaf := range c.leaves {
		s, err := leaf.encode(at(v, leaf.path))
		if err != nil {
			return "", err
		}
		if i > 0 {
			text.WriteByte('/')
		}
		// A single member needs no separator, and no escapes.
		if len(c.leaves) > 1 {
			s = escaper.Replace(s)
		}
		text.WriteString(s)
	}
	return keyOf(text.String()), nil
}

func (c *leafCodec[T]) Decode(key string) (item T, err error) {
	var zero T

	text, err := textOf(key)
	if err != nil {
		return zero, err
	}
	texts := []string{text}
	if len(c.leaves) != 1 {
		texts = strings.Split(text, "/")
	}
	if len(c.leaves) == 0 {
		texts = nil
	}
	if len(texts) != len(c.leaves) {
		return zero, fmt.Errorf("%q: %w", key, ErrKey)
	}
	v := reflect.ValueOf(&item).Elem()
	for i, leaf := range c.leaves {
		s := texts[i]
		if len(c.leaves) > 1 {
			s = unescaper.Replace(s)
		}
		if err := leaf.decode(at(v, leaf.path), s); err != nil {
			return zero, fmt.Errorf("%q: %w: %v", key, ErrKey, err)
		}
	}
	// Each item has one key: 007, %2f and upper-case hexadecimal digits are refused.
	if again, err := c.Encode(item); err != nil || again != key {
		return zero, fmt.Errorf("%q: %w", key, ErrKey)
	}
	return item, nil
}
