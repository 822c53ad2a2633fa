package tap

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stdwire/stdwire/framing"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

const closeTimeout = time.Minute

// record records messages. Each starts with "> " from the client or "< " from the server.
func record(t *testing.T, o Options, messages ...string) string {
	t.Helper()
	var to bytes.Buffer
	o.To = &to
	if o.MaxSize == 0 {
		o.MaxSize = 1 << 30
	}
	if o.Warn == nil {
		o.Warn = func(err error) { t.Errorf("warned: %v", err) }
	}
	r := o.Start()
	for _, line := range messages {
		side := r.Client
		if line[0] == '<' {
			side = r.Server
		}
		side.observe([]byte(line[2:]))
	}
	assert.Assert(t, r.Close(0, closeTimeout))
	return to.String()
}

var times = regexp.MustCompile(`"t":[0-9.e-]+,|"at":"[^"]+",?|"ms":[0-9.e-]+,?`)

// withoutTimes returns a recording without the values that differ in each run.
func withoutTimes(recording string) string { return times.ReplaceAllString(recording, "") }

func TestRecording(t *testing.T) {
	got := record(t, Options{Command: []string{"srv", "--token", "x"}},
		"> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\", \"arguments\":{\"<a>\":1}}}\n",
		"< Starting…\r\n",
		"< {\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n{\"result\":{\"isError\" : true},\"id\":1,\"jsonrpc\":\"2.0\"}\n",
		"< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n",
		"> {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"x\"}\n",
		"< Content-Length: 48\r\n\r\n{\n\"id\":\"a\",\"error\":{\"code\":-32601,\"message\":\"\"}}",
		"< [{\"id\":1,\"method\":\"ping\"},{\"id\":2,\"method\":\"ping\"},3]\n",
		"> [{\"id\":2,\"result\":{}},{\"id\":1,\"error\":{}}]\n",
		"< \xff\xfe\n",
		"< {\"half\":",
	)
	assert.Equal(t, withoutTimes(got), `{"kind":"start","version":1,"command":["srv","--token","x"]}
{"n":1,"from":"client","kind":"request","method":"tools/call","about":"echo","id":1,"size":94,"frame":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo", "arguments":{"<a>":1}}}}
{"n":2,"from":"server","kind":"junk","size":11,"text":"Starting…"}
{"n":3,"from":"server","kind":"notification","method":"note","size":33,"frame":{"jsonrpc":"2.0","method":"note"}}
{"n":4,"from":"server","kind":"response","method":"tools/call","about":"echo","id":1,"of":1,"failed":"isError","size":52,"frame":{"result":{"isError" : true},"id":1,"jsonrpc":"2.0"}}
{"n":5,"from":"server","kind":"response","id":1,"size":36,"frame":{"jsonrpc":"2.0","id":1,"result":{}}}
{"n":6,"from":"client","kind":"request","method":"x","id":"a","size":39,"frame":{"jsonrpc":"2.0","id":"a","method":"x"}}
{"n":7,"from":"server","kind":"response","method":"x","id":"a","of":6,"failed":"error -32601","size":48,"by_length":true,"text":"{\n\"id\":\"a\",\"error\":{\"code\":-32601,\"message\":\"\"}}"}
{"n":8,"from":"server","kind":"batch","size":53,"messages":[{"kind":"request","method":"ping","id":1,"size":24},{"kind":"request","method":"ping","id":2,"size":24},{"kind":"junk","size":1}],"frame":[{"id":1,"method":"ping"},{"id":2,"method":"ping"},3]}
{"n":9,"from":"client","kind":"batch","size":42,"messages":[{"kind":"response","method":"ping","id":2,"of":8,"size":20},{"kind":"response","method":"ping","id":1,"of":8,"failed":"error","size":19}],"frame":[{"id":2,"result":{}},{"id":1,"error":{}}]}
{"n":10,"from":"server","kind":"junk","size":2,"bytes":"//4="}
{"n":11,"from":"server","kind":"junk","size":8,"text":"{\"half\":"}
{"kind":"end","status":0,"client_bytes":178,"server_bytes":272}
`)
}

