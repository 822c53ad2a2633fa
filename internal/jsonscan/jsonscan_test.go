package jsonscan

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
)

func TestValid(t *testing.T) {
	for _, tc := range []struct{ in, reason string }{
		{`null`, ""}, {` true `, ""}, {`{"a":[1,-0.5e+3,"x"],"":{}}`, ""},
		{"\"\u00e9\U0001F600\"", ""}, {`"\ud83d\ude00"`, ""},
		{``, "a value is missing"}, {`nul`, "expected null"}, {`01`, "leading zero"}, {`1.`, "digit"},
		{`-`, "digit"}, {`1e`, "digit"},
		{`{"a":1,}`, "member name"}, {`{"a" 1}`, "':'"}, {`{"a":1 "b":2}`, "',' or '}'"},
		{`[1,]`, "cannot start"}, {`[1 2]`, "',' or ']'"},
		{`"abc`, "no end"}, {"\"a\nb\"", "control character"}, {`"\x"`, "unknown escape"},
		{`"\u12g4"`, "hexadecimal"}, {`"\`, "unknown escape"},
		{`"\ud83d"`, "surrogate"}, {`"\ude00"`, "surrogate"}, {`"\ud83dx"`, "surrogate"},
		{`"\ud83d\u0041"`, "surrogate"},
		{"\"\xff\"", "not UTF-8"}, {"\"abcdefgh\xc3\"", "not UTF-8"}, {`1 2`, "text after"},
		{"\ufeff1", "cannot start"}, {`'a'`, "cannot start"}, {"\"\xed\xa0\x80\"", "UTF-8"},
		{strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), ""},
		{strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1), "too deeply"},
		{strings.Repeat(`{"a":`, MaxDepth+1), "too deeply"},
	} {
		err := Valid([]byte(tc.in))
		if tc.reason == "" {
			assert.NilError(t, err, tc.in)
		} else {
			assert.ErrorContains(t, err, tc.reason, tc.in)
		}
	}
}

// A special byte is found at every offset within and across words of eight bytes.
func TestStringSpecialAtEveryOffset(t *testing.T) {
	for n := range 40 {
		for _, special := range []string{"\x01", "\x1f", `\q`, "\xff"} {
			in := `"` + strings.Repeat("~", n) + special + strings.Repeat("~", 20) + `"`
			_, err := String([]byte(in), 0)
			e, ok := err.(*Error)
			assert.Assert(t, ok, in)
			assert.Equal(t, e.Offset, n+1, in)
		}
		in := `"` + strings.Repeat("!", n) + `"` + strings.Repeat("~", 20)
		end, err := String([]byte(in), 0)
		assert.NilError(t, err)
		assert.Equal(t, end, n+2)
	}
}

func TestMembersAndElements(t *testing.T) {
	object := []byte(` { "a" : 1 , "b\"\\" : { "x":"}" } ,"c":[ "]" , [ ] ],"d":"\\" } `)
	assert.NilError(t, Valid(object))
	var got []string
	for name, value := range Members(object) {
		got = append(got, string(name)+"="+string(value))
		for _, part := range [][]byte{name, value} {
			at := Offset(object, part)
			assert.Assert(t, &object[at] == &part[0])
		}
	}
	assert.DeepEqual(t, got,
		[]string{`"a"=1`, `"b\"\\"={ "x":"}" }`, `"c"=[ "]" , [ ] ]`, `"d"="\\"`})
	assert.Equal(t, string(Member(object, `b"\`)), `{ "x":"}" }`)
	assert.Assert(t, Member(object, "z") == nil)

	got = nil
	array := []byte(` [ 1 , "a,]" , [2,[3]] , {} , true]`)
	for element := range Elements(array) {
		got = append(got, string(element))
		assert.Assert(t, &array[Offset(array, element)] == &element[0])
	}
	assert.DeepEqual(t, got, []string{"1", `"a,]"`, "[2,[3]]", "{}", "true"})
	for range Elements([]byte(`[]`)) {
		t.Fatal("an empty array has no element")
	}
	for range Members([]byte(`[1]`)) {
		t.Fatal("an array has no member")
	}
}

func TestKeyIs(t *testing.T) {
	for _, tc := range []struct {
		token, name string
		want        bool
	}{
		{`"a"`, "a", true}, {`"a"`, "b", false}, {`"\u0061"`, "a", true}, {`""`, "", true},
		{`"A"`, "a", false},
		{`"\ud83d\ude00"`, "😀", true}, {`"a\/b"`, "a/b", true}, {`"ab"`, "a", false},
		{`"a"`, "ab", false},
	} {
		assert.Equal(t, KeyIs([]byte(tc.token), tc.name), tc.want, tc.token)
	}
}

func TestTextIsACopy(t *testing.T) {
	for token, want := range map[string]string{`""`: "", `"a"`: "a", `"\n"`: "\n",
		`"long enough\n"`: "long enough\n", `"\u0041\u0042"`: "AB", `1`: ""} {
		data := []byte(token)
		got, ok := Text(data)
		clear(data)
		assert.Equal(t, got, want)
		assert.Equal(t, ok, token != "1")
	}
}

func TestNothingAllocates(t *testing.T) {
	object := []byte(
		`{"method":"tools/call","params":{"name":"echo","arguments":{"text":"hé\n"}},"id":1}`)
	dst, text := make([]byte, 0, 256), strings.Repeat("a\tb é", 20)
	assert.Equal(t, testing.AllocsPerRun(100, func() {
		_ = Valid(object)
		_ = Member(object, "id")
		_ = KeyIs([]byte(`"\u0061\u0062"`), "ab")
		dst = AppendString(dst[:0], text)
		dst = AppendString(dst[:0], object)
	}), 0.0)
}

// In JSONTestSuite, files y_ must be accepted and n_ refused; i_ must not cause a panic.
func TestJSONTestSuite(t *testing.T) {
	root := os.Getenv("STDWIRE_SUITES")
	if root == "" {
		t.Skip("STDWIRE_SUITES is not set")
	}
	files, err := filepath.Glob(filepath.Join(root, "JSONTestSuite", "test_parsing", "*.json"))
	assert.NilError(t, err)
	assert.Assert(t, len(files) > 300, "the suite is not there")
	for _, file := range files {
		data, err := os.ReadFile(file)
		assert.NilError(t, err)
		err = Valid(data)
		switch name := filepath.Base(file); name[0] {
		case 'y':
			assert.NilError(t, err, name)
		case 'n':
			assert.Assert(t, err != nil, name)
		}
	}
}

func FuzzValid(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e-3,"\u00e9\ud83d\ude00",null,true]}`, `"\ud800"`,
		"\"\xff\"", ` [ ] `, `{"a":{"b":"\\\""}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := Valid(data)
		if err == nil && !json.Valid(data) {
			t.Fatalf("accepts what encoding/json refuses: %q", data)
		}
		// Valid text of encoding/json is refused only for invalid UTF-8, unpaired surrogates and
		// its depth.
		if err != nil && json.Valid(data) && utf8.Valid(data) &&
			!strings.Contains(err.Error(), "surrogate") &&
			!strings.Contains(err.Error(), "deeply") {
			t.Fatalf("refuses %q: %v", data, err)
		}
		if err != nil {
			return
		}
		assertSameWalk(t, data, 0)
	})
}

