package schema

import (
	"errors"
	"fmt"
	"strings"
)

// MaxCauses is the maximum number of causes in an [Error].
const MaxCauses = 10

var (
	// ErrLimit is wrapped by the error for a schema that is too large to compile, and for a
	// validation that needs too many steps for a document of its size. The document may be valid.
	ErrLimit = errors.New("limit reached")

	// ErrDialect is wrapped by the error of Compile for a schema whose $schema names a dialect, or
	// whose meta-schema requires a vocabulary, that this package does not implement.
	ErrDialect = errors.New("unsupported dialect")

	// ErrReference is wrapped by the error of Compile for a reference whose target does not exist,
	// or is in a document that no [Loader] returns.
	ErrReference = errors.New("unresolved reference")

	// ErrPattern is wrapped by the error of Compile for an invalid regular expression, or one that
	// cannot be matched in linear time (a lookaround or a backreference).
	ErrPattern = errors.New("unusable regular expression")
)

// A SchemaError says why Compile refused a schema.
type SchemaError struct {
	// of the keyword: "#/properties/count/minimum", with the document's URI in front if it has one
	Path string
	Err  error
}

func (e *SchemaError) Error() string { return "schema " + e.Path + ": " + e.Err.Error() }

func (e *SchemaError) Unwrap() error { return e.Err }

// An Error says why a document is invalid. Its text lists the causes in words that the author of
// the document, who may be a language model, can act on:
//
//	/count: must be an integer, is a string; /: missing required property "path"
type Error struct {
	Causes  []Cause // at least one, at most MaxCauses, in the order in which they were found
	Omitted int     // how many more there are
}

// A Cause is one reason why a document is invalid.
type Cause struct {
	// of the invalid value: a JSON Pointer (RFC 6901), "" for the whole document
	InstancePath string
	SchemaPath   string // of the keyword that refused it, as in SchemaError.Path
	// Keyword is the keyword that refused the value: "required", "type", … It is "" for a value
	// where the schema is false, and for an object that has one of the schema's properties twice.
	Keyword string
	// the property that is missing, unknown or refused, if the cause is about a property of the
	// value
	Property string
	Reason   string // in words: "must be an integer, is a string"
}

func (e *Error) Error() string {
	var text strings.Builder
	for i, cause := range e.Causes {
		if i > 0 {
			text.WriteString("; ")
		}
		text.WriteString(cause.String())
	}
	if e.Omitted > 0 {
		fmt.Fprintf(&text, "; and %d more", e.Omitted)
	}
	return text.String()
}

// String returns the path, "/" for the whole document, and the reason.
func (c Cause) String() string {
	if c.InstancePath == "" {
		return "/: " + c.Reason
	}
	return c.InstancePath + ": " + c.Reason
}
