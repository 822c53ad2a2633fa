package sse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/growth"
	"github.com/stdwire/stdwire/internal/sse"
)

const longest = time.Duration(math.MaxInt64 / time.Millisecond * time.Millisecond)

// events reads a stream to its end. An error that is not final is an event of the type "lost".
func events(t *testing.T, src io.Reader, limits sse.Limits) outcome {
	t.Helper()
	r := sse.NewReader(src, limits)
	var out outcome
	for {
		e, err := r.Next()
		if limit, lost := errors.AsType[*sse.LimitError](err); lost {
			out.Events = append(out.Events,
				event{Type: "lost", Data: fmt.Sprintf("%s over %d", limit.Field, limit.Limit)})
			continue
		}
		if err != nil {
			assert.Equal(t, err, io.EOF)
			break
		}
		out.Events = append(out.Events, taken(e))
	}
	_, err := r.Next()
	assert.Equal(t, err, io.EOF, "once more")
	out.Last, out.Retry = r.LastEventID(), -1
	if wait, said := r.Retry(); said {
		out.Retry = int(wait.Milliseconds())
	}
	return out
}

// parts delivers one part a read.
type parts [][]byte

func (p *parts) Read(b []byte) (int, error) {
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(b, (*p)[0])
	if (*p)[0] = (*p)[0][n:]; len((*p)[0]) == 0 {
		*p = (*p)[1:]
	}
	return n, nil
}

func message(data ...string) (out []event) {
	for _, d := range data {
		out = append(out, event{"", "message", d})
	}
	return out
}

const priming = "id: s1-0\nretry: 500\ndata: \n\n"

