package jsonexact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

type (
	Inner  struct{ A, B int }
	Named  struct{ A string }
	hidden struct{ A int }
	Deep   struct{ Inner }
	Tagged struct {
		A string `json:"a"`
	}
	Loop struct {
		Name string `json:"name"`
		Next *Loop  `json:"next,omitempty"`
		All  []Loop `json:"all,omitempty"`
	}
	Left struct {
		Inner
		L int
	}
	Right struct {
		*Inner
		R int
	}
	Looping struct {
		*Looping
		X int
	}
	text             string
	level            int
	upperText        struct{ s string }
	pointerMarshaler struct{ S string }
	onlyUnmarshaler  struct{ N int }
	byteKind         byte
	customZero       struct{ N int }
	customZeroPtr    struct{ N int }
	number           = json.Number
)

func (t text) MarshalText() ([]byte, error)  { return []byte("<" + t + ">"), nil }
func (t *text) UnmarshalText(b []byte) error { *t = text(bytes.Trim(b, "<>")); return nil }
func (l level) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "L%d", int(l)), nil }
func (l *level) UnmarshalText(b []byte) error {
	_, err := fmt.Sscanf(string(b), "L%d", l)
	return err
}
func (s upperText) MarshalJSON() ([]byte, error)  { return json.Marshal(strings.ToUpper(s.s)) }
func (s *upperText) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &s.s) }
func (p *pointerMarshaler) MarshalJSON() ([]byte, error) {
	return []byte("{\n\"p\" : \"" + p.S + "\"}"), nil
}
func (o *onlyUnmarshaler) UnmarshalJSON(b []byte) error {
	o.N = len(b)
	return nil
}
func (b byteKind) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "b%d", byte(b)), nil }
func (m customZero) IsZero() bool               { return m.N == 7 }
func (m *customZeroPtr) IsZero() bool           { return m.N == 7 }

// newZero returns a function that returns a pointer to a zero T.
func newZero[T any]() func() any { return func() any { return new(T) } }