// assertSameWalk compares the values of Members and Elements with those of encoding/json.
func assertSameWalk(t *testing.T, data []byte, depth int) {
	if depth > 50 {
		return
	}
	var elements []json.RawMessage
	var n int
	if json.Unmarshal(data, &elements) == nil {
		for element := range Elements(data) {
			if string(element) != string(elements[n]) {
				t.Fatalf("element %d: %q, not %q", n, element, elements[n])
			}
			assertSameWalk(t, element, depth+1)
			n++
		}
		if n != len(elements) {
			t.Fatalf("%d elements of %d in %q", n, len(elements), data)
		}
	}
	for name, value := range Members(data) {
		if err := Valid(value); err != nil {
			t.Fatalf("member value %q: %v", value, err)
		}
		var want string
		if err := json.Unmarshal(name, &want); err != nil {
			t.Fatal(err)
		}
		text, ok := Unquote(name)
		own, _ := Text(name)
		if !ok || string(text) != want || own != want || !KeyIs(name, want) {
			t.Fatalf("Unquote(%s) = %q", name, text)
		}
		var back string
		if err := json.Unmarshal(AppendString(nil, want), &back); err != nil || back != want {
			t.Fatalf("AppendString(%q): %q, %v", want, back, err)
		}
		assertSameWalk(t, value, depth+1)
	}
}

func BenchmarkValid(b *testing.B) {
	for name, data := range map[string][]byte{
		"small": []byte(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello, world"}}}`),
		"string": []byte(`"` + strings.Repeat("a", 1<<20) + `"`),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				_ = Valid(data)
			}
		})
	}
}
