package jsonexact

import (
	"errors"
	"math/big"
	"net/url"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

type portableValue struct {
	List    []string           `json:"list"`
	Map     map[string][]int   `json:"map"`
	Bytes   []byte             `json:"bytes"`
	Pointer *int               `json:"pointer"`
	Items   []*int             `json:"items"`
	Wait    time.Duration      `json:"wait"`
	Where   url.URL            `json:"where"`
	Sum     *big.Int           `json:"sum"`
	Ages    map[string]big.Int `json:"ages"`
}

func TestPortableWritesNoNullForANilField(t *testing.T) {
	codec := NewPortable()
	text, err := codec.Append(nil, portableValue{Map: map[string][]int{"a": nil},
		Items: []*int{nil}})
	assert.NilError(t, err)
	assert.Equal(t, string(text), `{"list":[],"map":{"a":[]},"bytes":"","items":[null],`+
		`"wait":"0s","where":"","ages":{}}`)
}

func TestPortableText(t *testing.T) {
	codec := NewPortable()
	const text = `{"list":["a"],"map":{},"bytes":"YQ==","pointer":1,"items":[],"wait":"1h2m",` +
		`"where":"https://a.example/b?c","sum":"-123456789012345678901234567890",` +
		`"ages":{"a":"7"}}`
	var v portableValue
	assert.NilError(t, codec.Unmarshal([]byte(text), &v))
	assert.Equal(t, v.Wait, time.Hour+2*time.Minute)
	assert.Equal(t, v.Where.Host, "a.example")
	again, err := codec.Append(nil, v)
	assert.NilError(t, err)
	assert.Equal(t, string(again), text)

	// The forms of encoding/json are accepted, too.
	assert.NilError(t, codec.Unmarshal([]byte(
		`{"wait":5,"where":{"Host":"h"},"sum":-7,"ages":{"a":8}}`), &v))
	assert.Equal(t, v.Wait, 5*time.Nanosecond)
	assert.Equal(t, v.Where.Host, "h")
	assert.Equal(t, v.Sum.String(), "-7")

	for in, want := range map[string]string{
		`{"wait":"soon"}`: `wait: want a duration such as "5m", not "soon" (at byte 8)`,
		`{"sum":"1.5"}`:   `sum: want an integer in decimal digits, not "1.5" (at byte 7)`,
		`{"where":":"}`:   `where: want a URL, not ":" (at byte 9)`,
	} {
		err := codec.Unmarshal([]byte(in), &v)
		_, ok := errors.AsType[*DecodeError](err)
		assert.Assert(t, ok, "%v", err)
		assert.Error(t, err, want)
	}
}

func TestPortableDuration(t *testing.T) {
	codec := NewPortable()
	for d, want := range map[time.Duration]string{
		5 * time.Minute:          `"5m"`,
		2 * time.Hour:            `"2h"`,
		time.Hour + time.Second:  `"1h0m1s"`,
		20 * time.Minute:         `"20m"`,
		10 * time.Hour:           `"10h"`,
		-1500 * time.Millisecond: `"-1.5s"`,
		1500 * time.Nanosecond:   `"1.5us"`,
		-1 << 63:                 `"-2562047h47m16.854775808s"`,
	} {
		text, err := codec.Append(nil, d)
		assert.NilError(t, err)
		assert.Equal(t, string(text), want)
		var back time.Duration
		assert.NilError(t, codec.Unmarshal(text, &back))
		assert.Equal(t, back, d)
	}
}
