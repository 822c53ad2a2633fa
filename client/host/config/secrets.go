package config

import (
	"encoding/json"
	"slices"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/internal/jsonedit"
)

// A secrecy says what of a member may be secret. The zero value hides the most.
type secrecy uint8

const (
	secretText        secrecy = iota // all of a text, or of an object's texts, except variables
	secretWords                      // words that look like secrets, as of a command line
	secretURL                        // parts of a URL
	secretOAuth                      // what oauthFields says
	secretCredentials                // what credentialFields says
	secretOverrides                  // what overrideFields says of each
	secretArguments                  // what argumentFields says of each
	notSecret
)

// redact returns texts with "…" in place of what may be secret.
func (s secrecy) redact(texts []string) []string {
	out := slices.Clone(texts)
	switch s {
	case secretWords:
		return redactArgs(texts)
	case secretText:
		for i, text := range texts {
			out[i] = redactText(text)
		}
	case secretURL:
		for i, text := range texts {
			out[i] = redactURL(text)
		}
	}
	return out
}

// redactFields hides, in t, what may be secret. It changes no slice or map.
func redactFields[T any](fields []field[T], t T) {
	for _, f := range fields {
		if f.at == nil {
			continue
		}
		switch p := f.at(t).(type) {
		case *string:
			*p = f.secret.redact([]string{*p})[0]
		case *[]string:
			*p = f.secret.redact(*p)
		case *map[string]string:
			if *p == nil {
				continue
			}
			redacted := make(map[string]string, len(*p))
			for name, value := range *p {
				redacted[name] = f.secret.redact([]string{value})[0]
			}
			*p = redacted
		case *json.RawMessage:
			if *p != nil {
				*p = json.RawMessage(`"` + redacted + `"`)
			}
		case *map[string]host.Override:
			*p = redactOverrides(*p)
		case **OAuth:
			if *p != nil {
				o := **p
				redactFields(oauthFields(), &o)
				*p = &o
			}
		case **Credentials:
			if *p != nil {
				c := **p
				redactFields(credentialFields(), &c)
				*p = &c
			}
		}
	}
}

// SecretRanges returns the ranges, from start to end and in order, of the values that may be secret
// in the definition of a server: valid JSON in the form of any application.
func SecretRanges(definition []byte) (ranges [][2]int) {
	root, _ := (&jsonedit.Text{Data: definition}).Root()
	for _, v := range secretServer(root) {
		ranges = append(ranges, [2]int{v.Start, v.End})
	}
	return ranges
}

// otherMembers are members that are not fields of a server.
var otherMembers = []field[*Server]{
	{names: []string{"path"}, secret: secretWords}, // in the older form of Zed
	{names: []string{"source"}, secret: notSecret},
}

// secretServer returns the values within the definition of a server that may be secret.
func secretServer(v jsonedit.Value) []jsonedit.Value {
	return secretMembers(slices.Concat(serverFields(), otherMembers), v)
}

// secretMembers returns the values within an object that may be secret. A value of another type,
// and what is unknown, may be secret.
func secretMembers[T any](fields []field[T], object jsonedit.Value) (all []jsonedit.Value) {
	if !object.IsObject() {
		return []jsonedit.Value{object}
	}
	for _, m := range object.Members() {
		var s secrecy
		for _, f := range fields {
			if slices.Contains(f.names, m.Name) {
				s = f.secret
			}
		}
		all = append(all, s.within(m.Value)...)
	}
	return all
}

// secretByName returns the values within the members of an object that may be secret.
func secretByName[T any](fields []field[T], object jsonedit.Value) (all []jsonedit.Value) {
	if !object.IsObject() {
		return []jsonedit.Value{object}
	}
	for _, m := range object.Members() {
		all = append(all, secretMembers(fields, m.Value)...)
	}
	return all
}

// within returns the values within the value of a member that may be secret.
func (s secrecy) within(v jsonedit.Value) (all []jsonedit.Value) {
	_, isBool := v.AsBool()
	switch {
	case s == notSecret, s == secretOAuth && isBool:
	case s == secretOAuth:
		return secretMembers(oauthFields(), v)
	case s == secretCredentials:
		return secretMembers(credentialFields(), v)
	case s == secretOverrides:
		return secretByName(overrideFields(), v)
	case s == secretArguments:
		return secretByName(argumentFields(), v)
	case s == secretWords && v.IsObject(): // the older form of Zed
		return secretServer(v)
	case s == secretWords:
		elements := v.Elements()
		if elements == nil {
			elements = []jsonedit.Value{v}
		}
		var words []string
		for _, element := range elements {
			word, _ := element.AsString()
			words = append(words, word)
		}
		for i, word := range s.redact(words) {
			if word != words[i] {
				all = append(all, elements[i])
			}
		}
	case s == secretText && v.IsObject():
		for _, m := range v.Members() {
			if s.hides(m.Value) {
				all = append(all, m.Value)
			}
		}
	case s.hides(v):
		all = append(all, v)
	}
	return all
}

// hides reports whether a value may be secret: one that is no text, or a text that redact changes.
func (s secrecy) hides(v jsonedit.Value) bool {
	text, isText := v.AsString()
	return !isText || s.redact([]string{text})[0] != text
}