var streams = []struct {
	name, in string
	want     outcome // Retry 0 stands for -1, not said
}{
	{"nothing", "", outcome{}},
	{"one event", "data: a\n\n", outcome{Events: message("a")}},
	{"LF", "data: a\ndata: b\n\ndata: c\n\n", outcome{Events: message("a\nb", "c")}},
	{"CR", "data: a\rdata: b\r\rdata: c\r\r", outcome{Events: message("a\nb", "c")}},
	{"CRLF", "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", outcome{Events: message("a\nb", "c")}},
	{"all three line ends", "data: a\rdata: b\n\r\ndata: c\r\n\rdata: d\n\n",
		outcome{Events: message("a\nb", "c", "d")}},
	{"LF CR is two line ends", "data: a\n\rdata: b\n\r", outcome{Events: message("a", "b")}},
	{"CR CR LF is two line ends", "data: a\r\r\ndata: b\r\n\n", outcome{Events: message("a", "b")}},
	{"no other line ends", "data: a\v\f\u0085\u2028\u2029b\n\n",
		outcome{Events: message("a\v\f\u0085\u2028\u2029b")}},
	{"data joined by LF", "data: YHOO\ndata: +2\ndata: 10\n\n",
		outcome{Events: message("YHOO\n+2\n10")}},
	{"other fields between data", "data: a\nx: y\n: z\nid: 1\ndata: b\n\n",
		outcome{Events: []event{{"1", "message", "a\nb"}}, Last: "1"}},
	{"one space after the colon", "data:a\n\ndata: a\n\ndata:  a\n\ndata:\ta\n\ndata: a \n\n",
		outcome{Events: message("a", "a", " a", "\ta", "a ")}},
	{"a space before the colon", "data : a\n data: b\n\n", outcome{}},
	{"a value with colons", "data: {\"a\":1}\ndata:::\n\n",
		outcome{Events: message("{\"a\":1}\n::")}},
	{"a line without colon", "data\n\ndata\ndata\n\ndata:\n", outcome{Events: message("", "\n")}},
	{"unknown lines without colon", "dat\ndatabase\nx\ndata: a\nrubbish\n\n",
		outcome{Events: message("a")}},
	{"names to the letter", "Data: a\nDATA: b\ndata2: c\ndat: d\n\ndata: e\n\n",
		outcome{Events: message("e")}},
	{"blank lines", "\n\n\r\n\r\rdata: a\n\n\n\n\n", outcome{Events: message("a")}},
	{"comments", ":\n: b\ndata: 1\n:data: 2\r:" + strings.Repeat("x", 9000) +
		"\ndata: 3\n\n:data: 4\n\n:\r\n", outcome{Events: message("1\n3")}},
	{"a type", "event: add\ndata: 1\n\n", outcome{Events: []event{{"", "add", "1"}}}},
	{"the type is reset", "event: add\ndata: 1\n\ndata: 2\n\n",
		outcome{Events: []event{{"", "add", "1"}, {"", "message", "2"}}}},
	{"the type is reset without data", "event: add\n\ndata: 1\n\n", outcome{Events: message("1")}},
	{"the last type counts", "event: a\nevent: b\ndata: 1\n\nevent: a\nevent\ndata: 2\n\n",
		outcome{Events: []event{{"", "b", "1"}, {"", "message", "2"}}}},
	{"an empty type", "event:\ndata: 1\n\nevent: \ndata: 2\n\nevent\ndata: 3\n\n",
		outcome{Events: message("1", "2", "3")}},
	{"the id persists", "id: 1\ndata: a\n\ndata: b\n\n",
		outcome{Events: []event{{"1", "message", "a"}, {"1", "message", "b"}}, Last: "1"}},
	{"the id is reset by an empty one",
		": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
		outcome{Events: []event{{"1", "message", "first event"}, {"", "message", "second event"},
			{"", "message", " third event"}}}},
	{"an id with NUL is ignored", "id: 1\nid: a\x00b\ndata: x\n\n",
		outcome{Events: []event{{"1", "message", "x"}}, Last: "1"}},
	{"NUL elsewhere is not", "event: a\x00\ndata: \x00\n\ndata\x00: x\n\n",
		outcome{Events: []event{{"", "a\x00", "\x00"}}}},
	{"an event without data, but with an id", "id: 7\nevent: x\n\n", outcome{Last: "7"}},
	{"the id of an incomplete event does not count", "id: 1\n\nid: 2\ndata: a\n",
		outcome{Last: "1"}},
	{"an incomplete event", "data: a\n\ndata: b\n", outcome{Events: message("a")}},
	{"an incomplete line", "data: a\n\ndata: b\n\ndata: c", outcome{Events: message("a", "b")}},
	{"an incomplete line end", "data: a\r\n\r", outcome{Events: message("a")}},
	{"retry", "retry: 1500\n\n", outcome{Retry: 1500}},
	{"retry counts at the end of its line", "retry:1500\n", outcome{Retry: 1500}},
	{"retry without line end", "retry: 1500", outcome{}},
	{"retry is digits only",
		"retry: 7\nretry: 8x\nretry: -9\nretry: +9\nretry:  9\nretry: 1.5\nretry:\nretry\nretry: ١\n\n",
		outcome{Retry: 7}},
	{"retry with zeros first", "retry: 0007\n\n", outcome{Retry: 7}},
	{"retry beyond any time", "retry: 9999999999999999999999999\n\n",
		outcome{Retry: int(longest.Milliseconds())}},
	{"a byte order mark", "\ufeffdata: a\n\n", outcome{Events: message("a")}},
	{"a byte order mark alone", "\ufeff\ndata: a\n\n", outcome{Events: message("a")}},
	{"a byte order mark before a comment", "\ufeff:data\ndata: a\n\n",
		outcome{Events: message("a")}},
	{"two byte order marks", "\ufeff\ufeffdata: 1\n\ndata: 2\n\n", outcome{Events: message("2")}},
	{"a byte order mark later", "data: 1\n\n\ufeffdata: 2\n\ufeff\n\ndata: \ufeff3\n\n",
		outcome{Events: message("1", "\ufeff3")}},
	{"a byte order mark before the longest name", "\ufeffevent: x\ndata: a\n\n",
		outcome{Events: []event{{"", "x", "a"}}}},
	{"a byte order mark for a line", "data: 1\n\ufeff\ndata: 2\n\n",
		outcome{Events: message("1\n2")}},
	{"half a byte order mark", "\xef\xbbdata: 1\n\ndata: 2\n\n", outcome{Events: message("2")}},
	{"UTF-8", "event: é\nid: …\ndata: ok…☃😀\n\n",
		outcome{Events: []event{{"…", "é", "ok…☃😀"}}, Last: "…"}},
	{"not UTF-8", "event: \xff\nid: \xc0\ndata: {\"a\":\"\xe2\x82\"}\n\n",
		outcome{Events: []event{{"\ufffd", "\ufffd", "{\"a\":\"\ufffd\"}"}}, Last: "\ufffd"}},
	{"a character cut by the line end", "data: \xe2\x82\ndata: \xac\n\n",
		outcome{Events: message("\ufffd\n\ufffd")}},
	{"a resumable stream begins", priming + "id: s1-1\nevent: message\ndata: {}\n\n",
		outcome{Events: []event{{"s1-0", "message", ""}, {"s1-1", "message", "{}"}}, Last: "s1-1",
			Retry: 500}},
	{"the endpoint of HTTP+SSE", "event: endpoint\ndata: /messages?session=1\n\n",
		outcome{Events: []event{{"", "endpoint", "/messages?session=1"}}}},
}

