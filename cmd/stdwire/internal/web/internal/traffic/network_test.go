package traffic

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
	"github.com/stdwire/stdwire/internal/paramheader"
)

// The requests that are kept, and the bytes of their bodies, are limited.
func TestNetworkLimits(t *testing.T) {
	n := &network{changes: changes.New()}
	large := []byte(strings.Repeat("x", maxHTTPBody+1))
	r := httptest.NewRequest("POST", "http://u:secret@a.test/mcp?key=secret", nil)
	for range maxRequests + 1 {
		n.begin("s", r, large)
	}
	all := n.list()
	assert.Equal(t, len(all), maxRequests)
	assert.Equal(t, all[len(all)-1].N, int64(2))
	assert.Equal(t, all[0].URL, "http://a.test/mcp")
	body := &recordedBody{io.NopCloser(strings.NewReader(strings.Repeat("y", 3*maxHTTPBody))), n,
		n.all[0]}
	_, err := io.Copy(io.Discard, body)
	assert.NilError(t, err)
	one, err := n.get(2)
	assert.NilError(t, err)
	assert.Equal(t, len(one.Sent), maxHTTPBody)
	assert.Equal(t, one.SentSize, int64(maxHTTPBody+1))
	assert.Equal(t, len(one.Received), maxHTTPBody)
	assert.Equal(t, one.ReceivedSize, int64(3*maxHTTPBody))
	assert.Assert(t, !one.Open)
}

// Headers that repeat parameters, which the message shows, too, are decoded.
func TestPublicHeaders(t *testing.T) {
	encoded := paramheader.Encode("Zürich")
	got := publicHeader(http.Header{"Mcp-Param-Region": {encoded}, "Mcp-Param-Zone": {"a"},
		"Mcp-Name": {"=?base64?!?="}, "Authorization": {"Bearer hunter"}})
	assert.DeepEqual(t, got, http.Header{"Mcp-Param-Region": {encoded + " (Zürich)"},
		"Mcp-Param-Zone": {"a"}, "Mcp-Name": {"=?base64?!?= (is not valid base64 of UTF-8 text)"},
		"Authorization": {"(not shown)"}})
}
