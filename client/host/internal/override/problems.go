package override

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Result returns the result of a tool with the public names of arguments in what package dispatch
// says about invalid ones. Every other result stays, because nobody knows what its texts mean.
func (a *Arguments) Result(result json.RawMessage) json.RawMessage {
	if a == nil || len(a.public) == 0 || string(jsonscan.Member(result, "isError")) != "true" {
		return result
	}
	own := jsonscan.Member(result, "structuredContent")
	failure := jsonscan.Member(own, "error")
	details := jsonscan.Member(failure, "details")
	changed, before, after, ok := a.problems(details)
	if !ok {
		return result
	}
	failure = jsonscan.SetMember(failure, "details", changed)
	message, _ := jsonscan.Text(jsonscan.Member(failure, "message"))
	if lead, found := strings.CutSuffix(message, before); found {
		failure = jsonscan.SetMember(failure, "message", jsonscan.AppendString(nil, lead+after))
	}
	public := jsonscan.SetMember(own, "error", failure)
	result = jsonscan.SetMember(result, "structuredContent", public)
	content, err := each(jsonscan.Member(result, "content"), false,
		func(block json.RawMessage) (json.RawMessage, error) {
			if text, _ := jsonscan.Text(jsonscan.Member(block, "text")); same(text, own) {
				block = jsonscan.SetMember(block, "text", jsonscan.AppendString(nil, public))
			}
			return block, nil
		})
	if err != nil {
		return result
	}
	return jsonscan.SetMember(result, "content", content)
}

// same reports whether a text is the JSON value.
func same(text string, value json.RawMessage) bool {
	a, err := jsondiff.Canonical(json.RawMessage(text))
	if err != nil {
		return false
	}
	b, err := jsondiff.Canonical(value)
	return err == nil && string(a) == string(b)
}

// Data returns the data of an error with the public names of arguments in what package dispatch
// says about invalid ones.
func (a *Arguments) Data(data json.RawMessage) json.RawMessage {
	if a == nil || len(a.public) == 0 {
		return data
	}
	if changed, _, _, ok := a.problems(data); ok {
		return changed
	}
	return data
}

// problems converts {"errors":[{"path","property","reason"}]}, and returns the texts of the errors
// before and after. ok is false for another value.
func (a *Arguments) problems(details json.RawMessage) (public json.RawMessage, before, after string,
	ok bool) {
	list := jsonscan.Member(details, "errors")
	if len(list) == 0 || list[0] != '[' {
		return nil, "", "", false
	}
	var own, named schema.Error
	changed := []byte{'['}
	for element := range jsonscan.Elements(list) {
		path, hasPath := jsonscan.Text(jsonscan.Member(element, "path"))
		reason, hasReason := jsonscan.Text(jsonscan.Member(element, "reason"))
		if !hasPath || !hasReason || path != "" && path[0] != '/' {
			return nil, "", "", false
		}
		property, _ := jsonscan.Text(jsonscan.Member(element, "property"))
		own.Causes = append(own.Causes, schema.Cause{InstancePath: path, Reason: reason})
		if path == "" {
			reason = a.quoted(reason)
			if renamed := a.publicName(property); renamed != property {
				element = jsonscan.SetMember(element, "property",
					jsonscan.AppendString(nil, renamed))
			}
			element = jsonscan.SetMember(element, "reason", jsonscan.AppendString(nil, reason))
		}
		path = a.pointer(path)
		element = jsonscan.SetMember(element, "path", jsonscan.AppendString(nil, path))
		named.Causes = append(named.Causes, schema.Cause{InstancePath: path, Reason: reason})
		changed = jsonscan.AppendElement(changed, element)
	}
	return jsonscan.SetMember(details, "errors", append(changed, ']')), own.Error(), named.Error(),
		true
}

// pointer returns a JSON Pointer into the arguments as callers write them.
func (a *Arguments) pointer(own string) string {
	if own == "" {
		return ""
	}
	first, rest, more := strings.Cut(own[1:], "/")
	public := "/" + jsonscan.EscapePointer(a.publicName(jsonscan.UnescapePointer(first)))
	if more {
		public += "/" + rest
	}
	return public
}

// quoted returns a reason about the arguments as a whole with public names where it quotes others.
func (a *Arguments) quoted(reason string) string {
	var pairs []string
	for own, public := range a.public {
		pairs = append(pairs, strconv.Quote(own), strconv.Quote(public))
	}
	return strings.NewReplacer(pairs...).Replace(reason)
}
