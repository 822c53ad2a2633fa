package config

import (
	"slices"

	"github.com/stdwire/stdwire/internal/jsonedit"
)

// SecretRanges returns the ranges, from start to end and in order, of the values that may be secret
// in the definition of a server: valid JSON in the form of any application.
func SecretRanges(definition []byte) (ranges [][2]int) {
	root, _ := (&jsonedit.Text{Data: definition}).Root()
	for _, v := range secretValues(root) {
		ranges = append(ranges, [2]int{v.Start, v.End})
	}
	return ranges
}

// plainFields are the members of a server without secrets.
var plainFields = []string{"type", "transport", "transportType", "cwd", "envFile", "env_vars",
	"inheritEnv", "enabled", "disabled", "bearer_token_env_var", "env_http_headers", "source", "era",
	"protocolEra", "tlsCA", "tlsClientCert", "tlsClientKey", "perSession", "required", "startTimeoutMs",
	"callTimeoutMs", "startup_timeout_ms", "startup_timeout_sec", "tool_timeout_sec", "timeout",
	"idleStop", "maxArguments", "maxResult", "tools", "includeTools", "enabled_tools",
	"excludeTools", "disabledTools", "disabled_tools"}

// secretValues returns the values within a definition that may be secret.
func secretValues(server jsonedit.Value) (all []jsonedit.Value) {
	if !server.IsObject() {
		return []jsonedit.Value{server}
	}
	for _, m := range server.Members() {
		switch {
		case slices.Contains(plainFields, m.Name):
		case m.Name == "command" && m.IsObject(): // the older form of Zed
			all = append(all, secretValues(m.Value)...)
		case m.Name == "command" || m.Name == "args" || m.Name == "path":
			all = append(all, secretWords(m.Value)...)
		case slices.Contains(urlNames, m.Name):
			if text, _ := m.AsString(); redactURL(text) != text {
				all = append(all, m.Value)
			}
		case m.Name == "oauth" || m.Name == "auth": // see serverFields
			all = append(all, secretsOfOAuth(m.Value)...)
		case m.IsObject(): // variables, headers, or unknown
			for _, variable := range m.Members() {
				if text, ok := variable.AsString(); !ok || redactText(text) != text {
					all = append(all, variable.Value)
				}
			}
		default:
			all = append(all, m.Value)
		}
	}
	return all
}

// plainOAuthFields are the members of oauth without secrets.
var plainOAuthFields = []string{"grantType", "grant_type", "callbackPort", "callback_port",
	"allowPrivate", "enabled"}

// secretsOfOAuth returns the values in oauth that may be secret.
func secretsOfOAuth(v jsonedit.Value) (all []jsonedit.Value) {
	if _, ok := v.AsBool(); ok {
		return nil
	}
	if !v.IsObject() {
		return []jsonedit.Value{v}
	}
	for _, m := range v.Members() {
		text, isText := m.AsString()
		switch m.Name {
		case "clientId", "client_id", "CLIENT_ID", "scope", "scopes":
			all = append(all, secretWords(m.Value)...)
		case "issuer", "ISSUER", "redirectUri", "redirect_uri", "redirectUrl":
			if !isText || redactURL(text) != text {
				all = append(all, m.Value)
			}
		default:
			if !slices.Contains(plainOAuthFields, m.Name) && (!isText || redactText(text) != text) {
				all = append(all, m.Value)
			}
		}
	}
	return all
}

// secretWords returns the words of a command line that may be secret.
func secretWords(v jsonedit.Value) (all []jsonedit.Value) {
	elements := v.Elements()
	if elements == nil {
		elements = []jsonedit.Value{v}
	}
	var words []string
	for _, element := range elements {
		word, _ := element.AsString()
		words = append(words, word)
	}
	for i, word := range redactArgs(words) {
		if word != words[i] {
			all = append(all, elements[i])
		}
	}
	return all
}
