package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Changed reports whether Before and After differ.
func (c *Change) Changed() bool { return !bytes.Equal(c.Before, c.After) }

// Diff returns the removed and added lines. Values that may be secret, such as those of environment
// variables and headers, are shown as "…". It returns "" if nothing changes.
func (c *Change) Diff() string {
	if !c.Changed() {
		return ""
	}
	before, after := maskSecrets(c.File, c.Before, c.keys), maskSecrets(c.File, c.After, c.keys)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", c.File)
	shift := 0 // from an offset in Before to one in After
	for _, e := range c.edits {
		removed := before[e.start:e.end]
		added := after[e.start+shift : e.start+shift+len(e.text)]
		shift += len(e.text) - len(removed)
		if string(added) == "," || string(removed) == "," {
			continue // of the neighbour
		}
		line := 1 + bytes.Count(c.Before[:e.start], []byte("\n"))
		if bytes.HasPrefix(added, []byte("\n")) || bytes.HasPrefix(added, []byte("\r\n")) ||
			bytes.HasPrefix(removed, []byte("\n")) || bytes.HasPrefix(removed, []byte("\r\n")) {
			line++
		}
		fmt.Fprintf(&b, "@@ line %d @@\n", line)
		from := b.Len()
		appendLines(&b, "-", removed)
		middle := b.Len()
		appendLines(&b, "+", added)
		b.WriteString(invisibleChange(b.String()[from:middle], b.String()[middle:]))
	}
	return b.String()
}

// invisibleChange returns a line that says so if the removed and the added lines look equal.
func invisibleChange(removed, added string) string {
	look := func(lines, sign string) string {
		var b strings.Builder
		for line := range strings.Lines(lines) {
			b.WriteString(strings.Join(strings.Fields(strings.TrimPrefix(line, sign)), " ") + "\n")
		}
		return b.String()
	}
	if removed == "" || look(removed, "-") != look(added, "+") {
		return ""
	}
	return "~ these lines differ in values that are not shown, or in white space\n"
}

// appendLines appends the lines of a text that are not blank.
func appendLines(b *strings.Builder, sign string, text []byte) {
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, " \t\r\n")
		if len(line) == 0 {
			continue
		}
		b.WriteString(sign)
		for len(line) > 0 {
			visible, rest, _ := bytes.Cut(line, []byte{hidden})
			b.Write(visible)
			if len(visible) < len(line) {
				b.WriteString(`"` + redacted + `"`)
			}
			line = bytes.TrimLeft(rest, string(rune(hidden)))
		}
		b.WriteByte('\n')
	}
}

// hidden takes the place of each byte of a secret. It is not valid in a file.
const hidden = 0

// maskSecrets returns a valid file with secrets hidden. keys lead to one of its servers.
func maskSecrets(path string, data []byte, keys []string) []byte {
	out := bytes.Clone(data)
	t, err := newText(path, data)
	if err != nil {
		return bytes.Repeat([]byte{hidden}, len(data))
	}
	servers, _ := t.root()
	for _, key := range keys[:len(keys)-1] {
		servers, _ = servers.member(key)
	}
	for _, server := range servers.members() {
		for _, v := range secretValues(server.value) {
			start, end := v.start, v.end
			if t.toml != nil {
				start, end = t.tomlRange(start)
			}
			for i := start; i < end; i++ {
				if out[i] != '\n' && out[i] != '\r' {
					out[i] = hidden
				}
			}
		}
	}
	return out
}

// tomlRange returns the range of a TOML value: from its start, given as an offset in the JSON text,
// to the end of its statement.
func (t *text) tomlRange(json int) (start, end int) {
	start = t.toml.Offset(json)
	end = start
	for _, s := range t.toml.Statements {
		if s.Start <= start && start < s.End {
			end = s.End
		}
	}
	return start, end
}

// plainFields are the members of a server without secrets.
var plainFields = []string{"type", "transport", "transportType", "cwd", "envFile", "env_vars",
	"inheritEnv", "enabled", "disabled", "bearer_token_env_var", "env_http_headers", "source", "era",
	"protocolEra", "tlsCA", "tlsClientCert", "tlsClientKey", "perSession", "required", "startTimeoutMs",
	"callTimeoutMs", "startup_timeout_ms", "startup_timeout_sec", "tool_timeout_sec", "timeout",
	"idleStop", "maxArguments", "maxResult", "tools", "includeTools", "enabled_tools",
	"excludeTools", "disabledTools", "disabled_tools"}

// secretValues returns the values within a definition that may be secret.
func secretValues(server value) (all []value) {
	if !server.isObject() {
		return []value{server}
	}
	for _, m := range server.members() {
		switch {
		case slices.Contains(plainFields, m.name):
		case m.name == "command" && m.isObject(): // the older form of Zed
			all = append(all, secretValues(m.value)...)
		case m.name == "command" || m.name == "args" || m.name == "path":
			all = append(all, secretWords(m.value)...)
		case slices.Contains(urlNames, m.name):
			if text, _ := m.string(); redactURL(text) != text {
				all = append(all, m.value)
			}
		case m.name == "oauth" || m.name == "auth": // see serverFields
			all = append(all, secretsOfOAuth(m.value)...)
		case m.isObject(): // variables, headers, or unknown
			for _, variable := range m.members() {
				if text, ok := variable.string(); !ok || redactText(text) != text {
					all = append(all, variable.value)
				}
			}
		default:
			all = append(all, m.value)
		}
	}
	return all
}

// plainOAuthFields are the members of oauth without secrets.
var plainOAuthFields = []string{"grantType", "grant_type", "callbackPort", "callback_port",
	"allowPrivate", "enabled"}

// secretsOfOAuth returns the values in oauth that may be secret.
func secretsOfOAuth(v value) (all []value) {
	if _, ok := v.bool(); ok {
		return nil
	}
	if !v.isObject() {
		return []value{v}
	}
	for _, m := range v.members() {
		text, isText := m.string()
		switch m.name {
		case "clientId", "client_id", "CLIENT_ID", "scope", "scopes":
			all = append(all, secretWords(m.value)...)
		case "issuer", "ISSUER", "redirectUri", "redirect_uri", "redirectUrl":
			if !isText || redactURL(text) != text {
				all = append(all, m.value)
			}
		default:
			if !slices.Contains(plainOAuthFields, m.name) && (!isText || redactText(text) != text) {
				all = append(all, m.value)
			}
		}
	}
	return all
}

// secretWords returns the words of a command line that may be secret.
func secretWords(v value) (all []value) {
	elements := v.elements()
	if elements == nil {
		elements = []value{v}
	}
	var words []string
	for _, element := range elements {
		word, _ := element.string()
		words = append(words, word)
	}
	for i, word := range redactArgs(words) {
		if word != words[i] {
			all = append(all, elements[i])
		}
	}
	return all
}