func TestStreams(t *testing.T) {
	for _, s := range streams {
		t.Run(s.name, func(t *testing.T) {
			if s.want.Retry == 0 {
				s.want.Retry = -1
			}
			assert.DeepEqual(t, events(t, strings.NewReader(s.in), sse.Limits{}), s.want)
			assert.DeepEqual(t, interpret([]byte(s.in)), s.want)
		})
	}
}

// All that is read is the same, however it comes.
func TestEverySplit(t *testing.T) {
	limits := []sse.Limits{{}, {MaxData: 1, MaxField: 1}, {MaxData: 3, MaxField: 2}}
	for _, s := range streams {
		for _, l := range limits {
			want := events(t, strings.NewReader(s.in), l)
			for name, cut := range map[string]func(io.Reader) io.Reader{
				"one byte a read": iotest.OneByteReader, "half reads": iotest.HalfReader,
				"data with the error": iotest.DataErrReader,
			} {
				assert.DeepEqual(t, events(t, cut(strings.NewReader(s.in)), l), want)
				if t.Failed() {
					t.Fatalf("%s: %s", s.name, name)
				}
			}
			for i := range len(s.in) + 1 {
				got := events(t, &parts{[]byte(s.in[:i]), []byte(s.in[i:])}, l)
				assert.Assert(t, same(got, want), "%s, cut at %d: %v, not %v", s.name, i, got, want)
			}
		}
	}
}

// The table of the Unicode Standard's section 3.9 on U+FFFD, and the edges of every range.
func TestIllFormedUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82A":         "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdA",
		"\xED\xA0\x80\xED\xBF\xBF\xED\xAFA":         "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdA",
		"\xF4\x91\x92\x93\xFFA\x80\xBFB":            "\ufffd\ufffd\ufffd\ufffd\ufffdA\ufffd\ufffdB",
		"\xE1\x80\xE2\xF0\x91\x92\xF1\xBFA":         "\ufffd\ufffd\ufffd\ufffdA",
		"a\xC2":                                     "a\ufffd",
		"\xF4\x8F\xBF":                              "\ufffd",
		"\xF4\x8F\xBF\xBF\xED\x9F\xBF\xEE\x80\x80":  "\U0010ffff\ud7ff\ue000",
		"\xE0\x9F\xE0\xA0\xF0\x8F\xF0\x90\xF4\x90Z": "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdZ",
	} {
		got := events(t, strings.NewReader("data:"+in+"\n\n"), sse.Limits{})
		assert.DeepEqual(t, got.Events, message(want))
	}
	// Every lead, with every second byte that is not ASCII and the edges of the third's range.
	for a := 0xC0; a <= 0xFF; a++ {
		for b := 0x7F; b <= 0xFF; b++ {
			for _, c := range []byte{'a', 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2} {
				in := []byte("data:x")
				in = append(in, byte(a), byte(b), c, '\n', '\n')
				got, want := events(t, bytes.NewReader(in), sse.Limits{}), interpret(in)
				assert.Assert(t, same(got, want), "%q: %q, not %q", in, got, want)
			}
		}
	}
}

