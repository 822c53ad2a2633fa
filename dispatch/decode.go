package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// validate validates arguments against the input schema, and returns them with the defaults filled
// in. Unless isJSON is set, it first checks that they are JSON. lenient is [Options].Lenient;
// repairs says what it changed.
func (op *Operation) validate(arguments json.RawMessage, isJSON, lenient bool) (
	filled json.RawMessage, repairs []string, err error) {
	if !isJSON {
		if err := jsonscan.Valid(arguments); err != nil {
			return nil, nil, invalidArguments(err)
		}
	}
	filled, repairs, err = op.input.ValidateAndFill(arguments, lenient)
	if err != nil {
		return nil, nil, invalidArguments(err)
	}
	return filled, repairs, nil
}

func invalidArguments(err error) *Error {
	failure, ok := errors.AsType[*schema.Error](err)
	if !ok {
		if errors.Is(err, schema.ErrLimit) {
			return Errorf(InvalidInput,
				"invalid arguments: they take too much work to check").withCause(err)
		}
		return Errorf(InvalidInput, "invalid arguments: %w", err)
	}
	code, problems := MissingParam, make([]problem, len(failure.Causes))
	for i, cause := range failure.Causes {
		if cause.Keyword != "required" {
			code = InvalidInput
		}
		problems[i] = problem{cause.InstancePath, cause.Property, cause.Reason}
	}
	if failure.Omitted > 0 {
		code = InvalidInput // the omitted causes may have other keywords
	}
	return Errorf(code, "invalid arguments: %s",
		failure.Error()).With(map[string]any{"errors": problems})
}

// A problem is an error in the arguments, as the details of invalid_input and missing_param list
// it.
type problem struct {
	// a JSON Pointer into the arguments; "" for the whole
	Path string `json:"path"`
	// the property of the object at Path that is missing or unknown, or has an invalid name
	Property string `json:"property,omitempty"`
	Reason   string `json:"reason"`
}

// decode decodes arguments that validate has returned into a variable of the input type.
func (op *Operation) decode(ctx context.Context, arguments json.RawMessage, into any) error {
	if raw, ok := into.(*json.RawMessage); ok {
		*raw = arguments
		return nil
	}
	if err := codec.Unmarshal(arguments, into); err != nil {
		return decodeError(err)
	}
	return mergeSelectors(op.selectors, into, CallFrom(ctx))
}

const maxShown = 40 // maximum bytes of a value in a message

// decodeError returns the error for arguments that the schema allows and the Go type does not: a
// number out of range, a repeated key, or text that a method of the type refuses.
func decodeError(err error) error {
	if e := asError(err); e != nil {
		return e
	}
	why, path := shownReason(err), ""
	if why == "" {
		return Errorf(InvalidInput,
			"invalid arguments: they do not have the form that this operation takes").withCause(err)
	}
	if where, ok := errors.AsType[*jsonexact.DecodeError](err); ok {
		path = where.Pointer()
	}
	return InvalidArgument(path, "%s", why).withCause(err)
}

// shownReason returns the text of a decoding error that may be shown to the caller, or "" if none
// may.
func shownReason(err error) string {
	if errors.Is(err, jsonexact.ErrDuplicateKey) {
		return jsonexact.ErrDuplicateKey.Error()
	}
	var found string
	var target reflect.Type
	if mismatch, ok := errors.AsType[*jsonexact.TypeError](err); ok {
		if mismatch.Want != "" {
			return mismatch.Error()
		}
		found, target = mismatch.Found, mismatch.Type
	} else if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		// from a method of the type
		found, target = mismatch.Value, mismatch.Type
	} else {
		return ""
	}
	if found = strings.TrimPrefix(found, "number "); len(found) > maxShown {
		found = found[:maxShown] + "…"
	}
	if kind := target.Kind(); reflect.Int <= kind && kind <= reflect.Uint64 {
		return fmt.Sprintf("must be a %d-bit integer, not %s", target.Bits(),
			found)
	}
	return "must not be " + found
}
