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
	text      string
	level     int
	shouting  struct{ s string }
	pointing  struct{ S string }
	onlyReads struct{ N int }
	byteKind  byte
	maybe     struct{ N int }
	maybePtr  struct{ N int }
	number    = json.Number
)

func (t text) MarshalText() ([]byte, error)  { return []byte("<" + t + ">"), nil }
func (t *text) UnmarshalText(b []byte) error { *t = text(bytes.Trim(b, "<>")); return nil }
func (l level) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "L%d", int(l)), nil }
func (l *level) UnmarshalText(b []byte) error {
	_, err := fmt.Sscanf(string(b), "L%d", l)
	return err
}
func (s shouting) MarshalJSON() ([]byte, error)  { return json.Marshal(strings.ToUpper(s.s)) }
func (s *shouting) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &s.s) }
func (p *pointing) MarshalJSON() ([]byte, error) {
	return []byte("{\n\"p\" : \"" + p.S + "\"}"), nil
}
func (o *onlyReads) UnmarshalJSON(b []byte) error {
	o.N = len(b)
	return nil
}
func (b byteKind) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "b%d", byte(b)), nil }
func (m maybe) IsZero() bool                    { return m.N == 7 }
func (m *maybePtr) IsZero() bool                { return m.N == 7 }

// of returns a pointer to a zero T.
func of[T any]() func() any { return func() any { return new(T) } }