// A reader that must not be read beyond what it has.
type noMore struct {
	t *testing.T
	parts
}

func (n *noMore) Read(b []byte) (int, error) {
	if len(n.parts) == 0 {
		n.t.Fatal("the event was complete, and yet more was read")
	}
	return n.parts.Read(b)
}

func TestDispatchedAtOnce(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\r", "\r\n\r\n", "\r\n\r", "\n\r"} {
		src := &noMore{t: t}
		r := sse.NewReader(src, sse.Limits{})
		for i := range 3 {
			src.parts = append(src.parts, fmt.Appendf(nil, "data: %d%s", i, end))
			e, err := r.Next()
			assert.NilError(t, err)
			assert.DeepEqual(t, taken(e), event{"", "message", fmt.Sprint(i)})
		}
	}
	// The LF of a CRLF may come with the next event.
	src := &noMore{t: t, parts: parts{[]byte("data: 1\r\n\r")}}
	r := sse.NewReader(src, sse.Limits{})
	for _, next := range []string{"\ndata: 2\r\n\r", "\n"} {
		_, err := r.Next()
		assert.NilError(t, err)
		src.parts = parts{[]byte(next)}
	}
	src.parts = append(src.parts, []byte("data: 3\r\r"))
	e, err := r.Next()
	assert.NilError(t, err)
	assert.Equal(t, string(e.Data), "3")
}

func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []event
	}{
		{"data at the limit", "data: 12345678\n\n", message("12345678")},
		{"data over it", "data: 123456789\n\n", []event{{"", "lost", "data over 8"}}},
		{"lines at the limit", "data: 123\ndata: 4567\n\n", message("123\n4567")},
		{"lines over it", "data: 1234\ndata: 5678\n\n", []event{{"", "lost", "data over 8"}}},
		{"an LF over it", "data: 12345678\ndata\n\n", []event{{"", "lost", "data over 8"}}},
		{"told once an event", "data: 123456789\ndata: 123456789\nid: 12345\n\n",
			[]event{{"", "lost", "data over 8"}}},
		{"told at once", "data: 123456789", []event{{"", "lost", "data over 8"}}},
		{"the stream goes on", "data: 123456789\ndata: 1\n\ndata: 2\n\n",
			[]event{{"", "lost", "data over 8"}, {"", "message", "2"}}},
		{"twice", "data: 123456789\n\ndata: 123456789\n\ndata: 3\n\n",
			[]event{{"", "lost", "data over 8"}, {"", "lost", "data over 8"},
				{"", "message", "3"}}},
		{"the id of a lost event", "id: 1\ndata: 123456789\nid: 2\n\ndata: a\n\n",
			[]event{{"", "lost", "data over 8"}, {"2", "message", "a"}}},
		{"the type of a lost event", "event: x\ndata: 123456789\nevent: y\n\ndata: a\n\n",
			[]event{{"", "lost", "data over 8"}, {"", "message", "a"}}},
		{"fields at the limit", "id: 1234\nevent: abcd\nretry: 1000\ndata\n\n",
			[]event{{"1234", "abcd", ""}}},
		{"an id over it", "id: 1\n\nid: 12345\ndata: a\n\ndata: b\n\n",
			[]event{{"", "lost", "id over 4"}, {"1", "message", "b"}}},
		{"a type over it", "event: abcde\ndata: a\n\ndata: b\n\n",
			[]event{{"", "lost", "event over 4"}, {"", "message", "b"}}},
		{"retry over it", "retry: 10000\ndata: a\n\ndata: b\n\n",
			[]event{{"", "lost", "retry over 4"}, {"", "message", "b"}}},
		{"what has no meaning has no limit",
			":123456789\nunknown: 123456789\n123456789\ndata: a\n\n", message("a")},
		{"as received", "data: \xff\xff\xff\xff\xff\xff\xff\xff\n\n",
			message(strings.Repeat("\ufffd", 8))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, cut := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader {
				return r
			}, iotest.OneByteReader} {
				assert.DeepEqual(t,
					events(t, cut(strings.NewReader(tt.in)),
						sse.Limits{MaxData: 8, MaxField: 4}).Events, tt.want)
			}
		})
	}
	for field, want := range map[string]string{
		"data": "sse: data of an event is over the limit of 8 bytes: send less, or raise Limits.MaxData",
		"id":   "sse: id of an event is over the limit of 4 bytes: send less, or raise Limits.MaxField",
	} {
		_, err := sse.NewReader(strings.NewReader(field+": 123456789\n\n"),
			sse.Limits{MaxData: 8, MaxField: 4}).Next()
		assert.Error(t, err, want)
	}
	in := "id: " + strings.Repeat("x", sse.DefaultMaxField) + "\ndata\n\nid: " +
		strings.Repeat("x", sse.DefaultMaxField+1) + "\n\n"
	got := events(t, strings.NewReader(in), sse.Limits{MaxData: -1}).Events
	assert.Equal(t, len(got), 2)
	assert.Equal(t, got[1].Data, "id over 4096")
}

