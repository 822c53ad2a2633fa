package web

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

func TestRecoverPartial(t *testing.T) {
	for _, tc := range strings.Split(`|{"a":1} → {}
{|"a":1} → {}
{"na|me":"a"} → {}
{"name"|:"a"} → {}
{"name":|"a"} → {}
{"name":"|a"} → {"name":""}
{"name":"a|b"} → {"name":"a"}
{"name":"a\|n"} → {"name":"a"}
{"name":"a\n|"} → {"name":"a\n"}
{"name":"a\u00e|9"} → {"name":"a"}
{"name":"\ud83d\ude0|0"} → {"name":""}
{"name":"\ud83d|\ude00"} → {"name":""}
{"name":"\ud83d\ude00|"} → {"name":"\ud83d\ude00"}
{"name":"a\"|"} → {"name":"a\""}
{"name":"a"|} → {"name":"a"}
{"name":"a","n|":1} → {"name":"a"}
{"n":-|1} → {}
{"n":-1|2} → {"n":-1}
{"n":1.|5} → {"n":1}
{"n":1.5e+|3} → {"n":1.5}
{"n":1.5e+3|} → {"n":1.5e+3}
{"on":tr|ue} → {}
{"on":true|} → {"on":true}
{"on":nul|l} → {}
{"list":[|1]} → {"list":[]}
{"list":[1,|2]} → {"list":[1]}
{"list":["a","b|c"]} → {"list":["a","b"]}
{"list":[{"a":[[|]]}]} → {"list":[{"a":[[]]}]}
{"list":[{"a":1},{"b|":1}]} → {"list":[{"a":1},{}]}
{"list":["a"],"b":|1} → {"list":["a"]}
{"a":{"b":"c"},"d":{"e":"f"|}} → {"a":{"b":"c"},"d":{"e":"f"}}
{"a":1}| → {"a":1}`, "\n") {
		whole, want, _ := strings.Cut(tc, " → ")
		written, rest, found := strings.Cut(whole, "|")
		assert.Assert(t, found)
		assert.Equal(t, string(recoverPartial([]byte(written+rest), len(written))), want, whole)
	}
	// a character is kept whole
	const emoji = `{"a":"😀"}`
	for n := len(`{"a":"`); n < len(`{"a":"😀`); n++ {
		assert.Equal(t, string(recoverPartial([]byte(emoji), n)), `{"a":""}`)
	}
}

// What is recovered is always an object, and in the end the whole.
func FuzzRecoverPartial(f *testing.F) {
	f.Add(`{"a":"b\ud83d\ude00\\\"é😀","c":[1,-2.5e-3,true,null,{"d":{}}],"e":{"f":[[]]}}`)
	f.Add(`{"a":"\ud83dx","b":0,"":""}`)
	f.Fuzz(func(t *testing.T, text string) {
		object, err := jsonscan.AppendCompact(nil, []byte(text))
		if err != nil || object[0] != '{' || len(object) > 1000 {
			return
		}
		for n := range len(object) + 1 {
			got := recoverPartial(object, n)
			assert.Assert(t, got[0] == '{' && json.Valid(got), "%d of %s: %s", n, object, got)
		}
		assert.Equal(t, string(recoverPartial(object, len(object))), string(object))
	})
}
