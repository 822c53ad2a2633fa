package form

import (
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Fits reports whether text is JSON of a type that JSON Schema names. 1.0 does not fit "integer".
func Fits(name, text string) bool {
	if text == "" || jsonscan.Valid([]byte(text)) != nil {
		return false
	}
	switch name {
	case "null":
		return text == "null"
	case "boolean":
		return text == "true" || text == "false"
	case "integer":
		return Fits("number", text) && !strings.ContainsAny(text, ".eE")
	case "number":
		return text[0] == '-' || '0' <= text[0] && text[0] <= '9'
	case "string":
		return text[0] == '"'
	case "array":
		return text[0] == '['
	case "object":
		return text[0] == '{'
	}
	return false
}
