package redis

import (
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"gotest.tools/v3/assert"
)

// text writes a reply as its types and texts.
func text(r Reply) string {
	if r.items == nil {
		return string(r.kind) + string(r.text)
	}
	var all []string
	for _, item := range r.items {
		all = append(all, text(item))
	}
	return string(r.kind) + "[" + strings.Join(all, " ") + "]"
}

func TestRead(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"+OK\r\n", "+OK"},
		{"-ERR no\r\n", "-ERR no"},
		{":-42\r\n", ":-42"},
		{"$5\r\na\r\nbc\r\n", "$a\r\nbc"},
		{"$0\r\n\r\n", "$"},
		{"$-1\r\n", "_"},
		{"*-1\r\n", "_"},
		{"_\r\n", "_"},
		{"#t\r\n", "#t"},
		{",1.5e3\r\n", ",1.5e3"},
		{"(3492890328409238509324850943850943825024385\r\n",
			"(3492890328409238509324850943850943825024385"},
		{"=7\r\ntxt:abc\r\n", "=abc"},
		{"!5\r\nERR x\r\n", "!ERR x"},
		{"*2\r\n:1\r\n*1\r\n+a\r\n", "*[:1 *[+a]]"},
		{"%1\r\n+k\r\n$1\r\nv\r\n", "%[+k $v]"},
		{"~1\r\n+k\r\n", "~[+k]"},
		{">2\r\n+message\r\n+a\r\n", ">[+message +a]"},
		{"|1\r\n+ttl\r\n:5\r\n:7\r\n", ":7"},
		{"$" + "70000\r\n" + strings.Repeat("a", 70000) + "\r\n", "$" + strings.Repeat("a", 70000)},
		{"+" + strings.Repeat("a", 20000) + "\r\n", "+" + strings.Repeat("a", 20000)},

		{"", "EOF"},
		{"+OK", "unexpected EOF"},
		{"$5\r\nabc", "unexpected EOF"},
		{"*2\r\n:1\r\n", "unexpected EOF"},
		{"$3\r\nabcd\r\n", "is no reply"},
		{"\r\n", "is no reply"},
		{"+OK\n", "is no reply"},
		{"hello\r\n", "is no reply"},
		{":x\r\n", "is no reply"},
		{":99999999999999999999\r\n", "is no reply"},
		{"#x\r\n", "is no reply"},
		{"$-2\r\n", "is no reply"},
		{"$?\r\n", "is no reply"},
		{"=2\r\nab\r\n", "is no reply"},
		{"$99999999999\r\n", "more than 1000000 bytes"},
		{"$9223372036854775807\r\n", "more than 1000000 bytes"},
		{"*2147483647\r\n", "more than 1000000 bytes"},
		{"%9223372036854775807\r\n", "more than 1000000 bytes"},
		{"*900000\r\n", "more than 1000000 bytes"},
		{"*2\r\n$600000\r\n" + strings.Repeat("a", 600000) + "\r\n$600000\r\n", "more than 1000000"},
		{"+" + strings.Repeat("a", 70000) + "\r\n", "line has more than 65536"},
		{strings.Repeat("*1\r\n", 17) + ":1\r\n", "nested more than 16 deep"},
		{strings.Repeat("|0\r\n", 17) + ":1\r\n", "nested more than 16 deep"},
	} {
		for _, source := range []io.Reader{
			strings.NewReader(tc.in), iotest.OneByteReader(strings.NewReader(tc.in)),
		} {
			reply, err := newReader(source, 1e6).read()
			if err != nil {
				assert.ErrorContains(t, err, tc.want, "%.40q", tc.in)
				continue
			}
			assert.Equal(t, text(reply), tc.want, "%.40q", tc.in)
		}
	}
}

// What a header claims is not allocated before it arrives.
func TestClaimsAreNotAllocated(t *testing.T) {
	for _, in := range []string{"$900000000\r\nabc", "*10000000\r\n:1\r\n"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := newReader(strings.NewReader(in), 1<<30).read()
		runtime.ReadMemStats(&after)
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
		allocated := after.TotalAlloc - before.TotalAlloc
		assert.Assert(t, allocated < 1_000_000, allocated)
	}
}

func TestReplyOfAnotherType(t *testing.T) {
	integer, array := Reply{kind: ':', text: []byte("1")}, Reply{kind: '*'}
	_, err := array.Bytes()
	assert.Error(t, err, `redis: the reply is of type '*', want a string`)
	_, err = array.Int()
	assert.Error(t, err, `redis: the reply is of type '*', want an integer`)
	_, err = integer.Items()
	assert.Error(t, err, `redis: the reply is of type ':', want an array`)
	_, err = Reply{kind: '-', text: []byte("ERR x")}.Int()
	assert.Assert(t, IsCode(err, "ERR"))
}

// A reply that is read is written and read again as the same; whatever comes, memory is bounded.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"+OK\r\n", "*2\r\n:1\r\n$3\r\nabc\r\n", "%1\r\n+k\r\n_\r\n",
		"|1\r\n+a\r\n:1\r\n,1.5\r\n", "=7\r\ntxt:abc\r\n", ">1\r\n#t\r\n", "$999999999999\r\n"} {
		f.Add(seed)
	}
	var write func(b *strings.Builder, r Reply)
	write = func(b *strings.Builder, r Reply) {
		switch r.kind {
		case '_':
			b.WriteString("_\r\n")
		case '*', '~', '>', '%':
			n := len(r.items)
			if r.kind == '%' {
				n /= 2
			}
			b.WriteString(string(r.kind) + strconv.Itoa(n) + "\r\n")
			for _, item := range r.items {
				write(b, item)
			}
		case '$', '!':
			b.WriteString(string(r.kind) + strconv.Itoa(len(r.text)) + "\r\n" + string(r.text) + "\r\n")
		case '=':
			b.WriteString("=" + strconv.Itoa(len(r.text)+4) + "\r\ntxt:" + string(r.text) + "\r\n")
		default:
			b.WriteString(string(r.kind) + string(r.text) + "\r\n")
		}
	}
	f.Fuzz(func(t *testing.T, in string) {
		source := newReader(strings.NewReader(in), 1<<16)
		for {
			reply, err := source.read()
			if err != nil {
				known := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
					errors.Is(err, errProtocol)
				assert.Assert(t, known, err)
				return
			}
			var b strings.Builder
			write(&b, reply)
			again, err := newReader(strings.NewReader(b.String()), 1<<17).read()
			assert.NilError(t, err, "%q", b.String())
			assert.Equal(t, text(again), text(reply))
		}
	})
}
