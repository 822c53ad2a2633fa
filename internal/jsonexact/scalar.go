package jsonexact

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// token returns a string as it is in the text, quotes included.
func (d decoder) token(i, depth int, t reflect.Type) (token []byte, end int, err error) {
	if d.byteAt(i) != '"' {
		return nil, i, d.mismatch(i, depth, t, "a string")
	}
	if end, err = jsonscan.String(d.data, i); err != nil {
		return nil, end, syntaxError(err)
	}
	return d.data[i:end], end, nil
}

func (d decoder) stringValue(i, depth int, t reflect.Type) (string, int, error) {
	token, end, err := d.token(i, depth, t)
	s, _ := jsonscan.Text(token)
	return s, end, err
}

// text returns the text of a string, as a slice of the data if possible.
func (d decoder) text(i, depth int, t reflect.Type) ([]byte, int, error) {
	token, end, err := d.token(i, depth, t)
	s, _ := jsonscan.Unquote(token)
	return s, end, err
}

func (d decoder) numberValue(i, depth int, rv reflect.Value, k kind) (int, error) {
	if c := d.byteAt(i); c != '-' && (c < '0' || c > '9') {
		return i, d.mismatch(i, depth, rv.Type(), "a number")
	}
	end, err := d.skip(i, depth)
	if err == nil && !setNumber(rv, k, d.data[i:end]) {
		err = errorAt(i, &TypeError{rv.Type(), "", truncate(string(d.data[i:end]))})
	}
	return end, err
}

// setNumber sets a number and reports whether it fits.
func setNumber(rv reflect.Value, k kind, text []byte) bool {
	bits := rv.Type().Bits()
	switch k {
	case kindInt:
		n, ok := jsonscan.Int(text, bits)
		rv.SetInt(n)
		return ok
	case kindUint:
		n, ok := jsonscan.Uint(text, bits)
		rv.SetUint(n)
		return ok
	}
	f, err := strconv.ParseFloat(string(text), bits)
	rv.SetFloat(f)
	return err == nil
}

// quotedValue decodes, by encoding/json, a value whose field has the option string.
func (d decoder) quotedValue(i, depth int, rv reflect.Value, f *field) (int, error) {
	end, err := d.skip(i, depth)
	if err != nil {
		return end, err
	}
	wrapper := reflect.New(f.quoted)
	wrapper.Elem().Field(0).Set(rv)
	text := append(append([]byte(`{"F":`), d.data[i:end]...), '}')
	if json.Unmarshal(text, wrapper.Interface()) != nil {
		found := nameOf(d.data[i])
		if found == "a string" {
			found = truncate(string(d.data[i:end]))
		}
		return end, errorAt(i,
			&TypeError{rv.Type(), fmt.Sprintf("a %s in a string", kindOfQuoted(rv.Type())), found})
	}
	rv.Set(wrapper.Elem().Field(0))
	return end, nil
}

func kindOfQuoted(t reflect.Type) reflect.Kind {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind()
}
