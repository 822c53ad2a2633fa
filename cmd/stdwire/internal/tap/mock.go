package tap

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Mock plays the server of a recording: see [Mock.Serve]. Add must be called with all records
// before Serve.
type Mock struct {
	// OnMiss is called for every request that is not in the recording or whose response is
	// truncated, with the message of the error that the client gets. It must not be nil. It is
	// called concurrently.
	OnMiss func(message string)

	exchanges []*exchange          // requests with params, in recorded order
	byKey     map[string]*sequence // by sequenceKey
	redactor  *redactor            // set if the recording is redacted
	size      int                  // bytes of all texts

	// Only Add uses these.
	open           []*exchange      // requests without a response so far, in recorded order
	last           *exchange        // of the client's last request or notification
	early          []*serverMessage // for the client's next request or notification
	serverRequests map[exchangeKey]*serverMessage

	mu     sync.Mutex        // for listen, sequence.next and exchange.used
	listen map[string]rpc.ID // ids of subscriptions/listen by recorded id; the latest is at ""
}

// maxMock is the number of bytes of messages that a mock keeps.
const maxMock = 1 << 30

// An exchangeKey identifies a request in the recording.
type exchangeKey struct {
	frame int64
	id    string
}

// An exchange is a request of the client and the messages that the server sent because of it, or a
// notification of the client and the messages that the server sent after it.
type exchange struct {
	exchangeKey
	method, subject string
	token           string // progress token
	params          []byte // of a request, as Mock.canonicalParams returns them
	messages        []*serverMessage

	// One of these is set if the request has a response in the recording.
	result    rawJSON
	err       *rpc.Error
	truncated int64 // frame of a response that is truncated

	used bool // the client has sent the request or notification
}

// A serverMessage is a request or notification of the server.
type serverMessage struct {
	exchange *exchange // nil if it is the first message of the recording
	method   string
	params   rawJSON // nil if absent
	request  bool
	answered bool // the client responded before the server did
}

// A sequence holds the exchanges of equal requests or notifications, in recorded order.
type sequence struct {
	exchanges []*exchange
	next      int // index of the first that is not used
}

// Add adds a record. The first must be of the kind [Start]. Add fails if all messages together have
// more than 1 GiB.
func (m *Mock) Add(r *Record) error {
	if r.Type == Start {
		m.byKey, m.serverRequests = map[string]*sequence{}, map[exchangeKey]*serverMessage{}
		m.listen = map[string]rpc.ID{}
		if r.Redacted {
			m.redactor = newRedactor()
		}
		return nil
	}
	messages, texts := r.All()
	for i, message := range messages {
		if m.size += len(texts[i]); m.size > maxMock {
			return fmt.Errorf("the messages up to frame %d have more than %d bytes", r.N, maxMock)
		}
		switch key := (exchangeKey{r.N, string(message.ID)}); {
		case message.Type == Response:
			m.addResponse(r, message, texts[i])
		case message.Type == Junk:
		case r.From == FromClient:
			m.addClient(key, message, texts[i])
		case texts[i] != nil:
			m.addServer(key, message, texts[i])
		}
	}
	return nil
}

// addClient adds a request or notification of the client.
func (m *Mock) addClient(key exchangeKey, message Message, text []byte) {
	method, _ := jsonscan.Text(jsonscan.Member(text, "method"))
	params := jsonscan.Member(text, "params")
	e := &exchange{exchangeKey: key, method: method, subject: message.Subject,
		token: string(progressToken(params)), messages: m.early}
	m.last, m.early = e, nil
	if message.Type == Request {
		e.params = m.canonicalParams(method, params)
		if len(m.open) == maxOpenRequests {
			m.open = slices.Delete(m.open, 0, 1)
		}
		m.open = append(m.open, e)
	}
	if text == nil {
		return // truncated: nothing equals it
	}
	if message.Type == Request {
		m.exchanges = append(m.exchanges, e)
	}
	k := sequenceKey(method, e.params)
	if m.byKey[k] == nil {
		m.byKey[k] = new(sequence)
	}
	m.byKey[k].exchanges = append(m.byKey[k].exchanges, e)
}

