package jose

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func TestClaims(t *testing.T) {
	c, err := ParseClaims(
		[]byte(`{"iss":"https://a","sub":"s","aud":["x","y"],"exp":1300819380.9,"nbf":0,"iat":1e9,"jti":"j","scope":"a b","cnf":{"jkt":"t"}}`))
	assert.NilError(t, err)
	assert.Equal(t, c.Issuer+" "+c.Subject+" "+c.ID, "https://a s j")
	assert.DeepEqual(t, c.Audience, Audience{"x", "y"})
	assert.Assert(t, c.Expires.Equal(time.Unix(1300819380, 0)) &&
		c.NotBefore.Equal(time.Unix(0, 0)) && c.IssuedAt.Equal(time.Unix(1e9, 0)))
	assert.Assert(t, !c.NotBefore.IsZero(), "a claim of 0 is there")
	assert.Equal(t, len(c.Others), 2)
	assert.Equal(t, string(c.Others["cnf"]), `{"jkt":"t"}`)

	text, err := codec.Append(nil, c)
	assert.NilError(t, err)
	assert.Equal(t, string(text),
		`{"iss":"https://a","sub":"s","aud":["x","y"],"exp":1300819380,"nbf":0,"iat":1000000000,"jti":"j","cnf":{"jkt":"t"},"scope":"a b"}`)
	text, err = codec.Append(nil, &Claims{Audience: Audience{"one"}})
	assert.NilError(t, err)
	assert.Equal(t, string(text), `{"aud":"one"}`)
	c, err = ParseClaims([]byte(`{"aud":"one"}`))
	assert.NilError(t, err)
	assert.DeepEqual(t, c.Audience, Audience{"one"})
	assert.Assert(t, c.Expires.IsZero())
}

func TestRefusedClaims(t *testing.T) {
	for _, text := range []string{
		``, `[]`, `"x"`, `{} {}`, `{"sub":"a","sub":"b"}`, `{"x":1,"x":1}`,
		`{"s\u0075b":"a","sub":"b"}`, `{"sub":1}`, `{"iss":{}}`,
		`{"exp":"1"}`, `{"exp":-1}`, `{"exp":1e99}`, `{"exp":null}`, `{"exp":true}`, `{"aud":1}`,
		`{"aud":null}`, `{"aud":["a",1]}`, `{"aud":{}}`,
		`{"aud":["` + strings.Repeat(`a","`, maxAudience) + `a"]}`, "{\"sub\":\"\xff\"}",
		`{"sub":"\ud800"}`,
	} {
		_, err := ParseClaims([]byte(text))
		assert.ErrorIs(t, err, ErrMalformed, text)
	}
	_, err := ParseClaims([]byte(`{"exp":"secret"}`))
	assert.ErrorContains(t, err, `"exp"`)
	assert.Assert(t, !strings.Contains(err.Error(), "secret"))
	c, err := ParseClaims([]byte(`{"SUB":"a"}`)) // another claim
	assert.NilError(t, err)
	assert.Equal(t, c.Subject, "")
}

func TestTextOfClaims(t *testing.T) {
	c, err := ParseClaims([]byte(`{"a": "x\u0041" ,"b":null,"c":1,"d":["x"]}`))
	assert.NilError(t, err)
	for name, want := range map[string]string{"a": "xA", "b": "", "none": ""} {
		got, err := c.Text(name)
		assert.NilError(t, err)
		assert.Equal(t, got, want)
	}
	for _, name := range []string{"c", "d"} {
		_, err := c.Text(name)
		assert.ErrorIs(t, err, ErrMalformed)
	}
}
