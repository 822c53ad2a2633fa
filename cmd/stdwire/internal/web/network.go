package web

import (
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
)

const (
	maxRequests = 500      // that are kept
	maxHTTPBody = 16 << 10 // bytes of each body that are kept
)

// An httpRequest is an HTTP request to a server and its response, whether they carry a message or
// not.
type httpRequest struct {
	N    int64  `json:"n"`
	Lane string `json:"lane"`
	At   int64  `json:"t"` // milliseconds since 1970
	URL  string `json:"url"`
	exchange
	Sent         []byte `json:"sent,omitempty"` // the beginning of the body
	SentSize     int64  `json:"sent_size"`
	Received     []byte `json:"received,omitempty"`
	ReceivedSize int64  `json:"received_size"`
	Open         bool   `json:"open,omitempty"` // the response has not ended
}

// A network keeps the latest HTTP requests to servers.
type network struct {
	changes *changes

	mu   sync.Mutex
	last int64
	all  []*httpRequest
}

// begin adds a request that is about to be sent.
func (n *network) begin(lane string, r *http.Request, sent []byte) *httpRequest {
	shown, _ := target.PublicURL(r.URL.String())
	one := &httpRequest{Lane: lane, At: time.Now().UnixMilli(), URL: shown, Open: true,
		exchange: exchange{Method: r.Method, Request: public(r.Header)},
		Sent:     slices.Clone(sent[:min(len(sent), maxHTTPBody)]), SentSize: int64(len(sent))}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last++
	one.N = n.last
	n.all = append(n.all, one)
	if len(n.all) > maxRequests {
		n.all = slices.Delete(n.all, 0, 1)
	}
	return one
}

// update changes a request and tells the page.
func (n *network) update(f func()) {
	n.mu.Lock()
	f()
	n.mu.Unlock()
	n.changes.add(topicTraffic)
}

// list returns the requests that are kept without their bodies, the latest first.
func (n *network) list() []httpRequest {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := []httpRequest{}
	for _, one := range slices.Backward(n.all) {
		brief := *one
		brief.Sent, brief.Received = nil, nil
		list = append(list, brief)
	}
	return list
}

// get returns a request with its bodies.
func (n *network) get(number int64) (httpRequest, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, one := range n.all {
		if one.N == number {
			whole := *one
			whole.Received = slices.Clone(one.Received)
			return whole, nil
		}
	}
	return httpRequest{}, notFound("request", number)
}

// A recordedBody is the body of a response whose beginning is kept.
type recordedBody struct {
	io.ReadCloser
	network *network
	request *httpRequest
}

func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.network.update(func() {
		one := b.request
		one.ReceivedSize += int64(n)
		one.Received = append(one.Received, p[:min(n, maxHTTPBody-len(one.Received))]...)
		one.Open = one.Open && err == nil
	})
	return n, err
}

func (b *recordedBody) Close() error {
	b.network.update(func() { b.request.Open = false })
	return b.ReadCloser.Close()
}

// routes adds the routes of HTTP requests.
func (n *network) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/network", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, n.list())
	})
	mux.HandleFunc("GET /api/network/{n}", func(w http.ResponseWriter, r *http.Request) {
		number, err := pathNumber(r)
		var one httpRequest
		if err == nil {
			one, err = n.get(number)
		}
		if err != nil {
			fail(w, err)
			return
		}
		answer(w, one)
	})
}
