package rpchttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/keepalive"
	"github.com/stdwire/stdwire/rpc"
)

// ClientOptions configures a [Client].
type ClientOptions struct {
	// HTTP sends the requests, but follows no redirect, whatever its CheckRedirect. Nil means a
	// client that uses the proxies of the environment and has no time limit.
	HTTP *http.Client
	// Header is added to each request, for example an Authorization.
	Header http.Header
	// MaxResponse is the maximum size of the body of a response in bytes. If it is not positive, it
	// is 16 MiB.
	MaxResponse int64
}

// ErrResponseTooLarge means that the body of a response is larger than ClientOptions.MaxResponse.
var ErrResponseTooLarge = errors.New("the response is too large")

// A Client calls methods at one URL. It is safe for concurrent use. Its connections are used again.
//
// Redirects are not followed, so that params and headers reach only the server of the URL. A
// request is sent once: it may have been served if an error is returned. The text of errors has the
// host and path of the URL, not its user and query, which may be secret.
type Client struct {
	url    string
	o      ClientOptions
	http   http.Client
	lastID atomic.Int64
}

// New returns a client of the server at url. It connects at the first call, which also reports an
// invalid URL.
func (o ClientOptions) New(url string) *Client {
	c := &Client{url: url, o: o}
	if c.o.Header = o.Header.Clone(); o.MaxResponse <= 0 {
		c.o.MaxResponse = 16 << 20
	}
	if o.HTTP != nil {
		c.http = *o.HTTP
	} else {
		transport := keepalive.Transport()
		transport.MaxIdleConnsPerHost = 64
		c.http.Transport = transport
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	return c
}

// CloseIdleConnections closes the connections that no call uses.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// Call calls a method and decodes its result into result, which may be nil. Params and result are
// those of [rpc.Peer.Call].
//
// Call blocks until the response has been read or ctx ends; the server then notices that the
// client has disconnected. It returns an [*rpc.Error] if the response is an error, a [*StatusError]
// if the HTTP status is not 2xx, an error that matches [rpc.ErrProtocol] if there is no valid
// response, one that matches [ErrResponseTooLarge], and one that matches that of ctx if ctx ended.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	id := rpc.IntID(c.lastID.Add(1))
	request, err := rpc.AppendRequest(nil, id, method, params)
	if err != nil {
		return err
	}
	body, err := c.post(ctx, request)
	var m rpc.Message
	if err == nil {
		m, err = parseResponse(body)
	}
	switch got, _ := m.ID.Integer(); {
	case err != nil:
		return fmt.Errorf("rpchttp: %s: %w", method, err)
	case got != id && (m.Error == nil || !m.ID.IsNull() && !m.ID.IsZero()):
		return fmt.Errorf("rpchttp: %s: %w: the response has the id %.100s, want %s", method,
			rpc.ErrProtocol, m.ID, id)
	}
	return decode(&m, method, result)
}

// Notify sends a notification. It returns when the server has accepted it, with the errors of Call.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	request, err := rpc.AppendRequest(nil, rpc.ID{}, method, params)
	if err != nil {
		return err
	}
	body, err := c.post(ctx, request)
	if err != nil {
		return fmt.Errorf("rpchttp: %s: %w", method, err)
	}
	// A notification has no response, but the server may have refused it as malformed.
	if m, err := rpc.ParseMessage(body); err == nil && m.Error != nil {
		return m.Error
	}
	return nil
}

// Batch sends calls and notifications as one message. It returns an error if the batch as a whole
// fails, with the errors of Call; the error of a single call is in its Err.
func (c *Client) Batch(ctx context.Context, calls []*rpc.BatchCall) error {
	if len(calls) == 0 {
		return errors.New("rpchttp: a batch must not be empty")
	}
	pending := make(map[rpc.ID]*rpc.BatchCall, len(calls))
	var request []byte
	for _, call := range calls {
		var id rpc.ID
		if !call.Notify {
			id = rpc.IntID(c.lastID.Add(1))
			pending[id] = call
		}
		var err error
		request, err = rpc.AppendRequest(append(request, ','), id, call.Method, call.Params)
		if err != nil {
			return err
		}
	}
	request[0] = '['
	body, err := c.post(ctx, append(request, ']'))
	if err == nil {
		err = complete(pending, body, len(calls))
	}
	if err != nil {
		return fmt.Errorf("rpchttp: batch: %w", err)
	}
	return nil
}

// complete gives the calls of a batch their responses.
func complete(pending map[rpc.ID]*rpc.BatchCall, body []byte, limit int) error {
	if len(pending) == 0 && len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	elements, err := rpc.SplitBatch(body, limit)
	if err != nil {
		return fmt.Errorf("%w: %v", rpc.ErrProtocol, err)
	}
	batch := elements != nil
	if !batch {
		elements = [][]byte{body}
	}
	missing := fmt.Errorf("%w: the batch has no response to this call", rpc.ErrProtocol)
	for _, element := range elements {
		m, err := parseResponse(element)
		if err != nil {
			return err
		}
		id, _ := m.ID.Integer()
		switch call := pending[id]; {
		case call != nil:
			delete(pending, id)
			call.Err = decode(&m, call.Method, call.Result)
		case m.Error != nil && !batch:
			return m.Error
		case m.Error != nil: // about a message that the server could not read
			missing = m.Error
		}
	}
	for _, call := range pending {
		call.Err = fmt.Errorf("rpchttp: %s: %w", call.Method, missing)
	}
	return nil
}

func parseResponse(text []byte) (rpc.Message, error) {
	m, err := rpc.ParseMessage(text)
	switch {
	case err != nil:
		return m, fmt.Errorf("%w: the response is %.100q: %v", rpc.ErrProtocol, text, err)
	case !m.IsResponse():
		return m, fmt.Errorf("%w: a request in place of a response", rpc.ErrProtocol)
	}
	return m, nil
}

// decode returns what [rpc.Peer.Call] would for a response.
func decode(m *rpc.Message, method string, result any) error {
	err := m.Decode(result)
	if err != nil && m.Error == nil {
		return fmt.Errorf("rpchttp: %s: decoding the result: %w", method, err)
	}
	return err
}

// post sends a message and returns the body of the response.
func (c *Client) post(ctx context.Context, message []byte) (body []byte, err error) {
	defer func() {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			err = fmt.Errorf("%w: it has more than %d bytes", ErrResponseTooLarge, c.o.MaxResponse)
		} else if err != nil && ctx.Err() != nil {
			if err = ctx.Err(); context.Cause(ctx) != err {
				err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
			}
		}
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(message))
	if err != nil {
		return nil, withoutURL(err, c.url)
	}
	maps.Copy(req.Header, c.o.Header.Clone())
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, withoutURL(err, c.url)
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(http.MaxBytesReader(nil, resp.Body, c.o.MaxResponse))
	if resp.StatusCode/100 != 2 {
		return nil, newStatusError(resp, body)
	}
	return body, err
}

// withoutURL replaces the URL in an error of net/http by what may be shown of it.
func withoutURL(err error, address string) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return fmt.Errorf("POST %s: %w", httpurl.PublicText(address), err)
}