// addServer adds a request or notification of the server to the exchange that it belongs to.
func (m *Mock) addServer(key exchangeKey, message Message, text []byte) {
	method, _ := jsonscan.Text(jsonscan.Member(text, "method"))
	if method == mcp.NotificationCancelled {
		return // its requestId is one of the recording
	}
	s := &serverMessage{method: method, params: compact(jsonscan.Member(text, "params")),
		request: message.Type == Request}
	if s.request {
		m.serverRequests[key] = s
	}
	switch s.exchange = m.owner(method, s.params); {
	case s.exchange == nil,
		s.exchange.method == mcp.MethodInitialize && !slices.Contains(m.open, s.exchange):
		// Before the response to initialize, the client is not ready.
		m.early = append(m.early, s)
	default:
		s.exchange.messages = append(s.exchange.messages, s)
	}
}

// owner returns the exchange that a message of the server belongs to: the request with its progress
// token, or else the last request without a response, or else the client's last message.
func (m *Mock) owner(method string, params []byte) *exchange {
	var owner *exchange
	for _, e := range slices.Backward(m.open) {
		if method == mcp.NotificationProgress && e.token != "" &&
			e.token == string(jsonscan.Member(params, mcp.MetaProgressToken)) {
			return e
		}
		if owner == nil && e.method != mcp.MethodListen {
			owner = e
		}
	}
	return cmp.Or(owner, m.last)
}

// addResponse adds a response of either side.
func (m *Mock) addResponse(r *Record, message Message, text []byte) {
	key := exchangeKey{message.RequestFrame, message.requestID()}
	if r.From == FromClient {
		if s := m.serverRequests[key]; s != nil {
			s.answered = slices.Contains(m.open, s.exchange)
		}
		return
	}
	i := slices.IndexFunc(m.open, func(e *exchange) bool { return e.exchangeKey == key })
	if i < 0 {
		return
	}
	e := m.open[i]
	m.open = slices.Delete(m.open, i, i+1)
	if text == nil {
		e.truncated = r.N
		return
	}
	if e.result = compact(jsonscan.Member(text, "result")); message.Failed != "" &&
		message.Failed != "isError" {
		e.result, e.err = nil, new(rpc.Error)
		if err := jsonexact.Unmarshal(jsonscan.Member(text, "error"), e.err); err != nil {
			e.err = rpc.Errorf(rpc.CodeInternalError,
				"the error in frame %d of the recording is malformed: %v", r.N, err)
		}
	}
}

// rawJSON is JSON text of a recording. It is not validated when it is sent, because isJSON accepts
// more than package rpc.
type rawJSON []byte

// AppendJSON implements [rpc.Appender].
func (r rawJSON) AppendJSON(dst []byte) ([]byte, error) { return append(dst, r...), nil }

// compact returns JSON text without white space, which newline frames may not allow.
func compact(text []byte) rawJSON {
	if text == nil {
		return nil
	}
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}

// progressToken returns the progress token in a request's params, or nil.
func progressToken(params []byte) []byte {
	return jsonscan.Member(jsonscan.Member(params, "_meta"), mcp.MetaProgressToken)
}

// An UnusedRequest is a request in the recording that the client did not send.
type UnusedRequest struct {
	N       int64 // number of the frame
	Method  string
	Subject string
}

// Unused returns the requests in the recording that the client has not sent, in recorded order, and
// the number of all requests in the recording.
func (m *Mock) Unused() (unused []UnusedRequest, total int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.exchanges {
		if !e.used {
			unused = append(unused, UnusedRequest{e.frame, e.method, e.subject})
		}
	}
	return unused, len(m.exchanges)
}