// A response with the id of its request in another notation is for that request, unless another
// request without a response has exactly the id. Requests are never paired in this way.
func TestOtherIDs(t *testing.T) {
	got := record(t, Options{},
		`> {"id":77,"method":"a"}`+"\n", `> {"id":"77","method":"b"}`+"\n",
		`< {"id":"77","result":{}}`+"\n", `< {"id":"77","result":{}}`+"\n",
		`< {"id":"77","result":{}}`+"\n",
		`> [{"id":8,"method":"c"},{"id":"x","method":"d"}]`+"\n",
		`< [{"id":8.0,"result":{}},{"id":"\u0078","result":{}}]`+"\n",
		`> {"id":"9","method":"e"}`+"\n", `< {"id":9,"result":{}}`+"\n",
	)
	all, err := read(got)
	assert.Equal(t, err, io.EOF)
	var s Stats
	var lines []string
	for _, r := range all {
		s.Add(r)
		messages, _ := r.All()
		for _, m := range messages {
			if m.Type == Response {
				lines = append(lines, fmt.Sprintf("%s %d %s %s", m.ID, m.RequestFrame, m.Method,
					m.RequestID))
			}
		}
	}
	assert.DeepEqual(t, lines, []string{`"77" 2 b `, `"77" 1 a 77`, `"77" 0  `, `8.0 6 c 8`,
		`"\u0078" 0  `, `9 0  `})
	report := s.Report()
	assert.Equal(t, report.OtherIDs, int64(2))
	lines = nil
	for _, u := range report.Unanswered {
		lines = append(lines, u.Method)
	}
	assert.DeepEqual(t, lines, []string{"d", "e"})
	assert.Equal(t, len(report.Unmatched), 3)
}

func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var to bytes.Buffer
		r := Options{To: &to, MaxSize: 1 << 20}.Start()
		time.Sleep(time.Second)
		r.Client.observe([]byte(`{"id":1,"method":"a"}` + "\n" + `{"id":1,`))
		time.Sleep(1234567 * time.Nanosecond)
		r.Server.observe([]byte(`{"id":1,"result":{}}` + "\n"))
		assert.Assert(t, r.Close(3, closeTimeout))
		assert.Assert(t, cmp.Contains(to.String(), `{"t":1,"at":"2000-01-01T00:00:01Z","n":1,`))
		assert.Assert(t, cmp.Contains(to.String(), `{"t":1.001234,`))
		assert.Assert(t, cmp.Contains(to.String(), `"ms":1.234,`))
		assert.Assert(t, cmp.Contains(to.String(), `"kind":"end","status":3,`))
	})
}

// Every byte passes, in whatever chunks, and the recording has the same bytes.
func TestTransparent(t *testing.T) {
	for seed := range uint64(8) {
		var to bytes.Buffer
		recorder := Options{To: &to, MaxSize: 1 << 30,
			Warn: func(err error) { t.Error(err) }}.Start()
		var wg sync.WaitGroup
		var frames [2]int
		for i, side := range []*Side{recorder.Client, recorder.Server} {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			var stream []byte
			for range 60 {
				payload := fmt.Appendf(nil,
					`{"jsonrpc":"2.0","id":%d,"method":"m","params":{"x":"%s"}}`, r.IntN(9),
					strings.Repeat("y", r.IntN(2000)))
				switch r.IntN(5) {
				case 0:
					stream = append(append(stream, payload...), "\r\n"...)
				case 1:
					stream, _ = framing.ContentLength(nil, framing.Limits{}).AppendFrame(stream,
						payload)
				case 2:
					stream = append(stream, "\x00\xff junk \x1b[1m\n"...)
				case 3:
					stream = append(stream, payload[:r.IntN(len(payload))]...)
				default:
					stream = append(append(stream, payload...), '\n')
				}
			}
			frames[i] = len(split(stream, MaxFrame, func() int { return len(stream) }))
			pr, pw := io.Pipe()
			wg.Go(func() {
				for rest := stream; len(rest) > 0; {
					n := min(1+r.IntN(700), len(rest))
					_, _ = pw.Write(rest[:n])
					rest = rest[n:]
				}
				_ = pw.Close()
			})
			out, in := io.Pipe()
			wg.Go(func() {
				assert.Check(t, side.Copy(in, pr))
				_ = in.Close()
			})
			wg.Go(func() {
				got, err := io.ReadAll(out)
				assert.Check(t, err)
				assert.Check(t, bytes.Equal(got, stream))
			})
		}
		wg.Wait()
		assert.Assert(t, recorder.Close(0, closeTimeout))
		var s Stats
		for reader := NewReader(&to); ; {
			record, _, err := reader.Next()
			if err == io.EOF {
				break
			}
			assert.NilError(t, err)
			s.Add(record)
		}
		report := s.Report()
		assert.Equal(t, report.Client.Frames, int64(frames[0]))
		assert.Equal(t, report.Server.Frames, int64(frames[1]))
	}
}

