package tap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

// tracesOf returns the traces of a recording.
func tracesOf(t *testing.T, recording string) []byte {
	t.Helper()
	all, err := read(recording)
	assert.ErrorIs(t, err, io.EOF)
	var b bytes.Buffer
	traces := NewTraces(&b)
	for _, r := range all {
		assert.NilError(t, traces.Add(r))
	}
	assert.NilError(t, traces.Close())
	assert.Equal(t, traces.order.Len()+len(traces.open)+len(traces.latest), 0)
	return regexp.MustCompile(`,"version":"[^"]*"`).ReplaceAll(b.Bytes(), nil)
}

// Both eras become the traces in testdata, which TestOTLPOfRecordings of internal/bench decodes.
func TestTraces(t *testing.T) {
	for _, name := range []string{"legacy", "modern"} {
		recording, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
		assert.NilError(t, err)
		text := tracesOf(t, string(recording))
		assert.Equal(t, string(text), string(tracesOf(t, string(recording))))
		assert.Assert(t, !bytes.Contains(text, []byte("secret")))
		var b bytes.Buffer
		assert.NilError(t, json.Indent(&b, text, "", "  "))
		golden.Assert(t, b.String()+"\n", name+".otlp.json")
	}
}

// spansOf returns a line for each span: its kind, name, start and duration in milliseconds, and
// error.type. All must have IDs of their own.
func spansOf(t *testing.T, recording string) (lines []string) {
	t.Helper()
	var document struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct {
					TraceID, SpanID, Name string
					Kind                  int
					Start                 int64 `json:"startTimeUnixNano,string"`
					End                   int64 `json:"endTimeUnixNano,string"`
					Attributes            []struct {
						Key   string
						Value struct{ StringValue string }
					}
				}
			}
		}
	}
	assert.NilError(t, json.Unmarshal(tracesOf(t, recording), &document))
	ids := map[string]bool{}
	for _, s := range document.ResourceSpans[0].ScopeSpans[0].Spans {
		assert.Assert(t, !ids[s.SpanID], s.SpanID)
		ids[s.SpanID] = true
		assert.Assert(t, s.Start >= 0 && s.End >= s.Start, "%d %d", s.Start, s.End)
		line := fmt.Sprintf("%d %s %d+%d", s.Kind, s.Name, s.Start/1e6, (s.End-s.Start)/1e6)
		for _, a := range s.Attributes {
			if a.Key == "error.type" {
				line += " " + a.Value.StringValue
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// A response with the id of its request in another notation ends its span.
func TestTracesOtherIDs(t *testing.T) {
	var lines []string
	for _, line := range spansOf(t, record(t, Options{}, `> {"id":1,"method":"a"}`+"\n",
		`< {"id":"1","result":{}}`+"\n")) {
		lines = append(lines, line[:strings.LastIndexByte(line, ' ')])
	}
	assert.DeepEqual(t, lines, []string{"3 a"}) // without an error.type
}

func TestTracesOfHostileRecordings(t *testing.T) {
	const end = `{"t":9,"kind":"end","status":0,"client_bytes":1,"server_bytes":1}`
	const cancelled = `"kind":"notification","method":"notifications/cancelled",` +
		`"frame":{"params":{"requestId":1}}}`
	long := strings.Repeat("x", 5000)
	request := func(seconds string, n int64, id string) string {
		return fmt.Sprintf(`{"t":%s,"n":%d,"from":"client","kind":"request","method":"tools/list",`+
			`"id":%s,"frame":{"id":%s,"method":"tools/list"}}`, seconds, n, id, id)
	}
	response := func(seconds string, n, of int, id, more string) string {
		return fmt.Sprintf(`{"t":%s,"n":%d,"from":"server","kind":"response","method":"tools/list",`+
			`"id":%s,"of":%d%s}`, seconds, n, id, of, more)
	}
	for _, tt := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"nothing", nil, nil},
		{"only an end", []string{end}, nil},
		{"an ID twice", []string{request("1", 1, "1"), request("2", 2, "1"),
			response("3", 3, 1, "1", ""), response("4", 4, 2, "1", ""), end},
			[]string{"3 tools/list 1000+2000", "3 tools/list 2000+2000"}},
		{"a frame twice", []string{request("1", 1, "1"), request("2", 1, "1"),
			response("3", 1, 1, "1", ""), response("4", 1, 1, "1", ""), end},
			[]string{"3 tools/list 2000+1000", "3 tools/list 1000+8000 connection_closed"}},
		{"the last frame twice", []string{request("1", math.MaxInt64, "1"),
			request("2", math.MaxInt64, "2"), request("3", 1, "3"), end},
			[]string{"3 tools/list 1000+8000 connection_closed",
				"3 tools/list 2000+7000 connection_closed",
				"3 tools/list 3000+6000 connection_closed"}},
		{"responses to nothing", []string{response("1", 1, 0, "1", ""), request("1", 2, "1"),
			response("2", 3, 7, "1", ""), response("2", 4, 2, "2", ""), response("2", 5, -1, "1", "")},
			[]string{"3 tools/list 1000+1000 _OTHER"}},
		{"a response before its request", []string{response("1", 1, 2, "1", ""),
			request("2", 2, "1"), end}, []string{"3 tools/list 2000+7000 connection_closed"}},
		{"two responses", []string{request("1", 1, "1"), response("2", 2, 1, "1", ""),
			response("3", 3, 1, "1", "")}, []string{"3 tools/list 1000+1000"}},
		{"time that goes backwards", []string{request("5", 1, "1"), response("2", 2, 1, "1", "")},
			[]string{"3 tools/list 5000+0"}},
		{"times out of range", []string{request("-1e300", 1, "1"),
			response("1e300", 2, 1, "1", "")}, []string{"3 tools/list 0+1000000000000"}},
		{"a dropped frame", []string{request("1", 1, "1"), `{"t":2,"kind":"dropped","lost":1}`, end},
			[]string{"3 tools/list 1000+8000 _OTHER"}},
		{"a full recording", []string{request("1", 1, "1"), `{"t":2,"kind":"full"}`, end},
			[]string{"3 tools/list 1000+8000 _OTHER"}},
		{"errors without a code", []string{request("1", 1, "1"),
			response("2", 2, 1, "1", `,"failed":"error"`), request("3", 3, "2"),
			response("4", 4, 3, "2", `,"failed":"error 1e999","frame":{"error":7}`),
			request("5", 5, "3"), response("6", 6, 5, "3", `,"failed":"what"`)},
			[]string{"3 tools/list 1000+1000 _OTHER", "3 tools/list 3000+1000 _OTHER",
				"3 tools/list 5000+1000"}},
		{"an error whose text is truncated", []string{request("1", 1, "1"),
			response("2", 2, 1, "1", `,"failed":"error -32000","sha256":"00","text":"{\"error\":"`)},
			[]string{"3 tools/list 1000+1000 -32000"}},
		{"a call whose text is truncated", []string{`{"t":1,"n":1,"from":"server","kind":"request",` +
			`"method":"tools/call","about":"big\"","id":1,"sha256":"00","text":"{\"id\":"}`},
			[]string{`2 tools/call big" 1000+0 _OTHER`}},
		{"cancelled by the other side", []string{request("1", 1, "1"), `{"t":2,"n":2,"from":"server",` + cancelled,
			end}, []string{"3 tools/list 1000+8000 connection_closed"}},
		{"cancelled and answered", []string{request("1", 1, "1"), `{"t":2,"n":2,"from":"client",` + cancelled,
			response("3", 3, 1, "1", ""), end}, []string{"3 tools/list 1000+2000"}},
		{"long parts", []string{strings.ReplaceAll(request("1", 1, `"`+long+`"`), "tools/list", long),
			strings.ReplaceAll(response("2", 2, 1, `"`+long+`"`, ""), "tools/list", long)},
			[]string{"3 " + long[:256] + " 1000+1000"}},
		{"odd parts", []string{`{"t":1,"n":1,"from":"client","kind":"request"}`,
			`{"t":1,"n":2,"from":"client","kind":"request","id":{"a":1},"method":"\u0000","frame":[]}`,
			`{"t":1,"n":3,"from":"client","kind":"batch","messages":[{"kind":"request","method":"ping",` +
				`"id":1},{"kind":"batch"},{"kind":"junk"}],"frame":[]}`,
			`{"t":1,"n":4,"from":"client","kind":"request","method":"ping","id":2,"frame":{"params":` +
				`{"_meta":{"traceparent":"00-00-00-00"}}}}`,
			`{"t":1,"n":-9,"kind":"dropped"}`,
			`{"t":1,"kind":"start","version":1,"at":"1999-01-01T00:00:00Z"}`},
			[]string{"3 _OTHER 1000+0 _OTHER", "3 _OTHER 1000+0 _OTHER", "3 ping 1000+0 _OTHER",
				"3 ping 1000+0 _OTHER"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			recording := head + strings.Join(append(tt.lines, ""), "\n")
			assert.DeepEqual(t, spansOf(t, recording), tt.want)
		})
	}
	for at, want := range map[string]int64{"0001-01-01T00:00:00Z": 0, "9999-12-31T00:00:00Z": 0,
		"1970-01-01T00:00:02+01:00": 0, "2200-01-01T00:00:00Z": time.Date(2200, 1, 1, 0, 0, 0, 0,
			time.UTC).UnixMilli()} {
		got := spansOf(t, fmt.Sprintf(`{"t":0,"kind":"start","version":1,"at":%q}`+"\n%s\n", at,
			request("1", 1, "1")))
		assert.DeepEqual(t, got, []string{fmt.Sprintf("3 tools/list %d+0 _OTHER", want+1000)})
	}
}

// Open requests are bounded, and whatever has ended is written and forgotten.
func TestTracesAreBounded(t *testing.T) {
	var b bytes.Buffer
	traces := NewTraces(&b)
	traces.limit = 10
	long := strings.Repeat("x", 10_000)
	const requests = 2000
	for i := range requests {
		n, id := int64(2*i+1), json.RawMessage(fmt.Sprint(i))
		m := Message{Type: Request, Method: "tools/call", ID: id}
		assert.NilError(t, traces.Add(&Record{Seconds: float64(i), N: n, From: FromClient,
			Message: m, Frame: json.RawMessage(`{"params":{"name":"` + long + `"}}`)}))
		if i%2 == 0 {
			m.Type, m.RequestFrame = Response, n
			assert.NilError(t, traces.Add(&Record{Seconds: float64(i), N: n + 1, From: FromServer,
				Message: m}))
		}
		assert.Assert(t, traces.order.Len() <= traces.limit)
		assert.Assert(t, len(traces.open) <= traces.limit && len(traces.latest) <= traces.limit)
	}
	assert.Equal(t, traces.order.Len(), traces.limit)
	assert.NilError(t, traces.Close())
	assert.Equal(t, strings.Count(b.String(), `"spanId"`), requests)
	assert.Equal(t, strings.Count(b.String(), `"_OTHER"`), requests/2)
	assert.Assert(t, b.Len() < requests*1200, "%d", b.Len())
	assert.Assert(t, json.Valid(b.Bytes()))
}

// brokenWriter fails after a number of calls.
type brokenWriter struct{ left int }

var errBroken = errors.New("broken")

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

func TestTracesEndWithTheirWriter(t *testing.T) {
	for left, want := range []error{errBroken, errBroken, errBroken, nil} {
		traces := NewTraces(&brokenWriter{left})
		var err error
		for i := range int64(2) {
			m := Message{Type: Request, Method: "ping", ID: json.RawMessage("1")}
			err = errors.Join(err, traces.Add(&Record{N: 2*i + 1, From: FromClient, Message: m}))
			m.Type, m.RequestFrame = Response, 2*i+1
			err = errors.Join(err, traces.Add(&Record{N: 2*i + 2, From: FromServer, Message: m}))
		}
		err = errors.Join(err, traces.Close())
		if want == nil {
			assert.NilError(t, err)
		} else {
			assert.ErrorIs(t, err, want)
		}
	}
}
