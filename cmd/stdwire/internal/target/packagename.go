package target

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// launchers are the programs that fetch a package and run it, each with the words before the
// package.
var launchers = [][]string{{"npx"}, {"bunx"}, {"uvx"}, {"pnpx"}, {"pnpm", "dlx"}, {"yarn", "dlx"},
	{"npm", "exec"}, {"bun", "x"}, {"pipx", "run"}, {"uv", "tool", "run"}}

// packageName returns the name of the package that a command runs with a launcher such as npx,
// without its version; "" if the command is another. Other arguments may be secret.
func packageName(command []string) string {
	program := strings.TrimSuffix(filepath.Base(command[0]), ".cmd")
	for _, launcher := range launchers {
		if program != launcher[0] || len(command) < len(launcher) ||
			!slices.Equal(command[1:len(launcher)], launcher[1:]) {
			continue
		}
		for _, word := range command[len(launcher):] {
			if word == "" || strings.ContainsAny(word, "=:") ||
				word[0] != '@' && !unicode.IsLetter(rune(word[0])) {
				continue
			}
			if i := strings.LastIndexByte(word, '@'); i > 0 {
				word = word[:i]
			}
			return word
		}
	}
	return ""
}

// LaunchedName returns the name of the server in questions: the command and the package that a
// launcher runs.
func (t *Target) LaunchedName() string {
	name := t.Name()
	if t.Words == nil || packageName(t.Words) == "" {
		return name
	}
	return filepath.Base(t.Words[0]) + " " + name
}
