package sse_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/sse"
)

func TestAppend(t *testing.T) {
	for _, tt := range []struct {
		id, typ, data, want string
	}{
		{"", "", "{}", "data: {}\n\n"},
		{"", "", "", "data: \n\n"},
		{"s1-0", "", "", "id: s1-0\ndata: \n\n"},
		{"7", "message", "{}", "id: 7\nevent: message\ndata: {}\n\n"},
		{" 7", " x", " y", "id:  7\nevent:  x\ndata:  y\n\n"},
		{"", "", "a\nb\rc\r\nd", "data: a\ndata: b\ndata: c\ndata: d\n\n"},
		{"", "", "\n", "data: \ndata: \n\n"},
		{"", "", "\r", "data: \ndata: \n\n"},
		{"", "", "\r\n", "data: \ndata: \n\n"},
		{"", "", "\r\r\n\n", "data: \ndata: \ndata: \ndata: \n\n"},
		{"", "", "a\n\rb\r", "data: a\ndata: \ndata: b\ndata: \n\n"},
		{"", "", "a\n\ndata: b\n\nevent: c",
			"data: a\ndata: \ndata: data: b\ndata: \ndata: event: c\n\n"},
	} {
		got, err := sse.Append([]byte("before"),
			sse.Event{ID: tt.id, Type: tt.typ, Data: []byte(tt.data)})
		assert.NilError(t, err)
		assert.Equal(t, string(got), "before"+tt.want)
	}
}

func TestAppendErrors(t *testing.T) {
	for value, problem := range map[string]string{
		"a\nb": "contains a line break", "a\rb": "contains a line break", "a\x00": "contains NUL",
		"\xff": "is not valid UTF-8",
		"\n" + strings.Repeat("x", 100): `"\n` + strings.Repeat("x", 63) +
			`..." contains a line break`,
	} {
		got, err := sse.Append([]byte("before"), sse.Event{ID: value})
		assert.Assert(t, errors.Is(err, sse.ErrField))
		assert.ErrorContains(t, err, problem)
		assert.ErrorContains(t, err, "sse: field cannot be sent: the id ")
		assert.Equal(t, string(got), "before")

		got, err = sse.Append([]byte("before"), sse.Event{ID: "1", Type: value})
		assert.Assert(t, errors.Is(err, sse.ErrField))
		assert.ErrorContains(t, err, "the type ")
		assert.Equal(t, string(got), "before")
	}
}

func TestAppendComment(t *testing.T) {
	for text, want := range map[string]string{
		"": ":\n", "ping": ": ping\n", "a\nb\rc\r\nd": ": a\n: b\n: c\n: d\n",
		"\n\ndata: x\n\n": ": \n: \n: data: x\n: \n: \n",
	} {
		wire := sse.AppendComment([]byte("data: 1\n\n"), text)
		assert.Equal(t, string(wire), "data: 1\n\n"+want)
		wire = append(wire, "data: 2\n\n"...)
		assert.DeepEqual(t, events(t, bytes.NewReader(wire), sse.Limits{}).Events,
			message("1", "2"))
	}
}

func TestAppendRetry(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		0: "retry: 0\n\n", -time.Hour: "retry: 0\n\n", 1: "retry: 1\n\n",
		time.Millisecond:          "retry: 1\n\n",
		1500*time.Microsecond + 1: "retry: 2\n\n", time.Hour: "retry: 3600000\n\n",
		math.MaxInt64: "retry: 9223372036855\n\n",
	} {
		wire := sse.AppendRetry(nil, wait)
		assert.Equal(t, string(wire), want)
		r := sse.NewReader(bytes.NewReader(wire), sse.Limits{})
		_, _ = r.Next()
		got, said := r.Retry()
		assert.Assert(t, said && (got >= wait || got == longest), "%v for %v", got, wait)
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add("1", "message", []byte(`{"jsonrpc":"2.0"}`))
	f.Add("", "", []byte("\r\n\r\r\n\n: \xef\xbb\xbf\xff"))
	f.Add("a\x00", "b\n", []byte(nil))
	f.Fuzz(func(t *testing.T, id, typ string, data []byte) {
		first, err := sse.Append(nil, sse.Event{Data: []byte("first")})
		assert.NilError(t, err)
		wire, err := sse.Append(first, sse.Event{ID: id, Type: typ, Data: data})
		refused := !utf8.ValidString(id+" "+typ) || strings.ContainsAny(id+typ, "\r\n\x00")
		assert.Equal(t, err != nil, refused, "%q %q: %v", id, typ, err)
		want := message("first")
		if !refused {
			if typ == "" {
				typ = sse.DefaultType
			}
			want = append(want, event{id, typ, written(data)})
		}
		got := events(t, bytes.NewReader(wire), sse.Limits{MaxField: max(1, len(id), len(typ))})
		assert.DeepEqual(t, got.Events, want)
	})
}
