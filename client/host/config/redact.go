package config

import (
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/mcpjson"
)

// redacted replaces secrets.
const redacted = "…"

// Redacted returns a copy with "…" in place of everything that may be secret: values of variables
// and headers, the user and query of URLs, arguments that look like secrets or follow a flag with
// the name of a secret, and the values of unknown members. Variables remain as ${NAME}, without
// defaults.
func (s *Server) Redacted() *Server {
	c := *s
	redactFields(serverFields(), &c)
	c.extraFields = slices.Clone(s.extraFields)
	for i := range c.extraFields {
		c.extraFields[i].json = []byte(`"` + redacted + `"`)
	}
	return &c
}

// redactText returns the variables of a text, with everything else redacted.
func redactText(text string) string {
	var b strings.Builder
	end := 0
	for _, m := range mcpjson.Pattern.FindAllStringSubmatchIndex(text, -1) {
		if m[0] > end {
			b.WriteString(redacted)
		}
		b.WriteString(redactDefault(text[m[0]:m[1]]))
		end = m[1]
	}
	if end < len(text) {
		b.WriteString(redacted)
	}
	return b.String()
}

// redactDefault hides the default of a variable.
func redactDefault(reference string) string {
	if name, _, ok := strings.Cut(reference, ":-"); ok {
		return name + ":-" + redacted + "}"
	}
	return reference
}

func redactURL(text string) string {
	if text == "" {
		return ""
	}
	text = mcpjson.Pattern.ReplaceAllStringFunc(text, redactDefault)
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return redactText(text) // not a URL, or a variable
	}
	authority, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = redacted + authority[i:]
	}
	path, _, fragment := strings.Cut(path, "#")
	path, query, queried := strings.Cut(path, "?")
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if longRandom.MatchString(segment) && strings.ContainsAny(segment, "0123456789") {
			segments[i] = redacted
		}
	}
	text = scheme + "://" + authority + strings.Join(segments, "/")
	if queried {
		text += "?" + redactQuery(query)
	}
	if fragment {
		text += "#" + redacted
	}
	return text
}

// redactQuery hides the values of a query.
func redactQuery(query string) string {
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, value, ok := strings.Cut(part, "=")
		switch {
		case ok && value == redactText(value): // variables only
		case ok:
			parts[i] = name + "=" + redacted
		default:
			parts[i] = redacted
		}
	}
	return strings.Join(parts, "&")
}

var (
	// secretName matches the name of a flag, variable or parameter whose value is secret.
	secretName = regexp.MustCompile(
		`(?i)token|secret|passw|passphrase|pwd|credential|(api|access|private)[-_]?key|^-*key$|auth|bearer|cookie|header|` +
			`connection[-_]?string|dsn`)
	// secretValue matches words with the prefixes of known kinds of secrets.
	secretValue = regexp.MustCompile(
		`^(sk|pk|rk|ghp|gho|ghu|ghs|ghr|github_pat|glpat|xox[a-z]|npm|pypi|hf|lin_api|ntn|secret|AKIA|ASIA|AIza|eyJ)[-_A-Za-z0-9].{11,}$`)
	// longRandom matches a segment of a URL's path that is probably a key if it contains a digit.
	longRandom = regexp.MustCompile(`^[A-Za-z0-9_=-]{20,}$`)
	// assignment matches NAME=value, with or without the dashes of a flag.
	assignment = regexp.MustCompile(`^(-{0,2}[A-Za-z_][A-Za-z0-9_.-]*)=(.*)$`)
)

// valueFlags are flags of docker and curl whose value may be secret.
var valueFlags = []string{"-e", "--env", "-H", "-u", "--user"}

// redactArgs hides arguments that may be secret.
func redactArgs(args []string) []string {
	out := slices.Clone(args)
	for i, arg := range args {
		before := ""
		if i > 0 {
			before = args[i-1]
		}
		flag := strings.HasPrefix(before, "-") && !strings.Contains(before, "=")
		m := assignment.FindStringSubmatch(arg)
		switch {
		case slices.Contains(valueFlags, before) && m != nil:
			out[i] = m[1] + "=" + redactText(m[2])
		case slices.Contains(valueFlags, before) && (before == "-e" || before == "--env"):
			// docker passes a variable on by its name
		case flag && (secretName.MatchString(before) || slices.Contains(valueFlags, before)):
			out[i] = redactText(arg)
		case m != nil && secretName.MatchString(m[1]):
			out[i] = m[1] + "=" + redactText(m[2])
		case m != nil && strings.HasPrefix(arg, "-"):
			out[i] = m[1] + "=" + redactWord(m[2])
		default:
			out[i] = redactWord(arg)
		}
	}
	return out
}

// redactWord hides a word that looks like a secret, and the secret parts of a URL.
func redactWord(word string) string {
	if u, err := url.Parse(word); strings.Contains(word, "://") && (err != nil || u.Scheme != "") {
		return redactURL(word)
	}
	return secretWord(mcpjson.Pattern.ReplaceAllStringFunc(word, redactDefault))
}

func secretWord(word string) string {
	if secretValue.MatchString(word) || strings.HasPrefix(word, "Bearer ") ||
		strings.HasPrefix(word, "Basic ") {
		return redacted
	}
	return word
}

// redactOverrides returns overrides without the values of arguments.
func redactOverrides(all map[string]host.Override) map[string]host.Override {
	shown := maps.Clone(all)
	for key, o := range shown {
		o.Arguments = maps.Clone(o.Arguments)
		for name, a := range o.Arguments {
			redactFields(argumentFields(), &a)
			o.Arguments[name] = a
		}
		shown[key] = o
	}
	return shown
}

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
