package rpc

import (
	"encoding/json"
	"math"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// An id from a constructor equals the parsed one, also at the limits of int64: both are keys of the
// same maps.
func TestIDsAreComparable(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 42, 999999999999999999, 1000000000000000000,
		1234567890123456789, -999999999999999999, -1000000000000000000, math.MaxInt64,
		math.MinInt64} {
		id, err := ParseID([]byte(IntID(n).String()))
		assert.NilError(t, err)
		assert.Assert(t, id == IntID(n), "%d", n)
	}
	for _, s := range []string{"", "a", "1", "null", "é", "a\"\\\n"} {
		id, err := ParseID([]byte(stringID(s).String()))
		assert.NilError(t, err)
		assert.Assert(t, id == stringID(s), "%q", s)
	}
	different := []string{`1`, `1.0`, `1e0`, `"1"`, `"\u0031"`, `-0`, `0`, `null`, `""`,
		`9223372036854775808`, `9223372036854775809`}
	ids := make(map[ID]string)
	for _, text := range different {
		id, err := ParseID([]byte(text))
		assert.NilError(t, err)
		assert.Equal(t, id.String(), text)
		ids[id] = text
	}
	assert.Equal(t, len(ids), len(different))
}

func TestIntegerID(t *testing.T) {
	for _, text := range []string{`1`, `"1"`, `"\u0031"`, `1.0`, `1e0`, `10e-1`} {
		id, err := ParseID([]byte(text))
		assert.NilError(t, err)
		integer, ok := id.Integer()
		assert.Assert(t, ok && integer == IntID(1), text)
	}
	for _, text := range []string{`""`, `"a"`, `"01"`, `"+1"`, `"1.0"`, `" 1"`, `1.5`, `1e99`, `null`,
		`"9223372036854775808"`} {
		id, err := ParseID([]byte(text))
		assert.NilError(t, err)
		_, ok := id.Integer()
		assert.Assert(t, !ok, text)
	}
	_, ok := ID{}.Integer()
	assert.Assert(t, !ok)
}

func TestParseID(t *testing.T) {
	for _, bad := range []string{``, ` `, `true`, `false`, `{}`, `[1]`, `01`, `1.`, `+1`, `--1`,
		`-`, `"`, `"\x"`, `1 2`, "\v1", "1\u00a0", `nul`, "\"\xff\""} {
		id, err := ParseID([]byte(bad))
		assert.ErrorIs(t, err, ErrInvalidRequest, bad)
		assert.Assert(t, id.IsZero())
	}
	id, err := ParseID([]byte(" \r\n\t1 "))
	assert.NilError(t, err)
	assert.Assert(t, id == IntID(1))
}

func TestIDInAStruct(t *testing.T) {
	type params struct {
		ID   ID `json:"id"`
		None ID `json:"none,omitzero"`
	}
	wire, err := json.Marshal(params{ID: stringID("x")})
	assert.NilError(t, err)
	assert.Equal(t, string(wire), `{"id":"x"}`)
	var p params
	assert.NilError(t, json.Unmarshal([]byte(`{"id":9007199254740993,"none":null}`), &p))
	assert.Equal(t, p.ID.String(), "9007199254740993")
	assert.Assert(t, p.None.IsNull() && !p.None.IsZero() && !p.ID.IsNull())
	assert.ErrorIs(t, json.Unmarshal([]byte(`{"id":true}`), &p), ErrInvalidRequest)
	assert.Equal(t, ID{}.String(), "null")
}

// stringID returns the ID with this text.
func stringID(s string) ID {
	return ID{raw: string(jsonscan.AppendString(nil, s)), kind: rawID}
}
