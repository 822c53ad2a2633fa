package jsonscan

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestAppendMember(t *testing.T) {
	object := AppendMember([]byte{'{'}, []byte(`"a"`), []byte(`1`))
	assert.Equal(t, string(object), `{"a":1`)
	object = AppendMember(object, AppendString(nil, "b\n"), []byte(`{"c":[]}`))
	assert.Equal(t, string(object), `{"a":1,"b\n":{"c":[]}`)
}

func TestSetMember(t *testing.T) {
	for _, tt := range []struct{ object, want string }{
		{`{}`, `{"a":0}`},
		{` { "b" : [1] } `, `{"b":[1],"a":0}`},
		{`{"b":1,"\u0061":2,"c":3}`, `{"b":1,"\u0061":0,"c":3}`},
	} {
		assert.Equal(t, string(SetMember([]byte(tt.object), "a", []byte("0"))), tt.want)
	}
}

func TestWithout(t *testing.T) {
	for _, tt := range []struct{ object, want string }{
		{`{}`, `{}`},
		{` { "c" : [1] } `, ` { "c" : [1] } `},
		{`{"b":1,"c" : 2,"\u0061":3}`, `{"c":2}`},
		{`{"a":1,"a":2}`, `{}`},
		{``, ``},
	} {
		assert.Equal(t, string(Without([]byte(tt.object), "a", "b")), tt.want)
	}
}
