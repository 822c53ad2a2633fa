package bundlecmd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/bundle"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/printable"
)

func showCommand() command.Command {
	return command.Command{
		Name: "bundle show", Usage: "FILE [-o text|json]",
		Summary: "show the manifest and the command of a bundle",
		Help: `Checks the bundle, and prints its manifest, the command that stdwire bundle run would start here,
the values that it asks for, and its digest. Nothing is extracted or run. With -o json
it prints the whole manifest, the digest and the files.`,
		Make: func() (command.Grammar, command.Runner) {
			var file, output string
			return command.Grammar{Word: command.Arguments(&file),
					Flags: []command.Flag{command.FormatFlag(&output, "text", "json")}},
				func(_ context.Context, std *term.Streams) error {
					b, err := open(file)
					if err != nil {
						return err
					}
					defer b.Close()
					if output == "json" {
						return showJSON(std, b)
					}
					std.Out.PrintTable(describe(b))
					return nil
				}
		},
	}
}

func showJSON(std *term.Streams, b *bundle.Bundle) error {
	return std.Out.PrintValue(struct {
		Manifest json.RawMessage `json:"manifest"`
		Digest   string          `json:"sha256"`
		Size     int64           `json:"size"` // of all files
		Files    []string        `json:"files"`
	}{b.Raw, b.Digest, b.Total, b.Files})
}

// describe returns the rows of stdwire bundle show. Everything in a bundle may be misleading.
func describe(b *bundle.Bundle) [][]string {
	m := b.Manifest
	var rows [][]string
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, printable.Line(value)})
		}
	}
	add("name", m.Name+" "+m.Release)
	add("description", m.Description)
	add("author", m.Author.Name)
	add("homepage", m.Homepage)
	add("license", m.License)
	if m.Platforms != nil {
		add("platforms", strings.Join(m.Platforms.Platforms, ", "))
	}
	launch := m.Server.Config.For(runtime.GOOS)
	add("runs", strings.Join(append([]string{launch.Command}, launch.Args...), " "))
	add("sets", strings.Join(slices.Sorted(maps.Keys(launch.Env)), ", "))
	var names []string
	for _, tool := range m.Tools {
		names = append(names, tool.Name)
	}
	add("tools", strings.Join(names, ", "))
	for _, key := range slices.Sorted(maps.Keys(m.UserConfig)) {
		add("asks for", fmt.Sprintf("%s (%s): %s", key, m.UserConfig[key].Kind(),
			m.UserConfig[key].Title))
	}
	add("files", fmt.Sprintf("%d, %d bytes", len(b.Files), b.Total))
	add("sha256", b.Digest)
	return rows
}
