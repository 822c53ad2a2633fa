package config

import (
	"errors"
	"fmt"
	"strings"
)

// parseEnv parses lines of NAME=value, with an optional "export", empty lines and # comments. A
// value in double quotes may contain the escapes \n, \r, \t, \" and \\; a value in single quotes
// has no escapes. " #" after a value starts a comment. The error names the line but not its
// content.
func parseEnv(text string) (map[string]string, error) {
	env := map[string]string{}
	n := 0
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\uFEFF"), "\n") {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "export "); ok {
			line = strings.TrimSpace(rest)
		}
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if !ok || !variableName.MatchString(name) {
			return env, fmt.Errorf("%d: this is not NAME=value", n)
		}
		value, err := unquoteEnv(strings.TrimSpace(value))
		if err != nil {
			return env, fmt.Errorf("%d: %w", n, err)
		}
		setVariable(env, name, value)
	}
	return env, nil
}

var envEscapes = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\\`, `\`)

func unquoteEnv(value string) (string, error) {
	if value == "" || value[0] != '"' && value[0] != '\'' {
		if i := strings.Index(value, " #"); i >= 0 {
			value = strings.TrimSpace(value[:i])
		}
		if strings.HasPrefix(value, "#") {
			value = ""
		}
		return value, nil
	}
	quote := value[0]
	for i := 1; i < len(value); i++ {
		switch {
		case value[i] == '\\' && quote == '"':
			i++
		case value[i] == quote:
			if rest := strings.TrimSpace(value[i+1:]); rest != "" && rest[0] != '#' {
				return "", errors.New("there is text after the end of the value")
			}
			if value = value[1:i]; quote == '"' {
				value = envEscapes.Replace(value)
			}
			return value, nil
		}
	}
	return "", errors.New("the value has no closing quotation mark")
}
