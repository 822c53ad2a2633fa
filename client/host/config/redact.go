package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

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
