package configcmd

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/configfile"
	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// Found returns three lines about the servers of the user: those of the configuration, those of
// other applications, and the command to type next. It reads files, and starts nothing.
func Found(env *config.Environment) []string {
	c := config.Load(env)
	here, next := configured(env, c)
	elsewhere, from := ofApplications(env, c)
	switch {
	case next != "" || from == nil:
	case from.Workspace:
		next = fmt.Sprintf("To use those of %s, too: stdwire config import %s --into mcp.json",
			from.Title, shellwords.Quote(short(env, from.Path)))
	default:
		next = fmt.Sprintf("To use those of %s, too: stdwire add --from %s", from.Title, from.Name)
	}
	next = cmp.Or(next,
		"To list the tools of stdwire's own server, which reads files: stdwire ls")
	return []string{here, elsewhere, next}
}

// configured returns a line about the servers of the configuration, and the next command, or "" if
// there is no server.
func configured(env *config.Environment, c *config.Config) (line, next string) {
	for _, f := range c.Files {
		if f.Err != nil {
			return "The configuration has an error: " + printable.Line(short(env, f.Path)) + ".",
				"To see it: stdwire config check"
		}
	}
	if len(c.Servers) == 0 {
		return "No servers are configured.", ""
	}
	var files, names []string
	usable, untrusted := "", false
	for _, s := range c.Servers {
		names = append(names, s.ID)
		if file := short(env, s.File); !slices.Contains(files, file) {
			files = append(files, file)
		}
		check, _ := CheckServer(s, env)
		untrusted = untrusted || check.State == "untrusted"
		if usable == "" && check.State == "valid" {
			usable = s.ID
		}
	}
	switch {
	case untrusted:
		next = "To review those of this directory before they are started: stdwire trust"
	case usable != "":
		next = "To list what one of them has: stdwire ls -s " + usable
	default:
		next = "To see why none can be used: stdwire config check"
	}
	return fmt.Sprintf("%s in %s: %s.", command.Plural(len(names), "server"),
		printable.Line(strings.Join(files, " and ")), someOf(names)), next
}

// ofApplications returns a line about the servers that only other applications have, and a file
// with some of them, or nil.
func ofApplications(env *config.Environment,
	c *config.Config) (line string, from *configfile.ApplicationFile) {
	var titles, names []string
	unread := ""
	known := func(id string) bool {
		return slices.ContainsFunc(c.Servers, func(s *config.Server) bool { return s.ID == id })
	}
	for _, f := range configfile.ApplicationFiles(env) {
		if f.Err != nil {
			unread = cmp.Or(unread, f.Path)
		}
		more := 0
		for _, s := range f.Servers {
			if id := cmp.Or(itemname.SuggestID(s.ID), s.ID); !known(id) {
				names = append(names, id)
				more++
			}
		}
		if more == 0 {
			continue
		}
		if from == nil || from.Workspace && !f.Workspace {
			from = &f
		}
		if !slices.Contains(titles, f.Title) {
			titles = append(titles, f.Title)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	line = "The applications that stdwire install lists have no others."
	if from != nil {
		what := "server"
		if len(c.Servers) > 0 {
			what = "more server"
		}
		line = fmt.Sprintf("%s in %s: %s.", command.Plural(len(names), what), inWords(titles),
			someOf(names))
	}
	if unread != "" {
		line += " " + printable.Line(short(env, unread)) + " cannot be read."
	}
	return line, from
}

// someOf returns the first names of a list, printable, and the number of the others.
func someOf(names []string) string {
	const most, width = 5, 40
	var all []string
	for _, name := range names[:min(most, len(names))] {
		all = append(all, printable.Cut(printable.Line(name), width))
	}
	if more := len(names) - most; more > 0 {
		all = append(all, fmt.Sprintf("%d more", more))
	}
	return inWords(all)
}

// inWords returns a list as in a sentence.
func inWords(all []string) string {
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}

// short returns a path as it is typed: relative to the working directory or, with ~, to the home
// directory, if the file is below one of them.
func short(env *config.Environment, path string) string {
	if rest, err := filepath.Rel(env.Dir, path); err == nil && filepath.IsLocal(rest) {
		return rest
	}
	if rest, err := filepath.Rel(env.Home, path); err == nil && filepath.IsLocal(rest) {
		return filepath.Join("~", rest)
	}
	return path
}
