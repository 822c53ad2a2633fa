package rpc_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
)

func TestParseMessage(t *testing.T) {
	for text, want := range map[string]struct {
		id, method, params, result, failure string
		err                                 error
	}{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}`: {id: "1",
			method: "m", params: `{"a":1}`},
		`{"jsonrpc":"2.0","method":"m"}`: {id: "null",
			method: "m"},
		` {"jsonrpc":"2.0","id":"x","result":null} `: {id: `"x"`,
			result: "null"},
		`{"jsonrpc":"2.0","id":1.5,"error":{"code":-1,"message":"no","data":[]}}`: {id: "1.5",
			failure: "no"},
		`{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}`: {id: "null",
			failure: "no"},
		`{"jsonrpc":"2.0","id":null,"method":"m"}`: {id: "null",
			method: "m", err: rpc.ErrInvalidRequest},
		`{"jsonrpc":"2.0","id":7,"method":""}`: {id: "7",
			err: rpc.ErrInvalidRequest},
		`{"jsonrpc":"2.0","id":7,"method":1}`: {id: "7",
			err: rpc.ErrInvalidRequest},
		`{"jsonrpc":"1.0","id":7,"method":"m"}`: {id: "7",
			method: "m", err: rpc.ErrInvalidRequest},
		`{"jsonrpc":"2.0","id":7}`: {id: "7",
			err: rpc.ErrInvalidRequest},
		`{"jsonrpc":"2.0","result":1}`: {id: "null",
			result: "1", err: rpc.ErrInvalidRequest},
		`{"jsonrpc":"2.0","id":7,"result":1,"error":{"code":1,"message":""}}`: {id: "7",
			result: "1", err: rpc.ErrInvalidRequest},
		`{"jsonrpc":"2.0","id":7,"error":"no"}`: {id: "7", err: rpc.ErrInvalidRequest},
		`{"jsonrpc":"2.0","id":7,"method":"m"`:  {id: "null", err: rpc.ErrParse},
		`[]`:                                    {id: "null", err: rpc.ErrInvalidRequest},
		``:                                      {id: "null", err: rpc.ErrParse},
	} {
		m, err := rpc.ParseMessage([]byte(text))
		assert.Assert(t, errors.Is(err, want.err), "%s: %v", text, err)
		assert.Equal(t, m.Method, want.method, text)
		assert.Equal(t, m.ID.String(), want.id, text)
		assert.Equal(t, string(m.Params), want.params, text)
		assert.Equal(t, string(m.Result), want.result, text)
		assert.Equal(t, m.IsResponse(), want.method == "")
		if want.failure != "" {
			assert.Equal(t, m.Error.Message, want.failure)
		}
	}
}

func TestSplitBatch(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "", ` [1, {"a":[2]}]`: `1|{"a":[2]}`, `[`: "-32700", `[]`: "-32600",
		`[1,2,3]`: "-32600", ``: "",
	} {
		messages, err := rpc.SplitBatch([]byte(text), 2)
		var got []string
		for _, m := range messages {
			got = append(got, string(m))
		}
		if e, ok := errors.AsType[*rpc.Error](err); ok {
			got = []string{strconv.Itoa(e.Code)}
		}
		assert.Equal(t, strings.Join(got, "|"), want, text)
	}
}

func TestAppendResponse(t *testing.T) {
	handler := func(_ context.Context, req *rpc.Request) (any, error) {
		assert.Assert(t, req.Peer() == nil)
		req.Detach() // has no effect
		switch req.Method {
		case "echo":
			return req.Params, nil
		case "refuse":
			return nil, rpc.Errorf(7, "no")
		case "fail":
			return nil, errors.New("secret")
		case "panic":
			panic("secret")
		}
		return func() {}, nil // does not encode
	}
	for method, want := range map[string]string{
		"echo":   `{"jsonrpc":"2.0","id":"1","result":{"a":1}}`,
		"refuse": `{"jsonrpc":"2.0","id":"1","error":{"code":7,"message":"no"}}`,
		"fail":   `{"jsonrpc":"2.0","id":"1","error":{"code":-32603,"message":"Internal error"}}`,
		"panic":  `{"jsonrpc":"2.0","id":"1","error":{"code":-32603,"message":"Internal error"}}`,
		"other":  `{"jsonrpc":"2.0","id":"1","error":{"code":-32603,"message":"Internal error"}}`,
	} {
		id, err := rpc.ParseID([]byte(`"1"`))
		assert.NilError(t, err)
		m := rpc.Message{ID: id, Method: method, Params: []byte(`{"a":1}`)}
		response, err := rpc.AppendResponse(t.Context(), []byte(">"), handler, m.Request())
		assert.Equal(t, string(response), ">"+want)
		assert.Equal(t, err == nil, method == "echo")
		m.ID = rpc.ID{}
		response, _ = rpc.AppendResponse(t.Context(), []byte(">"), handler, m.Request())
		assert.Equal(t, string(response), ">", "a notification is never answered")
	}
	_, err := rpc.AppendResponse(t.Context(), nil, handler,
		&rpc.Request{ID: rpc.IntID(1), Method: "panic"})
	broken, ok := errors.AsType[*rpc.PanicError](err)
	assert.Assert(t, ok && broken.Value == "secret" && len(broken.Stack) > 0)
}

func TestAppendRequestAndDecode(t *testing.T) {
	text, err := rpc.AppendRequest(nil, rpc.IntID(7), "m", []int{1})
	assert.NilError(t, err)
	assert.Equal(t, string(text), `{"jsonrpc":"2.0","id":7,"method":"m","params":[1]}`)
	text, err = rpc.AppendRequest(text[:0], rpc.ID{}, "n", nil)
	assert.NilError(t, err)
	assert.Equal(t, string(text), `{"jsonrpc":"2.0","method":"n"}`)
	_, err = rpc.AppendRequest(nil, rpc.ID{}, "n", 1)
	assert.ErrorContains(t, err, "params must be an object or an array")
	assert.Equal(t, string(rpc.AppendError(nil, rpc.IntID(1), rpc.ErrParse)),
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32700,"message":"Parse error"}}`)

	m, err := rpc.ParseMessage([]byte(`{"jsonrpc":"2.0","id":7,"result":[1,2]}`))
	assert.NilError(t, err)
	var numbers []int
	assert.NilError(t, m.Decode(&numbers))
	assert.DeepEqual(t, numbers, []int{1, 2})
	assert.NilError(t, m.Decode(nil))
	assert.Assert(t, m.Decode(new(string)) != nil)
	m, err = rpc.ParseMessage([]byte(`{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}`))
	assert.NilError(t, err)
	assert.ErrorContains(t, m.Decode(&numbers), "no")
}