// endless repeats data until it has delivered n bytes, and nothing else of it is held.
func endless(head, repeated, tail string, n int) io.Reader {
	return io.MultiReader(strings.NewReader(head),
		io.LimitReader(&loop{data: []byte(repeated)}, int64(n)), strings.NewReader(tail))
}

type loop struct {
	data []byte
	at   int
}

func (l *loop) Read(p []byte) (int, error) {
	n := copy(p, l.data[l.at:])
	l.at = (l.at + n) % len(l.data)
	return n, nil
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestMemory(t *testing.T) {
	const size = 32 << 20
	filler := strings.Repeat("x", 4096)
	for _, tt := range []struct {
		name, head, repeated, tail string
		lost                       bool
	}{
		{"an endless comment", ":", filler, "\n", false},
		{"an endless unknown field", "x: ", filler, "\n", false},
		{"an endless name", "", filler, "\n", false},
		{"endless data", "data: ", filler, "\n\n", true},
		{"endless lines of data", "", "data: x\n", "\n", true},
		{"an endless id", "id: ", filler, "\n\n", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := heap()
			r := sse.NewReader(endless(tt.head, tt.repeated, tt.tail+"data: end\n\n", size),
				sse.Limits{MaxData: 1 << 20})
			e, err := r.Next()
			if tt.lost {
				assert.ErrorContains(t, err, "over the limit")
				e, err = r.Next()
			}
			assert.NilError(t, err)
			assert.Equal(t, string(e.Data), "end")
			assert.Assert(t, heap()-before < 2<<20)
			runtime.KeepAlive(r)
		})
	}
	t.Run("given back after a large event", func(t *testing.T) {
		before := heap()
		r := sse.NewReader(endless("data: ", filler, "\n\ndata: end\n\n", size), sse.Limits{})
		e, err := r.Next()
		assert.NilError(t, err)
		assert.Equal(t, len(e.Data), size)
		e, err = r.Next()
		assert.NilError(t, err)
		assert.Equal(t, string(e.Data), "end")
		assert.Assert(t, heap()-before < 1<<20)
		runtime.KeepAlive(r)
	})
}

// Lines that all end in the same way are not searched over and over for the other end. Such a
// search goes to the end of the buffer, which grows with the stream up to the larger of the two
// sizes here.
func TestShortLines(t *testing.T) {
	for _, end := range []string{"\r", "\n", "\r\n"} {
		growth.Linear(t, 15_500, func(n int) func() {
			stream := strings.Repeat(":"+end, n) + "data" + end + end
			return func() {
				_, err := sse.NewReader(strings.NewReader(stream), sse.Limits{}).Next()
				assert.NilError(t, err)
			}
		})
	}
}

