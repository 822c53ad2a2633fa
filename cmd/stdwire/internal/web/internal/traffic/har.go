package traffic

import (
	"encoding/json"
	"io"
	"net/url"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
)

// The types of HTTP Archive 1.2, as far as they are used.
type (
	harLog struct {
		Version string     `json:"version"`
		Creator harCreator `json:"creator"`
		Entries []harEntry `json:"entries"`
	}
	harCreator struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	harEntry struct {
		Started  time.Time          `json:"startedDateTime"`
		Time     float64            `json:"time"`
		Request  harRequest         `json:"request"`
		Response harResponse        `json:"response"`
		Cache    struct{}           `json:"cache"`
		Timings  map[string]float64 `json:"timings"`
		Comment  string             `json:"comment,omitempty"`
	}
	harRequest struct {
		Method      string     `json:"method"`
		URL         string     `json:"url"`
		HTTPVersion string     `json:"httpVersion"`
		Cookies     []struct{} `json:"cookies"`
		Headers     []struct{} `json:"headers"`
		Query       []struct{} `json:"queryString"`
		PostData    *harText   `json:"postData,omitempty"`
		HeadersSize int        `json:"headersSize"`
		BodySize    int64      `json:"bodySize"`
	}
	harResponse struct {
		Status      int        `json:"status"`
		StatusText  string     `json:"statusText"`
		HTTPVersion string     `json:"httpVersion"`
		Cookies     []struct{} `json:"cookies"`
		Headers     []struct{} `json:"headers"`
		Content     harText    `json:"content"`
		RedirectURL string     `json:"redirectURL"`
		HeadersSize int        `json:"headersSize"`
		BodySize    int64      `json:"bodySize"`
	}
	harText struct {
		Size     int64  `json:"size"`
		MimeType string `json:"mimeType"`
		Text     string `json:"text"`
	}
)

// WriteHAR writes the messages of a connection as an HTTP Archive, for tools that show archives.
// Each request of either side is an entry with its response, and each notification is an entry, on
// any transport.
func (t *Traffic) WriteHAR(w io.Writer, c *Connection) error {
	log := harLog{Version: "1.2", Creator: harCreator{"stdwire", command.Version()},
		Entries: []harEntry{}}
	entries := map[int64]int{} // by the number of the request
	none := []struct{}{}
	for _, m := range t.messagesOf(c) {
		body := harText{m.Size, "application/json", string(m.Record.Payload())}
		if i, ok := entries[m.Request]; ok && m.Kind == tap.Response {
			e := &log.Entries[i]
			e.Time, e.Timings["wait"] = m.Ms, m.Ms
			e.Response.Status, e.Response.StatusText, e.Response.Content = 200, "OK", body
			if m.Failed != "" {
				e.Response.Status, e.Response.StatusText = 500, m.Failed
			}
			e.Response.BodySize = m.Size
			continue
		}
		if m.Kind == tap.Request {
			entries[m.N] = len(log.Entries)
		}
		at := url.URL{Scheme: "http", Host: "mcp", Path: "/" + c.lane + "/" + m.Method}
		if m.Subject != "" {
			at.RawQuery = url.Values{"name": {m.Subject}}.Encode()
		}
		log.Entries = append(log.Entries, harEntry{
			Started: time.UnixMicro(int64(m.At * 1e3)).UTC(), Comment: "from the " + string(m.From),
			Request: harRequest{Method: "POST", URL: at.String(), HTTPVersion: "HTTP/1.1",
				Cookies: none, Headers: none, Query: none, PostData: &body, HeadersSize: -1,
				BodySize: m.Size},
			Response: harResponse{Status: 202, StatusText: "Accepted", HTTPVersion: "HTTP/1.1",
				Cookies: none, Headers: none, Content: harText{MimeType: "application/json"},
				HeadersSize: -1},
			Timings: map[string]float64{"send": 0, "wait": 0, "receive": 0},
		})
	}
	return json.NewEncoder(w).Encode(map[string]harLog{"log": log})
}
