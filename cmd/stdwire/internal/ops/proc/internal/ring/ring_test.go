package ring

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/growth"
)

// The cost of a search is linear in the output, however small its chunks.
func TestSearchIsLinear(t *testing.T) {
	growth.Linear(t, 16<<10, func(size int) func() {
		return func() {
			r := Ring{Size: 1 << 20}
			search, err := NewSearch("^never$")
			assert.NilError(t, err)
			for range size / 16 {
				r.Write([]byte("0123456789abcde\n"))
				search.Find(&r, 0, r.End)
			}
		}
	})
}

func TestSearch(t *testing.T) {
	t.Parallel()
	const line = "0123456789abcde\n"
	for _, test := range []struct {
		pattern string
		chunks  []string
		want    string // the output up to the end of the match; "" for none
	}{
		{"b", []string{"abc"}, "ab"},
		{"b$", []string{"ab", "c\nb"}, "ab"}, // at the end of what has arrived
		{"^c", []string{"ab", "c"}, ""},
		{"^c", []string{"ab\n", "c"}, "ab\nc"},
		{`\bc`, []string{"ab", "c"}, ""},
		{"needle", []string{strings.Repeat(line, 2000), "nee", "dle"}, strings.Repeat(line, 2000) +
			"needle"},
		{"^needle$", []string{strings.Repeat(line, 2000), "nee", "dle\n"},
			strings.Repeat(line, 2000) + "needle"},
		{"^nee", []string{strings.Repeat(line, 2000), "x", "nee"}, ""},
		// A line may end with CR LF.
		{"b$", []string{"ab\r\nc"}, "ab\r"},
		{"^c$", []string{"ab\r\nc\r", "\n"}, "ab\r\nc\r"},
		{"(a|b$)+ *^c", []string{"ab\r\nc"}, ""},
		{"(?:x|b$)\nc", []string{"ab\r\nc"}, "ab\r\nc"},
		{"b$", []string{"ab\rc"}, ""},
		{"^$", []string{"ab\r\n\r\nc"}, "ab\r\n\r"},
		{`(?i)B\w{0,2}$`, []string{"abcd\r\n"}, "abcd\r"},
	} {
		search, err := NewSearch(test.pattern)
		assert.NilError(t, err)
		r := Ring{Size: 1 << 20}
		got := ""
		for _, chunk := range test.chunks {
			r.Write([]byte(chunk))
			if end, ok := search.Find(&r, 0, r.End); ok {
				got = string(r.Slice(0, end))
				break
			}
		}
		assert.Equal(t, got, test.want, test.pattern)
	}
}

// Output after the limit is not matched, but decides whether a line ends.
func TestSearchEdge(t *testing.T) {
	t.Parallel()
	r := Ring{Size: 1 << 10}
	r.Write([]byte("abcdef"))
	for pattern, want := range map[string]int64{"c$": -1, "cd": -1, "c": 3, `c\b`: -1, "f$": -1} {
		search, err := NewSearch(pattern)
		assert.NilError(t, err)
		end, ok := search.Find(&r, 0, 3)
		assert.Equal(t, ok, want >= 0, pattern)
		assert.Assert(t, !ok || end == want, pattern)
	}
}

func TestRing(t *testing.T) {
	t.Parallel()
	r := Ring{Size: 7}
	var all strings.Builder
	for i := range 50 {
		piece := strings.Repeat(string(rune('a'+i%26)), i%17)
		all.WriteString(piece)
		r.Write([]byte(piece))
		assert.Equal(t, r.End, int64(all.Len()))
		for from := r.Start(); from <= r.End; from++ {
			for to := from; to <= r.End; to++ {
				assert.Equal(t, string(r.Slice(from, to)), all.String()[from:to])
			}
		}
		assert.Equal(t, r.End-r.Start(), int64(min(7, all.Len())))
	}
}

func BenchmarkRing(b *testing.B) {
	r := Ring{Size: 1 << 20}
	chunk := make([]byte, 32<<10) // as much as is read at once
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		r.Write(chunk)
	}
}

// A ring that has filled in pieces has little more memory than its size.
func TestRingIsBounded(t *testing.T) {
	t.Parallel()
	r := Ring{Size: 64 << 10}
	for range 20_000 {
		r.Write([]byte(strings.Repeat("x", 1000)))
	}
	assert.Assert(t, cap(r.kept) <= 2*r.Size, "%d", cap(r.kept))
}