func TestSourceErrors(t *testing.T) {
	broken := errors.New("broken")
	r := sse.NewReader(
		io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)),
		sse.Limits{})
	e, err := r.Next()
	assert.NilError(t, err)
	assert.Equal(t, string(e.Data), "a")
	for range 2 {
		_, err = r.Next()
		assert.Equal(t, err, broken)
	}

	_, err = sse.NewReader(silent{}, sse.Limits{}).Next()
	assert.Equal(t, err, io.ErrNoProgress)
}

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

func TestReset(t *testing.T) {
	read := func(r *sse.Reader) (out []event) {
		for {
			e, err := r.Next()
			if err != nil {
				assert.Equal(t, err, io.EOF)
				return out
			}
			out = append(out, taken(e))
		}
	}
	r := sse.NewReader(
		strings.NewReader("id: 1\nretry: 20\ndata: a\n\nid: 2\nevent: x\ndata: half an event\r"),
		sse.Limits{})
	assert.DeepEqual(t, read(r), []event{{"1", "message", "a"}})

	// The mark is dropped again, the LF is a blank line, and the half event and its id are gone.
	r.Reset(strings.NewReader("\ufeff\n\ndata: b\n\nid: 3\ndata: c\n\nda"))
	assert.DeepEqual(t, read(r), []event{{"1", "message", "b"}, {"3", "message", "c"}})
	wait, said := r.Retry()
	assert.Assert(t, said && wait == 20*time.Millisecond)

	r.Reset(strings.NewReader("ta: d\n\nid\n\ndata: e\n\n"))
	assert.DeepEqual(t, read(r), []event{{"", "message", "e"}})
	assert.Equal(t, r.LastEventID(), "")

	// The LF is a line of its own, behind the CR of before or not, so that the mark is not the
	// stream's first.
	r = sse.NewReader(strings.NewReader("data: a\r\r"), sse.Limits{})
	assert.DeepEqual(t, read(r), message("a"))
	r.Reset(strings.NewReader("\n\ufeffdata: b\n\ndata: c\n\n"))
	assert.DeepEqual(t, read(r), message("c"))

	// Also when too much was the last that came.
	r = sse.NewReader(strings.NewReader("data: 12345"), sse.Limits{MaxData: 4})
	_, err := r.Next()
	assert.ErrorContains(t, err, "over the limit")
	r.Reset(strings.NewReader("data: f\n\n"))
	assert.DeepEqual(t, read(r), message("f"))
}

func FuzzReader(f *testing.F) {
	for _, s := range streams {
		f.Add([]byte(s.in), 1, 8, 4)
	}
	f.Add([]byte("data: ~~\rdata: ~\r\n\r:~~~\n\n"), 100_000, 70_000, 40_000)
	f.Fuzz(func(t *testing.T, in []byte, chunk, maxData, maxField int) {
		if bytes.IndexByte(in, '~') >= 0 { // short to mutate, long to read
			in, chunk = bytes.Replace(in, []byte("~"), bytes.Repeat([]byte("~"), 30_000), 8),
				max(chunk, 1000)
		}
		var cut parts
		for c := range slices.Chunk(in, max(1, chunk&0x1ffff)) {
			cut = append(cut, c)
		}
		want := interpret(in)
		got := events(t, bytes.NewReader(in),
			sse.Limits{MaxField: max(sse.DefaultMaxField, len(in))})
		assert.Assert(t, same(got, want), "%q: %q, not %q", in, got, want)

		limits := sse.Limits{MaxData: 1 + maxData&0x1ffff, MaxField: 1 + maxField&0xffff}
		whole := events(t, bytes.NewReader(in), limits)
		again := events(t, &cut, limits)
		assert.Assert(t, same(again, whole), "%q cut into %d: %q, not %q", in, chunk, again, whole)
		for _, e := range whole.Events {
			assert.Assert(t, len(e.Data) <= 3*limits.MaxData ||
				e.Type == "lost", "%d bytes within %d", len(e.Data), limits.MaxData)
		}
	})
}
