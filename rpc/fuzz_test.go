package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stdwire/stdwire/framing"
	"gotest.tools/v3/assert"
)

var seeds = []string{
	`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,"\u00e9"]}}`,
	` { "method" : "m" , "jsonrpc" : "2.0" } `,
	`{"jsonrpc":"2.0","id":"\ud83d\ude00","result":null}`,
	`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}`,
	`{"\u0069d":1.50,"i\u0064":2,"jsonrpc":"2.0","method":""}`,
	`{"ID":1,"Method":"m","jsonrpc":"2.0"}`, `{}`, `{"a":1,}`, `{,}`, `[{}]`, `5 5`,
	`{"jsonrpc":"2.0","id":-0,"method":"m","params":null}`,
	`{"jsonrpc":"\u0032.0","method":"m","result":1}`, "{\"\xff\":1}", `{"":"\ud800"}`,
}

// envelopeOracle reads a message with encoding/json: its members, and whether they make up a
// message.
func envelopeOracle(data []byte) (members map[string]json.RawMessage, valid bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, false
	}
	members, valid = make(map[string]json.RawMessage), true
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, false
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil, false
		}
		if slices.Contains([]string{"jsonrpc", "id", "method", "params", "result", "error"},
			name.(string)) {
			if _, twice := members[name.(string)]; twice {
				valid = false
				continue
			}
		}
		members[name.(string)] = value
	}
	starts := func(name, with string) bool {
		value, there := members[name]
		return !there || strings.IndexByte(with, value[0]) >= 0
	}
	_, method := members["method"]
	_, result := members["result"]
	_, failure := members["error"]
	var version string
	return members, valid && json.Unmarshal(members["jsonrpc"], &version) == nil &&
		version == "2.0" &&
		starts("id", `"-0123456789n`) && starts("method", `"`) && starts("params", `{[n`) &&
		!(method && (result || failure))
}

func FuzzEnvelope(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, fault := scanEnvelope(data)
		if fault != nil && fault.code == CodeParseError {
			lenient := strings.Contains(fault.reason, "surrogate") ||
				strings.Contains(fault.reason, "deeply")
			if json.Valid(data) && utf8.Valid(data) && !lenient {
				t.Fatalf("refuses %q: %s", data, fault.reason)
			}
			return
		}
		if !json.Valid(data) {
			t.Fatalf("accepts what is no JSON: %q", data)
		}
		members, valid := envelopeOracle(data)
		if valid != (fault == nil) {
			t.Fatalf("%q: %v", data, fault)
		}
		if !valid {
			return
		}
		raw := func(name string) string {
			if value := string(members[name]); name != "params" || value != "null" {
				return value
			}
			return ""
		}
		if id := raw("id"); id == "" != e.id.IsZero() || id != "" && e.id.String() != id {
			t.Fatalf("%q: id %s", data, e.id)
		}
		for name, part := range map[string][]byte{"params": e.params, "result": e.result,
			"error": e.err} {
			if string(part) != raw(name) {
				t.Fatalf("%q: %s %q", data, name, part)
			}
		}
		var method string
		_, there := members["method"]
		if there && json.Unmarshal(members["method"], &method) != nil || there != e.hasMethod ||
			method != string(e.method) {
			t.Fatalf("%q: method %q", data, e.method)
		}
	})
}

func FuzzID(f *testing.F) {
	for _, seed := range []string{`0`, `-0`, `9007199254740993`, `9223372036854775807`,
		`-9223372036854775808`, `1e3`, `""`, `"\u0061"`, ` 1 `, `null`, `true`, "\v1"} {
		f.Add(seed, int64(len(seed)))
	}
	f.Fuzz(func(t *testing.T, text string, n int64) {
		id, err := ParseID([]byte(text))
		token := strings.Trim(text, " \t\r\n")
		switch {
		case err != nil:
			assert.ErrorIs(t, err, ErrInvalidRequest)
			assert.Assert(t, id.IsZero())
		default:
			assert.Assert(t, json.Valid([]byte(text)) &&
				strings.IndexByte(`"-0123456789n`, token[0]) >= 0, text)
			assert.Equal(t, id.String(), token)
			assert.Equal(t, id.IsNull(), token == "null")
			again, err := ParseID([]byte(id.String()))
			assert.NilError(t, err)
			assert.Assert(t, again == id)
		}
		for _, made := range []ID{IntID(n), stringID(text)} {
			wire, err := json.Marshal(made)
			assert.NilError(t, err)
			var back ID
			assert.NilError(t, json.Unmarshal(wire, &back))
			if made == stringID(text) && strings.ContainsAny(string(wire), "\u2028\u2029<>&\\") {
				continue // encoding/json may spell these in another way
			}
			assert.Assert(t, back == made, "%s", wire)
		}
		assert.Equal(t, IntID(n).String(), strconv.FormatInt(n, 10))
	})
}

