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
//	count must be an integer, not "three"; missing required property "path"
//
// It shows at most about 40 characters of a scalar, nothing in arrays and objects, and nothing of a
// value that the schema makes writeOnly or gives the format password.
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
	// in words: "must be an integer, not "three"", of which the value is the subject, or "missing
	// required property "path""
	Reason string
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

// String returns the reason with the name of the value in front, as programmers write it:
// size.height, points[0]. The whole document has no name.
func (c Cause) String() string { return c.About(valueName(c.InstancePath)) }

// About returns the reason with this name of the value in front, unless it is "": "size must be a
// number", "point: missing required property "x"".
func (c Cause) About(name string) string {
	switch {
	case name == "":
		return c.Reason
	case strings.HasPrefix(c.Reason, "must "):
		return name + " " + c.Reason
	}
	return name + ": " + c.Reason
}
