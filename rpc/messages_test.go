package rpc_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/rpc"
	"gotest.tools/v3/assert"
)

// Each message alone on a connection, in both framings. The connection must go on after each.
func TestMessages(t *testing.T) {
	null32600, null32700 := failure("null", "-32600"), failure("null", "-32700")
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, tc := range []struct{ name, in, out string }{
		{"request", `{"jsonrpc":"2.0","id":1,"method":"m"}`, result("1", `"m"`)},
		{"params object", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1.0,"\u00e9"]}}`,
			result("1", `{"a":[1.0,"\u00e9"]}`)},
		{"params array", `{"jsonrpc":"2.0","id":1,"method":"m","params":[ 1 , 2 ]}`,
			result("1", `[ 1 , 2 ]`)},
		{"params null", `{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, result("1", `"m"`)},
		{"members in any order, white space",
			"\t{ \"params\" : [ ] , \"method\" : \"m\" , \"id\" : 1 , \"jsonrpc\" : \"2.0\" } ",
			result("1", `[ ]`)},
		{"unknown members",
			`{"jsonrpc":"2.0","id":1,"method":"m","trace":{"id":2,"method":[]},"":null}`,
			result("1", `"m"`)},
		{"notification", note("n"), ""},
		{"notification with params", `{"jsonrpc":"2.0","method":"n","params":{}}`, ""},
		{"empty method", request("1", ""), result("1", `""`)},
		{"method with escapes", `{"jsonrpc":"2.0","id":1,"method":"\u006d\n\ud83d\ude00\/"}`,
			result("1", `"m\n😀/"`)},
		{"nested as deep as may be", `{"jsonrpc":"2.0","id":1,"method":"m","params":` + deep(1000) +
			`}`, result("1", deep(1000))},

		{"escaped names", `{"\u006asonrpc":"2.0","\u0069d":7,"\u006Dethod":"m","p\u0061rams":[1]}`,
			result("7", `[1]`)},
		{"escaped version", `{"jsonrpc":"\u0032.0","id":1,"method":"m"}`, result("1", `"m"`)},
		{"other case: ID is unknown, so a notification", `{"jsonrpc":"2.0","ID":1,"method":"m"}`,
			""},
		{"other case: Method is unknown, so no request", `{"jsonrpc":"2.0","id":1,"Method":"m"}`,
			""},
		{"other case: Params is unknown", `{"jsonrpc":"2.0","id":1,"method":"m","Params":5}`,
			result("1", `"m"`)},
		{"other case: JSONRPC is unknown, so missing", `{"JSONRPC":"2.0","id":1,"method":"m"}`,
			failure("1", "-32600")},
		{"names with blanks are unknown", `{"jsonrpc":"2.0","id":1,"method":"m"," id":2,"id ":3}`,
			result("1", `"m"`)},

		{"id true", request("true", "m"), null32600},
		{"id array", request("[1]", "m"), null32600},
		{"id object", request(`{"a":1}`, "m"), null32600},
		{"id null", request("null", "m"), null32600},
		{"no version", `{"id":1,"method":"m"}`, failure("1", "-32600")},
		{"version 1.0", `{"jsonrpc":"1.0","id":1,"method":"m"}`, failure("1", "-32600")},
		{"version a number", `{"jsonrpc":2.0,"id":"x","method":"m"}`, failure(`"x"`, "-32600")},
		{"version null", `{"jsonrpc":null,"id":1,"method":"m"}`, failure("1", "-32600")},
		{"version with a blank", `{"jsonrpc":"2.0 ","id":1,"method":"m"}`, failure("1", "-32600")},
		{"notification of a wrong version", `{"method":"m"}`, null32600},
		{"method number", `{"jsonrpc":"2.0","id":1,"method":5}`, failure("1", "-32600")},
		{"method null", `{"jsonrpc":"2.0","id":1,"method":null}`, failure("1", "-32600")},
		{"params string", `{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}`,
			failure("1", "-32600")},
		{"params number", `{"jsonrpc":"2.0","id":1,"method":"m","params":0}`,
			failure("1", "-32600")},
		{"params false", `{"jsonrpc":"2.0","id":1,"method":"m","params":false}`,
			failure("1", "-32600")},
		{"params string of a notification", `{"jsonrpc":"2.0","method":"m","params":"x"}`,
			null32600},
		{"method and result", `{"jsonrpc":"2.0","id":1,"method":"m","result":1}`,
			failure("1", "-32600")},
		{"method and error", `{"jsonrpc":"2.0","id":1,"method":"m","error":null}`,
			failure("1", "-32600")},
		{"id behind the fault", `{"method":"m","params":1,"jsonrpc":"2.0","id":1.50}`,
			failure("1.50", "-32600")},

		{"id twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`, failure("1", "-32600")},
		{"id twice, the same", `{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}`,
			failure("1", "-32600")},
		{"id twice, once escaped", `{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"m"}`,
			failure("1", "-32600")},
		{"method twice", `{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`,
			failure("1", "-32600")},
		{"params twice", `{"jsonrpc":"2.0","id":1,"method":"a","params":[],"params":{}}`,
			failure("1", "-32600")},
		{"params null twice", `{"jsonrpc":"2.0","id":1,"method":"a","params":null,"params":null}`,
			failure("1", "-32600")},
		{"version twice", `{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"m"}`,
			failure("1", "-32600")},
		{"unknown member twice", `{"jsonrpc":"2.0","id":1,"method":"m","x":1,"x":2}`,
			result("1", `"m"`)},
		{"same name twice inside params",
			`{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":1,"x":2}}`,
			result("1", `{"x":1,"x":2}`)},

		{"no JSON", `hello`, null32700},
		{"half", `{"jsonrpc":"2.0","id":1,"method":"m"`, null32700},
		{"half a literal", `{"jsonrpc":"2.0","id":1,"method":"m","params":nul}`, null32700},
		{"trailing comma", `{"jsonrpc":"2.0","id":1,"method":"m",}`, null32700},
		{"leading comma", `{,"jsonrpc":"2.0","id":1,"method":"m"}`, null32700},
		{"no comma", `{"jsonrpc":"2.0" "id":1,"method":"m"}`, null32700},
		{"no colon", `{"jsonrpc" "2.0","id":1,"method":"m"}`, null32700},
		{"name without quotes", `{jsonrpc:"2.0","id":1,"method":"m"}`, null32700},
		{"single quotes", `{'jsonrpc':'2.0','id':1,'method':'m'}`, null32700},
		{"trailing brace", request("1", "m") + `}`, null32700},
		{"trailing value", request("1", "m") + ` 5`, null32700},
		{"two messages", request("1", "m") + request("2", "m"), null32700},
		{"trailing NUL", request("1", "m") + "\x00", null32700},
		{"byte order marks", "\ufeff\ufeff" + request("1", "m"), null32700},
		{"NUL", "\x00", null32700},
		{"number with a leading zero", request("01", "m"), null32700},
		{"number without an end", request("1.", "m"), null32700},
		{"hexadecimal id", request("0x1", "m"), null32700},
		{"NaN id", request("NaN", "m"), null32700},
		{"invalid UTF-8", `{"jsonrpc":"2.0","id":1,"method":"` + "\xff" + `"}`, null32700},
		{"overlong UTF-8", `{"jsonrpc":"2.0","id":1,"method":"` + "\xc0\xaf" + `"}`, null32700},
		{"invalid UTF-8 in params", `{"jsonrpc":"2.0","id":1,"method":"m","params":["` +
			"\xed\xa0\x80" + `"]}`, null32700},
		{"invalid UTF-8 in a name", `{"jsonrpc":"2.0","id":1,"method":"m","` + "\x80" + `":1}`,
			null32700},
		{"unknown escape", request("1", `\x`), null32700},
		{"control character", request("1", "\t"), null32700},
		{"unknown escape in an unknown member", `{"jsonrpc":"2.0","id":1,"method":"m","x":"\q"}`,
			null32700},
		{"nested too deep", `{"jsonrpc":"2.0","id":1,"method":"m","params":` + deep(1001) + `}`,
			null32700},
		{"nested without end", `{"jsonrpc":"2.0","id":1,"method":"m","params":` +
			strings.Repeat(`[`, 200_000), null32700},
		{"objects without end", strings.Repeat(`{"":`, 200_000), null32700},
		{"a fault and bad JSON", `{"jsonrpc":"1.0","id":1,"method":5,"params":[}`, null32700},

		{"number", `5`, null32600},
		{"string", `"{}"`, null32600},
		{"null", `null`, null32600},
		{"batch where none are spoken", `[` + request("1", "m") + `]`, null32600},
		{"batch of no messages where none are spoken", `["x"]`, null32600},
		{"empty batch where none are spoken", `[]`, null32600},
		{"bad JSON that starts as a batch", `[` + request("1", "m") + `,]`, null32700},

		// A message that could be a response is never answered.
		{"empty object", `{}`, ""},
		{"only a version", `{"jsonrpc":"2.0"}`, ""},
		{"only an id", `{"jsonrpc":"2.0","id":5}`, ""},
		{"only params", `{"jsonrpc":"2.0","id":5,"params":7}`, ""},
		{"stray result", result("5", "1"), ""},
		{"stray result of a string id", result(`"5"`, "1"), ""},
		{"stray result with a bad id", result(`[5]`, "1"), ""},
		{"stray result without an id", `{"jsonrpc":"2.0","result":1}`, ""},
		{"stray result without a version", `{"id":1,"result":1}`, ""},
		{"stray result with two ids", `{"jsonrpc":"2.0","id":1,"id":2,"result":1}`, ""},
		{"stray error", `{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"no"}}`, ""},
		{"stray error of a wrong form", `{"jsonrpc":"2.0","id":5,"error":"no"}`, ""},
		{"error without an id", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}`,
			""},
		{"error with the id null",
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`, ""},
		{"result with the id null", result("null", "1"), ""},
		{"result and error", `{"jsonrpc":"2.0","id":5,"result":1,"error":null}`, ""},
	} {
		for name, framing := range framings {
			t.Run(tc.name+"/"+name, func(t *testing.T) {
				onWire(t, rpc.Options{Handler: parrot, Framing: framing},
					func(t *testing.T, w *wire) {
						w.send(tc.in)
						if tc.out != "" {
							w.expect(tc.out)
						} else {
							w.expect()
						}
						w.send(request("99", "alive"))
						w.expect(result("99", `"alive"`))
					})
			})
		}
	}
}