// The start of a frame passes before its end has been read.
func TestAtOnce(t *testing.T) {
	r := Options{}.Start()
	in, client := io.Pipe()
	server, out := io.Pipe()
	copied := make(chan error, 1)
	go func() { copied <- r.Client.Copy(out, in) }()
	buf := make([]byte, 100)
	for _, half := range []string{`{"jsonrpc"`, `:"2.0"}`, "\n", "Content-Le"} {
		_, err := client.Write([]byte(half))
		assert.NilError(t, err)
		n, err := server.Read(buf)
		assert.NilError(t, err)
		assert.Equal(t, string(buf[:n]), half)
	}
	broken := errors.New("broken")
	server.CloseWithError(broken)
	_, err := client.Write([]byte("x"))
	assert.NilError(t, err)
	assert.Equal(t, <-copied, broken)
	assert.Assert(t, r.Close(0, closeTimeout))
}

func TestReadError(t *testing.T) {
	r := Options{}.Start()
	broken := errors.New("broken")
	var out bytes.Buffer
	assert.Equal(t, r.Server.Copy(&out,
		io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken))), broken)
	assert.Equal(t, out.String(), "abc")
	assert.Assert(t, r.Close(0, closeTimeout))
}

// A recording that is not read delays nothing and is bounded; dropped frames are reported.
func TestSlowRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		few := limits{frame: 1 << 10, queueBytes: 32 << 10, queueLength: 100}
		r := Options{To: out, MaxSize: 1 << 30, Warn: func(err error) { t.Error(err) },
			limits: few}.Start()
		big := append(bytes.Repeat([]byte("x"), 1<<10), '\n')
		for range 100 {
			r.Client.observe(big)
		}
		for range 200 {
			r.Server.observe([]byte("\"y\n"))
		}
		synctest.Wait()
		assert.Assert(t, r.queued.Load() <= few.queueBytes)
		assert.Assert(t, len(r.queue) <= few.queueLength)
		lost := r.lost.Load()
		// the writer's buffer has left the queue
		assert.Assert(t, lost >= 300-int64(few.queueLength)-100, lost)
		go func() {
			assert.Check(t, r.Close(0, time.Hour))
			_ = out.Close()
		}()
		var s Stats
		for reader := NewReader(in); ; {
			record, _, err := reader.Next()
			if err == io.EOF {
				break
			}
			assert.NilError(t, err)
			s.Add(record)
		}
		report := s.Report()
		assert.Equal(t, report.Missing, lost)
		assert.Equal(t, report.Client.Frames+report.Server.Frames, 300-lost)
	})
}

// Close does not wait for a writer that blocks.
func TestStuckRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		r := Options{To: out, MaxSize: 1 << 30, Warn: func(error) {}}.Start()
		r.Client.observe([]byte("x\n"))
		began := time.Now()
		assert.Assert(t, !r.Close(0, closeTimeout))
		assert.Equal(t, time.Since(began), closeTimeout)
		_ = in.Close()
		<-r.done
	})
}

func TestFull(t *testing.T) {
	var warned []error
	const maxSize = 4 << 10
	shown := 0
	messages := strings.Split(strings.Repeat("> {\"method\":\"a\"}\n|", 100), "|")
	got := record(t, Options{MaxSize: maxSize, Warn: func(err error) {
		warned = append(warned, err)
	}, Show: func(*Record) { shown++ }}, messages[:100]...)
	assert.Assert(t, len(got) <= maxSize, len(got))
	assert.Equal(t, len(warned), 1)
	assert.Equal(t, warned[0], ErrFull)
	assert.Equal(t, shown, 100)
	lines := strings.Count(got, `"n":`)
	assert.Assert(t, lines > 10 && lines < 100)
	assert.Assert(t, cmp.Contains(got, `"kind":"full"`))
	assert.Assert(t,
		cmp.Contains(got,
			fmt.Sprintf(`"kind":"end","status":0,"client_bytes":1500,"server_bytes":0,"missing":%d}`,
				100-lines)))
}

// A full disk ends the recording, is reported once, and changes nothing else.
func TestDiskFull(t *testing.T) {
	full := errors.New("no space left")
	var warned []error
	w := &limitedWriter{left: 300, err: full}
	r := Options{To: w, MaxSize: 1 << 30,
		Warn: func(err error) { warned = append(warned, err) }}.Start()
	var out bytes.Buffer
	for range 10 {
		assert.NilError(t, r.Client.Copy(&out, strings.NewReader("{\"method\":\"abc\"}\n")))
	}
	assert.Assert(t, r.Close(0, closeTimeout))
	assert.Equal(t, len(warned), 1)
	assert.Equal(t, warned[0], full)
	assert.Equal(t, out.Len(), 10*17)
	reader := NewReader(&w.Buffer)
	for {
		if _, _, err := reader.Next(); err != nil {
			assert.Equal(t, err, ErrTruncated)
			break
		}
	}
}

// A limitedWriter accepts a number of bytes.
type limitedWriter struct {
	bytes.Buffer
	left int
	err  error
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	n, _ := w.Buffer.Write(p[:min(w.left, len(p))])
	w.left -= n
	if n < len(p) {
		return n, w.err
	}
	return n, nil
}

