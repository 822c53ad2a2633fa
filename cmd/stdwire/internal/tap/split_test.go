package tap

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/framing"
	"gotest.tools/v3/assert"
)

// split returns the frames of a stream in chunks of the sizes that size returns.
func split(stream []byte, limit int, size func() int) (all []rawFrame) {
	s := frameSplitter{limit: limit, emit: func(f rawFrame) {
		f.payload = bytes.Clone(f.payload)
		all = append(all, f)
	}}
	for len(stream) > 0 {
		n := min(max(1, size()), len(stream))
		s.write(stream[:n])
		stream = stream[n:]
	}
	s.end()
	return all
}

func (f rawFrame) String() string {
	text := fmt.Sprintf("%q", f.payload)
	switch f.framing {
	case "":
	case "content-length":
		text = "length " + text
	default:
		text = f.framing + " " + text
	}
	if f.partial {
		text += " partial"
	}
	if f.sha256 != "" {
		text += fmt.Sprintf(" of %d", f.size)
	}
	return text
}

func TestSplit(t *testing.T) {
	for _, tt := range []struct{ stream, want string }{
		{"a\nb\r\n\n \t\r\nc", `"a" "b" "c"`},
		{"Content-Length: 3\r\n\r\na\nbContent-Length: 1\r\n\r\nc", `length "a\nb" length "c"`},
		{"content-length:3\nX: y\nContent-Type: z\n\nabcd\n", `length "abc" "d"`},
		{"Content-Type: x\r\nContent-Length: 1\r\n\r\na", `length "a"`},
		{"hello Content-Length: 2\r\n\r\n{}\n", `"hello " length "{}"`},
		{"Content-Length: 37\r\n\r\n{\"a\":log\nContent-Length: 2\r\n\r\n{}12345{}\n",
			`length "{\"a\":log\nContent-Length: 2\r\n\r\n{}12345" length "{}" "12345{}"`},
		{"hello\nContent-Length: 2\r\n\r\n{}{}\n", `"hello" length "{}" "{}"`},
		{"Content-Length: 5\r\n\r\nab", `length "ab" partial`},
		{"Content-Length: 5\r\n\r\n", `"Content-Length: 5\n" partial`},
		{"Content-Length: 5\r\nX", `"Content-Length: 5\nX" partial`},
		{"Content-Length: 5\r\nno header\n{}\n", `"Content-Length: 5" "no header" "{}"`},
		{"Content-Length: -5\n{}\n", `"Content-Length: -5" "{}"`},
		{"Content-Length: 99999999999999999999\n{}\n",
			`"Content-Length: 99999999999999999999" "{}"`},
		{"Content-Length: 0\r\n\r\n{}\n", `"Content-Length: 0\n" "{}"`},
		{"Content-Type: x\r\n\r\n{}\n", `"Content-Type: x\n" "{}"`},
		{"Content-Lengthy: 3\n{}\n", `"Content-Lengthy: 3" "{}"`},
		{"", ``},
	} {
		for _, size := range []func() int{func() int { return 1 << 20 }, func() int { return 1 },
			func() int { return 7 }} {
			var got []string
			for _, p := range split([]byte(tt.stream), 1<<20, size) {
				got = append(got, p.String())
			}
			assert.Equal(t, strings.Join(got, " "), tt.want, "%q", tt.stream)
		}
	}
}

// A header block without an end does not grow. A frame over the limit is truncated, counted and
// hashed.
func TestSplitIsBounded(t *testing.T) {
	large := strings.Repeat("0123456789", 1000)
	for _, tt := range []struct{ stream, want string }{
		{large + "\n{}\n", fmt.Sprintf(`"%s" of 10000 "{}"`, large[:5000])},
		{"Content-Length: 10000\r\n\r\n" + large + "{}\n",
			fmt.Sprintf(`length "%s" of 10000 "{}"`, large[:5000])},
	} {
		for _, chunk := range []int{1 << 20, 999} {
			all := split([]byte(tt.stream), 5000, func() int { return chunk })
			assert.Equal(t, fmt.Sprint(all), "["+tt.want+"]")
			sum := sha256.Sum256([]byte(large))
			assert.Equal(t, all[0].sha256, hex.EncodeToString(sum[:]))
		}
	}
	endless := "Content-Length: 5\r\n" + strings.Repeat("X: y\r\n", 1000)
	for _, stream := range []string{endless, endless + "X: " + strings.Repeat("y", 10_000)} {
		all := split([]byte(stream+"\n{}\n"), 1<<20, func() int { return 100 })
		assert.Equal(t, all[len(all)-1].String(), `"{}"`, "nobody waits for its end")
		assert.Assert(t, len(all[0].payload) < 5000)
	}
}

// The splitter finds the frames that the codecs read.
func TestSplitAgreesWithCodecs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, f := range framing.Formats() {
		var stream []byte
		for range 200 {
			payload := bytes.Repeat([]byte("abc def"), 1+r.IntN(300))
			stream, _ = f.Framing(nil, framing.Limits{}).AppendFrame(stream, payload)
		}
		all := split(stream, 1<<20, func() int { return 1 + r.IntN(3000) })
		codec := f.Framing(bytes.NewReader(stream), framing.Limits{})
		for _, p := range all {
			want, err := codec.ReadFrame(nil)
			assert.NilError(t, err)
			assert.Equal(t, string(p.payload), string(want), f.Name)
			assert.Equal(t, cmp.Or(p.framing, "newline"), f.Name)
		}
		_, err := codec.ReadFrame(nil)
		assert.Equal(t, err, io.EOF)
	}
}

// The frames do not depend on the chunks of a stream.
func FuzzSplit(f *testing.F) {
	f.Add([]byte("{}\r\nContent-Length: 2\r\nX: y\r\n\r\n{}junk\n"), uint64(1))
	f.Add([]byte("Content-Length: 9\n\nab"), uint64(2))
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		const limit = 100
		r := rand.New(rand.NewPCG(seed, seed))
		whole := split(stream, limit, func() int { return len(stream) })
		cut := split(stream, limit, func() int { return r.IntN(20) })
		assert.Equal(t, fmt.Sprint(cut), fmt.Sprint(whole))
		for _, p := range whole {
			assert.Assert(t, len(p.payload) <= limit && p.size >= int64(len(p.payload)))
			assert.Equal(t, p.sha256 != "", p.size > limit, p)
		}
	})
}
