package cli

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A refusal is the error of a call that reached the dispatcher.
type refusal struct {
	err       error
	op        *dispatch.Operation
	arguments []byte
	session   string
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// explain returns the message of an error. It names the flags of arguments that the dispatcher
// refused in place of their paths in the JSON.
func explain(err error, e *dispatch.Error) string {
	r, ok := errors.AsType[*refusal](err)
	if !ok || e.Code != dispatch.InvalidInput && e.Code != dispatch.MissingParam {
		return e.Message
	}
	var details struct {
		Errors []problem `json:"errors"`
	}
	raw, _ := e.Details.(json.RawMessage)
	if json.Unmarshal(raw, &details) != nil || len(details.Errors) == 0 {
		return e.Message // of the operation itself
	}
	var parts []string
	for _, p := range details.Errors {
		if p.Reason == "" {
			return e.Message
		}
		parts = append(parts, r.explain(p))
	}
	return strings.Join(parts, "; ")
}

// A problem is one error of the arguments; see [dispatch.Dispatcher.Dispatch].
type problem struct {
	Path     string `json:"path"`
	Property string `json:"property"`
	Reason   string `json:"reason"`
}

func (r *refusal) explain(p problem) string {
	input, path := shapeOf(r.op), []string{}
	if p.Path != "" {
		path = form.Tokens(p.Path)
	}
	if p.Property != "" && r.lacks(path, p.Property) {
		whole := append(slices.Clip(path), p.Property)
		if name, covered := input.flagOf(whole); covered == len(whole) {
			return name + " is missing"
		}
	}
	cause := schema.Cause{InstancePath: p.Path, Reason: p.Reason}
	switch name, covered := input.flagOf(path); {
	case covered > 0 && covered == len(path):
		return cause.About(name)
	case covered > 0: // the place is in the value of the flag
		return name + ": " + cause.String()
	}
	return cause.String()
}

// lacks reports whether the object at a path of the arguments lacks a property.
func (r *refusal) lacks(path []string, property string) bool {
	at := r.arguments
	for _, token := range path {
		at = form.Child(at, token)
	}
	return jsonscan.Member(at, property) == nil
}