// An unpaired surrogate escape is JSON by the grammar of RFC 8259, but not text.
func TestLoneSurrogate(t *testing.T) {
	onWire(t, rpc.Options{Handler: parrot}, func(t *testing.T, w *wire) {
		w.send(`{"jsonrpc":"2.0","id":1,"method":"m","params":["\ud800"]}`)
		got := w.answers()
		assert.Equal(t, len(got), 1)
		assert.Assert(t, got[0] == failure("null", "-32700") ||
			got[0] == result("1", `["\ud800"]`), got[0])
		w.send(request("2", "alive"))
		w.expect(result("2", `"alive"`))
	})
}

// Ids are sent back byte for byte, in results and in errors.
func TestIDsAreSentBackUnchanged(t *testing.T) {
	for _, id := range []string{
		`0`, `1`, `-1`, `-0`, `1.5`, `0.0`, `1e3`, `1E+3`, `1.0`, `9007199254740993`,
		`999999999999999999`, `1234567890123456789`,
		`9223372036854775807`, `-9223372036854775808`, `9223372036854775808`,
		`-9223372036854775809`, `12345678901234567890`, `1e400`, `0.1234567890123456789`,
		`""`, `"1"`, `"null"`, `"a\"b\\c"`, `"\u0061"`, `"\/"`, `"é"`, `"\ud83d\ude00"`, `"` +
			strings.Repeat("x", 100_000) + `"`,
	} {
		onWire(t, rpc.Options{Handler: parrot}, func(t *testing.T, w *wire) {
			w.send(request(id, "m"))
			w.expect(result(id, `"m"`))
			w.send(`{"jsonrpc":"2.0","id":` + id + `,"method":5}`)
			w.expect(failure(id, "-32600"))
		})
	}
}

func TestNullID(t *testing.T) {
	var ran []string
	handler := func(_ context.Context, req *rpc.Request) (any, error) {
		assert.Assert(t, req.IsNotification())
		ran = append(ran, req.Method)
		return nil, nil
	}
	onWire(t, rpc.Options{Handler: handler, NullIDNotifies: true}, func(t *testing.T, w *wire) {
		w.send(request("null", "old"), `{"jsonrpc":"2.0","id":null,"method":"m","params":5}`)
		w.expect(failure("null", "-32600"))
		assert.DeepEqual(t, ran, []string{"old"})
	})
}
