package traffic

import (
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
	"github.com/stdwire/stdwire/internal/httpurl"
)

const (
	maxRequests = 500      // requests that are kept
	maxHTTPBody = 16 << 10 // bytes that are kept of each body
)

// An httpRequest is an HTTP request to a server, with its response. It need not carry a message.
type httpRequest struct {
	N    int64  `json:"n"`
	Lane string `json:"lane"`
	At   int64  `json:"t"` // milliseconds since 1970
	URL  string `json:"url"`
	Exchange
	Sent         []byte `json:"sent,omitempty"` // the beginning of the body
	SentSize     int64  `json:"sent_size"`
	Received     []byte `json:"received,omitempty"`
	ReceivedSize int64  `json:"received_size"`
	Open         bool   `json:"open,omitempty"` // the response has not ended
}

// A network records the latest HTTP requests to servers.
type network struct {
	changes *changes.Changes

	mu   sync.Mutex
	last int64
	all  []*httpRequest
}

// begin records a request before it is sent.
func (n *network) begin(lane string, r *http.Request, sent []byte) *httpRequest {
	request := &httpRequest{Lane: lane, At: time.Now().UnixMilli(),
		URL: httpurl.Public(r.URL).String(), Open: true,
		Exchange: Exchange{Method: r.Method, Request: publicHeader(r.Header)},
		Sent:     slices.Clone(sent[:min(len(sent), maxHTTPBody)]), SentSize: int64(len(sent))}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last++
	request.N = n.last
	n.all = append(n.all, request)
	if len(n.all) > maxRequests {
		n.all = slices.Delete(n.all, 0, 1)
	}
	return request
}

// update runs f, which changes a request, and tells the page.
func (n *network) update(f func()) {
	n.mu.Lock()
	f()
	n.mu.Unlock()
	n.changes.Add(changes.Traffic)
}

// list returns the recorded requests without their bodies, the latest first.
func (n *network) list() []httpRequest {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := []httpRequest{}
	for _, request := range slices.Backward(n.all) {
		brief := *request
		brief.Sent, brief.Received = nil, nil
		list = append(list, brief)
	}
	return list
}

// get returns a request with its bodies.
func (n *network) get(number int64) (httpRequest, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, request := range n.all {
		if request.N == number {
			whole := *request
			whole.Received = slices.Clone(request.Received)
			return whole, nil
		}
	}
	return httpRequest{}, reply.NotFound("request", number)
}

// A recordedBody is the body of a response. It records the beginning of what is read.
type recordedBody struct {
	io.ReadCloser
	network *network
	request *httpRequest
}

func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.network.update(func() {
		request := b.request
		request.ReceivedSize += int64(n)
		keep := min(n, maxHTTPBody-len(request.Received))
		request.Received = append(request.Received, p[:keep]...)
		request.Open = request.Open && err == nil
	})
	return n, err
}

func (b *recordedBody) Close() error {
	b.network.update(func() { b.request.Open = false })
	return b.ReadCloser.Close()
}

// Routes adds the routes of HTTP requests.
func (n *network) Routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/network", func(w http.ResponseWriter, _ *http.Request) {
		reply.JSON(w, n.list())
	})
	mux.HandleFunc("GET /api/network/{n}", func(w http.ResponseWriter, r *http.Request) {
		number, err := reply.PathNumber(r)
		var request httpRequest
		if err == nil {
			request, err = n.get(number)
		}
		if err != nil {
			reply.Fail(w, err)
			return
		}
		reply.JSON(w, request)
	})
}
