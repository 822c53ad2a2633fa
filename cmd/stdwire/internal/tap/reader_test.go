package tap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"gotest.tools/v3/assert"
)

const head = `{"t":0,"kind":"start","version":1}` + "\n"

// read reads a recording to its end.
func read(recording string) (all []*Record, err error) {
	for r := NewReader(strings.NewReader(recording)); ; {
		record, _, err := r.Next()
		if err != nil {
			if _, _, next := r.Next(); next != err {
				panic("another error")
			}
			return all, err
		}
		all = append(all, record)
	}
}

func TestReader(t *testing.T) {
	const frame = `{"t":1,"n":1,"from":"client","kind":"request","method":"a","id":1,"frame":{"a": 1}}`
	for _, tt := range []struct {
		recording string
		records   int
		err       string
	}{
		{head + frame + "\n", 2, "EOF"},
		{head + frame, 2, "EOF"},
		{head + frame + "\n" + frame[:20], 2, "the recording ends in the middle of a line"},
		{head + frame[:20] + "\n" + frame + "\n", 1,
			"line 2 of the recording: unexpected end of JSON input"},
		{"", 0, "not a recording of stdwire tap"},
		{"hello", 0, "not a recording of stdwire tap"},
		{frame + "\n", 0, "not a recording of stdwire tap"},
		{strings.Replace(head, "1", "2", 1), 0, "not a recording of stdwire tap"},
		{head + `{"t":1,"kind":"request","method":"a"}` + "\n", 1,
			"line 2 of the recording: a frame needs a number and the side that it is from"},
		{head + `{"t":1,"n":1,"from":"me","kind":"junk"}` + "\n", 1,
			"line 2 of the recording: a frame needs a number and the side that it is from"},
		{head + `{"t":1,"kind":"song"}` + "\n", 1, `line 2 of the recording: unknown kind "song"`},
		{head + `{"t":1,"kind":"end"}` + "\n", 1,
			"line 2 of the recording: the end needs a status"},
	} {
		all, err := read(tt.recording)
		assert.Equal(t, len(all), tt.records, tt.recording)
		assert.Error(t, err, tt.err)
	}
	broken := errors.New("broken")
	_, _, err := NewReader(iotest.ErrReader(broken)).Next()
	assert.Equal(t, err, broken)
}

// Any file can be read as a recording without a panic, and the records can be written and read
// again.
func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"t":1,"n":1,"from":"client","kind":"request","method":"a","id":"x","of":1,"frame":{"id":"x","params":{"name":1}}}` +
		"\n" +
		`{"t":2,"n":2,"from":"server","kind":"response","id":"x","of":1,"failed":"error","text":"{\n"}` +
		"\n" + `{"t":3,"kind":"end","status":3}`))
	f.Add([]byte(`{"t":2,"n":2,"from":"server","kind":"batch","messages":[{"kind":"request"},{"kind":"notification","method":"notifications/cancelled"}],"bytes":"//4="}` +
		"\n"))
	f.Add([]byte(`{"t":2,"n":2,"from":"client","kind":"notification","method":"notifications/cancelled","frame":{"params":{"requestId":1}}}` +
		"\n" + `{"t":1,"kind":"dropped","lost":5}` + "\n"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		var stats Stats
		for r := NewReader(io.MultiReader(strings.NewReader(head), bytes.NewReader(lines))); ; {
			record, _, err := r.Next()
			if err != nil {
				break
			}
			stats.Add(record)
			messages, texts := record.All()
			assert.Equal(t, len(messages), len(texts))
			for _, text := range texts {
				if text != nil {
					Compare(text, text)
				}
			}
			line, err := record.Append(nil)
			assert.NilError(t, err)
			parsed, err := ParseRecord(line)
			assert.NilError(t, err, "%s", line)
			assert.Equal(t, string(parsed.Payload()), string(record.Payload()))
			assert.Equal(t, parsed.N, record.N)
		}
		stats.Report()
	})
}

// All traffic is in the recording, byte for byte.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"a","params":{"_meta":{"a":[1,{}]},"arguments":[ "\ud800" ]}}`+
		"\n"+`[{"id":1,"result":null}]`), true)
	f.Add([]byte("Content-Length: 3\r\n\r\n{\n}junk\xff\n"), false)
	f.Fuzz(func(t *testing.T, stream []byte, redact bool) {
		var to bytes.Buffer
		r := Options{To: &to, MaxSize: 1 << 30, Redact: redact,
			Warn: func(err error) { t.Error(err) }}.Start()
		r.Client.observe(stream)
		r.Server.observe(stream)
		assert.Assert(t, r.Close(0, closeTimeout))
		pieces := split(stream, MaxFrame, func() int { return len(stream) })
		i := 0
		for reader := NewReader(&to); ; {
			record, _, err := reader.Next()
			if err == io.EOF {
				break
			}
			assert.NilError(t, err)
			if record.N > 0 && record.From == FromClient {
				if !redact {
					assert.Equal(t, string(record.Payload()), string(pieces[i].payload))
				}
				assert.Equal(t, record.Size, pieces[i].size)
				i++
			}
		}
		assert.Equal(t, i, len(pieces))
	})
}

