package hook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/keepalive"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const maxRequests = 64 // concurrent requests to one HTTP hook

// An endpoint is an HTTP server that gets a POST with the message about each call. Its response of
// a status of 2xx has the answer as its body. Requests are signed by the rules of Standard
// Webhooks, so that the server knows who asks and that nobody asks again; TLS proves who answers.
type endpoint struct {
	url       *url.URL
	key       func() []byte
	client    *http.Client
	log       *slog.Logger
	maxAnswer int // bytes
}

func newEndpoint(u *url.URL, key func() []byte, log *slog.Logger) (*hook, *endpoint) {
	transport := keepalive.Transport()
	transport.MaxIdleConnsPerHost = maxRequests
	e := &endpoint{url: u, key: key, log: log, maxAnswer: maxAnswer, client: &http.Client{
		Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}}
	return &hook{name: httpurl.Public(u).String(), log: log, timeout: timeout,
		running: quota.NewPool(maxRequests), ask: e.ask}, e
}

// errUnreachable is what a client learns of a failed request: the cause may name hosts and
// addresses that are not its business.
var errUnreachable = errors.New("it cannot be reached")

// ask is the [asker] of the hook.
func (e *endpoint) ask(ctx context.Context, m *message) ([]byte, error) {
	body, err := mcp.Marshal(m)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url.String(),
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "stdwire")
	sign(r.Header, e.key(), "msg_"+rand.Text(), time.Now(), body)
	// net/http may then repeat a request on which an idle connection has ended. It sends no header
	// without values.
	r.Header["Idempotency-Key"] = nil
	response, err := e.client.Do(r)
	if err != nil {
		return nil, e.unreachable(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		return nil, fmt.Errorf("its answer has the status %d; redirects are not followed",
			response.StatusCode)
	}
	if response.StatusCode < 200 || response.StatusCode >= 300 {
		return nil, fmt.Errorf("its answer has the status %d", response.StatusCode)
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, int64(e.maxAnswer)+1))
	switch {
	case len(answer) > e.maxAnswer:
		return nil, fmt.Errorf("its answer has more than %d bytes", e.maxAnswer)
	case err != nil:
		return nil, e.unreachable(ctx, err)
	}
	return answer, nil
}

// unreachable logs why a request has failed before its context ended.
func (e *endpoint) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if failure, ok := errors.AsType[*url.Error](err); ok {
		err = failure.Err // without the query of the URL
	}
	e.log.Warn("a hook cannot be reached", slog.String("url", httpurl.Public(e.url).String()),
		slog.Any("error", err))
	return errUnreachable
}

// sign adds the headers of Standard Webhooks, with an HMAC of the id, the time and the body.
func sign(h http.Header, key []byte, id string, now time.Time, body []byte) {
	timestamp := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%s.", id, timestamp)
	_, _ = mac.Write(body)
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", timestamp)
	h.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}
