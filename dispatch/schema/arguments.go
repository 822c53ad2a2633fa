package schema

import (
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// WithProperties returns the schema of a tool's arguments with "properties":{} if it is an object
// without properties. That allows the same values, but the API of OpenAI refuses a tool without
// the member. Any other text is returned unchanged. The text must be valid JSON.
func WithProperties(text json.RawMessage) json.RawMessage {
	if len(text) == 0 || text[0] != '{' || jsonscan.Member(text, "properties") != nil {
		return text
	}
	return jsonscan.SetMember(text, "properties", []byte("{}"))
}