func TestStats(t *testing.T) {
	recording := record(t, Options{},
		`> {"id":1,"method":"tools/call"}`+"\n", `> {"id":"a","method":"tools/call"}`+"\n",
		`< {"id":1,"result":{"isError":true}}`+"\n", `< {"id":"a","result":{}}`+"\n",
		`> {"id":1,"method":"tools/call"}`+"\n", `< {"id":1,"error":{"code":1}}`+"\n",
		`> {"method":"note"}`+"\n",
		`> {"id":3,"method":"gone"}`+"\n",
		`> {"method":"notifications/cancelled","params":{"requestId":3}}`+"\n",
		`< {"id":4,"method":"ping"}`+"\n",
		`< {"id":9,"result":{}}`+"\n", "< junk\n",
		`> [{"id":5,"method":"b"},{"id":6,"method":"b"}]`+"\n", `< [{"id":6,"result":{}}]`+"\n",
	)
	all, err := read(recording)
	assert.Equal(t, err, io.EOF)
	var s Stats
	for _, r := range all {
		s.Add(r)
	}
	report := s.Report()
	var lines []string
	for _, m := range report.Methods {
		lines = append(lines,
			fmt.Sprintf("%s %s %d %d %d %d %d", m.From, m.Name, m.Count, m.Answered, m.Errors,
				m.Bytes, m.Answers))
		assert.Assert(t, m.P50Ms <= m.P95Ms && m.P95Ms <= m.MaxMs)
	}
	for _, u := range report.Unanswered {
		lines = append(lines, fmt.Sprintf("%s %s %s %v", u.From, u.Method, u.ID, u.Cancelled))
	}
	for _, u := range report.Unmatched {
		lines = append(lines, fmt.Sprintf("%d %s %s", u.N, u.From, u.ID))
	}
	assert.DeepEqual(t, lines, []string{
		"client tools/call 3 3 2 92 83", "client b 2 1 0 42 20", "client gone 1 0 0 24 0",
		"client note 1 0 0 17 0", "client notifications/cancelled 1 0 0 61 0",
		"server ping 1 0 0 24 0",
		"client gone 3 true", "server ping 4 false", "client b 5 false", "11 server 9",
	})
	assert.Equal(t, report.Client.Junk, int64(0))
	assert.Equal(t, report.Server, Traffic{Frames: 7, Bytes: 153, Junk: 1})
	assert.Equal(t, *report.Status, 0)
	assert.Equal(t, (&Stats{}).Report().Status == nil, true)

	took := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	assert.Equal(t, Percentile(took, 0.5), 5.0)
	assert.Equal(t, Percentile(took, 0.95), 10.0)
	assert.Equal(t, Percentile(took[:1], 0.5), 1.0)
	assert.Equal(t, Percentile(nil, 0.5), 0.0)
}

// Ids invented by peers use a bounded amount of memory.
func TestOpenRequestsAreBounded(t *testing.T) {
	open := openRequests{}
	for i := range maxOpenRequests + 10 {
		open.match(&Message{Type: Request, ID: fmt.Append(nil, i)}, FromClient, int64(i+1), 0)
	}
	assert.Equal(t, len(open), maxOpenRequests)
	long := []byte(`"` + strings.Repeat("x", 5000) + `"`)
	m := parseMessage([]byte(`{"id":`+string(long)+`,"method":"`+strings.Repeat("ü", 5000)+`"}`),
		true)
	assert.Assert(t, len(m.ID) < 100 && len(m.Method) < maxName+10)
	var s Stats
	for i := range maxMethods + 10 {
		s.Add(&Record{N: int64(i + 1), From: FromClient,
			Message: Message{Type: Notification, Method: fmt.Sprint(i)}})
	}
	assert.Equal(t, len(s.methods), maxMethods+1)
}
