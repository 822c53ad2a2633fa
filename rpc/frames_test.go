package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"gotest.tools/v3/assert"
)

func header(body string) string {
	return "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// Whole streams: the responses, and the reason why the connection ends.
func TestStreams(t *testing.T) {
	m1, m2 := request("1", "m"), request("2", "m")
	r1, r2 := result("1", `"m"`), result("2", `"m"`)
	bad := failure("null", "-32600")
	const lives = "lives"
	for _, tc := range []struct {
		name    string
		framing framing.Framing
		in      string
		out     []string
		end     string // the text of Err, or lives if the peer runs until the stream ends
	}{
		{"two lines", framing.Newline, m1 + "\n" + m2 + "\n", []string{r1, r2}, lives},
		{"CRLF", framing.Newline, m1 + "\r\n" + m2 + "\r\n", []string{r1, r2}, lives},
		{"blank lines", framing.Newline, "\n\r\n  \t\n" + m1 + "\n\n\n" + m2 + "\n\n",
			[]string{r1, r2}, lives},
		{"last line without end", framing.Newline, m1 + "\n" + m2, []string{r1, r2}, lives},
		{"message over lines", framing.Newline, "{\n" + m2 + "\n",
			[]string{failure("null", "-32700"), r2}, lives},
		{"cut line", framing.Newline, m1 + "\n" + m2[:20], []string{r1, failure("null", "-32700")},
			lives},
		{"long line is skipped", framing.Newline, strings.Repeat("x", 5000) + "\n" + m1 + "\n",
			[]string{bad, r1}, lives},
		{"long message is skipped", framing.Newline, request("3", strings.Repeat("x", 5000)) +
			"\n" + m1 + "\n", []string{failure("3", "-32600"), r1}, lives},
		{"endless line", framing.Newline, strings.Repeat("x", 100<<10), nil,
			"lost the frame boundary"},

		{"two frames", framing.ContentLength, header(m1) + header(m2), []string{r1, r2}, lives},
		{"other case, LF, more headers", framing.ContentLength,
			"content-type: x; charset=utf8\ncontent-length:" + strconv.Itoa(len(m1)) +
				"\nX-Y: z\n\n" + m1, []string{r1}, lives},
		{"white space around the message", framing.ContentLength, header("\r\n "+m1+"\n\n") +
			header(m2), []string{r1, r2}, lives},
		{"message over lines", framing.ContentLength, header(strings.ReplaceAll(m1, ",", ",\n")),
			[]string{r1}, lives},
		{"empty frame", framing.ContentLength, header("") + header(m1), []string{bad, r1}, lives},
		{"length too small", framing.ContentLength, header(m1)[:len(header(m1))-1] + "\n",
			[]string{failure("null", "-32700")}, lives},
		{"long frame is skipped", framing.ContentLength, header(strings.Repeat("x", 5000)) +
			header(m1), []string{bad, r1}, lives},
		{"giant length", framing.ContentLength, "Content-Length: 1099511627776\r\n\r\n{", nil,
			"lost the frame boundary"},
		{"negative length", framing.ContentLength, "Content-Length: -1\r\n\r\n", nil,
			"lost the frame boundary"},
		{"no length", framing.ContentLength, "X: y\r\n\r\n" + m1, nil, "lost the frame boundary"},
		{"two lengths", framing.ContentLength, "Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
			nil, "lost the frame boundary"},
		{"newline framing instead", framing.ContentLength, m1 + "\n", nil,
			"lost the frame boundary"},
		{"cut header", framing.ContentLength, header(m1) + "Content-Len", []string{r1},
			io.ErrUnexpectedEOF.Error()},
		{"cut frame", framing.ContentLength, header(m1) + header(m2)[:40], []string{r1},
			io.ErrUnexpectedEOF.Error()},
		{"endless header", framing.ContentLength, strings.Repeat("X", 100<<10), nil,
			"lost the frame boundary"},

		{"auto: newline", framing.Auto, "\n" + m1 + "\n" + m2 + "\n", []string{r1, r2}, lives},
		{"auto: length", framing.Auto, header(m1) + header(m2), []string{r1, r2}, lives},
		{"auto: garbage", framing.Auto, "Connected\n" + m1 + "\n",
			[]string{failure("null", "-32700"), r1}, lives},
		{"nothing", framing.Newline, "", nil, lives},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := rpc.Options{Handler: parrot, Framing: tc.framing, Drain: time.Minute,
				Ordered: func(string) bool { return true }}
			o.Limits.MaxFrame = 1000
			onWire(t, o, func(t *testing.T, w *wire) {
				go func() {
					_, _ = io.WriteString(w.to, tc.in) // fails where the peer gives up
				}()
				// An incomplete message waits; those before it do not.
				synctest.Wait()
				if tc.end == lives {
					assert.NilError(t, w.peer.Err())
				}
				if tc.end == lives || tc.end == io.ErrUnexpectedEOF.Error() {
					w.halfClose()
				}
				got := w.answers()
				assert.Equal(t, strings.Join(got, "\n"), strings.Join(tc.out, "\n"))
				err := w.peer.Wait()
				if tc.end == lives {
					assert.Equal(t, err, io.EOF)
				} else {
					_, lost := errors.AsType[*framing.SyncError](err)
					assert.Assert(t, lost, "%v", err)
					assert.Equal(t, errors.Is(err, io.ErrUnexpectedEOF),
						tc.end == io.ErrUnexpectedEOF.Error())
				}
			})
		})
	}
}

