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

// A textForm is a form in which a codec from NewPortable encodes a type of the standard library as
// a string, unlike the methods of that type.
type textForm struct {
	want   string                                 // what parse takes, for TypeError.Want
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

// textFormValue decodes a string by the form of its type, and any other value as encoding/json
// does.
func (d decoder) textFormValue(i, depth int, rv reflect.Value, form *textForm) (int, error) {
	switch {
	case d.byteAt(i) == '"':
	case rv.Type() == durationType:
		return d.numberValue(i, depth, rv, kindInt)
	default:
		return d.leafValue(i, depth, rv, kindLeaf)
	}
	s, end, err := d.stringValue(i, depth, rv.Type())
	if err == nil && form.parse(rv, s) != nil {
		err = errorAt(i, &TypeError{rv.Type(), form.want, strconv.Quote(truncate(s))})
	}
	return end, err
}

func parseDuration(rv reflect.Value, s string) error {
	duration, err := time.ParseDuration(s)
	rv.SetInt(int64(duration))
	return err
}

// formatDuration is [time.Duration.String] without trailing zero units, "5m" rather than "5m0s",
// and in ASCII.
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
