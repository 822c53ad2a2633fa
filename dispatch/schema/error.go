package schema

import (
	"errors"
	"fmt"
	"strings"
)

// MaxCauses is how many causes an [Error] holds at most.
const MaxCauses = 10

var (
	// ErrLimit is wrapped by the error of a schema that is too large to compile, and of a
	// validation that needs more work than a document of its size may cause. It says nothing about
	// whether the document is valid.
	ErrLimit = errors.New("limit reached")

	// ErrDialect is wrapped by the error of Compile for a schema whose $schema names a dialect, or
	// whose meta-schema requires a vocabulary, that this package does not implement.
	ErrDialect = errors.New("unsupported dialect")

	// ErrReference is wrapped by the error of Compile for a reference that leads nowhere, or to a
	// document that no [Loader] gave. Nothing is ever fetched.
	ErrReference = errors.New("unresolved reference")

	// ErrPattern is wrapped by the error of Compile for a regular expression that is wrong, or that
	// cannot be matched in linear time (a lookaround or a backreference).
	ErrPattern = errors.New("unusable regular expression")
)

// A SchemaError tells why Compile refused a schema.
type SchemaError struct {
	// of the keyword: "#/properties/count/minimum", with the document's URI in front if it has one
	Path string
	Err  error
}

func (e *SchemaError) Error() string { return "schema " + e.Path + ": " + e.Err.Error() }

func (e *SchemaError) Unwrap() error { return e.Err }

// An Error tells why a document does not fit a schema. Its text lists the causes in words that the
// author of the document, a language model included, can act on:
//
//	/count: must be an integer, is a string; /: missing required property "path"
type Error struct {
	Causes  []Cause // at least one, at most MaxCauses, in the order in which they were found
	Omitted int     // how many more there are
}

// A Cause is one thing that is wrong with a document.
type Cause struct {
	// of the value that is wrong: a JSON Pointer (RFC 6901), "" for the whole document
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
