package lsp

import (
	"encoding/json"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// ServerOutput returns the framing for a client of a server that it has started, whose stdout may
// contain other text, such as a log, among the messages. Many servers, and the libraries that they
// use, print there. Each line outside of a Content-Length frame, and each frame that is not a JSON
// object or array, is passed to log, which may be nil and must not retain it; messages in such a
// frame are found. See [framing.Resync].
func ServerOutput(log func(text []byte)) framing.Framing {
	return framing.Resync(func(text []byte, framed bool) bool {
		i := jsonscan.Space(text, 0)
		if framed && i < len(text) && (text[i] == '{' || text[i] == '[') &&
			json.Valid(text) { // broken Unicode is for the peer to report
			return true
		}
		if log != nil {
			log(text)
		}
		return false
	}, nil)
}