// unusualTypes are types with texts to decode.
var unusualTypes = []struct {
	name  string
	zero  func() any
	texts []string
}{
	{"embedded", newZero[struct {
		Inner
		C int
	}](), []string{`{"A":1,"B":2,"C":3}`, `{"Inner":{"A":1}}`}},
	{"embedded pointer", newZero[struct {
		*Inner
		C int
	}](), []string{`{"A":1,"C":3}`, `{"C":3}`, `{"A":null}`}},
	{"embedded deep", newZero[struct {
		*Deep
		A string
	}](), []string{`{"A":"x","B":2}`}},
	{"embedded conflict", newZero[struct {
		Inner
		Named
	}](), []string{`{"A":1,"B":2}`, `{"A":{}}`}},
	{"embedded conflict that a tag resolves", newZero[struct {
		Named
		Tagged
		B struct {
			A int `json:"A"`
		} `json:"b"`
	}](), []string{`{"A":"x","a":"y","b":{"A":1}}`}},
	{"two tags for one name", func() any {
		n := reflect.TypeFor[int]()
		return reflect.New(
			reflect.StructOf(
				[]reflect.StructField{{Name: "X", Type: n, Tag: `json:"n"`},
					{Name: "Y", Type: n, Tag: `json:"n"`}})).Interface()
	}, []string{`{"n":1}`}},
	{"tag beats name", newZero[struct {
		N int
		Y int `json:"N"`
	}](), []string{`{"N":1}`}},
	{"embedded with a name", newZero[struct {
		Inner `json:"in"`
		B     string
	}](), []string{`{"in":{"A":1,"B":2},"B":"x"}`}},
	{"embedded not exported", newZero[struct{ hidden }](), []string{`{"A":1}`}},
	{"embedded pointer not exported", newZero[struct{ *hidden }](), []string{`{"A":1}`, `{}`}},
	{"embedded not exported with a name", newZero[struct {
		hidden `json:"h"`
	}](), []string{`{"h":{"A":1}}`}},
	{"embedded scalar", newZero[struct {
		text
		Level level
	}](), []string{`{"text":"x","Level":"L3"}`}},
	{"embedded interface", newZero[struct{ fmt.Stringer }](),
		[]string{`{"Stringer":null}`, `{"Stringer":1}`}},
	{"embedded itself", newZero[Looping](), []string{`{"X":1}`, `{"Looping":{}}`}},
	{"embedded twice on a level", newZero[struct {
		Deep
		Left
	}](), []string{`{"A":1,"B":2}`}},
	{"embedded twice, deeper", newZero[struct {
		Left
		Right
	}](), []string{`{"A":1,"B":2,"L":3,"R":4}`}},
	{"recursive", newZero[Loop](),
		[]string{`{"name":"a","next":{"name":"b","next":null},"all":[{"name":"c"},null]}`,
			`{"all":[]}`}},
	{"string option", newZero[struct {
		I int      `json:"i,string"`
		P *int     `json:"p,string"`
		F float64  `json:"f,string"`
		B bool     `json:"b,string"`
		S string   `json:"s,string"`
		L []int    `json:"l,string"`
		U *uint8   `json:"u,string,omitempty"`
		T text     `json:"t,string"`
		N *float32 `json:"n,omitempty,string"`
	}](), []string{`{"i":"1","p":"2","f":"1e-7","b":"true","s":"\"<x>\"","l":[1],"u":"255","n":"0.1"}`,
		`{"i":1}`, `{"i":"x"}`, `{"s":"x"}`, `{"p":null,"i":null}`, `{"u":"256"}`, `{"b":""}`,
		`{"p":"null"}`}},
	{"omitempty", newZero[struct {
		I int            `json:"i,omitempty"`
		S []int          `json:"s,omitempty"`
		M map[string]int `json:"m,omitempty"`
		A [0]int         `json:"arr,omitempty"`
		T time.Time      `json:"t,omitempty"`
		P *int           `json:"p,omitempty"`
		X any            `json:"x,omitempty"`
	}](), []string{`{}`, `{"i":0,"s":[],"m":{},"p":null,"x":null}`,
		`{"i":1,"s":[1],"m":{"a":1},"p":0,"x":0,"t":"2026-01-02T03:04:05.6+02:00"}`, `{"t":"x"}`}},
	{"omitzero", newZero[struct {
		I int             `json:"i,omitzero"`
		S []int           `json:"s,omitzero"`
		T time.Time       `json:"t,omitzero"`
		M customZero      `json:"m,omitzero"`
		Q customZeroPtr   `json:"q,omitzero"`
		P *customZero     `json:"p,omitzero"`
		R *customZeroPtr  `json:"r,omitzero"`
		A [2]int          `json:"arr,omitzero"`
		W json.RawMessage `json:"w,omitzero"`
	}](), []string{`{}`, `{"m":{"N":7},"q":{"N":7},"p":{"N":7},"r":{"N":7}}`,
		`{"s":[],"m":{"N":1},"q":{"N":1},"p":{"N":0},"arr":[1],"w":null}`}},
	{"unusual tags", newZero[struct {
		A int `json:"-"`
		B int `json:"-,"`
		C int `json:",omitempty"`
		D int `json:"a'b"`
		E int `json:"a b.c/ü"`
		F int `json:"f,unknown"`
		G int `xml:"g" json:"g"`
		H int `json:""`
	}](), []string{`{"-":1,"C":2,"D":3,"a b.c/ü":4,"f":5,"g":6,"H":7,"A":8}`}},
	{"not exported", newZero[struct {
		A int
		b int
	}](), []string{`{"A":1,"b":2}`}},
	{"map of strings", newZero[map[string]string](),
		[]string{`{"b":"1","a":"2","":"3"}`, `{}`, `null`, `{"a":1}`, `[]`}},
	{"map of named strings", newZero[map[text]Inner](), []string{`{"<b>":{"A":1}}`}},
	{"map of integers", newZero[map[int8]bool](),
		[]string{`{"1":true,"-2":false,"10":true}`, `{"128":true}`, `{"x":true}`}},
	{"map of unsigned", newZero[map[uint16]*int](), []string{`{"1":null,"65535":2}`, `{"-1":1}`}},
	{"map of text", newZero[map[level]int](), []string{`{"L2":1,"L10":2}`, `{"2":1}`}},
	{"map of times", newZero[map[time.Time]int](), []string{`{"2026-01-02T03:04:05Z":1}`, `{"x":1}`}},
	{"map of floats", newZero[map[float64]int](), []string{`{"1":1}`, `{}`}},
	{"map of any", newZero[map[string]any](),
		[]string{`{"a":[1,"x",{"b":null,"c":1e300}],"b":true}`, `{"a":1e999}`}},
	{"any", newZero[any](),
		[]string{`null`, `1`, `-0`, `"x"`, `[]`, `[[1],{}]`, `{"a":{"b":[]}}`, `true`,
			`12345678901234567890`}},
	{"interface with methods", newZero[struct{ S fmt.Stringer }](),
		[]string{`{"S":null}`, `{"S":"x"}`, `{"S":{}}`}},
	{"array", newZero[[3]int](),
		[]string{`[1,2,3]`, `[1]`, `[]`, `[1,2,3,"x"]`, `null`, `{}`, `[1,"x"]`}},
	{"array of bytes", newZero[[4]byte](), []string{`[1,2,3,4]`, `"AAAA"`}},
	{"slices", newZero[struct {
		A []int
		B [][]string
		C []*Inner
		D []any
	}](), []string{`{"A":[],"B":[["x"],null],"C":[null,{"A":1}],"D":[null,1]}`, `{"A":null}`,
		`{"A":{}}`, `{"A":[1.5]}`}},
	{"bytes", newZero[[]byte](),
		[]string{`"AAE="`, `""`, `null`, `[1,2,255]`, `[256]`, `"A"`, `"AA\nE="`, `"A\n"`, `{}`}},
	{"named bytes", newZero[[]byteKind](), []string{`"AAE="`, `[1,2]`, `null`}},
	{"pointers", newZero[struct {
		A *int
		B **string
		C *[]int
		D *map[string]*int
	}](), []string{`{"A":1,"B":"x","C":[1],"D":{"a":null,"b":2}}`,
		`{"A":null,"B":null,"C":null,"D":null}`, `{"A":"x"}`}},
	{"numbers", newZero[struct {
		A int8
		B uint8
		C float32
		D json.Number
		E uintptr
		F []number
		G float64
	}](), []string{`{"A":-128,"B":255,"C":3.4e38,"D":1e400,"E":1,"F":["1",2],"G":1e-9}`,
		`{"A":128}`, `{"B":-1}`, `{"C":1e39}`, `{"D":"x"}`, `{"D":"1"}`, `{"A":1.5}`, `{"A":1e-1}`,
		`{"D":null}`,
		`{"C":1e-7,"G":1e21}`, `{"C":16777216.5,"G":123456789012345678}`}},
	{"raw", newZero[struct {
		A json.RawMessage
		B *json.RawMessage
		C []json.RawMessage `json:",omitempty"`
		D map[string]json.RawMessage
	}](), []string{`{"A": { "x" : 1 } ,"B":[1, 2],"C":[null,1],"D":{"a":"<"}}`,
		`{"A":null,"B":null}`}},
	{"text", newZero[struct {
		A text
		B *text
		C []text
		D level
	}](), []string{`{"A":"<x>","B":"y","C":["z"],"D":"L7"}`, `{"A":null,"B":null}`, `{"A":1}`,
		`{"D":"7"}`}},
	{"methods for JSON", newZero[struct {
		A upperText
		B *upperText
		C []upperText
		D map[string]upperText
		E any
	}](), []string{`{"A":"x","B":"y","C":["z"],"D":{"k":"v"}}`, `{"A":null,"B":null,"C":[null]}`,
		`{"A":1}`}},
	{"methods for JSON of the pointer", newZero[struct {
		A pointerMarshaler
		B *pointerMarshaler
		C []pointerMarshaler
		D map[string]pointerMarshaler
		E [1]pointerMarshaler
	}](), []string{`{"A":{"S":"x"},"B":{"S":"y"},"C":[{"S":"z"}],"D":{"k":{"S":"v"}}}`,
		`{"B":null}`}},
	{"UnmarshalJSON only", newZero[struct {
		A onlyUnmarshaler
		B *onlyUnmarshaler
		C map[string]onlyUnmarshaler
	}](), []string{`{"A":[1,2],"B":null,"C":{"k":null}}`, `{"A":null,"B":{}}`}},
	{"embedded methods", newZero[struct {
		time.Time
		N int
	}](), []string{`"2026-01-02T03:04:05Z"`, `{"N":1}`}},
	{"library types", newZero[struct {
		A *big.Int
		B netip.Addr
		C url.URL
		D time.Duration
		E big.Int
		F *big.Float
	}](), []string{`{"A":123456789012345678901234567890,"B":"::1","C":{"Host":"h"},"D":5,"E":7,"F":"1.5"}`,
		`{"B":"x"}`, `{"A":null}`}},
	{"channel", newZero[struct {
		A chan int
		B int
	}](), []string{`{"B":1}`, `{"A":1}`, `{"A":null}`}},
	{"function", newZero[struct {
		F func() `json:"f,omitempty"`
	}](), []string{`{}`, `{"f":1}`}},
	{"complex", newZero[struct{ C complex128 }](), []string{`{"C":1}`, `{}`}},
	{"many fields", func() any {
		return reflect.New(reflect.StructOf(manyFields(130))).Interface()
	}, []string{`{"F":1,"Fx":2}`, `{"F` + strings.Repeat("x", 129) + `":3,"F` +
		strings.Repeat("x", 64) + `":4}`}},
	{"scalars", newZero[string](),
		[]string{`"a\u00e9\ud83d\ude00\n\/\"\\\b"`, `1`, `null`, `"<>&\u2028"`}},
	{"boolean", newZero[bool](), []string{`true`, `false`, `null`, `"true"`, `1`}},
	{"empty struct", newZero[struct{}](), []string{`{}`, `{"a":1}`, `null`, `[]`, `1`}},
}