// A stream that loses its frames does not lose the response to an earlier request, as the end of a
// stream does not.
func TestFramesLostDuringRequest(t *testing.T) {
	release := make(chan bool, 1)
	o := rpc.Options{Framing: framing.ContentLength, Drain: time.Minute,
		Handler: func(_ context.Context, req *rpc.Request) (any, error) {
			<-release
			return req.Method, nil
		}}
	onWireOf(t, func(*testing.T) rpc.Options {
		release = make(chan bool, 1)
		return o
	}, func(t *testing.T, w *wire) {
		call, err := w.peer.Start(t.Context(), "unanswered", nil)
		assert.NilError(t, err)
		w.answers()
		w.send(request("1", "slow"))
		w.write("log\n")
		w.expect()
		release <- true
		w.expect(result("1", `"slow"`))
		_, lost := errors.AsType[*framing.SyncError](w.peer.Wait())
		assert.Assert(t, lost)
		_, lost = errors.AsType[*framing.SyncError](call.Wait(t.Context(), nil))
		assert.Assert(t, lost)
	})
}

// A result that is too large for a frame, or that the framing cannot carry, fails only that
// request.
func TestResponseTooLarge(t *testing.T) {
	handler := func(_ context.Context, req *rpc.Request) (any, error) {
		switch req.Method {
		case "large":
			return strings.Repeat("x", 5000), nil
		case "large error":
			return nil, &rpc.Error{Code: 1, Message: "m",
				Data: json.RawMessage(`"` + strings.Repeat("x", 5000) + `"`)}
		}
		return req.Method, nil
	}
	for _, framing := range framings {
		o := rpc.Options{Handler: handler, Framing: framing}
		o.Limits.MaxFrame = 1000
		onWire(t, o, func(t *testing.T, w *wire) {
			w.send(request("1", "large"))
			w.expect(failure("1", "-32603"))
			w.send(request("2", "large error"))
			w.expect(failure("2", "-32603"))
			w.send(request("3", "small"))
			w.expect(result("3", `"small"`))
		})
	}
}

// A request that cannot be sent is an error of the caller. The connection goes on, and nothing is
// sent.
func TestRequestCannotBeSent(t *testing.T) {
	for _, tc := range []struct {
		name   string
		params any
		is     error
		says   string
	}{
		{"too large", []string{strings.Repeat("x", 5000)}, framing.ErrTooLarge, "frame of 50"},
		{"line break", appender("[\n]"), framing.ErrLineBreak, "line break"},
		{"scalar", 5, nil, "must be an object or an array"},
		{"string", "x", nil, "must be an object or an array"},
		{"raw that is no JSON", json.RawMessage(`[`), nil, "not JSON: a value is missing"},
		{"raw that is nothing", json.RawMessage{}, nil, "a required value is missing"},
		{"cannot be encoded", []any{func() {}}, nil, "unsupported type"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := rpc.Options{Handler: parrot}
			o.Limits.MaxFrame = 1000
			onWire(t, o, func(t *testing.T, w *wire) {
				for _, err := range []error{
					w.peer.Call(t.Context(), "m", tc.params, nil),
					w.peer.Notify(t.Context(), "m", tc.params),
					w.peer.Batch(t.Context(),
						[]*rpc.BatchCall{{Method: "first"}, {Method: "m", Params: tc.params}}),
				} {
					assert.ErrorContains(t, err, tc.says)
					if tc.is != nil {
						assert.ErrorIs(t, err, tc.is)
					}
				}
				w.expect()
				w.send(request("1", "alive"))
				w.expect(result("1", `"alive"`))
			})
		})
	}
}

