package jsonexact

import (
	"errors"
	"math/big"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// A textForm is how a codec from NewPortable converts a type from the standard library to a string,
// although its methods do not.
type textForm struct {
	want   string                                 // what parse takes, for errors
	parse  func(rv reflect.Value, s string) error // sets rv
	format func(rv reflect.Value) string
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	urlType      = reflect.TypeFor[url.URL]()
	bigIntType   = reflect.TypeFor[big.Int]()
)

// textFormOf returns the form of a type, or nil if it has none.
func textFormOf(t reflect.Type) *textForm {
	switch t {
	case durationType:
		return &textForm{`a duration such as "5m"`, parseDuration, formatDuration}
	case urlType:
		return &textForm{"a URL", parseURL, formatURL}
	case bigIntType:
		return &textForm{"an integer in decimal digits", parseBigInt, formatBigInt}
	}
	return nil
}

// textual decodes a string by the form of its type, and any other value as encoding/json does.
func (d decoder) textual(i, depth int, rv reflect.Value, form *textForm) (int, error) {
	if d.first(i) != '"' {
		return d.whole(i, depth, rv, kindLeaf)
	}
	s, end, err := d.str(i, depth, rv.Type())
	if err == nil && form.parse(rv, s) != nil {
		err = fail(i, &TypeError{rv.Type(), form.want, strconv.Quote(clip(s))})
	}
	return end, err
}

func parseDuration(rv reflect.Value, s string) error {
	duration, err := time.ParseDuration(s)
	rv.SetInt(int64(duration))
	return err
}

// formatDuration returns "5m" for five minutes, for which String returns "5m0s", and only ASCII.
func formatDuration(rv reflect.Value) string {
	s := time.Duration(rv.Int()).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return strings.Replace(s, "µ", "u", 1)
}

func parseURL(rv reflect.Value, s string) error {
	u, err := url.Parse(s)
	if err == nil {
		rv.Set(reflect.ValueOf(*u))
	}
	return err
}

func formatURL(rv reflect.Value) string {
	return addressable(rv).Addr().Interface().(*url.URL).String()
}

func parseBigInt(rv reflect.Value, s string) error {
	if _, ok := rv.Addr().Interface().(*big.Int).SetString(s, 10); !ok {
		return errors.New("not an integer")
	}
	return nil
}

func formatBigInt(rv reflect.Value) string {
	return addressable(rv).Addr().Interface().(*big.Int).String()
}

// addressable returns rv, or a copy of it that has an address.
func addressable(rv reflect.Value) reflect.Value {
	if rv.CanAddr() {
		return rv
	}
	copied := reflect.New(rv.Type()).Elem()
	copied.Set(rv)
	return copied
}
