package otlp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/keepalive"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/retryafter"
)

// How a request is repeated.
const (
	firstDelay  = time.Second
	maxDelay    = 30 * time.Second // also of a Retry-After that is longer
	maxResponse = 64 << 10         // bytes that are read
	maxText     = 200              // bytes of a collector's text in the log
)

// A destination is the URL of one signal.
type destination struct {
	signal    string
	name      string // the URL without what may be secret
	url       string
	headers   http.Header
	timeout   time.Duration // of a request
	retryTime time.Duration // of a payload with its retries
	transport *http.Transport

	notBefore time.Time // when the next request may be sent; only for send
}

// newDestination returns the destination of a signal, or nil if it has no URL.
func newDestination(signal string, s Signal, retryTime time.Duration) *destination {
	if s.URL == "" {
		return nil
	}
	name := cmp.Or(httpurl.PublicText(s.URL), "the endpoint")
	transport := keepalive.Transport()
	transport.MaxIdleConnsPerHost = 1
	if s.Roots != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: s.Roots}
	}
	return &destination{signal: signal, name: name, url: s.URL, headers: s.Headers,
		timeout: s.Timeout, retryTime: max(retryTime, s.Timeout),
		transport: transport}
}

// A statusError is an answer other than success.
type statusError struct {
	status int
	after  time.Duration // from Retry-After; 0 if there is none
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the collector answered %d %s", e.status, http.StatusText(e.status))
}

// send posts a payload, and repeats that while the collector is busy or cannot be reached, within
// retryTime. rejected is what the collector says about data that it did not accept, although it
// accepted the request.
func (d *destination) send(ctx context.Context, body []byte) (rejected string, err error) {
	if err := sleepUntil(ctx, d.notBefore); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, d.retryTime)
	defer cancel()
	for delay := firstDelay; ; delay = min(2*delay, maxDelay) {
		rejected, err = d.post(ctx, body)
		var answer *statusError
		isAnswer := errors.As(err, &answer)
		if err == nil || ctx.Err() != nil || isAnswer && !isTemporary(answer.status) {
			return rejected, err
		}
		wait := delay/2 + rand.N(delay/2+1) // processes that failed together do not retry together
		if isAnswer && answer.after > 0 {
			wait = min(answer.after, maxDelay)
		}
		d.notBefore = time.Now().Add(wait) // for the next payload, too
		if until, ok := ctx.Deadline(); ok && !until.After(d.notBefore) {
			return "", err // the wait would be for nothing
		}
		if sleepUntil(ctx, d.notBefore) != nil {
			return "", err
		}
	}
}

// sleepUntil blocks until a time. The error is that of ctx, if it ends before.
func sleepUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isTemporary reports whether the specification of OTLP lets a client repeat a request.
func isTemporary(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return true
	}
	return false
}

// post sends one request.
func (d *destination) post(ctx context.Context, body []byte) (rejected string, err error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, bytes.NewReader(body))
	if err != nil {
		return "", errors.New("the URL of the collector is not valid")
	}
	if user := r.URL.User; user != nil {
		password, _ := user.Password()
		r.SetBasicAuth(user.Username(), password)
	}
	maps.Copy(r.Header, d.headers)
	r.Header.Set("Content-Type", "application/json")
	// A client would follow redirects, and another place must not get the headers.
	answer, err := d.transport.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxResponse))
	if answer.StatusCode/100 != 2 {
		return "", &statusError{answer.StatusCode,
			retryafter.Parse(answer.Header.Get("Retry-After"), time.Now())}
	}
	if err != nil {
		return "", nil // it was accepted
	}
	return partialSuccess(text), nil
}

// partialSuccess returns what a response says about rejected data, or "". A collector may answer
// with no JSON at all.
func partialSuccess(body []byte) string {
	var response struct {
		PartialSuccess struct {
			RejectedSpans      json.RawMessage `json:"rejectedSpans"`
			RejectedDataPoints json.RawMessage `json:"rejectedDataPoints"`
			ErrorMessage       string          `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(jsonscan.TrimBOM(body), &response) != nil {
		return ""
	}
	p := response.PartialSuccess
	n := cmp.Or(count(p.RejectedSpans), count(p.RejectedDataPoints))
	message := printable.TruncateBytes(printable.Line(p.ErrorMessage), maxText)
	switch {
	case n == 0:
		return message // a warning, according to the specification
	case message == "":
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%d: %s", n, message)
}

// count returns an int64 of OTLP, which is a number or a string; 0 if it is neither.
func count(value json.RawMessage) int64 {
	n, _ := jsonscan.Int(bytes.Trim(value, `"`), 64)
	return n
}
