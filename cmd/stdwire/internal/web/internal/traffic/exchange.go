package traffic

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/paramheader"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An Exchange is the HTTP request that carried a message, and the beginning of the response.
type Exchange struct {
	Method   string      `json:"method"`
	Proto    string      `json:"proto,omitempty"` // of the response
	Status   string      `json:"status,omitempty"`
	Error    string      `json:"error,omitempty"` // why there is no response
	Ms       float64     `json:"ms"`              // until the header of the response
	Request  http.Header `json:"request"`
	Response http.Header `json:"response,omitempty"`
}

// publicHeaders are the headers whose values are sent to the page. Others may be secret.
var publicHeaders = []string{"Accept", "Allow", "Cache-Control", "Content-Encoding",
	"Content-Length", "Content-Type", "Date", "Last-Event-Id", "Mcp-Method", "Mcp-Name",
	"Mcp-Protocol-Version", "Retry-After", "Server", "Transfer-Encoding", "User-Agent", "Vary",
	"Www-Authenticate"}

// publicHeader returns a copy of a header without values that may be secret. Headers that repeat a
// parameter of the message in Base64 also have the decoded text.
func publicHeader(h http.Header) http.Header {
	shown := http.Header{}
	for name, values := range h {
		switch {
		case name == mcp.HeaderName || strings.HasPrefix(name, paramheader.Prefix):
			for _, value := range values {
				if text, err := paramheader.Decode(value); err != nil {
					value += " (" + err.Error() + ")"
				} else if text != value {
					value += " (" + text + ")"
				}
				shown[name] = append(shown[name], value)
			}
		case slices.Contains(publicHeaders, name):
			shown[name] = values
		default:
			shown[name] = []string{"(not shown)"}
		}
	}
	return shown
}

// Observe returns a function that wraps the transport of a server, so that the exchanges of its
// latest connection are kept.
func (t *Traffic) Observe(lane string) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return &observer{t, lane, next}
	}
}

type observer struct {
	traffic *Traffic
	lane    string
	next    http.RoundTripper
}

func (o *observer) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := requestBody(r)
	id := requestID(sent)
	began := time.Now()
	network := o.traffic.Network
	request := network.begin(o.lane, r, sent)
	response, err := o.next.RoundTrip(r)
	e := request.Exchange
	e.Ms = command.Milliseconds(time.Since(began))
	if err != nil {
		e.Error = strings.TrimSpace(err.Error())
	} else {
		e.Proto, e.Status = response.Proto, response.Status
		e.Response = publicHeader(response.Header)
		response.Body = &recordedBody{response.Body, network, request}
	}
	network.update(func() { request.Exchange, request.Open = e, err == nil })
	if id != "" {
		o.traffic.addExchange(o.lane, id, &e)
	}
	return response, err
}

// requestBody returns the body of a request, if it is in memory.
func requestBody(r *http.Request) []byte {
	if r.GetBody == nil {
		return nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	text, _ := io.ReadAll(body) // without an error, as it is in memory
	return text
}

// requestID returns the id of the JSON-RPC request in a body, as JSON, or "".
func requestID(text []byte) string {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] != '{' || jsonscan.Member(text, "method") == nil {
		return ""
	}
	return string(jsonscan.Member(text, "id"))
}

// addExchange adds an exchange to the latest connection of a lane.
func (t *Traffic) addExchange(lane, id string, e *Exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range slices.Backward(t.connections) {
		if c.lane == lane {
			remember(c.exchanges, id, e)
			return
		}
	}
}

// Exchange returns the HTTP exchange of a request of the client or of its response, or nil.
func (t *Traffic) Exchange(m *Message) *Exchange {
	if (m.From == tap.FromClient) != (m.Kind == tap.Request) {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.connections {
		if c.number == m.Connection {
			return c.exchanges[m.ID]
		}
	}
	return nil
}