// unusual types, each with texts to decode.
var awkward = []struct {
	name  string
	zero  func() any
	texts []string
}{
	{"embedded", of[struct {
		Inner
		C int
	}](), []string{`{"A":1,"B":2,"C":3}`, `{"Inner":{"A":1}}`}},
	{"embedded pointer", of[struct {
		*Inner
		C int
	}](), []string{`{"A":1,"C":3}`, `{"C":3}`, `{"A":null}`}},
	{"embedded deep", of[struct {
		*Deep
		A string
	}](), []string{`{"A":"x","B":2}`}},
	{"embedded conflict", of[struct {
		Inner
		Named
	}](), []string{`{"A":1,"B":2}`, `{"A":{}}`}},
	{"embedded conflict settled by a tag", of[struct {
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
	{"tag beats name", of[struct {
		N int
		Y int `json:"N"`
	}](), []string{`{"N":1}`}},
	{"embedded with a name", of[struct {
		Inner `json:"in"`
		B     string
	}](), []string{`{"in":{"A":1,"B":2},"B":"x"}`}},
	{"embedded not exported", of[struct{ hidden }](), []string{`{"A":1}`}},
	{"embedded pointer not exported", of[struct{ *hidden }](), []string{`{"A":1}`, `{}`}},
	{"embedded not exported with a name", of[struct {
		hidden `json:"h"`
	}](), []string{`{"h":{"A":1}}`}},
	{"embedded scalar", of[struct {
		text
		Level level
	}](), []string{`{"text":"x","Level":"L3"}`}},
	{"embedded interface", of[struct{ fmt.Stringer }](),
		[]string{`{"Stringer":null}`, `{"Stringer":1}`}},
	{"embedded itself", of[Looping](), []string{`{"X":1}`, `{"Looping":{}}`}},
	{"embedded twice on a level", of[struct {
		Deep
		Left
	}](), []string{`{"A":1,"B":2}`}},
	{"embedded twice, deeper", of[struct {
		Left
		Right
	}](), []string{`{"A":1,"B":2,"L":3,"R":4}`}},
	{"recursive", of[Loop](),
		[]string{`{"name":"a","next":{"name":"b","next":null},"all":[{"name":"c"},null]}`,
			`{"all":[]}`}},
	{"string option", of[struct {
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
	{"omitempty", of[struct {
		I int            `json:"i,omitempty"`
		S []int          `json:"s,omitempty"`
		M map[string]int `json:"m,omitempty"`
		A [0]int         `json:"arr,omitempty"`
		T time.Time      `json:"t,omitempty"`
		P *int           `json:"p,omitempty"`
		X any            `json:"x,omitempty"`
	}](), []string{`{}`, `{"i":0,"s":[],"m":{},"p":null,"x":null}`,
		`{"i":1,"s":[1],"m":{"a":1},"p":0,"x":0,"t":"2026-01-02T03:04:05.6+02:00"}`, `{"t":"x"}`}},
	{"omitzero", of[struct {
		I int             `json:"i,omitzero"`
		S []int           `json:"s,omitzero"`
		T time.Time       `json:"t,omitzero"`
		M maybe           `json:"m,omitzero"`
		Q maybePtr        `json:"q,omitzero"`
		P *maybe          `json:"p,omitzero"`
		R *maybePtr       `json:"r,omitzero"`
		A [2]int          `json:"arr,omitzero"`
		W json.RawMessage `json:"w,omitzero"`
	}](), []string{`{}`, `{"m":{"N":7},"q":{"N":7},"p":{"N":7},"r":{"N":7}}`,
		`{"s":[],"m":{"N":1},"q":{"N":1},"p":{"N":0},"arr":[1],"w":null}`}},
	{"odd tags", of[struct {
		A int `json:"-"`
		B int `json:"-,"`
		C int `json:",omitempty"`
		D int `json:"a'b"`
		E int `json:"a b.c/ü"`
		F int `json:"f,unknown"`
		G int `xml:"g" json:"g"`
		H int `json:""`
	}](), []string{`{"-":1,"C":2,"D":3,"a b.c/ü":4,"f":5,"g":6,"H":7,"A":8}`}},
	{"not exported", of[struct {
		A int
		b int
	}](), []string{`{"A":1,"b":2}`}},
	{"map of strings", of[map[string]string](),
		[]string{`{"b":"1","a":"2","":"3"}`, `{}`, `null`, `{"a":1}`, `[]`}},
	{"map of named strings", of[map[text]Inner](), []string{`{"<b>":{"A":1}}`}},
	{"map of integers", of[map[int8]bool](),
		[]string{`{"1":true,"-2":false,"10":true}`, `{"128":true}`, `{"x":true}`}},
	{"map of unsigned", of[map[uint16]*int](), []string{`{"1":null,"65535":2}`, `{"-1":1}`}},
	{"map of text", of[map[level]int](), []string{`{"L2":1,"L10":2}`, `{"2":1}`}},
	{"map of times", of[map[time.Time]int](), []string{`{"2026-01-02T03:04:05Z":1}`, `{"x":1}`}},
	{"map of floats", of[map[float64]int](), []string{`{"1":1}`, `{}`}},
	{"map of anything", of[map[string]any](),
		[]string{`{"a":[1,"x",{"b":null,"c":1e300}],"b":true}`, `{"a":1e999}`}},
	{"anything", of[any](),
		[]string{`null`, `1`, `-0`, `"x"`, `[]`, `[[1],{}]`, `{"a":{"b":[]}}`, `true`,
			`12345678901234567890`}},
	{"interface with methods", of[struct{ S fmt.Stringer }](),
		[]string{`{"S":null}`, `{"S":"x"}`, `{"S":{}}`}},
	{"array", of[[3]int](),
		[]string{`[1,2,3]`, `[1]`, `[]`, `[1,2,3,"x"]`, `null`, `{}`, `[1,"x"]`}},
	{"array of bytes", of[[4]byte](), []string{`[1,2,3,4]`, `"AAAA"`}},
	{"slices", of[struct {
		A []int
		B [][]string
		C []*Inner
		D []any
	}](), []string{`{"A":[],"B":[["x"],null],"C":[null,{"A":1}],"D":[null,1]}`, `{"A":null}`,
		`{"A":{}}`, `{"A":[1.5]}`}},
	{"bytes", of[[]byte](),
		[]string{`"AAE="`, `""`, `null`, `[1,2,255]`, `[256]`, `"A"`, `"AA\nE="`, `"A\n"`, `{}`}},
	{"named bytes", of[[]byteKind](), []string{`"AAE="`, `[1,2]`, `null`}},
	{"pointers", of[struct {
		A *int
		B **string
		C *[]int
		D *map[string]*int
	}](), []string{`{"A":1,"B":"x","C":[1],"D":{"a":null,"b":2}}`,
		`{"A":null,"B":null,"C":null,"D":null}`, `{"A":"x"}`}},
	{"numbers", of[struct {
		A int8
		B uint8
		C float32
		D json.Number
		E uintptr
		F []number
		G float64
	}](), []string{`{"A":-128,"B":255,"C":3.4e38,"D":1e400,"E":1,"F":["1",2],"G":1e-9}`,
		`{"A":128}`, `{"B":-1}`, `{"C":1e39}`, `{"D":"x"}`, `{"D":"1"}`, `{"A":1.0}`, `{"A":1e1}`,
		`{"D":null}`,
		`{"C":1e-7,"G":1e21}`, `{"C":16777216.5,"G":123456789012345678}`}},
	{"raw", of[struct {
		A json.RawMessage
		B *json.RawMessage
		C []json.RawMessage `json:",omitempty"`
		D map[string]json.RawMessage
	}](), []string{`{"A": { "x" : 1 } ,"B":[1, 2],"C":[null,1],"D":{"a":"<"}}`,
		`{"A":null,"B":null}`}},
	{"text", of[struct {
		A text
		B *text
		C []text
		D level
	}](), []string{`{"A":"<x>","B":"y","C":["z"],"D":"L7"}`, `{"A":null,"B":null}`, `{"A":1}`,
		`{"D":"7"}`}},
	{"own methods", of[struct {
		A shouting
		B *shouting
		C []shouting
		D map[string]shouting
		E any
	}](), []string{`{"A":"x","B":"y","C":["z"],"D":{"k":"v"}}`, `{"A":null,"B":null,"C":[null]}`,
		`{"A":1}`}},
	{"own methods of the pointer", of[struct {
		A pointing
		B *pointing
		C []pointing
		D map[string]pointing
		E [1]pointing
	}](), []string{`{"A":{"S":"x"},"B":{"S":"y"},"C":[{"S":"z"}],"D":{"k":{"S":"v"}}}`,
		`{"B":null}`}},
	{"methods one way", of[struct {
		A onlyReads
		B *onlyReads
		C map[string]onlyReads
	}](), []string{`{"A":[1,2],"B":null,"C":{"k":null}}`, `{"A":null,"B":{}}`}},
	{"embedded methods", of[struct {
		time.Time
		N int
	}](), []string{`"2026-01-02T03:04:05Z"`, `{"N":1}`}},
	{"library types", of[struct {
		A *big.Int
		B netip.Addr
		C url.URL
		D time.Duration
		E big.Int
		F *big.Float
	}](), []string{`{"A":123456789012345678901234567890,"B":"::1","C":{"Host":"h"},"D":5,"E":7,"F":"1.5"}`,
		`{"B":"x"}`, `{"A":null}`}},
	{"channel", of[struct {
		A chan int
		B int
	}](), []string{`{"B":1}`, `{"A":1}`, `{"A":null}`}},
	{"function", of[struct {
		F func() `json:"f,omitempty"`
	}](), []string{`{}`, `{"f":1}`}},
	{"complex", of[struct{ C complex128 }](), []string{`{"C":1}`, `{}`}},
	{"many fields", func() any {
		return reflect.New(reflect.StructOf(manyFields(130))).Interface()
	}, []string{`{"F":1,"Fx":2}`, `{"F` + strings.Repeat("x", 129) + `":3,"F` +
		strings.Repeat("x", 64) + `":4}`}},
	{"scalars", of[string](),
		[]string{`"a\u00e9\ud83d\ude00\n\/\"\\\b"`, `1`, `null`, `"<>&\u2028"`}},
	{"boolean", of[bool](), []string{`true`, `false`, `null`, `"true"`, `1`}},
	{"empty struct", of[struct{}](), []string{`{}`, `{"a":1}`, `null`, `[]`, `1`}},
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
	assert.Assert(t, len(awkward) > 45)
	for _, tc := range awkward {
		t.Run(tc.name, func(t *testing.T) {
			agreeOnEncoding(t, tc.zero())
			for _, text := range tc.texts {
				agree(t, []byte(text), tc.zero)
			}
			// A text of the wrong form, at the top and inside.
			for _, text := range []string{`"x"`, `1`, `[1]`, `{"A":[{}]}`, `{"A":{"A":[]}}`,
				`[{"A":1}]`, `true`, ``, `{`, `{"A":1,}`, `[1,]`, `null`} {
				agree(t, []byte(text), tc.zero)
			}
		})
	}
}

func agree(t *testing.T, data []byte, zero func() any) {
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
	clear(data) // the result must not care
	assert.Assert(t, reflect.DeepEqual(got, want), "%s: got %+v, want %+v", kept, got, want)
	agreeOnEncoding(t, got)
}

func agreeOnEncoding(t *testing.T, pointer any) {
	t.Helper()
	for _, v := range []any{pointer, reflect.ValueOf(pointer).Elem().Interface()} {
		// what is addressable may have other methods
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

// tokens spells a text in one way, numbers as they are.
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