func manyFields(n int) []reflect.StructField {
	fields := make([]reflect.StructField, n)
	for i := range fields {
		fields[i] = reflect.StructField{Name: "F" + strings.Repeat("x", i),
			Type: reflect.TypeFor[int]()}
	}
	return fields
}

// TestAgreesWithEncodingJSON compares values and, except for escapes in strings, texts with
// encoding/json.
func TestAgreesWithEncodingJSON(t *testing.T) {
	assert.Assert(t, len(unusualTypes) > 45)
	for _, tc := range unusualTypes {
		t.Run(tc.name, func(t *testing.T) {
			assertSameEncoding(t, tc.zero())
			for _, text := range tc.texts {
				assertSameDecoding(t, []byte(text), tc.zero)
			}
			// Texts of other types, and invalid ones.
			for _, text := range []string{`"x"`, `1`, `[1]`, `{"A":[{}]}`, `{"A":{"A":[]}}`,
				`[{"A":1}]`, `true`, ``, `{`, `{"A":1,}`, `[1,]`, `null`} {
				assertSameDecoding(t, []byte(text), tc.zero)
			}
		})
	}
}

func assertSameDecoding(t *testing.T, data []byte, zero func() any) {
	t.Helper()
	got, want := zero(), zero()
	kept := bytes.Clone(data)
	gotErr, wantErr := Unmarshal(data, got), json.Unmarshal(bytes.Clone(data), want)
	assert.Equal(t, string(data), string(kept))
	assert.Equal(t, gotErr == nil, wantErr == nil, "%s: got %v, want %v", data, gotErr, wantErr)
	if gotErr != nil {
		_, ok := gotErr.(*DecodeError)
		assert.Assert(t, ok, "%T: %v", gotErr, gotErr)
		return
	}
	clear(data) // the result must not share the memory of data
	assert.Assert(t, reflect.DeepEqual(got, want), "%s: got %+v, want %+v", kept, got, want)
	assertSameEncoding(t, got)
}

func assertSameEncoding(t *testing.T, pointer any) {
	t.Helper()
	for _, v := range []any{pointer, reflect.ValueOf(pointer).Elem().Interface()} {
		// an addressable value may have more methods
		got, gotErr := Marshal(v)
		want, wantErr := standardJSON(v)
		assert.Equal(t, gotErr == nil, wantErr == nil, "%+v: got %v, want %v", v, gotErr, wantErr)
		if gotErr != nil {
			continue
		}
		assert.NilError(t, jsonscan.Valid(got), "%s", got)
		assert.Assert(t, !bytes.ContainsAny(got, "\r\n"))
		assert.Equal(t, tokens(t, got), tokens(t, want))
	}
}

// tokens returns the tokens of a text, one on each line. It does not change numbers.
func tokens(t *testing.T, data []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var b strings.Builder
	for {
		token, err := d.Token()
		if err != nil {
			return b.String()
		}
		fmt.Fprintf(&b, "%T:%v\n", token, token)
	}
}
