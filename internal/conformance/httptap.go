package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"sync/atomic"

	"github.com/stdwire/stdwire/internal/sse"
)

// An HTTPTap is a reverse proxy for Streamable HTTP that records messages before it forwards them,
// like Tap: in one file for each session, and one for each request without a session. An event that
// is sent again on a resumed stream is recorded once. A POST to /cut closes all open streams on
// both sides. It is an http.Handler.
type HTTPTap struct {
	path    string
	forward httputil.ReverseProxy

	mu      sync.Mutex
	files   int
	records map[string]*httpRecord // by session
	streams map[*requestRecord]struct{}
	failed  error
}

// NewHTTPTap returns a tap in front of the server at a URL. It records to files named record.1,
// record.2 and so on.
func NewHTTPTap(record, server string) (*HTTPTap, error) {
	target, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	target.Path = ""
	t := &HTTPTap{path: record, records: map[string]*httpRecord{},
		streams: map[*requestRecord]struct{}{}}
	t.forward = httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval:  -1,
		ModifyResponse: t.response,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request,
			_ error) {
			w.WriteHeader(http.StatusBadGateway)
		},
		ErrorLog: log.New(io.Discard, "", 0), // closed streams and ended servers are expected
	}
	return t, nil
}

// Close returns the errors of recording.
func (t *HTTPTap) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// An httpRecord is the record of one session, or of one request without a session.
type httpRecord struct {
	t      *HTTPTap
	mu     sync.Mutex
	file   string
	events map[string]string // data of events by id
}

func (t *HTTPTap) newRecord() *httpRecord {
	t.files++
	return &httpRecord{t: t, file: fmt.Sprintf("%s.%d", t.path, t.files),
		events: map[string]string{}}
}

// record records a message.
func (k *httpRecord) record(direction byte, message []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.write(direction, message)
	if err != nil {
		k.t.mu.Lock()
		defer k.t.mu.Unlock()
		k.t.failed = errors.Join(k.t.failed, err)
	}
}

func (k *httpRecord) write(direction byte, message []byte) error {
	file, err := os.OpenFile(k.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	var line bytes.Buffer
	line.WriteByte(direction)
	if json.Compact(&line, message) != nil { // not JSON: the validation reports it
		line.Write(bytes.ReplaceAll(message, []byte("\n"), []byte(" ")))
	}
	line.WriteByte('\n')
	_, err = file.Write(line.Bytes())
	return errors.Join(err, file.Close())
}

// event records the message of an event, unless it was recorded before.
func (k *httpRecord) event(e sse.Event) {
	if len(e.Data) == 0 {
		return
	}
	if e.ID != "" {
		k.mu.Lock()
		before, seen := k.events[e.ID]
		k.events[e.ID] = string(e.Data)
		k.mu.Unlock()
		if seen && before == string(e.Data) {
			return
		}
	}
	k.record(fromServer, e.Data)
}

type requestRecordKey struct{}

type requestRecord struct {
	record *httpRecord
	end    context.CancelFunc
	cut    atomic.Bool // the stream is closed
}

func (t *HTTPTap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/cut" {
		t.disconnect()
		w.WriteHeader(http.StatusNoContent)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	t.mu.Lock()
	k := t.records[r.Header.Get("Mcp-Session-Id")]
	if k == nil {
		k = t.newRecord()
	}
	t.mu.Unlock()
	if r.Method == http.MethodPost {
		k.record(fromClient, body)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	x := &requestRecord{record: k, end: cancel}
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.streams, x)
	}()
	t.forward.ServeHTTP(w, r.WithContext(context.WithValue(ctx, requestRecordKey{}, x)))
}

// disconnect closes the open streams.
func (t *HTTPTap) disconnect() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for x := range t.streams {
		x.cut.Store(true)
		x.end()
	}
}

// response modifies a response whose header has been received.
func (t *HTTPTap) response(r *http.Response) error {
	x := r.Request.Context().Value(requestRecordKey{}).(*requestRecord)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	t.mu.Lock()
	if id := r.Header.Get("Mcp-Session-Id"); id != "" {
		t.records[id] = x.record
	}
	if kind == "text/event-stream" {
		t.streams[x] = struct{}{}
	}
	t.mu.Unlock()
	if kind == "text/event-stream" {
		r.Body = &recordingReader{ReadCloser: r.Body, requestRecord: x}
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	// not a response to the JSON-RPC request
	refused := r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusForbidden
	if len(body) > 0 && r.Request.Method == http.MethodPost && !refused {
		x.record.record(fromServer, body)
	}
	return nil
}

// A recordingReader records each event before it returns its last byte.
type recordingReader struct {
	io.ReadCloser
	*requestRecord
	part []byte // of an event
}

func (s *recordingReader) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if s.cut.Load() {
		return 0, context.Canceled
	}
	s.part = append(s.part, p[:n]...)
	for {
		end := bytes.Index(s.part, []byte("\n\n"))
		if end < 0 {
			return n, err
		}
		if e, err := sse.NewReader(bytes.NewReader(s.part[:end+2]),
			sse.Limits{}).Next(); err == nil {
			s.record.event(e)
		}
		s.part = s.part[end+2:]
	}
}
