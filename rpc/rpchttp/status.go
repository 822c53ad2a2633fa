package rpchttp

import (
	"fmt"
	"net/http"

	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/rpc"
)

// A StatusError is an HTTP response whose status is not 2xx.
type StatusError struct {
	StatusCode int
	Header     http.Header // of the response, such as Retry-After
	Err        *rpc.Error  // the error in the body; nil if the body is no JSON-RPC response
	text       string      // what the server says
}

func newStatusError(resp *http.Response, body []byte) *StatusError {
	e := &StatusError{StatusCode: resp.StatusCode, Header: resp.Header}
	m, _ := rpc.ParseMessage(body)
	location, err := resp.Location()
	switch e.Err = m.Error; {
	case e.Err != nil:
		e.text = ": " + e.Err.Error()
	case resp.StatusCode/100 == 3 && err == nil:
		e.text = fmt.Sprintf(": redirected to %s: not followed: if that is intended, use its URL",
			httpurl.Public(location))
	case len(body) > 0:
		e.text = fmt.Sprintf(": %.200q", body)
	}
	return e
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("HTTP status %d %s%s", e.StatusCode, http.StatusText(e.StatusCode), e.text)
}

// Unwrap returns Err.
func (e *StatusError) Unwrap() error {
	if e.Err == nil {
		return nil
	}
	return e.Err
}