// Calls and notifications on the wire.
func TestRequestsOnTheWire(t *testing.T) {
	var none *struct{}
	onWire(t, rpc.Options{}, func(t *testing.T, w *wire) {
		for _, params := range []any{nil, json.RawMessage(nil), none, map[string]any(nil), []int{1},
			map[string]any{"a": "<"}, json.RawMessage("{\n}"), appender(`{ }`)} {
			assert.NilError(t, w.peer.Notify(t.Context(), "n", params))
			_, err := w.peer.Start(t.Context(), "m\"\u00e9\xff", params)
			assert.NilError(t, err)
		}
		synctest.Wait()
		var want []string
		for i, params := range []string{"", "", "", "", `,"params":[1]`, `,"params":{"a":"<"}`,
			`,"params":{}`, `,"params":{ }`} {
			want = append(want, `{"jsonrpc":"2.0","method":"n"`+params+`}`,
				`{"jsonrpc":"2.0","id":`+strconv.Itoa(i+1)+`,"method":"m\"é�"`+params+`}`)
		}
		assert.DeepEqual(t, w.got, want)
	})
}

// A message that is too large to be read ends its call, on either side.
func TestTooLargeEndsTheCall(t *testing.T) {
	for _, codec := range []framing.Framing{framing.Newline, framing.ContentLength, framing.Auto} {
		for _, limit := range []int{1000, 100_000} { // less and more than the codec reads at once
			synctest.Test(t, func(t *testing.T) {
				large := strings.Repeat("x", 2*limit)
				var stray strays
				o := rpc.Options{Framing: codec, Hooks: rpc.Hooks{Stray: stray.hook},
					Handler: func(_ context.Context, req *rpc.Request) (any, error) {
						return large[:min(len(large), 2*limit*len(req.Params))], nil
					}}
				o.Limits.MaxFrame, o.Limits.MaxAppend = limit, 10*limit
				client, _ := pair(t, o, o)
				err := client.Call(t.Context(), "m", []string{large}, nil)
				assert.ErrorIs(t, err, rpc.ErrInvalidRequest)
				assert.ErrorContains(t, err, "over the limit")
				err = client.Call(t.Context(), "m", []int{1}, nil)
				assert.ErrorIs(t, err, framing.ErrTooLarge)
				assert.NilError(t, client.Call(t.Context(), "m", nil, nil))
				assert.Equal(t, stray.take(), 2)
			})
		}
	}
	// Without its id, or with one that is in use, a request is refused without one.
	var s stage
	o := rpc.Options{Handler: s.handle}
	o.Limits.MaxFrame = 200
	onWire(t, o, func(t *testing.T, w *wire) {
		large := strings.Repeat("x", 300)
		w.send(request("1", "waits"))
		for _, refused := range []string{
			`{"id":1,"method":"m","x":"` + large, `{"id":2,"x":"` + large,
			`{"method":"m","x":"` + large, `{"id":2` + strings.Repeat("2", 300) + `,"method":"m"}`,
			`[{"id":2,"method":"m","x":"` + large, large, `{"id":9,"result":"` + large,
			`{"id":null,"method":"m","x":"` + large,
		} {
			w.send(refused)
			w.expect(failure("null", "-32600"))
		}
		w.send(`{"id": "a" , "method":"m","x":"` + large)
		w.expect(failure(`"a"`, "-32600"))
		close(s.gate("waits"))
		w.expect(result("1", `"waits"`))
	})
}