// A recording is a recorded stream, with the output of a peer for it.
type recording struct {
	io.Reader
	mu  sync.Mutex
	out bytes.Buffer
}

func (r *recording) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(b)
}

func (r *recording) Close() error { return nil }

// For arbitrary bytes, the peer ends with the stream. It sends one response per request, with its
// id, and otherwise only errors about messages that it could not read.
func FuzzPeer(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed+"\n"+seed), false, true)
		f.Add([]byte("Content-Length: "+strconv.Itoa(len(seed))+"\r\n\r\n"+seed), true, false)
		f.Add([]byte("["+seed+","+seed+"]\n"), false, true)
	}
	f.Fuzz(func(t *testing.T, data []byte, byLength, batch bool) {
		made := framing.Newline
		if byLength {
			made = framing.ContentLength
		}
		stream := &recording{Reader: bytes.NewReader(data)}
		p := Options{
			Framing: made, Batch: batch, Drain: time.Minute,
			Handler: func(_ context.Context, r *Request) (any, error) { return r.Params, nil },
		}.New(stream)
		_, lost := errors.AsType[*framing.SyncError](p.Wait())
		if err := p.Err(); err != io.EOF && !lost {
			t.Fatalf("ended with %v", err)
		}
		if lost {
			return // answers may be lost as well
		}

		// Allowed responses: with an id for messages with a method, without one for malformed
		// messages.
		owed, unreadable := make(map[string]int), 0
		message := func(data []byte) {
			members, _ := envelopeOracle(data)
			if _, ok := members["method"]; ok {
				id, err := ParseID(members["id"])
				if err == nil && !id.IsNull() {
					owed[id.String()]++
				}
			} else if members != nil && json.Valid(data) && utf8.Valid(data) &&
				!bytes.Contains(data, []byte(`\u`)) {
				return
			}
			unreadable++
		}
		for c := made(bytes.NewReader(data), framing.Limits{}); ; {
			frame, err := c.ReadFrame(nil)
			if _, skipped := errors.AsType[*framing.FrameError](err); skipped {
				unreadable++
				continue
			} else if err != nil {
				break
			}
			var elements []json.RawMessage
			if bytes.HasPrefix(bytes.TrimLeft(frame, " \t\r\n"), []byte("[")) &&
				json.Unmarshal(frame, &elements) == nil {
				unreadable++
				for _, e := range elements {
					message(e)
				}
				continue
			}
			message(frame)
		}
		answer := func(raw []byte) {
			members, valid := envelopeOracle(raw)
			if _, isError := members["error"]; !valid || members["method"] != nil ||
				members["id"] == nil || isError == (members["result"] != nil) {
				t.Fatalf("%q is no response", raw)
			}
			id := string(members["id"])
			if id == "null" {
				unreadable--
			} else {
				owed[id]--
			}
			if unreadable < 0 || owed[id] < 0 {
				t.Fatalf("%q was not asked for by %q", raw, data)
			}
		}
		for c := made(&stream.out, framing.Limits{}); ; {
			frame, err := c.ReadFrame(nil)
			if err == io.EOF {
				break
			}
			assert.NilError(t, err)
			var elements []json.RawMessage
			if frame[0] == '[' {
				assert.NilError(t, json.Unmarshal(frame, &elements))
				assert.Assert(t, batch && len(elements) > 0)
				for _, e := range elements {
					answer(e)
				}
				continue
			}
			answer(frame)
		}
	})
}
