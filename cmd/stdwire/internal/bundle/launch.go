package bundle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// A MissingError names the values that the user must give.
type MissingError struct{ Keys []string }

func (e *MissingError) Error() string {
	return "values that it needs are missing: " + strings.Join(e.Keys, ", ")
}

// Resolve returns the command of the bundle extracted to dir, for this system, with the user's
// values by key; home is the user's home directory. A value is given several times only if its
// option allows that. The error of values that are missing is a [*MissingError]; no error contains
// a value.
func (m *Manifest) Resolve(dir, home string, given map[string][]string) (*Launch, error) {
	values := map[string][]string{
		"__dirname": {dir}, "pathSeparator": {string(filepath.Separator)},
		"/": {string(filepath.Separator)}, "HOME": {home},
		"DESKTOP":   {filepath.Join(home, "Desktop")},
		"DOCUMENTS": {filepath.Join(home, "Documents")},
		"DOWNLOADS": {filepath.Join(home, "Downloads")},
	}
	for key := range given {
		if _, known := m.UserConfig[key]; !known {
			return nil, fmt.Errorf("the bundle asks for no value %.100q%s", key, m.knownKeys())
		}
	}
	missing := &MissingError{}
	for _, key := range slices.Sorted(maps.Keys(m.UserConfig)) {
		option := m.UserConfig[key]
		all, err := option.values(given[key], values)
		if err != nil {
			return nil, fmt.Errorf("the value %q %w", key, err)
		}
		if option.Required && len(all) == 0 {
			missing.Keys = append(missing.Keys, key)
		}
		values["user_config."+key] = all
	}
	if missing.Keys != nil {
		return nil, missing
	}
	base := m.Server.Config.For(runtime.GOOS)
	r := resolver{values: values}
	launch := &Launch{Command: r.text(base.Command), Args: r.args(base.Args),
		Env: map[string]string{}}
	for name, value := range base.Env {
		launch.Env[name] = r.text(value)
	}
	if r.err == nil && launch.Command == "" {
		return nil, fmt.Errorf("%s: the command is empty", ManifestName)
	}
	return launch, r.err
}

func (m *Manifest) knownKeys() string {
	if len(m.UserConfig) == 0 {
		return ""
	}
	return "; it asks for " + strings.Join(slices.Sorted(maps.Keys(m.UserConfig)), ", ")
}

// values returns the values of an option: those given, or else the default.
func (o Option) values(given []string, variables map[string][]string) ([]string, error) {
	if given == nil {
		r := resolver{values: variables}
		var all []string
		for _, text := range texts(o.Default) {
			all = append(all, r.text(text))
		}
		return all, r.err
	}
	if len(given) > 1 && !o.Multiple {
		return nil, fmt.Errorf("is given %d times; the bundle takes one", len(given))
	}
	for _, text := range given {
		switch o.Type {
		case "boolean":
			if text != "true" && text != "false" {
				return nil, errors.New("must be true or false")
			}
		case "number":
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, errors.New("must be a number")
			}
			if o.Min != nil && n < *o.Min || o.Max != nil && n > *o.Max {
				return nil, errors.New("is out of range")
			}
		}
		if text == "" || strings.Contains(text, "\x00") {
			return nil, errors.New("is empty or has a null byte")
		}
	}
	return given, nil
}

// texts returns the values of a default.
func texts(raw json.RawMessage) []string {
	var all []string
	var text string
	switch {
	case raw == nil:
		return nil
	case json.Unmarshal(raw, &all) == nil:
		return all
	case json.Unmarshal(raw, &text) == nil:
		if text == "" {
			return nil
		}
		return []string{text}
	}
	return []string{string(raw)} // a number or a boolean
}

var variable = regexp.MustCompile(`\$\{([^{}]*)\}`)

// A resolver replaces variables once: values are not expanded.
type resolver struct {
	values map[string][]string
	err    error
}

func (r *resolver) text(text string) string {
	return variable.ReplaceAllStringFunc(text, func(v string) string {
		name := v[2 : len(v)-1]
		all, known := r.values[name]
		switch {
		case !known:
			r.err = cmp.Or(r.err, fmt.Errorf("%s: there is no variable %.100q", ManifestName, v))
		case len(all) > 1:
			r.err = cmp.Or(r.err, fmt.Errorf(
				"%s: %.100q has several values, which only a whole argument can have", ManifestName, v))
		case len(all) == 1:
			return all[0]
		}
		return ""
	})
}

// args replaces variables in arguments. An argument that is a variable of the user becomes as many
// arguments as it has values.
func (r *resolver) args(args []string) (out []string) {
	for _, arg := range args {
		name, ok := strings.CutPrefix(arg, "${user_config.")
		key, whole := strings.CutSuffix(name, "}")
		if ok && whole && !strings.Contains(key, "}") {
			if all, known := r.values["user_config."+key]; known {
				out = append(out, all...)
				continue
			}
		}
		out = append(out, r.text(arg))
	}
	return out
}
