package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
)

// A flag of a command with subcommands has no effect on the subcommand after it, and is refused
// there.
func TestFlagsBeforeSubcommands(t *testing.T) {
	fill := map[string]string{"FILE": filepath.Join(t.TempDir(), "file"),
		"URL": "http://127.0.0.1:1/mcp"}
	for _, c := range commands() {
		grammar, _ := c.Make()
		for _, sub := range grammar.Subcommands {
			word := sub.Word()
			for _, f := range grammar.Flags {
				args := append([]string{c.Name}, flagWithValue(f, f.Name, fill)...)
				got := run(t, append(args, word)...)
				assert.Check(t, got.code == command.ExitCodes["usage"] &&
					strings.Contains(got.stderr, f.Name+" is for"), "%s: exit code %d, %s",
					strings.Join(append(args, word), " "), got.code, got.stderr)
			}
		}
	}
}

// A flag that has no effect because of another flag or argument is refused, and the error names
// it. The table flagUses says of every flag of every command where it has an effect.
func TestFlagsWithoutEffect(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownHome(t)
	t.Setenv("STDWIRE_TEST_SECRET", strings.Repeat("secret ", 8))
	dir := t.TempDir()
	path := func(name, content string) string {
		path := filepath.Join(dir, name)
		assert.NilError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	fill := map[string]string{"FILE": path("file", strings.Repeat("0123456789abcdef", 4)),
		"DIR": filepath.Join(dir, "new"), "URL": "http://127.0.0.1:1/mcp", "ADDRESS": "127.0.0.1:0",
		"CALLS":  path("calls.json", `{"calls":[]}`),
		"CONFIG": path("mcp.json", `{"mcpServers":{"remote":{"url":"http://127.0.0.1:1/mcp"}}}`)}
	known := map[string]bool{}
	forEachCommand(commands(), func(c command.Command, g command.Grammar) {
		if len(g.Flags) == 0 {
			return
		}
		known[c.Name] = true
		assert.Check(t, len(flagUses[c.Name]) > 0, "%s is not in flagUses", c.Name)
		for _, use := range flagUses[c.Name] {
			tried := map[string]bool{}
			for flag, where := range use.parse() {
				name, _, _ := strings.Cut(flag, "=")
				i := slices.IndexFunc(g.Flags, func(f command.Flag) bool { return f.Name == name })
				if i < 0 {
					t.Errorf("%s has no flag %s", c.Name, name)
					continue
				}
				tried[name] = true
				for _, m := range use.modes {
					if slices.Contains(where, m.name) || slices.Contains(where, "*") ||
						!g.Flags[i].Many && slices.Contains(strings.Fields(m.args), name) {
						continue
					}
					tryWithoutEffect(t, c.Name, flagWithValue(g.Flags[i], flag, fill), m, fill)
				}
			}
			for _, f := range g.Flags {
				assert.Check(t, tried[f.Name],
					"flagUses does not say when stdwire %s %s has an effect", c.Name, f.Name)
			}
		}
	})
	for name := range flagUses {
		assert.Check(t, known[name], "flagUses has %s, which has no flags", name)
	}
}

// forEachCommand calls do with each command, subcommand and hidden command.
func forEachCommand(all []command.Command, do func(command.Command, command.Grammar)) {
	for _, c := range all {
		g, _ := c.Make()
		do(c, g)
		forEachCommand(g.Subcommands, do)
		forEachCommand(c.Hidden, do)
	}
}

// parse returns the names of the modes in which each flag has an effect.
func (u flagUse) parse() map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(u.flags) {
		flags, modes, _ := strings.Cut(line, ":")
		for _, flag := range strings.Fields(flags) {
			all[flag] = append(all[flag], strings.Fields(modes)...)
		}
	}
	return all
}

// flagWithValue returns the words of a flag with a value that it accepts. flag is its name, or
// includes the value.
func flagWithValue(f command.Flag, flag string, fill map[string]string) []string {
	values := map[string]string{"--root": ".", "--skills": ".", "--header": "A:b", "--input": "a=b",
		"--env": "A=b", "--sample": "x", "--before": "x", "--after": "x", "--otlp": fill["URL"],
		"--oauth-issuer": "https://a.example", "--oauth-audience": "https://b.example",
		"--card": "com.example/files", "--ignore": "x", "--url": fill["URL"], "--set": "a=b",
		"--sha256": strings.Repeat("0", 64), "-d": "{}", "-s": "files", "--man": fill["DIR"],
		"--save": fill["DIR"]}
	value, known := values[f.Name]
	switch {
	case strings.Contains(flag, "=") || f.Value == "" || f.Optional:
		return []string{flag}
	case known:
	case strings.HasSuffix(f.Name, "-env"):
		value = "STDWIRE_TEST_SECRET"
	case strings.Contains(f.Value, "|"):
		value = f.Value[strings.LastIndex(f.Value, "|")+1:] // not the default
	default:
		value = map[string]string{"FILE": fill["FILE"], "DURATION": "1s", "SIZE": "1MB", "MB": "2",
			"APP": "cursor",
			"N":   "2", "ADDR": fill["ADDRESS"], "ADDRESS": fill["ADDRESS"],
			"URL": fill["URL"]}[f.Value]
	}
	return []string{flag, cmp.Or(value, "x")}
}

// tryWithoutEffect runs a command with a flag in a mode in which it must be refused.
func tryWithoutEffect(t *testing.T, name string, flag []string, m mode, fill map[string]string) {
	args := append(strings.Fields(name), flag...)
	plain, _, _ := strings.Cut(flag[0], "=")
	named := []string{plain}
	for _, arg := range strings.Fields(m.args) {
		if strings.HasPrefix(arg, "@") || strings.HasPrefix(arg, "-") && arg != "--" {
			named = append(named, arg)
		}
		args = append(args, cmp.Or(fill[arg], arg))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := runWith(ctx, termtest.Capture(false), args...)
	words := strings.FieldsFunc(got.stderr, func(c rune) bool {
		return c != '-' && c != '@' && !unicode.IsLetter(c)
	})
	refused := m.says != "" && strings.Contains(got.stderr, m.says) ||
		slices.ContainsFunc(named, func(name string) bool { return slices.Contains(words, name) })
	if got.code != command.ExitCodes["usage"] || !refused {
		t.Errorf("stdwire %s, where %s has no effect: exit code %d, %s", strings.Join(args, " "),
			flag[0], got.code, got.stderr)
	}
}
