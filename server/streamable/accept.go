package streamable

import (
	"mime"
	"strconv"
	"strings"
)

// acceptedTypes are the content types that the client accepts for a response.
type acceptedTypes struct{ json, stream bool }

// accepts parses the Accept header. The specification requires both types (2026-07-28,
// basic/transports/streamable-http, Sending Messages). A client that lists only one gets that one,
// and a client without the header gets either.
func (x *httpRequest) accepts() acceptedTypes {
	values := x.r.Header["Accept"]
	if len(values) == 0 {
		return acceptedTypes{true, true}
	}
	if len(values) == 1 && values[0] == "application/json, text/event-stream" {
		return acceptedTypes{true, true}
	}
	var a acceptedTypes
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			kind, params, err := mime.ParseMediaType(part)
			if err != nil {
				continue
			}
			if q, err := strconv.ParseFloat(params["q"], 64); err == nil && q == 0 {
				continue
			}
			all := kind == "*/*"
			a.json = a.json || all || kind == "application/json" || kind == "application/*"
			a.stream = a.stream || all || kind == "text/event-stream" || kind == "text/*"
		}
	}
	return a
}
