//go:build linux

package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/sse"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A wire is a client that implements the protocol itself. Its methods may be called concurrently.
type wire struct {
	url      string
	revision mcp.Revision
	session  string            // of the legacy era
	answers  map[string]string // results for the requests of the server, by method
	http     *http.Client
	id       atomic.Int64
}

const (
	rootsAnswer  = `{"roots":[{"uri":"file:///a","name":"a"},{"uri":"file:///b"}]}`
	capabilities = `{"elicitation":{},"sampling":{},"roots":{"listChanged":true}}`
)

// newWire connects a client of a revision; in the legacy era it performs the handshake.
func newWire(t *testing.T, url string, revision mcp.Revision) *wire {
	t.Helper()
	w, err := connectWire(t.Context(), url, revision)
	assert.NilError(t, err)
	t.Cleanup(w.http.CloseIdleConnections)
	return w
}

func connectWire(ctx context.Context, url string, revision mcp.Revision) (*wire, error) {
	w := &wire{url: url, revision: revision,
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}},
		answers: map[string]string{
			mcp.MethodListRoots:     rootsAnswer,
			mcp.MethodCreateMessage: `{"role":"assistant","model":"none","content":{"type":"text","text":"Paris"}}`,
			mcp.MethodElicit:        `{"action":"accept","content":{"name":"Ada"}}`,
		}}
	if w.modern() {
		return w, nil
	}
	r, err := w.send(ctx, "POST",
		fmt.Sprintf(`{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,`+
			`"clientInfo":{"name":"wire","version":"1"}}}`, revision, capabilities))
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	var agreed struct {
		Result struct{ ProtocolVersion mcp.Revision }
	}
	if err := json.NewDecoder(r.Body).Decode(&agreed); err != nil {
		return nil, err
	}
	w.revision, w.session = agreed.Result.ProtocolVersion, r.Header.Get("Mcp-Session-Id")
	return w, w.post202(ctx, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (w *wire) modern() bool { return mcp.EraOf(w.revision) == mcp.Modern }

// send sends a request, with headers in pairs.
func (w *wire) send(ctx context.Context, method, body string, header ...string) (*http.Response,
	error) {
	r, err := http.NewRequestWithContext(ctx, method, w.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if w.session != "" {
		r.Header.Set("Mcp-Session-Id", w.session)
	}
	if w.modern() || w.session != "" && w.revision >= mcp.Rev20250618 {
		r.Header.Set("Mcp-Protocol-Version", string(w.revision))
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return w.http.Do(r)
}

// post202 posts a message that has no response.
func (w *wire) post202(ctx context.Context, body string) error {
	r, err := w.send(ctx, "POST", body)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	rest, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusAccepted || len(rest) > 0 {
		return fmt.Errorf("%s: %s %q %w", body, r.Status, rest, err)
	}
	return nil
}

// request sends a request and returns its stream or response. name is the tool, prompt or resource
// of the request, members are members of its params.
func (w *wire) request(ctx context.Context, method, name, members string) (*http.Response, error) {
	var header []string
	params := members
	if w.modern() {
		header = []string{"Mcp-Method", method}
		if name != "" {
			header = append(header, "Mcp-Name", name)
		}
		params = strings.TrimPrefix(params+
			fmt.Sprintf(`,"_meta":{"io.modelcontextprotocol/protocolVersion":%q,`+
				`"io.modelcontextprotocol/clientCapabilities":%s,"io.modelcontextprotocol/clientInfo":{"name":"wire","version":"1"},"progressToken":"p"}`,
				w.revision, capabilities), ",")
	} else if method == mcp.MethodCallTool {
		params += `,"_meta":{"progressToken":"p"}`
	}
	return w.send(ctx, "POST",
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, w.id.Add(1), method,
			params), header...)
}

type heard struct {
	event  string // its id, if it arrived as an event
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// messages returns the messages of a response: one of JSON, or all of a stream.
func messages(r *http.Response) iter.Seq2[heard, error] {
	return func(yield func(heard, error) bool) {
		if r.Header.Get("Content-Type") != "text/event-stream" {
			var m heard
			yield(m, json.NewDecoder(r.Body).Decode(&m))
			return
		}
		for in := sse.NewReader(r.Body, sse.Limits{}); ; {
			e, err := in.Next()
			if err == io.EOF {
				return
			}
			m := heard{event: e.ID}
			if err == nil && len(e.Data) > 0 {
				err = json.Unmarshal(e.Data, &m)
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

var errUnanswered = errors.New("the stream ended without an answer")

// result returns the result of a request, and answers the questions of the server meanwhile. For a
// tool it is the text.
func (w *wire) result(ctx context.Context, method, name, members string) (string, error) {
	r, err := w.request(ctx, method, name, members)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	for m, err := range messages(r) {
		switch {
		case err != nil:
			return "", err
		case m.Method != "" && m.ID != nil:
			if err := w.answer(ctx, m); err != nil {
				return "", err
			}
		case m.Method != "" || m.ID == nil:
		case m.Error != nil:
			return "", fmt.Errorf("%d %s", m.Error.Code, m.Error.Message)
		default:
			return w.complete(ctx, method, name, members, m.Result)
		}
	}
	return "", errUnanswered
}

func (w *wire) answer(ctx context.Context, m heard) error {
	return w.post202(ctx,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, w.answers[m.Method]))
}

// complete returns the text of a result. While a modern server has questions, it repeats the
// request with the answers.
func (w *wire) complete(ctx context.Context, method, name, members string,
	raw json.RawMessage) (string, error) {
	var result struct {
		ResultType    string
		InputRequests map[string]struct{ Method string }
		RequestState  string
		Content       []struct{ Text string }
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return "", err
	}
	switch {
	case result.ResultType == "input_required":
		answers := map[string]json.RawMessage{}
		for key, asked := range result.InputRequests {
			answers[key] = json.RawMessage(w.answers[asked.Method])
		}
		text, err := json.Marshal(answers)
		if err != nil {
			return "", err
		}
		before, _, _ := strings.Cut(members, `,"inputResponses"`)
		return w.result(ctx, method, name,
			fmt.Sprintf(`%s,"inputResponses":%s,"requestState":%q`, before, text,
				result.RequestState))
	case len(result.Content) > 0:
		return result.Content[0].Text, nil
	}
	return string(raw), nil
}

// call calls a tool.
func (w *wire) call(ctx context.Context, tool, arguments string) (string, error) {
	return w.result(ctx, mcp.MethodCallTool, tool,
		fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments))
}

func (w *wire) wants(t *testing.T, want, tool, arguments string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := w.call(ctx, tool, arguments)
	assert.NilError(t, err, tool)
	assert.Equal(t, got, want, tool)
}

// listen opens a stream for updates of the watched resource, and returns it when updates will be
// sent.
func (w *wire) listen(ctx context.Context) (r *http.Response, err error) {
	if !w.modern() {
		if r, err = w.send(ctx, "GET", ""); err != nil {
			return nil, err
		}
		if r.StatusCode != http.StatusOK {
			return r, errors.New(r.Status)
		}
		_, err = w.result(ctx, mcp.MethodSubscribe, watched, `"uri":"`+watched+`"`)
		return r, err
	}
	if r, err = w.request(ctx, mcp.MethodListen, "", `"notifications":{"resourceSubscriptions":["`+
		watched+`"]}`); err != nil {
		return nil, err
	}
	// Byte by byte: later messages must remain unread.
	var text []byte
	for one := make([]byte, 1); !bytes.HasSuffix(text, []byte("\n\n")); text = append(text,
		one...) {
		if _, err := io.ReadFull(r.Body, one); err != nil {
			return r, err
		}
	}
	if !bytes.Contains(text, []byte(mcp.NotificationSubscriptionsAcknowledged)) {
		return r, fmt.Errorf("%s: %q", r.Status, text)
	}
	return r, nil
}

const watched = "test://watched-resource"

// updated reads until the watched resource has changed.
func updated(r *http.Response) error {
	for m, err := range messages(r) {
		if err != nil || m.Method == mcp.NotificationResourceUpdated {
			return err
		}
	}
	return errUnanswered
}