func TestRedact(t *testing.T) {
	messages := []string{
		`> {"id":1,"method":"tools/call","params":{"name":"login","arguments":{"user":"zoë","pin":12345678901234,"on":true,"no":null,"more":{"k":"secret"},"list":["secret"]},"_meta":{"token":"zoë"}}}` +
			"\n",
		`< {"id":1,"result":{"content":[{"type":"text","text":"hello"}],"requestState":"secret","_meta":{"headers":"secret"},"arguments":[{"name":"x"}]}}` +
			"\n",
		`> {"id":2,"result":{"action":"accept","content":{"password":"secret"}}}` + "\n",
		"< the secret is secret\n",
		`< "secret"` + "\n",
		`< {"method":"y","params":{"inputSchema":{"properties":{"env":{"type":"object"}}},"env":{"KEY":"secret"}}}` +
			"\n",
		`> {"id":3,"method":"x","params":{"_meta":{},"headers":"secret","arguments":"secret"}` +
			"} \n",
	}
	got := record(t, Options{Redact: true, Command: []string{"srv", "--token=secret"}}, messages...)
	for _, secret := range []string{"secret", "zoë", "12345678901234"} {
		assert.Assert(t, !strings.Contains(got, secret), got)
	}
	for _, want := range []string{
		`"command":["srv"],"redacted":true`, `"user":"string(4) `, `"pin":"number(14) `,
		`"on":"boolean(4) `, `"no":null`, `"more":"object(1) `, `"list":"array(1) `,
		`"text":"hello"`, `"requestState":"string(6) `, `"arguments":[{"name":"x"}]`,
		`"password":"string(6) `, `"text":"text(20) `, `"_meta":{},`,
		`{"properties":{"env":{"type":"object"}}}`, `"arguments":"string(6) `,
	} {
		assert.Assert(t, cmp.Contains(got, want))
	}
	digests := regexp.MustCompile(
		`"(?:user|token)":"string\(4\) ([0-9a-f]{16})"`).FindAllStringSubmatch(got, -1)
	assert.Equal(t, len(digests), 2)
	assert.Equal(t, digests[0][1], digests[1][1], "the same is the same")
	other := record(t, Options{Redact: true}, messages...)
	assert.Assert(t, !strings.Contains(other, digests[0][1]), "in one recording")
}

// A redacted recording has no plain digest of a truncated frame, so that its content cannot be
// guessed; equal frames still have equal digests.
func TestRedactedDigestsCannotBeGuessed(t *testing.T) {
	frame := func(pin int) string {
		return fmt.Sprintf(`{"id":1,"method":"a","params":{"x":"%s","pin":"%03d"}}`,
			strings.Repeat("x", 1000), pin)
	}
	got := record(t, Options{Redact: true, limits: limits{1000, 1 << 20, 100}}, "> "+frame(471)+
		"\n", "> "+frame(471)+"\n", "> "+frame(472)+"\n")
	digests := regexp.MustCompile(`"sha256":"([0-9a-f]{64})"`).FindAllStringSubmatch(got, -1)
	assert.Equal(t, len(digests), 3, got)
	assert.Equal(t, digests[0][1], digests[1][1])
	assert.Assert(t, digests[0][1] != digests[2][1])
	for pin := range 1000 {
		for _, end := range []string{"", "\n"} {
			assert.Assert(t,
				fmt.Sprintf("%x", sha256.Sum256([]byte(frame(pin)+end))) != digests[0][1],
				"found by trying: %03d", pin)
		}
	}
}

func TestTruncatedFrames(t *testing.T) {
	const maxFrame = 1000
	large := strings.Repeat("x", maxFrame)
	got := record(t, Options{limits: limits{maxFrame, 1 << 20, 100}},
		`> {"id":1,"method":"a","params":{"name":"n"}}`+"\n",
		`< {"jsonrpc":"2.0","id":1,"result":{"x":"`+large+"\"}}\n",
		`> {"jsonrpc":"2.0","id":2,"method":"b","params":{"x":"`+large+"\"}}\n",
		"< "+large+large+"\n",
	)
	var kinds []string
	for reader := NewReader(strings.NewReader(got)); ; {
		r, _, err := reader.Next()
		if err == io.EOF {
			break
		}
		assert.NilError(t, err)
		if r.N > 1 {
			assert.Equal(t, len(r.Payload()), maxFrame)
			assert.Equal(t, len(r.SHA256), 64)
			kinds = append(kinds,
				fmt.Sprintf("%s %s %d %d", r.Type, r.Method, r.RequestFrame, r.Size-maxFrame))
		}
	}
	assert.DeepEqual(t, kinds, []string{"response a 1 42", "request b 0 55", "junk  0 1000"})
}
