package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stdwire/stdwire/rpc"
	"gotest.tools/v3/assert"
)

// Results of a handler on the wire.
func TestResults(t *testing.T) {
	type pair struct {
		A any `json:"a"`
	}
	for _, tc := range []struct {
		name   string
		result any
		err    error
		out    string
	}{
		{"nil", nil, nil, result("1", "null")},
		{"struct", pair{"<&>\u2028"}, nil, result("1", "{\"a\":\"<&>\u2028\"}")},
		{"raw", json.RawMessage(`{"a": 1}`), nil, result("1", `{"a": 1}`)},
		{"raw over lines", json.RawMessage("{\r\n \"a\": \"x\\n y\"\n}"), nil,
			result("1", `{ "a": "x\n y"}`)},
		{"raw nil", json.RawMessage(nil), nil, result("1", "null")},
		{"raw that is no JSON", json.RawMessage(`{`), nil, failure("1", "-32603")},
		{"raw empty", json.RawMessage{}, nil, failure("1", "-32603")},
		{"marshaler", rpc.IntID(5), nil, result("1", "5")},
		{"appender", appender(`{"a": 1}`), nil, result("1", `{"a": 1}`)},
		{"appender that breaks the line", appender("[\n]"), nil, failure("1", "-32603")},
		{"appender that fails", badAppender{}, nil, failure("1", "-32603")},
		{"appender with its size", sizedAppender(8), nil, result("1", `"sized"`)},
		{"appender with a large size", sizedAppender(1 << 20), nil, result("1", `"sized"`)},
		{"appender with a negative size", sizedAppender(-1), nil, result("1", `"sized"`)},
		{"appender with an impossible size", sizedAppender(math.MaxInt), nil,
			result("1", `"sized"`)},
		{"cannot be encoded", make(chan int), nil, failure("1", "-32603")},
		{"cannot be encoded inside", pair{func() {}}, nil, failure("1", "-32603")},
		{"plain error", nil, errors.New("secret"), failure("1", "-32603")},
		{"context error", nil, context.DeadlineExceeded, failure("1", "-32603")},
		{"nil *Error", nil, (*rpc.Error)(nil), failure("1", "-32603")},
		{"Error", "dropped", rpc.Errorf(7, "seven %q", "x"), failure("1", "7")},
		{"wrapped Error", nil, errors.Join(errors.New("secret"), rpc.Errorf(8, "eight")),
			failure("1", "8")},
		{"Error with data", nil, &rpc.Error{Code: 9, Message: "m", Data: json.RawMessage(`[1]`)},
			`{"jsonrpc":"2.0","id":1,"error":{"code":9,"message":"…","data":[1]}}`},
		{"Error with data over lines", nil,
			&rpc.Error{Code: 9, Message: "m", Data: json.RawMessage("[1,\n2]")},
			`{"jsonrpc":"2.0","id":1,"error":{"code":9,"message":"…","data":[1,2]}}`},
		{"Error with data that is no JSON", nil, &rpc.Error{Code: 9, Data: json.RawMessage("[")},
			failure("1", "9")},
		{"Error with data that is no text", nil,
			&rpc.Error{Code: 9, Data: json.RawMessage("[\"\xff\",\n1]")}, failure("1", "9")},
		{"Error with a message that is no text", nil, rpc.Errorf(10, "\xff\n\"\\"),
			failure("1", "10")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			handler := func(context.Context, *rpc.Request) (any, error) { return tc.result, tc.err }
			onWire(t, rpc.Options{Handler: handler}, func(t *testing.T, w *wire) {
				w.send(request("1", "m"), note("m"))
				got := w.answers()
				assert.DeepEqual(t, got, []string{tc.out})
				assert.Assert(t, !strings.Contains(got[0], "secret"))
			})
		})
	}
}

type appender string

func (a appender) AppendJSON(dst []byte) ([]byte, error) { return append(dst, a...), nil }

// A sizedAppender claims to append this number of bytes.
type sizedAppender int

func (sizedAppender) AppendJSON(dst []byte) ([]byte, error) { return append(dst, `"sized"`...), nil }
func (a sizedAppender) JSONSize() int                       { return int(a) }

type badAppender struct{}

func (badAppender) AppendJSON(dst []byte) ([]byte, error) { return dst, errors.New("no") }

// Only the message of the specification or of the handler is sent.
func TestErrorTexts(t *testing.T) {
	onWire(t, rpc.Options{}, func(t *testing.T, w *wire) {
		w.send(request("1", "some/method"), note("unknown"))
		synctest.Wait()
		assert.DeepEqual(t, w.got,
			[]string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"there is no method \"some/method\""}}`})
	})
	// Returned as an error, it is not nil.
	onWire(t, rpc.Options{Handler: func(context.Context, *rpc.Request) (any, error) {
		var err *rpc.Error
		return 1, err
	}}, func(t *testing.T, w *wire) {
		w.send(request("1", "m"))
		synctest.Wait()
		assert.DeepEqual(t, w.got,
			[]string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the handler returned a nil *rpc.Error: return nil, not a variable of that type"}}`})
	})
	assert.Assert(t, !errors.Is((*rpc.Error)(nil), rpc.ErrInternal))
	// Error texts are short, however long the input.
	long := strings.Repeat("\\u0001", 100_000)
	for _, o := range []rpc.Options{{},
		{Limits: rpc.Limits{MaxQueued: 1, MaxRunning: 1},
			Handler: func(ctx context.Context, _ *rpc.Request) (any, error) {
				<-ctx.Done()
				return nil, nil
			}}} {
		onWire(t, o, func(t *testing.T, w *wire) {
			for _, id := range []string{"1", "2", "1", "3"} { // running, queued, known, too many
				w.send(request(id, long))
			}
			synctest.Wait()
			assert.Assert(t, len(w.got) >= 2)
			for _, answer := range w.got {
				assert.Assert(t, len(answer) < 1000, "%d bytes", len(answer))
			}
		})
	}
	handler := func(context.Context, *rpc.Request) (any, error) {
		return nil, errors.New("the password is 1234")
	}
	onWire(t, rpc.Options{Handler: handler}, func(t *testing.T, w *wire) {
		w.send(request("1", "m"))
		synctest.Wait()
		assert.DeepEqual(t, w.got,
			[]string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}`})
	})
}
